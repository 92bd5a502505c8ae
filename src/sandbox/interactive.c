#include "sandbox/launch.h"

#include "core/identity.h"
#include "core/time.h"
#include "sandbox/limits.h"
#include "sandbox/paths.h"
#include "sandbox/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

/* A command at a terminal. bwrap runs in a process group of its own, in the background: the keys
 * that stop a command must not reach it, because its end is the end of all inside. The command
 * makes itself a group and takes the terminal (pkg-enter). Signals sent to us go to the command;
 * when it stops, so do we, so that the caller's shell sees what it would see of the command itself.
 */
#define LOOK_MS 100
#define WATCH_MS 250
#define PIN_WAIT_MS 5000
#define GONE_WAIT_MS 5000

struct session {
	struct sandbox_start start;
	struct pkg_process *process; /* owned */
	struct sandbox_watch *watch; /* owned */
	int64_t next_look;
	int signals; /* signalfd */
	sigset_t old_mask;
	bool masked;
	bool terminal; /* standard input is one, and it is ours */
	pid_t group; /* that had it */
	struct termios modes;
};

static void
block_signals(struct session *session, sigset_t *set)
{
	static const int passed[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH,
		SIGCONT, SIGALRM, SIGTTOU };

	(void)sigemptyset(set);
	for (size_t i = 0; i < PKG_ARRAY_LEN(passed); i++)
		(void)sigaddset(set, passed[i]);
	/* SIGTTOU is blocked so that we may take the terminal back from the background. */
	session->masked = pthread_sigmask(SIG_BLOCK, set, &session->old_mask) == 0;
	(void)sigdelset(set, SIGTTOU);
}

static int
session_open(struct session *session, struct pkg_error *err)
{
	sigset_t set;

	session->group = getpgrp();
	session->terminal = isatty(STDIN_FILENO) && tcgetpgrp(STDIN_FILENO) == session->group &&
		tcgetattr(STDIN_FILENO, &session->modes) == 0;
	block_signals(session, &set);
	session->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return session->signals < 0 ? pkg_error_errno(err, errno, "watch for signals") : 0;
}

static void
session_close(struct session *session)
{
	pkg_process_free(session->process);
	sandbox_watch_free(session->watch);
	sandbox_start_clear(&session->start);
	pkg_close(&session->signals);
	if (session->terminal)
		(void)tcsetpgrp(STDIN_FILENO, session->group);
	if (session->masked)
		(void)pthread_sigmask(SIG_SETMASK, &session->old_mask, NULL);
}

/* Those that the terminal already gave to the command's own group do not come here. */
static void
pass_signals(struct session *session)
{
	struct signalfd_siginfo info;

	while (read(session->signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (sandbox_pin_command(&session->start.pin, PIN_WAIT_MS, NULL) < 0 ||
			sandbox_pin_signal(&session->start.pin, (int)info.ssi_signo, NULL) < 0)
			return;
	}
}

static bool
command_is_stopped(struct session *session)
{
	char path[64];
	char text[1024];
	pkg_autofd int fd = -1;
	char state = 0;
	uint64_t start;
	ssize_t n;

	if (!session->terminal || sandbox_pin_command(&session->start.pin, 0, NULL) < 0)
		return false;
	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)session->start.pin.command);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text));
	return n > 0 && pkg_identity_parse_stat(text, (size_t)n, &state, &start) == 0 &&
		state == 'T';
}

/* The command was stopped (^Z): stop as it did, and let it go on when we do. Its group has its
 * number for as long as it lives, and it is pinned. */
static void
stop_with_it(struct session *session)
{
	struct termios modes;
	bool saved = tcgetattr(STDIN_FILENO, &modes) == 0;

	(void)tcsetpgrp(STDIN_FILENO, session->group);
	(void)tcsetattr(STDIN_FILENO, TCSADRAIN, &session->modes);
	(void)raise(SIGSTOP);
	(void)tcgetattr(STDIN_FILENO, &session->modes);
	/* "bg" continues us in the background: then the terminal is not ours to give. */
	if (tcgetpgrp(STDIN_FILENO) == session->group) {
		if (saved)
			(void)tcsetattr(STDIN_FILENO, TCSADRAIN, &modes);
		(void)tcsetpgrp(STDIN_FILENO, session->start.pin.command);
	}
	if (sandbox_pin_signal(&session->start.pin, 0, NULL) == 0)
		(void)kill(-session->start.pin.command, SIGCONT);
}

