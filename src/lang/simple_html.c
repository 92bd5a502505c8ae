#include "lang/simple_html.h"

#include <strings.h>

#include "core/buf.h"

static bool
is_name_char(char c)
{
	return lang_is_alnum(c) || c == '-';
}

/* One attribute of a tag; a value of NULL: it has none. */
struct attribute {
	const char *name;
	size_t name_len;
	const char *value;
	size_t value_len;
};

static void
skip_space(struct lang_scan *scan)
{
	while (!lang_scan_end(scan) &&
		(lang_is_space(scan->text[scan->at]) || scan->text[scan->at] == '/'))
		scan->at++;
}

/* After '='. A quoted value may hold anything, '>' too. */
static void
scan_value(struct lang_scan *scan, struct attribute *out)
{
	char quote;
	size_t start;

	while (!lang_scan_end(scan) && lang_is_space(scan->text[scan->at]))
		scan->at++;
	quote = lang_scan_peek(scan);
	start = scan->at;
	if (quote == '"' || quote == '\'') {
		const char *end = memchr(scan->text + start + 1, quote, scan->len - start - 1);

		out->value = scan->text + start + 1;
		scan->at = end ? (size_t)(end - scan->text) + 1 : scan->len;
		out->value_len = (end ? scan->at - 1 : scan->len) - (start + 1);
		return;
	}
	while (!lang_scan_end(scan) && !lang_is_space(scan->text[scan->at]) &&
		scan->text[scan->at] != '>')
		scan->at++;
	out->value = scan->text + start;
	out->value_len = scan->at - start;
}

/* False at the tag's '>' or the end of the text. */
static bool
scan_attribute(struct lang_scan *scan, struct attribute *out)
{
	size_t start;

	skip_space(scan);
	if (lang_scan_end(scan) || scan->text[scan->at] == '>')
		return false;
	start = scan->at++;
	while (!lang_scan_end(scan) && !lang_is_space(scan->text[scan->at]) &&
		!strchr("=>/", scan->text[scan->at]))
		scan->at++;
	*out = (struct attribute){ .name = scan->text + start, .name_len = scan->at - start };
	start = scan->at;
	while (!lang_scan_end(scan) && lang_is_space(scan->text[scan->at]))
		scan->at++;
	if (lang_scan_peek(scan) != '=') {
		scan->at = start;
		return true;
	}
	scan->at++;
	scan_value(scan, out);
	return true;
}

/* The cursor is behind "<!--". */
static void
skip_comment(struct lang_scan *scan)
{
	const char *end = memmem(scan->text + scan->at, scan->len - scan->at, "-->", 3);

	scan->at = end ? (size_t)(end - scan->text) + 3 : scan->len;
}

static bool
scan_tag(struct lang_scan *scan, struct lang_html_tag *tag)
{
	struct lang_scan inside = { .text = scan->text, .at = scan->at };
	struct attribute attribute;
	size_t start = scan->at;

	inside.len = scan->len - start < LANG_HTML_TAG_MAX ? scan->len : start + LANG_HTML_TAG_MAX;
	while (!lang_scan_end(&inside) && is_name_char(inside.text[inside.at]))
		inside.at++;
	*tag = (struct lang_html_tag){
		.name = scan->text + start,
		.name_len = inside.at - start,
		.attributes = scan->text + inside.at,
	};
	start = inside.at;
	while (scan_attribute(&inside, &attribute))
		;
	if (lang_scan_end(&inside)) {
		/* Never closed. What is inside is not looked at again, so that a page full of open
		 * tags takes no longer than another. */
		scan->at = inside.len;
		return false;
	}
	tag->len = inside.at - start;
	scan->at = inside.at + 1;
	return true;
}

bool
lang_html_next(struct lang_scan *scan, struct lang_html_tag *tag)
{
	while (!lang_scan_end(scan)) {
		const char *open = memchr(scan->text + scan->at, '<', scan->len - scan->at);

		if (!open)
			break;
		scan->at = (size_t)(open - scan->text) + 1;
		if (lang_scan_take(scan, "!--"))
			skip_comment(scan);
		else if (lang_is_alpha(lang_scan_peek(scan)) && scan_tag(scan, tag))
			return true;
	}
	scan->at = scan->len;
	return false;
}

