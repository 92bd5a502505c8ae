#include "cli/stream.h"

#include <inttypes.h>
#include <string.h>

#include "cli/i18n.h"
#include "cli/sse.h"
#include "core/time.h"

#define BACKOFF_FIRST_MS 20
#define BACKOFF_MAX_MS 10000
/* A daemon that is being restarted by someone else gets so long before we start one. */
#define START_AFTER_MS 1000
/* Where we may not start one (the system's): so long until we give up. */
#define GIVE_UP_MS 60000
#define ERROR_BODY_MAX 65536

struct cli_stream {
	struct cli_client *client;
	int64_t job;
	CURLM *multi;
	CURL *curl; /* NULL: not connected */
	struct curl_slist *headers; /* of the connection */
	struct cli_sse sse;
	struct pkg_buf body; /* of an answer that is no success */
	struct pkg_error failure; /* set by the callback */
	char *last_id; /* NULL: from the beginning */
	int64_t backoff_ms;
	int64_t connect_at_ms; /* monotonic */
	int64_t lost_ms; /* when the daemon was last there; 0: it is */
};

void
cli_event_clear(struct cli_event *event)
{
	free(event->text);
	json_object_put(event->json);
	*event = (struct cli_event){ 0 };
}

struct cli_stream *
cli_stream_open(struct cli_client *client, int64_t job)
{
	struct cli_stream *stream = pkg_xcalloc(1, sizeof(*stream));

	stream->client = client;
	stream->job = job;
	stream->backoff_ms = BACKOFF_FIRST_MS;
	stream->multi = curl_multi_init();
	if (stream->multi == NULL)
		pkg_abort("libcurl does not start");
	return stream;
}

static void
disconnect(struct cli_stream *stream)
{
	if (stream->curl == NULL)
		return;
	curl_multi_remove_handle(stream->multi, stream->curl);
	curl_easy_cleanup(stream->curl);
	stream->curl = NULL;
	curl_slist_free_all(stream->headers);
	stream->headers = NULL;
	cli_sse_clear(&stream->sse);
	pkg_buf_clear(&stream->body);
}

void
cli_stream_free(struct cli_stream *stream)
{
	if (stream == NULL)
		return;
	disconnect(stream);
	curl_multi_cleanup(stream->multi);
	pkg_error_clear(&stream->failure);
	free(stream->last_id);
	free(stream);
}

/* --- connecting --- */

static size_t
on_bytes(char *data, size_t size, size_t count, void *context)
{
	struct cli_stream *stream = context;
	size_t len = size * count;
	long status = 0;

	curl_easy_getinfo(stream->curl, CURLINFO_RESPONSE_CODE, &status);
	if (status == 200) {
		stream->backoff_ms = BACKOFF_FIRST_MS;
		stream->lost_ms = 0;
		return cli_sse_feed(&stream->sse, data, len, &stream->failure) < 0 ? 0 : len;
	}
	if (stream->body.len + len <= ERROR_BODY_MAX)
		pkg_buf_add_mem(&stream->body, data, len);
	return len;
}

static int
connect_stream(struct cli_stream *stream, struct pkg_error *err)
{
	pkg_autofree char *path = pkg_xasprintf("/v1/jobs/%" PRId64 "/events", stream->job);
	CURL *curl = curl_easy_init();

	if (curl == NULL)
		pkg_abort("libcurl does not start");
	stream->curl = curl;
	if (cli_client_aim(stream->client, curl, false, path, err) < 0)
		return -1;
	if (stream->last_id != NULL) {
		pkg_autofree char *line = pkg_xasprintf("Last-Event-ID: %s", stream->last_id);

		stream->headers = curl_slist_append(NULL, line);
		curl_easy_setopt(curl, CURLOPT_HTTPHEADER, stream->headers);
	}
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_bytes);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, stream);
	curl_multi_add_handle(stream->multi, curl);
	return 0;
}

static void
come_back_later(struct cli_stream *stream)
{
	int64_t now = pkg_time_mono_ms();

	disconnect(stream);
	if (stream->lost_ms == 0)
		stream->lost_ms = now;
	stream->connect_at_ms = now + stream->backoff_ms;
	stream->backoff_ms *= 2;
	if (stream->backoff_ms > BACKOFF_MAX_MS)
		stream->backoff_ms = BACKOFF_MAX_MS;
}

