#include "lang/python_harvest.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "core/file.h"
#include "core/path.h"
#include "core/tree.h"

#define HEAD_MAX (64 * 1024) /* the body begins within it: it is the first item pip writes */
#define DEPTH_MAX 8
#define SHA224_BYTES 28

/* --- where --- */

/* "http-v2/a/b/c/d/e/<sha224 of the URL>". */
static char *
entry_path(const char *folder, const char *url, const char *suffix)
{
	unsigned char digest[EVP_MAX_MD_SIZE];
	char hex[2 * SHA224_BYTES + 1];
	unsigned int len = 0;

	if (EVP_Digest(url, strlen(url), digest, &len, EVP_sha224(), NULL) != 1 ||
		len != SHA224_BYTES)
		pkg_abort("SHA-224 is not available");
	for (unsigned int i = 0; i < len; i++)
		(void)snprintf(hex + 2 * i, 3, "%02x", digest[i]);
	return pkg_xasprintf("%s/%c/%c/%c/%c/%c/%s%s", folder, hex[0], hex[1], hex[2], hex[3],
		hex[4], hex, suffix);
}

static int
open_entry(const char *cache_dir, const char *folder, const char *url, const char *suffix,
	struct stat *st)
{
	pkg_autofree char *path = entry_path(folder, url, suffix);
	pkg_autofd int dir = pkg_dir_open(cache_dir, NULL);
	pkg_autofd int fd = -1;

	if (dir < 0)
		return -1;
	/* A FIFO would make an opening without O_NONBLOCK wait for ever. */
	fd = pkg_file_open_beneath(dir, path, O_RDONLY | O_NONBLOCK, 0, NULL);
	if (fd < 0 || fstat(fd, st) < 0 || !S_ISREG(st->st_mode))
		return -1;
	return pkg_steal_fd(&fd);
}

/* A directory that is a link leads out of the cache: its entry is not touched. */
static void
forget_entry(int dir, const char *folder, const char *url, const char *suffix)
{
	pkg_autofree char *path = entry_path(folder, url, suffix);
	pkg_autofree char *parent = pkg_path_dir(path);
	pkg_autofd int fd = pkg_file_open_beneath(dir, parent, O_RDONLY | O_DIRECTORY, 0, NULL);

	if (fd >= 0)
		(void)unlinkat(fd, pkg_path_base(path), 0);
}

void
lang_python_cache_forget(const char *cache_dir, const char *url)
{
	pkg_autofd int dir = pkg_dir_open(cache_dir, NULL);

	if (dir < 0)
		return;
	forget_entry(dir, "http", url, "");
	forget_entry(dir, "http-v2", url, "");
	forget_entry(dir, "http-v2", url, ".body");
}

/* --- msgpack, as much of it as stands before a body --- */

struct cursor {
	const unsigned char *at;
	const unsigned char *end;
};

static bool
take(struct cursor *cursor, size_t bytes, uint64_t *value)
{
	if ((size_t)(cursor->end - cursor->at) < bytes)
		return false;
	*value = 0;
	for (size_t i = 0; i < bytes; i++)
		*value = *value << 8 | *cursor->at++;
	return true;
}

enum kind { OTHER, TEXT, BYTES, MAP, ARRAY };

/* The head of one value: its kind, and its length (of text and bytes: what follows; of maps and arrays:
 * items). */
