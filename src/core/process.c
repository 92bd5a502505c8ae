#include "core/process.h"
#include "core/time.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* The child runs in our memory, on a stack of its own, while the thread that started it is
 * suspended (as posix_spawn(3) does it): starting a small program from a big process costs no page
 * tables. So everything up to execve(2) is plain system calls on memory prepared before, all
 * signals are blocked until every handler of ours is gone, and the functions are not instrumented.
 */
#define IN_CHILD __attribute__((no_sanitize("address", "undefined"), noinline))

enum { CHILD_STACK = 64 * 1024, KILL_WAIT_MS = 1000 };

enum stage {
	STAGE_SIGNALS,
	STAGE_GROUP,
	STAGE_PARENT,
	STAGE_CWD,
	STAGE_FDS,
	STAGE_LIMITS,
	STAGE_EXEC,
};

struct launch {
	const struct pkg_process_spec *spec;
	const char *cwd;
	char *const *env;
	int *keep; /* owned; above 2, ascending, no duplicates */
	size_t keep_count;
	int stdio[3]; /* borrowed; -1: /dev/null */
	int pipes[2]; /* owned; the child's ends, -1 when there is none */
	pid_t parent;
	enum stage stage; /* where the child is, and after a failure was */
	int sys; /* its errno; 0 when the program runs */
};

IN_CHILD static int
child_signals(void)
{
	/* The kernel's struct sigaction: SIG_DFL, no flags, an empty mask. The C library's call refuses the two
	 * signals that it keeps for itself, and whoever was started by posix_spawn(3) has them ignored. */
	static const unsigned long none[8];

	for (int i = 1; i < NSIG; i++)
		/* EINVAL: KILL and STOP. */
		if (syscall(SYS_rt_sigaction, i, none, NULL, (size_t)(NSIG - 1) / 8) < 0 &&
			errno != EINVAL)
			return -1;
	return 0;
}

IN_CHILD static int
child_group(const struct pkg_process_spec *spec)
{
	if (spec->new_session)
		return setsid() < 0 ? -1 : 0;
	return spec->foreground ? 0 : setpgid(0, 0);
}

IN_CHILD static int
child_parent(const struct launch *launch)
{
	if (!launch->spec->die_with_parent)
		return 0;
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		return -1;
	/* It may have died before the line above. */
	if (getppid() != launch->parent)
		_exit(127);
	return 0;
}

/* Sources move above 2 first, so that no dup2 below overwrites one that is still needed. The kernel
 * gives out free numbers only, hence never one of those to keep. */
IN_CHILD static int
child_stdio(struct launch *launch)
{
	for (int i = 0; i < 3; i++) {
		int fd = launch->stdio[i];

		if (fd < 0)
			fd = open("/dev/null", O_RDWR | O_CLOEXEC);
		if (fd >= 0 && fd < 3)
			fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
		if (fd < 0)
			return -1;
		launch->stdio[i] = fd;
	}
	for (int i = 0; i < 3; i++)
		if (dup2(launch->stdio[i], i) < 0)
			return -1;
	return 0;
}

IN_CHILD static int
child_close_rest(const struct launch *launch)
{
	unsigned from = 3;

	for (size_t i = 0; i < launch->keep_count; i++) {
		unsigned fd = (unsigned)launch->keep[i];

		if (fd > from && close_range(from, fd - 1, 0) < 0)
			return -1;
		from = fd + 1;
	}
	return close_range(from, ~0U, 0);
}

IN_CHILD static int
child_fds(struct launch *launch)
{
	for (size_t i = 0; i < launch->keep_count; i++)
		if (fcntl(launch->keep[i], F_SETFD, 0) < 0)
			return -1;
	return child_stdio(launch) < 0 ? -1 : child_close_rest(launch);
}

IN_CHILD static int
child_limit(int resource, rlim_t value)
{
	struct rlimit limit = { value, value };

	if (setrlimit(resource, &limit) == 0)
		return 0;
	/* Only root may go above the hard limit; one that is lower still keeps the promise. */
	if (errno != EPERM || getrlimit(resource, &limit) < 0)
		return -1;
	if (limit.rlim_max > value)
		limit.rlim_max = value;
	limit.rlim_cur = limit.rlim_max;
	return setrlimit(resource, &limit);
}

IN_CHILD static int
child_limits(const struct pkg_process_spec *spec)
{
	for (size_t i = 0; i < spec->limit_count; i++)
		if (child_limit(spec->limits[i].resource, spec->limits[i].value) < 0)
			return -1;
	/* Always: the memory of a child may hold credentials. */
	return child_limit(RLIMIT_CORE, 0);
}

