#include "lang/python_files.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/text.h"
#include "core/time.h"
#include "core/url.h"
#include "lang/pep508.h"
#include "lang/python_harvest.h"
#include "lang/python_index.h"
#include "lang/python_inputs.h"
#include "lang/wheelname.h"

/* --- pages --- */

/* The page that pip has just read; NULL when it is not in its cache. */
static struct json_object *
cached_page(const char *cache_dir, const char *index, const char *name)
{
	pkg_autofree char *used = lang_python_pip_index(index, NULL);
	pkg_autofree char *bare = used ? pkg_url_redact(used) : NULL;
	pkg_autofree char *url = bare ? lang_python_index_page_url(bare, name) : NULL;
	pkg_cleanup_buf struct pkg_buf text = { 0 };

	if (!url || lang_python_cached_text(cache_dir, url, LANG_PYTHON_PAGE_MAX, &text) < 0)
		return NULL;
	return lang_python_index_parse(pkg_buf_str(&text), text.len, NULL, url, NULL);
}

/* By URL; by name only with the same hash, since two indexes may have different files of one name. */
static struct json_object *
match(struct json_object *page, const struct lang_dist *dist)
{
	struct json_object *file = lang_python_index_find(page, dist->url, dist->file);
	const char *sha256 = file ? pkg_json_str(file, "sha256") : NULL;

	if (!file || strcmp(pkg_json_str_or(file, "url", ""), dist->url) == 0)
		return file;
	return sha256 && dist->sha256 && strcmp(sha256, dist->sha256) == 0 ? file : NULL;
}

/* The file's row (borrowed from *page, given) and the index that has it; NULL: none of them. */
static struct json_object *
locate(struct lang_context *lang, const struct pkg_argv *indexes, const char *cache_dir,
	const struct lang_dist *dist, struct json_object **page, const char **index)
{
	for (int ask = 0; ask < 2; ask++) {
		for (size_t i = 0; i < indexes->count; i++) {
			struct json_object *file;

			*page = ask ? lang_python_index_ask(
					      lang, indexes->items[i], dist->name, 0, NULL)
				    : cached_page(cache_dir, indexes->items[i], dist->name);
			file = *page ? match(*page, dist) : NULL;
			if (file) {
				*index = indexes->items[i];
				return file;
			}
			json_object_put(*page);
			*page = NULL;
		}
	}
	return NULL;
}

/* By host, when no page tells. */
static const char *
guess_index(const struct pkg_argv *indexes, const char *url)
{
	size_t best_len = 0;
	const char *best = indexes->count > 0 ? indexes->items[0] : NULL;

	for (size_t i = 0; i < indexes->count; i++) {
		pkg_autofree char *bare = pkg_url_redact(indexes->items[i]);
		const char *authority = strstr(bare, "://");
		size_t len = authority ? (size_t)(authority - bare) + 3 : 0;

		len += strcspn(bare + len, "/");
		while (bare[len] && bare[len] == url[len])
			len++;
		if (strncmp(bare, url, len) == 0 && len > best_len) {
			best_len = len;
			best = indexes->items[i];
		}
	}
	return best;
}

/* --- one file --- */

static void
set_once(char **slot, const char *text)
{
	if (!*slot && text)
		*slot = pkg_xstrdup(text);
}

static int
fill_from_row(struct lang_dist *dist, struct json_object *file, struct pkg_error *err)
{
	const char *sha256 = pkg_json_str(file, "sha256");

	if (sha256 && dist->sha256 && strcmp(sha256, dist->sha256) != 0)
		return pkg_error_set(err, PKG_E_HASH,
			"'%s' has sha256 %s, but the index announces %s", dist->file, dist->sha256,
			sha256);
	set_once(&dist->sha256, sha256);
	if (dist->size < 0)
		dist->size = pkg_json_int(file, "size", -1);
	set_once(&dist->uploaded, pkg_json_str(file, "uploaded"));
	set_once(&dist->requires_python, pkg_json_str(file, "requires_python"));
	set_once(&dist->yanked_reason, pkg_json_str(file, "yanked_reason"));
	dist->yanked = dist->yanked || pkg_json_bool(file, "yanked", false);
	return 0;
}

