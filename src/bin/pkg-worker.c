/* pkg-worker - one run of one job, and the other work that the daemon keeps out of its own process. */
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/log.h"
#include "install/cache.h"
#include "install/pipeline.h"
#include "install/reconcile.h"
#include "install/tools.h"

static const char usage[] = "usage: pkg-worker JOB\n"
			    "       pkg-worker --reconcile | --clean\n"
			    "       pkg-worker --interpreters LANGUAGE [WANT]\n"
			    "       pkg-worker --sandbox-status | --sandbox-test\n"
			    "       pkg-worker --cache-info | --cache-prune\n";

enum task {
	TASK_JOB,
	TASK_RECONCILE,
	TASK_CLEAN,
	TASK_INTERPRETERS,
	TASK_STATUS,
	TASK_TEST,
	TASK_CACHE_INFO,
	TASK_CACHE_PRUNE,
};

struct arguments {
	enum task task;
	int64_t job;
	const char *language;
	const char *want;
};

static const struct option options[] = {
	{ "reconcile", no_argument, NULL, TASK_RECONCILE },
	{ "clean", no_argument, NULL, TASK_CLEAN },
	{ "interpreters", required_argument, NULL, TASK_INTERPRETERS },
	{ "sandbox-status", no_argument, NULL, TASK_STATUS },
	{ "sandbox-test", no_argument, NULL, TASK_TEST },
	{ "cache-info", no_argument, NULL, TASK_CACHE_INFO },
	{ "cache-prune", no_argument, NULL, TASK_CACHE_PRUNE },
	{ NULL, 0, NULL, 0 },
};

static int
parse_arguments(int argc, char **argv, struct arguments *out)
{
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == '?')
			return -1;
		out->task = (enum task)c;
		if (out->task == TASK_INTERPRETERS)
			out->language = optarg;
	}
	if (out->task == TASK_INTERPRETERS && optind < argc)
		out->want = argv[optind++];
	if (out->task == TASK_JOB && optind < argc)
		out->job = strtoll(argv[optind++], NULL, 10);
	return optind == argc && (out->task != TASK_JOB || out->job > 0) ? 0 : -1;
}

/* SIGTERM and SIGINT mean "cancel": they become a readable descriptor that every wait looks at. */
static int
open_cancel_fd(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Deleting is nobody's hurry: IOPRIO_CLASS_IDLE, linux/ioprio.h. */
static void
be_idle(void)
{
	(void)setpriority(PRIO_PROCESS, 0, 19);
	(void)syscall(SYS_ioprio_set, 1, 0, 3 << 13);
}

static int
print_json(struct json_object *json)
{
	pkg_autofree char *text = json != NULL ? pkg_json_line(json) : NULL;

	if (text == NULL)
		return -1;
	puts(text);
	json_object_put(json);
	return 0;
}

/* Who asked a question reads the answer on our standard output, the failure too. */
static void
print_error(const struct arguments *arguments, const struct pkg_error *err)
{
	struct json_object *json;

	if (arguments->task == TASK_JOB || arguments->task == TASK_CLEAN)
		return;
	json = json_object_new_object();
	pkg_json_set(json, "error", pkg_json_from_error(err));
	(void)print_json(json);
}

static int
run_task(const struct pkg_home *home, const struct arguments *arguments, struct pkg_error *err)
{
	pkg_autofd int cancel = -1;

	switch (arguments->task) {
	case TASK_JOB:
		cancel = open_cancel_fd();
		return install_job_run(home, arguments->job, cancel, err);
	case TASK_RECONCILE:
		return print_json(install_reconcile(home, err));
	case TASK_CLEAN:
		be_idle();
		return install_clean(home, err);
	case TASK_INTERPRETERS:
		return print_json(
			install_interpreters(home, arguments->language, arguments->want, err));
	case TASK_STATUS:
		return print_json(install_sandbox_status(home, err));
	case TASK_TEST:
		return print_json(install_sandbox_test(home, err));
	case TASK_CACHE_INFO:
		return print_json(install_cache_info(home, err));
	case TASK_CACHE_PRUNE:
		return print_json(install_cache_prune(home, err));
	}
	return -1;
}

int
main(int argc, char **argv)
{
	struct arguments arguments = { 0 };
	pkg_cleanup_home struct pkg_home home = { 0 };
	pkg_cleanup_error struct pkg_error err = { 0 };

	if (parse_arguments(argc, argv, &arguments) < 0) {
		fputs(usage, stderr);
		return 2;
	}
	pkg_log_init("pkg-worker", PKG_LOG_INFO);
	if (pkg_home_find(getenv("PKGD_SYSTEM") != NULL, &home, &err) < 0 ||
		pkg_home_make(&home, &err) < 0 || run_task(&home, &arguments, &err) < 0) {
		pkg_log_error(&err, "job=%" PRId64, arguments.job);
		print_error(&arguments, &err);
		return pkg_error_kind_exit(err.kind);
	}
	return 0;
}
