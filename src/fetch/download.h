/* fetch/download.h - bytes from the network into the cache.
 * Purpose    Parallel, resumable (Range + If-Range), hashed while streaming, retried with
 *            backoff on 5xx, 429, timeouts and resets (honouring Retry-After), bounded in size,
 *            redirects and time.
 * Ownership  The request is borrowed for the call; results are written into the items.
 * Errors     The first item's failure, decided from what libcurl and the server said:
 *            PKG_E_EGRESS_DENIED, INDEX_UNREACHABLE, INDEX_STATUS, AUTH, TLS, HASH (also for a
 *            wrong size), TOO_LARGE, TIMEOUT, DISK_FULL, CANCELLED. The message names the host
 *            and file, never credentials. Nothing partial enters the cache.
 *
 * Two processes that want the same file at the same time share it: the second waits for the
 * first and then finds it in the cache. Redirects are followed here and not by libcurl, so that
 * `allow` sees every URL, https never becomes http, and credentials stay with the host they are
 * for.
 */
#ifndef FETCH_DOWNLOAD_H
#define FETCH_DOWNLOAD_H
#include "core/argv.h"
#include "core/buf.h"
#include "fetch/cas.h"

/* With a hash an item resumes what an earlier process left. got_* and from_cache are set on
 * success. */
struct fetch_item {
	const char *url; /* borrowed; may hold userinfo */
	const char *name; /* borrowed; for progress and errors: the file's name */
	const char *sha256; /* borrowed; NULL: not known before (a direct URL without a hash) */
	long long size; /* announced; -1: unknown */
	/* out */
	char got_sha256[65];
	long long got_size;
	bool from_cache; /* nothing was transferred */
};

struct fetch_progress {
	const char *name;
	long long bytes;
	long long total; /* -1: unknown */
	bool done;
	bool cached;
	const char *note; /* NULL, or "retrying in 2 s: HTTP 503", ... */
};

struct fetch_options {
	int parallel; /* transfers at a time; 0: 8 */
	int retries; /* 0: 4 */
	long long max_bytes; /* one file; 0: 8 GiB */
	int max_redirects; /* 0: 8 */
	int connect_timeout_ms; /* 0: 30,000 */
	int stall_timeout_ms; /* no byte for so long; 0: 60,000 */
	int backoff_ms; /* before the first retry, doubled for each further one, 30 s at most; 0: 500 */
	/* NULL: SSL_CERT_FILE, CURL_CA_BUNDLE or SSL_CERT_DIR of the environment, else the system's. */
	const char *ca_bundle;
	const char *user_agent; /* NULL: "pkgd/VERSION" */
	/* URLs with userinfo (index URLs as configured): it goes with every request to the same
	 * scheme, host and port, and nowhere else. A URL's own userinfo comes first, ~/.netrc last.
	 * NULL: none. */
	const struct pkg_argv *credentials;
	int cancel_fd; /* readable: stop; -1: none */
	/* Asked for every URL before it is dialled, redirects included. -1 refuses with *err as
	 * set. NULL allows nothing but what is asked (no redirect to another host): every caller
	 * has one. */
	int (*allow)(void *context, const char *url, struct pkg_error *err);
	void (*progress)(void *context, const struct fetch_progress *progress); /* may be NULL */
	void *context;
};

int fetch_all(struct fetch_cas *cas, struct fetch_item *items, size_t count,
	const struct fetch_options *options, struct pkg_error *err);

/* One small document into memory (an index page, a .metadata file): at most max bytes, after
 * decompression. accept, content_type and final_url (without userinfo) may be NULL. A status of 400
 * or more is PKG_E_INDEX_STATUS/AUTH/NOT_FOUND (404 and 410). */
int fetch_document(const char *url, const char *accept, size_t max,
	const struct fetch_options *options, struct pkg_buf *body, char **content_type,
	char **final_url, struct pkg_error *err);
/* Announced size of a file by HEAD (else a 1-byte range), -1 when the server does not say. */
int fetch_size(const char *url, const struct fetch_options *options, long long *size,
	struct pkg_error *err);
#endif
