#include "fetch/query.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/url.h"

#define MAX_AGE (24 * 3600)

struct fetch_queries {
	struct fetch_http_pool *pool;
	struct fetch_query **all; /* owned */
	size_t count;
	struct fetch_http **open; /* owned array: those that have not been delivered */
	size_t open_count;
};

static void
query_free(struct fetch_query *query)
{
	fetch_http_clear(&query->http);
	pkg_buf_clear(&query->body);
	pkg_error_clear(&query->error);
	free(query->url);
	free(query->accept);
	free(query->etag);
	free(query->content_type);
	free(query->final_url);
	free(query->new_etag);
	free(query);
}

void
fetch_queries_free(struct fetch_queries *queries)
{
	if (!queries)
		return;
	for (size_t i = 0; i < queries->count; i++) {
		fetch_http_abandon(queries->pool, &queries->all[i]->http);
		query_free(queries->all[i]);
	}
	fetch_http_pool_free(queries->pool);
	free(queries->all);
	free(queries->open);
	free(queries);
}

struct fetch_queries *
fetch_queries_new(const struct fetch_options *options, struct pkg_error *err)
{
	struct fetch_http_pool *pool = fetch_http_pool_new(options, err);
	struct fetch_queries *queries;

	if (!pool)
		return NULL;
	queries = pkg_xcalloc(1, sizeof(*queries));
	queries->pool = pool;
	return queries;
}

size_t
fetch_queries_count(const struct fetch_queries *queries)
{
	return queries->count;
}

/* --- one transfer --- */

static enum fetch_http_next
on_prepare(struct fetch_http *http, struct pkg_error *err)
{
	const struct fetch_query *query = http->context;

	(void)err;
	if (query->accept)
		fetch_http_header(http, "Accept: %s", query->accept);
	if (query->etag)
		fetch_http_header(http, "If-None-Match: %s", query->etag);
	return FETCH_HTTP_GO;
}

static enum fetch_http_next
on_begin(struct fetch_http *http, struct pkg_error *err)
{
	struct fetch_query *query = http->context;

	(void)err;
	/* A retry begins again. */
	pkg_buf_truncate(&query->body, 0);
	return FETCH_HTTP_GO;
}

static enum fetch_http_next
on_body(struct fetch_http *http, const void *data, size_t len, struct pkg_error *err)
{
	struct fetch_query *query = http->context;

	if (len > query->max - query->body.len) {
		pkg_autofree char *where = fetch_http_where(http);

		pkg_error_set(err, PKG_E_TOO_LARGE, "%s: more than %zu bytes", where, query->max);
		return FETCH_HTTP_FAILED;
	}
	pkg_buf_add_mem(&query->body, data, len);
	return FETCH_HTTP_GO;
}

/* "public, max-age=600": what of it concerns us. */
static void
read_cache_control(const char *text, struct fetch_query *query)
{
	const char *age;

	if (!text)
		return;
	age = strcasestr(text, "max-age=");
	query->no_store = strcasestr(text, "no-store") != NULL;
	if (age && !query->no_store && !strcasestr(text, "no-cache"))
		query->max_age = strtoll(age + strlen("max-age="), NULL, 10);
	if (query->max_age < 0)
		query->max_age = 0;
	if (query->max_age > MAX_AGE)
		query->max_age = MAX_AGE;
}

static enum fetch_http_next
on_end(struct fetch_http *http, struct pkg_error *err)
{
	struct fetch_query *query = http->context;

	query->not_modified = http->response.status == 304 && query->etag != NULL;
	if (!query->not_modified && fetch_http_check_status(http, PKG_E_NOT_FOUND, err) < 0)
		return FETCH_HTTP_FAILED;
	query->content_type = pkg_xstrdup(http->response.content_type);
	query->new_etag = pkg_xstrdup(http->response.etag);
	query->final_url = pkg_xstrdup(http->url);
	read_cache_control(http->response.cache_control, query);
	return FETCH_HTTP_GO;
}

static void
on_failed(struct fetch_http *http, struct pkg_error *err)
{
	struct fetch_query *query = http->context;

	pkg_error_move(&query->error, err);
}

static const struct fetch_http_ops ops = {
	.prepare = on_prepare,
	.begin = on_begin,
	.body = on_body,
	.end = on_end,
	.failed = on_failed,
};

/* --- all of them --- */

static void
open_add(struct fetch_queries *queries, struct fetch_http *http)
{
	queries->open =
		pkg_xrealloc(queries->open, queries->open_count + 1, sizeof(*queries->open));
	queries->open[queries->open_count++] = http;
}

struct fetch_query *
fetch_queries_add(struct fetch_queries *queries, const char *url, const char *accept,
	const char *etag, size_t max, void (*done)(struct fetch_query *query), void *context)
{
	struct fetch_query *query = pkg_xcalloc(1, sizeof(*query));

	query->url = pkg_xstrdup(url);
	query->accept = pkg_xstrdup(accept);
	query->etag = pkg_xstrdup(etag);
	query->max = max;
	query->done = done;
	query->context = context;
	queries->all = pkg_xrealloc(queries->all, queries->count + 1, sizeof(*queries->all));
	queries->all[queries->count++] = query;
	if (fetch_http_init(&query->http, url, NULL, &ops, query, &query->error) < 0)
		fetch_http_abandon(queries->pool, &query->http);
	query->http.decode = true;
	open_add(queries, &query->http);
	return query;
}

/* Callbacks may add queries, so the list is taken apart first. */
static void
deliver(struct fetch_queries *queries)
{
	struct fetch_http **open = queries->open;
	size_t count = queries->open_count;

	queries->open = NULL;
	queries->open_count = 0;
	for (size_t i = 0; i < count; i++)
		if (!fetch_http_is_ended(open[i]))
			open_add(queries, open[i]);
	for (size_t i = 0; i < count; i++) {
		struct fetch_query *query = open[i]->context;

		if (!fetch_http_is_ended(open[i]))
			continue;
		query->ended = true;
		if (query->done)
			query->done(query);
	}
	free(open);
}

int
fetch_queries_run(
	struct fetch_queries *queries, const struct fetch_query *until, struct pkg_error *err)
{
	while (until ? !until->ended : queries->open_count > 0) {
		size_t unfinished;

		if (fetch_http_turn(queries->pool, queries->open, queries->open_count, &unfinished,
			    err) < 0)
			return -1;
		deliver(queries);
	}
	return 0;
}
