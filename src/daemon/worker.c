#include "daemon/worker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/path.h"

#define ANSWER_MAX (16 * 1024 * 1024)
/* Between the end of its output and its own. */
#define EXIT_WAIT_MS 1000

static char *
worker_path(const struct daemon *daemon)
{
	return pkg_path_join(daemon->home.libexec, "pkg-worker");
}

/* What a worker needs of our environment: where home is, the configuration's overrides, proxies and certificates of
 * its own fetcher. The sandboxes it makes build theirs from an allowlist. */
static struct pkg_argv *
worker_environment(const struct daemon *daemon)
{
	static const char *const names[] = { "PATH", "LANG", "LC_ALL", "TZ", "HTTP_PROXY",
		"HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy", "SSL_CERT_FILE",
		"CURL_CA_BUNDLE", "PYENV_ROOT", "CONDA_PREFIX", "UV_PYTHON_INSTALL_DIR",
		"ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS", NULL };
	extern char **environ;
	struct pkg_argv *env = pkg_argv_new();

	for (size_t i = 0; names[i] != NULL; i++)
		if (getenv(names[i]) != NULL)
			pkg_argv_addf(env, "%s=%s", names[i], getenv(names[i]));
	pkg_home_export(&daemon->home, env);
	for (char **one = environ; *one != NULL; one++) {
		size_t len = strcspn(*one, "=");
		pkg_autofree char *name = pkg_xstrndup(*one, len);
		bool known = strcmp(name, "PKGD_HOME") == 0 || strcmp(name, "PKGD_LIBEXEC") == 0 ||
			strcmp(name, "PKGD_DATADIR") == 0 || strcmp(name, "PKGD_SYSTEM") == 0;

		if (strncmp(*one, "PKGD_", 5) == 0 && !known)
			pkg_argv_add(env, *one);
	}
	return env;
}

struct pkg_process *
worker_spawn(struct daemon *daemon, const struct pkg_argv *arguments, int stdout_fd, int stderr_fd,
	struct pkg_error *err)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *argv = pkg_argv_new();
	pkg_cleanup(pkg_argv_free) struct pkg_argv *env = worker_environment(daemon);
	pkg_autofree char *path = worker_path(daemon);
	struct pkg_process_spec spec = {
		.argv = argv,
		.env = env,
		.stdin_fd = -1,
		.stdout_fd = stdout_fd,
		.stderr_fd = stderr_fd,
		.new_session = true,
	};

	pkg_argv_add(argv, path);
	pkg_argv_add_all(argv, arguments);
	return pkg_process_spawn(&spec, err);
}

/* --- questions --- */

/* A question to a worker. */
struct question {
	struct daemon *daemon;
	struct pkg_process *process;
	struct pkg_buf out;
	uv_poll_t poll;
	worker_answer_fn *done;
	void *context;
};

static void
on_question_closed(uv_handle_t *handle)
{
	struct question *question = handle->data;

	pkg_buf_clear(&question->out);
	free(question);
}

/* Its standard output has ended, so it is about to. A worker that failed says why in {"error"}; one that could not
 * even do that is told by its end. */
static struct json_object *
read_answer(struct question *question, struct pkg_error *err)
{
	struct json_object *json =
		pkg_json_parse(pkg_buf_str(&question->out), question->out.len, err);
	pkg_autofree char *end = NULL;

	(void)pkg_process_wait(question->process, EXIT_WAIT_MS, NULL);
	if (pkg_json_get(json, "error") != NULL) {
		pkg_json_to_error(pkg_json_get(json, "error"), err);
		json_object_put(json);
		return NULL;
	}
	if (json != NULL || !question->process->reaped || question->process->wait_status == 0)
		return json;
	end = pkg_process_describe(question->process->wait_status);
	pkg_error_set(err, PKG_E_INTERNAL, "pkg-worker: %s", end);
	return NULL;
}

static void
answer_question(struct question *question)
{
	pkg_cleanup_error struct pkg_error err = { 0 };
	struct json_object *json;

	json = read_answer(question, &err);
	question->done(question->context, json, json != NULL ? NULL : &err);
	json_object_put(json);
	pkg_process_free(question->process);
	question->daemon->questions--;
	uv_close((uv_handle_t *)&question->poll, on_question_closed);
}

static void
on_question_output(uv_poll_t *poll, int status, int events)
{
	struct question *question = poll->data;
	char data[8192];
	ssize_t got = read(question->process->stdout_fd, data, sizeof(data));

	(void)status;
	(void)events;
	if (got > 0 && question->out.len < ANSWER_MAX) {
		pkg_buf_add_mem(&question->out, data, (size_t)got);
		return;
	}
	if (got < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	uv_poll_stop(poll);
	answer_question(question);
}

int
worker_ask(struct daemon *daemon, const struct pkg_argv *arguments, worker_answer_fn *done,
	void *context, struct pkg_error *err)
{
	struct pkg_process *process =
		worker_spawn(daemon, arguments, PKG_PROCESS_PIPE, STDERR_FILENO, err);
	struct question *question;

	if (process == NULL)
		return -1;
	question = pkg_xcalloc(1, sizeof(*question));
	question->daemon = daemon;
	question->process = process;
	question->done = done;
	question->context = context;
	question->poll.data = question;
	daemon->questions++;
	uv_poll_init(&daemon->loop, &question->poll, process->stdout_fd);
	uv_poll_start(&question->poll, UV_READABLE, on_question_output);
	return 0;
}
