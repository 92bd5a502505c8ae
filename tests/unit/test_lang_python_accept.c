#include "unit.h"

#include "lang/python_accept.h"
#include "lang_python.h"

static char *
judge(struct json_object *facts, enum lang_python_platform platform, const char *minimum,
	const char *home)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *reasons = pkg_argv_new();

	lang_python_accept(facts, platform, minimum, home, reasons);
	return pkg_argv_join(reasons, " | ");
}

static void
a_complete_posix_python_is_accepted(PKG_UNUSED void **state)
{
	pkg_cleanup(pkg_json_put) struct json_object *facts = facts_311();
	pkg_autofree char *reasons = judge(facts, LANG_PYTHON_POSIX, "3.8", "/home/u");

	assert_string_equal(reasons, "");
}

static void
each_fact_that_rules_one_out_is_its_own_reason(PKG_UNUSED void **state)
{
	static const struct {
		const char *key;
		const char *value;
		const char *reason; /* NULL: still accepted */
	} cases[] = {
		{ "venv", "false", "its module 'venv' cannot be imported" },
		{ "layout.purelib", "\"Lib/site-packages\"",
			"its environments would have purelib at 'Lib/site-packages', not "
			"'lib/pythonX.Y/site-packages'" },
		{ "layout.purelib", "\"lib/python3.1/site-packages\"",
			"its environments would have purelib at 'lib/python3.1/site-packages', "
			"not 'lib/pythonX.Y/site-packages'" },
		{ "layout.platlib", "\"/etc\"",
			"its environments would have platlib at '/etc', not "
			"'lib/pythonX.Y/site-packages'" },
		{ "layout.purelib", "\"lib/python3.11/../../../x/site-packages\"",
			"its environments would have purelib at "
			"'lib/python3.11/../../../x/site-packages', not "
			"'lib/pythonX.Y/site-packages'" },
		{ "layout.scripts", "\"Scripts\"",
			"its environments would have scripts at 'Scripts', not 'bin'" },
		{ "layout.python", "\"bin/pypy\"",
			"its environments would have python at 'bin/pypy', not 'bin/python'" },
		{ "layout.purelib", "\"lib/pypy3.11/site-packages\"", NULL },
		{ "layout.purelib", "\"lib/python3.11t/site-packages\"", NULL },
		{ "markers.os_name", "\"nt\"", "its os.name is 'nt', not 'posix'" },
		{ "pointer_bits", "32", "it is a 32-bit program on a machine that says 'x86_64'" },
		{ "prefix", "\"/home/u/p/.venv\"",
			"it is inside the virtual environment '/home/u/p/.venv' of '/usr'" },
		{ "base", "\"/opt/app\"",
			"its prefix is '/usr', but its program lies in '/opt/app'" },
		{ "error", "\"OSError: no\"", "it could not tell its facts: OSError: no" },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(cases); i++) {
		pkg_cleanup(pkg_json_put) struct json_object *facts = facts_311();
		pkg_autofree char *reasons = NULL;

		facts_set(facts, cases[i].key, cases[i].value);
		reasons = judge(facts, LANG_PYTHON_POSIX, "3.8", "/home/u");
		assert_string_equal(reasons, cases[i].reason ? cases[i].reason : "");
	}
}

static void
two_faults_give_two_reasons(PKG_UNUSED void **state)
{
	pkg_cleanup(pkg_json_put) struct json_object *facts = facts_311();
	pkg_autofree char *reasons = NULL;

	facts_set(facts, "venv", "false");
	facts_set(facts, "pointer_bits", "32");
	reasons = judge(facts, LANG_PYTHON_POSIX, "3.8", NULL);
	assert_non_null(strstr(reasons, "'venv'"));
	assert_non_null(strstr(reasons, "32-bit"));
}

static void
a_prefix_too_broad_to_show_is_refused_by_component(PKG_UNUSED void **state)
{
	static const struct {
		const char *base;
		bool accepted;
	} cases[] = {
		{ "/", false },
		{ "/home", false },
		{ "/home/bob", false },
		{ "/home/bobby", true },
		{ "/home/bob/py", true },
		{ "/opt", false },
		{ "/opt/python", true },
		{ "/usr", true },
		{ "/usr/local", true },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(cases); i++) {
		pkg_cleanup(pkg_json_put) struct json_object *facts = facts_311();
		pkg_autofree char *value = pkg_xasprintf("\"%s\"", cases[i].base);
		pkg_autofree char *reasons = NULL;

		facts_set(facts, "base", value);
		facts_set(facts, "base_prefix", value);
		facts_set(facts, "prefix", value);
		reasons = judge(facts, LANG_PYTHON_POSIX, "3.8", "/home/bob");
		assert_int_equal(*reasons == '\0', cases[i].accepted);
		if (!cases[i].accepted)
			assert_non_null(strstr(reasons, "too broad"));
	}
}

