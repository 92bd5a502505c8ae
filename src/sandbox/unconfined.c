#include "sandbox/unconfined.h"

#include "core/path.h"
#include "core/tree.h"
#include "sandbox/argv.h"
#include "sandbox/environ.h"
#include "sandbox/limits.h"
#include "sandbox/paths.h"
#include "sandbox/watch.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

/* "/prefix/bin/python" and "NAME=/prefix" alike; anything that is not a path inside stays as it is.
 */
static char *
translate(const struct sandbox_profile *profile, const char *text)
{
	const char *equals = strchr(text, '=');
	const char *path = text[0] == '/' ? text : equals && equals[1] == '/' ? equals + 1 : NULL;
	pkg_autofree char *outside = NULL;

	if (!path || strchr(path, ':'))
		return pkg_xstrdup(text);
	outside = sandbox_paths_outside(profile, path);
	return pkg_xasprintf("%.*s%s", (int)(path - text), text, outside);
}

struct outside {
	struct pkg_argv *command;
	struct pkg_argv *env;
	char *cwd;
	char *scratch; /* stands for the private home */
};

static void
outside_clear(struct outside *outside)
{
	/* Its descriptors are the profile's. */
	if (outside->command)
		outside->command->fd_count = 0;
	pkg_argv_free(outside->command);
	pkg_argv_free(outside->env);
	free(outside->cwd);
	if (outside->scratch)
		(void)pkg_tree_remove(outside->scratch, NULL);
	free(outside->scratch);
}

static int
prepare(const struct sandbox_host *host, const struct sandbox_profile *profile,
	struct outside *outside, struct pkg_error *err)
{
	const struct sandbox_environ_facts facts = { environ, host->cpus, host->ca };
	pkg_cleanup(pkg_argv_free) struct pkg_argv *env = NULL;
	struct sandbox_profile direct = *profile;

	/* There is no shim, so there is no proxy to name. */
	direct.shim_fd = -1;
	if (sandbox_environ(&direct, &facts, &env, err) < 0)
		return -1;
	outside->scratch = pkg_xstrdup("/tmp/pkgd-home-XXXXXX");
	if (!mkdtemp(outside->scratch)) {
		free(outside->scratch);
		outside->scratch = NULL;
	}
	outside->env = pkg_argv_new();
	for (size_t i = 0; i < env->count; i++) {
		if (strcmp(env->items[i], "HOME=" SANDBOX_HOME) == 0)
			pkg_argv_addf(outside->env, "HOME=%s",
				outside->scratch ? outside->scratch : "/nonexistent");
		else
			pkg_argv_take(outside->env, translate(profile, env->items[i]));
	}
	outside->command = pkg_argv_new();
	for (size_t i = 0; i < profile->command->count; i++)
		pkg_argv_take(outside->command, translate(profile, profile->command->items[i]));
	for (size_t i = 0; i < profile->inherit_count; i++)
		pkg_argv_take_fd(outside->command, profile->inherit_fds[i]);
	outside->cwd = translate(profile, profile->cwd ? profile->cwd : "/tmp");
	return 0;
}

static struct pkg_process_spec
spec_of(const struct outside *outside, const struct pkg_rlimit *rlimits, size_t count)
{
	return (struct pkg_process_spec){ .argv = outside->command,
		.env = outside->env,
		.cwd = outside->cwd,
		.stdin_fd = -1,
		.limits = rlimits,
		.limit_count = count,
		.die_with_parent = true };
}

/* Without a namespace there is no telling which processes are the command's, so memory and processors are
 * left to the resource limits of each; the disk is watched all the same. */
struct looking {
	struct pkg_run *caller;
	struct sandbox_watch *watch; /* owned */
	struct pkg_error why;
};

static void
looking_clear(struct looking *looking)
{
	sandbox_watch_free(looking->watch);
	pkg_error_clear(&looking->why);
}

static int
look(void *context, pid_t pid)
{
	struct looking *looking = context;

	if (sandbox_watch_look(looking->watch, 0, &looking->why) < 0)
		return 1;
	return looking->caller->on_tick ? looking->caller->on_tick(looking->caller->context, pid)
					: 0;
}

static void
hear(void *context, int stream, const char *data, size_t len)
{
	struct looking *looking = context;

	if (looking->caller->on_output)
		looking->caller->on_output(looking->caller->context, stream, data, len);
}

/* What a command says of its tree, it says of the place where it is here; told as if it were at its prefix,
 * as everything that was told to it. */
