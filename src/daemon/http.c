#include "daemon/http.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/log.h"
#include "core/time.h"
#include "daemon/daemon.h"
#include "daemon/routes.h"

struct endpoint {
	struct http_server *server;
	struct MHD_Daemon *mhd;
	uv_poll_t poll; /* on libmicrohttpd's epoll descriptor */
	uv_timer_t timer; /* its next time-out */
	bool control;
};

struct http_server {
	struct daemon *daemon;
	struct http_request *suspended; /* waiting for a worker's answer */
	struct endpoint ask;
	struct endpoint control;
};

/* --- replies --- */

static void
forget_suspended(struct http_request *request)
{
	struct http_request **slot = &request->daemon->http->suspended;

	while (*slot != NULL && *slot != request)
		slot = &(*slot)->next_suspended;
	if (*slot != NULL)
		*slot = request->next_suspended;
}

int
http_reply_response(struct http_request *request, unsigned status, struct MHD_Response *response)
{
	request->answered = true;
	request->status = status;
	request->response = response;
	if (request->suspended) {
		request->suspended = false;
		forget_suspended(request);
		MHD_resume_connection(request->connection);
		http_wake(request->daemon);
	}
	return 0;
}

static int
reply_json(struct http_request *request, unsigned status, struct json_object *envelope)
{
	char *text = pkg_json_line(envelope);
	struct MHD_Response *response =
		MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_MUST_FREE);

	json_object_put(envelope);
	(void)MHD_add_response_header(response, "Content-Type", "application/json");
	(void)MHD_add_response_header(response, "Cache-Control", "no-store");
	return http_reply_response(request, status, response);
}

static struct json_object *
envelope(const char *type, unsigned status, struct json_object *result)
{
	struct json_object *json = json_object_new_object();

	pkg_json_set_str(json, "type", type);
	pkg_json_set_int(json, "status", status);
	pkg_json_set(json, "result", result);
	return json;
}

int
http_reply_sync(struct http_request *request, struct json_object *result)
{
	return reply_json(request, 200, envelope("sync", 200, result));
}

int
http_reply_job(struct http_request *request, int64_t job)
{
	struct json_object *result = json_object_new_object();
	struct json_object *json;

	pkg_json_set_int(result, "job", job);
	json = envelope("async", 202, result);
	pkg_json_set_int(json, "job", job);
	return reply_json(request, 202, json);
}

int
http_reply_error(struct http_request *request, const struct pkg_error *err)
{
	unsigned status = (unsigned)pkg_error_kind_http(err->kind);

	if (status >= 500)
		pkg_log_error(err, "%s %s", request->method, request->path);
	return reply_json(request, status, envelope("error", status, pkg_json_from_error(err)));
}

int
http_reply_not_allowed(struct http_request *request, const char *allow)
{
	pkg_cleanup_error struct pkg_error err = { 0 };

	pkg_error_set(&err, PKG_E_UNSUPPORTED, "%s is not possible on %s", request->method,
		request->path);
	pkg_error_cure(&err, "possible is %s", allow);
	reply_json(request, MHD_HTTP_METHOD_NOT_ALLOWED,
		envelope("error", MHD_HTTP_METHOD_NOT_ALLOWED, pkg_json_from_error(&err)));
	(void)MHD_add_response_header(request->response, "Allow", allow);
	return 0;
}

int
http_reply_text(struct http_request *request, const char *path)
{
	pkg_cleanup_error struct pkg_error err = { 0 };
	struct MHD_Response *response;
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0 || fstat(fd, &st) < 0) {
		pkg_close(&fd);
		pkg_error_set(&err, PKG_E_NOT_FOUND, "there is no log yet");
		return http_reply_error(request, &err);
	}
	/* libmicrohttpd closes it. */
	response = MHD_create_response_from_fd64((uint64_t)st.st_size, fd);
	(void)MHD_add_response_header(response, "Content-Type", "text/plain; charset=utf-8");
	return http_reply_response(request, 200, response);
}

