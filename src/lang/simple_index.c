#include "lang/simple_index.h"

#include <stdlib.h>
#include <strings.h>

#include "core/json.h"
#include "core/sha256.h"
#include "core/text.h"
#include "core/url.h"
#include "lang/pep503.h"
#include "lang/scan.h"
#include "lang/simple_html.h"
#include "lang/wheelname.h"

static void
file_clear(struct lang_simple_file *file)
{
	char *const texts[] = { file->filename, file->url, file->sha256, file->requires_python,
		file->uploaded, file->yanked_reason, file->metadata_sha256, file->provenance };

	for (size_t i = 0; i < PKG_ARRAY_LEN(texts); i++)
		free(texts[i]);
}

void
lang_simple_page_clear(struct lang_simple_page *page)
{
	for (size_t i = 0; i < page->count; i++)
		file_clear(&page->files[i]);
	free(page->files);
	*page = (struct lang_simple_page){ 0 };
}

char *
lang_simple_page_url(const char *index, const char *name)
{
	pkg_autofree char *project = lang_pep503_normalize(name);
	size_t len = strlen(index);

	while (len > 0 && index[len - 1] == '/')
		len--;
	return pkg_xasprintf("%.*s/%s/", (int)len, index, project);
}

/* --- one file, from either form --- */

static struct lang_simple_file *
add_file(struct lang_simple_page *page)
{
	/* Doubled when a power of two is full. */
	if ((page->count & (page->count - 1)) == 0)
		page->files = pkg_xrealloc(
			page->files, page->count == 0 ? 1 : page->count * 2, sizeof(*page->files));
	page->files[page->count] = (struct lang_simple_file){ .size = -1 };
	return &page->files[page->count++];
}

static bool
is_plain(const char *text)
{
	for (; *text; text++)
		if (!lang_is_graph(*text) || *text == '\\')
			return false;
	return true;
}

static bool
is_http(const char *url)
{
	return strncasecmp(url, "https://", 8) == 0 || strncasecmp(url, "http://", 7) == 0;
}

/* Pages of big projects have thousands of absolute URLs without userinfo: they are taken as they are. */
static char *
absolute_url(const char *page_url, const char *reference)
{
	pkg_autofree char *bare = pkg_xstrndup(reference, strcspn(reference, "#"));
	pkg_autofree char *url = NULL;
	pkg_autofree char *redacted = NULL;

	if (!is_plain(bare) || strlen(bare) > PKG_URL_MAX)
		return NULL;
	if (is_http(bare) && !strchr(bare, '@'))
		return pkg_steal_ptr(&bare);
	url = is_http(bare) ? pkg_steal_ptr(&bare) : pkg_url_resolve(page_url, bare);
	redacted = url ? pkg_url_redact(url) : NULL;
	/* What is no URL loses its beginning there. */
	if (!redacted || !is_http(redacted) || !is_plain(redacted) ||
		strlen(redacted) > PKG_URL_MAX)
		return NULL;
	return pkg_steal_ptr(&redacted);
}

