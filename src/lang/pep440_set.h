/* lang/pep440_set.h - version specifiers (PEP 440): "~=1.4.2,!=1.5.*,<2".
 * Purpose    Sets of clauses that a version must all satisfy, with the meaning that the `packaging`
 *            library (25.0) gives them: ">1.7" excludes post-releases and local versions of 1.7,
 *            "<1.7" its pre-releases; "==1.*" pads with zeros; local versions count only where a
 *            clause names one.
 * Ownership  A set owns its clauses; { 0 } is the empty set, which every version satisfies.
 * Errors     PKG_E_REQUIREMENT. On failure *out is empty.
 */
#ifndef LANG_PEP440_SET_H
#define LANG_PEP440_SET_H
#include "lang/pep440.h"
#include "lang/scan.h"

#define LANG_PEP440_CLAUSES_MAX 64

enum lang_pep440_op {
	LANG_PEP440_COMPATIBLE, /* ~= */
	LANG_PEP440_EQ,
	LANG_PEP440_NE,
	LANG_PEP440_LE,
	LANG_PEP440_GE,
	LANG_PEP440_LT,
	LANG_PEP440_GT,
	LANG_PEP440_ARBITRARY, /* === */
};

enum lang_pep440_prereleases {
	LANG_PEP440_PRE_AUTO, /* when lang_pep440_set_allows_pre() */
	LANG_PEP440_PRE_ALLOW,
	LANG_PEP440_PRE_DENY,
};

struct lang_pep440_clause {
	enum lang_pep440_op op;
	bool prefix; /* "==1.2.*" and "!=1.2.*" */
	struct lang_pep440_version version; /* not for ARBITRARY */
	char *arbitrary; /* owned; the text after "===", else NULL */
};

struct lang_pep440_set {
	struct lang_pep440_clause *clauses; /* owned; in the order given */
	size_t count;
};

/* One version operator at the cursor, "===" before "==". False when there is none. */
bool lang_pep440_op_scan(struct lang_scan *scan, enum lang_pep440_op *out);
const char *lang_pep440_op_text(enum lang_pep440_op op);
/* The operand of one operator, which must be all of the text. */
int lang_pep440_clause_parse(enum lang_pep440_op op, const char *text, size_t len,
	struct lang_pep440_clause *out, struct pkg_error *err);
void lang_pep440_clause_clear(struct lang_pep440_clause *clause);
/* Pre-releases are treated like any other version. */
bool lang_pep440_clause_match(
	const struct lang_pep440_clause *clause, const struct lang_pep440_version *version);

/* Empty text is the empty set. One comma may end the list, as `packaging` has it. */
int lang_pep440_set_parse(const char *text, struct lang_pep440_set *out, struct pkg_error *err);
/* As many clauses as there are at the cursor, at least one. The cursor is left after them, or on
 * the fault. The message says nothing of where. */
int lang_pep440_set_scan(
	struct lang_scan *scan, struct lang_pep440_set *out, struct pkg_error *err);
void lang_pep440_set_clear(struct lang_pep440_set *set);
#define lang_cleanup_pep440_set __attribute__((cleanup(lang_pep440_set_clear)))

bool lang_pep440_set_match(const struct lang_pep440_set *set,
	const struct lang_pep440_version *version, enum lang_pep440_prereleases prereleases);
/* A clause other than "!=" names a pre-release. */
bool lang_pep440_set_allows_pre(const struct lang_pep440_set *set);
/* Given: canonical versions, sorted, each once, joined by ','. */
char *lang_pep440_set_text(const struct lang_pep440_set *set);
#endif
