#include "fetch/zipdir.h"

#include "core/text.h"
#include "fetch/zip_bytes.h"

#include <stdlib.h>
#include <string.h>

#define ENTRIES_MAX 200000
#define DIRECTORY_MAX (64 << 20)
#define COMMENT_MAX 65535

#define END_SIZE 22
#define LOCATOR_SIZE 20
#define END64_SIZE 56
#define ENTRY_SIZE 46

struct directory {
	uint64_t offset;
	uint64_t size;
	uint64_t count;
};

void
fetch_zip_free(struct fetch_zip *zip)
{
	if (!zip)
		return;
	for (size_t i = 0; i < zip->count; i++)
		free(zip->entries[i].name);
	free(zip->entries);
	free(zip);
}

char *
fetch_zip_shown(const char *name, size_t len)
{
	return pkg_text_clean(name, len, 200, false);
}

/* The end record. */

static int
find_end(const unsigned char *tail, size_t len, size_t *at, struct pkg_error *err)
{
	size_t found = 0;

	/* Its comment must reach exactly to the end of the file. If two places fit, one is in a
	 * comment, and readers disagree about which. */
	for (size_t i = 0; i + END_SIZE <= len; i++) {
		if (zip_u32(tail + i) != ZIP_SIG_END ||
			i + END_SIZE + zip_u16(tail + i + 20) != len)
			continue;
		*at = i;
		found++;
	}
	if (found == 0)
		return pkg_error_set(err, PKG_E_ARCHIVE,
			"not a zip file: no end record that reaches to the end of the file");
	if (found > 1)
		return pkg_error_set(err, PKG_E_ARCHIVE, "%zu end records fit", found);
	return 0;
}

/* The ZIP64 end record that the locator before the end record points to. */
static int
read_end64(fetch_read_at_fn *read_at, void *context, const unsigned char locator[LOCATOR_SIZE],
	uint64_t locator_at, struct directory *directory, struct pkg_error *err)
{
	unsigned char end[END64_SIZE];
	uint64_t at = zip_u64(locator + 8);

	if (zip_u32(locator + 4) != 0 || zip_u32(locator + 16) > 1)
		return pkg_error_set(err, PKG_E_ARCHIVE, "a part of a multi-disk archive");
	if (locator_at < END64_SIZE || at > locator_at - END64_SIZE)
		return pkg_error_set(
			err, PKG_E_ARCHIVE, "the ZIP64 end record lies outside the file");
	if (read_at(context, at, end, sizeof(end), err) < 0)
		return -1;
	if (zip_u32(end) != ZIP_SIG_END64 || zip_u64(end + 4) != locator_at - at - 12)
		return pkg_error_set(
			err, PKG_E_ARCHIVE, "no ZIP64 end record that reaches to its locator");
	if (zip_u32(end + 16) != 0 || zip_u32(end + 20) != 0 ||
		zip_u64(end + 24) != zip_u64(end + 32))
		return pkg_error_set(err, PKG_E_ARCHIVE, "a part of a multi-disk archive");
	directory->count = zip_u64(end + 32);
	directory->size = zip_u64(end + 40);
	directory->offset = zip_u64(end + 48);
	if (directory->offset > at || at - directory->offset != directory->size)
		return pkg_error_set(
			err, PKG_E_ARCHIVE, "the directory does not reach to its end record");
	return 0;
}

/* A field of the end record that ZIP64 repeats is either the same or marked as too small. */
static bool
agrees(uint64_t small, uint64_t wide, uint64_t marker)
{
	return small == marker || small == wide;
}

static int
read_end(fetch_read_at_fn *read_at, void *context, uint64_t file_size, struct directory *directory,
	struct pkg_error *err)
{
	size_t len = file_size < END_SIZE + COMMENT_MAX + LOCATOR_SIZE
		? (size_t)file_size
		: END_SIZE + COMMENT_MAX + LOCATOR_SIZE;
	pkg_autofree unsigned char *tail = pkg_xmalloc(len);
	uint64_t tail_at = file_size - len;
	const unsigned char *end;
	size_t at = 0;
	struct directory small;

