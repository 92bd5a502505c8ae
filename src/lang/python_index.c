#include "lang/python_index.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "core/sha256.h"
#include "core/text.h"
#include "core/url.h"
#include "lang/pep503.h"
#include "lang/wheelname.h"

#define FILES_MAX 200000
#define TEXT_MAX 300
#define ACCEPT                                                                                     \
	"application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, "         \
	"text/html;q=0.1"

char *
lang_python_index_page_url(const char *index, const char *name)
{
	pkg_autofree char *project = lang_pep503_normalize(name);
	size_t len = strlen(index);

	while (len > 0 && index[len - 1] == '/')
		len--;
	return pkg_xasprintf("%.*s/%s/", (int)len, index, project);
}

/* --- one form for all --- */

/* Sets a text that somebody else wrote, if there is one. */
static void
set_clean(struct json_object *file, const char *key, const char *text)
{
	if (text && *text) {
		pkg_autofree char *clean = pkg_text_clean(text, strlen(text), TEXT_MAX, false);

		pkg_json_set_str(file, key, clean);
	}
}

static bool
is_http(const char *url)
{
	for (const char *c = url; *c; c++)
		if ((unsigned char)*c <= ' ' || *c == '\\' || *c == 0x7f)
			return false;
	return pkg_text_has_prefix(url, "https://") || pkg_text_has_prefix(url, "http://");
}

/* NULL for a URL that nothing could be fetched from. Big projects have thousands of files with absolute
 * URLs, which are taken as they are. */
static struct json_object *
start_file(const char *page_url, const char *reference, const char *filename)
{
	pkg_autofree char *bare = pkg_xstrndup(reference, strcspn(reference, "#"));
	pkg_autofree char *url =
		is_http(bare) ? pkg_xstrdup(bare) : pkg_url_resolve(page_url, bare);
	pkg_autofree char *name = NULL;
	struct json_object *file;

	if (!url || strlen(url) > PKG_URL_MAX || !is_http(url))
		return NULL;
	name = filename ? pkg_xstrdup(filename) : pkg_url_basename(url);
	if (!*name || strlen(name) > LANG_FILE_NAME_MAX || strchr(name, '/'))
		return NULL;
	file = json_object_new_object();
	pkg_json_set_str(file, "url", url);
	set_clean(file, "filename", name);
	return file;
}

static void
set_sha256(struct json_object *file, const char *hex)
{
	if (hex && pkg_sha256_is_hex(hex))
		pkg_json_set_str(file, "sha256", hex);
}

/* --- JSON --- */

static void
set_yanked(struct json_object *file, struct json_object *yanked)
{
	bool text = yanked && json_object_is_type(yanked, json_type_string);

	pkg_json_set_bool(file, "yanked", text || (yanked && json_object_get_boolean(yanked)));
	if (text)
		set_clean(file, "yanked_reason", json_object_get_string(yanked));
}

static struct json_object *
file_from_json(struct json_object *row, const char *page_url)
{
	const char *url = pkg_json_str(row, "url");
	struct json_object *hashes = pkg_json_get(row, "hashes");
	struct json_object *file =
		url ? start_file(page_url, url, pkg_json_str(row, "filename")) : NULL;
	int64_t size = pkg_json_int(row, "size", -1);

	if (!file)
		return NULL;
	if (hashes)
		set_sha256(file, pkg_json_str(hashes, "sha256"));
	if (size >= 0)
		pkg_json_set_int(file, "size", size);
	set_clean(file, "uploaded", pkg_json_str(row, "upload-time"));
	set_clean(file, "requires_python", pkg_json_str(row, "requires-python"));
	set_yanked(file, pkg_json_get(row, "yanked"));
	return file;
}

static struct json_object *
parse_json(const char *text, size_t len, const char *page_url, struct pkg_error *err)
{
	pkg_cleanup(pkg_json_put) struct json_object *page = pkg_json_parse(text, len, err);
	struct json_object *rows = page ? pkg_json_array(page, "files") : NULL;
	struct json_object *files;

	if (!page)
		return NULL;
	if (!rows || json_object_array_length(rows) > FILES_MAX) {
		pkg_error_set(err, PKG_E_INVALID, "the page is no list of files");
		return NULL;
	}
	files = json_object_new_array();
	for (size_t i = 0; i < json_object_array_length(rows); i++) {
		struct json_object *row = json_object_array_get_idx(rows, i);
		struct json_object *file = json_object_is_type(row, json_type_object)
			? file_from_json(row, page_url)
			: NULL;

		if (file)
			json_object_array_add(files, file);
	}
	return files;
}

/* --- HTML --- */

static const struct {
	const char *name;
	char value;
} entities[] = { { "&amp;", '&' }, { "&lt;", '<' }, { "&gt;", '>' }, { "&quot;", '"' },
	{ "&#39;", '\'' }, { "&#x27;", '\'' }, { "&#34;", '"' }, { "&#60;", '<' },
	{ "&#62;", '>' } };

static char *
unescape(const char *text, size_t len)
{
	struct pkg_buf out = { 0 };
	const char *end = text + len;

	while (text < end) {
		size_t i = 0;

		while (i < PKG_ARRAY_LEN(entities) &&
			((size_t)(end - text) < strlen(entities[i].name) ||
				strncasecmp(text, entities[i].name, strlen(entities[i].name)) != 0))
			i++;
		pkg_buf_add_char(&out, i < PKG_ARRAY_LEN(entities) ? entities[i].value : *text);
		text += i < PKG_ARRAY_LEN(entities) ? strlen(entities[i].name) : 1;
	}
	return pkg_buf_steal(&out);
}

