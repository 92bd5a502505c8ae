#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "lang/r_request.h"

static void
names_follow_the_grammar_of_cran(PKG_UNUSED void **state)
{
	static const char *const good[] = { "R6", "data.table", "ggplot2", "aa", "A.b.C9" };
	static const char *const bad[] = { "", "a", "R", "9a", ".a", "a.", "a_b", "a-b", "a b",
		"a/b", "a;b", "../a", "-a", "\xc3\xa4\xc3\xa4", "a\nb" };

	for (size_t i = 0; i < PKG_ARRAY_LEN(good); i++)
		if (!lang_r_name_is(good[i]))
			fail_msg("'%s' was refused", good[i]);
	for (size_t i = 0; i < PKG_ARRAY_LEN(bad); i++)
		if (lang_r_name_is(bad[i]))
			fail_msg("'%s' was accepted", bad[i]);
}

static void
what_a_person_types_has_one_canonical_form(PKG_UNUSED void **state)
{
	static const struct {
		const char *text, *canonical;
	} cases[] = { { "praise", "praise" }, { "  praise  ", "praise" },
		{ "cli@3.6.4", "cli@3.6.4" }, { "cli==3.6.4", "cli@3.6.4" },
		{ "cli (== 3.6.4)", "cli@3.6.4" }, { "cli (>= 3.4)", "cli (>= 3.4)" },
		{ "cli(>=3.4)", "cli (>= 3.4)" }, { "cli>=3.4", "cli (>= 3.4)" },
		{ "cli (>= 1.0, < 2)", "cli (>= 1.0, < 2)" },
		{ "data.table@1.17-0", "data.table@1.17-0" }, { "cli\n(>=\t3)", "cli (>= 3)" } };

	for (size_t i = 0; i < PKG_ARRAY_LEN(cases); i++) {
		lang_cleanup_r_need struct lang_r_need need = { 0 };
		pkg_autofree char *text = NULL;

		assert_int_equal(lang_r_need_parse(cases[i].text, &need, NULL), 0);
		text = lang_r_need_text(&need);
		assert_string_equal(text, cases[i].canonical);
	}
}

static void
what_is_no_requirement_is_refused(PKG_UNUSED void **state)
{
	static const char *const bad[] = { "", "   ", "cli@", "cli@x", "cli (", "cli ()",
		"cli (>= )", "cli (>= 1", "cli (>= 1) x", "cli (~> 1)", "cli (= 1)", "cli >= 1 2",
		"cli@1.2@1.3", "R", "R (>= 4)", "cli,R6", "cli (>= 1,)", "cli@1.2rc1",
		"cli (>=1,>=1,>=1,>=1,>=1,>=1,>=1,>=1,>=1)" };

	for (size_t i = 0; i < PKG_ARRAY_LEN(bad); i++) {
		pkg_cleanup_error struct pkg_error err = { 0 };
		struct lang_r_need need = { 0 };

		if (lang_r_need_parse(bad[i], &need, &err) == 0)
			fail_msg("'%s' was accepted", bad[i]);
		assert_int_equal(err.kind, PKG_E_REQUIREMENT);
		assert_null(need.name);
	}
}

static void
lists_keep_every_need_and_the_language_among_them(PKG_UNUSED void **state)
{
	lang_cleanup_r_needs struct lang_r_needs needs = { 0 };

	assert_int_equal(
		lang_r_needs_parse("R (>= 3.6), cli (>= 1, < 2),\n  rlang ,,utils", &needs, NULL),
		0);
	assert_int_equal(needs.count, 4);
	assert_string_equal(needs.items[0].name, "R");
	assert_false(lang_r_need_met(&needs.items[0], "3.5.0"));
	assert_true(lang_r_need_met(&needs.items[0], "4.2.2"));
	assert_true(lang_r_need_met(&needs.items[1], "1.5"));
	assert_false(lang_r_need_met(&needs.items[1], "2.0"));
	assert_string_equal(needs.items[3].name, "utils");
	assert_int_equal(lang_r_needs_parse(NULL, &needs, NULL), 0);
	assert_int_equal(lang_r_needs_parse("good.pkg, b@d", &needs, NULL), -1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_follow_the_grammar_of_cran),
		cmocka_unit_test(what_a_person_types_has_one_canonical_form),
		cmocka_unit_test(what_is_no_requirement_is_refused),
		cmocka_unit_test(lists_keep_every_need_and_the_language_among_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
