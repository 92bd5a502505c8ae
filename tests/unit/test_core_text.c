#include "unit.h"

#include "core/text.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

struct clean_row {
	const char *in;
	const char *out;
};

static void
check_clean(const struct clean_row *rows, size_t count, bool multiline)
{
	for (size_t i = 0; i < count; i++) {
		pkg_autofree char *out =
			pkg_text_clean(rows[i].in, strlen(rows[i].in), SIZE_MAX, multiline);

		assert_string_equal(out, rows[i].out);
	}
}

static void
good_text_is_left_alone(PKG_UNUSED void **state)
{
	static const struct clean_row rows[] = {
		{ "", "" },
		{ "plain ASCII ~", "plain ASCII ~" },
		{ "Gr\xC3\xBC\xC3\x9F"
		  "e",
			"Gr\xC3\xBC\xC3\x9F"
			"e" },
		{ "\xE6\x97\xA5\xE6\x9C\xAC", "\xE6\x97\xA5\xE6\x9C\xAC" },
		{ "\xF0\x9F\x93\xA6", "\xF0\x9F\x93\xA6" },
		{ "\xF4\x8F\xBF\xBD", "\xF4\x8F\xBF\xBD" },
	};

	check_clean(rows, PKG_ARRAY_LEN(rows), false);
	check_clean(rows, PKG_ARRAY_LEN(rows), true);
}

static void
escape_sequences_vanish_and_the_text_between_stays(PKG_UNUSED void **state)
{
	static const struct clean_row rows[] = {
		{ "\033[31mred\033[0m!", "red!" },
		{ "\033[1;38;2;1;2;3mx", "x" },
		{ "\033[?25lx\033[2J\033[Hy", "xy" },
		{ "a\033]0;title\ab", "ab" },
		{ "a\033]8;;http://evil/\033\\link\033]8;;\033\\b", "alinkb" },
		{ "a\033]52;c;cGFzdGU=\xC2\x9C"
		  "b",
			"ab" },
		{ "a\033Pq#0\033\\b", "ab" },
		{ "a\033(Bb", "ab" },
		{ "a\033=b\033cd", "abd" },
		{ "a\xC2\x9B"
		  "31mb",
			"ab" }, /* CSI as one C1 character */
		{ "a\xC2\x9D"
		  "0;t\ab",
			"ab" },
		{ "end\033", "end" },
		{ "end\033[", "end" },
		{ "end\033[1;2", "end" },
		{ "a\033[31\001b", "ab" },
	};

	check_clean(rows, PKG_ARRAY_LEN(rows), false);
}

static void
an_escape_without_an_end_hides_nothing(PKG_UNUSED void **state)
{
	static const struct clean_row rows[] = {
		{ "a\033]0;rm -rf", "a0;rm -rf" },
		{ "a\033]0;x\nrm -rf\a", "a0;x\nrm -rf" },
		{ "a\033P shown", "a shown" },
		{ "a\xC2\x9D shown", "a shown" },
	};

	check_clean(rows, PKG_ARRAY_LEN(rows), true);
}

static void
characters_that_hide_or_reorder_vanish(PKG_UNUSED void **state)
{
	static const char *const hidden[] = { "\xE2\x80\xAA", "\xE2\x80\xAE", "\xE2\x81\xA6",
		"\xE2\x81\xA9", "\xE2\x80\x8E", "\xE2\x80\x8F", "\xD8\x9C", "\xE2\x80\x8B",
		"\xE2\x80\x8C", "\xE2\x80\x8D", "\xE2\x81\xA0", "\xEF\xBB\xBF", "\xF3\xA0\x80\x81",
		"\xF3\xA0\x81\xA1", "\xF3\xA0\x81\xBF", "\xC2\xAD", "\xEF\xB8\x8F",
		"\xF3\xA0\x84\x80", "\x7F", "\x01", "\b", "\xC2\x80", "\xC2\x9F" };

	for (size_t i = 0; i < PKG_ARRAY_LEN(hidden); i++) {
		pkg_autofree char *in = pkg_xasprintf("a%sb", hidden[i]);
		pkg_autofree char *out = pkg_text_clean(in, strlen(in), 100, i % 2);

		assert_string_equal(out, "ab");
	}
}

