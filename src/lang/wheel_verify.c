#include "lang/wheel_verify.h"

#include "core/sha256.h"
#include "core/text.h"
#include "fetch/zip_names.h"
#include "lang/entry_points.h"
#include "lang/metadata.h"
#include "lang/pep440.h"
#include "lang/pep503.h"
#include "lang/record.h"
#include "lang/wheelname.h"

#include <stdlib.h>
#include <string.h>

#define WHEEL_MAX (64 * 1024)
#define METADATA_MAX (16 * 1024 * 1024) /* headers and a README */

struct wheel {
	int fd;
	const struct fetch_zip *zip; /* borrowed */
	struct lang_wheel_name file_name;
	char *dist_info; /* directory names without the slash */
	char *data; /* NULL: none */
	struct lang_metadata metadata;
	struct lang_wheel_info info;
	struct lang_record record; /* sorted by path, each path once */
	struct fetch_unpacked_file *files; /* as many as there are */
	size_t count;
};

static void
wheel_clear(struct wheel *wheel)
{
	lang_wheel_name_clear(&wheel->file_name);
	lang_metadata_clear(&wheel->metadata);
	lang_wheel_info_clear(&wheel->info);
	lang_record_clear(&wheel->record);
	free(wheel->dist_info);
	free(wheel->data);
	free(wheel->files);
}

/* Names in messages: all of them come from the archive. */
static int
refuse(struct pkg_error *err, enum pkg_error_kind kind, const char *name, const char *why)
{
	pkg_autofree char *shown = pkg_text_clean(name, strlen(name), 200, false);

	return pkg_error_set(err, kind, "'%s' %s", shown, why);
}

/* Directories. */

/* The top directory of a path, if it ends in suffix. Given. */
static char *
top_with_suffix(const char *path, const char *suffix)
{
	size_t len = strcspn(path, "/");
	size_t suffix_len = strlen(suffix);

	if (path[len] != '/' || len <= suffix_len ||
		memcmp(path + len - suffix_len, suffix, suffix_len) != 0)
		return NULL;
	return pkg_xstrndup(path, len);
}

static int
keep_only(char **slot, char *found, struct pkg_error *err)
{
	pkg_autofree char *top = found;

	if (!top || (*slot && strcmp(*slot, top) == 0))
		return 0;
	if (*slot)
		return refuse(err, PKG_E_ARCHIVE, top, "is a second directory of its kind");
	*slot = pkg_steal_ptr(&top);
	return 0;
}

static int
check_scheme(const char *path, const char *data, struct pkg_error *err)
{
	static const char *const schemes[] = { "purelib", "platlib", "headers", "scripts", "data" };
	size_t data_len = strlen(data);
	size_t len;

	if (strncmp(path, data, data_len) != 0 || path[data_len] != '/')
		return 0;
	path += data_len + 1;
	len = strcspn(path, "/");
	for (size_t i = 0; i < PKG_ARRAY_LEN(schemes); i++) {
		if (strlen(schemes[i]) == len && memcmp(path, schemes[i], len) == 0 &&
			path[len] == '/')
			return 0;
	}
	/* "x.data/" as an entry of its own. */
	return *path == '\0' ? 0
			     : refuse(err, PKG_E_ARCHIVE, path,
				       "is in no scheme that a .data directory can have");
}

static int
find_directories(struct wheel *wheel, struct pkg_error *err)
{
	for (size_t i = 0; i < wheel->zip->count; i++) {
		const char *path = wheel->zip->entries[i].name;

		if (keep_only(&wheel->dist_info, top_with_suffix(path, ".dist-info"), err) < 0 ||
			keep_only(&wheel->data, top_with_suffix(path, ".data"), err) < 0)
			return -1;
	}
	if (!wheel->dist_info)
		return pkg_error_set(err, PKG_E_ARCHIVE, "no .dist-info directory");
	for (size_t i = 0; wheel->data && i < wheel->zip->count; i++) {
		if (check_scheme(wheel->zip->entries[i].name, wheel->data, err) < 0)
			return -1;
	}
	return 0;
}