static void
translate_back(const struct sandbox_profile *profile, struct pkg_buf *text)
{
	pkg_cleanup_buf struct pkg_buf out = { 0 };
	const char *from = pkg_buf_str(text);
	const char *end = from + text->len;
	size_t len = profile->tree ? strlen(profile->tree) : 0;
	const char *at;

	if (len == 0)
		return;
	while ((at = memmem(from, (size_t)(end - from), profile->tree, len))) {
		pkg_buf_add_mem(&out, from, (size_t)(at - from));
		/* ".../generations/1" is no part of ".../generations/12". */
		pkg_buf_add(
			&out, isalnum((unsigned char)at[len]) ? profile->tree : profile->prefix);
		from = at + len;
	}
	pkg_buf_add_mem(&out, from, (size_t)(end - from));
	pkg_buf_clear(text);
	*text = out;
	out = (struct pkg_buf){ 0 };
}

static int
run_watched(const struct pkg_process_spec *spec, const struct sandbox_profile *profile,
	struct pkg_run *run, struct pkg_error *err)
{
	const struct sandbox_limits *limits = &profile->limits;
	pkg_cleanup(pkg_argv_free) struct pkg_argv *writable = pkg_argv_new();
	struct looking looking __attribute__((cleanup(looking_clear))) = { .caller = run };
	struct pkg_run inner = { .timeout_ms =
					 limits->wall_ms > INT_MAX ? -1 : (int)limits->wall_ms,
		.max_output = limits->output > INT_MAX ? INT_MAX : (size_t)limits->output,
		.cancel_fd = run->cancel_fd,
		.on_output = hear,
		.on_tick = look,
		.context = &looking };
	int rc;

	sandbox_paths_writable(profile, writable);
	looking.watch = sandbox_watch_new(limits, writable);
	rc = pkg_process_run(spec, &inner, err);
	pkg_run_clear(run);
	run->out = inner.out;
	run->err = inner.err;
	translate_back(profile, &run->out);
	translate_back(profile, &run->err);
	run->wait_status = inner.wait_status;
	run->timed_out = inner.timed_out;
	run->cancelled = inner.cancelled;
	run->stopped_by_tick = inner.stopped_by_tick;
	run->duration_ms = inner.duration_ms;
	run->usage = inner.usage;
	if (rc == 0 && looking.why.kind != PKG_E_NONE) {
		pkg_error_move(err, &looking.why);
		return -1;
	}
	return rc;
}

int
sandbox_unconfined(const struct sandbox_host *host, const struct sandbox_profile *profile,
	struct pkg_run *run, struct pkg_error *err)
{
	struct outside outside __attribute__((cleanup(outside_clear))) = { 0 };
	const struct sandbox_limits *limits = &profile->limits;
	struct pkg_rlimit rlimits[SANDBOX_RLIMITS];
	struct pkg_process_spec spec;

	if (prepare(host, profile, &outside, err) < 0)
		return -1;
	spec = spec_of(&outside, rlimits, sandbox_limits_rlimits(limits, rlimits));
	if (run_watched(&spec, profile, run, err) < 0)
		return -1;
	if (run->timed_out)
		return pkg_error_set(err, PKG_E_TIMEOUT, "stopped after %lld s, its limit",
			(long long)(limits->wall_ms / 1000));
	return run->cancelled ? pkg_error_set(err, PKG_E_CANCELLED, "cancelled") : 0;
}

int
sandbox_unconfined_interactive(const struct sandbox_host *host,
	const struct sandbox_profile *profile, int *status, struct pkg_error *err)
{
	struct outside outside __attribute__((cleanup(outside_clear))) = { 0 };
	pkg_cleanup(pkg_process_free) struct pkg_process *process = NULL;
	struct pkg_rlimit rlimits[SANDBOX_RLIMITS];
	struct pkg_process_spec spec;

	if (prepare(host, profile, &outside, err) < 0)
		return -1;
	spec = spec_of(&outside, rlimits, sandbox_limits_rlimits(&profile->limits, rlimits));
	spec.stdin_fd = STDIN_FILENO;
	spec.stdout_fd = STDOUT_FILENO;
	spec.stderr_fd = STDERR_FILENO;
	spec.foreground = true;
	process = pkg_process_spawn(&spec, err);
	if (!process || pkg_process_wait(process, -1, err) < 0)
		return -1;
	*status = pkg_process_status(process->wait_status);
	return 0;
}
