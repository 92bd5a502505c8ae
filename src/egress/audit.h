/* egress/audit.h - one line of JSON per tunnel and per plain request.
 * Purpose    Written by pkg-proxy (one write(2) with O_APPEND for the rows of one batch of events, so
 *            that several may share a file and a kill leaves whole lines), read back by the worker:
 *            which host was refused decides what a failed install says.
 * Ownership  A row that is written is borrowed; rows that are read own their strings.
 * Errors     pkg_error_errno() for the file. Lines that are no rows (a torn last one) are skipped.
 */
#ifndef EGRESS_AUDIT_H
#define EGRESS_AUDIT_H
#include "core/buf.h"
#include "core/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EGRESS_VERDICTS(X)                                                                         \
	/* X(symbol, name): what became of the connection */                                       \
	X(ALLOWED, "allowed") /* relayed; reason: how it ended, unless by end of file */           \
	X(DENIED, "denied") /* 403: no rule */                                                     \
	X(ADDRESS, "address-refused") /* 403: it leads where only an address rule may */           \
	X(TLS_MISMATCH, "tls-mismatch") /* the ClientHello names or hides another host */          \
	X(NOT_TLS, "not-tls") /* no ClientHello where one has to be */                             \
	X(FAILED, "failed") /* 502 */                                                              \
	X(TIMEOUT, "timeout") /* 408, 504, or no ClientHello in time */                            \
	X(OVERSIZE, "oversize") /* 413, 431 */                                                     \
	X(MALFORMED, "malformed") /* 400, 501, 505 */                                              \
	X(BUSY, "busy") /* 503 */                                                                  \
	X(ABORTED, "aborted") /* the client left before an answer */                               \
	X(SUPPRESSED, "suppressed") /* not one connection but `up` of them, beyond the row limit */

enum egress_verdict {
#define EGRESS_VERDICT_ENUM(symbol, name) EGRESS_##symbol,
	EGRESS_VERDICTS(EGRESS_VERDICT_ENUM)
#undef EGRESS_VERDICT_ENUM
};
const char *egress_verdict_name(enum egress_verdict verdict);

struct egress_row {
	int64_t time_ms; /* when the connection came in, since 1970 */
	char *method; /* NULL until a head was understood, like host and port 0 */
	char *host;
	int port;
	char *address; /* connected to; NULL when it never came to that */
	char *rule; /* as written in the list */
	char *reason; /* NULL, or a sentence */
	enum egress_verdict verdict;
	int status; /* sent to the client; 0: none */
	int64_t up, down; /* bytes relayed */
	int64_t duration_ms;
};

/* O_APPEND, made with mode 0600. -1 on failure. */
int egress_audit_open(const char *path, struct pkg_error *err);
/* Appends the row's line, its newline included. */
void egress_audit_format(const struct egress_row *row, struct pkg_buf *out);
int egress_audit_write(int fd, const struct egress_row *row, struct pkg_error *err);

/* For the audit trail and the API. Given. */
struct json_object;
struct json_object *egress_row_to_json(const struct egress_row *row);

struct egress_rows {
	struct egress_row *items; /* owned */
	size_t count;
};
/* Appends the rows of the file from that byte on; a file that is not there has none. */
int egress_audit_read(
	const char *path, int64_t start, struct egress_rows *out, struct pkg_error *err);
void egress_rows_clear(struct egress_rows *rows);
#define pkg_cleanup_egress_rows __attribute__((cleanup(egress_rows_clear)))
#endif
