#include "sandbox/launch.h"

#include "core/path.h"
#include "core/text.h"
#include "core/time.h"
#include "sandbox/argv.h"
#include "sandbox/environ.h"
#include "sandbox/limits.h"
#include "sandbox/paths.h"
#include "sandbox/remedy.h"
#include "sandbox/seccomp.h"
#include "sandbox/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STOP_PIN_WAIT_MS 200
#define GONE_WAIT_MS 5000

extern char **environ;

/* The profile's own descriptors leave the vector, which closes what it has. */
static void
give_back(struct sandbox_start *start)
{
	if (start->argv)
		start->argv->fd_count -= start->borrowed;
	start->borrowed = 0;
}

void
sandbox_start_clear(struct sandbox_start *start)
{
	give_back(start);
	pkg_argv_free(start->argv);
	pkg_argv_free(start->env);
	sandbox_pin_clear(&start->pin);
	sandbox_cgroup_free(start->cgroup);
	start->argv = NULL;
	start->env = NULL;
	start->cgroup = NULL;
}

/* A descriptor that a child can inherit under its own number: above the standard streams. */
static int
above_stdio(int *fd, struct pkg_error *err)
{
	int moved;

	if (*fd > 2)
		return 0;
	moved = fcntl(*fd, F_DUPFD_CLOEXEC, 3);
	if (moved < 0)
		return pkg_error_errno(err, errno, "move a descriptor");
	pkg_close(fd);
	*fd = moved;
	return 0;
}

/* bwrap gets the end that is written to. */
static int
open_pipe(int *ours, int *theirs, struct pkg_error *err)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return pkg_error_errno(err, errno, "make a pipe");
	*ours = ends[0];
	*theirs = ends[1];
	return above_stdio(theirs, err);
}

struct child_fds {
	int status;
	int sync;
	int seccomp;
	int shim;
	int join; /* cgroup.procs, for pkg-enter */
};
#define CHILD_FDS 5

static void
child_fds_clear(struct child_fds *fds)
{
	pkg_close(&fds->status);
	pkg_close(&fds->sync);
	pkg_close(&fds->seccomp);
	pkg_close(&fds->shim);
	pkg_close(&fds->join);
}

static int
open_child_fds(const struct sandbox_launch *launch, const struct sandbox_profile *profile,
	struct sandbox_start *start, struct child_fds *fds, struct pkg_error *err)
{
	if (open_pipe(&start->pin.status_fd, &fds->status, err) < 0 ||
		open_pipe(&start->pin.sync_fd, &fds->sync, err) < 0)
		return -1;
	if (fcntl(start->pin.status_fd, F_SETFL, O_NONBLOCK) < 0)
		return pkg_error_errno(err, errno, "set up bwrap's status pipe");
	fds->seccomp = sandbox_seccomp_reopen(launch->seccomp_fd, err);
	if (fds->seccomp < 0 || above_stdio(&fds->seccomp, err) < 0)
		return -1;
	if (profile->shim_fd < 0)
		return 0;
	fds->shim = fcntl(profile->shim_fd, F_DUPFD_CLOEXEC, 3);
	return fds->shim < 0 ? pkg_error_errno(err, errno, "the shim's descriptor") : 0;
}

static void
hand_over(struct pkg_argv *argv, struct child_fds *fds)
{
	int *const all[CHILD_FDS] = { &fds->status, &fds->sync, &fds->seccomp, &fds->shim,
		&fds->join };

	for (size_t i = 0; i < CHILD_FDS; i++) {
		if (*all[i] >= 0)
			pkg_argv_take_fd(argv, pkg_steal_fd(all[i]));
	}
}

