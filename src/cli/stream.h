/* cli/stream.h - the events of one job, as one unbroken sequence.
 * Purpose    Follows GET /v1/jobs/ID/events through restarts of the daemon: every new connection says where the
 *            last one stopped (Last-Event-ID), with growing pauses between attempts. The last event is the result;
 *            where the event log lost it, it comes from the job itself.
 * Ownership  The stream borrows the client. Events are given.
 * Errors     What the daemon answers about the job; PKG_E_UNREACHABLE when no daemon comes back.
 */
#ifndef CLI_STREAM_H
#define CLI_STREAM_H
#include "cli/client.h"

struct cli_event {
	char *text; /* the line as it came */
	struct json_object *json;
	const char *type; /* in json; "" when it has none */
};
void cli_event_clear(struct cli_event *event);
#define cli_cleanup_event __attribute__((cleanup(cli_event_clear)))

struct cli_stream;
struct cli_stream *cli_stream_open(struct cli_client *client, int64_t job);
void cli_stream_free(struct cli_stream *stream);
PKG_DEFINE_CLEANUP(struct cli_stream, cli_stream_free)
/* 1: *out is the next event; 0: timeout_ms (-1: none) has passed or a descriptor of `others` (an array that
 * curl_multi_poll() takes) is ready; -1: it is over. */
int cli_stream_next(struct cli_stream *stream, struct curl_waitfd *others, unsigned count,
	int64_t timeout_ms, struct cli_event *out, struct pkg_error *err);
#endif
