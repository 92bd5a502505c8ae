#include "unit.h"

#include "policy/address.h"
#include "policy/hostrule.h"

#include <string.h>

/* ---- addresses --------------------------------------------------------------------------------
 * */

static void
every_special_network_has_its_class(PKG_UNUSED void **state)
{
	static const struct {
		const char *text;
		enum policy_address_class class;
	} table[] = {
		{ "8.8.8.8", POLICY_ADDRESS_PUBLIC },
		{ "1.1.1.1", POLICY_ADDRESS_PUBLIC },
		{ "192.0.2.1", POLICY_ADDRESS_PUBLIC }, /* documentation: not ours to guard */
		{ "172.15.255.255", POLICY_ADDRESS_PUBLIC },
		{ "172.32.0.0", POLICY_ADDRESS_PUBLIC },
		{ "100.63.255.255", POLICY_ADDRESS_PUBLIC },
		{ "100.128.0.0", POLICY_ADDRESS_PUBLIC },
		{ "223.255.255.255", POLICY_ADDRESS_PUBLIC },
		{ "2606:4700::1111", POLICY_ADDRESS_PUBLIC },
		{ "0.0.0.0", POLICY_ADDRESS_UNSPECIFIED },
		{ "0.1.2.3", POLICY_ADDRESS_UNSPECIFIED },
		{ "127.0.0.1", POLICY_ADDRESS_LOOPBACK },
		{ "127.255.255.255", POLICY_ADDRESS_LOOPBACK },
		{ "169.254.0.1", POLICY_ADDRESS_LINK_LOCAL },
		{ "169.254.169.254", POLICY_ADDRESS_METADATA },
		{ "fd00:ec2::254", POLICY_ADDRESS_METADATA },
		{ "100.100.100.200", POLICY_ADDRESS_METADATA },
		{ "10.0.0.1", POLICY_ADDRESS_PRIVATE },
		{ "172.16.0.0", POLICY_ADDRESS_PRIVATE },
		{ "172.31.255.255", POLICY_ADDRESS_PRIVATE },
		{ "192.168.1.1", POLICY_ADDRESS_PRIVATE },
		{ "100.64.0.0", POLICY_ADDRESS_CGNAT },
		{ "100.127.255.255", POLICY_ADDRESS_CGNAT },
		{ "224.0.0.1", POLICY_ADDRESS_MULTICAST },
		{ "239.255.255.255", POLICY_ADDRESS_MULTICAST },
		{ "255.255.255.255", POLICY_ADDRESS_BROADCAST },
		{ "240.0.0.1", POLICY_ADDRESS_RESERVED },
		{ "192.0.0.1", POLICY_ADDRESS_RESERVED },
		{ "::", POLICY_ADDRESS_UNSPECIFIED },
		{ "::1", POLICY_ADDRESS_LOOPBACK },
		{ "fe80::1", POLICY_ADDRESS_LINK_LOCAL },
		{ "febf::1", POLICY_ADDRESS_LINK_LOCAL },
		{ "fec0::1", POLICY_ADDRESS_PRIVATE },
		{ "fc00::1", POLICY_ADDRESS_PRIVATE },
		{ "fdff::1", POLICY_ADDRESS_PRIVATE },
		{ "ff02::1", POLICY_ADDRESS_MULTICAST },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(table); i++) {
		struct policy_address address;

		assert_true(policy_address_parse(table[i].text, &address));
		if (policy_address_class(&address) != table[i].class)
			fail_msg("%s is %s", table[i].text,
				policy_address_class_name(policy_address_class(&address)));
	}
}

