#include "unit.h"

#include "core/path.h"
#include "sandbox/argv.h"
#include "sandbox/purpose.h"
#include "sandbox/sandbox.h"

#include <stdlib.h>
#include <string.h>

#define GIB INT64_C(1073741824)

static struct sandbox_host host;

static struct pkg_argv *
list_of(const char *words)
{
	pkg_autofree char *copy = pkg_xstrdup(words);
	struct pkg_argv *list = pkg_argv_new();

	for (char *save, *word = strtok_r(copy, " ", &save); word;
		word = strtok_r(NULL, " ", &save))
		pkg_argv_add(list, word);
	return list;
}

static int
setup(void **state)
{
	(void)state;
	host = (struct sandbox_host){ .bwrap = pkg_xstrdup("/usr/bin/bwrap"),
		.bwrap_version = pkg_xstrdup("0.8.0"),
		.sized_tmpfs = true,
		.perms = true,
		.shim = pkg_xstrdup("/opt/pkgd/pkg-shim"),
		.enter = pkg_xstrdup("/usr/libexec/pkgd/pkg-enter"),
		.probe = pkg_xstrdup("/opt/pkgd/pkg-probe"),
		.etc = pkg_xstrdup("/run/user/7/pkgd/etc-1"),
		.ro_binds = list_of("/usr"),
		.links = list_of("usr/bin /bin usr/lib64 /lib64"),
		.user_home = pkg_xstrdup("/home/u"),
		.masks = list_of("/home/u/.ssh/ /data/p/.netrc"),
		.proc_masks = list_of("/proc/keys"),
		.refused = list_of("/run/user/7/pkgd /home/u/.config/pkgd"),
		.frozen = list_of(
			"/home/u/.local/share/pkgd/generations /home/u/.cache/pkgd/files") };
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	sandbox_host_clear(&host);
	return 0;
}

#define HEAD                                                                                       \
	"/usr/bin/bwrap --unshare-all --unshare-user --uid 1000 --gid 1000 --hostname sandbox "    \
	"--cap-drop ALL --die-with-parent "
#define ROOT                                                                                       \
	"--ro-bind /run/user/7/pkgd/etc-1 /etc --ro-bind /usr /usr --symlink usr/bin /bin "        \
	"--symlink usr/lib64 /lib64 --proc /proc --ro-bind /dev/null /proc/keys --remount-ro "     \
	"/proc --dev /dev "
#define TEMPORARY(bytes)                                                                           \
	"--perms 1777 --size " bytes " --tmpfs /dev/shm --remount-ro /dev --perms 1777 --size "    \
	"" bytes " --tmpfs /tmp --perms 0700 --dir /tmp/home "

static const struct sandbox_mount interpreter = { .kind = SANDBOX_MOUNT_RO, .source = "/opt/py" };
static const struct sandbox_mount writable_pair[] = {
	{ .kind = SANDBOX_MOUNT_RW, .source = "/data/job/build" },
	{ .kind = SANDBOX_MOUNT_RO, .source = "/opt/py" },
};
static const struct sandbox_mount device_set[] = {
	{ .kind = SANDBOX_MOUNT_DEVICE, .source = "/dev/nvidia0" },
	{ .kind = SANDBOX_MOUNT_RW, .source = "/data/p" },
	{ .kind = SANDBOX_MOUNT_TMPFS, .target = "/data/p/tmp" },
	{ .kind = SANDBOX_MOUNT_MASK, .target = "/data/p/secret" },
	{ .kind = SANDBOX_MOUNT_MASK, .source = "/dev/null", .target = "/data/p/token" },
};

