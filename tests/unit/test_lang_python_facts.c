#include "unit.h"

#include "lang_python.h"

static struct json_object *
parse(const char *text, struct pkg_error *err)
{
	return lang_python_facts_parse(text, strlen(text), err);
}

static void
whole_facts_are_read_and_every_getter_answers(PKG_UNUSED void **state)
{
	pkg_cleanup(pkg_json_put) struct json_object *facts = facts_311();
	pkg_autofree char *described = NULL;
	pkg_autofree char *headers = NULL;
	struct lang_marker_env markers;
	int major;
	int minor;

	assert_non_null(facts);
	assert_true(lang_python_facts_complete(facts));
	described = lang_python_describe(facts);
	headers = lang_python_headers(facts, "greenlet");
	lang_python_marker_env(facts, &markers);
	lang_python_version_info(facts, &major, &minor);
	assert_string_equal(described, "CPython 3.11.2 (/usr/bin/python3.11)");
	assert_string_equal(headers, "include/site/python3.11/greenlet");
	assert_string_equal(lang_python_site(facts), SITE_311);
	assert_string_equal(lang_python_platlib(facts), SITE_311);
	assert_string_equal(lang_python_scripts(facts), "bin");
	assert_string_equal(lang_python_data(facts), "");
	assert_string_equal(lang_python_interpreter(facts), "bin/python");
	assert_string_equal(lang_python_base(facts), "/usr");
	assert_string_equal(lang_python_magic(facts), "a70d0d0a");
	assert_string_equal(lang_python_cache_tag(facts), "cpython-311");
	assert_string_equal(markers.python_version, "3.11");
	assert_string_equal(markers.platform_machine, "x86_64");
	assert_int_equal(major, 3);
	assert_int_equal(minor, 11);
}

static void
what_was_printed_before_the_object_does_not_matter(PKG_UNUSED void **state)
{
	pkg_cleanup(pkg_json_put) struct json_object *facts =
		parse("warning: {\n{not it}\n\n" FACTS_311 "\n", NULL);

	assert_non_null(facts);
	assert_string_equal(lang_python_version(facts), "3.11.2");
}

static void
a_python_too_old_to_tell_more_still_has_a_version(PKG_UNUSED void **state)
{
	pkg_cleanup(pkg_json_put) struct json_object *facts =
		parse("{\"version\":\"2.7.18\",\"version_info\":[2,7,18,\"final\",0],"
		      "\"error\":\"ImportError: No module named util\"}",
			NULL);

	assert_non_null(facts);
	assert_false(lang_python_facts_complete(facts));
	assert_string_equal(lang_python_site(facts), "");
}

static void
output_that_is_no_object_is_refused(PKG_UNUSED void **state)
{
	static const char *const cases[] = { "", "Python 3.11.2\n", "[1]\n", "null\n", "{\n",
		"{\"version\":\"3.11.2\"", "  {\"version\":\"3\"}", "{\"a\":1} trailing" };

	for (size_t i = 0; i < PKG_ARRAY_LEN(cases); i++) {
		pkg_cleanup_error struct pkg_error err = { 0 };

		assert_null(parse(cases[i], &err));
		assert_int_equal(err.kind, PKG_E_INVALID);
		assert_non_null(strstr(err.message, "not JSON"));
	}
}

static void
facts_of_the_wrong_shape_are_refused_by_name(PKG_UNUSED void **state)
{
	static const struct {
		const char *key;
		const char *value;
		const char *said;
	} cases[] = {
		{ "version", "3", "version" },
		{ "version_info", "[3,\"x\",2]", "version_info" },
		{ "version_info", "[3,11]", "version_info" },
		{ "version_info", "[3,-1,0]", "version_info" },
		{ "layout", "[]", "layout" },
		{ "layout.purelib", "7", "layout.purelib" },
		{ "layout.scripts", "null", "layout.scripts" },
		{ "markers", "null", "markers" },
		{ "markers.os_name", "[\"posix\"]", "markers.os_name" },
		{ "base_prefix", "\"usr\"", "base_prefix" },
		{ "stdlib", "\"\"", "stdlib" },
		{ "inherited", "[\"relative\"]", "inherited" },
		{ "inherited", "[1]", "inherited" },
		{ "pip_wheels", "[\"pip.whl\"]", "pip_wheels" },
		{ "sys_path", "\"/usr\"", "sys_path" },
		{ "prefix", "\"/usr\\u001b[31m\"", "prefix" },
		{ "prefix", "\"/usr\\n/etc\"", "prefix" },
		{ "soabi", "\"\\u202e\"", "soabi" },
		{ "extra", "[[[[[[1]]]]]]", "nested" },
		{ "pointer_bits", "\"64\"", "pointer_bits" },
		{ "venv", "1", "venv" },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(cases); i++) {
		pkg_cleanup(pkg_json_put) struct json_object *facts = facts_311();
		pkg_cleanup_error struct pkg_error err = { 0 };
		pkg_autofree char *text = NULL;

		facts_set(facts, cases[i].key, cases[i].value);
		text = pkg_json_line(facts);
		assert_null(parse(text, &err));
		assert_int_equal(err.kind, PKG_E_INVALID);
		if (!strstr(err.message, cases[i].said))
			fail_msg("'%s' does not name '%s'", err.message, cases[i].said);
	}
}

static void
a_text_of_more_than_four_kilobytes_is_refused(PKG_UNUSED void **state)
{
	pkg_cleanup(pkg_json_put) struct json_object *facts = facts_311();
	pkg_cleanup_error struct pkg_error err = { 0 };
	pkg_autofree char *text = NULL;
	char value[5000];

	memset(value, 'a', sizeof(value));
	value[0] = '"';
	value[1] = '/';
	value[sizeof(value) - 2] = '"';
	value[sizeof(value) - 1] = '\0';
	facts_set(facts, "prefix", value);
	text = pkg_json_line(facts);
	assert_null(parse(text, &err));
	assert_non_null(strstr(err.message, "longer"));
}

