#include "lang/r_packages.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <zlib.h>

#include "core/file.h"
#include "core/path.h"
#include "core/sha256.h"
#include "core/text.h"
#include "core/url.h"
#include "fetch/query.h"
#include "lang/r_facts.h"
#include "lang/r_version.h"

#define INDEX_BYTES_MAX (64 * 1024 * 1024) /* as it is served */
#define LISTING_MAX (4 * 1024 * 1024)
#define HEAD_MAX (64 * 1024)
#define NEAR_MAX 2

struct repo {
	char *url; /* as configured, without a slash at the end; may hold userinfo */
	char *shown;
	char *cached; /* path of the kept index, without its suffix */
	char *etag; /* of the kept one */
	struct lang_r_entries entries;
	struct fetch_query *packed; /* PACKAGES.gz */
	struct fetch_query *plain; /* PACKAGES, where there is none */
	struct fetch_queries *queries;
};

struct lang_r_packages {
	struct lang_context *lang;
	const char *agent;
	struct pkg_argv *credentials;
	struct repo *repos;
	size_t count;
	struct lang_r_entry **archived; /* owned */
	size_t archived_count;
};

struct fetch_options
lang_r_fetch_options(
	const struct lang_context *lang, const struct pkg_argv *credentials, const char *agent)
{
	const struct policy_config *config = lang->config;

	return (struct fetch_options){
		.parallel = (int)config->fetch_parallel,
		.retries = (int)config->fetch_retries,
		.max_bytes = config->fetch_max_bytes,
		.ca_bundle = config->network_ca_bundle,
		.credentials = credentials,
		.user_agent = agent,
		.cancel_fd = lang->cancel_fd,
		.allow = lang->allow,
		.progress = lang->transfer,
		.context = lang->context,
	};
}

char *
lang_r_agent(struct json_object *facts, const struct pkg_argv *repos)
{
	const char *version = lang_r_version(facts);

	for (size_t i = 0; i < repos->count; i++)
		if (strstr(repos->items[i], "/__linux__/"))
			return pkg_xasprintf("R/%s R (%s %s %s linux-gnu)", version, version,
				lang_r_platform(facts), pkg_json_str_or(facts, "arch", ""));
	return NULL;
}

/* --- kept indexes --- */

static void
read_etag(struct repo *repo)
{
	pkg_autofree char *head = pkg_xasprintf("%s.json", repo->cached);
	pkg_autofree char *body = pkg_xasprintf("%s.body", repo->cached);
	pkg_cleanup(pkg_json_put) struct json_object *kept =
		pkg_json_read_file(head, HEAD_MAX, NULL);
	struct stat st;

	/* The body's own size says that both belong together. */
	if (kept && stat(body, &st) == 0 && pkg_json_int(kept, "size", -1) == (int64_t)st.st_size)
		repo->etag = pkg_xstrdup(pkg_json_str(kept, "etag"));
}

/* A cache that cannot be written costs a transfer next time, no more. */
static void
keep(const struct repo *repo, const struct fetch_query *query)
{
	pkg_autofree char *head = pkg_xasprintf("%s.json", repo->cached);
	pkg_autofree char *body = pkg_xasprintf("%s.body", repo->cached);
	pkg_autofree char *directory = pkg_path_dir(body);
	pkg_cleanup(pkg_json_put) struct json_object *json = json_object_new_object();
	pkg_autofree char *text = NULL;

	if (!query->new_etag || query->no_store || pkg_dir_make(directory, 0700, NULL) < 0)
		return;
	pkg_json_set_str(json, "url", repo->shown);
	pkg_json_set_str(json, "etag", query->new_etag);
	pkg_json_set_int(json, "size", (int64_t)query->body.len);
	text = pkg_json_line(json);
	if (pkg_file_write(body, pkg_buf_str(&query->body), query->body.len, 0600, false, NULL) ==
		0)
		(void)pkg_file_write(head, text, strlen(text), 0600, false, NULL);
}

/* --- one repository --- */

/* PACKAGES.gz is a file, not an encoding: it is ours to open. */
static int
inflate_all(const char *data, size_t len, struct pkg_buf *out, struct pkg_error *err)
{
	z_stream stream = { .next_in = (unsigned char *)(uintptr_t)data,
		.avail_in = (unsigned int)len };
	unsigned char chunk[64 * 1024];
	int rc = Z_OK;

	if (inflateInit2(&stream, 15 + 16) != Z_OK)
		pkg_abort("out of memory");
	while (rc == Z_OK && out->len <= LANG_R_DCF_BYTES_MAX) {
		stream.next_out = chunk;
		stream.avail_out = sizeof(chunk);
		rc = inflate(&stream, Z_NO_FLUSH);
		pkg_buf_add_mem(out, chunk, sizeof(chunk) - stream.avail_out);
	}
	(void)inflateEnd(&stream);
	if (rc != Z_STREAM_END)
		return pkg_error_set(
			err, PKG_E_INDEX_STATUS, "its PACKAGES.gz is damaged or too large");
	return 0;
}

