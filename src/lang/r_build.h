/* lang/r_build.h - packages built from source, and where they are kept.
 * Purpose    <cache>/rbuilt/<16 of the key>/<sha256 of the source>/ holds tree/ (what R CMD INSTALL
 *            made, 0444 or 0555) and files (its listing, in the form of a RECORD). The key is a
 *            hash of all that the result depends on: source, R's minor version, home and platform,
 *            and the versions of every package that it needs. An entry is complete or absent;
 *            environments get hard links.
 * Ownership  Results are given.
 * Errors     As r_build.c and r_explain.h say.
 */
#ifndef LANG_R_BUILD_H
#define LANG_R_BUILD_H
#include "lang/lang.h"
#include "lang/r_description.h"

/* dist->wheel_sha256 is the key. NULL for a distribution without one. */
char *lang_r_built_path(const struct pkg_home *home, const struct lang_dist *dist);
bool lang_r_built_has(const struct pkg_home *home, const struct lang_dist *dist);

/* --- one build, to be made (r_graph.c) --- */
struct lang_r_dep {
	char *name;
	char *version;
	char *path; /* its directory on the host; NULL: R's own, or another unit's */
	long unit; /* of the same job; -1: it is there already */
};
struct lang_r_unit {
	struct lang_dist *dist; /* borrowed */
	struct lang_r_description description;
	struct lang_r_dep *deps; /* owned; all that it needs, however far; by name */
	size_t dep_count;
	char *label; /* "cli 3.6.4" */
};
struct lang_r_units {
	struct lang_r_unit *items; /* owned; in the order of the resolution */
	size_t count;
};
/* Reads every tarball's DESCRIPTION, finds what each needs, and sets every dist's key. */
int lang_r_units_make(struct lang_context *lang, const struct lang_env *env,
	struct lang_resolution *resolution, struct lang_r_units *out, struct pkg_error *err);
void lang_r_units_clear(struct lang_r_units *units);
#define lang_cleanup_r_units __attribute__((cleanup(lang_r_units_clear)))

/* --- keeping a result (r_pack.c) --- */
/* Checks what the build left at `built` (regular files and directories alone, the planned
 * package and version) and puts it into the cache. */
int lang_r_pack(struct lang_context *lang, const struct lang_r_unit *unit, const char *built,
	struct pkg_error *err);
#endif
