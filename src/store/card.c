#include "store/card.h"
#include "store/final.h"
#include "store/statements.h"
#include "core/json.h"
#include "core/time.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void
store_card_clear(struct store_card *card)
{
	free(card->plan_hash);
	free(card->plan);
	free(card->state);
	free(card->answered_via);
	free(card->message);
	*card = (struct store_card){ 0 };
}

void
store_card_list_clear(struct store_card_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		store_card_clear(&list->items[i]);
	free(list->items);
	*list = (struct store_card_list){ 0 };
}

static void
read_card(sqlite3_stmt *row, void *record)
{
	struct store_card *card = record;

	card->id = store_column_int(row, 0);
	card->job = store_column_int(row, 1);
	card->plan_hash = store_column_text(row, 2);
	card->plan = store_column_text(row, 3);
	card->state = store_column_text(row, 4);
	card->created_ms = store_column_int(row, 5);
	card->expires_ms = store_column_int(row, 6);
	card->answered_ms = store_column_int(row, 7);
	card->answered_uid = store_column_int(row, 8);
	card->answered_pid = store_column_int(row, 9);
	card->answered_via = store_column_text(row, 10);
	card->message = store_column_text(row, 11);
}

int
store_card_get(struct store *store, int64_t id, struct store_card *out, struct pkg_error *err)
{
	sqlite3_stmt *query = store_query(store, STMT_CARD_GET, err, store_int(id));
	struct store_card card = { 0 };
	int found = store_read_one(store, query, read_card, &card, err);

	if (found == 0)
		return pkg_error_set(err, PKG_E_NOT_FOUND, "there is no card %" PRId64, id);
	if (found < 0)
		return -1;
	store_card_clear(out);
	*out = card;
	return 0;
}

int
store_card_list(struct store *store, const char *state, int limit, struct store_card_list *out,
	struct pkg_error *err)
{
	struct store_value most = store_int(store_limit(limit));
	sqlite3_stmt *query = state
		? store_query(store, STMT_CARD_LIST_STATE, err, store_text(state), most)
		: store_query(store, STMT_CARD_LIST, err, most);
	struct store_rows rows = { .size = sizeof(struct store_card), .read = read_card };
	int result = store_read_rows(store, query, &rows, err);

	store_card_list_clear(out);
	*out = (struct store_card_list){ rows.items, rows.count };
	if (result < 0)
		store_card_list_clear(out);
	return result;
}

/* ---- Asking -----------------------------------------------------------------------------------
 */

int
store_card_supersede(struct store *store, int64_t job, struct pkg_error *err)
{
	return store_exec(store, STMT_CARD_SUPERSEDE, err, store_int(job)) < 0 ? -1 : 0;
}

static int
open_card(struct store *store, int64_t job, const char *plan_hash, const char *plan,
	int64_t expires_ms, int64_t *card, struct pkg_error *err)
{
	int64_t now = pkg_time_now_ms();
	int64_t id;
	int changed;

	if (store_card_supersede(store, job, err) < 0)
		return -1;
	if (store_exec(store, STMT_CARD_INSERT, err, store_int(job), store_text(plan_hash),
		    store_text(plan), store_int(now), store_int(expires_ms)) < 0) {
		if (store->last_code == SQLITE_CONSTRAINT_FOREIGNKEY)
			(void)pkg_error_set(err, PKG_E_NOT_FOUND, "there is no job %" PRId64, job);
		return -1;
	}
	id = sqlite3_last_insert_rowid(store->db);
	changed = store_exec(
		store, STMT_JOB_WAIT_FOR_CARD, err, store_int(job), store_int(id), store_int(now));
	if (changed == 0)
		return pkg_error_set(
			err, PKG_E_INTERNAL, "job %" PRId64 " has ended and needs no answer", job);
	if (changed < 0)
		return -1;
	*card = id;
	return 0;
}

int
store_card_open(struct store *store, int64_t job, const char *plan_hash, const char *plan,
	int64_t expires_ms, int64_t *card, struct pkg_error *err)
{
	if (store_scope_begin(store, err) < 0)
		return -1;
	return store_scope_end(
		store, open_card(store, job, plan_hash, plan, expires_ms, card, err), err);
}

/* ---- Answering --------------------------------------------------------------------------------
 */

/* Only a job that waits for the answer is ended by it. 1: it was, 0: it did not wait, -1. */
static int
deny_job(struct store *store, int64_t id, enum pkg_error_kind kind, const char *message,
	struct pkg_error *err)
{
	pkg_cleanup_store_job struct store_job job = { 0 };
	pkg_cleanup_error struct pkg_error why = { 0 };

	if (store_job_get(store, id, &job, err) < 0)
		return -1;
	if (job.state != STORE_JOB_PENDING)
		return 0;
	pkg_error_set(&why, kind, "%s", message);
	return store_final_write(store, &job, STORE_JOB_DENIED, &why, NULL, err) < 0 ? -1 : 1;
}

static int
expire(struct store *store, const struct store_card *card, int64_t now, struct pkg_error *err)
{
	pkg_autofree char *message = NULL;
	char expiry[PKG_TIME_TEXT];

	if (store_exec(store, STMT_CARD_ANSWER, err, store_int(card->id), store_text("expired"),
		    store_int(now), store_int(-1), store_int(0), store_text("expiry"),
		    store_text(NULL)) < 0)
		return -1;
	pkg_time_format(card->expires_ms, expiry);
	message =
		pkg_xasprintf("card %" PRId64 " expired at %s without an answer", card->id, expiry);
	return deny_job(store, card->job, PKG_E_EXPIRED, message, err) < 0 ? -1 : 0;
}

