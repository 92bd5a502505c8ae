#include "fetch/unpack.h"

#include "core/file.h"
#include "fetch/zip_names.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_FILE (4LL << 30)
#define MAX_TOTAL (16LL << 30)
#define MAX_RATIO 200
#define RATIO_FROM (64LL << 20) /* nobody is hurt by less */
#define DEPTH_MAX 64 /* as zip_names.c */

struct fetch_unpack {
	int fd;
	struct fetch_zip *zip;
	struct fetch_zip_reader *reader;
};

/* The directories from the root to where the last file went, open: the next file most often goes to
 * one of them. Made one by one and never through a name that was looked up before, though nobody
 * but us should be writing here. */
struct place {
	int root; /* borrowed */
	size_t depth;
	int fds[DEPTH_MAX];
	const char *names[DEPTH_MAX]; /* borrowed from the listing, not terminated */
	size_t lens[DEPTH_MAX];
};

struct writer {
	int fd;
	struct pkg_sha256 *sha;
};

/* Limits. */

static int
check_sizes(const struct fetch_zip *zip, const struct fetch_unpack_limits *limits,
	struct pkg_error *err)
{
	uint64_t max_entries = limits->max_entries > 0 ? (uint64_t)limits->max_entries : SIZE_MAX;
	uint64_t max_file = (uint64_t)(limits->max_file > 0 ? limits->max_file : MAX_FILE);
	uint64_t max_total = (uint64_t)(limits->max_total > 0 ? limits->max_total : MAX_TOTAL);
	uint64_t max_ratio = (uint64_t)(limits->max_ratio > 0 ? limits->max_ratio : MAX_RATIO);
	uint64_t total = 0;

	if (zip->count > max_entries)
		return pkg_error_set(err, PKG_E_TOO_LARGE, "%zu entries, allowed are %llu",
			zip->count, (unsigned long long)max_entries);
	for (size_t i = 0; i < zip->count; i++) {
		uint64_t size = zip->entries[i].size;

		/* Neither sum can overflow: each size is bounded before it is added. */
		if (size > max_file || size > max_total - total)
			return pkg_error_set(err, PKG_E_TOO_LARGE,
				"unpacks to more than the %llu bytes allowed for %s",
				(unsigned long long)(size > max_file ? max_file : max_total),
				size > max_file ? "one file" : "all files");
		total += size;
	}
	if (total > (uint64_t)RATIO_FROM && total / max_ratio >= zip->file_size)
		return pkg_error_set(err, PKG_E_TOO_LARGE,
			"unpacks %llu bytes to %llu, more than %llu times as many",
			(unsigned long long)zip->file_size, (unsigned long long)total,
			(unsigned long long)max_ratio);
	return 0;
}

struct fetch_unpack *
fetch_unpack_open(int zip_fd, const struct fetch_unpack_limits *limits, struct pkg_error *err)
{
	static const struct fetch_unpack_limits defaults;
	pkg_cleanup(fetch_unpack_free) struct fetch_unpack *unpack =
		pkg_xcalloc(1, sizeof(*unpack));

	unpack->fd = zip_fd;
	unpack->zip = fetch_zip_open_fd(zip_fd, err);
	if (!unpack->zip || check_sizes(unpack->zip, limits ? limits : &defaults, err) < 0 ||
		fetch_zip_check_names(unpack->zip, err) < 0)
		return NULL;
	return pkg_steal_ptr(&unpack);
}

void
fetch_unpack_free(struct fetch_unpack *unpack)
{
	if (!unpack)
		return;
	fetch_zip_free(unpack->zip);
	free(unpack);
}

const struct fetch_zip *
fetch_unpack_list(const struct fetch_unpack *unpack)
{
	return unpack->zip;
}

/* Places. */

static void
place_pop(struct place *place, size_t depth)
{
	while (place->depth > depth)
		pkg_close(&place->fds[--place->depth]);
}

