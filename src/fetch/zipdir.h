/* fetch/zipdir.h - the table of contents of a zip file (APPNOTE.TXT 6.3.10), and its members.
 * Purpose    Names, sizes and positions of the entries, and the members' bytes, through a
 *            reader that gives bytes at an offset: a local file or ranges of a remote one.
 *            ZIP64 included.
 * Ownership  The listing is a heap object; strings inside are its own.
 * Errors     PKG_E_ARCHIVE with what was found; PKG_E_TOO_LARGE past the limits (200,000
 *            entries, 64 MiB of directory).
 *
 * Two programs that read one zip file differently are how a file passes a check in one and is
 * installed by the other. So there is one reading here, and whatever would allow a second one is
 * refused: bytes before the first entry, between entries, before the directory or after the end
 * record; entries that overlap; local headers that disagree with the directory in name, method,
 * flags, size or CRC; more than one place where an end record could be; encrypted, multi-disk,
 * unknown-method entries; a second name in an extra field. Members are read by the directory's
 * sizes and must end exactly there. A general reader has to be lenient about most of these,
 * which is why libarchive is not used here.
 */
#ifndef FETCH_ZIPDIR_H
#define FETCH_ZIPDIR_H
#include "core/buf.h"
#include "core/error.h"
#include <stdint.h>

#define FETCH_ZIP_UTF8 0x0800 /* in flags: the name is UTF-8; else code page 437 */

struct fetch_zip_entry {
	char *name; /* as stored; not confined yet: see pkg_path_is_confined() */
	size_t name_len; /* may hold NUL bytes: then it is longer than strlen() */
	uint64_t size;
	uint64_t packed;
	uint64_t offset; /* of the local header */
	uint64_t end; /* where the next entry or the directory begins */
	uint32_t crc;
	uint16_t method; /* 0 stored, 8 deflated */
	uint16_t flags;
	uint16_t mode; /* Unix mode bits out of the external attributes, 0 when there are none */
};
struct fetch_zip {
	struct fetch_zip_entry *entries; /* in the order of their bytes in the file */
	size_t count;
	uint64_t file_size;
};
/* Exactly len bytes at offset into data; -1 on failure. */
typedef int fetch_read_at_fn(
	void *context, uint64_t offset, void *data, size_t len, struct pkg_error *err);

struct fetch_zip *fetch_zip_open(
	fetch_read_at_fn *read_at, void *context, uint64_t file_size, struct pkg_error *err);
void fetch_zip_free(struct fetch_zip *zip);
PKG_DEFINE_CLEANUP(struct fetch_zip, fetch_zip_free)
/* The first of that name; NULL without one. */
const struct fetch_zip_entry *fetch_zip_find(const struct fetch_zip *zip, const char *name);
/* One member, inflated, CRC checked, at most max bytes. */
int fetch_zip_member(fetch_read_at_fn *read_at, void *context, const struct fetch_zip_entry *entry,
	size_t max, struct pkg_buf *out, struct pkg_error *err);
/* For a descriptor. */
struct fetch_zip *fetch_zip_open_fd(int fd, struct pkg_error *err);
int fetch_zip_member_fd(int fd, const struct fetch_zip_entry *entry, size_t max,
	struct pkg_buf *out, struct pkg_error *err);

/* Many members, piece by piece, in little memory however large they are. */
struct fetch_zip_reader;
typedef int fetch_zip_sink_fn(void *context, const void *data, size_t len, struct pkg_error *err);
struct fetch_zip_reader *fetch_zip_reader_new(fetch_read_at_fn *read_at, void *context);
struct fetch_zip_reader *fetch_zip_reader_new_fd(
	int fd); /* borrowed; best in the order of entries */
void fetch_zip_reader_free(struct fetch_zip_reader *reader);
PKG_DEFINE_CLEANUP(struct fetch_zip_reader, fetch_zip_reader_free)
/* Never gives the sink more than entry->size bytes. -1 from the sink ends it. */
int fetch_zip_read(struct fetch_zip_reader *reader, const struct fetch_zip_entry *entry,
	fetch_zip_sink_fn *sink, void *context, struct pkg_error *err);
#endif
