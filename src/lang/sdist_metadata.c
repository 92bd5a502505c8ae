#include "lang/sdist_metadata.h"

#include <errno.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>
#include <zlib.h>

#include "core/text.h"
#include "fetch/zipdir.h"
#include "lang/metadata.h"
#include "lang/scan.h"

#define NAME "PKG-INFO"
#define BLOCK 512
#define PAX_MAX (64 * 1024)

/* --- is it static --- */

static bool
is_one_of(const char *text, size_t len)
{
	static const char *const fields[] = { "name", "version", "requires-dist", "requires-python",
		"provides-extra" };

	for (size_t i = 0; i < PKG_ARRAY_LEN(fields); i++)
		if (strlen(fields[i]) == len && strncasecmp(text, fields[i], len) == 0)
			return true;
	return false;
}

/* The value of "KEY: VALUE" in a line; NULL: another key. */
static const char *
value_of(const char *line, size_t len, const char *key, size_t *value_len)
{
	size_t key_len = strlen(key);
	const char *value = line + key_len + 1;

	if (len <= key_len || strncasecmp(line, key, key_len) != 0 || line[key_len] != ':')
		return NULL;
	len -= key_len + 1;
	for (; len > 0 && lang_is_space(*value); len--)
		value++;
	while (len > 0 && lang_is_space(value[len - 1]))
		len--;
	*value_len = len;
	return value;
}

bool
lang_sdist_metadata_is_static(const char *text, size_t len)
{
	const char *end = text + len;
	bool recent = false;

	while (text < end) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));
		size_t line = stop ? (size_t)(stop - text) : (size_t)(end - text);
		size_t value_len = 0;
		const char *value = value_of(text, line, "Metadata-Version", &value_len);

		if (line == 0 || (line == 1 && *text == '\r'))
			break;
		if (value)
			recent = value_len == 3 && value[0] == '2' && value[1] == '.' &&
				value[2] >= '2';
		value = value_of(text, line, "Dynamic", &value_len);
		if (value && is_one_of(value, value_len))
			return false;
		text += line + (stop != NULL);
	}
	return recent;
}

/* --- .tar.gz --- */

struct tar {
	int fd;
	z_stream stream;
	unsigned char in[64 * 1024];
	long long left; /* bytes that may still come out */
	bool ended;
};

/* Exactly len bytes, to nowhere with data NULL. 0 at the end of the archive, 1, or -1. */
static int
tar_read(struct tar *tar, void *data, size_t len, struct pkg_error *err)
{
	unsigned char waste[16 * 1024];
	size_t done = 0;

	if ((tar->left -= (long long)len) < 0)
		return pkg_error_set(err, PKG_E_UNSUPPORTED, "it unpacks to more than %lld bytes",
			LANG_SDIST_BYTES_MAX);
	while (done < len && !tar->ended) {
		size_t want = len - done;
		int rc;

		if (!data && want > sizeof(waste))
			want = sizeof(waste);
		if (tar->stream.avail_in == 0) {
			ssize_t got = read(tar->fd, tar->in, sizeof(tar->in));

			if (got < 0 && errno == EINTR)
				continue;
			if (got < 0)
				return pkg_error_errno(err, errno, "read");
			if (got == 0)
				break;
			tar->stream.next_in = tar->in;
			tar->stream.avail_in = (unsigned int)got;
		}
		tar->stream.next_out = data ? (unsigned char *)data + done : waste;
		tar->stream.avail_out = (unsigned int)want;
		rc = inflate(&tar->stream, Z_NO_FLUSH);
		if (rc != Z_OK && rc != Z_STREAM_END && rc != Z_BUF_ERROR)
			return pkg_error_set(
				err, PKG_E_ARCHIVE, "it is no gzip file, or a damaged one");
		done += want - tar->stream.avail_out;
		tar->ended = rc == Z_STREAM_END;
	}
	if (done == len)
		return 1;
	return done == 0 ? 0 : pkg_error_set(err, PKG_E_ARCHIVE, "it ends early");
}

/* An octal field; -1: something else. */
static long long
octal(const char *field, size_t len)
{
	long long value = 0;

	while (len > 0 && *field == ' ') {
		field++;
		len--;
	}
	for (; len > 0 && *field && *field != ' '; field++, len--) {
		if (*field < '0' || *field > '7' || value > LANG_SDIST_BYTES_MAX)
			return -1;
		value = value * 8 + (*field - '0');
	}
	return value;
}

/* "<prefix>/<name>" of a ustar header. */
static void
header_path(const char *header, struct pkg_buf *out)
{
	pkg_buf_truncate(out, 0);
	if (memcmp(header + 257, "ustar", 5) == 0 && header[345]) {
		pkg_buf_add_mem(out, header + 345, strnlen(header + 345, 155));
		pkg_buf_add_char(out, '/');
	}
	pkg_buf_add_mem(out, header, strnlen(header, 100));
}

/* "27 path=foo-1.0/PKG-INFO\n": a name that replaces the header's. */
static void
pax_path(const struct pkg_buf *records, struct pkg_buf *out)
{
	const char *found = strstr(pkg_buf_str(records), " path=");

	if (!found)
		return;
	found += strlen(" path=");
	pkg_buf_truncate(out, 0);
	pkg_buf_add_mem(out, found, strcspn(found, "\n"));
}

