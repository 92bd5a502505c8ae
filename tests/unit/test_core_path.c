#include "unit.h"

#include "core/path.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void
joining_leaves_exactly_one_slash(PKG_UNUSED void **state)
{
	static const char *const rows[][3] = {
		{ "a", "b", "a/b" },
		{ "/a/", "b", "/a/b" },
		{ "/a", "/b", "/a/b" },
		{ "/a//", "//b/c", "/a/b/c" },
		{ "/", "b", "/b" },
		{ "", "b", "b" },
		{ "", "/b", "/b" },
		{ "/a/", "", "/a" },
		{ "/", "", "/" },
		{ "/", "/", "/" },
	};
	pkg_autofree char *formatted = pkg_path_joinf("/a", "%s-%d", "b", 7);

	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		pkg_autofree char *joined = pkg_path_join(rows[i][0], rows[i][1]);

		assert_string_equal(joined, rows[i][2]);
	}
	assert_string_equal(formatted, "/a/b-7");
}

static void
normalising_is_lexical_and_never_leaves_a_relative_path(PKG_UNUSED void **state)
{
	static const char *const rows[][2] = {
		{ "/", "/" },
		{ "///", "/" },
		{ "/..", "/" },
		{ "/../../etc/", "/etc" },
		{ "/a/./b//c/..", "/a/b" },
		{ "/a/..", "/" },
		{ "/usr/../home/./bob/", "/home/bob" },
		{ "a/b/../c", "a/c" },
		{ "a/..", "." },
		{ ".", "." },
		{ "./a/", "a" },
		{ "...", "..." },
		{ "..a/b..", "..a/b.." },
		{ "..", NULL },
		{ "a/../..", NULL },
		{ "a/../../a", NULL },
		{ "", NULL },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		pkg_autofree char *plain = pkg_path_normalize(rows[i][0]);

		if (rows[i][1])
			assert_string_equal(plain, rows[i][1]);
		else
			assert_null(plain);
	}
}

static void
containment_is_by_component(PKG_UNUSED void **state)
{
	assert_true(pkg_path_contains("/home/bob", "/home/bob"));
	assert_true(pkg_path_contains("/home/bob", "/home/bob/x"));
	assert_true(pkg_path_contains("/home/bob/", "/home//bob/./x"));
	assert_true(pkg_path_contains("/", "/anything"));
	assert_true(pkg_path_contains(".", "a/b"));
	assert_false(pkg_path_contains("/home/bob", "/home/bobby"));
	assert_false(pkg_path_contains("/home/bob", "/home"));
	assert_false(pkg_path_contains("/home/bob", "/home/bob/../eve"));
	assert_false(pkg_path_contains("/home", "home/x"));
	assert_false(pkg_path_contains(".", "/a"));
	assert_false(pkg_path_contains("a", "a/../../a"));
}

static void
a_confined_path_has_only_plain_components(PKG_UNUSED void **state)
{
	static const char *const good[] = { "a", "a/b.py", "numpy/core/_x.so", ".hidden", "a/..b",
		"...", "a b/c", "\xC3\xA9/x", "ab:c", "a/c:d" };
	static const char *const bad[] = { "", "/", "/a", "a/", "a//b", ".", "..", "./a", "a/.",
		"a/./b", "../a", "a/..", "a/../b", "a\\b", "..\\x", "C:x", "c:/x", "a\nb", "a\tb",
		"a\x7F", "a/\x1B[0m" };
	char longest[PATH_MAX + 2];

	for (size_t i = 0; i < PKG_ARRAY_LEN(good); i++)
		assert_true(pkg_path_is_confined(good[i], strlen(good[i])));
	for (size_t i = 0; i < PKG_ARRAY_LEN(bad); i++)
		assert_false(pkg_path_is_confined(bad[i], strlen(bad[i])));
	assert_false(pkg_path_is_confined("a\0b", 3));
	assert_true(pkg_path_is_confined("a/../b", 1));
	memset(longest, 'a', sizeof(longest));
	assert_true(pkg_path_is_confined(longest, PATH_MAX));
	assert_false(pkg_path_is_confined(longest, PATH_MAX + 1));
}

static void
base_and_directory_split_at_the_last_slash(PKG_UNUSED void **state)
{
	static const char *const rows[][3] = {
		{ "/a/b", "b", "/a" },
		{ "/a", "a", "/" },
		{ "a", "a", "." },
		{ "a/b/c", "c", "a/b" },
		{ "/", "", "/" },
		{ "a//b", "b", "a" },
		{ "/a/b/", "", "/a" },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		pkg_autofree char *dir = pkg_path_dir(rows[i][0]);

		assert_string_equal(pkg_path_base(rows[i][0]), rows[i][1]);
		assert_string_equal(dir, rows[i][2]);
	}
}