void
http_suspend(struct http_request *request)
{
	request->suspended = true;
	request->next_suspended = request->daemon->http->suspended;
	request->daemon->http->suspended = request;
	MHD_suspend_connection(request->connection);
}

const char *
http_query(struct http_request *request, const char *name)
{
	return MHD_lookup_connection_value(request->connection, MHD_GET_ARGUMENT_KIND, name);
}

int64_t
http_query_int(struct http_request *request, const char *name, int64_t fallback)
{
	const char *text = http_query(request, name);
	char *end = NULL;
	long long value;

	if (text == NULL || *text == '\0')
		return fallback;
	errno = 0;
	value = strtoll(text, &end, 10);
	return errno == 0 && *end == '\0' && value >= 0 ? value : fallback;
}

const char *
http_header(struct http_request *request, const char *name)
{
	return MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name);
}

/* --- requests --- */

static void
request_free(struct http_request *request)
{
	for (size_t i = 0; i < PKG_ARRAY_LEN(request->params); i++)
		free(request->params[i]);
	if (request->response != NULL)
		MHD_destroy_response(request->response);
	json_object_put(request->json);
	pkg_buf_clear(&request->body);
	free(request->path);
	free(request);
}

static struct http_request *
request_new(struct endpoint *endpoint, struct MHD_Connection *connection, const char *method,
	const char *url)
{
	struct http_request *request = pkg_xcalloc(1, sizeof(*request));
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);

	request->daemon = endpoint->server->daemon;
	request->connection = connection;
	request->method = method;
	request->path = pkg_xstrdup(url);
	request->control = endpoint->control;
	request->peer = (struct pkg_peer){ .pid = -1, .uid = (uid_t)-1, .gid = (gid_t)-1 };
	if (info != NULL)
		(void)pkg_sock_peer(info->connect_fd, &request->peer, NULL);
	return request;
}

static void
take_body(struct http_request *request, const char *data, size_t *size)
{
	if (request->body.len + *size > HTTP_BODY_MAX)
		request->too_large = true;
	else
		pkg_buf_add_mem(&request->body, data, *size);
	*size = 0;
}

static enum MHD_Result
send_answer(struct http_request *request)
{
	struct MHD_Response *response = pkg_steal_ptr(&request->response);
	enum MHD_Result result = MHD_queue_response(request->connection, request->status, response);

	MHD_destroy_response(response);
	return result;
}

static void
dispatch(struct http_request *request)
{
	pkg_cleanup_error struct pkg_error err = { 0 };

	request->daemon->last_request_ms = pkg_time_mono_ms();
	if (request->too_large) {
		pkg_error_set(&err, PKG_E_TOO_LARGE, "the request is larger than %d bytes",
			HTTP_BODY_MAX);
		http_reply_error(request, &err);
		return;
	}
	if (request->body.len > 0) {
		request->json = pkg_json_parse(request->body.data, request->body.len, &err);
		if (request->json == NULL ||
			!json_object_is_type(request->json, json_type_object)) {
			if (request->json != NULL)
				pkg_error_set(&err, PKG_E_INVALID, "the body is not a JSON object");
			http_reply_error(request, &err);
			return;
		}
	}
	routes_dispatch(request);
}

static enum MHD_Result
on_request(void *context, struct MHD_Connection *connection, const char *url, const char *method,
	const char *version, const char *upload, size_t *upload_size, void **slot)
{
	struct http_request *request = *slot;

	(void)version;
	if (request == NULL) {
		*slot = request_new(context, connection, method, url);
		return MHD_YES;
	}
	if (*upload_size > 0) {
		take_body(request, upload, upload_size);
		return MHD_YES;
	}
	if (!request->answered && !request->suspended)
		dispatch(request);
	if (request->suspended)
		return MHD_YES;
	return send_answer(request);
}

static void
on_completed(void *context, struct MHD_Connection *connection, void **slot,
	enum MHD_RequestTerminationCode code)
{
	(void)context;
	(void)connection;
	(void)code;
	if (*slot != NULL)
		request_free(*slot);
	*slot = NULL;
}

