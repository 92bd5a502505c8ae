#include "daemon/supervise.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/file.h"
#include "core/log.h"
#include "core/path.h"
#include "core/process.h"
#include "core/time.h"
#include "daemon/worker.h"
#include "install/events.h"
#include "install/names.h"
#include "store/final.h"
#include "store/journal.h"

/* A cancelled worker has so long to leave by itself (every descendant is gone within 2 s). */
#define CANCEL_GRACE_MS 1500
/* A job that found its environment taken is tried again after this. */
#define RETRY_MS 250
/* A reconcile that failed, was killed, or left something to do. */
#define RECONCILE_RETRY_MS 2000

/* A worker on a job, ours or adopted. */
struct watched {
	struct watched *next;
	struct daemon *daemon;
	int64_t job;
	struct pkg_process *process; /* owned; NULL when adopted */
	int pidfd; /* owned when adopted, else the process's */
	uv_poll_t poll;
	uv_timer_t grace;
	int closing; /* handles still to be closed */
};

struct supervisor {
	struct watched *watched;
	size_t count;
	bool ready; /* the first reconcile is through */
	bool cleaning;
	bool clean_again;
	uv_timer_t retry;
	uv_timer_t reconcile;
	uv_timer_t expiry; /* of the next card */
};

void
supervisor_event(struct daemon *daemon, int64_t job, struct json_object *row)
{
	pkg_cleanup_error struct pkg_error err = { 0 };
	pkg_cleanup(install_events_free) struct install_events *events =
		install_events_open(&daemon->home, job, &err);

	if (events != NULL) {
		install_events_row(events, row);
		return;
	}
	json_object_put(row);
	pkg_log_error(&err, "event of a job job=%" PRId64, job);
}

/* --- cleaning --- */

static void start_cleaning(struct daemon *daemon);

static void
on_cleaned(void *context, struct json_object *json, const struct pkg_error *err)
{
	struct daemon *daemon = context;
	struct supervisor *supervisor = daemon->supervisor;

	(void)json; /* it prints nothing: the parse error is no error */
	(void)err;
	supervisor->cleaning = false;
	if (supervisor->clean_again)
		start_cleaning(daemon);
}

static void
start_cleaning(struct daemon *daemon)
{
	struct supervisor *supervisor = daemon->supervisor;
	pkg_cleanup(pkg_argv_free) struct pkg_argv *arguments = pkg_argv_new();
	pkg_cleanup_error struct pkg_error err = { 0 };

	supervisor->clean_again = supervisor->cleaning;
	if (supervisor->cleaning)
		return;
	pkg_argv_add(arguments, "--clean");
	if (worker_ask(daemon, arguments, on_cleaned, daemon, &err) < 0)
		pkg_log_error(&err, "clean up");
	else
		supervisor->cleaning = true;
}

/* --- reconcile --- */

static void adopt(struct daemon *daemon, const struct store_claim *claim);

static void
adopt_live(struct daemon *daemon)
{
	pkg_cleanup_store_claim_list struct store_claim_list claims = { 0 };
	pkg_cleanup_error struct pkg_error err = { 0 };

	if (store_claim_unfinished(daemon->store, &claims, &err) < 0) {
		pkg_log_error(&err, "adopt workers");
		return;
	}
	for (size_t i = 0; i < claims.count; i++)
		adopt(daemon, &claims.items[i]);
}

static int start_reconcile(struct daemon *daemon, struct pkg_error *err);

static void
on_reconcile_due(uv_timer_t *timer)
{
	pkg_cleanup_error struct pkg_error err = { 0 };

	if (start_reconcile(timer->data, &err) < 0)
		pkg_log_error(&err, "reconcile");
}

/* A decided change that could not be finished (a full disk, say), or one that a live worker is making. */
static bool
has_journal(struct daemon *daemon)
{
	struct store_journal_list list = { 0 };
	bool found;

	if (store_journal_list(daemon->store, &list, NULL) < 0)
		return true;
	found = list.count > 0;
	store_journal_list_clear(&list);
	return found;
}

static void
on_reconciled(void *context, struct json_object *json, const struct pkg_error *err)
{
	struct daemon *daemon = context;

	if (json == NULL)
		pkg_log_error(err, "reconcile");
	/* Until one is through, what is unfinished keeps its environment from everybody. */
	if (json == NULL || has_journal(daemon))
		uv_timer_start(
			&daemon->supervisor->reconcile, on_reconcile_due, RECONCILE_RETRY_MS, 0);
	adopt_live(daemon);
	daemon->supervisor->ready = true;
	start_cleaning(daemon);
	supervisor_kick(daemon);
}

