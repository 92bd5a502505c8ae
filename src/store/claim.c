#include "store/job.h"
#include "store/statements.h"
#include "core/time.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Times a holder may vanish between our INSERT and the look at who it was. */
enum { TAKE_TRIES = 3 };

void
store_claim_clear(struct store_claim *claim)
{
	free(claim->project);
	free(claim->language);
	free(claim->environment);
	free(claim->phase);
	free(claim->outcome);
	*claim = (struct store_claim){ 0 };
}

void
store_claim_list_clear(struct store_claim_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		store_claim_clear(&list->items[i]);
	free(list->items);
	*list = (struct store_claim_list){ 0 };
}

static void
read_claim(sqlite3_stmt *row, void *record)
{
	struct store_claim *claim = record;
	pkg_autofree char *boot = store_column_text(row, 7);

	claim->id = store_column_int(row, 0);
	claim->job = store_column_int(row, 1);
	claim->project = store_column_text(row, 2);
	claim->language = store_column_text(row, 3);
	claim->environment = store_column_text(row, 4);
	claim->holder.pid = (pid_t)store_column_int(row, 5);
	claim->holder.start = (uint64_t)store_column_int(row, 6);
	(void)snprintf(claim->holder.boot, sizeof(claim->holder.boot), "%s", boot);
	claim->phase = store_column_text(row, 8);
	claim->started_ms = store_column_int(row, 9);
	claim->ended_ms = store_column_int(row, 10);
	claim->outcome = store_column_text(row, 11);
}

/* 1: err names the holder, 0: there is none any more, -1. */
static int
name_holder(struct store *store, const struct store_job *job, struct pkg_error *err)
{
	sqlite3_stmt *query = store_query(store, STMT_CLAIM_HOLDER, err, store_text(job->project),
		store_text(job->language), store_text(job->environment));
	struct store_claim claim = { 0 };
	int found = store_read_one(store, query, read_claim, &claim, err);

	if (found > 0 && pkg_identity_alive(&claim.holder)) {
		(void)pkg_error_set(err, PKG_E_BUSY,
			"environment '%s': job %" PRId64 " (process %d) is working on it",
			claim.environment, claim.job, (int)claim.holder.pid);
	} else if (found > 0) {
		/* Not ours to take over: what it left half-done is settled first. */
		(void)pkg_error_set(err, PKG_E_BUSY,
			"environment '%s': job %" PRId64 ", whose process %d is gone, left work "
			"unfinished",
			claim.environment, claim.job, (int)claim.holder.pid);
		(void)pkg_error_cure(err, "run: pkg reconcile");
	}
	store_claim_clear(&claim);
	return found;
}

int
store_claim_take(struct store *store, const struct store_job *job,
	const struct pkg_identity *holder, int64_t *claim, struct pkg_error *err)
{
	for (int i = 0; i < TAKE_TRIES; i++) {
		/* One statement, so one transaction: the unique index decides between processes. */
		if (store_exec(store, STMT_CLAIM_INSERT, err, store_int(job->id),
			    store_text(job->project), store_text(job->language),
			    store_text(job->environment), store_int(holder->pid),
			    store_int((int64_t)holder->start), store_text(holder->boot),
			    store_text(store_job_state_name(job->state)),
			    store_int(pkg_time_now_ms())) >= 0) {
			*claim = sqlite3_last_insert_rowid(store->db);
			return 0;
		}
		if (!store_is_duplicate(store) || name_holder(store, job, err) != 0)
			return -1;
		pkg_error_clear(err);
	}
	return pkg_error_set(
		err, PKG_E_BUSY, "environment '%s': other jobs keep taking it", job->environment);
}

static int
changed_one(int64_t claim, int changed, struct pkg_error *err)
{
	if (changed == 0)
		return pkg_error_set(
			err, PKG_E_NOT_FOUND, "there is no unfinished claim %" PRId64, claim);
	return changed < 0 ? -1 : 0;
}

int
store_claim_phase(struct store *store, int64_t claim, const char *phase, struct pkg_error *err)
{
	return changed_one(claim,
		store_exec(store, STMT_CLAIM_PHASE, err, store_int(claim), store_text(phase)), err);
}

int
store_claim_end(struct store *store, int64_t claim, const char *outcome, struct pkg_error *err)
{
	return changed_one(claim,
		store_exec(store, STMT_CLAIM_END, err, store_int(claim), store_text(outcome),
			store_int(pkg_time_now_ms())),
		err);
}

int
store_claim_unfinished(struct store *store, struct store_claim_list *out, struct pkg_error *err)
{
	sqlite3_stmt *query = store_query_n(store, STMT_CLAIM_UNFINISHED, 0, NULL, err);
	struct store_rows rows = { .size = sizeof(struct store_claim), .read = read_claim };
	int result = store_read_rows(store, query, &rows, err);

	store_claim_list_clear(out);
	*out = (struct store_claim_list){ rows.items, rows.count };
	if (result < 0)
		store_claim_list_clear(out);
	return result;
}
