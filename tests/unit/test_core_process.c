#include "unit.h"
#include "core/buf.h"
#include "core/fault.h"
#include "core/process.h"
#include "core/time.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* This program again, in one of the roles at the end of the file. */
static char self[4096];

static struct pkg_argv *
command(const char *program, const char *arg)
{
	struct pkg_argv *argv = pkg_argv_new();

	pkg_argv_add(argv, program);
	if (arg)
		pkg_argv_add(argv, arg);
	return argv;
}

static struct pkg_argv *
shell(const char *script)
{
	struct pkg_argv *argv = pkg_argv_new();

	pkg_argv_add(argv, "/bin/sh", "-c", script);
	return argv;
}

static void
slurp(int fd, struct pkg_buf *out)
{
	char chunk[4096];
	ssize_t n;

	while ((n = read(fd, chunk, sizeof(chunk))) > 0)
		pkg_buf_add_mem(out, chunk, (size_t)n);
}

/* Runs the spec to its end; stdout goes into out. The wait status. */
static int
finish(struct pkg_process_spec *spec, struct pkg_buf *out)
{
	pkg_cleanup(pkg_process_free) struct pkg_process *process = NULL;
	pkg_cleanup_error struct pkg_error err = { 0 };

	spec->stdout_fd = PKG_PROCESS_PIPE;
	process = pkg_process_spawn(spec, &err);
	if (!process)
		fail_msg("%s", err.message);
	slurp(process->stdout_fd, out);
	assert_int_equal(pkg_process_wait(process, -1, &err), 1);
	return process->wait_status;
}

static void
the_child_has_only_the_descriptors_named(PKG_UNUSED void **state)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *argv = command(self, "fds");
	struct pkg_process_spec spec = { .argv = argv, .stdin_fd = -1, .stderr_fd = -1 };
	pkg_cleanup_buf struct pkg_buf out = { 0 };
	int leaky = dup(0); /* not close-on-exec: a leak that must not happen */
	int far = fcntl(0, F_DUPFD, 300);

	pkg_argv_take_fd(argv, fcntl(0, F_DUPFD_CLOEXEC, 50));
	pkg_argv_take_fd(argv, fcntl(0, F_DUPFD_CLOEXEC, 20));
	pkg_argv_take_fd(argv, fcntl(0, F_DUPFD_CLOEXEC, 51));
	assert_int_equal(finish(&spec, &out), 0);
	assert_string_equal(pkg_buf_str(&out), "0 1 2 20 50 51 ");
	(void)close(leaky);
	(void)close(far);
}

static void
the_descriptors_that_stay_with_us_are_still_close_on_exec(PKG_UNUSED void **state)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *argv = command("/bin/true", NULL);
	struct pkg_process_spec spec = { .argv = argv, .stdin_fd = -1, .stderr_fd = -1 };
	pkg_cleanup_buf struct pkg_buf out = { 0 };
	int kept = fcntl(0, F_DUPFD_CLOEXEC, 60);

	pkg_argv_take_fd(argv, kept);
	assert_int_equal(finish(&spec, &out), 0);
	assert_int_equal(fcntl(kept, F_GETFD), FD_CLOEXEC);
}

