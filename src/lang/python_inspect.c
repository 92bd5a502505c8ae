/* What a distribution would put into the tree, before anybody said yes. The listing comes from the
 * cheapest place that has one: the store, the file in the cache, ranges of the file on its server, and
 * only when that server gives no ranges from the whole file. */
#include "lang/python.h"
#include "lang/python_store.h"

#include "core/path.h"
#include "core/text.h"
#include "fetch/remote_zip.h"
#include "fetch/zip_names.h"
#include "lang/metadata.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WHEEL_MAX (64 * 1024)

/* A zip file wherever it is. */
struct source {
	int fd; /* -1: remote */
	struct fetch_remote_zip *remote;
	const struct fetch_zip *zip;
};

static int
read_member(const struct source *source, const char *name, size_t max, struct pkg_buf *out,
	struct pkg_error *err)
{
	const struct fetch_zip_entry *entry = fetch_zip_find(source->zip, name);

	if (!entry)
		return pkg_error_set(err, PKG_E_ARCHIVE, "'%s' is missing", name);
	if (source->remote)
		return fetch_remote_zip_member(source->remote, name, max, out, err);
	return fetch_zip_member_fd(source->fd, entry, max, out, err);
}

/* "NAME.dist-info" of "NAME.dist-info/x". Given; NULL for another. */
static char *
top_with(const char *path, const char *suffix)
{
	size_t len = strcspn(path, "/");
	pkg_autofree char *top = pkg_xstrndup(path, len);

	return path[len] == '/' && pkg_text_has_suffix(top, suffix) ? pkg_steal_ptr(&top) : NULL;
}

static void
list_files(const struct fetch_zip *zip, struct lang_python_wheel *wheel)
{
	for (size_t i = 0; i < zip->count; i++) {
		const struct fetch_zip_entry *entry = &zip->entries[i];

		if (!wheel->dist_info)
			wheel->dist_info = top_with(entry->name, ".dist-info");
		if (!wheel->data)
			wheel->data = top_with(entry->name, ".data");
		if (!fetch_zip_is_directory(entry))
			lang_record_add(&wheel->files, entry->name, NULL, (long long)entry->size);
	}
	lang_record_sort(&wheel->files);
}

static int
read_wheel_file(const struct source *source, struct lang_python_wheel *wheel, struct pkg_error *err)
{
	pkg_autofree char *name = pkg_path_join(wheel->dist_info, "WHEEL");
	pkg_cleanup_buf struct pkg_buf text = { 0 };
	lang_cleanup_wheel_info struct lang_wheel_info info = { 0 };

	if (read_member(source, name, WHEEL_MAX, &text, err) < 0 ||
		lang_wheel_info_parse(pkg_buf_str(&text), text.len, &info, err) < 0)
		return -1;
	wheel->root_is_purelib = info.root_is_purelib;
	return 0;
}

static int
read_points(const struct source *source, struct lang_python_wheel *wheel, struct pkg_error *err)
{
	pkg_autofree char *name = pkg_path_join(wheel->dist_info, "entry_points.txt");
	pkg_cleanup_buf struct pkg_buf text = { 0 };

	if (!fetch_zip_find(source->zip, name))
		return 0;
	if (read_member(source, name, LANG_ENTRY_POINTS_BYTES_MAX, &text, err) < 0)
		return -1;
	return lang_entry_points_parse(pkg_buf_str(&text), text.len, &wheel->points, err);
}

static int
read_zip(const struct source *source, struct lang_python_wheel *wheel, struct pkg_error *err)
{
	if (fetch_zip_check_names(source->zip, err) < 0)
		return -1;
	list_files(source->zip, wheel);
	if (!wheel->dist_info)
		return pkg_error_set(err, PKG_E_ARCHIVE, "no .dist-info directory");
	if (read_wheel_file(source, wheel, err) < 0)
		return -1;
	return read_points(source, wheel, err);
}

/* --- where from --- */

static int
from_store(struct lang_context *lang, const struct lang_dist *dist, const char *sha256,
	struct lang_python_wheel *wheel, long long *size)
{
	pkg_autofd int fd = -1;

	if (!lang_python_store_has(lang->home, sha256) ||
		lang_python_store_load(lang->home, sha256, true, wheel, NULL) < 0)
		return -1;
	/* The cached file's size means something only when its hash is right, so it is asked only where the
	 * index says nothing: a damaged file must not end up in the plan. */
	if (dist->size <= 0)
		fd = fetch_cas_get(lang->cas, sha256, size, NULL);
	if (fd < 0)
		*size = -1;
	return 0;
}

static int
from_cache(struct lang_context *lang, const char *sha256, struct lang_python_wheel *wheel,
	long long *size, struct pkg_error *err)
{
	pkg_autofd int fd = fetch_cas_get(lang->cas, sha256, size, err);
	pkg_cleanup(fetch_zip_free) struct fetch_zip *zip = NULL;
	struct source source = { .fd = fd };

	if (fd < 0)
		return -1;
	zip = fetch_zip_open_fd(fd, err);
	source.zip = zip;
	return zip ? read_zip(&source, wheel, err) : -1;
}

static struct fetch_options
options_for(const struct lang_context *lang, struct pkg_argv *credentials)
{
	const struct policy_config *config = lang->config;

	if (config->python_index_url)
		pkg_argv_add(credentials, config->python_index_url);
	if (config->python_extra_index_urls)
		pkg_argv_add_all(credentials, config->python_extra_index_urls);
	return (struct fetch_options){
		.parallel = (int)config->fetch_parallel,
		.retries = (int)config->fetch_retries,
		.max_bytes = config->fetch_max_bytes,
		.ca_bundle = config->network_ca_bundle,
		.credentials = credentials,
		.cancel_fd = lang->cancel_fd,
		.allow = lang->allow,
		.progress = lang->transfer,
		.context = lang->context,
	};
}

