/* lang/python_search.h - where Pythons are kept on a machine.
 * Purpose    The ordered list of paths worth asking, from names and directories alone: no process is
 *            started here. What a version manager puts in front (a pyenv shim, a virtual
 *            environment) is traced to the interpreter behind it.
 * Ownership  The list is given; { 0 } is empty.
 * Errors     None: a directory that cannot be read has no interpreters.
 */
#ifndef LANG_PYTHON_SEARCH_H
#define LANG_PYTHON_SEARCH_H
#include "core/argv.h"
#include <stdbool.h>

struct lang_python_place {
	char *path; /* as spelled there */
	const char
		*origin; /* "option", "configuration", "PATH", "pyenv", "uv", "conda", "system" */
};
struct lang_python_places {
	struct lang_python_place *items;
	size_t count;
};
void lang_python_places_clear(struct lang_python_places *places);
#define lang_cleanup_python_places __attribute__((cleanup(lang_python_places_clear)))
void lang_python_places_add(
	struct lang_python_places *places, const char *path, const char *origin);

/* The machine, injected: what the environment of this process says. Any may be NULL. */
struct lang_python_surroundings {
	const char *home;
	const char *path; /* PATH */
	const char *pyenv_root;
	const char *pyenv_version;
	const char *uv_dir; /* UV_PYTHON_INSTALL_DIR */
	const char *data_home; /* XDG_DATA_HOME */
	const char *conda_prefix;
};
/* PATH first (python3, python, then python3.N), then pyenv, uv, conda and the system's own, each
 * newest first. A path may be there twice by different names. */
void lang_python_search(
	const struct lang_python_surroundings *around, struct lang_python_places *out);

/* What a pyenv shim would start with the global setting: given; NULL with *is_shim set when it is one
 * that leads nowhere, NULL without when path is none. */
char *lang_python_unshim(
	const struct lang_python_surroundings *around, const char *path, bool *is_shim);
/* The interpreter that the virtual environment of this path was made from (by its pyvenv.cfg, which
 * is good enough to know where to look): given; NULL when path is not inside one. *venv: its
 * directory, given. */
char *lang_python_venv_base(const char *path, char **venv);
#endif
