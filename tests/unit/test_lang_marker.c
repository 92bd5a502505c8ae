#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "lang/marker.h"

static const struct lang_marker_env env = {
	.python_version = "3.11",
	.python_full_version = "3.11.2",
	.os_name = "posix",
	.sys_platform = "linux",
	.platform_release = "6.1.0-13-amd64",
	.platform_system = "Linux",
	.platform_version = "#1 SMP Debian",
	.platform_machine = "x86_64",
	.platform_python_implementation = "CPython",
	.implementation_name = "cpython",
	.implementation_version = "3.11.2",
};

static struct lang_marker *
parse(const char *text)
{
	pkg_cleanup_error struct pkg_error err = { 0 };
	struct lang_marker *marker = lang_marker_parse(text, &err);

	if (!marker)
		fail_msg("'%s' was refused: %s", text, err.message);
	return marker;
}

struct row {
	const char *text;
	bool result;
};

static void
check(const struct row *rows, size_t count, const char *extra)
{
	for (size_t i = 0; i < count; i++) {
		pkg_cleanup(lang_marker_free) struct lang_marker *marker = parse(rows[i].text);
		pkg_cleanup_error struct pkg_error err = { 0 };
		bool result;

		if (lang_marker_evaluate(marker, &env, extra, &result, &err) < 0)
			fail_msg("'%s': %s", rows[i].text, err.message);
		if (result != rows[i].result)
			fail_msg("'%s' is not %s", rows[i].text, rows[i].result ? "true" : "false");
	}
}

static void
versions_compare_as_versions(PKG_UNUSED void **state)
{
	static const struct row rows[] = {
		{ "python_version < '3.9'", false },
		{ "python_version >= '3.9'", true },
		{ "python_version > '3'", true },
		{ "python_version == '3.11.0'", true },
		{ "python_version == '3.*'", true },
		{ "python_version != '3.*'", false },
		{ "python_version ~= '3.9'", true },
		{ "python_version ~= '3.9.0'", false },
		{ "python_version === '3.11'", true },
		{ "python_version === '3.11.0'", false },
		{ "'3.9' <= python_version", true },
		{ "'3.9'>python_version", false },
		{ "python_full_version < '3.11.2rc1'", false },
		{ "python_full_version >= '3.11.2'", true },
		{ "implementation_version >= \"3.11\"", true },
		{ "python_version == python_full_version", false },
	};

	check(rows, PKG_ARRAY_LEN(rows), NULL);
}

static void
anything_else_compares_as_strings(PKG_UNUSED void **state)
{
	static const struct row rows[] = {
		{ "os_name == 'posix'", true },
		{ "os_name != 'nt'", true },
		{ "os_name == 'Posix'", false },
		{ "sys_platform == \"win32\"", false },
		{ "sys_platform > 'darwin'", true },
		{ "sys_platform >= 'linux'", true },
		{ "sys_platform <= 'linux'", true },
		{ "sys_platform < 'linux'", false },
		{ "sys_platform === 'linux'", true },
		{ "platform_machine == 'x86_64'", true },
		{ "platform_python_implementation == 'CPython'", true },
		{ "implementation_name == 'cpython'", true },
		{ "platform_system == 'Linux'", true },
		/* a kernel's release is no version, though the operand is */
		{ "platform_release >= '5.4'", true },
		{ "platform_release >= '7'", false },
		{ "platform_version == '#1 SMP Debian'", true },
		{ "'' == os_name", false },
		{ "os_name == sys_platform", false },
		{ "'a' == 'a'", true },
	};

	check(rows, PKG_ARRAY_LEN(rows), NULL);
}

static void
containment_is_about_substrings(PKG_UNUSED void **state)
{
	static const struct row rows[] = {
		{ "python_version in '2.7 3.11'", true },
		{ "python_version in '2.7,3.10'", false },
		{ "python_version not in '2.7 3.0'", true },
		{ "python_version not  \tin '2.7 3.11'", false },
		{ "'linux' in sys_platform", true },
		{ "'SMP' in platform_version", true },
		{ "'nix' not in os_name", true },
		{ "os_name in\"posix nt\"", true },
	};

	check(rows, PKG_ARRAY_LEN(rows), NULL);
}

static void
and_binds_tighter_than_or(PKG_UNUSED void **state)
{
	static const struct row rows[] = {
		{ "os_name == 'posix' or os_name == 'nt' and os_name == 'x'", true },
		{ "(os_name == 'posix' or os_name == 'nt') and os_name == 'x'", false },
		{ "os_name == 'x' and os_name == 'nt' or os_name == 'posix'", true },
		{ "os_name == 'x' and (os_name == 'nt' or os_name == 'posix')", false },
		{ "((os_name=='posix'))and(python_version<'4')", true },
		{ "os_name == 'a' or os_name == 'b' or os_name == 'posix'", true },
		{ "os_name=='posix'and os_name=='posix'and os_name=='a'", false },
	};

	check(rows, PKG_ARRAY_LEN(rows), NULL);
}

