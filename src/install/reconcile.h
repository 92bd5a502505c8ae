/* install/reconcile.h - what a kill left behind, put right.
 * Purpose    At daemon start, after a worker died, and by `pkg reconcile`: every unfinished claim ends as still
 *            running, finished (its journal was completed) or undone (staging thrown away, job interrupted);
 *            journals without a claim are completed too; the current generation of every environment touched is
 *            checked against its RECORDs. The journal always decides: there is no "unknown". Everything is looked at
 *            and done under the environment's lock, which its worker holds for life.
 * Ownership  The report is given.
 * Errors     One environment that cannot be put right is told in the report and does not stop the others.
 *
 * {"claims":[{"job","project","language","environment","outcome":"running|finished|undone|failed","message"}],
 *  "checked":[{"environment","ok","message"}]}
 */
#ifndef INSTALL_RECONCILE_H
#define INSTALL_RECONCILE_H
#include "core/home.h"
#include "core/json.h"

struct json_object *install_reconcile(const struct pkg_home *home, struct pkg_error *err);
/* Deletes trash, and the staging of jobs that ended; slowly, by a process of its own. */
int install_clean(const struct pkg_home *home, struct pkg_error *err);
#endif
