#include "store/job.h"
#include "store/statements.h"
#include "core/time.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- States -----------------------------------------------------------------------------------
 */

static const struct {
	const char *name;
	bool ended;
} states[STORE_JOB_STATE_COUNT] = {
#define STATE_ROW(symbol, name, ended) [STORE_JOB_##symbol] = { name, ended },
	STORE_JOB_STATES(STATE_ROW)
#undef STATE_ROW
};

static bool
is_state(enum store_job_state state)
{
	return (int)state >= 0 && state < STORE_JOB_STATE_COUNT;
}

const char *
store_job_state_name(enum store_job_state state)
{
	return is_state(state) ? states[state].name : "unknown";
}

int
store_job_state_parse(const char *name, enum store_job_state *out)
{
	for (int i = 0; name && i < STORE_JOB_STATE_COUNT; i++) {
		if (strcmp(states[i].name, name) == 0) {
			*out = (enum store_job_state)i;
			return 0;
		}
	}
	return -1;
}

bool
store_job_state_ended(enum store_job_state state)
{
	return is_state(state) && states[state].ended;
}

/* ---- Records ----------------------------------------------------------------------------------
 */

void
store_requester_clear(struct store_requester *requester)
{
	free(requester->program);
	free(requester->label);
	free(requester->reason);
	*requester = (struct store_requester){ 0 };
}

void
store_job_clear(struct store_job *job)
{
	free(job->action);
	free(job->project);
	free(job->language);
	free(job->environment);
	free(job->request);
	store_requester_clear(&job->requester);
	free(job->plan);
	free(job->plan_hash);
	free(job->approved_hash);
	free(job->result);
	free(job->idempotency_key);
	*job = (struct store_job){ 0 };
}

void
store_job_list_clear(struct store_job_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		store_job_clear(&list->items[i]);
	free(list->items);
	*list = (struct store_job_list){ 0 };
}

static void
read_requester(sqlite3_stmt *row, int column, struct store_requester *requester)
{
	requester->uid = store_column_int(row, column);
	requester->pid = store_column_int(row, column + 1);
	requester->program = store_column_text(row, column + 2);
	requester->label = store_column_text(row, column + 3);
	requester->reason = store_column_text(row, column + 4);
}

static void
read_job(sqlite3_stmt *row, void *record)
{
	struct store_job *job = record;
	pkg_autofree char *state = store_column_text(row, 6);

	job->id = store_column_int(row, 0);
	job->action = store_column_text(row, 1);
	job->project = store_column_text(row, 2);
	job->language = store_column_text(row, 3);
	job->environment = store_column_text(row, 4);
	job->request = store_column_text(row, 5);
	/* The CHECK lets no other in; should one be there all the same, it must not run. */
	if (store_job_state_parse(state, &job->state) < 0)
		job->state = STORE_JOB_INTERRUPTED;
	read_requester(row, 7, &job->requester);
	job->created_ms = store_column_int(row, 12);
	job->updated_ms = store_column_int(row, 13);
	job->ended_ms = store_column_int(row, 14);
	job->behind = store_column_int(row, 15);
	job->card = store_column_int(row, 16);
	job->plan = store_column_text(row, 17);
	job->plan_hash = store_column_text(row, 18);
	job->plan_generation = store_column_int(row, 19);
	job->plan_revision = store_column_int(row, 20);
	job->approved_hash = store_column_text(row, 21);
	job->cancel_requested = store_column_int(row, 22) != 0;
	job->result = store_column_text(row, 23);
	job->idempotency_key = store_column_text(row, 24);
}

/* ---- Reading ----------------------------------------------------------------------------------
 */

int
store_job_get(struct store *store, int64_t id, struct store_job *out, struct pkg_error *err)
{
	sqlite3_stmt *query = store_query(store, STMT_JOB_GET, err, store_int(id));
	struct store_job job = { 0 };
	int found = store_read_one(store, query, read_job, &job, err);

	if (found == 0)
		return pkg_error_set(err, PKG_E_NOT_FOUND, "there is no job %" PRId64, id);
	if (found < 0)
		return -1;
	store_job_clear(out);
	*out = job;
	return 0;
}

/* Takes a NULL query as a failure that is told already. */
static int
read_jobs(
	struct store *store, sqlite3_stmt *query, struct store_job_list *out, struct pkg_error *err)
{
	struct store_rows rows = { .size = sizeof(struct store_job), .read = read_job };
	int result = store_read_rows(store, query, &rows, err);

	store_job_list_clear(out);
	*out = (struct store_job_list){ rows.items, rows.count };
	if (result < 0)
		store_job_list_clear(out);
	return result;
}

int
store_job_list(struct store *store, bool open_only, int64_t before, int limit,
	struct store_job_list *out, struct pkg_error *err)
{
	sqlite3_stmt *query = store_query(store, open_only ? STMT_JOB_LIST_OPEN : STMT_JOB_LIST,
		err, store_int(before > 0 ? before : INT64_MAX), store_int(store_limit(limit)));

	return read_jobs(store, query, out, err);
}

static int
runnable(struct store *store, struct store_job_list *out, struct pkg_error *err)
{
	if (store_exec_n(store, STMT_JOB_LINE_UP, 0, NULL, err) < 0)
		return -1;
	return read_jobs(store, store_query_n(store, STMT_JOB_RUNNABLE, 0, NULL, err), out, err);
}

int
store_job_runnable(struct store *store, struct store_job_list *out, struct pkg_error *err)
{
	if (store_scope_begin(store, err) < 0)
		return -1;
	return store_scope_end(store, runnable(store, out, err), err);
}

