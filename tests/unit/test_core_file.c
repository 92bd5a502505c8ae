#include "unit.h"
#include "core/file.h"
#include "core/tree.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[64];

static int
make_dir(PKG_UNUSED void **state)
{
	(void)snprintf(dir, sizeof(dir), "/tmp/unit-file-XXXXXX");
	return mkdtemp(dir) && chdir(dir) == 0 ? 0 : -1;
}

static int
remove_dir(PKG_UNUSED void **state)
{
	return chdir("/") == 0 ? pkg_tree_remove(dir, NULL) : -1;
}

static int
count_entries(const char *path)
{
	DIR *stream = opendir(path);
	int count = -2;

	while (stream && readdir(stream))
		count++;
	if (stream)
		(void)closedir(stream);
	return count;
}

static void
a_read_is_bounded_to_the_byte_and_leaves_out_as_it_was(PKG_UNUSED void **state)
{
	static const struct {
		size_t size, max;
		bool fits;
	} cases[] = { { 0, 0, true }, { 1, 0, false }, { 10, 10, true }, { 11, 10, false },
		{ 65535, 65536, true }, { 65536, 65536, true }, { 65537, 65536, false },
		{ 200000, 200000, true } };

	for (size_t i = 0; i < PKG_ARRAY_LEN(cases); i++) {
		pkg_cleanup_error struct pkg_error err = { 0 };
		pkg_cleanup_buf struct pkg_buf out = { 0 };
		pkg_autofree char *data = pkg_xmalloc(cases[i].size + 1);

		memset(data, 'x', cases[i].size);
		pkg_buf_add(&out, "before");
		assert_int_equal(pkg_file_write("f", data, cases[i].size, 0600, false, NULL), 0);
		assert_int_equal(
			pkg_file_read("f", cases[i].max, &out, &err), cases[i].fits ? 0 : -1);
		assert_int_equal(out.len, 6 + (cases[i].fits ? cases[i].size : 0));
		assert_int_equal(strlen(out.data), out.len);
		assert_int_equal(err.kind, cases[i].fits ? PKG_E_NONE : PKG_E_TOO_LARGE);
	}
}

static void
a_file_whose_size_is_a_lie_is_read_and_bounded_all_the_same(PKG_UNUSED void **state)
{
	pkg_cleanup_buf struct pkg_buf out = { 0 };
	pkg_cleanup_error struct pkg_error err = { 0 };

	/* procfs says 0 bytes */
	assert_int_equal(pkg_file_read("/proc/self/status", 65536, &out, NULL), 0);
	assert_non_null(strstr(out.data, "VmPeak"));
	assert_int_equal(pkg_file_read("/proc/self/status", 20, &out, &err), -1);
	assert_int_equal(err.kind, PKG_E_TOO_LARGE);
}

static void
what_is_not_a_regular_file_is_refused_without_waiting(PKG_UNUSED void **state)
{
	static const char *const paths[] = { "fifo", "/dev/zero", "." };

	assert_int_equal(mkfifo("fifo", 0600), 0);
	(void)alarm(10); /* opening a FIFO can wait for ever */
	for (size_t i = 0; i < PKG_ARRAY_LEN(paths); i++) {
		pkg_cleanup_buf struct pkg_buf out = { 0 };
		pkg_cleanup_error struct pkg_error err = { 0 };

		assert_int_equal(pkg_file_read(paths[i], 100, &out, &err), -1);
		assert_int_equal(err.kind, PKG_E_INVALID);
		assert_non_null(strstr(err.message, paths[i]));
	}
	(void)alarm(0);
}

static void
a_read_beneath_meets_no_symlink_and_never_leaves(PKG_UNUSED void **state)
{
	static const struct {
		const char *path;
		bool works;
	} cases[] = { { "in/f", true }, { "./in/../in/f", true }, { "in/link", false },
		{ "dirlink/f", false }, { "../in/f", false }, { "/etc/passwd", false },
		{ "in/none", false } };
	pkg_autofd int fd = -1;

	assert_int_equal(pkg_dir_make("b/in", 0700, NULL), 0);
	assert_int_equal(pkg_dir_make("in", 0700, NULL), 0);
	assert_int_equal(pkg_file_write("b/in/f", "data", 4, 0600, false, NULL), 0);
	assert_int_equal(pkg_file_write("in/f", "data", 4, 0600, false, NULL), 0);
	assert_int_equal(symlink("f", "b/in/link"), 0);
	assert_int_equal(symlink("in", "b/dirlink"), 0);
	fd = pkg_dir_open("b", NULL);
	for (size_t i = 0; i < PKG_ARRAY_LEN(cases); i++) {
		pkg_cleanup_buf struct pkg_buf out = { 0 };
		pkg_cleanup_buf struct pkg_buf plain = { 0 };

		assert_int_equal(pkg_file_read_beneath(fd, cases[i].path, 100, &out, NULL) == 0,
			cases[i].works);
		/* The plain read does follow: it is for our own directories. */
		assert_int_equal(pkg_file_read_at(fd, cases[i].path, 9999, &plain, NULL) == 0,
			strcmp(cases[i].path, "in/none") != 0);
	}
}

