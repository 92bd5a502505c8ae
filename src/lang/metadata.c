#include "lang/metadata.h"

#include <stdlib.h>
#include <strings.h>

#include "core/buf.h"
#include "core/text.h"
#include "lang/pep503.h"
#include "lang/scan.h"

/* Where a header's value goes: one of the two is set. */
struct header {
	const char *key;
	char **single;
	struct pkg_argv *list;
};

struct line {
	const char *text;
	size_t len;
};

void
lang_metadata_clear(struct lang_metadata *metadata)
{
	free(metadata->name);
	free(metadata->version);
	free(metadata->requires_python);
	pkg_argv_free(metadata->requires_dist);
	pkg_argv_free(metadata->provides_extra);
	memset(metadata, 0, sizeof(*metadata));
}

void
lang_wheel_info_clear(struct lang_wheel_info *info)
{
	free(info->wheel_version);
	pkg_argv_free(info->tags);
	memset(info, 0, sizeof(*info));
}

/* The next line, ended by \n, \r\n or \r as for Python's email parser. False at the end. */
static bool
next_line(struct lang_scan *scan, struct line *out)
{
	size_t start = scan->at;

	if (lang_scan_end(scan))
		return false;
	while (!lang_scan_end(scan) && scan->text[scan->at] != '\n' && scan->text[scan->at] != '\r')
		scan->at++;
	*out = (struct line){ .text = scan->text + start, .len = scan->at - start };
	if (!lang_scan_take(scan, "\r\n") && !lang_scan_end(scan))
		scan->at++;
	return true;
}

static size_t
key_len(const struct line *line)
{
	for (size_t i = 0; i < line->len; i++) {
		if (line->text[i] == ':')
			return i;
		if (!lang_is_graph(line->text[i]))
			return 0;
	}
	return 0;
}

static bool
is_from_line(const struct line *line)
{
	return line->len >= 5 && memcmp(line->text, "From ", 5) == 0;
}

static const struct header *
find_header(const struct header *headers, size_t count, const struct line *line, size_t key)
{
	for (size_t i = 0; i < count; i++)
		if (strlen(headers[i].key) == key &&
			strncasecmp(headers[i].key, line->text, key) == 0)
			return &headers[i];
	return NULL;
}

static int
store(const struct header *header, const struct pkg_buf *value, struct pkg_error *err)
{
	const char *text = pkg_buf_str(value);
	size_t len = value->len;

	for (; len > 0 && lang_is_space(text[0]); len--)
		text++;
	while (len > 0 && lang_is_space(text[len - 1]))
		len--;
	if (len > LANG_METADATA_VALUE_MAX)
		return pkg_error_set(err, PKG_E_ARCHIVE, "%s: more than %d bytes", header->key,
			LANG_METADATA_VALUE_MAX);
	for (size_t i = 0; i < len; i++)
		if (((unsigned char)text[i] < ' ' && text[i] != '\t') || text[i] == 0x7f)
			return pkg_error_set(
				err, PKG_E_ARCHIVE, "%s: a control character", header->key);
	if (!pkg_text_is_utf8(text, len))
		return pkg_error_set(err, PKG_E_ARCHIVE, "%s: not UTF-8", header->key);
	if (header->list) {
		if (header->list->count == LANG_METADATA_LIST_MAX)
			return pkg_error_set(err, PKG_E_ARCHIVE, "%s: more than %d of them",
				header->key, LANG_METADATA_LIST_MAX);
		pkg_argv_take(header->list, pkg_xstrndup(text, len));
		return 0;
	}
	if (*header->single)
		return pkg_error_set(err, PKG_E_ARCHIVE, "%s: given twice", header->key);
	*header->single = pkg_xstrndup(text, len);
	return 0;
}

/* Stores the header that has been collected, if it is one of ours, and forgets it. */
static int
flush(const struct header **header, struct pkg_buf *value, struct pkg_error *err)
{
	int rc = *header ? store(*header, value, err) : 0;

	*header = NULL;
	pkg_buf_truncate(value, 0);
	return rc;
}

static int
parse_headers(const char *text, size_t len, const struct header *headers, size_t count,
	struct pkg_error *err)
{
	bool cut = len > LANG_METADATA_HEAD_MAX;
	struct lang_scan scan = { .text = text, .len = cut ? LANG_METADATA_HEAD_MAX : len };
	pkg_cleanup_buf struct pkg_buf value = { 0 };
	const struct header *current = NULL;
	struct line line;

