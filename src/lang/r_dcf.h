/* lang/r_dcf.h - Debian control format, as R writes it: DESCRIPTION files and PACKAGES indexes.
 * Purpose    Records of "Field: value" lines; a line that begins with a blank continues the value
 *            above it, an empty line ends the record.
 * Ownership  A record and its strings are lent for the call of the function that gets it.
 * Errors     PKG_E_INVALID with the line for text that is no such file, PKG_E_TOO_LARGE beyond the
 *            limits below, and whatever the callback sets.
 *
 * Text is not judged here: it may hold any bytes but NUL. Values come as one line, continuations
 * joined by one blank. Of two equal fields in a record the last one counts.
 */
#ifndef LANG_R_DCF_H
#define LANG_R_DCF_H
#include "core/error.h"

#define LANG_R_DCF_BYTES_MAX (256u * 1024 * 1024)
#define LANG_R_DCF_FIELDS_MAX 500
#define LANG_R_DCF_NAME_MAX 100
#define LANG_R_DCF_VALUE_MAX (1024 * 1024)

struct lang_r_record;
/* NULL when the record has no such field. Borrowed. */
const char *lang_r_record_get(const struct lang_r_record *record, const char *field);
typedef int lang_r_record_fn(
	void *context, const struct lang_r_record *record, struct pkg_error *err);
/* The callback's -1 ends the reading; 1 ends it well. */
int lang_r_dcf_parse(
	const char *text, size_t len, lang_r_record_fn *each, void *context, struct pkg_error *err);
#endif