/* Agreement. */

static int
check_version(const struct wheel *wheel, const char *text, const char *where, struct pkg_error *err)
{
	struct lang_pep440_version version;

	if (lang_pep440_parse(text, &version, NULL) == 0 &&
		lang_pep440_compare(&version, &wheel->file_name.version) == 0)
		return 0;
	return pkg_error_set(err, PKG_E_ARCHIVE, "%s has version '%s', the file name %s", where,
		text, wheel->file_name.version.text);
}

static int
check_name(const struct wheel *wheel, const char *name, const char *where, struct pkg_error *err)
{
	if (lang_pep503_equal(name, wheel->file_name.normalized))
		return 0;
	return pkg_error_set(err, PKG_E_ARCHIVE, "%s is of '%s', the file name of '%s'", where,
		name, wheel->file_name.normalized);
}

/* "NAME-VERSION.dist-info" or ".data". */
static int
check_directory(const struct wheel *wheel, const char *directory, struct pkg_error *err)
{
	size_t len = (size_t)(strrchr(directory, '.') - directory);
	pkg_autofree char *shown = pkg_text_clean(directory, strlen(directory), 200, false);
	pkg_autofree char *stem = pkg_text_clean(directory, len, 4096, false);
	char *dash = strchr(stem, '-');

	if (!dash)
		return refuse(err, PKG_E_ARCHIVE, directory, "is not named NAME-VERSION");
	*dash = '\0';
	if (check_name(wheel, stem, shown, err) < 0)
		return -1;
	return check_version(wheel, dash + 1, shown, err);
}

/* 1, or 0 when it is not there and need not be. */
static int
read_member(const struct wheel *wheel, const char *name, bool needed, size_t max,
	struct pkg_buf *out, struct pkg_error *err)
{
	pkg_autofree char *path = pkg_xasprintf("%s/%s", wheel->dist_info, name);
	const struct fetch_zip_entry *entry = fetch_zip_find(wheel->zip, path);

	if (!entry && needed)
		return refuse(err, PKG_E_ARCHIVE, path, "is missing");
	if (!entry)
		return 0;
	return fetch_zip_member_fd(wheel->fd, entry, max, out, err) < 0 ? -1 : 1;
}

static int
read_descriptions(struct wheel *wheel, struct pkg_error *err)
{
	pkg_cleanup_buf struct pkg_buf text = { 0 };
	lang_cleanup_entry_points struct lang_entry_points points = { 0 };
	int found;

	if (check_directory(wheel, wheel->dist_info, err) < 0 ||
		(wheel->data && check_directory(wheel, wheel->data, err) < 0))
		return -1;
	if (read_member(wheel, "WHEEL", true, WHEEL_MAX, &text, err) < 0)
		return -1;
	if (lang_wheel_info_parse(pkg_buf_str(&text), text.len, &wheel->info, err) < 0)
		return -1;
	if (read_member(wheel, "METADATA", true, METADATA_MAX, &text, err) < 0)
		return -1;
	if (lang_metadata_parse(pkg_buf_str(&text), text.len, &wheel->metadata, err) < 0)
		return -1;
	if (check_name(wheel, wheel->metadata.name, "METADATA", err) < 0 ||
		check_version(wheel, wheel->metadata.version, "METADATA", err) < 0)
		return -1;
	found = read_member(
		wheel, "entry_points.txt", false, LANG_ENTRY_POINTS_BYTES_MAX, &text, err);
	if (found <= 0)
		return found;
	return lang_entry_points_parse(pkg_buf_str(&text), text.len, &points, err);
}

/* RECORD. */

