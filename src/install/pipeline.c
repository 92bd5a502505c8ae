#include "install/pipeline.h"

#include <inttypes.h>
#include <string.h>

#include "core/fault.h"
#include "core/time.h"
#include "core/tree.h"
#include "install/apply.h"
#include "install/card.h"
#include "install/commit.h"
#include "install/planner.h"

#define MS_PER_HOUR (3600LL * 1000)

/* How a phase leaves the job. */
enum step {
	STEP_FAILED = -1, /* *err says why; nothing has changed */
	STEP_ON = 0, /* to the next phase */
	STEP_ENDED = 1, /* the job is done, or waits for an answer, or for reconcile */
};

/* A commit of this environment that was cut short is completed before anything else is done with it. */
static int
finish_leftover(struct install_worker *worker, struct pkg_error *err)
{
	pkg_cleanup_store_journal struct store_journal journal = { 0 };
	pkg_cleanup_error struct pkg_error why = { 0 };

	if (worker->env.id == 0)
		return 0;
	if (store_journal_get(worker->store, worker->env.id, &journal, &why) < 0) {
		if (why.kind == PKG_E_NOT_FOUND)
			return 0;
		pkg_error_move(err, &why);
		return -1;
	}
	if (install_journal_complete(worker->home, worker->store, &journal, err) != 0)
		return pkg_error_prefix(err, "finish the change of job %" PRId64, journal.job);
	return install_worker_load_env(worker, err);
}

/* --- the card --- */

static void
tell_card(struct install_worker *worker, int64_t card)
{
	struct json_object *row = json_object_new_object();
	pkg_autofree char *text = install_card_text(worker->plan.json, NULL, false);

	pkg_json_set_str(row, "type", "card");
	pkg_json_set_int(row, "card", card);
	pkg_json_set_str(row, "hash", worker->plan.hash);
	pkg_json_set(row, "plan", json_object_get(worker->plan.json));
	pkg_json_set_str(row, "text", text);
	install_events_row(worker->events, row);
	install_events_state(worker->events, store_job_state_name(STORE_JOB_PENDING), 0);
}

static int
store_plan(struct install_worker *worker, struct pkg_error *err)
{
	pkg_autofree char *text = pkg_json_canonical(worker->plan.json);

	if (store_audit_add(worker->store, "plan", text, err) < 0)
		return -1;
	return store_job_set_plan(worker->store, worker->job.id, text, worker->plan.hash,
		worker->env.generation, worker->env.revision, err);
}

static enum step
ask(struct install_worker *worker, struct pkg_error *err)
{
	pkg_autofree char *text = pkg_json_canonical(worker->plan.json);
	int64_t expires = pkg_time_now_ms() + worker->config.cards_expire_hours * MS_PER_HOUR;
	int64_t card = 0;

	if (store_begin(worker->store, err) < 0)
		return STEP_FAILED;
	/* A card holds no lock: the claim ends as it opens. */
	if (store_claim_end(worker->store, worker->claim, "finished", err) < 0 ||
		store_card_open(worker->store, worker->job.id, worker->plan.hash, text, expires,
			&card, err) < 0 ||
		store_commit(worker->store, err) < 0) {
		store_rollback(worker->store);
		return STEP_FAILED;
	}
	worker->claim = 0;
	install_worker_save_timings(worker);
	worker->job.state = STORE_JOB_PENDING;
	tell_card(worker, card);
	return STEP_ENDED;
}

/* --- planning --- */

static bool
basis_stands(const struct install_worker *worker)
{
	const struct store_job *job = &worker->job;

	return job->plan != NULL && job->plan_generation == worker->env.generation &&
		job->plan_revision == worker->env.revision;
}

static bool
is_approved(const struct install_worker *worker)
{
	return worker->job.approved_hash != NULL &&
		strcmp(worker->job.approved_hash, worker->plan.hash) == 0;
}

static enum step
nothing_to_do(struct install_worker *worker, struct pkg_error *err)
{
	bool dry = pkg_json_bool(worker->request, "dry_run", false);
	int rc;

	worker->note = worker->env.id != 0
		? "everything asked for is there already"
		: "the environment is new; there was nothing to add to it";
	if (store_plan(worker, err) < 0)
		return STEP_FAILED;
	if (worker->env.id != 0 || dry)
		return install_worker_end(worker, STORE_JOB_DONE, NULL, err) < 0 ? STEP_FAILED
										 : STEP_ENDED;
	/* An environment that is asked for and missing is made, empty: no package code, no card. */
	rc = install_commit_fresh(worker, err);
	return rc < 0 ? STEP_FAILED : STEP_ENDED;
}

static enum step
plan_afresh(
	struct install_worker *worker, const struct install_action *action, struct pkg_error *err)
{
	if (install_worker_enter(worker, STORE_JOB_PLANNING, err) < 0)
		return STEP_FAILED;
	if (PKG_FAULT("plan") != 0)
		return pkg_error_set(err, PKG_E_IO, "injected failure while planning");
	switch (action->plan(worker, err)) {
	case INSTALL_FAILED:
		return STEP_FAILED;
	case INSTALL_NOTHING:
		return nothing_to_do(worker, err);
	case INSTALL_PLANNED:
		break;
	}
	if (store_plan(worker, err) < 0)
		return STEP_FAILED;
	if (pkg_json_bool(worker->request, "dry_run", false))
		return install_worker_end(worker, STORE_JOB_DONE, NULL, err) < 0 ? STEP_FAILED
										 : STEP_ENDED;
	if (!action->needs_card || is_approved(worker))
		return STEP_ON;
	return ask(worker, err);
}

