/* lang/python_template.h - empty environments without starting a Python for each.
 * Purpose    `python -m venv` takes some 100 ms and writes ten small files, which differ between two
 *            environments of one interpreter by their prefix and name alone. What it wrote once is kept
 *            in <cache>/venv/, and used only after what it gives was compared with what -m venv made
 *            at the same prefix, byte for byte.
 * Ownership  *made_by is given, also after a failure (NULL if nothing was made).
 * Errors     PKG_E_VERIFY when -m venv fails; as sandbox_run(). A template that cannot be made is no
 *            error: the next environment is made by -m venv, too.
 */
#ifndef LANG_PYTHON_TEMPLATE_H
#define LANG_PYTHON_TEMPLATE_H
#include "lang/lang.h"

/* Fills the empty directory env->tree. Nothing is proved here but that the tool ended well. */
int lang_python_template_make(struct lang_context *lang, const struct lang_env *env, char **made_by,
	struct pkg_error *err);

/* The rest is apart for tests. A template is the JSON of a tree of small text files, directories and
 * symlinks: {"entries":[{"path","mode","text"|"target"}]} in the order of a walk. NULL when the tree
 * holds anything else, or more of it. Given. */
struct json_object *lang_python_template_read(const char *tree, struct pkg_error *err);
/* Makes that tree in the empty directory `tree`, every `from` in texts and link targets as `to`. */
struct lang_python_template_names {
	const char *from_prefix;
	const char *to_prefix;
	const char *from_name; /* last component of the prefix, the prompt of a shell */
	const char *to_name;
};
int lang_python_template_write(struct json_object *entries,
	const struct lang_python_template_names *names, const char *tree, struct pkg_error *err);
/* Shells need no quotes for it, so that a template made elsewhere has the same text. */
bool lang_python_template_is_plain(const char *prefix);
#endif