static int
count_descriptors(void)
{
	int count = 0;

	for (int fd = 0; fd < 1024; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

static void
a_spawn_leaves_no_descriptor_behind_even_when_it_fails(PKG_UNUSED void **state)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *good = command("/bin/true", NULL);
	pkg_cleanup(pkg_argv_free) struct pkg_argv *bad = command("/nonexistent/program", NULL);
	struct pkg_process_spec spec = { .argv = good, .stdin_fd = -1, .stderr_fd = -1 };
	pkg_cleanup_buf struct pkg_buf out = { 0 };
	int before = count_descriptors();

	assert_int_equal(finish(&spec, &out), 0);
	spec.argv = bad;
	spec.stdout_fd = spec.stderr_fd = PKG_PROCESS_PIPE;
	assert_null(pkg_process_spawn(&spec, NULL));
	assert_int_equal(count_descriptors(), before);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* and no zombie */
	assert_int_equal(errno, ECHILD);
}

/* The three streams of the child are our own 0-2 in another order. */
static void
streams_that_swap_the_standard_ones_arrive_where_they_belong(PKG_UNUSED void **state)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *argv = shell("cat; echo out; echo err >&2");
	struct pkg_process_spec spec = {
		.argv = argv, .stdin_fd = 2, .stdout_fd = 0, .stderr_fd = 1
	};
	pkg_cleanup(pkg_process_free) struct pkg_process *process = NULL;
	pkg_cleanup_buf struct pkg_buf out = { 0 };
	pkg_cleanup_buf struct pkg_buf errors = { 0 };
	int saved[3], in[2], a[2], b[2];

	assert_true(pipe2(in, O_CLOEXEC) == 0 && pipe2(a, O_CLOEXEC) == 0);
	assert_int_equal(pipe2(b, O_CLOEXEC), 0);
	assert_int_equal(write(in[1], "in\n", 3), 3);
	for (int i = 0; i < 3; i++)
		saved[i] = fcntl(i, F_DUPFD_CLOEXEC, 100);
	(void)dup2(in[0], 2);
	(void)dup2(a[1], 0);
	(void)dup2(b[1], 1);
	process = pkg_process_spawn(&spec, NULL);
	for (int i = 0; i < 3; i++) {
		(void)dup2(saved[i], i);
		(void)close(saved[i]);
	}
	(void)close(in[0]);
	(void)close(in[1]);
	(void)close(a[1]);
	(void)close(b[1]);
	assert_non_null(process);
	slurp(a[0], &out);
	slurp(b[0], &errors);
	(void)close(a[0]);
	(void)close(b[0]);
	assert_string_equal(pkg_buf_str(&out), "in\nout\n");
	assert_string_equal(pkg_buf_str(&errors), "err\n");
}

static void
inheriting_a_standard_stream_by_number_is_refused(PKG_UNUSED void **state)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *argv = command("/bin/true", NULL);
	struct pkg_process_spec spec = { .argv = argv, .stdin_fd = -1, .stdout_fd = -1 };
	pkg_cleanup_error struct pkg_error err = { 0 };

	pkg_argv_take_fd(argv, 2);
	assert_null(pkg_process_spawn(&spec, &err));
	assert_int_equal(err.kind, PKG_E_INVALID);
	argv->fd_count = 0; /* the vector must not close our stderr */
}

static void
a_program_that_cannot_be_started_is_an_error_that_names_it(PKG_UNUSED void **state)
{
	static const struct {
		const char *program, *cwd, *says;
		int sys;
	} cases[] = {
		{ "/nonexistent/program", NULL, "/nonexistent/program", ENOENT },
		{ "/etc/passwd", NULL, "/etc/passwd", EACCES },
		{ "/", NULL, "start '/'", EACCES },
		{ "/bin/true", "/nonexistent/dir", "/nonexistent/dir", ENOENT },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(cases); i++) {
		pkg_cleanup(pkg_argv_free) struct pkg_argv *argv = command(cases[i].program, NULL);
		struct pkg_process_spec spec = { .argv = argv,
			.cwd = cases[i].cwd,
			.stdin_fd = -1,
			.stdout_fd = -1,
			.stderr_fd = -1 };
		pkg_cleanup_error struct pkg_error err = { 0 };

		assert_null(pkg_process_spawn(&spec, &err));
		assert_int_equal(err.sys, cases[i].sys);
		assert_non_null(strstr(err.message, cases[i].says));
	}
}

static void
a_missing_interpreter_is_told_from_a_missing_program(PKG_UNUSED void **state)
{
	static const char script[] = "#!/nonexistent/python3\n";
	char path[] = "/tmp/unit-script-XXXXXX";
	int fd = mkstemp(path);
	pkg_cleanup(pkg_argv_free) struct pkg_argv *argv = command(path, NULL);
	struct pkg_process_spec spec = { .argv = argv, .stdin_fd = -1, .stdout_fd = -1 };
	pkg_cleanup_error struct pkg_error err = { 0 };

	assert_int_equal(write(fd, script, sizeof(script) - 1), sizeof(script) - 1);
	assert_int_equal(fchmod(fd, 0755), 0);
	(void)close(fd);
	assert_null(pkg_process_spawn(&spec, &err));
	assert_non_null(strstr(err.message, "interpreter"));
	(void)unlink(path);
}

static void
a_relative_program_is_refused_whatever_the_path_says(PKG_UNUSED void **state)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *argv = command("true", NULL);
	struct pkg_process_spec spec = { .argv = argv, .stdin_fd = -1, .stdout_fd = -1 };
	pkg_cleanup_error struct pkg_error err = { 0 };

	assert_null(pkg_process_spawn(&spec, &err));
	assert_int_equal(err.kind, PKG_E_INVALID);
}

