/* core/tree.h - whole trees of files.
 * Purpose    Trees that are walked, linked, cloned or copied, and deleted. Symlinks are never
 *            followed below the descriptor given.
 * Ownership  Nothing is kept; relative paths given to a callback are borrowed.
 * Errors     pkg_error_errno() of the call that failed, naming the path.
 */
#ifndef CORE_TREE_H
#define CORE_TREE_H
#include "core/error.h"
#include <sys/stat.h>

enum pkg_tree_mode { PKG_TREE_LINK, PKG_TREE_CLONE, PKG_TREE_COPY };
struct pkg_tree_stats {
	long long files; /* and symlinks */
	long long directories; /* below the root */
	long long bytes; /* logical size of the files cloned or copied; a hard link costs none */
	enum pkg_tree_mode mode; /* the weakest that was needed */
};
/* Makes to_path (must not exist) a copy of from_path: directories made with their modes, symlinks
 * recreated, files hard-linked, else FICLONE, else copied with mode and times (EXDEV, EMLINK,
 * EPERM, EOPNOTSUPP fall through per file). Sockets, FIFOs, devices and relative paths over
 * PATH_MAX are errors. After a failure what was made stays, for the caller to move aside. */
int pkg_tree_copy(int from_dirfd, const char *from_path, int to_dirfd, const char *to_path,
	struct pkg_tree_stats *stats, struct pkg_error *err);
/* One file the same way, in its own right; a symlink stays one. The target must not exist. */
int pkg_file_link_or_copy(int from_dirfd, const char *from_path, int to_dirfd, const char *to_path,
	enum pkg_tree_mode *mode, struct pkg_error *err);
/* rm -rf beneath dirfd, never following a symlink or entering a mount point (an error); a missing
 * path is success. Directories without permissions for us are given them first. Any depth, at most
 * 35 descriptors. Stops at the first thing that cannot be removed. */
int pkg_tree_remove_at(int dirfd, const char *path, struct pkg_error *err);
int pkg_tree_remove(const char *path, struct pkg_error *err);
/* Called for every entry below path (what vanishes meanwhile is left out) in byte order of the full
 * relative path; directories come before their contents. A callback's -1 ends the walk with *err as
 * it set it. */
typedef int pkg_tree_visit_fn(
	void *context, const char *relative, const struct stat *st, struct pkg_error *err);
int pkg_tree_walk(int dirfd, const char *path, pkg_tree_visit_fn *visit, void *context,
	struct pkg_error *err);
#endif
