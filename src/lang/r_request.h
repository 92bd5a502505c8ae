/* lang/r_request.h - what is asked of R packages: names, versions, limits.
 * Purpose    `NAME`, `NAME@1.2`, `NAME (>= 1.2, < 2)` as a person types them, and the lists of the
 *            same in Depends, Imports and LinkingTo.
 * Ownership  A need owns its strings; release with lang_r_need_clear()/lang_r_needs_clear(). { 0 }
 *            is empty.
 * Errors     PKG_E_REQUIREMENT that shows the text and what is wrong with it.
 *
 * Names are verbatim: case and '.' mean something ("data.table"). The grammar is that of "Writing R
 * Extensions": an ASCII letter, then letters, digits and '.', two characters at least, no '.' at
 * the end.
 */
#ifndef LANG_R_REQUEST_H
#define LANG_R_REQUEST_H
#include "core/argv.h"
#include "core/error.h"
#include <stdbool.h>

#define LANG_R_NAME_MAX 200
#define LANG_R_BOUNDS_MAX 8
#define LANG_R_NEEDS_MAX 2000

struct lang_r_bound {
	char op[3]; /* "<", "<=", "==", "!=", ">=", ">" */
	char *version;
};
struct lang_r_need {
	char *name; /* "R" in lists that name the language itself */
	struct lang_r_bound bounds[LANG_R_BOUNDS_MAX];
	size_t bound_count;
};
struct lang_r_needs {
	struct lang_r_need *items; /* owned */
	size_t count;
};
void lang_r_need_clear(struct lang_r_need *need);
void lang_r_needs_clear(struct lang_r_needs *needs);
#define lang_cleanup_r_need __attribute__((cleanup(lang_r_need_clear)))
#define lang_cleanup_r_needs __attribute__((cleanup(lang_r_needs_clear)))

bool lang_r_name_is(const char *name);
int lang_r_need_parse(const char *text, struct lang_r_need *out, struct pkg_error *err);
/* Canonical: "NAME", "NAME@1.2", "NAME (>= 1.2)". Given. */
char *lang_r_need_text(const struct lang_r_need *need);
bool lang_r_need_met(const struct lang_r_need *need, const char *version);
/* The one version that is asked for; NULL. Borrowed. */
const char *lang_r_need_exact(const struct lang_r_need *need);
/* "R (>= 3.6), cli, rlang (>= 1.1)": appended. Text NULL: nothing. */
int lang_r_needs_parse(const char *text, struct lang_r_needs *out, struct pkg_error *err);
#endif
