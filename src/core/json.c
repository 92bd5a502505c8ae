#include "core/json.h"

#include "core/file.h"
#include "core/text.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define PLAIN (JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE)

/* Sets the error; columns count characters. */
static int
fail_at(struct pkg_error *err, const char *text, size_t at, const char *why)
{
	size_t line = 1;
	size_t column = 1;

	for (size_t i = 0; i < at; i++) {
		if (text[i] == '\n') {
			line++;
			column = 1;
		} else if (((unsigned char)text[i] & 0xC0) != 0x80) {
			column++;
		}
	}
	return pkg_error_set(err, PKG_E_INVALID, "not valid JSON at line %zu, column %zu: %s", line,
		column, why);
}

/* ---- What json-c lets pass even when strict ---------------------------------------------------
 *
 * It takes NaN and Infinity, control characters in strings, "\u0000" (which would end a C string
 * early, so that two readers see two values) and numbers that no double holds. The tokens are
 * therefore looked at first; how they fit together is left to json-c. */

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool
is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static size_t
skip_digits(const char *text, size_t len, size_t at)
{
	while (at < len && is_digit(text[at]))
		at++;
	return at;
}

/* The three checks of one token return the offset behind it, or 0 and why not. */
static size_t
check_string(const char *text, size_t len, size_t at, const char **why)
{
	for (at++; at < len; at++) {
		if (text[at] == '"')
			return at + 1;
		if ((unsigned char)text[at] < 0x20) {
			*why = "control character in a string";
			return 0;
		}
		if (text[at] != '\\')
			continue;
		at++;
		if (len - at >= 5 && memcmp(text + at, "u0000", 5) == 0) {
			*why = "NUL in a string";
			return 0;
		}
	}
	*why = "string without an end";
	return 0;
}

static size_t
check_number(const char *text, size_t len, size_t at, const char **why)
{
	size_t start = at + (text[at] == '-');
	size_t end = skip_digits(text, len, start);
	size_t magnitude = end - start; /* decimal digits before the point */
	size_t digits;

	*why = "not a number";
	if (end == start || (text[start] == '0' && end > start + 1))
		return 0;
	if (end < len && text[end] == '.') {
		digits = end + 1;
		end = skip_digits(text, len, digits);
		if (end == digits)
			return 0;
	}
	if (end < len && (text[end] == 'e' || text[end] == 'E')) {
		bool negative = end + 1 < len && text[end + 1] == '-';
		bool sign = end + 1 < len && (negative || text[end + 1] == '+');
		size_t exponent = 0;

		digits = end + 1 + sign;
		end = skip_digits(text, len, digits);
		if (end == digits)
			return 0;
		for (size_t i = digits; i < end && exponent < 1000; i++)
			exponent = exponent * 10 + (size_t)(text[i] - '0');
		if (!negative)
			magnitude += exponent;
	}
	if (magnitude > 308) {
		*why = "number out of range";
		return 0;
	}
	return end;
}

static size_t
check_word(const char *text, size_t len, size_t at, const char **why)
{
	static const char *const words[] = { "true", "false", "null" };

	for (size_t i = 0; i < PKG_ARRAY_LEN(words); i++) {
		size_t n = strlen(words[i]);

		if (len - at >= n && memcmp(text + at, words[i], n) == 0)
			return at + n;
	}
	*why = "unexpected character";
	return 0;
}

static int
check_tokens(const char *text, size_t len, struct pkg_error *err)
{
	const char *why = NULL;
	size_t at = 0;
	size_t end;

	while (at < len) {
		if (is_space(text[at]) || (text[at] && strchr("{}[],:", text[at]))) {
			at++;
			continue;
		}
		if (text[at] == '"')
			end = check_string(text, len, at, &why);
		else if (text[at] == '-' || is_digit(text[at]))
			end = check_number(text, len, at, &why);
		else
			end = check_word(text, len, at, &why);
		if (end == 0)
			return fail_at(err, text, at, why);
		if (end < len && !is_space(text[end]) && !strchr("{}[],:", text[end]))
			return fail_at(err, text, end, "unexpected character");
		at = end;
	}
	return 0;
}

