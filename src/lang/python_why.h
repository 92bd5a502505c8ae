/* lang/python_why.h - why no version of a project fits, from the pages that were read.
 * Purpose    The same sentences and kinds as for pip's failures (lang/python_explain.h), without a log to read.
 * Ownership  Everything is borrowed.
 * Errors     NO_SUCH_PACKAGE, NO_SUCH_VERSION, NO_WHEEL, REQUIRES_PYTHON, or the error of the index that gave
 *            no answer.
 */
#ifndef LANG_PYTHON_WHY_H
#define LANG_PYTHON_WHY_H
#include "lang/lang.h"
#include "lang/simple_index.h"

struct lang_python_why_index {
	const char *url; /* of the index; may hold userinfo */
	const struct lang_simple_page *page; /* NULL: see error */
	struct pkg_error error; /* PKG_E_NOT_FOUND: it has no such project */
};

struct lang_python_why {
	struct json_object *facts;
	const struct lang_request *request;
	const char *requirement; /* "six>=99" */
	const char *needed_by; /* NULL: it was asked for */
	const struct lang_python_why_index *indexes;
	size_t index_count;
};

/* Always -1. */
int lang_python_why_nothing_fits(const struct lang_python_why *why, struct pkg_error *err);
#endif
