/* install/planner.h - from a request to worker->plan.
 * Purpose    One function per action: what would have to change. Nothing of an environment is touched; what a
 *            plan needs on disk (an empty tree for an environment that is not there yet, the resolver's
 *            answer) is below the job's staging directory.
 * Ownership  Results are left in the worker: plan, resolution, removed.
 * Errors     As the language's plan; PKG_E_NOT_FOUND for an environment, package or generation that is not there.
 */
#ifndef INSTALL_PLANNER_H
#define INSTALL_PLANNER_H
#include "install/worker.h"

enum install_outcome {
	INSTALL_FAILED = -1,
	INSTALL_PLANNED = 0,
	INSTALL_NOTHING = 1, /* the environment is already as asked */
};

struct install_action {
	const char *name;
	bool needs_card; /* everything that changes packages */
	bool direct; /* its commit needs no fetch, build, apply and verify */
	enum install_outcome (*plan)(struct install_worker *worker, struct pkg_error *err);
};
/* NULL for a word that is no action. */
const struct install_action *install_action_find(const char *name);

/* After an approval: the plan again out of what was saved, 0 when that was possible; the caller compares the
 * hash. PKG_E_NOT_FOUND: plan afresh. */
int install_replan_saved(struct install_worker *worker, struct pkg_error *err);
/* worker->plan again from worker->resolution (after a build showed its files). */
int install_remake_plan(struct install_worker *worker, struct pkg_error *err);
/* Keys of what the plan replaces or removes, owned in the tree now. Given. */
struct pkg_argv *install_plan_leaving(const struct install_worker *worker);
#endif
