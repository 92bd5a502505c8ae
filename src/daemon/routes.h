/* daemon/routes.h - the table that a reader starts at: method, path, right, handler.
 * Purpose    Finds the row of a request, checks its right, and calls its handler.
 * Ownership  Static data.
 * Errors     404 for a path that is in no row, 405 for a method that is not, 403 `forbidden` for a route that
 *            wants the control socket on the ask socket.
 */
#ifndef DAEMON_ROUTES_H
#define DAEMON_ROUTES_H
#include "daemon/http.h"

typedef int http_handler_fn(struct http_request *request, struct pkg_error *err);

struct route {
	const char *method;
	const char *path; /* "*" stands for one segment; they become params */
	bool control; /* needs control.sock */
	/* 0: it has answered or suspended; -1: *err is the answer. */
	http_handler_fn *handler;
};
extern const struct route routes[];
extern const size_t route_count;
void routes_dispatch(struct http_request *request);

/* routes_system.c */
http_handler_fn route_system, route_config, route_sandbox, route_sandbox_test, route_interpreters,
	route_reconcile, route_audit, route_cache, route_cache_prune;
/* routes_jobs.c */
http_handler_fn route_job_submit, route_jobs, route_job, route_job_events, route_job_log,
	route_job_cancel;
/* routes_cards.c */
http_handler_fn route_cards, route_card, route_card_answer;
/* routes_envs.c */
http_handler_fn route_envs, route_env, route_env_packages, route_env_history, route_kernels,
	route_kernel_add, route_kernel_remove;
#endif
