#include "unit.h"

#include "core/file.h"
#include "core/tree.h"
#include "fetch/unpack.h"
#include "fetch_zip.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

struct place {
	char path[64];
	int fd;
};

static int
set_up(void **state)
{
	struct place *place = pkg_xcalloc(1, sizeof(*place));

	strcpy(place->path, "/tmp/unpack-XXXXXX");
	if (!mkdtemp(place->path))
		return -1;
	place->fd = open(place->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	(void)umask(022);
	*state = place;
	return place->fd < 0 ? -1 : 0;
}

static int
tear_down(void **state)
{
	struct place *place = *state;

	pkg_close(&place->fd);
	(void)pkg_tree_remove(place->path, NULL);
	free(place);
	return 0;
}

static int
unpack(int fd, int dir_fd, const struct fetch_unpack_limits *limits, fetch_unpacked_fn *done,
	void *context, struct pkg_error *err)
{
	pkg_cleanup(fetch_unpack_free) struct fetch_unpack *archive =
		fetch_unpack_open(fd, limits, err);

	return archive ? fetch_unpack_run(archive, dir_fd, done, context, err) : -1;
}

static bool
is_empty(int dir_fd)
{
	struct stat st;

	/* One link for each directory in it; files are looked for by name where it matters. */
	return fstat(dir_fd, &st) == 0 && st.st_nlink == 2;
}

static int
collect(void *context, const struct fetch_unpacked_file *file, PKG_UNUSED struct pkg_error *err)
{
	pkg_buf_addf(context, "%s %lld %d %02x%02x\n", file->path, file->size, file->exec,
		file->sha256[0], file->sha256[31]);
	return 0;
}

static void
files_have_content_mode_and_hash(void **state)
{
	static const struct zip_file files[] = {
		{ .name = "pkg/", .mode = S_IFDIR | 0777 },
		{ .name = "pkg/__init__.py", .data = "x = 1\n", .mode = S_IFREG | 0666 },
		{ .name = "pkg/deep/er/tool",
			.data = "#!",
			.deflate = true,
			.mode = S_IFREG | 0711 },
		{ .name = "pkg/empty", .data = "" },
		{ .name = "other/caf\xc3\xa9", .data = "x", .flags = FETCH_ZIP_UTF8 },
		{ .name = "pkg/again", .data = "y", .descriptor = 24, .zip64 = true },
	};
	struct place *place = *state;
	pkg_autofd int fd = zip_fd(files, PKG_ARRAY_LEN(files), NULL);
	pkg_cleanup_error struct pkg_error err = { 0 };
	pkg_cleanup_buf struct pkg_buf told = { 0 };
	pkg_cleanup_buf struct pkg_buf read = { 0 };
	struct stat st;

	if (unpack(fd, place->fd, NULL, collect, &told, &err) < 0)
		fail_msg("%s", err.message);
	assert_string_equal(told.data,
		"pkg/__init__.py 6 0 9ef4\n"
		"pkg/deep/er/tool 2 1 36e8\n"
		"pkg/empty 0 0 e355\n"
		"other/caf\xc3\xa9 1 0 2d81\n"
		"pkg/again 1 0 a1fa\n");
	assert_int_equal(fstatat(place->fd, "pkg/__init__.py", &st, 0), 0);
	assert_int_equal(st.st_mode, S_IFREG | 0444);
	assert_int_equal(fstatat(place->fd, "pkg/deep/er/tool", &st, 0), 0);
	assert_int_equal(st.st_mode, S_IFREG | 0555);
	assert_int_equal(fstatat(place->fd, "pkg", &st, 0), 0);
	assert_int_equal(st.st_mode, S_IFDIR | 0755);
	assert_int_equal(pkg_file_read_at(place->fd, "pkg/__init__.py", 100, &read, NULL), 0);
	assert_string_equal(read.data, "x = 1\n");
}

struct bad_row {
	const char *says;
	struct zip_file files[2];
};

#define NAME_ROW(message, ...)                                                                     \
	{                                                                                          \
		.says = message, .files = { [0] = { __VA_ARGS__, .data = "evil" } }                \
	}
#define PAIR_ROW(message, first, second)                                                           \
	{                                                                                          \
		.says = message, .files = {                                                        \
			{ .name = first, .data = "1", .flags = FETCH_ZIP_UTF8 },                   \
			{ .name = second, .data = "2", .flags = FETCH_ZIP_UTF8 }                   \
		}                                                                                  \
	}
#define LONG_COMPONENT                                                                             \
	"0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567" \
	"0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567" \
	"0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567"

static const struct bad_row bad_rows[] = {
	NAME_ROW("plain relative path", .name = "/etc/evil"),
	NAME_ROW("plain relative path", .name = "../evil"),
	NAME_ROW("plain relative path", .name = "a/../../evil"),
	NAME_ROW("plain relative path", .name = "a/./evil"),
	NAME_ROW("plain relative path", .name = "a//evil"),
	NAME_ROW("plain relative path", .name = ".."),
	NAME_ROW("plain relative path", .name = "a\\evil"),
	NAME_ROW("plain relative path", .name = "c:evil"),
	NAME_ROW("plain relative path", .name = "a\nevil"),
	NAME_ROW("plain relative path", .name = "a\x7f"),
	NAME_ROW("plain relative path", .name = "good.py\0.txt", .name_len = 12),
	NAME_ROW("directory with content", .name = "a/"),
	NAME_ROW("not marked as UTF-8", .name = "caf\xc3\xa9"),
	NAME_ROW("not UTF-8", .name = "caf\xe9", .flags = FETCH_ZIP_UTF8),
	NAME_ROW("longer than 255", .name = "a/" LONG_COMPONENT "/b"),
	NAME_ROW("too many directories",
		.name = "0/1/2/3/4/5/6/7/8/9/0/1/2/3/4/5/6/7/8/9/0/1/2/3/"
			"4/5/6/7/8/9/0/1/2/3/4/5/6/7/8/9/0/1/2/3/4/5/6/7/"
			"8/9/0/1/2/3/4/5/6/7/8/9/0/1/2/3/4/5/6/7/8/9"),
	NAME_ROW("normalisation", .name = "cafe\xcc\x81", .flags = FETCH_ZIP_UTF8),
	NAME_ROW("normalisation", .name = "\xe2\x84\xaa", .flags = FETCH_ZIP_UTF8),
	NAME_ROW("symbolic link", .name = "link", .mode = S_IFLNK | 0777),
	NAME_ROW("neither a file nor", .name = "dev", .mode = S_IFCHR | 0666),
	NAME_ROW("neither a file nor", .name = "dev", .mode = S_IFBLK | 0666),
	NAME_ROW("neither a file nor", .name = "fifo", .mode = S_IFIFO | 0666),
	NAME_ROW("neither a file nor", .name = "sock", .mode = S_IFSOCK | 0666),
	NAME_ROW("without a slash", .name = "dir", .mode = S_IFDIR | 0777),
	NAME_ROW("set-user-id", .name = "su", .mode = S_IFREG | S_ISUID | 0755),
	NAME_ROW("set-user-id", .name = "sg", .mode = S_IFREG | S_ISGID | 0755),
	PAIR_ROW("is there twice", "a/b", "a/b"),
	PAIR_ROW("but for case", "a/b.py", "a/B.py"),
	PAIR_ROW("but for case", "a/\xc3\xa9", "a/\xc3\x89"),
	/* Thai: two marks of different classes on one letter, either way round. */
	PAIR_ROW("accents", "\xe0\xb8\x81\xe0\xb8\xb8\xe0\xb9\x88",
		"\xe0\xb8\x81\xe0\xb9\x88\xe0\xb8\xb8"),
	PAIR_ROW("needs it to be a directory", "a", "a/b"),
	PAIR_ROW("needs it to be a directory", "A/b/c/d", "a/B"),
	PAIR_ROW("needs it to be a directory", "a/b", "a"),
};

static void
every_bad_name_is_refused_before_anything_is_written(void **state)
{
	struct place *place = *state;

	for (size_t i = 0; i < PKG_ARRAY_LEN(bad_rows); i++) {
		const struct bad_row *row = &bad_rows[i];
		struct zip_file files[3] = { { .name = "good/first", .data = "good" } };
		size_t count = row->files[1].name ? 3 : 2;
		pkg_cleanup_error struct pkg_error err = { 0 };
		pkg_autofd int fd = -1;

		files[1] = row->files[0];
		files[2] = row->files[1];
		fd = zip_fd(files, count, NULL);
		if (unpack(fd, place->fd, NULL, NULL, NULL, &err) == 0)
			fail_msg("row %zu (%s) was unpacked", i, row->says);
		if (err.kind != PKG_E_ARCHIVE || !strstr(err.message, row->says))
			fail_msg("row %zu (%s): %s", i, row->says, err.message);
		assert_true(is_empty(place->fd));
	}
}

static void
names_that_only_look_alike_are_kept(void **state)
{
	static const struct zip_file files[] = {
		{ .name = "..a", .data = "1" },
		{ .name = "a..", .data = "2" },
		{ .name = "ab/c", .data = "3" },
		{ .name = "a/c", .data = "4" },
		{ .name = "a-b", .data = "5" },
		{ .name = "C/x", .data = "6" },
		{ .name = "c/y", .data = "7" },
		{ .name = "\xc3\xa9", .data = "8", .flags = FETCH_ZIP_UTF8 },
		{ .name = "e", .data = "9" },
		{ .name = "\xe0\xb8\x81\xe0\xb8\xb8\xe0\xb9\x88",
			.data = "10",
			.flags = FETCH_ZIP_UTF8 },
		{ .name = "empty/", .mode = S_IFDIR | 0755 },
	};
	struct place *place = *state;
	pkg_autofd int fd = zip_fd(files, PKG_ARRAY_LEN(files), NULL);
	pkg_cleanup_error struct pkg_error err = { 0 };
	struct stat st;

	if (unpack(fd, place->fd, NULL, NULL, NULL, &err) < 0)
		fail_msg("%s", err.message);
	assert_int_equal(fstatat(place->fd, "empty", &st, 0), 0);
	assert_true(S_ISDIR(st.st_mode));
}

static void
links_in_the_target_are_not_followed(void **state)
{
	static const struct zip_file through = { .name = "link/evil", .data = "evil" };
	static const struct zip_file over = { .name = "link", .data = "evil" };
	struct place *place = *state;
	pkg_autofd int through_fd = zip_fd(&through, 1, NULL);
	pkg_autofd int over_fd = zip_fd(&over, 1, NULL);
	struct stat st;

	assert_int_equal(mkdirat(place->fd, "outside", 0755), 0);
	assert_int_equal(mkdirat(place->fd, "inside", 0755), 0);
	assert_int_equal(symlinkat("../outside", place->fd, "inside/link"), 0);
	for (int i = 0; i < 2; i++) {
		pkg_autofd int inside = openat(place->fd, "inside", O_RDONLY | O_CLOEXEC);

		assert_int_equal(
			unpack(i ? over_fd : through_fd, inside, NULL, NULL, NULL, NULL), -1);
	}
	assert_int_equal(fstatat(place->fd, "outside/evil", &st, 0), -1);
}

static void
an_existing_file_is_not_overwritten(void **state)
{
	static const struct zip_file file = { .name = "a", .data = "new" };
	struct place *place = *state;
	pkg_autofd int fd = zip_fd(&file, 1, NULL);
	pkg_cleanup_error struct pkg_error err = { 0 };
	pkg_cleanup_buf struct pkg_buf read = { 0 };

	assert_int_equal(pkg_file_write_at(place->fd, "a", "old", 3, 0644, false, NULL), 0);
	assert_int_equal(unpack(fd, place->fd, NULL, NULL, NULL, &err), -1);
	assert_int_equal(err.sys, EEXIST);
	assert_int_equal(pkg_file_read_at(place->fd, "a", 10, &read, NULL), 0);
	assert_string_equal(read.data, "old");
}

static void
limits_hold_at_their_edges(void **state)
{
	static const struct zip_file files[] = {
		{ .name = "a", .len = 100 << 10, .deflate = true },
		{ .name = "b", .len = 100 << 10, .deflate = true },
		{ .name = "c", .len = 70 << 20, .deflate = true },
	};
	static const struct {
		size_t count;
		struct fetch_unpack_limits limits;
		bool good;
	} rows[] = {
		{ 2, { .max_entries = 2 }, true },
		{ 2, { .max_entries = 1 }, false },
		{ 2, { .max_file = 100 << 10 }, true },
		{ 2, { .max_file = (100 << 10) - 1 }, false },
		{ 2, { .max_total = 200 << 10 }, true },
		{ 2, { .max_total = (200 << 10) - 1 }, false },
		/* Small archives may pack as well as they like. */
		{ 2, { .max_ratio = 2 }, true },
		{ 3, { .max_ratio = 2000 }, true },
		{ 3, { 0 }, false },
	};
	struct place *place = *state;

	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		pkg_autofd int fd = zip_fd(files, rows[i].count, NULL);
		pkg_cleanup_error struct pkg_error err = { 0 };
		pkg_cleanup(fetch_unpack_free) struct fetch_unpack *archive =
			fetch_unpack_open(fd, &rows[i].limits, &err);

		if ((archive != NULL) != rows[i].good)
			fail_msg("row %zu: %s", i, err.message);
		assert_int_equal(err.kind, rows[i].good ? PKG_E_NONE : PKG_E_TOO_LARGE);
	}
	assert_true(is_empty(place->fd));
}