static void
line_breaks_stay_only_where_lines_are_wanted(PKG_UNUSED void **state)
{
	static const struct clean_row lines[] = {
		{ "a\nb\tc", "a\nb\tc" },
		{ "a\r\nb", "a\nb" },
		{ "10%\r20%", "10%\n20%" },
		{ "a\xE2\x80\xA8"
		  "b\xE2\x80\xA9"
		  "c\xC2\x85"
		  "d",
			"a b c d" },
	};
	static const struct clean_row line[] = {
		{ "a\nb\tc", "a b c" },
		{ "a\r\nb", "a b" },
		{ "10%\r20%", "10% 20%" },
		{ "a\vb\fc", "abc" },
	};

	check_clean(lines, PKG_ARRAY_LEN(lines), true);
	check_clean(line, PKG_ARRAY_LEN(line), false);
}

static void
bytes_that_are_no_utf8_become_replacements(PKG_UNUSED void **state)
{
#define R "\xEF\xBF\xBD"
	static const struct clean_row rows[] = {
		{ "\xFF", R },
		{ "a\x80"
		  "b",
			"a" R "b" },
		{ "\xC0\xAF", R R }, /* overlong slash */
		{ "\xE0\x80\xAF", R R R },
		{ "\xED\xA0\x80", R R R }, /* surrogate */
		{ "\xF4\x90\x80\x80", R R R R }, /* beyond U+10FFFF */
		{ "\xE2\x82", R R }, /* cut short */
		{ "\xC3(", R "(" },
	};
#undef R

	check_clean(rows, PKG_ARRAY_LEN(rows), false);
	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++)
		assert_false(pkg_text_is_utf8(rows[i].in, strlen(rows[i].in)));
	assert_true(pkg_text_is_utf8("\xE2\x82\xAC", 3));
	assert_false(pkg_text_is_utf8("\xE2\x82\xAC", 2));
	assert_true(pkg_text_is_utf8("", 0));
	assert_true(pkg_text_is_utf8("a\0b", 3));
}

static void
a_nul_does_not_end_the_text(PKG_UNUSED void **state)
{
	pkg_autofree char *out = pkg_text_clean("a\0b\033\0c", 6, 100, false);

	assert_string_equal(out, "abc");
}

static void
the_cut_falls_between_characters_and_within_the_limit(PKG_UNUSED void **state)
{
	static const char in[] = "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x93\xA6z\xC3\xA9";
	size_t full = strlen(in);

	for (size_t max = 0; max < full + 3; max++) {
		pkg_autofree char *out = pkg_text_clean(in, full, max, false);
		size_t len = strlen(out);

		assert_true(len <= max);
		assert_true(pkg_text_is_utf8(out, len));
		if (max >= full)
			assert_string_equal(out, in);
		else if (max >= 3)
			assert_true(pkg_text_has_suffix(out, "\xE2\x80\xA6"));
	}
}

static void
invisible_text_after_the_limit_is_no_reason_to_cut(PKG_UNUSED void **state)
{
	pkg_autofree char *out = pkg_text_clean("abc\033[0m\xE2\x80\x8B", 10, 3, false);

	assert_string_equal(out, "abc");
}

static void
random_bytes_come_out_clean(PKG_UNUSED void **state)
{
	static const char palette[] = "\033[]P\a\\\n\r\xC2\x9B\x9D\xE2\x80\xAE\xF3\xA0\x81\xFFm;a";
	unsigned int seed = 7;

	for (int round = 0; round < 20000; round++) {
		char in[24];
		size_t max = (size_t)(rand_r(&seed) % 30);
		pkg_autofree char *out = NULL;

		for (size_t i = 0; i < sizeof(in); i++)
			in[i] = palette[(size_t)rand_r(&seed) % sizeof(palette)];
		out = pkg_text_clean(in, sizeof(in), max, false);
		assert_true(strlen(out) <= max);
		assert_true(pkg_text_is_utf8(out, strlen(out)));
		assert_null(strpbrk(out, "\033\n\r\a"));
		assert_null(strstr(out, "\xC2\x9B"));
		assert_null(strstr(out, "\xE2\x80\xAE"));
	}
}

