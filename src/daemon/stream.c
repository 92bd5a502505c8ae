#include "daemon/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/path.h"
#include "daemon/daemon.h"
#include "install/names.h"

#define READ_BYTES (256 * 1024)
#define LINE_MAX_BYTES (64 * 1024 * 1024) /* a plan of thousands of packages is one line */
#define BLOCK_BYTES 4096

struct listener {
	struct listener *next;
	struct followed *followed;
	struct MHD_Connection *connection;
	int fd; /* of events.jsonl */
	int64_t offset; /* of the next line */
	struct pkg_buf out; /* formatted, not yet sent */
	bool ended; /* the file will not grow: end after its last line */
	bool finished; /* the result was sent */
	bool suspended;
	bool beat; /* a heartbeat is due */
};

/* A job that somebody follows. */
struct followed {
	struct followed *next;
	struct streams *streams;
	int64_t job;
	struct listener *listeners;
	uv_fs_event_t watch;
};

struct streams {
	struct daemon *daemon;
	struct followed *followed;
	bool closing;
	uv_timer_t heartbeat;
};

static void
resume(struct listener *listener)
{
	if (!listener->suspended)
		return;
	listener->suspended = false;
	MHD_resume_connection(listener->connection);
	http_wake(listener->followed->streams->daemon);
}

static void
on_change(uv_fs_event_t *watch, const char *name, int events, int status)
{
	struct followed *followed = watch->data;

	(void)name;
	(void)events;
	(void)status;
	for (struct listener *one = followed->listeners; one != NULL; one = one->next)
		resume(one);
}

static void
on_heartbeat(uv_timer_t *timer)
{
	struct streams *streams = timer->data;

	for (struct followed *job = streams->followed; job != NULL; job = job->next)
		for (struct listener *one = job->listeners; one != NULL; one = one->next) {
			one->beat = true;
			resume(one);
		}
}

struct streams *
streams_new(struct daemon *daemon)
{
	struct streams *streams = pkg_xcalloc(1, sizeof(*streams));

	streams->daemon = daemon;
	uv_timer_init(&daemon->loop, &streams->heartbeat);
	streams->heartbeat.data = streams;
	return streams;
}

void
streams_close(struct streams *streams)
{
	streams->closing = true;
	for (struct followed *job = streams->followed; job != NULL; job = job->next)
		for (struct listener *one = job->listeners; one != NULL; one = one->next)
			resume(one);
}

void
streams_free(struct streams *streams)
{
	free(streams);
}

/* --- following a job --- */

static void
on_watch_closed(uv_handle_t *handle)
{
	free(handle->data);
}

static void
unfollow(struct followed *followed)
{
	struct streams *streams = followed->streams;

	for (struct followed **slot = &streams->followed; *slot != NULL; slot = &(*slot)->next) {
		if (*slot == followed) {
			*slot = followed->next;
			break;
		}
	}
	uv_close((uv_handle_t *)&followed->watch, on_watch_closed);
	if (streams->followed == NULL)
		uv_timer_stop(&streams->heartbeat);
}

static struct followed *
follow(struct streams *streams, int64_t job, const char *path, struct pkg_error *err)
{
	struct followed *followed;
	int rc;

	for (followed = streams->followed; followed != NULL; followed = followed->next)
		if (followed->job == job)
			return followed;
	followed = pkg_xcalloc(1, sizeof(*followed));
	followed->streams = streams;
	followed->job = job;
	followed->watch.data = followed;
	uv_fs_event_init(&streams->daemon->loop, &followed->watch);
	rc = uv_fs_event_start(&followed->watch, on_change, path, 0);
	if (rc < 0) {
		uv_close((uv_handle_t *)&followed->watch, on_watch_closed);
		pkg_error_set(err, PKG_E_IO, "watch %s: %s", path, uv_strerror(rc));
		return NULL;
	}
	if (streams->followed == NULL)
		uv_timer_start(&streams->heartbeat, on_heartbeat, STREAM_HEARTBEAT_MS,
			STREAM_HEARTBEAT_MS);
	followed->next = streams->followed;
	streams->followed = followed;
	return followed;
}

/* --- lines into events --- */

