#include "test_daemon_common.h"

#define TOOL "{\"action\":\"install\",\"requirements\":[\"tool\"]}"

/* --- reading server-sent events --- */

/* The events of a stream that ended; comments are left out. */
static struct json_object *
events_in(const char *body)
{
	struct json_object *list = json_object_new_array();

	while (*body != '\0') {
		const char *end = strstr(body, "\n\n");
		const char *data = strstr(body, "\ndata: ");
		struct json_object *row;

		assert_non_null(end);
		if (*body != ':') {
			assert_true(strncmp(body, "id: ", 4) == 0 && data != NULL && data < end);
			row = pkg_json_parse(data + 7, (size_t)(end - data - 7), NULL);
			assert_non_null(row);
			pkg_json_set_int(row, "stream-id", strtoll(body + 4, NULL, 10));
			json_object_array_add(list, row);
		}
		body = end + 2;
	}
	return list;
}

static struct json_object *
at(struct json_object *list, size_t index)
{
	return json_object_array_get_idx(list, index);
}

static const char *
type_at(struct json_object *list, size_t index)
{
	return pkg_json_str_or(at(list, index), "type", "-");
}

static struct json_object *
stream(struct served *s, int64_t job, const char *query, const char *headers)
{
	pkg_autofree char *path = pkg_xasprintf("/v1/jobs/%d/events%s", (int)job, query);
	AUTO_REPLY reply = request_on(s, false, "GET", path, headers, NULL);

	assert_int_equal(reply.status, 200);
	assert_non_null(strstr(reply.text.data, "text/event-stream"));
	return events_in(reply.body);
}

static int
follow(struct served *s, int64_t job)
{
	pkg_autofree char *path = pkg_xasprintf("/v1/jobs/%d/events", (int)job);
	int fd = dial(s, false);

	send_request(fd, "GET", path, NULL, NULL);
	return fd;
}

/* Reads until this text came. */
static void
read_until(int fd, struct pkg_buf *text, const char *what)
{
	char data[65536];
	ssize_t got;

	while (strstr(pkg_buf_str(text), what) == NULL) {
		got = read(fd, data, sizeof(data));
		if (got <= 0)
			fail_msg("'%s' did not come: %s", what, pkg_buf_str(text));
		pkg_buf_add_mem(text, data, (size_t)got);
	}
}

static char *
events_path(struct served *s, int64_t job)
{
	pkg_autofree char *dir = install_path_job(&s->f->home, job);

	return pkg_path_join(dir, "events.jsonl");
}

static void
append(struct served *s, int64_t job, const char *text)
{
	pkg_autofree char *path = events_path(s, job);
	int fd = open(path, O_WRONLY | O_APPEND);

	assert_true(fd >= 0);
	assert_int_equal(pkg_write_all(fd, text, strlen(text), NULL), 0);
	close(fd);
}

static int64_t
pending_job(struct served *s)
{
	int64_t job = ask_for(s, TOOL);

	wait_for(s, job, "pending");
	return job;
}

/* --- tests --- */

static void
a_stream_tells_everything_and_ends_after_the_result(void **state)
{
	struct served *s = *state;
	int64_t job = ask_for(s, TOOL);
	int fd = follow(s, job);
	pkg_cleanup_buf struct pkg_buf text = { 0 };
	pkg_cleanup(pkg_json_put) struct json_object *list = NULL;
	AUTO_REPLY yes = { 0 };
	char more;
	size_t count;

	read_until(fd, &text, "\"type\":\"card\"");
	wait_for(s, job, "pending");
	yes = answer_card(s, job, "approve");
	read_until(fd, &text, "\"type\":\"result\"");
	while (read(fd, &more, 1) > 0)
		pkg_buf_add_char(&text, more);
	close(fd);
	list = events_in(strstr(text.data, "\r\n\r\n") + 4);
	count = json_object_array_length(list);
	assert_string_equal(type_at(list, 0), "state");
	assert_string_equal(pkg_json_str(at(list, 0), "state"), "queued");
	assert_string_equal(type_at(list, count - 1), "result");
	assert_string_equal(pkg_json_str(at(list, count - 1), "status"), "done");
	assert_non_null(strstr(text.data, "\"type\":\"answer\""));
}

/* The id of an event is where the next one begins: from each of them the rest comes, and nothing twice. */
static void
a_stream_resumes_exactly_after_any_event(void **state)
{
	struct served *s = *state;
	int64_t job = pending_job(s);
	pkg_cleanup(pkg_json_put) struct json_object *all = NULL;
	AUTO_REPLY no = answer_card(s, job, "deny");
	size_t count;

	assert_int_equal(no.status, 200);
	all = stream(s, job, "", NULL);
	count = json_object_array_length(all);
	assert_true(count >= 5);
	for (size_t i = 0; i + 1 < count; i++) {
		int id = (int)pkg_json_int(at(all, i), "stream-id", 0);
		pkg_autofree char *header = pkg_xasprintf("Last-Event-ID: %d\r\n", id);
		pkg_autofree char *query = pkg_xasprintf("?after=%d", id);
		pkg_cleanup(pkg_json_put) struct json_object *rest =
			stream(s, job, i % 2 == 0 ? "?after=0" : query, i % 2 == 0 ? header : NULL);

		assert_int_equal(json_object_array_length(rest), count - i - 1);
		assert_true(json_object_equal(at(rest, 0), at(all, i + 1)));
	}
}

