#include "fetch/zip_names.h"

#include "core/path.h"
#include "core/text.h"
#include "fetch/nfc_table.h"
#include "fetch/zip_bytes.h"

#include <limits.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <wctype.h>

#define COMPONENTS_MAX 64
#define MARKS_MAX 32 /* combining marks on one letter */

/* What a name is to a file system that knows neither case nor normalisation forms. A '/' is 1 in
 * it, so that a directory's content comes right after the directory in byte order. */
struct key {
	char *text; /* owned */
	bool directory;
	const struct fetch_zip_entry *entry;
};

bool
fetch_zip_is_directory(const struct fetch_zip_entry *entry)
{
	return entry->name_len > 0 && entry->name[entry->name_len - 1] == '/';
}

/* Each name by itself. */

static const char *
check_type(const struct fetch_zip_entry *entry)
{
	unsigned type = entry->mode & S_IFMT;

	if (fetch_zip_is_directory(entry)) {
		if (entry->size > 0)
			return "a directory with content";
		return type == 0 || type == S_IFDIR ? NULL : "a directory's name on another type";
	}
	if (type == S_IFLNK)
		return "a symbolic link";
	if (type == S_IFDIR)
		return "a directory without a slash at the end";
	if (type != 0 && type != S_IFREG)
		return "neither a file nor a directory";
	return entry->mode & (S_ISUID | S_ISGID) ? "set-user-id or set-group-id" : NULL;
}

static const char *
check_components(const char *name, size_t len)
{
	size_t components = 1;
	size_t size = 0;

	for (size_t i = 0; i < len; i++) {
		size = name[i] == '/' ? 0 : size + 1;
		components += name[i] == '/';
		if (size > NAME_MAX)
			return "a component longer than 255 bytes";
	}
	return components > COMPONENTS_MAX ? "too many directories" : NULL;
}

static const char *
check_text(const struct fetch_zip_entry *entry, size_t len)
{
	bool ascii = true;

	if (!pkg_path_is_confined(entry->name, len))
		return "not a plain relative path";
	for (size_t i = 0; i < len; i++)
		ascii = ascii && (unsigned char)entry->name[i] < 0x80;
	if (!ascii && !(entry->flags & FETCH_ZIP_UTF8))
		return "not marked as UTF-8";
	if (!ascii && !pkg_text_is_utf8(entry->name, len))
		return "not UTF-8";
	return check_components(entry->name, len);
}

/* The whole archive. */

static enum nfc_class
nfc_class(uint32_t c)
{
	size_t low = 0;
	size_t high = PKG_ARRAY_LEN(nfc_ranges);

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (c > nfc_ranges[middle].last)
			low = middle + 1;
		else if (c < nfc_ranges[middle].first)
			high = middle;
		else
			return (enum nfc_class)nfc_ranges[middle].class;
	}
	return NFC_PLAIN;
}

/* Of valid UTF-8. */
static uint32_t
next_char(const char **at)
{
	const unsigned char *s = (const unsigned char *)*at;
	int more = s[0] < 0x80 ? 0 : s[0] < 0xE0 ? 1 : s[0] < 0xF0 ? 2 : 3;
	uint32_t c = more == 0 ? s[0] : s[0] & (0x3FU >> more);

	for (int i = 1; i <= more; i++)
		c = c << 6 | (s[i] & 0x3F);
	*at += more + 1;
	return c;
}

static void
add_char(struct pkg_buf *out, uint32_t c)
{
	if (c < 0x80) {
		pkg_buf_add_char(out, (char)c);
		return;
	}
	if (c >= 0x10000) {
		pkg_buf_add_char(out, (char)(0xF0 | c >> 18));
		pkg_buf_add_char(out, (char)(0x80 | (c >> 12 & 0x3F)));
		pkg_buf_add_char(out, (char)(0x80 | (c >> 6 & 0x3F)));
	} else if (c >= 0x800) {
		pkg_buf_add_char(out, (char)(0xE0 | c >> 12));
		pkg_buf_add_char(out, (char)(0x80 | (c >> 6 & 0x3F)));
	} else {
		pkg_buf_add_char(out, (char)(0xC0 | c >> 6));
	}
	pkg_buf_add_char(out, (char)(0x80 | (c & 0x3F)));
}