bool
lang_html_is(const struct lang_html_tag *tag, const char *name)
{
	return strlen(name) == tag->name_len && strncasecmp(name, tag->name, tag->name_len) == 0;
}

/* --- character references --- */

static const struct {
	const char *name;
	char value;
} entities[] = {
	{ "amp", '&' },
	{ "lt", '<' },
	{ "gt", '>' },
	{ "quot", '"' },
	{ "apos", '\'' },
};

static void
add_code_point(struct pkg_buf *out, unsigned long code)
{
	if (code < 0x80) {
		pkg_buf_add_char(out, (char)code);
	} else if (code < 0x800) {
		pkg_buf_add_char(out, (char)(0xc0 | code >> 6));
		pkg_buf_add_char(out, (char)(0x80 | (code & 0x3f)));
	} else if (code < 0x10000) {
		pkg_buf_add_char(out, (char)(0xe0 | code >> 12));
		pkg_buf_add_char(out, (char)(0x80 | (code >> 6 & 0x3f)));
		pkg_buf_add_char(out, (char)(0x80 | (code & 0x3f)));
	} else {
		pkg_buf_add_char(out, (char)(0xf0 | code >> 18));
		pkg_buf_add_char(out, (char)(0x80 | (code >> 12 & 0x3f)));
		pkg_buf_add_char(out, (char)(0x80 | (code >> 6 & 0x3f)));
		pkg_buf_add_char(out, (char)(0x80 | (code & 0x3f)));
	}
}

/* "#62" or "#x3e". False for one that names no character. */
static bool
add_number(struct pkg_buf *out, const char *text, size_t len)
{
	bool hex = len > 1 && (text[1] == 'x' || text[1] == 'X');
	unsigned long code = 0;
	size_t start = hex ? 2 : 1;

	if (len == start || len > start + 7)
		return false;
	for (size_t i = start; i < len; i++) {
		char c = lang_lower(text[i]);

		if (!lang_is_digit(c) && !(hex && c >= 'a' && c <= 'f'))
			return false;
		code = code * (hex ? 16 : 10) +
			(unsigned long)(lang_is_digit(c) ? c - '0' : c - 'a' + 10);
	}
	if (code == 0 || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
		return false;
	add_code_point(out, code);
	return true;
}

static bool
add_entity(struct pkg_buf *out, const char *text, size_t len)
{
	if (len > 0 && text[0] == '#')
		return add_number(out, text, len);
	for (size_t i = 0; i < PKG_ARRAY_LEN(entities); i++) {
		if (strlen(entities[i].name) != len ||
			strncasecmp(entities[i].name, text, len) != 0)
			continue;
		pkg_buf_add_char(out, entities[i].value);
		return true;
	}
	return false;
}

static char *
unescape(const char *text, size_t len)
{
	struct pkg_buf out = { 0 };

	for (size_t at = 0; at < len;) {
		const char *end = text[at] == '&'
			? memchr(text + at, ';', len - at < 12 ? len - at : 12)
			: NULL;

		if (end && add_entity(&out, text + at + 1, (size_t)(end - text) - at - 1)) {
			at = (size_t)(end - text) + 1;
			continue;
		}
		/* A NUL would end the text for whoever reads it. */
		pkg_buf_add_char(&out, text[at] ? text[at] : ' ');
		at++;
	}
	return pkg_buf_steal(&out);
}

char *
lang_html_attribute(const struct lang_html_tag *tag, const char *name)
{
	struct lang_scan scan = { .text = tag->attributes, .len = tag->len };
	struct attribute attribute;

	while (scan_attribute(&scan, &attribute))
		if (attribute.name_len == strlen(name) &&
			strncasecmp(attribute.name, name, attribute.name_len) == 0)
			return unescape(
				attribute.value ? attribute.value : "", attribute.value_len);
	return NULL;
}