/* The files that cannot be in RECORD with a hash: itself and the signatures of it. */
static bool
is_record(const struct wheel *wheel, const char *path)
{
	static const char *const names[] = { "RECORD", "RECORD.jws", "RECORD.p7s" };
	size_t len = strlen(wheel->dist_info);

	if (strncmp(path, wheel->dist_info, len) != 0 || path[len] != '/')
		return false;
	for (size_t i = 0; i < PKG_ARRAY_LEN(names); i++) {
		if (strcmp(path + len + 1, names[i]) == 0)
			return true;
	}
	return false;
}

static int
compare_rows(const void *key, const void *row)
{
	return strcmp(key, ((const struct lang_record_entry *)row)->path);
}

static const struct lang_record_entry *
find_row(const struct wheel *wheel, const char *path)
{
	if (wheel->record.count == 0)
		return NULL;
	return bsearch(path, wheel->record.entries, wheel->record.count,
		sizeof(*wheel->record.entries), compare_rows);
}

static bool
same_row(const struct lang_record_entry *a, const struct lang_record_entry *b)
{
	return a->size == b->size &&
		(a->sha256 && b->sha256 ? strcmp(a->sha256, b->sha256) == 0
					: a->sha256 == b->sha256);
}

/* Old builders wrote a row twice; only a contradiction is ambiguous. */
static int
check_twins(const struct lang_record *record, struct pkg_error *err)
{
	for (size_t i = 1; i < record->count; i++) {
		const struct lang_record_entry *entry = &record->entries[i];

		if (strcmp(entry[-1].path, entry->path) == 0 && !same_row(&entry[-1], entry))
			return refuse(err, PKG_E_ARCHIVE, entry->path,
				"has two different rows in RECORD");
	}
	return 0;
}

/* Every file has a row with a hash, and every row a file. */
static int
check_coverage(const struct wheel *wheel, struct pkg_error *err)
{
	const struct lang_record *record = &wheel->record;
	pkg_autofree bool *seen = pkg_xcalloc(record->count, sizeof(*seen));

	for (size_t i = 0; i < wheel->zip->count; i++) {
		const struct fetch_zip_entry *entry = &wheel->zip->entries[i];
		const struct lang_record_entry *row = find_row(wheel, entry->name);

		if (fetch_zip_is_directory(entry))
			continue;
		if (row)
			seen[row - record->entries] = true;
		if (is_record(wheel, entry->name))
			continue;
		if (!row)
			return refuse(err, PKG_E_ARCHIVE, entry->name, "is not in RECORD");
		if (!row->sha256)
			return refuse(err, PKG_E_ARCHIVE, entry->name, "has no hash in RECORD");
	}
	for (size_t i = 0; i < record->count; i++) {
		const char *path = record->entries[i].path;

		/* Of twins the last one knows. */
		if (i + 1 < record->count && strcmp(record->entries[i + 1].path, path) == 0) {
			seen[i + 1] = seen[i + 1] || seen[i];
			continue;
		}
		if (!seen[i] && !is_record(wheel, path))
			return refuse(err, PKG_E_ARCHIVE, path, "is in RECORD but not there");
	}
	return 0;
}

static int
read_record(struct wheel *wheel, struct pkg_error *err)
{
	pkg_cleanup_buf struct pkg_buf text = { 0 };

	if (read_member(wheel, "RECORD", true, LANG_RECORD_BYTES_MAX, &text, err) < 0)
		return -1;
	if (lang_record_parse(pkg_buf_str(&text), text.len, &wheel->record, err) < 0)
		return -1;
	lang_record_sort(&wheel->record);
	if (check_twins(&wheel->record, err) < 0)
		return -1;
	return check_coverage(wheel, err);
}

/* Files. */

static int
on_file(void *context, const struct fetch_unpacked_file *file, struct pkg_error *err)
{
	struct wheel *wheel = context;
	const struct lang_record_entry *row = find_row(wheel, file->path);
	char got[LANG_RECORD_SHA256 + 1];

	pkg_sha256_base64url(file->sha256, got);
	if (row && row->sha256 && strcmp(row->sha256, got) != 0) {
		pkg_autofree char *why =
			pkg_xasprintf("has sha256 %s, in RECORD it is %s", got, row->sha256);

		return refuse(err, PKG_E_HASH, file->path, why);
	}
	if (row && row->size >= 0 && row->size != file->size) {
		pkg_autofree char *why = pkg_xasprintf(
			"has %lld bytes, in RECORD it is %lld", file->size, row->size);

		return refuse(err, PKG_E_HASH, file->path, why);
	}
	wheel->files[wheel->count++] = *file;
	return 0;
}

