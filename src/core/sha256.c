#include "core/sha256.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <string.h>
#include <stdlib.h>
#include <unistd.h>

struct pkg_sha256 {
	EVP_MD_CTX *context; /* owned; always ready for more */
};

static void
check(int status)
{
	if (status != 1)
		pkg_abort("libcrypto has no SHA-256");
}

struct pkg_sha256 *
pkg_sha256_new(void)
{
	struct pkg_sha256 *sha = pkg_xcalloc(1, sizeof(*sha));

	sha->context = EVP_MD_CTX_new();
	if (!sha->context)
		pkg_abort("out of memory");
	check(EVP_DigestInit_ex(sha->context, EVP_sha256(), NULL));
	return sha;
}

void
pkg_sha256_free(struct pkg_sha256 *sha)
{
	if (!sha)
		return;
	EVP_MD_CTX_free(sha->context);
	free(sha);
}

void
pkg_sha256_add(struct pkg_sha256 *sha, const void *data, size_t len)
{
	if (len > 0)
		check(EVP_DigestUpdate(sha->context, data, len));
}

void
pkg_sha256_end(struct pkg_sha256 *sha, unsigned char out[PKG_SHA256_BYTES])
{
	check(EVP_DigestFinal_ex(sha->context, out, NULL));
	/* Without a digest it takes the one it has, and need not look it up again. */
	check(EVP_DigestInit_ex(sha->context, NULL, NULL));
}

void
pkg_sha256_end_hex(struct pkg_sha256 *sha, char out[PKG_SHA256_HEX])
{
	static const char digits[] = "0123456789abcdef";
	unsigned char digest[PKG_SHA256_BYTES];

	pkg_sha256_end(sha, digest);
	for (size_t i = 0; i < PKG_SHA256_BYTES; i++) {
		out[2 * i] = digits[digest[i] >> 4];
		out[2 * i + 1] = digits[digest[i] & 15];
	}
	out[PKG_SHA256_HEX - 1] = '\0';
}

void
pkg_sha256_hex(const void *data, size_t len, char out[PKG_SHA256_HEX])
{
	pkg_cleanup(pkg_sha256_free) struct pkg_sha256 *sha = pkg_sha256_new();

	pkg_sha256_add(sha, data, len);
	pkg_sha256_end_hex(sha, out);
}

int
pkg_sha256_fd(int fd, char out[PKG_SHA256_HEX], struct pkg_error *err)
{
	pkg_cleanup(pkg_sha256_free) struct pkg_sha256 *sha = pkg_sha256_new();
	char buffer[64 * 1024];
	ssize_t got;

	while ((got = read(fd, buffer, sizeof(buffer))) != 0) {
		if (got > 0)
			pkg_sha256_add(sha, buffer, (size_t)got);
		else if (errno != EINTR)
			return pkg_error_errno(err, errno, "read a file to hash it");
	}
	pkg_sha256_end_hex(sha, out);
	return 0;
}

int
pkg_sha256_file(const char *path, char out[PKG_SHA256_HEX], struct pkg_error *err)
{
	pkg_autofd int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return pkg_error_errno(err, errno, "open '%s'", path);
	(void)posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	if (pkg_sha256_fd(fd, out, err) < 0)
		return pkg_error_prefix(err, "'%s'", path);
	return 0;
}

bool
pkg_sha256_is_hex(const char *text)
{
	return text && strspn(text, "0123456789abcdef") == PKG_SHA256_HEX - 1 &&
		text[PKG_SHA256_HEX - 1] == '\0';
}

void
pkg_sha256_base64url(const unsigned char digest[PKG_SHA256_BYTES], char out[44])
{
	unsigned char padded[45];

	(void)EVP_EncodeBlock(padded, digest, PKG_SHA256_BYTES);
	for (size_t i = 0; i < 43; i++) {
		char c = (char)padded[i];

		out[i] = c == '+' ? '-' : c == '/' ? '_' : c;
	}
	out[43] = '\0';
}