/* Marks on one letter, in an order that does not depend on theirs. */
static void
add_marks(struct pkg_buf *out, uint32_t *marks, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		for (size_t j = i + 1; j < count; j++) {
			if (marks[j] < marks[i]) {
				uint32_t other = marks[i];

				marks[i] = marks[j];
				marks[j] = other;
			}
		}
		add_char(out, marks[i]);
	}
}

static const char *
fold(const char *name, size_t len, locale_t locale, struct pkg_buf *out)
{
	const char *end = name + len;
	uint32_t marks[MARKS_MAX];
	size_t count = 0;

	while (name < end) {
		uint32_t c = next_char(&name);
		enum nfc_class class = c < 0x80 ? NFC_PLAIN : nfc_class(c);

		if (class == NFC_CHANGES)
			return "a character that Unicode normalisation may change";
		if (class == NFC_MARK) {
			if (count == MARKS_MAX)
				return "too many combining marks";
			marks[count++] = c;
			continue;
		}
		add_marks(out, marks, count);
		count = 0;
		if (c == '/')
			c = 1;
		else if (c < 0x80)
			c |= c >= 'A' && c <= 'Z' ? 0x20 : 0;
		else
			c = (uint32_t)towlower_l(towupper_l((wint_t)c, locale), locale);
		add_char(out, c);
	}
	add_marks(out, marks, count);
	return NULL;
}

static const char *
make_key(const struct fetch_zip_entry *entry, locale_t locale, struct key *key)
{
	pkg_cleanup_buf struct pkg_buf text = { 0 };
	size_t len = entry->name_len;
	const char *why = check_type(entry);

	key->entry = entry;
	key->directory = fetch_zip_is_directory(entry);
	if (key->directory)
		len--;
	if (!why)
		why = check_text(entry, len);
	if (!why)
		why = fold(entry->name, len, locale, &text);
	key->text = pkg_buf_steal(&text);
	return why;
}

static int
compare_keys(const void *a, const void *b)
{
	return strcmp(((const struct key *)a)->text, ((const struct key *)b)->text);
}

/* Two neighbours in order. */
static const char *
clash(const struct key *a, const struct key *b)
{
	size_t len = strlen(a->text);

	if (strcmp(a->text, b->text) == 0) {
		if (a->entry->name_len == b->entry->name_len &&
			memcmp(a->entry->name, b->entry->name, a->entry->name_len) == 0)
			return "is there twice";
		return a->directory == b->directory
			? "is there twice but for case or the order of accents"
			: "is a file and a directory";
	}
	if (!a->directory && strncmp(a->text, b->text, len) == 0 && b->text[len] == 1)
		return "is a file, and another entry needs it to be a directory";
	return NULL;
}

static int
check_clashes(struct key *keys, size_t count, struct pkg_error *err)
{
	qsort(keys, count, sizeof(*keys), compare_keys);
	for (size_t i = 1; i < count; i++) {
		const char *why = clash(&keys[i - 1], &keys[i]);
		pkg_autofree char *shown = NULL;

		if (!why)
			continue;
		shown = fetch_zip_shown(keys[i - 1].entry->name, keys[i - 1].entry->name_len);
		return pkg_error_set(err, PKG_E_ARCHIVE, "entry '%s' %s", shown, why);
	}
	return 0;
}

int
fetch_zip_check_names(const struct fetch_zip *zip, struct pkg_error *err)
{
	pkg_autofree struct key *keys = pkg_xcalloc(zip->count, sizeof(*keys));
	locale_t locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
	int result = 0;

	if (!locale)
		return pkg_error_set(err, PKG_E_UNSUPPORTED,
			"this system has no locale C.UTF-8 to compare names in");
	for (size_t i = 0; i < zip->count && result == 0; i++) {
		const struct fetch_zip_entry *entry = &zip->entries[i];
		const char *why = make_key(entry, locale, &keys[i]);

		if (why) {
			pkg_autofree char *shown = fetch_zip_shown(entry->name, entry->name_len);

			result = pkg_error_set(err, PKG_E_ARCHIVE, "entry '%s': %s", shown, why);
		}
	}
	if (result == 0)
		result = check_clashes(keys, zip->count, err);
	freelocale(locale);
	for (size_t i = 0; i < zip->count; i++)
		free(keys[i].text);
	return result;
}
