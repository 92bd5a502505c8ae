#include "unit.h"
#include "core/buf.h"
#include "core/file.h"
#include "core/tree.h"
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[64];

static int
make_dir(PKG_UNUSED void **state)
{
	(void)snprintf(dir, sizeof(dir), "/tmp/unit-tree-XXXXXX");
	return mkdtemp(dir) && chmod(dir, 0755) == 0 && chdir(dir) == 0 ? 0 : -1;
}

static int
remove_dir(PKG_UNUSED void **state)
{
	return chdir("/") == 0 ? pkg_tree_remove(dir, NULL) : -1;
}

static void
put(const char *path, const char *text)
{
	pkg_autofree char *copy = pkg_xstrdup(path);
	char *slash = strrchr(copy, '/');

	if (slash) {
		*slash = '\0';
		assert_int_equal(pkg_dir_make(copy, 0755, NULL), 0);
	}
	assert_int_equal(pkg_file_write(path, text, strlen(text), 0644, false, NULL), 0);
}

static int
describe(void *context, const char *relative, const struct stat *st,
	PKG_UNUSED struct pkg_error *err)
{
	struct pkg_buf *out = context;

	pkg_buf_addf(out, "%s %o\n", relative, (unsigned)st->st_mode);
	return 0;
}

/* Every path below with its type and mode. */
static void
outline(const char *path, struct pkg_buf *out)
{
	pkg_cleanup_error struct pkg_error err = { 0 };

	if (pkg_tree_walk(AT_FDCWD, path, describe, out, &err) < 0)
		fail_msg("%s", err.message);
}

/* cmocka's skip() prints "not ok ... # SKIP", which TAP harnesses count as a failure. */
static void
cannot(const char *what)
{
	printf("# skipped: this machine cannot %s\n", what);
}

/* Runs fn as nobody, in a child: root may do everything. Its exit status. */
static int
as_nobody(int (*fn)(void))
{
	int status = -1;
	pid_t pid;

	if (getuid() != 0)
		return fn();
	pid = fork();
	if (pid == 0)
		_exit(setresgid(65534, 65534, 65534) == 0 && setresuid(65534, 65534, 65534) == 0
				? fn()
				: 99);
	(void)waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 98;
}

/* ---- walking ---- */

static void
a_walk_is_in_byte_order_of_whole_paths(PKG_UNUSED void **state)
{
	pkg_cleanup_buf struct pkg_buf out = { 0 };

	put("walk/a/b", "");
	put("walk/a.txt", "");
	put("walk/a-b", "");
	put("walk/a/a/x", "");
	put("walk/a0", "");
	put("walk/A", "");
	put("walk/\xc3\xa4", "");
	assert_int_equal(mkdir("walk/empty", 0700), 0);
	assert_int_equal(symlink("/etc", "walk/link"), 0);
	outline("walk", &out);
	assert_string_equal(pkg_buf_str(&out),
		"A 100644\n"
		"a 40755\n"
		"a-b 100644\n"
		"a.txt 100644\n"
		"a/a 40755\n"
		"a/a/x 100644\n"
		"a/b 100644\n"
		"a0 100644\n"
		"empty 40700\n"
		"link 120777\n"
		"\xc3\xa4 100644\n");
}

static int
stop_at_b(void *context, const char *relative, PKG_UNUSED const struct stat *st,
	struct pkg_error *err)
{
	++*(int *)context;
	return strcmp(relative, "d/b") == 0 ? pkg_error_set(err, PKG_E_BUSY, "stop") : 0;
}

static void
a_callback_that_fails_ends_the_walk_with_its_own_error(PKG_UNUSED void **state)
{
	pkg_cleanup_error struct pkg_error err = { 0 };
	int calls = 0;

	put("stop/d/a", "");
	put("stop/d/b", "");
	put("stop/d/c", "");
	assert_int_equal(pkg_tree_walk(AT_FDCWD, "stop", stop_at_b, &calls, &err), -1);
	assert_int_equal(err.kind, PKG_E_BUSY);
	assert_int_equal(calls, 3);
	assert_int_equal(symlink("stop", "stop-link"), 0);
	assert_int_equal(pkg_tree_walk(AT_FDCWD, "stop-link", stop_at_b, &calls, &err), -1);
	assert_int_equal(pkg_tree_walk(AT_FDCWD, "none", stop_at_b, &calls, &err), -1);
	assert_int_equal(calls, 3);
}

