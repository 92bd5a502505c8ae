#include "unit.h"

#include "core/file.h"
#include "core/path.h"
#include "core/sock.h"
#include "core/tree.h"
#include "sandbox/etc.h"
#include "sandbox/paths.h"
#include "sandbox/scan.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[] = "/var/tmp/pkgd-test-XXXXXX";
static struct sandbox_host host;

static char *
at(const char *name)
{
	static char paths[8][4096];
	static size_t next;
	char *path = paths[next++ % 8];
	pkg_autofree char *joined = pkg_path_join(root, name);

	strcpy(path, joined);
	return path;
}

static void
make_file(const char *name)
{
	pkg_autofree char *dir = pkg_path_dir(at(name));

	assert_int_equal(pkg_dir_make(dir, 0755, NULL), 0);
	assert_int_equal(pkg_file_write(at(name), "x", 1, 0644, false, NULL), 0);
}

static int
setup(void **state)
{
	(void)state;
	strcpy(root, "/var/tmp/pkgd-test-XXXXXX");
	assert_non_null(mkdtemp(root));
	host = (struct sandbox_host){ .frozen = pkg_argv_new(), .masks = pkg_argv_new() };
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	sandbox_host_clear(&host);
	return pkg_tree_remove(root, NULL);
}

static int
resolve(const struct sandbox_mount *mounts, size_t count, struct sandbox_paths *out,
	struct pkg_error *err)
{
	const struct sandbox_profile profile = {
		.purpose = SANDBOX_KERNEL, .mounts = mounts, .mount_count = count, .shim_fd = -1
	};

	return sandbox_paths_resolve(&profile, &host, out, err);
}

static void
a_spelling_through_a_symlink_is_mounted_at_both_places(void **state)
{
	pkg_cleanup_sandbox_paths struct sandbox_paths paths = { 0 };
	struct sandbox_mount mount = { .kind = SANDBOX_MOUNT_RW };
	pkg_autofree char *link = NULL;

	(void)state;
	make_file("real/dir/file");
	assert_int_equal(symlink(at("real"), at("link")), 0);
	link = pkg_xstrdup(at("link/dir"));
	mount.source = link;
	assert_int_equal(resolve(&mount, 1, &paths, NULL), 0);
	assert_int_equal(paths.profile.mount_count, 2);
	assert_string_equal(paths.profile.mounts[0].source, at("real/dir"));
	assert_string_equal(paths.profile.mounts[0].target, at("real/dir"));
	assert_string_equal(paths.profile.mounts[1].source, at("real/dir"));
	assert_string_equal(paths.profile.mounts[1].target, link);
	assert_int_equal(paths.profile.mounts[1].kind, SANDBOX_MOUNT_RW);
}

static void
a_symlink_out_of_a_broad_place_resolves_to_where_it_leads(void **state)
{
	pkg_cleanup_sandbox_paths struct sandbox_paths paths = { 0 };
	const struct sandbox_mount mount = { .kind = SANDBOX_MOUNT_RO, .source = at("etc") };

	(void)state;
	assert_int_equal(symlink("/etc", at("etc")), 0);
	/* The builder refuses it then: see "too broad". */
	assert_int_equal(resolve(&mount, 1, &paths, NULL), 0);
	assert_string_equal(paths.profile.mounts[0].source, "/etc");
}

