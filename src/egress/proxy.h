/* egress/proxy.h - the way out of one sandbox.
 * Purpose    Accepts on the one listener that the sandbox's network namespace has, lets through
 *            what the host rules allow, and writes one audit row per connection. What it
 *            guarantees:
 *              - a request is judged by the rules in force when its head is complete, and by
 *                nothing else; every request of a kept connection anew, so that none goes unjudged;
 *              - only addresses that were judged are connected to (behind an upstream proxy, which
 *                resolves names itself, only names and literal addresses are judged);
 *              - a tunnel carries TLS to the host that was named, unless its rule says otherwise;
 *              - memory, descriptors and time per connection are bounded (egress/limits.h),
 *                whatever either side does; neither side can make the proxy read what the other
 *                does not take.
 *            No authentication: see egress/limits.h on 407.
 * Ownership  egress_proxy_run() takes the descriptors of the options and returns with all closed.
 * Errors     What keeps it from running at all. Everything a client or server does ends one
 *            connection.
 */
#ifndef EGRESS_PROXY_H
#define EGRESS_PROXY_H
#include "core/error.h"

struct egress_proxy_options {
	int listen_fd; /* taken; a listening TCP socket, or -1 */
	int shim_fd; /* taken; the listener comes over this one, or -1 */
	int control_fd; /* taken; its end of file ends the proxy; -1: none */
	const char *rules_path;
	const char *audit_path;
	char *const *env; /* for the upstream proxies' variables */
};
int egress_proxy_run(const struct egress_proxy_options *options, struct pkg_error *err);
#endif
