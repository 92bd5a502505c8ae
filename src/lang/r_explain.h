/* lang/r_explain.h - why a build failed, from its log.
 * Purpose    The kind and the one line that matters: R ends every failure with the same sentence,
 *            whatever was the matter (BEHAVIOURS O79, O80).
 * Ownership  Everything is borrowed.
 * Errors     Always sets one: PKG_E_BUILD_HEADER, BUILD_COMPILER, DISK_FULL or BUILD.
 */
#ifndef LANG_R_EXPLAIN_H
#define LANG_R_EXPLAIN_H
#include "lang/r_sysreqs.h"

struct lang_r_failure {
	const char *label; /* "cli 3.6.4" */
	int status; /* 0..255, 128+N */
	const char *log;
	size_t log_len;
	const struct lang_r_sysreqs *sysreqs; /* NULL: no cures by name */
	const char *system_note; /* what was foreseen; NULL */
};
int lang_r_explain(const struct lang_r_failure *failure, struct pkg_error *err);
/* Another try, without parallel make, might end otherwise: no compiler and no configure script
 * said why. */
bool lang_r_explain_is_vague(const char *log, size_t len);
#endif
