#include "install/reconcile.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "core/file.h"
#include "core/lock.h"
#include "core/path.h"
#include "core/time.h"
#include "core/tree.h"
#include "install/events.h"
#include "install/journal.h"
#include "install/names.h"
#include "lang/lang.h"
#include "store/card.h"
#include "store/final.h"

/* A worker that tries the lock in vain holds it for less. */
#define LOCK_WAIT_MS 500

struct reconciler {
	const struct pkg_home *home;
	struct store *store;
	struct json_object *claims; /* borrowed from the report */
	struct json_object *checked;
};

static void
report(struct reconciler *rec, int64_t job, const char *project, const char *language,
	const char *environment, const char *outcome, const char *message)
{
	struct json_object *row = json_object_new_object();

	pkg_json_set_int(row, "job", job);
	pkg_json_set_str(row, "project", project);
	pkg_json_set_str(row, "language", language);
	pkg_json_set_str(row, "environment", environment);
	pkg_json_set_str(row, "outcome", outcome);
	pkg_json_set_str(row, "message", message);
	json_object_array_add(rec->claims, row);
}

/* --- ends of jobs that nobody works on --- */

/* Claims of a job that nobody works on any more. */
static void
end_claims(struct reconciler *rec, int64_t job, const char *outcome)
{
	pkg_cleanup_store_claim_list struct store_claim_list claims = { 0 };

	if (store_claim_unfinished(rec->store, &claims, NULL) < 0)
		return;
	for (size_t i = 0; i < claims.count; i++)
		if (claims.items[i].job == job)
			(void)store_claim_end(rec->store, claims.items[i].id, outcome, NULL);
}

static void
end_job(struct reconciler *rec, const struct store_job *job, const struct pkg_error *why)
{
	enum store_job_state state =
		job->cancel_requested ? STORE_JOB_CANCELLED : STORE_JOB_INTERRUPTED;
	pkg_cleanup(pkg_json_put) struct json_object *line = NULL;
	pkg_autofree char *text = NULL;

	if (store_job_state_ended(job->state) ||
		store_final_write(rec->store, job, state, why, &line, NULL) < 0)
		return;
	text = pkg_json_line(line);
	install_events_finish(rec->home, job->id, text);
}

static void
interrupt_job(struct reconciler *rec, const struct store_job *job)
{
	pkg_cleanup_error struct pkg_error why = { 0 };

	if (job->cancel_requested)
		pkg_error_set(&why, PKG_E_CANCELLED, "cancelled; nothing has changed");
	else
		pkg_error_set(&why, PKG_E_INTERRUPTED,
			"its worker ended while %s; nothing has changed",
			store_job_state_name(job->state));
	pkg_error_cure(&why, "ask for it again");
	end_job(rec, job, &why);
}

static void
drop_staging(struct reconciler *rec, int64_t job)
{
	pkg_autofree char *staging = install_path_staging(rec->home, job);

	(void)pkg_tree_remove(staging, NULL);
}

/* --- journals --- */

/* The job that a completed journal ended: its final line goes to whoever follows the events. */
static void
tell_completed(struct reconciler *rec, int64_t job_id)
{
	pkg_cleanup_store_job struct store_job job = { 0 };

	if (store_job_get(rec->store, job_id, &job, NULL) == 0 && job.result != NULL)
		install_events_finish(rec->home, job_id, job.result);
}

/* 0 completed, -1 undone (the job failed), 1 still to be written. */
static int
complete_journal(struct reconciler *rec, const struct store_journal *journal, struct pkg_error *err)
{
	pkg_cleanup_store_job struct store_job job = { 0 };
	int rc = install_journal_complete(rec->home, rec->store, journal, err);

	if (rc == 0) {
		tell_completed(rec, journal->job);
	} else if (rc < 0 && store_job_get(rec->store, journal->job, &job, NULL) == 0) {
		end_job(rec, &job, err);
		end_claims(rec, journal->job, "undone");
	}
	if (rc <= 0)
		drop_staging(rec, journal->job);
	return rc;
}

/* Held while an environment is put right: its worker has it for life, so whoever gets it is alone. A worker that only
 * looks whether it may have it lets go at once; one that is at work does not. -1: somebody is at work. */
static int
lock_env(struct reconciler *rec, const char *project, const char *language, const char *environment)
{
	pkg_autofree char *path = install_path_lock(rec->home, project, language, environment);

	return pkg_lock_take(path, LOCK_WAIT_MS, NULL);
}