static void
an_ipv4_address_inside_an_ipv6_one_is_seen(PKG_UNUSED void **state)
{
	static const struct {
		const char *text;
		enum policy_address_class class;
	} table[] = {
		{ "::ffff:127.0.0.1", POLICY_ADDRESS_LOOPBACK },
		{ "::ffff:169.254.169.254", POLICY_ADDRESS_METADATA },
		{ "::ffff:0:10.0.0.1", POLICY_ADDRESS_PRIVATE }, /* translated */
		{ "::10.0.0.1", POLICY_ADDRESS_PRIVATE }, /* compatible */
		{ "64:ff9b::127.0.0.1", POLICY_ADDRESS_LOOPBACK },
		{ "64:ff9b::8.8.8.8", POLICY_ADDRESS_PUBLIC },
		{ "64:ff9b:1::8.8.8.8", POLICY_ADDRESS_PRIVATE },
		{ "2002:7f00:1::", POLICY_ADDRESS_LOOPBACK }, /* 6to4 of 127.0.0.1 */
		{ "2002:808:808::", POLICY_ADDRESS_PUBLIC },
		{ "2001:0:a00:1::f7f7:f7f7", POLICY_ADDRESS_PRIVATE }, /* Teredo server 10.0.0.1 */
		{ "2001:0:808:808::80ff:fffe", POLICY_ADDRESS_LOOPBACK }, /* client 127.0.0.1 */
		{ "2001:0:808:808::f7f7:f7f7", POLICY_ADDRESS_PUBLIC },
		{ "2606:4700::5efe:192.168.0.1", POLICY_ADDRESS_PRIVATE }, /* ISATAP */
		{ "2606:4700::200:5efe:192.168.0.1", POLICY_ADDRESS_PRIVATE },
		{ "2606:4700::5efe:8.8.8.8", POLICY_ADDRESS_PUBLIC },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(table); i++) {
		struct policy_address address;

		assert_true(policy_address_parse(table[i].text, &address));
		if (policy_address_class(&address) != table[i].class)
			fail_msg("%s is %s", table[i].text,
				policy_address_class_name(policy_address_class(&address)));
	}
}

static void
this_machines_own_addresses_hold_loopback(PKG_UNUSED void **state)
{
	struct policy_own_addresses own = { 0 };
	struct policy_address loopback, foreign;

	assert_int_equal(policy_own_addresses_read(&own, NULL), 0);
	assert_true(policy_address_parse("127.0.0.1", &loopback));
	assert_true(policy_address_parse("192.0.2.77", &foreign));
	assert_true(policy_own_addresses_has(&own, &loopback));
	assert_false(policy_own_addresses_has(&own, &foreign));
	policy_own_addresses_clear(&own);
}

/* ---- hosts ------------------------------------------------------------------------------------
 * */

static void
hosts_are_normalised_or_refused(PKG_UNUSED void **state)
{
	static const struct {
		const char *text;
		const char *name; /* NULL: refused */
		int port;
	} table[] = {
		{ "example.org", "example.org", 0 },
		{ "EXAMPLE.org.", "example.org", 0 },
		{ "example.org:8080", "example.org", 8080 },
		{ "a_b.example", "a_b.example", 0 },
		{ "xn--bcher-kva.example", "xn--bcher-kva.example", 0 },
		{ "localhost", "localhost", 0 },
		{ "127.0.0.1:1", "127.0.0.1", 1 },
		{ "[::1]:65535", "::1", 65535 },
		{ "[2001:DB8:0:0::7]", "2001:db8::7", 0 },
		{ "[::ffff:1.2.3.4]:80", "1.2.3.4", 80 },
		{ "3com.example", "3com.example", 0 },
		{ "a.0xbe.example", "a.0xbe.example", 0 },
		{ "", NULL, 0 },
		{ ".", NULL, 0 },
		{ ":443", NULL, 0 },
		{ "a..b", NULL, 0 },
		{ ".a", NULL, 0 },
		{ "a..", NULL, 0 },
		{ "a b", NULL, 0 },
		{ "a/b", NULL, 0 },
		{ "a@b", NULL, 0 },
		{ "a%2eb", NULL, 0 },
		{ "b\303\274cher.example", NULL, 0 },
		{ "a:0", NULL, 0 },
		{ "a:65536", NULL, 0 },
		{ "a:+80", NULL, 0 },
		{ "a:80:90", NULL, 0 },
		{ "a:", NULL, 0 },
		{ "127.1", NULL, 0 },
		{ "2130706433", NULL, 0 },
		{ "0x7f.0.0.1", NULL, 0 },
		{ "0x7f000001", NULL, 0 },
		{ "0177.0.0.1", NULL, 0 },
		{ "1.2.3.4.5", NULL, 0 },
		{ "example.0x", NULL, 0 },
		{ "[::1", NULL, 0 },
		{ "[::1]x", NULL, 0 },
		{ "[127.0.0.1]", NULL, 0 },
		{ "[fe80::1%eth0]", NULL, 0 },
		{ "[]", NULL, 0 },
		{ "::1", NULL, 0 },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(table); i++) {
		struct policy_host host;
		int port = -1;
		int rc = policy_authority_parse(
			table[i].text, strlen(table[i].text), &host, &port, NULL);

		if ((rc == 0) != (table[i].name != NULL))
			fail_msg("'%s': %d", table[i].text, rc);
		if (rc < 0)
			continue;
		assert_string_equal(host.name, table[i].name);
		assert_int_equal(port, table[i].port);
	}
}