/* A cgroup that cannot be had is no reason to refuse: the watchdog does its work then. */
static void
open_cgroup(const struct sandbox_launch *launch, const struct sandbox_profile *profile,
	struct sandbox_start *start, struct child_fds *fds)
{
	if (!launch->cgroup)
		return;
	start->cgroup = sandbox_cgroup_new(launch->cgroup, &profile->limits);
	fds->join = start->cgroup ? sandbox_cgroup_open(start->cgroup) : -1;
	if (fds->join >= 0 && above_stdio(&fds->join, NULL) < 0)
		pkg_close(&fds->join);
}

/* bwrap is born in the cgroup: a small program of ours enters it and becomes bwrap. */
static struct pkg_argv *
joined(const struct sandbox_host *host, struct pkg_argv *argv, int fd)
{
	struct pkg_argv *longer = pkg_argv_new();

	pkg_argv_add(longer, host->enter, "--join");
	pkg_argv_addf(longer, "%d", fd);
	pkg_argv_add(longer, "--");
	pkg_argv_add_all(longer, argv);
	pkg_argv_free(argv);
	return longer;
}

int
sandbox_start_prepare(const struct sandbox_launch *launch, const struct sandbox_profile *profile,
	struct sandbox_start *start, struct pkg_error *err)
{
	struct child_fds fds __attribute__((cleanup(child_fds_clear))) = { -1, -1, -1, -1, -1 };
	const struct sandbox_environ_facts facts = { environ, launch->host->cpus,
		launch->host->ca ? SANDBOX_CA : NULL };
	struct sandbox_profile numbered = *profile;
	struct sandbox_argv_fds named;

	if (open_child_fds(launch, profile, start, &fds, err) < 0)
		return -1;
	open_cgroup(launch, profile, start, &fds);
	named = (struct sandbox_argv_fds){ fds.status, fds.sync, fds.seccomp };
	numbered.shim_fd = fds.shim;
	if (sandbox_argv(&numbered, launch->host, &named, &start->argv, err) < 0 ||
		sandbox_environ(&numbered, &facts, &start->env, err) < 0)
		return -1;
	if (fds.join >= 0)
		start->argv = joined(launch->host, start->argv, fds.join);
	hand_over(start->argv, &fds);
	for (size_t i = 0; i < profile->inherit_count; i++)
		pkg_argv_take_fd(start->argv, profile->inherit_fds[i]);
	start->borrowed = profile->inherit_count;
	return 0;
}

void
sandbox_start_spawned(struct sandbox_start *start)
{
	give_back(start);
	for (size_t i = 0; i < start->argv->fd_count; i++)
		pkg_close(&start->argv->fds[i]);
	start->argv->fd_count = 0;
}

int
sandbox_launch_failed(const struct sandbox_launch *launch, const char *said, struct pkg_error *err)
{
	struct sandbox_facts facts;
	enum sandbox_cause cause;

	if (!sandbox_remedy_is_facility(said) && said[0]) {
		pkg_autofree char *clean = pkg_text_clean(said, strcspn(said, "\n"), 600, false);

		return pkg_error_set(
			err, PKG_E_INVALID, "the sandbox could not be set up as asked: %s", clean);
	}
	sandbox_facts_read(launch->host->bwrap, said, &facts);
	cause = sandbox_remedy_classify(&facts);
	return sandbox_remedy_set(
		cause == SANDBOX_CAUSE_NONE ? SANDBOX_CAUSE_UNKNOWN : cause, &facts, err);
}

/* One run that core/run looks after; its callbacks come here first. */
struct attempt {
	const struct sandbox_launch *launch;
	const struct sandbox_profile *profile;
	struct pkg_run *caller;
	struct sandbox_start start;
	struct sandbox_watch *watch;
	struct pkg_error why; /* of the watchdog */
	char *undelivered; /* why a stop could not be told to the command; NULL: it was */
};

static void
on_output(void *context, int stream, const char *data, size_t len)
{
	struct attempt *attempt = context;

	if (attempt->caller->on_output)
		attempt->caller->on_output(attempt->caller->context, stream, data, len);
}

