/* What is read about a sandbox's processes: bwrap's status documents, and files of /proc. */
#include "sandbox/pin.h"
#include "sandbox/watch.h"

#include "core/mem.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	pkg_autofree char *text = pkg_xstrndup((const char *)data, size);
	struct sandbox_status_text told = { 0 };
	pid_t parent = 0, inner = 0;

	/* Never a number that kill(2) reads as "everybody", and never an exit code that is none. */
	if (sandbox_pin_parse((const char *)data, size, &told, NULL) == 0 &&
		(told.child < 0 || told.exit_code < -1 || told.exit_code > 255))
		abort();
	if (sandbox_pin_parse_proc((const char *)data, size, &parent, &inner) == 0 &&
		(parent <= 0 || inner <= 0))
		abort();
	if (sandbox_watch_parse_statm(text, 4096) < -1)
		abort();
	(void)sandbox_watch_parse_rollup(text);
	return 0;
}
