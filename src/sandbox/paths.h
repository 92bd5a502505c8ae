/* sandbox/paths.h - what a profile names, made fit for the builder.
 * Purpose    The part that touches the file system: sources made canonical, a spelling through a
 * symlink mounted at both places, missing optional ones and missing masks left out, directories
 *            granted writable searched for hard links and sockets.
 * Ownership  struct sandbox_paths owns its strings; the profile it was made from is borrowed for
 * its life. Errors     PKG_E_INVALID for a path that cannot be granted: never a failure of the
 * facility.
 */
#ifndef SANDBOX_PATHS_H
#define SANDBOX_PATHS_H
#include "sandbox/host.h"
#include "sandbox/profile.h"

struct sandbox_paths {
	struct sandbox_profile profile; /* the same profile with resolved mounts and tree */
	struct sandbox_mount *mounts; /* owned */
	struct pkg_argv *strings; /* what the mounts point into */
};
int sandbox_paths_resolve(const struct sandbox_profile *profile, const struct sandbox_host *host,
	struct sandbox_paths *out, struct pkg_error *err);
void sandbox_paths_clear(struct sandbox_paths *paths);
#define pkg_cleanup_sandbox_paths __attribute__((cleanup(sandbox_paths_clear)))

/* Given: where a path of the inside is on the host, by the mounts and the tree of a profile; a copy
 * of the path when none shows it. */
char *sandbox_paths_outside(const struct sandbox_profile *profile, const char *path);
/* The sources that a command may write to, each once. Appended. */
void sandbox_paths_writable(const struct sandbox_profile *profile, struct pkg_argv *out);
#endif