static bool
take_head(struct cursor *cursor, enum kind *kind, uint64_t *len)
{
	/* 0xc0..0xdf: how many bytes follow the first one, and what they are. */
	static const struct {
		enum kind kind;
		unsigned char size_bytes; /* of a length */
		unsigned char skip; /* of a value */
	} heads[32] = { [0x04] = { BYTES, 1, 0 },
		[0x05] = { BYTES, 2, 0 },
		[0x06] = { BYTES, 4, 0 },
		[0x0a] = { OTHER, 0, 4 },
		[0x0b] = { OTHER, 0, 8 },
		[0x0c] = { OTHER, 0, 1 },
		[0x0d] = { OTHER, 0, 2 },
		[0x0e] = { OTHER, 0, 4 },
		[0x0f] = { OTHER, 0, 8 },
		[0x10] = { OTHER, 0, 1 },
		[0x11] = { OTHER, 0, 2 },
		[0x12] = { OTHER, 0, 4 },
		[0x13] = { OTHER, 0, 8 },
		[0x19] = { TEXT, 1, 0 },
		[0x1a] = { TEXT, 2, 0 },
		[0x1b] = { TEXT, 4, 0 },
		[0x1c] = { ARRAY, 2, 0 },
		[0x1d] = { ARRAY, 4, 0 },
		[0x1e] = { MAP, 2, 0 },
		[0x1f] = { MAP, 4, 0 } };
	uint64_t first, ignored;

	if (!take(cursor, 1, &first))
		return false;
	*kind = first < 0x80 || first >= 0xe0 ? OTHER
		: first < 0x90		      ? MAP
		: first < 0xa0		      ? ARRAY
					      : TEXT;
	*len = first < 0xa0 ? first & 0x0f : first & 0x1f;
	if (first < 0xc0 || first >= 0xe0)
		return true;
	*kind = heads[first - 0xc0].kind;
	*len = 0;
	return take(cursor, heads[first - 0xc0].size_bytes, len) &&
		take(cursor, heads[first - 0xc0].skip, &ignored);
}

static bool
skip_value(struct cursor *cursor, int depth)
{
	enum kind kind;
	uint64_t len;

	if (depth > DEPTH_MAX || !take_head(cursor, &kind, &len))
		return false;
	if (kind == TEXT || kind == BYTES) {
		if ((uint64_t)(cursor->end - cursor->at) < len)
			return false;
		cursor->at += len;
		return true;
	}
	if (kind == OTHER)
		return true;
	for (uint64_t i = 0; i < len * (kind == MAP ? 2 : 1); i++)
		if (!skip_value(cursor, depth + 1))
			return false;
	return true;
}

/* Moves into the value of that key of a map. */
static bool
enter(struct cursor *cursor, const char *key)
{
	enum kind kind;
	uint64_t items, len;

	if (!take_head(cursor, &kind, &items) || kind != MAP)
		return false;
	for (uint64_t i = 0; i < items; i++) {
		const unsigned char *text;

		if (!take_head(cursor, &kind, &len) || kind != TEXT ||
			(uint64_t)(cursor->end - cursor->at) < len)
			return false;
		text = cursor->at;
		cursor->at += len;
		if (len == strlen(key) && memcmp(text, key, len) == 0)
			return true;
		if (!skip_value(cursor, 0))
			return false;
	}
	return false;
}

/* Where the body begins in an entry of the old form: "cc=4," and {"response": {"body": ...}}. */
static bool
find_body(int fd, long long file_size, off_t *offset, long long *len)
{
	pkg_autofree unsigned char *head = pkg_xmalloc(HEAD_MAX);
	ssize_t have = pread(fd, head, HEAD_MAX, 0);
	struct cursor cursor;
	enum kind kind;
	uint64_t bytes;

	if (have < 5 || memcmp(head, "cc=4,", 5) != 0)
		return false;
	cursor = (struct cursor){ head + 5, head + have };
	if (!enter(&cursor, "response") || !enter(&cursor, "body") ||
		!take_head(&cursor, &kind, &bytes) || (kind != BYTES && kind != TEXT))
		return false;
	*offset = cursor.at - head;
	*len = (long long)bytes;
	return bytes <= (uint64_t)(file_size - *offset);
}

int
lang_python_cached_open(const char *cache_dir, const char *url, long long *len)
{
	pkg_autofd int fd = -1;
	off_t offset = 0;
	struct stat st;

	fd = open_entry(cache_dir, "http-v2", url, ".body", &st);
	if (fd >= 0) {
		*len = st.st_size;
		return pkg_steal_fd(&fd);
	}
	fd = open_entry(cache_dir, "http", url, "", &st);
	if (fd < 0 || !find_body(fd, st.st_size, &offset, len) || lseek(fd, offset, SEEK_SET) < 0)
		return -1;
	return pkg_steal_fd(&fd);
}

