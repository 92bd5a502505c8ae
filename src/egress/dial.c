#include "egress/dial.h"

#include "egress/limits.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

struct attempt {
	struct egress_watch watch; /* first */
	struct egress_dial *dial;
};

struct egress_dial {
	struct egress_loop *loop;
	struct egress_dial **slot;
	egress_dialled_fn *fn;
	void *owner;
	struct egress_timer pause;
	int64_t attempt_ms;
	int port;
	int error; /* of the last failure */
	struct policy_address failed;
	size_t count, started, running;
	struct policy_address addresses[EGRESS_ADDRESSES];
	struct attempt attempts[EGRESS_ADDRESSES];
};

/* The preferred family first, then the other, and so on; order within a family is kept. */
static size_t
interleave(const struct policy_address *in, size_t count, struct policy_address *out)
{
	size_t next[2] = { 0, 0 }, used = 0;

	for (unsigned turn = 0; used < EGRESS_ADDRESSES; turn++) {
		size_t *at = &next[turn % 2];
		bool first = turn % 2 == 0;

		while (*at < count && (in[*at].family == in[0].family) != first)
			(*at)++;
		if (*at < count)
			out[used++] = in[(*at)++];
		else if (next[!(turn % 2)] >= count)
			break;
	}
	return used;
}

static void
close_all(struct egress_dial *dial)
{
	egress_timer_stop(dial->loop, &dial->pause);
	for (size_t i = 0; i < dial->started; i++)
		egress_watch_close(dial->loop, &dial->attempts[i].watch);
	*dial->slot = NULL;
	egress_loop_retire(dial->loop, dial);
}

static void
end(struct egress_dial *dial, struct egress_watch *watch, const struct policy_address *address)
{
	const struct egress_dial_result result = { watch, dial->error, *address };
	struct egress_watch winner;

	/* The others go first: while fn runs, at most the one connection is open. */
	egress_watch_init(&winner, NULL);
	if (watch) {
		winner = *watch;
		watch->fd = -1;
	}
	close_all(dial);
	if (watch)
		*watch = winner;
	dial->fn(dial->owner, &result);
	if (watch)
		egress_watch_close(dial->loop, watch);
}

static void
won(struct egress_dial *dial, struct attempt *attempt)
{
	end(dial, &attempt->watch, &dial->addresses[attempt - dial->attempts]);
}

static void
lost(struct egress_dial *dial, struct attempt *attempt, int error)
{
	egress_watch_close(dial->loop, &attempt->watch);
	dial->running--;
	dial->error = error;
	dial->failed = dial->addresses[attempt - dial->attempts];
}

/* 1: connected, 0: under way, -1: failed. */
static int
begin(struct egress_dial *dial, struct attempt *attempt, const struct policy_address *address)
{
	struct sockaddr_storage sa;
	socklen_t len = policy_address_to_sockaddr(address, dial->port, &sa);
	const int one = 1;

	dial->running++;
	attempt->watch.fd = socket(address->family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (attempt->watch.fd < 0) {
		lost(dial, attempt, errno);
		return -1;
	}
	(void)setsockopt(attempt->watch.fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (connect(attempt->watch.fd, (struct sockaddr *)&sa, len) == 0)
		return 1;
	/* Over loopback the handshake is done by the time the kernel says that it has begun; asking
	 * again is cheaper than waiting to be told. */
	if (errno == EINPROGRESS && policy_address_class(address) == POLICY_ADDRESS_LOOPBACK) {
		if (connect(attempt->watch.fd, (struct sockaddr *)&sa, len) == 0)
			return 1;
		if (errno == EALREADY)
			errno = EINPROGRESS;
	}
	if (errno != EINPROGRESS) {
		lost(dial, attempt, errno);
		return -1;
	}
	egress_watch_want(dial->loop, &attempt->watch, EPOLLOUT);
	return 0;
}

static void attempt_ready(struct egress_watch *watch, uint32_t events);

/* Starts addresses until one is under way; ends the dial when none is left. */
static void
next(struct egress_dial *dial)
{
	while (dial->started < dial->count) {
		struct attempt *attempt = &dial->attempts[dial->started];
		int rc;

		egress_watch_init(&attempt->watch, attempt_ready);
		attempt->dial = dial;
		rc = begin(dial, attempt, &dial->addresses[dial->started++]);
		if (rc > 0) {
			won(dial, attempt);
			return;
		}
		if (rc == 0) {
			if (dial->started < dial->count)
				egress_timer_set(dial->loop, &dial->pause,
					egress_loop_now(dial->loop) + dial->attempt_ms);
			return;
		}
	}
	if (dial->running == 0)
		end(dial, NULL, &dial->failed);
}

static void
attempt_ready(struct egress_watch *watch, uint32_t events)
{
	struct attempt *attempt = (struct attempt *)(void *)watch;
	struct egress_dial *dial = attempt->dial;
	socklen_t len = sizeof(int);
	int error = 0;

	(void)events;
	if (getsockopt(watch->fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
		error = errno;
	if (error == 0) {
		won(dial, attempt);
		return;
	}
	lost(dial, attempt, error);
	egress_timer_stop(dial->loop, &dial->pause);
	next(dial);
}

static void
pause_over(struct egress_timer *timer)
{
	next((struct egress_dial *)(void *)((char *)timer - offsetof(struct egress_dial, pause)));
}

void
egress_dial_start(struct egress_loop *loop, const struct policy_address *addresses, size_t count,
	int port, int64_t attempt_ms, egress_dialled_fn *fn, void *owner, struct egress_dial **slot)
{
	struct egress_dial *dial = pkg_xcalloc(1, sizeof(*dial));

	dial->loop = loop;
	dial->slot = slot;
	dial->fn = fn;
	dial->owner = owner;
	dial->pause.expired = pause_over;
	dial->attempt_ms = attempt_ms;
	dial->port = port;
	dial->error = EADDRNOTAVAIL;
	dial->count = count ? interleave(addresses, count, dial->addresses) : 0;
	*slot = dial;
	next(dial);
}

void
egress_dial_cancel(struct egress_dial **slot)
{
	if (*slot)
		close_all(*slot);
}