	if (read_at(context, tail_at, tail, len, err) < 0 || find_end(tail, len, &at, err) < 0)
		return -1;
	end = tail + at;
	if (zip_u16(end + 4) != 0 || zip_u16(end + 6) != 0 || zip_u16(end + 8) != zip_u16(end + 10))
		return pkg_error_set(err, PKG_E_ARCHIVE, "a part of a multi-disk archive");
	small = (struct directory){
		.count = zip_u16(end + 10), .size = zip_u32(end + 12), .offset = zip_u32(end + 16)
	};
	if (at >= LOCATOR_SIZE && zip_u32(end - LOCATOR_SIZE) == ZIP_SIG_LOCATOR) {
		if (read_end64(read_at, context, end - LOCATOR_SIZE, tail_at + at - LOCATOR_SIZE,
			    directory, err) < 0)
			return -1;
		if (!agrees(small.count, directory->count, 0xFFFF) ||
			!agrees(small.size, directory->size, 0xFFFFFFFF) ||
			!agrees(small.offset, directory->offset, 0xFFFFFFFF))
			return pkg_error_set(
				err, PKG_E_ARCHIVE, "the two end records contradict each other");
		return 0;
	}
	if (small.offset > tail_at + at || tail_at + at - small.offset != small.size)
		return pkg_error_set(
			err, PKG_E_ARCHIVE, "the directory does not reach to its end record");
	*directory = small;
	return 0;
}

/* Entries. */

/* Info-ZIP's Unicode path (0x7075): a name that some readers prefer to the other one. */
static bool
is_other_name(const unsigned char *field, size_t len, const struct fetch_zip_entry *entry)
{
	return len < 5 || len - 5 != entry->name_len ||
		memcmp(field + 5, entry->name, entry->name_len) != 0;
}

static int
read_extra(struct fetch_zip_entry *entry, const unsigned char *extra, size_t len,
	struct pkg_error *err)
{
	struct zip_wide wide = {
		.size = &entry->size, .packed = &entry->packed, .offset = &entry->offset
	};

	for (size_t at = 0; at + 4 <= len;) {
		unsigned id = zip_u16(extra + at);
		size_t field_len = zip_u16(extra + at + 2);

		at += 4;
		if (field_len > len - at)
			return pkg_error_set(err, PKG_E_ARCHIVE, "an extra field is cut off");
		if (id == ZIP_EXTRA_UNICODE_PATH && is_other_name(extra + at, field_len, entry))
			return pkg_error_set(
				err, PKG_E_ARCHIVE, "an extra field gives it another name");
		if (id == ZIP_EXTRA_ZIP64 && zip_widen(&wide, extra + at, field_len, err) < 0)
			return -1;
		at += field_len;
	}
	return zip_widened(&wide, err);
}

static int
check_entry(const struct fetch_zip_entry *entry, unsigned disk, struct pkg_error *err)
{
	if (entry->flags & (ZIP_FLAG_ENCRYPTED | ZIP_FLAG_STRONG | ZIP_FLAG_MASKED))
		return pkg_error_set(err, PKG_E_ARCHIVE, "encrypted");
	if (entry->method != 0 && entry->method != 8)
		return pkg_error_set(err, PKG_E_ARCHIVE,
			"compression method %u is neither stored nor deflated", entry->method);
	if (entry->method == 0 && entry->size != entry->packed)
		return pkg_error_set(err, PKG_E_ARCHIVE, "stored with two different sizes");
	if (disk != 0)
		return pkg_error_set(err, PKG_E_ARCHIVE, "a part of a multi-disk archive");
	if (entry->name_len == 0)
		return pkg_error_set(err, PKG_E_ARCHIVE, "no name");
	return 0;
}

/* Bytes used, 0 on failure. */
static size_t
read_entry(
	struct fetch_zip_entry *entry, const unsigned char *at, size_t len, struct pkg_error *err)
{
	size_t name_len;
	size_t extra_len;
	size_t total;
	pkg_autofree char *shown = NULL;

	if (len < ENTRY_SIZE || zip_u32(at) != ZIP_SIG_ENTRY) {
		pkg_error_set(err, PKG_E_ARCHIVE, "the directory is damaged");
		return 0;
	}
	name_len = zip_u16(at + 28);
	extra_len = zip_u16(at + 30);
	total = ENTRY_SIZE + name_len + extra_len + zip_u16(at + 32);
	if (total > len) {
		pkg_error_set(err, PKG_E_ARCHIVE, "the directory is cut off");
		return 0;
	}
	*entry = (struct fetch_zip_entry){
		.name = pkg_xmalloc(name_len + 1),
		.name_len = name_len,
		.flags = (uint16_t)zip_u16(at + 8),
		.method = (uint16_t)zip_u16(at + 10),
		.crc = zip_u32(at + 16),
		.packed = zip_u32(at + 20),
		.size = zip_u32(at + 24),
		.mode = (uint16_t)zip_u16(at + 40),
		.offset = zip_u32(at + 42),
	};
	memcpy(entry->name, at + ENTRY_SIZE, name_len);
	entry->name[name_len] = '\0';
	if (read_extra(entry, at + ENTRY_SIZE + name_len, extra_len, err) == 0 &&
		check_entry(entry, zip_u16(at + 34), err) == 0)
		return total;
	shown = fetch_zip_shown(entry->name, name_len);
	pkg_error_prefix(err, "entry '%s'", shown);
	return 0;
}