static void
a_nul_does_not_cut_a_host_short(PKG_UNUSED void **state)
{
	static const char text[] = "good.example\0.evil.example";
	struct policy_host host;
	int port;

	assert_int_equal(policy_authority_parse(text, sizeof(text) - 1, &host, &port, NULL), -1);
	assert_int_equal(policy_authority_parse("[::1\0]", 6, &host, &port, NULL), -1);
}

static void
names_as_long_as_allowed_pass_and_one_more_byte_does_not(PKG_UNUSED void **state)
{
	char name[260];
	struct policy_host host;

	memset(name, 'a', sizeof(name));
	assert_int_equal(policy_host_parse(name, 63, &host, NULL), 0);
	assert_int_equal(policy_host_parse(name, 64, &host, NULL), -1);
	for (size_t i = 63; i < sizeof(name); i += 64)
		name[i] = '.';
	assert_int_equal(policy_host_parse(name, 253, &host, NULL), 0);
	assert_int_equal(policy_host_parse(name, 254, &host, NULL), -1);
}

/* ---- rules ------------------------------------------------------------------------------------
 * */

static void
what_is_no_rule_is_refused(PKG_UNUSED void **state)
{
	static const char *const table[] = { "", "*", "*.", ".", "..", "*example.org", "a.*.org",
		"*.*.org", "http://example.org/", "example.org/path", "user@example.org",
		"*.127.0.0.1", ".::1", "10.0.0.1/8", "10.0.0.0/33", "10.0.0.0/", "0.0.0.0/0",
		"::/0", "10.0.0.0/7", "fc00::/129", "10.0.0.0/8:0", "/8", "[::1]/129",
		"example.org:http", "b\303\274cher.example", "exa mple.org", "999.1.1.1" };

	for (size_t i = 0; i < PKG_ARRAY_LEN(table); i++) {
		pkg_cleanup_error struct pkg_error err = { 0 };
		struct policy_host_rule rule;

		if (policy_host_rule_parse(table[i], &rule, &err) == 0)
			fail_msg("'%s' was taken", table[i]);
		assert_int_equal(err.kind, PKG_E_INVALID);
		assert_non_null(err.message);
	}
}

struct match_case {
	const char *rule;
	const char *host;
	int port;
	bool connect;
	bool allowed;
};