static int
make_tree(void **state)
{
	char template[] = "/tmp/test_core_path.XXXXXX";
	char *root = mkdtemp(template);

	if (!root || chdir(root) < 0 || mkdir("real", 0700) < 0 || symlink("real", "link") < 0 ||
		symlink("nowhere", "dangling") < 0 || symlink("loop", "loop") < 0 ||
		symlink("../..", "real/up") < 0)
		return -1;
	*state = realpath(root, NULL);
	return 0;
}

static int
remove_tree(void **state)
{
	(void)!chdir(*state);
	unlink("real/up");
	unlink("loop");
	unlink("dangling");
	unlink("link");
	rmdir("real");
	rmdir(*state);
	free(*state);
	return 0;
}

static void
canonical_resolves_links_and_keeps_what_is_not_there_yet(void **state)
{
	static const char *const rows[][2] = {
		{ "real", "real" },
		{ "link", "real" },
		{ "link/", "real" },
		{ "link/new", "real/new" },
		{ "link//new/./deep//er/", "real/new/deep/er" },
		{ "absent/x", "absent/x" },
		{ "link/../real", "real" },
	};
	const char *root = *state;

	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		pkg_cleanup_error struct pkg_error err = { 0 };
		pkg_autofree char *in = pkg_xasprintf("%s/%s", root, rows[i][0]);
		pkg_autofree char *want = pkg_xasprintf("%s/%s", root, rows[i][1]);
		pkg_autofree char *got = pkg_path_canonical(in, &err);

		assert_non_null(got);
		assert_string_equal(got, want);
	}
}

static void
canonical_of_the_root_is_the_root(PKG_UNUSED void **state)
{
	pkg_autofree char *root = pkg_path_canonical("/", NULL);
	pkg_autofree char *child = pkg_path_canonical("//no-such-directory-here/x", NULL);

	assert_string_equal(root, "/");
	assert_string_equal(child, "/no-such-directory-here/x");
}

static void
canonical_refuses_what_leads_nowhere(void **state)
{
	static const char *const rows[] = { "dangling", "dangling/x", "loop", "loop/x",
		"absent/../real", "absent/x/..", "link/absent/.." };
	const char *root = *state;
	pkg_cleanup_error struct pkg_error relative = { 0 };

	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		pkg_cleanup_error struct pkg_error err = { 0 };
		pkg_autofree char *in = pkg_xasprintf("%s/%s", root, rows[i]);

		assert_null(pkg_path_canonical(in, &err));
		assert_int_equal(err.kind, PKG_E_INVALID);
	}
	assert_null(pkg_path_canonical("real", &relative));
	assert_int_equal(relative.kind, PKG_E_INVALID);
	assert_null(pkg_path_canonical("", NULL));
	assert_null(pkg_path_canonical("/dev/null/x", NULL));
}

static void
roots_home_and_its_ancestors_are_broad(PKG_UNUSED void **state)
{
	static const char *const broad[] = { "/", "//", "/..", "/etc", "/etc/", "/usr/.", "/bin",
		"/lib64", "/var/lib/..", "/tmp", "/home", "/run", "/media", "/data", "/data/people",
		"/data/people/bob", "/data/people/eve/../bob", "/x/../etc", "relative", "." };
	static const char *const fine[] = { "/etc/pkgd", "/usr/local", "/var/lib/pkgd", "/tmp/x",
		"/data/people/bob/work", "/data/people/bobby", "/datax", "/etcetera" };

	for (size_t i = 0; i < PKG_ARRAY_LEN(broad); i++)
		assert_true(pkg_path_is_broad(broad[i], "/data/people/bob/"));
	for (size_t i = 0; i < PKG_ARRAY_LEN(fine); i++)
		assert_false(pkg_path_is_broad(fine[i], "/data/people/bob/"));
	assert_false(pkg_path_is_broad("/data", NULL));
	assert_false(pkg_path_is_broad("/data", ""));
	assert_true(pkg_path_is_broad("", NULL));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(joining_leaves_exactly_one_slash),
		cmocka_unit_test(normalising_is_lexical_and_never_leaves_a_relative_path),
		cmocka_unit_test(containment_is_by_component),
		cmocka_unit_test(a_confined_path_has_only_plain_components),
		cmocka_unit_test(base_and_directory_split_at_the_last_slash),
		cmocka_unit_test(canonical_resolves_links_and_keeps_what_is_not_there_yet),
		cmocka_unit_test(canonical_of_the_root_is_the_root),
		cmocka_unit_test(canonical_refuses_what_leads_nowhere),
		cmocka_unit_test(roots_home_and_its_ancestors_are_broad),
	};

	return cmocka_run_group_tests(tests, make_tree, remove_tree);
}