static int
from_server(const struct lang_dist *dist, const struct fetch_options *options,
	struct lang_python_wheel *wheel, long long *size, struct pkg_error *err)
{
	pkg_cleanup(fetch_remote_zip_free) struct fetch_remote_zip *remote =
		fetch_remote_zip_open(dist->url, options, err);
	struct source source = { .fd = -1, .remote = remote };

	if (!remote)
		return -1;
	source.zip = fetch_remote_zip_list(remote);
	*size = (long long)source.zip->file_size;
	return read_zip(&source, wheel, err);
}

static int
download(struct lang_context *lang, const struct fetch_options *options, struct lang_dist *dist,
	struct pkg_error *err)
{
	struct fetch_item item = {
		.url = dist->url,
		.name = dist->file,
		.sha256 = dist->sha256,
		.size = dist->size > 0 ? dist->size : -1,
	};

	if (fetch_all(lang->cas, &item, 1, options, err) < 0)
		return -1;
	if (!dist->sha256)
		dist->sha256 = pkg_xstrdup(item.got_sha256);
	return 0;
}

static int
from_network(struct lang_context *lang, struct lang_dist *dist, struct lang_python_wheel *wheel,
	long long *size, struct pkg_error *err)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *credentials = pkg_argv_new();
	struct fetch_options options = options_for(lang, credentials);
	pkg_cleanup_error struct pkg_error why = { 0 };

	/* Without a hash the file has to be here anyway: a plan names what it installs. */
	if (dist->sha256) {
		if (from_server(dist, &options, wheel, size, &why) == 0)
			return 0;
		lang_python_wheel_clear(wheel);
		if (why.kind != PKG_E_UNSUPPORTED) {
			/* Listed and not there: what is missing is not what the person named. */
			if (why.kind == PKG_E_NOT_FOUND)
				why.kind = PKG_E_INDEX_STATUS;
			pkg_error_move(err, &why);
			return -1;
		}
	}
	if (download(lang, &options, dist, err) < 0)
		return -1;
	return from_cache(lang, dist->sha256, wheel, size, err);
}

static int
find_listing(struct lang_context *lang, struct lang_dist *dist, struct lang_python_wheel *wheel,
	long long *size, struct pkg_error *err)
{
	const char *sha256 = lang_python_store_sha256(dist);
	pkg_cleanup_error struct pkg_error why = { 0 };

	if (sha256 && from_store(lang, dist, sha256, wheel, size) == 0)
		return 0;
	if (sha256 && fetch_cas_has(lang->cas, sha256)) {
		if (from_cache(lang, sha256, wheel, size, &why) == 0)
			return 0;
		lang_python_wheel_clear(wheel);
		/* Damaged in the cache: gone now, and the index has it. */
		if (why.kind != PKG_E_NOT_FOUND) {
			pkg_error_move(err, &why);
			return -1;
		}
	}
	if (dist->is_sdist)
		return pkg_error_set(err, PKG_E_NOT_FOUND,
			"the wheel that was built from %s is not in the cache", dist->file);
	return from_network(lang, dist, wheel, size, err);
}

/* --- the answer --- */

static void
clear_files(struct lang_dist *dist)
{
	for (size_t i = 0; i < dist->file_count; i++)
		free(dist->files[i].path);
	free(dist->files);
	dist->files = NULL;
	dist->file_count = 0;
}

static void
fill_files(struct lang_python_items *items, struct lang_dist *dist)
{
	dist->files = pkg_xcalloc(items->count + 1, sizeof(*dist->files));
	for (size_t i = 0; i < items->count; i++) {
		struct lang_python_item *item = &items->items[i];
		bool known = item->file && item->kind == LANG_PYTHON_LINK;

		dist->files[i] = (struct lang_file){
			.path = pkg_steal_ptr(&item->path),
			.size = known ? item->file->size : 0,
		};
	}
	dist->file_count = items->count;
}

int
lang_python_inspect(struct lang_context *lang, const struct lang_env *env, struct lang_dist *dist,
	struct pkg_error *err)
{
	lang_cleanup_python_wheel struct lang_python_wheel wheel = { 0 };
	lang_cleanup_python_layout struct lang_python_layout layout = { 0 };
	lang_cleanup_python_items struct lang_python_items items = { 0 };
	long long size = -1;

	clear_files(dist);
	dist->inspected = false;
	if (dist->is_sdist && !dist->wheel_sha256)
		return 0;
	if (find_listing(lang, dist, &wheel, &size, err) < 0)
		return pkg_error_prefix(err, "look into %s", dist->file);
	lang_python_layout_init(&layout, env->facts, env->prefix, dist->name);
	if (lang_python_items_make(&layout, &wheel, dist->requirement != NULL,
		    dist->source && strcmp(dist->source, "direct") == 0, &items, err) < 0)
		return pkg_error_prefix(err, "%s", dist->file);
	fill_files(&items, dist);
	/* An sdist's size stays that of what is downloaded. */
	if (size > 0 && !dist->is_sdist)
		dist->size = size;
	if (!dist->requires_python)
		dist->requires_python = pkg_xstrdup(wheel.requires_python);
	dist->inspected = true;
	return 0;
}
