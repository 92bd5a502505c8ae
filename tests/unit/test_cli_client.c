#include "unit.h"

#include <inttypes.h>

#include "cli/stream.h"
#include "cli_daemon.h"
#include "core/time.h"

#define LONG_PATH 150 /* more than sun_path holds */

struct fixture {
	struct fake fake;
	struct pkg_home home;
	struct cli_client *client;
};

static void
begin(struct fixture *fixture, size_t more, fake_answer_fn *answer)
{
	fake_home(&fixture->fake, more);
	if (answer != NULL)
		fake_start(&fixture->fake, answer);
	assert_int_equal(pkg_home_find(false, &fixture->home, NULL), 0);
	fixture->client = cli_client_new(&fixture->home);
}

static void
end(struct fixture *fixture)
{
	cli_client_free(fixture->client);
	pkg_home_clear(&fixture->home);
	fake_stop(&fixture->fake);
}

/* --- questions --- */

static void
answer_plainly(int fd, const char *request, int number, bool control)
{
	(void)number;
	if (strstr(request, "GET /v1/refused "))
		fake_reply(fd, 409, "application/json",
			"{\"type\":\"error\",\"status\":409,\"result\":{\"kind\":\"busy\","
			"\"message\":"
			"\"job 3 is there\",\"cure\":\"wait\"}}");
	else if (strstr(request, "GET /v1/nonsense "))
		fake_reply(fd, 200, "application/json", "[1,");
	else if (strstr(request, "GET /v1/page "))
		fake_reply(fd, 503, "text/html", "<html>");
	else if (strstr(request, "DELETE ") && !control)
		fake_reply(fd, 403, "application/json",
			"{\"result\":{\"kind\":\"forbidden\",\"message\":\"not yours\"}}");
	else
		fake_result(fd, control ? "{\"over\":\"control\"}" : "{\"over\":\"ask\"}");
}

static void
results_come_over_the_right_socket_however_long_its_path(PKG_UNUSED void **state)
{
	for (size_t more = 0; more <= LONG_PATH; more += LONG_PATH) {
		struct fixture fixture;
		pkg_cleanup(pkg_json_put) struct json_object *ask = NULL;
		pkg_cleanup(pkg_json_put) struct json_object *control = NULL;
		pkg_cleanup(pkg_json_put) struct json_object *cancel = NULL;

		begin(&fixture, more, answer_plainly);
		ask = cli_client_get(fixture.client, "/v1/x", NULL);
		control = cli_client_control(fixture.client, "/v1/x", NULL, NULL);
		/* What the ask socket may not, the control socket may. */
		cancel = cli_client_cancel(fixture.client, "/v1/jobs/1", NULL);
		assert_string_equal(pkg_json_str_or(ask, "over", ""), "ask");
		assert_string_equal(pkg_json_str_or(control, "over", ""), "control");
		assert_string_equal(pkg_json_str_or(cancel, "over", ""), "control");
		end(&fixture);
	}
}

static void
what_went_wrong_is_told_as_the_daemon_said_it(PKG_UNUSED void **state)
{
	static const struct {
		const char *path;
		enum pkg_error_kind kind;
	} cases[] = { { "/v1/refused", PKG_E_BUSY }, { "/v1/nonsense", PKG_E_INVALID },
		{ "/v1/page", PKG_E_INTERNAL } };
	struct fixture fixture;

	begin(&fixture, 0, answer_plainly);
	for (size_t i = 0; i < PKG_ARRAY_LEN(cases); i++) {
		pkg_cleanup_error struct pkg_error err = { 0 };

		assert_null(cli_client_get(fixture.client, cases[i].path, &err));
		assert_int_equal(err.kind, cases[i].kind);
		if (i == 0)
			assert_string_equal(err.cure, "wait");
	}
	end(&fixture);
}