static void
versions_are_compared_as_numbers(PKG_UNUSED void **state)
{
	static const struct {
		const char *info;
		const char *minimum;
		bool accepted;
	} cases[] = {
		{ "[3,8,0]", "3.8", true },
		{ "[3,7,17]", "3.8", false },
		{ "[3,10,0]", "3.9", true },
		{ "[2,7,18]", "3", false },
		{ "[3,8,1]", "3.8.2", false },
		{ "[4,0,0]", "3.8", true },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(cases); i++) {
		pkg_cleanup(pkg_json_put) struct json_object *facts = facts_311();
		pkg_autofree char *reasons = NULL;

		facts_set(facts, "version_info", cases[i].info);
		reasons = judge(facts, LANG_PYTHON_POSIX, cases[i].minimum, NULL);
		assert_int_equal(strstr(reasons, "older than") == NULL, cases[i].accepted);
	}
}

static void
one_that_is_too_old_is_told_nothing_else(PKG_UNUSED void **state)
{
	static const char text[] = "{\"version\":\"2.7.18\",\"version_info\":[2,7,18],"
				   "\"error\":\"ImportError\"}";
	pkg_cleanup(pkg_json_put) struct json_object *facts =
		lang_python_facts_parse(text, strlen(text), NULL);
	pkg_autofree char *reasons = judge(facts, LANG_PYTHON_POSIX, "3.8", NULL);

	assert_string_equal(reasons, "it is Python 2.7.18, older than python.minimum (3.8)");
}

/* No Windows machine is needed to know what is said of one. */
static struct json_object *
windows_facts(void)
{
	struct json_object *facts = facts_311();

	facts_set(facts, "executable", "\"C:/Users/u/Python311/python.exe\"");
	facts_set(facts, "platform", "\"win-amd64\"");
	facts_set(facts, "markers.os_name", "\"nt\"");
	facts_set(facts, "layout.purelib", "\"Lib/site-packages\"");
	facts_set(facts, "layout.platlib", "\"Lib/site-packages\"");
	facts_set(facts, "layout.scripts", "\"Scripts\"");
	facts_set(facts, "layout.python", "\"Scripts/python.exe\"");
	return facts;
}

static void
windows_pythons_are_judged_by_their_layout(PKG_UNUSED void **state)
{
	static const struct {
		const char *key;
		const char *value;
		const char *said; /* NULL: accepted */
	} cases[] = {
		{ "venv", "true", NULL },
		{ "executable", "\"C:/msys64/ucrt64/bin/python.exe\"", "MSYS" },
		{ "executable", "\"C:/Cygwin64/bin/python.exe\"", "Cygwin" },
		{ "executable", "\"C:/Users/cygwinfan/python.exe\"", NULL },
		{ "platform", "\"mingw_x86_64_ucrt\"", "its platform is 'mingw_x86_64_ucrt'" },
		{ "layout.purelib", "\"lib/python3.11/site-packages\"", "purelib" },
		{ "layout.scripts", "\"bin\"", "scripts" },
		{ "markers.os_name", "\"posix\"", "os.name" },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(cases); i++) {
		pkg_cleanup(pkg_json_put) struct json_object *facts = windows_facts();
		pkg_autofree char *reasons = NULL;

		facts_set(facts, cases[i].key, cases[i].value);
		reasons = judge(facts, LANG_PYTHON_NT, "3.8", NULL);
		if (cases[i].said)
			assert_non_null(strstr(reasons, cases[i].said));
		else
			assert_string_equal(reasons, "");
	}
}

static void
a_posix_python_is_no_windows_python(PKG_UNUSED void **state)
{
	pkg_cleanup(pkg_json_put) struct json_object *posix = facts_311();
	pkg_cleanup(pkg_json_put) struct json_object *windows = windows_facts();
	pkg_autofree char *first = judge(posix, LANG_PYTHON_NT, "3.8", NULL);
	pkg_autofree char *second = judge(windows, LANG_PYTHON_POSIX, "3.8", NULL);

	assert_string_not_equal(first, "");
	assert_string_not_equal(second, "");
}

static void
a_wanted_version_matches_by_whole_numbers(PKG_UNUSED void **state)
{
	static const struct {
		const char *wanted;
		bool valid;
		bool matches; /* 3.11.2 */
	} cases[] = {
		{ "3", true, true },
		{ "3.11", true, true },
		{ "3.11.2", true, true },
		{ "3.1", true, false },
		{ "3.11.7", true, false },
		{ "2", true, false },
		{ "", false, false },
		{ "3.", false, false },
		{ "3.11.2.0", false, false },
		{ ">=3", false, false },
		{ "python3", false, false },
		{ "3.11rc1", false, false },
		{ "-3", false, false },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(cases); i++) {
		pkg_cleanup(pkg_json_put) struct json_object *facts = facts_311();

		assert_int_equal(lang_python_is_wanted_version(cases[i].wanted), cases[i].valid);
		assert_int_equal(lang_python_is_version(facts, cases[i].wanted), cases[i].matches);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_complete_posix_python_is_accepted),
		cmocka_unit_test(each_fact_that_rules_one_out_is_its_own_reason),
		cmocka_unit_test(two_faults_give_two_reasons),
		cmocka_unit_test(a_prefix_too_broad_to_show_is_refused_by_component),
		cmocka_unit_test(versions_are_compared_as_numbers),
		cmocka_unit_test(one_that_is_too_old_is_told_nothing_else),
		cmocka_unit_test(windows_pythons_are_judged_by_their_layout),
		cmocka_unit_test(a_posix_python_is_no_windows_python),
		cmocka_unit_test(a_wanted_version_matches_by_whole_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
