/* tests/unit/fetch_server.h - the loopback index of tests/mirror with faults on order.
 * Purpose    A served directory, the server's port, and what it was asked.
 * Ownership  The struct is the caller's; server_stop() ends the process and removes the directory.
 * Errors     server_start() is false where there is no python3: the test is skipped then.
 */
#ifndef UNIT_FETCH_SERVER_H
#define UNIT_FETCH_SERVER_H
#include "core/argv.h"
#include "core/buf.h"
#include "core/file.h"
#include "core/process.h"
#include "core/sha256.h"
#include "core/time.h"
#include "core/tree.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SERVED_SIZE 300000

struct server {
	char root[64]; /* out/ is served, cache/ is for the test, log is what was asked */
	struct pkg_process *process;
	int port;
	char sha256[PKG_SHA256_HEX]; /* of the file */
	char *url; /* of the file: SERVED_SIZE bytes that do not repeat */
};

static inline void
server_path(const struct server *server, const char *name, char *out, size_t size)
{
	(void)snprintf(out, size, "%s/%s", server->root, name);
}

static inline void
served_bytes(char *data)
{
	uint32_t state = 12345;

	for (size_t i = 0; i < SERVED_SIZE; i++) {
		state = state * 1664525 + 1013904223;
		data[i] = (char)(state >> 24);
	}
}

static inline void
server_stop(struct server *server)
{
	if (server->process) {
		pkg_process_signal(server->process, SIGTERM);
		(void)pkg_process_wait(server->process, 5000, NULL);
	}
	pkg_process_free(server->process);
	free(server->url);
	if (server->root[0])
		(void)pkg_tree_remove(server->root, NULL);
	*server = (struct server){ 0 };
}

static inline bool
server_wait(struct server *server)
{
	char path[128];

	server_path(server, "port", path, sizeof(path));
	for (int i = 0; i < 500; i++) {
		pkg_cleanup_buf struct pkg_buf text = { 0 };

		if (pkg_file_read(path, 16, &text, NULL) == 0 && text.len > 0) {
			server->port = atoi(text.data);
			return true;
		}
		if (pkg_process_wait(server->process, 0, NULL) != 0)
			return false;
		pkg_sleep_ms(20);
	}
	return false;
}

/* options: of tests/mirror/serve. */
static inline bool
server_start(struct server *server, const struct pkg_argv *options)
{
	static char data[SERVED_SIZE];
	const char *source = getenv("PKGD_TEST_SRCDIR");
	pkg_cleanup(pkg_argv_free) struct pkg_argv *argv = pkg_argv_new();
	pkg_cleanup(pkg_argv_free) struct pkg_argv *env = pkg_argv_new();
	struct pkg_process_spec spec = {
		.argv = argv, .env = env, .stdin_fd = -1, .stdout_fd = -1, .stderr_fd = 2
	};
	char path[128];

	*server = (struct server){ .root = "/tmp/fetch-XXXXXX" };
	if (!source || access("/usr/bin/python3", X_OK) < 0 || !mkdtemp(server->root))
		return false;
	server_path(server, "out/pypi/packages/six", path, sizeof(path));
	if (pkg_dir_make(path, 0755, NULL) < 0)
		return false;
	served_bytes(data);
	pkg_sha256_hex(data, sizeof(data), server->sha256);
	server_path(server, "out/pypi/packages/six/six.whl", path, sizeof(path));
	if (pkg_file_write(path, data, sizeof(data), 0644, false, NULL) < 0)
		return false;
	pkg_argv_add(env, "PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8");
	pkg_argv_add(argv, "/usr/bin/python3");
	pkg_argv_addf(argv, "%s/tests/mirror/serve", source);
	pkg_argv_addf(argv, "%s/out", server->root);
	pkg_argv_add(argv, "--port", "0", "--stall-s", "20", "--port-file");
	pkg_argv_addf(argv, "%s/port", server->root);
	pkg_argv_add(argv, "--log");
	pkg_argv_addf(argv, "%s/log", server->root);
	if (options)
		pkg_argv_add_all(argv, options);
	spec.die_with_parent = true;
	server->process = pkg_process_spawn(&spec, NULL);
	if (!server->process || !server_wait(server))
		return false;
	server->url = pkg_xasprintf("%s://127.0.0.1:%d/pypi/packages/six/six.whl",
		options && pkg_argv_has(options, "--https") ? "https" : "http", server->port);
	return true;
}

/* The request log: JSON lines. Given. */
static inline char *
server_log(const struct server *server)
{
	pkg_cleanup_buf struct pkg_buf text = { 0 };
	char path[128];

	server_path(server, "log", path, sizeof(path));
	(void)pkg_file_read(path, 1 << 20, &text, NULL);
	return pkg_buf_steal(&text);
}

static inline size_t
count_of(const char *text, const char *part)
{
	size_t count = 0;

	while ((text = strstr(text, part)) != NULL) {
		count++;
		text += strlen(part);
	}
	return count;
}
#endif
