/* pkgd.json: any bytes are a configuration or an error that says something, never a crash. */
#include "core/file.h"
#include "policy/config.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	pkg_cleanup_error struct pkg_error err = { 0 };
	char path[64];

	(void)snprintf(path, sizeof(path), "/dev/shm/fuzz-config-%d.json", (int)getpid());
	if (pkg_file_write(path, data, size, 0600, false, NULL) < 0)
		return 0;
	if (policy_config_check(path, &err) < 0 && (!err.message || err.message[0] == '\0'))
		abort();
	(void)unlink(path);
	return 0;
}