static void
a_stream_longer_than_announced_is_cut_at_once(void **state)
{
	static const struct zip_file file = {
		.name = "a", .len = 64 << 20, .deflate = true, .size_add = 10 - (64LL << 20)
	};
	struct place *place = *state;
	pkg_autofd int fd = zip_fd(&file, 1, NULL);
	pkg_cleanup_error struct pkg_error err = { 0 };
	struct stat st;

	assert_int_equal(unpack(fd, place->fd, NULL, NULL, NULL, &err), -1);
	assert_int_equal(err.kind, PKG_E_ARCHIVE);
	assert_int_equal(fstatat(place->fd, "a", &st, 0), 0);
	assert_int_equal(st.st_size, 0);
}

static int
refuse(void *context, PKG_UNUSED const struct fetch_unpacked_file *file, struct pkg_error *err)
{
	++*(int *)context;
	return pkg_error_set(err, PKG_E_HASH, "not this one");
}

static void
a_callback_ends_it_with_its_own_error(void **state)
{
	static const struct zip_file files[] = {
		{ .name = "a", .data = "1" },
		{ .name = "b", .data = "2" },
	};
	struct place *place = *state;
	pkg_autofd int fd = zip_fd(files, 2, NULL);
	pkg_cleanup_error struct pkg_error err = { 0 };
	struct stat st;
	int calls = 0;

	assert_int_equal(unpack(fd, place->fd, NULL, refuse, &calls, &err), -1);
	assert_int_equal(err.kind, PKG_E_HASH);
	assert_int_equal(calls, 1);
	assert_int_equal(fstatat(place->fd, "b", &st, 0), -1);
}

