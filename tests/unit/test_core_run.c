#include "unit.h"
#include "core/run.h"
#include "core/time.h"
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static int
run_shell(const char *script, struct pkg_run *run, struct pkg_error *err)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *argv = pkg_argv_new();
	struct pkg_process_spec spec = { .argv = argv, .stdin_fd = -1 };

	pkg_argv_add(argv, "/bin/sh", "-c", script);
	return pkg_process_run(&spec, run, err);
}

static void
both_streams_and_the_status_come_back_apart(PKG_UNUSED void **state)
{
	pkg_cleanup_run struct pkg_run run = PKG_RUN_INIT;

	assert_int_equal(run_shell("echo out; echo err >&2; exit 7", &run, NULL), 0);
	assert_string_equal(pkg_buf_str(&run.out), "out\n");
	assert_string_equal(pkg_buf_str(&run.err), "err\n");
	assert_int_equal(pkg_process_status(run.wait_status), 7);
	assert_false(run.timed_out || run.cancelled || run.stopped_by_tick);
	assert_true(run.usage.ru_maxrss > 0);
}

static void
streams_are_merged_in_order_when_asked(PKG_UNUSED void **state)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *argv = pkg_argv_new();
	struct pkg_process_spec spec = {
		.argv = argv, .stdin_fd = -1, .stderr_fd = PKG_PROCESS_STDOUT
	};
	pkg_cleanup_run struct pkg_run run = PKG_RUN_INIT;

	pkg_argv_add(argv, "/bin/sh", "-c", "echo 1; echo 2 >&2; echo 3");
	assert_int_equal(pkg_process_run(&spec, &run, NULL), 0);
	assert_string_equal(pkg_buf_str(&run.out), "1\n2\n3\n");
	assert_string_equal(pkg_buf_str(&run.err), "");
}

static void
a_missing_program_is_an_error_not_a_status(PKG_UNUSED void **state)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *argv = pkg_argv_new();
	struct pkg_process_spec spec = { .argv = argv, .stdin_fd = -1 };
	pkg_cleanup_run struct pkg_run run = PKG_RUN_INIT;
	pkg_cleanup_error struct pkg_error err = { 0 };

	pkg_argv_add(argv, "/nonexistent/program");
	assert_int_equal(pkg_process_run(&spec, &run, &err), -1);
	assert_non_null(strstr(err.message, "/nonexistent/program"));
}

static void
all_output_before_the_end_is_there_however_fast_the_end(PKG_UNUSED void **state)
{
	for (int i = 0; i < 20; i++) {
		pkg_cleanup_run struct pkg_run run = PKG_RUN_INIT;

		assert_int_equal(run_shell("head -c 60000 /dev/zero | tr '\\0' x", &run, NULL), 0);
		assert_int_equal(run.out.len, 60000);
	}
}

static void
an_escaped_grandchild_with_the_pipes_delays_the_end_by_200_ms_at_most(PKG_UNUSED void **state)
{
	pkg_cleanup_run struct pkg_run run = PKG_RUN_INIT;

	/* A double fork into a session of its own: out of reach of any group. */
	assert_int_equal(run_shell("(setsid sh -c 'echo late; sleep 2' &) ; sleep 0.1; echo done",
				 &run, NULL),
		0);
	assert_non_null(strstr(pkg_buf_str(&run.out), "done\n"));
	assert_non_null(strstr(pkg_buf_str(&run.out), "late\n"));
	assert_int_equal(run.wait_status, 0);
	assert_in_range(run.duration_ms, 290, 1500);
}

static void
what_is_left_in_the_group_ends_with_the_run(PKG_UNUSED void **state)
{
	pkg_cleanup_run struct pkg_run run = PKG_RUN_INIT;
	pid_t left;

	assert_int_equal(run_shell("sleep 60 & echo $!", &run, NULL), 0);
	left = (pid_t)atoi(pkg_buf_str(&run.out));
	assert_true(left > 1);
	for (int i = 0; i < 200 && kill(left, 0) == 0; i++) {
		char path[64];
		char text[256] = "";
		FILE *stat;

		/* Without a reaper above us it stays as a zombie. */
		(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)left);
		stat = fopen(path, "re");
		if (!stat || !fgets(text, sizeof(text), stat) || strstr(text, ") Z ")) {
			if (stat)
				(void)fclose(stat);
			return;
		}
		(void)fclose(stat);
		pkg_sleep_ms(10);
	}
	assert_int_equal(kill(left, 0), -1);
}

static void
a_deadline_asks_first_and_a_child_that_obeys_is_not_killed(PKG_UNUSED void **state)
{
	pkg_cleanup_run struct pkg_run run = PKG_RUN_INIT;

	run.timeout_ms = 200;
	assert_int_equal(run_shell("trap 'echo bye; exit 5' TERM; sleep 60 & wait", &run, NULL), 0);
	assert_true(run.timed_out);
	assert_false(run.cancelled);
	assert_int_equal(pkg_process_status(run.wait_status), 5);
	assert_string_equal(pkg_buf_str(&run.out), "bye\n");
	assert_in_range(run.duration_ms, 200, 650);
}

