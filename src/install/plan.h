/* install/plan.h - the exact change, as canonical JSON with a hash.
 * Purpose    From what the environment resolves and what the resolver found: every distribution added,
 *            upgraded, downgraded, reinstalled and removed, with file, size, sha256, index and kind, and the
 *            restart verdict. The same inputs give the same text and so the same hash; where the environment
 *            stands (generation, revision) is deliberately not part of it, so a plan that another change
 *            overtook without touching it keeps its hash, and its approval.
 * Ownership  The plan owns its JSON.
 * Errors     PKG_E_INTERNAL only.
 *
 * {"version":1,"action","project","language","environment","creates":null|{"interpreter","hermetic"},
 *  "requested":[…],"changes":[{"name","change","from","to","file","sha256","size","index","source","url",
 *  "requested","yanked","uploaded"}],"download_bytes","restart":{"additive","reasons":[{"reason","name",
 *  "detail"}]},"switch_to":null|N}
 */
#ifndef INSTALL_PLAN_H
#define INSTALL_PLAN_H
#include "core/sha256.h"
#include "install/additive.h"

#define INSTALL_PLAN_VERSION 1

struct install_plan {
	struct json_object *json; /* owned */
	char hash[PKG_SHA256_HEX];
};
void install_plan_clear(struct install_plan *plan);
#define pkg_cleanup_install_plan __attribute__((cleanup(install_plan_clear)))

struct install_plan_input {
	const char *action;
	const char *project;
	const char *language;
	const char *environment;
	const char *creates; /* description of the interpreter; NULL: the environment exists */
	bool hermetic;
	const struct pkg_argv *requested;
	struct install_change_set set;
	int64_t switch_to; /* rollback: the generation; else 0 */
};
int install_plan_make(
	const struct install_plan_input *input, struct install_plan *out, struct pkg_error *err);
/* A plan from two inventories alone (rollback, delete). */
int install_plan_diff(const struct install_plan_input *input,
	const struct store_package_list *after, struct install_plan *out, struct pkg_error *err);
/* Parses and hashes again. */
int install_plan_parse(const char *text, struct install_plan *out, struct pkg_error *err);
struct json_object *install_plan_changes(const struct install_plan *plan); /* borrowed array */
bool install_plan_is_additive(const struct install_plan *plan);
bool install_plan_is_empty(const struct install_plan *plan);
#endif
