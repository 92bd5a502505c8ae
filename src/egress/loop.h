/* egress/loop.h - the proxy's event loop: epoll and a heap of deadlines.
 * Purpose    Small enough that an idle tunnel costs two watches and one timer inside its own
 *            struct, and nothing wakes up while nothing happens.
 * Ownership  Watches and timers are embedded in their owners. A watch owns its descriptor. An owner
 *            that dies during a batch of events is given to egress_loop_retire() and freed after
 *            it, because the rest of the batch may still point at it.
 * Errors     pkg_error_errno() of epoll_create1(2); what cannot fail after that (memory apart) does
 *            not.
 */
#ifndef EGRESS_LOOP_H
#define EGRESS_LOOP_H
#include "core/error.h"
#include <stdbool.h>
#include <stdint.h>

struct egress_watch;
typedef void egress_ready_fn(struct egress_watch *watch, uint32_t events);
struct egress_watch {
	egress_ready_fn *ready;
	int fd; /* owned; -1: none */
	uint32_t events; /* EPOLLIN ... as registered; EGRESS_UNWATCHED: not registered */
};
#define EGRESS_UNWATCHED UINT32_MAX

struct egress_timer;
typedef void egress_expired_fn(struct egress_timer *timer);
struct egress_timer {
	egress_expired_fn *expired;
	int64_t at; /* pkg_time_mono_ms() */
	size_t place; /* in the heap, from 1; 0: not set */
};

struct egress_loop;
struct egress_loop *egress_loop_new(struct pkg_error *err);
void egress_loop_free(struct egress_loop *loop);
/* The time of the current batch, so that not every event asks the clock. */
int64_t egress_loop_now(const struct egress_loop *loop);

void egress_watch_init(struct egress_watch *watch, egress_ready_fn *ready);
/* Registers, changes, or takes out (EGRESS_UNWATCHED). 0 events still reports EPOLLERR and
 * EPOLLHUP. */
void egress_watch_want(struct egress_loop *loop, struct egress_watch *watch, uint32_t events);
void egress_watch_close(struct egress_loop *loop, struct egress_watch *watch);
/* Hands descriptor and registration of `from` over to `to`, which has none. */
void egress_watch_take(
	struct egress_loop *loop, struct egress_watch *to, struct egress_watch *from);

void egress_timer_set(struct egress_loop *loop, struct egress_timer *timer, int64_t at);
void egress_timer_stop(struct egress_loop *loop, struct egress_timer *timer);

/* Called after each batch of events, before the next is waited for. */
void egress_loop_after(struct egress_loop *loop, void (*after)(void *context), void *context);
/* Taken: freed with free() after the batch. */
void egress_loop_retire(struct egress_loop *loop, void *owner);
int egress_loop_run(struct egress_loop *loop, struct pkg_error *err);
void egress_loop_stop(struct egress_loop *loop);
#endif
