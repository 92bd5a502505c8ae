/* lang/r_packages.h - what the repositories offer: their PACKAGES indexes and archives.
 * Purpose    One index a repository, in the order of the configuration, fetched at once and kept
 *            with its ETag; the entries of a name; the versions that a repository's
 *            src/contrib/Archive lists.
 * Ownership  struct lang_r_packages is a heap object; entries are borrowed from it.
 * Errors     As fetch/download.h, with the repository's name; PKG_E_INDEX_STATUS for an index that
 *            is none. A repository that cannot be read is an error, never passed over: the next one
 *            might answer for a name that it should not (dependency confusion).
 */
#ifndef LANG_R_PACKAGES_H
#define LANG_R_PACKAGES_H
#include "lang/lang.h"
#include "lang/r_description.h"

#define LANG_R_REPOS_MAX 20
#define LANG_R_ENTRIES_MAX 500000

struct lang_r_entry {
	char *name;
	char *version;
	char *url; /* of the file; may hold userinfo */
	char *file; /* its name */
	char *md5; /* lower case; NULL: not said */
	char *os_type; /* NULL */
	char *needs_text; /* Depends, Imports, LinkingTo, joined; NULL: only the file says */
	char *suggests_text; /* NULL */
	size_t repo;
};

struct lang_r_packages;
/* agent: what to call ourselves; borrowed; NULL: the fetcher's own name. */
struct lang_r_packages *lang_r_packages_open(struct lang_context *lang,
	const struct pkg_argv *repos, const char *agent, struct pkg_error *err);
void lang_r_packages_free(struct lang_r_packages *packages);
PKG_DEFINE_CLEANUP(struct lang_r_packages, lang_r_packages_free)

size_t lang_r_packages_repos(const struct lang_r_packages *packages);
/* Without userinfo. Borrowed. */
const char *lang_r_packages_repo(const struct lang_r_packages *packages, size_t repo);
/* The entries of that name in one repository, newest first; *count 0: it has none. */
const struct lang_r_entry *lang_r_packages_find(
	const struct lang_r_packages *packages, size_t repo, const char *name, size_t *count);
/* A name that is there and looks like this one: other case, or a letter off. Borrowed, NULL. */
const char *lang_r_packages_near(const struct lang_r_packages *packages, const char *name);
/* Versions in the repository's archive, newest first, appended; none when it has no listing of
 * the name. */
int lang_r_packages_archived(struct lang_r_packages *packages, size_t repo, const char *name,
	struct pkg_argv *versions, struct pkg_error *err);
/* An entry for a version of the archive; kept with the others. */
const struct lang_r_entry *lang_r_packages_archive_entry(
	struct lang_r_packages *packages, size_t repo, const char *name, const char *version);

/* How this job fetches; credentials: URLs with userinfo. */
struct fetch_options lang_r_fetch_options(
	const struct lang_context *lang, const struct pkg_argv *credentials, const char *agent);
/* Repositories that serve built packages for Linux distributions ("/__linux__/" in their URL)
 * give them to whoever says which R it has. NULL: none of them does. Given. */
char *lang_r_agent(struct json_object *facts, const struct pkg_argv *repos);

/* --- apart, for tests --- */
/* The text of an index; url: of its repository. Entries are appended, sorted by
 * lang_r_entries_sort(). */
struct lang_r_entries {
	struct lang_r_entry *items; /* owned */
	size_t count;
	size_t cap;
};
int lang_r_entries_parse(const char *text, size_t len, const char *url, size_t repo,
	struct lang_r_entries *out, struct pkg_error *err);
void lang_r_entries_clear(struct lang_r_entries *entries);
/* Versions of `name` that the links of a directory's page name, newest first. */
void lang_r_archive_versions(const char *html, size_t len, const char *name, struct pkg_argv *out);
#endif