/* One whole vector per purpose: an option that moves, vanishes or appears shows here. */
static const struct {
	struct sandbox_profile profile;
	const char *command;
	const char *expected;
} whole[] = {
	{ { .purpose = SANDBOX_PROBE,
		  .mounts = &interpreter,
		  .mount_count = 1,
		  .shim_fd = -1,
		  .limits = { .memory = GIB } },
		"/opt/py/bin/python -I",
		HEAD "--new-session --json-status-fd 10 --sync-fd 11 --seccomp 12 " ROOT TEMPORARY(
			"67108864") "--ro-bind /opt/py /opt/py --remount-ro / --chdir /tmp -- "
				    "/opt/py/bin/python -I" },
	{ { .purpose = SANDBOX_PLAN,
		  .mounts = &interpreter,
		  .mount_count = 1,
		  .shim_fd = 20,
		  .limits = { .memory = GIB } },
		"/opt/py/bin/pip",
		HEAD "--new-session --json-status-fd 10 --sync-fd 11 --seccomp 12 " ROOT TEMPORARY(
			"536870912") "--ro-bind /opt/pkgd/pkg-shim /pkgd/pkg-shim --ro-bind "
				     "/opt/py "
				     "/opt/py --remount-ro / --chdir /tmp -- /pkgd/pkg-shim 20 "
				     "--port 3128 -- /opt/py/bin/pip" },
	{ { .purpose = SANDBOX_BUILD,
		  .mounts = writable_pair,
		  .mount_count = 2,
		  .cwd = "/data/job/build",
		  .shim_fd = -1,
		  .limits = { .memory = 8 * GIB } },
		"/opt/py/bin/python setup.py",
		HEAD "--new-session --json-status-fd 10 --sync-fd 11 --seccomp 12 " ROOT TEMPORARY(
			"2147483648") "--bind /data/job/build /data/job/build --ro-bind /opt/py "
				      "/opt/py "
				      "--remount-ro / --chdir /data/job/build -- "
				      "/opt/py/bin/python "
				      "setup.py" },
	{ { .purpose = SANDBOX_APPLY,
		  .tree = "/home/u/.local/share/pkgd/generations/e/3",
		  .prefix = "/home/u/.local/share/pkgd/envs/p/python/main",
		  .tree_writable = true,
		  .shim_fd = -1,
		  .limits = { .memory = 2 * GIB } },
		"/usr/bin/python3",
		HEAD "--new-session --json-status-fd 10 --sync-fd 11 --seccomp 12 " ROOT TEMPORARY(
			"1073741824") "--bind /home/u/.local/share/pkgd/generations/e/3 "
				      "/home/u/.local/share/pkgd/envs/p/python/main --remount-ro / "
				      "--chdir /tmp -- /usr/bin/python3" },
	{ { .purpose = SANDBOX_VERIFY,
		  .tree = "/home/u/.local/share/pkgd/generations/e/3",
		  .prefix = "/home/u/.local/share/pkgd/envs/p/python/main",
		  .shim_fd = -1,
		  .limits = { .memory = 2 * GIB } },
		"/home/u/.local/share/pkgd/envs/p/python/main/bin/python",
		HEAD "--new-session --json-status-fd 10 --sync-fd 11 --seccomp 12 " ROOT TEMPORARY(
			"268435456") "--ro-bind /home/u/.local/share/pkgd/generations/e/3 "
				     "/home/u/.local/share/pkgd/envs/p/python/main --remount-ro / "
				     "--chdir /tmp -- "
				     "/home/u/.local/share/pkgd/envs/p/python/main/bin/python" },
	{ { .purpose = SANDBOX_KERNEL,
		  .mounts = device_set,
		  .mount_count = PKG_ARRAY_LEN(device_set),
		  .cwd = "/data/p",
		  .shim_fd = 20,
		  .interactive = true,
		  .limits = { .memory = SANDBOX_UNLIMITED } },
		"/bin/sh",
		HEAD "--json-status-fd 10 --sync-fd 11 --seccomp 12 " ROOT
		     "--dev-bind /dev/nvidia0 /dev/nvidia0 " TEMPORARY(
			     "4294967296") "--ro-bind /opt/pkgd/pkg-shim /pkgd/pkg-shim --bind "
					   "/data/p /data/p "
					   "--perms 0700 --size 4294967296 --tmpfs /data/p/tmp "
					   "--ro-bind /dev/null /data/p/.netrc --tmpfs "
					   "/data/p/secret --remount-ro "
					   "/data/p/secret --ro-bind /dev/null /data/p/token "
					   "--remount-ro / --chdir "
					   "/data/p -- /usr/libexec/pkgd/pkg-enter --terminal -- "
					   "/pkgd/pkg-shim 20 "
					   "--port 3128 -- /bin/sh" },
};

