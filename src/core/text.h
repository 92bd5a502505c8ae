/* core/text.h - text that others wrote, made fit for a person or a model to see.
 * Purpose    Everything from a package, an index or a child passes here before it is shown.
 * Ownership  Results are given to the caller.
 * Errors     None; any bytes are accepted.
 */
#ifndef CORE_TEXT_H
#define CORE_TEXT_H
#include "core/buf.h"
#include <stdbool.h>

/* Valid UTF-8 without C0/C1 controls (tab and newline kept when multiline, else a space),
 * ANSI/OSC escape sequences, bidirectional controls (U+202A..2E, U+2066..69, U+200E/F, U+061C),
 * zero-width and other invisible characters (U+200B..D, U+2060, U+FEFF, tags U+E0000..7F), and line
 * or paragraph separators. Invalid bytes become U+FFFD. At most max bytes, cut at a character with
 * an ellipsis. */
char *pkg_text_clean(const char *text, size_t len, size_t max, bool multiline);
bool pkg_text_is_utf8(const char *text, size_t len);
/* Last lines of a log that fit in max bytes, cleaned. Given. */
char *pkg_text_tail(const char *text, size_t len, size_t max);
/* "1.2 MB", "310 kB", "17 B": decimal units, as package indexes print them. Given. */
char *pkg_text_bytes(long long bytes);
bool pkg_text_has_prefix(const char *text, const char *prefix);
bool pkg_text_has_suffix(const char *text, const char *suffix);
/* Levenshtein distance of two short strings (each cut at 64 bytes): "did you mean". */
size_t pkg_text_distance(const char *a, const char *b);
#endif
