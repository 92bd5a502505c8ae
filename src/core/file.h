/* core/file.h - whole files and directories.
 * Purpose    Bounded reads, atomic writes, directories made and synced, beneath descriptors with
 *            *at() calls.
 * Ownership  Contents are given to the caller.
 * Errors     pkg_error_errno() of the call that failed, naming the path.
 */
#ifndef CORE_FILE_H
#define CORE_FILE_H
#include "core/buf.h"
#include "core/error.h"
#include <stdbool.h>
#include <sys/types.h>

/* Appends at most max bytes to out, which is as it was after a failure; more is PKG_E_TOO_LARGE,
 * anything but a regular file PKG_E_INVALID. dirfd may be AT_FDCWD. */
int pkg_file_read_at(
	int dirfd, const char *path, size_t max, struct pkg_buf *out, struct pkg_error *err);
int pkg_file_read(const char *path, size_t max, struct pkg_buf *out, struct pkg_error *err);
/* For directories that others could write to (a sandbox's output): the path stays beneath dirfd and
 * no component of it may be a symlink. flags as open(2); the descriptor is given, close-on-exec. */
int pkg_file_open_beneath(
	int dirfd, const char *path, int flags, mode_t mode, struct pkg_error *err);
int pkg_file_read_beneath(
	int dirfd, const char *path, size_t max, struct pkg_buf *out, struct pkg_error *err);
/* ".tmp-" and 16 random hexadecimal digits: the names that half-done files carry. */
#define PKG_TEMP_NAME 22
void pkg_temp_name(char out[PKG_TEMP_NAME]);
/* Temporary name, write, fsync when durable, rename. */
int pkg_file_write_at(int dirfd, const char *path, const void *data, size_t len, mode_t mode,
	bool durable, struct pkg_error *err);
int pkg_file_write(const char *path, const void *data, size_t len, mode_t mode, bool durable,
	struct pkg_error *err);
/* mkdir -p; existing directories are fine, anything else in the way is an error. */
int pkg_dir_make(const char *path, mode_t mode, struct pkg_error *err);
int pkg_dir_make_at(int dirfd, const char *path, mode_t mode, struct pkg_error *err);
/* O_DIRECTORY|O_CLOEXEC (and O_NOFOLLOW for the last component); -1 on failure. */
int pkg_dir_open(const char *path, struct pkg_error *err);
int pkg_dir_open_at(int dirfd, const char *path, struct pkg_error *err);
bool pkg_file_exists(const char *path); /* follows symlinks */
/* fsync of a directory. */
int pkg_dir_sync(const char *path, struct pkg_error *err);
/* syncfs of the file system that holds path: everything written there is on disk afterwards. */
int pkg_fs_sync(const char *path, struct pkg_error *err);
/* write(2) until all is written; EINTR retried. */
int pkg_write_all(int fd, const void *data, size_t len, struct pkg_error *err);
#endif
