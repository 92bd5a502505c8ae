/* sandbox/purpose.h - the row of permissions and default limits that each purpose has.
 * Purpose    One table says what a probe, a build or a kernel may ask for, so that a caller's
 * mistake is refused before a process starts. Ownership  Rows are static. Errors     PKG_E_INVALID
 * from the check, naming what the purpose does not allow.
 */
#ifndef SANDBOX_PURPOSE_H
#define SANDBOX_PURPOSE_H
#include "core/error.h"
#include "sandbox/profile.h"

struct sandbox_purpose_row {
	const char *name;
	bool network; /* a shim's descriptor may be given */
	bool tree_writable;
	bool interactive;
	size_t max_writable; /* mounts of kind RW */
	int64_t tmp; /* bytes of the private /tmp, and of /dev/shm */
	struct sandbox_limits limits; /* defaults */
};

const struct sandbox_purpose_row *sandbox_purpose_row(enum sandbox_purpose purpose);
int sandbox_purpose_check(const struct sandbox_profile *profile, struct pkg_error *err);
#endif