/* The approved plan if the environment still stands where it was made, else a new one: the same hash goes on,
 * another is a new card. */
static enum step
plan(struct install_worker *worker, const struct install_action *action, struct pkg_error *err)
{
	pkg_cleanup_error struct pkg_error why = { 0 };

	if (worker->job.approved_hash != NULL && basis_stands(worker) && !action->direct &&
		install_replan_saved(worker, &why) == 0 && is_approved(worker))
		return STEP_ON;
	if (worker->job.approved_hash != NULL)
		install_events_status(worker->events, "the plan is made again");
	/* Whatever a half-loaded answer left behind. */
	if (install_worker_load_env(worker, err) < 0)
		return STEP_FAILED;
	lang_resolution_clear(&worker->resolution);
	pkg_argv_free(worker->removed);
	worker->removed = pkg_argv_new();
	return plan_afresh(worker, action, err);
}

/* --- from the approval to the commit --- */

static enum step
fetch_and_build(struct install_worker *worker, struct pkg_error *err)
{
	bool built = false;

	if (install_worker_enter(worker, STORE_JOB_FETCHING, err) < 0 ||
		install_fetch(worker, err) < 0 ||
		install_worker_enter(worker, STORE_JOB_BUILDING, err) < 0 ||
		install_build(worker, &built, err) < 0)
		return STEP_FAILED;
	if (!built)
		return STEP_ON;
	/* Only now is it known which files a source distribution brings. */
	if (install_remake_plan(worker, err) < 0 || store_plan(worker, err) < 0)
		return STEP_FAILED;
	return is_approved(worker) ? STEP_ON : ask(worker, err);
}

static enum step
apply_and_commit(struct install_worker *worker, struct pkg_error *err)
{
	pkg_cleanup_install_applied struct install_applied applied = { 0 };

	if (install_worker_enter(worker, STORE_JOB_APPLYING, err) < 0 ||
		install_apply(worker, &applied, err) < 0 ||
		install_worker_enter(worker, STORE_JOB_VERIFYING, err) < 0 ||
		install_verify(worker, &applied, err) < 0)
		return STEP_FAILED;
	return install_commit_applied(worker, &applied, err) < 0 ? STEP_FAILED : STEP_ENDED;
}

static enum step
commit_direct(struct install_worker *worker, struct pkg_error *err)
{
	int rc;

	if (install_worker_enter(worker, STORE_JOB_APPLYING, err) < 0)
		return STEP_FAILED;
	if (strcmp(worker->job.action, "rollback") == 0)
		rc = install_commit_rollback(worker, err);
	else
		rc = install_commit_delete(worker, err);
	return rc < 0 ? STEP_FAILED : STEP_ENDED;
}

static enum step
run_phases(struct install_worker *worker, struct pkg_error *err)
{
	const struct install_action *action = install_action_find(worker->job.action);
	enum step step;

	if (action == NULL)
		return pkg_error_set(
			err, PKG_E_INVALID, "action '%s' is not known", worker->job.action);
	if (finish_leftover(worker, err) < 0)
		return STEP_FAILED;
	step = plan(worker, action, err);
	if (step != STEP_ON)
		return step;
	if (action->direct)
		return commit_direct(worker, err);
	step = fetch_and_build(worker, err);
	if (step != STEP_ON)
		return step;
	return apply_and_commit(worker, err);
}

/* --- ends --- */

static enum store_job_state
end_state(const struct pkg_error *failure)
{
	return failure->kind == PKG_E_CANCELLED ? STORE_JOB_CANCELLED : STORE_JOB_FAILED;
}

/* Staging is kept while a card waits and when a journal still needs it. */
static void
tidy(struct install_worker *worker)
{
	pkg_cleanup_store_journal struct store_journal journal = { 0 };

	if (!store_job_state_ended(worker->job.state) || worker->staging == NULL)
		return;
	if (worker->env.id != 0 &&
		store_journal_get(worker->store, worker->env.id, &journal, NULL) == 0)
		return;
	(void)pkg_tree_remove(worker->staging, NULL);
}

/* Only then is its end ours to write without a claim. */
static bool
is_queued(const struct install_worker *worker)
{
	return worker->job.state == STORE_JOB_QUEUED;
}

int
install_job_run(const struct pkg_home *home, int64_t job, int cancel_fd, struct pkg_error *err)
{
	struct install_worker worker;
	pkg_cleanup_error struct pkg_error failure = { 0 };
	int rc = install_worker_open(&worker, home, job, cancel_fd, &failure);

	if (rc == 0 && run_phases(&worker, &failure) != STEP_FAILED) {
		tidy(&worker);
		install_worker_close(&worker);
		return 0;
	}
	rc = -1;
	if (failure.kind == PKG_E_BUSY && worker.claim == 0) {
		rc = 0; /* another job is in the way: this one stays queued */
	} else if (worker.job.id != 0 && (worker.claim != 0 || is_queued(&worker))) {
		rc = install_worker_end(&worker, end_state(&failure), &failure, err);
		tidy(&worker);
	} else {
		pkg_error_move(err, &failure);
	}
	install_worker_close(&worker);
	return rc;
}
