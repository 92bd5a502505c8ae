#include "egress/proxy.h"

#include "egress/log.h"
#include "core/sock.h"
#include "core/time.h"
#include "egress/confine.h"
#include "egress/conn.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>

#define ACCEPTS 64 /* per event, so that a flood of connections cannot starve the open ones */
#define PAUSE_MS 100 /* without accepting, when the machine is out of descriptors or memory */
#define OTHER_FDS 64 /* libraries, resolver threads, the standard ones */

static struct egress_proxy *
proxy_of(struct egress_watch *watch, size_t offset)
{
	return (struct egress_proxy *)(void *)((char *)watch - offset);
}

static void
accept_ready(struct egress_watch *watch, uint32_t events)
{
	struct egress_proxy *proxy = proxy_of(watch, offsetof(struct egress_proxy, listener));

	(void)events;
	for (int i = 0; i < ACCEPTS; i++) {
		int fd = accept4(watch->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd >= 0) {
			conn_accept(proxy, fd);
			continue;
		}
		if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
			egress_watch_want(proxy->loop, watch, EGRESS_UNWATCHED);
			egress_timer_set(proxy->loop, &proxy->pause,
				egress_loop_now(proxy->loop) + PAUSE_MS);
		}
		/* EAGAIN, or an error that belongs to one connection: the next event tells. */
		return;
	}
}

static void
pause_over(struct egress_timer *timer)
{
	struct egress_proxy *proxy = (struct egress_proxy *)(void *)((char *)timer -
		offsetof(struct egress_proxy, pause));

	egress_watch_want(proxy->loop, &proxy->listener, EPOLLIN);
}

static int
socket_option(int fd, int option)
{
	socklen_t len = sizeof(int);
	int value = -1;

	return getsockopt(fd, SOL_SOCKET, option, &value, &len) < 0 ? -1 : value;
}

/* Takes fd. It comes out of a sandbox, so it is checked to be what it should. */
static int
listen_on(struct egress_proxy *proxy, int fd, struct pkg_error *err)
{
	const int one = 1;
	int domain = socket_option(fd, SO_DOMAIN);

	proxy->listener.fd = fd;
	if ((domain != AF_INET && domain != AF_INET6) ||
		socket_option(fd, SO_TYPE) != SOCK_STREAM || socket_option(fd, SO_ACCEPTCONN) != 1)
		return pkg_error_set(
			err, PKG_E_INVALID, "the listener is not a listening TCP socket");
	if (fcntl(fd, F_SETFL, O_NONBLOCK) < 0)
		return pkg_error_errno(err, errno, "make the listener non-blocking");
	/* Accepted sockets inherit it. Without it, one small response in two waits 40 ms for an
	 * ACK. */
	if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) < 0)
		return pkg_error_errno(err, errno, "set TCP_NODELAY");
	egress_watch_want(proxy->loop, &proxy->listener, EPOLLIN);
	return 0;
}

static void
shim_ready(struct egress_watch *watch, uint32_t events)
{
	struct egress_proxy *proxy = proxy_of(watch, offsetof(struct egress_proxy, shim));
	pkg_cleanup_error struct pkg_error err = { 0 };
	int fd = pkg_sock_recv_fd(watch->fd, 0, NULL);

	(void)events;
	egress_watch_close(proxy->loop, watch);
	/* No listener means that the sandbox ended before its command began: nothing to serve,
	 * nobody is cut off, and the shim has said why. The session's end ends us. */
	if (fd >= 0 && listen_on(proxy, fd, &err) < 0) {
		egress_watch_close(proxy->loop, &proxy->listener);
		egress_log_error(&err, "the sandbox handed out something else");
	}
}

static void
control_ready(struct egress_watch *watch, uint32_t events)
{
	(void)events;
	egress_loop_stop(proxy_of(watch, offsetof(struct egress_proxy, control))->loop);
}

static void
signals_ready(struct egress_watch *watch, uint32_t events)
{
	(void)events;
	egress_loop_stop(proxy_of(watch, offsetof(struct egress_proxy, signals))->loop);
}

/* Two descriptors per connection, two per pipe. When the hard limit is lower than that, fewer
 * connections are accepted instead of failing in the middle of some. */