static int
start_reconcile(struct daemon *daemon, struct pkg_error *err)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *arguments = pkg_argv_new();

	pkg_argv_add(arguments, "--reconcile");
	return worker_ask(daemon, arguments, on_reconciled, daemon, err);
}

/* --- watching --- */

static void
on_watched_closed(uv_handle_t *handle)
{
	struct watched *watched = handle->data;

	if (--watched->closing > 0)
		return;
	if (watched->process != NULL)
		pkg_process_free(watched->process);
	else
		pkg_close(&watched->pidfd);
	free(watched);
}

static void
unlink_watched(struct watched *watched)
{
	struct supervisor *supervisor = watched->daemon->supervisor;

	for (struct watched **slot = &supervisor->watched; *slot != NULL; slot = &(*slot)->next) {
		if (*slot != watched)
			continue;
		*slot = watched->next;
		supervisor->count--;
		return;
	}
}

static void
on_retry(uv_timer_t *timer)
{
	supervisor_kick(timer->data);
}

static bool
has_claim(struct daemon *daemon, int64_t job)
{
	pkg_cleanup_store_claim_list struct store_claim_list claims = { 0 };
	bool found = false;

	if (store_claim_unfinished(daemon->store, &claims, NULL) < 0)
		return true;
	for (size_t i = 0; i < claims.count; i++)
		found = found || claims.items[i].job == job;
	return found;
}

static bool
is_waiting(const struct store_job *job)
{
	return job->state == STORE_JOB_QUEUED || job->state == STORE_JOB_PENDING;
}

static int cancel_waiting(struct daemon *daemon, const struct store_job *job,
	struct supervisor_cancel *out, struct pkg_error *err);

/* What the worker left: an ended job, one that waits, or one that nobody works on. */
static void
look_after(struct daemon *daemon, int64_t id)
{
	pkg_cleanup_store_job struct store_job job = { 0 };
	pkg_cleanup_error struct pkg_error err = { 0 };
	struct supervisor_cancel cancel;

	if (store_job_get(daemon->store, id, &job, &err) < 0) {
		pkg_log_error(&err, "look after job=%" PRId64, id);
		return;
	}
	if (store_job_state_ended(job.state)) {
		supervisor_tell_end(daemon, id);
	}
	/* A claim that outlived its worker keeps the environment from everybody, whatever the job's state. */
	if (has_claim(daemon, id)) {
		if (start_reconcile(daemon, &err) < 0)
			pkg_log_error(&err, "reconcile");
	} else if (store_job_state_ended(job.state)) {
		supervisor_kick(daemon);
	} else if (job.cancel_requested && is_waiting(&job)) {
		/* It came when the worker had looked for the last time. */
		if (cancel_waiting(daemon, &job, &cancel, &err) < 0)
			pkg_log_error(&err, "cancel job=%" PRId64, id);
	} else if (job.state == STORE_JOB_QUEUED && job.approved_hash == NULL) {
		uv_timer_start(&daemon->supervisor->retry, on_retry, RETRY_MS, 0);
	} else if (job.state == STORE_JOB_PENDING || job.state == STORE_JOB_QUEUED) {
		supervisor_kick(daemon);
	} else if (start_reconcile(daemon, &err) < 0) {
		pkg_log_error(&err, "reconcile");
	}
}

static void
on_worker_exit(uv_poll_t *poll, int status, int events)
{
	struct watched *watched = poll->data;

	(void)status;
	(void)events;
	if (watched->process != NULL)
		(void)pkg_process_wait(watched->process, 0, NULL);
	uv_poll_stop(poll);
	unlink_watched(watched);
	look_after(watched->daemon, watched->job);
	watched->closing = 2;
	uv_close((uv_handle_t *)&watched->poll, on_watched_closed);
	uv_close((uv_handle_t *)&watched->grace, on_watched_closed);
}

static struct watched *
watch(struct daemon *daemon, int64_t job, struct pkg_process *process, int pidfd)
{
	struct watched *watched = pkg_xcalloc(1, sizeof(*watched));

	watched->daemon = daemon;
	watched->job = job;
	watched->process = process;
	watched->pidfd = pidfd;
	watched->poll.data = watched->grace.data = watched;
	uv_poll_init(&daemon->loop, &watched->poll, pidfd);
	uv_timer_init(&daemon->loop, &watched->grace);
	uv_poll_start(&watched->poll, UV_READABLE, on_worker_exit);
	watched->next = daemon->supervisor->watched;
	daemon->supervisor->watched = watched;
	daemon->supervisor->count++;
	return watched;
}

