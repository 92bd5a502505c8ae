/* lang/entry_points.h - entry_points.txt: the commands that a distribution installs.
 * Purpose    console_scripts and gui_scripts as name, module and attribute, each checked so hard
 *            that it can go into a file name and into the text of a script as it is.
 * Ownership  The list owns its strings; release with lang_entry_points_clear().
 * Errors     PKG_E_ARCHIVE with the line. On failure *out is empty.
 */
#ifndef LANG_ENTRY_POINTS_H
#define LANG_ENTRY_POINTS_H
#include "core/error.h"
#include <stdbool.h>

#define LANG_ENTRY_POINTS_BYTES_MAX (1024 * 1024)
#define LANG_ENTRY_POINTS_MAX 4096
#define LANG_ENTRY_POINT_NAME_MAX 200 /* leaves room for a suffix in a file name */

struct lang_entry_point {
	char *name; /* printable ASCII; no blank, '/' or '\', no '-' or '.' at its beginning */
	char *module; /* ASCII identifiers joined by '.' */
	char *attr; /* the same */
	bool gui;
};

struct lang_entry_points {
	struct lang_entry_point *items; /* owned; in the order of the file; names differ */
	size_t count;
};

/* Other groups are skipped unread. */
int lang_entry_points_parse(
	const char *text, size_t len, struct lang_entry_points *out, struct pkg_error *err);
void lang_entry_points_clear(struct lang_entry_points *list);
#define lang_cleanup_entry_points __attribute__((cleanup(lang_entry_points_clear)))
#endif
