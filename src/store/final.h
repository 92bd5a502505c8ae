/* store/final.h - the end of a job that changed nothing.
 * Purpose    Denied, expired, cancelled, interrupted or never started: one place writes the final line of
 *            DESIGN.md section 9, the job's end, a line of history and the audit entry, whoever ends it.
 *            A job that changed something is ended by the journal of its commit (install/journal.h).
 * Ownership  The line is given.
 * Errors     As store/store.h.
 */
#ifndef STORE_FINAL_H
#define STORE_FINAL_H
#include "core/json.h"
#include "store/job.h"

/* {"type":"result",...} of a job that ends so, with the reason. */
struct json_object *store_final_line(struct store *store, const struct store_job *job,
	enum store_job_state state, const struct pkg_error *why);
/* Writes all of it in one scope (it nests in a transaction of the caller's). line may be NULL; else it is given. */
int store_final_write(struct store *store, const struct store_job *job, enum store_job_state state,
	const struct pkg_error *why, struct json_object **line, struct pkg_error *err);
#endif