static void
each_purpose_has_exactly_this_command_line(void **state)
{
	const struct sandbox_argv_fds fds = { 10, 11, 12 };

	(void)state;
	for (size_t i = 0; i < PKG_ARRAY_LEN(whole); i++) {
		pkg_cleanup(pkg_argv_free) struct pkg_argv *command = list_of(whole[i].command);
		pkg_cleanup(pkg_argv_free) struct pkg_argv *argv = NULL;
		pkg_cleanup_error struct pkg_error err = { 0 };
		struct sandbox_profile profile = whole[i].profile;
		pkg_autofree char *text = NULL;

		profile.command = command;
		if (sandbox_argv(&profile, &host, &fds, &argv, &err) < 0)
			fail_msg("%s: %s", sandbox_purpose_name(profile.purpose), err.message);
		text = pkg_argv_join(argv, " ");
		assert_string_equal(text, whole[i].expected);
		assert_int_equal(argv->fd_count, 0);
	}
	assert_int_equal(PKG_ARRAY_LEN(whole), SANDBOX_PURPOSE_COUNT);
}

/* The argv of a profile with these mounts as text; NULL and *err when refused. */
static char *
build(enum sandbox_purpose purpose, const struct sandbox_mount *mounts, size_t count,
	struct pkg_error *err)
{
	const struct sandbox_argv_fds fds = SANDBOX_ARGV_NO_FDS;
	pkg_cleanup(pkg_argv_free) struct pkg_argv *command = list_of("/bin/true");
	pkg_cleanup(pkg_argv_free) struct pkg_argv *argv = NULL;
	struct sandbox_profile profile = { .purpose = purpose,
		.mounts = mounts,
		.mount_count = count,
		.command = command,
		.shim_fd = -1 };

	if (sandbox_argv(&profile, &host, &fds, &argv, err) < 0) {
		assert_null(argv);
		return NULL;
	}
	return pkg_argv_join(argv, " ");
}

static void
too_broad_or_odd_paths_are_refused(void **state)
{
	static const struct {
		enum sandbox_mount_kind kind;
		const char *source;
		const char *target;
	} cases[] = {
		{ SANDBOX_MOUNT_RO, "/", NULL },
		{ SANDBOX_MOUNT_RO, "//", NULL },
		{ SANDBOX_MOUNT_RO, "/opt/..", NULL },
		{ SANDBOX_MOUNT_RO, "/opt/x/..", NULL },
		{ SANDBOX_MOUNT_RO, "/etc", NULL },
		{ SANDBOX_MOUNT_RO, "/var", NULL },
		{ SANDBOX_MOUNT_RO, "/home", NULL },
		{ SANDBOX_MOUNT_RO, "/home/u", NULL },
		{ SANDBOX_MOUNT_RO, "/home/u/", NULL },
		{ SANDBOX_MOUNT_RO, "relative", NULL },
		{ SANDBOX_MOUNT_RO, "", NULL },
		{ SANDBOX_MOUNT_RO, NULL, "/data/x" },
		{ SANDBOX_MOUNT_RO, "/data/x", "/" },
		{ SANDBOX_MOUNT_RO, "/data/x", "/usr" },
		{ SANDBOX_MOUNT_RO, "/data/x", "/proc/self" },
		{ SANDBOX_MOUNT_RO, "/data/x", "/sys/kernel" },
		{ SANDBOX_MOUNT_RO, "/data/x", "/dev/x" },
		{ SANDBOX_MOUNT_RO, "/data/x", "/pkgd/pkg-shim" },
		{ SANDBOX_MOUNT_RO, "/data/x", "/tmp/home/.bashrc" },
		{ SANDBOX_MOUNT_RO, "/data/x", "data" },
		{ SANDBOX_MOUNT_RO, "/run/user/7/pkgd", NULL },
		{ SANDBOX_MOUNT_RO, "/run/user/7/pkgd/control.sock", NULL },
		{ SANDBOX_MOUNT_RO, "/home/u/.ssh", NULL },
		{ SANDBOX_MOUNT_RW, "/home/u/.local/share/pkgd/generations/e/3", NULL },
		{ SANDBOX_MOUNT_RW, "/home/u/.local/share/pkgd", NULL },
		{ SANDBOX_MOUNT_RW, "/home/u/.local", NULL },
		{ SANDBOX_MOUNT_RW, "/home/u/.cache/pkgd/files/ab", NULL },
		{ SANDBOX_MOUNT_TMPFS, NULL, "/home/u" },
		{ SANDBOX_MOUNT_TMPFS, NULL, "/proc/x" },
		{ SANDBOX_MOUNT_DEVICE, "/data/x", NULL },
		{ SANDBOX_MOUNT_MASK, NULL, "/" },
		{ SANDBOX_MOUNT_MASK, NULL, "x" },
	};

	(void)state;
	for (size_t i = 0; i < PKG_ARRAY_LEN(cases); i++) {
		const struct sandbox_mount mount = {
			.kind = cases[i].kind, .source = cases[i].source, .target = cases[i].target
		};
		pkg_cleanup_error struct pkg_error err = { 0 };
		pkg_autofree char *text = build(SANDBOX_KERNEL, &mount, 1, &err);

		if (text)
			fail_msg("case %zu '%s' at '%s' was accepted", i,
				cases[i].source ? cases[i].source : "",
				cases[i].target ? cases[i].target : "");
		assert_int_equal(err.kind, PKG_E_INVALID);
	}
}