static void
rules_match_their_hosts_and_no_others(PKG_UNUSED void **state)
{
	static const struct match_case table[] = {
		{ "example.org", "example.org", 443, true, true },
		{ "Example.ORG.", "eXample.org.", 443, true, true },
		{ "example.org", "example.org", 80, false, true },
		{ "example.org", "example.org", 80, true, false },
		{ "example.org", "example.org", 443, false, false },
		{ "example.org", "example.org", 22, true, false },
		{ "example.org", "a.example.org", 443, true, false },
		{ "example.org", "example.org.evil.test", 443, true, false },
		{ "example.org:8443", "example.org", 8443, true, true },
		{ "example.org:8443", "example.org", 8443, false, true },
		{ "example.org:8443", "example.org", 443, true, false },
		{ "*.example.org", "a.example.org", 443, true, true },
		{ "*.example.org", "a.b.example.org", 443, true, true },
		{ "*.example.org", "example.org", 443, true, false },
		{ "*.example.org", "notexample.org", 443, true, false },
		{ "*.example.org:8080", "a.example.org", 8080, false, true },
		{ ".example.org", "example.org", 443, true, true },
		{ ".example.org", "a.example.org", 443, true, true },
		{ ".example.org", "notexample.org", 443, true, false },
		{ ".example.org", "example.org.test", 443, true, false },
		{ "127.0.0.1", "127.0.0.1", 443, true, true },
		{ "127.0.0.1", "127.0.0.2", 443, true, false },
		{ "127.0.0.1:8080", "127.0.0.1", 8080, false, true },
		{ "127.0.0.1:8080", "[::ffff:127.0.0.1]", 8080, false, true },
		{ "10.0.0.0/8", "10.255.1.2", 443, true, true },
		{ "10.0.0.0/8", "11.0.0.0", 443, true, false },
		{ "10.0.0.0/9:80", "10.127.255.255", 80, true, true },
		{ "10.0.0.0/9:80", "10.128.0.0", 80, true, false },
		{ "::1", "[::1]", 443, true, true },
		{ "[::1]:8080", "[0:0:0:0:0:0:0:1]", 8080, true, true },
		{ "2001:db8::/32", "[2001:db8:1::7]", 443, true, true },
		{ "[2001:db8::]/32:8080", "[2001:db8:1::7]", 8080, true, true },
		{ "2001:db8::/32", "[2001:db9::7]", 443, true, false },
		{ "fc00::/7", "[fd12::1]", 443, true, true },
		{ "127.0.0.0/8", "[::1]", 443, true, false },
		/* A rule for a name never allows an address, nor the other way round. */
		{ ".0.1", "127.0.0.1", 443, true, false },
		{ "10.0.0.0/8", "ten.example", 443, true, false },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(table); i++) {
		const struct match_case *c = &table[i];
		pkg_cleanup_host_rules struct policy_host_rules rules = { 0 };
		struct policy_host host;
		const struct policy_host_rule *rule;

		assert_int_equal(policy_host_parse(c->host, strlen(c->host), &host, NULL), 0);
		if (policy_host_rules_add(&rules, c->rule, NULL) < 0) {
			assert_false(c->allowed);
			continue;
		}
		rule = policy_host_match(&rules, &host, c->port, c->connect);
		if ((rule != NULL) != c->allowed)
			fail_msg("%s against %s:%d", c->rule, c->host, c->port);
		if (rule)
			assert_string_equal(rule->text, c->rule);
	}
}

static void
an_empty_list_allows_nothing_and_the_first_match_is_named(PKG_UNUSED void **state)
{
	pkg_cleanup_host_rules struct policy_host_rules rules = { 0 };
	struct policy_host host;

	assert_int_equal(policy_host_parse("a.example.org", 13, &host, NULL), 0);
	assert_null(policy_host_match(&rules, &host, 443, true));
	assert_int_equal(policy_host_rules_add(&rules, "b.example.org", NULL), 0);
	assert_int_equal(policy_host_rules_add(&rules, ".example.org", NULL), 0);
	assert_int_equal(policy_host_rules_add(&rules, "a.example.org", NULL), 0);
	assert_string_equal(policy_host_match(&rules, &host, 443, true)->text, ".example.org");
}

static void
add_json(struct policy_host_rules *rules, const char *text, int expected)
{
	pkg_cleanup_error struct pkg_error err = { 0 };
	struct json_object *array = json_tokener_parse(text);
	size_t before = rules->count;
	int rc = policy_host_rules_add_json(rules, array, &err);

	json_object_put(array);
	if (rc != expected)
		fail_msg("%s gives %d %s", text, rc, err.message ? err.message : "");
	if (rc < 0)
		assert_int_equal(rules->count, before);
}

