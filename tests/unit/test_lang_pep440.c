#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "lang/pep440.h"

static struct lang_pep440_version
version(const char *text)
{
	pkg_cleanup_error struct pkg_error err = { 0 };
	struct lang_pep440_version out;

	if (lang_pep440_parse(text, &out, &err) < 0)
		fail_msg("'%s' was refused: %s", text, err.message);
	return out;
}

/* The PEP's own order, "Summary of permitted suffixes and relative ordering", and more of it. */
static const char *const ascending[] = {
	"0.0.dev0",
	"0",
	"1.dev0",
	"1.0.dev456",
	"1.0a0.dev1",
	"1.0a0",
	"1.0a1",
	"1.0a2.dev456",
	"1.0a12.dev456",
	"1.0a12",
	"1.0a12.post1.dev1",
	"1.0a12.post1",
	"1.0b1.dev456",
	"1.0b2",
	"1.0b2.post345.dev456",
	"1.0b2.post345",
	"1.0rc1.dev456",
	"1.0rc1",
	"1.0rc2",
	"1.0",
	"1.0+abc.5",
	"1.0+abc.7",
	"1.0+abc.7.a",
	"1.0+abc.7.0",
	"1.0+abcd",
	"1.0+5",
	"1.0+5.a",
	"1.0+5.0",
	"1.0+10",
	"1.0.post456.dev34",
	"1.0.post456",
	"1.0.post457",
	"1.0.1.dev1",
	"1.0.1",
	"1.0.10",
	"1.1.dev1",
	"1.2+123abc",
	"1.2+123abc456",
	"1.2+abc",
	"1.2+abc123",
	"1.2+abc123def",
	"1.2+1234.abc",
	"1.2+123456",
	"1.2.r32+123456",
	"1.2.rev33+123456",
	"1.10",
	"20240101",
	"99999999999999999999999999999998",
	"99999999999999999999999999999999",
	"1!0.1.dev1",
	"1!1.0",
	"2!0",
	"10!0",
};

static void
versions_order_as_the_pep_says(PKG_UNUSED void **state)
{
	for (size_t i = 0; i < PKG_ARRAY_LEN(ascending); i++) {
		struct lang_pep440_version a = version(ascending[i]);

		for (size_t j = 0; j < PKG_ARRAY_LEN(ascending); j++) {
			struct lang_pep440_version b = version(ascending[j]);
			int order = lang_pep440_compare(&a, &b);

			if ((order > 0) - (order < 0) != (i > j) - (i < j))
				fail_msg("'%s' against '%s' gave %d", ascending[i], ascending[j],
					order);
		}
	}
}

