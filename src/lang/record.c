#include "lang/record.h"

#include <stdlib.h>

#include "core/text.h"
#include "lang/scan.h"

#define FIELDS 3

void
lang_record_clear(struct lang_record *record)
{
	for (size_t i = 0; i < record->count; i++) {
		free(record->entries[i].path);
		free(record->entries[i].sha256);
	}
	free(record->entries);
	*record = (struct lang_record){ 0 };
}

static struct lang_record_entry *
add_entry(struct lang_record *record)
{
	if (record->count == record->cap) {
		record->cap = record->cap ? record->cap * 2 : 64;
		record->entries =
			pkg_xrealloc(record->entries, record->cap, sizeof(*record->entries));
	}
	return &record->entries[record->count++];
}

void
lang_record_add(struct lang_record *record, const char *path, const char *sha256, long long size)
{
	*add_entry(record) = (struct lang_record_entry){
		.path = pkg_xstrdup(path),
		.sha256 = pkg_xstrdup(sha256),
		.size = size,
	};
}

static bool
is_line_end(char c)
{
	return c == '\n' || c == '\r';
}

/* A field in quotes; "" within them is one quote. The cursor stands after the opening one. */
static int
scan_quoted(struct lang_scan *scan, struct pkg_buf *field, struct pkg_error *err)
{
	for (; !lang_scan_end(scan); scan->at++) {
		char c = scan->text[scan->at];

		if (c == '"') {
			scan->at++;
			if (lang_scan_peek(scan) != '"')
				return 0;
		}
		if (field->len == LANG_RECORD_PATH_MAX)
			break;
		pkg_buf_add_char(field, c);
	}
	return pkg_error_set(err, PKG_E_ARCHIVE, "a quoted field that does not end");
}

/* One field up to ',' or the end of the line, where the cursor is left. */
static int
scan_field(struct lang_scan *scan, struct pkg_buf *field, struct pkg_error *err)
{
	size_t start = scan->at;

	if (lang_scan_take(scan, "\"")) {
		if (scan_quoted(scan, field, err) < 0)
			return -1;
		if (!lang_scan_end(scan) && lang_scan_peek(scan) != ',' &&
			!is_line_end(lang_scan_peek(scan)))
			return pkg_error_set(err, PKG_E_ARCHIVE, "text after a quoted field");
		return 0;
	}
	for (; !lang_scan_end(scan); scan->at++) {
		char c = scan->text[scan->at];

		if (c == ',' || is_line_end(c))
			break;
		if (c == '"')
			return pkg_error_set(err, PKG_E_ARCHIVE, "a quote inside a plain field");
	}
	if (scan->at - start > LANG_RECORD_PATH_MAX)
		return pkg_error_set(
			err, PKG_E_ARCHIVE, "a field of more than %d bytes", LANG_RECORD_PATH_MAX);
	pkg_buf_add_mem(field, scan->text + start, scan->at - start);
	return 0;
}

static int
check_path(const struct pkg_buf *path, struct pkg_error *err)
{
	if (path->len == 0)
		return pkg_error_set(err, PKG_E_ARCHIVE, "an empty path");
	for (size_t i = 0; i < path->len; i++)
		if ((unsigned char)path->data[i] < ' ' || path->data[i] == 0x7f)
			return pkg_error_set(err, PKG_E_ARCHIVE, "a control character in a path");
	if (!pkg_text_is_utf8(path->data, path->len))
		return pkg_error_set(err, PKG_E_ARCHIVE, "a path that is not UTF-8");
	return 0;
}

/* 43 characters carry 258 bits; the last two have to be zero, or one digest has four spellings. */
static bool
is_digest(const char *text, size_t len)
{
	if (len != LANG_RECORD_SHA256)
		return false;
	for (size_t i = 0; i < len; i++)
		if (!lang_is_alnum(text[i]) && text[i] != '-' && text[i] != '_')
			return false;
	return strchr("AEIMQUYcgkosw048", text[len - 1]) != NULL;
}

static int
parse_hash(const struct pkg_buf *field, struct lang_record_entry *entry, struct pkg_error *err)
{
	static const char prefix[] = "sha256=";
	const char *text = pkg_buf_str(field);
	size_t len = field->len;

	if (len == 0)
		return 0;
	if (len < strlen(prefix) || memcmp(text, prefix, strlen(prefix)) != 0)
		return pkg_error_set(err, PKG_E_ARCHIVE, "a hash that is not sha256");
	text += strlen(prefix);
	len -= strlen(prefix);
	if (!is_digest(text, len))
		return pkg_error_set(err, PKG_E_ARCHIVE, "a malformed sha256 hash");
	entry->sha256 = pkg_xstrndup(text, len);
	return 0;
}

