/* From the first byte of a head to a connected server. The order is the policy: the head must be
 * well formed, a rule must allow host and port, every address of a name must be allowed, and only
 * then is anything sent anywhere. While this goes on the client is not read from. */
#include "egress/conn.h"

#include "core/time.h"
#include "egress/log.h"

#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

static void dialled(void *owner, const struct egress_dial_result *result);

static void
dial(struct conn *conn, const struct policy_address *addresses, size_t count, int port)
{
	conn->state = CONN_DIAL;
	egress_dial_start(conn->proxy->loop, addresses, count, port, conn_limits(conn)->attempt_ms,
		dialled, conn, &conn->request->dial);
}

/* The whole name is refused when any of its addresses is: a resolver that an attacker controls
 * could else mix a good address with the one it is after. true: refused. */
static bool
refuse_special(struct conn *conn, const struct egress_addresses *answer)
{
	for (size_t i = 0; i < answer->count; i++) {
		const struct egress_address *item = &answer->items[i];
		char text[POLICY_ADDRESS_TEXT];

		if (item->class == POLICY_ADDRESS_PUBLIC ||
			policy_host_match_address(&conn->rules->list, &item->address, conn->port,
				conn->request->head.connect))
			continue;
		policy_address_format(&item->address, text);
		conn->address = item->address;
		conn_answer(conn, 403, EGRESS_ADDRESS,
			"%s leads to %s (%s), which needs a rule of its own in the host list "
			"'%s'%s%s",
			conn->host, text, policy_address_class_name(item->class), conn->rules->name,
			conn->rules->cure[0] ? ". " : "", conn->rules->cure);
		return true;
	}
	return false;
}

static void
resolved(void *owner, const struct egress_addresses *answer)
{
	struct conn *conn = owner;
	const struct egress_upstream_proxy *parent = conn->request->parent;
	struct policy_address addresses[EGRESS_ADDRESSES];
	size_t count = 0;

	conn->request->lookup = NULL;
	if (answer->error) {
		conn_answer(conn, 502, EGRESS_FAILED, "%s cannot be resolved: %s",
			parent ? parent->host.name : conn->host, gai_strerror(answer->error));
		return;
	}
	/* The parent is where the operator says it is, most often inside the private network. */
	if (!parent && refuse_special(conn, answer))
		return;
	for (size_t i = 0; i < answer->count && count < EGRESS_ADDRESSES; i++)
		addresses[count++] = answer->items[i].address;
	dial(conn, addresses, count, parent ? parent->port : conn->port);
}

/* The connection of the request before, if it leads where this one may go and is as quiet as it should
 * be: bytes that nobody asked for would be taken for the answer. */
