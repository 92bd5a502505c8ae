#include "core/file.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { READ_CHUNK = 64 * 1024 };

static ssize_t
read_retry(int fd, void *data, size_t len)
{
	ssize_t n;

	do {
		n = read(fd, data, len);
	} while (n < 0 && errno == EINTR);
	return n;
}

/* Appends what fd holds. On failure out may be longer than before; the caller cuts it. */
static int
read_all(int fd, const char *path, size_t max, struct pkg_buf *out, struct pkg_error *err)
{
	size_t got = 0;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return pkg_error_errno(err, errno, "read '%s'", path);
	/* Whoever may write to the directory could have left a FIFO that never ends. */
	if (!S_ISREG(st.st_mode))
		return pkg_error_set(err, PKG_E_INVALID, "read '%s': not a regular file", path);
	if ((uintmax_t)st.st_size > max)
		return pkg_error_set(err, PKG_E_TOO_LARGE,
			"read '%s': %jd bytes, at most %zu allowed", path, (intmax_t)st.st_size,
			max);
	for (;;) {
		/* One more than what the size promises, so that the end is seen in one go. */
		size_t want = (size_t)st.st_size > got ? (size_t)st.st_size - got + 1 : 4096;
		ssize_t n;

		want = want < READ_CHUNK ? want : READ_CHUNK;
		pkg_buf_reserve(out, want + 1);
		n = read_retry(fd, out->data + out->len, want);
		if (n < 0)
			return pkg_error_errno(err, errno, "read '%s'", path);
		out->len += (size_t)n;
		out->data[out->len] = '\0';
		got += (size_t)n;
		if (got > max)
			return pkg_error_set(
				err, PKG_E_TOO_LARGE, "read '%s': more than %zu bytes", path, max);
		if (n == 0)
			return 0;
	}
}

static int
read_and_close(int opened, const char *path, size_t max, struct pkg_buf *out, struct pkg_error *err)
{
	pkg_autofd int fd = opened;
	size_t before = out->len;

	if (read_all(fd, path, max, out, err) < 0) {
		pkg_buf_truncate(out, before);
		return -1;
	}
	return 0;
}

int
pkg_file_read_at(
	int dirfd, const char *path, size_t max, struct pkg_buf *out, struct pkg_error *err)
{
	/* O_NONBLOCK: opening a FIFO must not wait for its writer. */
	int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	if (fd < 0)
		return pkg_error_errno(err, errno, "open '%s'", path);
	return read_and_close(fd, path, max, out, err);
}

int
pkg_file_read(const char *path, size_t max, struct pkg_buf *out, struct pkg_error *err)
{
	return pkg_file_read_at(AT_FDCWD, path, max, out, err);
}