static void
the_environment_is_exactly_the_one_given(PKG_UNUSED void **state)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *argv = command("/usr/bin/env", NULL);
	pkg_cleanup(pkg_argv_free) struct pkg_argv *env = pkg_argv_new();
	struct pkg_process_spec spec = { .argv = argv, .stdin_fd = -1, .stderr_fd = -1 };
	pkg_cleanup_buf struct pkg_buf out = { 0 };
	pkg_cleanup_buf struct pkg_buf none = { 0 };

	(void)setenv("UNIT_LEAK", "1", 1);
	pkg_argv_add(env, "B=2", "A=x y");
	spec.env = env;
	assert_int_equal(finish(&spec, &out), 0);
	assert_string_equal(pkg_buf_str(&out), "B=2\nA=x y\n");
	spec.env = NULL;
	assert_int_equal(finish(&spec, &none), 0);
	assert_string_equal(pkg_buf_str(&none), "");
	(void)unsetenv("UNIT_LEAK");
}

static void
limits_hold_in_the_child_and_core_dumps_are_off(PKG_UNUSED void **state)
{
	static const struct pkg_rlimit limits[] = { { RLIMIT_NOFILE, 77 },
		{ RLIMIT_FSIZE, 1024 * 512 } };
	pkg_cleanup(pkg_argv_free) struct pkg_argv *argv =
		shell("ulimit -n; ulimit -Hn; ulimit -f; ulimit -c");
	struct pkg_process_spec spec = {
		.argv = argv, .stdin_fd = -1, .stderr_fd = -1, .limits = limits, .limit_count = 2
	};
	pkg_cleanup_buf struct pkg_buf out = { 0 };
	struct rlimit ours;
	struct rlimit core;

	/* Ours are on, as far as we may, so that off is a difference. */
	assert_int_equal(getrlimit(RLIMIT_CORE, &core), 0);
	ours.rlim_cur = ours.rlim_max = getuid() == 0 ? RLIM_INFINITY : core.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_CORE, &ours), 0);
	assert_int_equal(finish(&spec, &out), 0);
	assert_int_equal(setrlimit(RLIMIT_CORE, &core), 0);
	assert_string_equal(pkg_buf_str(&out), "77\n77\n1024\n0\n");
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &ours), 0);
	assert_true(ours.rlim_cur > 77); /* the child's alone */
}

static void
ignored_and_blocked_signals_do_not_reach_the_child(PKG_UNUSED void **state)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *argv =
		shell("exec grep -E '^Sig(Blk|Ign)' /proc/self/status");
	struct pkg_process_spec spec = { .argv = argv, .stdin_fd = -1, .stderr_fd = -1 };
	pkg_cleanup_buf struct pkg_buf out = { 0 };
	sigset_t some;
	sigset_t after;
	int status;

	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGRTMIN, SIG_IGN);
	(void)sigemptyset(&some);
	(void)sigaddset(&some, SIGUSR1);
	(void)sigprocmask(SIG_BLOCK, &some, NULL);
	status = finish(&spec, &out);
	(void)sigprocmask(SIG_UNBLOCK, &some, &after);
	assert_true(sigismember(&after, SIGUSR1)); /* our own mask came back */
	assert_false(sigismember(&after, SIGTERM));
	assert_int_equal(status, 0);
	assert_string_equal(pkg_buf_str(&out),
		"SigBlk:\t0000000000000000\n"
		"SigIgn:\t0000000000000000\n");
	(void)signal(SIGPIPE, SIG_DFL);
	(void)signal(SIGRTMIN, SIG_DFL);
}

static void
each_way_to_stand_in_a_process_group_is_as_asked(PKG_UNUSED void **state)
{
	static const struct {
		bool session, foreground, own_group, own_session;
	} cases[] = {
		{ false, false, true, false },
		{ true, false, true, true },
		{ false, true, false, false },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(cases); i++) {
		pkg_cleanup(pkg_argv_free) struct pkg_argv *argv = command(self, "group");
		struct pkg_process_spec spec = { .argv = argv,
			.stdin_fd = -1,
			.stderr_fd = -1,
			.new_session = cases[i].session,
			.foreground = cases[i].foreground };
		pkg_cleanup_buf struct pkg_buf out = { 0 };
		int pid, group, session;

		assert_int_equal(finish(&spec, &out), 0);
		assert_int_equal(sscanf(pkg_buf_str(&out), "%d %d %d", &pid, &group, &session), 3);
		assert_int_equal(pid == group, cases[i].own_group);
		assert_int_equal(pid == session, cases[i].own_session);
		if (cases[i].foreground)
			assert_int_equal(group, getpgrp());
	}
}

