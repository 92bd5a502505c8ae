/* lang/record.h - RECORD, the list of a distribution's files ("Recording installed projects").
 * Purpose    Read what a wheel or an installed distribution says it holds; write it canonically.
 * Ownership  The record owns its entries; release with lang_record_clear(). { 0 } is empty.
 * Errors     PKG_E_ARCHIVE with the line for text that is no such list; a hash other than sha256 is
 *            refused, as nothing could be checked against it. On failure *out is empty.
 *
 * Paths are relative to site-packages and not judged here: ones that leave it ("../../bin/x") are
 * legal for installed scripts and a caller's to decide about.
 */
#ifndef LANG_RECORD_H
#define LANG_RECORD_H
#include "core/buf.h"
#include "core/error.h"

#define LANG_RECORD_ENTRIES_MAX 200000
#define LANG_RECORD_BYTES_MAX (64 * 1024 * 1024)
#define LANG_RECORD_PATH_MAX 4096
#define LANG_RECORD_SHA256 43 /* characters of url-safe base64 without padding */

struct lang_record_entry {
	char *path; /* valid UTF-8 without control characters */
	char *sha256; /* as pkg_sha256_base64url() writes it; NULL when not given */
	long long size; /* -1 when not given */
};

struct lang_record {
	struct lang_record_entry *entries; /* owned; in the order given */
	size_t count;
	size_t cap;
};

int lang_record_parse(const char *text, size_t len, struct lang_record *out, struct pkg_error *err);
void lang_record_clear(struct lang_record *record);
#define lang_cleanup_record __attribute__((cleanup(lang_record_clear)))
/* Copies; sha256 may be NULL. */
void lang_record_add(
	struct lang_record *record, const char *path, const char *sha256, long long size);
/* By path in byte order, so that the same files always give the same bytes. */
void lang_record_sort(struct lang_record *record);
/* Adds the entries in their order to *out, lines ended by '\n', quoted where CSV needs it. */
void lang_record_write(const struct lang_record *record, struct pkg_buf *out);
#endif
