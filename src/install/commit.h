/* install/commit.h - a proved change becomes the environment.
 * Purpose    Turn the staged tree or overlay, a rollback, a deletion or an empty new environment into a journal
 *            and complete it (install/journal.h).
 * Ownership  Nothing is kept.
 * Errors     -1: nothing has changed; 1: decided, to be finished by reconcile; 0: done, worker->env is the new
 *            state and the final line is in the job's row and events.
 */
#ifndef INSTALL_COMMIT_H
#define INSTALL_COMMIT_H
#include "install/apply.h"
#include "install/journal.h"

int install_commit_applied(struct install_worker *worker, const struct install_applied *applied,
	struct pkg_error *err);
int install_commit_fresh(
	struct install_worker *worker, struct pkg_error *err); /* no packages: create */
int install_commit_rollback(struct install_worker *worker, struct pkg_error *err);
int install_commit_delete(struct install_worker *worker, struct pkg_error *err);
/* The steps that link an overlay into a tree, whole directories at a time where they are new; metadata
 * directories last. Paths relative to data. */
int install_overlay_steps(int data_fd, const char *overlay, const char *tree,
	struct json_object *ops, struct pkg_error *err);
#endif
