#include "fetch/download.h"

#include "core/file.h"
#include "core/json.h"
#include "core/lock.h"
#include "core/sha256.h"
#include "core/time.h"
#include "fetch/http.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_BYTES (8LL << 30)
#define LOCK_POLL_MS 100
#define PROGRESS_MS 100
#define CHUNK (1 << 20)
#define META_MAX 16384

/* One file on its way. Beside a partial file lie its lock, which the process that writes it holds,
 * and the validators that its bytes came with. */
struct download {
	struct fetch_item *item;
	struct fetch_cas *cas;
	const struct fetch_options *options;
	long long max_bytes;
	struct fetch_http http;
	char *path;
	char *lock_path; /* these two NULL without an announced hash */
	char *meta_path;
	int lock_fd;
	int fd;
	struct pkg_sha256 *sha; /* of the bytes in fd, which are `have` many */
	long long have;
	char *etag;
	char *last_modified;
	bool started_over; /* the one fresh attempt after wrong bytes was used */
	int64_t told_ms;
};

static void
download_clear(struct download *download)
{
	/* Without a hash nothing can be resumed by anyone else. */
	if (download->path && !download->lock_path)
		(void)unlink(download->path);
	fetch_http_clear(&download->http);
	free(download->path);
	free(download->lock_path);
	free(download->meta_path);
	free(download->etag);
	free(download->last_modified);
	pkg_close(&download->fd);
	pkg_close(&download->lock_fd);
	pkg_sha256_free(download->sha);
}

static void
tell(struct download *download, bool done, const char *note)
{
	const struct fetch_options *options = download->options;
	int64_t now = pkg_time_mono_ms();
	struct fetch_progress progress = {
		.name = download->item->name,
		.bytes = download->have,
		.total = download->item->size,
		.done = done,
		.cached = done && download->item->from_cache,
		.note = note,
	};

	if (!options->progress || (!done && !note && now - download->told_ms < PROGRESS_MS))
		return;
	download->told_ms = now;
	if (progress.total < 0 && download->http.response.range_total >= 0)
		progress.total = download->http.response.range_total;
	else if (progress.total < 0 && download->http.response.status == 200)
		progress.total = download->http.response.length;
	options->progress(options->context, &progress);
}

/* The partial file. */

static int
start_over(struct download *download, struct pkg_error *err)
{
	pkg_sha256_free(download->sha);
	download->sha = pkg_sha256_new();
	download->have = 0;
	free(download->etag);
	free(download->last_modified);
	download->etag = NULL;
	download->last_modified = NULL;
	if (download->meta_path)
		(void)unlink(download->meta_path);
	if (ftruncate(download->fd, 0) < 0)
		return pkg_error_errno(err, errno, "empty '%s'", download->path);
	return 0;
}

static void
read_validators(struct download *download)
{
	struct json_object *meta = pkg_json_read_file(download->meta_path, META_MAX, NULL);

	if (!meta)
		return;
	download->etag = pkg_xstrdup(pkg_json_str(meta, "etag"));
	download->last_modified = pkg_xstrdup(pkg_json_str(meta, "last_modified"));
	pkg_json_put(meta);
}

/* Losing them costs a resume and nothing else, so there is no error to report. */
static void
keep_validators(struct download *download)
{
	const struct fetch_http_response *response = &download->http.response;
	pkg_autofree char *text = NULL;
	struct json_object *meta;

	free(download->etag);
	free(download->last_modified);
	download->etag = pkg_xstrdup(response->etag);
	download->last_modified = pkg_xstrdup(response->last_modified);
	if (!download->meta_path)
		return;
	meta = json_object_new_object();
	pkg_json_set_str(meta, "etag", download->etag);
	pkg_json_set_str(meta, "last_modified", download->last_modified);
	text = pkg_json_line(meta);
	pkg_json_put(meta);
	(void)pkg_file_write(download->meta_path, text, strlen(text), 0600, false, NULL);
}