static void
a_child_that_ignores_term_is_killed_500_ms_later(PKG_UNUSED void **state)
{
	pkg_cleanup_run struct pkg_run run = PKG_RUN_INIT;

	run.timeout_ms = 100;
	assert_int_equal(
		run_shell("trap '' TERM; echo up; while :; do sleep 60; done", &run, NULL), 0);
	assert_true(run.timed_out);
	assert_int_equal(pkg_process_status(run.wait_status), 128 + SIGKILL);
	assert_string_equal(pkg_buf_str(&run.out), "up\n");
	assert_in_range(run.duration_ms, 590, 2000);
}

static void
a_descendant_that_ignores_term_does_not_outlive_the_stop(PKG_UNUSED void **state)
{
	pkg_cleanup_run struct pkg_run run = PKG_RUN_INIT;

	run.timeout_ms = 200;
	assert_int_equal(
		run_shell("sh -c 'trap \"\" TERM; sleep 60; sleep 60' & wait", &run, NULL), 0);
	assert_true(run.timed_out);
	assert_int_equal(pkg_process_status(run.wait_status), 128 + SIGTERM);
	/* Its pipe ended at once: it was killed together with the leader's end. */
	assert_in_range(run.duration_ms, 200, 390);
}

static void
a_readable_or_closed_cancel_descriptor_stops_the_run(PKG_UNUSED void **state)
{
	for (int closed = 0; closed < 2; closed++) {
		pkg_cleanup_run struct pkg_run run = PKG_RUN_INIT;
		int ends[2];

		assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
		if (!closed)
			assert_int_equal(write(ends[1], "x", 1), 1);
		else
			(void)close(ends[1]);
		run.cancel_fd = ends[0];
		assert_int_equal(run_shell("exec sleep 60", &run, NULL), 0);
		assert_true(run.cancelled);
		assert_false(run.timed_out);
		assert_int_equal(pkg_process_status(run.wait_status), 128 + SIGTERM);
		assert_in_range(run.duration_ms, 0, 400);
		(void)close(ends[0]);
		if (!closed)
			(void)close(ends[1]);
	}
}

static void
an_idle_cancel_descriptor_stops_nothing(PKG_UNUSED void **state)
{
	pkg_cleanup_run struct pkg_run run = PKG_RUN_INIT;
	int ends[2];

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	run.cancel_fd = ends[0];
	assert_int_equal(run_shell("sleep 0.1; exit 4", &run, NULL), 0);
	assert_false(run.cancelled);
	assert_int_equal(pkg_process_status(run.wait_status), 4);
	(void)close(ends[0]);
	(void)close(ends[1]);
}

struct seen {
	int ticks;
	int stops;
	size_t bytes[3];
};

static int
stop_at_second_tick(void *context, pid_t pid)
{
	struct seen *seen = context;

	assert_int_equal(kill(pid, 0), 0);
	return ++seen->ticks >= 2;
}

static void
count_stop(void *context, struct pkg_process *process)
{
	struct seen *seen = context;

	seen->stops++;
	pkg_process_signal(process, SIGINT);
}

static void
do_nothing_on_stop(void *context, PKG_UNUSED struct pkg_process *process)
{
	struct seen *seen = context;

	seen->stops++;
}

static void
a_watchdog_that_says_so_stops_the_run(PKG_UNUSED void **state)
{
	struct seen seen = { 0 };
	pkg_cleanup_run struct pkg_run run = PKG_RUN_INIT;

	run.context = &seen;
	run.on_tick = stop_at_second_tick;
	run.on_stop = count_stop;
	assert_int_equal(run_shell("exec sleep 60", &run, NULL), 0);
	assert_true(run.stopped_by_tick);
	assert_int_equal(seen.ticks, 2);
	assert_int_equal(seen.stops, 1);
	assert_int_equal(pkg_process_status(run.wait_status), 128 + SIGINT);
	assert_in_range(run.duration_ms, 390, 900);
}

static void
a_stop_hook_without_effect_is_followed_by_a_kill(PKG_UNUSED void **state)
{
	struct seen seen = { 0 };
	pkg_cleanup_run struct pkg_run run = PKG_RUN_INIT;

	run.context = &seen;
	run.timeout_ms = 50;
	run.on_stop = do_nothing_on_stop;
	assert_int_equal(run_shell("exec sleep 60", &run, NULL), 0);
	assert_int_equal(seen.stops, 1);
	assert_int_equal(pkg_process_status(run.wait_status), 128 + SIGKILL);
	assert_in_range(run.duration_ms, 540, 1500);
}

static void
count_output(void *context, int stream, PKG_UNUSED const char *data, size_t len)
{
	struct seen *seen = context;

	seen->bytes[stream] += len;
}

/* 300 MB through both streams: what is kept is the beginning and the end, and our own memory does
 * not grow with it. */