static void
missing_sources_are_refused_unless_optional_and_missing_masks_left_out(void **state)
{
	pkg_cleanup_sandbox_paths struct sandbox_paths paths = { 0 };
	pkg_cleanup_error struct pkg_error err = { 0 };
	struct sandbox_mount mount = { .kind = SANDBOX_MOUNT_RO, .source = at("none") };
	const struct sandbox_mount masks[] = {
		{ .kind = SANDBOX_MOUNT_RO, .source = at("d") },
		{ .kind = SANDBOX_MOUNT_MASK, .target = at("d/none") },
		{ .kind = SANDBOX_MOUNT_MASK, .target = at("d/file") },
		{ .kind = SANDBOX_MOUNT_MASK, .target = at("d/sub") },
	};

	(void)state;
	assert_int_equal(resolve(&mount, 1, &paths, &err), -1);
	assert_int_equal(err.kind, PKG_E_INVALID);
	mount.optional = true;
	assert_int_equal(resolve(&mount, 1, &paths, &err), 0);
	assert_int_equal(paths.profile.mount_count, 0);
	sandbox_paths_clear(&paths);
	make_file("d/file");
	make_file("d/sub/x");
	assert_int_equal(resolve(masks, 4, &paths, &err), 0);
	assert_int_equal(paths.profile.mount_count, 3);
	assert_string_equal(paths.profile.mounts[1].source, "/dev/null");
	assert_null(paths.profile.mounts[2].source);
}

static void
relative_and_dangling_paths_are_refused(void **state)
{
	pkg_cleanup_sandbox_paths struct sandbox_paths paths = { 0 };
	pkg_cleanup_error struct pkg_error err = { 0 };
	struct sandbox_mount mount = { .kind = SANDBOX_MOUNT_RO, .source = "relative" };

	(void)state;
	assert_int_equal(resolve(&mount, 1, &paths, &err), -1);
	assert_int_equal(err.kind, PKG_E_INVALID);
	assert_int_equal(symlink("/nowhere/at/all", at("dangling")), 0);
	mount.source = at("dangling");
	assert_int_equal(resolve(&mount, 1, &paths, &err), -1);
	assert_int_equal(err.kind, PKG_E_INVALID);
}

static int
scan(const char *path, long entries, int ms, struct pkg_argv *sockets, struct pkg_error *err)
{
	const struct sandbox_scan limits = { entries, ms };

	return sandbox_paths_scan(path, &limits, sockets, err);
}

static void
a_file_with_a_name_outside_is_refused_and_one_with_all_names_inside_is_not(void **state)
{
	pkg_cleanup_error struct pkg_error err = { 0 };

	(void)state;
	make_file("outside/secret");
	make_file("w/a");
	assert_int_equal(pkg_dir_make(at("w/deep/er"), 0755, NULL), 0);
	assert_int_equal(link(at("w/a"), at("w/deep/er/b")), 0);
	assert_int_equal(scan(at("w"), 1000, 5000, NULL, &err), 0);
	assert_int_equal(link(at("outside/secret"), at("w/deep/harmless")), 0);
	assert_int_equal(scan(at("w"), 1000, 5000, NULL, &err), -1);
	assert_int_equal(err.kind, PKG_E_INVALID);
	assert_non_null(strstr(err.message, "harmless"));
	assert_non_null(err.cure);
}

static void
many_linked_files_are_all_followed(void **state)
{
	pkg_cleanup_error struct pkg_error err = { 0 };

	(void)state;
	for (int i = 0; i < 200; i++) {
		pkg_autofree char *name = pkg_xasprintf("w/%d", i);
		pkg_autofree char *twin = pkg_xasprintf("w/twin-%d", i);

		make_file(name);
		assert_int_equal(link(at(name), at(twin)), 0);
	}
	assert_int_equal(scan(at("w"), 1000, 5000, NULL, &err), 0);
	assert_int_equal(unlink(at("w/twin-137")), 0);
	assert_int_equal(link(at("w/137"), at("elsewhere")), 0);
	assert_int_equal(scan(at("w"), 1000, 5000, NULL, &err), -1);
}

static void
too_much_to_search_is_refused(void **state)
{
	pkg_cleanup_error struct pkg_error err = { 0 };

	(void)state;
	make_file("w/a");
	make_file("w/b");
	assert_int_equal(scan(at("w"), 2, 5000, NULL, &err), 0);
	assert_int_equal(scan(at("w"), 1, 5000, NULL, &err), -1);
	assert_int_equal(err.kind, PKG_E_INVALID);
	assert_int_equal(scan(at("none"), 10, 5000, NULL, &err), -1);
}

