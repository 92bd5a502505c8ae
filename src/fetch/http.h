/* fetch/http.h - one HTTP GET or HEAD with everything that can happen to it; many of them at once.
 * Purpose    What download.c, document.c and remote_zip.c share: redirects by hand, retries
 *            with backoff, stalls, cancellation, credentials, and the error kind of every end.
 * Ownership  struct fetch_http is the caller's storage (init/clear); what its callbacks get is
 *            borrowed. A pool borrows what its options point to; connections live as long as
 *            the pool.
 * Errors     See fetch/download.h.
 */
#ifndef FETCH_HTTP_H
#define FETCH_HTTP_H
#include "core/error.h"
#include "fetch/download.h"
#include <curl/curl.h>
#include <stdint.h>

struct fetch_http;

enum fetch_http_next {
	FETCH_HTTP_GO, /* prepare: dial; begin, body: go on; end: accepted */
	FETCH_HTTP_WAIT, /* prepare: ask again after wait_ms */
	FETCH_HTTP_FINISHED, /* prepare, begin, body: success without (the rest of) a transfer */
	FETCH_HTTP_AGAIN, /* begin, body, end: *err says why, but another try may help */
	FETCH_HTTP_FAILED, /* *err says why */
};

struct fetch_http_ops {
	/* Before each request (retries and redirects too); the place for fetch_http_header(). May
	 * be NULL. */
	enum fetch_http_next (*prepare)(struct fetch_http *http, struct pkg_error *err);
	/* The head of a final answer is there (not of redirects and not of statuses that are
	 * retried); called once an attempt, before the first byte of the body or before end. May be
	 * NULL. */
	enum fetch_http_next (*begin)(struct fetch_http *http, struct pkg_error *err);
	/* Never called for a status of 400 or more. */
	enum fetch_http_next (*body)(
		struct fetch_http *http, const void *data, size_t len, struct pkg_error *err);
	/* The whole answer was there, whatever its status. */
	enum fetch_http_next (*end)(struct fetch_http *http, struct pkg_error *err);
	/* A sentence for the person who waits. May be NULL. */
	void (*note)(struct fetch_http *http, const char *text);
	/* It ended without an answer that counts; *err may be taken. With it one failure does not stop
	 * the others. May be NULL. */
	void (*failed)(struct fetch_http *http, struct pkg_error *err);
};

struct fetch_http_response {
	long status; /* 0: none yet */
	long long length; /* Content-Length; -1: not said */
	long long range_from, range_to, range_total; /* Content-Range; -1: not said */
	char *etag, *last_modified, *content_type, *location; /* owned; may be NULL */
	char *cache_control; /* owned; may be NULL */
};

struct fetch_http {
	/* in */
	const char *name; /* borrowed: the file's name in messages; NULL: the URL */
	const struct fetch_http_ops *ops;
	void *context;
	bool head;
	bool decode; /* accept and undo content encodings */
	int wait_ms; /* set by prepare with FETCH_HTTP_WAIT */
	/* out */
	char *url; /* owned: of the request being made, without userinfo */
	struct fetch_http_response response;
	/* private to http.c and http_pool.c */
	char *user, *password;
	CURL *easy;
	struct curl_slist *headers;
	char detail[CURL_ERROR_SIZE];
	struct pkg_error failure; /* of a callback */
	enum fetch_http_next verdict; /* of a callback */
	bool begun;
	size_t head_bytes, page_bytes;
	int64_t last_byte_ms;
	int64_t due_ms;
	int state;
	int attempt, redirects, connect_attempts;
};

int fetch_http_init(struct fetch_http *http, const char *url, const char *name,
	const struct fetch_http_ops *ops, void *context, struct pkg_error *err);
void fetch_http_clear(struct fetch_http *http);
/* For the request that prepare is preparing: "Range: bytes=0-99". */
void fetch_http_header(struct fetch_http *http, const char *format, ...) PKG_PRINTF(2, 3);
/* Fails for every status but 200..299; not_found is the kind of a 404 or 410. */
int fetch_http_check_status(
	const struct fetch_http *http, enum pkg_error_kind not_found, struct pkg_error *err);
/* "'six.whl' from pypi.example". Given. */
char *fetch_http_where(const struct fetch_http *http);

struct fetch_http_pool;
struct fetch_http_pool *fetch_http_pool_new(
	const struct fetch_options *options, struct pkg_error *err);
void fetch_http_pool_free(struct fetch_http_pool *pool);
PKG_DEFINE_CLEANUP(struct fetch_http_pool, fetch_http_pool_free)
/* Runs all of them to their end, at most options->parallel at a time. The first failure stops all.
 */
int fetch_http_run(struct fetch_http_pool *pool, struct fetch_http *const *transfers, size_t count,
	struct pkg_error *err);

/* One turn of the loop: starts what may start, waits, settles what ended. *unfinished: how many are left.
 * For a list that grows between turns. */
int fetch_http_turn(struct fetch_http_pool *pool, struct fetch_http *const *transfers, size_t count,
	size_t *unfinished, struct pkg_error *err);
bool fetch_http_is_ended(const struct fetch_http *http);
/* Before clearing one that turns have begun and not ended. */
void fetch_http_abandon(struct fetch_http_pool *pool, struct fetch_http *http);

/* Between http.c and http_pool.c. */
int fetch_http_dial(
	struct fetch_http *http, const struct fetch_options *options, struct pkg_error *err);
void fetch_http_hang_up(struct fetch_http *http);
/* What a finished (or, with stalled, abandoned) transfer comes to. */
enum fetch_http_outcome { HTTP_DONE, HTTP_REDIRECTED, HTTP_RETRY, HTTP_RETRY_CONNECT, HTTP_FAILED };
enum fetch_http_outcome fetch_http_judge(struct fetch_http *http, CURLcode code, bool stalled,
	const struct fetch_options *options, struct pkg_error *err);
/* Milliseconds that the server asked for, 0 if it did not. */
int64_t fetch_http_retry_after(const struct fetch_http *http);
#endif
