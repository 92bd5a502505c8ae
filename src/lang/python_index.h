/* lang/python_index.h - what an index says of one project (PEP 503, 691, 700).
 * Purpose    The project page as one JSON form, whether the server gave JSON or HTML: for the size, date
 *            and index of a resolved file, and to tell apart the five causes for which pip has one
 *            sentence (BEHAVIOURS O62, D19).
 * Ownership  Pages are json-c objects, given.
 * Errors     As fetch/download.h. PKG_E_NOT_FOUND: the index has no such project.
 *
 * The form: {"files":[{"filename","url" (absolute),"sha256" (or absent),"size" (or absent),"uploaded"
 * (or absent),"requires_python" (or absent),"yanked": false or true,"yanked_reason" (or absent)}]}.
 * Texts are bounded and clean; files whose URL is no http(s) URL are left out.
 */
#ifndef LANG_PYTHON_INDEX_H
#define LANG_PYTHON_INDEX_H
#include "lang/lang.h"

#define LANG_PYTHON_PAGE_MAX (64 * 1024 * 1024)

/* Given: the page's URL, with the index's userinfo. */
char *lang_python_index_page_url(const char *index, const char *name);
/* Reads what came from page_url. content_type NULL: whatever it looks like. NULL with PKG_E_INVALID for a
 * text that is neither. */
struct json_object *lang_python_index_parse(const char *text, size_t len, const char *content_type,
	const char *page_url, struct pkg_error *err);
/* Asks the index. retries: how often, when it does not answer. */
struct json_object *lang_python_index_ask(struct lang_context *lang, const char *index,
	const char *name, int retries, struct pkg_error *err);
/* The page's file of that URL (as pip prints it) or, without one, of that name; borrowed or NULL. */
struct json_object *lang_python_index_find(
	struct json_object *page, const char *url, const char *filename);

/* Options of this job's own fetches. credentials: the request's index URLs; borrowed, may be NULL. */
struct fetch_options lang_python_fetch_options(
	struct lang_context *lang, const struct pkg_argv *credentials);
/* All index URLs of a request, the main one first. Given. */
struct pkg_argv *lang_python_indexes(const struct lang_request *request);
#endif