/* The body of an entry, padded to whole blocks. out NULL: passed over. */
static int
read_entry(struct tar *tar, long long size, struct pkg_buf *out, struct pkg_error *err)
{
	char padding[BLOCK];
	size_t rest = (size_t)(size % BLOCK);
	char *data = NULL;
	int rc = 1;

	if (out) {
		pkg_buf_truncate(out, 0);
		pkg_buf_reserve(out, (size_t)size + 1);
		data = out->data;
	}
	if (size > 0)
		rc = tar_read(tar, data, (size_t)size, err);
	if (rc > 0 && rest > 0)
		rc = tar_read(tar, padding, BLOCK - rest, err);
	if (rc == 0)
		return pkg_error_set(err, PKG_E_ARCHIVE, "it ends early");
	if (rc > 0 && out) {
		out->len = (size_t)size;
		out->data[out->len] = '\0';
	}
	return rc;
}

/* "NAME-VERSION/PKG-INFO": one directory, and no way out of it. */
static bool
is_wanted(const char *path)
{
	const char *slash;

	if (strncmp(path, "./", 2) == 0)
		path += 2;
	slash = strchr(path, '/');
	return slash && slash > path && strcmp(slash + 1, NAME) == 0 && *path != '.';
}

static int
take(struct tar *tar, const char *type, long long size, struct pkg_buf *out, struct pkg_error *err)
{
	/* Which of two would be believed depends on who unpacks. */
	if (out->len > 0 || size > LANG_METADATA_HEAD_MAX || (*type != '0' && *type != '\0'))
		return pkg_error_set(err, PKG_E_UNSUPPORTED, "its " NAME " is an odd one");
	return read_entry(tar, size, out, err);
}

static int
scan_tar(struct tar *tar, struct pkg_buf *out, struct pkg_error *err)
{
	pkg_cleanup_buf struct pkg_buf path = { 0 };
	pkg_cleanup_buf struct pkg_buf records = { 0 };
	char header[BLOCK];
	bool renamed = false;
	int rc;

	while ((rc = tar_read(tar, header, BLOCK, err)) > 0) {
		long long size = octal(header + 124, 12);
		char type = header[156];

		if (header[0] == '\0' && size == 0)
			return 0;
		if (size < 0)
			return pkg_error_set(err, PKG_E_UNSUPPORTED, "it has an odd entry");
		if (type == 'x' || type == 'L') {
			if (size > PAX_MAX)
				return pkg_error_set(err, PKG_E_UNSUPPORTED, "it has an odd entry");
			if (read_entry(tar, size, &records, err) < 0)
				return -1;
			if (type == 'x') {
				pax_path(&records, &path);
			} else {
				pkg_buf_truncate(&path, 0);
				pkg_buf_add(&path, pkg_buf_str(&records));
			}
			renamed = path.len > 0;
			continue;
		}
		if (!renamed)
			header_path(header, &path);
		renamed = false;
		rc = is_wanted(pkg_buf_str(&path)) ? take(tar, &type, size, out, err)
						   : read_entry(tar, size, NULL, err);
		if (rc < 0)
			return -1;
		pkg_buf_truncate(&path, 0);
	}
	return rc;
}

static int
read_tar(int fd, struct pkg_buf *out, struct pkg_error *err)
{
	struct tar *tar = pkg_xcalloc(1, sizeof(*tar));
	int rc;

	tar->fd = fd;
	tar->left = LANG_SDIST_BYTES_MAX;
	if (inflateInit2(&tar->stream, 15 + 16) != Z_OK)
		pkg_abort("out of memory");
	rc = scan_tar(tar, out, err);
	(void)inflateEnd(&tar->stream);
	free(tar);
	return rc;
}

/* --- .zip --- */

static int
read_zip(int fd, struct pkg_buf *out, struct pkg_error *err)
{
	pkg_cleanup(fetch_zip_free) struct fetch_zip *zip = fetch_zip_open_fd(fd, err);
	const struct fetch_zip_entry *found = NULL;

	for (size_t i = 0; zip && i < zip->count; i++) {
		if (!is_wanted(zip->entries[i].name))
			continue;
		if (found)
			return pkg_error_set(err, PKG_E_UNSUPPORTED, "it has two files " NAME);
		found = &zip->entries[i];
	}
	if (!zip)
		return -1;
	return found ? fetch_zip_member_fd(fd, found, LANG_METADATA_HEAD_MAX, out, err) : 0;
}

int
lang_sdist_metadata_read(int fd, const char *filename, struct pkg_buf *out, struct pkg_error *err)
{
	bool tar = pkg_text_has_suffix(filename, ".tar.gz");

	if (!tar && !pkg_text_has_suffix(filename, ".zip"))
		return pkg_error_set(err, PKG_E_UNSUPPORTED,
			"what '%s' needs is known only by running it", filename);
	pkg_buf_truncate(out, 0);
	if ((tar ? read_tar(fd, out, err) : read_zip(fd, out, err)) < 0)
		return pkg_error_prefix(err, "'%s'", filename);
	if (lang_sdist_metadata_is_static(pkg_buf_str(out), out->len))
		return 0;
	return pkg_error_set(
		err, PKG_E_UNSUPPORTED, "what '%s' needs is known only by running it", filename);
}
