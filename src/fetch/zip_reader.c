#include "fetch/zip_bytes.h"
#include "fetch/zipdir.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define IN_SIZE (128 << 10)
#define OUT_SIZE (256 << 10) /* most files of packages are inflated in one call */
#define WINDOW_SIZE (256 << 10)
#define DESCRIPTOR_MAX 24
/* The others say how hard the packer tried. */
#define COMPARED_FLAGS                                                                             \
	(ZIP_FLAG_ENCRYPTED | ZIP_FLAG_DESCRIPTOR | ZIP_FLAG_STRONG | FETCH_ZIP_UTF8 |             \
		ZIP_FLAG_MASKED)

/* A descriptor read in large pieces: entries lie one after the other. */
struct window {
	int fd;
	uint64_t at;
	size_t len;
	unsigned char *data;
};

struct fetch_zip_reader {
	fetch_read_at_fn *read_at;
	void *context;
	struct window window;
	z_stream stream;
	bool stream_ready;
	unsigned char *in;
	unsigned char *out;
};

/* One member being read. */
struct member {
	struct fetch_zip_reader *reader;
	const struct fetch_zip_entry *entry;
	fetch_zip_sink_fn *sink;
	void *context;
	uint64_t at; /* of the next packed byte */
	uint64_t left; /* packed bytes not read yet */
	uint64_t given;
	uLong crc;
};