static void
names_that_only_begin_like_a_guarded_one_are_accepted(void **state)
{
	static const char *const paths[] = { "/home/user2", "/optical", "/etcetera",
		"/home/u/project", "/home/u/.local/share/pkgd2", "/run/user/7/pkgdx",
		"/home/u/.sshx" };

	(void)state;
	for (size_t i = 0; i < PKG_ARRAY_LEN(paths); i++) {
		const struct sandbox_mount mount = { .kind = SANDBOX_MOUNT_RW, .source = paths[i] };
		pkg_cleanup_error struct pkg_error err = { 0 };
		pkg_autofree char *text = build(SANDBOX_KERNEL, &mount, 1, &err);

		if (!text)
			fail_msg("'%s': %s", paths[i], err.message);
	}
}

static void
a_purpose_does_not_get_more_than_its_row(void **state)
{
	static const struct sandbox_mount rw[] = {
		{ .kind = SANDBOX_MOUNT_RW, .source = "/data/a" },
		{ .kind = SANDBOX_MOUNT_RW, .source = "/data/b" },
	};
	static const struct sandbox_mount device = { .kind = SANDBOX_MOUNT_DEVICE,
		.source = "/dev/nvidia0" };
	static const struct {
		struct sandbox_profile profile;
		const char *command;
	} cases[] = {
		{ { .purpose = SANDBOX_PROBE, .shim_fd = 5 }, "/bin/true" },
		{ { .purpose = SANDBOX_APPLY, .shim_fd = 5 }, "/bin/true" },
		{ { .purpose = SANDBOX_VERIFY, .shim_fd = 5 }, "/bin/true" },
		{ { .purpose = SANDBOX_PROBE, .mounts = rw, .mount_count = 1, .shim_fd = -1 },
			"/bin/true" },
		{ { .purpose = SANDBOX_VERIFY, .mounts = rw, .mount_count = 1, .shim_fd = -1 },
			"/bin/true" },
		{ { .purpose = SANDBOX_KERNEL, .mounts = rw, .mount_count = 2, .shim_fd = -1 },
			"/bin/true" },
		{ { .purpose = SANDBOX_BUILD, .mounts = &device, .mount_count = 1, .shim_fd = -1 },
			"/bin/true" },
		{ { .purpose = SANDBOX_KERNEL,
			  .tree = "/data/t",
			  .prefix = "/data/p",
			  .tree_writable = true,
			  .shim_fd = -1 },
			"/bin/true" },
		{ { .purpose = SANDBOX_BUILD, .interactive = true, .shim_fd = -1 }, "/bin/true" },
		{ { .purpose = SANDBOX_KERNEL, .tree = "/data/t", .shim_fd = -1 }, "/bin/true" },
		{ { .purpose = SANDBOX_KERNEL, .shim_fd = -1 }, "true" },
		{ { .purpose = SANDBOX_KERNEL, .cwd = "data", .shim_fd = -1 }, "/bin/true" },
		{ { .purpose = SANDBOX_KERNEL, .shim_fd = -1 }, "" },
	};
	const struct sandbox_argv_fds fds = SANDBOX_ARGV_NO_FDS;

	(void)state;
	for (size_t i = 0; i < PKG_ARRAY_LEN(cases); i++) {
		pkg_cleanup(pkg_argv_free) struct pkg_argv *command = list_of(cases[i].command);
		pkg_cleanup_error struct pkg_error err = { 0 };
		struct sandbox_profile profile = cases[i].profile;
		struct pkg_argv *argv = NULL;

		profile.command = command;
		if (sandbox_argv(&profile, &host, &fds, &argv, &err) == 0)
			fail_msg("case %zu was accepted", i);
		assert_null(argv);
		assert_int_equal(err.kind, PKG_E_INVALID);
	}
}

