/* A source tarball, read with distrust. R unpacks it again in the build sandbox, where it can
 * write to nothing of ours whatever it holds; this reading finds out what it is before anybody
 * is asked, and refuses the kinds of entries that no package has a use for. Links are among
 * them: `R CMD build` follows every link. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "core/path.h"
#include "core/text.h"
#include "lang/r_description.h"

#define BLOCK 512
#define CHUNK (64 * 1024)
#define LONG_NAME_MAX 8192
#define SHOWN 200

struct tarball {
	int fd;
	z_stream stream;
	bool ended; /* of the gzip data */
	unsigned char packed[CHUNK];
	long long unpacked;
	const char *name; /* the directory that everything lies in */
	char *long_name; /* owned; of a pax or GNU header, for the entry that follows */
	size_t entries;
	bool has_src;
	struct pkg_buf description;
	bool found;
};

static int
corrupt(const struct tarball *tarball, const char *what, struct pkg_error *err)
{
	return pkg_error_set(
		err, PKG_E_ARCHIVE, "the archive of %s is damaged: %s", tarball->name, what);
}

/* --- bytes --- */

static int
refill(struct tarball *tarball, struct pkg_error *err)
{
	ssize_t got;

	do
		got = read(tarball->fd, tarball->packed, sizeof(tarball->packed));
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return pkg_error_errno(err, errno, "read the archive of %s", tarball->name);
	if (got == 0)
		return corrupt(tarball, "it ends too early", err);
	tarball->stream.next_in = tarball->packed;
	tarball->stream.avail_in = (unsigned int)got;
	return 0;
}

/* Exactly len bytes. */
static int
take(struct tarball *tarball, void *out, size_t len, struct pkg_error *err)
{
	z_stream *stream = &tarball->stream;

	stream->next_out = out;
	stream->avail_out = (unsigned int)len;
	tarball->unpacked += (long long)len;
	if (tarball->unpacked > LANG_R_TARBALL_BYTES_MAX)
		return pkg_error_set(err, PKG_E_TOO_LARGE,
			"the archive of %s unpacks to more than %lld bytes", tarball->name,
			LANG_R_TARBALL_BYTES_MAX);
	while (stream->avail_out > 0) {
		int rc;

		if (tarball->ended)
			return corrupt(tarball, "it ends too early", err);
		if (stream->avail_in == 0 && refill(tarball, err) < 0)
			return -1;
		rc = inflate(stream, Z_NO_FLUSH);
		if (rc == Z_STREAM_END)
			tarball->ended = true;
		else if (rc != Z_OK && rc != Z_BUF_ERROR)
			return corrupt(tarball, "it is no gzip file", err);
	}
	return 0;
}

/* The content of an entry, to the end of its last block; kept when out is not NULL. */
static int
take_content(struct tarball *tarball, long long size, size_t max, struct pkg_buf *out,
	struct pkg_error *err)
{
	unsigned char block[BLOCK];

	if (out && (unsigned long long)size > max)
		return pkg_error_set(err, PKG_E_TOO_LARGE,
			"the archive of %s: a header or DESCRIPTION of more than %zu bytes",
			tarball->name, max);
	for (; size > 0; size -= BLOCK) {
		if (take(tarball, block, sizeof(block), err) < 0)
			return -1;
		if (out)
			pkg_buf_add_mem(out, block, size < BLOCK ? (size_t)size : BLOCK);
	}
	return 0;
}

/* --- headers --- */

static int
read_number(const struct tarball *tarball, const unsigned char *field, size_t len, long long *out,
	struct pkg_error *err)
{
	long long value = 0;
	size_t i = 0;

	/* GNU's base 256, for sizes over 8 GiB: nothing here is that big. */
	if (field[0] & 0x80)
		return corrupt(tarball, "an entry is too large", err);
	while (i < len && field[i] == ' ')
		i++;
	for (; i < len && field[i] >= '0' && field[i] <= '7'; i++) {
		if (value > LANG_R_TARBALL_BYTES_MAX)
			return corrupt(tarball, "an entry is too large", err);
		value = value * 8 + (field[i] - '0');
	}
	if (i < len && field[i] != ' ' && field[i] != '\0')
		return corrupt(tarball, "a header holds no number where one belongs", err);
	*out = value;
	return 0;
}

static int
check_sum(const struct tarball *tarball, const unsigned char *header, struct pkg_error *err)
{
	long long said = 0, sum = 0;

	if (read_number(tarball, header + 148, 8, &said, err) < 0)
		return -1;
	for (size_t i = 0; i < BLOCK; i++)
		sum += i >= 148 && i < 156 ? ' ' : header[i];
	return sum == said ? 0 : corrupt(tarball, "a header's sum is wrong", err);
}

/* "path" of a pax header: records of "LEN KEY=VALUE\n". */
static int
read_pax(struct tarball *tarball, const struct pkg_buf *text, struct pkg_error *err)
{
	const char *at = pkg_buf_str(text);
	const char *end = at + text->len;

	while (at < end) {
		char *rest = NULL;
		long len = strtol(at, &rest, 10);
		const char *value;

		if (len <= 0 || len > end - at || rest - at >= len || *rest != ' ' ||
			at[len - 1] != '\n')
			return corrupt(tarball, "an extended header is none", err);
		rest++;
		value = memchr(rest, '=', (size_t)(at + len - rest));
		if (value && value - rest == 4 && strncmp(rest, "path", 4) == 0) {
			free(tarball->long_name);
			tarball->long_name =
				pkg_xstrndup(value + 1, (size_t)(at + len - value - 2));
		} else if (value && value - rest == 4 && strncmp(rest, "size", 4) == 0) {
			return corrupt(tarball, "an entry is too large", err);
		}
		at += len;
	}
	return 0;
}

