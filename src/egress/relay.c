/* Everything after the server is connected: the ClientHello that must name the host, the two pumps
 * of a tunnel, and plain HTTP, where the request's body is followed to its end and the response's
 * head is rewritten. */
#include "egress/conn.h"

#include "egress/hello.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#define ESTABLISHED "HTTP/1.1 200 Connection Established\r\n\r\n"

static void tunnel_step(struct conn *conn);
static void plain_step(struct conn *conn);
static void judge_hello(struct conn *conn);

static bool
flush_both(struct conn *conn)
{
	struct egress_pump_shared *shared = conn->proxy->shared;

	return egress_pump_flush(&conn->down, shared, conn->client.fd) >= 0 &&
		egress_pump_flush(&conn->up, shared, conn->server.fd) >= 0;
}

static void
start_tunnel(struct conn *conn)
{
	egress_pump_push(&conn->up, pkg_buf_str(&conn->request->input), conn->request->input.len);
	conn_drop_request(conn);
	conn->state = CONN_TUNNEL;
	conn->verdict = EGRESS_ALLOWED;
	conn->active = egress_loop_now(conn->proxy->loop);
	conn_deadline(conn, conn_limits(conn)->idle_ms);
	if (!flush_both(conn)) {
		conn_close(conn, EGRESS_ALLOWED, "reset");
		return;
	}
	tunnel_step(conn);
}

static void
start_connect(struct conn *conn)
{
	struct pkg_buf *reply = &conn->request->reply;

	conn->status = 200;
	conn->framing += sizeof(ESTABLISHED) - 1;
	egress_pump_push(&conn->down, ESTABLISHED, sizeof(ESTABLISHED) - 1);
	egress_pump_push(&conn->down, pkg_buf_str(reply), reply->len);
	if (conn->rule->tls == POLICY_TLS_ANY) {
		start_tunnel(conn);
		return;
	}
	if (egress_pump_flush(&conn->down, conn->proxy->shared, conn->client.fd) < 0) {
		conn_close(conn, EGRESS_ABORTED, "the client left before the tunnel was open");
		return;
	}
	conn->state = CONN_HELLO;
	conn_deadline(conn, conn_limits(conn)->hello_ms);
	egress_watch_want(conn->proxy->loop, &conn->server, 0);
	egress_watch_want(conn->proxy->loop, &conn->client,
		EPOLLIN | (egress_pump_behind(&conn->down) ? (uint32_t)EPOLLOUT : 0));
	if (conn->request->input.len)
		judge_hello(conn);
}

static void
start_plain(struct conn *conn)
{
	struct conn_request *request = conn->request;
	const struct egress_upstream_proxy *parent = request->parent;
	pkg_cleanup_buf struct pkg_buf out = { 0 };

	request->head.keep = request->head.persistent && parent == NULL;
	egress_request_write(
		&request->head, parent != NULL, parent ? parent->authorization : NULL, &out);
	egress_pump_push(&conn->up, out.data, out.len);
	request->body_done = request->head.body == EGRESS_BODY_NONE || request->head.length == 0;
	if (request->head.body == EGRESS_BODY_CHUNKED)
		request->body_done = false;
	conn->state = CONN_PLAIN;
	conn->verdict = EGRESS_ALLOWED;
	conn->active = egress_loop_now(conn->proxy->loop);
	conn_deadline(conn, conn_limits(conn)->idle_ms);
	plain_step(conn);
}

void
conn_relay(struct conn *conn)
{
	if (conn->request->head.connect)
		start_connect(conn);
	else
		start_plain(conn);
}

/* ---- the ClientHello --------------------------------------------------------------------------
 * */

static void
refuse_hello(struct conn *conn, enum egress_verdict verdict, const char *reason)
{
	/* fatal, access_denied: TLS clients report it; what else the client speaks, it gets
	 * nothing. */
	static const unsigned char alert[] = { 21, 3, 3, 0, 2, 2, 49 };

	conn_answer_raw(
		conn, verdict, alert, verdict == EGRESS_NOT_TLS ? 0 : sizeof(alert), reason);
}

static bool
name_is_right(const struct conn *conn, const struct egress_hello *hello)
{
	if (hello->ech)
		return conn->rule->tls == POLICY_TLS_NO_SNI;
	if (hello->name[0] == '\0')
		return conn->rule->tls == POLICY_TLS_NO_SNI ||
			conn->request->head.host.address.family != 0;
	return strcmp(hello->name, conn->host) == 0;
}