/* Runs in a process of its own. 77: cannot be tried here. */
static int
in_child(int (*run)(struct place *place), struct place *place)
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(run(place));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int
fill_a_disk(struct place *place)
{
	static const struct zip_file file = { .name = "big", .len = 1 << 20, .deflate = true };
	pkg_autofd int fd = zip_fd(&file, 1, NULL);
	pkg_autofd int dir_fd = -1;
	struct pkg_error err = { 0 };

	if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
		mount("none", place->path, "tmpfs", 0, "size=64k") < 0)
		return 77;
	dir_fd = open(place->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (unpack(fd, dir_fd, NULL, NULL, NULL, &err) == 0)
		return 1;
	return err.kind == PKG_E_DISK_FULL && err.sys == ENOSPC ? 0 : 2;
}

static void
a_full_disk_is_said_to_be_one(void **state)
{
	int status = in_child(fill_a_disk, *state);

	if (status == 77)
		skip();
	assert_int_equal(status, 0);
}

static int
measure_memory(struct place *place)
{
	static const struct zip_file file = { .name = "big", .len = 150 << 20, .deflate = true };
	static const struct fetch_unpack_limits limits = { .max_ratio = 5000 };
	pkg_autofd int fd = zip_fd(&file, 1, NULL);
	struct rusage before;
	struct rusage after;

	(void)getrusage(RUSAGE_SELF, &before);
	if (unpack(fd, place->fd, &limits, NULL, NULL, NULL) < 0)
		return 1;
	(void)getrusage(RUSAGE_SELF, &after);
	return after.ru_maxrss - before.ru_maxrss < 16 << 10 ? 0 : 2;
}

static void
memory_does_not_grow_with_the_file(void **state)
{
	assert_int_equal(in_child(measure_memory, *state), 0);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	static const struct CMUnitTest tests[] = {
		TEST(files_have_content_mode_and_hash),
		TEST(every_bad_name_is_refused_before_anything_is_written),
		TEST(names_that_only_look_alike_are_kept),
		TEST(links_in_the_target_are_not_followed),
		TEST(an_existing_file_is_not_overwritten),
		TEST(limits_hold_at_their_edges),
		TEST(a_stream_longer_than_announced_is_cut_at_once),
		TEST(a_callback_ends_it_with_its_own_error),
		TEST(a_full_disk_is_said_to_be_one),
		TEST(memory_does_not_grow_with_the_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