/* Where the URL of the request has credentials, which the plan's has not. Given. */
static char *
url_to_fetch(const struct lang_request *request, const struct lang_dist *dist)
{
	for (size_t i = 0; i < request->requirements->count; i++) {
		lang_cleanup_requirement struct lang_requirement requirement = { 0 };

		if (lang_requirement_parse(request->requirements->items[i], &requirement, NULL) ==
				0 &&
			requirement.kind == LANG_REQUIREMENT_URL &&
			strcmp(requirement.normalized, dist->key) == 0)
			return pkg_steal_ptr(&requirement.url);
	}
	return pkg_xstrdup(dist->url);
}

static int
download_for_hash(struct lang_context *lang, const struct lang_request *request,
	const struct fetch_options *options, struct lang_dist *dist, struct pkg_error *err)
{
	pkg_autofree char *url = url_to_fetch(request, dist);
	struct fetch_item item = { .url = url, .name = dist->file, .size = dist->size };

	if (fetch_all(lang->cas, &item, 1, options, err) < 0)
		return pkg_error_prefix(err, "'%s' has no hash yet", dist->file);
	dist->sha256 = pkg_xstrdup(item.got_sha256);
	dist->size = item.got_size;
	return 0;
}

static void
find_size(struct lang_context *lang, const struct lang_request *request,
	const struct fetch_options *options, struct lang_dist *dist)
{
	pkg_autofree char *path = fetch_cas_path(lang->cas, dist->sha256);
	pkg_autofree char *url = NULL;
	long long size = -1;
	struct stat st;

	if (stat(path, &st) == 0 && st.st_size > 0) {
		dist->size = st.st_size;
		return;
	}
	if (dist->size >= 0)
		return;
	url = url_to_fetch(request, dist);
	if (fetch_size(url, options, &size, NULL) == 0)
		dist->size = size;
}

static int
describe(struct lang_context *lang, const struct lang_request *request,
	const struct pkg_argv *indexes, const char *cache_dir, struct lang_dist *dist,
	struct pkg_error *err)
{
	struct fetch_options options = lang_python_fetch_options(lang, indexes);
	pkg_cleanup(pkg_json_put) struct json_object *page = NULL;
	bool direct = strcmp(dist->source, "direct") == 0;
	const char *index = NULL;
	struct json_object *file =
		direct ? NULL : locate(lang, indexes, cache_dir, dist, &page, &index);

	if (file && fill_from_row(dist, file, err) < 0)
		return -1;
	if (!direct) {
		if (!index)
			index = guess_index(indexes, dist->url);
		dist->index = index ? pkg_url_redact(index) : NULL;
	}
	if (!dist->sha256 && download_for_hash(lang, request, &options, dist, err) < 0)
		return -1;
	find_size(lang, request, &options, dist);
	return 0;
}

int
lang_python_files_describe(struct lang_context *lang, const struct lang_request *request,
	const char *cache_dir, struct lang_resolution *resolution, struct pkg_error *err)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *indexes = lang_python_indexes(request);

	for (size_t i = 0; i < resolution->count; i++)
		if (describe(lang, request, indexes, cache_dir, &resolution->items[i], err) < 0)
			return -1;
	return 0;
}

/* --- nothing newer than --- */

static int64_t
parse_time(const char *text)
{
	pkg_autofree char *midnight = NULL;

	if (strlen(text) != strlen("2026-01-31"))
		return pkg_time_parse(text);
	midnight = pkg_xasprintf("%sT00:00:00Z", text);
	return pkg_time_parse(midnight);
}