static void
format_line(struct listener *listener, const char *line, size_t len)
{
	pkg_cleanup(pkg_json_put) struct json_object *row = pkg_json_parse(line, len, NULL);

	listener->offset += (int64_t)len + 1;
	/* Cut short by a full disk, or an offset that is none of ours: nothing a client could read. */
	if (row == NULL)
		return;
	pkg_buf_addf(&listener->out, "id: %lld\ndata: ", (long long)listener->offset);
	pkg_buf_add_mem(&listener->out, line, len);
	pkg_buf_add(&listener->out, "\n\n");
	listener->finished = strcmp(pkg_json_str_or(row, "type", ""), "result") == 0;
}

/* The whole lines that follow the offset: one read of them, or as much as the first one needs. False when there was
 * none. */
static bool
read_lines(struct listener *listener)
{
	size_t size = READ_BYTES;
	pkg_autofree char *data = pkg_xmalloc(size);
	ssize_t got = pread(listener->fd, data, size, listener->offset);
	int64_t before = listener->offset;
	char *line;

	while (got == (ssize_t)size && memchr(data, '\n', size) == NULL && size < LINE_MAX_BYTES) {
		size *= 2;
		data = pkg_xrealloc(data, size, 1);
		got = pread(listener->fd, data, size, listener->offset);
	}
	line = data;
	while (got > 0 && !listener->finished) {
		char *end = memchr(line, '\n', (size_t)got);

		if (end == NULL)
			break;
		format_line(listener, line, (size_t)(end - line));
		got -= end + 1 - line;
		line = end + 1;
	}
	return listener->offset != before;
}

static ssize_t
on_read(void *context, uint64_t position, char *data, size_t max)
{
	struct listener *listener = context;
	size_t give;

	(void)position;
	if (listener->followed->streams->closing)
		return MHD_CONTENT_READER_END_OF_STREAM;
	while (listener->out.len == 0 && !listener->finished && read_lines(listener))
		;
	if (listener->out.len == 0 && listener->beat)
		pkg_buf_add(&listener->out, ": \n\n");
	listener->beat = false;
	if (listener->out.len == 0) {
		if (listener->finished || listener->ended)
			return MHD_CONTENT_READER_END_OF_STREAM;
		listener->suspended = true;
		MHD_suspend_connection(listener->connection);
		return 0;
	}
	give = listener->out.len < max ? listener->out.len : max;
	memcpy(data, listener->out.data, give);
	pkg_buf_consume(&listener->out, give);
	return (ssize_t)give;
}

static void
on_free(void *context)
{
	struct listener *listener = context;
	struct followed *followed = listener->followed;

	for (struct listener **slot = &followed->listeners; *slot != NULL; slot = &(*slot)->next) {
		if (*slot == listener) {
			*slot = listener->next;
			break;
		}
	}
	if (followed->listeners == NULL)
		unfollow(followed);
	pkg_close(&listener->fd);
	pkg_buf_clear(&listener->out);
	free(listener);
}

int
stream_job(struct http_request *request, int64_t job, int64_t offset, bool ended,
	struct pkg_error *err)
{
	struct daemon *daemon = request->daemon;
	pkg_autofree char *dir = install_path_job(&daemon->home, job);
	pkg_autofree char *path = pkg_path_join(dir, "events.jsonl");
	pkg_autofd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct followed *followed;
	struct listener *listener;
	struct MHD_Response *response;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return pkg_error_errno(err, errno, "open %s", path);
	followed = follow(daemon->streams, job, path, err);
	if (followed == NULL)
		return -1;
	listener = pkg_xcalloc(1, sizeof(*listener));
	listener->followed = followed;
	listener->connection = request->connection;
	listener->fd = pkg_steal_fd(&fd);
	/* Beyond the end nothing would come until the file has grown so far. */
	listener->offset = offset < st.st_size ? offset : st.st_size;
	listener->ended = ended;
	listener->next = followed->listeners;
	followed->listeners = listener;
	response = MHD_create_response_from_callback(
		MHD_SIZE_UNKNOWN, BLOCK_BYTES, on_read, listener, on_free);
	(void)MHD_add_response_header(response, "Content-Type", "text/event-stream");
	(void)MHD_add_response_header(response, "Cache-Control", "no-store");
	return http_reply_response(request, 200, response);
}