/* ---- copying ---- */

static void
make_sample(const char *root)
{
	char path[256];

	(void)snprintf(path, sizeof(path), "%s/pkg/mod.py", root);
	put(path, "import this\n");
	(void)snprintf(path, sizeof(path), "%s/pkg/sub/deep/data", root);
	put(path, "0123456789");
	assert_int_equal(chmod(path, 0444), 0);
	(void)snprintf(path, sizeof(path), "%s/bin/run", root);
	put(path, "#!/bin/sh\n");
	assert_int_equal(chmod(path, 0755), 0);
	(void)snprintf(path, sizeof(path), "%s/link", root);
	assert_int_equal(symlink("pkg/../bin/run", path), 0);
	(void)snprintf(path, sizeof(path), "%s/dangling", root);
	assert_int_equal(symlink("/nonexistent", path), 0);
	(void)snprintf(path, sizeof(path), "%s/closed/dir", root);
	assert_int_equal(pkg_dir_make(path, 0755, NULL), 0);
	(void)snprintf(path, sizeof(path), "%s/closed/dir/f", root);
	put(path, "x");
	(void)snprintf(path, sizeof(path), "%s/closed/dir", root);
	assert_int_equal(chmod(path, 0555), 0);
	(void)snprintf(path, sizeof(path), "%s/closed", root);
	assert_int_equal(chmod(path, 0511), 0);
	(void)snprintf(path, sizeof(path), "%s/sticky", root);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(chmod(path, 01777), 0);
}

static void
a_copy_has_the_same_outline_and_shares_the_files(PKG_UNUSED void **state)
{
	static const mode_t masks[] = { 0, 022, 077 };

	make_sample("src");
	assert_int_equal(chmod("src", 0750), 0);
	for (size_t i = 0; i < PKG_ARRAY_LEN(masks); i++) {
		pkg_cleanup_buf struct pkg_buf want = { 0 };
		pkg_cleanup_buf struct pkg_buf got = { 0 };
		pkg_cleanup_error struct pkg_error err = { 0 };
		struct pkg_tree_stats stats;
		struct stat a;
		struct stat b;
		char text[64];
		mode_t old = umask(masks[i]);

		if (pkg_tree_copy(AT_FDCWD, "src", AT_FDCWD, "copy", &stats, &err) < 0)
			fail_msg("%s", err.message);
		(void)umask(old);
		outline("src", &want);
		outline("copy", &got);
		assert_string_equal(pkg_buf_str(&got), pkg_buf_str(&want));
		assert_int_equal(stat("copy", &b), 0);
		assert_int_equal(b.st_mode & 07777, 0750);
		assert_int_equal(stat("src/pkg/mod.py", &a), 0);
		assert_int_equal(stat("copy/pkg/mod.py", &b), 0);
		assert_true(a.st_ino == b.st_ino && a.st_dev == b.st_dev);
		assert_int_equal(readlink("copy/link", text, sizeof(text)), 14);
		assert_memory_equal(text, "pkg/../bin/run", 14);
		assert_int_equal(stats.mode, PKG_TREE_LINK);
		assert_int_equal(stats.files, 6);
		assert_int_equal(stats.directories, 7);
		assert_int_equal(stats.bytes, 0);
		assert_int_equal(pkg_tree_remove("copy", NULL), 0);
	}
}

static void
a_copy_onto_something_or_into_itself_or_of_nothing_is_refused(PKG_UNUSED void **state)
{
	static const struct {
		const char *from, *to;
	} cases[] = { { "self", "there" }, { "self", "file" }, { "none", "new" }, { "file", "new" },
		{ "self-link", "new" }, { "self", "self/inside" }, { "self", "none/new" } };

	put("self/a/f", "x");
	put("there/f", "precious");
	put("file", "");
	assert_int_equal(symlink("self", "self-link"), 0);
	for (size_t i = 0; i < PKG_ARRAY_LEN(cases); i++) {
		pkg_cleanup_error struct pkg_error err = { 0 };

		assert_int_equal(
			pkg_tree_copy(AT_FDCWD, cases[i].from, AT_FDCWD, cases[i].to, NULL, &err),
			-1);
		assert_non_null(err.message);
	}
	assert_int_equal(access("new", F_OK), -1);
	assert_int_equal(access("there/f", F_OK), 0);
}

