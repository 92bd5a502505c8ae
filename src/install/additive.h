/* install/additive.h - may a change be linked into the tree that live kernels look at?
 * Purpose    The verdict of DESIGN.md section 4 with its reasons, before anything is installed. A change is
 *            additive when it only adds new paths: no distribution that the environment resolves changes
 *            version or disappears, nothing is newly shadowed, no file is replaced, nothing is there that only
 *            runs when an interpreter starts.
 * Ownership  The verdict owns its rows.
 * Errors     None: what is not known makes the verdict "not additive".
 */
#ifndef INSTALL_ADDITIVE_H
#define INSTALL_ADDITIVE_H
#include "core/json.h"
#include "lang/lang.h"

struct install_reason {
	const char *reason; /* static: "added", "version-changed", "removed", "shadows-inherited",
			     * "path-overwritten", "startup-file", "not-inspected" */
	char *name; /* distribution */
	char *detail; /* version step or path; NULL */
};
struct install_verdict {
	bool additive;
	struct install_reason *reasons; /* owned; sorted by name, then reason */
	size_t count;
};
void install_verdict_clear(struct install_verdict *verdict);
#define pkg_cleanup_install_verdict __attribute__((cleanup(install_verdict_clear)))

struct install_change_set {
	const struct store_package_list *before; /* what the environment resolves now */
	const struct lang_resolution *after; /* what the plan puts in */
	const struct pkg_argv *removed; /* keys that it takes out */
	const struct lang_env *env;
	const struct lang_ops *ops;
};
void install_additive(const struct install_change_set *set, struct install_verdict *out);
#endif
