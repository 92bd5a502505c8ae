#include "core/text.h"

#include <stdint.h>
#include <string.h>

#define REPLACEMENT 0xFFFD
#define ELLIPSIS "\xE2\x80\xA6"
#define ELLIPSIS_LEN 3

/* Bytes of the character at text (1..4) and its code point; 0 when the bytes there are no UTF-8:
 * overlong forms, surrogates and values above U+10FFFF are none. */
static size_t
decode(const char *text, size_t len, uint32_t *point)
{
	const unsigned char *s = (const unsigned char *)text;
	uint32_t value;
	uint32_t least;
	size_t n;

	if (s[0] < 0x80) {
		*point = s[0];
		return 1;
	}
	if (s[0] >= 0xC2 && s[0] <= 0xDF) {
		n = 2, value = s[0] & 0x1F, least = 0x80;
	} else if (s[0] >= 0xE0 && s[0] <= 0xEF) {
		n = 3, value = s[0] & 0x0F, least = 0x800;
	} else if (s[0] >= 0xF0 && s[0] <= 0xF4) {
		n = 4, value = s[0] & 0x07, least = 0x10000;
	} else {
		return 0;
	}
	if (len < n)
		return 0;
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xC0) != 0x80)
			return 0;
		value = value << 6 | (s[i] & 0x3F);
	}
	if (value < least || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF))
		return 0;
	*point = value;
	return n;
}

bool
pkg_text_is_utf8(const char *text, size_t len)
{
	uint32_t point;
	size_t n;

	for (size_t i = 0; i < len; i += n) {
		n = decode(text + i, len - i, &point);
		if (n == 0)
			return false;
	}
	return true;
}

/* Characters that show nothing, reorder what is shown, or carry hidden text: what would let a
 * package show a person one thing and a model another. */
static bool
is_invisible(uint32_t point)
{
	static const struct {
		uint32_t first;
		uint32_t last;
	} ranges[] = {
		{ 0x00AD, 0x00AD }, /* soft hyphen */
		{ 0x034F, 0x034F }, /* combining grapheme joiner */
		{ 0x061C, 0x061C }, /* Arabic letter mark */
		{ 0x115F, 0x1160 }, /* Hangul fillers */
		{ 0x17B4, 0x17B5 }, /* Khmer inherent vowels */
		{ 0x180B, 0x180F }, /* Mongolian selectors */
		{ 0x200B, 0x200F }, /* zero width, left-to-right and right-to-left marks */
		{ 0x202A, 0x202E }, /* embeddings and overrides */
		{ 0x2060, 0x206F }, /* word joiner, invisible operators, isolates */
		{ 0x3164, 0x3164 }, /* Hangul filler */
		{ 0xFE00, 0xFE0F }, /* variation selectors */
		{ 0xFEFF, 0xFEFF }, /* byte order mark */
		{ 0xFFA0, 0xFFA0 }, /* half-width Hangul filler */
		{ 0xFFF9, 0xFFFB }, /* interlinear annotation */
		{ 0x1BCA0, 0x1BCA3 }, /* shorthand format controls */
		{ 0x1D173, 0x1D17A }, /* musical format controls */
		{ 0xE0000, 0xE0FFF }, /* tags, variation selectors supplement */
	};

	if (point < ranges[0].first)
		return false;
	for (size_t i = 0; i < PKG_ARRAY_LEN(ranges); i++) {
		if (point >= ranges[i].first && point <= ranges[i].last)
			return true;
	}
	return false;
}

/* Bytes up to and with the end of a CSI sequence, whose introducer is before text. */
static size_t
skip_csi(const char *text, size_t len)
{
	size_t i = 0;

	while (i < len && text[i] >= 0x20 && text[i] <= 0x3F)
		i++;
	return i < len && text[i] >= 0x40 && text[i] <= 0x7E ? i + 1 : i;
}

/* The same for a control string (OSC, DCS, SOS, PM, APC), which ends with BEL or ST. One that does
 * not end on its line is not skipped: what follows must not vanish from the reader's eyes. */
static size_t
skip_string(const char *text, size_t len)
{
	for (size_t i = 0; i < len && text[i] != '\n'; i++) {
		if (text[i] == '\a')
			return i + 1;
		if (i + 1 < len && memcmp(text + i, "\033\\", 2) == 0)
			return i + 2;
		if (i + 1 < len && memcmp(text + i, "\xC2\x9C", 2) == 0)
			return i + 2;
	}
	return 0;
}

/* Bytes of the escape sequence after an ESC. */
static size_t
skip_escape(const char *text, size_t len)
{
	size_t i = 0;

	if (len == 0)
		return 0;
	if (text[0] == '[')
		return 1 + skip_csi(text + 1, len - 1);
	if (strchr("]PX^_", text[0]) && text[0])
		return 1 + skip_string(text + 1, len - 1);
	while (i < len && text[i] >= 0x20 && text[i] <= 0x2F)
		i++;
	return i < len && text[i] >= 0x30 && text[i] <= 0x7E ? i + 1 : i;
}

/* What a control character becomes: 0 nothing, else the one byte to show. *skip is what else goes.
 */
