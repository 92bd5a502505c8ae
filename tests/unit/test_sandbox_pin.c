#include "unit.h"

#include "sandbox/pin.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void
status_documents_are_read_line_by_line(void **state)
{
	static const struct {
		const char *text;
		int rc;
		pid_t child;
		int code;
	} cases[] = {
		{ "", 0, 0, -1 },
		{ "{\"child-pid\": 42", 0, 0, -1 },
		{ "{\"child-pid\": 42, \"net-namespace\": 1}\n", 0, 42, -1 },
		{ "{\"child-pid\": 42}\n{\"exit-code\": 7}\n", 0, 42, 7 },
		{ "{\"child-pid\": 42}\n{\"exit-code\": 0}\n", 0, 42, 0 },
		{ "\n{\"child-pid\": 42}\n\n", 0, 42, -1 },
		{ "{\"child-pid\": 42}\n{\"child-pid\": 43}\n", -1, 0, 0 },
		{ "{\"child-pid\": -1}\n", -1, 0, 0 },
		{ "{\"child-pid\": 99999999999}\n", -1, 0, 0 },
		{ "{\"exit-code\": 256}\n", -1, 0, 0 },
		{ "{\"exit-code\": -2}\n", -1, 0, 0 },
		{ "{\"child-pid\": \"42\"}\n", 0, 0, -1 },
		{ "[1]\n", -1, 0, 0 },
		{ "child-pid 42\n", -1, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < PKG_ARRAY_LEN(cases); i++) {
		struct sandbox_status_text out = { 0 };

		if (sandbox_pin_parse(cases[i].text, strlen(cases[i].text), &out, NULL) !=
			cases[i].rc)
			fail_msg("'%s'", cases[i].text);
		if (cases[i].rc == 0) {
			assert_int_equal(out.child, cases[i].child);
			assert_int_equal(out.exit_code, cases[i].code);
		}
	}
}

static void
a_process_is_known_by_parent_and_inner_number_each_there_once(void **state)
{
	static const struct {
		const char *text;
		int rc;
		pid_t parent;
		pid_t inner;
	} cases[] = {
		{ "Name:\tx\nPPid:\t10\nNSpid:\t55\t2\n", 0, 10, 2 },
		{ "PPid:\t10\nNSpid:\t55\n", 0, 10, 55 },
		{ "PPid:\t10\nPPid:\t11\nNSpid:\t55\t2\n", -1, 0, 0 },
		{ "PPid:\t10\nNSpid:\t55\t2\nNSpid:\t55\t2\n", -1, 0, 0 },
		{ "PPid:\t10\n", -1, 0, 0 },
		{ "NSpid:\t55\t2\n", -1, 0, 0 },
		{ "PPid:\t\nNSpid:\t55\t2\n", -1, 0, 0 },
		{ "PPid:\tx1\nNSpid:\t55\t2\n", -1, 0, 0 },
		{ "PPid:\t0\nNSpid:\t55\t2\n", -1, 0, 0 },
		{ "PPid:\t99999999999\nNSpid:\t55\t2\n", -1, 0, 0 },
		{ "", -1, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < PKG_ARRAY_LEN(cases); i++) {
		pid_t parent = 0;
		pid_t inner = 0;

		if (sandbox_pin_parse_proc(cases[i].text, strlen(cases[i].text), &parent, &inner) !=
			cases[i].rc)
			fail_msg("'%s'", cases[i].text);
		assert_int_equal(parent, cases[i].parent);
		assert_int_equal(inner, cases[i].inner);
	}
}

/* A process that holds the sync pipe as bwrap's init does, and what bwrap would say of it (or of
 * named). */
static pid_t
fake_init(struct sandbox_pin *pin, const char *key, pid_t named)
{
	int status[2];
	int sync[2];
	pid_t pid;

	assert_int_equal(pipe2(status, O_CLOEXEC | O_NONBLOCK), 0);
	assert_int_equal(pipe2(sync, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		for (;;)
			pause();
	}
	dprintf(status[1], "{\"%s\": %d}\n", key, (int)(named ? named : pid));
	close(status[1]);
	close(sync[1]);
	pin->status_fd = status[0];
	pin->sync_fd = sync[0];
	return pid;
}

static void
the_named_process_is_pinned_only_while_it_holds_the_pipe(void **state)
{
	struct sandbox_pin pin = SANDBOX_PIN_INIT;
	pid_t pid = fake_init(&pin, "child-pid", 0);

	(void)state;
	assert_int_equal(sandbox_pin_init(&pin, 100, NULL), 0);
	assert_int_equal(pin.init, pid);
	assert_false(sandbox_pin_wait_gone(&pin, 20));
	sandbox_pin_kill(&pin);
	assert_true(sandbox_pin_wait_gone(&pin, 1000));
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	sandbox_pin_clear(&pin);
}

static void
a_number_that_outlived_its_process_is_never_pinned(void **state)
{
	struct sandbox_pin pin = SANDBOX_PIN_INIT;
	/* It names a process that does not hold the pipe: as if the number had been used again. */
	pid_t pid = fake_init(&pin, "child-pid", 1);
	pkg_cleanup_error struct pkg_error err = { 0 };

	(void)state;
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(sandbox_pin_init(&pin, 100, &err), -1);
	assert_int_equal(err.kind, PKG_E_NOT_FOUND);
	assert_int_equal(pin.init, 0);
	assert_int_equal(pin.init_fd, -1);
	assert_int_equal(sandbox_pin_signal(&pin, SIGTERM, &err), -1);
	sandbox_pin_clear(&pin);
}

static void
a_child_that_is_not_process_two_inside_is_not_the_command(void **state)
{
	struct sandbox_pin pin = SANDBOX_PIN_INIT;
	pid_t pid = fake_init(&pin, "child-pid", 0);
	pkg_cleanup_error struct pkg_error err = { 0 };

	(void)state;
	assert_int_equal(sandbox_pin_command(&pin, 50, &err), -1);
	assert_int_equal(err.kind, PKG_E_NOT_FOUND);
	assert_int_equal(pin.command_fd, -1);
	sandbox_pin_kill(&pin);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	sandbox_pin_clear(&pin);
}

static void
silence_and_floods_end_in_an_error(void **state)
{
	struct sandbox_pin pin = SANDBOX_PIN_INIT;
	pid_t pid = fake_init(&pin, "net-namespace", 0);
	pkg_cleanup_error struct pkg_error err = { 0 };
	int flood[2];

	(void)state;
	assert_int_equal(sandbox_pin_init(&pin, 50, &err), -1);
	assert_int_equal(err.kind, PKG_E_NOT_FOUND);
	assert_int_equal(pipe2(flood, O_CLOEXEC | O_NONBLOCK), 0);
	for (int i = 0; i < 5000; i++)
		assert_int_equal(write(flood[1], "\n", 1), 1);
	close(pin.status_fd);
	pin.status_fd = flood[0];
	assert_int_equal(sandbox_pin_init(&pin, 50, &err), -1);
	assert_int_equal(err.kind, PKG_E_TOO_LARGE);
	close(flood[1]);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	sandbox_pin_clear(&pin);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(status_documents_are_read_line_by_line),
		cmocka_unit_test(a_process_is_known_by_parent_and_inner_number_each_there_once),
		cmocka_unit_test(the_named_process_is_pinned_only_while_it_holds_the_pipe),
		cmocka_unit_test(a_number_that_outlived_its_process_is_never_pinned),
		cmocka_unit_test(a_child_that_is_not_process_two_inside_is_not_the_command),
		cmocka_unit_test(silence_and_floods_end_in_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