/* What is over its limit is not asked to stop. */
static int
look_at_use(struct session *session, struct pkg_error *err)
{
	int64_t now = pkg_time_mono_ms();

	if (now < session->next_look)
		return 0;
	session->next_look = now + WATCH_MS;
	if (sandbox_pin_init(&session->start.pin, 0, NULL) < 0 ||
		sandbox_watch_look(session->watch, session->start.pin.init, err) == 0)
		return 0;
	sandbox_pin_kill(&session->start.pin);
	(void)sandbox_pin_wait_gone(&session->start.pin, GONE_WAIT_MS);
	return -1;
}

static int
attend(struct session *session, int64_t deadline, struct pkg_error *err)
{
	for (;;) {
		struct pollfd look[] = { { .fd = session->signals, .events = POLLIN },
			{ .fd = session->process->pidfd, .events = POLLIN } };
		int wait = session->terminal || deadline >= 0 ? LOOK_MS : WATCH_MS;

		if (poll(look, PKG_ARRAY_LEN(look), wait) < 0 && errno != EINTR)
			return pkg_error_errno(err, errno, "watch the command");
		if (look[1].revents)
			return pkg_process_wait(session->process, -1, err) < 0 ? -1 : 0;
		if (look[0].revents)
			pass_signals(session);
		if (command_is_stopped(session))
			stop_with_it(session);
		if (look_at_use(session, err) < 0)
			return -1;
		if (deadline >= 0 && pkg_time_mono_ms() >= deadline)
			return pkg_error_set(err, PKG_E_TIMEOUT, "stopped at its time limit");
	}
}

static int
finish(const struct sandbox_launch *launch, struct session *session, int *status,
	struct pkg_error *err)
{
	struct sandbox_status_text told = { .exit_code = -1 };

	sandbox_pin_kill(&session->start.pin);
	if (!sandbox_pin_wait_gone(&session->start.pin, GONE_WAIT_MS))
		return pkg_error_set(err, PKG_E_KILLED,
			"processes of the sandbox were still there %d s after it ended",
			GONE_WAIT_MS / 1000);
	*status = pkg_process_status(session->process->wait_status);
	/* It may have left raw mode behind. */
	if (session->terminal && *status > 128)
		(void)tcsetattr(STDIN_FILENO, TCSADRAIN, &session->modes);
	if (sandbox_pin_read(&session->start.pin, &told, err) < 0)
		return -1;
	/* Its reason is on the terminal already. */
	return told.exit_code < 0 ? sandbox_launch_failed(launch, "", err) : 0;
}

int
sandbox_launch_interactive(const struct sandbox_launch *launch,
	const struct sandbox_profile *profile, int *status, struct pkg_error *err)
{
	struct session session __attribute__((
		cleanup(session_close))) = { .start = SANDBOX_START_INIT, .signals = -1 };
	pkg_cleanup(pkg_argv_free) struct pkg_argv *writable = pkg_argv_new();
	int64_t wall = profile->limits.wall_ms;
	struct pkg_rlimit rlimits[SANDBOX_RLIMITS];
	struct pkg_process_spec spec = { .stdin_fd = STDIN_FILENO,
		.stdout_fd = STDOUT_FILENO,
		.stderr_fd = STDERR_FILENO,
		.limits = rlimits,
		.limit_count = sandbox_limits_rlimits(&profile->limits, rlimits),
		.die_with_parent = true };

	if (sandbox_start_prepare(launch, profile, &session.start, err) < 0 ||
		session_open(&session, err) < 0)
		return -1;
	spec.argv = session.start.argv;
	spec.env = session.start.env;
	session.process = pkg_process_spawn(&spec, err);
	if (!session.process)
		return -1;
	sandbox_start_spawned(&session.start);
	sandbox_paths_writable(profile, writable);
	session.watch = sandbox_watch_new(&profile->limits, writable);
	if (attend(&session, wall > 0 && wall != SANDBOX_UNLIMITED ? pkg_time_mono_ms() + wall : -1,
		    err) < 0)
		return -1;
	return finish(launch, &session, status, err);
}