/* Given; NULL for a file that is neither wheel nor sdist of the project. */
static char *
version_of(const struct lang_dist *dist, struct json_object *file)
{
	lang_cleanup_wheel_name struct lang_wheel_name wheel = { 0 };
	lang_cleanup_sdist_name struct lang_sdist_name sdist = { 0 };
	const char *name = pkg_json_str_or(file, "filename", "");

	if (lang_wheel_name_parse(name, &wheel, NULL) == 0)
		return lang_pep440_canonical(&wheel.version);
	if (lang_sdist_name_parse(name, dist->key, &sdist, NULL) == 0)
		return lang_pep440_canonical(&sdist.version);
	return NULL;
}

static bool
is_old(struct json_object *file, int64_t cutoff)
{
	const char *uploaded = pkg_json_str(file, "uploaded");
	int64_t when = uploaded ? parse_time(uploaded) : -1;

	return when >= 0 && when <= cutoff;
}

/* A version stays when one of its files is old enough, but for the one that was just chosen. */
static void
exclude_versions(const struct lang_dist *dist, struct json_object *files, int64_t cutoff,
	struct pkg_argv *constraints)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *old = pkg_argv_new();

	for (size_t i = 0; i < json_object_array_length(files); i++) {
		struct json_object *file = json_object_array_get_idx(files, i);
		pkg_autofree char *version = is_old(file, cutoff) ? version_of(dist, file) : NULL;

		if (version && !pkg_argv_has(old, version))
			pkg_argv_add(old, version);
	}
	pkg_argv_addf(constraints, "%s!=%s", dist->key, dist->version);
	for (size_t i = 0; i < json_object_array_length(files); i++) {
		pkg_autofree char *version = version_of(dist, json_object_array_get_idx(files, i));
		pkg_autofree char *line =
			version ? pkg_xasprintf("%s!=%s", dist->key, version) : NULL;

		if (line && !pkg_argv_has(old, version) && !pkg_argv_has(constraints, line))
			pkg_argv_take(constraints, pkg_steal_ptr(&line));
	}
}

static int
exclude_newer(struct lang_context *lang, const struct pkg_argv *indexes, const char *cache_dir,
	const struct lang_dist *dist, int64_t cutoff, struct pkg_argv *constraints,
	struct pkg_error *err)
{
	pkg_cleanup(pkg_json_put) struct json_object *page = NULL;
	const char *index = NULL;
	int64_t when = dist->uploaded ? parse_time(dist->uploaded) : -1;

	if (strcmp(dist->source, "direct") == 0 || (when >= 0 && when <= cutoff))
		return 0;
	if (when < 0) {
		pkg_error_set(err, PKG_E_UNSUPPORTED,
			"the index does not say when '%s' was uploaded, so it may be too new",
			dist->file);
		return pkg_error_cure(err, "use an index that gives upload times (PEP 700)");
	}
	if (!locate(lang, indexes, cache_dir, dist, &page, &index))
		return pkg_error_set(err, PKG_E_INDEX_STATUS,
			"the index's page of '%s' cannot be read any more", dist->name);
	exclude_versions(dist, pkg_json_array(page, "files"), cutoff, constraints);
	return 0;
}

int
lang_python_files_newer(struct lang_context *lang, const struct lang_request *request,
	const char *cache_dir, const struct lang_resolution *resolution, const char *cutoff,
	struct pkg_argv *constraints, struct pkg_error *err)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *indexes = lang_python_indexes(request);
	int64_t when = parse_time(cutoff);

	if (when < 0)
		return pkg_error_set(err, PKG_E_INVALID,
			"'%s' is no date like 2026-01-31 or 2026-01-31T12:00:00Z", cutoff);
	for (size_t i = 0; i < resolution->count; i++)
		if (exclude_newer(lang, indexes, cache_dir, &resolution->items[i], when,
			    constraints, err) < 0)
			return -1;
	return 0;
}
