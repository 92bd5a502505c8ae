/* daemon/http.h - HTTP/1.1 over the two sockets, on the daemon's own loop.
 * Purpose    libmicrohttpd in its external-epoll mode is driven from libuv: no thread, no polling. One struct
 *            http_request per request, handed to the router when its body is complete.
 * Ownership  The request lives until its response is sent; what hangs on it is its own.
 * Errors     Handlers answer through http_reply_*; nothing a peer sends ends the daemon.
 *
 * Envelope (the shape of snapd's API): {"type":"sync|async|error","status":N,"result":…}.
 */
#ifndef DAEMON_HTTP_H
#define DAEMON_HTTP_H
#include "core/json.h"
#include "core/sock.h"
#include "daemon/sockets.h"
#include <microhttpd.h>

/* Why these: a job's request with a long requirements file fits in a megabyte; a person's tools open a few
 * connections each, 4,096 leave room for a thousand listeners; 30 s without a byte ends a request. */
#define HTTP_BODY_MAX (1024 * 1024)
#define HTTP_CONNECTIONS_MAX 4096
#define HTTP_IDLE_SECONDS 30
#define HTTP_POOL_BYTES 16384

struct daemon;
struct http_request {
	struct daemon *daemon;
	struct MHD_Connection *connection;
	const char *method; /* borrowed from libmicrohttpd */
	char *path; /* owned; without the query */
	bool control; /* came over control.sock */
	struct pkg_peer peer;
	struct pkg_buf body;
	bool too_large;
	struct json_object *json; /* owned; the parsed body, NULL for none */
	/* path parameters, in order: /v1/jobs/{0}/events */
	char *params[4]; /* owned */
	/* A reply that comes later: the connection is suspended until http_resume(). */
	struct MHD_Response *response; /* owned until queued */
	unsigned status;
	bool suspended;
	bool answered;
	struct http_request *next_suspended; /* borrowed */
};

struct http_server;
struct http_server *http_server_start(
	struct daemon *daemon, struct daemon_sockets *sockets, struct pkg_error *err);
void http_server_stop(struct http_server *server);

/* --- for handlers; each answers once. result and rows are taken. --- */
int http_reply_sync(struct http_request *request, struct json_object *result);
int http_reply_job(struct http_request *request, int64_t job);
int http_reply_error(struct http_request *request, const struct pkg_error *err);
/* 405 with the methods that the path has: "GET, POST". */
int http_reply_not_allowed(struct http_request *request, const char *allow);
int http_reply_text(struct http_request *request, const char *path); /* a file, as text/plain */
int http_reply_response(
	struct http_request *request, unsigned status, struct MHD_Response *response);
/* To be called after MHD_resume_connection(): without a thread of its own libmicrohttpd looks at resumed
 * connections only when it is run. */
void http_wake(struct daemon *daemon);
/* The handler answers later, from the loop. */
void http_suspend(struct http_request *request);
const char *http_query(struct http_request *request, const char *name); /* NULL: absent; borrowed */
int64_t http_query_int(struct http_request *request, const char *name, int64_t fallback);
const char *http_header(struct http_request *request, const char *name);
#endif
