#include "egress/conn.h"

#include "core/file.h"
#include "core/time.h"
#include "egress/log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#define ROWS_MAX 65536 /* of one batch of events, kept until its end */
#define REFUSED_EXTRA 64 /* connections above the cap that still get a 503 instead of a reset */

static struct conn *
conn_of_server(struct egress_watch *watch)
{
	return (struct conn *)(void *)((char *)watch - offsetof(struct conn, server));
}

const struct egress_limits *
conn_limits(const struct conn *conn)
{
	return &conn->rules->limits;
}

void
conn_deadline(struct conn *conn, int64_t ms)
{
	egress_timer_set(conn->proxy->loop, &conn->timer, egress_loop_now(conn->proxy->loop) + ms);
}

void
conn_drop_kept(struct conn *conn)
{
	struct conn_request *request = conn->request;

	free(request->kept_host);
	request->kept_host = NULL;
	egress_rules_put(request->kept_rules);
	request->kept_rules = NULL;
}

void
conn_drop_request(struct conn *conn)
{
	struct conn_request *request = conn->request;

	if (!request)
		return;
	egress_lookup_cancel(request->lookup);
	egress_dial_cancel(&request->dial);
	conn_drop_kept(conn);
	conn->request = NULL;
	egress_request_clear(&request->head);
	pkg_buf_clear(&request->input);
	pkg_buf_clear(&request->reply);
	free(request);
}

static void
write_row(struct egress_proxy *proxy, const struct egress_row *row)
{
	if (proxy->audit_rows >= proxy->rules.current->limits.audit_rows) {
		proxy->suppressed++;
		return;
	}
	proxy->audit_rows++;
	egress_audit_format(row, &proxy->rows);
	if (proxy->rows.len > ROWS_MAX)
		conn_write_rows(proxy);
}

void
conn_write_rows(void *context)
{
	struct egress_proxy *proxy = context;
	pkg_cleanup_error struct pkg_error err = { 0 };

	if (proxy->rows.len == 0)
		return;
	if (pkg_write_all(proxy->audit_fd, proxy->rows.data, proxy->rows.len, &err) < 0)
		egress_log_error(&err, "write the audit rows");
	pkg_buf_truncate(&proxy->rows, 0);
}

static void
audit(struct conn *conn)
{
	char address[POLICY_ADDRESS_TEXT] = "";
	struct egress_row row = {
		.time_ms = conn->accepted,
		.method = conn->method,
		.host = conn->host,
		.port = conn->port,
		.address = conn->address.family ? address : NULL,
		.rule = conn->rule ? conn->rule->text : NULL,
		.reason = conn->reason,
		.verdict = (enum egress_verdict)conn->verdict,
		.status = conn->status,
		.up = (int64_t)conn->up.moved,
		.down = (int64_t)conn->down.moved - conn->framing,
		.duration_ms = egress_loop_now(conn->proxy->loop) - conn->started,
	};

	if (conn->audited)
		return;
	conn->audited = true;
	policy_address_format(&conn->address, address);
	if (row.down < 0)
		row.down = 0;
	write_row(conn->proxy, &row);
}

static void
destroy(struct conn *conn)
{
	struct egress_proxy *proxy = conn->proxy;

	audit(conn);
	conn_drop_request(conn);
	egress_timer_stop(proxy->loop, &conn->timer);
	egress_watch_close(proxy->loop, &conn->client);
	egress_watch_close(proxy->loop, &conn->server);
	egress_pump_clear(&conn->up, proxy->shared);
	egress_pump_clear(&conn->down, proxy->shared);
	egress_rules_put(conn->rules);
	free(conn->method);
	free(conn->host);
	free(conn->reason);
	*conn->link = conn->next;
	if (conn->next)
		conn->next->link = conn->link;
	proxy->open--;
	egress_loop_retire(proxy->loop, conn);
}

static void
set_end(struct conn *conn, enum egress_verdict verdict, const char *reason)
{
	conn->verdict = (uint8_t)verdict;
	if (reason && !conn->reason)
		conn->reason = pkg_xstrdup(reason);
}

