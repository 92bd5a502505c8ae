/* lang/mounts.h - what a sandbox shows for a program of a language, as it is put together.
 * Purpose    An array of sandbox mounts that owns the paths it points into.
 * Ownership  struct lang_mounts is the caller's storage, { 0 } is empty; it owns array and strings.
 * Errors     None.
 */
#ifndef LANG_MOUNTS_H
#define LANG_MOUNTS_H
#include "core/argv.h"
#include "sandbox/profile.h"

struct lang_mounts {
	struct sandbox_mount *items; /* owned; for sandbox_profile.mounts */
	size_t count;
	struct pkg_argv *strings; /* owned; what items point into */
};
#define lang_cleanup_mounts __attribute__((cleanup(lang_mounts_clear)))
void lang_mounts_clear(struct lang_mounts *mounts);
/* Copies both paths. target NULL: the same as source. */
void lang_mounts_add(struct lang_mounts *mounts, enum sandbox_mount_kind kind, const char *source,
	const char *target);
/* A missing source is left out of the sandbox instead of refused. */
void lang_mounts_add_optional(struct lang_mounts *mounts, enum sandbox_mount_kind kind,
	const char *source, const char *target);
#endif
