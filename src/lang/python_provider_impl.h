/* lang/python_provider_impl.h - what lang/python_provider.c and lang/python_provider_why.c share.
 * Purpose    The state of one resolution.
 * Ownership  The provider owns everything in it, but for question and source.
 * Errors     None.
 */
#ifndef LANG_PYTHON_PROVIDER_IMPL_H
#define LANG_PYTHON_PROVIDER_IMPL_H
#include "lang/pep508.h"
#include "lang/python_candidates.h"
#include "lang/python_provider.h"

/* A project, or one of its extras. Numbers are positions in the list; 0 is what was asked for. */
struct provider_package {
	char *key;
	char *extra; /* normalised; NULL: the project itself */
	int base; /* the project's own number */
	/* Of a project: */
	const struct store_package *installed;
	bool open; /* its page counts, not only what is installed */
	bool loaded;
	bool named; /* asked for by name */
	bool pre_open; /* pre-releases are among the candidates */
	struct pkg_argv *unlocked; /* yanked versions that are */
	struct lang_simple_file **direct; /* owned; of URLs in requirements */
	size_t direct_count;
	struct lang_python_candidates list;
	struct lang_requirement *constraints; /* owned */
	size_t constraint_count;
	char *hint; /* the first requirement's versions; NULL */
	bool metadata_read, metadata_known;
	struct lang_metadata metadata; /* of the installed version */
	size_t tried; /* candidates whose needs were asked for */
};

struct lang_python_provider {
	const struct lang_python_question *question;
	const struct lang_python_source *source;
	struct lang_python_filter filter;
	struct lang_marker_env markers;
	struct provider_package **packages; /* owned; none of them moves */
	size_t count;
	struct pkg_argv
		*kept; /* installed projects that a change would have broken, as requirements */
	struct lang_pubgrub *solver; /* of the present attempt */
	bool again; /* something was learned that a new attempt must know from the start */
	struct lang_python_chosen *chosen; /* owned; the result */
	size_t chosen_count;
};

static inline struct provider_package *
provider_at(const struct lang_python_provider *provider, int number)
{
	return provider->packages[number];
}

/* The number of a project (extra NULL) or of one of its extras. */
int provider_intern(struct lang_python_provider *provider, const char *key, const char *extra);
struct provider_package *provider_base(const struct lang_python_provider *provider, int package);
/* From now on its page counts, not only what is installed; false: it did already. */
bool provider_open_page(struct lang_python_provider *provider, struct provider_package *package);
/* A URL that a requirement names becomes the only place where the project comes from. */
int provider_add_direct(struct lang_python_provider *provider, struct provider_package *package,
	const struct lang_requirement *requirement, struct pkg_error *err);
/* PKG_E_UNSUPPORTED for what is no wheel from an index or a URL. */
int provider_check_kind(const struct lang_requirement *requirement, struct pkg_error *err);
/* Its marker holds here; extra may be NULL. */
bool provider_applies(const struct lang_python_provider *provider,
	const struct lang_requirement *requirement, const char *extra);
/* *out NULL with *unusable set: this candidate is none. Both NULL: nothing is known, and so needed. */
int provider_metadata(struct lang_python_provider *provider, struct provider_package *package,
	const struct lang_python_candidate *candidate, const struct lang_metadata **out,
	char **unusable, struct pkg_error *err);
const struct lang_metadata *provider_installed_metadata(
	struct lang_python_provider *provider, struct provider_package *package);
/* struct lang_pubgrub_ops. */
int provider_needs(void *context, int number, size_t at, struct lang_pubgrub_needs *out,
	struct pkg_error *err);
/* Sets *err from the proof that the solver found. -1. */
int provider_explain(struct lang_python_provider *provider, struct pkg_error *err);
#define PROVIDER_NEEDS_PYTHON "needs Python "
#define PROVIDER_CONSTRAINT " (with the constraint "
#endif