static void
a_write_has_the_exact_mode_under_any_umask_and_leaves_nothing_beside(PKG_UNUSED void **state)
{
	static const mode_t modes[] = { 0600, 0644, 0400, 0755, 0666 };

	assert_int_equal(mkdir("w", 0700), 0);
	for (size_t i = 0; i < PKG_ARRAY_LEN(modes); i++) {
		mode_t old = umask(i % 2 ? 077 : 0);
		pkg_cleanup_buf struct pkg_buf out = { 0 };
		struct stat st;

		assert_int_equal(pkg_file_write("w/f", "text", 4, modes[i], i % 2 == 0, NULL), 0);
		(void)umask(old);
		assert_int_equal(stat("w/f", &st), 0);
		assert_int_equal(st.st_mode & 07777, modes[i]);
		assert_int_equal(pkg_file_read("w/f", 10, &out, NULL), 0);
		assert_string_equal(out.data, "text");
		assert_int_equal(count_entries("w"), 1);
	}
}

static void
a_write_replaces_the_name_so_old_readers_keep_the_old_file(PKG_UNUSED void **state)
{
	pkg_autofd int old = -1;
	char text[8] = "";

	assert_int_equal(pkg_file_write("r", "old", 3, 0600, false, NULL), 0);
	assert_int_equal(link("r", "hard"), 0);
	old = open("r", O_RDONLY | O_CLOEXEC);
	assert_int_equal(pkg_file_write("r", "new!", 4, 0600, true, NULL), 0);
	assert_int_equal(read(old, text, sizeof(text)), 3);
	assert_string_equal(text, "old");
	/* and a symlink is replaced, not written through */
	assert_int_equal(symlink("hard", "sym"), 0);
	assert_int_equal(pkg_file_write("sym", "x", 1, 0600, false, NULL), 0);
	assert_int_equal(readlink("sym", text, sizeof(text)), -1);
	memset(text, 0, sizeof(text));
	(void)close(old);
	old = open("hard", O_RDONLY | O_CLOEXEC);
	assert_int_equal(read(old, text, sizeof(text)), 3);
	assert_string_equal(text, "old");
}

/* A write that fails half-way: the file system is "full" after 4 KiB. */
static void
a_write_that_fails_keeps_the_old_file_and_no_temporary_one(PKG_UNUSED void **state)
{
	pkg_cleanup_error struct pkg_error err = { 0 };
	pkg_cleanup_buf struct pkg_buf out = { 0 };
	static char big[64 * 1024];
	struct rlimit old;
	struct rlimit small;

	assert_int_equal(mkdir("full", 0700), 0);
	assert_int_equal(pkg_file_write("full/f", "old", 3, 0600, false, NULL), 0);
	(void)signal(SIGXFSZ, SIG_IGN);
	(void)getrlimit(RLIMIT_FSIZE, &old);
	small = (struct rlimit){ 4096, old.rlim_max };
	(void)setrlimit(RLIMIT_FSIZE, &small);
	assert_int_equal(pkg_file_write("full/f", big, sizeof(big), 0600, false, &err), -1);
	(void)setrlimit(RLIMIT_FSIZE, &old);
	(void)signal(SIGXFSZ, SIG_DFL);
	assert_int_equal(err.sys, EFBIG);
	assert_non_null(strstr(err.message, "full/f"));
	assert_int_equal(pkg_file_read("full/f", 100, &out, NULL), 0);
	assert_string_equal(out.data, "old");
	assert_int_equal(count_entries("full"), 1);

	assert_int_equal(mkdir("isdir", 0700), 0); /* rename(2) fails here */
	assert_int_equal(pkg_file_write("isdir", "x", 1, 0600, false, NULL), -1);
	assert_int_equal(pkg_file_write("none/f", "x", 1, 0600, false, &err), -1);
	assert_int_equal(err.sys, ENOENT);
}

