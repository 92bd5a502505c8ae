/* cli/sse.h - server-sent events, the reading side (HTML Living Standard, 9.2.6).
 * Purpose    Bytes in, events out, however the bytes are cut. Only "id" and "data" matter to us; comments are
 *            heartbeats.
 * Ownership  The reader is the caller's storage ({ 0 } is empty); events are given.
 * Errors     PKG_E_TOO_LARGE for a line or an event over CLI_SSE_MAX bytes.
 */
#ifndef CLI_SSE_H
#define CLI_SSE_H
#include "core/buf.h"
#include "core/error.h"
#include <stdbool.h>

#define CLI_SSE_MAX (4u * 1024 * 1024)

struct cli_sse {
	struct pkg_buf bytes; /* not yet a whole line */
	size_t at; /* of bytes: what is read already */
	struct pkg_buf data; /* of the event that is coming in */
	char *id; /* the same; NULL: none yet */
	bool skip_newline; /* the last line ended in CR: an LF may follow */
};

struct cli_sse_event {
	char *id; /* NULL: the event carried none */
	char *data;
};
void cli_sse_event_clear(struct cli_sse_event *event);
#define cli_cleanup_sse_event __attribute__((cleanup(cli_sse_event_clear)))

int cli_sse_feed(struct cli_sse *sse, const char *bytes, size_t len, struct pkg_error *err);
/* True and *out when a whole event is there. */
bool cli_sse_next(struct cli_sse *sse, struct cli_sse_event *out);
/* For a new connection: what was half read is forgotten. */
void cli_sse_clear(struct cli_sse *sse);
#endif
