#include "daemon/sockets.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/path.h"
#include "core/sock.h"

#define LISTEN_FDS_START 3 /* sd_listen_fds(3) */

static bool
is_activated(void)
{
	const char *pid = getenv("LISTEN_PID");
	const char *fds = getenv("LISTEN_FDS");

	return pid != NULL && fds != NULL && strtol(pid, NULL, 10) == (long)getpid() &&
		strtol(fds, NULL, 10) > 0;
}

/* The n-th of a colon-separated list. Given. */
static char *
name_at(const char *names, int index)
{
	while (index-- > 0 && names != NULL) {
		names = strchr(names, ':');
		names = names != NULL ? names + 1 : NULL;
	}
	return names != NULL ? pkg_xstrndup(names, strcspn(names, ":")) : NULL;
}

static int
take_activated(struct daemon_sockets *out, struct pkg_error *err)
{
	const char *names = getenv("LISTEN_FDNAMES");
	int count = (int)strtol(getenv("LISTEN_FDS"), NULL, 10);

	for (int i = 0; i < count; i++) {
		pkg_autofree char *name = name_at(names, i);
		int fd = LISTEN_FDS_START + i;

		(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
		if (name != NULL && strcmp(name, DAEMON_ASK_SOCKET) == 0)
			out->ask = fd;
		else if (name != NULL && strcmp(name, DAEMON_CONTROL_SOCKET) == 0)
			out->control = fd;
		else
			return pkg_error_set(err, PKG_E_INVALID,
				"socket activation handed over '%s', which is not known",
				name != NULL ? name : "a socket without a name");
	}
	out->activated = true;
	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDS");
	unsetenv("LISTEN_FDNAMES");
	return 0;
}

static int
listen_at(
	const struct pkg_home *home, const char *name, mode_t mode, int *out, struct pkg_error *err)
{
	pkg_autofree char *path = pkg_path_join(home->run, name);

	if (*out >= 0)
		return 0;
	*out = pkg_sock_listen(path, mode, err);
	return *out >= 0 ? 0 : -1;
}

int
daemon_sockets_open(const struct pkg_home *home, struct daemon_sockets *out, struct pkg_error *err)
{
	*out = (struct daemon_sockets){ .ask = -1, .control = -1 };
	if (is_activated() && take_activated(out, err) < 0)
		return -1;
	/* Everybody on the machine may ask the system's daemon; a user's is the user's. */
	if (listen_at(home, DAEMON_ASK_SOCKET, home->system ? 0666 : 0600, &out->ask, err) < 0)
		return -1;
	return listen_at(home, DAEMON_CONTROL_SOCKET, 0600, &out->control, err);
}

void
daemon_notify(const char *state)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t len = path != NULL ? strlen(path) : 0;
	pkg_autofd int fd = -1;

	if (len == 0 || len >= sizeof(address.sun_path))
		return;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	memcpy(address.sun_path, path, len);
	if (address.sun_path[0] == '@')
		address.sun_path[0] = '\0'; /* an abstract name */
	(void)sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&address,
		(socklen_t)(offsetof(struct sockaddr_un, sun_path) + len));
}