static void
waiting_tells_running_from_ended_and_keeps_the_status(PKG_UNUSED void **state)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *argv = shell("sleep 0.2; exit 3");
	struct pkg_process_spec spec = {
		.argv = argv, .stdin_fd = -1, .stdout_fd = -1, .stderr_fd = -1
	};
	pkg_cleanup(pkg_process_free) struct pkg_process *process = pkg_process_spawn(&spec, NULL);

	assert_int_equal(pkg_process_wait(process, 0, NULL), 0);
	assert_int_equal(pkg_process_wait(process, 20, NULL), 0);
	assert_int_equal(pkg_process_wait(process, 5000, NULL), 1);
	assert_int_equal(pkg_process_wait(process, 0, NULL), 1);
	assert_int_equal(pkg_process_status(process->wait_status), 3);
	pkg_process_signal(process, SIGKILL); /* gone: no effect */
}

static void
a_status_is_put_into_words_once(PKG_UNUSED void **state)
{
	static const struct {
		int wait_status, status;
		const char *words;
	} cases[] = {
		{ W_EXITCODE(0, 0), 0, "exit status 0" },
		{ W_EXITCODE(255, 0), 255, "exit status 255" },
		{ W_EXITCODE(0, SIGKILL), 137, "killed by SIGKILL" },
		{ W_EXITCODE(0, SIGSEGV) | 0x80, 139, "killed by SIGSEGV" },
		{ W_EXITCODE(0, 40), 168, "killed by signal 40" },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(cases); i++) {
		pkg_autofree char *words = pkg_process_describe(cases[i].wait_status);

		assert_int_equal(pkg_process_status(cases[i].wait_status), cases[i].status);
		assert_string_equal(words, cases[i].words);
	}
}

/* True once the write end of a pipe that every descendant inherits is closed everywhere. */
static bool
reaches_end(int fd, int within_ms)
{
	int64_t end = pkg_time_mono_ms() + within_ms;
	char byte;

	(void)fcntl(fd, F_SETFL, O_NONBLOCK);
	while (pkg_time_mono_ms() < end) {
		if (read(fd, &byte, 1) == 0)
			return true;
		pkg_sleep_ms(5);
	}
	return false;
}

static void
dropping_a_live_process_kills_its_whole_group(PKG_UNUSED void **state)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *argv =
		shell("trap '' TERM; sleep 60 & (sleep 60 & sleep 60) & wait");
	struct pkg_process_spec spec = { .argv = argv, .stdin_fd = -1, .stderr_fd = -1 };
	struct pkg_process *process = NULL;
	int64_t began = pkg_time_mono_ms();
	int ends[2];

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	spec.stdout_fd = ends[1];
	process = pkg_process_spawn(&spec, NULL);
	(void)close(ends[1]);
	assert_false(reaches_end(ends[0], 100)); /* they do hold it */
	pkg_process_free(process);
	assert_true(reaches_end(ends[0], 2000));
	assert_true(pkg_time_mono_ms() - began < 5000);
	(void)close(ends[0]);
}

static void
a_tied_child_dies_with_its_parent_and_an_untied_one_lives(PKG_UNUSED void **state)
{
	static const char *const roles[] = { "tied", "untied" };

	for (size_t i = 0; i < PKG_ARRAY_LEN(roles); i++) {
		pkg_cleanup(pkg_argv_free) struct pkg_argv *argv = command(self, roles[i]);
		struct pkg_process_spec spec = { .argv = argv, .stdin_fd = -1, .stderr_fd = -1 };
		pkg_cleanup(pkg_process_free) struct pkg_process *process = NULL;
		bool ended;
		int ends[2];

		assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
		spec.stdout_fd = ends[1]; /* the grandchild's too: it sleeps for a second */
		process = pkg_process_spawn(&spec, NULL);
		(void)close(ends[1]);
		assert_int_equal(pkg_process_wait(process, 5000, NULL), 1);
		ended = reaches_end(ends[0], 500);
		assert_int_equal(ended, i == 0);
		(void)close(ends[0]);
	}
}

