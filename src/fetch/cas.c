#include "fetch/cas.h"

#include "core/buf.h"
#include "core/file.h"
#include "core/path.h"
#include "core/sha256.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHUNK (1 << 20)

struct fetch_cas {
	char *files;
	char *partial;
	int batches; /* begin without end */
	bool unsynced; /* something came in since */
};

struct fetch_cas *
fetch_cas_open(const char *cache_dir, struct pkg_error *err)
{
	pkg_cleanup(fetch_cas_free) struct fetch_cas *cas = pkg_xcalloc(1, sizeof(*cas));

	cas->files = pkg_path_join(cache_dir, "files");
	cas->partial = pkg_path_join(cache_dir, "partial");
	/* The files are mounted read-only in sandboxes; what is still unproven is nobody else's. */
	if (pkg_dir_make(cas->files, 0755, err) < 0 || pkg_dir_make(cas->partial, 0700, err) < 0)
		return NULL;
	return pkg_steal_ptr(&cas);
}

void
fetch_cas_free(struct fetch_cas *cas)
{
	if (!cas)
		return;
	free(cas->files);
	free(cas->partial);
	free(cas);
}

char *
fetch_cas_path(struct fetch_cas *cas, const char *sha256)
{
	return pkg_path_joinf(cas->files, "%.2s/%s", sha256, sha256);
}

char *
fetch_cas_partial(struct fetch_cas *cas, const char *sha256)
{
	return pkg_path_join(cas->partial, sha256);
}

static int
check_name(const char *sha256, struct pkg_error *err)
{
	if (!pkg_sha256_is_hex(sha256))
		return pkg_error_set(err, PKG_E_INVALID, "'%s' is not a sha256", sha256);
	return 0;
}

bool
fetch_cas_has(struct fetch_cas *cas, const char *sha256)
{
	pkg_autofree char *path = NULL;
	struct stat st;

	if (!pkg_sha256_is_hex(sha256))
		return false;
	path = fetch_cas_path(cas, sha256);
	return lstat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0;
}

/* Hashes len bytes (-1: all there are) from the descriptor's offset; copies them to out unless that
 * is -1. *total is what there was: the caller compares. */
static int
hash_stream(int in, int out, long long len, char hex[PKG_SHA256_HEX], long long *total,
	struct pkg_error *err)
{
	pkg_cleanup(pkg_sha256_free) struct pkg_sha256 *sha = pkg_sha256_new();
	pkg_autofree char *chunk = pkg_xmalloc(CHUNK);

	*total = 0;
	while (len < 0 || *total < len) {
		size_t want = len < 0 || len - *total > CHUNK ? CHUNK : (size_t)(len - *total);
		ssize_t got = read(in, chunk, want);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return pkg_error_errno(err, errno, "read");
		if (got == 0)
			break;
		pkg_sha256_add(sha, chunk, (size_t)got);
		if (out >= 0 && pkg_write_all(out, chunk, (size_t)got, err) < 0)
			return -1;
		*total += got;
	}
	pkg_sha256_end_hex(sha, hex);
	return 0;
}

/* Another process may have put a good file in its place meanwhile: only what was read goes. */
static void
remove_damaged(const char *path, int fd)
{
	struct stat mine;
	struct stat there;

	if (fstat(fd, &mine) == 0 && lstat(path, &there) == 0 && mine.st_ino == there.st_ino &&
		mine.st_dev == there.st_dev)
		(void)unlink(path);
}

int
fetch_cas_get(struct fetch_cas *cas, const char *sha256, long long *size, struct pkg_error *err)
{
	pkg_autofree char *path = NULL;
	pkg_autofd int fd = -1;
	char hex[PKG_SHA256_HEX];
	long long total;
	struct stat st;

	if (check_name(sha256, err) < 0)
		return -1;
	path = fetch_cas_path(cas, sha256);
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return pkg_error_set(err, PKG_E_NOT_FOUND, "%s is not in the cache", sha256);
	if (fd < 0 && errno != ELOOP)
		return pkg_error_errno(err, errno, "open '%s'", path);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		(void)unlink(path);
		return pkg_error_set(
			err, PKG_E_NOT_FOUND, "%s in the cache was no regular file", sha256);
	}
	if (hash_stream(fd, -1, -1, hex, &total, err) < 0)
		return pkg_error_prefix(err, "'%s'", path);
	if (strcmp(hex, sha256) != 0) {
		remove_damaged(path, fd);
		return pkg_error_set(err, PKG_E_NOT_FOUND,
			"%s in the cache was damaged (its content has sha256 %s)", sha256, hex);
	}
	if (lseek(fd, 0, SEEK_SET) < 0)
		return pkg_error_errno(err, errno, "rewind '%s'", path);
	if (size)
		*size = total;
	return pkg_steal_fd(&fd);
}