/* ---- Parsing ----------------------------------------------------------------------------------
 */

static int
check_text(const char *text, size_t len, struct pkg_error *err)
{
	size_t at = 0;

	if (len > INT_MAX / 2)
		return pkg_error_set(err, PKG_E_TOO_LARGE, "JSON of %zu bytes", len);
	if (pkg_text_is_utf8(text, len))
		return 0;
	/* The first prefix that is no UTF-8 for a reason other than being cut short. */
	while (at < len) {
		size_t n = 1;

		while (n < 4 && at + n <= len && !pkg_text_is_utf8(text + at, n))
			n++;
		if (at + n > len || !pkg_text_is_utf8(text + at, n))
			break;
		at += n;
	}
	return fail_at(err, text, at, "not UTF-8");
}

static struct json_object *
parse(const char *text, size_t len, struct pkg_error *err)
{
	struct json_tokener *tokener = json_tokener_new_ex(PKG_JSON_DEPTH);
	struct json_object *value = NULL;
	enum json_tokener_error status;
	size_t end;

	if (!tokener)
		pkg_abort("out of memory");
	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT);
	value = json_tokener_parse_ex(tokener, text, (int)len);
	status = json_tokener_get_error(tokener);
	end = json_tokener_get_parse_end(tokener);
	if (status == json_tokener_continue) {
		/* Only the end of the text ends a number; to anything else it comes too early. */
		value = json_tokener_parse_ex(tokener, "", 1);
		status = json_tokener_get_error(tokener);
		end = len;
	}
	if (status != json_tokener_success)
		fail_at(err, text, end < len ? end : len, json_tokener_error_desc(status));
	else if (end < len)
		fail_at(err, text, end, "something follows the value");
	else if (!value)
		fail_at(err, text, 0, "the value is null");
	json_tokener_free(tokener);
	if (status != json_tokener_success || end < len) {
		json_object_put(value);
		return NULL;
	}
	return value;
}

struct json_object *
pkg_json_parse(const char *text, size_t len, struct pkg_error *err)
{
	if (check_text(text, len, err) < 0 || check_tokens(text, len, err) < 0)
		return NULL;
	while (len > 0 && is_space(text[len - 1]))
		len--;
	return parse(text, len, err);
}

/* Bytes of the comment at text, 0 when none begins there or it has no end. */
static size_t
comment_length(const char *text, size_t len)
{
	if (len < 2 || text[0] != '/')
		return 0;
	if (text[1] == '/') {
		const char *newline = memchr(text, '\n', len);

		return newline ? (size_t)(newline - text) : len;
	}
	if (text[1] == '*') {
		const char *end = len >= 4 ? memmem(text + 2, len - 2, "*/", 2) : NULL;

		return end ? (size_t)(end - text) + 2 : 0;
	}
	return 0;
}

static size_t
skip_string(const char *text, size_t len, size_t at)
{
	for (at++; at < len && text[at] != '"'; at++) {
		if (text[at] == '\\')
			at++;
	}
	return at < len ? at + 1 : len;
}

/* Comments and trailing commas become blanks, so that every offset still means what it did. */
static void
blank_relaxed(char *text, size_t len)
{
	char before = '\0'; /* last that is neither blank nor comment */
	char before_comma = '\0'; /* and the one before that comma */
	size_t comma = 0;
	size_t at = 0;

	while (at < len) {
		size_t comment = comment_length(text + at, len - at);

		if (comment > 0) {
			for (size_t end = at + comment; at < end; at++) {
				if (text[at] != '\n')
					text[at] = ' ';
			}
			continue;
		}
		if (is_space(text[at])) {
			at++;
			continue;
		}
		if ((text[at] == ']' || text[at] == '}') && before == ',' && before_comma &&
			!strchr("[{,:", before_comma))
			text[comma] = ' ';
		if (text[at] == ',') {
			comma = at;
			before_comma = before;
		}
		before = text[at];
		at = before == '"' ? skip_string(text, len, at) : at + 1;
	}
}