#ifdef PKGD_FAULT_POINTS
static void
a_fault_point_acts_on_the_pass_that_was_named(PKG_UNUSED void **state)
{
	static const struct {
		const char *fault, *action, *out;
		int status;
	} cases[] = {
		{ "PKGD_FAULT=unit-point:2", "PKGD_FAULT_ACTION=kill", "0 ", 137 },
		{ "PKGD_FAULT=unit-point", "PKGD_FAULT_ACTION=exit", "", 1 },
		{ "PKGD_FAULT=unit-point:3", "PKGD_FAULT_ACTION=enospc", "0 0 28 ", 0 },
		{ "PKGD_FAULT=unit-point-2", "PKGD_FAULT_ACTION=kill", "0 0 0 ", 0 },
		{ "PKGD_FAULT=unit", "PKGD_FAULT_ACTION=kill", "0 0 0 ", 0 },
		{ "NOTHING=1", "PKGD_FAULT_ACTION=kill", "0 0 0 ", 0 },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(cases); i++) {
		pkg_cleanup(pkg_argv_free) struct pkg_argv *argv = command(self, "fault");
		pkg_cleanup(pkg_argv_free) struct pkg_argv *env = pkg_argv_new();
		struct pkg_process_spec spec = {
			.argv = argv, .env = env, .stdin_fd = -1, .stderr_fd = -1
		};
		pkg_cleanup_buf struct pkg_buf out = { 0 };

		pkg_argv_add(env, cases[i].fault, cases[i].action);
		assert_int_equal(pkg_process_status(finish(&spec, &out)), cases[i].status);
		assert_string_equal(pkg_buf_str(&out), cases[i].out);
	}
}
#endif

/* ---- the roles of a child ---- */

static int
role_fds(void)
{
	for (int fd = 0; fd < 4096; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			printf("%d ", fd);
	return 0;
}

static int
role_fault(void)
{
	(void)setvbuf(stdout, NULL, _IONBF, 0);
	for (int i = 0; i < 3; i++)
		printf("%d ", PKG_FAULT("unit-point"));
	return 0;
}

/* Starts a sleeper and ends without looking after it. */
static int
role_parent(bool tied)
{
	struct pkg_argv *argv = shell("exec sleep 1"); /* PDEATHSIG is not handed on */
	struct pkg_process_spec spec = { .argv = argv,
		.stdin_fd = -1,
		.stdout_fd = 1,
		.stderr_fd = -1,
		.new_session = true,
		.die_with_parent = tied };

	_exit(pkg_process_spawn(&spec, NULL) ? 0 : 1);
}

static int
play(const char *role)
{
	if (strcmp(role, "fds") == 0)
		return role_fds();
	if (strcmp(role, "fault") == 0)
		return role_fault();
	if (strcmp(role, "group") == 0)
		return printf("%d %d %d\n", getpid(), getpgrp(), getsid(0)) < 0;
	return role_parent(strcmp(role, "tied") == 0);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_child_has_only_the_descriptors_named),
		cmocka_unit_test(the_descriptors_that_stay_with_us_are_still_close_on_exec),
		cmocka_unit_test(a_spawn_leaves_no_descriptor_behind_even_when_it_fails),
		cmocka_unit_test(streams_that_swap_the_standard_ones_arrive_where_they_belong),
		cmocka_unit_test(inheriting_a_standard_stream_by_number_is_refused),
		cmocka_unit_test(a_program_that_cannot_be_started_is_an_error_that_names_it),
		cmocka_unit_test(a_missing_interpreter_is_told_from_a_missing_program),
		cmocka_unit_test(a_relative_program_is_refused_whatever_the_path_says),
		cmocka_unit_test(the_environment_is_exactly_the_one_given),
		cmocka_unit_test(limits_hold_in_the_child_and_core_dumps_are_off),
		cmocka_unit_test(ignored_and_blocked_signals_do_not_reach_the_child),
		cmocka_unit_test(each_way_to_stand_in_a_process_group_is_as_asked),
		cmocka_unit_test(waiting_tells_running_from_ended_and_keeps_the_status),
		cmocka_unit_test(a_status_is_put_into_words_once),
		cmocka_unit_test(dropping_a_live_process_kills_its_whole_group),
		cmocka_unit_test(a_tied_child_dies_with_its_parent_and_an_untied_one_lives),
#ifdef PKGD_FAULT_POINTS
		cmocka_unit_test(a_fault_point_acts_on_the_pass_that_was_named),
#endif
	};
	ssize_t len;

	if (argc > 1)
		return play(argv[1]);
	len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	if (len < 0)
		return 1;
	self[len] = '\0';
	return cmocka_run_group_tests(tests, NULL, NULL);
}
