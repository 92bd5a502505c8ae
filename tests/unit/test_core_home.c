#include "unit.h"

#include "core/argv.h"
#include "core/home.h"
#include "core/tree.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const names[] = { "PKGD_HOME", "PKGD_SYSTEM", "PKGD_LIBEXEC", "PKGD_DATADIR",
	"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR",
	"HOME" };

/* Each test starts with none of our variables and an empty directory in *state. */
static int
set_up(void **state)
{
	char template[] = "/tmp/test_core_home.XXXXXX";

	for (size_t i = 0; i < PKG_ARRAY_LEN(names); i++)
		unsetenv(names[i]);
	*state = mkdtemp(template) ? realpath(template, NULL) : NULL;
	return *state ? 0 : -1;
}

static int
tear_down(void **state)
{
	pkg_tree_remove(*state, NULL);
	free(*state);
	return 0;
}

static void
assert_below(const char *path, const char *root, const char *rest)
{
	pkg_autofree char *want = pkg_xasprintf("%s/%s", root, rest);

	assert_string_equal(path, want);
}

static void
set_below(const char *name, const char *root, const char *rest)
{
	pkg_autofree char *value = pkg_xasprintf("%s/%s", root, rest);

	setenv(name, value, 1);
}

static void
pkgd_home_holds_everything(void **state)
{
	pkg_cleanup_home struct pkg_home home = { 0 };

	setenv("HOME", "/nonexistent/bob", 1);
	setenv("XDG_DATA_HOME", "/elsewhere", 1);
	set_below("PKGD_HOME", *state, "./new//");
	assert_int_equal(pkg_home_find(true, &home, NULL), 0);
	assert_below(home.config, *state, "new/config");
	assert_below(home.data, *state, "new/data");
	assert_below(home.state, *state, "new/state");
	assert_below(home.cache, *state, "new/cache");
	assert_below(home.run, *state, "new/run");
	assert_string_equal(home.user_home, "/nonexistent/bob");
	assert_false(home.system);
	assert_string_equal(home.libexec, PKGD_LIBEXECDIR);
	assert_string_equal(home.share, PKGD_DATADIR);
}

static void
symlinks_are_not_part_of_any_place(void **state)
{
	pkg_cleanup_home struct pkg_home home = { 0 };
	pkg_autofree char *real = pkg_xasprintf("%s/real", (char *)*state);
	pkg_autofree char *link = pkg_xasprintf("%s/link", (char *)*state);

	assert_int_equal(mkdir(real, 0700), 0);
	assert_int_equal(symlink("real", link), 0);
	setenv("PKGD_HOME", link, 1);
	assert_int_equal(pkg_home_find(false, &home, NULL), 0);
	assert_below(home.data, real, "data");
}

static void
broad_and_relative_homes_are_refused_and_out_is_untouched(void **state)
{
	static const char *const rows[] = { "relative", "./x", "/", "/tmp", "/tmp/", "/usr/..",
		"/etc", "/data", "/data/bob", "/data/bob/x/.." };
	pkg_autofree char *to_root = pkg_xasprintf("%s/root", (char *)*state);
	pkg_cleanup_error struct pkg_error err = { 0 };
	pkg_cleanup_home struct pkg_home home = { 0 };

	setenv("HOME", "/data/bob", 1);
	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		setenv("PKGD_HOME", rows[i], 1);
		if (pkg_home_find(false, &home, &err) == 0)
			fail_msg("taken: %s", rows[i]);
		assert_int_equal(err.kind, PKG_E_INVALID);
		assert_null(home.data);
		assert_null(home.exported);
	}
	assert_int_equal(symlink("/etc", to_root), 0);
	setenv("PKGD_HOME", to_root, 1);
	assert_int_equal(pkg_home_find(false, &home, &err), -1);
}

static void
a_home_behind_a_symlink_is_still_too_broad(void **state)
{
	pkg_autofree char *real = pkg_xasprintf("%s/real", (char *)*state);
	pkg_autofree char *link = pkg_xasprintf("%s/link", (char *)*state);
	pkg_cleanup_home struct pkg_home home = { 0 };

	assert_int_equal(mkdir(real, 0700), 0);
	assert_int_equal(symlink("real", link), 0);
	setenv("HOME", link, 1);
	setenv("PKGD_HOME", real, 1);
	assert_int_equal(pkg_home_find(false, &home, NULL), -1);
	setenv("PKGD_HOME", link, 1);
	assert_int_equal(pkg_home_find(false, &home, NULL), -1);
	set_below("PKGD_HOME", link, "pkgd");
	assert_int_equal(pkg_home_find(false, &home, NULL), 0);
}

