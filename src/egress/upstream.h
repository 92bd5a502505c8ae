/* egress/upstream.h - the proxy that the daemon itself has to go through.
 * Purpose    HTTP_PROXY, HTTPS_PROXY and NO_PROXY (in either case, lower case first) of our own
 *            environment, read as curl reads them. Requests to loopback never go to another proxy.
 *            What goes to one is judged by its name only: the other proxy resolves it.
 * Ownership  The struct owns its strings; egress_upstream_for() borrows.
 * Errors     PKG_E_INVALID for a variable that cannot be understood: to ignore it would send
 *            requests around the proxy that they are meant to use.
 */
#ifndef EGRESS_UPSTREAM_H
#define EGRESS_UPSTREAM_H
#include "core/argv.h"
#include "core/error.h"
#include "policy/hostrule.h"

struct egress_upstream_proxy {
	struct policy_host host; /* name "" when there is none */
	int port;
	char *authorization; /* "Basic ..."; NULL without credentials */
};

struct egress_upstream {
	struct egress_upstream_proxy http, https;
	struct pkg_argv *direct; /* elements of NO_PROXY */
};

/* env: NAME=VALUE strings, ended by NULL. */
int egress_upstream_read(char *const *env, struct egress_upstream *out, struct pkg_error *err);
void egress_upstream_clear(struct egress_upstream *upstream);
/* NULL: go directly. */
const struct egress_upstream_proxy *egress_upstream_for(const struct egress_upstream *upstream,
	const struct policy_host *host, int port, bool is_connect);
/* The variables above as they stand in env, appended to out: what a proxy process is started with.
 * */
void egress_upstream_export(char *const *env, struct pkg_argv *out);
#endif