	while (next_line(&scan, &line)) {
		size_t key = key_len(&line);

		if (line.len > 0 && lang_is_blank(line.text[0])) {
			if (current) {
				pkg_buf_add_char(&value, ' ');
				pkg_buf_add_mem(&value, line.text, line.len);
			}
			continue;
		}
		if (flush(&current, &value, err) < 0)
			return -1;
		/* Python's parser steps over these two and reads on. */
		if (line.len > 0 && (line.text[0] == ':' || is_from_line(&line)))
			return pkg_error_set(err, PKG_E_ARCHIVE, "a malformed header");
		if (key == 0)
			return 0;
		current = find_header(headers, count, &line, key);
		if (current)
			pkg_buf_add_mem(&value, line.text + key + 1, line.len - key - 1);
	}
	if (cut)
		return pkg_error_set(err, PKG_E_ARCHIVE, "headers of more than %d bytes",
			LANG_METADATA_HEAD_MAX);
	return flush(&current, &value, err);
}

static int
check_metadata(const struct lang_metadata *metadata, struct pkg_error *err)
{
	if (!metadata->name)
		return pkg_error_set(err, PKG_E_ARCHIVE, "no Name");
	if (!lang_pep503_is_name(metadata->name))
		return pkg_error_set(err, PKG_E_ARCHIVE, "Name is not a project name");
	if (!metadata->version || metadata->version[0] == '\0')
		return pkg_error_set(err, PKG_E_ARCHIVE, "no Version");
	for (const char *p = metadata->version; *p; p++)
		if (!lang_is_graph(*p))
			return pkg_error_set(
				err, PKG_E_ARCHIVE, "Version has a character that no version has");
	return 0;
}

int
lang_metadata_parse(const char *text, size_t len, struct lang_metadata *out, struct pkg_error *err)
{
	struct header headers[] = {
		{ .key = "Name", .single = &out->name },
		{ .key = "Version", .single = &out->version },
		{ .key = "Requires-Python", .single = &out->requires_python },
		{ .key = "Requires-Dist", .list = NULL },
		{ .key = "Provides-Extra", .list = NULL },
	};

	memset(out, 0, sizeof(*out));
	headers[3].list = out->requires_dist = pkg_argv_new();
	headers[4].list = out->provides_extra = pkg_argv_new();
	if (parse_headers(text, len, headers, PKG_ARRAY_LEN(headers), err) == 0 &&
		check_metadata(out, err) == 0)
		return 0;
	lang_metadata_clear(out);
	return pkg_error_prefix(err, "METADATA");
}

static int
check_wheel_info(struct lang_wheel_info *info, const char *purelib, struct pkg_error *err)
{
	if (!info->wheel_version)
		return pkg_error_set(err, PKG_E_ARCHIVE, "no Wheel-Version");
	if (strncmp(info->wheel_version, "1.", 2) != 0 || !lang_is_digit(info->wheel_version[2]))
		return pkg_error_set(err, PKG_E_ARCHIVE, "Wheel-Version '%.40s' is not 1.x",
			info->wheel_version);
	if (!purelib)
		return pkg_error_set(err, PKG_E_ARCHIVE, "no Root-Is-Purelib");
	info->root_is_purelib = strcasecmp(purelib, "true") == 0;
	if (!info->root_is_purelib && strcasecmp(purelib, "false") != 0)
		return pkg_error_set(
			err, PKG_E_ARCHIVE, "Root-Is-Purelib is neither true nor false");
	return 0;
}

int
lang_wheel_info_parse(
	const char *text, size_t len, struct lang_wheel_info *out, struct pkg_error *err)
{
	pkg_autofree char *purelib = NULL;
	struct header headers[] = {
		{ .key = "Wheel-Version", .single = &out->wheel_version },
		{ .key = "Root-Is-Purelib", .single = &purelib },
		{ .key = "Tag", .list = NULL },
	};

	memset(out, 0, sizeof(*out));
	headers[2].list = out->tags = pkg_argv_new();
	if (parse_headers(text, len, headers, PKG_ARRAY_LEN(headers), err) == 0 &&
		check_wheel_info(out, purelib, err) == 0)
		return 0;
	lang_wheel_info_clear(out);
	return pkg_error_prefix(err, "WHEEL");
}