static void
a_tail_is_whole_lines_from_the_end(PKG_UNUSED void **state)
{
	static const struct {
		const char *in;
		size_t max;
		const char *out;
	} rows[] = {
		{ "", 10, "" },
		{ "one\ntwo\nthree\n", 100, "one\ntwo\nthree" },
		{ "one\ntwo\nthree\n", 9, "two\nthree" },
		{ "one\ntwo\nthree\n", 8, "three" },
		{ "one\ntwo\nthree\n", 5, "three" },
		{ "one\nabcdefgh", 6,
			"\xE2\x80\xA6"
			"fgh" },
		{ "x\xE2\x82\xAC\xE2\x82\xAC", 5, "\xE2\x80\xA6" },
		{ "abcdef", 2, "" },
		{ "\033[31mred\033[0m\n", 3, "red" },
		{ "\n\n\n", 2, "" },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		pkg_autofree char *out = pkg_text_tail(rows[i].in, strlen(rows[i].in), rows[i].max);

		assert_string_equal(out, rows[i].out);
	}
}

static void
sizes_are_decimal_and_round_into_the_next_unit(PKG_UNUSED void **state)
{
	static const struct {
		long long bytes;
		const char *text;
	} rows[] = {
		{ 0, "0 B" },
		{ 17, "17 B" },
		{ 999, "999 B" },
		{ 1000, "1.0 kB" },
		{ 1550, "1.6 kB" },
		{ 9949, "9.9 kB" },
		{ 9950, "10 kB" },
		{ 310200, "310 kB" },
		{ 999499, "999 kB" },
		{ 999500, "1.0 MB" },
		{ 1234567, "1.2 MB" },
		{ 18300000, "18.3 MB" },
		{ 2500000000, "2.5 GB" },
		{ -2048, "-2.0 kB" },
		{ LLONG_MAX, "9.2 EB" },
		{ LLONG_MIN, "-9.2 EB" },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		pkg_autofree char *text = pkg_text_bytes(rows[i].bytes);

		assert_string_equal(text, rows[i].text);
	}
}

static void
prefixes_and_suffixes_may_be_longer_than_the_text(PKG_UNUSED void **state)
{
	assert_true(pkg_text_has_prefix("abc", ""));
	assert_true(pkg_text_has_prefix("abc", "abc"));
	assert_false(pkg_text_has_prefix("abc", "abcd"));
	assert_true(pkg_text_has_suffix("x.whl", ".whl"));
	assert_false(pkg_text_has_suffix("whl", ".whl"));
	assert_true(pkg_text_has_suffix("", ""));
}

static void
distance_counts_edits(PKG_UNUSED void **state)
{
	char longer[200];

	assert_int_equal(pkg_text_distance("", ""), 0);
	assert_int_equal(pkg_text_distance("", "abc"), 3);
	assert_int_equal(pkg_text_distance("kitten", "sitting"), 3);
	assert_int_equal(pkg_text_distance("sitting", "kitten"), 3);
	assert_int_equal(pkg_text_distance("install", "instal"), 1);
	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	assert_int_equal(pkg_text_distance(longer, ""), 64);
	assert_int_equal(pkg_text_distance(longer, longer + 20), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_text_is_left_alone),
		cmocka_unit_test(escape_sequences_vanish_and_the_text_between_stays),
		cmocka_unit_test(an_escape_without_an_end_hides_nothing),
		cmocka_unit_test(characters_that_hide_or_reorder_vanish),
		cmocka_unit_test(line_breaks_stay_only_where_lines_are_wanted),
		cmocka_unit_test(bytes_that_are_no_utf8_become_replacements),
		cmocka_unit_test(a_nul_does_not_end_the_text),
		cmocka_unit_test(the_cut_falls_between_characters_and_within_the_limit),
		cmocka_unit_test(invisible_text_after_the_limit_is_no_reason_to_cut),
		cmocka_unit_test(random_bytes_come_out_clean),
		cmocka_unit_test(a_tail_is_whole_lines_from_the_end),
		cmocka_unit_test(sizes_are_decimal_and_round_into_the_next_unit),
		cmocka_unit_test(prefixes_and_suffixes_may_be_longer_than_the_text),
		cmocka_unit_test(distance_counts_edits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
