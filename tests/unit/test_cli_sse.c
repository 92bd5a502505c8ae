#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "cli/sse.h"

/* What a text gives, as "id=data|id=data", fed in pieces of so many bytes. */
static char *
read_all(const char *text, size_t piece)
{
	struct cli_sse sse = { 0 };
	struct pkg_buf out = { 0 };
	size_t len = strlen(text);

	for (size_t at = 0; at < len; at += piece) {
		size_t size = len - at < piece ? len - at : piece;
		struct cli_sse_event event = { 0 };

		assert_int_equal(cli_sse_feed(&sse, text + at, size, NULL), 0);
		while (cli_sse_next(&sse, &event)) {
			pkg_buf_addf(&out, "%s%s=%s", out.len > 0 ? "|" : "",
				event.id != NULL ? event.id : "-", event.data);
			cli_sse_event_clear(&event);
		}
	}
	cli_sse_clear(&sse);
	return pkg_buf_steal(&out);
}

static const struct {
	const char *text;
	const char *events;
} cases[] = {
	{ "id: 7\ndata: {\"a\":1}\n\n", "7={\"a\":1}" },
	{ "id: 7\r\ndata: x\r\n\r\nid: 8\r\ndata: y\r\n\r\n", "7=x|8=y" },
	{ "id:7\rdata:x\r\rdata:y\r\r", "7=x|-=y" },
	{ ": \n\n: beat\n\ndata: x\n\n", "-=x" },
	{ "data: a\ndata: b\n\n", "-=a\nb" },
	{ "data\ndata\n\n", "-=\n" },
	{ "data:  two blanks\n\n", "-= two blanks" },
	{ "event: x\nretry: 5\ndatabase: no\ndata: yes\n\n", "-=yes" },
	{ "id: 1\n\ndata: x\n\n", "-=x" },
	{ "data: not ended", "" },
	{ "data: one blank line is wanted\n", "" },
};

static void
events_are_the_same_however_the_bytes_are_cut(PKG_UNUSED void **state)
{
	for (size_t i = 0; i < PKG_ARRAY_LEN(cases); i++) {
		for (size_t piece = 1; piece <= strlen(cases[i].text); piece++) {
			pkg_autofree char *got = read_all(cases[i].text, piece);

			assert_string_equal(got, cases[i].events);
		}
	}
}

static void
endless_line_is_refused(PKG_UNUSED void **state)
{
	struct cli_sse sse = { 0 };
	pkg_cleanup_error struct pkg_error err = { 0 };
	pkg_autofree char *block = pkg_xmalloc(1024 * 1024);
	int rc = 0;

	memset(block, 'x', 1024 * 1024);
	for (int i = 0; i < 6 && rc == 0; i++)
		rc = cli_sse_feed(&sse, block, 1024 * 1024, &err);
	assert_int_equal(rc, -1);
	assert_int_equal(err.kind, PKG_E_TOO_LARGE);
	cli_sse_clear(&sse);
}

static void
many_short_events_never_reach_the_limit(PKG_UNUSED void **state)
{
	struct cli_sse sse = { 0 };
	pkg_autofree char *data = pkg_xmalloc(100000);
	size_t count = 0;

	memset(data, 'x', 100000);
	memcpy(data, "data: ", 6);
	memcpy(data + 99998, "\n\n", 2);
	for (int i = 0; i < 100; i++) {
		struct cli_sse_event event = { 0 };

		assert_int_equal(cli_sse_feed(&sse, data, 100000, NULL), 0);
		while (cli_sse_next(&sse, &event)) {
			count++;
			cli_sse_event_clear(&event);
		}
	}
	assert_int_equal(count, 100);
	cli_sse_clear(&sse);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_are_the_same_however_the_bytes_are_cut),
		cmocka_unit_test(endless_line_is_refused),
		cmocka_unit_test(many_short_events_never_reach_the_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
