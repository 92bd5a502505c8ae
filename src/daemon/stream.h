/* daemon/stream.h - a job's events as server-sent events (HTML Living Standard, section 9.2).
 * Purpose    Streams <state>/jobs/ID/events.jsonl from any byte offset. The id of an event is the offset after
 *            its line, so Last-Event-ID resumes exactly. One inotify watch per followed job, whoever follows;
 *            a comment every 15 s keeps the connection; nothing wakes up while nobody listens.
 * Ownership  Streams belong to the daemon; a listener goes with its connection.
 * Errors     As http.h.
 */
#ifndef DAEMON_STREAM_H
#define DAEMON_STREAM_H
#include "daemon/http.h"

#define STREAM_HEARTBEAT_MS 15000

struct streams *streams_new(struct daemon *daemon);
/* Wakes every listener and ends its stream: libmicrohttpd must not be stopped while one is suspended. */
void streams_close(struct streams *streams);
void streams_free(struct streams *streams);
/* Answers the request with the stream. ended: the job's file will not grow any more. */
int stream_job(struct http_request *request, int64_t job, int64_t offset, bool ended,
	struct pkg_error *err);
#endif
