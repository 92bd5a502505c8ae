#include "core/buf.h"
#include "core/tree.h"
#include "core/tree_entries.h"
#include <errno.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	OPEN_LEVELS = 32, /* directories kept open at a time */
	RESCANS = 64, /* of one directory that others keep filling while we empty it */
};

/* The kernel refuses symlinks and mount points (bind mounts of the same file system included) on
 * every step down, whatever somebody puts in our way meanwhile. Depth is only memory: the deepest
 * OPEN_LEVELS directories are open, those above are opened again through "..", and must be the
 * very ones we came through. */
struct level {
	char *name; /* owned; in the directory above */
	int fd; /* owned; -1 while there are too many below */
	dev_t dev;
	ino_t ino;
	struct pkg_buf todo; /* names of its directories, each with its NUL */
	int scans;
};

struct removal {
	struct level *levels; /* owned */
	size_t count;
	size_t cap;
	int base; /* borrowed; the directory that holds levels[0] */
	char *buffer; /* owned; for struct pkg_tree_entries */
};

static int
open_dir_inside(int dir, const char *name, uint64_t resolve)
{
	struct open_how how = {
		.flags = PKG_TREE_DIR_FLAGS,
		.resolve = RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS | resolve,
	};
	long fd;

	do {
		fd = syscall(SYS_openat2, dir, name, &how, sizeof(how));
	} while (fd < 0 && (errno == EINTR || errno == EAGAIN));
	return (int)fd;
}

/* A directory of ours that does not let us in. chmod(2) has no flag against symlinks on the kernels
 * we support, so it goes through a handle that cannot be one. */
static int
open_up(int dir, const char *name)
{
	pkg_autofd int handle = openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	char path[64];

	if (handle < 0)
		return -1;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", handle);
	return chmod(path, 0700);
}

static char *
removal_path(const struct removal *removal, const char *name)
{
	pkg_cleanup_buf struct pkg_buf path = { 0 };

	for (size_t i = 0; i < removal->count && path.len < PATH_MAX; i++)
		pkg_buf_addf(&path, "%s/", removal->levels[i].name);
	pkg_buf_add(&path, name);
	return pkg_buf_steal(&path);
}

static int
removal_error(const struct removal *removal, const char *name, int sys, struct pkg_error *err)
{
	pkg_autofree char *path = removal_path(removal, name);

	if (sys == EXDEV)
		return pkg_error_set(err, PKG_E_IO, "remove '%s': it is a mount point", path);
	return pkg_error_errno(err, sys, "remove '%s'", path);
}

/* Deletes all but the directories of the deepest level, and lists those. */
static int
scan(struct removal *removal, struct pkg_error *err)
{
	struct level *level = &removal->levels[removal->count - 1];
	struct pkg_tree_entries entries = { .fd = level->fd, .buffer = removal->buffer };
	struct dirent64 *entry;
	int more;

	if (level->scans++ > 0 && lseek(level->fd, 0, SEEK_SET) < 0)
		return removal_error(removal, "", errno, err);
	while ((more = pkg_tree_entries_next(&entries, &entry)) > 0) {
		if (entry->d_type != DT_DIR) {
			if (unlinkat(level->fd, entry->d_name, 0) == 0 || errno == ENOENT)
				continue;
			if (errno != EISDIR)
				return removal_error(removal, entry->d_name, errno, err);
		}
		pkg_buf_add_mem(&level->todo, entry->d_name, strlen(entry->d_name) + 1);
	}
	return more < 0 ? removal_error(removal, "", errno, err) : 0;
}

/* Goes down into name. 1: done, 0: there is no such directory any more, -1: error. */
static int
descend(struct removal *removal, int dir, const char *name, struct pkg_error *err)
{
	pkg_autofd int fd = open_dir_inside(dir, name, RESOLVE_BENEATH);
	struct level *level;
	struct stat st;

	if (fd < 0 && errno == EACCES && open_up(dir, name) == 0)
		fd = open_dir_inside(dir, name, RESOLVE_BENEATH);
	if (fd < 0 && (errno == ENOTDIR || errno == ELOOP)) {
		if (unlinkat(dir, name, 0) == 0)
			return 0;
	}
	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0 || fstat(fd, &st) < 0)
		return removal_error(removal, name, errno, err);
	/* Refused to others than the owner; then the deletions below will say so. */
	if ((st.st_mode & 0700) != 0700)
		(void)fchmod(fd, (st.st_mode & 07777) | 0700);
	if (removal->count == removal->cap) {
		removal->cap = removal->cap ? removal->cap * 2 : 64;
		removal->levels =
			pkg_xrealloc(removal->levels, removal->cap, sizeof(*removal->levels));
	}
	level = &removal->levels[removal->count++];
	*level = (struct level){ .name = pkg_xstrdup(name),
		.fd = pkg_steal_fd(&fd),
		.dev = st.st_dev,
		.ino = st.st_ino };
	if (removal->count > OPEN_LEVELS)
		pkg_close(&removal->levels[removal->count - OPEN_LEVELS - 1].fd);
	return scan(removal, err) < 0 ? -1 : 1;
}

