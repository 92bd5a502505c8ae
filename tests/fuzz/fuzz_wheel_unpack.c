/* Any bytes as a wheel, into a directory that is made and removed each time. Whatever is accepted lies below
 * that directory, which has a neighbour to be hit by what does not. */
#include "core/file.h"
#include "core/tree.h"
#include "lang/wheel_verify.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int
check_entry(void *context, const char *relative, const struct stat *st, struct pkg_error *err)
{
	(void)context;
	(void)relative;
	(void)err;
	if (!S_ISDIR(st->st_mode) && !(S_ISREG(st->st_mode) && (st->st_mode & 07222) == 0))
		__builtin_trap();
	return 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct fetch_unpack_limits limits = {
		.max_entries = 100, .max_file = 1 << 16, .max_total = 1 << 18
	};
	char root[] = "/dev/shm/fuzz-wheel-XXXXXX";
	pkg_autofd int fd = memfd_create("wheel", MFD_CLOEXEC);
	pkg_autofd int root_fd = -1;
	pkg_autofd int dir_fd = -1;
	struct json_object *report;
	struct stat st;

	if (!mkdtemp(root) || pkg_write_all(fd, data, size, NULL) < 0)
		return 0;
	root_fd = pkg_dir_open(root, NULL);
	(void)mkdirat(root_fd, "out", 0755);
	dir_fd = pkg_dir_open_at(root_fd, "out", NULL);
	report = lang_wheel_unpack(fd, "demo_pkg-1.0-py3-none-any.whl", dir_fd, &limits, NULL);
	pkg_json_put(report);
	if (fstat(root_fd, &st) < 0 || st.st_nlink != 3 ||
		pkg_tree_walk(root_fd, "out", check_entry, NULL, NULL) < 0)
		__builtin_trap();
	(void)pkg_tree_remove(root, NULL);
	return 0;
}
