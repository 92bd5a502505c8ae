#include "fetch/http.h"

#include "core/time.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/random.h>

#define BACKOFF_MAX_MS 30000
#define TICK_MS 250 /* how late a stall may be noticed */

enum state { PENDING, ACTIVE, ENDED };

struct fetch_http_pool {
	CURLM *multi;
	struct fetch_options options; /* with the defaults filled in */
};

static void
fill_defaults(struct fetch_options *options)
{
	static const struct {
		size_t offset;
		int value;
	} rows[] = {
		{ offsetof(struct fetch_options, parallel), 8 },
		{ offsetof(struct fetch_options, retries), 4 },
		{ offsetof(struct fetch_options, max_redirects), 8 },
		{ offsetof(struct fetch_options, connect_timeout_ms), 30000 },
		{ offsetof(struct fetch_options, stall_timeout_ms), 60000 },
		{ offsetof(struct fetch_options, backoff_ms), 500 },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		int *slot = (int *)(void *)((char *)options + rows[i].offset);

		if (*slot <= 0)
			*slot = rows[i].value;
	}
}

struct fetch_http_pool *
fetch_http_pool_new(const struct fetch_options *options, struct pkg_error *err)
{
	pkg_cleanup(fetch_http_pool_free) struct fetch_http_pool *pool =
		pkg_xcalloc(1, sizeof(*pool));

	/* Counted by libcurl: only the first call does anything. */
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
		pkg_error_set(err, PKG_E_INTERNAL, "libcurl cannot be initialised");
		return NULL;
	}
	pool->options = *options;
	fill_defaults(&pool->options);
	pool->multi = curl_multi_init();
	if (!pool->multi)
		pkg_abort("out of memory");
	(void)curl_multi_setopt(
		pool->multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, (long)pool->options.parallel);
	return pkg_steal_ptr(&pool);
}

void
fetch_http_pool_free(struct fetch_http_pool *pool)
{
	if (!pool)
		return;
	if (pool->multi)
		(void)curl_multi_cleanup(pool->multi);
	free(pool);
}

static bool
is_cancelled(const struct fetch_options *options)
{
	struct pollfd pollfd = { .fd = options->cancel_fd, .events = POLLIN };

	return options->cancel_fd >= 0 && poll(&pollfd, 1, 0) > 0;
}

/* A quarter more or less, so that workers that failed together do not come back together. */
static int64_t
backoff(const struct fetch_options *options, int attempt)
{
	int64_t wait = options->backoff_ms;
	unsigned char dice = 128;

	for (int i = 1; i < attempt && wait < BACKOFF_MAX_MS; i++)
		wait *= 2;
	if (wait > BACKOFF_MAX_MS)
		wait = BACKOFF_MAX_MS;
	if (getrandom(&dice, 1, GRND_NONBLOCK) != 1)
		dice = 128;
	return wait * (384 + dice) / 512;
}

/* 0: it will be dialled again; -1: enough tries, and *err, which is set, is how it ended. */
static int
schedule_retry(struct fetch_http_pool *pool, struct fetch_http *http, bool connecting,
	struct pkg_error *err)
{
	int64_t wait = fetch_http_retry_after(http);
	int64_t own;
	pkg_autofree char *text = NULL;

	http->attempt++;
	/* A host that is not there is seldom there a second later: one more try, not four. */
	if (connecting && ++http->connect_attempts > 1)
		return -1;
	if (http->attempt > pool->options.retries) {
		pkg_autofree char *message = err->message;

		err->message = pkg_xasprintf("%s (%d tries)", message, http->attempt);
		return -1;
	}
	own = backoff(&pool->options, http->attempt);
	if (wait < own)
		wait = own;
	http->due_ms = pkg_time_mono_ms() + wait;
	text = pkg_xasprintf("retrying in %.1f s: %s", (double)wait / 1000, err->message);
	if (http->ops->note)
		http->ops->note(http, text);
	return 0;
}

/* 0 when the transfer's owner takes the failure, which is then its own end only. */
static int
fail(struct fetch_http *http, struct pkg_error *local, struct pkg_error *err)
{
	if (http->ops->failed && local->kind != PKG_E_CANCELLED) {
		http->state = ENDED;
		http->ops->failed(http, local);
		return 0;
	}
	pkg_error_move(err, local);
	return -1;
}

/* -1 ends the whole run. */
static int
settle(struct fetch_http_pool *pool, struct fetch_http *http, CURLcode code, bool stalled,
	struct pkg_error *err)
{
	pkg_cleanup_error struct pkg_error local = { 0 };
	enum fetch_http_outcome outcome;
	int result = 0;

	outcome = fetch_http_judge(http, code, stalled, &pool->options, &local);
	http->state = outcome == HTTP_DONE ? ENDED : PENDING;
	http->due_ms = 0;
	if (outcome == HTTP_FAILED)
		result = -1;
	else if (outcome == HTTP_RETRY || outcome == HTTP_RETRY_CONNECT)
		result = schedule_retry(pool, http, outcome == HTTP_RETRY_CONNECT, &local);
	(void)curl_multi_remove_handle(pool->multi, http->easy);
	fetch_http_hang_up(http);
	return result < 0 ? fail(http, &local, err) : 0;
}

