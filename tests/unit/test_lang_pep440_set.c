#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "core/buf.h"
#include "lang/pep440_set.h"

static bool
matches(const char *text, const char *version_text, enum lang_pep440_prereleases prereleases)
{
	lang_cleanup_pep440_set struct lang_pep440_set set = { 0 };
	pkg_cleanup_error struct pkg_error err = { 0 };
	struct lang_pep440_version version;

	if (lang_pep440_set_parse(text, &set, &err) < 0 ||
		lang_pep440_parse(version_text, &version, &err) < 0)
		fail_msg("'%s' or '%s' was refused: %s", text, version_text, err.message);
	return lang_pep440_set_match(&set, &version, prereleases);
}

struct row {
	const char *set;
	const char *version;
	bool match;
};

static void
check(const struct row *rows, size_t count, enum lang_pep440_prereleases prereleases)
{
	for (size_t i = 0; i < count; i++)
		if (matches(rows[i].set, rows[i].version, prereleases) != rows[i].match)
			fail_msg("'%s' against '%s' is not %s", rows[i].set, rows[i].version,
				rows[i].match ? "true" : "false");
}

static void
compatible_release_is_a_floor_and_a_prefix(PKG_UNUSED void **state)
{
	static const struct row rows[] = {
		{ "~=2.2", "2.2", true },
		{ "~=2.2", "2.3", true },
		{ "~=2.2", "2.2.post1", true },
		{ "~=2.2", "2.2+local", true },
		{ "~=2.2", "2.1", false },
		{ "~=2.2", "3", false },
		{ "~=2.2", "3.0.dev1", false },
		{ "~=2.2", "1!2.3", false },
		{ "~=1.4.5", "1.4.5", true },
		{ "~=1.4.5", "1.4.6", true },
		{ "~=1.4.5", "1.5", false },
		{ "~=2.2.0", "2.2", true },
		{ "~=2.2.0", "2.3", false },
		{ "~=2.2.post3", "2.2.post3", true },
		{ "~=2.2.post3", "2.3", true },
		{ "~=2.2.post3", "2.2", false },
		{ "~=1.4.5a4", "1.4.5a4", true },
		{ "~=1.4.5a4", "1.4.5", true },
		{ "~=1.4.5a4", "1.4.5a3", false },
		{ "~=1.4.5a4", "1.5", false },
		{ "~=1.4.alpha4", "1.5", true },
		{ "~=v1.4", "1.5", true },
		{ "~=1!1.4", "1!1.5", true },
		{ "~=1!1.4", "1.5", false },
	};

	check(rows, PKG_ARRAY_LEN(rows), LANG_PEP440_PRE_ALLOW);
}

static void
equality_pads_with_zeros_and_ignores_a_local_part_it_does_not_name(PKG_UNUSED void **state)
{
	static const struct row rows[] = {
		{ "==1.1", "1.1", true },
		{ "==1.1", "1.1.0", true },
		{ "==1.1", "1.1.dev1", false },
		{ "==1.1", "1.1a1", false },
		{ "==1.1", "1.1.post1", false },
		{ "==1.1.post1", "1.1-1", true },
		{ "==1.1", "1.1+local", true },
		{ "==1.1+local", "1.1+local", true },
		{ "==1.1+LOCAL", "1.1+local", true },
		{ "==1.1+local", "1.1", false },
		{ "==1.1+local.1", "1.1+local-1", true },
		{ "==1.1", "1!1.1", false },
		{ "==0!1.1", "1.1", true },
		{ "!=1.1", "1.1.post1", true },
		{ "!=1.1", "1.1+local", false },
		{ "!=1.1+local", "1.1", true },
		{ "!=1.1+local", "1.1+local", false },
	};

	check(rows, PKG_ARRAY_LEN(rows), LANG_PEP440_PRE_ALLOW);
}

