/* daemon/supervise.h - workers: started, watched, adopted, stopped.
 * Purpose    At most daemon.parallel_jobs at a time, one per environment. A worker is a session of its own and
 *            outlives the daemon; after a restart live ones are adopted by pidfd. A worker that dies without
 *            ending its job is followed by a reconcile.
 * Ownership  The supervisor hangs on the daemon.
 * Errors     A worker that cannot be started ends its job with the reason.
 */
#ifndef DAEMON_SUPERVISE_H
#define DAEMON_SUPERVISE_H
#include "core/json.h"
#include "daemon/daemon.h"

/* Begins with a reconcile; jobs are scheduled when it is through. */
int supervisor_start(struct daemon *daemon, struct pkg_error *err);
void supervisor_stop(struct daemon *daemon);
/* Something changed: start what can start. */
void supervisor_kick(struct daemon *daemon);
bool supervisor_is_idle(const struct daemon *daemon);

struct supervisor_cancel {
	bool delivered;
	const char *reason; /* static; why not, or how */
};
int supervisor_cancel(
	struct daemon *daemon, int64_t job, struct supervisor_cancel *out, struct pkg_error *err);

/* Appends to the job's event log what the daemon itself decided. row is taken. */
void supervisor_event(struct daemon *daemon, int64_t job, struct json_object *row);
/* The final line that the database holds for a job that ended, unless its log ends with one already. */
void supervisor_tell_end(struct daemon *daemon, int64_t job);
/* A worker on it is known to run. */
bool supervisor_watches(const struct daemon *daemon, int64_t job);
#endif
