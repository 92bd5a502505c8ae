#include "core/file.h"
#include "core/tree.h"
#include "core/tree_entries.h"
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Every directory makes two events: "name" when it is visited and "name/" when its contents are.
 * Sorted by these keys, "a.txt" comes between "a" and "a/b", as the full paths have it. */
struct event {
	char *key; /* owned */
	bool contents;
	struct stat st;
};

struct listing {
	struct event *events; /* owned */
	size_t count;
	size_t cap;
	size_t next;
	size_t prefix; /* length of the path before the keys */
};

struct walk {
	int root; /* borrowed */
	struct listing *stack; /* owned */
	size_t depth;
	size_t cap;
	char *buffer; /* owned; for struct pkg_tree_entries */
	char path[PATH_MAX];
};

static void
add_event(struct listing *listing, const char *name, bool contents, const struct stat *st)
{
	if (listing->count == listing->cap) {
		listing->cap = listing->cap ? listing->cap * 2 : 32;
		listing->events =
			pkg_xrealloc(listing->events, listing->cap, sizeof(*listing->events));
	}
	listing->events[listing->count++] = (struct event){
		.key = pkg_xasprintf("%s%s", name, contents ? "/" : ""),
		.contents = contents,
		.st = *st,
	};
}

static int
compare_events(const void *a, const void *b)
{
	return strcmp(((const struct event *)a)->key, ((const struct event *)b)->key);
}

static int
list_entries(struct walk *walk, int dir, struct listing *listing)
{
	struct pkg_tree_entries entries = { .fd = dir, .buffer = walk->buffer };
	struct dirent64 *entry;
	struct stat st;
	int more;

	while ((more = pkg_tree_entries_next(&entries, &entry)) > 0) {
		if (fstatat(dir, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
			if (errno == ENOENT)
				continue;
			return -1;
		}
		add_event(listing, entry->d_name, false, &st);
		if (S_ISDIR(st.st_mode))
			add_event(listing, entry->d_name, true, &st);
	}
	return more;
}

static void
leave(struct walk *walk)
{
	struct listing *listing = &walk->stack[--walk->depth];

	for (size_t i = 0; i < listing->count; i++)
		free(listing->events[i].key);
	free(listing->events);
}

/* Lists the directory that walk->path names, its first prefix bytes without the last slash. */
static int
enter(struct walk *walk, size_t prefix, struct pkg_error *err)
{
	pkg_autofd int dir = openat(walk->root, prefix ? walk->path : ".", PKG_TREE_DIR_FLAGS);
	struct listing *listing;

	if (dir < 0 && errno == ENOENT && prefix)
		return 0;
	if (dir < 0)
		return pkg_error_errno(err, errno, "open directory '%s'", walk->path);
	if (walk->depth == walk->cap) {
		walk->cap = walk->cap ? walk->cap * 2 : 16;
		walk->stack = pkg_xrealloc(walk->stack, walk->cap, sizeof(*walk->stack));
	}
	listing = &walk->stack[walk->depth++];
	*listing = (struct listing){ .prefix = prefix };
	if (list_entries(walk, dir, listing) < 0)
		return pkg_error_errno(err, errno, "read directory '%s'", walk->path);
	if (listing->count > 1)
		qsort(listing->events, listing->count, sizeof(*listing->events), compare_events);
	return 0;
}

static int
walk_all(struct walk *walk, pkg_tree_visit_fn *visit, void *context, struct pkg_error *err)
{
	if (enter(walk, 0, err) < 0)
		return -1;
	while (walk->depth > 0) {
		struct listing *listing = &walk->stack[walk->depth - 1];
		const struct event *event;
		size_t len;

		if (listing->next == listing->count) {
			leave(walk);
			continue;
		}
		event = &listing->events[listing->next++];
		len = strlen(event->key);
		if (listing->prefix + len >= sizeof(walk->path))
			return pkg_error_errno(
				err, ENAMETOOLONG, "walk below '%.200s...'", walk->path);
		memcpy(walk->path + listing->prefix, event->key, len + 1);
		/* Paths with the slash at the end: openat(2) takes them, O_NOFOLLOW would not
		 * look at the last name then, so it comes off. */
		if (event->contents) {
			size_t prefix = listing->prefix + len;

			walk->path[prefix - 1] = '\0';
			if (enter(walk, prefix, err) < 0)
				return -1;
			walk->path[prefix - 1] = '/';
		} else if (visit(context, walk->path, &event->st, err) < 0) {
			return -1;
		}
	}
	return 0;
}

int
pkg_tree_walk(
	int dirfd, const char *path, pkg_tree_visit_fn *visit, void *context, struct pkg_error *err)
{
	pkg_autofd int root = pkg_dir_open_at(dirfd, path, err);
	struct walk walk = { .root = root };
	int result;

	if (root < 0)
		return -1;
	walk.buffer = pkg_xmalloc(PKG_TREE_ENTRIES_SIZE);
	result = walk_all(&walk, visit, context, err);
	while (walk.depth > 0)
		leave(&walk);
	free(walk.stack);
	free(walk.buffer);
	return result;
}
