/* cli/term.h - the terminal, and text that is safe on it.
 * Purpose    What may be drawn where, how wide text is, and how JSON from elsewhere is printed.
 * Ownership  Results are given.
 * Errors     None: what cannot be found out counts as the plainest case.
 */
#ifndef CLI_TERM_H
#define CLI_TERM_H
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct cli_term {
	bool live; /* a terminal that moves its cursor: not TERM=dumb */
	bool colour; /* live, and NO_COLOR is not set (no-color.org) */
	bool utf8;
};
void cli_term_look(int fd, struct cli_term *out);
/* Asked anew each time, so a resized window counts. 80 where nobody says. */
size_t cli_term_width(int fd);
/* Somebody who can be asked: stdin and stderr are terminals. */
bool cli_term_can_ask(void);

/* One line without control characters; NULL gives "". */
char *cli_text(const char *text);
size_t cli_text_columns(const char *text);
/* At most so many columns, cut with "…" (or "." without UTF-8). */
char *cli_text_fit(const char *text, size_t columns, bool utf8);
/* "2026-01-31 12:00" in local time of an ISO 8601 text; "-" for NULL. */
char *cli_text_time(const char *iso);
/* What stands in front of a value: padded to so many columns (printf pads to bytes), and a blank. */
void cli_print_label(FILE *out, const char *label, size_t columns);
/* A line of JSON: DEL and the C1 controls, which JSON lets through, become \u escapes. */
void cli_print_json(FILE *out, const char *text);
#endif
