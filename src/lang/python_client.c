#include "lang/python_client.h"

#include <stdlib.h>
#include <string.h>

#include "core/sha256.h"
#include "core/text.h"
#include "core/time.h"
#include "core/url.h"
#include "fetch/query.h"
#include "lang/pep503.h"
#include "lang/python_index.h"
#include "lang/python_pages.h"
#include "lang/python_wheel_metadata.h"
#include "lang/sdist_metadata.h"
#include "lang/wheelname.h"

#define PARALLEL 24 /* small documents, so more than files at a time */
#define METADATA_MAX LANG_METADATA_HEAD_MAX
#define WANTED_MAX 5000 /* of either kind; beyond it nothing is wanted before it is needed */

enum state { PENDING, FOUND, MISSING, FAILED };

struct page {
	struct lang_python_client *client;
	char *key;
	enum state state;
	size_t index; /* the one that is asked, or has it */
	struct fetch_query *query; /* borrowed; NULL: none */
	struct lang_python_page_entry entry; /* the page, in the end */
	struct pkg_error *errors; /* owned; one for each index asked */
	size_t error_count;
	bool told; /* the provider knows */
};

struct metadata {
	struct lang_python_client *client;
	const struct lang_simple_file *file;
	char *key;
	enum state state;
	struct fetch_query *query; /* borrowed; NULL: not asked for yet */
	struct lang_metadata parsed;
	struct pkg_error error;
	bool told;
};

struct lang_python_client {
	struct lang_context *lang;
	const struct lang_request *request;
	struct pkg_argv *indexes; /* owned; with userinfo */
	struct fetch_options options;
	struct fetch_queries *queries;
	bool revalidate;
	bool guessed;
	struct page **pages;
	size_t page_count;
	struct metadata **metadata;
	size_t metadata_count;
	struct lang_python_provider *provider;
	bool telling;
};

struct lang_python_client *
lang_python_client_new(struct lang_context *lang, const struct lang_request *request,
	bool revalidate, struct pkg_error *err)
{
	struct lang_python_client *client = pkg_xcalloc(1, sizeof(*client));

	client->lang = lang;
	client->request = request;
	client->revalidate = revalidate;
	client->indexes = lang_python_indexes(request);
	client->options = lang_python_fetch_options(lang, client->indexes);
	client->options.progress = NULL;
	if (client->options.parallel < PARALLEL)
		client->options.parallel = PARALLEL;
	client->queries = fetch_queries_new(&client->options, err);
	if (!client->queries) {
		lang_python_client_free(client);
		return NULL;
	}
	return client;
}

void
lang_python_client_free(struct lang_python_client *client)
{
	if (!client)
		return;
	fetch_queries_free(client->queries);
	for (size_t i = 0; i < client->page_count; i++) {
		struct page *page = client->pages[i];

		for (size_t k = 0; k < page->error_count; k++)
			pkg_error_clear(&page->errors[k]);
		free(page->errors);
		free(page->key);
		lang_python_page_entry_clear(&page->entry);
		free(page);
	}
	for (size_t i = 0; i < client->metadata_count; i++) {
		lang_metadata_clear(&client->metadata[i]->parsed);
		pkg_error_clear(&client->metadata[i]->error);
		free(client->metadata[i]->key);
		free(client->metadata[i]);
	}
	free(client->pages);
	free(client->metadata);
	pkg_argv_free(client->indexes);
	free(client);
}

void
lang_python_client_serve(struct lang_python_client *client, struct lang_python_provider *provider)
{
	client->provider = provider;
}

bool
lang_python_client_guessed(const struct lang_python_client *client)
{
	return client->guessed;
}

/* --- telling the provider --- */

static void
tell_page(struct lang_python_client *client, struct page *page)
{
	if (page->told || page->state == PENDING)
		return;
	page->told = true;
	if (page->state == FOUND)
		lang_python_provider_saw_page(client->provider, page->key, &page->entry.page);
}

static void
tell_metadata(struct lang_python_client *client, struct metadata *metadata)
{
	if (metadata->told || metadata->state == PENDING)
		return;
	metadata->told = true;
	if (metadata->state == FOUND)
		lang_python_provider_saw_metadata(client->provider, &metadata->parsed);
}