static int
compare_offsets(const void *a, const void *b)
{
	const struct fetch_zip_entry *left = a;
	const struct fetch_zip_entry *right = b;

	return (left->offset > right->offset) - (left->offset < right->offset);
}

/* Sorts by offset and sees that nothing lies before, between or over the entries. That the gap
 * after each one's bytes holds its descriptor and nothing else is checked when it is read. */
static int
place_entries(struct fetch_zip *zip, uint64_t directory_at, struct pkg_error *err)
{
	qsort(zip->entries, zip->count, sizeof(*zip->entries), compare_offsets);
	if (zip->count > 0 ? zip->entries[0].offset != 0 : directory_at != 0)
		return pkg_error_set(err, PKG_E_ARCHIVE, "bytes before the first entry");
	for (size_t i = 0; i < zip->count; i++) {
		struct fetch_zip_entry *entry = &zip->entries[i];
		uint64_t room;

		entry->end = i + 1 < zip->count ? zip->entries[i + 1].offset : directory_at;
		room = entry->end - entry->offset;
		if (entry->end > directory_at || room < ZIP_LOCAL_SIZE + entry->name_len ||
			entry->packed > room - ZIP_LOCAL_SIZE - entry->name_len) {
			pkg_autofree char *shown = fetch_zip_shown(entry->name, entry->name_len);

			return pkg_error_set(
				err, PKG_E_ARCHIVE, "entry '%s' overlaps what follows it", shown);
		}
	}
	return 0;
}

static int
read_directory(struct fetch_zip *zip, const unsigned char *data, const struct directory *directory,
	struct pkg_error *err)
{
	size_t left = (size_t)directory->size;

	zip->entries = pkg_xcalloc((size_t)directory->count, sizeof(*zip->entries));
	for (uint64_t i = 0; i < directory->count; i++) {
		size_t used;

		/* Counted before it is read, so that its name is freed whatever happens. */
		zip->count++;
		used = read_entry(&zip->entries[i], data + (directory->size - left), left, err);
		if (used == 0)
			return -1;
		left -= used;
	}
	if (left > 0)
		return pkg_error_set(
			err, PKG_E_ARCHIVE, "%zu bytes after the directory's last entry", left);
	return place_entries(zip, directory->offset, err);
}

struct fetch_zip *
fetch_zip_open(fetch_read_at_fn *read_at, void *context, uint64_t file_size, struct pkg_error *err)
{
	pkg_cleanup(fetch_zip_free) struct fetch_zip *zip = pkg_xcalloc(1, sizeof(*zip));
	pkg_autofree unsigned char *data = NULL;
	struct directory directory = { 0 };

	zip->file_size = file_size;
	if (read_end(read_at, context, file_size, &directory, err) < 0)
		return NULL;
	if (directory.count > ENTRIES_MAX) {
		pkg_error_set(err, PKG_E_TOO_LARGE, "%llu entries, allowed are %d",
			(unsigned long long)directory.count, ENTRIES_MAX);
		return NULL;
	}
	if (directory.size > DIRECTORY_MAX) {
		pkg_error_set(err, PKG_E_TOO_LARGE, "%llu bytes of directory, allowed are %d",
			(unsigned long long)directory.size, DIRECTORY_MAX);
		return NULL;
	}
	if (directory.count > directory.size / ENTRY_SIZE) {
		pkg_error_set(err, PKG_E_ARCHIVE, "more entries than the directory has room for");
		return NULL;
	}
	data = pkg_xmalloc((size_t)directory.size);
	if (read_at(context, directory.offset, data, (size_t)directory.size, err) < 0 ||
		read_directory(zip, data, &directory, err) < 0)
		return NULL;
	return pkg_steal_ptr(&zip);
}

const struct fetch_zip_entry *
fetch_zip_find(const struct fetch_zip *zip, const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < zip->count; i++) {
		if (zip->entries[i].name_len == len && memcmp(zip->entries[i].name, name, len) == 0)
			return &zip->entries[i];
	}
	return NULL;
}