static int
is_expired(const struct store_card *card, struct pkg_error *err)
{
	char expiry[PKG_TIME_TEXT];

	pkg_time_format(card->expires_ms, expiry);
	return pkg_error_set(
		err, PKG_E_EXPIRED, "card %" PRId64 " expired at %s", card->id, expiry);
}

/* Says why a card that is not pending takes no answer. */
static int
not_pending(const struct store_card *card, struct pkg_error *err)
{
	char when[PKG_TIME_TEXT];

	if (strcmp(card->state, "expired") == 0)
		return is_expired(card, err);
	if (strcmp(card->state, "superseded") == 0)
		return pkg_error_set(err, PKG_E_ANSWERED,
			"card %" PRId64 " was superseded: job %" PRId64
			" was planned again or has ended",
			card->id, card->job);
	pkg_time_format(card->answered_ms, when);
	return pkg_error_set(err, PKG_E_ANSWERED,
		"card %" PRId64 " was %s at %s by uid %" PRId64 " (process %" PRId64 ", %s)",
		card->id, card->state, when, card->answered_uid, card->answered_pid,
		card->answered_via);
}

static int
record(struct store *store, const struct store_card *card, const struct store_answer *answer,
	int64_t now, struct pkg_error *err)
{
	pkg_autofree char *message = NULL;
	int moved;

	if (store_exec(store, STMT_CARD_ANSWER, err, store_int(card->id),
		    store_text(answer->approve ? "approved" : "denied"), store_int(now),
		    store_int(answer->uid), store_int(answer->pid), store_text(answer->via),
		    store_text(answer->message)) < 0)
		return -1;
	message = pkg_xasprintf("card %" PRId64 " was denied by uid %" PRId64 " (%s)%s%s", card->id,
		answer->uid, answer->via, answer->message ? ": " : "",
		answer->message ? answer->message : "");
	moved = answer->approve ? store_exec(store, STMT_JOB_APPROVE, err, store_int(card->job),
					  store_text(card->plan_hash), store_int(now))
				: deny_job(store, card->job, PKG_E_DENIED, message, err);
	if (moved == 0)
		return pkg_error_set(err, PKG_E_ANSWERED,
			"job %" PRId64 " does not wait for card %" PRId64 " any more", card->job,
			card->id);
	return moved < 0 ? -1 : 0;
}

/* Sets *expired, and then what it wrote has to stay although the answer is refused. */
static int
answer_card(struct store *store, int64_t id, const struct store_answer *answer, bool *expired,
	struct pkg_error *err)
{
	pkg_cleanup_store_card struct store_card card = { 0 };
	int64_t now = pkg_time_now_ms();

	if (store_card_get(store, id, &card, err) < 0)
		return -1;
	if (strcmp(card.state, "pending") != 0)
		return not_pending(&card, err);
	if (card.expires_ms > 0 && card.expires_ms <= now) {
		if (expire(store, &card, now, err) < 0)
			return -1;
		*expired = true;
		return 0;
	}
	if (answer->plan_hash && strcmp(answer->plan_hash, card.plan_hash) != 0)
		return pkg_error_set(err, PKG_E_ANSWERED,
			"card %" PRId64 " is about plan %s, the answer about plan %s", id,
			card.plan_hash, answer->plan_hash);
	return record(store, &card, answer, now, err);
}

int
store_card_answer(
	struct store *store, int64_t card, const struct store_answer *answer, struct pkg_error *err)
{
	pkg_cleanup_store_card struct store_card late = { 0 };
	bool expired = false;

	if (store_scope_begin(store, err) < 0)
		return -1;
	if (store_scope_end(store, answer_card(store, card, answer, &expired, err), err) < 0)
		return -1;
	if (!expired)
		return 0;
	if (store_card_get(store, card, &late, err) < 0)
		return -1;
	return is_expired(&late, err);
}

/* ---- Expiry -----------------------------------------------------------------------------------
 */

int64_t
store_card_next_expiry(struct store *store, struct pkg_error *err)
{
	int64_t next = 0;

	return store_exec_int_n(store, STMT_CARD_NEXT_EXPIRY, &next, 0, NULL, err) < 0 ? -1 : next;
}

static int
expire_all(struct store *store, int64_t now_ms, struct pkg_error *err)
{
	int count = 0;

	for (;;) {
		sqlite3_stmt *query = store_query(store, STMT_CARD_OVERDUE, err, store_int(now_ms));
		pkg_cleanup_store_card struct store_card card = { 0 };
		int found = store_read_one(store, query, read_card, &card, err);

		if (found == 0)
			return count;
		if (found < 0 || expire(store, &card, now_ms, err) < 0)
			return -1;
		count++;
	}
}

int
store_card_expire(struct store *store, int64_t now_ms, struct pkg_error *err)
{
	int64_t next = store_card_next_expiry(store, err);

	/* Mostly there is nothing to do, and then nobody has to wait for the write lock. */
	if (next <= 0 || next > now_ms)
		return next < 0 ? -1 : 0;
	if (store_scope_begin(store, err) < 0)
		return -1;
	return store_scope_end(store, expire_all(store, now_ms, err), err);
}
