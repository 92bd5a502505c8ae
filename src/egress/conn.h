/* egress/conn.h - one connection of the proxy, as its three parts see it.
 * Purpose    conn.c: from accept to close, answers, deadlines. request.c: from the first byte of
 *            the head to a connected server. relay.c: everything after that.
 *
 *            HEAD -> RESOLVE -> DIAL -> PARENT? -> HELLO? -> TUNNEL     (CONNECT)
 *                                               -> PLAIN               (the rest)
 *            PLAIN goes back to HEAD when both sides know where the response ended and the client
 *            keeps its connection: the next request is parsed and judged like the first. The
 *            server's connection serves it too if it is for the same host and port under the same
 *            rules. From anywhere: LINGER (an answer is being delivered), then closed.
 * Ownership  A struct conn belongs to the loop: created by conn_accept(), it frees itself.
 * Errors     None leave it; every function may close the connection, so a caller returns after
 *            calling.
 */
#ifndef EGRESS_CONN_H
#define EGRESS_CONN_H
#include "core/buf.h"
#include "egress/audit.h"
#include "egress/chunked.h"
#include "egress/dial.h"
#include "egress/head.h"
#include "egress/loop.h"
#include "egress/pump.h"
#include "egress/resolve.h"
#include "egress/rules.h"
#include "egress/upstream.h"

struct conn;

struct egress_proxy {
	struct egress_loop *loop;
	struct egress_resolver *resolver;
	struct egress_pump_shared *shared;
	struct egress_rules_file rules;
	struct egress_upstream upstream;
	int audit_fd;
	struct pkg_buf rows; /* of this batch of events, not written yet */
	int64_t audit_rows, suppressed;
	struct conn *conns; /* all of them, in a list */
	int64_t open;
	uint64_t total; /* bytes relayed, all connections */
	struct egress_watch listener, shim, control, signals;
	struct egress_timer pause; /* of accepting, when out of descriptors */
};

enum conn_state {
	CONN_HEAD,
	CONN_RESOLVE,
	CONN_DIAL,
	CONN_PARENT, /* waiting for another proxy's answer to our CONNECT */
	CONN_HELLO,
	CONN_TUNNEL,
	CONN_PLAIN,
	CONN_LINGER,
};

/* Only while it is needed, so that an idle tunnel does not carry it. */
struct conn_request {
	struct pkg_buf input; /* from the client: its head, then what came after it too early */
	struct pkg_buf reply; /* from the server or the parent: a head that is not complete yet */
	struct egress_scanner scanner; /* of input in HEAD, of reply later */
	struct egress_request head;
	struct egress_chunked chunked;
	int64_t body_left; /* of a body with a length */
	bool body_done;
	bool responded; /* the final response head has gone to the client */
	bool keep; /* the client has been told that its connection stays */
	bool server_keeps;
	bool reused; /* sent over a connection that has served before, which may be closing */
	int64_t response_end; /* then: what down.moved will be at its end; -1: the server tells */
	const struct egress_upstream_proxy *parent; /* borrowed from the proxy; NULL: direct */
	struct egress_lookup *lookup;
	struct egress_dial *dial;
	/* The last request of this connection, while its server's connection is kept. */
	char *kept_host; /* owned; NULL: none */
	struct policy_address kept_address;
	struct egress_rules *kept_rules; /* shared */
	uint16_t kept_port;
};

struct conn {
	struct egress_watch client; /* first: a struct egress_watch * is a struct conn * */
	struct egress_watch server;
	struct egress_timer timer;
	struct egress_proxy *proxy;
	struct conn *next, **link;
	struct egress_pump up, down;
	struct conn_request *request; /* owned; NULL in TUNNEL and LINGER */
	struct egress_rules *rules; /* shared; those it was judged by */
	const struct policy_host_rule *rule; /* borrowed from rules */
	char *method, *host, *reason; /* owned; for the audit row */
	struct policy_address address;
	int64_t accepted; /* pkg_time_now_ms() */
	int64_t started; /* loop's clock, like active */
	int64_t active; /* when a byte moved last */
	uint64_t counted; /* of up.moved + down.moved, already in proxy->total */
	uint32_t framing; /* bytes sent to the client that the server did not send */
	uint32_t drained; /* in LINGER */
	uint16_t port, status;
	uint8_t state;
	uint8_t verdict;
	bool client_left; /* PLAIN: its end of file was seen */
	bool audited; /* its row is written, or there is nothing to tell yet */
};

/* conn.c */
void conn_accept(struct egress_proxy *proxy, int fd);
/* Sends a response with that status and one line of text, then closes. */
void conn_answer(struct conn *conn, int status, enum egress_verdict verdict, const char *format,
	...) PKG_PRINTF(4, 5);
/* The same with raw bytes; reason as conn_close(). */
void conn_answer_raw(struct conn *conn, enum egress_verdict verdict, const void *data, size_t len,
	const char *reason);
/* Delivers what is still owed to the client, waits for it to close, closes. */
void conn_linger(struct conn *conn);
/* Closes at once. reason may be NULL; an earlier one stays. */
void conn_close(struct conn *conn, enum egress_verdict verdict, const char *reason);
/* Notes that bytes moved. false: the sandbox's bytes are used up and the connection is closed. */
bool conn_moved(struct conn *conn);
void conn_drop_request(struct conn *conn);
/* The exchange is complete on both sides: waits for the next request. */
void conn_next(struct conn *conn);
void conn_drop_kept(struct conn *conn);
/* Writes the rows of a batch; egress_loop_after() calls it. */
void conn_write_rows(void *proxy);
const struct egress_limits *conn_limits(const struct conn *conn);
void conn_deadline(struct conn *conn, int64_t ms); /* from now */

/* request.c */
void conn_read_head(struct conn *conn);
void conn_scan_head(struct conn *conn); /* what is in input already */
void conn_reach(struct conn *conn); /* the request is allowed */
void conn_parent_ready(struct conn *conn, uint32_t events);
/* Reads more of a head from the server into request->reply. BAD: it ended, or is no head. */
enum egress_scan conn_read_reply(struct conn *conn);
enum egress_scan conn_scan_reply(struct conn *conn);

/* relay.c */
void conn_relay(struct conn *conn); /* the server is connected and has been told what to do */
void conn_hello_ready(struct conn *conn, uint32_t events);
void conn_tunnel_ready(struct conn *conn, bool from_client, uint32_t events);
void conn_plain_ready(struct conn *conn, bool from_client, uint32_t events);
#endif