int
fetch_cas_temp(struct fetch_cas *cas, char **path, struct pkg_error *err)
{
	pkg_autofree char *name = pkg_path_join(cas->partial, "tmp-XXXXXX");
	int fd = mkostemp(name, O_CLOEXEC);

	if (fd < 0)
		return pkg_error_errno(err, errno, "create a file in '%s'", cas->partial);
	*path = pkg_steal_ptr(&name);
	return fd;
}

int
fetch_cas_adopt_hashed(
	struct fetch_cas *cas, const char *sha256, const char *path, int fd, struct pkg_error *err)
{
	pkg_autofree char *target = NULL;
	pkg_autofree char *shard = NULL;

	if (check_name(sha256, err) < 0)
		return -1;
	target = fetch_cas_path(cas, sha256);
	shard = pkg_path_dir(target);
	if (fchmod(fd, 0444) < 0)
		return pkg_error_errno(err, errno, "change mode of '%s'", path);
	if (!cas->batches && fsync(fd) < 0)
		return pkg_error_errno(err, errno, "write '%s'", path);
	if (pkg_dir_make(shard, 0755, err) < 0)
		return -1;
	if (rename(path, target) < 0)
		return pkg_error_errno(err, errno, "rename '%s' to '%s'", path, target);
	cas->unsynced = true;
	return cas->batches ? 0 : pkg_dir_sync(shard, err);
}

static int
mismatch(struct pkg_error *err, const char *path, const char *expected, const char *got)
{
	return pkg_error_set(err, PKG_E_HASH, "'%s': sha256 expected %s, got %s",
		pkg_path_base(path), expected, got);
}

int
fetch_cas_adopt(struct fetch_cas *cas, const char *sha256, const char *path, struct pkg_error *err)
{
	pkg_autofd int fd = -1;
	char hex[PKG_SHA256_HEX];
	long long total;

	if (check_name(sha256, err) < 0)
		return -1;
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return pkg_error_errno(err, errno, "open '%s'", path);
	if (hash_stream(fd, -1, -1, hex, &total, err) < 0)
		return pkg_error_prefix(err, "'%s'", path);
	if (strcmp(hex, sha256) != 0) {
		(void)unlink(path);
		return mismatch(err, path, sha256, hex);
	}
	return fetch_cas_adopt_hashed(cas, sha256, path, fd, err);
}

static int
put_temp(struct fetch_cas *cas, const char *sha256, const char *path, int temp, int fd,
	long long len, char hex[PKG_SHA256_HEX], struct pkg_error *err)
{
	long long total;

	if (hash_stream(fd, temp, len, hex, &total, err) < 0)
		return pkg_error_prefix(err, "copy into the cache");
	if (len >= 0 && total != len)
		return pkg_error_set(err, PKG_E_HASH,
			"copy into the cache: %lld bytes expected, %lld there", len, total);
	if (sha256 && strcmp(hex, sha256) != 0)
		return pkg_error_set(err, PKG_E_HASH,
			"copy into the cache: sha256 expected %s, got %s", sha256, hex);
	return fetch_cas_adopt_hashed(cas, hex, path, temp, err);
}

int
fetch_cas_put_fd(struct fetch_cas *cas, const char *sha256, int fd, long long len, char *out_sha256,
	struct pkg_error *err)
{
	pkg_autofree char *path = NULL;
	pkg_autofd int temp = -1;
	char hex[PKG_SHA256_HEX];

	if (sha256 && check_name(sha256, err) < 0)
		return -1;
	temp = fetch_cas_temp(cas, &path, err);
	if (temp < 0)
		return -1;
	if (put_temp(cas, sha256, path, temp, fd, len, hex, err) < 0) {
		(void)unlink(path);
		return -1;
	}
	if (out_sha256)
		memcpy(out_sha256, hex, sizeof(hex));
	return 0;
}

void
fetch_cas_batch_begin(struct fetch_cas *cas)
{
	if (cas->batches++ == 0)
		cas->unsynced = false;
}

int
fetch_cas_batch_end(struct fetch_cas *cas, struct pkg_error *err)
{
	if (--cas->batches > 0 || !cas->unsynced)
		return 0;
	cas->unsynced = false;
	return pkg_fs_sync(cas->files, err);
}
