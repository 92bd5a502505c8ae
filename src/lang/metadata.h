/* lang/metadata.h - METADATA and WHEEL of a distribution (core metadata, PEP 427).
 * Purpose    The few headers that decide what gets installed, read as Python's email parser does:
 * up to the first blank line or line that is no header, keys in any case, folded lines joined.
 * Ownership  The structs own their strings; release with the _clear functions.
 * Errors     PKG_E_ARCHIVE: a needed header missing, malformed or given twice (two readers could
 *            believe different ones), or no end of the headers in LANG_METADATA_HEAD_MAX bytes.
 *            On failure *out is empty.
 */
#ifndef LANG_METADATA_H
#define LANG_METADATA_H
#include "core/argv.h"
#include "core/error.h"

#define LANG_METADATA_HEAD_MAX (4 * 1024 * 1024)
#define LANG_METADATA_VALUE_MAX 8192 /* of the headers listed here */
#define LANG_METADATA_LIST_MAX 20000

struct lang_metadata {
	char *name; /* a valid project name, as written */
	char *version; /* printable, not checked against PEP 440: installed ones may not keep to it
			*/
	char *requires_python; /* NULL: any */
	struct pkg_argv *requires_dist; /* as written, one line each; never NULL */
	struct pkg_argv *provides_extra; /* never NULL */
};

struct lang_wheel_info {
	char *wheel_version; /* "1.0" */
	bool root_is_purelib;
	struct pkg_argv *tags; /* not expanded; never NULL */
};

int lang_metadata_parse(
	const char *text, size_t len, struct lang_metadata *out, struct pkg_error *err);
void lang_metadata_clear(struct lang_metadata *metadata);
#define lang_cleanup_metadata __attribute__((cleanup(lang_metadata_clear)))

/* Wheel-Version and Root-Is-Purelib are required; a major version other than 1 is refused. */
int lang_wheel_info_parse(
	const char *text, size_t len, struct lang_wheel_info *out, struct pkg_error *err);
void lang_wheel_info_clear(struct lang_wheel_info *info);
#define lang_cleanup_wheel_info __attribute__((cleanup(lang_wheel_info_clear)))
#endif