static void
a_pipe_in_a_tree_is_refused_by_name(PKG_UNUSED void **state)
{
	pkg_cleanup_error struct pkg_error err = { 0 };

	put("odd/a/f", "x");
	assert_int_equal(mkfifo("odd/a/fifo", 0600), 0);
	assert_int_equal(pkg_tree_copy(AT_FDCWD, "odd", AT_FDCWD, "odd2", NULL, &err), -1);
	assert_int_equal(err.kind, PKG_E_INVALID);
	assert_non_null(strstr(err.message, "a/fifo"));
}

static void
five_thousand_files_are_all_carried_over(PKG_UNUSED void **state)
{
	pkg_cleanup_buf struct pkg_buf want = { 0 };
	pkg_cleanup_buf struct pkg_buf got = { 0 };
	struct pkg_tree_stats stats;
	char path[128];

	for (int i = 0; i < 5000; i++) {
		int fd;

		(void)snprintf(path, sizeof(path), "many/d%d/e%d", i % 50, i % 7);
		if (i < 350)
			assert_int_equal(pkg_dir_make(path, 0755, NULL), 0);
		(void)snprintf(path, sizeof(path), "many/d%d/e%d/a-rather-long-name-%d.py", i % 50,
			i % 7, i);
		fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
		assert_true(fd >= 0);
		(void)close(fd);
	}
	assert_int_equal(pkg_tree_copy(AT_FDCWD, "many", AT_FDCWD, "many2", &stats, NULL), 0);
	assert_int_equal(stats.files, 5000);
	assert_int_equal(stats.directories, 50 + 350);
	outline("many", &want);
	outline("many2", &got);
	assert_string_equal(pkg_buf_str(&got), pkg_buf_str(&want));
	assert_int_equal(pkg_tree_remove("many2", NULL), 0);
	assert_int_equal(access("many2", F_OK), -1);
	assert_int_equal(access("many/d0/e0/a-rather-long-name-0.py", F_OK), 0);
}

/* A directory on another file system than dir, or NULL. */
static const char *
elsewhere(char out[64])
{
	struct stat a;
	struct stat b;

	if (stat("/dev/shm", &a) < 0 || stat(".", &b) < 0 || a.st_dev == b.st_dev)
		return NULL;
	(void)snprintf(out, 64, "/dev/shm/unit-tree-XXXXXX");
	return mkdtemp(out);
}

static void
across_file_systems_files_are_copied_with_mode_and_time(PKG_UNUSED void **state)
{
	char other[64];
	static char big[300000];
	pkg_cleanup_buf struct pkg_buf want = { 0 };
	pkg_cleanup_buf struct pkg_buf got = { 0 };
	pkg_cleanup_buf struct pkg_buf data = { 0 };
	const struct timespec times[2] = { { 1000, 5 }, { 2000, 7 } };
	struct pkg_tree_stats stats;
	struct stat st;
	int to;

	if (!elsewhere(other)) {
		cannot("offer a second file system");
		return;
	}
	make_sample("xsrc");
	memset(big, 'b', sizeof(big));
	assert_int_equal(pkg_file_write("xsrc/big", big, sizeof(big), 0640, false, NULL), 0);
	assert_int_equal(utimensat(AT_FDCWD, "xsrc/big", times, 0), 0);
	to = pkg_dir_open(other, NULL);
	assert_int_equal(pkg_tree_copy(AT_FDCWD, "xsrc", to, "copy", &stats, NULL), 0);
	assert_int_equal(stats.mode, PKG_TREE_COPY);
	assert_int_equal(stats.bytes, 300000 + 12 + 10 + 10 + 1);
	outline("xsrc", &want);
	assert_int_equal(pkg_tree_walk(to, "copy", describe, &got, NULL), 0);
	assert_string_equal(pkg_buf_str(&got), pkg_buf_str(&want));
	assert_int_equal(fstatat(to, "copy/big", &st, 0), 0);
	assert_int_equal(st.st_mtim.tv_sec, 2000);
	assert_int_equal(st.st_mtim.tv_nsec, 7);
	assert_int_equal(pkg_file_read_at(to, "copy/big", sizeof(big), &data, NULL), 0);
	assert_int_equal(data.len, sizeof(big));
	assert_memory_equal(data.data, big, sizeof(big));
	(void)close(to);
	assert_int_equal(pkg_tree_remove(other, NULL), 0);
}

