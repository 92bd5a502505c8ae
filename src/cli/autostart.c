#include "cli/autostart.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/i18n.h"
#include "core/file.h"
#include "core/lock.h"
#include "core/path.h"
#include "core/process.h"
#include "core/sock.h"
#include "core/text.h"
#include "core/time.h"

#define START_MS 10000
#define NAP_MS 5
#define ATTEMPTS 3
#define LOG_MAX (1024 * 1024) /* then it becomes pkgd.log.1 */
#define LAST_WORDS 600

static int
unreachable(struct pkg_error *err)
{
	if (err != NULL)
		err->kind = PKG_E_UNREACHABLE;
	return -1;
}

static int
somebody_listens(const struct pkg_home *home, struct pkg_error *err)
{
	pkg_autofree char *path = pkg_path_join(home->run, CLI_ASK_SOCKET);
	pkg_autofd int fd = pkg_sock_connect(path, err);

	return fd >= 0 ? 0 : -1;
}

/* Only "nobody is there" is mended by starting one: a socket that refuses us is somebody's. */
static int
may_start(const struct pkg_home *home, struct pkg_error *err)
{
	const char *forbidden = getenv("PKGD_NO_START");

	if (err->kind != PKG_E_UNREACHABLE)
		return unreachable(err);
	if (home->system) {
		pkg_error_cure(err, "%s", _("systemctl start pkgd.socket"));
		return -1;
	}
	if (forbidden != NULL && *forbidden != '\0') {
		pkg_error_cure(err, "%s", _("start pkgd; PKGD_NO_START keeps pkg from doing so"));
		return -1;
	}
	return 0;
}

/* --- which program --- */