void
conn_close(struct conn *conn, enum egress_verdict verdict, const char *reason)
{
	set_end(conn, verdict, reason);
	destroy(conn);
}

bool
conn_moved(struct conn *conn)
{
	struct egress_proxy *proxy = conn->proxy;
	uint64_t moved = conn->up.moved + conn->down.moved;

	proxy->total += moved - conn->counted;
	conn->counted = moved;
	conn->active = egress_loop_now(proxy->loop);
	if (proxy->total <= (uint64_t)conn_limits(conn)->total_bytes)
		return true;
	conn_close(conn, EGRESS_OVERSIZE, "the sandbox has used up its bytes");
	return false;
}

/* As after conn_accept(), but for what is kept: the client, the rules' watch, perhaps the server. */
void
conn_next(struct conn *conn)
{
	struct conn_request *request = conn->request;
	bool server_stays = request->server_keeps && !request->parent;

	audit(conn);
	conn_drop_kept(conn);
	if (server_stays) {
		request->kept_host = pkg_steal_ptr(&conn->host);
		request->kept_port = conn->port;
		request->kept_address = conn->address;
		request->kept_rules = egress_rules_get(conn->rules);
		/* Its closing is all that it may do now. */
		egress_watch_want(conn->proxy->loop, &conn->server, EPOLLRDHUP);
	} else {
		egress_watch_close(conn->proxy->loop, &conn->server);
	}
	egress_request_clear(&request->head);
	pkg_buf_clear(&request->reply);
	memset(&request->scanner, 0, sizeof(request->scanner));
	memset(&request->chunked, 0, sizeof(request->chunked));
	request->body_done = request->responded = request->keep = request->reused = false;
	request->parent = NULL;
	free(conn->method);
	free(conn->host);
	free(conn->reason);
	conn->method = conn->host = conn->reason = NULL;
	conn->rule = NULL;
	conn->address = (struct policy_address){ 0 };
	conn->up.moved = conn->down.moved = conn->counted = 0;
	conn->down.room = UINT64_MAX;
	conn->framing = 0;
	conn->port = conn->status = 0;
	conn->verdict = EGRESS_ABORTED;
	conn->state = CONN_HEAD;
	if (request->input.len) {
		conn_scan_head(conn);
		return;
	}
	egress_watch_want(conn->proxy->loop, &conn->client, EPOLLIN);
	conn_deadline(conn, conn_limits(conn)->keep_ms);
}

static void
linger_step(struct conn *conn)
{
	struct egress_pump *down = &conn->down;
	struct egress_pump_shared *shared = conn->proxy->shared;
	ssize_t n = 1;

	/* Everything owed goes out and the stream is ended before the client's bytes are looked at:
	 * closing with unread bytes sends a reset, and that would destroy the answer on its way. */
	if (!down->shut && egress_pump_finish(down, shared, conn->client.fd) < 0) {
		destroy(conn);
		return;
	}
	/* Now, not when the client chooses to go: whoever waits for the row has its answer already.
	 * */
	if (down->shut)
		audit(conn);
	for (int i = 0; i < 8 && n > 0; i++) {
		n = recv(conn->client.fd, shared->scratch, EGRESS_COPY_BYTES, 0);
		if (n > 0)
			conn->drained += (uint32_t)n;
	}
	/* Without an unsent rest the client has everything once it has closed. With one, its end of
	 * file may be a half-close, and it may still be reading. */
	if ((n == 0 && down->shut) || (n < 0 && errno != EAGAIN && errno != EINTR) ||
		conn->drained > conn_limits(conn)->linger_bytes) {
		destroy(conn);
		return;
	}
	egress_watch_want(conn->proxy->loop, &conn->client,
		(down->shut ? 0 : (uint32_t)EPOLLOUT) | (n == 0 ? 0 : (uint32_t)EPOLLIN));
}

