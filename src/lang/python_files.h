/* lang/python_files.h - what a plan says of its files beyond their names.
 * Purpose    Index, size, date of upload, yanked and hash of every resolved file: out of the pages that
 *            pip has just read, else from the index itself.
 * Ownership  Everything is borrowed.
 * Errors     PKG_E_HASH when page and resolution contradict each other. What an index does not tell is
 *            left open (size -1), but a hash never is: a file without one is downloaded for it.
 */
#ifndef LANG_PYTHON_FILES_H
#define LANG_PYTHON_FILES_H
#include "lang/lang.h"

/* cache_dir: pip's, of this run. */
int lang_python_files_describe(struct lang_context *lang, const struct lang_request *request,
	const char *cache_dir, struct lang_resolution *resolution, struct pkg_error *err);
/* For every distribution that was uploaded after `cutoff` (ISO 8601): constraints that exclude all
 * versions of that project which are newer, appended. None: nothing is too new. PKG_E_UNSUPPORTED when an
 * index tells no dates. */
int lang_python_files_newer(struct lang_context *lang, const struct lang_request *request,
	const char *cache_dir, const struct lang_resolution *resolution, const char *cutoff,
	struct pkg_argv *constraints, struct pkg_error *err);
#endif