static void
xdg_directories_are_used_when_absolute(void **state)
{
	pkg_cleanup_home struct pkg_home home = { 0 };

	setenv("HOME", *state, 1);
	set_below("XDG_DATA_HOME", *state, "d");
	set_below("XDG_RUNTIME_DIR", *state, "r");
	setenv("XDG_CACHE_HOME", "relative", 1);
	setenv("XDG_STATE_HOME", "", 1);
	assert_int_equal(pkg_home_find(false, &home, NULL), 0);
	assert_below(home.config, *state, ".config/pkgd");
	assert_below(home.data, *state, "d/pkgd");
	assert_below(home.state, *state, ".local/state/pkgd");
	assert_below(home.cache, *state, ".cache/pkgd");
	assert_below(home.run, *state, "r/pkgd");
}

static void
without_a_runtime_directory_sockets_live_with_the_state(void **state)
{
	pkg_cleanup_home struct pkg_home home = { 0 };

	setenv("HOME", *state, 1);
	assert_int_equal(pkg_home_find(false, &home, NULL), 0);
	assert_below(home.run, home.state, "run");
	assert_below(home.data, *state, ".local/share/pkgd");
}

static void
no_home_at_all_is_an_error_with_a_cure(PKG_UNUSED void **state)
{
	pkg_cleanup_error struct pkg_error err = { 0 };
	pkg_cleanup_home struct pkg_home home = { 0 };

	assert_int_equal(pkg_home_find(false, &home, &err), -1);
	assert_int_equal(err.kind, PKG_E_INVALID);
	assert_non_null(err.cure);
	setenv("HOME", "", 1);
	setenv("PKGD_HOME", "", 1);
	assert_int_equal(pkg_home_find(false, &home, NULL), -1);
	setenv("HOME", "relative", 1);
	assert_int_equal(pkg_home_find(false, &home, NULL), -1);
}

static void
the_system_daemon_needs_no_home(PKG_UNUSED void **state)
{
	pkg_cleanup_home struct pkg_home home = { 0 };

	assert_int_equal(pkg_home_find(true, &home, NULL), 0);
	assert_true(home.system);
	assert_string_equal(home.config, "/etc/pkgd");
	assert_string_equal(home.cache, "/var/cache/pkgd");
	assert_null(home.user_home);
}

/* Finds again in nothing but the exported environment and compares. */
static void
assert_child_finds_the_same(bool system)
{
	pkg_cleanup_home struct pkg_home home = { 0 };
	pkg_cleanup_home struct pkg_home child = { 0 };
	pkg_cleanup(pkg_argv_free) struct pkg_argv *env = pkg_argv_new();

	assert_int_equal(pkg_home_find(system, &home, NULL), 0);
	pkg_argv_add(env, "OTHER=1");
	pkg_home_export(&home, env);
	for (size_t i = 0; i < PKG_ARRAY_LEN(names); i++)
		unsetenv(names[i]);
	for (size_t i = 0; i < env->count; i++) {
		char *value = strchr(env->items[i], '=');
		pkg_autofree char *name =
			pkg_xstrndup(env->items[i], (size_t)(value - env->items[i]));

		assert_null(getenv(name));
		setenv(name, value + 1, 1);
	}
	unsetenv("OTHER");
	assert_int_equal(pkg_home_find(false, &child, NULL), 0);
	assert_string_equal(child.config, home.config);
	assert_string_equal(child.data, home.data);
	assert_string_equal(child.state, home.state);
	assert_string_equal(child.cache, home.cache);
	assert_string_equal(child.run, home.run);
	assert_string_equal(child.libexec, home.libexec);
	assert_string_equal(child.share, home.share);
	assert_int_equal(child.system, home.system);
	if (home.user_home)
		assert_string_equal(child.user_home, home.user_home);
}

