#include "unit.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/progress.h"
#include "cli/term.h"

struct screen {
	char *data;
	size_t len;
	FILE *file;
	struct cli_progress *progress;
};

static void
screen_open(struct screen *screen, bool live, bool utf8, size_t width)
{
	struct cli_progress_style style = { .live = live, .utf8 = utf8, .width = width };

	*screen = (struct screen){ 0 };
	screen->file = open_memstream(&screen->data, &screen->len);
	screen->progress = cli_progress_new(screen->file, &style);
}

static void
screen_close(struct screen *screen)
{
	cli_progress_free(screen->progress);
	fclose(screen->file);
	free(screen->data);
}

static void
happens(struct screen *screen, int64_t now, const char *text)
{
	struct json_object *event = pkg_json_parse(text, strlen(text), NULL);

	assert_non_null(event);
	cli_progress_event(screen->progress, event, now);
	json_object_put(event);
}

static void
elsewhere_there_are_plain_lines_without_any_control(PKG_UNUSED void **state)
{
	struct screen screen;

	screen_open(&screen, false, true, 60);
	happens(&screen, 0, "{\"type\":\"state\",\"state\":\"queued\",\"behind\":4}");
	happens(&screen, 1, "{\"type\":\"state\",\"state\":\"fetching\"}");
	happens(&screen, 2, "{\"type\":\"status\",\"text\":\"a\\u001b[2Jb\\rc\\u202ed\"}");
	happens(&screen, 3, "{\"type\":\"progress\",\"name\":\"a.whl\",\"bytes\":5,\"total\":10}");
	happens(&screen, 4,
		"{\"type\":\"progress\",\"name\":\"a.whl\",\"bytes\":10,\"total\":10,\"done\":"
		"true}");
	happens(&screen, 5,
		"{\"type\":\"progress\",\"name\":\"b.whl\",\"bytes\":1,\"total\":1,\"done\":true,"
		"\"cached\":true}");
	happens(&screen, 6, "{\"type\":\"output\",\"text\":\"only with -v\"}");
	cli_progress_tick(screen.progress, 1000);
	fflush(screen.file);
	assert_string_equal(screen.data,
		"queued, behind job 4\nfetching\nab cd\na.whl  10 B\nb.whl is in the cache\n");
	assert_int_equal(cli_progress_wait(screen.progress, 2000), -1);
	screen_close(&screen);
}

static void
live_block_is_drawn_at_most_ten_times_a_second(PKG_UNUSED void **state)
{
	struct screen screen;
	size_t drawn = 0;

	screen_open(&screen, true, true, 80);
	happens(&screen, 0, "{\"type\":\"state\",\"state\":\"fetching\"}");
	for (int64_t now = 0; now < 1000; now++) {
		size_t before = screen.len;

		happens(&screen, now,
			"{\"type\":\"progress\",\"name\":\"a\",\"bytes\":5,\"total\":10}");
		cli_progress_tick(screen.progress, now);
		fflush(screen.file);
		drawn += screen.len > before;
	}
	assert_in_range(drawn, 9, 11);
	screen_close(&screen);
}

/* Every line between the escapes that we write ourselves. */
static void
assert_lines_fit(const char *data, size_t columns)
{
	for (const char *p = data; *p != '\0';) {
		size_t len = strcspn(p, "\n\r\033");
		pkg_autofree char *line = pkg_xstrndup(p, len);

		assert_true(cli_text_columns(line) <= columns);
		p += len;
		if (*p == '\033')
			p += strcspn(p, "AJ") + 1;
		else if (*p != '\0')
			p++;
	}
}

static void
block_fits_every_width_and_leaves_nothing(PKG_UNUSED void **state)
{
	for (size_t width = 20; width < 140; width += 7) {
		struct screen screen;

		screen_open(&screen, true, width % 2 == 0, width);
		happens(&screen, 0, "{\"type\":\"state\",\"state\":\"fetching\"}");
		happens(&screen, 0,
			"{\"type\":\"progress\",\"name\":\"a_very_long_name_of_a_wheel-1.0-py3-"
			"none-any.whl\",\"bytes\":9223372036854775807,\"total\":10}");
		happens(&screen, 0,
			"{\"type\":\"progress\",\"name\":\"数据库数据库数据库数据库数据库\","
			"\"bytes\":-5,\"total\":-7}");
		happens(&screen, 0,
			"{\"type\":\"progress\",\"name\":\"c\",\"bytes\":50,\"total\":1000}");
		cli_progress_tick(screen.progress, 200);
		fflush(screen.file);
		assert_true(screen.len > 0);
		assert_lines_fit(screen.data, width - 1);
		cli_progress_clear(screen.progress);
		fflush(screen.file);
		/* Four lines: up three, and everything below is cleared. */
		assert_non_null(strstr(screen.data, "\r\033[3A\033[J"));
		assert_string_equal(screen.data + screen.len - 3, "\033[J");
		screen_close(&screen);
	}
}

static void
nothing_is_drawn_while_someone_is_asked(PKG_UNUSED void **state)
{
	struct screen screen;
	size_t len;

	screen_open(&screen, true, true, 80);
	happens(&screen, 0, "{\"type\":\"state\",\"state\":\"pending\"}");
	cli_progress_tick(screen.progress, 100);
	cli_progress_pause(screen.progress, true);
	fflush(screen.file);
	len = screen.len;
	assert_int_equal(cli_progress_wait(screen.progress, 5000), -1);
	cli_progress_tick(screen.progress, 5000);
	fflush(screen.file);
	assert_int_equal(screen.len, len);
	cli_progress_pause(screen.progress, false);
	cli_progress_tick(screen.progress, 6000);
	fflush(screen.file);
	assert_true(screen.len > len);
	screen_close(&screen);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(elsewhere_there_are_plain_lines_without_any_control),
		cmocka_unit_test(live_block_is_drawn_at_most_ten_times_a_second),
		cmocka_unit_test(block_fits_every_width_and_leaves_nothing),
		cmocka_unit_test(nothing_is_drawn_while_someone_is_asked),
	};

	if (setlocale(LC_ALL, "C.UTF-8") == NULL)
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
