#include "unit.h"

#include "egress/head.h"

#include <string.h>

#define FIELDS 64

static void
check_scan(const char *data, size_t len, enum egress_scan expected, size_t end)
{
	/* Whole, byte by byte, and in two pieces cut everywhere: always the same answer. */
	for (size_t cut = 0; cut <= len; cut++) {
		struct egress_scanner scanner = { 0 };
		enum egress_scan scan = egress_scan(&scanner, data, cut);

		if (scan == EGRESS_SCAN_MORE)
			scan = egress_scan(&scanner, data, len);
		if (scan != expected)
			fail_msg("cut at %zu of %zu: %d", cut, len, (int)scan);
		if (scan == EGRESS_SCAN_DONE)
			assert_int_equal(scanner.seen, end);
	}
	struct egress_scanner scanner = { 0 };
	enum egress_scan scan = EGRESS_SCAN_MORE;

	for (size_t i = 1; i <= len && scan == EGRESS_SCAN_MORE; i++)
		scan = egress_scan(&scanner, data, i);
	assert_int_equal(scan, expected);
}

static void
the_end_of_a_head_is_found_wherever_it_is_cut(PKG_UNUSED void **state)
{
	static const char whole[] = "GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\nbody\nwith\0all";

	check_scan(whole, sizeof(whole) - 1, EGRESS_SCAN_DONE, 35);
	check_scan(whole, 35, EGRESS_SCAN_DONE, 35);
	check_scan(whole, 34, EGRESS_SCAN_MORE, 0);
	check_scan("", 0, EGRESS_SCAN_MORE, 0);
}

static void
lines_that_two_parsers_would_see_differently_are_refused(PKG_UNUSED void **state)
{
	static const char *const table[] = { "GET /\n", "GET /\r\nA: b\n\r\n", "GET /\rX\r\n\r\n",
		"GET /\r\r\n\r\n", "\r\n", "\n", "GET /\r\nA: b\r\n\n" };

	for (size_t i = 0; i < PKG_ARRAY_LEN(table); i++)
		check_scan(table[i], strlen(table[i]), EGRESS_SCAN_BAD, 0);
	check_scan("GET \0/", 6, EGRESS_SCAN_BAD, 0);
}

struct refusal {
	const char *head;
	int status;
};