IN_CHILD static int
child_exec(const struct launch *launch)
{
	sigset_t none;

	if (sigemptyset(&none) < 0 || sigprocmask(SIG_SETMASK, &none, NULL) < 0)
		return -1;
	return execve(launch->spec->argv->items[0], launch->spec->argv->items, launch->env);
}

IN_CHILD static int
child_step(struct launch *launch)
{
	switch (launch->stage) {
	case STAGE_SIGNALS:
		return child_signals();
	case STAGE_GROUP:
		return child_group(launch->spec);
	case STAGE_PARENT:
		return child_parent(launch);
	case STAGE_CWD:
		return chdir(launch->cwd);
	case STAGE_FDS:
		return child_fds(launch);
	case STAGE_LIMITS:
		return child_limits(launch->spec);
	case STAGE_EXEC:
		return child_exec(launch);
	}
	return -1;
}

IN_CHILD static int
child_main(void *argument)
{
	struct launch *launch = argument;

	for (launch->stage = STAGE_SIGNALS; child_step(launch) == 0; launch->stage++)
		;
	launch->sys = errno;
	_exit(127);
}

static int
compare_ints(const void *a, const void *b)
{
	int x = *(const int *)a;
	int y = *(const int *)b;

	return (x > y) - (x < y);
}

static int
set_keep(struct launch *launch, const struct pkg_argv *argv, struct pkg_error *err)
{
	if (argv->fd_count == 0)
		return 0;
	launch->keep = pkg_xmemdup(argv->fds, argv->fd_count * sizeof(int));
	qsort(launch->keep, argv->fd_count, sizeof(int), compare_ints);
	if (launch->keep[0] < 3)
		return pkg_error_set(err, PKG_E_INVALID,
			"descriptor %d cannot be inherited beside the standard streams",
			launch->keep[0]);
	for (size_t i = 0; i < argv->fd_count; i++)
		if (i == 0 || launch->keep[i] != launch->keep[i - 1])
			launch->keep[launch->keep_count++] = launch->keep[i];
	return 0;
}

static int
open_pipe(int *read_end, int *write_end, struct pkg_error *err)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return pkg_error_errno(err, errno, "make a pipe");
	*read_end = ends[0];
	*write_end = ends[1];
	return 0;
}

static int
failed(const struct launch *launch, struct pkg_error *err)
{
	static const char *const steps[] = {
		[STAGE_SIGNALS] = "reset its signals",
		[STAGE_GROUP] = "give it a process group",
		[STAGE_PARENT] = "tie it to its parent",
		[STAGE_CWD] = "enter its directory",
		[STAGE_FDS] = "arrange its descriptors",
		[STAGE_LIMITS] = "limit its resources",
	};
	const char *program = launch->spec->argv->items[0];

	if (launch->stage == STAGE_CWD)
		return pkg_error_errno(
			err, launch->sys, "start '%s': enter '%s'", program, launch->cwd);
	if (launch->stage != STAGE_EXEC)
		return pkg_error_errno(
			err, launch->sys, "start '%s': %s", program, steps[launch->stage]);
	/* The kernel says ENOENT for a missing #! interpreter or loader too. */
	if (launch->sys == ENOENT && access(program, F_OK) == 0)
		return pkg_error_errno(err, launch->sys, "start '%s': its interpreter", program);
	return pkg_error_errno(err, launch->sys, "start '%s'", program);
}

/* The child's number, with *pidfd; -1 on failure. */
static pid_t
start(struct launch *launch, int *pidfd, struct pkg_error *err)
{
	_Alignas(16) char stack[CHILD_STACK];
	sigset_t all;
	sigset_t old;
	pid_t pid;
	int sys;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &old);
	pid = clone(child_main, stack + sizeof(stack),
		CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD, launch, pidfd);
	sys = errno;
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (pid < 0)
		return pkg_error_errno(err, sys, "start '%s': clone", launch->spec->argv->items[0]);
	if (launch->sys == 0)
		return pid;
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	pkg_close(pidfd);
	return failed(launch, err);
}

