#include "lang/r_files.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/file.h"
#include "core/path.h"
#include "core/sha256.h"
#include "core/url.h"

#define PIN_MAX (8 * 1024 * 1024)
#define CHUNK (256 * 1024)
#define MD5_HEX 33
#define DESCRIPTION_FORM "1" /* changes when description_text() does */

struct lang_r_files {
	struct lang_context *lang;
	const struct pkg_argv *credentials;
	const char *agent;
	struct lang_r_file **items; /* owned */
	size_t count;
};

struct lang_r_files *
lang_r_files_new(struct lang_context *lang, const struct pkg_argv *credentials, const char *agent)
{
	struct lang_r_files *files = pkg_xcalloc(1, sizeof(*files));

	files->lang = lang;
	files->credentials = credentials;
	files->agent = agent;
	return files;
}

static void
file_free(struct lang_r_file *file)
{
	free(file->sha256);
	lang_r_description_clear(&file->description);
	free(file);
}

void
lang_r_files_free(struct lang_r_files *files)
{
	if (!files)
		return;
	for (size_t i = 0; i < files->count; i++)
		file_free(files->items[i]);
	free(files->items);
	free(files);
}

const struct lang_r_file *
lang_r_files_find(const struct lang_r_files *files, const struct lang_r_entry *entry)
{
	for (size_t i = 0; i < files->count; i++)
		if (files->items[i]->entry == entry)
			return files->items[i];
	return NULL;
}

/* --- descriptions, kept by the hash of their tarball --- */

static char *
description_path(const struct lang_context *lang, const char *sha256)
{
	return pkg_path_joinf(lang->home->cache, "http/r-description-" DESCRIPTION_FORM "/%.2s/%s",
		sha256, sha256);
}

/* The fields that are needed later, in the form of a DESCRIPTION. */
static char *
description_text(const struct lang_r_description *description)
{
	struct pkg_buf out = { 0 };

	pkg_buf_addf(&out, "Package: %s\nVersion: %s\nNeedsCompilation: %s\n", description->package,
		description->version, description->compiles ? "yes" : "no");
	for (size_t i = 0; i < description->needs.count; i++) {
		pkg_autofree char *need = NULL;
		const struct lang_r_need *item = &description->needs.items[i];

		need = lang_r_need_text(item);
		pkg_buf_addf(&out, "%s%s", i ? ", " : "Depends: ", need);
	}
	pkg_buf_add(&out, description->needs.count ? "\n" : "");
	if (description->system_requirements)
		pkg_buf_addf(&out, "SystemRequirements: %s\n", description->system_requirements);
	if (description->built_r)
		pkg_buf_addf(&out, "Built: R %s; %s; ; unix\n", description->built_r,
			description->built_platform);
	if (!description->staged_install)
		pkg_buf_add(&out, "StagedInstall: no\n");
	return pkg_buf_steal(&out);
}

int
lang_r_files_describe(struct lang_context *lang, const char *sha256, const char *name,
	struct lang_r_description *out, struct pkg_error *err)
{
	pkg_autofree char *path = description_path(lang, sha256);
	pkg_autofree char *directory = pkg_path_dir(path);
	pkg_cleanup_buf struct pkg_buf kept = { 0 };
	pkg_autofree char *text = NULL;
	pkg_autofd int fd = -1;

	if (pkg_file_read(path, LANG_R_DESCRIPTION_MAX, &kept, NULL) == 0 &&
		lang_r_description_parse(pkg_buf_str(&kept), kept.len, out, NULL) == 0)
		return 0;
	fd = fetch_cas_get(lang->cas, sha256, NULL, err);
	if (fd < 0 || lang_r_tarball_read(fd, name, out, err) < 0)
		return -1;
	text = description_text(out);
	if (pkg_dir_make(directory, 0700, NULL) == 0)
		(void)pkg_file_write(path, text, strlen(text), 0600, false, NULL);
	return 0;
}