static void
prefixes_match_whole_numbers(PKG_UNUSED void **state)
{
	static const struct row rows[] = {
		{ "==1.1.*", "1.1", true },
		{ "==1.1.*", "1.1.post1", true },
		{ "==1.1.*", "1.1a1", true },
		{ "==1.1.*", "1.1.dev1", true },
		{ "==1.1.*", "1.1.9.9", true },
		{ "==1.1.*", "1.1+local", true },
		{ "==1.1.*", "1.10", false },
		{ "==1.1.*", "1", false },
		{ "==1.1.*", "1!1.1", false },
		{ "==1.0.*", "1", true },
		{ "==1.0.*", "1a1", true },
		{ "==1.0.0.*", "1.post1", true },
		{ "==2!1.*", "2!1.1", true },
		{ "==2!1.*", "1.1", false },
		{ "== 2.* ", "2.1", true },
		{ "!=1.5.*", "1.5.1", false },
		{ "!=1.5.*", "1.5", false },
		{ "!=1.5.*", "1.5a1", false },
		{ "!=1.5.*", "1.6", true },
		{ "!=1.5.*", "1.50", true },
	};

	check(rows, PKG_ARRAY_LEN(rows), LANG_PEP440_PRE_ALLOW);
}

static void
exclusive_bounds_exclude_what_belongs_to_the_bound(PKG_UNUSED void **state)
{
	static const struct row rows[] = {
		{ ">1.7", "1.7.1", true },
		{ ">1.7", "1.7.0.post1", false },
		{ ">1.7", "1.7.post2", false },
		{ ">1.7", "1.7+local", false },
		{ ">1.7", "1.7", false },
		{ ">1.7", "1.8.post1", true },
		{ ">1.7", "1.8.dev1", true },
		{ ">1.7.post2", "1.7.1", true },
		{ ">1.7.post2", "1.7.0.post3", true },
		{ ">1.7.post2", "1.7.0", false },
		{ ">1.7.post2", "1.7.post2+local", false },
		{ ">1.7a1", "1.7", true },
		{ ">1.7", "1!0", true },
		{ "<1.7", "1.6", true },
		{ "<1.7", "1.7.dev1", false },
		{ "<1.7", "1.7rc1", false },
		{ "<1.7", "1.7.0a1", false },
		{ "<1.7", "1.6.9a1", true },
		{ "<1.7rc1", "1.7b1", true },
		{ "<1.7rc1", "1.7rc1", false },
		{ "<1.7.post1", "1.7", true },
		{ "<1.7", "1.7+local", false },
		{ "<1!0", "9", true },
	};

	check(rows, PKG_ARRAY_LEN(rows), LANG_PEP440_PRE_ALLOW);
}

static void
inclusive_bounds_ignore_local_parts(PKG_UNUSED void **state)
{
	static const struct row rows[] = {
		{ "<=1.7", "1.7+local", true },
		{ "<=1.7", "1.7", true },
		{ "<=1.7", "1.7.0", true },
		{ "<=1.7", "1.7.post1", false },
		{ "<=1.7", "1.7rc1", true },
		{ ">=1.7", "1.7+local", true },
		{ ">=1.7", "1.7", true },
		{ ">=1.7", "1.7.post1", true },
		{ ">=1.7", "1.7rc1", false },
		{ ">=1.9", "1.10", true },
		{ ">=99999999999999999999", "100000000000000000000", true },
		{ ">=99999999999999999999", "99999999999999999998", false },
	};

	check(rows, PKG_ARRAY_LEN(rows), LANG_PEP440_PRE_ALLOW);
}

static void
arbitrary_equality_is_about_the_text(PKG_UNUSED void **state)
{
	static const struct row rows[] = {
		{ "===1.0", "1.0", true },
		{ "===1.0", "1.0.0", false },
		{ "===1.0", "1", false },
		{ "===1.0RC1", "1.0rc1", true },
		{ "===1.0", "1.0+downstream1", false },
		{ "=== 1.0", "1.0", true },
		{ "===foo", "1.0", false },
	};

	check(rows, PKG_ARRAY_LEN(rows), LANG_PEP440_PRE_ALLOW);
}

static void
all_clauses_must_hold(PKG_UNUSED void **state)
{
	static const struct row rows[] = {
		{ "", "1.0", true },
		{ "   ", "1.0", true },
		{ ">=2.1,<3", "2.1", true },
		{ ">=2.1,<3", "2.99", true },
		{ ">=2.1,<3", "3", false },
		{ ">=2.1,<3", "2", false },
		{ ">= 2.1 , < 3 ,", "2.5", true },
		{ "~=1.4.2,>=1,!=1.5.*", "1.4.9", true },
		{ "~=1.4.2,>=1,!=1.4.9", "1.4.9", false },
		{ "~=1.4.2,>=1,!=1.5.*,===foo", "1.4.9", false },
		{ ">1,<1", "1", false },
		{ ">=2.7,!=3.0.*,!=3.1.*,!=3.2.*", "3.11", true },
		{ ">=2.7,!=3.0.*,!=3.1.*,!=3.2.*", "3.2.1", false },
	};

	check(rows, PKG_ARRAY_LEN(rows), LANG_PEP440_PRE_AUTO);
}