static int
compare_files(const void *a, const void *b)
{
	return strcmp(((const struct fetch_unpacked_file *)a)->path,
		((const struct fetch_unpacked_file *)b)->path);
}

static struct json_object *
report_file(const struct fetch_unpacked_file *file)
{
	static const char digits[] = "0123456789abcdef";
	struct json_object *row = json_object_new_object();
	char hex[PKG_SHA256_HEX];

	for (size_t i = 0; i < PKG_SHA256_BYTES; i++) {
		hex[2 * i] = digits[file->sha256[i] >> 4];
		hex[2 * i + 1] = digits[file->sha256[i] & 15];
	}
	hex[PKG_SHA256_HEX - 1] = '\0';
	pkg_json_set_str(row, "path", file->path);
	pkg_json_set_str(row, "sha256", hex);
	pkg_json_set_int(row, "size", file->size);
	pkg_json_set_bool(row, "exec", file->exec);
	return row;
}

static struct json_object *
report(struct wheel *wheel)
{
	struct json_object *out = json_object_new_object();
	struct json_object *files = json_object_new_array_ext((int)wheel->count);
	long long bytes = 0;

	qsort(wheel->files, wheel->count, sizeof(*wheel->files), compare_files);
	for (size_t i = 0; i < wheel->count; i++) {
		bytes += wheel->files[i].size;
		json_object_array_add(files, report_file(&wheel->files[i]));
	}
	pkg_json_set_str(out, "name", wheel->metadata.name);
	pkg_json_set_str(out, "version", wheel->metadata.version);
	pkg_json_set_str(out, "dist_info", wheel->dist_info);
	pkg_json_set_str(out, "data", wheel->data);
	pkg_json_set_bool(out, "root_is_purelib", wheel->info.root_is_purelib);
	pkg_json_set_str(out, "wheel_version", wheel->info.wheel_version);
	pkg_json_set(out, "tags", pkg_json_from_argv(wheel->info.tags));
	pkg_json_set_str(out, "requires_python", wheel->metadata.requires_python);
	pkg_json_set(out, "files", files);
	pkg_json_set_int(out, "bytes", bytes);
	return out;
}

static int
unpack(struct wheel *wheel, struct fetch_unpack *archive, int dir_fd, struct pkg_error *err)
{
	wheel->zip = fetch_unpack_list(archive);
	/* All that can be known beforehand is, before the first file is written. */
	if (find_directories(wheel, err) < 0 || read_descriptions(wheel, err) < 0 ||
		read_record(wheel, err) < 0)
		return -1;
	wheel->files = pkg_xcalloc(wheel->zip->count, sizeof(*wheel->files));
	return fetch_unpack_run(archive, dir_fd, on_file, wheel, err);
}

struct json_object *
lang_wheel_unpack(int wheel_fd, const char *file_name, int dir_fd,
	const struct fetch_unpack_limits *limits, struct pkg_error *err)
{
	pkg_cleanup(fetch_unpack_free) struct fetch_unpack *archive = NULL;
	struct wheel wheel = { .fd = wheel_fd };
	struct json_object *result = NULL;

	if (lang_wheel_name_parse(file_name, &wheel.file_name, err) < 0)
		return NULL;
	archive = fetch_unpack_open(wheel_fd, limits, err);
	if (archive && unpack(&wheel, archive, dir_fd, err) == 0)
		result = report(&wheel);
	else
		pkg_error_prefix(err, "%s", file_name);
	wheel_clear(&wheel);
	return result;
}