/* --- pins --- */

static char *
pin_path(const struct lang_r_files *files, const struct lang_r_entry *entry)
{
	pkg_autofree char *url = pkg_url_redact(entry->url);
	pkg_autofree char *identity =
		pkg_xasprintf("%s\n%s", url, files->agent ? files->agent : "");
	char hex[PKG_SHA256_HEX];

	pkg_sha256_hex(identity, strlen(identity), hex);
	return pkg_path_joinf(files->lang->home->state, "r-pins/%.2s/%s.json", hex, hex);
}

static int
changed(const struct lang_r_entry *entry, const char *path, struct pkg_error *err)
{
	pkg_error_set(err, PKG_E_HASH,
		"%s is another file than the one that was fetched before: its repository changed "
		"it "
		"under the same version",
		entry->file);
	return pkg_error_cure(
		err, "ask the repository's owner why; to accept the new file remove '%s'", path);
}

/* What is known of the file: *sha256 given, NULL when nothing is. */
static int
read_pin(const struct lang_r_files *files, const struct lang_r_entry *entry, char **sha256,
	long long *size, struct pkg_error *err)
{
	pkg_autofree char *path = pin_path(files, entry);
	pkg_cleanup(pkg_json_put) struct json_object *pin = pkg_json_read_file(path, PIN_MAX, NULL);
	const char *known = pin ? pkg_json_str(pin, "sha256") : NULL;
	const char *md5 = pin ? pkg_json_str(pin, "md5") : NULL;

	*sha256 = NULL;
	*size = -1;
	if (!known || !pkg_sha256_is_hex(known))
		return 0;
	if (md5 && entry->md5 && strcmp(md5, entry->md5) != 0)
		return changed(entry, path, err);
	*sha256 = pkg_xstrdup(known);
	*size = pkg_json_int(pin, "size", -1);
	return 0;
}

static int
write_pin(const struct lang_r_files *files, const struct lang_r_file *file, const char *md5,
	struct pkg_error *err)
{
	pkg_autofree char *path = pin_path(files, file->entry);
	pkg_autofree char *directory = pkg_path_dir(path);
	pkg_autofree char *url = pkg_url_redact(file->entry->url);
	pkg_cleanup(pkg_json_put) struct json_object *pin = json_object_new_object();
	pkg_autofree char *text = NULL;

	pkg_json_set_str(pin, "url", url);
	pkg_json_set_str(pin, "md5", md5);
	pkg_json_set_str(pin, "sha256", file->sha256);
	pkg_json_set_int(pin, "size", file->size);
	text = pkg_json_line(pin);
	if (pkg_dir_make(directory, 0700, err) < 0)
		return -1;
	return pkg_file_write(path, text, strlen(text), 0600, false, err);
}

static int
md5_of(int fd, char out[MD5_HEX], struct pkg_error *err)
{
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	pkg_autofree unsigned char *chunk = pkg_xmalloc(CHUNK);
	unsigned char digest[EVP_MAX_MD_SIZE];
	unsigned int len = 0;
	ssize_t got = 0;
	bool good = context && EVP_DigestInit_ex(context, EVP_md5(), NULL) == 1;

	while (good && (got = read(fd, chunk, CHUNK)) != 0) {
		if (got < 0 && errno == EINTR)
			continue;
		good = got > 0 && EVP_DigestUpdate(context, chunk, (size_t)got) == 1;
	}
	good = good && EVP_DigestFinal_ex(context, digest, &len) == 1 && len == 16;
	EVP_MD_CTX_free(context);
	if (!good)
		return pkg_error_set(err, PKG_E_IO, "its MD5 cannot be computed");
	for (unsigned int i = 0; i < len; i++)
		(void)snprintf(out + 2 * i, 3, "%02x", digest[i]);
	return 0;
}

