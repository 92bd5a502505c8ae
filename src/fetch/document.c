#include "core/sha256.h"
#include "fetch/download.h"
#include "fetch/http.h"

#include <stdlib.h>

static int
run_one(struct fetch_http *http, const struct fetch_options *options, struct pkg_error *err)
{
	pkg_cleanup(fetch_http_pool_free) struct fetch_http_pool *pool =
		fetch_http_pool_new(options, err);

	return pool ? fetch_http_run(pool, &http, 1, err) : -1;
}

struct document {
	const char *accept;
	size_t max;
	struct pkg_buf *body;
};

static enum fetch_http_next
document_prepare(struct fetch_http *http, struct pkg_error *err)
{
	struct document *document = http->context;

	(void)err;
	if (document->accept)
		fetch_http_header(http, "Accept: %s", document->accept);
	return FETCH_HTTP_GO;
}

static enum fetch_http_next
document_begin(struct fetch_http *http, struct pkg_error *err)
{
	struct document *document = http->context;

	(void)err;
	/* A retry begins again. */
	pkg_buf_truncate(document->body, 0);
	return FETCH_HTTP_GO;
}

static enum fetch_http_next
document_body(struct fetch_http *http, const void *data, size_t len, struct pkg_error *err)
{
	struct document *document = http->context;

	if (len > document->max - document->body->len) {
		pkg_autofree char *where = fetch_http_where(http);

		pkg_error_set(
			err, PKG_E_TOO_LARGE, "%s: more than %zu bytes", where, document->max);
		return FETCH_HTTP_FAILED;
	}
	pkg_buf_add_mem(document->body, data, len);
	return FETCH_HTTP_GO;
}

static enum fetch_http_next
document_end(struct fetch_http *http, struct pkg_error *err)
{
	if (fetch_http_check_status(http, PKG_E_NOT_FOUND, err) < 0)
		return FETCH_HTTP_FAILED;
	return FETCH_HTTP_GO;
}

int
fetch_document(const char *url, const char *accept, size_t max, const struct fetch_options *options,
	struct pkg_buf *body, char **content_type, char **final_url, struct pkg_error *err)
{
	static const struct fetch_http_ops ops = {
		.prepare = document_prepare,
		.begin = document_begin,
		.body = document_body,
		.end = document_end,
	};
	struct document document = { .accept = accept, .max = max, .body = body };
	struct fetch_http http;
	int result = -1;

	pkg_buf_truncate(body, 0);
	if (fetch_http_init(&http, url, NULL, &ops, &document, err) < 0)
		return -1;
	http.decode = true;
	result = run_one(&http, options, err);
	if (result == 0 && content_type)
		*content_type = pkg_steal_ptr(&http.response.content_type);
	if (result == 0 && final_url)
		*final_url = pkg_steal_ptr(&http.url);
	fetch_http_clear(&http);
	return result;
}

/* Size. */

static enum fetch_http_next
size_prepare(struct fetch_http *http, struct pkg_error *err)
{
	(void)err;
	if (!http->head)
		fetch_http_header(http, "Range: bytes=0-0");
	return FETCH_HTTP_GO;
}

static enum fetch_http_next
size_body(struct fetch_http *http, const void *data, size_t len, struct pkg_error *err)
{
	(void)http;
	(void)data;
	(void)len;
	(void)err;
	/* The head said all there is to know; a server without ranges would send the whole file
	 * now. */
	return FETCH_HTTP_FINISHED;
}

static enum fetch_http_next
size_end(struct fetch_http *http, struct pkg_error *err)
{
	long status = http->response.status;

	/* Servers that do not know HEAD, or have signed URLs for GET only, say so in many ways. */
	if (http->head && (status == 403 || status == 405 || status == 501))
		return FETCH_HTTP_GO;
	if (fetch_http_check_status(http, PKG_E_NOT_FOUND, err) < 0)
		return FETCH_HTTP_FAILED;
	return FETCH_HTTP_GO;
}

static long long
size_of(const struct fetch_http_response *response)
{
	if (response->status == 206)
		return response->range_total;
	return response->status == 200 ? response->length : -1;
}

int
fetch_size(const char *url, const struct fetch_options *options, long long *size,
	struct pkg_error *err)
{
	static const struct fetch_http_ops ops = {
		.prepare = size_prepare,
		.body = size_body,
		.end = size_end,
	};

	*size = -1;
	for (int head = 1; head >= 0 && *size < 0; head--) {
		struct fetch_http http;
		int result;

		if (fetch_http_init(&http, url, NULL, &ops, NULL, err) < 0)
			return -1;
		http.head = head;
		result = run_one(&http, options, err);
		*size = size_of(&http.response);
		fetch_http_clear(&http);
		if (result < 0)
			return -1;
	}
	return 0;
}
