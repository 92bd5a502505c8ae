/* tests/unit/cli_daemon.h - a daemon of a few canned answers, for tests of the CLI.
 * Purpose    A throw-away PKGD_HOME and a process that serves both its sockets, one request per connection.
 * Ownership  The struct is the caller's; fake_stop() ends the process and removes the home.
 * Errors     Asserts.
 */
#ifndef UNIT_CLI_DAEMON_H
#define UNIT_CLI_DAEMON_H
#include "unit.h"

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/buf.h"
#include "core/file.h"
#include "core/path.h"
#include "core/sock.h"
#include "core/tree.h"

/* What the process answers. number: how many requests came before; control: over which socket. Writes the whole
 * response to fd, or nothing: then the peer sees the connection end. */
typedef void fake_answer_fn(int fd, const char *request, int number, bool control);

struct fake {
	char root[32];
	char *home; /* PKGD_HOME: below root, perhaps very long */
	pid_t pid; /* 0: not running */
	int listeners[2];
};

static inline void
fake_reply(int fd, int status, const char *type, const char *body)
{
	pkg_autofree char *text =
		pkg_xasprintf("HTTP/1.1 %d X\r\nContent-Type: %s\r\n"
			      "Content-Length: %zu\r\nConnection: close\r\n\r\n%s",
			status, type, strlen(body), body);

	(void)pkg_write_all(fd, text, strlen(text), NULL);
}

static inline void
fake_result(int fd, const char *result)
{
	pkg_autofree char *body =
		pkg_xasprintf("{\"type\":\"sync\",\"status\":200,\"result\":%s}", result);

	fake_reply(fd, 200, "application/json", body);
}

/* The head and as much of a body as Content-Length says. */
static inline void
fake_read(int fd, struct pkg_buf *request)
{
	char data[4096];
	ssize_t got;

	while ((got = read(fd, data, sizeof(data))) > 0) {
		const char *body, *length;

		pkg_buf_add_mem(request, data, (size_t)got);
		body = strstr(request->data, "\r\n\r\n");
		length = strstr(request->data, "Content-Length: ");
		if (body != NULL &&
			(length == NULL || strlen(body + 4) >= strtoul(length + 16, NULL, 10)))
			return;
	}
}

static inline void
fake_serve(const int *listeners, fake_answer_fn *answer)
{
	for (int number = 0;; number++) {
		struct pollfd polls[2] = { { listeners[0], POLLIN, 0 },
			{ listeners[1], POLLIN, 0 } };
		struct pkg_buf request = { 0 };
		bool control;
		int fd;

		(void)poll(polls, 2, -1);
		control = polls[1].revents != 0;
		fd = accept(listeners[control], NULL, NULL);
		if (fd < 0)
			_exit(1);
		fake_read(fd, &request);
		/* Somebody who only looks whether anybody listens asks nothing. */
		if (request.len > 0)
			answer(fd, request.data, number, control);
		else
			number--;
		close(fd);
		pkg_buf_clear(&request);
	}
}

static inline void
fake_home(struct fake *fake, size_t more)
{
	pkg_autofree char *run = NULL;
	struct pkg_buf path = { 0 };

	*fake = (struct fake){ .listeners = { -1, -1 } };
	strcpy(fake->root, "/tmp/pkg-cli-XXXXXX");
	assert_non_null(mkdtemp(fake->root));
	pkg_buf_add(&path, fake->root);
	pkg_buf_add(&path, "/home");
	for (size_t i = 0; i < more; i++)
		pkg_buf_add_char(&path, 'x');
	fake->home = pkg_buf_steal(&path);
	run = pkg_path_join(fake->home, "run");
	assert_int_equal(pkg_dir_make(run, 0700, NULL), 0);
	setenv("PKGD_HOME", fake->home, 1);
	setenv("PKGD_NO_START", "1", 1);
}

static inline void
fake_start(struct fake *fake, fake_answer_fn *answer)
{
	pkg_autofree char *ask = pkg_path_join(fake->home, "run/pkgd.sock");
	pkg_autofree char *control = pkg_path_join(fake->home, "run/control.sock");

	fake->listeners[0] = pkg_sock_listen(ask, 0600, NULL);
	fake->listeners[1] = pkg_sock_listen(control, 0600, NULL);
	assert_true(fake->listeners[0] >= 0 && fake->listeners[1] >= 0);
	fake->pid = fork();
	assert_true(fake->pid >= 0);
	if (fake->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		fake_serve(fake->listeners, answer);
	}
	pkg_close(&fake->listeners[0]);
	pkg_close(&fake->listeners[1]);
}

static inline void
fake_stop(struct fake *fake)
{
	if (fake->pid > 0) {
		kill(fake->pid, SIGKILL);
		(void)waitpid(fake->pid, NULL, 0);
	}
	(void)pkg_tree_remove(fake->root, NULL);
	free(fake->home);
	*fake = (struct fake){ 0 };
}
#endif
