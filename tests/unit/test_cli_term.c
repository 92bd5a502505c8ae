#include "unit.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/table.h"
#include "cli/term.h"

static void
text_is_cut_to_its_columns_and_no_shorter(PKG_UNUSED void **state)
{
	static const struct {
		const char *text;
		size_t columns;
		bool utf8;
		const char *fit;
	} cases[] = {
		{ "numpy", 5, true, "numpy" },
		{ "numpy", 4, true, "num…" },
		{ "numpy", 4, false, "num." },
		{ "numpy", 1, true, "…" },
		{ "numpy", 0, true, "" },
		{ "", 0, true, "" },
		{ "größe", 5, true, "größe" },
		{ "größe", 4, true, "grö…" },
		{ "数据库", 6, true, "数据库" },
		{ "数据库", 5, true, "数据…" },
		{ "数据库", 4, true, "数…" },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(cases); i++) {
		pkg_autofree char *fit =
			cli_text_fit(cases[i].text, cases[i].columns, cases[i].utf8);

		assert_string_equal(fit, cases[i].fit);
		assert_true(cli_text_columns(fit) <= cases[i].columns);
	}
}

static char *
json_as_printed(const char *text)
{
	char *out = NULL;
	size_t len = 0;
	FILE *file = open_memstream(&out, &len);

	cli_print_json(file, text);
	fclose(file);
	return out;
}

static void
control_characters_that_json_lets_through_are_escaped(PKG_UNUSED void **state)
{
	/* U+009B is a terminal's CSI; the last one looks like it and is not. */
	pkg_autofree char *out = json_as_printed("{\"a\":\"x\x7f\xc2\x9b[31m\x1b\xc3\x9b\"}");

	assert_string_equal(out, "{\"a\":\"x\\u007f\\u009b[31m\xc3\x9b\"}\n");
}

static char *
table_as_printed(const struct cli_table *table, bool headings)
{
	char *out = NULL;
	size_t len = 0;
	FILE *file = open_memstream(&out, &len);

	cli_table_print(table, file, headings);
	fclose(file);
	return out;
}

static void
columns_are_aligned_and_cells_are_cleaned(PKG_UNUSED void **state)
{
	static const char *const headings[] = { "NAME", ">SIZE", "", NULL };
	pkg_cleanup(cli_table_free) struct cli_table *table = cli_table_new(headings);
	pkg_autofree char *with = NULL;
	pkg_autofree char *without = NULL;

	cli_table_add(table, "größe\x1b[31m\nx", "1", "last");
	cli_table_add(table, NULL, "12345", NULL);
	with = table_as_printed(table, true);
	without = table_as_printed(table, false);
	assert_string_equal(with, "NAME      SIZE  \ngröße x      1  last\n         12345  \n");
	assert_string_equal(without, "größe x      1  last\n         12345  \n");
}

static void
empty_table_prints_nothing(PKG_UNUSED void **state)
{
	static const char *const headings[] = { "NAME", NULL };
	pkg_cleanup(cli_table_free) struct cli_table *table = cli_table_new(headings);
	pkg_autofree char *out = table_as_printed(table, true);

	assert_string_equal(out, "");
}

static void
times_are_local_and_nonsense_is_a_dash(PKG_UNUSED void **state)
{
	pkg_autofree char *time = NULL;
	pkg_autofree char *none = cli_text_time(NULL);
	pkg_autofree char *bad = cli_text_time("yesterday");

	setenv("TZ", "XXX-2", 1); /* two hours east */
	time = cli_text_time("2026-01-31T23:30:00.000Z");
	assert_string_equal(time, "2026-02-01 01:30");
	assert_string_equal(none, "-");
	assert_string_equal(bad, "-");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_is_cut_to_its_columns_and_no_shorter),
		cmocka_unit_test(control_characters_that_json_lets_through_are_escaped),
		cmocka_unit_test(columns_are_aligned_and_cells_are_cleaned),
		cmocka_unit_test(empty_table_prints_nothing),
		cmocka_unit_test(times_are_local_and_nonsense_is_a_dash),
	};

	if (setlocale(LC_ALL, "C.UTF-8") == NULL)
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