static void
symlinks_are_not_followed_by_the_search(void **state)
{
	(void)state;
	make_file("outside/a");
	assert_int_equal(link(at("outside/a"), at("outside/b")), 0);
	make_file("w/file");
	assert_int_equal(symlink(at("outside"), at("w/link")), 0);
	assert_int_equal(scan(at("w"), 100, 5000, NULL, NULL), 0);
}

static void
sockets_in_a_writable_directory_are_masked_at_every_spelling(void **state)
{
	pkg_cleanup_sandbox_paths struct sandbox_paths paths = { 0 };
	pkg_autofree char *spelled = NULL;
	struct sandbox_mount mount = { .kind = SANDBOX_MOUNT_RW };
	size_t masks = 0;
	pkg_autofd int fd = -1;

	(void)state;
	make_file("w/file");
	fd = pkg_sock_listen(at("w/agent"), 0600, NULL);
	assert_true(fd >= 0);
	assert_int_equal(symlink(at("w"), at("alias")), 0);
	spelled = pkg_xstrdup(at("alias"));
	mount.source = spelled;
	assert_int_equal(resolve(&mount, 1, &paths, NULL), 0);
	for (size_t i = 0; i < paths.profile.mount_count; i++) {
		if (paths.profile.mounts[i].kind != SANDBOX_MOUNT_MASK)
			continue;
		masks++;
		assert_string_equal(paths.profile.mounts[i].source, "/dev/null");
		assert_true(strcmp(paths.profile.mounts[i].target, at("w/agent")) == 0 ||
			strcmp(paths.profile.mounts[i].target, at("alias/agent")) == 0);
	}
	assert_int_equal(masks, 2);
}

static void
our_caches_are_not_searched_and_everything_else_is(void **state)
{
	pkg_cleanup_sandbox_paths struct sandbox_paths paths = { 0 };
	const struct sandbox_mount mount = { .kind = SANDBOX_MOUNT_RW, .source = at("cache/pip") };

	(void)state;
	make_file("cache/pip/file");
	assert_int_equal(link(at("cache/pip/file"), at("twin")), 0);
	assert_int_equal(resolve(&mount, 1, &paths, NULL), -1);
	host.searched = pkg_argv_new();
	pkg_argv_add(host.searched, at("cache/pip"));
	assert_int_equal(resolve(&mount, 1, &paths, NULL), 0);
}

static void
a_path_inside_is_found_outside_by_the_innermost_mount(void **state)
{
	static const struct sandbox_mount mounts[] = {
		{ .kind = SANDBOX_MOUNT_RO, .source = "/s/a", .target = "/t" },
		{ .kind = SANDBOX_MOUNT_RO, .source = "/s/b", .target = "/t/deep" },
		{ .kind = SANDBOX_MOUNT_RO, .source = "/s/c" },
	};
	static const struct {
		const char *inside;
		const char *outside;
	} cases[] = { { "/t/x", "/s/a/x" }, { "/t/deep/x", "/s/b/x" },
		{ "/t/deeper", "/s/a/deeper" }, { "/t", "/s/a" }, { "/s/c/y", "/s/c/y" },
		{ "/p/bin/python", "/tree/bin/python" }, { "/px", "/px" },
		{ "/usr/bin/env", "/usr/bin/env" } };
	const struct sandbox_profile profile = { .tree = "/tree",
		.prefix = "/p",
		.mounts = mounts,
		.mount_count = PKG_ARRAY_LEN(mounts) };

	(void)state;
	for (size_t i = 0; i < PKG_ARRAY_LEN(cases); i++) {
		pkg_autofree char *found = sandbox_paths_outside(&profile, cases[i].inside);

		assert_string_equal(found, cases[i].outside);
	}
}