static bool
reuse_server(struct conn *conn)
{
	struct conn_request *request = conn->request;
	bool same = conn->server.fd >= 0 && request->kept_host && !request->head.connect &&
		strcmp(request->kept_host, conn->host) == 0 && request->kept_port == conn->port &&
		request->kept_rules == conn->rules;
	char byte;

	if (same && recv(conn->server.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 &&
		errno == EAGAIN) {
		conn->address = request->kept_address;
		return true;
	}
	egress_watch_close(conn->proxy->loop, &conn->server);
	return false;
}

void
conn_reach(struct conn *conn)
{
	struct conn_request *request = conn->request;
	const struct policy_host *host = &request->head.host;
	int port = conn->port;

	request->reused = reuse_server(conn);
	conn_drop_kept(conn);
	if (request->reused) {
		conn_relay(conn);
		return;
	}

	request->parent = egress_upstream_for(
		&conn->proxy->upstream, host, conn->port, request->head.connect);
	if (request->parent) {
		host = &request->parent->host;
		port = request->parent->port;
	}
	conn_deadline(conn, conn_limits(conn)->dial_ms);
	if (host->address.family) {
		/* A literal address was allowed by a rule that names it. */
		dial(conn, &host->address, 1, port);
	} else {
		conn->state = CONN_RESOLVE;
		request->lookup = egress_resolve(conn->proxy->resolver, host->name, resolved, conn);
	}
	/* Last, because it may be connected or even closed already (then it has no descriptor). */
	if (conn->state == CONN_DIAL || conn->state == CONN_RESOLVE)
		egress_watch_want(conn->proxy->loop, &conn->client, EPOLLRDHUP);
}

static void
judge(struct conn *conn)
{
	const struct egress_request *head = &conn->request->head;

	conn->rule = policy_host_match(&conn->rules->list, &head->host, head->port, head->connect);
	if (!conn->rule) {
		conn_answer(conn, 403, EGRESS_DENIED,
			"%s:%d is not allowed: no rule of the host list '%s' matches%s%s",
			conn->host, conn->port, conn->rules->name, conn->rules->cure[0] ? ". " : "",
			conn->rules->cure);
		return;
	}
	if (conn->proxy->total >= (uint64_t)conn_limits(conn)->total_bytes ||
		(head->body == EGRESS_BODY_LENGTH &&
			head->length >
				conn_limits(conn)->total_bytes - (int64_t)conn->proxy->total)) {
		conn_answer(conn, 413, EGRESS_OVERSIZE,
			"this sandbox may move no more than %lld bytes in all",
			(long long)conn_limits(conn)->total_bytes);
		return;
	}
	conn_reach(conn);
}

static void
refresh_rules(struct conn *conn)
{
	struct egress_rules_file *file = &conn->proxy->rules;
	pkg_cleanup_error struct pkg_error err = { 0 };

	if (egress_rules_file_refresh(file, &err) < 0)
		egress_log_error(&err, "the last good host rules stay in force");
	if (conn->rules != file->current) {
		egress_rules_put(conn->rules);
		conn->rules = egress_rules_get(file->current);
	}
}

static void
head_complete(struct conn *conn)
{
	struct conn_request *request = conn->request;
	pkg_cleanup_error struct pkg_error err = { 0 };
	size_t len = request->scanner.seen;

	refresh_rules(conn);
	if (egress_request_parse(request->input.data, len, (size_t)conn_limits(conn)->head_fields,
		    &request->head, &err) < 0) {
		int status = request->head.status;

		conn_answer(conn, status, status == 431 ? EGRESS_OVERSIZE : EGRESS_MALFORMED,
			"malformed request: %s", err.message);
		return;
	}
	pkg_buf_consume(&request->input, len);
	memset(&request->scanner, 0, sizeof(request->scanner));
	conn->method = pkg_xstrdup(request->head.method);
	conn->host = pkg_xstrdup(request->head.host.name);
	conn->port = (uint16_t)request->head.port;
	request->body_left = request->head.length;
	judge(conn);
}

/* The first bytes of a further request. */
static void
begin_again(struct conn *conn)
{
	conn->audited = false;
	conn->accepted = pkg_time_now_ms();
	conn->started = conn->active = egress_loop_now(conn->proxy->loop);
	conn_deadline(conn, conn_limits(conn)->head_ms);
}

void
conn_read_head(struct conn *conn)
{
	struct conn_request *request = conn->request;
	char *scratch = conn->proxy->shared->scratch;
	ssize_t n = recv(conn->client.fd, scratch, EGRESS_COPY_BYTES, 0);

	if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
		egress_watch_want(conn->proxy->loop, &conn->client, EPOLLIN);
		return;
	}
	if (n <= 0) {
		conn_close(conn, EGRESS_ABORTED, "the client left before its request was complete");
		return;
	}
	pkg_buf_add_mem(&request->input, scratch, (size_t)n);
	conn_scan_head(conn);
}

void
conn_scan_head(struct conn *conn)
{
	struct conn_request *request = conn->request;
	const struct egress_limits *limits = conn_limits(conn);
	enum egress_scan scan;

	if (conn->audited)
		begin_again(conn);
	scan = egress_scan(&request->scanner, request->input.data, request->input.len);
	/* The same bound whether the end has come or not. */
	if (request->scanner.seen > (size_t)limits->head_bytes)
		conn_answer(conn, 431, EGRESS_OVERSIZE,
			"the request head is longer than %lld bytes",
			(long long)limits->head_bytes);
	else if (scan == EGRESS_SCAN_BAD)
		conn_answer(conn, 400, EGRESS_MALFORMED,
			"malformed request: lines do not end in CR LF, or the head has a NUL");
	else if (scan == EGRESS_SCAN_DONE)
		head_complete(conn);
	else
		egress_watch_want(conn->proxy->loop, &conn->client, EPOLLIN);
}