static void
one_file_falls_from_link_to_copy_and_never_overwrites(PKG_UNUSED void **state)
{
	enum pkg_tree_mode mode = PKG_TREE_COPY;
	pkg_cleanup_error struct pkg_error err = { 0 };
	char other[64];
	char target[16] = "";
	int to;

	put("one", "data");
	put("taken", "precious");
	assert_int_equal(symlink("one", "one-link"), 0);
	assert_int_equal(pkg_file_link_or_copy(AT_FDCWD, "one", AT_FDCWD, "two", &mode, NULL), 0);
	assert_int_equal(mode, PKG_TREE_LINK);
	assert_int_equal(
		pkg_file_link_or_copy(AT_FDCWD, "one", AT_FDCWD, "taken", &mode, &err), -1);
	assert_int_equal(err.sys, EEXIST);
	assert_int_equal(pkg_file_link_or_copy(AT_FDCWD, "none", AT_FDCWD, "x", NULL, NULL), -1);
	if (!elsewhere(other))
		return;
	to = pkg_dir_open(other, NULL);
	assert_int_equal(pkg_file_link_or_copy(AT_FDCWD, "one", to, "one", &mode, NULL), 0);
	assert_int_equal(mode, PKG_TREE_COPY);
	assert_int_equal(pkg_file_link_or_copy(AT_FDCWD, "taken", to, "one", &mode, &err), -1);
	assert_int_equal(err.sys, EEXIST);
	assert_int_equal(pkg_file_link_or_copy(AT_FDCWD, "one-link", to, "link", NULL, NULL), 0);
	assert_int_equal(readlinkat(to, "link", target, sizeof(target)), 3);
	assert_string_equal(target, "one");
	(void)close(to);
	assert_int_equal(pkg_tree_remove(other, NULL), 0);
}

/* ---- removing ---- */

static void
a_removal_follows_no_symlink_at_any_place(PKG_UNUSED void **state)
{
	pkg_cleanup_error struct pkg_error err = { 0 };
	pkg_autofd int fd = -1;

	put("keep/d/f", "precious");
	put("rm/a/f", "x");
	assert_int_equal(symlink("../keep", "rm/up"), 0);
	assert_int_equal(symlink("../../keep/d", "rm/a/up"), 0);
	assert_int_equal(symlink("keep", "top"), 0);
	assert_int_equal(pkg_tree_remove("rm", NULL), 0);
	assert_int_equal(access("rm", F_OK), -1);
	assert_int_equal(pkg_tree_remove("top", NULL), 0); /* the link alone */
	assert_int_equal(access("keep/d/f", F_OK), 0);

	/* Below a descriptor not even the way there may lead through one. */
	put("held/f", "x");
	assert_int_equal(symlink("../keep", "held/out"), 0);
	fd = pkg_dir_open("held", NULL);
	assert_int_equal(pkg_tree_remove_at(fd, "out/d", &err), -1);
	assert_int_equal(pkg_tree_remove_at(fd, "../keep", &err), -1);
	assert_int_equal(access("keep/d/f", F_OK), 0);
	assert_int_equal(pkg_tree_remove_at(fd, "f", NULL), 0);
	assert_int_equal(access("held/f", F_OK), -1);
}

static void
a_missing_path_is_success_and_an_odd_one_is_refused(PKG_UNUSED void **state)
{
	static const struct {
		const char *path;
		int result;
	} cases[] = { { "none", 0 }, { "none/none", 0 }, { "none/", 0 }, { "", -1 }, { ".", -1 },
		{ "..", -1 }, { "keep2/..", -1 }, { "keep2/.", -1 }, { "/", -1 }, { "///", -1 } };

	put("keep2/f", "precious");
	for (size_t i = 0; i < PKG_ARRAY_LEN(cases); i++)
		assert_int_equal(pkg_tree_remove(cases[i].path, NULL), cases[i].result);
	assert_int_equal(access("keep2/f", F_OK), 0);
	assert_int_equal(pkg_tree_remove("keep2//", NULL), 0);
	assert_int_equal(access("keep2", F_OK), -1);
}

