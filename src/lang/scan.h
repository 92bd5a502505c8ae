/* lang/scan.h - a cursor over counted text, and ASCII character classes.
 * Purpose    What the hand-written parsers of packaging standards share. The classes are ASCII
 *            whatever the locale says: these formats are.
 * Ownership  The text is borrowed.
 * Errors     None. A parser that fails leaves `at` on the offending byte, so that whoever knows
 *            the whole text can name the column.
 */
#ifndef LANG_SCAN_H
#define LANG_SCAN_H
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct lang_scan {
	const char *text;
	size_t len;
	size_t at;
};

static inline bool
lang_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static inline bool
lang_is_alpha(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static inline bool
lang_is_alnum(char c)
{
	return lang_is_alpha(c) || lang_is_digit(c);
}

static inline bool
lang_is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static inline bool
lang_is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Printable ASCII without the blank. */
static inline bool
lang_is_graph(char c)
{
	return c > ' ' && c < 0x7f;
}

static inline char
lang_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static inline bool
lang_scan_end(const struct lang_scan *scan)
{
	return scan->at >= scan->len;
}

/* NUL at the end; a NUL of the text itself is refused before any of these parsers runs. */
static inline char
lang_scan_peek(const struct lang_scan *scan)
{
	return lang_scan_end(scan) ? '\0' : scan->text[scan->at];
}

static inline void
lang_scan_blanks(struct lang_scan *scan)
{
	while (!lang_scan_end(scan) && lang_is_blank(scan->text[scan->at]))
		scan->at++;
}

static inline bool
lang_scan_take(struct lang_scan *scan, const char *literal)
{
	size_t len = strlen(literal);

	if (scan->len - scan->at < len || memcmp(scan->text + scan->at, literal, len) != 0)
		return false;
	scan->at += len;
	return true;
}
#endif