static void
finish_journal(struct reconciler *rec, const struct store_journal *listed)
{
	pkg_cleanup_error struct pkg_error why = { 0 };
	pkg_cleanup_store_job struct store_job job = { 0 };
	pkg_cleanup_store_journal struct store_journal journal = { 0 };
	pkg_autofd int lock = -1;
	int rc;

	if (store_job_get(rec->store, listed->job, &job, NULL) < 0)
		return;
	lock = lock_env(rec, job.project, job.language, job.environment);
	/* It may have been completed before the lock was ours, and another change made after it. */
	if (lock < 0 || store_journal_get(rec->store, listed->env, &journal, NULL) < 0 ||
		journal.job != listed->job)
		return;
	rc = complete_journal(rec, &journal, &why);
	report(rec, job.id, job.project, job.language, job.environment,
		rc == 0 ? "finished" : "failed", rc == 0 ? NULL : why.message);
}

static void
finish_journals(struct reconciler *rec)
{
	struct store_journal_list list = { 0 };

	if (store_journal_list(rec->store, &list, NULL) < 0)
		return;
	for (size_t i = 0; i < list.count; i++)
		finish_journal(rec, &list.items[i]);
	store_journal_list_clear(&list);
}

/* --- claims --- */

static void
settle_claim(struct reconciler *rec, const struct store_claim *claim)
{
	pkg_cleanup_store_job struct store_job job = { 0 };
	const char *outcome = "finished"; /* it ended, only its claim did not */
	pkg_autofd int lock = -1;

	/* The lock is asked as well: a process that cannot be recognised may be at work all the same. */
	if (!pkg_identity_alive(&claim->holder))
		lock = lock_env(rec, claim->project, claim->language, claim->environment);
	if (lock < 0) {
		report(rec, claim->job, claim->project, claim->language, claim->environment,
			"running", NULL);
		return;
	}
	if (store_job_get(rec->store, claim->job, &job, NULL) == 0 &&
		!store_job_state_ended(job.state) && job.state != STORE_JOB_PENDING) {
		drop_staging(rec, claim->job);
		interrupt_job(rec, &job);
		outcome = "undone";
	}
	if (store_claim_end(rec->store, claim->id, outcome, NULL) == 0)
		report(rec, claim->job, claim->project, claim->language, claim->environment,
			outcome, NULL);
}

static bool
journal_pending(struct reconciler *rec, int64_t job)
{
	struct store_journal_list list = { 0 };
	bool found = false;

	if (store_journal_list(rec->store, &list, NULL) < 0)
		return true;
	for (size_t i = 0; i < list.count; i++)
		found = found || list.items[i].job == job;
	store_journal_list_clear(&list);
	return found;
}

static int
settle_claims(struct reconciler *rec, struct pkg_error *err)
{
	pkg_cleanup_store_claim_list struct store_claim_list claims = { 0 };

	if (store_claim_unfinished(rec->store, &claims, err) < 0)
		return -1;
	for (size_t i = 0; i < claims.count; i++)
		if (pkg_identity_alive(&claims.items[i].holder) ||
			!journal_pending(rec, claims.items[i].job))
			settle_claim(rec, &claims.items[i]);
	return 0;
}

static bool
is_active(enum store_job_state state)
{
	return !store_job_state_ended(state) && state != STORE_JOB_PENDING &&
		state != STORE_JOB_QUEUED;
}

static bool
is_claimed(struct reconciler *rec, int64_t job)
{
	pkg_cleanup_store_claim_list struct store_claim_list claims = { 0 };
	bool found = false;

	if (store_claim_unfinished(rec->store, &claims, NULL) < 0)
		return true;
	for (size_t i = 0; i < claims.count; i++)
		found = found || claims.items[i].job == job;
	return found;
}

static void
settle_orphan(struct reconciler *rec, const struct store_job *listed)
{
	pkg_cleanup_store_job struct store_job job = { 0 };
	pkg_autofd int lock = lock_env(rec, listed->project, listed->language, listed->environment);

	/* Only what is seen under the lock counts: a worker may have come and gone since the list was made. */
	if (lock < 0 || store_job_get(rec->store, listed->id, &job, NULL) < 0 ||
		!is_active(job.state) || is_claimed(rec, job.id) || journal_pending(rec, job.id))
		return;
	drop_staging(rec, job.id);
	interrupt_job(rec, &job);
	report(rec, job.id, job.project, job.language, job.environment, "undone", NULL);
}

/* Jobs in the middle of a phase that no claim speaks for. */
static void
settle_orphans(struct reconciler *rec)
{
	pkg_cleanup_store_job_list struct store_job_list jobs = { 0 };

	if (store_job_list(rec->store, true, 0, INT32_MAX, &jobs, NULL) < 0)
		return;
	for (size_t i = 0; i < jobs.count; i++)
		if (is_active(jobs.items[i].state) && !is_claimed(rec, jobs.items[i].id))
			settle_orphan(rec, &jobs.items[i]);
}

