/* sandbox/argv.h - turn a sandbox profile into a bwrap command line.
 * Purpose    Pure translation: reads its arguments and nothing else. Order: namespaces, allowlist
 *            root, tree and mounts, masks after binds, scaffolding remounted read-only last.
 * Ownership  Arguments are borrowed for the call; *out is given to the caller and owns no
 * descriptors. Errors     PKG_E_INVALID for a path that is relative, over-broad or reaches outside
 * what the purpose allows. On failure *out is left as it was.
 */
#ifndef SANDBOX_ARGV_H
#define SANDBOX_ARGV_H
#include "sandbox/host.h"
#include "sandbox/profile.h"

/* Where our own programs appear inside when they are not in the allowlist root already. */
#define SANDBOX_SHIM "/pkgd/pkg-shim"
#define SANDBOX_ENTER "/pkgd/pkg-enter"
#define SANDBOX_CA                                                                                 \
	"/pkgd/ca.pem" /* the trusted certificates, when there are others than the system's */
#define SANDBOX_USER_ID "1000"
#define SANDBOX_HOME "/tmp/home"
#define SANDBOX_PROXY_PORT 3128

struct sandbox_argv_fds {
	int status_fd; /* bwrap --json-status-fd: child-pid, and exit-code if the command was
			  started */
	int sync_fd; /* bwrap --sync-fd: held by the namespace's init alone; closed when it is gone
		      */
	int seccomp_fd; /* bwrap --seccomp */
};
#define SANDBOX_ARGV_NO_FDS                                                                        \
	{                                                                                          \
		-1, -1, -1                                                                         \
	} /* a test of the builder only */

/* The profile's paths are resolved (sandbox/paths.h). */
int sandbox_argv(const struct sandbox_profile *profile, const struct sandbox_host *host,
	const struct sandbox_argv_fds *fds, struct pkg_argv **out, struct pkg_error *err);
#endif
