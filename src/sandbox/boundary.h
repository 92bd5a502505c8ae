/* sandbox/boundary.h - show that the boundary holds before anything relies on it.
 * Purpose    Establishes a purpose's boundary for real, with the argv builder, the flags and the
 * filter of production (BEHAVIOURS F5), and tries from inside what must work and what must not.
 * Every attempt that must fail has a control: the same thing works from outside, at that moment.
 * Ownership  struct sandbox_proof is caller's storage and owns its strings.
 * Errors     -1 with PKG_E_SANDBOX when it could not be established (with the remedy). A boundary
 * that was established and leaks is no error here but proof->ok false.
 */
#ifndef SANDBOX_BOUNDARY_H
#define SANDBOX_BOUNDARY_H
#include "core/home.h"
#include "core/json.h"
#include "sandbox/launch.h"

struct sandbox_proof {
	bool ok; /* every check passed or was skipped */
	bool failed; /* one FAILed: not only inconclusive */
	struct json_object
		*checks; /* owned; [{"name","result":"pass|FAIL|skipped|inconclusive","detail"}] */
	char *detail; /* owned; what did not pass, or NULL */
};
void sandbox_proof_clear(struct sandbox_proof *proof);
#define pkg_cleanup_proof __attribute__((cleanup(sandbox_proof_clear)))

int sandbox_boundary_prove(const struct pkg_home *home, const struct sandbox_launch *launch,
	enum sandbox_purpose purpose, struct sandbox_proof *out, struct pkg_error *err);
/* Given: what a proof is good for: this boot, kernel, bwrap, user, build, filter and argv. */
char *sandbox_boundary_key(const struct sandbox_launch *launch, enum sandbox_purpose purpose);
#endif
