#include "fetch/remote_zip.h"

#include "fetch/http.h"

#include <stdlib.h>
#include <string.h>

#define TAIL (256 << 10)
#define PIECE (64 << 10) /* at least as much at a time: a request costs more than these bytes */
#define FETCHED_MAX (160LL << 20) /* a directory of the largest size and a large member */

struct block {
	uint64_t at;
	struct pkg_buf bytes;
	struct block *next;
};

struct fetch_remote_zip {
	char *url;
	struct fetch_http_pool *pool;
	struct fetch_zip *zip;
	struct block *blocks; /* owned */
	long long fetched;
	/* Of the first answer: all others must be of the same file. */
	long long size;
	char *etag;
	char *last_modified;
};

/* One ranged request. */
struct request {
	struct fetch_remote_zip *remote;
	bool tail; /* the last TAIL bytes, wherever they begin */
	uint64_t at;
	size_t len;
	bool refused; /* this server does not know "the last bytes" */
	struct block *block;
};

void
fetch_remote_zip_free(struct fetch_remote_zip *remote)
{
	if (!remote)
		return;
	while (remote->blocks) {
		struct block *next = remote->blocks->next;

		pkg_buf_clear(&remote->blocks->bytes);
		free(remote->blocks);
		remote->blocks = next;
	}
	fetch_zip_free(remote->zip);
	fetch_http_pool_free(remote->pool);
	free(remote->url);
	free(remote->etag);
	free(remote->last_modified);
	free(remote);
}

const struct fetch_zip *
fetch_remote_zip_list(const struct fetch_remote_zip *remote)
{
	return remote->zip;
}

/* Requests. */

static enum fetch_http_next
prepare(struct fetch_http *http, struct pkg_error *err)
{
	struct request *request = http->context;
	const char *etag = request->remote->etag;

	(void)err;
	if (request->tail)
		fetch_http_header(http, "Range: bytes=-%d", TAIL);
	else
		fetch_http_header(http, "Range: bytes=%llu-%llu", (unsigned long long)request->at,
			(unsigned long long)(request->at + request->len - 1));
	if (etag && strncmp(etag, "W/", 2) != 0)
		fetch_http_header(http, "If-Match: %s", etag);
	return FETCH_HTTP_GO;
}

static bool
differs(const char *before, const char *now)
{
	return before && now && strcmp(before, now) != 0;
}

static enum fetch_http_next
fail(struct fetch_http *http, enum pkg_error_kind kind, const char *why, struct pkg_error *err)
{
	pkg_autofree char *where = fetch_http_where(http);

	pkg_error_set(err, kind, "%s: %s", where, why);
	return FETCH_HTTP_FAILED;
}

static enum fetch_http_next
check_same_file(struct fetch_http *http, struct pkg_error *err)
{
	struct fetch_remote_zip *remote = ((struct request *)http->context)->remote;
	const struct fetch_http_response *response = &http->response;

	if (remote->size < 0) {
		remote->size = response->range_total;
		remote->etag = pkg_xstrdup(response->etag);
		remote->last_modified = pkg_xstrdup(response->last_modified);
	}
	if (remote->size != response->range_total || differs(remote->etag, response->etag) ||
		differs(remote->last_modified, response->last_modified))
		return fail(http, PKG_E_INDEX_STATUS, "the file changed between two requests", err);
	return FETCH_HTTP_GO;
}

static enum fetch_http_next
begin(struct fetch_http *http, struct pkg_error *err)
{
	struct request *request = http->context;
	const struct fetch_http_response *response = &http->response;
	long long wanted = (long long)request->at;
	enum fetch_http_next next;

	pkg_buf_truncate(&request->block->bytes, 0);
	if (response->status == 412)
		return fail(http, PKG_E_INDEX_STATUS, "the file changed between two requests", err);
	if (response->status == 200)
		return fail(http, PKG_E_UNSUPPORTED, "the server does not know ranges", err);
	if (response->status != 206)
		return FETCH_HTTP_GO;
	/* Without a total nobody knows where the end is; several ranges at once were not asked for.
	 */
	if (response->range_total <= 0 || response->range_from < 0)
		return fail(http, PKG_E_UNSUPPORTED, "a range without Content-Range", err);
	next = check_same_file(http, err);
	if (next != FETCH_HTTP_GO)
		return next;
	if (request->tail) {
		wanted = response->range_total > TAIL ? response->range_total - TAIL : 0;
		request->len = (size_t)(response->range_total - wanted);
	}
	if (response->range_from != wanted ||
		response->range_to != wanted + (long long)request->len - 1)
		return fail(http, PKG_E_INDEX_STATUS, "not the range that was asked for", err);
	request->block->at = (uint64_t)wanted;
	return FETCH_HTTP_GO;
}

static enum fetch_http_next
body(struct fetch_http *http, const void *data, size_t len, struct pkg_error *err)
{
	struct request *request = http->context;

	if (len > request->len - request->block->bytes.len)
		return fail(http, PKG_E_INDEX_STATUS, "more bytes than the range has", err);
	pkg_buf_add_mem(&request->block->bytes, data, len);
	return FETCH_HTTP_GO;
}