/* Hashes what an earlier process left; bytes past the announced size make all of it worthless. */
static int
read_partial(struct download *download, struct pkg_error *err)
{
	pkg_autofree char *chunk = pkg_xmalloc(CHUNK);
	long long limit = download->item->size >= 0 ? download->item->size : download->max_bytes;

	for (;;) {
		ssize_t got = pread(download->fd, chunk, CHUNK, download->have);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return pkg_error_errno(err, errno, "read '%s'", download->path);
		if (got == 0)
			break;
		pkg_sha256_add(download->sha, chunk, (size_t)got);
		download->have += got;
		if (download->have > limit)
			return start_over(download, err);
	}
	if (download->have > 0)
		read_validators(download);
	return 0;
}

static int
open_partial(struct download *download, struct pkg_error *err)
{
	download->sha = pkg_sha256_new();
	if (!download->lock_path) {
		download->fd = fetch_cas_temp(download->cas, &download->path, err);
		return download->fd < 0 ? -1 : 0;
	}
	download->fd =
		open(download->path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	if (download->fd < 0)
		return pkg_error_errno(err, errno, "open '%s'", download->path);
	return read_partial(download, err);
}

/* Its end. */

static void
finish(struct download *download, const char *sha256, long long size, bool from_cache)
{
	struct fetch_item *item = download->item;

	memcpy(item->got_sha256, sha256, PKG_SHA256_HEX);
	item->got_size = size;
	item->from_cache = from_cache;
	download->have = size;
	tell(download, true, NULL);
	pkg_close(&download->fd);
	/* The file is in the cache now, where whoever waits for the lock looks once it has it. So
	 * the lock's name may go: that two hold locks of one name makes nobody download. */
	if (download->lock_fd >= 0)
		(void)unlink(download->lock_path);
	pkg_close(&download->lock_fd);
}

/* 1 and finished when the cache has it, hashed right now. */
static int
try_cache(struct download *download)
{
	long long size;
	int fd;

	if (!fetch_cas_has(download->cas, download->item->sha256))
		return 0;
	fd = fetch_cas_get(download->cas, download->item->sha256, &size, NULL);
	if (fd < 0)
		return 0;
	pkg_close(&fd);
	finish(download, download->item->sha256, size, true);
	return 1;
}

static enum fetch_http_next
wrong_bytes(struct download *download, struct pkg_error *err)
{
	pkg_cleanup_error struct pkg_error local = { 0 };

	if (start_over(download, &local) < 0) {
		pkg_error_move(err, &local);
		return FETCH_HTTP_FAILED;
	}
	if (download->started_over)
		return FETCH_HTTP_FAILED;
	download->started_over = true;
	return FETCH_HTTP_AGAIN;
}

static enum fetch_http_next
wrong_size(struct download *download, long long size, struct pkg_error *err)
{
	pkg_autofree char *where = fetch_http_where(&download->http);

	pkg_error_set(err, PKG_E_HASH, "%s: %lld bytes expected, the server has %lld", where,
		download->item->size, size);
	return wrong_bytes(download, err);
}

static enum fetch_http_next
adopt(struct download *download, struct pkg_error *err)
{
	const char *expected = download->item->sha256;
	char hex[PKG_SHA256_HEX];

	pkg_sha256_end_hex(download->sha, hex);
	if (expected && strcmp(hex, expected) != 0) {
		pkg_autofree char *where = fetch_http_where(&download->http);

		pkg_error_set(
			err, PKG_E_HASH, "%s: sha256 expected %s, got %s", where, expected, hex);
		return wrong_bytes(download, err);
	}
	if (fetch_cas_adopt_hashed(download->cas, hex, download->path, download->fd, err) < 0)
		return FETCH_HTTP_FAILED;
	if (download->meta_path)
		(void)unlink(download->meta_path);
	finish(download, hex, download->have, false);
	return FETCH_HTTP_FINISHED;
}

/* Callbacks of the transfer. */

static void
ask_for_rest(struct download *download)
{
	struct fetch_http *http = &download->http;
	const char *validator = download->etag;

	/* A weak tag promises no equal bytes (RFC 9110 section 13.1.5). */
	if (!validator || strncmp(validator, "W/", 2) == 0)
		validator = download->last_modified;
	/* Bytes of two versions would not have the hash that was announced; without one, only the
	 * validator can tell. */
	if (download->have == 0 || (!validator && !download->item->sha256))
		return;
	fetch_http_header(http, "Range: bytes=%lld-", download->have);
	if (validator)
		fetch_http_header(http, "If-Range: %s", validator);
}

static enum fetch_http_next
take_lock(struct download *download, struct pkg_error *err)
{
	pkg_cleanup_error struct pkg_error local = { 0 };

	download->lock_fd = pkg_lock_take(download->lock_path, 0, &local);
	if (download->lock_fd >= 0)
		return FETCH_HTTP_GO;
	if (local.kind != PKG_E_BUSY) {
		pkg_error_move(err, &local);
		return FETCH_HTTP_FAILED;
	}
	download->http.wait_ms = LOCK_POLL_MS;
	if (download->told_ms == 0)
		tell(download, false, "waiting: another process is downloading this file");
	return FETCH_HTTP_WAIT;
}

static enum fetch_http_next
prepare(struct fetch_http *http, struct pkg_error *err)
{
	struct download *download = http->context;

	if (download->fd < 0 && download->lock_path) {
		enum fetch_http_next next;

		if (try_cache(download))
			return FETCH_HTTP_FINISHED;
		next = take_lock(download, err);
		if (next != FETCH_HTTP_GO)
			return next;
		/* The holder before us may have finished it. */
		if (try_cache(download))
			return FETCH_HTTP_FINISHED;
	}
	if (download->fd < 0) {
		if (open_partial(download, err) < 0)
			return FETCH_HTTP_FAILED;
		/* All of it was there, and only the last step was missing. */
		if (download->have > 0 && download->have == download->item->size) {
			enum fetch_http_next next = adopt(download, err);

			if (next != FETCH_HTTP_AGAIN)
				return next;
			pkg_error_clear(err);
			download->started_over = false;
		}
	}
	ask_for_rest(download);
	tell(download, false, NULL);
	return FETCH_HTTP_GO;
}

/* The size that this answer promises for the whole file; -1 if it does not say. */
static long long
promised_size(const struct fetch_http_response *response)
{
	return response->status == 206 ? response->range_total : response->length;
}

static enum fetch_http_next
begin(struct fetch_http *http, struct pkg_error *err)
{
	struct download *download = http->context;
	const struct fetch_http_response *response = &http->response;
	long long total = promised_size(response);

	if (response->status != 200 && response->status != 206)
		return FETCH_HTTP_GO;
	if (response->status == 206 && response->range_from != download->have) {
		pkg_autofree char *where = fetch_http_where(http);

		pkg_error_set(err, PKG_E_INDEX_STATUS,
			"%s: asked for bytes from %lld, the server sent them from %lld", where,
			download->have, response->range_from);
		return wrong_bytes(download, err);
	}
	if (download->item->size >= 0 && total >= 0 && total != download->item->size)
		return wrong_size(download, total, err);
	if (total > download->max_bytes) {
		pkg_autofree char *where = fetch_http_where(http);

		pkg_error_set(err, PKG_E_TOO_LARGE, "%s: %lld bytes, allowed are %lld", where,
			total, download->max_bytes);
		return FETCH_HTTP_FAILED;
	}
	/* 200 to a request for a part: the file changed, or the server does not know ranges. */
	if (response->status == 200 && start_over(download, err) < 0)
		return FETCH_HTTP_FAILED;
	if (response->status == 200)
		keep_validators(download);
	return FETCH_HTTP_GO;
}

static enum fetch_http_next
body(struct fetch_http *http, const void *data, size_t len, struct pkg_error *err)
{
	struct download *download = http->context;
	const char *at = data;
	size_t left = len;

	if (http->response.status != 200 && http->response.status != 206)
		return FETCH_HTTP_GO;
	if (download->item->size >= 0 && download->have + (long long)len > download->item->size)
		return wrong_size(download, download->have + (long long)len, err);
	if (download->have + (long long)len > download->max_bytes) {
		pkg_autofree char *where = fetch_http_where(http);

		pkg_error_set(err, PKG_E_TOO_LARGE, "%s: more than %lld bytes", where,
			download->max_bytes);
		return FETCH_HTTP_FAILED;
	}
	while (left > 0) {
		ssize_t put = pwrite(download->fd, at, left, download->have);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0) {
			pkg_error_errno(err, errno, "write '%s'", download->item->name);
			return FETCH_HTTP_FAILED;
		}
		pkg_sha256_add(download->sha, at, (size_t)put);
		download->have += put;
		at += put;
		left -= (size_t)put;
	}
	tell(download, false, NULL);
	return FETCH_HTTP_GO;
}

