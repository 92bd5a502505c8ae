#include "install/resolution.h"

#include <string.h>
#include <unistd.h>

#include "core/file.h"

#define RESOLUTION_MAX (256u * 1024 * 1024)

/* One row per text field of struct lang_dist: both directions walk it. */
static const struct field {
	const char *key;
	size_t offset;
} fields[] = {
	{ "name", offsetof(struct lang_dist, name) },
	{ "key", offsetof(struct lang_dist, key) },
	{ "version", offsetof(struct lang_dist, version) },
	{ "requirement", offsetof(struct lang_dist, requirement) },
	{ "file", offsetof(struct lang_dist, file) },
	{ "url", offsetof(struct lang_dist, url) },
	{ "index", offsetof(struct lang_dist, index) },
	{ "sha256", offsetof(struct lang_dist, sha256) },
	{ "source", offsetof(struct lang_dist, source) },
	{ "yanked_reason", offsetof(struct lang_dist, yanked_reason) },
	{ "uploaded", offsetof(struct lang_dist, uploaded) },
	{ "requires_python", offsetof(struct lang_dist, requires_python) },
	{ "wheel_sha256", offsetof(struct lang_dist, wheel_sha256) },
	{ "system_note", offsetof(struct lang_dist, system_note) },
};

static char **
field_of(const struct lang_dist *dist, const struct field *field)
{
	return (char **)((char *)(uintptr_t)dist + field->offset);
}

struct json_object *
install_dist_to_json(const struct lang_dist *dist, bool with_files)
{
	struct json_object *row = json_object_new_object();
	struct json_object *files;

	for (size_t i = 0; i < PKG_ARRAY_LEN(fields); i++)
		pkg_json_set_str(row, fields[i].key, *field_of(dist, &fields[i]));
	pkg_json_set_int(row, "size", dist->size);
	pkg_json_set_bool(row, "is_sdist", dist->is_sdist);
	pkg_json_set_bool(row, "yanked", dist->yanked);
	pkg_json_set_bool(row, "inspected", dist->inspected);
	if (!with_files)
		return row;
	files = json_object_new_array();
	for (size_t i = 0; i < dist->file_count; i++) {
		json_object_array_add(files, json_object_new_string(dist->files[i].path));
		json_object_array_add(files, json_object_new_int64(dist->files[i].size));
	}
	pkg_json_set(row, "files", files);
	return row;
}

static void
dist_from_json(struct json_object *row, struct lang_dist *dist)
{
	struct json_object *files = pkg_json_array(row, "files");
	size_t count = files != NULL ? json_object_array_length(files) / 2 : 0;

	for (size_t i = 0; i < PKG_ARRAY_LEN(fields); i++)
		*field_of(dist, &fields[i]) = pkg_xstrdup(pkg_json_str(row, fields[i].key));
	dist->size = pkg_json_int(row, "size", -1);
	dist->is_sdist = pkg_json_bool(row, "is_sdist", false);
	dist->yanked = pkg_json_bool(row, "yanked", false);
	dist->inspected = pkg_json_bool(row, "inspected", false);
	dist->files = count > 0 ? pkg_xcalloc(count, sizeof(dist->files[0])) : NULL;
	dist->file_count = count;
	for (size_t i = 0; i < count; i++) {
		dist->files[i].path = pkg_xstrdup(
			json_object_get_string(json_object_array_get_idx(files, 2 * i)));
		dist->files[i].size =
			json_object_get_int64(json_object_array_get_idx(files, 2 * i + 1));
	}
}

int
install_resolution_save(const struct lang_resolution *resolution, const struct pkg_argv *removed,
	const char *path, struct pkg_error *err)
{
	pkg_cleanup(pkg_json_put) struct json_object *json = json_object_new_object();
	struct json_object *rows = json_object_new_array();
	pkg_autofree char *text = NULL;

	for (size_t i = 0; i < resolution->count; i++)
		json_object_array_add(rows, install_dist_to_json(&resolution->items[i], true));
	pkg_json_set_str(json, "engine", resolution->engine);
	pkg_json_set(json, "dists", rows);
	pkg_json_set(json, "removed", pkg_json_from_argv(removed));
	text = pkg_json_line(json);
	return pkg_file_write(path, text, strlen(text), 0600, false, err);
}

int
install_resolution_load(const char *path, struct lang_resolution *out, struct pkg_argv *removed,
	struct pkg_error *err)
{
	pkg_cleanup(pkg_json_put) struct json_object *json = NULL;
	struct json_object *rows;

	if (!pkg_file_exists(path))
		return pkg_error_set(err, PKG_E_NOT_FOUND, "%s is not there", path);
	json = pkg_json_read_file(path, RESOLUTION_MAX, err);
	if (json == NULL)
		return -1;
	rows = pkg_json_array(json, "dists");
	for (size_t i = 0; rows != NULL && i < json_object_array_length(rows); i++) {
		struct json_object *row = json_object_array_get_idx(rows, i);

		if (pkg_json_need_str(row, "name", err) == NULL ||
			pkg_json_need_str(row, "key", err) == NULL ||
			pkg_json_need_str(row, "version", err) == NULL)
			return pkg_error_prefix(err, "%s", path);
		dist_from_json(row, lang_resolution_add(out));
	}
	out->engine = pkg_xstrdup(pkg_json_str(json, "engine"));
	return pkg_json_strings(json, "removed", removed, err);
}
