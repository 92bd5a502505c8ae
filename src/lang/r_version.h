/* lang/r_version.h - versions of R and of its packages, in the order of R's package_version().
 * Purpose    Numbers separated by '.' or '-', compared number by number; of two of which one begins
 *            the other the longer is later (so 1.0 < 1.0.0, as in R).
 * Ownership  Nothing is kept.
 * Errors     None: text that is no version sorts before every version, and by bytes among its like.
 */
#ifndef LANG_R_VERSION_H
#define LANG_R_VERSION_H
#include <stdbool.h>
#include <stddef.h>

#define LANG_R_VERSION_MAX 100

/* "1.2", "1.2-3"; a single number only where `single` says so (R accepts it in constraints). */
bool lang_r_version_is(const char *text, bool single);
/* <0, 0, >0 */
int lang_r_version_compare(const char *a, const char *b);
/* Whether `version` OP `bound` holds; operators of DESCRIPTION files: < <= == != >= >. */
bool lang_r_version_holds(const char *version, const char *op, const char *bound);
/* "4.2" of "4.2.2": the part that libraries are tied to. Length in *text. */
size_t lang_r_version_minor(const char *text);
#endif
