/* tests/unit/fetch_zip.h - zip files of every shape, right and wrong ones.
 * Purpose    A writer that does what it is told, also where that makes no sense.
 * Ownership  The buffer is the caller's; descriptors are given.
 * Errors     Aborts.
 */
#ifndef UNIT_FETCH_ZIP_H
#define UNIT_FETCH_ZIP_H
#include "core/buf.h"
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

struct zip_file {
	const char *name;
	const char *data; /* NULL: zeros */
	size_t len; /* 0 with data: strlen(data) */
	bool deflate;
	unsigned mode; /* st_mode; 0: none */
	unsigned flags; /* added */
	int descriptor; /* its size: 12, 16, 20 or 24 */
	bool zip64;
	/* Lies. */
	size_t name_len; /* 0: strlen(name) */
	const char *local_name;
	unsigned local_flags_xor;
	int local_method; /* 0: the same */
	int central_method;
	uint32_t crc_xor; /* in both places */
	uint32_t local_crc_xor;
	long long size_add; /* in both places */
	long long local_size_add;
	uint32_t descriptor_xor;
	const char *junk_in; /* after the deflated bytes, counted as packed */
	const char *junk_after; /* before the next entry */
	const char *other_name; /* in an Info-ZIP Unicode path field */
	bool no_zip64_field;
	bool cut_extra;
	unsigned disk;
	long long offset_add; /* in the directory */
};

struct zip_shape {
	const char *before; /* the first entry */
	const char *before_directory;
	const char *after_directory;
	const char *comment;
	const char *after; /* the end record */
	bool zip64_end;
	long long count_add;
	uint64_t claim_count; /* 0: the true one */
	uint64_t claim_directory_size;
	unsigned disk;
};

static inline void
put(struct pkg_buf *out, uint64_t value, int bytes)
{
	for (int i = 0; i < bytes; i++)
		pkg_buf_add_char(out, (char)(value >> 8 * i & 0xFF));
}

static inline void
put_text(struct pkg_buf *out, const char *text)
{
	if (text)
		pkg_buf_add(out, text);
}