struct json_object *
pkg_json_parse_relaxed(const char *text, size_t len, struct pkg_error *err)
{
	pkg_autofree char *copy = NULL;

	if (check_text(text, len, err) < 0)
		return NULL;
	copy = pkg_xmemdup(text, len);
	blank_relaxed(copy, len);
	return pkg_json_parse(copy, len, err);
}

struct json_object *
pkg_json_read_file(const char *path, size_t max, struct pkg_error *err)
{
	pkg_cleanup_buf struct pkg_buf buf = { 0 };
	struct json_object *value;

	if (pkg_file_read(path, max, &buf, err) < 0)
		return NULL;
	value = pkg_json_parse(pkg_buf_str(&buf), buf.len, err);
	if (!value)
		pkg_error_prefix(err, "'%s'", path);
	return value;
}

/* ---- Writing ----------------------------------------------------------------------------------
 */

static void canonical(struct json_object *value, struct pkg_buf *out);

static void
canonical_string(const char *text, struct pkg_buf *out)
{
	pkg_cleanup(pkg_json_put) struct json_object *string = json_object_new_string(text);

	pkg_buf_add(out, json_object_to_json_string_ext(string, PLAIN));
}

static void
canonical_object(struct json_object *value, struct pkg_buf *out)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *keys = pkg_argv_new();

	json_object_object_foreach(value, name, member)
	{
		(void)member;
		pkg_argv_add(keys, name);
	}
	pkg_argv_sort(keys);
	pkg_buf_add_char(out, '{');
	for (size_t i = 0; i < keys->count; i++) {
		if (i > 0)
			pkg_buf_add_char(out, ',');
		canonical_string(keys->items[i], out);
		pkg_buf_add_char(out, ':');
		canonical(json_object_object_get(value, keys->items[i]), out);
	}
	pkg_buf_add_char(out, '}');
}

static void
canonical_array(struct json_object *value, struct pkg_buf *out)
{
	size_t count = json_object_array_length(value);

	pkg_buf_add_char(out, '[');
	for (size_t i = 0; i < count; i++) {
		if (i > 0)
			pkg_buf_add_char(out, ',');
		canonical(json_object_array_get_idx(value, i), out);
	}
	pkg_buf_add_char(out, ']');
}

static void
canonical(struct json_object *value, struct pkg_buf *out)
{
	switch (json_object_get_type(value)) {
	case json_type_object:
		canonical_object(value, out);
		break;
	case json_type_array:
		canonical_array(value, out);
		break;
	case json_type_double: {
		/* A parsed one remembers its spelling; 1.0 and 1.00 are the same number. */
		pkg_cleanup(pkg_json_put) struct json_object *fresh =
			json_object_new_double(json_object_get_double(value));

		pkg_buf_add(out, json_object_to_json_string_ext(fresh, PLAIN));
		break;
	}
	case json_type_null:
	case json_type_boolean:
	case json_type_int:
	case json_type_string:
		pkg_buf_add(out, json_object_to_json_string_ext(value, PLAIN));
		break;
	}
}

char *
pkg_json_canonical(struct json_object *value)
{
	pkg_cleanup_buf struct pkg_buf out = { 0 };

	canonical(value, &out);
	return pkg_buf_steal(&out);
}

char *
pkg_json_line(struct json_object *value)
{
	return pkg_xstrdup(json_object_to_json_string_ext(value, PLAIN));
}

/* ---- Getters ----------------------------------------------------------------------------------
 */

struct json_object *
pkg_json_get(struct json_object *object, const char *key)
{
	struct json_object *value = NULL;

	if (!json_object_is_type(object, json_type_object))
		return NULL;
	json_object_object_get_ex(object, key, &value);
	return value;
}

static struct json_object *
get_typed(struct json_object *object, const char *key, enum json_type type)
{
	struct json_object *value = pkg_json_get(object, key);

	return value && json_object_is_type(value, type) ? value : NULL;
}

const char *
pkg_json_str(struct json_object *object, const char *key)
{
	return pkg_json_str_or(object, key, NULL);
}

const char *
pkg_json_str_or(struct json_object *object, const char *key, const char *fallback)
{
	struct json_object *value = get_typed(object, key, json_type_string);

	return value ? json_object_get_string(value) : fallback;
}