/* The value of an attribute within a tag: given; NULL when it is not there, "" when it has none. */
static char *
attribute(const char *tag, size_t len, const char *name)
{
	size_t at = 0;

	while (at < len) {
		size_t start, name_len, value = 0, value_len = 0;

		while (at < len && (isspace((unsigned char)tag[at]) || tag[at] == '/'))
			at++;
		start = at;
		while (at < len && !isspace((unsigned char)tag[at]) && tag[at] != '=')
			at++;
		name_len = at - start;
		if (at < len && tag[at] == '=') {
			char quote = ++at < len ? tag[at] : 0;
			bool quoted = quote == '"' || quote == '\'';

			value = at += quoted;
			while (at < len &&
				(quoted ? tag[at] != quote : !isspace((unsigned char)tag[at])))
				at++;
			value_len = at - value;
			at += quoted && at < len;
		}
		if (name_len == strlen(name) && strncasecmp(tag + start, name, name_len) == 0)
			return unescape(tag + value, value_len);
		if (at == start)
			at++;
	}
	return NULL;
}

static struct json_object *
file_from_tag(const char *tag, size_t len, const char *page_url)
{
	pkg_autofree char *href = attribute(tag, len, "href");
	pkg_autofree char *yanked = attribute(tag, len, "data-yanked");
	pkg_autofree char *python = attribute(tag, len, "data-requires-python");
	struct json_object *file = href ? start_file(page_url, href, NULL) : NULL;
	const char *hash = href ? strstr(href, "#sha256=") : NULL;

	if (!file)
		return NULL;
	if (hash) {
		pkg_autofree char *hex = pkg_xstrndup(hash + 8, 64);

		set_sha256(file, hex);
	}
	set_clean(file, "requires_python", python);
	pkg_json_set_bool(file, "yanked", yanked != NULL);
	set_clean(file, "yanked_reason", yanked);
	return file;
}

static struct json_object *
parse_html(const char *text, size_t len, const char *page_url)
{
	struct json_object *files = json_object_new_array();
	const char *end = text + len;
	const char *at = text;

	while (at < end && (at = memchr(at, '<', (size_t)(end - at)))) {
		const char *close = memchr(at, '>', (size_t)(end - at));
		struct json_object *file = NULL;

		if (!close)
			break;
		if (close - at > 3 && (at[1] == 'a' || at[1] == 'A') &&
			isspace((unsigned char)at[2]))
			file = file_from_tag(at + 3, (size_t)(close - at) - 3, page_url);
		if (file)
			json_object_array_add(files, file);
		at = close + 1;
		if (json_object_array_length(files) >= FILES_MAX)
			break;
	}
	return files;
}

struct json_object *
lang_python_index_parse(const char *text, size_t len, const char *content_type,
	const char *page_url, struct pkg_error *err)
{
	const char *first = text;
	struct json_object *files;
	struct json_object *page;
	bool json;

	while (first < text + len && isspace((unsigned char)*first))
		first++;
	json = content_type && strstr(content_type, "json") ? true
		: content_type && strstr(content_type, "html")
		? false
		: first < text + len && *first == '{';
	if (!json && (first == text + len || *first != '<')) {
		pkg_error_set(err, PKG_E_INVALID, "the page is neither JSON nor HTML");
		return NULL;
	}
	files = json ? parse_json(text, len, page_url, err) : parse_html(text, len, page_url);
	if (!files)
		return NULL;
	page = json_object_new_object();
	pkg_json_set(page, "files", files);
	return page;
}

/* --- asking --- */

struct fetch_options
lang_python_fetch_options(struct lang_context *lang, const struct pkg_argv *credentials)
{
	return (struct fetch_options){
		.parallel = (int)lang->config->fetch_parallel,
		.retries = (int)lang->config->fetch_retries,
		.max_bytes = lang->config->fetch_max_bytes,
		.ca_bundle = lang->config->network_ca_bundle,
		.credentials = credentials,
		.cancel_fd = lang->cancel_fd,
		.allow = lang->allow,
		.progress = lang->transfer,
		.context = lang->context,
	};
}

struct json_object *
lang_python_index_ask(struct lang_context *lang, const char *index, const char *name, int retries,
	struct pkg_error *err)
{
	pkg_autofree char *url = lang_python_index_page_url(index, name);
	struct fetch_options options = lang_python_fetch_options(lang, NULL);
	pkg_cleanup_buf struct pkg_buf body = { 0 };
	pkg_autofree char *type = NULL;
	pkg_autofree char *final = NULL;

	options.retries = retries;
	options.progress = NULL;
	if (fetch_document(url, ACCEPT, LANG_PYTHON_PAGE_MAX, &options, &body, &type, &final, err) <
		0)
		return NULL;
	return lang_python_index_parse(pkg_buf_str(&body), body.len, type, final, err);
}

struct json_object *
lang_python_index_find(struct json_object *page, const char *url, const char *filename)
{
	struct json_object *files = pkg_json_array(page, "files");
	struct json_object *named = NULL;

	for (size_t i = 0; i < json_object_array_length(files); i++) {
		struct json_object *file = json_object_array_get_idx(files, i);

		if (url && strcmp(pkg_json_str_or(file, "url", ""), url) == 0)
			return file;
		if (filename && strcmp(pkg_json_str_or(file, "filename", ""), filename) == 0)
			named = file;
	}
	return named;
}

struct pkg_argv *
lang_python_indexes(const struct lang_request *request)
{
	struct pkg_argv *indexes = pkg_argv_new();

	if (request->index_url)
		pkg_argv_add(indexes, request->index_url);
	if (request->extra_index_urls)
		pkg_argv_add_all(indexes, request->extra_index_urls);
	return indexes;
}