int
pkg_file_open_beneath(int dirfd, const char *path, int flags, mode_t mode, struct pkg_error *err)
{
	struct open_how how = {
		.flags = (unsigned)(flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK),
		.mode = flags & O_CREAT ? mode : 0,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	long fd;

	/* EAGAIN: somebody renames above us, and the kernel could not be sure. */
	do {
		fd = syscall(SYS_openat2, dirfd, path, &how, sizeof(how));
	} while (fd < 0 && (errno == EINTR || errno == EAGAIN));
	if (fd < 0)
		return pkg_error_errno(err, errno, "open '%s'", path);
	return (int)fd;
}

int
pkg_file_read_beneath(
	int dirfd, const char *path, size_t max, struct pkg_buf *out, struct pkg_error *err)
{
	int fd = pkg_file_open_beneath(dirfd, path, O_RDONLY, 0, err);

	return fd < 0 ? -1 : read_and_close(fd, path, max, out, err);
}

int
pkg_write_all(int fd, const void *data, size_t len, struct pkg_error *err)
{
	const char *at = data;

	while (len > 0) {
		ssize_t n = write(fd, at, len);

		if (n < 0 && errno == EAGAIN) {
			struct pollfd wait = { .fd = fd, .events = POLLOUT };

			/* Somebody made our end non-blocking (terminals are shared). */
			(void)poll(&wait, 1, -1);
			continue;
		}
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return pkg_error_errno(err, errno, "write");
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

void
pkg_temp_name(char out[PKG_TEMP_NAME])
{
	uint64_t number;

	/* Never fails for so few bytes once the pool is ready, and waits until it is. */
	while (getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number))
		;
	(void)snprintf(out, PKG_TEMP_NAME, ".tmp-%016jx", (uintmax_t)number);
}

/* Opens the directory that path is in and points *name at its last component. */
static int
open_parent(int dirfd, const char *path, const char **name, struct pkg_error *err)
{
	const char *slash = strrchr(path, '/');
	pkg_autofree char *parent = NULL;
	int fd;

	*name = slash ? slash + 1 : path;
	if (!slash)
		parent = pkg_xstrdup(".");
	else
		parent = pkg_xstrndup(path, slash == path ? 1 : (size_t)(slash - path));
	fd = openat(dirfd, parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return pkg_error_errno(err, errno, "open directory '%s'", parent);
	return fd;
}

static int
write_temp(int dir, const char *temp, const char *path, const void *data, size_t len, mode_t mode,
	bool durable, struct pkg_error *err)
{
	pkg_autofd int fd = openat(
		dir, temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode & 0700);

	if (fd < 0)
		return pkg_error_errno(err, errno, "create '%s'", path);
	if (pkg_write_all(fd, data, len, err) < 0)
		return pkg_error_prefix(err, "write '%s'", path);
	/* After the contents, and past the umask: the mode is exactly the one asked for. */
	if (fchmod(fd, mode) < 0)
		return pkg_error_errno(err, errno, "set the mode of '%s'", path);
	if (durable && fsync(fd) < 0)
		return pkg_error_errno(err, errno, "sync '%s'", path);
	return 0;
}

int
pkg_file_write_at(int dirfd, const char *path, const void *data, size_t len, mode_t mode,
	bool durable, struct pkg_error *err)
{
	char temp[PKG_TEMP_NAME];
	const char *name = NULL;
	pkg_autofd int dir = open_parent(dirfd, path, &name, err);

	if (dir < 0)
		return -1;
	pkg_temp_name(temp);
	if (write_temp(dir, temp, path, data, len, mode, durable, err) < 0)
		goto undo;
	if (renameat(dir, temp, dir, name) < 0) {
		pkg_error_errno(err, errno, "replace '%s'", path);
		goto undo;
	}
	if (durable && fsync(dir) < 0)
		return pkg_error_errno(err, errno, "sync the directory of '%s'", path);
	return 0;
undo:
	(void)unlinkat(dir, temp, 0);
	return -1;
}

int
pkg_file_write(const char *path, const void *data, size_t len, mode_t mode, bool durable,
	struct pkg_error *err)
{
	return pkg_file_write_at(AT_FDCWD, path, data, len, mode, durable, err);
}

/* 0: it is there now; else an errno. */
static int
make_one(int dirfd, const char *path, mode_t mode)
{
	struct stat st;

	if (mkdirat(dirfd, path, mode) == 0)
		return 0;
	if (errno != EEXIST)
		return errno;
	if (fstatat(dirfd, path, &st, 0) < 0)
		return errno;
	return S_ISDIR(st.st_mode) ? 0 : ENOTDIR;
}

int
pkg_dir_make_at(int dirfd, const char *path, mode_t mode, struct pkg_error *err)
{
	pkg_autofree char *copy = NULL;
	int sys = make_one(dirfd, path, mode);

	if (sys == 0)
		return 0;
	if (sys != ENOENT || *path == '\0')
		return pkg_error_errno(err, sys, "create directory '%s'", path);
	copy = pkg_xstrdup(path);
	for (char *at = copy + 1; *at; at++) {
		if (*at != '/' || at[-1] == '/')
			continue;
		*at = '\0';
		/* We have to get into what we make. */
		sys = make_one(dirfd, copy, mode | 0300);
		if (sys)
			return pkg_error_errno(err, sys, "create directory '%s'", copy);
		*at = '/';
	}
	sys = make_one(dirfd, path, mode);
	return sys ? pkg_error_errno(err, sys, "create directory '%s'", path) : 0;
}

int
pkg_dir_make(const char *path, mode_t mode, struct pkg_error *err)
{
	return pkg_dir_make_at(AT_FDCWD, path, mode, err);
}

int
pkg_dir_open_at(int dirfd, const char *path, struct pkg_error *err)
{
	pkg_autofree char *copy = pkg_xstrdup(path);
	size_t len = strlen(copy);
	int fd;

	/* "link/" would be followed in spite of O_NOFOLLOW. */
	while (len > 1 && copy[len - 1] == '/')
		copy[--len] = '\0';
	fd = openat(dirfd, copy, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? pkg_error_errno(err, errno, "open directory '%s'", path) : fd;
}

int
pkg_dir_open(const char *path, struct pkg_error *err)
{
	return pkg_dir_open_at(AT_FDCWD, path, err);
}

bool
pkg_file_exists(const char *path)
{
	return faccessat(AT_FDCWD, path, F_OK, 0) == 0;
}

int
pkg_dir_sync(const char *path, struct pkg_error *err)
{
	pkg_autofd int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return pkg_error_errno(err, errno, "open directory '%s'", path);
	return fsync(fd) < 0 ? pkg_error_errno(err, errno, "sync directory '%s'", path) : 0;
}

int
pkg_fs_sync(const char *path, struct pkg_error *err)
{
	pkg_autofd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return pkg_error_errno(err, errno, "open '%s'", path);
	return syncfs(fd) < 0 ? pkg_error_errno(err, errno, "sync the file system of '%s'", path)
			      : 0;
}