static void
an_offset_that_is_none_of_ours_gives_whole_events_or_none(void **state)
{
	static const char *const headers[] = { "Last-Event-ID: 7\r\n", "Last-Event-ID: -5\r\n",
		"Last-Event-ID: 999999999\r\n", "Last-Event-ID: rubbish\r\n",
		"Last-Event-ID: 99999999999999999999999\r\n" };
	struct served *s = *state;
	int64_t job = pending_job(s);
	AUTO_REPLY no = answer_card(s, job, "deny");

	assert_int_equal(no.status, 200);
	for (size_t i = 0; i < PKG_ARRAY_LEN(headers); i++) {
		/* events_in() checks that each is a whole one. */
		pkg_cleanup(pkg_json_put) struct json_object *list = stream(s, job, "", headers[i]);

		if (i == 0)
			assert_true(json_object_array_length(list) > 1);
	}
}

#ifdef PKGD_FAULT_POINTS
/* Its worker has let go of the job and is not gone: the end that is in the file already is the end. */
static void
a_stream_of_an_ended_job_ends_while_its_worker_leaves(void **state)
{
	struct served *s = *state;
	int64_t job = 0;
	bool pending = false;

	for (int pass = 1; pass < 8 && !pending; pass++) {
		pkg_autofree char *point = pkg_xasprintf("store-committed:%d", pass);
		int64_t end = pkg_time_mono_ms() + 1000;

		set_fault(s, point, "stop");
		job = ask_for(s, TOOL);
		while (!pending && pkg_time_mono_ms() < end) {
			pending = strcmp(state_of(s->f, job), "pending") == 0;
			pkg_sleep_ms(10);
		}
		if (!pending) {
			AUTO_REPLY gone = cancel(s, job);

			assert_int_equal(gone.status, 200);
			wait_for(s, job, "cancelled");
		}
	}
	assert_true(pending);
	{
		AUTO_REPLY no = answer_card(s, job, "deny");
		pkg_cleanup(pkg_json_put) struct json_object *list =
			stream(s, job, "", "Last-Event-ID: 999999999\r\n");

		assert_int_equal(no.status, 200);
		assert_int_equal(json_object_array_length(list), 0);
	}
}
#endif

static void
an_offset_beyond_the_end_goes_on_with_what_comes_next(void **state)
{
	struct served *s = *state;
	int64_t job = pending_job(s);
	pkg_autofree char *path = pkg_xasprintf("/v1/jobs/%d/events?after=999999", (int)job);
	pkg_cleanup_buf struct pkg_buf text = { 0 };
	int fd = dial(s, false);

	send_request(fd, "GET", path, NULL, NULL);
	read_until(fd, &text, "\r\n\r\n");
	append(s, job, "{\"type\":\"status\",\"text\":\"next\"}\n");
	read_until(fd, &text, "next");
	close(fd);
}

static void
what_another_process_appends_comes_at_once_to_everybody(void **state)
{
	struct served *s = *state;
	int64_t job = pending_job(s);
	int one = follow(s, job);
	int two = follow(s, job);
	pkg_cleanup_buf struct pkg_buf first = { 0 };
	pkg_cleanup_buf struct pkg_buf second = { 0 };
	int64_t start;

	read_until(one, &first, "\"type\":\"card\"");
	read_until(two, &second, "\"type\":\"card\"");
	start = pkg_time_mono_ms();
	append(s, job, "{\"type\":\"status\",\"text\":\"live\"}\n");
	read_until(one, &first, "live");
	read_until(two, &second, "live");
	assert_true(pkg_time_mono_ms() - start < 2000);
	/* One leaves, the other goes on. */
	close(one);
	append(s, job, "{\"type\":\"status\",\"text\":\"still\"}\n");
	read_until(two, &second, "still");
	close(two);
	append(s, job, "{\"type\":\"status\",\"text\":\"nobody\"}\n");
	{
		AUTO_REPLY up = get(s, "/v1/system");

		assert_int_equal(up.status, 200);
	}
}

/* A plan of thousands of packages is one line. */
static void
a_line_of_megabytes_is_one_event(void **state)
{
	struct served *s = *state;
	int64_t job = pending_job(s);
	size_t size = 5 << 20;
	pkg_cleanup_buf struct pkg_buf line = { 0 };
	pkg_cleanup(pkg_json_put) struct json_object *list = NULL;
	AUTO_REPLY no = { 0 };

	pkg_buf_add(&line, "{\"type\":\"status\",\"text\":\"");
	for (size_t i = 0; i < size / 16; i++)
		pkg_buf_add(&line, "0123456789abcdef");
	pkg_buf_add(&line, "\"}\n");
	append(s, job, pkg_buf_str(&line));
	no = answer_card(s, job, "deny");
	list = stream(s, job, "", NULL);
	for (size_t i = 0; i < json_object_array_length(list); i++)
		if (strlen(pkg_json_str_or(at(list, i), "text", "")) == size / 16 * 16)
			return;
	fail_msg("the long line did not come");
}