static int
parse_index(struct repo *repo, size_t number, const char *data, size_t len, struct pkg_error *err)
{
	pkg_cleanup_buf struct pkg_buf text = { 0 };
	pkg_cleanup_error struct pkg_error why = { 0 };

	if (len > 2 && memcmp(data, "\x1f\x8b", 2) == 0) {
		if (inflate_all(data, len, &text, err) < 0)
			return -1;
		data = pkg_buf_str(&text);
		len = text.len;
	}
	if (lang_r_entries_parse(data, len, repo->url, number, &repo->entries, &why) == 0)
		return 0;
	return pkg_error_set(err, PKG_E_INDEX_STATUS, "its PACKAGES is no index: %s", why.message);
}

static void
ask_plain(struct fetch_query *query)
{
	struct repo *repo = query->context;
	pkg_autofree char *url = NULL;

	if (query->error.kind != PKG_E_NOT_FOUND)
		return;
	url = pkg_xasprintf("%s/src/contrib/PACKAGES", repo->url);
	repo->plain = fetch_queries_add(
		repo->queries, url, NULL, repo->etag, INDEX_BYTES_MAX, NULL, repo);
}

static int
read_kept(struct repo *repo, size_t number, struct pkg_error *err)
{
	pkg_autofree char *body = pkg_xasprintf("%s.body", repo->cached);
	pkg_cleanup_buf struct pkg_buf data = { 0 };

	if (pkg_file_read(body, INDEX_BYTES_MAX, &data, err) < 0)
		return -1;
	return parse_index(repo, number, pkg_buf_str(&data), data.len, err);
}

static int
take_answer(struct repo *repo, size_t number, struct pkg_error *err)
{
	struct fetch_query *query = repo->plain ? repo->plain : repo->packed;

	if (query->error.kind == PKG_E_NOT_FOUND) {
		pkg_error_set(err, PKG_E_INDEX_STATUS,
			"'%s' is no repository of R packages: it has no src/contrib/PACKAGES",
			repo->shown);
		return pkg_error_cure(
			err, "r.repos and --repo name what stands before /src/contrib");
	}
	if (query->error.kind != PKG_E_NONE) {
		pkg_error_move(err, &query->error);
		return pkg_error_prefix(err, "the repository '%s'", repo->shown);
	}
	if (query->not_modified) {
		if (read_kept(repo, number, err) < 0)
			return pkg_error_prefix(err, "the repository '%s'", repo->shown);
		return 0;
	}
	if (parse_index(repo, number, pkg_buf_str(&query->body), query->body.len, err) < 0)
		return pkg_error_prefix(err, "the repository '%s'", repo->shown);
	keep(repo, query);
	return 0;
}

static int
init_repo(
	struct lang_r_packages *packages, struct repo *repo, const char *url, struct pkg_error *err)
{
	pkg_cleanup_url struct pkg_url parsed = { 0 };
	size_t len = strlen(url);
	pkg_autofree char *identity = NULL;
	char hex[PKG_SHA256_HEX];

	if (pkg_url_parse(url, &parsed, err) < 0)
		return pkg_error_prefix(err, "r.repos");
	while (len > 0 && url[len - 1] == '/')
		len--;
	repo->url = pkg_xstrndup(url, len);
	repo->shown = pkg_url_redact(repo->url);
	/* One address has another answer for each R. */
	identity = pkg_xasprintf("%s\n%s", repo->url, packages->agent ? packages->agent : "");
	pkg_sha256_hex(identity, strlen(identity), hex);
	repo->cached = pkg_path_joinf(packages->lang->home->cache, "http/r-%s", hex);
	read_etag(repo);
	return 0;
}

static int
fetch_indexes(struct lang_r_packages *packages, struct pkg_error *err)
{
	struct fetch_options options =
		lang_r_fetch_options(packages->lang, packages->credentials, packages->agent);
	pkg_cleanup(fetch_queries_free) struct fetch_queries *queries = NULL;

	options.progress = NULL;
	queries = fetch_queries_new(&options, err);
	if (!queries)
		return -1;
	for (size_t i = 0; i < packages->count; i++) {
		struct repo *repo = &packages->repos[i];
		pkg_autofree char *url = pkg_xasprintf("%s/src/contrib/PACKAGES.gz", repo->url);

		repo->queries = queries;
		repo->packed = fetch_queries_add(
			queries, url, NULL, repo->etag, INDEX_BYTES_MAX, ask_plain, repo);
	}
	if (fetch_queries_run(queries, NULL, err) < 0)
		return -1;
	for (size_t i = 0; i < packages->count; i++)
		if (take_answer(&packages->repos[i], i, err) < 0)
			return -1;
	return 0;
}

struct lang_r_packages *
lang_r_packages_open(struct lang_context *lang, const struct pkg_argv *repos, const char *agent,
	struct pkg_error *err)
{
	pkg_cleanup(lang_r_packages_free) struct lang_r_packages *packages =
		pkg_xcalloc(1, sizeof(*packages));

