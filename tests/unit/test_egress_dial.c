/* The loop's timers, dialling several addresses, and the resolver: with real sockets on loopback. */
#include "unit.h"

#include "core/time.h"
#include "egress/dial.h"
#include "egress/limits.h"
#include "egress/loop.h"
#include "egress/resolve.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct outcome {
	struct egress_loop *loop;
	struct egress_watch watch; /* taken from the result */
	bool called;
	int error;
	struct policy_address address;
	int64_t at;
};

static void
dialled(void *owner, const struct egress_dial_result *result)
{
	struct outcome *outcome = owner;

	outcome->called = true;
	outcome->error = result->error;
	outcome->address = result->address;
	outcome->at = pkg_time_mono_ms();
	if (result->watch)
		egress_watch_take(outcome->loop, &outcome->watch, result->watch);
	egress_loop_stop(outcome->loop);
}

static int
listen_on(const char *text, int port, int backlog)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(inet_pton(AF_INET, text, &in.sin_addr), 1);
	assert_int_equal(bind(fd, (struct sockaddr *)&in, sizeof(in)), 0);
	assert_int_equal(listen(fd, backlog), 0);
	return fd;
}

static int
port_of(int fd)
{
	struct sockaddr_in in;
	socklen_t len = sizeof(in);

	assert_int_equal(getsockname(fd, (struct sockaddr *)&in, &len), 0);
	return ntohs(in.sin_port);
}

/* A listener that answers no more SYNs, because its backlog is full. */
static int
black_hole(const char *text, int port, int fillers[4])
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	int fd = listen_on(text, port, 0);

	assert_int_equal(inet_pton(AF_INET, text, &in.sin_addr), 1);
	for (int i = 0; i < 4; i++) {
		fillers[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		(void)connect(fillers[i], (struct sockaddr *)&in, sizeof(in));
	}
	pkg_sleep_ms(50);
	return fd;
}

static void
dial(struct outcome *outcome, const char *const *texts, size_t count, int port)
{
	struct policy_address addresses[EGRESS_ADDRESSES];
	struct egress_dial *slot = NULL;

	memset(outcome, 0, sizeof(*outcome));
	egress_watch_init(&outcome->watch, NULL);
	for (size_t i = 0; i < count; i++)
		assert_true(policy_address_parse(texts[i], &addresses[i]));
	outcome->loop = egress_loop_new(NULL);
	egress_dial_start(outcome->loop, addresses, count, port, 100, dialled, outcome, &slot);
	if (!outcome->called) {
		assert_non_null(slot);
		assert_int_equal(egress_loop_run(outcome->loop, NULL), 0);
	}
	assert_null(slot);
	assert_true(outcome->called);
	egress_watch_close(outcome->loop, &outcome->watch);
	egress_loop_free(outcome->loop);
}

static void
a_refused_address_gives_way_to_the_next_at_once(PKG_UNUSED void **state)
{
	static const char *const texts[] = { "127.0.0.2", "127.0.0.1" };
	pkg_autofd int good = listen_on("127.0.0.1", 0, 4);
	struct outcome outcome;
	int64_t start = pkg_time_mono_ms();
	char text[POLICY_ADDRESS_TEXT];

	dial(&outcome, texts, 2, port_of(good));
	policy_address_format(&outcome.address, text);
	assert_string_equal(text, "127.0.0.1");
	assert_true(outcome.at - start < 90);
}

static void
a_silent_address_is_raced_after_a_pause(PKG_UNUSED void **state)
{
	static const char *const texts[] = { "127.0.0.2", "127.0.0.1" };
	pkg_autofd int good = listen_on("127.0.0.1", 0, 4);
	int fillers[4];
	PKG_UNUSED pkg_autofd int hole = black_hole("127.0.0.2", port_of(good), fillers);
	struct outcome outcome;
	int64_t start = pkg_time_mono_ms();
	char text[POLICY_ADDRESS_TEXT];

	dial(&outcome, texts, 2, port_of(good));
	policy_address_format(&outcome.address, text);
	assert_string_equal(text, "127.0.0.1");
	assert_true(outcome.at - start >= 95 && outcome.at - start < 900);
	for (int i = 0; i < 4; i++)
		close(fillers[i]);
}

static void
the_families_take_turns(PKG_UNUSED void **state)
{
	/* Nobody listens, so every address is tried, and the one tried last is named. */
	static const char *const texts[] = { "::1", "::1", "127.0.0.3", "127.0.0.4" };
	pkg_autofd int unused = socket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr_in in = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct outcome outcome;
	char text[POLICY_ADDRESS_TEXT];

	/* Bound but not listening: nobody else can get the port meanwhile. */
	assert_int_equal(bind(unused, (struct sockaddr *)&in, sizeof(in)), 0);
	dial(&outcome, texts, 4, port_of(unused));
	policy_address_format(&outcome.address, text);
	assert_string_equal(text, "127.0.0.4");
	assert_int_equal(outcome.error, ECONNREFUSED);
	dial(&outcome, texts, 3, port_of(unused));
	policy_address_format(&outcome.address, text);
	assert_string_equal(text, "::1");
}

