/* store/job.h - requested changes, and the claims of the workers on them.
 * Purpose    One row per job through the pipeline of DESIGN.md section 5. The daemon inserts and
 *            schedules, the worker moves it on. A claim says which process works on which
 *            environment; finished claims stay as history.
 * Ownership  As store/env.h.
 * Errors     As store/store.h; PKG_E_BUSY when another live claim holds the environment.
 */
#ifndef STORE_JOB_H
#define STORE_JOB_H
#include "core/identity.h"
#include "store/env.h"

#define STORE_JOB_STATES(X)                                                                        \
	/* X(symbol, name, ended) */                                                               \
	X(QUEUED, "queued", 0)                                                                     \
	X(PLANNING, "planning", 0)                                                                 \
	X(PENDING, "pending", 0)                                                                   \
	X(FETCHING, "fetching", 0)                                                                 \
	X(BUILDING, "building", 0)                                                                 \
	X(APPLYING, "applying", 0)                                                                 \
	X(VERIFYING, "verifying", 0)                                                               \
	X(DONE, "done", 1)                                                                         \
	X(DENIED, "denied", 1)                                                                     \
	X(FAILED, "failed", 1)                                                                     \
	X(CANCELLED, "cancelled", 1)                                                               \
	X(INTERRUPTED, "interrupted", 1)

enum store_job_state {
#define STORE_JOB_ENUM(symbol, name, ended) STORE_JOB_##symbol,
	STORE_JOB_STATES(STORE_JOB_ENUM)
#undef STORE_JOB_ENUM
		STORE_JOB_STATE_COUNT
};
const char *store_job_state_name(enum store_job_state state);
int store_job_state_parse(const char *name, enum store_job_state *out);
bool store_job_state_ended(enum store_job_state state);

struct store_requester {
	int64_t uid;
	int64_t pid;
	char *program; /* owned; base name of the peer's executable, "" when unknown */
	char *label; /* owned; what the peer calls itself (an agent's session), "" when not given */
	char *reason; /* owned; why, in the requester's words; "" when not given */
};
void store_requester_clear(struct store_requester *requester);

struct store_job {
	int64_t id;
	char *action; /* install remove upgrade rollback create repair delete plan */
	char *project;
	char *language;
	char *environment;
	char *request; /* JSON as accepted (DESIGN.md section 9), without secrets */
	enum store_job_state state;
	struct store_requester requester;
	int64_t created_ms;
	int64_t updated_ms;
	int64_t ended_ms; /* 0 while it goes on */
	int64_t behind; /* job in the way while queued, else 0 */
	int64_t card; /* the latest, 0: none yet */
	char *plan; /* canonical JSON, NULL before there is one */
	char *plan_hash;
	int64_t plan_generation; /* what the plan was made against */
	int64_t plan_revision;
	char *approved_hash; /* hash that a card or rule said yes to; NULL before */
	bool cancel_requested;
	char *result; /* JSON of the final line (DESIGN.md section 9); NULL before the end */
	char *idempotency_key; /* NULL: none */
};
void store_job_clear(struct store_job *job);
#define pkg_cleanup_store_job __attribute__((cleanup(store_job_clear)))
struct store_job_list {
	struct store_job *items; /* owned */
	size_t count;
};
void store_job_list_clear(struct store_job_list *list);
#define pkg_cleanup_store_job_list __attribute__((cleanup(store_job_list_clear)))

/* Sets job->id and the times; reads the first part of the record, from action to requester, and the
 * key. A job with the same idempotency key by the same uid: PKG_E_EXISTS and job->id is that one's.
 */
int store_job_insert(struct store *store, struct store_job *job, struct pkg_error *err);
int store_job_get(struct store *store, int64_t id, struct store_job *out, struct pkg_error *err);
/* Newest first. open_only: not ended. before: ids below it (0: from the newest). */
int store_job_list(struct store *store, bool open_only, int64_t before, int limit,
	struct store_job_list *out, struct pkg_error *err);
/* Refused (PKG_E_INTERNAL) out of an ended state, and into one: that is store_job_end(). Clears
 * behind. */
int store_job_set_state(
	struct store *store, int64_t id, enum store_job_state state, struct pkg_error *err);
int store_job_set_plan(struct store *store, int64_t id, const char *plan, const char *hash,
	int64_t generation, int64_t revision, struct pkg_error *err);
int store_job_set_behind(struct store *store, int64_t id, int64_t behind, struct pkg_error *err);
/* PKG_E_INVALID when it has ended already. */
int store_job_request_cancel(struct store *store, int64_t id, struct pkg_error *err);
/* Ended state, result JSON (not NULL), ended_ms; its pending cards are superseded. The first end
 * stays: PKG_E_INTERNAL for a second. */
int store_job_end(struct store *store, int64_t id, enum store_job_state state, const char *result,
	struct pkg_error *err);
/* Jobs in state queued whose environment has no claim, oldest first, one per environment; the
 * others of the same environment get `behind` set. */
int store_job_runnable(struct store *store, struct store_job_list *out, struct pkg_error *err);

struct store_claim {
	int64_t id;
	int64_t job;
	char *project;
	char *language;
	char *environment;
	struct pkg_identity holder;
	char *phase; /* job state's name */
	int64_t started_ms;
	int64_t ended_ms; /* 0: unfinished */
	char *outcome; /* "finished", "undone", "interrupted"; NULL while unfinished */
};
void store_claim_clear(struct store_claim *claim);
#define pkg_cleanup_store_claim __attribute__((cleanup(store_claim_clear)))
struct store_claim_list {
	struct store_claim *items; /* owned */
	size_t count;
};
void store_claim_list_clear(struct store_claim_list *list);
#define pkg_cleanup_store_claim_list __attribute__((cleanup(store_claim_list_clear)))

/* One unfinished claim per environment (names case-folded), by a unique index: PKG_E_BUSY names the
 * job that holds it, and says so when that one's process is gone. The phase starts as the job's
 * state. */
int store_claim_take(struct store *store, const struct store_job *job,
	const struct pkg_identity *holder, int64_t *claim, struct pkg_error *err);
/* Both: PKG_E_NOT_FOUND for a claim that has ended. */
int store_claim_phase(struct store *store, int64_t claim, const char *phase, struct pkg_error *err);
int store_claim_end(struct store *store, int64_t claim, const char *outcome, struct pkg_error *err);
int store_claim_unfinished(
	struct store *store, struct store_claim_list *out, struct pkg_error *err);
#endif
