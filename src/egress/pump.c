#include "egress/pump.h"

#include "core/mem.h"
#include "egress/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ROUNDS 4 /* reads per event */
#define SMALL 16384 /* a read shorter than this has most likely emptied the socket */

void
egress_pipes_init(struct egress_pipes *pipes, size_t max)
{
	*pipes = (struct egress_pipes){ .max = max };
}

void
egress_pipes_clear(struct egress_pipes *pipes)
{
	while (pipes->idle_count) {
		pipes->idle_count--;
		pkg_close(&pipes->idle[pipes->idle_count][0]);
		pkg_close(&pipes->idle[pipes->idle_count][1]);
	}
	free(pipes->idle);
	pipes->idle = NULL;
}

static bool
take_pipe(struct egress_pipes *pipes, int out[2])
{
	if (pipes->idle_count) {
		memcpy(out, pipes->idle[--pipes->idle_count], sizeof(int[2]));
	} else {
		if (pipes->used >= pipes->max || pipe2(out, O_NONBLOCK | O_CLOEXEC) < 0) {
			out[0] = out[1] = -1;
			return false;
		}
		/* Refused beyond the user's allowance of pipe memory: a small pipe works as well.
		 * */
		(void)fcntl(out[1], F_SETPIPE_SZ, EGRESS_PIPE_BYTES);
	}
	pipes->used++;
	return true;
}

static void
return_pipe(struct egress_pipes *pipes, struct egress_pump *pump)
{
	if (pump->pipe[0] < 0)
		return;
	pipes->used--;
	if (pump->in_pipe == 0) {
		pipes->idle =
			pkg_xrealloc(pipes->idle, pipes->idle_count + 1, sizeof(*pipes->idle));
		memcpy(pipes->idle[pipes->idle_count++], pump->pipe, sizeof(pump->pipe));
		pump->pipe[0] = pump->pipe[1] = -1;
		return;
	}
	pkg_close(&pump->pipe[0]);
	pkg_close(&pump->pipe[1]);
}

struct egress_pump_shared *
egress_pump_shared_new(uint64_t splice_after, size_t pipes)
{
	struct egress_pump_shared *shared = pkg_xmalloc(sizeof(*shared) + EGRESS_COPY_BYTES);

	egress_pipes_init(&shared->pipes, pipes);
	shared->splice_after = splice_after;
	return shared;
}

void
egress_pump_shared_free(struct egress_pump_shared *shared)
{
	if (!shared)
		return;
	egress_pipes_clear(&shared->pipes);
	free(shared);
}

void
egress_pump_init(struct egress_pump *pump)
{
	*pump = (struct egress_pump){ .pipe = { -1, -1 }, .room = UINT64_MAX };
}

void
egress_pump_clear(struct egress_pump *pump, struct egress_pump_shared *shared)
{
	uint64_t moved = pump->moved;

	free(pump->data);
	return_pipe(&shared->pipes, pump);
	egress_pump_init(pump);
	pump->moved = moved;
}

void
egress_pump_push(struct egress_pump *pump, const void *data, size_t len)
{
	if (len == 0)
		return;
	if (pump->off > 0) {
		memmove(pump->data, pump->data + pump->off, pump->len);
		pump->off = 0;
	}
	pump->data = pkg_xrealloc(pump->data, pump->len + len, 1);
	memcpy(pump->data + pump->len, data, len);
	pump->len += (uint32_t)len;
}

static int
blocked(int error)
{
	return error == EAGAIN || error == EWOULDBLOCK || error == EINTR ? 1 : -error;
}

int
egress_pump_flush(struct egress_pump *pump, struct egress_pump_shared *shared, int to)
{
	/* The backlog is older than the pipe's contents: only one of the two is ever in use, except
	 * that a head may have been pushed first. */
	while (pump->len) {
		ssize_t n = send(to, pump->data + pump->off, pump->len, MSG_NOSIGNAL);

		if (n < 0)
			return blocked(errno);
		pump->off += (uint32_t)n;
		pump->len -= (uint32_t)n;
		pump->moved += (uint64_t)n;
	}
	free(pump->data);
	pump->data = NULL;
	pump->off = 0;
	while (pump->in_pipe) {
		ssize_t n = splice(pump->pipe[0], NULL, to, NULL, pump->in_pipe,
			SPLICE_F_MOVE | SPLICE_F_NONBLOCK);

		if (n < 0)
			return blocked(errno);
		pump->in_pipe -= (uint32_t)n;
		pump->moved += (uint64_t)n;
	}
	return_pipe(&shared->pipes, pump);
	return 0;
}

static size_t
at_most(const struct egress_pump *pump, size_t bytes)
{
	return pump->room < bytes ? (size_t)pump->room : bytes;
}

static void
has_read(struct egress_pump *pump, ssize_t n)
{
	if (n > 0 && pump->room != UINT64_MAX)
		pump->room -= (uint64_t)n;
}

/* Both: bytes read, 0 at the end, or a negative errno (-EAGAIN when there is nothing now). */
static ssize_t
move_by_splice(struct egress_pump *pump, int from)
{
	ssize_t n = splice(from, NULL, pump->pipe[1], NULL, at_most(pump, EGRESS_PIPE_BYTES),
		SPLICE_F_MOVE | SPLICE_F_NONBLOCK);

	if (n < 0)
		return -errno;
	pump->in_pipe = (uint32_t)n;
	return n;
}

static ssize_t
move_by_copy(struct egress_pump *pump, struct egress_pump_shared *shared, int from, int to)
{
	ssize_t n = recv(from, shared->scratch, at_most(pump, EGRESS_COPY_BYTES), 0);
	ssize_t sent;

	if (n <= 0)
		return n < 0 ? -errno : 0;
	sent = send(to, shared->scratch, (size_t)n, MSG_NOSIGNAL);
	if (sent < 0 && blocked(errno) < 0)
		return -errno;
	if (sent < 0)
		sent = 0;
	pump->moved += (uint64_t)sent;
	egress_pump_push(pump, shared->scratch + sent, (size_t)(n - sent));
	return n;
}

int
egress_pump_finish(struct egress_pump *pump, struct egress_pump_shared *shared, int to)
{
	int rc = egress_pump_flush(pump, shared, to);

	pump->eof = true;
	if (rc != 0 || pump->shut)
		return rc < 0 ? rc : 0;
	pump->shut = true;
	/* ENOTCONN: the other side has gone completely, so nobody is left to be told. */
	return !pump->last && shutdown(to, SHUT_WR) < 0 && errno != ENOTCONN ? -errno : 0;
}

int
egress_pump_run(struct egress_pump *pump, struct egress_pump_shared *shared, int from, int to)
{
	for (int round = 0; round < ROUNDS; round++) {
		int rc = egress_pump_flush(pump, shared, to);
		ssize_t n;

		if (rc != 0)
			return rc < 0 ? rc : 0;
		if (pump->eof || pump->room == 0)
			break;
		if (pump->moved >= shared->splice_after && take_pipe(&shared->pipes, pump->pipe))
			n = move_by_splice(pump, from);
		else
			n = move_by_copy(pump, shared, from, to);
		if (n < 0) {
			return_pipe(&shared->pipes, pump);
			return blocked((int)-n) < 0 ? (int)n : 0;
		}
		has_read(pump, n);
		if (n == 0)
			pump->eof = true;
		else if (n < SMALL)
			break;
	}
	return pump->eof ? egress_pump_finish(pump, shared, to)
			 : (egress_pump_flush(pump, shared, to) < 0 ? -EPIPE : 0);
}