/* --- the check of what is current --- */

static void
check_env(struct reconciler *rec, const struct store_env *env)
{
	pkg_cleanup_error struct pkg_error why = { 0 };
	pkg_cleanup_store_package_list struct store_package_list packages = { 0 };
	pkg_cleanup(pkg_json_put) struct json_object *facts =
		pkg_json_parse(env->facts, strlen(env->facts), NULL);
	pkg_autofree char *tree = install_path_generation(rec->home, env->id, env->generation);
	const struct lang_ops *ops = lang_find(env->language, NULL);
	struct lang_env seen = { .prefix = env->prefix, .tree = tree, .facts = facts };
	struct json_object *row = json_object_new_object();
	bool ok = facts != NULL && ops != NULL &&
		store_packages_get(rec->store, env->id, env->generation, &packages, &why) == 0 &&
		ops->check(&seen, &packages, false, &why) == 0;

	pkg_json_set_str(row, "environment", env->name);
	pkg_json_set_str(row, "language", env->language);
	pkg_json_set_str(row, "project", env->project);
	pkg_json_set_bool(row, "ok", ok);
	pkg_json_set_str(row, "message", why.message);
	json_object_array_add(rec->checked, row);
}

static void
check_touched(struct reconciler *rec)
{
	size_t count = json_object_array_length(rec->claims);

	for (size_t i = 0; i < count; i++) {
		struct json_object *row = json_object_array_get_idx(rec->claims, i);
		struct store_env_key key = { pkg_json_str(row, "project"),
			pkg_json_str(row, "language"), pkg_json_str(row, "environment") };
		pkg_cleanup_store_env struct store_env env = { 0 };

		if (strcmp(pkg_json_str(row, "outcome"), "running") != 0 &&
			store_env_get(rec->store, &key, &env, NULL) == 0)
			check_env(rec, &env);
	}
}

struct json_object *
install_reconcile(const struct pkg_home *home, struct pkg_error *err)
{
	pkg_cleanup(store_close) struct store *store = store_open(home, err);
	pkg_autofree char *lock_path = pkg_path_join(home->state, "locks/reconcile.lock");
	pkg_autofd int lock = -1;
	struct json_object *out;
	struct reconciler rec = { .home = home, .store = store };

	if (store == NULL)
		return NULL;
	lock = pkg_lock_take(lock_path, -1, err);
	if (lock < 0)
		return NULL;
	out = json_object_new_object();
	rec.claims = json_object_new_array();
	rec.checked = json_object_new_array();
	pkg_json_set(out, "claims", rec.claims);
	pkg_json_set(out, "checked", rec.checked);
	finish_journals(&rec);
	if (settle_claims(&rec, err) < 0) {
		json_object_put(out);
		return NULL;
	}
	settle_orphans(&rec);
	check_touched(&rec);
	return out;
}

/* --- cleaning --- */

/* "interpreters-PID": the scratch of install/tools.c. */
static bool
is_scratch_in_use(const char *name)
{
	const char *dash = strrchr(name, '-');
	long pid = dash != NULL ? strtol(dash + 1, NULL, 10) : 0;

	return pid > 0 && (kill((pid_t)pid, 0) == 0 || errno == EPERM);
}

static bool
staging_is_wanted(struct store *store, const char *name)
{
	pkg_cleanup_store_job struct store_job job = { 0 };
	pkg_cleanup_error struct pkg_error why = { 0 };
	char *end = NULL;
	int64_t id = strtoll(name, &end, 10);

	if (is_scratch_in_use(name))
		return true;
	if (id <= 0 || *end != '\0')
		return false;
	if (store_job_get(store, id, &job, &why) < 0)
		return why.kind != PKG_E_NOT_FOUND;
	return !store_job_state_ended(job.state);
}

static int
clean_directory(const char *path, struct store *store, struct pkg_error *err)
{
	int fd = pkg_dir_open(path, NULL);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	int rc = 0;

	if (dir == NULL) {
		pkg_close(&fd);
		return 0;
	}
	for (struct dirent *entry; rc == 0 && (entry = readdir(dir)) != NULL;) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
			(store != NULL && staging_is_wanted(store, entry->d_name)))
			continue;
		rc = pkg_tree_remove_at(dirfd(dir), entry->d_name, err);
	}
	closedir(dir);
	return rc;
}

int
install_clean(const struct pkg_home *home, struct pkg_error *err)
{
	pkg_cleanup(store_close) struct store *store = store_open(home, err);
	pkg_autofree char *trash = install_path_trash(home);
	pkg_autofree char *staging = pkg_path_join(home->data, "staging");

	if (store == NULL || clean_directory(trash, NULL, err) < 0)
		return -1;
	return clean_directory(staging, store, err);
}