/* Adds the file; NULL when nothing could be fetched from there, or not under a name. */
static struct lang_simple_file *
start_file(struct lang_simple_page *page, const char *page_url, const char *reference,
	const char *filename)
{
	pkg_autofree char *url = absolute_url(page_url, reference);
	pkg_autofree char *name = NULL;
	struct lang_simple_file *file;

	if (!url || page->count >= LANG_SIMPLE_FILES_MAX)
		return NULL;
	name = filename ? pkg_xstrdup(filename) : pkg_url_basename(url);
	if (!*name || strlen(name) > LANG_FILE_NAME_MAX || !is_plain(name) || strchr(name, '/') ||
		strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return NULL;
	file = add_file(page);
	file->url = pkg_steal_ptr(&url);
	file->filename = pkg_steal_ptr(&name);
	return file;
}

/* Somebody else wrote it. Given; NULL for nothing. */
static char *
clean(const char *text)
{
	return text && *text ? pkg_text_clean(text, strlen(text), LANG_SIMPLE_TEXT_MAX, false)
			     : NULL;
}

static char *
hash(const char *text, size_t len)
{
	pkg_autofree char *hex = pkg_xstrndup(text, len);

	for (char *c = hex; *c; c++)
		*c = lang_lower(*c);
	return pkg_sha256_is_hex(hex) ? pkg_steal_ptr(&hex) : NULL;
}

/* "1.4": only the first number says whether it can be understood (PEP 629). */
static int
check_version(const char *version, struct pkg_error *err)
{
	if (!version || (version[0] == '1' && !lang_is_digit(version[1])))
		return 0;
	return pkg_error_set(err, PKG_E_INVALID,
		"the index speaks version %.20s of its protocol, not 1", version);
}

/* --- JSON --- */

/* "core-metadata": true, or {"sha256": ...}; the other spelling is that of before PEP 714. */
static void
json_metadata(struct json_object *row, struct lang_simple_file *file)
{
	static const char *const keys[] = { "core-metadata", "dist-info-metadata",
		"data-dist-info-metadata" };
	struct json_object *value = NULL;
	const char *hex;

	for (size_t i = 0; i < PKG_ARRAY_LEN(keys) && !value; i++)
		value = pkg_json_get(row, keys[i]);
	if (!value)
		return;
	file->has_metadata = json_object_is_type(value, json_type_object) ||
		(json_object_is_type(value, json_type_boolean) && json_object_get_boolean(value));
	hex = json_object_is_type(value, json_type_object) ? pkg_json_str(value, "sha256") : NULL;
	if (hex)
		file->metadata_sha256 = hash(hex, strlen(hex));
}

static void
json_file(struct json_object *row, const char *page_url, struct lang_simple_page *page)
{
	const char *url = pkg_json_str(row, "url");
	struct json_object *hashes = pkg_json_get(row, "hashes");
	struct json_object *yanked = pkg_json_get(row, "yanked");
	const char *provenance = pkg_json_str(row, "provenance");
	const char *sha256 = hashes && json_object_is_type(hashes, json_type_object)
		? pkg_json_str(hashes, "sha256")
		: NULL;
	struct lang_simple_file *file =
		url ? start_file(page, page_url, url, pkg_json_str(row, "filename")) : NULL;

	if (!file)
		return;
	if (sha256)
		file->sha256 = hash(sha256, strlen(sha256));
	file->size = pkg_json_int(row, "size", -1);
	if (file->size < 0)
		file->size = -1;
	file->uploaded = clean(pkg_json_str(row, "upload-time"));
	file->requires_python = clean(pkg_json_str(row, "requires-python"));
	if (provenance)
		file->provenance = absolute_url(page_url, provenance);
	json_metadata(row, file);
	if (yanked && json_object_is_type(yanked, json_type_string)) {
		file->yanked = true;
		file->yanked_reason = clean(json_object_get_string(yanked));
	} else if (yanked && json_object_is_type(yanked, json_type_boolean)) {
		file->yanked = json_object_get_boolean(yanked);
	}
}

static int
parse_json(const char *text, size_t len, const char *page_url, struct lang_simple_page *out,
	struct pkg_error *err)
{
	pkg_cleanup(pkg_json_put) struct json_object *page = pkg_json_parse(text, len, err);
	struct json_object *meta, *rows;

	if (!page)
		return -1;
	if (!json_object_is_type(page, json_type_object))
		return pkg_error_set(err, PKG_E_INVALID, "the page is no JSON object");
	meta = pkg_json_get(page, "meta");
	if (meta && json_object_is_type(meta, json_type_object) &&
		check_version(pkg_json_str(meta, "api-version"), err) < 0)
		return -1;
	rows = pkg_json_array(page, "files");
	if (!rows || json_object_array_length(rows) > LANG_SIMPLE_FILES_MAX)
		return pkg_error_set(err, PKG_E_INVALID, "the page has no list of files");
	for (size_t i = 0; i < json_object_array_length(rows); i++) {
		struct json_object *row = json_object_array_get_idx(rows, i);

		if (row && json_object_is_type(row, json_type_object))
			json_file(row, page_url, out);
	}
	return 0;
}

/* --- HTML --- */

/* "sha256=HEX" in a fragment or an attribute. Given; NULL: another algorithm or none. */
static char *
hash_after(const char *text)
{
	const char *found = text ? strstr(text, "sha256=") : NULL;

	return found ? hash(found + 7, strspn(found + 7, "0123456789abcdefABCDEF")) : NULL;
}

static void
html_file(const struct lang_html_tag *tag, const char *base, struct lang_simple_page *page)
{
	pkg_autofree char *href = lang_html_attribute(tag, "href");
	pkg_autofree char *python = lang_html_attribute(tag, "data-requires-python");
	pkg_autofree char *yanked = lang_html_attribute(tag, "data-yanked");
	pkg_autofree char *metadata = lang_html_attribute(tag, "data-core-metadata");
	pkg_autofree char *provenance = lang_html_attribute(tag, "data-provenance");
	struct lang_simple_file *file = href ? start_file(page, base, href, NULL) : NULL;

	if (!file)
		return;
	file->sha256 = hash_after(strchr(href, '#'));
	file->requires_python = clean(python);
	file->yanked = yanked != NULL;
	file->yanked_reason = clean(yanked);
	if (!metadata)
		metadata = lang_html_attribute(tag, "data-dist-info-metadata");
	file->has_metadata = metadata && strcmp(metadata, "false") != 0;
	file->metadata_sha256 = hash_after(metadata);
	if (provenance)
		file->provenance = absolute_url(base, provenance);
}

static int
parse_html(const char *text, size_t len, const char *page_url, struct lang_simple_page *out,
	struct pkg_error *err)
{
	struct lang_scan scan = { .text = text, .len = len };
	pkg_autofree char *base = NULL; /* the first <base href> counts */
	struct lang_html_tag tag;

	while (lang_html_next(&scan, &tag)) {
		if (lang_html_is(&tag, "a")) {
			html_file(&tag, base ? base : page_url, out);
		} else if (lang_html_is(&tag, "base") && !base) {
			pkg_autofree char *href = lang_html_attribute(&tag, "href");

			base = href ? absolute_url(page_url, href) : NULL;
		} else if (lang_html_is(&tag, "meta")) {
			pkg_autofree char *name = lang_html_attribute(&tag, "name");
			pkg_autofree char *content = lang_html_attribute(&tag, "content");

			if (name && strcmp(name, "pypi:repository-version") == 0 &&
				check_version(content, err) < 0)
				return -1;
		}
	}
	return 0;
}

int
lang_simple_parse(const char *text, size_t len, const char *content_type, const char *page_url,
	struct lang_simple_page *out, struct pkg_error *err)
{
	size_t first = 0;
	bool json;
	int rc;

	*out = (struct lang_simple_page){ 0 };
	while (first < len && lang_is_space(text[first]))
		first++;
	json = content_type && strstr(content_type, "json")    ? true
		: content_type && strstr(content_type, "html") ? false
							       : first < len && text[first] == '{';
	if (!json && (first == len || text[first] != '<'))
		return pkg_error_set(err, PKG_E_INVALID, "the page is neither JSON nor HTML");
	rc = json ? parse_json(text, len, page_url, out, err)
		  : parse_html(text, len, page_url, out, err);
	if (rc < 0)
		lang_simple_page_clear(out);
	return rc;
}

/* --- for the cache --- */

/* One line a file, fields separated by tabs: texts are clean, so none has one. */

enum field {
	FILENAME,
	URL,
	SHA256,
	PYTHON,
	UPLOADED,
	REASON,
	METADATA,
	PROVENANCE,
	SIZE,
	FLAGS,
	FIELDS
};

static void
save_text(const char *text, struct pkg_buf *out)
{
	if (text)
		pkg_buf_add(out, text);
	pkg_buf_add_char(out, '\t');
}

void
lang_simple_page_save(const struct lang_simple_page *page, struct pkg_buf *out)
{
	for (size_t i = 0; i < page->count; i++) {
		const struct lang_simple_file *file = &page->files[i];

		save_text(file->filename, out);
		save_text(file->url, out);
		save_text(file->sha256, out);
		save_text(file->requires_python, out);
		save_text(file->uploaded, out);
		save_text(file->yanked_reason, out);
		save_text(file->metadata_sha256, out);
		save_text(file->provenance, out);
		pkg_buf_addf(out, "%lld\t%s%s\n", file->size, file->yanked ? "y" : "",
			file->has_metadata ? "m" : "");
	}
}

static char *
load_text(const struct lang_scan *field)
{
	return field->len > 0 ? pkg_xstrndup(field->text, field->len) : NULL;
}

/* A cache is no place to trust more than the page it was made of. */
static bool
is_sound(const struct lang_simple_file *file)
{
	return file->filename && file->url && is_http(file->url) && is_plain(file->url) &&
		is_plain(file->filename) && !strchr(file->filename, '/') &&
		(!file->sha256 || pkg_sha256_is_hex(file->sha256)) &&
		(!file->metadata_sha256 || pkg_sha256_is_hex(file->metadata_sha256));
}

static bool
load_line(const char *line, size_t len, struct lang_simple_page *page)
{
	struct lang_scan fields[FIELDS] = { 0 };
	pkg_autofree char *size = NULL;
	struct lang_simple_file *file;
	size_t count = 0;

	for (size_t start = 0, at = 0; at <= len; at++) {
		if (at < len && line[at] != '\t')
			continue;
		if (count == FIELDS)
			return false;
		fields[count++] = (struct lang_scan){ .text = line + start, .len = at - start };
		start = at + 1;
	}
	if (count != FIELDS || page->count >= LANG_SIMPLE_FILES_MAX)
		return false;
	size = pkg_xstrndup(fields[SIZE].text, fields[SIZE].len);
	file = add_file(page);
	*file = (struct lang_simple_file){
		.filename = load_text(&fields[FILENAME]),
		.url = load_text(&fields[URL]),
		.sha256 = load_text(&fields[SHA256]),
		.requires_python = load_text(&fields[PYTHON]),
		.uploaded = load_text(&fields[UPLOADED]),
		.yanked_reason = load_text(&fields[REASON]),
		.metadata_sha256 = load_text(&fields[METADATA]),
		.provenance = load_text(&fields[PROVENANCE]),
		.size = strtoll(size, NULL, 10),
		.yanked = memchr(fields[FLAGS].text, 'y', fields[FLAGS].len) != NULL,
		.has_metadata = memchr(fields[FLAGS].text, 'm', fields[FLAGS].len) != NULL,
	};
	return is_sound(file);
}

int
lang_simple_page_load(
	const char *text, size_t len, struct lang_simple_page *out, struct pkg_error *err)
{
	const char *end = text + len;

	*out = (struct lang_simple_page){ 0 };
	while (text < end) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));

		if (!stop || !load_line(text, (size_t)(stop - text), out)) {
			lang_simple_page_clear(out);
			return pkg_error_set(err, PKG_E_INVALID, "a damaged page in the cache");
		}
		text = stop + 1;
	}
	return 0;
}