static char
control(uint32_t point, const char *after, size_t len, bool multiline, size_t *skip)
{
	switch (point) {
	case '\t':
		return multiline ? '\t' : ' ';
	case '\r':
		/* Alone it is how progress bars start a line again. */
		if (len > 0 && after[0] == '\n')
			return 0;
		return multiline ? '\n' : ' ';
	case '\n':
		return multiline ? '\n' : ' ';
	case 0x85: /* next line */
	case 0x2028:
	case 0x2029:
		return ' ';
	case 0x1B:
		*skip = skip_escape(after, len);
		return 0;
	case 0x9B:
		*skip = skip_csi(after, len);
		return 0;
	case 0x90:
	case 0x98:
	case 0x9D:
	case 0x9E:
	case 0x9F:
		*skip = skip_string(after, len);
		return 0;
	default:
		return 0;
	}
}

static bool
is_control(uint32_t point)
{
	return point < 0x20 || (point >= 0x7F && point <= 0x9F) || point == 0x2028 ||
		point == 0x2029;
}

char *
pkg_text_clean(const char *text, size_t len, size_t max, bool multiline)
{
	pkg_cleanup_buf struct pkg_buf out = { 0 };
	size_t cut = 0; /* where the ellipsis would go */
	size_t room = max >= ELLIPSIS_LEN ? max - ELLIPSIS_LEN : max;
	size_t n;

	for (size_t i = 0; i < len; i += n) {
		const char *shown = text + i;
		size_t shown_len;
		size_t skip = 0;
		uint32_t point;
		char c;

		n = shown_len = decode(text + i, len - i, &point);
		if (n == 0) {
			n = 1;
			shown = "\xEF\xBF\xBD"; /* U+FFFD */
			shown_len = 3;
			point = REPLACEMENT;
		}
		if (is_control(point)) {
			c = control(point, text + i + n, len - i - n, multiline, &skip);
			n += skip;
			if (c == 0)
				continue;
			shown = &c;
			shown_len = 1;
		} else if (is_invisible(point)) {
			continue;
		}
		if (shown_len > max || out.len > max - shown_len) {
			pkg_buf_truncate(&out, cut);
			if (max >= ELLIPSIS_LEN)
				pkg_buf_add(&out, ELLIPSIS);
			break;
		}
		pkg_buf_add_mem(&out, shown, shown_len);
		if (out.len <= room)
			cut = out.len;
	}
	return pkg_buf_steal(&out);
}

char *
pkg_text_tail(const char *text, size_t len, size_t max)
{
	pkg_autofree char *clean = pkg_text_clean(text, len, SIZE_MAX, true);
	size_t end = strlen(clean);
	size_t start;
	char *newline;

	while (end > 0 && (clean[end - 1] == '\n' || clean[end - 1] == ' '))
		clean[--end] = '\0';
	if (end <= max)
		return pkg_steal_ptr(&clean);
	start = end - max;
	/* From the byte before: a line that begins exactly here is whole. */
	newline = strchr(clean + start - 1, '\n');
	if (newline)
		return pkg_xstrdup(newline + 1);
	if (max < ELLIPSIS_LEN)
		return pkg_xstrdup("");
	start += ELLIPSIS_LEN;
	while (((unsigned char)clean[start] & 0xC0) == 0x80)
		start++;
	return pkg_xasprintf(ELLIPSIS "%s", clean + start);
}

char *
pkg_text_bytes(long long bytes)
{
	static const char *const units[] = { "kB", "MB", "GB", "TB", "PB", "EB" };
	unsigned long long size =
		bytes < 0 ? 0ULL - (unsigned long long)bytes : (unsigned long long)bytes;
	const char *sign = bytes < 0 ? "-" : "";
	unsigned long long unit = 1000;
	unsigned long long tenths;
	size_t i = 0;

	if (size < 1000)
		return pkg_xasprintf("%s%llu B", sign, size);
	/* The next unit as soon as rounding would show 1000 of this one. */
	while (i + 1 < PKG_ARRAY_LEN(units) && size >= unit * 1000 - unit / 2) {
		unit *= 1000;
		i++;
	}
	/* In integers: a locale's decimal comma has no place in what programs read too. */
	tenths = size / (unit / 10) + (size % (unit / 10) >= unit / 20 ? 1 : 0);
	if (i == 0 && tenths >= 100)
		return pkg_xasprintf("%s%llu kB", sign, (size + 500) / 1000);
	return pkg_xasprintf("%s%llu.%llu %s", sign, tenths / 10, tenths % 10, units[i]);
}

bool
pkg_text_has_prefix(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool
pkg_text_has_suffix(const char *text, const char *suffix)
{
	size_t text_len = strlen(text);
	size_t len = strlen(suffix);

	return text_len >= len && memcmp(text + text_len - len, suffix, len) == 0;
}

size_t
pkg_text_distance(const char *a, const char *b)
{
	size_t row[64 + 1];
	size_t a_len = strnlen(a, 64);
	size_t b_len = strnlen(b, 64);

	for (size_t j = 0; j <= b_len; j++)
		row[j] = j;
	for (size_t i = 1; i <= a_len; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= b_len; j++) {
			size_t best = diagonal + (a[i - 1] != b[j - 1]);

			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			diagonal = row[j];
			row[j] = best;
		}
	}
	return row[b_len];
}