void
conn_linger(struct conn *conn)
{
	conn_drop_request(conn);
	egress_watch_close(conn->proxy->loop, &conn->server);
	egress_pump_clear(&conn->up, conn->proxy->shared);
	conn->state = CONN_LINGER;
	conn_deadline(conn, conn_limits(conn)->linger_ms);
	linger_step(conn);
}

void
conn_answer_raw(struct conn *conn, enum egress_verdict verdict, const void *data, size_t len,
	const char *reason)
{
	set_end(conn, verdict, reason);
	conn->framing += (uint32_t)len;
	egress_pump_push(&conn->down, data, len);
	conn_linger(conn);
}

static const char *
status_text(int status)
{
	switch (status) {
	case 400:
		return "Bad Request";
	case 403:
		/* pip, curl and requests show this line and not the body. */
		return "Forbidden (not allowed by the host list)";
	case 408:
		return "Request Timeout";
	case 413:
		return "Content Too Large";
	case 431:
		return "Request Header Fields Too Large";
	case 501:
		return "Not Implemented";
	case 502:
		return "Bad Gateway";
	case 503:
		return "Service Unavailable";
	case 504:
		return "Gateway Timeout";
	case 505:
		return "HTTP Version Not Supported";
	default:
		return "Error";
	}
}

void
conn_answer(struct conn *conn, int status, enum egress_verdict verdict, const char *format, ...)
{
	pkg_cleanup_buf struct pkg_buf out = { 0 };
	pkg_autofree char *text = NULL;
	pkg_autofree char *body = NULL;
	va_list args;

	va_start(args, format);
	text = pkg_xvasprintf(format, args);
	va_end(args);
	body = pkg_xasprintf("pkg-proxy: %s\n", text);
	conn->status = (uint16_t)status;
	pkg_buf_addf(&out,
		"HTTP/1.1 %d %s\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: "
		"%zu\r\n"
		"Connection: close\r\n\r\n",
		status, status_text(status), strlen(body));
	if (!conn->method || strcmp(conn->method, "HEAD") != 0)
		pkg_buf_add(&out, body);
	conn_answer_raw(conn, verdict, out.data, out.len, text);
}

static void
idle_or_rest(struct conn *conn)
{
	int64_t idle = egress_loop_now(conn->proxy->loop) - conn->active;
	int64_t limit = conn_limits(conn)->idle_ms;

	/* Activity only notes the time; the timer is moved here, once per idle period. */
	if (idle < limit)
		conn_deadline(conn, limit - idle);
	else if (conn->state == CONN_PLAIN && conn->down.moved == 0 &&
		!egress_pump_behind(&conn->down))
		conn_answer(conn, 504, EGRESS_TIMEOUT, "%s:%d sent no response for %lld ms",
			conn->host, conn->port, (long long)limit);
	else
		conn_close(conn, EGRESS_ALLOWED, "idle for too long");
}

static void
expired(struct egress_timer *timer)
{
	struct conn *conn = (struct conn *)(void *)((char *)timer - offsetof(struct conn, timer));
	const struct egress_limits *limits = conn_limits(conn);

	switch ((enum conn_state)conn->state) {
	case CONN_HEAD:
		if (conn->request->input.len == 0)
			conn_close(conn, EGRESS_TIMEOUT, "no request came");
		else
			conn_answer(conn, 408, EGRESS_TIMEOUT,
				"the request head was not complete within %lld ms",
				(long long)limits->head_ms);
		break;
	case CONN_RESOLVE:
	case CONN_DIAL:
	case CONN_PARENT:
		conn_answer(conn, 504, EGRESS_TIMEOUT, "%s:%d could not be %s within %lld ms",
			conn->host, conn->port,
			conn->state == CONN_RESOLVE ? "resolved" : "connected to",
			(long long)limits->dial_ms);
		break;
	case CONN_HELLO:
		conn_close(conn, EGRESS_TIMEOUT, "no TLS ClientHello came");
		break;
	case CONN_TUNNEL:
	case CONN_PLAIN:
		idle_or_rest(conn);
		break;
	case CONN_LINGER:
		destroy(conn);
		break;
	}
}