static size_t
position(const char *text, const char *what)
{
	const char *at = strstr(text, what);

	if (!at)
		fail_msg("'%s' is not in: %s", what, text);
	return (size_t)(at - text);
}

static void
parents_come_before_children_whatever_the_order_given(void **state)
{
	static const struct sandbox_mount mounts[] = {
		{ .kind = SANDBOX_MOUNT_RW, .source = "/data/r/w" },
		{ .kind = SANDBOX_MOUNT_RO, .source = "/data/r-x", .target = "/data/r-x" },
		{ .kind = SANDBOX_MOUNT_RO, .source = "/data/r" },
	};
	pkg_autofree char *text = build(SANDBOX_KERNEL, mounts, PKG_ARRAY_LEN(mounts), NULL);

	(void)state;
	assert_non_null(text);
	assert_true(position(text, "--ro-bind /data/r /data/r ") <
		position(text, "--bind /data/r/w /data/r/w "));
}

static void
a_read_only_bind_never_takes_write_access_away(void **state)
{
	static const struct sandbox_mount below[] = {
		{ .kind = SANDBOX_MOUNT_RW, .source = "/data/w" },
		{ .kind = SANDBOX_MOUNT_RO, .source = "/data/w/sub" },
	};
	static const struct sandbox_mount same[] = {
		{ .kind = SANDBOX_MOUNT_RO, .source = "/data/w" },
		{ .kind = SANDBOX_MOUNT_RW, .source = "/data/w" },
	};
	static const struct sandbox_mount other[] = {
		{ .kind = SANDBOX_MOUNT_RW, .source = "/data/w" },
		{ .kind = SANDBOX_MOUNT_RO, .source = "/data/x", .target = "/data/w/sub" },
	};
	pkg_autofree char *first = build(SANDBOX_KERNEL, below, 2, NULL);
	pkg_autofree char *second = build(SANDBOX_KERNEL, same, 2, NULL);
	pkg_autofree char *third = build(SANDBOX_KERNEL, other, 2, NULL);

	(void)state;
	assert_null(strstr(first, "/data/w/sub"));
	assert_null(strstr(second, "--ro-bind /data/w"));
	assert_non_null(strstr(second, "--bind /data/w /data/w"));
	assert_true(position(third, "--bind /data/w /data/w") <
		position(third, "--ro-bind /data/x /data/w/sub"));
}

static void
what_the_root_shows_already_is_not_bound_again(void **state)
{
	static const struct sandbox_mount mounts[] = {
		{ .kind = SANDBOX_MOUNT_RO, .source = "/usr" },
		{ .kind = SANDBOX_MOUNT_RO, .source = "/usr/lib/python3.11" },
		{ .kind = SANDBOX_MOUNT_RO, .source = "/data/a" },
		{ .kind = SANDBOX_MOUNT_RO, .source = "/data/a/b" },
	};
	pkg_cleanup_error struct pkg_error err = { 0 };
	pkg_autofree char *text = build(SANDBOX_PROBE, mounts, PKG_ARRAY_LEN(mounts), &err);

	(void)state;
	assert_non_null(text);
	assert_null(strstr(text, "python3.11"));
	assert_null(strstr(text, "/data/a/b"));
	assert_int_equal(position(text, "--ro-bind /usr /usr"),
		(size_t)(strstr(text, "--ro-bind /usr /usr") - text));
}

static void
two_different_sources_at_one_target_are_refused(void **state)
{
	static const struct sandbox_mount mounts[] = {
		{ .kind = SANDBOX_MOUNT_RO, .source = "/data/a", .target = "/data/t" },
		{ .kind = SANDBOX_MOUNT_RO, .source = "/data/b", .target = "/data/t" },
	};
	pkg_cleanup_error struct pkg_error err = { 0 };

	(void)state;
	assert_null(build(SANDBOX_KERNEL, mounts, 2, &err));
	assert_int_equal(err.kind, PKG_E_INVALID);
}

