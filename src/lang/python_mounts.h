/* lang/python_mounts.h - what a sandbox must show for a Python to run, and running one.
 * Purpose    The read-only mounts come from the stored facts alone, never from a pyvenv.cfg that a
 *            package could have rewritten (BEHAVIOURS O27, D3).
 * Ownership  As lang/mounts.h.
 * Errors     PKG_E_INTERPRETER when the interpreter's directory is too broad to expose.
 */
#ifndef LANG_PYTHON_MOUNTS_H
#define LANG_PYTHON_MOUNTS_H
#include "lang/lang.h"
#include "lang/mounts.h"

/* The base interpreter, its libraries, the inherited site directories outside /usr. Appended to
 * *out, which the caller starts as { 0 }. home (the user's, may be NULL) bounds what may be shown. */
int lang_python_mounts(struct json_object *facts, const char *home, struct lang_mounts *out,
	struct pkg_error *err);
/* Runs a command in the sandbox of that purpose, with no network: the environment (NULL: none) at its
 * prefix, writable for APPLY alone, and the overlay (if any) at LANG_PYTHON_OVERLAY. -1 as
 * sandbox_run(); the exit status is the caller's to judge. */
#define LANG_PYTHON_OVERLAY "/overlay"
int lang_python_run(struct lang_context *lang, enum sandbox_purpose purpose,
	const struct lang_env *env, struct lang_mounts *mounts,
	const struct pkg_argv *command, const struct sandbox_limits *limits, struct pkg_run *run,
	struct pkg_error *err);
/* "exit status 1: <last line of its stderr>": given. */
char *lang_python_run_end(const struct pkg_run *run);

/* Our own scripts, read-only. Given: the path of envs/python/<name> as seen inside. */
char *lang_python_script(
	const struct lang_context *lang, struct lang_mounts *mounts, const char *name);

/* The directory that must be shown for an interpreter whose resolved path this is: two levels up
 * ("/usr/bin/python3.11" -> "/usr"). Given; NULL for a path that is not that deep. */
char *lang_python_base_of(const char *executable);
#endif