static int
remove_closed(void)
{
	pkg_cleanup_error struct pkg_error err = { 0 };

	if (access("closed/tree/r/f", F_OK) == 0 && unlink("closed/tree/r/f") == 0)
		return 3; /* the control: it was not closed at all */
	if (pkg_tree_remove("closed/tree", &err) < 0) {
		(void)fprintf(stderr, "# %s\n", err.message);
		return 1;
	}
	return access("closed/tree", F_OK) == 0 ? 2 : 0;
}

static void
directories_without_any_permission_go_too(PKG_UNUSED void **state)
{
	static const struct {
		const char *name;
		mode_t mode;
	} parts[] = { { "r", 0555 }, { "x", 0111 }, { "none", 0 }, { "none-deep", 0 },
		{ "w", 0300 } };
	char path[128];

	put("closed/tree/none-deep/in/f", "x");
	assert_int_equal(chmod("closed/tree/none-deep/in", 0), 0);
	for (size_t i = 0; i < PKG_ARRAY_LEN(parts); i++) {
		(void)snprintf(path, sizeof(path), "closed/tree/%s/f", parts[i].name);
		put(path, "x");
		*strrchr(path, '/') = '\0';
		assert_int_equal(chmod(path, parts[i].mode), 0);
	}
	assert_int_equal(chmod("closed/tree", 0555), 0);
	if (getuid() == 0)
		assert_int_equal(system("chown -R 65534:65534 closed"), 0);
	assert_int_equal(as_nobody(remove_closed), 0);
}

static int
remove_foreign(void)
{
	pkg_cleanup_error struct pkg_error err = { 0 };

	return pkg_tree_remove("foreign", &err) == -1 && err.kind == PKG_E_PERMISSION ? 0 : 1;
}

static void
what_belongs_to_another_is_an_error_not_a_loop(PKG_UNUSED void **state)
{
	if (getuid() != 0) {
		cannot("be another user");
		return;
	}
	put("foreign/d/f", "x");
	assert_int_equal(as_nobody(remove_foreign), 0);
	assert_int_equal(access("foreign/d/f", F_OK), 0);
}

/* 5,000 levels: 10 kB of path, more than any call takes, with far fewer descriptors than levels. */
static void
a_very_deep_tree_goes_with_few_descriptors(PKG_UNUSED void **state)
{
	struct rlimit old;
	struct rlimit few;
	pkg_autofd int at = -1;
	pkg_cleanup_error struct pkg_error err = { 0 };
	int spare;
	int result;

	assert_int_equal(mkdir("deep", 0700), 0);
	at = pkg_dir_open("deep", NULL);
	for (int i = 0; i < 5000; i++) {
		int next;

		assert_int_equal(mkdirat(at, "d", 0700), 0);
		if (i % 100 == 0)
			assert_int_equal(mkdirat(at, "e", 0700), 0);
		next = openat(at, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_true(next >= 0);
		(void)close(at);
		at = next;
	}
	spare = dup(0);
	(void)close(spare);
	(void)getrlimit(RLIMIT_NOFILE, &old);
	few = (struct rlimit){ (rlim_t)spare + 40, old.rlim_max };
	(void)setrlimit(RLIMIT_NOFILE, &few);
	result = pkg_tree_remove("deep", &err);
	(void)setrlimit(RLIMIT_NOFILE, &old);
	if (result < 0)
		fail_msg("%s", err.message);
	assert_int_equal(access("deep", F_OK), -1);
}

static void
a_very_deep_tree_is_an_error_for_copy_and_walk_not_a_crash(PKG_UNUSED void **state)
{
	pkg_cleanup_error struct pkg_error err = { 0 };
	pkg_cleanup_buf struct pkg_buf out = { 0 };
	pkg_autofd int at = -1;
	char name[201];

	memset(name, 'n', 200);
	name[200] = '\0';
	assert_int_equal(mkdir("long", 0700), 0);
	at = pkg_dir_open("long", NULL);
	for (int i = 0; i < 30; i++) {
		int next;

		assert_int_equal(mkdirat(at, name, 0700), 0);
		next = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		(void)close(at);
		at = next;
	}
	assert_int_equal(pkg_tree_copy(AT_FDCWD, "long", AT_FDCWD, "long2", NULL, &err), -1);
	assert_int_equal(err.sys, ENAMETOOLONG);
	assert_int_equal(pkg_tree_walk(AT_FDCWD, "long", describe, &out, &err), -1);
	assert_int_equal(err.sys, ENAMETOOLONG);
	assert_int_equal(pkg_tree_remove("long", NULL), 0);
}

/* In a mount namespace of its own: a bind mount of the same file system inside the tree. */
static int
remove_mounted(void)
{
	pkg_cleanup_error struct pkg_error err = { 0 };

	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
		mount("outside", "mounted/d", NULL, MS_BIND, NULL) < 0)
		return 77;
	if (access("mounted/d/f", F_OK) < 0)
		return 3;
	if (pkg_tree_remove("mounted", &err) == 0)
		return 1;
	return strstr(err.message, "mount point") && access("outside/f", F_OK) == 0 ? 0 : 2;
}

