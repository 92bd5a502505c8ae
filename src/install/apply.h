/* install/apply.h - the approved plan made real beside the environment, and proved.
 * Purpose    fetch, build, apply and verify of DESIGN.md section 5, all below the job's staging directory. An
 *            additive change is an overlay that holds only what is new; any other is a linked clone of the
 *            current generation with the change made in it; a new or rebuilt environment grows in its
 *            fresh tree.
 * Ownership  The result owns its inventory.
 * Errors     PKG_E_VERIFY when the environment's own interpreter does not see what was planned; else as the
 *            language and the fetcher.
 */
#ifndef INSTALL_APPLY_H
#define INSTALL_APPLY_H
#include "install/worker.h"

enum install_shape {
	INSTALL_OVERLAY, /* additive: linked into the current generation */
	INSTALL_CLONE, /* the next generation */
	INSTALL_FRESH, /* the first generation, or the next on another interpreter */
};
struct install_applied {
	enum install_shape shape;
	char *tree; /* owned; the staged tree or overlay */
	struct store_package_list packages; /* what the environment will resolve */
};
void install_applied_clear(struct install_applied *applied);
#define pkg_cleanup_install_applied __attribute__((cleanup(install_applied_clear)))

int install_fetch(struct install_worker *worker, struct pkg_error *err);
/* Builds source distributions; *built tells whether there was one. */
int install_build(struct install_worker *worker, bool *built, struct pkg_error *err);
int install_apply(
	struct install_worker *worker, struct install_applied *out, struct pkg_error *err);
int install_verify(
	struct install_worker *worker, struct install_applied *applied, struct pkg_error *err);
#endif