static void
without_a_daemon_the_error_says_so_and_has_a_cure(PKG_UNUSED void **state)
{
	struct fixture fixture;
	pkg_cleanup_error struct pkg_error err = { 0 };

	begin(&fixture, 0, NULL);
	assert_null(cli_client_get(fixture.client, "/v1/x", &err));
	assert_int_equal(err.kind, PKG_E_UNREACHABLE);
	assert_int_equal(pkg_error_kind_exit(err.kind), 5);
	assert_non_null(err.cure);
	end(&fixture);
}

static void
without_the_control_socket_an_answer_is_forbidden(PKG_UNUSED void **state)
{
	struct fixture fixture;
	pkg_cleanup_error struct pkg_error err = { 0 };
	pkg_autofree char *path = NULL;

	begin(&fixture, 0, answer_plainly);
	path = pkg_path_join(fixture.fake.home, "run/control.sock");
	assert_int_equal(cli_client_may_control(fixture.client, NULL), 0);
	assert_int_equal(unlink(path), 0);
	assert_null(cli_client_control(fixture.client, "/v1/cards/1", NULL, &err));
	assert_int_equal(err.kind, PKG_E_FORBIDDEN);
	end(&fixture);
}

/* --- a daemon that goes away --- */

/* Says nothing at first; then names as the job what the key of the first request says. */
static void
answer_late(int fd, const char *request, int number, bool control)
{
	static char key[33];
	const char *at = strstr(request, "Idempotency-Key: ");
	char mine[33] = "";

	(void)control;
	if (at != NULL)
		(void)snprintf(mine, sizeof(mine), "%.32s", at + strlen("Idempotency-Key: "));
	if (number == 0) {
		memcpy(key, mine, sizeof(key));
		return;
	}
	fake_result(
		fd, strlen(mine) == 32 && strcmp(key, mine) == 0 ? "{\"job\":1}" : "{\"job\":2}");
}

static void
request_whose_answer_was_lost_is_sent_again_with_its_key(PKG_UNUSED void **state)
{
	struct fixture fixture;
	pkg_cleanup(pkg_json_put) struct json_object *request = json_object_new_object();

	begin(&fixture, 0, answer_late);
	assert_int_equal(cli_client_submit(fixture.client, request, NULL), 1);
	end(&fixture);
}

#define EVENT_HEAD "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"

static void
send_text(int fd, const char *text)
{
	(void)pkg_write_all(fd, text, strlen(text), NULL);
}

/* One event on each connection, the second of them cut in its middle. */
static void
stream_in_pieces(int fd, const char *request, int number, bool control)
{
	(void)number;
	(void)control;
	if (strstr(request, "GET /v1/jobs/1 ")) {
		fake_result(fd, "{\"id\":1,\"state\":\"planning\",\"result\":null}");
	} else if (!strstr(request, "Last-Event-ID")) {
		send_text(fd,
			EVENT_HEAD "id: 10\ndata: {\"type\":\"state\",\"n\":1}\n\n"
				   "id: 20\ndata: {\"type\":\"sta");
	} else if (strstr(request, "Last-Event-ID: 10\r\n")) {
		send_text(fd,
			EVENT_HEAD ": \n\nid: 20\ndata: {\"type\":\"state\",\"n\":2}\n\n"
				   "id: 21\ndata: broken\n\n");
	} else if (strstr(request, "Last-Event-ID: 21\r\n")) {
		send_text(fd, EVENT_HEAD "id: 30\ndata: {\"type\":\"result\",\"n\":3}\n\n");
	}
}

static void
stream_goes_on_where_each_connection_broke(PKG_UNUSED void **state)
{
	struct fixture fixture;
	pkg_cleanup(cli_stream_free) struct cli_stream *stream = NULL;

	begin(&fixture, 0, stream_in_pieces);
	stream = cli_stream_open(fixture.client, 1);
	for (int n = 1; n <= 3; n++) {
		cli_cleanup_event struct cli_event event = { 0 };

		assert_int_equal(cli_stream_next(stream, NULL, 0, 5000, &event, NULL), 1);
		assert_int_equal(pkg_json_int(event.json, "n", 0), n);
		assert_string_equal(event.type, n < 3 ? "state" : "result");
	}
	cli_stream_free(pkg_steal_ptr(&stream));
	end(&fixture);
}

