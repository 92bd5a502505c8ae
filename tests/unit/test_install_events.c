#include "test_install_common.h"
#include "install/events.h"

static struct install_events *
open_events(struct fixture *f, int64_t job)
{
	struct install_events *events = install_events_open(&f->home, job, &f->err);

	assert_non_null(events);
	return events;
}

static struct pkg_buf
log_of(struct fixture *f, int64_t job)
{
	pkg_autofree char *dir = install_path_job(&f->home, job);
	pkg_autofree char *path = pkg_path_join(dir, "log.txt");

	return file_text(path);
}

/* Every line a JSON object with a type and a time. How many there are. */
static size_t
check_lines(const struct pkg_buf *text)
{
	size_t count = 0;

	for (const char *line = pkg_buf_str(text); *line != '\0'; count++) {
		const char *end = strchr(line, '\n');
		pkg_cleanup(pkg_json_put) struct json_object *row = NULL;

		assert_non_null(end);
		row = pkg_json_parse(line, (size_t)(end - line), NULL);
		assert_non_null(row);
		assert_non_null(pkg_json_str(row, "type"));
		assert_non_null(pkg_json_str(row, "time"));
		line = end + 1;
	}
	return count;
}

static void
every_row_is_one_line_with_a_time(void **state)
{
	struct fixture *f = *state;
	struct install_events *events = open_events(f, 1);
	pkg_cleanup_buf struct pkg_buf text = { 0 };

	install_events_state(events, "planning", 0);
	install_events_state(events, "queued", 7);
	install_events_status(events, "two\nlines \033[31mred\033[0m \xff");
	install_events_free(events);
	text = events_of(f, 1);
	assert_int_equal(check_lines(&text), 3);
	assert_non_null(strstr(pkg_buf_str(&text), "\"behind\":7"));
	assert_null(strstr(pkg_buf_str(&text), "\\u001b"));
}

static void
a_second_writer_goes_on_where_the_first_stopped(void **state)
{
	struct fixture *f = *state;
	pkg_cleanup_buf struct pkg_buf text = { 0 };

	for (int i = 0; i < 2; i++) {
		struct install_events *events = open_events(f, 1);

		install_events_state(events, i == 0 ? "planning" : "fetching", 0);
		install_events_free(events);
	}
	text = events_of(f, 1);
	assert_int_equal(check_lines(&text), 2);
}

/* A disk that was full in the middle of a row. */
static void
a_row_that_was_cut_short_does_not_spoil_the_next(void **state)
{
	struct fixture *f = *state;
	struct install_events *events = open_events(f, 1);
	pkg_autofree char *dir = install_path_job(&f->home, 1);
	pkg_autofree char *path = pkg_path_join(dir, "events.jsonl");
	pkg_cleanup_buf struct pkg_buf text = { 0 };

	install_events_free(events);
	assert_ok(pkg_file_write(path, "{\"type\":\"sta", 12, 0600, false, &f->err));
	events = open_events(f, 1);
	install_events_state(events, "planning", 0);
	install_events_state(events, "fetching", 0);
	install_events_free(events);
	text = events_of(f, 1);
	assert_true(strncmp(text.data, "{\"type\":\"sta\n{", 14) == 0);
	pkg_buf_consume(&text, 13);
	assert_int_equal(check_lines(&text), 2);
}

static void
output_becomes_lines_whatever_the_pieces_it_comes_in(void **state)
{
	static const char *const pieces[] = { "Buil", "ding\nwhe", "el\r\n", "\n", "no new",
		"line" };
	struct fixture *f = *state;
	struct install_events *events = open_events(f, 1);
	pkg_cleanup_buf struct pkg_buf text = { 0 };

	for (size_t i = 0; i < PKG_ARRAY_LEN(pieces); i++)
		install_events_output(events, pieces[i], strlen(pieces[i]));
	install_events_free(events);
	text = log_of(f, 1);
	assert_string_equal(pkg_buf_str(&text), "Building\nwheel\nno newline\n");
}

static void
an_unfinished_line_ends_before_the_next_status(void **state)
{
	struct fixture *f = *state;
	struct install_events *events = open_events(f, 1);
	pkg_cleanup_buf struct pkg_buf text = { 0 };

	install_events_output(events, "fatal: no compiler", 18);
	install_events_status(events, "next");
	install_events_output(events, "fine\n", 5);
	install_events_free(events);
	text = log_of(f, 1);
	assert_string_equal(pkg_buf_str(&text), "fatal: no compiler\nnext\nfine\n");
}