/* --- documents --- */

static int
read_body(int fd, long long len, size_t max, struct pkg_buf *out)
{
	if (len < 0 || (unsigned long long)len > max)
		return -1;
	pkg_buf_reserve(out, (size_t)len + 1);
	while (len > 0) {
		ssize_t got = read(fd, out->data + out->len, (size_t)len);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return -1;
		out->len += (size_t)got;
		out->data[out->len] = '\0';
		len -= got;
	}
	return 0;
}

/* Servers send pages compressed, and pip keeps them so. */
static int
inflate_all(const struct pkg_buf *packed, size_t max, struct pkg_buf *out)
{
	z_stream stream = { .next_in = (unsigned char *)packed->data,
		.avail_in = (unsigned int)packed->len };
	unsigned char chunk[16384];
	int rc = Z_OK;

	if (inflateInit2(&stream, 15 + 32) != Z_OK)
		pkg_abort("out of memory");
	while (rc == Z_OK && out->len <= max) {
		stream.next_out = chunk;
		stream.avail_out = sizeof(chunk);
		rc = inflate(&stream, Z_NO_FLUSH);
		pkg_buf_add_mem(out, chunk, sizeof(chunk) - stream.avail_out);
	}
	(void)inflateEnd(&stream);
	return rc == Z_STREAM_END && out->len <= max ? 0 : -1;
}

int
lang_python_cached_text(const char *cache_dir, const char *url, size_t max, struct pkg_buf *out)
{
	pkg_cleanup_buf struct pkg_buf body = { 0 };
	long long len = 0;
	pkg_autofd int fd = lang_python_cached_open(cache_dir, url, &len);

	if (fd < 0 || read_body(fd, len, max, &body) < 0)
		return -1;
	if (body.len > 2 && memcmp(body.data, "\x1f\x8b", 2) == 0)
		return inflate_all(&body, max, out);
	pkg_buf_add_mem(out, pkg_buf_str(&body), body.len);
	return 0;
}

/* --- files --- */

size_t
lang_python_harvest(
	struct lang_context *lang, const char *cache_dir, const struct lang_resolution *resolution)
{
	size_t count = 0;

	fetch_cas_batch_begin(lang->cas);
	for (size_t i = 0; i < resolution->count; i++) {
		const struct lang_dist *dist = &resolution->items[i];
		long long len = 0;
		pkg_autofd int fd = -1;

		if (!dist->sha256 || fetch_cas_has(lang->cas, dist->sha256))
			continue;
		fd = lang_python_cached_open(cache_dir, dist->url, &len);
		if (fd >= 0 && fetch_cas_put_fd(lang->cas, dist->sha256, fd, len, NULL, NULL) == 0)
			count++;
	}
	(void)fetch_cas_batch_end(lang->cas, NULL);
	return count;
}

/* --- upkeep --- */

struct tally {
	long long bytes;
	long long files;
};

static int
count_entry(void *context, PKG_UNUSED const char *relative, const struct stat *st,
	PKG_UNUSED struct pkg_error *err)
{
	struct tally *tally = context;

	tally->bytes += st->st_size;
	tally->files++;
	return 0;
}

void
lang_python_cache_trim(const struct pkg_home *home, const char *cache_dir)
{
	struct tally tally = { 0 };
	pkg_autofd int dir = pkg_dir_open(cache_dir, NULL);
	pkg_autofree char *aside = NULL;
	char random[PKG_TEMP_NAME];

	if (dir < 0 || pkg_tree_walk(dir, ".", count_entry, &tally, NULL) < 0 ||
		(tally.bytes <= LANG_PYTHON_CACHE_BYTES_MAX &&
			tally.files <= LANG_PYTHON_CACHE_FILES_MAX))
		return;
	/* Whoever has it mounted keeps the old one. */
	pkg_temp_name(random);
	aside = pkg_path_joinf(home->data, "trash/pip%s", random);
	if (rename(cache_dir, aside) < 0)
		(void)pkg_tree_remove(cache_dir, NULL);
	(void)pkg_dir_make(cache_dir, 0700, NULL);
}
