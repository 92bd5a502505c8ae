/* store/card.h - stored questions "may this plan be applied?".
 * Purpose    A card is a durable row, answered once, by the first who answers; it holds no lock.
 * Ownership  As store/env.h.
 * Errors     As store/store.h; PKG_E_ANSWERED names who answered first.
 */
#ifndef STORE_CARD_H
#define STORE_CARD_H
#include "store/job.h"

/* pending approved denied expired superseded (its job planned again or ended) */
struct store_card {
	int64_t id;
	int64_t job;
	char *plan_hash;
	char *plan; /* canonical JSON */
	char *state;
	int64_t created_ms;
	int64_t expires_ms;
	int64_t answered_ms; /* 0: not yet */
	int64_t answered_uid; /* -1: nobody */
	int64_t answered_pid;
	char *answered_via; /* "control", "page", "policy", "expiry"; NULL before */
	char *message; /* the answerer's words, NULL */
};
void store_card_clear(struct store_card *card);
#define pkg_cleanup_store_card __attribute__((cleanup(store_card_clear)))
struct store_card_list {
	struct store_card *items; /* owned */
	size_t count;
};
void store_card_list_clear(struct store_card_list *list);
#define pkg_cleanup_store_card_list __attribute__((cleanup(store_card_list_clear)))

/* Makes the card, supersedes the job's earlier pending ones, and moves the job to pending, in one
 * transaction. expires_ms 0: never. An approved_hash of before is taken back. */
int store_card_open(struct store *store, int64_t job, const char *plan_hash, const char *plan,
	int64_t expires_ms, int64_t *card, struct pkg_error *err);
struct store_answer {
	bool approve;
	int64_t uid;
	int64_t pid;
	const char *via;
	const char *message; /* may be NULL */
	const char *
		plan_hash; /* what the answerer saw; NULL: not said. Another hash: PKG_E_ANSWERED */
};
/* One transaction: the card; and the job: approved -> queued with approved_hash, denied -> denied
 * with a result. PKG_E_ANSWERED, PKG_E_EXPIRED (and marks it and its job so; inside a transaction
 * of the caller's when that is committed), PKG_E_NOT_FOUND. */
int store_card_answer(struct store *store, int64_t card, const struct store_answer *answer,
	struct pkg_error *err);
int store_card_get(struct store *store, int64_t id, struct store_card *out, struct pkg_error *err);
/* Newest first; state NULL: all. */
int store_card_list(struct store *store, const char *state, int limit, struct store_card_list *out,
	struct pkg_error *err);
/* Ends pending cards past their time, and their jobs as denied with kind card-expired. Returns how
 * many. */
int store_card_expire(struct store *store, int64_t now_ms, struct pkg_error *err);
/* Earliest expires_ms of a pending card, 0: none. */
int64_t store_card_next_expiry(struct store *store, struct pkg_error *err);
/* Supersedes the job's pending cards (it was cancelled or ended otherwise). */
int store_card_supersede(struct store *store, int64_t job, struct pkg_error *err);
#endif
