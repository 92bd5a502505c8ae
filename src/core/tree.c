#include "core/tree.h"
#include "core/file.h"
#include "core/tree_entries.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { COPY_CHUNK = 128 * 1024 };

/* ---- one file ---- */

struct carrier {
	bool no_link; /* different file systems: not asked again */
	bool no_clone;
	enum pkg_tree_mode mode; /* the weakest used so far */
	long long bytes; /* in files that were not hard-linked */
};

static void
weaken(struct carrier *carrier, enum pkg_tree_mode mode)
{
	if (carrier->mode < mode)
		carrier->mode = mode;
}

static int
copy_symlink(int from, const char *name, int to, const char *path, struct pkg_error *err)
{
	char target[PATH_MAX];
	ssize_t len = readlinkat(from, name, target, sizeof(target) - 1);

	if (len < 0)
		return pkg_error_errno(err, errno, "read symlink '%s'", path);
	target[len] = '\0';
	if (symlinkat(target, to, path) < 0)
		return pkg_error_errno(err, errno, "create symlink '%s'", path);
	return 0;
}

static int
copy_by_hand(int in, int out, const char *path, struct pkg_error *err)
{
	pkg_autofree char *chunk = pkg_xmalloc(COPY_CHUNK);

	for (;;) {
		ssize_t n = read(in, chunk, COPY_CHUNK);

		if (n == 0)
			return 0;
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return pkg_error_errno(err, errno, "read '%s'", path);
		if (pkg_write_all(out, chunk, (size_t)n, err) < 0)
			return pkg_error_prefix(err, "copy '%s'", path);
	}
}

static int
copy_contents(int in, int out, const char *path, struct pkg_error *err)
{
	ssize_t n;

	/* Both sides keep their offsets, so whatever this leaves undone (file systems that cannot,
	 * or that end early) is finished by hand. */
	do {
		n = copy_file_range(in, NULL, out, NULL, (size_t)1 << 30, 0);
	} while (n > 0 || (n < 0 && errno == EINTR));
	if (n < 0 && (errno == ENOSPC || errno == EDQUOT || errno == EFBIG || errno == EIO))
		return pkg_error_errno(err, errno, "copy '%s'", path);
	return copy_by_hand(in, out, path, err);
}

/* Fills the new file out with what in holds. */
static int
fill(struct carrier *carrier, int in, int out, const char *path, struct pkg_error *err)
{
	struct timespec times[2];
	struct stat st;

	if (fstat(in, &st) < 0)
		return pkg_error_errno(err, errno, "read '%s'", path);
	if (!S_ISREG(st.st_mode))
		return pkg_error_set(err, PKG_E_INVALID, "copy '%s': not a regular file", path);
	if (!carrier->no_clone && ioctl(out, FICLONE, in) == 0) {
		weaken(carrier, PKG_TREE_CLONE);
	} else {
		carrier->no_clone = true;
		weaken(carrier, PKG_TREE_COPY);
		if (copy_contents(in, out, path, err) < 0)
			return -1;
	}
	carrier->bytes += st.st_size;
	/* The time too: bytecode is valid only for a source of a certain age. */
	times[0] = st.st_atim;
	times[1] = st.st_mtim;
	if (fchmod(out, st.st_mode & 0777) < 0 || futimens(out, times) < 0)
		return pkg_error_errno(err, errno, "set mode and time of '%s'", path);
	return 0;
}

