/* replay - a fuzz target without a fuzzer: every file named is fed to it twice, so that state kept between inputs
 * shows. One TAP line per file. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/file.h"
#include "core/path.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
replay(const char *path, int number)
{
	pkg_cleanup_buf struct pkg_buf data = { 0 };
	bool read = pkg_file_read(path, 16 * 1024 * 1024, &data, NULL) == 0;

	for (int i = 0; read && i < 2; i++)
		(void)LLVMFuzzerTestOneInput((const uint8_t *)pkg_buf_str(&data), data.len);
	printf("%s %d - %s\n", read ? "ok" : "not ok", number, pkg_path_base(path));
}

/* PKGD_TEST_SRCDIR/tests/fuzz/corpus/<name of this program without replay_> */
int
main(int argc, char **argv)
{
	const char *source = getenv("PKGD_TEST_SRCDIR");
	const char *name = strstr(argv[0], "replay_");
	pkg_autofree char *dir = NULL;
	int count = 0;
	DIR *open_dir;

	(void)argc;
	dir = pkg_path_joinf(source != NULL ? source : ".", "tests/fuzz/corpus/fuzz_%s",
		name != NULL ? name + strlen("replay_") : "");
	open_dir = opendir(dir);
	for (struct dirent *entry; open_dir != NULL && (entry = readdir(open_dir)) != NULL;) {
		pkg_autofree char *path = pkg_path_join(dir, entry->d_name);

		if (entry->d_name[0] != '.')
			replay(path, ++count);
	}
	if (open_dir != NULL)
		closedir(open_dir);
	/* The empty input, which every parser must take. */
	(void)LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
	printf("ok %d - the empty input\n1..%d\n", count + 1, count + 1);
	return 0;
}