/* ---- Writing ----------------------------------------------------------------------------------
 */

static const char *
or_empty(const char *text)
{
	return text ? text : "";
}

static int
told_before(struct store *store, struct store_job *job, struct pkg_error *err)
{
	int found = store_exec_int(store, STMT_JOB_BY_KEY, &job->id, err,
		store_int(job->requester.uid), store_text(job->idempotency_key));

	if (found < 0)
		return -1;
	return pkg_error_set(err, PKG_E_EXISTS,
		"job %" PRId64 " was made with the same idempotency key", job->id);
}

int
store_job_insert(struct store *store, struct store_job *job, struct pkg_error *err)
{
	const struct store_requester *by = &job->requester;
	int64_t now = pkg_time_now_ms();

	if (store_exec(store, STMT_JOB_INSERT, err, store_text(job->action),
		    store_text(job->project), store_text(job->language),
		    store_text(job->environment), store_text(job->request),
		    store_text(store_job_state_name(job->state)), store_int(by->uid),
		    store_int(by->pid), store_text(or_empty(by->program)),
		    store_text(or_empty(by->label)), store_text(or_empty(by->reason)),
		    store_int(now), store_text(job->idempotency_key)) < 0)
		return store_is_duplicate(store) ? told_before(store, job, err) : -1;
	job->id = sqlite3_last_insert_rowid(store->db);
	job->created_ms = job->updated_ms = now;
	return 0;
}

/* Why an UPDATE of an unended job changed nothing. */
static int
not_changed(struct store *store, int64_t id, enum pkg_error_kind kind, struct pkg_error *err)
{
	sqlite3_stmt *query = store_query(store, STMT_JOB_STATE, err, store_int(id));
	pkg_autofree char *state = NULL;
	int found = store_read_one(store, query, store_read_text, &state, err);

	if (found == 0)
		return pkg_error_set(err, PKG_E_NOT_FOUND, "there is no job %" PRId64, id);
	if (found < 0)
		return -1;
	return pkg_error_set(err, kind, "job %" PRId64 " has ended already: %s", id, state);
}

static int
changed_one(struct store *store, int64_t id, int changed, struct pkg_error *err)
{
	if (changed == 0)
		return not_changed(store, id, PKG_E_INTERNAL, err);
	return changed < 0 ? -1 : 0;
}

int
store_job_set_state(
	struct store *store, int64_t id, enum store_job_state state, struct pkg_error *err)
{
	if (store_job_state_ended(state))
		return pkg_error_set(err, PKG_E_INTERNAL,
			"job %" PRId64 " cannot become '%s' without a result", id,
			store_job_state_name(state));
	return changed_one(store, id,
		store_exec(store, STMT_JOB_SET_STATE, err, store_int(id),
			store_text(store_job_state_name(state)), store_int(pkg_time_now_ms())),
		err);
}

static int
set_plan(struct store *store, int64_t id, const char *plan, const char *hash, int64_t generation,
	int64_t revision, struct pkg_error *err)
{
	if (changed_one(store, id,
		    store_exec(store, STMT_JOB_SET_PLAN, err, store_int(id), store_text(hash),
			    store_int(generation), store_int(revision),
			    store_int(pkg_time_now_ms())),
		    err) < 0)
		return -1;
	if (store_exec(store, STMT_JOB_PUT_PLAN, err, store_int(id), store_text(plan)) < 0)
		return -1;
	return 0;
}

int
store_job_set_plan(struct store *store, int64_t id, const char *plan, const char *hash,
	int64_t generation, int64_t revision, struct pkg_error *err)
{
	if (store_scope_begin(store, err) < 0)
		return -1;
	return store_scope_end(
		store, set_plan(store, id, plan, hash, generation, revision, err), err);
}

int
store_job_set_behind(struct store *store, int64_t id, int64_t behind, struct pkg_error *err)
{
	return changed_one(store, id,
		store_exec(store, STMT_JOB_SET_BEHIND, err, store_int(id), store_int(behind),
			store_int(pkg_time_now_ms())),
		err);
}

int
store_job_request_cancel(struct store *store, int64_t id, struct pkg_error *err)
{
	int changed = store_exec(
		store, STMT_JOB_REQUEST_CANCEL, err, store_int(id), store_int(pkg_time_now_ms()));

	/* A person's request that came late, not a bug of ours. */
	if (changed == 0)
		return not_changed(store, id, PKG_E_INVALID, err);
	return changed < 0 ? -1 : 0;
}

static int
end(struct store *store, int64_t id, enum store_job_state state, const char *result,
	struct pkg_error *err)
{
	if (changed_one(store, id,
		    store_exec(store, STMT_JOB_END, err, store_int(id),
			    store_text(store_job_state_name(state)), store_text(result),
			    store_int(pkg_time_now_ms())),
		    err) < 0)
		return -1;
	/* No question stays open about a job that is over. */
	return store_exec(store, STMT_CARD_SUPERSEDE, err, store_int(id)) < 0 ? -1 : 0;
}

int
store_job_end(struct store *store, int64_t id, enum store_job_state state, const char *result,
	struct pkg_error *err)
{
	if (!store_job_state_ended(state) || !result)
		return pkg_error_set(err, PKG_E_INTERNAL, "job %" PRId64 " cannot end as '%s'%s",
			id, store_job_state_name(state), result ? "" : " without a result");
	if (store_scope_begin(store, err) < 0)
		return -1;
	return store_scope_end(store, end(store, id, state, result, err), err);
}