static struct watched *
find_watched(const struct daemon *daemon, int64_t job)
{
	for (struct watched *one = daemon->supervisor->watched; one != NULL; one = one->next)
		if (one->job == job)
			return one;
	return NULL;
}

bool
supervisor_watches(const struct daemon *daemon, int64_t job)
{
	return find_watched(daemon, job) != NULL;
}

static void
adopt(struct daemon *daemon, const struct store_claim *claim)
{
	int pidfd;

	if (find_watched(daemon, claim->job) != NULL)
		return;
	pidfd = (int)syscall(SYS_pidfd_open, claim->holder.pid, 0);
	/* The descriptor pins the process; only then is it compared with the one that took the claim. */
	if (pidfd < 0 || !pkg_identity_alive(&claim->holder)) {
		pkg_close(&pidfd);
		return;
	}
	watch(daemon, claim->job, NULL, pidfd);
	pkg_log(PKG_LOG_INFO, "adopted the worker of a job job=%" PRId64 " pid=%d", claim->job,
		(int)claim->holder.pid);
}

/* --- starting --- */

static int
open_worker_log(struct daemon *daemon, int64_t job, struct pkg_error *err)
{
	pkg_autofree char *dir = install_path_job(&daemon->home, job);
	pkg_autofree char *path = pkg_path_join(dir, "worker.log");
	int fd;

	if (pkg_dir_make(dir, 0700, err) < 0)
		return -1;
	fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		pkg_error_errno(err, errno, "open %s", path);
	return fd;
}

static int
start_worker(struct daemon *daemon, int64_t job, struct pkg_error *err)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *arguments = pkg_argv_new();
	pkg_autofd int log = open_worker_log(daemon, job, err);
	struct pkg_process *process;

	if (log < 0)
		return -1;
	pkg_argv_addf(arguments, "%" PRId64, job);
	process = worker_spawn(daemon, arguments, log, log, err);
	if (process == NULL)
		return -1;
	watch(daemon, job, process, process->pidfd);
	return 0;
}

/* A job that no worker has: its end is written here. */
static int
end_job(struct daemon *daemon, const struct store_job *job, enum store_job_state state,
	const struct pkg_error *why, struct pkg_error *err)
{
	struct json_object *line = NULL;

	if (store_final_write(daemon->store, job, state, why, &line, err) < 0)
		return -1;
	supervisor_event(daemon, job->id, line);
	return 0;
}

static void
start_or_end(struct daemon *daemon, const struct store_job *job)
{
	pkg_cleanup_error struct pkg_error err = { 0 };

	if (find_watched(daemon, job->id) != NULL || start_worker(daemon, job->id, &err) == 0)
		return;
	pkg_log_error(&err, "start a worker job=%" PRId64, job->id);
	(void)end_job(daemon, job, STORE_JOB_FAILED, &err, NULL);
}

/* The final line of a job that the database ended, to whoever follows its events. */
void
supervisor_tell_end(struct daemon *daemon, int64_t id)
{
	pkg_cleanup_store_job struct store_job job = { 0 };

	if (store_job_get(daemon->store, id, &job, NULL) < 0 || job.result == NULL)
		return;
	install_events_finish(&daemon->home, id, job.result);
	start_cleaning(daemon);
}

static void
on_expiry(uv_timer_t *timer)
{
	struct daemon *daemon = timer->data;
	pkg_cleanup_store_card_list struct store_card_list cards = { 0 };
	pkg_cleanup_error struct pkg_error err = { 0 };
	int64_t now = pkg_time_now_ms();

	if (store_card_list(daemon->store, "pending", INT32_MAX, &cards, &err) < 0 ||
		store_card_expire(daemon->store, now, &err) < 0)
		pkg_log_error(&err, "expire cards");
	for (size_t i = 0; i < cards.count; i++)
		if (cards.items[i].expires_ms <= now)
			supervisor_tell_end(daemon, cards.items[i].job);
	start_cleaning(daemon);
	supervisor_kick(daemon);
}

static void
arm_expiry(struct daemon *daemon)
{
	int64_t next = store_card_next_expiry(daemon->store, NULL);
	int64_t wait = next - pkg_time_now_ms();

	if (next <= 0)
		uv_timer_stop(&daemon->supervisor->expiry);
	else
		uv_timer_start(&daemon->supervisor->expiry, on_expiry,
			(uint64_t)(wait > 0 ? wait : 0) + 1, 0);
}

