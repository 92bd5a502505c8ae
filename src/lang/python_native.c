#include "lang/python_native.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/file.h"
#include "core/path.h"
#include "core/text.h"
#include "core/url.h"
#include "lang/pep508.h"
#include "lang/python_candidates.h"
#include "lang/python_client.h"
#include "lang/python_facts.h"
#include "lang/python_index.h"
#include "lang/python_inputs.h"
#include "lang/python_provider.h"
#include "lang/python_report.h"

#define SHOWN_MAX 300

struct native {
	struct lang_context *lang;
	const struct lang_env *env;
	const struct lang_request *request;
	struct lang_python_client *client;
	int tree; /* -1: its directory is not there */
};

/* --- as a source --- */

static int
on_page(void *context, const char *key, const struct lang_simple_page **page, struct pkg_error *err)
{
	const struct native *native = context;

	return lang_python_client_page(native->client, key, page, err);
}

static int
on_metadata(void *context, const char *key, const struct lang_simple_file *file,
	const struct lang_metadata **out, struct pkg_error *err)
{
	const struct native *native = context;

	return lang_python_client_metadata(native->client, key, file, out, err);
}

static void
on_want_page(void *context, const char *key)
{
	const struct native *native = context;

	lang_python_client_want_page(native->client, key);
}

static void
on_want_metadata(void *context, const char *key, const struct lang_simple_file *file)
{
	const struct native *native = context;

	lang_python_client_want_metadata(native->client, key, file);
}

static int
read_beside(const struct native *native, const struct store_package *package, const char *name,
	struct pkg_buf *out)
{
	pkg_autofree char *path = pkg_path_join(package->location, name);

	pkg_buf_truncate(out, 0);
	if (!package->owned)
		return pkg_file_read(path, LANG_METADATA_HEAD_MAX, out, NULL);
	return native->tree < 0
		? -1
		: pkg_file_read_beneath(native->tree, path, LANG_METADATA_HEAD_MAX, out, NULL);
}

static bool
on_installed(void *context, const struct store_package *package, struct lang_metadata *out)
{
	static const char *const names[] = { "METADATA", "PKG-INFO" };
	const struct native *native = context;
	pkg_cleanup_buf struct pkg_buf text = { 0 };

	for (size_t i = 0; package->location && i < PKG_ARRAY_LEN(names); i++)
		if (read_beside(native, package, names[i], &text) == 0 &&
			lang_metadata_parse(pkg_buf_str(&text), text.len, out, NULL) == 0)
			return true;
	return false;
}

static int
on_nothing_fits(void *context, const char *key, const char *requirement, const char *needed_by,
	struct pkg_error *err)
{
	const struct native *native = context;
	struct lang_python_why why = {
		.facts = native->env->facts,
		.request = native->request,
		.requirement = requirement,
		.needed_by = needed_by,
	};
	struct lang_python_why_index *answers =
		lang_python_client_answers(native->client, key, &why.index_count);

	why.indexes = answers;
	(void)lang_python_why_nothing_fits(&why, err);
	lang_python_client_answers_free(answers, why.index_count);
	return -1;
}

/* --- the result --- */

static int
download_for_hash(
	const struct native *native, const char *url, struct lang_dist *dist, struct pkg_error *err)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *indexes = lang_python_indexes(native->request);
	struct fetch_options options = lang_python_fetch_options(native->lang, indexes);
	struct fetch_item item = { .url = url, .name = dist->file, .size = dist->size };

	if (fetch_all(native->lang->cas, &item, 1, &options, err) < 0)
		return pkg_error_prefix(err, "'%s' has no hash yet", dist->file);
	dist->sha256 = pkg_xstrdup(item.got_sha256);
	dist->size = item.got_size;
	return 0;
}

static void
find_size(const struct native *native, const char *url, struct lang_dist *dist)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *indexes = lang_python_indexes(native->request);
	struct fetch_options options = lang_python_fetch_options(native->lang, indexes);
	pkg_autofree char *path = fetch_cas_path(native->lang->cas, dist->sha256);
	pkg_autofd int fd = -1;
	long long size = -1;
	struct stat st;

	if (stat(path, &st) == 0 && st.st_size == dist->size)
		return;
	/* The cached file knows better than the index, if it is the right one: a damaged one must not put its
	 * size into the plan. */
	fd = fetch_cas_get(native->lang->cas, dist->sha256, &size, NULL);
	if (fd >= 0)
		dist->size = size;
	else if (dist->size < 0 && fetch_size(url, &options, &size, NULL) == 0)
		dist->size = size;
}

static void
fill_from_metadata(
	const struct lang_metadata *metadata, const char *page_python, struct lang_dist *dist)
{
	const char *python = metadata->requires_python ? metadata->requires_python : page_python;

	dist->name = pkg_xstrdup(metadata->name);
	dist->version = pkg_xstrdup(metadata->version);
	if (python)
		dist->requires_python = pkg_text_clean(python, strlen(python), SHOWN_MAX, false);
}

static int
fill(const struct native *native, const struct lang_python_chosen *chosen, struct lang_dist *dist,
	struct pkg_error *err)
{
	const struct lang_simple_file *file = chosen->file;
	const char *index =
		chosen->direct ? NULL : lang_python_client_index(native->client, chosen->key);

	fill_from_metadata(chosen->metadata, file->requires_python, dist);
	dist->key = pkg_xstrdup(chosen->key);
	dist->file = pkg_xstrdup(file->filename);
	dist->url = pkg_url_redact(file->url);
	dist->index = index ? pkg_url_redact(index) : NULL;
	dist->sha256 = pkg_xstrdup(file->sha256);
	dist->size = file->size;
	dist->is_sdist = chosen->is_sdist;
	dist->source = pkg_xstrdup(chosen->direct ? "direct"
			: chosen->is_sdist	  ? "sdist"
						  : "wheel");
	dist->yanked = file->yanked;
	dist->yanked_reason = pkg_xstrdup(file->yanked_reason);
	dist->uploaded = pkg_xstrdup(file->uploaded);
	if (!dist->sha256 && download_for_hash(native, file->url, dist, err) < 0)
		return -1;
	find_size(native, file->url, dist);
	return 0;
}

