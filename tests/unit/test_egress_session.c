/* The worker's side against the real pkg-proxy and pkg-shim, which lie in the directory it runs in.
 * The shim runs without a namespace here, on a port that is free. */
#include "unit.h"

#include "core/file.h"
#include "core/json.h"
#include "core/process.h"
#include "core/run.h"
#include "core/time.h"
#include "egress/session.h"

#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

struct fixture {
	char dir[64];
	char rules[96];
	char audit[96];
	char here[4096];
};

static int
setup(void **state)
{
	struct fixture *fixture = pkg_xcalloc(1, sizeof(*fixture));

	strcpy(fixture->dir, "/tmp/egress-session-XXXXXX");
	if (!mkdtemp(fixture->dir) || !getcwd(fixture->here, sizeof(fixture->here)))
		return -1;
	snprintf(fixture->rules, sizeof(fixture->rules), "%s/rules", fixture->dir);
	snprintf(fixture->audit, sizeof(fixture->audit), "%s/audit", fixture->dir);
	*state = fixture;
	return 0;
}

static int
teardown(void **state)
{
	struct fixture *fixture = *state;

	(void)unlink(fixture->rules);
	(void)unlink(fixture->audit);
	(void)rmdir(fixture->dir);
	free(fixture);
	return 0;
}

static void
write_rules(const struct fixture *fixture, const char *rules)
{
	struct json_object *array = json_tokener_parse(rules);

	assert_int_equal(
		egress_session_write_rules(fixture->rules, "unit", array, "Run: x", NULL, NULL), 0);
	json_object_put(array);
}

static int
free_port(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&address, len), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
	close(fd);
	return ntohs(address.sin_port);
}

/* Runs `sh -c script` behind the shim; given: its output. */
static char *
run_behind_shim(
	const struct fixture *fixture, struct egress_session *session, int port, const char *script)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *argv = pkg_argv_new();
	pkg_cleanup_run struct pkg_run run = {
		.timeout_ms = 10000, .max_output = 65536, .cancel_fd = -1
	};
	const struct pkg_process_spec spec = { .argv = argv, .stdin_fd = -1 };

	pkg_argv_addf(argv, "%s/pkg-shim", fixture->here);
	pkg_argv_addf(argv, "%d", egress_session_shim_fd(session));
	pkg_argv_add(argv, "--port");
	pkg_argv_addf(argv, "%d", port);
	pkg_argv_add(argv, "--", "/bin/bash", "-c", script);
	pkg_argv_take_fd(argv, egress_session_steal_shim_fd(session));
	assert_int_equal(pkg_process_run(&spec, &run, NULL), 0);
	assert_int_equal(pkg_process_status(run.wait_status), 0);
	return pkg_buf_steal(&run.out);
}

static void
a_session_serves_its_command_and_gives_back_its_rows(void **state)
{
	struct fixture *fixture = *state;
	pkg_cleanup_egress_rows struct egress_rows rows = { 0 };
	pkg_cleanup_error struct pkg_error err = { 0 };
	pkg_autofree char *script = NULL;
	int port = free_port();

	write_rules(fixture, "[\"good.test\"]");
	script = pkg_xasprintf("exec 3<>/dev/tcp/127.0.0.1/%d;"
			       "printf 'CONNECT evil.test:443 HTTP/1.1\\r\\n\\r\\n' >&3; cat <&3",
		port);
	/* Twice into one audit file: each session gives its own rows only. */
	for (int i = 0; i < 2; i++) {
		struct egress_session *session = NULL;
		pkg_autofree char *out = NULL;

		if (egress_session_start(
			    fixture->here, fixture->rules, fixture->audit, &session, &err) < 0)
			fail_msg("%s", err.message);
		out = run_behind_shim(fixture, session, port, script);
		assert_non_null(strstr(out, "HTTP/1.1 403 "));
		assert_non_null(strstr(out, "'unit'"));
		if (egress_session_finish(session, &rows, &err) < 0)
			fail_msg("%s", err.message);
		assert_int_equal(rows.count, i + 1);
		assert_int_equal(rows.items[i].verdict, EGRESS_DENIED);
		assert_string_equal(rows.items[i].host, "evil.test");
	}
	assert_ptr_equal(egress_rows_cause(&rows), &rows.items[0]);
}

static void
a_start_with_unusable_rules_fails_before_anything_runs(void **state)
{
	struct fixture *fixture = *state;
	struct egress_session *session = NULL;
	pkg_cleanup_error struct pkg_error err = { 0 };

	assert_int_equal(pkg_file_write(fixture->rules, "{", 1, 0600, false, NULL), 0);
	assert_int_equal(
		egress_session_start(fixture->here, fixture->rules, fixture->audit, &session, &err),
		-1);
	assert_null(session);
	assert_int_equal(err.kind, PKG_E_INVALID);
	assert_false(pkg_file_exists(fixture->audit));
}

static void
a_failed_start_is_not_remembered(void **state)
{
	struct fixture *fixture = *state;
	struct egress_session *session = NULL;
	pkg_cleanup_error struct pkg_error err = { 0 };

	write_rules(fixture, "[]");
	assert_int_equal(egress_session_start(
				 "/nonexistent", fixture->rules, fixture->audit, &session, &err),
		-1);
	assert_non_null(strstr(err.message, "egress proxy"));
	assert_int_equal(
		egress_session_start(fixture->here, fixture->rules, fixture->audit, &session, NULL),
		0);
	assert_int_equal(egress_session_finish(session, NULL, NULL), 0);
	assert_int_equal(egress_session_finish(NULL, NULL, NULL), 0);
}

static void
a_proxy_that_cannot_write_its_rows_is_an_error(void **state)
{
	struct fixture *fixture = *state;
	struct egress_session *session = NULL;
	pkg_cleanup_error struct pkg_error err = { 0 };
	int rc = -1;

	write_rules(fixture, "[]");
	assert_int_equal(
		egress_session_start(fixture->here, fixture->rules, fixture->dir, &session, NULL),
		0);
	/* It has ended by itself by then, and that must not look like a good end. */
	pkg_sleep_ms(300);
	rc = egress_session_finish(session, NULL, &err);
	assert_int_equal(rc, -1);
	assert_non_null(strstr(err.message, "exit status 1"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_session_serves_its_command_and_gives_back_its_rows, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_start_with_unusable_rules_fails_before_anything_runs, setup, teardown),
		cmocka_unit_test_setup_teardown(a_failed_start_is_not_remembered, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_proxy_that_cannot_write_its_rows_is_an_error, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