static int
on_tick(void *context, pid_t pid)
{
	struct attempt *attempt = context;

	sandbox_start_spawned(&attempt->start);
	/* Not there yet is no reason to stop: the next tick looks again. */
	if (sandbox_pin_init(&attempt->start.pin, 0, NULL) == 0 &&
		sandbox_watch_look(attempt->watch, attempt->start.pin.init, &attempt->why) < 0)
		return 1;
	return attempt->caller->on_tick ? attempt->caller->on_tick(attempt->caller->context, pid)
					: 0;
}

/* TERM to the command, which core/run follows with KILL to bwrap after its grace; who used too much
 * is not asked. bwrap itself is never asked nicely: its end is a kill for all inside. */
static void
on_stop(void *context, struct pkg_process *process)
{
	pkg_cleanup_error struct pkg_error err = { 0 };
	struct attempt *attempt = context;
	struct sandbox_pin *pin = &attempt->start.pin;

	sandbox_start_spawned(&attempt->start);
	if (attempt->why.kind != PKG_E_NONE) {
		if (sandbox_pin_init(pin, 0, NULL) == 0)
			sandbox_pin_kill(pin);
		pkg_process_signal(process, SIGKILL);
		return;
	}
	if (sandbox_pin_command(pin, STOP_PIN_WAIT_MS, &err) == 0 &&
		sandbox_pin_signal(pin, SIGTERM, &err) == 0)
		return;
	attempt->undelivered = pkg_xstrdup(err.message);
	pkg_process_signal(process, SIGKILL);
}

static int
milliseconds(int64_t limit)
{
	return limit <= 0 || limit == SANDBOX_UNLIMITED ? -1
		: limit > INT_MAX			? INT_MAX
							: (int)limit;
}

static size_t
output_bytes(int64_t limit)
{
	return limit <= 0 || limit > INT_MAX ? INT_MAX : (size_t)limit;
}

static int
spawn_and_watch(struct attempt *attempt, struct pkg_error *err)
{
	const struct sandbox_limits *limits = &attempt->profile->limits;
	struct pkg_rlimit rlimits[SANDBOX_RLIMITS];
	struct pkg_process_spec spec = { .argv = attempt->start.argv,
		.env = attempt->start.env,
		.stdin_fd = -1,
		.limits = rlimits,
		.limit_count = sandbox_limits_rlimits(limits, rlimits),
		.die_with_parent = true };
	struct pkg_run *run = attempt->caller;
	struct pkg_run inner = { .timeout_ms = milliseconds(limits->wall_ms),
		.max_output = output_bytes(limits->output),
		.cancel_fd = run->cancel_fd,
		.on_output = on_output,
		.on_tick = on_tick,
		.on_stop = on_stop,
		.context = attempt };
	int rc = pkg_process_run(&spec, &inner, err);

	sandbox_start_spawned(&attempt->start);
	pkg_run_clear(run);
	run->out = inner.out;
	run->err = inner.err;
	run->wait_status = inner.wait_status;
	run->timed_out = inner.timed_out;
	run->cancelled = inner.cancelled;
	run->stopped_by_tick = inner.stopped_by_tick;
	run->duration_ms = inner.duration_ms;
	run->usage = inner.usage;
	return rc;
}

/* How it ended, if not by itself. */
static int
judge_stop(const struct attempt *attempt, struct pkg_error *err)
{
	const struct pkg_run *run = attempt->caller;

	if (attempt->why.kind != PKG_E_NONE) {
		pkg_error_copy(err, &attempt->why);
		return -1;
	}
	if (run->timed_out) {
		pkg_error_set(err, PKG_E_TIMEOUT, "stopped after %lld s, its limit",
			(long long)(attempt->profile->limits.wall_ms / 1000));
		return pkg_error_cure(
			err, "raise the limit 'wall' of this purpose in the configuration");
	}
	if (run->cancelled)
		return attempt->undelivered ? pkg_error_set(err, PKG_E_CANCELLED,
						      "cancelled; the command was killed at once, "
						      "it could not be told: %s",
						      attempt->undelivered)
					    : pkg_error_set(err, PKG_E_CANCELLED, "cancelled");
	return run->stopped_by_tick ? pkg_error_set(err, PKG_E_CANCELLED, "stopped") : 0;
}

