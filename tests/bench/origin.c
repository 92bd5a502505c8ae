/* origin PORT - the server at the far end of a measurement: GET /N answers with N bytes, connections are kept.
 *
 * One thread, epoll, bodies by sendfile(2) from memory: it must not be what limits the proxies. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

#define CHUNK (1 << 20)
#define HEAD_MAX 2048

struct client {
	int fd;
	size_t head_len;
	size_t left; /* of the body being sent */
	bool close; /* after it */
	bool writing;
	char head[HEAD_MAX];
};

static int body; /* CHUNK bytes of memory */
static int epoll;

static void
drop(struct client *client)
{
	close(client->fd);
	free(client);
}

static void
want(struct client *client, bool writing)
{
	struct epoll_event event = { .events = writing ? EPOLLOUT : EPOLLIN, .data.ptr = client };

	if (client->writing == writing)
		return;
	client->writing = writing;
	(void)epoll_ctl(epoll, EPOLL_CTL_MOD, client->fd, &event);
}

/* false: the client is gone. */
static bool
push(struct client *client)
{
	while (client->left > 0) {
		size_t len = client->left < CHUNK ? client->left : CHUNK;
		off_t start = 0;
		ssize_t n = sendfile(client->fd, body, &start, len);

		if (n < 0 && errno == EAGAIN) {
			want(client, true);
			return true;
		}
		if (n < 0) {
			drop(client);
			return false;
		}
		client->left -= (size_t)n;
	}
	if (client->close) {
		drop(client);
		return false;
	}
	want(client, false);
	return true;
}

static bool
answer(struct client *client)
{
	char head[256];
	long size;
	int len;

	client->head[client->head_len] = '\0';
	if (!strstr(client->head, "\r\n\r\n"))
		return client->head_len < HEAD_MAX - 1;
	size = atol(client->head + strlen("GET /"));
	client->close = strstr(client->head, "Connection: close") != NULL;
	client->head_len = 0;
	len = snprintf(head, sizeof(head),
		"HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: "
		"%ld\r\n%s\r\n",
		size, client->close ? "Connection: close\r\n" : "");
	/* Small answers in one packet, as servers do. */
	if (size <= 4096) {
		char all[256 + 4096];

		memcpy(all, head, (size_t)len);
		memset(all + len, 'x', (size_t)size);
		if (send(client->fd, all, (size_t)(len + size), MSG_NOSIGNAL) != len + size)
			return false;
		client->left = 0;
		(void)push(client);
		return true;
	}
	if (send(client->fd, head, (size_t)len, MSG_NOSIGNAL | MSG_MORE) != len)
		return false;
	client->left = (size_t)size;
	(void)push(client);
	return true;
}

static void
ready(struct client *client)
{
	ssize_t n;

	if (client->writing) {
		(void)push(client);
		return;
	}
	n = recv(client->fd, client->head + client->head_len, HEAD_MAX - 1 - client->head_len, 0);
	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0) {
		drop(client);
		return;
	}
	client->head_len += (size_t)n;
	if (!answer(client))
		drop(client);
}

static void
accept_all(int listener)
{
	const int one = 1;
	int fd;

	while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
		struct client *client = calloc(1, sizeof(*client));
		struct epoll_event event = { .events = EPOLLIN, .data.ptr = client };

		(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		if (!client)
			abort();
		client->fd = fd;
		(void)epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
	}
}

int
main(int argc, char **argv)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
		.sin_port = htons((uint16_t)(argc > 1 ? atoi(argv[1]) : 18080)),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	struct epoll_event events[256] = { { .events = EPOLLIN } };
	struct rlimit files;
	const int one = 1;
	static char filling[4096];

	memset(filling, 'x', sizeof(filling));
	(void)signal(SIGPIPE, SIG_IGN);
	(void)getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &files);
	body = memfd_create("body", MFD_CLOEXEC);
	for (size_t i = 0; i < CHUNK / sizeof(filling); i++) {
		if (write(body, filling, sizeof(filling)) != (ssize_t)sizeof(filling))
			return 1;
	}
	epoll = epoll_create1(EPOLL_CLOEXEC);
	(void)setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(listener, (struct sockaddr *)&address, sizeof(address)) < 0 ||
		listen(listener, 4096) < 0) {
		perror("origin");
		return 1;
	}
	(void)epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &events[0]);
	for (;;) {
		int count = epoll_wait(epoll, events, 256, -1);

		for (int i = 0; i < count; i++) {
			if (events[i].data.ptr)
				ready(events[i].data.ptr);
			else
				accept_all(listener);
		}
	}
}