static int
place_fd(const struct place *place)
{
	return place->depth > 0 ? place->fds[place->depth - 1] : place->root;
}

static int
place_push(struct place *place, const char *name, size_t len, struct pkg_error *err)
{
	char component[NAME_MAX + 1];
	int parent = place_fd(place);
	int fd;

	memcpy(component, name, len);
	component[len] = '\0';
	if (mkdirat(parent, component, 0755) < 0 && errno != EEXIST)
		return pkg_error_errno(err, errno, "create directory '%s'", component);
	fd = openat(parent, component, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return pkg_error_errno(err, errno, "open directory '%s'", component);
	place->fds[place->depth] = fd;
	place->names[place->depth] = name;
	place->lens[place->depth] = len;
	place->depth++;
	return 0;
}

/* Goes to the directory that path lies in (all of path when it ends in '/'); its last component. */
static const char *
place_go(struct place *place, const char *path, struct pkg_error *err)
{
	size_t depth = 0;
	const char *slash;

	while ((slash = strchr(path, '/')) != NULL) {
		size_t len = (size_t)(slash - path);

		if (depth >= place->depth || place->lens[depth] != len ||
			memcmp(place->names[depth], path, len) != 0) {
			place_pop(place, depth);
			if (place_push(place, path, len, err) < 0)
				return NULL;
		}
		depth++;
		path = slash + 1;
	}
	place_pop(place, depth);
	return path;
}

/* Files. */

static int
write_bytes(void *context, const void *data, size_t len, struct pkg_error *err)
{
	struct writer *writer = context;

	pkg_sha256_add(writer->sha, data, len);
	return pkg_write_all(writer->fd, data, len, err);
}

static int
unpack_file(struct fetch_unpack *unpack, const struct fetch_zip_entry *entry, int parent,
	const char *base, struct pkg_sha256 *sha, fetch_unpacked_fn *done, void *context,
	struct pkg_error *err)
{
	struct fetch_unpacked_file file = {
		.path = entry->name,
		.size = (long long)entry->size,
		.exec = entry->mode & 0111,
	};
	pkg_autofd int fd = openat(parent, base,
		O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, file.exec ? 0555 : 0444);
	struct writer writer = { .fd = fd, .sha = sha };

	if (fd < 0)
		return pkg_error_errno(err, errno, "create '%s'", entry->name);
	if (fetch_zip_read(unpack->reader, entry, write_bytes, &writer, err) < 0)
		return -1;
	pkg_sha256_end(sha, file.sha256);
	return done ? done(context, &file, err) : 0;
}

static int
unpack_all(struct fetch_unpack *unpack, struct place *place, fetch_unpacked_fn *done, void *context,
	struct pkg_error *err)
{
	pkg_cleanup(pkg_sha256_free) struct pkg_sha256 *sha = pkg_sha256_new();

	for (size_t i = 0; i < unpack->zip->count; i++) {
		const struct fetch_zip_entry *entry = &unpack->zip->entries[i];
		const char *base = place_go(place, entry->name, err);

		if (!base)
			return -1;
		if (fetch_zip_is_directory(entry)) {
			/* Nothing to write, but its bytes must be in order like the others'. */
			if (fetch_zip_read(unpack->reader, entry, write_bytes, NULL, err) < 0)
				return -1;
			continue;
		}
		if (unpack_file(unpack, entry, place_fd(place), base, sha, done, context, err) < 0)
			return -1;
	}
	return 0;
}

int
fetch_unpack_run(struct fetch_unpack *unpack, int dir_fd, fetch_unpacked_fn *done, void *context,
	struct pkg_error *err)
{
	pkg_cleanup(fetch_zip_reader_free) struct fetch_zip_reader *reader =
		fetch_zip_reader_new_fd(unpack->fd);
	struct place place = { .root = dir_fd };
	int result;

	unpack->reader = reader;
	result = unpack_all(unpack, &place, done, context, err);
	unpack->reader = NULL;
	place_pop(&place, 0);
	return result;
}
