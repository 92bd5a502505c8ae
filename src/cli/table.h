/* cli/table.h - aligned columns for people.
 * Purpose    Rows of text, as wide as they must be. Every cell is cleaned: it may come from a package.
 * Ownership  The table owns copies of its cells.
 * Errors     None.
 */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H
#include "core/mem.h"
#include <stdbool.h>
#include <stdio.h>

#define CLI_TABLE_COLUMNS 8

struct cli_table;
/* headings: ended by NULL, borrowed; one that begins with '>' aligns its column to the right. */
struct cli_table *cli_table_new(const char *const *headings);
void cli_table_free(struct cli_table *table);
PKG_DEFINE_CLEANUP(struct cli_table, cli_table_free)
/* As many cells as there are headings; NULL is an empty one. */
#define cli_table_add(table, ...) cli_table_add_row(table, (const char *[]){ __VA_ARGS__ })
void cli_table_add_row(struct cli_table *table, const char *const *cells);
/* Nothing at all when there are no rows. */
void cli_table_print(const struct cli_table *table, FILE *out, bool with_headings);
#endif