int64_t
pkg_json_int(struct json_object *object, const char *key, int64_t fallback)
{
	struct json_object *value = get_typed(object, key, json_type_int);

	/* json-c would give the nearest it can hold. */
	if (!value || json_object_get_uint64(value) > INT64_MAX)
		return fallback;
	return json_object_get_int64(value);
}

bool
pkg_json_bool(struct json_object *object, const char *key, bool fallback)
{
	struct json_object *value = get_typed(object, key, json_type_boolean);

	return value ? json_object_get_boolean(value) : fallback;
}

struct json_object *
pkg_json_array(struct json_object *object, const char *key)
{
	return get_typed(object, key, json_type_array);
}

const char *
pkg_json_need_str(struct json_object *object, const char *key, struct pkg_error *err)
{
	const char *text = pkg_json_str(object, key);

	if (!text)
		pkg_error_set(err, PKG_E_INVALID,
			pkg_json_get(object, key) ? "'%s' must be a string" : "'%s' is missing",
			key);
	return text;
}

int
pkg_json_strings(
	struct json_object *object, const char *key, struct pkg_argv *out, struct pkg_error *err)
{
	struct json_object *array = pkg_json_array(object, key);
	size_t count;

	if (!array) {
		if (!pkg_json_get(object, key))
			return 0;
		return pkg_error_set(err, PKG_E_INVALID, "'%s' must be an array of strings", key);
	}
	count = json_object_array_length(array);
	for (size_t i = 0; i < count; i++) {
		struct json_object *item = json_object_array_get_idx(array, i);

		if (!json_object_is_type(item, json_type_string))
			return pkg_error_set(err, PKG_E_INVALID,
				"'%s' must be an array of strings: item %zu is none", key, i);
	}
	for (size_t i = 0; i < count; i++)
		pkg_argv_add(out, json_object_get_string(json_object_array_get_idx(array, i)));
	return 0;
}

/* ---- Setters ----------------------------------------------------------------------------------
 */

static struct json_object *
or_abort(struct json_object *value)
{
	if (!value)
		pkg_abort("out of memory");
	return value;
}

/* File names and the output of children may be any bytes; JSON may not. */
static struct json_object *
new_string(const char *text)
{
	pkg_autofree char *clean = NULL;

	if (!pkg_text_is_utf8(text, strlen(text)))
		text = clean = pkg_text_clean(text, strlen(text), SIZE_MAX, true);
	return or_abort(json_object_new_string(text));
}

void
pkg_json_set(struct json_object *object, const char *key, struct json_object *value)
{
	if (json_object_object_add(object, key, value) != 0)
		pkg_abort("cannot add to a JSON object");
}

void
pkg_json_set_str(struct json_object *object, const char *key, const char *text)
{
	pkg_json_set(object, key, text ? new_string(text) : NULL);
}

void
pkg_json_set_int(struct json_object *object, const char *key, int64_t value)
{
	pkg_json_set(object, key, or_abort(json_object_new_int64(value)));
}

void
pkg_json_set_bool(struct json_object *object, const char *key, bool value)
{
	pkg_json_set(object, key, or_abort(json_object_new_boolean(value)));
}

struct json_object *
pkg_json_from_argv(const struct pkg_argv *argv)
{
	struct json_object *array = or_abort(json_object_new_array());

	for (size_t i = 0; i < argv->count; i++)
		json_object_array_add(array, new_string(argv->items[i]));
	return array;
}

struct json_object *
pkg_json_from_error(const struct pkg_error *err)
{
	struct json_object *object = or_abort(json_object_new_object());

	pkg_json_set_str(object, "kind", pkg_error_kind_name(err->kind));
	pkg_json_set_str(object, "message", err->message);
	pkg_json_set_str(object, "cure", err->cure);
	return object;
}

void
pkg_json_to_error(struct json_object *object, struct pkg_error *err)
{
	const char *cure = pkg_json_str(object, "cure");

	pkg_error_set(err, pkg_error_kind_parse(pkg_json_str(object, "kind")), "%s",
		pkg_json_str_or(object, "message", ""));
	if (cure)
		pkg_error_cure(err, "%s", cure);
}