static int
read_long_name(struct tarball *tarball, char type, long long size, struct pkg_error *err)
{
	pkg_cleanup_buf struct pkg_buf text = { 0 };

	if (take_content(tarball, size, LONG_NAME_MAX, &text, err) < 0)
		return -1;
	if (type == 'g')
		return 0;
	if (type == 'x')
		return read_pax(tarball, &text, err);
	free(tarball->long_name);
	tarball->long_name = pkg_xstrdup(pkg_buf_str(&text));
	return 0;
}

/* Given: the entry's path. */
static char *
entry_path(struct tarball *tarball, const unsigned char *header)
{
	const char *name = (const char *)header;
	const char *prefix = (const char *)header + 345;
	bool ustar = memcmp(header + 257, "ustar\0", 6) == 0;

	if (tarball->long_name)
		return pkg_steal_ptr(&tarball->long_name);
	if (ustar && *prefix != '\0')
		return pkg_xasprintf("%.155s/%.100s", prefix, name);
	return pkg_xstrndup(name, strnlen(name, 100));
}

/* --- entries --- */

static int
refuse_entry(
	const struct tarball *tarball, const char *path, const char *what, struct pkg_error *err)
{
	pkg_autofree char *shown = pkg_text_clean(path, strlen(path), SHOWN, false);

	return pkg_error_set(
		err, PKG_E_ARCHIVE, "the archive of %s holds '%s', %s", tarball->name, shown, what);
}

static int
take_entry(struct tarball *tarball, char *path, char type, long long size, struct pkg_error *err)
{
	size_t top = strlen(tarball->name);
	size_t len = strlen(path);

	while (len > 0 && path[len - 1] == '/')
		path[--len] = '\0';
	if (strncmp(path, "./", 2) == 0)
		memmove(path, path + 2, len - 1);
	if (!pkg_path_is_confined(path, strlen(path)) || strncmp(path, tarball->name, top) != 0 ||
		(path[top] != '\0' && path[top] != '/'))
		return refuse_entry(
			tarball, path, "which is not in the package's own directory", err);
	if (type != '0' && type != '\0' && type != '7' && type != '5')
		return refuse_entry(tarball, path, "which is neither a file nor a directory", err);
	if (type == '5')
		return take_content(tarball, size, 0, NULL, err);
	if (strncmp(path + top, "/src/", 5) == 0)
		tarball->has_src = true;
	if (strcmp(path + top, "/DESCRIPTION") != 0)
		return take_content(tarball, size, 0, NULL, err);
	if (tarball->found)
		return refuse_entry(tarball, path, "twice", err);
	tarball->found = true;
	return take_content(tarball, size, LANG_R_DESCRIPTION_MAX, &tarball->description, err);
}

/* 1: the end mark. */
static int
next_entry(struct tarball *tarball, struct pkg_error *err)
{
	static const unsigned char zeroes[BLOCK];
	unsigned char header[BLOCK];
	pkg_autofree char *path = NULL;
	long long size = 0;
	char type;

	if (take(tarball, header, sizeof(header), err) < 0)
		return -1;
	if (memcmp(header, zeroes, BLOCK) == 0)
		return 1;
	if (check_sum(tarball, header, err) < 0 ||
		read_number(tarball, header + 124, 12, &size, err) < 0)
		return -1;
	if (++tarball->entries > LANG_R_TARBALL_ENTRIES_MAX)
		return pkg_error_set(err, PKG_E_TOO_LARGE,
			"the archive of %s holds more than %d entries", tarball->name,
			LANG_R_TARBALL_ENTRIES_MAX);
	type = (char)header[156];
	if (type == 'x' || type == 'g' || type == 'L')
		return read_long_name(tarball, type, size, err);
	path = entry_path(tarball, header);
	return take_entry(tarball, path, type, size, err);
}

static int
read_all(struct tarball *tarball, struct lang_r_description *out, struct pkg_error *err)
{
	int rc;

	while ((rc = next_entry(tarball, err)) == 0)
		;
	if (rc < 0)
		return -1;
	if (!tarball->found)
		return pkg_error_set(
			err, PKG_E_ARCHIVE, "the archive of %s has no DESCRIPTION", tarball->name);
	if (lang_r_description_parse(
		    pkg_buf_str(&tarball->description), tarball->description.len, out, err) < 0)
		return pkg_error_prefix(err, "the archive of %s", tarball->name);
	out->compiles = out->compiles || tarball->has_src;
	return 0;
}

int
lang_r_tarball_read(int fd, const char *name, struct lang_r_description *out, struct pkg_error *err)
{
	struct tarball *tarball = pkg_xcalloc(1, sizeof(*tarball));
	int rc;

	tarball->fd = fd;
	tarball->name = name;
	/* 16: gzip alone, no zlib header. */
	if (inflateInit2(&tarball->stream, 15 + 16) != Z_OK)
		pkg_abort("out of memory");
	rc = read_all(tarball, out, err);
	(void)inflateEnd(&tarball->stream);
	pkg_buf_clear(&tarball->description);
	free(tarball->long_name);
	free(tarball);
	return rc;
}