static void
a_line_that_was_cut_short_is_left_out(void **state)
{
	struct served *s = *state;
	int64_t job = pending_job(s);
	pkg_cleanup(pkg_json_put) struct json_object *list = NULL;
	AUTO_REPLY no = { 0 };
	size_t count;

	append(s, job, "{\"type\":\"status\",\"te");
	no = answer_card(s, job, "deny");
	list = stream(s, job, "", NULL);
	count = json_object_array_length(list);
	assert_string_equal(type_at(list, count - 1), "result");
	assert_string_equal(type_at(list, count - 2), "answer");
}

/* Many lines that are none in a row: what follows them still comes. */
static void
a_block_of_rubbish_does_not_stop_a_stream(void **state)
{
	struct served *s = *state;
	int64_t job = pending_job(s);
	pkg_cleanup_buf struct pkg_buf rubbish = { 0 };
	pkg_cleanup_buf struct pkg_buf text = { 0 };
	int fd;

	for (int i = 0; i < 50000; i++)
		pkg_buf_add(&rubbish, "not json at all\n");
	append(s, job, pkg_buf_str(&rubbish));
	append(s, job, "{\"type\":\"status\",\"text\":\"behind\"}\n");
	fd = follow(s, job);
	read_until(fd, &text, "behind");
	close(fd);
}

/* Whoever ended it was killed before its last event. */
static void
an_ended_job_always_has_a_result(void **state)
{
	struct served *s = *state;
	int64_t job = pending_job(s);
	pkg_autofree char *path = events_path(s, job);
	pkg_cleanup(pkg_json_put) struct json_object *list = NULL;
	AUTO_REPLY no = answer_card(s, job, "deny");

	assert_int_equal(no.status, 200);
	assert_int_equal(truncate(path, 0), 0);
	list = stream(s, job, "", NULL);
	assert_int_equal(json_object_array_length(list), 1);
	assert_string_equal(type_at(list, 0), "result");
	assert_string_equal(pkg_json_str(at(list, 0), "status"), "denied");
	assert_int_equal(results_in_events(s, job), 1);
}

static void
a_stream_of_no_job_is_404(void **state)
{
	AUTO_REPLY reply = get(*state, "/v1/jobs/7/events");

	assert_int_equal(reply.status, 404);
}

/* libmicrohttpd would abort the process if it were stopped with a suspended connection. */
static void
a_daemon_stops_cleanly_while_somebody_listens(void **state)
{
	struct served *s = *state;
	int64_t job = pending_job(s);
	int fd = follow(s, job);
	pkg_cleanup_buf struct pkg_buf text = { 0 };

	read_until(fd, &text, "\"type\":\"card\"");
	assert_int_equal(stop_daemon(s, SIGTERM), 0);
	close(fd);
	start_daemon(s);
	{
		AUTO_REPLY up = get(s, "/v1/system");

		assert_int_equal(up.status, 200);
	}
}

static void
a_daemon_stops_cleanly_while_a_question_is_open(void **state)
{
	struct served *s = *state;
	pkg_autofree char *slow = pkg_path_join(s->libexec, "slow");
	int fd;

	{
		AUTO_REPLY up = get(s, "/v1/system");

		assert_int_equal(up.status, 200);
	}
	assert_int_equal(pkg_file_write(slow, "", 0, 0600, false, NULL), 0);
	fd = dial(s, false);
	send_request(fd, "GET", "/v1/sandbox", NULL, NULL);
	pkg_sleep_ms(200);
	assert_int_equal(stop_daemon(s, SIGTERM), 0);
	close(fd);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		SERVED(a_stream_tells_everything_and_ends_after_the_result),
		SERVED(a_stream_resumes_exactly_after_any_event),
		SERVED(an_offset_that_is_none_of_ours_gives_whole_events_or_none),
#ifdef PKGD_FAULT_POINTS
		SERVED(a_stream_of_an_ended_job_ends_while_its_worker_leaves),
#endif
		SERVED(an_offset_beyond_the_end_goes_on_with_what_comes_next),
		SERVED(what_another_process_appends_comes_at_once_to_everybody),
		SERVED(a_line_of_megabytes_is_one_event),
		SERVED(a_line_that_was_cut_short_is_left_out),
		SERVED(a_block_of_rubbish_does_not_stop_a_stream),
		SERVED(an_ended_job_always_has_a_result),
		SERVED(a_stream_of_no_job_is_404),
		SERVED(a_daemon_stops_cleanly_while_somebody_listens),
		SERVED(a_daemon_stops_cleanly_while_a_question_is_open),
	};

	RUN_AS_WORKER(argc, argv);
	return cmocka_run_group_tests_name("daemon_stream", tests, NULL, NULL);
}
