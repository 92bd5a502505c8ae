/* lang/r_lock.h - what -r reads for R: a renv.lock, or one requirement a line.
 * Purpose    renv.lock is the JSON that renv writes:
 *            {"R":{"Version","Repositories":[{"Name","URL"}]},
 *            "Packages":{NAME:{"Package","Version","Source","Repository"}}}. Every package of it
 *            becomes "NAME@VERSION". The other form is what `pkg freeze` prints.
 * Ownership  Results are appended to the caller's vectors; a text is given.
 * Errors     PKG_E_REQUIREMENT with the package or the line; PKG_E_UNSUPPORTED for a package that
 *            is not from a repository (GitHub, a local file).
 */
#ifndef LANG_R_LOCK_H
#define LANG_R_LOCK_H
#include "core/argv.h"
#include "core/error.h"

#define LANG_R_LOCK_MAX (16 * 1024 * 1024)

/* repos: URLs that a renv.lock names; none for the other form. */
int lang_r_lock_parse(const char *text, size_t len, struct pkg_argv *requirements,
	struct pkg_argv *repos, struct pkg_error *err);

struct lang_r_locked {
	const char *name;
	const char *version;
	const char *repo; /* URL; NULL: not known */
};
/* A renv.lock. Given. */
char *lang_r_lock_write(const char *r_version, const struct lang_r_locked *packages, size_t count);
#endif
