/* fetch/cas.h - the content-addressed cache of downloaded files.
 * Purpose    <cache>/files/<2 hex>/<sha256>: complete and right, or absent. A file is hashed
 *            again before it is used; a damaged one is removed and reported as absent.
 * Ownership  struct fetch_cas is a heap object; descriptors and paths are given.
 * Errors     pkg_error_errno(); PKG_E_HASH when bytes put in are not what was announced;
 *            PKG_E_INVALID for a name that is not 64 lower-case hexadecimal digits.
 */
#ifndef FETCH_CAS_H
#define FETCH_CAS_H
#include "core/error.h"
#include <stdbool.h>

struct fetch_cas;
struct fetch_cas *fetch_cas_open(const char *cache_dir, struct pkg_error *err);
void fetch_cas_free(struct fetch_cas *cas);
PKG_DEFINE_CLEANUP(struct fetch_cas, fetch_cas_free)
/* Descriptor at offset 0 of the verified file (O_RDONLY), or -1: PKG_E_NOT_FOUND when it is absent
 * or was damaged (and is gone now). size may be NULL. */
int fetch_cas_get(
	struct fetch_cas *cas, const char *sha256, long long *size, struct pkg_error *err);
/* By name and size > 0 only, no hashing. */
bool fetch_cas_has(struct fetch_cas *cas, const char *sha256);
char *fetch_cas_path(struct fetch_cas *cas, const char *sha256); /* given; exists or not */
/* Where an unfinished download of that file grows, and resumes: <cache>/partial/<sha256>. */
char *fetch_cas_partial(struct fetch_cas *cas, const char *sha256);
/* A new empty file beside the partial ones, for content without a name yet: the descriptor, and its
 * path, given. */
int fetch_cas_temp(struct fetch_cas *cas, char **path, struct pkg_error *err);
/* Hashes the file at path, and if it is right moves (rename, mode 0444) it in; else removes it:
 * PKG_E_HASH. */
int fetch_cas_adopt(
	struct fetch_cas *cas, const char *sha256, const char *path, struct pkg_error *err);
/* The same for a caller that hashed every byte on its way into the file, which fd has open. */
int fetch_cas_adopt_hashed(
	struct fetch_cas *cas, const char *sha256, const char *path, int fd, struct pkg_error *err);
/* Copies from the descriptor's current offset, len bytes (-1: to the end), checking the hash;
 * sha256 NULL: whatever it is, told in out_sha256 (65 bytes, may be NULL). */
int fetch_cas_put_fd(struct fetch_cas *cas, const char *sha256, int fd, long long len,
	char *out_sha256, struct pkg_error *err);
/* What comes in is on disk before it has its name. Between begin and end that is put off, and end
 * brings all of it there with one syncfs: after a crash in between a file may be damaged, which
 * fetch_cas_get() notices. */
void fetch_cas_batch_begin(struct fetch_cas *cas);
int fetch_cas_batch_end(struct fetch_cas *cas, struct pkg_error *err);
#endif
