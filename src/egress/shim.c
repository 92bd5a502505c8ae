#include "egress/shim.h"

#include "egress/limits.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* bwrap brings loopback up itself; other ways of making a namespace do not. */
static int
raise_loopback(int socket_fd)
{
	struct ifreq request = { .ifr_name = "lo" };

	if (ioctl(socket_fd, SIOCGIFFLAGS, &request) < 0)
		return -1;
	if (request.ifr_flags & IFF_UP)
		return 0;
	request.ifr_flags |= IFF_UP | IFF_RUNNING;
	return ioctl(socket_fd, SIOCSIFFLAGS, &request);
}

static int
open_listener(int port, const char **step)
{
	const struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	const int one = 1;

	*step = "create a socket";
	if (fd < 0)
		return -1;
	*step = "bring the loopback interface up";
	if (raise_loopback(fd) == 0) {
		*step = "bind 127.0.0.1";
		/* A namespace that is used twice may have connections of the first time in
		 * TIME_WAIT. */
		(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
		if (bind(fd, (const struct sockaddr *)&address, sizeof(address)) == 0) {
			*step = "listen";
			if (listen(fd, EGRESS_BACKLOG) == 0)
				return fd;
		}
	}
	close(fd);
	return -1;
}

static int
send_fd(int sock, int fd)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control;
	char byte = 'L';
	struct iovec data = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr message = {
		.msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control.space),
	};
	ssize_t n;

	memset(&control, 0, sizeof(control));
	control.header.cmsg_level = SOL_SOCKET;
	control.header.cmsg_type = SCM_RIGHTS;
	control.header.cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(&control.header), &fd, sizeof(int));
	do {
		n = sendmsg(sock, &message, MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	return n == 1 ? 0 : -1;
}

int
egress_shim_hand_out(int *fd, int port, const char **step)
{
	int listener = open_listener(port, step);
	int rc = -1, error;

	if (listener >= 0) {
		*step = "hand the listener to the proxy";
		rc = send_fd(*fd, listener);
	}
	error = errno;
	if (listener >= 0)
		close(listener);
	close(*fd);
	*fd = -1;
	errno = error;
	return rc;
}