static void
bars_and_empty_lines_are_no_events(void **state)
{
	static const char *const noise[] = { "\n", "   \n", "-----\n", "|####|\n",
		"\xe2\x94\x81\xe2\x94\x81\xe2\x95\xb8 \n", " / \\ - |\n" };
	struct fixture *f = *state;
	struct install_events *events = open_events(f, 1);
	pkg_cleanup_buf struct pkg_buf text = { 0 };

	for (size_t i = 0; i < PKG_ARRAY_LEN(noise); i++)
		install_events_output(events, noise[i], strlen(noise[i]));
	install_events_output(events, "real\n", 5);
	install_events_free(events);
	text = events_of(f, 1);
	assert_int_equal(check_lines(&text), 1);
	assert_non_null(strstr(pkg_buf_str(&text), "real"));
}

static void
a_flood_is_cut_in_the_events_and_capped_in_the_log(void **state)
{
	struct fixture *f = *state;
	struct install_events *events = open_events(f, 1);
	pkg_autofree char *line = pkg_xmalloc(1000);
	pkg_cleanup_buf struct pkg_buf text = { 0 };
	pkg_cleanup_buf struct pkg_buf log = { 0 };

	memset(line, 'x', 999);
	line[999] = '\n';
	for (int i = 0; i < 20000; i++)
		install_events_output(events, line, 1000);
	install_events_free(events);
	text = events_of(f, 1);
	assert_true(text.len < 64 * 1024);
	log = log_of(f, 1);
	assert_true(log.len > 15 * 1024 * 1024 && log.len < INSTALL_LOG_MAX + 100);
	assert_int_equal(times_in(pkg_buf_str(&log), "cut here"), 1);
}

static void
one_line_without_an_end_stays_short(void **state)
{
	struct fixture *f = *state;
	struct install_events *events = open_events(f, 1);
	pkg_cleanup_buf struct pkg_buf log = { 0 };

	for (int i = 0; i < 100000; i++)
		install_events_output(events, "abcdefghij", 10);
	install_events_free(events);
	log = log_of(f, 1);
	assert_true(log.len <= 2010);
}

static void
progress_is_told_ten_times_a_second_but_always_at_the_end(void **state)
{
	struct fixture *f = *state;
	struct install_events *events = open_events(f, 1);
	struct fetch_progress progress = { .name = "a\033[2J.whl", .total = 1000 };
	pkg_cleanup_buf struct pkg_buf text = { 0 };

	for (progress.bytes = 0; progress.bytes < 1000; progress.bytes++)
		install_events_transfer(events, &progress);
	progress.note = "retrying";
	install_events_transfer(events, &progress);
	progress.note = NULL;
	progress.done = true;
	install_events_transfer(events, &progress);
	install_events_free(events);
	text = events_of(f, 1);
	assert_in_range(check_lines(&text), 3, 20);
	assert_int_equal(times_in(pkg_buf_str(&text), "\"done\":true"), 1);
	assert_int_equal(times_in(pkg_buf_str(&text), "retrying"), 1);
	assert_null(strstr(pkg_buf_str(&text), "u001b"));
}

static void
a_job_that_ended_gets_its_last_line_once(void **state)
{
	static const char result[] = "{\"type\":\"result\",\"status\":\"done\"}";
	struct fixture *f = *state;
	struct install_events *events = open_events(f, 1);
	pkg_cleanup_buf struct pkg_buf text = { 0 };

	install_events_state(events, "verifying", 0);
	install_events_free(events);
	for (int i = 0; i < 3; i++)
		install_events_finish(&f->home, 1, result);
	text = events_of(f, 1);
	assert_int_equal(check_lines(&text), 2);
	assert_int_equal(times_in(pkg_buf_str(&text), "\"result\""), 1);
	/* No log at all is no reason to say nothing. */
	install_events_finish(&f->home, 2, result);
	pkg_buf_clear(&text);
	text = events_of(f, 2);
	assert_int_equal(check_lines(&text), 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_HOME(every_row_is_one_line_with_a_time),
		WITH_HOME(a_second_writer_goes_on_where_the_first_stopped),
		WITH_HOME(a_row_that_was_cut_short_does_not_spoil_the_next),
		WITH_HOME(output_becomes_lines_whatever_the_pieces_it_comes_in),
		WITH_HOME(an_unfinished_line_ends_before_the_next_status),
		WITH_HOME(bars_and_empty_lines_are_no_events),
		WITH_HOME(a_flood_is_cut_in_the_events_and_capped_in_the_log),
		WITH_HOME(one_line_without_an_end_stays_short),
		WITH_HOME(progress_is_told_ten_times_a_second_but_always_at_the_end),
		WITH_HOME(a_job_that_ended_gets_its_last_line_once),
	};

	return cmocka_run_group_tests_name("install_events", tests, NULL, NULL);
}
