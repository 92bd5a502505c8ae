#include "core/sock.h"
#include "core/file.h"
#include "core/time.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

enum { BACKLOG = 128, CONNECT_SECONDS = 10 };

/* Fails when the text does not fit into sun_path. */
static int
set_address(struct sockaddr_un *address, const char *path)
{
	size_t len = strlen(path);

	*address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (len >= sizeof(address->sun_path))
		return -1;
	memcpy(address->sun_path, path, len + 1);
	return 0;
}

static int
new_socket(struct pkg_error *err)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return fd < 0 ? pkg_error_errno(err, errno, "create a unix socket") : fd;
}

/* Binds to temp, with no more rights than mode at any moment: the kernel takes the mode of the
 * socket itself, less the umask; the second call adds what the umask took. Nobody can connect
 * before listen(2) in any case. */
static int
bind_temp(int fd, int dir, const char *temp, mode_t mode)
{
	struct sockaddr_un address;
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", dir, temp);
	if (set_address(&address, path) < 0) {
		errno = ENAMETOOLONG;
		return -1;
	}
	if (fchmod(fd, mode) < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return -1;
	return fchmodat(dir, temp, mode, 0);
}

static int
refuse_other_file(int dir, const char *name, const char *path, struct pkg_error *err)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISSOCK(st.st_mode))
		return pkg_error_set(
			err, PKG_E_EXISTS, "listen at '%s': something else has that name", path);
	return 0;
}

int
pkg_sock_listen(const char *path, mode_t mode, struct pkg_error *err)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	pkg_autofree char *parent = pkg_xstrndup(
		slash ? path : ".", slash && slash != path ? (size_t)(slash - path) : 1);
	pkg_autofd int dir = open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
	pkg_autofd int fd = -1;
	char temp[PKG_TEMP_NAME];

	if (dir < 0)
		return pkg_error_errno(err, errno, "listen at '%s'", path);
	if (refuse_other_file(dir, name, path, err) < 0)
		return -1;
	fd = new_socket(err);
	if (fd < 0)
		return -1;
	pkg_temp_name(temp);
	if (bind_temp(fd, dir, temp, mode) < 0 || listen(fd, BACKLOG) < 0 ||
		renameat(dir, temp, dir, name) < 0) {
		pkg_error_errno(err, errno, "listen at '%s'", path);
		(void)unlinkat(dir, temp, 0);
		return -1;
	}
	return pkg_steal_fd(&fd);
}

static int
unreachable(int sys, const char *path, struct pkg_error *err)
{
	if (sys == ENOENT || sys == ECONNREFUSED || sys == ENOTDIR)
		return pkg_error_set(err, PKG_E_UNREACHABLE, "nobody listens at '%s'", path);
	if (sys == EAGAIN)
		return pkg_error_set(err, PKG_E_UNREACHABLE, "'%s' accepted nobody for %d s", path,
			CONNECT_SECONDS);
	return pkg_error_errno(err, sys, "connect to '%s'", path);
}

static int
connect_address(int fd, const struct sockaddr_un *address)
{
	/* A peer that does not accept makes connect(2) wait for room in its backlog. */
	struct timeval limit = { .tv_sec = CONNECT_SECONDS };
	struct timeval none = { 0 };
	int result;

	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	do {
		result = connect(fd, (const struct sockaddr *)address, sizeof(*address));
	} while (result < 0 && errno == EINTR);
	if (result == 0)
		(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &none, sizeof(none));
	return result;
}

int
pkg_sock_connect(const char *path, struct pkg_error *err)
{
	struct sockaddr_un address;
	pkg_autofd int target = -1;
	pkg_autofd int fd = -1;
	char through[64];

	if (set_address(&address, path) < 0) {
		/* A handle on the socket file has a short name, however long its own is. */
		target = open(path, O_PATH | O_CLOEXEC);
		if (target < 0)
			return unreachable(errno, path, err);
		(void)snprintf(through, sizeof(through), "/proc/self/fd/%d", target);
		(void)set_address(&address, through);
	}
	fd = new_socket(err);
	if (fd < 0)
		return -1;
	if (connect_address(fd, &address) < 0)
		return unreachable(errno, path, err);
	return pkg_steal_fd(&fd);
}

int
pkg_sock_peer(int fd, struct pkg_peer *out, struct pkg_error *err)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
		return pkg_error_errno(err, errno, "ask who the peer is");
	*out = (struct pkg_peer){ .pid = cred.pid, .uid = cred.uid, .gid = cred.gid };
	return 0;
}

/* Room for exactly one descriptor; aligned as cmsg(3) wants it. */
union fd_message {
	struct cmsghdr header;
	char space[CMSG_SPACE(sizeof(int))];
};

int
pkg_sock_send_fd(int sock, int fd, struct pkg_error *err)
{
	union fd_message control = { .space = { 0 } };
	char byte = 'f'; /* a stream socket carries descriptors only beside data */
	struct iovec data = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr message = {
		.msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control.space),
	};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	ssize_t n;

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(header), &fd, sizeof(int));
	do {
		n = sendmsg(sock, &message, MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? pkg_error_errno(err, errno, "send a descriptor") : 0;
}

/* 0: something to read, or the peer is gone. */
static int
wait_readable(int sock, int64_t end, struct pkg_error *err)
{
	for (;;) {
		struct pollfd wait = { .fd = sock, .events = POLLIN };
		int64_t left = end < 0 ? -1 : end - pkg_time_mono_ms();
		int n = poll(&wait, 1, end < 0 ? -1 : left < 0 ? 0 : (int)left);

		if (n > 0)
			return 0;
		if (n == 0)
			return pkg_error_set(
				err, PKG_E_TIMEOUT, "no descriptor came in the time allowed");
		if (errno != EINTR)
			return pkg_error_errno(err, errno, "wait for a descriptor");
	}
}

/* Takes the one descriptor out of a message; -1 when it holds none. */
static int
take_fd(struct msghdr *message)
{
	struct cmsghdr *header = CMSG_FIRSTHDR(message);
	int fd;

	if (!header || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS ||
		header->cmsg_len != CMSG_LEN(sizeof(int)))
		return -1;
	memcpy(&fd, CMSG_DATA(header), sizeof(int));
	return fd;
}

int
pkg_sock_recv_fd(int sock, int timeout_ms, struct pkg_error *err)
{
	int64_t end = timeout_ms < 0 ? -1 : pkg_time_mono_ms() + timeout_ms;

	for (;;) {
		union fd_message control = { .space = { 0 } };
		char byte;
		struct iovec data = { .iov_base = &byte, .iov_len = 1 };
		struct msghdr message = {
			.msg_iov = &data,
			.msg_iovlen = 1,
			.msg_control = &control,
			/* Not CMSG_SPACE: its padding would let a second one in. The kernel
			 * drops what does not fit. */
			.msg_controllen = CMSG_LEN(sizeof(int)),
		};
		pkg_autofd int fd = -1;
		ssize_t n;

		if (wait_readable(sock, end, err) < 0)
			return -1;
		n = recvmsg(sock, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n < 0)
			return pkg_error_errno(err, errno, "receive a descriptor");
		fd = take_fd(&message);
		if (n == 0)
			return pkg_error_set(
				err, PKG_E_IO, "the peer closed without sending a descriptor");
		if (fd < 0 || message.msg_flags & MSG_CTRUNC)
			return pkg_error_set(
				err, PKG_E_IO, "the peer did not send exactly one descriptor");
		return pkg_steal_fd(&fd);
	}
}