/* What it is told makes it want more, which may be there at once: so one loop, and no recursion however long
 * the chain. */
static void
tell(struct lang_python_client *client)
{
	bool more = true;

	if (client->telling || !client->provider)
		return;
	client->telling = true;
	while (more) {
		size_t pages = client->page_count;
		size_t metadata = client->metadata_count;

		for (size_t i = 0; i < client->page_count; i++)
			tell_page(client, client->pages[i]);
		for (size_t i = 0; i < client->metadata_count; i++)
			tell_metadata(client, client->metadata[i]);
		more = client->page_count > pages || client->metadata_count > metadata;
	}
	client->telling = false;
}

/* --- pages --- */

static void ask_page(struct page *page);

static void
add_error(struct page *page, struct pkg_error *error)
{
	page->errors = pkg_xrealloc(page->errors, page->error_count + 1, sizeof(*page->errors));
	page->errors[page->error_count] = (struct pkg_error){ 0 };
	pkg_error_move(&page->errors[page->error_count++], error);
}

/* This index has nothing of it: the next one. */
static void
next_index(struct page *page, struct pkg_error *error)
{
	bool absent = error->kind == PKG_E_NOT_FOUND;

	add_error(page, error);
	if (!absent) {
		page->state = FAILED;
		return;
	}
	page->index++;
	ask_page(page);
}

static void
take_answer(struct page *page, struct fetch_query *query, struct pkg_error *err)
{
	const struct pkg_home *home = page->client->lang->home;
	struct lang_python_page_entry *entry = &page->entry;

	if (!query->not_modified) {
		lang_python_page_entry_clear(entry);
		if (lang_simple_parse(pkg_buf_str(&query->body), query->body.len,
			    query->content_type, query->final_url, &entry->page, err) < 0) {
			/* A page that is none is no answer of an index. */
			if (err->kind == PKG_E_INVALID)
				err->kind = PKG_E_INDEX_STATUS;
			(void)pkg_error_prefix(err, "the page of '%s'", page->key);
			return;
		}
		entry->etag = pkg_xstrdup(query->new_etag);
	}
	pkg_buf_clear(&query->body);
	page->state = FOUND;
	if (!query->no_store && (entry->etag || query->max_age > 0))
		lang_python_pages_put(home, query->url, entry->etag, query->max_age, &entry->page);
}

static void
on_page(struct fetch_query *query)
{
	struct page *page = query->context;
	pkg_cleanup_error struct pkg_error error = { 0 };

	page->query = NULL;
	if (query->error.kind != PKG_E_NONE)
		pkg_error_move(&error, &query->error);
	else
		take_answer(page, query, &error);
	if (error.kind != PKG_E_NONE)
		next_index(page, &error);
	tell(page->client);
}

static bool
is_fresh(const struct lang_python_page_entry *entry)
{
	int64_t now = pkg_time_now_ms();

	/* A clock that was set back makes nothing fresh. */
	return now < entry->fresh_until_ms && now >= entry->stored_ms;
}

static void
ask_page(struct page *page)
{
	struct lang_python_client *client = page->client;
	pkg_autofree char *url = NULL;
	bool cached;

	if (page->index >= client->indexes->count) {
		page->state = MISSING;
		return;
	}
	url = lang_simple_page_url(client->indexes->items[page->index], page->key);
	cached = lang_python_pages_get(client->lang->home, url, &page->entry);
	if (cached && !client->revalidate && is_fresh(&page->entry)) {
		client->guessed = true;
		page->state = FOUND;
		return;
	}
	page->query = fetch_queries_add(client->queries, url, LANG_SIMPLE_ACCEPT,
		cached ? page->entry.etag : NULL, LANG_SIMPLE_BYTES_MAX, on_page, page);
}

static struct page *
find_page(const struct lang_python_client *client, const char *key)
{
	for (size_t i = 0; i < client->page_count; i++)
		if (strcmp(client->pages[i]->key, key) == 0)
			return client->pages[i];
	return NULL;
}

static struct page *
start_page(struct lang_python_client *client, const char *key)
{
	struct page *page = find_page(client, key);

	if (page)
		return page;
	page = pkg_xcalloc(1, sizeof(*page));
	page->client = client;
	page->key = pkg_xstrdup(key);
	client->pages = pkg_xrealloc(client->pages, client->page_count + 1, sizeof(*client->pages));
	client->pages[client->page_count++] = page;
	ask_page(page);
	return page;
}