/* --- the loop --- */

static void endpoint_run(struct endpoint *endpoint);

static void
on_timer(uv_timer_t *timer)
{
	endpoint_run(timer->data);
}

static void
endpoint_run(struct endpoint *endpoint)
{
	MHD_UNSIGNED_LONG_LONG wait = 0;

	(void)MHD_run(endpoint->mhd);
	if (MHD_get_timeout(endpoint->mhd, &wait) == MHD_YES)
		(void)uv_timer_start(&endpoint->timer, on_timer, wait, 0);
	else
		(void)uv_timer_stop(&endpoint->timer);
}

void
http_wake(struct daemon *daemon)
{
	struct http_server *server = daemon->http;

	if (server == NULL)
		return;
	(void)uv_timer_start(&server->ask.timer, on_timer, 0, 0);
	(void)uv_timer_start(&server->control.timer, on_timer, 0, 0);
}

static void
on_poll(uv_poll_t *poll, int status, int events)
{
	(void)status;
	(void)events;
	endpoint_run(poll->data);
}

static int
endpoint_start(struct endpoint *endpoint, struct http_server *server, int *socket, bool control,
	struct pkg_error *err)
{
	const union MHD_DaemonInfo *info;

	endpoint->server = server;
	endpoint->control = control;
	endpoint->mhd = MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL,
		on_request, endpoint, MHD_OPTION_LISTEN_SOCKET, *socket,
		MHD_OPTION_NOTIFY_COMPLETED, on_completed, NULL, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
		(size_t)HTTP_POOL_BYTES, MHD_OPTION_CONNECTION_LIMIT,
		(unsigned)HTTP_CONNECTIONS_MAX, MHD_OPTION_CONNECTION_TIMEOUT,
		(unsigned)HTTP_IDLE_SECONDS, MHD_OPTION_END);
	if (endpoint->mhd == NULL)
		return pkg_error_set(err, PKG_E_INTERNAL, "the HTTP server does not start");
	*socket = -1; /* libmicrohttpd's now */
	info = MHD_get_daemon_info(endpoint->mhd, MHD_DAEMON_INFO_EPOLL_FD);
	if (info == NULL || info->epoll_fd < 0)
		return pkg_error_set(
			err, PKG_E_INTERNAL, "the HTTP server has no epoll descriptor");
	uv_poll_init(&server->daemon->loop, &endpoint->poll, info->epoll_fd);
	uv_timer_init(&server->daemon->loop, &endpoint->timer);
	endpoint->poll.data = endpoint->timer.data = endpoint;
	uv_poll_start(&endpoint->poll, UV_READABLE, on_poll);
	return 0;
}

struct http_server *
http_server_start(struct daemon *daemon, struct daemon_sockets *sockets, struct pkg_error *err)
{
	struct http_server *server = pkg_xcalloc(1, sizeof(*server));

	server->daemon = daemon;
	if (endpoint_start(&server->ask, server, &sockets->ask, false, err) < 0 ||
		endpoint_start(&server->control, server, &sockets->control, true, err) < 0)
		return NULL; /* the daemon exits: nothing to give back */
	return server;
}

void
http_server_stop(struct http_server *server)
{
	pkg_cleanup_error struct pkg_error err = { 0 };

	if (server == NULL)
		return;
	/* libmicrohttpd aborts when it is stopped with a connection suspended. */
	pkg_error_set(&err, PKG_E_UNREACHABLE, "pkgd is stopping");
	while (server->suspended != NULL)
		http_reply_error(server->suspended, &err);
	uv_poll_stop(&server->ask.poll);
	uv_poll_stop(&server->control.poll);
	uv_timer_stop(&server->ask.timer);
	uv_timer_stop(&server->control.timer);
	MHD_stop_daemon(server->ask.mhd);
	MHD_stop_daemon(server->control.mhd);
	free(server);
}