static enum fetch_http_next
end(struct fetch_http *http, struct pkg_error *err)
{
	struct download *download = http->context;
	long long total = promised_size(&http->response);

	if (http->response.status == 416 && download->have > 0) {
		(void)fetch_http_check_status(http, PKG_E_INDEX_STATUS, err);
		return wrong_bytes(download, err);
	}
	if (fetch_http_check_status(http, PKG_E_INDEX_STATUS, err) < 0)
		return FETCH_HTTP_FAILED;
	if (download->item->size >= 0)
		total = download->item->size;
	/* A connection that closes early looks like an end where no length was announced. */
	if (total >= 0 && download->have < total) {
		pkg_autofree char *where = fetch_http_where(http);

		pkg_error_set(err, PKG_E_INDEX_UNREACHABLE, "%s: ended after %lld of %lld bytes",
			where, download->have, total);
		return FETCH_HTTP_AGAIN;
	}
	return adopt(download, err);
}

static void
note(struct fetch_http *http, const char *text)
{
	tell(http->context, false, text);
}

static const struct fetch_http_ops download_ops = {
	.prepare = prepare,
	.begin = begin,
	.body = body,
	.end = end,
	.note = note,
};

static int
download_init(struct download *download, struct fetch_cas *cas, struct fetch_item *item,
	const struct fetch_options *options, struct pkg_error *err)
{
	*download = (struct download){
		.item = item,
		.cas = cas,
		.options = options,
		.max_bytes = options->max_bytes > 0 ? options->max_bytes : MAX_BYTES,
		.lock_fd = -1,
		.fd = -1,
	};
	if (item->sha256 && !pkg_sha256_is_hex(item->sha256))
		return pkg_error_set(
			err, PKG_E_INVALID, "'%s': '%s' is not a sha256", item->name, item->sha256);
	if (item->size > download->max_bytes)
		return pkg_error_set(err, PKG_E_TOO_LARGE,
			"'%s': %lld bytes announced, allowed are %lld", item->name, item->size,
			download->max_bytes);
	if (item->sha256) {
		download->path = fetch_cas_partial(cas, item->sha256);
		download->lock_path = pkg_xasprintf("%s.lock", download->path);
		download->meta_path = pkg_xasprintf("%s.json", download->path);
	}
	return fetch_http_init(
		&download->http, item->url, item->name, &download_ops, download, err);
}