void
lang_python_client_want_page(struct lang_python_client *client, const char *key)
{
	if (client->page_count >= WANTED_MAX)
		return;
	(void)start_page(client, key);
	tell(client);
}

int
lang_python_client_page(struct lang_python_client *client, const char *key,
	const struct lang_simple_page **out, struct pkg_error *err)
{
	struct page *page = start_page(client, key);

	*out = NULL;
	while (page->state == PENDING)
		if (fetch_queries_run(client->queries, page->query, err) < 0)
			return -1;
	if (page->state == FAILED) {
		if (err)
			pkg_error_copy(err, &page->errors[page->error_count - 1]);
		return -1;
	}
	page->told = true;
	if (page->state == FOUND)
		*out = &page->entry.page;
	return 0;
}

const char *
lang_python_client_index(const struct lang_python_client *client, const char *key)
{
	const struct page *page = find_page(client, key);

	return page && page->state == FOUND ? client->indexes->items[page->index] : NULL;
}

struct lang_python_why_index *
lang_python_client_answers(const struct lang_python_client *client, const char *key, size_t *count)
{
	const struct page *page = find_page(client, key);
	struct lang_python_why_index *out = pkg_xcalloc(client->indexes->count + 1, sizeof(*out));

	*count = 0;
	for (size_t i = 0; page && i < client->indexes->count; i++) {
		out[i].url = client->indexes->items[i];
		if (page->state == FOUND && page->index == i)
			out[i].page = &page->entry.page;
		else if (i < page->error_count)
			pkg_error_copy(&out[i].error, &page->errors[i]);
		else
			break;
		(*count)++;
	}
	return out;
}

void
lang_python_client_answers_free(struct lang_python_why_index *answers, size_t count)
{
	for (size_t i = 0; i < count; i++)
		pkg_error_clear(&answers[i].error);
	free(answers);
}

/* --- metadata --- */

static int
version_of(const char *key, const char *filename, struct lang_pep440_version *out,
	struct pkg_error *err)
{
	lang_cleanup_wheel_name struct lang_wheel_name wheel = { 0 };
	lang_cleanup_sdist_name struct lang_sdist_name sdist = { 0 };
	bool is_wheel = pkg_text_has_suffix(filename, ".whl");

	if (is_wheel ? lang_wheel_name_parse(filename, &wheel, err) < 0
		     : lang_sdist_name_parse(filename, key, &sdist, err) < 0)
		return -1;
	*out = is_wheel ? wheel.version : sdist.version;
	return 0;
}

static bool
is_of(const struct lang_metadata *metadata, const char *key, const char *filename,
	struct pkg_error *err)
{
	struct lang_pep440_version named, version;

	if (!lang_pep503_equal(metadata->name, key)) {
		pkg_error_set(err, PKG_E_ARCHIVE, "'%s' says that it is '%s' inside", filename,
			metadata->name);
		return false;
	}
	/* A local version label may be missing from one of them. */
	if (version_of(key, filename, &named, err) < 0)
		return false;
	if (lang_pep440_parse(metadata->version, &version, NULL) < 0 ||
		lang_pep440_compare_public(&named, &version) != 0) {
		pkg_error_set(err, PKG_E_ARCHIVE, "'%s' says that it is version '%s' inside",
			filename, metadata->version);
		return false;
	}
	return true;
}

static void
take_text(struct metadata *metadata, const char *text, size_t len, struct pkg_error *err)
{
	if (lang_metadata_parse(text, len, &metadata->parsed, err) == 0 &&
		is_of(&metadata->parsed, metadata->key, metadata->file->filename, err)) {
		metadata->state = FOUND;
		return;
	}
	lang_metadata_clear(&metadata->parsed);
	metadata->state = FAILED;
}