static bool
is_program(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

static char *
beside_us(void)
{
	char self[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	pkg_autofree char *dir = NULL;

	if (len <= 0)
		return NULL;
	self[len] = '\0';
	dir = pkg_path_dir(self);
	return pkg_path_join(dir, "pkgd");
}

/* Only absolute directories of PATH: where we stand must not decide what runs. */
static char *
on_path(void)
{
	const char *path = getenv("PATH");

	while (path != NULL && *path != '\0') {
		size_t len = strcspn(path, ":");
		pkg_autofree char *dir = pkg_xstrndup(path, len);
		pkg_autofree char *program = pkg_path_join(dir, "pkgd");

		if (dir[0] == '/' && is_program(program))
			return pkg_steal_ptr(&program);
		path += len + (path[len] == ':');
	}
	return NULL;
}

static char *
find_daemon(struct pkg_error *err)
{
	const char *named = getenv("PKGD_BIN");
	pkg_autofree char *program = NULL;

	if (named != NULL && named[0] == '/')
		return pkg_xstrdup(named);
	program = beside_us();
	if (program != NULL && is_program(program))
		return pkg_steal_ptr(&program);
	free(program);
	program = on_path();
	if (program == NULL) {
		pkg_error_set(err, PKG_E_UNREACHABLE, "%s",
			_("nobody listens, and pkgd is neither beside pkg nor on PATH"));
		pkg_error_cure(err, "%s", _("install pkgd, or name it in PKGD_BIN"));
	}
	return pkg_steal_ptr(&program);
}

/* --- starting --- */

static int
open_log(const char *path, off_t *size, struct pkg_error *err)
{
	struct stat st;
	int fd;

	if (stat(path, &st) == 0 && st.st_size > LOG_MAX) {
		pkg_autofree char *old = pkg_xasprintf("%s.1", path);

		(void)rename(path, old);
	}
	fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return pkg_error_errno(err, errno, _("open '%s'"), path);
	*size = fstat(fd, &st) == 0 ? st.st_size : 0;
	return fd;
}

/* Ours, without what a service manager meant for us alone. */
static struct pkg_argv *
daemon_environment(void)
{
	static const char *const ours[] = {
		"LISTEN_PID=", "LISTEN_FDS=", "LISTEN_FDNAMES=", "NOTIFY_SOCKET="
	};
	extern char **environ;
	struct pkg_argv *env = pkg_argv_new();

	for (char **one = environ; *one != NULL; one++) {
		bool skip = false;

		for (size_t i = 0; i < PKG_ARRAY_LEN(ours); i++)
			skip = skip || pkg_text_has_prefix(*one, ours[i]);
		if (!skip)
			pkg_argv_add(env, *one);
	}
	return env;
}

static struct pkg_process *
spawn_daemon(const char *program, int log, struct pkg_error *err)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *argv = pkg_argv_new();
	pkg_cleanup(pkg_argv_free) struct pkg_argv *env = daemon_environment();
	struct pkg_process_spec spec = {
		.argv = argv,
		.env = env,
		.stdin_fd = -1,
		.stdout_fd = log,
		.stderr_fd = log,
		.new_session = true,
	};

	pkg_argv_add(argv, program);
	return pkg_process_spawn(&spec, err);
}

/* Lets the daemon live on: pkg_process_free() would end it. */
static void
let_go(struct pkg_process *process)
{
	if (process->reaped) {
		pkg_process_free(process);
		return;
	}
	pkg_close(&process->pidfd);
	free(process);
}

/* What the daemon said last, as the reason of its end. */
static int
told_end(const char *program, const char *log, off_t from, int wait_status, struct pkg_error *err)
{
	pkg_cleanup_buf struct pkg_buf text = { 0 };
	pkg_autofree char *end = pkg_process_describe(wait_status);
	pkg_autofree char *words = NULL;

	(void)pkg_file_read(log, 2 * LOG_MAX, &text, NULL);
	if (from >= 0 && (size_t)from < text.len)
		words = pkg_text_tail(text.data + from, text.len - (size_t)from, LAST_WORDS);
	pkg_error_set(err, PKG_E_UNREACHABLE, _("%s ended (%s) before it listened%s%s"), program,
		end, words != NULL ? ":\n" : "", words != NULL ? words : "");
	return pkg_error_cure(err, _("see %s"), log);
}

static int
wait_for(const struct pkg_home *home, struct pkg_process *process, const char *program,
	const char *log, off_t from, struct pkg_error *err)
{
	pkg_autofree char *lock = pkg_path_join(home->run, "daemon.lock");
	int64_t end = pkg_time_mono_ms() + START_MS;

	while (pkg_time_mono_ms() < end) {
		bool ended = pkg_process_wait(process, 0, NULL) == 1;

		if (somebody_listens(home, NULL) == 0)
			return 0;
		/* Another daemon that holds the lock is about to listen. */
		if (ended && !pkg_lock_is_held(lock))
			return somebody_listens(home, NULL) == 0
				? 0
				: told_end(program, log, from, process->wait_status, err);
		pkg_sleep_ms(NAP_MS);
	}
	pkg_error_set(err, PKG_E_UNREACHABLE, _("pkgd was started and did not listen within %d s"),
		START_MS / 1000);
	return pkg_error_cure(err, _("see %s"), log);
}

static int
start(const struct pkg_home *home, struct pkg_error *err)
{
	pkg_autofree char *program = find_daemon(err);
	pkg_autofree char *log = pkg_path_join(home->state, "pkgd.log");
	pkg_autofd int log_fd = -1;
	struct pkg_process *process;
	off_t from = 0;
	int rc;

	if (program == NULL)
		return -1;
	log_fd = open_log(log, &from, err);
	if (log_fd < 0)
		return -1;
	process = spawn_daemon(program, log_fd, err);
	if (process == NULL)
		return -1;
	rc = wait_for(home, process, program, log, from, err);
	let_go(process);
	return rc;
}

static int
start_once(const struct pkg_home *home, struct pkg_error *err)
{
	pkg_autofree char *path = pkg_path_join(home->run, "start.lock");
	pkg_autofd int lock = -1;

	if (pkg_home_make(home, err) < 0)
		return -1;
	lock = pkg_lock_take(path, START_MS, err);
	if (lock < 0)
		return -1;
	/* Whoever had the lock before may have started one. A daemon that is still on its way out makes the first
	 * attempt fail. */
	for (int i = 0; i < ATTEMPTS; i++)
		if (somebody_listens(home, NULL) == 0 || start(home, err) == 0)
			return 0;
	return -1;
}

int
cli_autostart(const struct pkg_home *home, struct pkg_error *err)
{
	pkg_cleanup_error struct pkg_error why = { 0 };

	if (somebody_listens(home, &why) == 0)
		return 0;
	if (may_start(home, &why) < 0) {
		pkg_error_move(err, &why);
		return -1;
	}
	if (start_once(home, &why) == 0)
		return 0;
	if (why.kind != PKG_E_UNREACHABLE)
		pkg_error_prefix(&why, "%s", _("start pkgd"));
	if (why.cure == NULL)
		pkg_error_cure(&why, "%s", _("start pkgd by hand to see what it says"));
	pkg_error_move(err, &why);
	return unreachable(err);
}
