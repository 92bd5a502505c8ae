/* lang/r_run.h - an R in a sandbox: what it must see, the variables it gets, and running one of our
 *       scripts.
 * Purpose    No R starts anywhere with a user's profile, environment file or library: every
 *            variable that leads to one is set here (BEHAVIOURS O71, D12).
 * Ownership  As lang/mounts.h.
 * Errors     PKG_E_INTERPRETER when the interpreter's directory is too broad to expose; as
 *            sandbox_run().
 */
#ifndef LANG_R_RUN_H
#define LANG_R_RUN_H
#include "core/run.h"
#include "lang/lang.h"
#include "lang/r_facts.h"

#define LANG_R_OVERLAY "/overlay"
#define LANG_R_LIBRARY "library" /* in a tree: one directory for each package */
#define LANG_R_RECORDS "records" /* in a tree: a list of files for each package */

int lang_r_mounts(struct json_object *facts, const char *user_home, struct lang_mounts *out,
	struct pkg_error *err);
/* NAME=VALUE for an R whose first library is `first` (NULL: it has none of its own). Appended. */
void lang_r_environment(
	struct json_object *facts, const char *first, bool hermetic, struct pkg_argv *out);
/* Runs envs/r/SCRIPT with --vanilla and no default packages. env NULL: no environment. The
 * overlay's library comes before the tree's. -1 as sandbox_run(); the exit status is the
 * caller's to judge. */
int lang_r_script(struct lang_context *lang, enum sandbox_purpose purpose,
	const struct lang_env *env, struct json_object *facts, const char *script,
	const struct pkg_argv *arguments, const struct sandbox_limits *limits, struct pkg_run *run,
	struct pkg_error *err);
/* "exit status 1: <last line of its stderr>": given. */
char *lang_r_end(const struct pkg_run *run);
/* The directory to show for a front-end at that resolved path: "/opt/R/4.3.1/lib/R/bin/R" ->
 * "/opt/R/4.3.1". Given; NULL for a path that is not that deep. */
char *lang_r_base_of(const char *program);
#endif