static void
a_flood_is_drained_but_only_its_ends_are_kept(PKG_UNUSED void **state)
{
	struct seen seen = { 0 };
	pkg_cleanup_run struct pkg_run run = PKG_RUN_INIT;
	struct rusage before;
	struct rusage after;

	run.max_output = 1000;
	run.context = &seen;
	run.on_output = count_output;
	(void)getrusage(RUSAGE_SELF, &before);
	assert_int_equal(run_shell("echo first; head -c 200000000 /dev/zero | tr '\\0' x; echo;"
				   "echo last; head -c 100000000 /dev/zero >&2",
				 &run, NULL),
		0);
	(void)getrusage(RUSAGE_SELF, &after);
	assert_int_equal(run.wait_status, 0);
	assert_int_equal(seen.bytes[1], 200000000 + 6 + 1 + 5);
	assert_int_equal(seen.bytes[2], 100000000);
	assert_in_range(run.out.len, 1000, 1100);
	assert_memory_equal(run.out.data, "first\nxxx", 9);
	assert_string_equal(run.out.data + run.out.len - 7, "x\nlast\n");
	assert_non_null(strstr(run.out.data, "x\n[... 199999012 bytes left out ...]\nx"));
	assert_in_range(run.err.len, 1000, 1100);
	assert_true(after.ru_maxrss - before.ru_maxrss < 8 * 1024);
	assert_true(run.out.cap < 64 * 1024);
}

static void
output_up_to_the_maximum_is_whole_and_one_byte_more_is_marked(PKG_UNUSED void **state)
{
	static const struct {
		const char *script, *out;
		size_t max;
	} cases[] = {
		{ "printf 0123456789", "0123456789", 10 },
		{ "printf 0123456789A", "01234\n[... 1 bytes left out ...]\n6789A", 10 },
		{ "printf '0123\\n56789A'", "0123\n[... 1 bytes left out ...]\n6789A", 10 },
		{ "printf 0123; sleep 0.1; printf 456789A",
			"01234\n[... 1 bytes left out ...]\n6789A", 10 },
		{ "printf 012", "0\n[... 1 bytes left out ...]\n2", 2 },
		{ "printf 012", "[... 2 bytes left out ...]\n2", 1 },
		{ "printf 012", "[... 3 bytes left out ...]\n", 0 },
		{ "true", "", 0 },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(cases); i++) {
		pkg_cleanup_run struct pkg_run run = PKG_RUN_INIT;

		run.max_output = cases[i].max;
		assert_int_equal(run_shell(cases[i].script, &run, NULL), 0);
		assert_string_equal(pkg_buf_str(&run.out), cases[i].out);
	}
}

static void
a_child_that_closes_its_streams_is_still_waited_for(PKG_UNUSED void **state)
{
	pkg_cleanup_run struct pkg_run run = PKG_RUN_INIT;
	struct rusage before;
	struct rusage after;
	long used;

	(void)getrusage(RUSAGE_SELF, &before);
	assert_int_equal(run_shell("exec >&- 2>&-; sleep 0.4; exit 9", &run, NULL), 0);
	(void)getrusage(RUSAGE_SELF, &after);
	assert_int_equal(pkg_process_status(run.wait_status), 9);
	assert_in_range(run.duration_ms, 390, 2000);
	used = (after.ru_utime.tv_sec - before.ru_utime.tv_sec) * 1000000L +
		after.ru_utime.tv_usec - before.ru_utime.tv_usec;
	assert_true(used < 200000); /* asleep, not spinning */
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_streams_and_the_status_come_back_apart),
		cmocka_unit_test(streams_are_merged_in_order_when_asked),
		cmocka_unit_test(a_missing_program_is_an_error_not_a_status),
		cmocka_unit_test(all_output_before_the_end_is_there_however_fast_the_end),
		cmocka_unit_test(
			an_escaped_grandchild_with_the_pipes_delays_the_end_by_200_ms_at_most),
		cmocka_unit_test(what_is_left_in_the_group_ends_with_the_run),
		cmocka_unit_test(a_deadline_asks_first_and_a_child_that_obeys_is_not_killed),
		cmocka_unit_test(a_child_that_ignores_term_is_killed_500_ms_later),
		cmocka_unit_test(a_descendant_that_ignores_term_does_not_outlive_the_stop),
		cmocka_unit_test(a_readable_or_closed_cancel_descriptor_stops_the_run),
		cmocka_unit_test(an_idle_cancel_descriptor_stops_nothing),
		cmocka_unit_test(a_watchdog_that_says_so_stops_the_run),
		cmocka_unit_test(a_stop_hook_without_effect_is_followed_by_a_kill),
		cmocka_unit_test(a_flood_is_drained_but_only_its_ends_are_kept),
		cmocka_unit_test(output_up_to_the_maximum_is_whole_and_one_byte_more_is_marked),
		cmocka_unit_test(a_child_that_closes_its_streams_is_still_waited_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