static void
drop_level(struct removal *removal)
{
	struct level *level = &removal->levels[--removal->count];

	pkg_close(&level->fd);
	pkg_buf_clear(&level->todo);
	free(level->name);
}

static int
reopen_above(struct removal *removal, struct pkg_error *err)
{
	struct level *level = &removal->levels[removal->count - 1];
	struct level *above = level - 1;
	struct stat st;

	if (above->fd >= 0)
		return 0;
	above->fd = open_dir_inside(level->fd, "..", 0);
	if (above->fd < 0 || fstat(above->fd, &st) < 0)
		return removal_error(removal, "..", errno, err);
	if (st.st_dev != above->dev || st.st_ino != above->ino)
		return pkg_error_set(
			err, PKG_E_IO, "a directory was moved while its tree was removed");
	return 0;
}

/* The deepest level is done with: remove it, or look again when somebody put something into it. */
static int
ascend(struct removal *removal, struct pkg_error *err)
{
	struct level *level = &removal->levels[removal->count - 1];
	int dir = removal->base;

	if (removal->count > 1) {
		if (reopen_above(removal, err) < 0)
			return -1;
		dir = level[-1].fd;
	}
	if (unlinkat(dir, level->name, AT_REMOVEDIR) < 0 && errno != ENOENT) {
		if ((errno == ENOTEMPTY || errno == EEXIST) && level->scans < RESCANS)
			return scan(removal, err);
		return removal_error(removal, "", errno, err);
	}
	drop_level(removal);
	return 0;
}

/* The last name of the list, taken off it. Given. */
static char *
take_name(struct pkg_buf *todo)
{
	size_t start = todo->len - 1;
	char *name;

	while (start > 0 && todo->data[start - 1] != '\0')
		start--;
	name = pkg_xstrdup(todo->data + start);
	pkg_buf_truncate(todo, start);
	return name;
}

static int
remove_levels(struct removal *removal, const char *name, struct pkg_error *err)
{
	if (descend(removal, removal->base, name, err) < 0)
		return -1;
	while (removal->count > 0) {
		struct level *level = &removal->levels[removal->count - 1];
		pkg_autofree char *child = NULL;

		if (level->todo.len == 0) {
			if (ascend(removal, err) < 0)
				return -1;
			continue;
		}
		child = take_name(&level->todo);
		if (descend(removal, level->fd, child, err) < 0)
			return -1;
	}
	return 0;
}

/* The directory that holds path. Below a descriptor no symlink leads there; a path of the caller's
 * own is resolved as usual. */
static int
open_holder(int dirfd, const char *path, const char *slash)
{
	pkg_autofree char *parent = NULL;
	struct open_how how = {
		.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
		.resolve = dirfd == AT_FDCWD ? 0 : RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS,
	};

	if (!slash)
		parent = pkg_xstrdup(".");
	else
		parent = pkg_xstrndup(path, slash == path ? 1 : (size_t)(slash - path));
	return (int)syscall(SYS_openat2, dirfd, parent, &how, sizeof(how));
}

int
pkg_tree_remove_at(int dirfd, const char *path, struct pkg_error *err)
{
	pkg_autofree char *copy = pkg_xstrdup(path);
	size_t len = strlen(copy);
	struct removal removal = { 0 };
	pkg_autofd int base = -1;
	char *slash;
	char *name;
	int result;

	while (len > 1 && copy[len - 1] == '/')
		copy[--len] = '\0';
	slash = strrchr(copy, '/');
	name = slash ? slash + 1 : copy;
	if (*name == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return pkg_error_set(err, PKG_E_INVALID, "'%s' cannot be removed", path);
	base = open_holder(dirfd, copy, slash);
	if (base < 0 && errno == ENOENT)
		return 0;
	if (base < 0)
		return pkg_error_errno(err, errno, "remove '%s'", path);
	/* Most of what is not a directory ends here; unlink(2) refuses directories. */
	if (unlinkat(base, name, 0) == 0 || errno == ENOENT)
		return 0;
	removal.base = base;
	removal.buffer = pkg_xmalloc(PKG_TREE_ENTRIES_SIZE);
	result = remove_levels(&removal, name, err);
	while (removal.count > 0)
		drop_level(&removal);
	free(removal.levels);
	free(removal.buffer);
	return result;
}

int
pkg_tree_remove(const char *path, struct pkg_error *err)
{
	return pkg_tree_remove_at(AT_FDCWD, path, err);
}