static void
directories_are_made_with_their_parents_and_found_again(PKG_UNUSED void **state)
{
	static const char *const paths[] = { "m/a/b/c", "m/a/b/c", "m//a///x/", "m/link/y/z", "m" };
	pkg_cleanup_error struct pkg_error err = { 0 };

	assert_int_equal(pkg_dir_make("m/a", 0700, NULL), 0);
	assert_int_equal(symlink("a", "m/link"), 0);
	for (size_t i = 0; i < PKG_ARRAY_LEN(paths); i++) {
		struct stat st;

		assert_int_equal(pkg_dir_make(paths[i], 0700, &err), 0);
		assert_int_equal(stat(paths[i], &st), 0);
		assert_int_equal(st.st_mode, S_IFDIR | 0700);
	}
	assert_int_equal(access("m/a/y/z", F_OK), 0); /* a symlink to a directory is one */
	assert_int_equal(pkg_dir_make("/", 0700, NULL), 0);
	assert_int_equal(pkg_dir_make("/proc/self", 0700, NULL), 0);
}

static void
what_stands_in_the_way_of_a_directory_is_an_error(PKG_UNUSED void **state)
{
	static const char *const paths[] = { "way/file", "way/file/x", "way/dangling",
		"way/dangling/x", "" };

	assert_int_equal(pkg_dir_make("way", 0700, NULL), 0);
	assert_int_equal(pkg_file_write("way/file", "", 0, 0600, false, NULL), 0);
	assert_int_equal(symlink("nowhere", "way/dangling"), 0);
	for (size_t i = 0; i < PKG_ARRAY_LEN(paths); i++)
		assert_int_equal(pkg_dir_make(paths[i], 0700, NULL), -1);
	assert_int_equal(access("way/nowhere", F_OK), -1);
}

static void
a_directory_is_opened_but_never_through_a_last_symlink(PKG_UNUSED void **state)
{
	static const struct {
		const char *path;
		bool opens;
	} cases[] = { { "o/d", true }, { "o/d/", true }, { "o/d//", true }, { "o/link", false },
		{ "o/link/", false }, { "o/link//", false }, { "o/up/d", true },
		{ "o/file", false }, { ".", true }, { "/", true }, { "none", false } };

	assert_int_equal(pkg_dir_make("o/d", 0700, NULL), 0);
	assert_int_equal(symlink("d", "o/link"), 0);
	assert_int_equal(symlink("../o", "o/up"), 0);
	assert_int_equal(pkg_file_write("o/file", "", 0, 0600, false, NULL), 0);
	for (size_t i = 0; i < PKG_ARRAY_LEN(cases); i++) {
		pkg_autofd int fd = pkg_dir_open(cases[i].path, NULL);

		assert_int_equal(fd >= 0, cases[i].opens);
		if (fd >= 0)
			assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	}
}

static void
syncing_works_on_what_is_there_only(PKG_UNUSED void **state)
{
	assert_int_equal(pkg_dir_sync(".", NULL), 0);
	assert_int_equal(pkg_fs_sync(".", NULL), 0);
	assert_int_equal(pkg_dir_sync("none", NULL), -1);
	assert_int_equal(pkg_fs_sync("none", NULL), -1);
	assert_true(pkg_file_exists("."));
	assert_false(pkg_file_exists("none"));
}

static void
everything_is_written_even_through_a_full_nonblocking_pipe(PKG_UNUSED void **state)
{
	static char data[300000];
	char chunk[4096];
	size_t total = 0;
	int ends[2];
	ssize_t n;
	pid_t pid;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		(void)fcntl(ends[1], F_SETFL, O_NONBLOCK);
		_exit(pkg_write_all(ends[1], data, sizeof(data), NULL) == 0 ? 0 : 1);
	}
	(void)close(ends[1]);
	while ((n = read(ends[0], chunk, sizeof(chunk))) > 0)
		total += (size_t)n;
	(void)close(ends[0]);
	assert_int_equal(total, sizeof(data));
	(void)waitpid(pid, NULL, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_read_is_bounded_to_the_byte_and_leaves_out_as_it_was),
		cmocka_unit_test(a_file_whose_size_is_a_lie_is_read_and_bounded_all_the_same),
		cmocka_unit_test(what_is_not_a_regular_file_is_refused_without_waiting),
		cmocka_unit_test(a_read_beneath_meets_no_symlink_and_never_leaves),
		cmocka_unit_test(
			a_write_has_the_exact_mode_under_any_umask_and_leaves_nothing_beside),
		cmocka_unit_test(a_write_replaces_the_name_so_old_readers_keep_the_old_file),
		cmocka_unit_test(a_write_that_fails_keeps_the_old_file_and_no_temporary_one),
		cmocka_unit_test(directories_are_made_with_their_parents_and_found_again),
		cmocka_unit_test(what_stands_in_the_way_of_a_directory_is_an_error),
		cmocka_unit_test(a_directory_is_opened_but_never_through_a_last_symlink),
		cmocka_unit_test(syncing_works_on_what_is_there_only),
		cmocka_unit_test(everything_is_written_even_through_a_full_nonblocking_pipe),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