static inline void
pack(const struct zip_file *file, struct pkg_buf *out)
{
	size_t len = file->data && !file->len ? strlen(file->data) : file->len;
	unsigned char zeros[4096] = { 0 };
	z_stream stream = { 0 };
	size_t done = 0;
	int status = Z_OK;

	if (!file->deflate) {
		if (file->data)
			pkg_buf_add_mem(out, file->data, len);
		for (; !file->data && done < len; done++)
			pkg_buf_add_char(out, 0);
		return;
	}
	if (deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		pkg_abort("deflate");
	while (status != Z_STREAM_END) {
		size_t piece = len - done < sizeof(zeros) ? len - done : sizeof(zeros);
		unsigned char packed[8192];

		stream.next_in =
			(Bytef *)(uintptr_t)(file->data ? file->data + done : (const char *)zeros);
		stream.avail_in = (uInt)piece;
		stream.next_out = packed;
		stream.avail_out = sizeof(packed);
		status = deflate(&stream, done + piece == len ? Z_FINISH : Z_NO_FLUSH);
		done += piece - stream.avail_in;
		pkg_buf_add_mem(out, packed, sizeof(packed) - stream.avail_out);
	}
	deflateEnd(&stream);
}

static inline uint32_t
crc_of(const struct zip_file *file)
{
	size_t len = file->data && !file->len ? strlen(file->data) : file->len;
	uLong crc = crc32(0, NULL, 0);
	unsigned char zeros[4096] = { 0 };

	if (file->data)
		return (uint32_t)crc32(crc, (const Bytef *)file->data, (uInt)len);
	for (size_t done = 0; done < len;) {
		size_t piece = len - done < sizeof(zeros) ? len - done : sizeof(zeros);

		crc = crc32(crc, zeros, (uInt)piece);
		done += piece;
	}
	return (uint32_t)crc;
}

static inline void
zip_build(const struct zip_file *files, size_t count, const struct zip_shape *shape,
	struct pkg_buf *out)
{
	static const struct zip_shape plain;
	struct pkg_buf directory = { 0 };
	uint64_t directory_at;
	uint64_t end_at;

	if (!shape)
		shape = &plain;
	put_text(out, shape->before);
	for (size_t i = 0; i < count; i++) {
		const struct zip_file *file = &files[i];
		size_t len = file->data && !file->len ? strlen(file->data) : file->len;
		uint64_t size = len + (uint64_t)file->size_add;
		uint32_t crc = crc_of(file) ^ file->crc_xor;
		unsigned flags = file->flags | (file->descriptor ? 8 : 0);
		int method = file->deflate ? 8 : 0;
		const char *local = file->local_name ? file->local_name : file->name;
		size_t name_len = file->name_len ? file->name_len : strlen(file->name);
		size_t local_len = file->local_name ? strlen(local) : name_len;
		uint64_t offset = out->len;
		struct pkg_buf packed = { 0 };
		struct pkg_buf extra = { 0 };

		pack(file, &packed);
		put_text(&packed, file->junk_in);
		if (!file->deflate && file->size_add)
			size = len;
		/* Local header. */
		put(out, 0x04034b50, 4);
		put(out, 20, 2);
		put(out, flags ^ file->local_flags_xor, 2);
		put(out, (uint64_t)(file->local_method ? file->local_method : method), 2);
		put(out, 0, 4);
		put(out, file->descriptor ? 0 : crc ^ file->local_crc_xor, 4);
		if (file->zip64 && !file->no_zip64_field) {
			put(&extra, 1, 2);
			put(&extra, 16, 2);
			put(&extra, file->descriptor ? 0 : size + (uint64_t)file->local_size_add,
				8);
			put(&extra, file->descriptor ? 0 : packed.len, 8);
		}
		put(out, file->zip64 ? 0xFFFFFFFF : file->descriptor ? 0 : packed.len, 4);
		put(out,
			file->zip64		   ? 0xFFFFFFFF
				: file->descriptor ? 0
						   : size + (uint64_t)file->local_size_add,
			4);
		put(out, local_len, 2);
		put(out, extra.len, 2);
		pkg_buf_add_mem(out, local, local_len);
		pkg_buf_add_mem(out, extra.data, extra.len);
		pkg_buf_add_mem(out, packed.data, packed.len);
		if (file->descriptor == 16 || file->descriptor == 24)
			put(out, 0x08074b50, 4);
		if (file->descriptor) {
			int wide = file->descriptor >= 20 ? 8 : 4;

			put(out, crc ^ file->descriptor_xor, 4);
			put(out, packed.len, wide);
			put(out, size, wide);
		}
		put_text(out, file->junk_after);
		/* Directory. */
		pkg_buf_truncate(&extra, 0);
		if (file->zip64 && !file->no_zip64_field) {
			put(&extra, 1, 2);
			put(&extra, 24, 2);
			put(&extra, size, 8);
			put(&extra, packed.len, 8);
			put(&extra, offset + (uint64_t)file->offset_add, 8);
		}
		if (file->other_name) {
			put(&extra, 0x7075, 2);
			put(&extra, 5 + strlen(file->other_name), 2);
			put(&extra, 1, 1);
			put(&extra, 0, 4);
			put_text(&extra, file->other_name);
		}
		if (file->cut_extra) {
			put(&extra, 0x5455, 2);
			put(&extra, 99, 2);
		}
		put(&directory, 0x02014b50, 4);
		put(&directory, 0x0314, 2);
		put(&directory, 20, 2);
		put(&directory, flags, 2);
		put(&directory, (uint64_t)(file->central_method ? file->central_method : method),
			2);
		put(&directory, 0, 4);
		put(&directory, crc, 4);
		put(&directory, file->zip64 ? 0xFFFFFFFF : packed.len, 4);
		put(&directory, file->zip64 ? 0xFFFFFFFF : size, 4);
		put(&directory, name_len, 2);
		put(&directory, extra.len, 2);
		put(&directory, 0, 2);
		put(&directory, file->disk, 2);
		put(&directory, 0, 2);
		put(&directory, (uint64_t)file->mode << 16, 4);
		put(&directory, file->zip64 ? 0xFFFFFFFF : offset + (uint64_t)file->offset_add, 4);
		pkg_buf_add_mem(&directory, file->name, name_len);
		pkg_buf_add_mem(&directory, extra.data, extra.len);
		pkg_buf_clear(&packed);
		pkg_buf_clear(&extra);
	}
	put_text(out, shape->before_directory);
	directory_at = out->len;
	pkg_buf_add_mem(out, directory.data, directory.len);
	put_text(out, shape->after_directory);
	end_at = out->len;
	if (!shape->claim_count)
		count += (size_t)shape->count_add;
	if (shape->zip64_end) {
		uint64_t claim = shape->claim_count ? shape->claim_count : count;

		put(out, 0x06064b50, 4);
		put(out, 44, 8);
		put(out, 45, 2);
		put(out, 45, 2);
		put(out, 0, 8);
		put(out, claim, 8);
		put(out, claim, 8);
		put(out, shape->claim_directory_size ? shape->claim_directory_size : directory.len,
			8);
		put(out,
			shape->claim_directory_size ? end_at - shape->claim_directory_size
						    : directory_at,
			8);
		put(out, 0x07064b50, 4);
		put(out, 0, 4);
		put(out, end_at, 8);
		put(out, 1, 4);
	}
	put(out, 0x06054b50, 4);
	put(out, shape->disk, 2);
	put(out, 0, 2);
	put(out, shape->zip64_end ? 0xFFFF : count, 2);
	put(out, shape->zip64_end ? 0xFFFF : count, 2);
	put(out, shape->zip64_end ? 0xFFFFFFFF : directory.len, 4);
	put(out, shape->zip64_end ? 0xFFFFFFFF : directory_at, 4);
	put(out, shape->comment ? strlen(shape->comment) : 0, 2);
	put_text(out, shape->comment);
	put_text(out, shape->after);
	pkg_buf_clear(&directory);
}

static inline int
bytes_fd(const void *data, size_t len)
{
	int fd = memfd_create("archive", MFD_CLOEXEC);

	if (fd < 0 || (len > 0 && write(fd, data, len) != (ssize_t)len))
		pkg_abort("memfd");
	return fd;
}

static inline int
zip_fd(const struct zip_file *files, size_t count, const struct zip_shape *shape)
{
	struct pkg_buf bytes = { 0 };
	int fd;

	zip_build(files, count, shape, &bytes);
	fd = bytes_fd(bytes.data, bytes.len);
	pkg_buf_clear(&bytes);
	return fd;
}
#endif
