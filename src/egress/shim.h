/* egress/shim.h - the sandbox's side of the way out.
 * Purpose    Opens the one listener of the network namespace and hands it to the proxy outside,
 *            before the command begins: its first connection waits in the backlog at worst, so it
 *            cannot fail, and nothing of us stays beside the command. Uses no other part of pkgd
 *            and no name service, so that it can be linked statically and runs in a root without
 *            libraries.
 * Ownership  *fd is closed and set to -1 in every case.
 * Errors     -1 with errno, and the step that failed in *step (static text).
 */
#ifndef EGRESS_SHIM_H
#define EGRESS_SHIM_H
/* Sends a listener on 127.0.0.1:port over the socket *fd. */
int egress_shim_hand_out(int *fd, int port, const char **step);
#endif