static int
copy_file(struct carrier *carrier, int from, const char *name, int to, const char *path,
	struct pkg_error *err)
{
	pkg_autofd int in =
		openat(from, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	pkg_autofd int out = -1;

	if (in < 0 && errno == ELOOP)
		return copy_symlink(from, name, to, path, err);
	if (in < 0)
		return pkg_error_errno(err, errno, "open '%s'", path);
	out = openat(to, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (out < 0)
		return pkg_error_errno(err, errno, "create '%s'", path);
	if (fill(carrier, in, out, path, err) < 0) {
		(void)unlinkat(to, path, 0);
		return -1;
	}
	return 0;
}

static bool
link_is_impossible(int sys)
{
	/* EPERM: no hard links here, or fs.protected_hardlinks. */
	return sys == EXDEV || sys == EMLINK || sys == EPERM || sys == EOPNOTSUPP || sys == ENOSYS;
}

static int
carry(struct carrier *carrier, int from, const char *name, int to, const char *path,
	struct pkg_error *err)
{
	if (!carrier->no_link) {
		if (linkat(from, name, to, path, 0) == 0)
			return 0;
		if (!link_is_impossible(errno))
			return pkg_error_errno(err, errno, "link '%s'", path);
		carrier->no_link = errno == EXDEV;
	}
	return copy_file(carrier, from, name, to, path, err);
}

int
pkg_file_link_or_copy(int from_dirfd, const char *from_path, int to_dirfd, const char *to_path,
	enum pkg_tree_mode *mode, struct pkg_error *err)
{
	struct carrier carrier = { .mode = PKG_TREE_LINK };

	if (carry(&carrier, from_dirfd, from_path, to_dirfd, to_path, err) < 0)
		return -1;
	if (mode)
		*mode = carrier.mode;
	return 0;
}

/* ---- copying a tree ---- */

struct pending {
	struct pending *next;
	mode_t mode;
	char path[]; /* relative to the root, "" for the root itself */
};

struct copy {
	int from; /* borrowed; the two roots */
	int to;
	dev_t to_dev;
	ino_t to_ino;
	struct carrier carrier;
	long long files;
	long long directories;
	struct pending *todo; /* owned; directories to copy, the next one first */
	struct pending *modes; /* owned; to be set at the end, children before their parents */
	mode_t asked; /* the last mode asked of mkdirat, and what the umask made of it */
	mode_t got;
	char *buffer; /* owned; for struct pkg_tree_entries */
	char path[PATH_MAX]; /* of the entry at hand */
};

static void
push(struct pending **list, const char *path, mode_t mode)
{
	size_t len = strlen(path) + 1;
	struct pending *item = pkg_xmalloc(sizeof(*item) + len);

	item->next = *list;
	item->mode = mode;
	memcpy(item->path, path, len);
	*list = item;
}

static struct pending *
pop(struct pending **list)
{
	struct pending *item = *list;

	if (item)
		*list = item->next;
	return item;
}

static void
copy_clear(struct copy *copy)
{
	struct pending *item;

	while ((item = pop(&copy->todo)))
		free(item);
	while ((item = pop(&copy->modes)))
		free(item);
	free(copy->buffer);
}

/* Makes to's directory with the source's mode, in two steps when we could not work in it or the
 * umask is in the way. */
static int
make_like(struct copy *copy, const char *path, mode_t want, struct pkg_error *err)
{
	mode_t ask = (want & 01777) | 0700;
	struct stat st;

	if (mkdirat(copy->to, path, ask) < 0)
		return pkg_error_errno(err, errno, "create directory '%s'", path);
	if (ask != copy->asked) {
		if (fstatat(copy->to, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
			return pkg_error_errno(err, errno, "create directory '%s'", path);
		copy->asked = ask;
		copy->got = st.st_mode & 07777;
	}
	if (copy->got != want)
		push(&copy->modes, path, want);
	return 0;
}

static int
copy_entry(struct copy *copy, int dir, const struct dirent64 *entry, struct pkg_error *err)
{
	switch (pkg_tree_entry_type(dir, entry)) {
	case DT_REG:
		copy->files++;
		return carry(&copy->carrier, dir, entry->d_name, copy->to, copy->path, err);
	case DT_DIR:
		push(&copy->todo, copy->path, 0);
		return 0;
	case DT_LNK:
		copy->files++;
		return copy_symlink(dir, entry->d_name, copy->to, copy->path, err);
	case -1:
		return pkg_error_errno(err, errno, "look at '%s'", copy->path);
	default:
		return pkg_error_set(err, PKG_E_INVALID,
			"copy '%s': neither a file, a directory nor a symlink", copy->path);
	}
}

static int
copy_entries(struct copy *copy, int dir, const char *prefix, struct pkg_error *err)
{
	struct pkg_tree_entries entries = { .fd = dir, .buffer = copy->buffer };
	struct dirent64 *entry;
	size_t len = strlen(prefix);
	int more;

	memcpy(copy->path, prefix, len);
	if (len > 0)
		copy->path[len++] = '/';
	while ((more = pkg_tree_entries_next(&entries, &entry)) > 0) {
		size_t name = strlen(entry->d_name) + 1;

		if (len + name > sizeof(copy->path))
			return pkg_error_errno(err, ENAMETOOLONG, "copy '%.200s...'", prefix);
		memcpy(copy->path + len, entry->d_name, name);
		if (copy_entry(copy, dir, entry, err) < 0)
			return -1;
	}
	return more < 0 ? pkg_error_errno(err, errno, "read directory '%s'", prefix) : 0;
}

static int
copy_dir(struct copy *copy, const char *path, struct pkg_error *err)
{
	pkg_autofd int dir = openat(copy->from, *path ? path : ".", PKG_TREE_DIR_FLAGS);
	struct stat st;

	if (dir < 0 || fstat(dir, &st) < 0)
		return pkg_error_errno(err, errno, "open directory '%s'", path);
	if (st.st_dev == copy->to_dev && st.st_ino == copy->to_ino)
		return pkg_error_set(
			err, PKG_E_INVALID, "a tree cannot be copied into itself ('%s')", path);
	if (*path) {
		copy->directories++;
		if (make_like(copy, path, st.st_mode & 07777, err) < 0)
			return -1;
	}
	return copy_entries(copy, dir, path, err);
}

static int
copy_all(struct copy *copy, struct pkg_error *err)
{
	struct pending *item;

	push(&copy->todo, "", 0);
	while ((item = pop(&copy->todo))) {
		int result = copy_dir(copy, item->path, err);

		free(item);
		if (result < 0)
			return -1;
	}
	while ((item = pop(&copy->modes))) {
		int result = fchmodat(copy->to, item->path, item->mode, 0);

		if (result < 0)
			pkg_error_errno(err, errno, "set the mode of '%s'", item->path);
		free(item);
		if (result < 0)
			return -1;
	}
	return 0;
}

int
pkg_tree_copy(int from_dirfd, const char *from_path, int to_dirfd, const char *to_path,
	struct pkg_tree_stats *stats, struct pkg_error *err)
{
	pkg_autofd int from = pkg_dir_open_at(from_dirfd, from_path, err);
	pkg_autofd int to = -1;
	struct copy copy = { .from = from };
	struct stat from_st;
	struct stat to_st;
	int result;

	if (from < 0)
		return -1;
	if (fstat(from, &from_st) < 0)
		return pkg_error_errno(err, errno, "read directory '%s'", from_path);
	if (mkdirat(to_dirfd, to_path, (from_st.st_mode & 0777) | 0700) < 0)
		return pkg_error_errno(err, errno, "create directory '%s'", to_path);
	to = pkg_dir_open_at(to_dirfd, to_path, err);
	if (to < 0)
		return -1;
	if (fstat(to, &to_st) < 0)
		return pkg_error_errno(err, errno, "read directory '%s'", to_path);
	copy.to = to;
	copy.to_dev = to_st.st_dev;
	copy.to_ino = to_st.st_ino;
	copy.buffer = pkg_xmalloc(PKG_TREE_ENTRIES_SIZE);
	result = copy_all(&copy, err);
	copy_clear(&copy);
	if (result < 0)
		return pkg_error_prefix(err, "copy '%s' to '%s'", from_path, to_path);
	if ((to_st.st_mode & 07777) != (from_st.st_mode & 07777) &&
		fchmod(to, from_st.st_mode & 07777) < 0)
		return pkg_error_errno(err, errno, "set the mode of '%s'", to_path);
	if (stats)
		*stats = (struct pkg_tree_stats){ .files = copy.files,
			.directories = copy.directories,
			.bytes = copy.carrier.bytes,
			.mode = copy.carrier.mode };
	return 0;
}