static void
a_readable_tree_cannot_be_made_writable_by_a_mount_beside_it(void **state)
{
	static const struct sandbox_mount mount = { .kind = SANDBOX_MOUNT_RW,
		.source = "/home/u/.local/share/pkgd/generations/e/3",
		.target = "/home/u/.local/share/pkgd/envs/p/python/main" };
	const struct sandbox_argv_fds fds = SANDBOX_ARGV_NO_FDS;
	pkg_cleanup(pkg_argv_free) struct pkg_argv *command = list_of("/bin/true");
	pkg_cleanup_error struct pkg_error err = { 0 };
	struct pkg_argv *argv = NULL;
	struct sandbox_profile profile = { .purpose = SANDBOX_KERNEL,
		.tree = "/home/u/.local/share/pkgd/generations/e/3",
		.prefix = "/home/u/.local/share/pkgd/envs/p/python/main",
		.mounts = &mount,
		.mount_count = 1,
		.command = command,
		.shim_fd = -1 };

	(void)state;
	assert_int_equal(sandbox_argv(&profile, &host, &fds, &argv, &err), -1);
	assert_int_equal(err.kind, PKG_E_INVALID);
}

static void
secrets_are_masked_after_every_bind_at_each_place_that_shows_them(void **state)
{
	static const struct sandbox_mount mounts[] = {
		{ .kind = SANDBOX_MOUNT_RO, .source = "/data/p" },
		{ .kind = SANDBOX_MOUNT_RO, .source = "/data/p", .target = "/data/alias" },
		{ .kind = SANDBOX_MOUNT_RO, .source = "/data/z" },
	};
	pkg_autofree char *text = build(SANDBOX_KERNEL, mounts, PKG_ARRAY_LEN(mounts), NULL);
	size_t last_bind;

	(void)state;
	assert_non_null(text);
	last_bind = position(text, "--ro-bind /data/z /data/z");
	assert_true(position(text, "--ro-bind /dev/null /data/p/.netrc") > last_bind);
	assert_true(position(text, "--ro-bind /dev/null /data/alias/.netrc") > last_bind);
	assert_true(position(text, "--remount-ro / ") > position(text, "/data/alias/.netrc"));
}

static void
a_grant_inside_a_masked_directory_is_refused(void **state)
{
	static const struct sandbox_mount mounts[] = {
		{ .kind = SANDBOX_MOUNT_RO, .source = "/data/secret" },
		{ .kind = SANDBOX_MOUNT_RO,
			.source = "/data/other",
			.target = "/data/secret/in/x" },
	};
	pkg_cleanup_error struct pkg_error err = { 0 };

	(void)state;
	pkg_argv_add(host.masks, "/data/secret/in/");
	assert_null(build(SANDBOX_KERNEL, mounts, 2, &err));
	assert_int_equal(err.kind, PKG_E_INVALID);
}

static void
without_merged_usr_the_directories_are_bound(void **state)
{
	pkg_autofree char *text = NULL;

	(void)state;
	pkg_argv_free(host.links);
	host.links = pkg_argv_new();
	pkg_argv_add(host.ro_binds, "/bin", "/lib64");
	text = build(SANDBOX_PROBE, NULL, 0, NULL);
	assert_non_null(strstr(text, "--ro-bind /bin /bin --ro-bind /lib64 /lib64"));
	assert_null(strstr(text, "--symlink"));
}

static void
an_old_bwrap_gets_no_option_it_does_not_know(void **state)
{
	pkg_autofree char *text = NULL;

	(void)state;
	host.perms = host.sized_tmpfs = false;
	text = build(SANDBOX_PROBE, NULL, 0, NULL);
	assert_null(strstr(text, "--perms"));
	assert_null(strstr(text, "--size"));
	assert_non_null(strstr(text, "--tmpfs /tmp --dir /tmp/home"));
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(each_purpose_has_exactly_this_command_line),
		TEST(too_broad_or_odd_paths_are_refused),
		TEST(names_that_only_begin_like_a_guarded_one_are_accepted),
		TEST(a_purpose_does_not_get_more_than_its_row),
		TEST(parents_come_before_children_whatever_the_order_given),
		TEST(a_read_only_bind_never_takes_write_access_away),
		TEST(what_the_root_shows_already_is_not_bound_again),
		TEST(two_different_sources_at_one_target_are_refused),
		TEST(a_readable_tree_cannot_be_made_writable_by_a_mount_beside_it),
		TEST(secrets_are_masked_after_every_bind_at_each_place_that_shows_them),
		TEST(a_grant_inside_a_masked_directory_is_refused),
		TEST(without_merged_usr_the_directories_are_bound),
		TEST(an_old_bwrap_gets_no_option_it_does_not_know),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