static const char *const spellings[][2] = {
	{ "1.0", "1.0" },
	{ "v1.0", "1.0" },
	{ "V1.0", "1.0" },
	{ "  1.0\t\n", "1.0" },
	{ "\r\n\f\v1", "1" },
	{ "01.002.0003", "1.2.3" },
	{ "00", "0" },
	{ "0!1.0", "1.0" },
	{ "1!1.0", "1!1.0" },
	{ "v01!1", "1!1" },
	{ "1.0.0.0", "1.0.0.0" },
	{ "1.0dev", "1.0.dev0" },
	{ "1.0.dev", "1.0.dev0" },
	{ "1.0-dev", "1.0.dev0" },
	{ "1.0_dev1", "1.0.dev1" },
	{ "1.0-DEV-456", "1.0.dev456" },
	{ "1.0.dev.", "1.0.dev0" },
	{ "1.0a", "1.0a0" },
	{ "1.0.a", "1.0a0" },
	{ "1.0a.", "1.0a0" },
	{ "1.0-a1", "1.0a1" },
	{ "1.0_A_1", "1.0a1" },
	{ "1.0alpha1", "1.0a1" },
	{ "1.0.ALPHA.01", "1.0a1" },
	{ "1.0b", "1.0b0" },
	{ "1.0beta2", "1.0b2" },
	{ "1.0-Beta-2", "1.0b2" },
	{ "1.0c", "1.0rc0" },
	{ "1.0.c1", "1.0rc1" },
	{ "1.0rc1", "1.0rc1" },
	{ "1.0-RC-1", "1.0rc1" },
	{ "1.0pre", "1.0rc0" },
	{ "1.0.pre1", "1.0rc1" },
	{ "1.0preview1", "1.0rc1" },
	{ "1.0_preview_1", "1.0rc1" },
	{ "1.0-1", "1.0.post1" },
	{ "1.0-01", "1.0.post1" },
	{ "1.0post", "1.0.post0" },
	{ "1.0.post5", "1.0.post5" },
	{ "1.0-POST-5", "1.0.post5" },
	{ "1.0r", "1.0.post0" },
	{ "1.0.r4", "1.0.post4" },
	{ "1.0rev", "1.0.post0" },
	{ "1.0-rev4", "1.0.post4" },
	{ "1.0a1-1", "1.0a1.post1" },
	{ "1.0a-1", "1.0a1" },
	{ "1.0a--1", "1.0a0.post1" },
	{ "1.0a1r2dev3", "1.0a1.post2.dev3" },
	{ "1.0b1-2-dev", "1.0b1.post2.dev0" },
	{ "1.0+AbC", "1.0+abc" },
	{ "1.0+ubuntu-1_2.3", "1.0+ubuntu.1.2.3" },
	{ "1.0+00100", "1.0+100" },
	{ "1.0+0.00", "1.0+0.0" },
	{ "1.0+001a", "1.0+001a" },
	{ "1!1.0rc1.post2.dev3+x.4", "1!1.0rc1.post2.dev3+x.4" },
	{ "2024.08.06", "2024.8.6" },
	{ "1.99999999999999999999999999999999", "1.99999999999999999999999999999999" },
};

static void
every_spelling_has_one_canonical_form(PKG_UNUSED void **state)
{
	for (size_t i = 0; i < PKG_ARRAY_LEN(spellings); i++) {
		struct lang_pep440_version given = version(spellings[i][0]);
		struct lang_pep440_version normal = version(spellings[i][1]);
		pkg_autofree char *text = lang_pep440_canonical(&given);
		pkg_autofree char *again = lang_pep440_canonical(&normal);

		assert_string_equal(text, spellings[i][1]);
		assert_string_equal(again, text);
		assert_int_equal(lang_pep440_compare(&given, &normal), 0);
	}
}

static void
trailing_zeros_do_not_order_but_are_kept(PKG_UNUSED void **state)
{
	struct lang_pep440_version a = version("1"), b = version("1.0.0"), c = version("1.0.0.1");
	pkg_autofree char *text = lang_pep440_canonical(&b);

	assert_int_equal(lang_pep440_compare(&a, &b), 0);
	assert_true(lang_pep440_compare(&a, &c) < 0);
	assert_string_equal(text, "1.0.0");
}

static void
what_is_no_version_is_refused(PKG_UNUSED void **state)
{
	static const char *const rows[] = { "", " ", "french toast", "v", "vv1", "1.0+a+", "1.0++",
		"1.0+_foobar", "1.0+foo&asd", "1.0+1+1", "1.0+", "1.0+.a", "1.0+a.", "1.0+a..b",
		"1.0.", "1..0", ".1", "1.0-", "1.0_", "1.0-1-", "1.0--1", "1.0_1", "1.0.post--1",
		"1!", "!1", "1!2!3", "-1", "+1", "1 0", "1.0 a1", "1.0.*", "1.*", "1.0a1b1",
		"1.0dev1a1", "1.0.post1.post2", "1.0dev1post1", "1.0x", "1.0alp1", "1.0re1", "1,0",
		"0x1", "1e5", "1.0\x1b[0m", "1.0\x7f", "\xC3\xA9", "1.0.po\xC5\xBFt1", "\xD9\xA1",
		"latest" };

	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		pkg_cleanup_error struct pkg_error err = { 0 };
		struct lang_pep440_version out;

		if (lang_pep440_parse(rows[i], &out, &err) == 0)
			fail_msg("'%s' was accepted", rows[i]);
		assert_int_equal(err.kind, PKG_E_INVALID);
		assert_int_equal(lang_pep440_parse(rows[i], &out, NULL), -1);
	}
}