static void
judge_hello(struct conn *conn)
{
	const struct pkg_buf *input = &conn->request->input;
	pkg_autofree char *reason = NULL;
	struct egress_hello hello;

	switch (egress_hello_read((const unsigned char *)input->data, input->len, &hello)) {
	case EGRESS_HELLO_MORE:
		if (input->len > (size_t)conn_limits(conn)->hello_bytes)
			refuse_hello(conn, EGRESS_NOT_TLS, "the ClientHello is too long");
		return;
	case EGRESS_HELLO_NOT_TLS:
		refuse_hello(conn, EGRESS_NOT_TLS, "the tunnel does not begin with TLS");
		return;
	case EGRESS_HELLO_BAD:
		refuse_hello(conn, EGRESS_TLS_MISMATCH, "the ClientHello is malformed");
		return;
	case EGRESS_HELLO_OK:
		break;
	}
	if (name_is_right(conn, &hello)) {
		start_tunnel(conn);
		return;
	}
	if (hello.ech)
		reason = pkg_xstrdup("the TLS server name is encrypted");
	else if (hello.name[0])
		reason = pkg_xasprintf("the TLS server name is %s", hello.name);
	refuse_hello(conn, EGRESS_TLS_MISMATCH, reason ? reason : "there is no TLS server name");
}

void
conn_hello_ready(struct conn *conn, uint32_t events)
{
	char *scratch = conn->proxy->shared->scratch;
	ssize_t n;

	if (egress_pump_flush(&conn->down, conn->proxy->shared, conn->client.fd) < 0) {
		conn_close(conn, EGRESS_ABORTED, "the client left before the tunnel was open");
		return;
	}
	egress_watch_want(conn->proxy->loop, &conn->client,
		EPOLLIN | (egress_pump_behind(&conn->down) ? (uint32_t)EPOLLOUT : 0));
	if (!(events & (EPOLLIN | EPOLLHUP | EPOLLERR)))
		return;
	n = recv(conn->client.fd, scratch, EGRESS_COPY_BYTES, 0);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		conn_close(conn, EGRESS_ABORTED, "the client left before its ClientHello");
		return;
	}
	pkg_buf_add_mem(&conn->request->input, scratch, (size_t)n);
	judge_hello(conn);
}

/* ---- tunnels ----------------------------------------------------------------------------------
 * */

static void
want(struct conn *conn, struct egress_watch *watch, const struct egress_pump *in,
	const struct egress_pump *out)
{
	uint32_t events = 0;

	if (egress_pump_behind(out))
		events |= EPOLLOUT;
	if (!in->eof && !egress_pump_behind(in))
		events |= EPOLLIN;
	/* Both its directions are over: it would report EPOLLHUP for ever. */
	if (in->eof && out->shut)
		events = EGRESS_UNWATCHED;
	egress_watch_want(conn->proxy->loop, watch, events);
}

static void
tunnel_step(struct conn *conn)
{
	if (!conn_moved(conn))
		return;
	if (conn->up.shut && conn->down.shut) {
		conn_close(conn, EGRESS_ALLOWED, NULL);
		return;
	}
	want(conn, &conn->client, &conn->up, &conn->down);
	want(conn, &conn->server, &conn->down, &conn->up);
}

void
conn_tunnel_ready(struct conn *conn, bool from_client, uint32_t events)
{
	struct egress_pump_shared *shared = conn->proxy->shared;
	struct egress_watch *self = from_client ? &conn->client : &conn->server;
	struct egress_watch *peer = from_client ? &conn->server : &conn->client;
	struct egress_pump *in = from_client ? &conn->up : &conn->down;
	struct egress_pump *out = from_client ? &conn->down : &conn->up;
	int rc = 0;

	in->last = out->shut;
	out->last = in->shut;
	/* Out before in: it makes room, and after a reset what was received is still readable. */
	if (egress_pump_behind(out))
		rc = out->eof ? egress_pump_finish(out, shared, self->fd)
			      : egress_pump_run(out, shared, peer->fd, self->fd);
	if (rc >= 0 && events & (EPOLLIN | EPOLLHUP | EPOLLERR)) {
		if (!in->eof && !egress_pump_behind(in))
			rc = egress_pump_run(in, shared, self->fd, peer->fd);
		else if (events & EPOLLERR)
			rc = -ECONNRESET;
	}
	if (rc < 0)
		conn_close(conn, EGRESS_ALLOWED, from_client ? "reset" : "reset by the server");
	else
		tunnel_step(conn);
}

/* ---- plain HTTP -------------------------------------------------------------------------------
 * */

/* How much of data belongs to the request's body. -1: it is malformed. */
static ssize_t
body_part(struct conn_request *request, const char *data, size_t len)
{
	enum egress_chunked_result result;
	size_t used = 0;

	if (request->body_done)
		return 0;
	if (request->head.body == EGRESS_BODY_LENGTH) {
		used = (int64_t)len < request->body_left ? len : (size_t)request->body_left;
		request->body_left -= (int64_t)used;
		request->body_done = request->body_left == 0;
		return (ssize_t)used;
	}
	result = egress_chunked_feed(&request->chunked, data, len, &used);
	request->body_done = result == EGRESS_CHUNKED_DONE;
	return result == EGRESS_CHUNKED_BAD ? -1 : (ssize_t)used;
}