static void
json_rules_say_what_the_tunnel_must_carry(PKG_UNUSED void **state)
{
	pkg_cleanup_host_rules struct policy_host_rules rules = { 0 };

	add_json(&rules,
		"[\"a\", {\"host\": \"b\"}, {\"host\": \"c\", \"tls\": \"no-sni\"},"
		" {\"tls\": \"any\", \"host\": \"d:1\"}, {\"host\": \"e\", \"tls\": \"required\"}]",
		0);
	assert_int_equal(rules.count, 5);
	assert_int_equal(rules.items[0].tls, POLICY_TLS_REQUIRED);
	assert_int_equal(rules.items[1].tls, POLICY_TLS_REQUIRED);
	assert_int_equal(rules.items[2].tls, POLICY_TLS_NO_SNI);
	assert_int_equal(rules.items[3].tls, POLICY_TLS_ANY);
	assert_int_equal(rules.items[3].port, 1);
	add_json(&rules, "[]", 0);
	add_json(&rules, "{}", -1);
	add_json(&rules, "[\"f\", 1]", -1);
	add_json(&rules, "[\"f\", null]", -1);
	add_json(&rules, "[\"f\", \"g\\u0000.h\"]", -1);
	add_json(&rules, "[\"f\", {\"tls\": \"any\"}]", -1);
	add_json(&rules, "[\"f\", {\"host\": \"g\", \"tls\": \"maybe\"}]", -1);
	add_json(&rules, "[\"f\", {\"host\": \"g\", \"tls\": 1}]", -1);
	add_json(&rules, "[\"f\", {\"host\": \"g\", \"port\": 1}]", -1);
	add_json(&rules, "[\"f\", {\"host\": \"*\"}]", -1);
}

static void
there_is_a_limit_to_the_number_of_rules(PKG_UNUSED void **state)
{
	pkg_cleanup_host_rules struct policy_host_rules rules = { 0 };
	pkg_cleanup_error struct pkg_error err = { 0 };

	for (int i = 0; i < POLICY_RULES_MAX; i++)
		assert_int_equal(policy_host_rules_add(&rules, "a.example", NULL), 0);
	assert_int_equal(policy_host_rules_add(&rules, "a.example", &err), -1);
	assert_int_equal(err.kind, PKG_E_TOO_LARGE);
}

static void
names_with_other_letters_become_a_labels(PKG_UNUSED void **state)
{
	static const struct {
		const char *text;
		const char *ascii; /* NULL: refused */
	} table[] = {
		{ "example.org:80", "example.org:80" },
		{ "b\303\274cher.example", "xn--bcher-kva.example" },
		{ "*.B\303\234CHER.example:8080", "*.xn--bcher-kva.example:8080" },
		{ ".b\303\274cher.example", ".xn--bcher-kva.example" },
		{ "b\303\274cher.example/evil", NULL },
		{ "x@b\303\274cher.example", NULL },
		{ "\xff\xfe.example", NULL },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(table); i++) {
		pkg_autofree char *ascii = policy_host_rule_ascii(table[i].text, NULL);

		if (!table[i].ascii)
			assert_null(ascii);
		else
			assert_string_equal(ascii, table[i].ascii);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_special_network_has_its_class),
		cmocka_unit_test(an_ipv4_address_inside_an_ipv6_one_is_seen),
		cmocka_unit_test(this_machines_own_addresses_hold_loopback),
		cmocka_unit_test(hosts_are_normalised_or_refused),
		cmocka_unit_test(a_nul_does_not_cut_a_host_short),
		cmocka_unit_test(names_as_long_as_allowed_pass_and_one_more_byte_does_not),
		cmocka_unit_test(what_is_no_rule_is_refused),
		cmocka_unit_test(rules_match_their_hosts_and_no_others),
		cmocka_unit_test(an_empty_list_allows_nothing_and_the_first_match_is_named),
		cmocka_unit_test(json_rules_say_what_the_tunnel_must_carry),
		cmocka_unit_test(there_is_a_limit_to_the_number_of_rules),
		cmocka_unit_test(names_with_other_letters_become_a_labels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