/* bwrap reports a signal as 128+N, like a shell. */
static int
judge_status(const struct attempt *attempt, struct pkg_error *err)
{
	const struct sandbox_limits *limits = &attempt->profile->limits;
	const struct pkg_run *run = attempt->caller;
	int status = pkg_process_status(run->wait_status);

	if (attempt->start.cgroup && status == 128 + SIGKILL &&
		sandbox_cgroup_oom(attempt->start.cgroup)) {
		pkg_autofree char *limit = pkg_text_bytes(limits->memory);

		return pkg_error_set(
			err, PKG_E_MEMORY, "killed at its limit of %s of memory", limit);
	}
	if (status == 128 + SIGXFSZ) {
		pkg_autofree char *limit = pkg_text_bytes(limits->file_size);

		return pkg_error_set(
			err, PKG_E_TOO_LARGE, "wrote a file over the limit of %s", limit);
	}
	/* The kernel kills at the hard limit, and bwrap does not wait for what its init waited for,
	 * so the time used is not known; but it cannot be more than has passed. */
	if (limits->cpu_s > 0 && limits->cpu_s != SANDBOX_UNLIMITED &&
		(status == 128 + SIGXCPU ||
			(status == 128 + SIGKILL && run->duration_ms >= limits->cpu_s * 1000)))
		return pkg_error_set(err, PKG_E_TIMEOUT,
			"killed after %lld ms; its limit of processor time is %lld s",
			(long long)run->duration_ms, (long long)limits->cpu_s);
	return 0;
}

static int
judge(struct attempt *attempt, struct pkg_error *err)
{
	struct sandbox_status_text told = { .exit_code = -1 };
	bool understood = sandbox_pin_read(&attempt->start.pin, &told, err) == 0;

	if (judge_stop(attempt, err) < 0)
		return -1;
	if (!understood)
		return pkg_error_prefix(err, "bwrap");
	/* Somebody killed bwrap, or the kernel did for want of memory: that says nothing of the boundary. */
	if (told.exit_code < 0 && WIFSIGNALED(attempt->caller->wait_status) &&
		WTERMSIG(attempt->caller->wait_status) == SIGKILL)
		return pkg_error_set(err, PKG_E_KILLED, "the sandbox was killed from outside");
	/* bwrap names an exit code only for a command that was started. */
	if (told.exit_code < 0)
		return sandbox_launch_failed(
			attempt->launch, pkg_buf_str(&attempt->caller->err), err);
	return judge_status(attempt, err);
}

int
sandbox_launch(const struct sandbox_launch *launch, const struct sandbox_profile *profile,
	struct pkg_run *run, struct pkg_error *err)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *writable = pkg_argv_new();
	struct attempt attempt = {
		.launch = launch, .profile = profile, .caller = run, .start = SANDBOX_START_INIT
	};
	int rc = -1;

	sandbox_paths_writable(profile, writable);
	if (sandbox_start_prepare(launch, profile, &attempt.start, err) < 0)
		goto done;
	attempt.watch = sandbox_watch_new(&profile->limits, writable);
	if (spawn_and_watch(&attempt, err) < 0)
		goto done;
	sandbox_pin_kill(&attempt.start.pin);
	if (!sandbox_pin_wait_gone(&attempt.start.pin, GONE_WAIT_MS)) {
		pkg_error_set(err, PKG_E_KILLED,
			"processes of the sandbox were still there %d s after it was killed",
			GONE_WAIT_MS / 1000);
		goto done;
	}
	rc = judge(&attempt, err);
done:
	sandbox_watch_free(attempt.watch);
	sandbox_start_clear(&attempt.start);
	pkg_error_clear(&attempt.why);
	free(attempt.undelivered);
	return rc;
}