/* A file that is new to us, against the index; then it is pinned. */
static int
check_and_pin(
	const struct lang_r_files *files, const struct lang_r_file *file, struct pkg_error *err)
{
	pkg_autofd int fd = fetch_cas_get(files->lang->cas, file->sha256, NULL, err);
	char md5[MD5_HEX] = "";

	if (fd < 0 || md5_of(fd, md5, err) < 0)
		return pkg_error_prefix(err, "%s", file->entry->file);
	if (file->entry->md5 && strcmp(md5, file->entry->md5) != 0)
		return pkg_error_set(err, PKG_E_HASH,
			"%s has the MD5 %s, where its repository's index says %s",
			file->entry->file, md5, file->entry->md5);
	return write_pin(files, file, md5, err);
}

/* --- fetching --- */

static struct lang_r_file *
add_file(struct lang_r_files *files, const struct lang_r_entry *entry)
{
	files->items = pkg_xrealloc(files->items, files->count + 1, sizeof(files->items[0]));
	files->items[files->count] = pkg_xcalloc(1, sizeof(struct lang_r_file));
	files->items[files->count]->entry = entry;
	return files->items[files->count++];
}

static void
drop_last(struct lang_r_files *files, size_t kept)
{
	while (files->count > kept)
		file_free(files->items[--files->count]);
}

static int
fetch_missing(struct lang_r_files *files, size_t first, struct pkg_error *err)
{
	struct fetch_options options =
		lang_r_fetch_options(files->lang, files->credentials, files->agent);
	size_t count = files->count - first;
	pkg_autofree struct fetch_item *items = pkg_xcalloc(count + 1, sizeof(*items));
	pkg_autofree struct lang_r_file **whose = pkg_xcalloc(count + 1, sizeof(*whose));
	size_t wanted = 0;

	for (size_t i = first; i < files->count; i++) {
		struct lang_r_file *file = files->items[i];

		if (file->sha256 && fetch_cas_has(files->lang->cas, file->sha256))
			continue;
		whose[wanted] = file;
		items[wanted++] = (struct fetch_item){ .url = file->entry->url,
			.name = file->entry->file,
			.sha256 = file->sha256,
			.size = file->size };
	}
	if (wanted > 0 && fetch_all(files->lang->cas, items, wanted, &options, err) < 0)
		return -1;
	for (size_t i = 0; i < wanted; i++) {
		bool is_new = !whose[i]->sha256;

		whose[i]->size = items[i].got_size;
		if (!is_new)
			continue;
		whose[i]->sha256 = pkg_xstrdup(items[i].got_sha256);
		if (check_and_pin(files, whose[i], err) < 0)
			return -1;
	}
	return 0;
}

static int
describe(struct lang_r_files *files, struct lang_r_file *file, struct pkg_error *err)
{
	const struct lang_r_entry *entry = file->entry;

	if (lang_r_files_describe(files->lang, file->sha256, entry->name, &file->description, err) <
		0)
		return -1;
	if (strcmp(file->description.package, entry->name) != 0 ||
		strcmp(file->description.version, entry->version) != 0)
		return pkg_error_set(err, PKG_E_ARCHIVE, "%s holds %s %s, where %s %s was offered",
			entry->file, file->description.package, file->description.version,
			entry->name, entry->version);
	return 0;
}

int
lang_r_files_get(struct lang_r_files *files, const struct lang_r_entry *const *entries,
	size_t count, struct pkg_error *err)
{
	size_t first = files->count;

	for (size_t i = 0; i < count; i++) {
		struct lang_r_file *file;

		if (lang_r_files_find(files, entries[i]))
			continue;
		file = add_file(files, entries[i]);
		if (read_pin(files, entries[i], &file->sha256, &file->size, err) < 0)
			goto fail;
	}
	if (fetch_missing(files, first, err) < 0)
		goto fail;
	for (size_t i = first; i < files->count; i++)
		if (describe(files, files->items[i], err) < 0)
			goto fail;
	return 0;
fail:
	drop_last(files, first);
	return -1;
}