static void
a_child_finds_the_same_pkgd_home(void **state)
{
	setenv("HOME", "/nonexistent/bob", 1);
	setenv("PKGD_HOME", *state, 1);
	setenv("PKGD_LIBEXEC", "/some/libexec", 1);
	setenv("PKGD_DATADIR", "/some/share", 1);
	assert_child_finds_the_same(false);
}

static void
a_child_finds_the_same_xdg_directories(void **state)
{
	pkg_autofree char *link = pkg_xasprintf("%s/pkgd", (char *)*state);
	pkg_autofree char *real = pkg_xasprintf("%s/real", (char *)*state);

	/* pkgd itself may be the symlink. */
	assert_int_equal(mkdir(real, 0700), 0);
	assert_int_equal(symlink("real", link), 0);
	setenv("HOME", *state, 1);
	setenv("XDG_DATA_HOME", *state, 1);
	set_below("XDG_RUNTIME_DIR", *state, "run");
	assert_child_finds_the_same(false);
}

static void
a_child_finds_the_same_system_directories(PKG_UNUSED void **state)
{
	assert_child_finds_the_same(true);
}

static void
libexec_and_share_must_be_absolute(void **state)
{
	pkg_cleanup_home struct pkg_home home = { 0 };
	pkg_cleanup_error struct pkg_error err = { 0 };

	setenv("PKGD_HOME", *state, 1);
	setenv("PKGD_LIBEXEC", "libexec", 1);
	assert_int_equal(pkg_home_find(false, &home, &err), -1);
	assert_non_null(strstr(err.message, "PKGD_LIBEXEC"));
	unsetenv("PKGD_LIBEXEC");
	setenv("PKGD_DATADIR", "share", 1);
	assert_int_equal(pkg_home_find(false, &home, &err), -1);
	assert_non_null(strstr(err.message, "PKGD_DATADIR"));
}

static void
directories_are_made_for_their_owner_only(void **state)
{
	pkg_cleanup_home struct pkg_home home = { 0 };
	pkg_cleanup_error struct pkg_error err = { 0 };
	pkg_autofree char *jobs = NULL;
	struct stat st;

	set_below("PKGD_HOME", *state, "new/deep");
	assert_int_equal(pkg_home_find(false, &home, NULL), 0);
	if (pkg_home_make(&home, &err) < 0)
		fail_msg("%s", err.message);
	assert_int_equal(pkg_home_make(&home, NULL), 0);
	jobs = pkg_xasprintf("%s/jobs", home.state);
	assert_int_equal(stat(jobs, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(stat(home.run, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(chmod(home.run, 0755), 0);
	assert_int_equal(pkg_home_make(&home, NULL), 0);
}

static void
a_directory_that_others_may_write_to_is_refused(void **state)
{
	pkg_cleanup_home struct pkg_home home = { 0 };
	pkg_cleanup_error struct pkg_error err = { 0 };

	set_below("PKGD_HOME", *state, "new");
	assert_int_equal(pkg_home_find(false, &home, NULL), 0);
	assert_int_equal(pkg_home_make(&home, NULL), 0);
	assert_int_equal(chmod(home.run, 0777), 0);
	assert_int_equal(pkg_home_make(&home, &err), -1);
	assert_int_equal(err.kind, PKG_E_PERMISSION);
	assert_non_null(strstr(err.message, home.run));
	assert_non_null(strstr(err.message, "0777"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(pkgd_home_holds_everything),
		TEST(symlinks_are_not_part_of_any_place),
		TEST(broad_and_relative_homes_are_refused_and_out_is_untouched),
		TEST(a_home_behind_a_symlink_is_still_too_broad),
		TEST(xdg_directories_are_used_when_absolute),
		TEST(without_a_runtime_directory_sockets_live_with_the_state),
		TEST(no_home_at_all_is_an_error_with_a_cure),
		TEST(the_system_daemon_needs_no_home),
		TEST(a_child_finds_the_same_pkgd_home),
		TEST(a_child_finds_the_same_xdg_directories),
		TEST(a_child_finds_the_same_system_directories),
		TEST(libexec_and_share_must_be_absolute),
		TEST(directories_are_made_for_their_owner_only),
		TEST(a_directory_that_others_may_write_to_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
