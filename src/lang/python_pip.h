/* lang/python_pip.h - the pip that plans and builds.
 * Purpose    Never installed anywhere: a wheel that came with an interpreter (ensurepip, the system's
 *            python-wheels folder), opened once into <cache>/pip/<version>-<sha256>-<python>/, complete
 *            or absent, and shown read-only to the sandboxes that run it.
 * Ownership  struct lang_python_pip owns its strings; lang_python_pip_clear().
 * Errors     PKG_E_UNSUPPORTED when no pip on this machine can do it, with every wheel looked at and
 *            why not; PKG_E_VERIFY when it does not start.
 */
#ifndef LANG_PYTHON_PIP_H
#define LANG_PYTHON_PIP_H
#include "lang/lang.h"
#include "lang/python_mounts.h"

#define LANG_PYTHON_PIP_MINIMUM "22.2" /* the first with --report */

struct lang_python_pip {
	char *version;
	char *directory; /* on the host; holds the package "pip" */
};
void lang_python_pip_clear(struct lang_python_pip *pip);
#define lang_cleanup_python_pip __attribute__((cleanup(lang_python_pip_clear)))

/* The newest that this interpreter can run. */
int lang_python_pip_get(struct lang_context *lang, struct json_object *facts,
	struct lang_python_pip *out, struct pkg_error *err);

/* The beginning of a command line to which pip's own arguments are added, with its mount. It is the
 * base interpreter that runs, without its site module: no .pth, sitecustomize or program of an
 * installed package is executed by planning. `env` (NULL: none) is what pip sees as installed. programs:
 * it may start others (builds need it); without, what would start one fails with the words of
 * LANG_PYTHON_PIP_REFUSAL. */
#define LANG_PYTHON_PIP_REFUSAL "pkgd: a plan of wheels starts no program"
void lang_python_pip_command(const struct lang_python_pip *pip, struct json_object *facts,
	const struct lang_env *env, bool programs, struct lang_mounts *mounts,
	struct pkg_argv *command);
#endif
