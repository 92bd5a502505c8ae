/* lang/r_description.h - what a package says of itself: DESCRIPTION, in a tree or inside a source
 *       tarball.
 * Purpose    The fields that planning, building and checking need, judged once; and a reader of
 *            *.tar.gz that takes out the one file and refuses an archive that could write anywhere
 *            but below its own directory.
 * Ownership  The description owns its strings; release with lang_r_description_clear(). { 0 } is
 *            empty.
 * Errors     PKG_E_ARCHIVE naming the entry or field; PKG_E_TOO_LARGE beyond the limits.
 */
#ifndef LANG_R_DESCRIPTION_H
#define LANG_R_DESCRIPTION_H
#include "lang/r_dcf.h"
#include "lang/r_request.h"

#define LANG_R_DESCRIPTION_MAX (4 * 1024 * 1024)
#define LANG_R_TARBALL_ENTRIES_MAX 200000
#define LANG_R_TARBALL_BYTES_MAX (8LL * 1024 * 1024 * 1024) /* unpacked */

struct lang_r_description {
	char *package;
	char *version;
	char *system_requirements; /* cleaned; NULL */
	char *built_r; /* "4.2.2" of a package that is built already; NULL: a source */
	char *built_platform; /* "" when it holds no compiled code; NULL: a source */
	struct lang_r_needs needs; /* Depends, Imports, LinkingTo; with "R" among them */
	struct lang_r_needs suggests; /* names that are none are left out */
	bool compiles; /* NeedsCompilation, or it has src/ */
	bool staged_install; /* false: it wants to be installed where it will stay */
};
void lang_r_description_clear(struct lang_r_description *description);
#define lang_cleanup_r_description __attribute__((cleanup(lang_r_description_clear)))

int lang_r_description_parse(
	const char *text, size_t len, struct lang_r_description *out, struct pkg_error *err);
/* From a record of an index, which has the same fields. */
int lang_r_description_take(
	const struct lang_r_record *record, struct lang_r_description *out, struct pkg_error *err);
/* tree_fd/PATH/DESCRIPTION. */
int lang_r_description_read(
	int tree_fd, const char *path, struct lang_r_description *out, struct pkg_error *err);
/* The whole archive is read from the descriptor's current offset: gzip, tar (ustar, pax, GNU
 * names), regular files and directories below `name`/ alone. */
int lang_r_tarball_read(
	int fd, const char *name, struct lang_r_description *out, struct pkg_error *err);
#endif
