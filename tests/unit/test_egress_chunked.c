#include "unit.h"

#include "core/mem.h"
#include "egress/chunked.h"

#include <stdio.h>
#include <string.h>

/* Whole, and cut in two everywhere: the same result and the same number of bytes. */
static void
check(const char *data, enum egress_chunked_result expected, size_t end)
{
	size_t len = strlen(data);

	for (size_t cut = 0; cut <= len; cut++) {
		struct egress_chunked chunked = { 0 };
		size_t first = 0, second = 0;
		enum egress_chunked_result result =
			egress_chunked_feed(&chunked, data, cut, &first);

		if (result == EGRESS_CHUNKED_MORE) {
			assert_int_equal(first, cut);
			result = egress_chunked_feed(&chunked, data + cut, len - cut, &second);
		}
		if (result != expected ||
			(expected != EGRESS_CHUNKED_MORE && first + second != end))
			fail_msg("'%s' cut at %zu: %d after %zu", data, cut, (int)result,
				first + second);
	}
}

static void
a_body_ends_where_its_framing_says(PKG_UNUSED void **state)
{
	static const struct {
		const char *body;
		const char *after;
	} table[] = {
		{ "0\r\n\r\n", "GET / HTTP/1.1\r\n\r\n" },
		{ "5\r\nhello\r\n0\r\n\r\n", "" },
		{ "5\r\nhello\r\n0\r\n\r\n", "\r\n" },
		{ "a\r\n0123456789\r\nA\r\n0\r\n\r\n12345\r\n0\r\n\r\n", "0\r\n\r\n" },
		{ "5;name=value;x=\"y\"\r\nhello\r\n000\r\n\r\n", "x" },
		{ "0\r\nTrailer: value\r\nX:\r\n\r\n", "Trailer: no\r\n" },
		{ "0;last\r\n\r\n", "" },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(table); i++) {
		char text[256];

		snprintf(text, sizeof(text), "%s%s", table[i].body, table[i].after);
		check(text, EGRESS_CHUNKED_DONE, strlen(table[i].body));
	}
}

static void
every_beginning_of_a_body_wants_more(PKG_UNUSED void **state)
{
	static const char body[] = "5;a=b\r\nhello\r\n0\r\nX: y\r\n\r\n";

	for (size_t len = 0; len < sizeof(body) - 1; len++) {
		char text[sizeof(body)];

		memcpy(text, body, len);
		text[len] = '\0';
		check(text, EGRESS_CHUNKED_MORE, 0);
	}
}

static void
what_other_parsers_might_read_differently_is_refused(PKG_UNUSED void **state)
{
	static const struct {
		const char *data;
		size_t good; /* bytes before the fault */
	} table[] = {
		{ "\r\n", 0 },
		{ ";x\r\n", 0 },
		{ "+5\r\n", 0 },
		{ "-1\r\n", 0 },
		{ "0x5\r\n", 1 },
		{ " 5\r\n", 0 },
		{ "5 \r\n", 1 },
		{ "5\n", 1 },
		{ "5\rhello", 2 },
		{ "5;a\nb", 3 },
		{ "5;a\x01", 3 },
		{ "g\r\n", 0 },
		{ "5\r\nhello0\r\n", 8 },
		{ "5\r\nhello\n", 8 },
		{ "5\r\nhello\r0", 9 },
		{ "0\r\nno colon\r\n", 5 },
		{ "0\r\n X: folded\r\n", 3 },
		{ "0\r\nX: y\n", 7 },
		{ "0\r\n: y\r\n", 3 },
		{ "0\r\n\n", 3 },
		{ "0000000000000000\r\n", 15 },
		{ "fffffffffffffffff\r\n", 15 },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(table); i++)
		check(table[i].data, EGRESS_CHUNKED_BAD, table[i].good);
}

static void
extensions_and_trailers_are_bounded(PKG_UNUSED void **state)
{
	static const char *const starts[] = { "1;", "0\r\nX:" };

	for (size_t i = 0; i < PKG_ARRAY_LEN(starts); i++) {
		struct egress_chunked chunked = { 0 };
		enum egress_chunked_result result;
		char block[1024];
		size_t used, total = 0;

		memset(block, 'a', sizeof(block));
		result = egress_chunked_feed(&chunked, starts[i], strlen(starts[i]), &used);
		while (result == EGRESS_CHUNKED_MORE && total < 1 << 20) {
			result = egress_chunked_feed(&chunked, block, sizeof(block), &used);
			total += used;
		}
		assert_int_equal(result, EGRESS_CHUNKED_BAD);
		assert_true(total < 32768);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_body_ends_where_its_framing_says),
		cmocka_unit_test(every_beginning_of_a_body_wants_more),
		cmocka_unit_test(what_other_parsers_might_read_differently_is_refused),
		cmocka_unit_test(extensions_and_trailers_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