static void
a_nul_ends_no_version_early(PKG_UNUSED void **state)
{
	struct lang_pep440_version out;

	assert_int_equal(lang_pep440_parse_mem("1.0\0", 4, &out, NULL), -1);
	assert_int_equal(lang_pep440_parse_mem("1.0\0evil", 8, &out, NULL), -1);
	assert_int_equal(lang_pep440_parse_mem("1.0\0", 3, &out, NULL), 0);
}

static void
lengths_and_counts_are_bounded(PKG_UNUSED void **state)
{
	pkg_cleanup_error struct pkg_error err = { 0 };
	char text[LANG_PEP440_MAX + 2];
	struct lang_pep440_version out;

	memset(text, '9', sizeof(text));
	assert_int_equal(lang_pep440_parse_mem(text, LANG_PEP440_MAX, &out, NULL), 0);
	assert_int_equal(lang_pep440_parse_mem(text, LANG_PEP440_MAX + 1, &out, &err), -1);
	assert_non_null(strstr(err.message, "256"));
	/* "9...9r" would grow beyond the limit when it is written out. */
	text[LANG_PEP440_MAX - 1] = 'r';
	assert_int_equal(lang_pep440_parse_mem(text, LANG_PEP440_MAX, &out, NULL), -1);
	text[LANG_PEP440_MAX - 6] = 'r';
	assert_int_equal(lang_pep440_parse_mem(text, LANG_PEP440_MAX - 5, &out, NULL), 0);
	for (size_t i = 0; i < 2 * LANG_PEP440_RELEASE_MAX + 1; i++)
		text[i] = i % 2 ? '.' : '1';
	assert_int_equal(
		lang_pep440_parse_mem(text, 2 * LANG_PEP440_RELEASE_MAX - 1, &out, NULL), 0);
	assert_int_equal(out.release_count, LANG_PEP440_RELEASE_MAX);
	assert_int_equal(
		lang_pep440_parse_mem(text, 2 * LANG_PEP440_RELEASE_MAX + 1, &out, &err), -1);
	assert_non_null(strstr(err.message, "32"));
}

static void
a_pre_release_is_one_that_has_a_pre_or_dev_part(PKG_UNUSED void **state)
{
	static const char *const pre[] = { "1a1", "1b1", "1rc1", "1.dev0", "1.post1.dev1",
		"1a1+x" };
	static const char *const final[] = { "1", "1.post1", "1+x", "1!1" };

	for (size_t i = 0; i < PKG_ARRAY_LEN(pre); i++) {
		struct lang_pep440_version v = version(pre[i]);

		assert_true(lang_pep440_is_pre(&v));
	}
	for (size_t i = 0; i < PKG_ARRAY_LEN(final); i++) {
		struct lang_pep440_version v = version(final[i]);

		assert_false(lang_pep440_is_pre(&v));
	}
}

static void
partial_comparisons_leave_the_rest_out(PKG_UNUSED void **state)
{
	struct lang_pep440_version a = version("1.0+x"), b = version("1"), c = version("1a1.dev2"),
				   d = version("1.2.3"), e = version("1.2"), f = version("1!1.2.3");

	assert_int_equal(lang_pep440_compare_public(&a, &b), 0);
	assert_true(lang_pep440_compare(&a, &b) > 0);
	assert_int_equal(lang_pep440_compare_base(&c, &b), 0);
	assert_true(lang_pep440_compare_public(&c, &b) < 0);
	assert_true(lang_pep440_has_prefix(&d, &e, 2));
	assert_false(lang_pep440_has_prefix(&f, &e, 2));
	assert_false(lang_pep440_has_prefix(&e, &d, 3));
	assert_true(lang_pep440_has_prefix(&b, &a, 2));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(versions_order_as_the_pep_says),
		cmocka_unit_test(every_spelling_has_one_canonical_form),
		cmocka_unit_test(trailing_zeros_do_not_order_but_are_kept),
		cmocka_unit_test(what_is_no_version_is_refused),
		cmocka_unit_test(a_nul_ends_no_version_early),
		cmocka_unit_test(lengths_and_counts_are_bounded),
		cmocka_unit_test(a_pre_release_is_one_that_has_a_pre_or_dev_part),
		cmocka_unit_test(partial_comparisons_leave_the_rest_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
