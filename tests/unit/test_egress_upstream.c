#include "unit.h"

#include "egress/upstream.h"

#include <string.h>

static const struct egress_upstream_proxy *
ask(const struct egress_upstream *upstream, const char *authority, bool is_connect)
{
	struct policy_host host;
	int port = 0;

	assert_int_equal(
		policy_authority_parse(authority, strlen(authority), &host, &port, NULL), 0);
	return egress_upstream_for(upstream, &host,
		port		     ? port
			: is_connect ? 443
				     : 80,
		is_connect);
}

static void
proxies_are_read_with_their_credentials(PKG_UNUSED void **state)
{
	static const struct {
		const char *value;
		const char *host; /* NULL: refused */
		int port;
		const char *authorization;
	} table[] = {
		{ "http://proxy.example:3128", "proxy.example", 3128, NULL },
		{ "HTTP://proxy.example/", "proxy.example", 80, NULL },
		{ "proxy.example", "proxy.example", 1080, NULL },
		{ "10.0.0.1:8080", "10.0.0.1", 8080, NULL },
		{ "http://[::1]:8080", "::1", 8080, NULL },
		{ "http://user:pass@proxy.example:1", "proxy.example", 1, "Basic dXNlcjpwYXNz" },
		{ "http://user@proxy.example:1", "proxy.example", 1, "Basic dXNlcjo=" },
		{ "http://u:p%40%3a@proxy.example:1", "proxy.example", 1, "Basic dTpwQDo=" },
		{ "http://u:p@q@proxy.example:1", "proxy.example", 1, "Basic dTpwQHE=" },
		{ "http://u:%0d%0aX:y@proxy.example:1", NULL, 0, NULL },
		{ "http://u%3a:p@proxy.example:1", NULL, 0, NULL },
		{ "http://u:%4@proxy.example:1", NULL, 0, NULL },
		{ "https://proxy.example", NULL, 0, NULL },
		{ "socks5://proxy.example", NULL, 0, NULL },
		{ "http://", NULL, 0, NULL },
		{ "http://a b", NULL, 0, NULL },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(table); i++) {
		pkg_autofree char *line = pkg_xasprintf("https_proxy=%s", table[i].value);
		char *env[] = { line, NULL };
		pkg_cleanup_error struct pkg_error err = { 0 };
		struct egress_upstream upstream;
		const struct egress_upstream_proxy *proxy;

		if (egress_upstream_read(env, &upstream, &err) < 0) {
			if (table[i].host)
				fail_msg("%s: %s", table[i].value, err.message);
			assert_null(strstr(err.message, table[i].value));
			continue;
		}
		if (!table[i].host)
			fail_msg("%s was taken", table[i].value);
		proxy = ask(&upstream, "example.org", true);
		assert_non_null(proxy);
		assert_string_equal(proxy->host.name, table[i].host);
		assert_int_equal(proxy->port, table[i].port);
		if (table[i].authorization)
			assert_string_equal(proxy->authorization, table[i].authorization);
		else
			assert_null(proxy->authorization);
		egress_upstream_clear(&upstream);
	}
}

static void
the_kind_of_request_chooses_the_variable_and_lower_case_wins(PKG_UNUSED void **state)
{
	char *env[] = { (char[]){ "HTTP_PROXY=http://a:1" }, (char[]){ "http_proxy=http://b:2" },
		(char[]){ "HTTPS_PROXY=http://c:3" }, (char[]){ "HTTPS_PROXYX=http://d:4" }, NULL };
	struct egress_upstream upstream;

	assert_int_equal(egress_upstream_read(env, &upstream, NULL), 0);
	assert_string_equal(ask(&upstream, "example.org", false)->host.name, "b");
	assert_string_equal(ask(&upstream, "example.org", true)->host.name, "c");
	egress_upstream_clear(&upstream);
	assert_int_equal(egress_upstream_read(env + 4, &upstream, NULL), 0);
	assert_null(ask(&upstream, "example.org", true));
	egress_upstream_clear(&upstream);
}

static void
no_proxy_names_what_is_reached_directly(PKG_UNUSED void **state)
{
	static const struct {
		const char *direct;
		const char *authority;
		bool proxied;
	} table[] = {
		{ "", "example.org", true },
		{ "example.org", "example.org", false },
		{ "example.org", "a.example.org", false },
		{ ".example.org", "example.org", false },
		{ "*.example.org", "a.example.org", false },
		{ "example.org", "notexample.org", true },
		{ "other, example.org", "example.org", false },
		{ "other example.org", "example.org", false },
		{ "example.org:8443", "example.org:8443", false },
		{ "example.org:8443", "example.org", true },
		{ "*", "example.org", false },
		{ "192.0.2.0/24", "192.0.2.9", false },
		{ "192.0.2.0/24", "192.0.3.9", true },
		{ "192.0.2.9", "192.0.2.9", false },
		{ "http://nonsense/", "example.org", true },
		/* Loopback is nobody else's to reach. */
		{ "", "127.0.0.1", false },
		{ "", "[::1]", false },
		{ "", "localhost", false },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(table); i++) {
		pkg_autofree char *line = pkg_xasprintf("NO_PROXY=%s", table[i].direct);
		char *env[] = { (char[]){ "https_proxy=http://p:1" }, line, NULL };
		struct egress_upstream upstream;

		assert_int_equal(egress_upstream_read(env, &upstream, NULL), 0);
		if ((ask(&upstream, table[i].authority, true) != NULL) != table[i].proxied)
			fail_msg("NO_PROXY=%s, %s", table[i].direct, table[i].authority);
		egress_upstream_clear(&upstream);
	}
}

static void
only_the_proxy_variables_are_passed_on(PKG_UNUSED void **state)
{
	char *env[] = { (char[]){ "SECRET=1" }, (char[]){ "HTTPS_PROXY=http://a" },
		(char[]){ "no_proxy=b" }, (char[]){ "http_proxy=" }, NULL };
	pkg_cleanup(pkg_argv_free) struct pkg_argv *out = pkg_argv_new();

	egress_upstream_export(env, out);
	assert_int_equal(out->count, 2);
	assert_string_equal(out->items[0], "https_proxy=http://a");
	assert_string_equal(out->items[1], "no_proxy=b");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(proxies_are_read_with_their_credentials),
		cmocka_unit_test(the_kind_of_request_chooses_the_variable_and_lower_case_wins),
		cmocka_unit_test(no_proxy_names_what_is_reached_directly),
		cmocka_unit_test(only_the_proxy_variables_are_passed_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
