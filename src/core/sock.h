/* core/sock.h - unix sockets and descriptors that travel.
 * Purpose    Listen and connect at paths longer than sun_path (through /proc/self/fd), know the
 *            peer, and pass descriptors (SCM_RIGHTS).
 * Ownership  Descriptors returned are given, close-on-exec.
 * Errors     pkg_error_errno(); PKG_E_UNREACHABLE when nobody listens.
 */
#ifndef CORE_SOCK_H
#define CORE_SOCK_H
#include "core/error.h"
#include <sys/types.h>

/* Binds under a temporary name with the mode given and renames it into place, so that nobody ever
 * connects to a socket with the wrong mode. An old socket of that name is replaced, anything else
 * is PKG_E_EXISTS. backlog 128. */
int pkg_sock_listen(const char *path, mode_t mode, struct pkg_error *err);
int pkg_sock_connect(const char *path, struct pkg_error *err);
struct pkg_peer {
	pid_t pid;
	uid_t uid;
	gid_t gid;
};
int pkg_sock_peer(int fd, struct pkg_peer *out, struct pkg_error *err); /* SO_PEERCRED */
int pkg_sock_send_fd(int sock, int fd, struct pkg_error *err);
/* PKG_E_IO when the peer closed without sending one; waits at most timeout_ms (-1: for ever). */
int pkg_sock_recv_fd(int sock, int timeout_ms, struct pkg_error *err);
#endif