/* Moves a part of the request's body. Bytes after its end stay in input: they are a second request,
 * and nobody has judged it. false: the connection is closed. */
static bool
move_body(struct conn *conn)
{
	struct conn_request *request = conn->request;
	struct egress_pump *up = &conn->up;
	char *data = conn->proxy->shared->scratch;
	ssize_t n, used;

	if (request->body_done || up->eof || egress_pump_behind(up))
		return true;
	if (request->input.len) {
		/* Came with the head. */
		n = (ssize_t)request->input.len;
		used = body_part(request, request->input.data, request->input.len);
		if (used > 0) {
			egress_pump_push(up, request->input.data, (size_t)used);
			pkg_buf_consume(&request->input, (size_t)used);
		}
	} else {
		n = recv(conn->client.fd, data, EGRESS_COPY_BYTES, 0);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return true;
		used = n > 0 ? body_part(request, data, (size_t)n) : 0;
		if (used > 0)
			egress_pump_push(up, data, (size_t)used);
		if (used >= 0 && used < n)
			pkg_buf_add_mem(&request->input, data + used, (size_t)(n - used));
	}
	if (n <= 0) {
		conn_close(conn, EGRESS_ABORTED, "the client left before its body was complete");
		return false;
	}
	if (used < 0) {
		if (conn->down.moved == 0)
			conn_answer(conn, 400, EGRESS_MALFORMED, "malformed chunked body");
		else
			conn_close(conn, EGRESS_MALFORMED, "malformed chunked body");
		return false;
	}
	return true;
}

/* What came with the head. Not a byte more than its length is read: it would be an answer to a request
 * that has not been made. */
static void
response_body(struct conn *conn, int64_t length)
{
	struct conn_request *request = conn->request;
	size_t len = request->reply.len;

	if (length >= 0 && (uint64_t)length < len) {
		len = (size_t)length;
		request->server_keeps = false;
	}
	egress_pump_push(&conn->down, pkg_buf_str(&request->reply), len);
	conn->down.room = length < 0 ? UINT64_MAX : (uint64_t)length - len;
	pkg_buf_clear(&request->reply);
}

/* The response's head is complete in request->reply. false: the connection is closed. */
static bool
response_head(struct conn *conn)
{
	struct conn_request *request = conn->request;
	struct egress_response response = { 0 };
	pkg_cleanup_error struct pkg_error err = { 0 };
	size_t len = request->scanner.seen;

	response.keep = request->head.persistent;
	if (egress_response_parse(request->reply.data, len, SIZE_MAX,
		    strcmp(request->head.method, "HEAD") == 0, &response, &err) < 0) {
		egress_response_clear(&response);
		conn_answer(
			conn, 502, EGRESS_FAILED, "%s:%d: %s", conn->host, conn->port, err.message);
		return false;
	}
	conn->status = (uint16_t)response.status;
	egress_pump_push(&conn->down, response.head.data, response.head.len);
	request->responded = !response.interim;
	request->keep = response.keep;
	request->server_keeps = response.persistent;
	request->response_end = response.length < 0
		? -1
		: (int64_t)(conn->down.moved + conn->down.len) + response.length;
	pkg_buf_consume(&request->reply, len);
	memset(&request->scanner, 0, sizeof(request->scanner));
	if (request->responded)
		response_body(conn, response.length);
	egress_response_clear(&response);
	return true;
}

/* A server may close a kept connection while a request is on its way. RFC 9110 section 9.2.2: what has no
 * effect may be asked again. */
static bool
retry(struct conn *conn)
{
	struct conn_request *request = conn->request;

	if (!request->reused || request->reply.len > 0 || conn->down.moved ||
		egress_pump_behind(&conn->down) || request->head.body != EGRESS_BODY_NONE ||
		(strcmp(request->head.method, "GET") != 0 &&
			strcmp(request->head.method, "HEAD") != 0))
		return false;
	egress_watch_close(conn->proxy->loop, &conn->server);
	egress_pump_clear(&conn->up, conn->proxy->shared);
	conn_reach(conn);
	return true;
}

/* Reads until the final head has come. false: the connection is closed, or is made anew. */
static bool
read_response(struct conn *conn)
{
	enum egress_scan scan = conn_read_reply(conn);

	while (scan == EGRESS_SCAN_DONE) {
		if (!response_head(conn))
			return false;
		if (conn->request->responded)
			return true;
		scan = conn_scan_reply(conn);
	}
	if (scan == EGRESS_SCAN_MORE)
		return true;
	if (retry(conn))
		return false;
	if (conn->down.moved || egress_pump_behind(&conn->down))
		conn_close(conn, EGRESS_FAILED, "the server's response broke off");
	else
		conn_answer(conn, 502, EGRESS_FAILED,
			"%s:%d closed the connection without a valid response", conn->host,
			conn->port);
	return false;
}

