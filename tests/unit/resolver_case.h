/* tests/unit/resolver_case.h - resolver cases as text files (tests/cases/resolver).
 *
 * Lines before the first "case" belong to every case of the file. One thing a line:
 *
 *   case WORDS                     begins one; the words are a sentence that can be false
 *   python 3.9                     the interpreter's version
 *   package NAME VERSION [FLAG...] a version on the index: yanked, sdist, tag=cp27-none-any, python=>=3.9,
 *                                  uploaded=2026-01-01, claims=OTHER (its metadata names another project),
 *                                  requires=>=3.99 (Requires-Python of its metadata only)
 *     needs REQUIREMENT            of the package or installed distribution above
 *     extra NAME                   it has that extra
 *   installed NAME VERSION [inherited] [asked=REQUIREMENT] [unreadable]
 *   ask REQUIREMENT                constraint REQUIREMENT      hash LINE
 *   option upgrade|upgrade-all|pre|source                      newer DATE
 *   expect NAME VERSION            comes in; all that come in are named
 *   expect nothing
 *   fail KIND                      instead; say TEXT: part of the message; hush TEXT: no part of it
 *   unread NAME                    the page was not asked for
 */
#ifndef UNIT_RESOLVER_CASE_H
#define UNIT_RESOLVER_CASE_H
#include "core/argv.h"
#include "core/error.h"

struct resolver_case {
	char *name;
	struct pkg_argv *lines;
};
struct resolver_cases {
	struct resolver_case *items;
	size_t count;
};
int resolver_cases_read(const char *path, struct resolver_cases *out, struct pkg_error *err);
void resolver_cases_clear(struct resolver_cases *cases);
/* NULL: it is as expected; else what is not. Given. */
char *resolver_case_run(const struct resolver_case *one);
#endif
