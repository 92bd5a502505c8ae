/* pkg-unpack - unpack wheels inside the apply sandbox.
 *
 *   pkg-unpack wheel NAME FD DIRECTORY [NAME FD DIRECTORY]...
 *
 * Unpacks the wheel that descriptor FD has open, and whose file name is NAME, into DIRECTORY, which
 * exists and is empty. Prints a JSON object a wheel (lang/wheel_verify.h), in the order given; at
 * the first failure {"error":{"kind","message","cure"}} and nothing after it, exit status 1. Usage
 * errors: 2. Needs no network, no other file and no other writable place.
 */
#include "core/file.h"
#include "core/json.h"
#include "lang/wheel_verify.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int
usage(void)
{
	(void)fputs("usage: pkg-unpack wheel NAME FD DIRECTORY [NAME FD DIRECTORY]...\n", stderr);
	return 2;
}

static int
parse_fd(const char *text)
{
	char *end;
	long fd;

	errno = 0;
	fd = strtol(text, &end, 10);
	return errno || end == text || *end || fd < 0 || fd > INT_MAX ? -1 : (int)fd;
}

/* Takes value. */
static int
print(struct json_object *value)
{
	pkg_autofree char *line = pkg_json_line(value);

	pkg_json_put(value);
	return puts(line) < 0 || fflush(stdout) != 0 ? -1 : 0;
}

static struct json_object *
unpack(const char *name, int fd, const char *directory, struct pkg_error *err)
{
	pkg_autofd int dir_fd = pkg_dir_open(directory, err);

	return dir_fd < 0 ? NULL : lang_wheel_unpack(fd, name, dir_fd, NULL, err);
}

static int
fail(const struct pkg_error *err)
{
	struct json_object *out = json_object_new_object();

	pkg_json_set(out, "error", pkg_json_from_error(err));
	(void)print(out);
	return 1;
}

int
main(int argc, char **argv)
{
	if (argc < 5 || (argc - 2) % 3 != 0 || strcmp(argv[1], "wheel") != 0)
		return usage();
	for (int i = 2; i < argc; i += 3) {
		if (parse_fd(argv[i + 1]) < 0)
			return usage();
	}
	/* The modes of what is unpacked are a matter of the wheel and not of who started us. */
	(void)umask(022);
	for (int i = 2; i < argc; i += 3) {
		pkg_cleanup_error struct pkg_error err = { 0 };
		struct json_object *report =
			unpack(argv[i], parse_fd(argv[i + 1]), argv[i + 2], &err);

		if (!report)
			return fail(&err);
		if (print(report) < 0)
			return 1;
	}
	return 0;
}
