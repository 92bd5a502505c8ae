/* lang/python_provider.h - what Python's rules make of index pages and metadata, for lang/pubgrub.h.
 * Purpose    Which versions of a project are candidates here and now (tags, Requires-Python, pre-releases,
 *            yanked, constraints, dates, hashes, what is installed), in which order they are tried, and what
 *            each needs (markers, extras as packages of their own: name[extra] needs name at the same
 *            version). Where pages and metadata come from is not its business: tests give it text files.
 * Ownership  The provider borrows question and source; results are borrowed from it.
 * Errors     PKG_E_UNSUPPORTED for what pip has to do (version control, directories, source distributions
 *            that would have to be run); whatever the source sets; for an
 *            impossible question CONFLICT, REQUIRES_PYTHON, ARCHIVE, or what nothing_fits() sets.
 *
 * Preferences: what is installed, unless an upgrade is asked for; else the newest. Pre-releases count only
 * where they are asked for, by a version in a requirement, or where nothing else fits. Withdrawn (yanked)
 * versions count only where a requirement pins them. Both are properties of all requirements of a project
 * together, which are known only at the end: when one turns up that lets more in, the solving begins again
 * with that knowledge. The same holds for installed projects, whose pages are read only when what is
 * installed does not do.
 */
#ifndef LANG_PYTHON_PROVIDER_H
#define LANG_PYTHON_PROVIDER_H
#include "lang/lang.h"
#include "lang/metadata.h"
#include "lang/pubgrub.h"
#include "lang/python_tags.h"
#include "lang/simple_index.h"

struct lang_python_source {
	void *context;
	/* The page of a project (borrowed for good); *page NULL: no index has it. */
	int (*page)(void *context, const char *key, const struct lang_simple_page **page,
		struct pkg_error *err);
	/* Of a wheel (or sdist with static metadata) of a page, or of a direct URL; borrowed for good.
	 * PKG_E_ARCHIVE: the file is broken, another may do. */
	int (*metadata)(void *context, const char *key, const struct lang_simple_file *file,
		const struct lang_metadata **out, struct pkg_error *err);
	/* Of an installed distribution; false: not known. */
	bool (*installed)(
		void *context, const struct store_package *package, struct lang_metadata *out);
	/* No version that could be installed here fits the requirement, which needed_by needs (NULL: it
	 * was asked for): says why in *err, and returns -1. */
	int (*nothing_fits)(void *context, const char *key, const char *requirement,
		const char *needed_by, struct pkg_error *err);
	/* Asked for soon, probably: fetched meanwhile. Both may be NULL. */
	void (*want_page)(void *context, const char *key);
	void (*want_metadata)(void *context, const char *key, const struct lang_simple_file *file);
};

struct lang_python_question {
	struct json_object *facts;
	const struct lang_python_tags *tags;
	const struct lang_request *request;
	const struct lang_python_source *source;
};

struct lang_python_chosen {
	const char *key;
	const struct lang_simple_file *file;
	const struct lang_metadata *metadata;
	bool direct;
	bool is_sdist;
};

struct lang_python_provider;
struct lang_python_provider *lang_python_provider_new(const struct lang_python_question *question);
void lang_python_provider_free(struct lang_python_provider *provider);
PKG_DEFINE_CLEANUP(struct lang_python_provider, lang_python_provider_free)
int lang_python_provider_solve(struct lang_python_provider *provider, struct pkg_error *err);
/* What has to come into the environment: installed ones that stay are left out. */
size_t lang_python_provider_count(const struct lang_python_provider *provider);
struct lang_python_chosen lang_python_provider_get(
	const struct lang_python_provider *provider, size_t i);
/* A page or metadata file that was wanted is there: what it makes likely is wanted next. */
void lang_python_provider_saw_page(struct lang_python_provider *provider, const char *key,
	const struct lang_simple_page *page);
void lang_python_provider_saw_metadata(
	struct lang_python_provider *provider, const struct lang_metadata *metadata);
#endif