static void
stream_without_its_end(int fd, const char *request, int number, bool control)
{
	(void)number;
	(void)control;
	if (strstr(request, "GET /v1/jobs/1 "))
		fake_result(fd,
			"{\"id\":1,\"state\":\"done\",\"result\":{\"type\":\"result\","
			"\"status\":\"done\"}}");
	else if (strstr(request, "GET /v1/jobs/1/events "))
		send_text(fd, EVENT_HEAD);
	else
		fake_reply(fd, 404, "application/json",
			"{\"result\":{\"kind\":\"not-found\",\"message\":\"no job\"}}");
}

static void
end_that_the_event_log_lost_comes_from_the_job(PKG_UNUSED void **state)
{
	struct fixture fixture;
	pkg_cleanup(cli_stream_free) struct cli_stream *stream = NULL;
	cli_cleanup_event struct cli_event event = { 0 };

	begin(&fixture, 0, stream_without_its_end);
	stream = cli_stream_open(fixture.client, 1);
	assert_int_equal(cli_stream_next(stream, NULL, 0, 5000, &event, NULL), 1);
	assert_string_equal(event.type, "result");
	cli_stream_free(pkg_steal_ptr(&stream));
	end(&fixture);
}

static void
stream_of_a_job_that_is_not_there_is_an_error_and_not_a_wait(PKG_UNUSED void **state)
{
	struct fixture fixture;
	pkg_cleanup(cli_stream_free) struct cli_stream *stream = NULL;
	pkg_cleanup_error struct pkg_error err = { 0 };
	cli_cleanup_event struct cli_event event = { 0 };

	begin(&fixture, 0, stream_without_its_end);
	stream = cli_stream_open(fixture.client, 99);
	assert_int_equal(cli_stream_next(stream, NULL, 0, 5000, &event, &err), -1);
	assert_int_equal(err.kind, PKG_E_NOT_FOUND);
	cli_stream_free(pkg_steal_ptr(&stream));
	end(&fixture);
}

static void
waiting_ends_with_the_time_or_another_descriptor(PKG_UNUSED void **state)
{
	struct fixture fixture;
	pkg_cleanup(cli_stream_free) struct cli_stream *stream = NULL;
	cli_cleanup_event struct cli_event event = { 0 };
	struct curl_waitfd other = { .events = CURL_WAIT_POLLIN };
	int64_t start;
	int fds[2];

	begin(&fixture, 0, stream_in_pieces);
	assert_int_equal(pipe(fds), 0);
	other.fd = fds[0];
	kill(fixture.fake.pid, SIGSTOP);
	stream = cli_stream_open(fixture.client, 1);
	start = pkg_time_mono_ms();
	assert_int_equal(cli_stream_next(stream, &other, 1, 100, &event, NULL), 0);
	assert_in_range(pkg_time_mono_ms() - start, 90, 2000);
	assert_int_equal(other.revents, 0);
	assert_int_equal(write(fds[1], "x", 1), 1);
	assert_int_equal(cli_stream_next(stream, &other, 1, -1, &event, NULL), 0);
	assert_int_not_equal(other.revents, 0);
	close(fds[0]);
	close(fds[1]);
	cli_stream_free(pkg_steal_ptr(&stream));
	end(&fixture);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(results_come_over_the_right_socket_however_long_its_path),
		cmocka_unit_test(what_went_wrong_is_told_as_the_daemon_said_it),
		cmocka_unit_test(without_a_daemon_the_error_says_so_and_has_a_cure),
		cmocka_unit_test(without_the_control_socket_an_answer_is_forbidden),
		cmocka_unit_test(request_whose_answer_was_lost_is_sent_again_with_its_key),
		cmocka_unit_test(stream_goes_on_where_each_connection_broke),
		cmocka_unit_test(end_that_the_event_log_lost_comes_from_the_job),
		cmocka_unit_test(stream_of_a_job_that_is_not_there_is_an_error_and_not_a_wait),
		cmocka_unit_test(waiting_ends_with_the_time_or_another_descriptor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
