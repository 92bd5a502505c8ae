#include "unit.h"

#include <string.h>

#include "core/mem.h"
#include "lang/r_version.h"

static void
versions_have_the_order_of_package_version(PKG_UNUSED void **state)
{
	static const char *const ascending[] = { "0.1", "0.1.0", "0.1-1", "0.2", "0.10", "1.0",
		"1.0.0", "1.0-1", "1.2-3", "1.2-10", "1.10", "2.0", "99999999999999999998.1",
		"99999999999999999999.0" };

	for (size_t i = 0; i < PKG_ARRAY_LEN(ascending); i++)
		for (size_t j = 0; j < PKG_ARRAY_LEN(ascending); j++) {
			int order = lang_r_version_compare(ascending[i], ascending[j]);

			if ((order < 0) != (i < j) || (order == 0) != (i == j))
				fail_msg("%s and %s: %d", ascending[i], ascending[j], order);
		}
}

static void
dots_dashes_and_leading_zeroes_do_not_matter(PKG_UNUSED void **state)
{
	assert_int_equal(lang_r_version_compare("1.2-3", "1.2.3"), 0);
	assert_int_equal(lang_r_version_compare("1.02", "1.2"), 0);
	assert_int_equal(lang_r_version_compare("1.00", "1.0"), 0);
}

static void
text_that_is_no_version_is_told(PKG_UNUSED void **state)
{
	static const char *const wrong[] = { "", ".", "1.", ".1", "1..2", "1.a", "a", "1.2 ",
		" 1.2", "1.2rc1", "-1.2", "1.2-" };

	for (size_t i = 0; i < PKG_ARRAY_LEN(wrong); i++)
		if (lang_r_version_is(wrong[i], true))
			fail_msg("'%s' was taken for a version", wrong[i]);
	assert_true(lang_r_version_is("1.2", false));
	assert_true(lang_r_version_is("7", true));
	assert_false(lang_r_version_is("7", false));
	assert_true(lang_r_version_compare("bad", "0.0") < 0);
	assert_true(lang_r_version_compare("0.0", "bad") > 0);
	assert_int_equal(lang_r_version_compare("bad", "bad"), 0);
}

static void
limits_hold_as_they_read(PKG_UNUSED void **state)
{
	static const struct {
		const char *version, *op, *bound;
		bool holds;
	} cases[] = { { "1.10", ">=", "1.9", true }, { "1.9", ">=", "1.10", false },
		{ "1.0", "==", "1.0", true }, { "1.0.0", "==", "1.0", false },
		{ "1.0", "!=", "1.0", false }, { "1.1", "!=", "1.0", true },
		{ "1.0", "<", "1.0", false }, { "0.9", "<", "1.0", true },
		{ "1.0", "<=", "1.0", true }, { "1.0-1", ">", "1.0", true },
		{ "1.0", ">", "1.0", false }, { "1.0", "=", "1.0", false } };

	for (size_t i = 0; i < PKG_ARRAY_LEN(cases); i++)
		if (lang_r_version_holds(cases[i].version, cases[i].op, cases[i].bound) !=
			cases[i].holds)
			fail_msg("%s %s %s", cases[i].version, cases[i].op, cases[i].bound);
}

static void
the_minor_version_is_two_numbers(PKG_UNUSED void **state)
{
	assert_int_equal(lang_r_version_minor("4.2.2"), 3);
	assert_int_equal(lang_r_version_minor("4.10.1"), 4);
	assert_int_equal(lang_r_version_minor("4.2"), 3);
	assert_int_equal(lang_r_version_minor("4"), 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(versions_have_the_order_of_package_version),
		cmocka_unit_test(dots_dashes_and_leading_zeroes_do_not_matter),
		cmocka_unit_test(text_that_is_no_version_is_told),
		cmocka_unit_test(limits_hold_as_they_read),
		cmocka_unit_test(the_minor_version_is_two_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