static void
old_names_mean_the_new_ones(PKG_UNUSED void **state)
{
	static const struct row rows[] = {
		{ "os.name == 'posix'", true },
		{ "sys.platform == 'linux'", true },
		{ "platform.version == '#1 SMP Debian'", true },
		{ "platform.machine == 'x86_64'", true },
		{ "platform.python_implementation == 'CPython'", true },
		{ "python_implementation == 'CPython'", true },
	};
	pkg_cleanup(lang_marker_free) struct lang_marker *marker =
		parse("python_implementation == os.name");
	pkg_autofree char *text = lang_marker_text(marker);

	check(rows, PKG_ARRAY_LEN(rows), NULL);
	assert_string_equal(text, "platform_python_implementation == os_name");
}

static void
extras_compare_as_normalised_names(PKG_UNUSED void **state)
{
	static const struct row asked[] = {
		{ "extra == 'foo-bar'", true },
		{ "extra == 'FOO.bar'", true },
		{ "'Foo__Bar' == extra", true },
		{ "extra != 'foo_bar'", false },
		{ "extra == 'foobar'", false },
		{ "extra == 'foo-bar' and python_version >= '3'", true },
	};
	static const struct row none[] = {
		{ "extra == 'foo-bar'", false },
		{ "extra != 'foo-bar'", true },
		{ "extra == ''", true },
		{ "extra == 'x' or os_name == 'posix'", true },
	};
	/* names that look like versions stay names */
	static const struct row numeric[] = {
		{ "extra == '8'", true },
		{ "extra == '8.0'", false },
	};

	check(asked, PKG_ARRAY_LEN(asked), "Foo_Bar");
	check(none, PKG_ARRAY_LEN(none), NULL);
	check(none, PKG_ARRAY_LEN(none), "");
	check(numeric, PKG_ARRAY_LEN(numeric), "8");
}

static void
a_marker_knows_whether_extras_matter(PKG_UNUSED void **state)
{
	pkg_cleanup(lang_marker_free) struct lang_marker *without = parse("os_name == 'extra'");
	pkg_cleanup(lang_marker_free) struct lang_marker *with =
		parse("os_name == 'nt' or (os_name == 'posix' and 'x' == extra)");

	assert_false(lang_marker_has_extra(without));
	assert_true(lang_marker_has_extra(with));
}

static void
compatible_release_of_strings_is_an_error_wherever_it_stands(PKG_UNUSED void **state)
{
	static const char *const rows[] = { "os_name ~= 'posix'", "python_version ~= 'x'",
		"os_name ~= '1.0'", "os_name == 'posix' or os_name ~= 'x'",
		"python_version ~= '3'" };

	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		pkg_cleanup(lang_marker_free) struct lang_marker *marker = parse(rows[i]);
		pkg_cleanup_error struct pkg_error err = { 0 };
		bool result;

		assert_int_equal(lang_marker_evaluate(marker, &env, NULL, &result, &err), -1);
		assert_int_equal(err.kind, PKG_E_REQUIREMENT);
	}
}

static void
an_untagged_interpreter_has_a_version_too(PKG_UNUSED void **state)
{
	static const struct lang_marker_env untagged = { .python_full_version = "3.13.0a2+" };
	pkg_cleanup(lang_marker_free) struct lang_marker *marker =
		parse("python_full_version > '3.9'");
	bool result;

	assert_int_equal(lang_marker_evaluate(marker, &untagged, NULL, &result, NULL), 0);
	assert_true(result);
}

static void
missing_values_are_empty_strings(PKG_UNUSED void **state)
{
	static const struct lang_marker_env empty = { 0 };
	pkg_cleanup(lang_marker_free) struct lang_marker *marker =
		parse("os_name == '' and platform_release not in 'x' or os_name != ''");
	bool result;

	assert_int_equal(lang_marker_evaluate(marker, &empty, NULL, &result, NULL), 0);
	assert_false(result);
}