static void
pre_releases_need_to_be_allowed_or_named(PKG_UNUSED void **state)
{
	static const struct {
		const char *set, *version;
		bool automatic, allow;
	} rows[] = {
		{ "", "1.0a1", false, true },
		{ ">=1.0", "1.1a1", false, true },
		{ ">=1.0", "1.1.dev1", false, true },
		{ ">=1.0a1", "1.1a1", true, true },
		{ ">=1.0.dev1", "1.1a1", true, true },
		{ "==1.0a1", "1.0a1", true, true },
		{ "==1.*", "1.0a1", false, true },
		{ "<2.0rc1", "2.0b1", true, true },
		{ ">1.0b1", "1.0b2", true, true },
		{ "~=1.0b1", "1.0b2", true, true },
		{ "===1.0b1", "1.0b1", true, true },
		{ ">=1,!=1.5a1", "1.5a2", false, true },
		{ ">=1,<2a1", "1.5a2", true, true },
		{ ">=1.0a1", "1.0", true, true },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		struct lang_pep440_version version;

		assert_int_equal(lang_pep440_parse(rows[i].version, &version, NULL), 0);
		if (matches(rows[i].set, rows[i].version, LANG_PEP440_PRE_AUTO) !=
				rows[i].automatic ||
			matches(rows[i].set, rows[i].version, LANG_PEP440_PRE_ALLOW) !=
				rows[i].allow)
			fail_msg("'%s' against '%s'", rows[i].set, rows[i].version);
		assert_int_equal(matches(rows[i].set, rows[i].version, LANG_PEP440_PRE_DENY),
			!lang_pep440_is_pre(&version));
	}
}

static void
allowing_pre_releases_can_be_asked(PKG_UNUSED void **state)
{
	static const struct {
		const char *set;
		bool allows;
	} rows[] = {
		{ "", false },
		{ ">=1", false },
		{ "!=1a1", false },
		{ ">=1,==1a1", true },
		{ "===foo", false },
		{ "===1.dev1", true },
		{ "<1.dev1", true },
		{ "==1.post1", false },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		lang_cleanup_pep440_set struct lang_pep440_set set = { 0 };

		assert_int_equal(lang_pep440_set_parse(rows[i].set, &set, NULL), 0);
		assert_int_equal(lang_pep440_set_allows_pre(&set), rows[i].allows);
	}
}

static void
the_text_of_a_set_is_canonical(PKG_UNUSED void **state)
{
	static const char *const rows[][2] = {
		{ "", "" },
		{ ">=2.1,<3", "<3,>=2.1" },
		{ " >= 2.1 ,\t< 3 ", "<3,>=2.1" },
		{ "==1.0-1", "==1.0.post1" },
		{ "==V1.*", "==1.*" },
		{ "!=1.05.*", "!=1.5.*" },
		{ "==1.0,==1.0", "==1.0" },
		{ "==1.0,==01.0", "==1.0" },
		{ "==1.0,==1.0.0", "==1.0,==1.0.0" },
		{ "===foo.Bar", "===foo.Bar" },
		{ "~=1.4.2,>=1,!=1.5.*,===foo", "!=1.5.*,===foo,>=1,~=1.4.2" },
		{ ">=1,", ">=1" },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		lang_cleanup_pep440_set struct lang_pep440_set set = { 0 }, second = { 0 };
		pkg_autofree char *text = NULL, *again = NULL;

		assert_int_equal(lang_pep440_set_parse(rows[i][0], &set, NULL), 0);
		text = lang_pep440_set_text(&set);
		assert_string_equal(text, rows[i][1]);
		assert_int_equal(lang_pep440_set_parse(text, &second, NULL), 0);
		again = lang_pep440_set_text(&second);
		assert_string_equal(again, text);
	}
}