static int
pread_all(int fd, uint64_t offset, void *data, size_t len, struct pkg_error *err)
{
	char *at = data;

	while (len > 0) {
		ssize_t got = pread(fd, at, len, (off_t)offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return pkg_error_errno(err, errno, "read the archive");
		if (got == 0)
			return pkg_error_set(err, PKG_E_ARCHIVE, "the archive ends early");
		at += got;
		offset += (uint64_t)got;
		len -= (size_t)got;
	}
	return 0;
}

static int
read_fd(void *context, uint64_t offset, void *data, size_t len, struct pkg_error *err)
{
	return pread_all(*(const int *)context, offset, data, len, err);
}

static int
fill_window(struct window *window, uint64_t offset, struct pkg_error *err)
{
	ssize_t got;

	do {
		got = pread(window->fd, window->data, WINDOW_SIZE, (off_t)offset);
	} while (got < 0 && errno == EINTR);
	if (got < 0)
		return pkg_error_errno(err, errno, "read the archive");
	window->at = offset;
	window->len = (size_t)got;
	return 0;
}

static int
read_window(void *context, uint64_t offset, void *data, size_t len, struct pkg_error *err)
{
	struct window *window = context;
	char *to = data;

	while (len > 0) {
		size_t skip;
		size_t piece;

		if (offset < window->at || offset - window->at >= window->len) {
			if (fill_window(window, offset, err) < 0)
				return -1;
			if (window->len == 0)
				return pkg_error_set(err, PKG_E_ARCHIVE, "the archive ends early");
		}
		skip = (size_t)(offset - window->at);
		piece = window->len - skip < len ? window->len - skip : len;
		memcpy(to, window->data + skip, piece);
		to += piece;
		offset += piece;
		len -= piece;
	}
	return 0;
}

struct fetch_zip_reader *
fetch_zip_reader_new(fetch_read_at_fn *read_at, void *context)
{
	struct fetch_zip_reader *reader = pkg_xcalloc(1, sizeof(*reader));

	reader->read_at = read_at;
	reader->context = context;
	reader->in = pkg_xmalloc(IN_SIZE);
	reader->out = pkg_xmalloc(OUT_SIZE);
	return reader;
}

struct fetch_zip_reader *
fetch_zip_reader_new_fd(int fd)
{
	struct fetch_zip_reader *reader = fetch_zip_reader_new(read_window, NULL);

	reader->context = &reader->window;
	reader->window.fd = fd;
	reader->window.data = pkg_xmalloc(WINDOW_SIZE);
	return reader;
}

void
fetch_zip_reader_free(struct fetch_zip_reader *reader)
{
	if (!reader)
		return;
	if (reader->stream_ready)
		(void)inflateEnd(&reader->stream);
	free(reader->window.data);
	free(reader->in);
	free(reader->out);
	free(reader);
}

static int
damaged(struct pkg_error *err, const char *what)
{
	return pkg_error_set(err, PKG_E_ARCHIVE, "%s", what);
}

/* Where the bytes are. */

/* A size or CRC of the local header. With a descriptor behind the bytes it may be 0 here. */
static bool
field_agrees(uint64_t local, uint64_t central, bool descriptor)
{
	return local == central || (descriptor && local == 0);
}

static int
check_extra(const unsigned char *extra, size_t len, struct zip_wide *wide, struct pkg_error *err)
{
	for (size_t at = 0; at + 4 <= len;) {
		unsigned id = zip_u16(extra + at);
		size_t field_len = zip_u16(extra + at + 2);

		at += 4;
		if (field_len > len - at)
			return damaged(err, "an extra field of its local header is cut off");
		if (id == ZIP_EXTRA_ZIP64 && zip_widen(wide, extra + at, field_len, err) < 0)
			return -1;
		at += field_len;
	}
	return zip_widened(wide, err);
}

/* The local header says nothing that the directory does not. *data_at is where the bytes begin. */
static int
check_local(struct fetch_zip_reader *reader, const struct fetch_zip_entry *entry, uint64_t *data_at,
	struct pkg_error *err)
{
	unsigned char head[ZIP_LOCAL_SIZE];
	pkg_autofree unsigned char *rest = NULL;
	bool descriptor = entry->flags & ZIP_FLAG_DESCRIPTOR;
	uint64_t size;
	uint64_t packed;
	size_t name_len;
	size_t extra_len;

	if (reader->read_at(reader->context, entry->offset, head, sizeof(head), err) < 0)
		return -1;
	if (zip_u32(head) != ZIP_SIG_LOCAL)
		return damaged(err, "no local header where the directory says");
	name_len = zip_u16(head + 26);
	extra_len = zip_u16(head + 28);
	if (name_len != entry->name_len ||
		ZIP_LOCAL_SIZE + name_len + extra_len + entry->packed > entry->end - entry->offset)
		return damaged(err, "its local header has another name or overlaps what follows");
	rest = pkg_xmalloc(name_len + extra_len);
	if (reader->read_at(reader->context, entry->offset + ZIP_LOCAL_SIZE, rest,
		    name_len + extra_len, err) < 0)
		return -1;
	if (memcmp(rest, entry->name, name_len) != 0)
		return damaged(err, "its local header has another name");
	packed = zip_u32(head + 18);
	size = zip_u32(head + 22);
	if (check_extra(rest + name_len, extra_len,
		    &(struct zip_wide){ .size = &size, .packed = &packed }, err) < 0)
		return -1;
	if (((zip_u16(head + 6) ^ entry->flags) & COMPARED_FLAGS) ||
		zip_u16(head + 8) != entry->method ||
		!field_agrees(zip_u32(head + 14), entry->crc, descriptor) ||
		!field_agrees(packed, entry->packed, descriptor) ||
		!field_agrees(size, entry->size, descriptor))
		return damaged(err, "its local header contradicts the directory");
	*data_at = entry->offset + ZIP_LOCAL_SIZE + name_len + extra_len;
	return 0;
}

/* [signature] crc packed size; both sizes of 4 or of 8 bytes. */
static bool
is_descriptor(const unsigned char *at, size_t len, const struct fetch_zip_entry *entry)
{
	bool wide = len == 20 || len == 24;

	if (len == 16 || len == 24) {
		if (zip_u32(at) != ZIP_SIG_DESCRIPTOR)
			return false;
		at += 4;
	}
	if (zip_u32(at) != entry->crc)
		return false;
	if (wide)
		return zip_u64(at + 4) == entry->packed && zip_u64(at + 12) == entry->size;
	return zip_u32(at + 4) == entry->packed && zip_u32(at + 8) == entry->size;
}

/* Nothing hides between this entry and the next. */
static int
check_gap(struct fetch_zip_reader *reader, const struct fetch_zip_entry *entry, uint64_t at,
	struct pkg_error *err)
{
	uint64_t len = entry->end - at;
	unsigned char gap[DESCRIPTOR_MAX];

	if (!(entry->flags & ZIP_FLAG_DESCRIPTOR)) {
		if (len != 0)
			return damaged(err, "bytes between it and what follows");
		return 0;
	}
	if (len != 12 && len != 16 && len != 20 && len != 24)
		return damaged(err, "no data descriptor, or bytes after it");
	if (reader->read_at(reader->context, at, gap, (size_t)len, err) < 0)
		return -1;
	if (!is_descriptor(gap, (size_t)len, entry))
		return damaged(err, "its data descriptor contradicts the directory");
	return 0;
}

/* The bytes. */

static int
give(struct member *member, const unsigned char *data, size_t len, struct pkg_error *err)
{
	if (len > member->entry->size - member->given)
		return damaged(err, "more bytes than the directory says");
	member->crc = crc32(member->crc, data, (uInt)len);
	member->given += len;
	return len > 0 ? member->sink(member->context, data, len, err) : 0;
}

/* The next packed bytes into reader->in; *len is 0 after the last. */
static int
take(struct member *member, size_t *len, struct pkg_error *err)
{
	struct fetch_zip_reader *reader = member->reader;

	*len = member->left < IN_SIZE ? (size_t)member->left : IN_SIZE;
	if (*len > 0 && reader->read_at(reader->context, member->at, reader->in, *len, err) < 0)
		return -1;
	member->at += *len;
	member->left -= *len;
	return 0;
}

static int
copy_stored(struct member *member, struct pkg_error *err)
{
	for (;;) {
		size_t len;

		if (take(member, &len, err) < 0)
			return -1;
		if (len == 0)
			return 0;
		if (give(member, member->reader->in, len, err) < 0)
			return -1;
	}
}

static void
ready_stream(struct fetch_zip_reader *reader)
{
	int status;

	if (reader->stream_ready)
		status = inflateReset2(&reader->stream, -MAX_WBITS);
	else
		status = inflateInit2(&reader->stream, -MAX_WBITS);
	if (status != Z_OK)
		pkg_abort("zlib cannot start");
	reader->stream_ready = true;
}

static int
inflate_deflated(struct member *member, struct pkg_error *err)
{
	struct fetch_zip_reader *reader = member->reader;
	z_stream *stream = &reader->stream;
	int status = Z_OK;

	ready_stream(reader);
	stream->avail_in = 0;
	while (status != Z_STREAM_END) {
		size_t produced;

		if (stream->avail_in == 0) {
			size_t len;

			if (take(member, &len, err) < 0)
				return -1;
			stream->next_in = reader->in;
			stream->avail_in = (uInt)len;
		}
		stream->next_out = reader->out;
		stream->avail_out = OUT_SIZE;
		/* With all the rest at hand zlib need not keep its window between calls. */
		status = inflate(stream, member->left == 0 ? Z_FINISH : Z_NO_FLUSH);
		produced = OUT_SIZE - stream->avail_out;
		if (status == Z_BUF_ERROR && produced > 0)
			status = Z_OK;
		if (status != Z_OK && status != Z_STREAM_END)
			return damaged(err, "its deflated bytes are damaged or cut off");
		if (give(member, reader->out, produced, err) < 0)
			return -1;
	}
	if (stream->avail_in > 0 || member->left > 0)
		return damaged(err, "its deflated bytes end before the directory says");
	return 0;
}

static int
read_member(struct member *member, struct pkg_error *err)
{
	const struct fetch_zip_entry *entry = member->entry;

	if (check_local(member->reader, entry, &member->at, err) < 0)
		return -1;
	/* Before anything is given away. A descriptor is where the directory says, or nowhere. */
	if (check_gap(member->reader, entry, member->at + entry->packed, err) < 0)
		return -1;
	if ((entry->method == 0 ? copy_stored : inflate_deflated)(member, err) < 0)
		return -1;
	if (member->given != entry->size)
		return damaged(err, "fewer bytes than the directory says");
	if (member->crc != entry->crc)
		return damaged(err, "its CRC is wrong");
	return 0;
}

int
fetch_zip_read(struct fetch_zip_reader *reader, const struct fetch_zip_entry *entry,
	fetch_zip_sink_fn *sink, void *context, struct pkg_error *err)
{
	struct member member = {
		.reader = reader,
		.entry = entry,
		.sink = sink,
		.context = context,
		.left = entry->packed,
		.crc = crc32(0, NULL, 0),
	};
	pkg_autofree char *shown = NULL;

	if (read_member(&member, err) == 0)
		return 0;
	shown = fetch_zip_shown(entry->name, entry->name_len);
	return pkg_error_prefix(err, "entry '%s'", shown);
}

static int
add_to_buf(void *context, const void *data, size_t len, struct pkg_error *err)
{
	(void)err;
	pkg_buf_add_mem(context, data, len);
	return 0;
}

static int
read_to_buf(struct fetch_zip_reader *reader, const struct fetch_zip_entry *entry, size_t max,
	struct pkg_buf *out, struct pkg_error *err)
{
	pkg_buf_truncate(out, 0);
	if (entry->size > max) {
		pkg_autofree char *shown = fetch_zip_shown(entry->name, entry->name_len);

		return pkg_error_set(err, PKG_E_TOO_LARGE,
			"entry '%s' has %llu bytes, allowed are %zu", shown,
			(unsigned long long)entry->size, max);
	}
	return fetch_zip_read(reader, entry, add_to_buf, out, err);
}

int
fetch_zip_member(fetch_read_at_fn *read_at, void *context, const struct fetch_zip_entry *entry,
	size_t max, struct pkg_buf *out, struct pkg_error *err)
{
	pkg_cleanup(fetch_zip_reader_free) struct fetch_zip_reader *reader =
		fetch_zip_reader_new(read_at, context);

	return read_to_buf(reader, entry, max, out, err);
}

int
fetch_zip_member_fd(int fd, const struct fetch_zip_entry *entry, size_t max, struct pkg_buf *out,
	struct pkg_error *err)
{
	return fetch_zip_member(read_fd, &fd, entry, max, out, err);
}

struct fetch_zip *
fetch_zip_open_fd(int fd, struct pkg_error *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0) {
		pkg_error_errno(err, errno, "look at the archive");
		return NULL;
	}
	if (!S_ISREG(st.st_mode)) {
		pkg_error_set(err, PKG_E_ARCHIVE, "not a regular file");
		return NULL;
	}
	return fetch_zip_open(read_fd, &fd, (uint64_t)st.st_size, err);
}