static void
text_is_canonical_and_means_the_same(PKG_UNUSED void **state)
{
	static const char *const rows[][2] = {
		{ "python_version<'3'", "python_version < \"3\"" },
		{ " ( ( os_name  ==  'a' ) ) ", "os_name == \"a\"" },
		{ "os_name == 'a' and (os_name == 'b' or os_name == 'c')",
			"os_name == \"a\" and (os_name == \"b\" or os_name == \"c\")" },
		{ "(os_name == 'a' and os_name == 'b') or os_name == 'c'",
			"os_name == \"a\" and os_name == \"b\" or os_name == \"c\"" },
		{ "os_name == 'say \"hi\"'", "os_name == 'say \"hi\"'" },
		{ "os_name == \"it's\"", "os_name == \"it's\"" },
		{ "os_name not   in 'a'", "os_name not in \"a\"" },
		{ "extra == 'Foo_Bar'", "extra == \"foo-bar\"" },
		{ "'x' in sys_platform", "\"x\" in sys_platform" },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		pkg_cleanup(lang_marker_free) struct lang_marker *marker = parse(rows[i][0]);
		pkg_autofree char *text = lang_marker_text(marker);
		pkg_cleanup(lang_marker_free) struct lang_marker *second = parse(text);
		pkg_autofree char *again = lang_marker_text(second);

		assert_string_equal(text, rows[i][1]);
		assert_string_equal(again, text);
	}
}

static void
what_is_no_marker_is_refused(PKG_UNUSED void **state)
{
	static const char *const rows[] = { "", " ", "os_name", "os_name ==", "== 'a'",
		"os_name 'a'", "os_name == a", "os_name == 'a", "os_name == a'", "os_name = 'a'",
		"os_name == 'a' and", "and os_name == 'a'", "os_name == 'a' os_name == 'b'",
		"os_name == 'a', os_name == 'b'", "(os_name == 'a'", "os_name == 'a')", "()",
		"(os_name) == 'a'", "not os_name == 'a'", "os_name not 'a'", "os_name notin 'a'",
		"os_name in", "os_name is 'a'", "name == 'a'", "os-name == 'a'", "OS_NAME == 'a'",
		"extras == 'a'", "dependency_groups == 'a'", "os_name == 'a' AND os_name == 'b'",
		"os_name == 'a' && os_name == 'b'", "os_name == 'a' or or os_name == 'b'",
		"os_name == 'a' ; os_name == 'b'", "os_name == 'a\\'b'", "os_name == '\xC3\xA9'",
		"os_name == 'a\nb'", "os_name == 'a\x1b'", "__import__('os')", "os_name <> 'a'",
		"os_name === ", "'a' in 'b' in 'c'" };

	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		pkg_cleanup_error struct pkg_error err = { 0 };

		if (lang_marker_parse(rows[i], &err))
			fail_msg("'%s' was accepted", rows[i]);
		assert_int_equal(err.kind, PKG_E_REQUIREMENT);
		assert_null(lang_marker_parse(rows[i], NULL));
	}
}

static void
nesting_and_length_are_bounded(PKG_UNUSED void **state)
{
	for (int depth = LANG_MARKER_DEPTH_MAX; depth <= LANG_MARKER_DEPTH_MAX + 1; depth++) {
		pkg_cleanup_buf struct pkg_buf text = { 0 };
		struct lang_marker *marker;

		for (int i = 0; i < depth; i++)
			pkg_buf_add_char(&text, '(');
		pkg_buf_add(&text, "os_name == 'a'");
		for (int i = 0; i < depth; i++)
			pkg_buf_add_char(&text, ')');
		marker = lang_marker_parse(text.data, NULL);
		assert_int_equal(marker != NULL, depth == LANG_MARKER_DEPTH_MAX);
		lang_marker_free(marker);
	}
	for (size_t len = LANG_MARKER_TEXT_MAX; len <= LANG_MARKER_TEXT_MAX + 1; len++) {
		pkg_cleanup_buf struct pkg_buf text = { 0 };
		struct lang_marker *marker;

		pkg_buf_add(&text, "''<''");
		while (text.len + 8 <= len)
			pkg_buf_add(&text, "or''<''");
		while (text.len < len)
			pkg_buf_add_char(&text, ' ');
		marker = lang_marker_parse(text.data, NULL);
		assert_int_equal(marker != NULL, len == LANG_MARKER_TEXT_MAX);
		lang_marker_free(marker);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(versions_compare_as_versions),
		cmocka_unit_test(anything_else_compares_as_strings),
		cmocka_unit_test(containment_is_about_substrings),
		cmocka_unit_test(and_binds_tighter_than_or),
		cmocka_unit_test(old_names_mean_the_new_ones),
		cmocka_unit_test(extras_compare_as_normalised_names),
		cmocka_unit_test(a_marker_knows_whether_extras_matter),
		cmocka_unit_test(compatible_release_of_strings_is_an_error_wherever_it_stands),
		cmocka_unit_test(an_untagged_interpreter_has_a_version_too),
		cmocka_unit_test(missing_values_are_empty_strings),
		cmocka_unit_test(text_is_canonical_and_means_the_same),
		cmocka_unit_test(what_is_no_marker_is_refused),
		cmocka_unit_test(nesting_and_length_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
