/* install/worker.h - one job in the hands of one process.
 * Purpose    What every phase of the pipeline works with: the job's row and request, the environment as it
 *            stands, the language, the sandbox, the cache, the events. The worker owns the claim.
 * Ownership  struct install_worker is the caller's storage; open fills it, close releases everything and ends
 *            the claim if it is still held.
 * Errors     PKG_E_BUSY when another process works on the environment: the job stays queued. PKG_E_INVALID, and
 *            the job is left alone, when it does not wait for a worker.
 */
#ifndef INSTALL_WORKER_H
#define INSTALL_WORKER_H
#include "install/events.h"
#include "install/hosts.h"
#include "install/names.h"
#include "install/plan.h"
#include "lang/lang.h"
#include "store/card.h"
#include "store/history.h"
#include "store/journal.h"

struct install_worker {
	const struct pkg_home *home; /* borrowed */
	struct policy_config config;
	struct store *store;
	struct fetch_cas *cas;
	struct sandbox *sandbox;
	struct install_events *events;
	struct store_job job;
	struct json_object *request; /* owned */
	const struct lang_ops *ops;
	struct lang_context lang;
	int cancel_fd; /* borrowed */

	struct store_env env; /* id 0: there is none yet */
	struct json_object *facts; /* owned; of the interpreter that env has or will have */
	struct store_package_list
		packages; /* of the current generation; empty when there is none */
	char *prefix; /* owned */
	char *tree; /* owned; the current generation's, or the fresh one */
	char *staging; /* owned; <data>/staging/JOB */
	char *scratch; /* owned; <staging>/scratch */
	char *rules_file; /* owned */
	struct install_hosts hosts;

	bool fresh_tree; /* tree is an empty one in staging: a new or rebuilt environment */
	struct store_package_list fresh; /* what that empty tree resolves */
	struct lang_resolution resolution;
	struct pkg_argv *removed; /* owned; keys that go */
	struct install_plan plan;
	const char *note; /* static; said in the result of a job that had nothing to do */
	int64_t claim; /* 0: not held */
	int lock_fd;
	int64_t started_ms; /* monotonic */
	struct json_object *timings; /* owned; phase -> ms */
	int64_t phase_ms;
};

int install_worker_open(struct install_worker *worker, const struct pkg_home *home, int64_t job,
	int cancel_fd, struct pkg_error *err);
void install_worker_close(struct install_worker *worker);

/* State in the row, the claim and the event log; the time of the phase that ends is noted. Also the
 * place where a cancel takes effect: PKG_E_CANCELLED. */
int install_worker_enter(
	struct install_worker *worker, enum store_job_state state, struct pkg_error *err);
/* Reads the environment's row, inventory and tree path again; env.id 0 when there is none. */
int install_worker_load_env(struct install_worker *worker, struct pkg_error *err);
/* Before this run ends with a card: the next one adds its time to it. */
void install_worker_save_timings(struct install_worker *worker);
struct lang_env install_worker_env(const struct install_worker *worker);
/* The repositories of R packages that this job may ask, in order: the request's, else r.repos. Of a URL that the
 * configuration has with userinfo, that form. Appended. */
int install_worker_repos(
	const struct install_worker *worker, struct pkg_argv *out, struct pkg_error *err);
/* The final line of DESIGN.md section 9. failure NULL: done. Given. */
struct json_object *install_worker_result(struct install_worker *worker, enum store_job_state state,
	const struct pkg_error *failure, int64_t generation, int64_t revision);
/* Row, event, audit, history, claim: for every end but a commit's, which the journal writes. */
int install_worker_end(struct install_worker *worker, enum store_job_state state,
	const struct pkg_error *failure, struct pkg_error *err);
/* {"action","asked","uid","label","plan_hash","changes"} for the journal. Given. */
struct json_object *install_worker_history(const struct install_worker *worker);
#endif
