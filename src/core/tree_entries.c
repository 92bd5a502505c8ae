#include "core/tree_entries.h"
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>

int
pkg_tree_entries_next(struct pkg_tree_entries *entries, struct dirent64 **out)
{
	for (;;) {
		struct dirent64 *entry;

		if (entries->at == entries->have) {
			ssize_t n = getdents64(entries->fd, entries->buffer, PKG_TREE_ENTRIES_SIZE);

			if (n <= 0)
				return (int)n;
			entries->have = (size_t)n;
			entries->at = 0;
		}
		entry = (struct dirent64 *)(void *)(entries->buffer + entries->at);
		entries->at += entry->d_reclen;
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		*out = entry;
		return 1;
	}
}

int
pkg_tree_entry_type(int dir, const struct dirent64 *entry)
{
	struct stat st;

	if (entry->d_type != DT_UNKNOWN)
		return entry->d_type;
	if (fstatat(dir, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -1;
	return IFTODT(st.st_mode);
}
