/* install/resolution.h - a resolver's answer on disk, between the plan and its approval.
 * Purpose    <staging>/resolution.json and base.json let the worker that applies go on from what the worker that
 *            planned found. Nothing in them is trusted: the plan is made from them again and its hash must
 *            be the approved one.
 * Ownership  As lang/lang.h.
 * Errors     PKG_E_NOT_FOUND when the file is not there (the plan is made again).
 */
#ifndef INSTALL_RESOLUTION_H
#define INSTALL_RESOLUTION_H
#include "lang/lang.h"

/* removed: keys that the plan takes out; appended to by load. */
int install_resolution_save(const struct lang_resolution *resolution,
	const struct pkg_argv *removed, const char *path, struct pkg_error *err);
int install_resolution_load(const char *path, struct lang_resolution *out, struct pkg_argv *removed,
	struct pkg_error *err);
/* {"name","key",…} of one; files are left out unless asked for. Given. */
struct json_object *install_dist_to_json(const struct lang_dist *dist, bool with_files);
#endif
