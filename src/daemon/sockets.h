/* daemon/sockets.h - the two sockets, from systemd or made here.
 * Purpose    pkgd.sock: ask, watch, read. control.sock: answer, change settings. Socket activation as
 *            sd_listen_fds(3) describes it: LISTEN_PID, LISTEN_FDS, LISTEN_FDNAMES.
 * Ownership  Descriptors are given.
 * Errors     pkg_error_errno(); PKG_E_INVALID when systemd hands over something else.
 */
#ifndef DAEMON_SOCKETS_H
#define DAEMON_SOCKETS_H
#include "core/home.h"

#define DAEMON_ASK_SOCKET "pkgd.sock"
#define DAEMON_CONTROL_SOCKET "control.sock"

struct daemon_sockets {
	int ask;
	int control;
	bool activated; /* they are systemd's: not unlinked at the end */
};
int daemon_sockets_open(
	const struct pkg_home *home, struct daemon_sockets *out, struct pkg_error *err);
/* READY=1, STOPPING=1 over NOTIFY_SOCKET (sd_notify(3)); does nothing outside systemd. */
void daemon_notify(const char *state);
#endif