void
supervisor_kick(struct daemon *daemon)
{
	struct supervisor *supervisor = daemon->supervisor;
	pkg_cleanup_store_job_list struct store_job_list jobs = { 0 };
	pkg_cleanup_error struct pkg_error err = { 0 };

	if (!supervisor->ready)
		return;
	arm_expiry(daemon);
	if (store_job_runnable(daemon->store, &jobs, &err) < 0) {
		pkg_log_error(&err, "find jobs to run");
		return;
	}
	for (size_t i = 0; i < jobs.count; i++)
		if (supervisor->count < (size_t)daemon->config.daemon_parallel_jobs)
			start_or_end(daemon, &jobs.items[i]);
}

bool
supervisor_is_idle(const struct daemon *daemon)
{
	return daemon->supervisor->count == 0 && daemon->questions == 0;
}

/* --- cancelling --- */

static void
on_grace_over(uv_timer_t *timer)
{
	struct watched *watched = timer->data;

	/* The worker's sandboxes die with it: bwrap and pkg-proxy ask the kernel for that. */
	(void)syscall(SYS_pidfd_send_signal, watched->pidfd, SIGKILL, NULL, 0);
}

static int
cancel_waiting(struct daemon *daemon, const struct store_job *job, struct supervisor_cancel *out,
	struct pkg_error *err)
{
	pkg_cleanup_error struct pkg_error why = { 0 };

	pkg_error_set(
		&why, PKG_E_CANCELLED, "cancelled while %s", store_job_state_name(job->state));
	*out = (struct supervisor_cancel){ true, "it was not running" };
	if (end_job(daemon, job, STORE_JOB_CANCELLED, &why, err) < 0)
		return -1;
	start_cleaning(daemon);
	supervisor_kick(daemon);
	return 0;
}

int
supervisor_cancel(
	struct daemon *daemon, int64_t id, struct supervisor_cancel *out, struct pkg_error *err)
{
	pkg_cleanup_store_job struct store_job job = { 0 };
	struct watched *watched;

	if (store_job_get(daemon->store, id, &job, err) < 0)
		return -1;
	if (store_job_state_ended(job.state)) {
		*out = (struct supervisor_cancel){ false, "the job has ended already" };
		return 0;
	}
	if (store_job_request_cancel(daemon->store, id, err) < 0)
		return -1;
	/* Right after a start, workers of before may not be known yet. */
	if (find_watched(daemon, id) == NULL)
		adopt_live(daemon);
	watched = find_watched(daemon, id);
	/* A worker that opened the card has let go of the job, though it may not be gone yet. */
	if (job.state == STORE_JOB_PENDING || (job.state == STORE_JOB_QUEUED && watched == NULL))
		return cancel_waiting(daemon, &job, out, err);
	if (watched == NULL) {
		/* Its worker died in the middle: only the journal knows whether the change is decided. */
		*out = (struct supervisor_cancel){ true,
			"its worker is gone; what it left is put right" };
		return start_reconcile(daemon, err);
	}
	if (syscall(SYS_pidfd_send_signal, watched->pidfd, SIGTERM, NULL, 0) < 0) {
		*out = (struct supervisor_cancel){ false, "its worker is gone" };
		return 0;
	}
	uv_timer_start(&watched->grace, on_grace_over, CANCEL_GRACE_MS, 0);
	*out = (struct supervisor_cancel){ true, "its worker was told to stop" };
	return 0;
}

/* --- life --- */

int
supervisor_start(struct daemon *daemon, struct pkg_error *err)
{
	struct supervisor *supervisor = pkg_xcalloc(1, sizeof(*supervisor));

	daemon->supervisor = supervisor;
	uv_timer_init(&daemon->loop, &supervisor->retry);
	uv_timer_init(&daemon->loop, &supervisor->expiry);
	uv_timer_init(&daemon->loop, &supervisor->reconcile);
	supervisor->retry.data = supervisor->expiry.data = supervisor->reconcile.data = daemon;
	return start_reconcile(daemon, err);
}

/* Workers go on without us: only the memory is given back. */
void
supervisor_stop(struct daemon *daemon)
{
	struct supervisor *supervisor = daemon->supervisor;

	while (supervisor != NULL && supervisor->watched != NULL) {
		struct watched *watched = supervisor->watched;

		supervisor->watched = watched->next;
		free(watched->process); /* not pkg_process_free(): that would end it */
		free(watched);
	}
	free(supervisor);
	daemon->supervisor = NULL;
}