static void
fit_descriptors(struct egress_limits *limits)
{
	rlim_t wanted = (rlim_t)(2 * limits->connections + 2 * limits->pipes + OTHER_FDS);
	struct rlimit now;

	if (getrlimit(RLIMIT_NOFILE, &now) < 0)
		return;
	if (wanted > now.rlim_max) {
		wanted = now.rlim_max;
		if (wanted > OTHER_FDS + 2 * (rlim_t)limits->pipes + 2)
			limits->connections =
				(int64_t)(wanted - OTHER_FDS - 2 * (rlim_t)limits->pipes) / 2;
	}
	now.rlim_cur = now.rlim_max = wanted;
	(void)setrlimit(RLIMIT_NOFILE, &now);
}

static int
watch_signals(struct egress_proxy *proxy, struct pkg_error *err)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	proxy->signals.fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	if (proxy->signals.fd < 0)
		return pkg_error_errno(err, errno, "create a signalfd");
	egress_watch_want(proxy->loop, &proxy->signals, EPOLLIN);
	return 0;
}

static int
start(struct egress_proxy *proxy, const struct egress_proxy_options *options, struct pkg_error *err)
{
	struct egress_limits *limits;

	if (egress_upstream_read(options->env, &proxy->upstream, err) < 0 ||
		egress_rules_file_open(&proxy->rules, options->rules_path, err) < 0)
		return -1;
	limits = &proxy->rules.current->limits;
	fit_descriptors(limits);
	proxy->audit_fd = egress_audit_open(options->audit_path, err);
	if (proxy->audit_fd < 0)
		return -1;
	proxy->loop = egress_loop_new(err);
	if (!proxy->loop)
		return -1;
	proxy->resolver = egress_resolver_new(proxy->loop, err);
	if (!proxy->resolver || watch_signals(proxy, err) < 0)
		return -1;
	proxy->shared =
		egress_pump_shared_new((uint64_t)limits->splice_after, (size_t)limits->pipes);
	egress_loop_after(proxy->loop, conn_write_rows, proxy);
	egress_watch_want(proxy->loop, &proxy->control, EPOLLIN);
	egress_watch_want(proxy->loop, &proxy->shim, EPOLLIN);
	if (proxy->listener.fd >= 0 && listen_on(proxy, proxy->listener.fd, err) < 0)
		return -1;
	/* Last: everything that it may keep is open, and no thread has been started yet. */
	return egress_confine(err);
}

static void
stop(struct egress_proxy *proxy)
{
	while (proxy->conns) {
		struct conn *conn = proxy->conns;

		conn_close(conn, (enum egress_verdict)conn->verdict, "the sandbox ended");
	}
	conn_write_rows(proxy);
	pkg_buf_clear(&proxy->rows);
	if (proxy->suppressed) {
		const struct egress_row row = {
			.time_ms = pkg_time_now_ms(),
			.verdict = EGRESS_SUPPRESSED,
			.up = proxy->suppressed,
		};

		(void)egress_audit_write(proxy->audit_fd, &row, NULL);
	}
}

int
egress_proxy_run(const struct egress_proxy_options *options, struct pkg_error *err)
{
	struct egress_proxy proxy = { .audit_fd = -1 };
	int rc;

	egress_watch_init(&proxy.listener, accept_ready);
	egress_watch_init(&proxy.shim, shim_ready);
	egress_watch_init(&proxy.control, control_ready);
	egress_watch_init(&proxy.signals, signals_ready);
	proxy.pause.expired = pause_over;
	proxy.listener.fd = options->listen_fd;
	proxy.shim.fd = options->shim_fd;
	proxy.control.fd = options->control_fd;
	/* Both sides close when they like; splice(2) has no MSG_NOSIGNAL. */
	signal(SIGPIPE, SIG_IGN);
	rc = start(&proxy, options, err);
	if (rc == 0)
		rc = egress_loop_run(proxy.loop, err);
	stop(&proxy);
	egress_resolver_free(proxy.resolver);
	egress_pump_shared_free(proxy.shared);
	egress_rules_file_close(&proxy.rules);
	egress_upstream_clear(&proxy.upstream);
	pkg_close(&proxy.listener.fd);
	pkg_close(&proxy.shim.fd);
	pkg_close(&proxy.control.fd);
	pkg_close(&proxy.signals.fd);
	pkg_close(&proxy.audit_fd);
	egress_loop_free(proxy.loop);
	return rc;
}
