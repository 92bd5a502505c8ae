/* The texts that repositories serve, as entries and versions. */
#include <stdlib.h>
#include <string.h>

#include "core/path.h"
#include "core/text.h"
#include "lang/r_packages.h"
#include "lang/r_version.h"

#define HREFS_MAX 10000

static void
entry_clear(struct lang_r_entry *entry)
{
	char *const texts[] = { entry->name, entry->version, entry->url, entry->file, entry->md5,
		entry->os_type, entry->needs_text, entry->suggests_text };

	for (size_t i = 0; i < PKG_ARRAY_LEN(texts); i++)
		free(texts[i]);
}

void
lang_r_entries_clear(struct lang_r_entries *entries)
{
	for (size_t i = 0; i < entries->count; i++)
		entry_clear(&entries->items[i]);
	free(entries->items);
	*entries = (struct lang_r_entries){ 0 };
}

static int
compare_entries(const void *left, const void *right)
{
	const struct lang_r_entry *a = left;
	const struct lang_r_entry *b = right;
	int order = strcmp(a->name, b->name);

	return order != 0 ? order : lang_r_version_compare(b->version, a->version);
}

static bool
is_md5(const char *text)
{
	return strlen(text) == 32 && strspn(text, "0123456789abcdefABCDEF") == 32;
}

static char *
lower(const char *text)
{
	char *out = pkg_xstrdup(text);

	for (char *c = out; *c; c++)
		if (*c >= 'A' && *c <= 'F')
			*c = (char)(*c - 'A' + 'a');
	return out;
}

static char *
join_needs(const struct lang_r_record *record)
{
	static const char *const fields[] = { "Depends", "Imports", "LinkingTo" };
	struct pkg_buf out = { 0 };

	for (size_t i = 0; i < PKG_ARRAY_LEN(fields); i++) {
		const char *value = lang_r_record_get(record, fields[i]);

		if (value && *value)
			pkg_buf_addf(&out, "%s%s", out.len > 0 ? "," : "", value);
	}
	return pkg_buf_steal(&out);
}

struct reading {
	const char *url;
	size_t repo;
	struct lang_r_entries *out;
};

static struct lang_r_entry *
add_entry(struct lang_r_entries *entries)
{
	if (entries->count == entries->cap) {
		entries->cap = entries->cap ? entries->cap * 2 : 256;
		entries->items =
			pkg_xrealloc(entries->items, entries->cap, sizeof(*entries->items));
	}
	entries->items[entries->count] = (struct lang_r_entry){ 0 };
	return &entries->items[entries->count++];
}

/* A record that makes no sense is left out: one package's mistake is not the repository's. */
static int
take_entry(void *context, const struct lang_r_record *record, struct pkg_error *err)
{
	struct reading *reading = context;
	const char *name = lang_r_record_get(record, "Package");
	const char *version = lang_r_record_get(record, "Version");
	const char *file = lang_r_record_get(record, "File");
	const char *path = lang_r_record_get(record, "Path");
	const char *md5 = lang_r_record_get(record, "MD5sum");
	const char *os_type = lang_r_record_get(record, "OS_type");
	struct lang_r_entry *entry;

	if (!name || !version || !lang_r_name_is(name) || !lang_r_version_is(version, false))
		return 0;
	if ((path && *path && !pkg_path_is_confined(path, strlen(path))) ||
		(file && (strchr(file, '/') || !pkg_path_is_confined(file, strlen(file)))))
		return 0;
	if (reading->out->count >= LANG_R_ENTRIES_MAX)
		return pkg_error_set(
			err, PKG_E_TOO_LARGE, "it lists more than %d packages", LANG_R_ENTRIES_MAX);
	entry = add_entry(reading->out);
	entry->name = pkg_xstrdup(name);
	entry->version = pkg_xstrdup(version);
	entry->repo = reading->repo;
	entry->file = file ? pkg_xstrdup(file) : pkg_xasprintf("%s_%s.tar.gz", name, version);
	entry->url = pkg_xasprintf("%s/src/contrib/%s%s%s", reading->url, path && *path ? path : "",
		path && *path ? "/" : "", entry->file);
	entry->md5 = md5 && is_md5(md5) ? lower(md5) : NULL;
	entry->os_type = pkg_xstrdup(os_type);
	entry->needs_text = join_needs(record);
	entry->suggests_text = pkg_xstrdup(lang_r_record_get(record, "Suggests"));
	return 0;
}

int
lang_r_entries_parse(const char *text, size_t len, const char *url, size_t repo,
	struct lang_r_entries *out, struct pkg_error *err)
{
	struct reading reading = { url, repo, out };

	if (lang_r_dcf_parse(text, len, take_entry, &reading, err) < 0)
		return -1;
	if (out->count > 1)
		qsort(out->items, out->count, sizeof(*out->items), compare_entries);
	return 0;
}

/* --- directories --- */

static int
newest_first(const void *a, const void *b)
{
	return lang_r_version_compare(*(char *const *)b, *(char *const *)a);
}

void
lang_r_archive_versions(const char *html, size_t len, const char *name, struct pkg_argv *out)
{
	pkg_autofree char *text = pkg_xstrndup(html, len);
	pkg_autofree char *start = pkg_xasprintf("%s_", name);
	size_t first = out->count;

	for (const char *at = text; (at = strstr(at, start)) != NULL && out->count < HREFS_MAX;) {
		const char *version = at + strlen(start);
		size_t version_len = strspn(version, "0123456789.-");
		pkg_autofree char *one = NULL;

		/* The '.' of ".tar.gz" is among them. */
		while (version_len > 0 && version[version_len - 1] == '.')
			version_len--;
		one = pkg_xstrndup(version, version_len);
		if ((at == text || strchr("\"'/>= \n", at[-1])) && lang_r_version_is(one, false) &&
			strncmp(version + version_len, ".tar.gz", 7) == 0 &&
			!pkg_argv_has(out, one))
			pkg_argv_add(out, one);
		at = version;
	}
	if (out->count > first + 1)
		qsort(out->items + first, out->count - first, sizeof(*out->items), newest_first);
}
