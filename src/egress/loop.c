#include "egress/loop.h"

#include "core/time.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#define BATCH 256

struct egress_loop {
	int epoll;
	bool stopping;
	int64_t now;
	struct egress_timer **heap; /* [1..timers]: the earliest first */
	size_t timers, timers_cap;
	void **retired;
	size_t retired_count, retired_cap;
	void (*after)(void *context);
	void *context;
};

struct egress_loop *
egress_loop_new(struct pkg_error *err)
{
	struct egress_loop *loop = pkg_xcalloc(1, sizeof(*loop));

	loop->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (loop->epoll < 0) {
		pkg_error_errno(err, errno, "create an epoll instance");
		free(loop);
		return NULL;
	}
	loop->now = pkg_time_mono_ms();
	return loop;
}

static void
free_retired(struct egress_loop *loop)
{
	while (loop->retired_count)
		free(loop->retired[--loop->retired_count]);
}

void
egress_loop_free(struct egress_loop *loop)
{
	if (!loop)
		return;
	free_retired(loop);
	free(loop->retired);
	free(loop->heap);
	pkg_close(&loop->epoll);
	free(loop);
}

int64_t
egress_loop_now(const struct egress_loop *loop)
{
	return loop->now;
}

void
egress_watch_init(struct egress_watch *watch, egress_ready_fn *ready)
{
	*watch = (struct egress_watch){ ready, -1, EGRESS_UNWATCHED };
}

void
egress_watch_want(struct egress_loop *loop, struct egress_watch *watch, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.ptr = watch };
	int operation = EPOLL_CTL_MOD;

	if (watch->fd < 0 || watch->events == events)
		return;
	if (events == EGRESS_UNWATCHED)
		operation = EPOLL_CTL_DEL;
	else if (watch->events == EGRESS_UNWATCHED)
		operation = EPOLL_CTL_ADD;
	/* ENOMEM and ENOSPC (fs.epoll.max_user_watches) are left: the connection then waits for its
	 * deadline and is closed by it. */
	if (epoll_ctl(loop->epoll, operation, watch->fd, &event) == 0)
		watch->events = events;
}

void
egress_watch_close(struct egress_loop *loop, struct egress_watch *watch)
{
	/* close(2) takes it out of the epoll set: no descriptor here is ever duplicated. */
	(void)loop;
	pkg_close(&watch->fd);
	watch->events = EGRESS_UNWATCHED;
}

void
egress_watch_take(struct egress_loop *loop, struct egress_watch *to, struct egress_watch *from)
{
	struct epoll_event event = { .data.ptr = to };

	to->fd = from->fd;
	to->events = from->events;
	from->fd = -1;
	from->events = EGRESS_UNWATCHED;
	/* No events for now, which is what its new owner begins with. Fails only for a descriptor
	 * that is not registered, and then there is nothing to hand over. */
	if (to->events != EGRESS_UNWATCHED &&
		epoll_ctl(loop->epoll, EPOLL_CTL_MOD, to->fd, &event) == 0)
		to->events = 0;
}

static void
place(struct egress_loop *loop, struct egress_timer *timer, size_t at)
{
	loop->heap[at] = timer;
	timer->place = at;
}

static void
sift_up(struct egress_loop *loop, size_t at)
{
	struct egress_timer *timer = loop->heap[at];

	for (; at > 1 && loop->heap[at / 2]->at > timer->at; at /= 2)
		place(loop, loop->heap[at / 2], at);
	place(loop, timer, at);
}

static void
sift_down(struct egress_loop *loop, size_t at)
{
	struct egress_timer *timer = loop->heap[at];

	for (size_t child = at * 2; child <= loop->timers; at = child, child = at * 2) {
		if (child < loop->timers && loop->heap[child + 1]->at < loop->heap[child]->at)
			child++;
		if (loop->heap[child]->at >= timer->at)
			break;
		place(loop, loop->heap[child], at);
	}
	place(loop, timer, at);
}

void
egress_timer_set(struct egress_loop *loop, struct egress_timer *timer, int64_t at)
{
	timer->at = at;
	if (timer->place == 0) {
		if (loop->timers + 1 >= loop->timers_cap) {
			loop->timers_cap = loop->timers_cap ? loop->timers_cap * 2 : 64;
			loop->heap = pkg_xrealloc(
				loop->heap, loop->timers_cap, sizeof(struct egress_timer *));
		}
		place(loop, timer, ++loop->timers);
	}
	sift_up(loop, timer->place);
	sift_down(loop, timer->place);
}

void
egress_timer_stop(struct egress_loop *loop, struct egress_timer *timer)
{
	size_t at = timer->place;
	struct egress_timer *last;

	if (at == 0)
		return;
	timer->place = 0;
	last = loop->heap[loop->timers--];
	if (last == timer)
		return;
	place(loop, last, at);
	sift_up(loop, at);
	sift_down(loop, last->place);
}

void
egress_loop_retire(struct egress_loop *loop, void *owner)
{
	if (loop->retired_count == loop->retired_cap) {
		loop->retired_cap = loop->retired_cap ? loop->retired_cap * 2 : 16;
		loop->retired = pkg_xrealloc(loop->retired, loop->retired_cap, sizeof(void *));
	}
	loop->retired[loop->retired_count++] = owner;
}

void
egress_loop_after(struct egress_loop *loop, void (*after)(void *context), void *context)
{
	loop->after = after;
	loop->context = context;
}

static int
wait_ms(const struct egress_loop *loop)
{
	int64_t left;

	if (loop->timers == 0)
		return -1;
	left = loop->heap[1]->at - pkg_time_mono_ms();
	return left < 0 ? 0 : left > INT32_MAX ? INT32_MAX : (int)left;
}

static void
run_timers(struct egress_loop *loop)
{
	while (loop->timers && loop->heap[1]->at <= loop->now) {
		struct egress_timer *timer = loop->heap[1];

		egress_timer_stop(loop, timer);
		timer->expired(timer);
	}
}

int
egress_loop_run(struct egress_loop *loop, struct pkg_error *err)
{
	struct epoll_event events[BATCH];

	while (!loop->stopping) {
		int count = epoll_wait(loop->epoll, events, BATCH, wait_ms(loop));

		if (count < 0 && errno != EINTR)
			return pkg_error_errno(err, errno, "wait for events");
		loop->now = pkg_time_mono_ms();
		for (int i = 0; i < count; i++) {
			struct egress_watch *watch = events[i].data.ptr;

			/* Closed earlier in this batch: the owner is retired, not freed. */
			if (watch->fd >= 0)
				watch->ready(watch, events[i].events);
		}
		run_timers(loop);
		free_retired(loop);
		if (loop->after)
			loop->after(loop->context);
	}
	return 0;
}

void
egress_loop_stop(struct egress_loop *loop)
{
	loop->stopping = true;
}
