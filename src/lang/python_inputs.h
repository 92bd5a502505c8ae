/* lang/python_inputs.h - what pip is told, as files.
 * Purpose    Indexes (which may hold credentials, so never a command line) and requirements as lines of a
 *            requirements file in which nothing but our own canonical text stands: conditions are
 *            decided here and left out, so that no quoted text could be read as an option.
 * Ownership  Results are given.
 * Errors     PKG_E_REQUIREMENT for what is none; PKG_E_UNSUPPORTED for requirements that come from a
 *            directory or a version control system; PKG_E_NO_WHEEL for the URL of a source distribution
 *            where those are not allowed.
 */
#ifndef LANG_PYTHON_INPUTS_H
#define LANG_PYTHON_INPUTS_H
#include "lang/lang.h"
#include "lang/pep508.h"

/* The index as pip gets it: characters that would mean something in that file are encoded, and plain
 * http has its port, since a host is trusted by name and port. Still with userinfo. */
char *lang_python_pip_index(const char *url, struct pkg_error *err);
/* "--index-url ...", "--extra-index-url ...", "--trusted-host ...": lines for all indexes of the request. */
int lang_python_index_lines(
	const struct lang_request *request, struct pkg_buf *out, struct pkg_error *err);
/* Lines for those requirements whose marker holds, with the hashes given for them. *count: how many. */
int lang_python_requirement_lines(const struct lang_request *request, struct json_object *facts,
	struct pkg_buf *out, size_t *count, struct pkg_error *err);
int lang_python_constraint_lines(const struct lang_request *request, struct json_object *facts,
	struct pkg_buf *out, struct pkg_error *err);
/* An index or requirement of the request has userinfo in its URL: a package's own code, which runs when
 * it is built, could read it. PKG_E_UNSUPPORTED that names the host. */
int lang_python_refuse_credentials(const struct lang_request *request, struct pkg_error *err);
#endif
