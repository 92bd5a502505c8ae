#include "lang/r_dcf.h"

#include "core/buf.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* All strings of one record lie in one buffer, by their offsets, so that a big index costs no
 * allocation a field. */
struct lang_r_record {
	struct pkg_buf text;
	struct {
		size_t name;
		size_t value;
	} fields[LANG_R_DCF_FIELDS_MAX];
	size_t count;
};

struct lines {
	const char *at;
	const char *end;
	size_t number;
};

const char *
lang_r_record_get(const struct lang_r_record *record, const char *field)
{
	for (size_t i = record->count; i > 0; i--)
		if (strcmp(record->text.data + record->fields[i - 1].name, field) == 0)
			return record->text.data + record->fields[i - 1].value;
	return NULL;
}

static bool
next_line(struct lines *lines, const char **line, size_t *len)
{
	const char *newline;

	if (lines->at == lines->end)
		return false;
	newline = memchr(lines->at, '\n', (size_t)(lines->end - lines->at));
	*line = lines->at;
	*len = (size_t)((newline ? newline : lines->end) - lines->at);
	lines->at = newline ? newline + 1 : lines->end;
	lines->number++;
	while (*len > 0 && strchr(" \t\r", (*line)[*len - 1]))
		(*len)--;
	return true;
}

static int
bad_line(const struct lines *lines, struct pkg_error *err)
{
	return pkg_error_set(err, PKG_E_INVALID, "line %zu is neither a field nor the rest of one",
		lines->number);
}

static int
add_field(struct lang_r_record *record, const struct lines *lines, const char *line, size_t len,
	struct pkg_error *err)
{
	const char *colon = memchr(line, ':', len);
	size_t name_len = colon ? (size_t)(colon - line) : 0;

	if (name_len == 0 || name_len > LANG_R_DCF_NAME_MAX || memchr(line, ' ', name_len))
		return bad_line(lines, err);
	if (record->count == LANG_R_DCF_FIELDS_MAX)
		return pkg_error_set(err, PKG_E_TOO_LARGE, "line %zu: more than %d fields",
			lines->number, LANG_R_DCF_FIELDS_MAX);
	line += name_len + 1;
	len -= name_len + 1;
	while (len > 0 && (*line == ' ' || *line == '\t')) {
		line++;
		len--;
	}
	record->fields[record->count].name = record->text.len;
	pkg_buf_add_mem(&record->text, colon - name_len, name_len);
	pkg_buf_add_char(&record->text, '\0');
	record->fields[record->count++].value = record->text.len;
	pkg_buf_add_mem(&record->text, line, len);
	pkg_buf_add_char(&record->text, '\0');
	return 0;
}

/* The value that a continuation belongs to is the last thing in the buffer. */
static int
continue_field(struct lang_r_record *record, const struct lines *lines, const char *line,
	size_t len, struct pkg_error *err)
{
	size_t value;

	if (record->count == 0)
		return bad_line(lines, err);
	value = record->fields[record->count - 1].value;
	while (len > 0 && (*line == ' ' || *line == '\t')) {
		line++;
		len--;
	}
	if (record->text.len - value + len > LANG_R_DCF_VALUE_MAX)
		return pkg_error_set(err, PKG_E_TOO_LARGE,
			"line %zu: a value of more than %d bytes", lines->number,
			LANG_R_DCF_VALUE_MAX);
	pkg_buf_truncate(&record->text, record->text.len - 1);
	if (record->text.len > value)
		pkg_buf_add_char(&record->text, ' ');
	pkg_buf_add_mem(&record->text, line, len);
	pkg_buf_add_char(&record->text, '\0');
	return 0;
}

static int
finish_record(
	struct lang_r_record *record, lang_r_record_fn *each, void *context, struct pkg_error *err)
{
	int rc = record->count > 0 ? each(context, record, err) : 0;

	record->count = 0;
	pkg_buf_truncate(&record->text, 0);
	return rc;
}

static int
parse(struct lang_r_record *record, struct lines *lines, lang_r_record_fn *each, void *context,
	struct pkg_error *err)
{
	const char *line;
	size_t len;
	int rc = 0;

	while (rc == 0 && next_line(lines, &line, &len)) {
		/* R writes comments nowhere, but other tools do. */
		if (len == 0)
			rc = finish_record(record, each, context, err);
		else if (*line == ' ' || *line == '\t')
			rc = continue_field(record, lines, line, len, err);
		else if (*line != '#')
			rc = len > LANG_R_DCF_VALUE_MAX
				? pkg_error_set(err, PKG_E_TOO_LARGE, "line %zu is too long",
					  lines->number)
				: add_field(record, lines, line, len, err);
	}
	return rc == 0 ? finish_record(record, each, context, err) : rc;
}

int
lang_r_dcf_parse(
	const char *text, size_t len, lang_r_record_fn *each, void *context, struct pkg_error *err)
{
	struct lang_r_record *record;
	struct lines lines = { text, text + len, 0 };
	int rc;

	if (len > LANG_R_DCF_BYTES_MAX)
		return pkg_error_set(
			err, PKG_E_TOO_LARGE, "more than %u bytes", LANG_R_DCF_BYTES_MAX);
	if (len == 0)
		return 0;
	if (memchr(text, '\0', len))
		return pkg_error_set(err, PKG_E_INVALID, "it holds a NUL byte");
	record = pkg_xcalloc(1, sizeof(*record));
	rc = parse(record, &lines, each, context, err);
	pkg_buf_clear(&record->text);
	free(record);
	return rc < 0 ? -1 : 0;
}
