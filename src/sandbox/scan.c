#include "sandbox/scan.h"

#include "core/path.h"
#include "core/time.h"
#include "core/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SOCKETS_MAX 64

/* A file with several names, and how many of them were met. */
struct names {
	dev_t device;
	ino_t inode;
	nlink_t expected;
	nlink_t met;
	char *path; /* owned; the first */
};

struct search {
	const char *root;
	const struct sandbox_scan *limits;
	struct pkg_argv *sockets;
	struct names *names;
	size_t count;
	size_t capacity;
	long entries;
	int64_t deadline;
};

static size_t
slot_of(const struct search *search, const struct stat *st)
{
	size_t at = (st->st_ino * 0x9e3779b97f4a7c15ULL) & (search->capacity - 1);

	while (search->names[at].path &&
		(search->names[at].inode != st->st_ino || search->names[at].device != st->st_dev))
		at = (at + 1) & (search->capacity - 1);
	return at;
}

static void
grow(struct search *search)
{
	struct names *old = search->names;
	size_t was = search->capacity;

	search->capacity = was ? was * 2 : 64;
	search->names = pkg_xcalloc(search->capacity, sizeof(*search->names));
	for (size_t i = 0; i < was; i++) {
		struct stat st = { .st_dev = old[i].device, .st_ino = old[i].inode };

		if (old[i].path)
			search->names[slot_of(search, &st)] = old[i];
	}
	free(old);
}

static void
meet(struct search *search, const char *relative, const struct stat *st)
{
	struct names *names;

	if (2 * (search->count + 1) > search->capacity)
		grow(search);
	names = &search->names[slot_of(search, st)];
	if (!names->path) {
		*names = (struct names){ st->st_dev, st->st_ino, st->st_nlink, 0,
			pkg_path_join(search->root, relative) };
		search->count++;
	}
	names->met++;
}

static int
look(void *context, const char *relative, const struct stat *st, struct pkg_error *err)
{
	struct search *search = context;

	if (++search->entries > search->limits->max_entries)
		return pkg_error_set(err, PKG_E_INVALID,
			"'%s' has more than %ld entries, too many to search for hard links",
			search->root, search->limits->max_entries);
	if ((search->entries & 255) == 0 && pkg_time_mono_ms() > search->deadline)
		return pkg_error_set(err, PKG_E_INVALID,
			"'%s' was not searched for hard links within %d ms", search->root,
			search->limits->max_ms);
	if (S_ISREG(st->st_mode) && st->st_nlink > 1)
		meet(search, relative, st);
	if (S_ISSOCK(st->st_mode) && search->sockets) {
		if (search->sockets->count >= SOCKETS_MAX)
			return pkg_error_set(err, PKG_E_INVALID,
				"'%s' has more than %d sockets, each a way out", search->root,
				SOCKETS_MAX);
		pkg_argv_take(search->sockets, pkg_path_join(search->root, relative));
	}
	return 0;
}

static int
judge(const struct search *search, struct pkg_error *err)
{
	for (size_t i = 0; i < search->capacity; i++) {
		const struct names *names = &search->names[i];

		if (!names->path || names->met == names->expected)
			continue;
		pkg_error_set(err, PKG_E_INVALID,
			"'%s' has %lu names, %lu of them outside '%s': writing to it would reach "
			"them",
			names->path, (unsigned long)names->expected,
			(unsigned long)(names->expected - names->met), search->root);
		return pkg_error_cure(err,
			"replace it by a copy of itself: cp -p '%s' '%s.copy' && mv "
			"'%s.copy' '%s'",
			names->path, names->path, names->path, names->path);
	}
	return 0;
}

int
sandbox_paths_scan(const char *path, const struct sandbox_scan *scan, struct pkg_argv *sockets,
	struct pkg_error *err)
{
	struct search search = { .root = path,
		.limits = scan,
		.sockets = sockets,
		.deadline = pkg_time_mono_ms() + scan->max_ms };
	struct stat st;
	int rc;

	if (lstat(path, &st) < 0)
		return pkg_error_set(err, PKG_E_INVALID, "'%s': %s", path, strerror(errno));
	if (S_ISREG(st.st_mode))
		return st.st_nlink == 1
			? 0
			: pkg_error_set(err, PKG_E_INVALID,
				  "'%s' has %lu names: writing to it would reach them all", path,
				  (unsigned long)st.st_nlink);
	rc = pkg_tree_walk(AT_FDCWD, path, look, &search, err);
	if (rc == 0)
		rc = judge(&search, err);
	else if (err && err->kind != PKG_E_INVALID)
		err->kind = PKG_E_INVALID;
	for (size_t i = 0; i < search.capacity; i++)
		free(search.names[i].path);
	free(search.names);
	return rc;
}