/* Nobody listened: start a daemon once it is plain that nobody else does. */
static int
bring_back(struct cli_stream *stream, struct pkg_error *err)
{
	const struct pkg_home *home = cli_client_home(stream->client);
	int64_t gone = pkg_time_mono_ms() - stream->lost_ms;

	if (stream->lost_ms == 0 || gone < START_AFTER_MS)
		return 0;
	if (home->system && gone < GIVE_UP_MS)
		return 0;
	return cli_autostart(home, err);
}

/* --- the end of a connection --- */

static int
set_event(struct cli_event *out, char *text, struct json_object *json)
{
	*out = (struct cli_event){ text, json, pkg_json_str_or(json, "type", "") };
	return 1;
}

/* The stream ended without a result: the job may have one all the same. */
static int
ask_job(struct cli_stream *stream, struct cli_event *out, struct pkg_error *err)
{
	pkg_autofree char *path = pkg_xasprintf("/v1/jobs/%" PRId64, stream->job);
	pkg_cleanup(pkg_json_put) struct json_object *job =
		cli_client_get(stream->client, path, err);
	struct json_object *result;

	if (job == NULL)
		return -1;
	result = pkg_json_get(job, "result");
	if (!json_object_is_type(result, json_type_object))
		return 0;
	return set_event(out, pkg_json_line(result), json_object_get(result));
}

static int
connection_ended(
	struct cli_stream *stream, CURLcode code, struct cli_event *out, struct pkg_error *err)
{
	long status = 0;
	int rc = 0;

	curl_easy_getinfo(stream->curl, CURLINFO_RESPONSE_CODE, &status);
	if (stream->failure.kind != PKG_E_NONE) {
		pkg_error_move(err, &stream->failure);
		return -1;
	}
	if (status >= 400 && status < 500)
		return cli_client_read_error(status, &stream->body, err);
	come_back_later(stream);
	if (code == CURLE_OK && status == 200)
		rc = ask_job(stream, out, err);
	else if (code == CURLE_COULDNT_CONNECT)
		rc = bring_back(stream, err);
	return rc;
}

/* --- events --- */

static int
take_event(struct cli_stream *stream, struct cli_event *out)
{
	cli_cleanup_sse_event struct cli_sse_event event = { 0 };

	while (cli_sse_next(&stream->sse, &event)) {
		struct json_object *json = pkg_json_parse(event.data, strlen(event.data), NULL);

		if (event.id != NULL) {
			free(stream->last_id);
			stream->last_id = pkg_steal_ptr(&event.id);
		}
		if (json_object_is_type(json, json_type_object))
			return set_event(out, pkg_steal_ptr(&event.data), json);
		/* A line that was cut short by a crash: what follows counts. */
		json_object_put(json);
		cli_sse_event_clear(&event);
	}
	return 0;
}

static int
look(struct cli_stream *stream, struct cli_event *out, struct pkg_error *err)
{
	int running = 0, left = 0;
	CURLMsg *message;

	curl_multi_perform(stream->multi, &running);
	if (take_event(stream, out) > 0)
		return 1;
	message = curl_multi_info_read(stream->multi, &left);
	if (message != NULL && message->msg == CURLMSG_DONE)
		return connection_ended(stream, message->data.result, out, err);
	return 0;
}

static int
until(int64_t now, int64_t when)
{
	int64_t left = when - now;

	return left < 0 ? 0 : left > INT32_MAX ? INT32_MAX : (int)left;
}

static bool
is_ready(const struct curl_waitfd *others, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (others[i].revents != 0)
			return true;
	return false;
}

int
cli_stream_next(struct cli_stream *stream, struct curl_waitfd *others, unsigned count,
	int64_t timeout_ms, struct cli_event *out, struct pkg_error *err)
{
	int64_t end = timeout_ms < 0 ? INT64_MAX : pkg_time_mono_ms() + timeout_ms;

	for (;;) {
		int64_t now = pkg_time_mono_ms();
		int64_t wake = end;
		int rc;

		if (stream->curl == NULL && now >= stream->connect_at_ms &&
			connect_stream(stream, err) < 0)
			return -1;
		rc = look(stream, out, err);
		if (rc != 0)
			return rc;
		now = pkg_time_mono_ms();
		if (now >= end)
			return 0;
		if (stream->curl == NULL && stream->connect_at_ms < wake)
			wake = stream->connect_at_ms;
		curl_multi_poll(stream->multi, others, count, until(now, wake), NULL);
		if (is_ready(others, count))
			return 0;
	}
}
