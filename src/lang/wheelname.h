/* lang/wheelname.h - file names of wheels (PEP 427, PEP 425) and sdists (PEP 625).
 * Purpose    What a file on an index is, read from its name alone, and which wheel an interpreter
 *            would rather have.
 * Ownership  The structs own their strings.
 * Errors     PKG_E_INVALID for a name that is not of its kind, has a separator or control
 * character, or is longer than LANG_FILE_NAME_MAX bytes. On failure *out is empty.
 */
#ifndef LANG_WHEELNAME_H
#define LANG_WHEELNAME_H
#include "core/argv.h"
#include "lang/pep440.h"

#define LANG_FILE_NAME_MAX 255
#define LANG_WHEEL_TAGS_MAX 1024 /* after expanding "py2.py3-none-any" */

struct lang_wheel_name {
	char *distribution; /* as in the file's name */
	char *normalized; /* PEP 503 */
	struct lang_pep440_version version;
	char *build; /* begins with a digit; NULL when there is none */
	struct pkg_argv *tags; /* "cp311-cp311-linux_x86_64", lower case, each once */
};

struct lang_sdist_name {
	char *distribution;
	char *normalized;
	struct lang_pep440_version version;
};

int lang_wheel_name_parse(const char *file, struct lang_wheel_name *out, struct pkg_error *err);
void lang_wheel_name_clear(struct lang_wheel_name *name);
#define lang_cleanup_wheel_name __attribute__((cleanup(lang_wheel_name_clear)))
/* The position in `tags` (the interpreter's, best first) of the best tag that the wheel has, -1
 * when it has none. */
int lang_wheel_tags_supported(
	const char *const *tags, size_t count, const struct lang_wheel_name *wheel);
/* Order of build tags: number, then text; no build comes first. */
int lang_wheel_build_compare(const char *a, const char *b);

/* NAME-VERSION.tar.gz or .zip. `project` NULL: the version begins after the last '-'. Otherwise the
 * name must normalise to that project, and the version is all the rest ("foo-1.0-1.tar.gz"). */
int lang_sdist_name_parse(
	const char *file, const char *project, struct lang_sdist_name *out, struct pkg_error *err);
void lang_sdist_name_clear(struct lang_sdist_name *name);
#define lang_cleanup_sdist_name __attribute__((cleanup(lang_sdist_name_clear)))
#endif