static int
start_one(struct fetch_http_pool *pool, struct fetch_http *http, struct pkg_error *err)
{
	enum fetch_http_next next = FETCH_HTTP_GO;

	if (http->ops->prepare)
		next = http->ops->prepare(http, err);
	if (next == FETCH_HTTP_FAILED || next == FETCH_HTTP_AGAIN)
		return -1;
	if (next == FETCH_HTTP_FINISHED) {
		http->state = ENDED;
		return 0;
	}
	if (next == FETCH_HTTP_WAIT) {
		http->due_ms = pkg_time_mono_ms() + http->wait_ms;
		return 0;
	}
	if (fetch_http_dial(http, &pool->options, err) < 0)
		return -1;
	if (curl_multi_add_handle(pool->multi, http->easy) != CURLM_OK)
		pkg_abort("libcurl does not take a transfer");
	http->state = ACTIVE;
	return 0;
}

static int
start(struct fetch_http_pool *pool, struct fetch_http *http, struct pkg_error *err)
{
	pkg_cleanup_error struct pkg_error local = { 0 };

	if (start_one(pool, http, &local) == 0)
		return 0;
	fetch_http_hang_up(http);
	return fail(http, &local, err);
}

/* Starts what is due while there is room; *next is when the first of the others is due. */
static int
start_due(struct fetch_http_pool *pool, struct fetch_http *const *transfers, size_t count,
	size_t *unfinished, int64_t *next, struct pkg_error *err)
{
	int64_t now = pkg_time_mono_ms();
	int active = 0;

	*unfinished = 0;
	*next = now + TICK_MS;
	for (size_t i = 0; i < count; i++)
		active += transfers[i]->state == ACTIVE;
	for (size_t i = 0; i < count; i++) {
		struct fetch_http *http = transfers[i];

		if (http->state == PENDING && http->due_ms <= now &&
			active < pool->options.parallel) {
			if (is_cancelled(&pool->options))
				return pkg_error_set(err, PKG_E_CANCELLED, "cancelled");
			if (start(pool, http, err) < 0)
				return -1;
			active += http->state == ACTIVE;
		}
		if (http->state == PENDING && http->due_ms > now && http->due_ms < *next)
			*next = http->due_ms;
		*unfinished += http->state != ENDED;
	}
	return 0;
}

/* How many there were; -1 ends the run. */
static int
settle_finished(struct fetch_http_pool *pool, struct pkg_error *err)
{
	CURLMsg *message;
	int settled = 0;
	int left;

	while ((message = curl_multi_info_read(pool->multi, &left)) != NULL) {
		CURLcode code = message->data.result;
		char *private = NULL;

		if (message->msg != CURLMSG_DONE)
			continue;
		(void)curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &private);
		if (settle(pool, (struct fetch_http *)(void *)private, code, false, err) < 0)
			return -1;
		settled++;
	}
	return settled;
}

static int
settle_stalled(struct fetch_http_pool *pool, struct fetch_http *const *transfers, size_t count,
	struct pkg_error *err)
{
	int64_t oldest = pkg_time_mono_ms() - pool->options.stall_timeout_ms;

	for (size_t i = 0; i < count; i++) {
		if (transfers[i]->state != ACTIVE || transfers[i]->last_byte_ms > oldest)
			continue;
		if (settle(pool, transfers[i], CURLE_OK, true, err) < 0)
			return -1;
	}
	return 0;
}

static int
pump(struct fetch_http_pool *pool, int64_t until, struct pkg_error *err)
{
	struct curl_waitfd extra = { .fd = pool->options.cancel_fd, .events = CURL_WAIT_POLLIN };
	int64_t wait = until - pkg_time_mono_ms();
	int running;
	int settled;

	if (curl_multi_perform(pool->multi, &running) != CURLM_OK)
		pkg_abort("libcurl's event loop failed");
	settled = settle_finished(pool, err);
	/* There is room for the next one now: no waiting. */
	if (settled != 0)
		return settled < 0 ? -1 : 0;
	if (curl_multi_poll(pool->multi, &extra, pool->options.cancel_fd >= 0 ? 1 : 0,
		    wait > 0 ? (int)wait : 0, NULL) != CURLM_OK)
		pkg_abort("libcurl cannot wait");
	return 0;
}

int
fetch_http_turn(struct fetch_http_pool *pool, struct fetch_http *const *transfers, size_t count,
	size_t *unfinished, struct pkg_error *err)
{
	int64_t next;

	if (is_cancelled(&pool->options))
		return pkg_error_set(err, PKG_E_CANCELLED, "cancelled");
	if (start_due(pool, transfers, count, unfinished, &next, err) < 0)
		return -1;
	if (*unfinished == 0)
		return 0;
	if (pump(pool, next, err) < 0)
		return -1;
	return settle_stalled(pool, transfers, count, err);
}

bool
fetch_http_is_ended(const struct fetch_http *http)
{
	return http->state == ENDED;
}

void
fetch_http_abandon(struct fetch_http_pool *pool, struct fetch_http *http)
{
	if (http->state == ACTIVE)
		(void)curl_multi_remove_handle(pool->multi, http->easy);
	fetch_http_hang_up(http);
	http->state = ENDED;
}

static int
run(struct fetch_http_pool *pool, struct fetch_http *const *transfers, size_t count,
	struct pkg_error *err)
{
	size_t unfinished;

	do {
		if (fetch_http_turn(pool, transfers, count, &unfinished, err) < 0)
			return -1;
	} while (unfinished > 0);
	return 0;
}

int
fetch_http_run(struct fetch_http_pool *pool, struct fetch_http *const *transfers, size_t count,
	struct pkg_error *err)
{
	int result = run(pool, transfers, count, err);

	for (size_t i = 0; i < count; i++) {
		if (transfers[i]->state == ACTIVE)
			(void)curl_multi_remove_handle(pool->multi, transfers[i]->easy);
		fetch_http_hang_up(transfers[i]);
	}
	return result;
}
