#include "cli/table.h"

#include <stdlib.h>
#include <string.h>

#include "cli/i18n.h"
#include "cli/term.h"

#define GAP 2

struct cli_table {
	size_t columns;
	bool right[CLI_TABLE_COLUMNS];
	char **cells; /* owned; row by row, the headings first */
	size_t rows; /* headings included */
};

static void
take_row(struct cli_table *table, char **cells)
{
	size_t have = table->rows * table->columns;

	table->cells = pkg_xrealloc(table->cells, have + table->columns, sizeof(*table->cells));
	memcpy(table->cells + have, cells, table->columns * sizeof(*cells));
	table->rows++;
}

struct cli_table *
cli_table_new(const char *const *headings)
{
	struct cli_table *table = pkg_xcalloc(1, sizeof(*table));
	char *row[CLI_TABLE_COLUMNS];

	for (; headings[table->columns] != NULL; table->columns++) {
		/* gettext gives the catalogue's header for "". */
		const char *marked = headings[table->columns];
		const char *text = *marked != '\0' ? _(marked) : "";

		if (table->columns == CLI_TABLE_COLUMNS)
			pkg_abort("a table with too many columns");
		table->right[table->columns] = marked[0] == '>';
		row[table->columns] = pkg_xstrdup(text + (text[0] == '>'));
	}
	take_row(table, row);
	return table;
}

void
cli_table_free(struct cli_table *table)
{
	if (table == NULL)
		return;
	for (size_t i = 0; i < table->rows * table->columns; i++)
		free(table->cells[i]);
	free(table->cells);
	free(table);
}

void
cli_table_add_row(struct cli_table *table, const char *const *cells)
{
	char *row[CLI_TABLE_COLUMNS];

	for (size_t i = 0; i < table->columns; i++)
		row[i] = cli_text(cells[i]);
	take_row(table, row);
}

static void
measure(const struct cli_table *table, bool with_headings, size_t *widths)
{
	for (size_t c = 0; c < table->columns; c++) {
		widths[c] = 0;
		for (size_t r = with_headings ? 0 : 1; r < table->rows; r++) {
			size_t width = cli_text_columns(table->cells[r * table->columns + c]);

			widths[c] = width > widths[c] ? width : widths[c];
		}
	}
}

static void
print_row(const struct cli_table *table, size_t r, const size_t *widths, FILE *out)
{
	for (size_t c = 0; c < table->columns; c++) {
		const char *cell = table->cells[r * table->columns + c];
		int pad = (int)(widths[c] - cli_text_columns(cell));
		bool last = c + 1 == table->columns;

		if (table->right[c])
			fprintf(out, "%*s%s", pad, "", cell);
		else
			fprintf(out, "%s%*s", cell, last ? 0 : pad, "");
		if (!last)
			fprintf(out, "%*s", GAP, "");
	}
	fputc('\n', out);
}

void
cli_table_print(const struct cli_table *table, FILE *out, bool with_headings)
{
	size_t widths[CLI_TABLE_COLUMNS];

	if (table->rows == 1)
		return;
	measure(table, with_headings, widths);
	for (size_t r = with_headings ? 0 : 1; r < table->rows; r++)
		print_row(table, r, widths, out);
}