	packages->lang = lang;
	packages->agent = agent;
	packages->credentials = pkg_argv_dup(repos);
	if (repos->count == 0 || repos->count > LANG_R_REPOS_MAX) {
		pkg_error_set(err, PKG_E_INVALID, "%zu repositories are named; 1 to %d are wanted",
			repos->count, LANG_R_REPOS_MAX);
		return NULL;
	}
	packages->repos = pkg_xcalloc(repos->count, sizeof(*packages->repos));
	packages->count = repos->count;
	for (size_t i = 0; i < repos->count; i++)
		if (init_repo(packages, &packages->repos[i], repos->items[i], err) < 0)
			return NULL;
	return fetch_indexes(packages, err) == 0 ? pkg_steal_ptr(&packages) : NULL;
}

static void
free_archived(struct lang_r_entry *entry)
{
	struct lang_r_entries one = { .items = entry, .count = 1 };

	lang_r_entries_clear(&one);
}

void
lang_r_packages_free(struct lang_r_packages *packages)
{
	if (!packages)
		return;
	for (size_t i = 0; i < packages->count; i++) {
		free(packages->repos[i].url);
		free(packages->repos[i].shown);
		free(packages->repos[i].cached);
		free(packages->repos[i].etag);
		lang_r_entries_clear(&packages->repos[i].entries);
	}
	for (size_t i = 0; i < packages->archived_count; i++)
		free_archived(packages->archived[i]);
	free(packages->archived);
	free(packages->repos);
	pkg_argv_free(packages->credentials);
	free(packages);
}

/* --- questions --- */

size_t
lang_r_packages_repos(const struct lang_r_packages *packages)
{
	return packages->count;
}

const char *
lang_r_packages_repo(const struct lang_r_packages *packages, size_t repo)
{
	return packages->repos[repo].shown;
}

const struct lang_r_entry *
lang_r_packages_find(
	const struct lang_r_packages *packages, size_t repo, const char *name, size_t *count)
{
	const struct lang_r_entries *entries = &packages->repos[repo].entries;
	size_t low = 0, high = entries->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(entries->items[middle].name, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	*count = 0;
	while (low + *count < entries->count &&
		strcmp(entries->items[low + *count].name, name) == 0)
		++*count;
	return *count > 0 ? &entries->items[low] : NULL;
}

const char *
lang_r_packages_near(const struct lang_r_packages *packages, const char *name)
{
	const char *near = NULL;
	size_t best = NEAR_MAX + 1;

	for (size_t i = 0; i < packages->count; i++) {
		const struct lang_r_entries *entries = &packages->repos[i].entries;

		for (size_t j = 0; j < entries->count; j++) {
			const char *other = entries->items[j].name;
			size_t distance =
				strcasecmp(other, name) == 0 ? 0 : pkg_text_distance(other, name);

			if (distance < best && (distance == 0 || strlen(name) > 3)) {
				best = distance;
				near = other;
			}
		}
	}
	return near;
}

int
lang_r_packages_archived(struct lang_r_packages *packages, size_t repo, const char *name,
	struct pkg_argv *versions, struct pkg_error *err)
{
	struct fetch_options options =
		lang_r_fetch_options(packages->lang, packages->credentials, packages->agent);
	pkg_autofree char *url =
		pkg_xasprintf("%s/src/contrib/Archive/%s/", packages->repos[repo].url, name);
	pkg_cleanup_buf struct pkg_buf page = { 0 };
	pkg_cleanup_error struct pkg_error why = { 0 };

	options.progress = NULL;
	if (fetch_document(url, "text/html", LISTING_MAX, &options, &page, NULL, NULL, &why) == 0) {
		lang_r_archive_versions(pkg_buf_str(&page), page.len, name, versions);
		return 0;
	}
	if (why.kind == PKG_E_NOT_FOUND || why.kind == PKG_E_INDEX_STATUS)
		return 0;
	pkg_error_move(err, &why);
	return pkg_error_prefix(err, "the archive of '%s'", packages->repos[repo].shown);
}

const struct lang_r_entry *
lang_r_packages_archive_entry(
	struct lang_r_packages *packages, size_t repo, const char *name, const char *version)
{
	struct lang_r_entry *entry;

	for (size_t i = 0; i < packages->archived_count; i++) {
		entry = packages->archived[i];
		if (entry->repo == repo && strcmp(entry->name, name) == 0 &&
			strcmp(entry->version, version) == 0)
			return entry;
	}
	entry = pkg_xcalloc(1, sizeof(*entry));
	entry->name = pkg_xstrdup(name);
	entry->version = pkg_xstrdup(version);
	entry->repo = repo;
	entry->file = pkg_xasprintf("%s_%s.tar.gz", name, version);
	entry->url = pkg_xasprintf(
		"%s/src/contrib/Archive/%s/%s", packages->repos[repo].url, name, entry->file);
	packages->archived = pkg_xrealloc(
		packages->archived, packages->archived_count + 1, sizeof(packages->archived[0]));
	packages->archived[packages->archived_count++] = entry;
	return entry;
}
