/* lang/r_files.h - source tarballs at hand, checked, with what they say of themselves.
 * Purpose    A repository names a file by MD5 at most. The first time it is fetched (nothing in it
 *            is run), held against that MD5, and its SHA-256 noted: pinned from then on. A file
 *            that changes under the same URL is an alarm, not an update (versions in a repository
 *            are final).
 * Ownership  A heap object; what it lends lives as long as it does.
 * Errors     PKG_E_HASH for bytes that are not what the index or the pin says; PKG_E_ARCHIVE for a
 *            tarball that is not the package it is named for; as fetch/download.h.
 */
#ifndef LANG_R_FILES_H
#define LANG_R_FILES_H
#include "lang/lang.h"
#include "lang/r_description.h"
#include "lang/r_packages.h"

struct lang_r_file {
	const struct lang_r_entry *entry;
	char *sha256;
	long long size;
	struct lang_r_description description;
};

struct lang_r_files;
/* credentials, agent: as lang_r_fetch_options() takes them; borrowed. */
struct lang_r_files *lang_r_files_new(
	struct lang_context *lang, const struct pkg_argv *credentials, const char *agent);
void lang_r_files_free(struct lang_r_files *files);
PKG_DEFINE_CLEANUP(struct lang_r_files, lang_r_files_free)
/* Fetches what is missing, all at once. */
int lang_r_files_get(struct lang_r_files *files, const struct lang_r_entry *const *entries,
	size_t count, struct pkg_error *err);
/* NULL for an entry that was not got. Borrowed until the next get. */
const struct lang_r_file *lang_r_files_find(
	const struct lang_r_files *files, const struct lang_r_entry *entry);
/* What the tarball in the cache says, by its hash: for a build. */
int lang_r_files_describe(struct lang_context *lang, const char *sha256, const char *name,
	struct lang_r_description *out, struct pkg_error *err);
#endif
