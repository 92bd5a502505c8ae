#include "lang/python_pages.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/file.h"
#include "core/path.h"
#include "core/sha256.h"
#include "core/time.h"
#include "core/url.h"
#include "lang/metadata.h"

#define FORMAT "1"
#define HEAD_MAX 16384

void
lang_python_page_entry_clear(struct lang_python_page_entry *entry)
{
	lang_simple_page_clear(&entry->page);
	free(entry->etag);
	*entry = (struct lang_python_page_entry){ 0 };
}

/* "<cache>/<folder>/ab/abcdef...". Given. */
static char *
entry_path(const struct pkg_home *home, const char *folder, const char *name)
{
	char hex[PKG_SHA256_HEX];

	pkg_sha256_hex(name, strlen(name), hex);
	return pkg_xasprintf("%s/%s/%.2s/%s", home->cache, folder, hex, hex);
}

static void
write_entry(const char *path, const struct pkg_buf *text)
{
	pkg_autofree char *directory = pkg_path_dir(path);

	if (pkg_dir_make(directory, 0700, NULL) == 0)
		(void)pkg_file_write(path, pkg_buf_str(text), text->len, 0600, false, NULL);
}

/* --- pages: one line of JSON, then the files --- */

static bool
read_head(const char *text, size_t len, const char *url, struct lang_python_page_entry *out)
{
	pkg_cleanup(pkg_json_put) struct json_object *head =
		len < HEAD_MAX ? pkg_json_parse(text, len, NULL) : NULL;
	pkg_autofree char *bare = pkg_url_redact(url);

	if (!head || !json_object_is_type(head, json_type_object) ||
		strcmp(pkg_json_str_or(head, "format", ""), FORMAT) != 0 ||
		strcmp(pkg_json_str_or(head, "url", ""), bare) != 0)
		return false;
	out->etag = pkg_xstrdup(pkg_json_str(head, "etag"));
	out->fresh_until_ms = pkg_json_int(head, "fresh_until", 0);
	out->stored_ms = pkg_json_int(head, "stored", 0);
	return true;
}

bool
lang_python_pages_get(
	const struct pkg_home *home, const char *url, struct lang_python_page_entry *out)
{
	pkg_autofree char *path = entry_path(home, "index", url);
	pkg_cleanup_buf struct pkg_buf text = { 0 };
	const char *start, *end;

	*out = (struct lang_python_page_entry){ 0 };
	if (pkg_file_read(path, LANG_SIMPLE_BYTES_MAX, &text, NULL) < 0)
		return false;
	start = pkg_buf_str(&text);
	end = memchr(start, '\n', text.len);
	if (end && read_head(start, (size_t)(end - start), url, out) &&
		lang_simple_page_load(
			end + 1, text.len - (size_t)(end + 1 - start), &out->page, NULL) == 0)
		return true;
	lang_python_page_entry_clear(out);
	return false;
}

void
lang_python_pages_put(const struct pkg_home *home, const char *url, const char *etag,
	long long max_age, const struct lang_simple_page *page)
{
	pkg_autofree char *path = entry_path(home, "index", url);
	pkg_autofree char *bare = pkg_url_redact(url);
	pkg_cleanup(pkg_json_put) struct json_object *head = json_object_new_object();
	pkg_cleanup_buf struct pkg_buf text = { 0 };
	pkg_autofree char *line = NULL;
	int64_t now = pkg_time_now_ms();

	pkg_json_set_str(head, "format", FORMAT);
	pkg_json_set_str(head, "url", bare);
	if (etag)
		pkg_json_set_str(head, "etag", etag);
	pkg_json_set_int(head, "fresh_until", now + max_age * 1000);
	pkg_json_set_int(head, "stored", now);
	line = pkg_json_line(head);
	if (strlen(line) >= HEAD_MAX)
		return;
	pkg_buf_addf(&text, "%s\n", line);
	lang_simple_page_save(page, &text);
	if (text.len <= LANG_SIMPLE_BYTES_MAX)
		write_entry(path, &text);
}

/* --- metadata --- */

static char *
metadata_path(const struct pkg_home *home, const struct lang_simple_file *file)
{
	pkg_autofree char *name = NULL;

	if (!file->sha256)
		return NULL;
	name = pkg_xasprintf("%s %s", file->sha256, file->url);
	return entry_path(home, "metadata", name);
}

bool
lang_python_metadata_get(
	const struct pkg_home *home, const struct lang_simple_file *file, struct pkg_buf *out)
{
	pkg_autofree char *path = metadata_path(home, file);

	return path && pkg_file_read(path, LANG_METADATA_HEAD_MAX, out, NULL) == 0;
}

void
lang_python_metadata_put(const struct pkg_home *home, const struct lang_simple_file *file,
	const char *text, size_t len)
{
	pkg_autofree char *path = metadata_path(home, file);
	const char *end = memmem(text, len, "\n\n", 2);
	pkg_cleanup_buf struct pkg_buf head = { 0 };

	if (!path)
		return;
	/* The description behind the headers says nothing to a resolver. */
	pkg_buf_add_mem(&head, text, end ? (size_t)(end + 2 - text) : len);
	if (head.len <= LANG_METADATA_HEAD_MAX)
		write_entry(path, &head);
}
