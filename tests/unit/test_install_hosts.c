#include "test_install_common.h"
#include "install/hosts.h"

/* Rules for these URLs (separated by blanks) and network.hosts, as one text. */
static char *
rules_of(struct fixture *f, const char *first, const char *second, const char *allowed,
	struct install_hosts *hosts)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *urls = pkg_argv_new();
	pkg_cleanup(pkg_argv_free) struct pkg_argv *extra = pkg_argv_new();
	struct policy_config config = { .network_hosts = extra,
		.network_mode = POLICY_NETWORK_ALLOWLIST };

	pkg_argv_add(urls, first);
	if (second != NULL)
		pkg_argv_add(urls, second);
	if (allowed != NULL)
		pkg_argv_add(extra, allowed);
	pkg_error_clear(&f->err);
	if (install_hosts_collect(&f->home, &config, urls, hosts, &f->err) < 0)
		return NULL;
	return pkg_argv_join(hosts->texts, " ");
}

static void
the_hosts_of_urls_become_rules_with_their_port(void **state)
{
	static const struct {
		const char *first, *second, *allowed;
		const char *rules;
	} rows[] = {
		{ "https://index.invalid/simple", NULL, NULL, "index.invalid:443" },
		{ "http://Index.Invalid./simple", NULL, NULL, "index.invalid:80" },
		{ "https://index.invalid:8443/", NULL, NULL, "index.invalid:8443" },
		{ "https://user:p%40ss@index.invalid/", NULL, NULL, "index.invalid:443" },
		{ "https://[2001:DB8::1]/", NULL, NULL, "[2001:db8::1]:443" },
		{ "http://[::1]:8080/simple/", NULL, NULL, "[::1]:8080" },
		{ "http://127.0.0.1:9/", NULL, NULL, "127.0.0.1:9" },
		{ "https://a.invalid/", "https://a.invalid/other", NULL, "a.invalid:443" },
		{ "https://a.invalid/", "https://b.invalid/x.whl", "*.c.invalid",
			"a.invalid:443 b.invalid:443 *.c.invalid" },
		{ "https://pypi.org/simple/", NULL, NULL,
			"pypi.org:443 files.pythonhosted.org:443" },
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		struct install_hosts hosts = { 0 };
		pkg_autofree char *rules =
			rules_of(f, rows[i].first, rows[i].second, rows[i].allowed, &hosts);

		if (rules == NULL)
			fail_msg("%s: %s", rows[i].first, f->err.message);
		assert_string_equal(rules, rows[i].rules);
		install_hosts_clear(&hosts);
	}
}

static void
what_is_no_url_or_rule_is_refused(void **state)
{
	static const char *const urls[] = { "", "index.invalid", "ftp://index.invalid/",
		"file:///etc/passwd", "https://", "https://a b/" };
	struct fixture *f = *state;
	struct install_hosts hosts = { 0 };

	for (size_t i = 0; i < PKG_ARRAY_LEN(urls); i++) {
		assert_null(rules_of(f, urls[i], NULL, NULL, &hosts));
		assert_kind(PKG_E_INVALID);
		install_hosts_clear(&hosts);
	}
	assert_null(rules_of(f, "https://a.invalid/", NULL, "not a rule", &hosts));
	assert_non_null(strstr(f->err.message, "network.hosts"));
	install_hosts_clear(&hosts);
}

static void
with_network_mode_deny_nothing_may_be_opened(void **state)
{
	struct fixture *f = *state;
	pkg_cleanup(pkg_argv_free) struct pkg_argv *urls = pkg_argv_new();
	pkg_cleanup(pkg_argv_free) struct pkg_argv *hosts_allowed = pkg_argv_new();
	struct policy_config config = { .network_hosts = hosts_allowed,
		.network_mode = POLICY_NETWORK_DENY };
	struct install_hosts hosts = { 0 };

	pkg_argv_add(urls, "https://index.invalid/simple");
	pkg_argv_add(hosts_allowed, "index.invalid");
	assert_int_equal(install_hosts_collect(&f->home, &config, urls, &hosts, &f->err), 0);
	assert_int_equal(hosts.texts->count, 0);
	assert_int_equal(install_hosts_allow(&hosts, "https://index.invalid/x", &f->err), -1);
	assert_kind(PKG_E_EGRESS_DENIED);
	assert_non_null(strstr(f->err.message, "network.mode"));
	install_hosts_clear(&hosts);
}

static void
only_what_a_rule_names_may_be_opened(void **state)
{
	static const struct {
		const char *url;
		bool allowed;
	} rows[] = {
		{ "https://index.invalid/simple/x", true },
		{ "https://INDEX.invalid/simple/x", true },
		{ "https://user@index.invalid/", true },
		{ "https://index.invalid:444/", false },
		{ "http://index.invalid/", false },
		{ "https://sub.index.invalid/", false },
		{ "https://index.invalid.evil.invalid/", false },
		{ "https://evil.invalid/index.invalid", false },
		{ "https://evil.invalid#@index.invalid/", false },
		{ "http://[::1]:8080/x", true },
		{ "http://[::1]:8081/x", false },
		{ "http://[::2]:8080/x", false },
		{ "https://169.254.169.254/latest", false },
	};
	struct fixture *f = *state;
	struct install_hosts hosts = { 0 };
	pkg_autofree char *rules = rules_of(
		f, "https://index.invalid/simple", "http://[::1]:8080/simple/", NULL, &hosts);

	assert_non_null(rules);
	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		pkg_error_clear(&f->err);
		if ((install_hosts_allow(&hosts, rows[i].url, &f->err) == 0) != rows[i].allowed)
			fail_msg("%s: %s", rows[i].url, f->err.message);
	}
	pkg_error_clear(&f->err);
	assert_int_equal(install_hosts_allow(&hosts, "https://[2001:db8::1]/x", &f->err), -1);
	assert_kind(PKG_E_EGRESS_DENIED);
	assert_non_null(strstr(f->err.message, "[2001:db8::1]:443"));
	assert_non_null(strstr(f->err.cure, "\"[2001:db8::1]:443\""));
	install_hosts_clear(&hosts);
}

static void
the_rules_file_has_the_same_rules_and_no_secret(void **state)
{
	struct fixture *f = *state;
	struct install_hosts hosts = { 0 };
	pkg_autofree char *rules =
		rules_of(f, "https://u:secret@index.invalid/", NULL, NULL, &hosts);
	pkg_autofree char *path = pkg_path_join(f->root, "egress.json");
	pkg_cleanup_buf struct pkg_buf text = { 0 };

	assert_non_null(rules);
	assert_ok(install_hosts_write(&hosts, path, &f->err));
	text = file_text(path);
	assert_non_null(strstr(pkg_buf_str(&text), "index.invalid:443"));
	assert_null(strstr(pkg_buf_str(&text), "secret"));
	install_hosts_clear(&hosts);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_HOME(the_hosts_of_urls_become_rules_with_their_port),
		WITH_HOME(what_is_no_url_or_rule_is_refused),
		WITH_HOME(with_network_mode_deny_nothing_may_be_opened),
		WITH_HOME(only_what_a_rule_names_may_be_opened),
		WITH_HOME(the_rules_file_has_the_same_rules_and_no_secret),
	};

	return cmocka_run_group_tests_name("install_hosts", tests, NULL, NULL);
}
