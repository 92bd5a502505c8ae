/* core/tree_entries.h - reading directories, for the tree_*.c files only.
 * Purpose    readdir(3) without an allocation per directory, and without "." and "..".
 * Ownership  All is the caller's; entries are borrowed until the next call.
 * Errors     -1 with errno.
 */
#ifndef CORE_TREE_ENTRIES_H
#define CORE_TREE_ENTRIES_H
#include <dirent.h>
#include <fcntl.h>
#include <stddef.h>

#define PKG_TREE_ENTRIES_SIZE (64 * 1024)
#define PKG_TREE_DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

struct pkg_tree_entries {
	int fd; /* borrowed */
	char *buffer; /* borrowed; PKG_TREE_ENTRIES_SIZE bytes from malloc */
	size_t have;
	size_t at;
};

/* 1 and *out, 0 at the end. */
int pkg_tree_entries_next(struct pkg_tree_entries *entries, struct dirent64 **out);
/* DT_..., also on file systems whose directories do not say. */
int pkg_tree_entry_type(int dir, const struct dirent64 *entry);
#endif