static void
on_metadata(struct fetch_query *query)
{
	struct metadata *metadata = query->context;
	const struct lang_simple_file *file = metadata->file;
	char hex[PKG_SHA256_HEX];

	metadata->query = NULL;
	if (query->error.kind != PKG_E_NONE) {
		pkg_error_move(&metadata->error, &query->error);
		metadata->state = FAILED;
		return;
	}
	pkg_sha256_hex(pkg_buf_str(&query->body), query->body.len, hex);
	if (file->metadata_sha256 && strcmp(hex, file->metadata_sha256) != 0) {
		pkg_error_set(&metadata->error, PKG_E_HASH,
			"the metadata of '%s' has sha256 %s, but %s was announced", file->filename,
			hex, file->metadata_sha256);
		metadata->state = FAILED;
		return;
	}
	/* Of a source distribution it counts only if every build would have the same. */
	if (!pkg_text_has_suffix(file->filename, ".whl") &&
		!lang_sdist_metadata_is_static(pkg_buf_str(&query->body), query->body.len))
		return;
	take_text(metadata, pkg_buf_str(&query->body), query->body.len, &metadata->error);
	if (metadata->state == FOUND)
		lang_python_metadata_put(metadata->client->lang->home, file,
			pkg_buf_str(&query->body), query->body.len);
	pkg_buf_clear(&query->body);
	tell(metadata->client);
}

static bool
from_cache(struct metadata *metadata)
{
	pkg_cleanup_buf struct pkg_buf text = { 0 };

	if (!lang_python_metadata_get(metadata->client->lang->home, metadata->file, &text))
		return false;
	take_text(metadata, pkg_buf_str(&text), text.len, NULL);
	if (metadata->state == FOUND)
		return true;
	metadata->state = PENDING;
	return false;
}

static struct metadata *
start_metadata(
	struct lang_python_client *client, const char *key, const struct lang_simple_file *file)
{
	struct metadata *metadata;
	pkg_autofree char *url = NULL;

	for (size_t i = 0; i < client->metadata_count; i++)
		if (client->metadata[i]->file == file)
			return client->metadata[i];
	metadata = pkg_xcalloc(1, sizeof(*metadata));
	metadata->client = client;
	metadata->file = file;
	metadata->key = pkg_xstrdup(key);
	client->metadata = pkg_xrealloc(
		client->metadata, client->metadata_count + 1, sizeof(*client->metadata));
	client->metadata[client->metadata_count++] = metadata;
	if (from_cache(metadata) || !file->has_metadata)
		return metadata;
	url = pkg_xasprintf("%s.metadata", file->url);
	metadata->query = fetch_queries_add(
		client->queries, url, NULL, NULL, METADATA_MAX, on_metadata, metadata);
	return metadata;
}

void
lang_python_client_want_metadata(
	struct lang_python_client *client, const char *key, const struct lang_simple_file *file)
{
	if (client->metadata_count >= WANTED_MAX)
		return;
	(void)start_metadata(client, key, file);
	tell(client);
}

/* Out of the wheel itself, as little of it as its server allows. */
static void
from_wheel(struct metadata *metadata)
{
	struct lang_python_client *client = metadata->client;
	pkg_cleanup_buf struct pkg_buf text = { 0 };

	pkg_error_clear(&metadata->error);
	metadata->state = FAILED;
	if (lang_python_wheel_metadata(
		    client->lang, &client->options, metadata->file, &text, &metadata->error) < 0)
		return;
	take_text(metadata, pkg_buf_str(&text), text.len, &metadata->error);
	if (metadata->state == FOUND)
		lang_python_metadata_put(
			client->lang->home, metadata->file, pkg_buf_str(&text), text.len);
}

int
lang_python_client_metadata(struct lang_python_client *client, const char *key,
	const struct lang_simple_file *file, const struct lang_metadata **out,
	struct pkg_error *err)
{
	struct metadata *metadata = start_metadata(client, key, file);
	enum pkg_error_kind kind;

	while (metadata->query)
		if (fetch_queries_run(client->queries, metadata->query, err) < 0)
			return -1;
	kind = metadata->error.kind;
	/* The page says that there is a metadata file, and there is none. */
	if (metadata->state == PENDING ||
		(metadata->state == FAILED && (kind == PKG_E_NOT_FOUND || kind == PKG_E_TOO_LARGE)))
		from_wheel(metadata);
	metadata->told = true;
	if (metadata->state != FOUND) {
		if (err)
			pkg_error_copy(err, &metadata->error);
		return -1;
	}
	*out = &metadata->parsed;
	return 0;
}