static void
the_key_follows_what_decides_about_a_build_and_nothing_else(PKG_UNUSED void **state)
{
	static const struct {
		const char *key;
		const char *value;
		bool same;
	} cases[] = {
		{ "version", "\"3.11.3\"", false },
		{ "soabi", "\"cpython-311d-x86_64-linux-gnu\"", false },
		{ "platform", "\"linux-aarch64\"", false },
		{ "libc.version", "\"2.31\"", false },
		{ "free_threaded", "true", false },
		{ "path", "\"/opt/p/bin/python3.11\"", false },
		{ "inherited", "[]", true },
		{ "pip_wheels", "[]", true },
		{ "markers.platform_release", "\"6.2\"", true },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(cases); i++) {
		pkg_cleanup(pkg_json_put) struct json_object *a = facts_311();
		pkg_cleanup(pkg_json_put) struct json_object *b = facts_311();
		pkg_autofree char *ka = lang_python_key(a);
		pkg_autofree char *kb = NULL;

		facts_set(b, cases[i].key, cases[i].value);
		kb = lang_python_key(b);
		assert_int_equal(strlen(ka), 64);
		assert_int_equal(strcmp(ka, kb) == 0, cases[i].same);
	}
}

/* source NULL: not shown. */
static bool
shows(const struct lang_mounts *mounts, const char *source)
{
	for (size_t i = 0; i < mounts->count; i++)
		if (strcmp(mounts->items[i].source, source) == 0)
			return mounts->items[i].kind == SANDBOX_MOUNT_RO;
	return false;
}

static void
only_what_is_outside_usr_and_nobodys_home_is_mounted(PKG_UNUSED void **state)
{
	pkg_cleanup(pkg_json_put) struct json_object *facts = facts_311();
	lang_cleanup_mounts struct lang_mounts mounts = { 0 };

	facts_set(facts, "base", "\"/home/u/.pyenv/versions/3.11.7\"");
	facts_set(facts, "inherited",
		"[\"/home/u/.pyenv/versions/3.11.7/lib/python3.11/site-packages\","
		"\"/home/u/.ssh\",\"/home/u\",\"/\",\"/etc\",\"/data/shared/site\","
		"\"/usr/lib/python3/dist-packages\"]");
	facts_set(facts, "lib_dirs", "[\"/opt/openssl/lib\",\"/var\"]");
	assert_int_equal(lang_python_mounts(facts, "/home/u", &mounts, NULL), 0);
	assert_int_equal(mounts.count, 3);
	assert_true(shows(&mounts, "/home/u/.pyenv/versions/3.11.7"));
	assert_true(shows(&mounts, "/data/shared/site"));
	assert_true(shows(&mounts, "/opt/openssl/lib"));
}

static void
an_interpreter_of_the_system_needs_no_mount(PKG_UNUSED void **state)
{
	pkg_cleanup(pkg_json_put) struct json_object *facts = facts_311();
	lang_cleanup_mounts struct lang_mounts mounts = { 0 };

	assert_int_equal(lang_python_mounts(facts, "/home/u", &mounts, NULL), 0);
	assert_int_equal(mounts.count, 0);
}

static void
a_base_that_is_too_broad_is_refused(PKG_UNUSED void **state)
{
	static const char *const bases[] = { "\"/\"", "\"/home\"", "\"/home/u\"", "\"/opt\"" };

	for (size_t i = 0; i < PKG_ARRAY_LEN(bases); i++) {
		pkg_cleanup(pkg_json_put) struct json_object *facts = facts_311();
		lang_cleanup_mounts struct lang_mounts mounts = { 0 };
		pkg_cleanup_error struct pkg_error err = { 0 };

		facts_set(facts, "base", bases[i]);
		assert_int_equal(lang_python_mounts(facts, "/home/u", &mounts, &err), -1);
		assert_int_equal(err.kind, PKG_E_INTERPRETER);
	}
}

static void
the_base_is_two_levels_above_the_program(PKG_UNUSED void **state)
{
	static const struct {
		const char *path;
		const char *base;
	} cases[] = {
		{ "/usr/bin/python3.11", "/usr" },
		{ "/home/u/.pyenv/versions/3.11.7/bin/python3.11",
			"/home/u/.pyenv/versions/3.11.7" },
		{ "/bin/python3", NULL },
		{ "/python3", NULL },
		{ "bin/python3", NULL },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(cases); i++) {
		pkg_autofree char *base = lang_python_base_of(cases[i].path);

		if (cases[i].base)
			assert_string_equal(base, cases[i].base);
		else
			assert_null(base);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_facts_are_read_and_every_getter_answers),
		cmocka_unit_test(what_was_printed_before_the_object_does_not_matter),
		cmocka_unit_test(a_python_too_old_to_tell_more_still_has_a_version),
		cmocka_unit_test(output_that_is_no_object_is_refused),
		cmocka_unit_test(facts_of_the_wrong_shape_are_refused_by_name),
		cmocka_unit_test(a_text_of_more_than_four_kilobytes_is_refused),
		cmocka_unit_test(the_key_follows_what_decides_about_a_build_and_nothing_else),
		cmocka_unit_test(only_what_is_outside_usr_and_nobodys_home_is_mounted),
		cmocka_unit_test(an_interpreter_of_the_system_needs_no_mount),
		cmocka_unit_test(a_base_that_is_too_broad_is_refused),
		cmocka_unit_test(the_base_is_two_levels_above_the_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
