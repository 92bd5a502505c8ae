/* daemon/worker.h - starting pkg-worker, and asking it questions.
 * Purpose    The environment a worker is given, and its two uses: a job (daemon/supervise.c watches it) and a
 *            question with one line of JSON as its answer.
 * Ownership  A process is given to the caller; a question frees itself after its answer.
 * Errors     As core/process.h; a worker that could not answer says why in its JSON.
 */
#ifndef DAEMON_WORKER_H
#define DAEMON_WORKER_H
#include "core/json.h"
#include "core/process.h"
#include "daemon/daemon.h"

struct pkg_process *worker_spawn(struct daemon *daemon, const struct pkg_argv *arguments,
	int stdout_fd, int stderr_fd, struct pkg_error *err);
/* json is borrowed, NULL on failure; then err says why. Called from the loop. */
typedef void worker_answer_fn(void *context, struct json_object *json, const struct pkg_error *err);
int worker_ask(struct daemon *daemon, const struct pkg_argv *arguments, worker_answer_fn *done,
	void *context, struct pkg_error *err);
#endif