static int
run(struct fetch_cas *cas, struct download *downloads, size_t count, struct fetch_item *items,
	const struct fetch_options *options, struct pkg_error *err)
{
	pkg_cleanup(fetch_http_pool_free) struct fetch_http_pool *pool = NULL;
	pkg_autofree struct fetch_http **transfers = pkg_xcalloc(count, sizeof(*transfers));

	for (size_t i = 0; i < count; i++) {
		if (download_init(&downloads[i], cas, &items[i], options, err) < 0)
			return -1;
		transfers[i] = &downloads[i].http;
	}
	pool = fetch_http_pool_new(options, err);
	return pool ? fetch_http_run(pool, transfers, count, err) : -1;
}

int
fetch_all(struct fetch_cas *cas, struct fetch_item *items, size_t count,
	const struct fetch_options *options, struct pkg_error *err)
{
	pkg_autofree struct download *downloads = pkg_xcalloc(count, sizeof(*downloads));
	int result;

	for (size_t i = 0; i < count; i++)
		downloads[i].fd = downloads[i].lock_fd = -1;
	fetch_cas_batch_begin(cas);
	result = run(cas, downloads, count, items, options, err);
	/* What did arrive stays, also when another file did not. */
	if (fetch_cas_batch_end(cas, result < 0 ? NULL : err) < 0)
		result = -1;
	for (size_t i = 0; i < count; i++)
		download_clear(&downloads[i]);
	return result;
}
