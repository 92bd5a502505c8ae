/* install/kernel.h - a person's command inside an environment.
 * Purpose    `pkg run`: the generation that is current now stays pinned at the stable prefix, read-only, for the
 *            life of the command; the workspace is the one writable place. The command is registered as a kernel, so
 *            changes can say whether it is due a restart.
 * Ownership  The request is borrowed.
 * Errors     PKG_E_NOT_FOUND, PKG_E_ENV_BROKEN, PKG_E_SANDBOX, PKG_E_INVALID for a workspace that may not be granted.
 */
#ifndef INSTALL_KERNEL_H
#define INSTALL_KERNEL_H
#include "core/argv.h"
#include "core/error.h"
#include "core/home.h"
#include "policy/config.h"

struct install_kernel {
	const char *project; /* names as install_key_resolve() takes them */
	const char *language;
	const char *environment;
	const char *workspace; /* absolute; NULL: none, the command's only writable place is /tmp */
	const char *label;
	bool network; /* the hosts of network.include and network.hosts, through the proxy; else none */
	struct policy_limits limits; /* over the configuration's; 0: as configured */
	const struct pkg_argv *command; /* items[0] is found in the environment, then in /usr */
};
/* *status: 0..255, 128+N for signal N. */
int install_kernel_run(const struct pkg_home *home, const struct install_kernel *kernel,
	int *status, struct pkg_error *err);
#endif