/* While the client is not read from: has it gone? Its half-close counts, because a client that
 * cannot send a ClientHello or a body has no use for an answer either. */
static bool
client_gone(struct conn *conn, uint32_t events)
{
	if (!(events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)))
		return false;
	if (!(events & (EPOLLHUP | EPOLLERR)) && !conn->request->head.connect) {
		/* A whole plain request and then a half-close: it waits for the response. */
		conn->client_left = true;
		egress_watch_want(conn->proxy->loop, &conn->client, 0);
		return false;
	}
	conn_close(conn, EGRESS_ABORTED, "the client left before the server was reached");
	return true;
}

static void
client_ready(struct egress_watch *watch, uint32_t events)
{
	struct conn *conn = (struct conn *)(void *)watch;

	switch ((enum conn_state)conn->state) {
	case CONN_HEAD:
		conn_read_head(conn);
		break;
	case CONN_RESOLVE:
	case CONN_DIAL:
	case CONN_PARENT:
		(void)client_gone(conn, events);
		break;
	case CONN_HELLO:
		conn_hello_ready(conn, events);
		break;
	case CONN_TUNNEL:
		conn_tunnel_ready(conn, true, events);
		break;
	case CONN_PLAIN:
		conn_plain_ready(conn, true, events);
		break;
	case CONN_LINGER:
		linger_step(conn);
		break;
	}
}

static void
server_ready(struct egress_watch *watch, uint32_t events)
{
	struct conn *conn = conn_of_server(watch);

	switch ((enum conn_state)conn->state) {
	case CONN_PARENT:
		conn_parent_ready(conn, events);
		break;
	case CONN_HELLO:
		/* Only errors are reported here: nothing is read before the hello is judged. */
		conn_close(conn, EGRESS_ALLOWED, "the server closed before the ClientHello");
		break;
	case CONN_TUNNEL:
		conn_tunnel_ready(conn, false, events);
		break;
	case CONN_PLAIN:
		conn_plain_ready(conn, false, events);
		break;
	case CONN_HEAD:
		/* Kept for a next request; whatever it says now, it cannot be trusted with one. */
		egress_watch_close(conn->proxy->loop, &conn->server);
		break;
	case CONN_RESOLVE:
	case CONN_DIAL:
	case CONN_LINGER:
		break;
	}
}

void
conn_accept(struct egress_proxy *proxy, int fd)
{
	struct conn *conn = pkg_xcalloc(1, sizeof(*conn));
	const struct egress_limits *limits;

	egress_watch_init(&conn->client, client_ready);
	egress_watch_init(&conn->server, server_ready);
	conn->client.fd = fd;
	conn->timer.expired = expired;
	conn->proxy = proxy;
	conn->verdict = EGRESS_ABORTED;
	egress_pump_init(&conn->up);
	egress_pump_init(&conn->down);
	conn->rules = egress_rules_get(proxy->rules.current);
	conn->accepted = pkg_time_now_ms();
	conn->started = conn->active = egress_loop_now(proxy->loop);
	conn->next = proxy->conns;
	conn->link = &proxy->conns;
	if (conn->next)
		conn->next->link = &conn->next;
	proxy->conns = conn;
	proxy->open++;
	limits = conn_limits(conn);
	if (proxy->open > limits->connections + REFUSED_EXTRA) {
		conn_close(conn, EGRESS_BUSY, "too many connections");
		return;
	}
	if (proxy->open > limits->connections) {
		conn_answer(conn, 503, EGRESS_BUSY, "more than %lld connections at once",
			(long long)limits->connections);
		return;
	}
	conn->request = pkg_xcalloc(1, sizeof(*conn->request));
	conn_deadline(conn, limits->head_ms);
	/* Most clients send at once, and their head is here already: it is not waited for before it
	 * is looked for. */
	conn_read_head(conn);
}