static void
a_cancelled_dial_calls_nobody_and_closes_all(PKG_UNUSED void **state)
{
	pkg_autofd int good = listen_on("127.0.0.1", 0, 4);
	int fillers[4];
	PKG_UNUSED pkg_autofd int hole = black_hole("127.0.0.2", port_of(good), fillers);
	struct outcome outcome = { 0 };
	struct policy_address address;
	struct egress_dial *slot = NULL;
	int before = dup(0), after;

	close(before);
	outcome.loop = egress_loop_new(NULL);
	assert_true(policy_address_parse("127.0.0.2", &address));
	egress_dial_start(outcome.loop, &address, 1, port_of(good), 100, dialled, &outcome, &slot);
	assert_non_null(slot);
	egress_dial_cancel(&slot);
	assert_null(slot);
	egress_dial_cancel(&slot);
	egress_loop_free(outcome.loop);
	assert_false(outcome.called);
	/* The lowest free number is the same as before. */
	after = dup(0);
	assert_int_equal(after, before);
	close(after);
	for (int i = 0; i < 4; i++)
		close(fillers[i]);
}

/* ---- timers ----------------------------------------------------------------------------------- */

#define TIMERS 200

struct timed {
	struct egress_timer timer;
	struct egress_loop *loop;
	int64_t *last;
	int *left;
};

static void
expired(struct egress_timer *timer)
{
	struct timed *timed = (struct timed *)(void *)timer;

	assert_true(timer->at >= *timed->last);
	*timed->last = timer->at;
	if (--*timed->left == 0)
		egress_loop_stop(timed->loop);
}

static void
timers_fire_in_order_however_they_were_set_moved_and_stopped(PKG_UNUSED void **state)
{
	struct egress_loop *loop = egress_loop_new(NULL);
	struct timed *timed = pkg_xcalloc(TIMERS, sizeof(*timed));
	int64_t base = egress_loop_now(loop), last = 0;
	int left = 0;

	for (size_t i = 0; i < TIMERS; i++) {
		timed[i] = (struct timed){ { .expired = expired }, loop, &last, &left };
		egress_timer_set(loop, &timed[i].timer, base + (int64_t)(i * 7919 % 101));
	}
	for (size_t i = 0; i < TIMERS; i += 3)
		egress_timer_set(loop, &timed[i].timer, base + (int64_t)(i * 31 % 61));
	for (size_t i = 0; i < TIMERS; i++) {
		if (i % 5 == 0) {
			egress_timer_stop(loop, &timed[i].timer);
			egress_timer_stop(loop, &timed[i].timer);
		} else {
			left++;
		}
	}
	assert_int_equal(egress_loop_run(loop, NULL), 0);
	assert_int_equal(left, 0);
	egress_loop_free(loop);
	free(timed);
}

/* ---- the resolver ----------------------------------------------------------------------------- */

struct answered {
	struct egress_loop *loop;
	int calls, error, wanted;
	size_t loopback;
};

static void
resolved(void *owner, const struct egress_addresses *answer)
{
	struct answered *answered = owner;

	answered->error = answer->error;
	for (size_t i = 0; i < answer->count; i++)
		answered->loopback += answer->items[i].class == POLICY_ADDRESS_LOOPBACK;
	if (++answered->calls == answered->wanted)
		egress_loop_stop(answered->loop);
}

static void
names_are_resolved_and_classified_off_the_loop(PKG_UNUSED void **state)
{
	struct answered answered = { .loop = egress_loop_new(NULL), .wanted = 40 };
	struct answered cancelled = { .loop = answered.loop };
	struct egress_resolver *resolver = egress_resolver_new(answered.loop, NULL);

	for (int i = 0; i < 40; i++) {
		(void)egress_resolve(resolver, "localhost", resolved, &answered);
		egress_lookup_cancel(egress_resolve(resolver, "localhost", resolved, &cancelled));
	}
	assert_int_equal(egress_loop_run(answered.loop, NULL), 0);
	assert_int_equal(answered.error, 0);
	assert_true(answered.loopback >= 40);
	assert_int_equal(cancelled.calls, 0);
	egress_resolver_free(resolver);
	egress_loop_free(answered.loop);
}

static void
a_resolver_may_go_while_its_threads_are_asking(PKG_UNUSED void **state)
{
	for (int i = 0; i < 20; i++) {
		struct answered answered = { .loop = egress_loop_new(NULL) };
		struct egress_resolver *resolver = egress_resolver_new(answered.loop, NULL);

		for (int k = 0; k < 10; k++)
			egress_lookup_cancel(
				egress_resolve(resolver, "localhost", resolved, &answered));
		egress_resolver_free(resolver);
		egress_loop_free(answered.loop);
		assert_int_equal(answered.calls, 0);
	}
	/* Let the last threads end before a leak checker looks. */
	pkg_sleep_ms(300);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_refused_address_gives_way_to_the_next_at_once),
		cmocka_unit_test(a_silent_address_is_raced_after_a_pause),
		cmocka_unit_test(the_families_take_turns),
		cmocka_unit_test(a_cancelled_dial_calls_nobody_and_closes_all),
		cmocka_unit_test(timers_fire_in_order_however_they_were_set_moved_and_stopped),
		cmocka_unit_test(names_are_resolved_and_classified_off_the_loop),
		cmocka_unit_test(a_resolver_may_go_while_its_threads_are_asking),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