static int
prepare(struct launch *launch, struct pkg_process *process, struct pkg_error *err)
{
	const struct pkg_process_spec *spec = launch->spec;

	if (spec->argv->count == 0 || spec->argv->items[0][0] != '/')
		return pkg_error_set(err, PKG_E_INVALID, "a program is named by its absolute path");
	if (set_keep(launch, spec->argv, err) < 0)
		return -1;
	if (spec->stdout_fd == PKG_PROCESS_PIPE) {
		if (open_pipe(&process->stdout_fd, &launch->pipes[0], err) < 0)
			return -1;
		launch->stdio[1] = launch->pipes[0];
	}
	if (spec->stderr_fd == PKG_PROCESS_PIPE) {
		if (open_pipe(&process->stderr_fd, &launch->pipes[1], err) < 0)
			return -1;
		launch->stdio[2] = launch->pipes[1];
	} else if (spec->stderr_fd == PKG_PROCESS_STDOUT) {
		launch->stdio[2] = launch->stdio[1];
	}
	return 0;
}

struct pkg_process *
pkg_process_spawn(const struct pkg_process_spec *spec, struct pkg_error *err)
{
	pkg_cleanup(pkg_process_free) struct pkg_process *process = pkg_xmalloc(sizeof(*process));
	char *const no_env[] = { NULL };
	struct launch launch = {
		.spec = spec,
		.cwd = spec->cwd ? spec->cwd : "/",
		.env = spec->env && spec->env->count ? spec->env->items : no_env,
		.stdio = { spec->stdin_fd, spec->stdout_fd, spec->stderr_fd },
		.pipes = { -1, -1 },
		.parent = getpid(),
	};

	*process = (struct pkg_process){
		.pid = -1,
		.pidfd = -1,
		.stdout_fd = -1,
		.stderr_fd = -1,
		.group = !spec->foreground || spec->new_session,
		.reaped = true, /* until there is one */
	};
	if (prepare(&launch, process, err) == 0)
		process->pid = start(&launch, &process->pidfd, err);
	free(launch.keep);
	pkg_close(&launch.pipes[0]);
	pkg_close(&launch.pipes[1]);
	if (process->pid < 0)
		return NULL;
	process->reaped = false;
	return pkg_steal_ptr(&process);
}

static int
reap(struct pkg_process *process, struct pkg_error *err)
{
	pid_t pid;

	do {
		pid = wait4(process->pid, &process->wait_status, 0, &process->usage);
	} while (pid < 0 && errno == EINTR);
	/* Either way its number is no longer ours to signal. */
	process->reaped = true;
	if (pid < 0) {
		process->wait_status = W_EXITCODE(255, 0);
		return pkg_error_errno(err, errno, "wait for process %d", (int)process->pid);
	}
	return 1;
}

int
pkg_process_wait(struct pkg_process *process, int timeout_ms, struct pkg_error *err)
{
	int64_t end = timeout_ms < 0 ? -1 : pkg_time_mono_ms() + timeout_ms;

	while (!process->reaped) {
		struct pollfd look = { .fd = process->pidfd, .events = POLLIN };
		int64_t left = end < 0 ? -1 : end - pkg_time_mono_ms();
		int n = poll(&look, 1, end < 0 ? -1 : left < 0 ? 0 : (int)left);

		if (n > 0)
			return reap(process, err);
		if (n == 0)
			return 0;
		if (errno != EINTR)
			return pkg_error_errno(err, errno, "watch process %d", (int)process->pid);
	}
	return 1;
}

void
pkg_process_signal(struct pkg_process *process, int signal)
{
	/* Before it is reaped the number cannot belong to anybody else. */
	if (process->reaped)
		return;
	if (process->group && kill(-process->pid, signal) == 0)
		return;
	(void)syscall(SYS_pidfd_send_signal, process->pidfd, signal, NULL, 0);
}

void
pkg_process_free(struct pkg_process *process)
{
	if (!process)
		return;
	if (!process->reaped) {
		pkg_process_signal(process, SIGKILL);
		/* Not for ever: a process stuck in the kernel ends when the kernel lets it. */
		(void)pkg_process_wait(process, KILL_WAIT_MS, NULL);
	}
	pkg_close(&process->pidfd);
	pkg_close(&process->stdout_fd);
	pkg_close(&process->stderr_fd);
	free(process);
}

int
pkg_process_status(int wait_status)
{
	if (WIFSIGNALED(wait_status))
		return 128 + WTERMSIG(wait_status);
	return WEXITSTATUS(wait_status);
}

char *
pkg_process_describe(int wait_status)
{
	const char *name;

	if (!WIFSIGNALED(wait_status))
		return pkg_xasprintf("exit status %d", WEXITSTATUS(wait_status));
	name = sigabbrev_np(WTERMSIG(wait_status));
	if (!name)
		return pkg_xasprintf("killed by signal %d", WTERMSIG(wait_status));
	return pkg_xasprintf("killed by SIG%s", name);
}