static enum fetch_http_next
end(struct fetch_http *http, struct pkg_error *err)
{
	struct request *request = http->context;
	long status = http->response.status;

	if (request->tail && (status == 400 || status == 416 || status == 501)) {
		request->refused = true;
		return FETCH_HTTP_GO;
	}
	if (status == 416)
		return fail(http, PKG_E_INDEX_STATUS, "the range lies outside the file", err);
	if (fetch_http_check_status(http, PKG_E_NOT_FOUND, err) < 0)
		return FETCH_HTTP_FAILED;
	if (request->block->bytes.len != request->len) {
		(void)fail(http, PKG_E_INDEX_UNREACHABLE, "fewer bytes than the range has", err);
		return FETCH_HTTP_AGAIN;
	}
	return FETCH_HTTP_GO;
}

/* Runs the request; its block becomes one of remote's. */
static int
run(struct request *request, struct pkg_error *err)
{
	static const struct fetch_http_ops ops = {
		.prepare = prepare,
		.begin = begin,
		.body = body,
		.end = end,
	};
	struct fetch_remote_zip *remote = request->remote;
	struct fetch_http http;
	struct fetch_http *transfers[] = { &http };
	int result;

	request->block = pkg_xcalloc(1, sizeof(*request->block));
	request->block->next = remote->blocks;
	remote->blocks = request->block;
	if (fetch_http_init(&http, remote->url, NULL, &ops, request, err) < 0)
		return -1;
	result = fetch_http_run(remote->pool, transfers, 1, err);
	fetch_http_clear(&http);
	remote->fetched += (long long)request->block->bytes.len;
	return result;
}

/* Reading. */

/* Copies what is known from `at` on; how much that was. */
static size_t
copy_known(const struct fetch_remote_zip *remote, uint64_t at, void *data, size_t len)
{
	for (const struct block *block = remote->blocks; block; block = block->next) {
		size_t skip;
		size_t there;

		if (at < block->at || at - block->at >= block->bytes.len)
			continue;
		skip = (size_t)(at - block->at);
		there = block->bytes.len - skip;
		if (there > len)
			there = len;
		memcpy(data, block->bytes.data + skip, there);
		return there;
	}
	return 0;
}

/* Where the unknown bytes from `at` on end: at the next known ones or at `end`. */
static uint64_t
unknown_until(const struct fetch_remote_zip *remote, uint64_t at, uint64_t end)
{
	for (const struct block *block = remote->blocks; block; block = block->next) {
		if (block->bytes.len > 0 && block->at > at && block->at < end)
			end = block->at;
	}
	return end;
}

static int
read_at(void *context, uint64_t offset, void *data, size_t len, struct pkg_error *err)
{
	struct fetch_remote_zip *remote = context;
	uint64_t size = (uint64_t)remote->size;
	char *to = data;

	if (offset > size || len > size - offset)
		return pkg_error_set(err, PKG_E_ARCHIVE, "the archive ends early");
	while (len > 0) {
		size_t got = copy_known(remote, offset, to, len);

		if (got == 0) {
			uint64_t want = len > PIECE ? len : PIECE;
			uint64_t last = want > size - offset ? size : offset + want;
			struct request request = { .remote = remote, .at = offset };

			request.len = (size_t)(unknown_until(remote, offset, last) - offset);
			if (remote->fetched + (long long)request.len > FETCHED_MAX)
				return pkg_error_set(err, PKG_E_TOO_LARGE,
					"more than %lld bytes of the archive are needed",
					FETCHED_MAX);
			if (run(&request, err) < 0)
				return -1;
			continue;
		}
		to += got;
		offset += got;
		len -= got;
	}
	return 0;
}

/* For servers that know ranges but not suffixes of unknown beginning. */
static int
read_size(
	struct fetch_remote_zip *remote, const struct fetch_options *options, struct pkg_error *err)
{
	long long size;
	struct request request = { .remote = remote };

	if (fetch_size(remote->url, options, &size, err) < 0)
		return -1;
	if (size <= 0)
		return pkg_error_set(
			err, PKG_E_UNSUPPORTED, "the server does not say how large the file is");
	request.len = size < TAIL ? (size_t)size : TAIL;
	request.at = (uint64_t)size - request.len;
	return run(&request, err);
}

static int
open_remote(
	struct fetch_remote_zip *remote, const struct fetch_options *options, struct pkg_error *err)
{
	struct request tail = { .remote = remote, .tail = true };

	remote->pool = fetch_http_pool_new(options, err);
	if (!remote->pool || run(&tail, err) < 0)
		return -1;
	if (tail.refused && read_size(remote, options, err) < 0)
		return -1;
	remote->zip = fetch_zip_open(read_at, remote, (uint64_t)remote->size, err);
	return remote->zip ? 0 : -1;
}

struct fetch_remote_zip *
fetch_remote_zip_open(const char *url, const struct fetch_options *options, struct pkg_error *err)
{
	pkg_cleanup(fetch_remote_zip_free) struct fetch_remote_zip *remote =
		pkg_xcalloc(1, sizeof(*remote));

	remote->url = pkg_xstrdup(url);
	remote->size = -1;
	return open_remote(remote, options, err) < 0 ? NULL : pkg_steal_ptr(&remote);
}

int
fetch_remote_zip_member(struct fetch_remote_zip *remote, const char *name, size_t max,
	struct pkg_buf *out, struct pkg_error *err)
{
	const struct fetch_zip_entry *entry = fetch_zip_find(remote->zip, name);

	if (!entry)
		return pkg_error_set(err, PKG_E_NOT_FOUND, "no '%s' in the archive", name);
	return fetch_zip_member(read_at, remote, entry, max, out, err);
}