static void
tell_parent(struct conn *conn)
{
	pkg_cleanup_buf struct pkg_buf out = { 0 };

	egress_request_write(
		&conn->request->head, true, conn->request->parent->authorization, &out);
	egress_pump_push(&conn->up, out.data, out.len);
	if (egress_pump_flush(&conn->up, conn->proxy->shared, conn->server.fd) < 0) {
		conn_answer(conn, 502, EGRESS_FAILED, "the upstream proxy closed the connection");
		return;
	}
	conn->state = CONN_PARENT;
	egress_watch_want(conn->proxy->loop, &conn->server,
		EPOLLIN | (egress_pump_behind(&conn->up) ? (uint32_t)EPOLLOUT : 0));
}

static void
dialled(void *owner, const struct egress_dial_result *result)
{
	struct conn *conn = owner;

	conn->address = result->address;
	if (!result->watch) {
		conn_answer(conn, 502, EGRESS_FAILED, "%s%s:%d cannot be reached: %s",
			conn->request->parent ? "the upstream proxy for " : "", conn->host,
			conn->port, strerror(result->error));
		return;
	}
	egress_watch_take(conn->proxy->loop, &conn->server, result->watch);
	if (conn->request->parent && conn->request->head.connect)
		tell_parent(conn);
	else
		conn_relay(conn);
}

enum egress_scan
conn_read_reply(struct conn *conn)
{
	struct conn_request *request = conn->request;
	char *scratch = conn->proxy->shared->scratch;
	ssize_t n = recv(conn->server.fd, scratch, EGRESS_COPY_BYTES, 0);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return EGRESS_SCAN_MORE;
	if (n <= 0)
		return EGRESS_SCAN_BAD;
	pkg_buf_add_mem(&request->reply, scratch, (size_t)n);
	return conn_scan_reply(conn);
}

enum egress_scan
conn_scan_reply(struct conn *conn)
{
	struct conn_request *request = conn->request;
	enum egress_scan scan =
		egress_scan(&request->scanner, request->reply.data, request->reply.len);

	return request->scanner.seen > EGRESS_RESPONSE_HEAD_BYTES ? EGRESS_SCAN_BAD : scan;
}

/* Our CONNECT is answered. Bytes of the server may follow the head at once; they stay in reply. */
static void
parent_answered(struct conn *conn)
{
	struct conn_request *request = conn->request;
	struct egress_response response = { 0 };
	pkg_cleanup_error struct pkg_error err = { 0 };
	int rc = egress_response_parse(request->reply.data, request->scanner.seen,
		(size_t)conn_limits(conn)->head_fields, true, &response, &err);
	int status = response.status;

	egress_response_clear(&response);
	pkg_buf_consume(&request->reply, request->scanner.seen);
	memset(&request->scanner, 0, sizeof(request->scanner));
	if (rc < 0)
		conn_answer(conn, 502, EGRESS_FAILED, "the upstream proxy: %s", err.message);
	else if (status < 200 || status > 299)
		conn_answer(conn, 502, EGRESS_FAILED,
			"the upstream proxy refused %s:%d with status %d", conn->host, conn->port,
			status);
	else
		conn_relay(conn);
}

void
conn_parent_ready(struct conn *conn, uint32_t events)
{
	enum egress_scan scan = EGRESS_SCAN_MORE;

	if (egress_pump_flush(&conn->up, conn->proxy->shared, conn->server.fd) < 0)
		scan = EGRESS_SCAN_BAD;
	else if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		scan = conn_read_reply(conn);
	egress_watch_want(conn->proxy->loop, &conn->server,
		EPOLLIN | (egress_pump_behind(&conn->up) ? (uint32_t)EPOLLOUT : 0));
	if (scan == EGRESS_SCAN_BAD)
		conn_answer(conn, 502, EGRESS_FAILED, "the upstream proxy gave no valid answer");
	else if (scan == EGRESS_SCAN_DONE)
		parent_answered(conn);
}
