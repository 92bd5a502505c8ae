/* install/journal.h - the last steps of a change, each safe to do twice.
 * Purpose    A commit first writes down every rename it is about to do and every row that is true afterwards
 *            (store/journal.h), then does them. Whoever finds such a row later, the worker itself or reconcile,
 *            completes it with the same code: before the row nothing happened, after it everything will.
 * Ownership  JSON given to install_journal_op_* is appended to the caller's array.
 * Errors     A step that cannot be done undoes the steps before it, as long as they are moves, and removes the
 *            row: the environment is as it was and the error says why. Once a link was switched or removed there is
 *            no way back: what failed then is done by whoever comes next.
 *
 * Steps, all below <data> (paths relative to it): ["move",FROM,TO] renameat2(2) with RENAME_NOREPLACE;
 * ["point",LINK,TARGET] a symlink switched by rename(2); ["unpoint",LINK]; ["trash",PATH] renamed aside.
 */
#ifndef INSTALL_JOURNAL_H
#define INSTALL_JOURNAL_H
#include "core/home.h"
#include "core/json.h"
#include "store/history.h"
#include "store/job.h"
#include "store/journal.h"

void install_journal_op_move(struct json_object *ops, const char *from, const char *to);
void install_journal_op_point(struct json_object *ops, const char *link, const char *target);
void install_journal_op_unpoint(struct json_object *ops, const char *link);
void install_journal_op_trash(struct json_object *ops, const char *path);

/* Rows that are true once the steps are done. */
struct install_after {
	int64_t job;
	int64_t env; /* its id */
	struct json_object *
		new_env; /* {"project","language","name","prefix","hermetic"}; NULL: it exists; borrowed */
	const char *facts; /* JSON text to store; NULL: keep */
	int64_t generation;
	int64_t revision;
	bool new_generation;
	bool delete_env;
	struct json_object
		*packages; /* inventory rows; NULL: keep what the generation has; borrowed */
	struct json_object *retire; /* generation numbers whose trees go; NULL; borrowed */
	struct json_object
		*history; /* {"action","asked","uid","label","plan_hash","changes"}; borrowed */
	struct json_object *result; /* the job's final line; borrowed */
};
/* syncfs, the durable row, the steps, the rows. 0 done; -1 nothing has changed; 1 decided, but not all of it could be
 * done or written down yet (*err says what): the job must be left as it is for reconcile. PKG_E_EXISTS when a new
 * environment is there already. */
int install_journal_commit(const struct pkg_home *home, struct store *store, const char *kind,
	struct json_object *ops, const struct install_after *after, struct pkg_error *err);
/* Completes (or, when a step cannot be done, undoes: -1) one found journal; returns as above. */
int install_journal_complete(const struct pkg_home *home, struct store *store,
	const struct store_journal *journal, struct pkg_error *err);

struct json_object *install_packages_to_json(const struct store_package_list *list);
/* PKG_E_INVALID when array is none (NULL too) or a row lacks its name, key or version. */
int install_packages_from_json(
	struct json_object *array, struct store_package_list *out, struct pkg_error *err);
#endif