static bool
has_hash(const struct lang_dist *dist, const struct pkg_argv *hashes)
{
	for (size_t i = 0; i < hashes->count; i++) {
		lang_cleanup_requirement struct lang_requirement of = { 0 };
		const char *line = hashes->items[i];

		if (lang_requirement_parse_mem(line, strcspn(line, " \t"), &of, NULL) == 0 &&
			strcmp(of.normalized, dist->key) == 0)
			return true;
	}
	return false;
}

/* Hashes are given for all or for none: what has none could be anything. */
static int
check_hashes(const struct native *native, const struct lang_resolution *out, struct pkg_error *err)
{
	const struct pkg_argv *hashes = native->request->hashes;

	for (size_t i = 0; hashes && hashes->count > 0 && i < out->count; i++) {
		if (has_hash(&out->items[i], hashes))
			continue;
		pkg_error_set(err, PKG_E_RESOLUTION,
			"hashes were given for some of the packages that are needed, but not for "
			"'%s'",
			out->items[i].name);
		return pkg_error_cure(err,
			"give one for every package, dependencies included and pinned with ==, or "
			"for none");
	}
	return lang_python_report_check_hashes(out, hashes, err);
}

static int
collect(const struct native *native, const struct lang_python_provider *provider,
	struct lang_resolution *out, struct pkg_error *err)
{
	for (size_t i = 0; i < lang_python_provider_count(provider); i++) {
		struct lang_python_chosen chosen = lang_python_provider_get(provider, i);

		if (fill(native, &chosen, lang_resolution_add(out), err) < 0)
			return -1;
	}
	lang_resolution_sort(out);
	if (lang_python_report_asked(out, native->request->requirements, err) < 0)
		return -1;
	return check_hashes(native, out, err);
}

/* --- solving --- */

static int
solve(struct native *native, const struct lang_python_tags *tags, bool revalidate, bool *guessed,
	struct lang_resolution *out, struct pkg_error *err)
{
	pkg_cleanup(lang_python_client_free) struct lang_python_client *client =
		lang_python_client_new(native->lang, native->request, revalidate, err);
	const struct lang_python_source source = { .context = native,
		.page = on_page,
		.metadata = on_metadata,
		.installed = on_installed,
		.nothing_fits = on_nothing_fits,
		.want_page = on_want_page,
		.want_metadata = on_want_metadata };
	const struct lang_python_question question = { .facts = native->env->facts,
		.tags = tags,
		.request = native->request,
		.source = &source };
	pkg_cleanup(lang_python_provider_free) struct lang_python_provider *provider = NULL;
	int rc;

	if (!client)
		return -1;
	provider = lang_python_provider_new(&question);
	native->client = client;
	lang_python_client_serve(client, provider);
	rc = lang_python_provider_solve(provider, err);
	if (rc == 0)
		rc = collect(native, provider, out, err);
	*guessed = lang_python_client_guessed(client);
	lang_python_client_serve(client, NULL);
	native->client = NULL;
	return rc;
}

/* A newer page could make a difference. */
static bool
is_about_pages(enum pkg_error_kind kind)
{
	static const enum pkg_error_kind kinds[] = { PKG_E_NO_SUCH_PACKAGE, PKG_E_NO_SUCH_VERSION,
		PKG_E_NO_WHEEL, PKG_E_REQUIRES_PYTHON, PKG_E_CONFLICT, PKG_E_NOT_FOUND,
		PKG_E_ARCHIVE, PKG_E_HASH };

	for (size_t i = 0; i < PKG_ARRAY_LEN(kinds); i++)
		if (kinds[i] == kind)
			return true;
	return false;
}

static int
check_request(const struct lang_request *request, struct pkg_error *err)
{
	if (request->exclude_newer && lang_python_cutoff_parse(request->exclude_newer) < 0)
		return pkg_error_set(err, PKG_E_INVALID,
			"'%s' is no date like 2026-01-31 or 2026-01-31T12:00:00Z",
			request->exclude_newer);
	/* What a package's own code could read when it is built. */
	return request->source ? lang_python_refuse_credentials(request, err) : 0;
}

int
lang_python_native_plan(struct lang_context *lang, const struct lang_env *env,
	const struct lang_request *request, struct lang_resolution *out, struct pkg_error *err)
{
	pkg_cleanup(lang_python_tags_free) struct lang_python_tags *tags = NULL;
	pkg_cleanup_error struct pkg_error why = { 0 };
	pkg_autofd int tree = pkg_dir_open(env->tree, NULL);
	struct native native = { .lang = lang, .env = env, .request = request, .tree = tree };
	bool guessed = false;
	int rc;

	if (check_request(request, err) < 0)
		return -1;
	tags = lang_python_tags_new(env->facts);
	/* Who asks for the newest gets it, however fresh the pages still are. */
	rc = solve(&native, tags, request->upgrade || request->upgrade_all, &guessed, out, &why);
	if (rc < 0 && guessed && is_about_pages(why.kind)) {
		pkg_error_clear(&why);
		lang_resolution_clear(out);
		rc = solve(&native, tags, true, &guessed, out, &why);
	}
	if (rc < 0) {
		lang_resolution_clear(out);
		if (err)
			pkg_error_move(err, &why);
		return -1;
	}
	out->engine = pkg_xstrdup("pkgd " PACKAGE_VERSION);
	return 0;
}
