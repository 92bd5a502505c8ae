/* lang/requirements_file.h - requirements.txt, the part of it that says what to install.
 * Purpose    Turn `-r FILE` and `-c FILE` into a list of requirements, each with where it stands.
 *            Accepted: requirements, comments, blank lines, lines continued with '\', nested -r and
 *            -c, --hash=sha256:HEX. Everything else pip reads there (index options, -e, paths, bare
 *            URLs) changes where code comes from, and is refused with the reason.
 * Ownership  The list owns its items; release with lang_requirements_clear().
 * Errors     PKG_E_REQUIREMENT, beginning with "FILE:LINE:"; whatever the reader callback sets. On
 *            failure *out is empty.
 */
#ifndef LANG_REQUIREMENTS_FILE_H
#define LANG_REQUIREMENTS_FILE_H
#include "lang/pep508.h"

#define LANG_REQUIREMENTS_BYTES_MAX (1024 * 1024) /* each file */
#define LANG_REQUIREMENTS_ITEMS_MAX 10000
#define LANG_REQUIREMENTS_DEPTH_MAX 8 /* files within files, the outermost included */
#define LANG_REQUIREMENTS_FILES_MAX 64 /* altogether */

struct lang_requirements_item {
	struct lang_requirement requirement;
	struct pkg_argv *hashes; /* 64 lower-case digits each, any of which will do; never NULL */
	char *origin; /* "requirements.txt:12" */
	bool constraint; /* limits the version, asks for nothing */
};

struct lang_requirements {
	struct lang_requirements_item *items; /* owned; in the order of the text */
	size_t count;
};

/* Adds the content of `name`, as written in the file `from`, to *content (empty before), and gives
 * in *path what the file is called in messages and as `from` of what it includes. It decides which
 * paths may be read at all. */
typedef int (*lang_requirements_read_fn)(void *context, const char *from, const char *name,
	struct pkg_buf *content, char **path, struct pkg_error *err);

/* `path` names the text in messages. read NULL: nested files are refused. */
int lang_requirements_parse(const char *path, const char *text, size_t len, bool constraint,
	lang_requirements_read_fn read, void *context, struct lang_requirements *out,
	struct pkg_error *err);
void lang_requirements_clear(struct lang_requirements *list);
#define lang_cleanup_requirements __attribute__((cleanup(lang_requirements_clear)))
#endif