static void
malformed_requests_have_their_status(PKG_UNUSED void **state)
{
#define GET "GET http://a/ HTTP/1.1\r\nHost: a\r\n"
#define POST "POST http://a/ HTTP/1.1\r\nHost: a\r\n"
	static const struct refusal table[] = {
		{ "GET\r\n\r\n", 400 },
		{ "GET http://a/\r\n\r\n", 400 },
		{ "GET  http://a/ HTTP/1.1\r\nHost: a\r\n\r\n", 400 },
		{ "GET http://a/ b HTTP/1.1\r\nHost: a\r\n\r\n", 400 },
		{ "GET http://a/\tb HTTP/1.1\r\nHost: a\r\n\r\n", 400 },
		{ "GET http://a/\xc3\xbc HTTP/1.1\r\nHost: a\r\n\r\n", 400 },
		{ " GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n", 400 },
		{ "G(T http://a/ HTTP/1.1\r\nHost: a\r\n\r\n", 400 },
		{ "ANMETHODTHATISMUCHTOOLONG http://a/ HTTP/1.1\r\nHost: a\r\n\r\n", 400 },
		{ "GET http://a/ HTTP/1.2\r\nHost: a\r\n\r\n", 505 },
		{ "GET http://a/ HTTP/2.0\r\nHost: a\r\n\r\n", 505 },
		{ "GET http://a/ http/1.1\r\nHost: a\r\n\r\n", 400 },
		{ "GET http://a/ HTTP/1.1 \r\nHost: a\r\n\r\n", 400 },
		{ "GET http://a/ HTTP/11\r\nHost: a\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\nHost: a\r\n\r\n", 400 },
		{ "GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n", 400 },
		{ "GET https://a/ HTTP/1.1\r\nHost: a\r\n\r\n", 400 },
		{ "GET http:///x HTTP/1.1\r\nHost: a\r\n\r\n", 400 },
		{ "GET http://a/#f HTTP/1.1\r\nHost: a\r\n\r\n", 400 },
		{ "GET http://u:p@a/ HTTP/1.1\r\nHost: a\r\n\r\n", 400 },
		{ "GET http://a:80:81/ HTTP/1.1\r\nHost: a\r\n\r\n", 400 },
		{ "GET http://a\\@b/ HTTP/1.1\r\nHost: a\r\n\r\n", 400 },
		{ "GET http://127.1/ HTTP/1.1\r\nHost: a\r\n\r\n", 400 },
		{ "CONNECT a:443/ HTTP/1.1\r\nHost: a\r\n\r\n", 400 },
		{ "CONNECT http://a:443 HTTP/1.1\r\nHost: a\r\n\r\n", 400 },
		{ "CONNECT u@a:443 HTTP/1.1\r\nHost: a\r\n\r\n", 400 },
		{ "CONNECT a:99999 HTTP/1.1\r\nHost: a\r\n\r\n", 400 },
		{ "CONNECT a:443 HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n", 400 },
		{ "CONNECT a:443 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", 400 },
		{ "GET http://a/ HTTP/1.1\r\n\r\n", 400 },
		{ GET "Host: b\r\n\r\n", 400 },
		{ GET " folded: x\r\n\r\n", 400 },
		{ GET "A: b\r\n\tc\r\n\r\n", 400 },
		{ GET "A : b\r\n\r\n", 400 },
		{ GET "A\t: b\r\n\r\n", 400 },
		{ GET ": b\r\n\r\n", 400 },
		{ GET "no colon\r\n\r\n", 400 },
		{ GET "A: b\x01\r\n\r\n", 400 },
		{ GET "A: b\x7f\r\n\r\n", 400 },
		{ GET "\xc3\xbc: b\r\n\r\n", 400 },
		{ POST "Content-Length: 1\r\nContent-Length: 1\r\n\r\n", 400 },
		{ POST "Content-Length: 1, 1\r\n\r\n", 400 },
		{ POST "Content-Length: +1\r\n\r\n", 400 },
		{ POST "Content-Length: -1\r\n\r\n", 400 },
		{ POST "Content-Length: 0x1\r\n\r\n", 400 },
		{ POST "Content-Length: 1 2\r\n\r\n", 400 },
		{ POST "Content-Length:\r\n\r\n", 400 },
		{ POST "Content-Length: 9999999999999999999\r\n\r\n", 400 },
		{ POST "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400 },
		{ POST "Transfer-Encoding: chunked\r\ncontent-length: 1\r\n\r\n", 400 },
		{ POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", 400 },
		{ POST "Transfer-Encoding: chunked, chunked\r\n\r\n", 501 },
		{ POST "Transfer-Encoding: gzip\r\n\r\n", 501 },
		{ POST "Transfer-Encoding: xchunked\r\n\r\n", 501 },
		{ POST "Transfer-Encoding: \"chunked\"\r\n\r\n", 501 },
		{ POST "Connection: Content-Length\r\nContent-Length: 1\r\n\r\n", 400 },
		{ POST "Connection: close, transfer-encoding\r\n\r\n", 400 },
		{ GET "Connection: host\r\n\r\n", 400 },
		{ GET "Connection: a b\r\n\r\n", 400 },
		{ "POST http://a/ HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400 },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(table); i++) {
		pkg_cleanup_error struct pkg_error err = { 0 };
		struct egress_request request = { 0 };
		int rc = egress_request_parse(
			table[i].head, strlen(table[i].head), FIELDS, &request, &err);

		if (rc != -1 || request.status != table[i].status)
			fail_msg("%zu: %s gives %d, %d", i, table[i].head, rc, request.status);
		assert_non_null(err.message);
		egress_request_clear(&request);
	}
}

static void
parse(const char *head, struct egress_request *request)
{
	pkg_cleanup_error struct pkg_error err = { 0 };

	memset(request, 0, sizeof(*request));
	if (egress_request_parse(head, strlen(head), FIELDS, request, &err) < 0)
		fail_msg("%s: %d %s", head, request->status, err.message);
}

static void
check_rewrite(const char *head, const char *expected)
{
	pkg_cleanup_buf struct pkg_buf out = { 0 };
	struct egress_request request;

	parse(head, &request);
	egress_request_write(&request, false, NULL, &out);
	assert_string_equal(pkg_buf_str(&out), expected);
	egress_request_clear(&request);
}

static void
plain_requests_are_rewritten_to_origin_form(PKG_UNUSED void **state)
{
	check_rewrite("GET http://A.example:80/x?y=http://z/ HTTP/1.1\r\nHost: b\r\n\r\n",
		"GET /x?y=http://z/ HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n");
	check_rewrite("GET HTTP://a.example:8080 HTTP/1.1\r\nHost: b\r\nX:  y z \r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a.example:8080\r\nX: y z\r\nConnection: close\r\n\r\n");
	check_rewrite("GET http://[::1]?q HTTP/1.0\r\n\r\n",
		"GET /?q HTTP/1.0\r\nHost: [::1]\r\nConnection: close\r\n\r\n");
	check_rewrite("OPTIONS http://a HTTP/1.1\r\nHost: a\r\n\r\n",
		"OPTIONS * HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
	check_rewrite("GET http://a//b/../c HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET //b/../c HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
}

static void
hop_by_hop_fields_do_not_go_on(PKG_UNUSED void **state)
{
	check_rewrite(
		"GET http://a/ HTTP/1.1\r\nHost: a\r\nProxy-Authorization: Basic x\r\n"
		"proxy-connection: close\r\nProxy-Anything: x\r\nKeep-Alive: 5\r\nTE: trailers\r\n"
		"Upgrade: h2c\r\nHTTP2-Settings: x\r\nConnection: X-One,, x-two\r\nX-One: 1\r\n"
		"X-TWO: 2\r\nX-Three: 3\r\nConnection: x-four\r\nX-Four: 4\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a\r\nX-Three: 3\r\nConnection: close\r\n\r\n");
	check_rewrite("POST http://a/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n"
		      "Expect: 100-continue\r\nTrailer: x\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\nExpect: "
		"100-continue\r\n"
		"Trailer: x\r\nConnection: close\r\n\r\n");
}

static void
another_proxy_gets_the_absolute_form_and_our_credentials(PKG_UNUSED void **state)
{
	pkg_cleanup_buf struct pkg_buf out = { 0 };
	struct egress_request request;

	parse("GET http://a:81/x HTTP/1.1\r\nHost: a\r\nProxy-Authorization: theirs\r\n\r\n",
		&request);
	egress_request_write(&request, true, "Basic ours", &out);
	assert_string_equal(pkg_buf_str(&out),
		"GET http://a:81/x HTTP/1.1\r\nHost: a:81\r\nProxy-Authorization: Basic ours\r\n"
		"Connection: close\r\n\r\n");
	egress_request_clear(&request);
	pkg_buf_clear(&out);
	parse("CONNECT [2001:db8::1]:443 HTTP/1.1\r\nHost: a\r\nX: y\r\n\r\n", &request);
	egress_request_write(&request, true, NULL, &out);
	assert_string_equal(pkg_buf_str(&out),
		"CONNECT [2001:db8::1]:443 HTTP/1.1\r\nHost: [2001:db8::1]:443\r\n\r\n");
	egress_request_clear(&request);
}

static void
authority_and_framing_are_understood(PKG_UNUSED void **state)
{
	struct egress_request request;

	parse("CONNECT Example.ORG.:8443 HTTP/1.1\r\n\r\n", &request);
	assert_true(request.connect);
	assert_string_equal(request.host.name, "example.org");
	assert_int_equal(request.port, 8443);
	egress_request_clear(&request);
	parse("CONNECT example.org HTTP/1.0\r\n\r\n", &request);
	assert_int_equal(request.port, 443);
	egress_request_clear(&request);
	parse("CONNECT a:1 HTTP/1.1\r\nContent-Length: 0\r\n\r\n", &request);
	egress_request_clear(&request);
	parse("POST http://a/ HTTP/1.1\r\nHost: a\r\nContent-Length: 007\r\n\r\n", &request);
	assert_int_equal(request.body, EGRESS_BODY_LENGTH);
	assert_int_equal(request.length, 7);
	assert_int_equal(request.port, 80);
	egress_request_clear(&request);
	parse("POST http://a/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:chunked\r\n\r\n", &request);
	assert_int_equal(request.body, EGRESS_BODY_CHUNKED);
	egress_request_clear(&request);
}

static void
a_head_with_too_many_fields_is_431_and_one_with_just_enough_is_not(PKG_UNUSED void **state)
{
	pkg_cleanup_buf struct pkg_buf head = { 0 };
	struct egress_request request = { 0 };

	pkg_buf_add(&head, "GET http://a/ HTTP/1.1\r\nHost: a\r\n");
	for (int i = 1; i < FIELDS; i++)
		pkg_buf_add(&head, "A: b\r\n");
	pkg_buf_add(&head, "\r\n");
	assert_int_equal(egress_request_parse(head.data, head.len, FIELDS, &request, NULL), 0);
	egress_request_clear(&request);
	assert_int_equal(egress_request_parse(head.data, head.len, FIELDS - 1, &request, NULL), -1);
	assert_int_equal(request.status, 431);
	egress_request_clear(&request);
}

static void
responses_lose_their_hop_by_hop_fields_and_tell_their_length(PKG_UNUSED void **state)
{
	static const struct {
		const char *head;
		const char *expected; /* NULL: refused with 502 */
		bool to_head;
		bool interim;
		int64_t length;
	} table[] = {
		{ "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nKeep-Alive: x\r\nConnection: "
		  "keep-alive, y\r\nY: z\r\n\r\n",
			"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\n", false,
			false, 3 },
		{ "HTTP/1.0 404\r\n\r\n", "HTTP/1.0 404\r\nConnection: close\r\n\r\n", false, false,
			-1 },
		{ "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
			"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: "
			"close\r\n\r\n",
			false, false, -1 },
		{ "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
			"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\nConnection: "
			"close\r\n\r\n",
			false, false, -1 },
		{ "HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 100 Continue\r\n\r\n", false, true,
			0 },
		{ "HTTP/1.1 204 No\r\n\r\n", "HTTP/1.1 204 No\r\nConnection: close\r\n\r\n", false,
			false, 0 },
		{ "HTTP/1.1 304 No\r\nContent-Length: 9\r\n\r\n",
			"HTTP/1.1 304 No\r\nContent-Length: 9\r\nConnection: close\r\n\r\n", false,
			false, 0 },
		{ "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n",
			"HTTP/1.1 200 OK\r\nContent-Length: 9\r\nConnection: close\r\n\r\n", true,
			false, 0 },
		{ "HTTP/1.1 101 Switching\r\n\r\n", NULL, false, false, 0 },
		{ "HTTP/1.1 20 OK\r\n\r\n", NULL, false, false, 0 },
		{ "HTTP/1.1 2000 OK\r\n\r\n", NULL, false, false, 0 },
		{ "HTTP/1.1 099 OK\r\n\r\n", NULL, false, false, 0 },
		{ "HTTP/2.0 200 OK\r\n\r\n", NULL, false, false, 0 },
		{ "ICY 200 OK and more\r\n\r\n", NULL, false, false, 0 },
		{ "HTTP/1.1\r\n\r\n", NULL, false, false, 0 },
		{ "HTTP/1.1 200 OK\r\n x\r\n\r\n", NULL, false, false, 0 },
		{ "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", NULL, false,
			false, 0 },
		{ "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
			NULL, false, false, 0 },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(table); i++) {
		struct egress_response response = { 0 };
		int rc = egress_response_parse(table[i].head, strlen(table[i].head), FIELDS,
			table[i].to_head, &response, NULL);

		if (table[i].expected) {
			assert_int_equal(rc, 0);
			assert_string_equal(pkg_buf_str(&response.head), table[i].expected);
			assert_int_equal(response.interim, table[i].interim);
			assert_int_equal(response.length, table[i].length);
		} else {
			assert_int_equal(rc, -1);
			assert_int_equal(response.status, 502);
		}
		egress_response_clear(&response);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_end_of_a_head_is_found_wherever_it_is_cut),
		cmocka_unit_test(lines_that_two_parsers_would_see_differently_are_refused),
		cmocka_unit_test(malformed_requests_have_their_status),
		cmocka_unit_test(plain_requests_are_rewritten_to_origin_form),
		cmocka_unit_test(hop_by_hop_fields_do_not_go_on),
		cmocka_unit_test(another_proxy_gets_the_absolute_form_and_our_credentials),
		cmocka_unit_test(authority_and_framing_are_understood),
		cmocka_unit_test(
			a_head_with_too_many_fields_is_431_and_one_with_just_enough_is_not),
		cmocka_unit_test(responses_lose_their_hop_by_hop_fields_and_tell_their_length),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
