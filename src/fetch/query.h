/* fetch/query.h - many small documents at once, and more of them as answers come in.
 * Purpose    What a resolver reads: index pages and metadata files. Over few connections, in parallel, each
 *            with its own end: one that fails does not stop the others.
 * Ownership  A query is given to the queries and goes with them; its callback may add further ones.
 * Errors     Of a query: query->error, kinds as fetch/download.h; a status of 400 or more is such an error
 *            (NOT_FOUND for 404 and 410). Of a run: PKG_E_CANCELLED only.
 */
#ifndef FETCH_QUERY_H
#define FETCH_QUERY_H
#include "fetch/download.h"
#include "fetch/http.h"

struct fetch_query {
	/* in; owned */
	char *url; /* may hold userinfo */
	char *accept; /* NULL: anything */
	char *etag; /* of what the caller has already: the answer may be "not modified"; NULL: of nothing */
	size_t max; /* bytes, after decompression */
	void (*done)(struct fetch_query *query); /* may be NULL */
	void *context;
	/* out */
	bool ended;
	bool not_modified;
	struct pkg_buf body;
	char *content_type; /* may be NULL */
	char *final_url; /* without userinfo */
	char *new_etag; /* NULL */
	long long max_age; /* seconds that it may be kept without asking again; 0: not at all */
	bool no_store; /* it must not be kept */
	struct pkg_error error;
	/* private */
	struct fetch_http http;
};

struct fetch_queries;
struct fetch_queries *fetch_queries_new(const struct fetch_options *options, struct pkg_error *err);
void fetch_queries_free(struct fetch_queries *queries);
PKG_DEFINE_CLEANUP(struct fetch_queries, fetch_queries_free)
/* Owned by the queries, which end with everything in them. */
struct fetch_query *fetch_queries_add(struct fetch_queries *queries, const char *url,
	const char *accept, const char *etag, size_t max, void (*done)(struct fetch_query *query),
	void *context);
/* Until that query has ended (and its callback has run), or with NULL until all have. The others go on
 * meanwhile. */
int fetch_queries_run(
	struct fetch_queries *queries, const struct fetch_query *until, struct pkg_error *err);
/* How many were answered by the network. */
size_t fetch_queries_count(const struct fetch_queries *queries);
#endif
