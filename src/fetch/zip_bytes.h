/* fetch/zip_bytes.h - fields of zip records, for zipdir.c and zip_reader.c only.
 * Purpose    Little-endian numbers, signatures, and the ZIP64 extra field (APPNOTE.TXT 4.5.3).
 * Ownership  Everything is borrowed, but what fetch_zip_shown() gives.
 * Errors     PKG_E_ARCHIVE.
 */
#ifndef FETCH_ZIP_BYTES_H
#define FETCH_ZIP_BYTES_H
#include "core/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ZIP_SIG_LOCAL 0x04034b50U
#define ZIP_SIG_DESCRIPTOR 0x08074b50U
#define ZIP_SIG_ENTRY 0x02014b50U
#define ZIP_SIG_END 0x06054b50U
#define ZIP_SIG_END64 0x06064b50U
#define ZIP_SIG_LOCATOR 0x07064b50U

#define ZIP_LOCAL_SIZE 30

#define ZIP_FLAG_ENCRYPTED 0x0001
#define ZIP_FLAG_DESCRIPTOR 0x0008
#define ZIP_FLAG_STRONG 0x0040
#define ZIP_FLAG_MASKED 0x2000

#define ZIP_EXTRA_ZIP64 0x0001
#define ZIP_EXTRA_UNICODE_PATH 0x7075

static inline unsigned
zip_u16(const unsigned char *at)
{
	return at[0] | (unsigned)at[1] << 8;
}

static inline uint32_t
zip_u32(const unsigned char *at)
{
	return zip_u16(at) | (uint32_t)zip_u16(at + 2) << 16;
}

static inline uint64_t
zip_u64(const unsigned char *at)
{
	return zip_u32(at) | (uint64_t)zip_u32(at + 4) << 32;
}

/* The numbers that the field may widen: those that are 0xFFFFFFFF, in this order. offset is NULL in
 * a local header, which has none. */
struct zip_wide {
	uint64_t *size;
	uint64_t *packed;
	uint64_t *offset;
	bool seen;
};

static inline int
zip_widen(struct zip_wide *wide, const unsigned char *field, size_t len, struct pkg_error *err)
{
	uint64_t *slots[] = { wide->size, wide->packed, wide->offset };

	if (wide->seen)
		return pkg_error_set(err, PKG_E_ARCHIVE, "two ZIP64 extra fields");
	wide->seen = true;
	for (size_t i = 0; i < 3; i++) {
		if (!slots[i] || *slots[i] != 0xFFFFFFFF)
			continue;
		if (len < 8)
			return pkg_error_set(err, PKG_E_ARCHIVE, "a ZIP64 extra field is cut off");
		*slots[i] = zip_u64(field);
		field += 8;
		len -= 8;
	}
	return 0;
}

/* After the last extra field: without a ZIP64 one no number may be marked as being there. */
static inline int
zip_widened(const struct zip_wide *wide, struct pkg_error *err)
{
	if (!wide->seen &&
		(*wide->size == 0xFFFFFFFF || *wide->packed == 0xFFFFFFFF ||
			(wide->offset && *wide->offset == 0xFFFFFFFF)))
		return pkg_error_set(err, PKG_E_ARCHIVE, "its ZIP64 extra field is missing");
	return 0;
}

/* An entry's name, fit to be shown. Given. */
char *fetch_zip_shown(const char *name, size_t len);
#endif
