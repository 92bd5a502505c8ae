/* lang/r_solve.h - which version of which package.
 * Purpose    The closure over Depends, Imports and LinkingTo of what is asked for, minus what the
 *            environment or R itself has. What is there and will do is kept; else the newest
 *            version that will do, of the first repository that has the name at all; where its
 *            index has none, of its archive.
 * Ownership  The solution owns its nodes and borrows from what it was made of.
 * Errors     PKG_E_NO_SUCH_PACKAGE, NO_SUCH_VERSION (also: none for this R), CONFLICT, RESOLUTION
 *            (a cycle), each with who needs what.
 */
#ifndef LANG_R_SOLVE_H
#define LANG_R_SOLVE_H
#include "lang/r_files.h"

struct lang_r_want {
	const struct lang_r_need *need; /* borrowed */
	const char *from; /* borrowed; the package that needs it; NULL: it was asked for */
};
struct lang_r_node {
	char *name;
	bool reached;
	bool root; /* asked for by name */
	const struct store_package *kept; /* borrowed; or: */
	const struct lang_r_entry *taken; /* borrowed */
	struct lang_r_needs needs; /* of what was chosen */
	struct lang_r_want *wants; /* owned; who wants it how */
	size_t want_count;
};

struct lang_r_problem {
	struct lang_context *lang;
	const struct lang_env *env;
	const struct lang_request *request;
	struct lang_r_packages *packages;
	struct lang_r_files *files;
	struct lang_r_needs roots; /* owned */
	struct lang_r_needs constraints; /* owned */
};
struct lang_r_solution {
	struct lang_r_node **nodes; /* owned */
	size_t count;
};
void lang_r_solution_clear(struct lang_r_solution *solution);
#define lang_cleanup_r_solution __attribute__((cleanup(lang_r_solution_clear)))
struct lang_r_node *lang_r_solution_find(const struct lang_r_solution *solution, const char *name);
int lang_r_solve(
	struct lang_r_problem *problem, struct lang_r_solution *out, struct pkg_error *err);

/* r_choose.c: the version for one node, given its wants. */
int lang_r_choose(struct lang_r_problem *problem, struct lang_r_node *node, struct pkg_error *err);
bool lang_r_wants_met(const struct lang_r_node *node, const char *version);
/* "cli (>= 3.4), which tibble needs": given. */
char *lang_r_want_text(const char *name, const struct lang_r_want *want);
#endif