static int
parse_size(const struct pkg_buf *field, struct lang_record_entry *entry, struct pkg_error *err)
{
	if (field->len == 0)
		return 0;
	entry->size = 0;
	for (size_t i = 0; i < field->len; i++) {
		if (!lang_is_digit(field->data[i]) || i == 18)
			return pkg_error_set(err, PKG_E_ARCHIVE, "a malformed size");
		entry->size = entry->size * 10 + (field->data[i] - '0');
	}
	return 0;
}

static int
parse_entry(const struct pkg_buf fields[FIELDS], struct lang_record *out, struct pkg_error *err)
{
	struct lang_record_entry *entry;

	if (check_path(&fields[0], err) < 0)
		return -1;
	if (out->count == LANG_RECORD_ENTRIES_MAX)
		return pkg_error_set(
			err, PKG_E_ARCHIVE, "more than %d entries", LANG_RECORD_ENTRIES_MAX);
	entry = add_entry(out);
	*entry = (struct lang_record_entry){
		.path = pkg_xstrndup(fields[0].data, fields[0].len),
		.size = -1,
	};
	if (parse_hash(&fields[1], entry, err) < 0)
		return -1;
	return parse_size(&fields[2], entry, err);
}

static int
scan_row(struct lang_scan *scan, struct pkg_buf fields[FIELDS], struct pkg_error *err)
{
	for (size_t i = 0; i < FIELDS; i++) {
		pkg_buf_truncate(&fields[i], 0);
		if (scan_field(scan, &fields[i], err) < 0)
			return -1;
		if (i < FIELDS - 1 && !lang_scan_take(scan, ","))
			return pkg_error_set(err, PKG_E_ARCHIVE, "fewer than three fields");
	}
	if (!lang_scan_end(scan) && !is_line_end(lang_scan_peek(scan)))
		return pkg_error_set(err, PKG_E_ARCHIVE, "more than three fields");
	return 0;
}

/* Over one line end of any kind. */
static bool
take_line_end(struct lang_scan *scan)
{
	return lang_scan_take(scan, "\r\n") || lang_scan_take(scan, "\n") ||
		lang_scan_take(scan, "\r");
}

int
lang_record_parse(const char *text, size_t len, struct lang_record *out, struct pkg_error *err)
{
	struct lang_scan scan = { .text = text, .len = len };
	struct pkg_buf fields[FIELDS] = { 0 };
	size_t line = 1;
	int rc = 0;

	*out = (struct lang_record){ 0 };
	if (len > LANG_RECORD_BYTES_MAX)
		return pkg_error_set(
			err, PKG_E_ARCHIVE, "RECORD: more than %d bytes", LANG_RECORD_BYTES_MAX);
	while (rc == 0 && !lang_scan_end(&scan)) {
		if (take_line_end(&scan)) {
			line++;
			continue;
		}
		rc = scan_row(&scan, fields, err);
		if (rc == 0)
			rc = parse_entry(fields, out, err);
	}
	for (size_t i = 0; i < FIELDS; i++)
		pkg_buf_clear(&fields[i]);
	if (rc == 0)
		return 0;
	lang_record_clear(out);
	return pkg_error_prefix(err, "RECORD: line %zu", line);
}

static int
compare_entries(const void *a, const void *b)
{
	const struct lang_record_entry *ea = a, *eb = b;

	return strcmp(ea->path, eb->path);
}

void
lang_record_sort(struct lang_record *record)
{
	if (record->count > 1)
		qsort(record->entries, record->count, sizeof(*record->entries), compare_entries);
}

static void
write_path(const char *path, struct pkg_buf *out)
{
	if (!strpbrk(path, ",\"\r\n")) {
		pkg_buf_add(out, path);
		return;
	}
	pkg_buf_add_char(out, '"');
	for (; *path; path++) {
		if (*path == '"')
			pkg_buf_add_char(out, '"');
		pkg_buf_add_char(out, *path);
	}
	pkg_buf_add_char(out, '"');
}

void
lang_record_write(const struct lang_record *record, struct pkg_buf *out)
{
	for (size_t i = 0; i < record->count; i++) {
		const struct lang_record_entry *entry = &record->entries[i];

		write_path(entry->path, out);
		pkg_buf_addf(out, ",%s%s,", entry->sha256 ? "sha256=" : "",
			entry->sha256 ? entry->sha256 : "");
		if (entry->size >= 0)
			pkg_buf_addf(out, "%lld", entry->size);
		pkg_buf_add_char(out, '\n');
	}
}
