/* sandbox/environ.h - the environment of what runs inside.
 * Purpose    Built from an allowlist (BEHAVIOURS F70), never inherited: where programs are, a
 * private empty home, the caller's language, thread caps, the proxy when there is one. Ownership
 * *out is given to the caller; NAME=VALUE, sorted. Errors     PKG_E_INVALID for a variable of the
 * profile that would run code in the next program or lead around the proxy.
 */
#ifndef SANDBOX_ENVIRON_H
#define SANDBOX_ENVIRON_H
#include "core/argv.h"
#include "core/error.h"
#include "sandbox/profile.h"

struct sandbox_environ_facts {
	char *const *caller; /* the caller's environment; only well-formed locale and terminal
			      * variables of it are looked at */
	int cpus;
	const char
		*ca; /* certificates to trust, as the command sees the file; NULL: the system's */
};
/* Pure. */
int sandbox_environ(const struct sandbox_profile *profile,
	const struct sandbox_environ_facts *facts, struct pkg_argv **out, struct pkg_error *err);
#endif
