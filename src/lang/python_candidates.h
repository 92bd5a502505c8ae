/* lang/python_candidates.h - the versions of a project that could be installed here, one file for each.
 * Purpose    From a page to an ascending list: wheels by their tags, Requires-Python, upload date, hashes;
 *            within a version the file that pip would take (an allowed hash, not yanked, a wheel, the best
 *            tag, the highest build). Which of them a requirement lets in is for lang/python_provider.h.
 * Ownership  The list is the caller's; files and packages in it are borrowed from page and inventory.
 * Errors     None: a file that is not of this project, or not for this interpreter, is left out.
 */
#ifndef LANG_PYTHON_CANDIDATES_H
#define LANG_PYTHON_CANDIDATES_H
#include "lang/lang.h"
#include "lang/pep440.h"
#include "lang/python_tags.h"
#include "lang/simple_index.h"

struct lang_python_candidate {
	struct lang_pep440_version version;
	const struct lang_simple_file *file; /* NULL: only installed */
	const struct store_package *installed; /* this very version; NULL */
	bool pre;
	bool yanked;
	bool is_sdist;
	bool direct; /* of a URL in a requirement */
};

struct lang_python_candidates {
	struct lang_python_candidate *items; /* owned; ascending */
	size_t count;
	size_t held_back; /* files that are newer than the date */
};
void lang_python_candidates_clear(struct lang_python_candidates *list);

/* What does not depend on the project. */
struct lang_python_filter {
	const struct lang_python_tags *tags;
	struct lang_pep440_version python; /* "3.11.2" */
	bool source; /* source distributions count */
	const struct pkg_argv *hashes; /* lines as in struct lang_request; may be NULL */
	int64_t cutoff_ms; /* nothing uploaded later; -1: no limit */
};
void lang_python_filter_init(struct lang_python_filter *filter, struct json_object *facts,
	const struct lang_python_tags *tags, const struct lang_request *request);
/* An ISO 8601 time or date; -1: neither. */
int64_t lang_python_cutoff_parse(const char *text);
bool lang_python_fits(const struct lang_python_filter *filter, const char *requires_python);

void lang_python_candidates_add_page(struct lang_python_candidates *list, const char *key,
	const struct lang_simple_page *page, const struct lang_python_filter *filter);
void lang_python_candidates_add_installed(
	struct lang_python_candidates *list, const struct store_package *package);
/* A wheel by URL; false when its name is not one of this project's wheels that could be used here. */
bool lang_python_candidates_add_direct(struct lang_python_candidates *list, const char *key,
	const struct lang_simple_file *file, const struct lang_python_filter *filter);
#endif
