/* core/sha256.h - SHA-256 (FIPS 180-4), by libcrypto.
 * Purpose    The names of files in the cache and the hash of a plan.
 * Ownership  A struct pkg_sha256 is a heap object; digests are written into caller's storage.
 * Errors     pkg_error_errno() for files that cannot be read.
 */
#ifndef CORE_SHA256_H
#define CORE_SHA256_H
#include "core/error.h"
#include <stdbool.h>

#define PKG_SHA256_BYTES 32
#define PKG_SHA256_HEX 65 /* 64 lower-case digits and NUL */

struct pkg_sha256;
struct pkg_sha256 *pkg_sha256_new(void);
void pkg_sha256_free(struct pkg_sha256 *sha);
PKG_DEFINE_CLEANUP(struct pkg_sha256, pkg_sha256_free)
void pkg_sha256_add(struct pkg_sha256 *sha, const void *data, size_t len);
/* The object can be used again for a new message afterwards. */
void pkg_sha256_end(struct pkg_sha256 *sha, unsigned char out[PKG_SHA256_BYTES]);
void pkg_sha256_end_hex(struct pkg_sha256 *sha, char out[PKG_SHA256_HEX]);
void pkg_sha256_hex(const void *data, size_t len, char out[PKG_SHA256_HEX]);
/* From the descriptor's current offset to its end. */
int pkg_sha256_fd(int fd, char out[PKG_SHA256_HEX], struct pkg_error *err);
int pkg_sha256_file(const char *path, char out[PKG_SHA256_HEX], struct pkg_error *err);
bool pkg_sha256_is_hex(const char *text); /* 64 lower-case hexadecimal digits */
/* URL-safe base64 without padding, as RECORD files write it (43 characters and NUL). */
void pkg_sha256_base64url(const unsigned char digest[PKG_SHA256_BYTES], char out[44]);
#endif