/* A server may answer before it has the whole body and close for reading: the rest of the body is
 * dropped then, and its answer still read. */
static void
flush_up(struct conn *conn)
{
	if (conn->up.eof || egress_pump_flush(&conn->up, conn->proxy->shared, conn->server.fd) >= 0)
		return;
	egress_pump_clear(&conn->up, conn->proxy->shared);
	conn->up.eof = true;
}

/* The whole response has been read. */
static bool
is_complete(const struct conn *conn)
{
	const struct egress_pump *down = &conn->down;
	int64_t have = (int64_t)(down->moved + down->len + down->in_pipe);

	return conn->request->responded && conn->request->response_end >= 0 &&
		have >= conn->request->response_end;
}

/* Whether the client's connection goes on after this exchange. */
static bool
stays(const struct conn *conn)
{
	const struct conn_request *request = conn->request;

	return request->keep && request->body_done && !conn->client_left && !conn->up.eof &&
		!conn->down.eof && !egress_pump_behind(&conn->up);
}

/* A server that keeps the connection open although it was told not to would keep ours open, too.
 * false: the connection is closed. */
static bool
finish_response(struct conn *conn)
{
	struct egress_pump *down = &conn->down;

	if (!is_complete(conn) || stays(conn))
		return true;
	if (egress_pump_finish(down, conn->proxy->shared, conn->client.fd) >= 0)
		return true;
	conn_close(conn, EGRESS_ALLOWED, "reset");
	return false;
}

static void
plain_step(struct conn *conn)
{
	struct conn_request *request = conn->request;
	uint32_t client = 0, server = 0;

	flush_up(conn);
	if (request->input.len && !request->body_done && !egress_pump_behind(&conn->up)) {
		if (!move_body(conn))
			return;
		flush_up(conn);
	}
	if (!finish_response(conn) || !conn_moved(conn))
		return;
	if (is_complete(conn) && stays(conn) && !egress_pump_behind(&conn->down)) {
		conn_next(conn);
		return;
	}
	if (conn->down.shut) {
		/* The response is complete; what else the client sent is drained, not answered. */
		conn_linger(conn);
		return;
	}
	if (egress_pump_behind(&conn->down))
		client |= EPOLLOUT;
	if (!request->body_done && !conn->up.eof && !egress_pump_behind(&conn->up))
		client |= EPOLLIN;
	else if (!conn->client_left)
		client |= EPOLLRDHUP;
	if (egress_pump_behind(&conn->up) && !conn->up.eof)
		server |= EPOLLOUT;
	if (!conn->down.eof && !egress_pump_behind(&conn->down))
		server |= EPOLLIN;
	if (conn->down.eof)
		server = EGRESS_UNWATCHED;
	egress_watch_want(conn->proxy->loop, &conn->client, client);
	egress_watch_want(conn->proxy->loop, &conn->server, server);
}

static int
plain_from_client(struct conn *conn, uint32_t events)
{
	struct egress_pump *down = &conn->down;
	struct egress_pump_shared *shared = conn->proxy->shared;
	int rc = 0;

	if (events & (EPOLLERR | EPOLLHUP))
		return -ECONNRESET;
	if (events & EPOLLRDHUP)
		conn->client_left = true;
	if (egress_pump_behind(down)) {
		rc = down->eof ? egress_pump_finish(down, shared, conn->client.fd)
			       : egress_pump_flush(down, shared, conn->client.fd);
		if (rc < 0)
			return rc;
	}
	return 0;
}

void
conn_plain_ready(struct conn *conn, bool from_client, uint32_t events)
{
	struct egress_pump_shared *shared = conn->proxy->shared;
	struct egress_pump *down = &conn->down;
	int rc = 0;

	if (from_client) {
		rc = plain_from_client(conn, events);
		if (rc == 0 && events & EPOLLIN && !move_body(conn))
			return;
	} else if (events & (EPOLLIN | EPOLLHUP | EPOLLERR) && !down->eof &&
		!egress_pump_behind(down)) {
		if (!conn->request->responded) {
			if (!read_response(conn))
				return;
			rc = egress_pump_flush(down, shared, conn->client.fd);
		} else {
			rc = egress_pump_run(down, shared, conn->server.fd, conn->client.fd);
		}
	} else if (events & EPOLLERR) {
		rc = -ECONNRESET;
	}
	if (rc < 0)
		conn_close(conn, EGRESS_ALLOWED, from_client ? "reset" : "reset by the server");
	else
		plain_step(conn);
}