static void
what_is_no_specifier_is_refused(PKG_UNUSED void **state)
{
	static const char *const rows[] = { /* no operator, no version, half an operator */
		"1.0", "foo", "==", ">=", "~=", "===", "=== ", "=1.0", "=>2.0", "=<2.0", "!1",
		"~1.0", "<>1.0", "==>1", "== ==1", ">>1", "====", ",", ",>=1", ">=1,,<2", ">=1,<",
		">=1 <2", ">=1;<2", ">=1)", "(>=1)",
		/* forms that the operator does not take */
		"~=1", "~=1a1", "~=1!1", "~=1.0.*", ">=1.0.*", "<1.*", "<=1.*", ">1.*",
		"~=1.0+local", ">=1.0+local", "<1+l", "<=1+l", ">1+l", "==1.0a1.*", "==1.0.post1.*",
		"==1.0.dev1.*", "==1.0+l.*", "==1.0.*+l", "==1.*.0", "==1.*.*", "==*", "==.*",
		"==1*", "!=1.0-1.*",
		/* versions that are none */
		">=1.x", "==lolwat", "==1.0+", ">=1..0", "==1 .*", "==1.0 .0", "===a b", "===a;b",
		"===a(b)", "==1\x1b[0m", "===\xC3\xA9", "==\xC3\xA9"
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		pkg_cleanup_error struct pkg_error err = { 0 };
		struct lang_pep440_set set;

		if (lang_pep440_set_parse(rows[i], &set, &err) == 0)
			fail_msg("'%s' was accepted", rows[i]);
		assert_int_equal(err.kind, PKG_E_REQUIREMENT);
		assert_null(set.clauses);
		assert_int_equal(set.count, 0);
		assert_int_equal(lang_pep440_set_parse(rows[i], &set, NULL), -1);
	}
}

static void
the_fault_is_named_with_its_column(PKG_UNUSED void **state)
{
	static const char *const rows[][2] = {
		{ ">=1,<", "'>=1,<': column 6: expected a version after '<'" },
		{ ">=1,~=2", "'>=1,~=2': column 7: '~=' needs at least two release numbers" },
		{ "1.0", "'1.0': column 1: expected a version comparison such as '==' or '>='" },
		{ ">= 1.x", "'>= 1.x': column 4: '1.x' is not a version: unexpected '.'" },
		{ ">=1.*", "'>=1.*': column 3: '.*' goes only with '==' and '!=', not with '>='" },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		pkg_cleanup_error struct pkg_error err = { 0 };
		struct lang_pep440_set set;

		assert_int_equal(lang_pep440_set_parse(rows[i][0], &set, &err), -1);
		assert_string_equal(err.message, rows[i][1]);
	}
}

static void
a_set_has_at_most_64_clauses(PKG_UNUSED void **state)
{
	pkg_cleanup_buf struct pkg_buf text = { 0 };
	struct lang_pep440_set set;

	for (int i = 0; i < LANG_PEP440_CLAUSES_MAX; i++)
		pkg_buf_addf(&text, "%s!=%d", i ? "," : "", i);
	assert_int_equal(lang_pep440_set_parse(text.data, &set, NULL), 0);
	assert_int_equal(set.count, LANG_PEP440_CLAUSES_MAX);
	lang_pep440_set_clear(&set);
	pkg_buf_add(&text, ",!=99");
	assert_int_equal(lang_pep440_set_parse(text.data, &set, NULL), -1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(compatible_release_is_a_floor_and_a_prefix),
		cmocka_unit_test(
			equality_pads_with_zeros_and_ignores_a_local_part_it_does_not_name),
		cmocka_unit_test(prefixes_match_whole_numbers),
		cmocka_unit_test(exclusive_bounds_exclude_what_belongs_to_the_bound),
		cmocka_unit_test(inclusive_bounds_ignore_local_parts),
		cmocka_unit_test(arbitrary_equality_is_about_the_text),
		cmocka_unit_test(all_clauses_must_hold),
		cmocka_unit_test(pre_releases_need_to_be_allowed_or_named),
		cmocka_unit_test(allowing_pre_releases_can_be_asked),
		cmocka_unit_test(the_text_of_a_set_is_canonical),
		cmocka_unit_test(what_is_no_specifier_is_refused),
		cmocka_unit_test(the_fault_is_named_with_its_column),
		cmocka_unit_test(a_set_has_at_most_64_clauses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
