#include "test_install_common.h"
#include <locale.h>

static void
names_follow_the_rule_of_64_plain_characters(PKG_UNUSED void **state)
{
	static const struct {
		const char *name;
		bool valid;
	} rows[] = {
		{ "a", true },
		{ "0", true },
		{ "data.science_2-x", true },
		{ "a234567890123456789012345678901234567890123456789012345678901234", true },
		{ "a2345678901234567890123456789012345678901234567890123456789012345", false },
		{ "", false },
		{ ".", false },
		{ "..", false },
		{ ".hidden", false },
		{ "-x", false },
		{ "_x", false },
		{ "a/b", false },
		{ "a\\b", false },
		{ "a b", false },
		{ "a\n", false },
		{ "caf\xc3\xa9", false },
		{ "caf\xe9", false },
		{ "a\x7f", false },
	};

	/* In a Latin-1 locale 0xe9 is a letter; not here. */
	(void)setlocale(LC_ALL, "de_DE.ISO-8859-1");
	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++)
		if (install_name_is_valid(rows[i].name) != rows[i].valid)
			fail_msg("'%s'", rows[i].name);
	(void)setlocale(LC_ALL, "C");
}

static void
default_and_nothing_mean_the_languages_own_environment(PKG_UNUSED void **state)
{
	static const struct {
		const char *project, *language, *name;
		const char *is;
	} rows[] = {
		{ NULL, NULL, NULL, "default/python/python" },
		{ "default", "default", "default", "default/python/python" },
		{ "Default", "DEFAULT", "dEfault", "default/python/python" },
		{ NULL, "r", NULL, "default/r/r" },
		{ NULL, "r", "default", "default/r/r" },
		{ "p", "python", "r", "p/python/r" },
		{ "Work", NULL, "Data", "Work/python/Data" },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		pkg_cleanup_install_key struct install_key key = { 0 };
		pkg_autofree char *is = NULL;

		assert_int_equal(install_key_resolve(rows[i].project, rows[i].language,
					 rows[i].name, &key, NULL),
			0);
		is = pkg_xasprintf("%s/%s/%s", key.project, key.language, key.name);
		assert_string_equal(is, rows[i].is);
	}
}

static void
what_is_wrong_is_named_and_nothing_is_given(PKG_UNUSED void **state)
{
	static const struct {
		const char *project, *language, *name;
		const char *says;
	} rows[] = {
		{ "..", NULL, NULL, "project" },
		{ "a/b", NULL, NULL, "project" },
		{ NULL, NULL, "../../r/x", "environment" },
		{ NULL, NULL, "", "environment" },
		{ NULL, "julia", NULL, "language" },
		{ NULL, "Python", NULL, "language" },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		struct install_key key = { 0 };
		pkg_cleanup_error struct pkg_error err = { 0 };

		assert_int_equal(install_key_resolve(rows[i].project, rows[i].language,
					 rows[i].name, &key, &err),
			-1);
		assert_int_equal(err.kind, PKG_E_INVALID);
		assert_non_null(strstr(err.message, rows[i].says));
		assert_null(key.project);
		assert_null(key.name);
	}
}

static void
paths_lie_where_the_design_says(PKG_UNUSED void **state)
{
	struct pkg_home home = { .data = (char *)"/d", .state = (char *)"/s" };
	pkg_autofree char *prefix = install_path_prefix(&home, "p", "python", "x");
	pkg_autofree char *generation = install_path_generation(&home, 7, 3);
	pkg_autofree char *staging = install_path_staging(&home, 9);
	pkg_autofree char *trash = install_path_trash(&home);
	pkg_autofree char *job = install_path_job(&home, 9);

	assert_string_equal(prefix, "/d/envs/p/python/x");
	assert_string_equal(generation, "/d/generations/7/3");
	assert_string_equal(staging, "/d/staging/9");
	assert_string_equal(trash, "/d/trash");
	assert_string_equal(job, "/s/jobs/9");
}

/* "a/b" cannot be a name, so no two keys have one text. */
static void
every_environment_has_a_lock_of_its_own(PKG_UNUSED void **state)
{
	struct pkg_home home = { .state = (char *)"/s" };
	pkg_autofree char *one = install_path_lock(&home, "p", "python", "x");
	pkg_autofree char *same = install_path_lock(&home, "p", "python", "x");
	pkg_autofree char *other = install_path_lock(&home, "p", "r", "x");
	pkg_autofree char *third = install_path_lock(&home, "q", "python", "x");

	assert_string_equal(one, same);
	assert_string_not_equal(one, other);
	assert_string_not_equal(one, third);
	assert_true(strncmp(one, "/s/locks/", 9) == 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_follow_the_rule_of_64_plain_characters),
		cmocka_unit_test(default_and_nothing_mean_the_languages_own_environment),
		cmocka_unit_test(what_is_wrong_is_named_and_nothing_is_given),
		cmocka_unit_test(paths_lie_where_the_design_says),
		cmocka_unit_test(every_environment_has_a_lock_of_its_own),
	};

	return cmocka_run_group_tests_name("install_names", tests, NULL, NULL);
}