static void
merged_and_split_usr_are_both_described(void **state)
{
	struct sandbox_host merged = { 0 };
	struct sandbox_host split = { 0 };
	pkg_autofree char *binds = NULL;
	pkg_autofree char *links = NULL;

	(void)state;
	make_file("m/usr/bin/sh");
	assert_int_equal(symlink("usr/bin", at("m/bin")), 0);
	assert_int_equal(symlink("usr/lib64", at("m/lib64")), 0);
	sandbox_host_read_root(at("m"), &merged);
	binds = pkg_argv_join(merged.ro_binds, " ");
	links = pkg_argv_join(merged.links, " ");
	assert_string_equal(binds, "/usr");
	assert_string_equal(links, "usr/bin /bin usr/lib64 /lib64");
	make_file("s/usr/bin/env");
	make_file("s/bin/sh");
	make_file("s/lib64/ld.so");
	sandbox_host_read_root(at("s"), &split);
	free(binds);
	binds = pkg_argv_join(split.ro_binds, " ");
	assert_string_equal(binds, "/usr /bin /lib64");
	assert_int_equal(split.links->count, 0);
	sandbox_host_clear(&merged);
	sandbox_host_clear(&split);
}

static void
our_etc_holds_what_programs_need_and_no_names_of_this_machine(void **state)
{
	pkg_cleanup_buf struct pkg_buf text = { 0 };
	pkg_autofree char *first = NULL;
	pkg_autofree char *second = NULL;
	pkg_autofree char *passwd = NULL;
	pkg_autofree char *shadow = NULL;
	pkg_autofree char *renviron = NULL;
	pkg_autofree char *link = NULL;
	struct stat st;

	(void)state;
	make_file("etc/shadow");
	make_file("etc/machine-id");
	make_file("etc/R/Renviron");
	make_file("etc/ssl/certs/ca.pem");
	assert_int_equal(
		pkg_file_write(at("etc/passwd"), "bob:x:1:1::/:\n", 14, 0644, false, NULL), 0);
	assert_int_equal(pkg_dir_make(at("etc/alternatives"), 0755, NULL), 0);
	assert_int_equal(symlink("/usr/bin/x", at("etc/alternatives/x")), 0);
	first = sandbox_etc_make(at("etc"), at("run"), NULL);
	assert_non_null(first);
	passwd = pkg_path_join(first, "passwd");
	shadow = pkg_path_join(first, "shadow");
	renviron = pkg_path_join(first, "R/Renviron");
	link = pkg_path_join(first, "alternatives/x");
	assert_int_equal(pkg_file_read(passwd, 4096, &text, NULL), 0);
	assert_null(strstr(pkg_buf_str(&text), "bob"));
	assert_non_null(strstr(pkg_buf_str(&text), "user:x:1000:"));
	assert_int_equal(access(shadow, F_OK), -1);
	assert_int_equal(access(renviron, F_OK), 0);
	assert_int_equal(lstat(link, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	/* The place for the certificates is there and empty: they are mounted. */
	free(link);
	link = pkg_path_join(first, "ssl/certs/ca.pem");
	assert_int_equal(access(link, F_OK), -1);
	second = sandbox_etc_make(at("etc"), at("run"), NULL);
	assert_string_equal(first, second);
	free(second);
	assert_int_equal(pkg_file_write(at("etc/R/Renviron"), "new", 3, 0644, false, NULL), 0);
	second = sandbox_etc_make(at("etc"), at("run"), NULL);
	assert_string_not_equal(first, second);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_spelling_through_a_symlink_is_mounted_at_both_places),
		TEST(a_symlink_out_of_a_broad_place_resolves_to_where_it_leads),
		TEST(missing_sources_are_refused_unless_optional_and_missing_masks_left_out),
		TEST(relative_and_dangling_paths_are_refused),
		TEST(a_file_with_a_name_outside_is_refused_and_one_with_all_names_inside_is_not),
		TEST(many_linked_files_are_all_followed),
		TEST(too_much_to_search_is_refused),
		TEST(symlinks_are_not_followed_by_the_search),
		TEST(sockets_in_a_writable_directory_are_masked_at_every_spelling),
		TEST(our_caches_are_not_searched_and_everything_else_is),
		TEST(a_path_inside_is_found_outside_by_the_innermost_mount),
		TEST(merged_and_split_usr_are_both_described),
		TEST(our_etc_holds_what_programs_need_and_no_names_of_this_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
