#include "unit.h"

#include "core/file.h"
#include "core/path.h"
#include "core/tree.h"
#include "policy/trust.h"

#include <stdlib.h>
#include <string.h>

#define CERT(name) "-----BEGIN CERTIFICATE-----\n" name "\n-----END CERTIFICATE-----\n"

static char root[] = "/tmp/pkgd-trust-XXXXXX";
static struct pkg_home home;

static char *
write_file(const char *name, const char *text)
{
	char *path = pkg_path_join(root, name);

	assert_int_equal(pkg_file_write(path, text, strlen(text), 0600, false, NULL), 0);
	return path;
}

static char *
variable(const char *name, const char *path)
{
	return pkg_xasprintf("%s=%s", name, path);
}

static int
setup(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(root));
	home.run = pkg_path_join(root, "run");
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	free(home.run);
	return pkg_tree_remove(root, NULL);
}

static void
without_a_name_for_another_nothing_is_made(void **state)
{
	struct policy_config config = { 0 };
	static char missing[] = "SSL_CERT_FILE=/nonexistent", empty[] = "PIP_CERT=";
	char *const environment[] = { missing, empty, NULL };
	char *out = root;

	(void)state;
	assert_int_equal(policy_trust_bundle(&config, &home, environment, &out, NULL), 0);
	assert_null(out);
	assert_false(pkg_file_exists(home.run));
}

static void
every_bundle_is_added_once_and_none_replaces_the_systems(void **state)
{
	static const char *const names[] = { "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "PIP_CERT",
		"CURL_CA_BUNDLE" };
	pkg_autofree char *configured = write_file("configured.pem", CERT("configured"));
	pkg_autofree char *one = write_file("one.pem", CERT("one"));
	pkg_autofree char *two = write_file("two.pem", CERT("two"));
	struct policy_config config = { .network_ca_bundle = configured };
	char *environment[5] = { variable(names[0], one), variable(names[1], two),
		variable(names[2], one), variable(names[3], two) };
	pkg_autofree char *out = NULL;
	pkg_autofree char *again = NULL;
	pkg_cleanup_buf struct pkg_buf text = { 0 };
	const char *at;

	(void)state;
	assert_int_equal(policy_trust_bundle(&config, &home, environment, &out, NULL), 0);
	assert_int_equal(pkg_file_read(out, 1 << 24, &text, NULL), 0);
	assert_non_null(strstr(text.data, "\nconfigured\n"));
	at = strstr(text.data, "\none\n");
	assert_non_null(at);
	assert_null(strstr(at + 1, "\none\n"));
	assert_non_null(strstr(text.data, "\ntwo\n"));
	if (pkg_file_exists("/etc/ssl/certs/ca-certificates.crt"))
		assert_true(text.len > 10000);
	/* The same bundles are the same file. */
	assert_int_equal(policy_trust_bundle(&config, &home, environment, &again, NULL), 0);
	assert_string_equal(out, again);
	for (size_t i = 0; i < 4; i++)
		free(environment[i]);
}

static void
a_configured_bundle_that_is_none_is_an_error_and_a_variables_is_not(void **state)
{
	pkg_autofree char *empty = write_file("empty.pem", "nothing\n");
	pkg_autofree char *named = variable("SSL_CERT_FILE", empty);
	char *const environment[] = { named, NULL };
	struct policy_config config = { .network_ca_bundle = empty };
	struct policy_config plain = { 0 };
	pkg_cleanup_error struct pkg_error err = { 0 };
	char *out = NULL;

	(void)state;
	assert_int_equal(policy_trust_bundle(&config, &home, environment, &out, &err), -1);
	assert_int_equal(err.kind, PKG_E_CONFIG);
	assert_non_null(strstr(err.message, "network.ca_bundle"));
	assert_int_equal(policy_trust_bundle(&plain, &home, environment, &out, NULL), 0);
	assert_null(out);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_name_for_another_nothing_is_made),
		cmocka_unit_test(every_bundle_is_added_once_and_none_replaces_the_systems),
		cmocka_unit_test(
			a_configured_bundle_that_is_none_is_an_error_and_a_variables_is_not),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