static void
a_mount_point_inside_is_not_emptied(PKG_UNUSED void **state)
{
	int status = -1;
	pid_t pid;

	put("outside/f", "precious");
	assert_int_equal(pkg_dir_make("mounted/d", 0700, NULL), 0);
	pid = fork();
	if (pid == 0)
		_exit(remove_mounted());
	(void)waitpid(pid, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
		cannot("mount");
		return;
	}
	assert_int_equal(status, 0);
}

/* Others keep making files and directories in the tree; each removal ends, and the last one wins.
 */
static void
a_removal_beside_somebody_who_fills_ends_and_a_later_one_succeeds(PKG_UNUSED void **state)
{
	pid_t pid;

	assert_int_equal(pkg_dir_make("busy/d", 0700, NULL), 0);
	pid = fork();
	if (pid == 0) {
		for (int i = 0;; i++) {
			char path[64];

			(void)snprintf(path, sizeof(path), "busy/d/%d/x", i % 10);
			(void)pkg_dir_make(path, 0700, NULL);
			(void)pkg_file_write("busy/d/1/f", "", 0, 0600, false, NULL);
		}
	}
	/* Who wins is the scheduler's to say; that every call returns is ours. */
	for (int i = 0; i < 50; i++)
		(void)pkg_tree_remove("busy", NULL);
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	assert_int_equal(pkg_tree_remove("busy", NULL), 0);
	assert_int_equal(access("busy", F_OK), -1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_walk_is_in_byte_order_of_whole_paths),
		cmocka_unit_test(a_callback_that_fails_ends_the_walk_with_its_own_error),
		cmocka_unit_test(a_copy_has_the_same_outline_and_shares_the_files),
		cmocka_unit_test(a_copy_onto_something_or_into_itself_or_of_nothing_is_refused),
		cmocka_unit_test(a_pipe_in_a_tree_is_refused_by_name),
		cmocka_unit_test(five_thousand_files_are_all_carried_over),
		cmocka_unit_test(across_file_systems_files_are_copied_with_mode_and_time),
		cmocka_unit_test(one_file_falls_from_link_to_copy_and_never_overwrites),
		cmocka_unit_test(a_removal_follows_no_symlink_at_any_place),
		cmocka_unit_test(a_missing_path_is_success_and_an_odd_one_is_refused),
		cmocka_unit_test(directories_without_any_permission_go_too),
		cmocka_unit_test(what_belongs_to_another_is_an_error_not_a_loop),
		cmocka_unit_test(a_very_deep_tree_goes_with_few_descriptors),
		cmocka_unit_test(a_very_deep_tree_is_an_error_for_copy_and_walk_not_a_crash),
		cmocka_unit_test(a_mount_point_inside_is_not_emptied),
		cmocka_unit_test(a_removal_beside_somebody_who_fills_ends_and_a_later_one_succeeds),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
