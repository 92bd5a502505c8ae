/* fetch/unpack.h - write a zip file's entries below one directory, trusting nothing in it.
 * Purpose    Every entry confined, read by one reading of the archive, within limits, hashed on
 *            its way, and written as a regular file (0444, or 0555 when it had an x bit; less
 *            the umask) or a directory. What a file must be (RECORD of a wheel) is the caller's
 *            to say: lang/wheel_verify.h.
 * Ownership  An unpacker is a heap object that exists only for an archive whose names and sizes
 *            were found good; the descriptor is borrowed for its life.
 * Errors     PKG_E_ARCHIVE that names the entry and what is wrong with it (fetch/zipdir.h and
 *            fetch/zip_names.h list what is refused); PKG_E_TOO_LARGE; PKG_E_DISK_FULL. The
 *            directory may hold a part then; the caller removes it.
 */
#ifndef FETCH_UNPACK_H
#define FETCH_UNPACK_H
#include "core/sha256.h"
#include "fetch/zipdir.h"

struct fetch_unpack_limits {
	long long max_entries; /* 0: 200,000, which is also the most */
	long long max_file; /* unpacked bytes of one entry; 0: 4 GiB */
	long long max_total; /* 0: 16 GiB */
	int max_ratio; /* unpacked/packed over the whole archive above 64 MiB; 0: 200 */
};

struct fetch_unpacked_file {
	const char *path; /* borrowed from the archive's listing */
	unsigned char sha256[PKG_SHA256_BYTES];
	long long size;
	bool exec;
};
/* Called once for each file, in the order of the archive, when it is complete. -1 ends the
 * unpacking with *err as set. */
typedef int fetch_unpacked_fn(
	void *context, const struct fetch_unpacked_file *file, struct pkg_error *err);

struct fetch_unpack;
/* limits may be NULL: the defaults. */
struct fetch_unpack *fetch_unpack_open(
	int zip_fd, const struct fetch_unpack_limits *limits, struct pkg_error *err);
void fetch_unpack_free(struct fetch_unpack *unpack);
PKG_DEFINE_CLEANUP(struct fetch_unpack, fetch_unpack_free)
const struct fetch_zip *fetch_unpack_list(const struct fetch_unpack *unpack); /* borrowed */
/* dir_fd: an empty directory that nobody else writes to. */
int fetch_unpack_run(struct fetch_unpack *unpack, int dir_fd, fetch_unpacked_fn *done,
	void *context, struct pkg_error *err);
#endif
