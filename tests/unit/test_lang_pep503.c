#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "lang/pep503.h"
#include "core/mem.h"

static void
names_are_lower_case_with_single_dashes(PKG_UNUSED void **state)
{
	static const char *const rows[][2] = {
		{ "friendly-bard", "friendly-bard" },
		{ "Friendly-Bard", "friendly-bard" },
		{ "FRIENDLY-BARD", "friendly-bard" },
		{ "friendly.bard", "friendly-bard" },
		{ "friendly_bard", "friendly-bard" },
		{ "friendly--bard", "friendly-bard" },
		{ "FrIeNdLy-._.-bArD", "friendly-bard" },
		{ "zope.interface", "zope-interface" },
		{ "-a-", "-a-" },
		{ "...", "-" },
		{ "A1", "a1" },
		{ "", "" },
		{ "\xC3\x89t\xC3\xA9", "\xC3\x89t\xC3\xA9" },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		pkg_autofree char *name = lang_pep503_normalize(rows[i][0]);
		pkg_autofree char *again = lang_pep503_normalize(name);

		assert_string_equal(name, rows[i][1]);
		assert_string_equal(again, name);
	}
}

static void
only_the_given_length_is_read(PKG_UNUSED void **state)
{
	pkg_autofree char *name = lang_pep503_normalize_mem("Foo.Bar==1", 7);

	assert_string_equal(name, "foo-bar");
	assert_true(lang_pep503_is_name_mem("foo==1", 3));
	assert_false(lang_pep503_is_name_mem("a\0b", 3));
	assert_false(lang_pep503_is_name_mem("a", 0));
}

static void
the_name_grammar_takes_letters_digits_and_inner_separators(PKG_UNUSED void **state)
{
	static const char *const good[] = { "a", "9", "A", "foo", "Foo-Bar", "foo..bar", "a-_.b",
		"2to3", "x1", "zope.interface" };
	static const char *const bad[] = { "", "-", "-a", "a-", "_a", "a_", ".a", "a.", "-rfile",
		"--index-url=x", "a b", "a/b", "a\\b", "a@b", "a[b]", "a==1", "a\n", "\x1b[0m",
		"a\x7f", "\xC3\xA9", "a\xC3\xA9z", "a+b", "..", "." };

	for (size_t i = 0; i < PKG_ARRAY_LEN(good); i++)
		if (!lang_pep503_is_name(good[i]))
			fail_msg("'%s' was refused", good[i]);
	for (size_t i = 0; i < PKG_ARRAY_LEN(bad); i++)
		if (lang_pep503_is_name(bad[i]))
			fail_msg("'%s' was accepted", bad[i]);
}

static void
a_name_of_255_bytes_is_the_longest(PKG_UNUSED void **state)
{
	char name[LANG_NAME_MAX + 2];

	memset(name, 'a', sizeof(name));
	name[LANG_NAME_MAX + 1] = '\0';
	assert_false(lang_pep503_is_name(name));
	assert_true(lang_pep503_is_name(name + 1));
}

static void
spellings_of_one_project_are_equal(PKG_UNUSED void **state)
{
	assert_true(lang_pep503_equal("Zope_Interface", "zope.interface"));
	assert_true(lang_pep503_equal("a--b", "a.b"));
	assert_false(lang_pep503_equal("ab", "a-b"));
	assert_false(lang_pep503_equal("requests", "request"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_lower_case_with_single_dashes),
		cmocka_unit_test(only_the_given_length_is_read),
		cmocka_unit_test(the_name_grammar_takes_letters_digits_and_inner_separators),
		cmocka_unit_test(a_name_of_255_bytes_is_the_longest),
		cmocka_unit_test(spellings_of_one_project_are_equal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
