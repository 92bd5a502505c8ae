/* tests/unit/test_daemon_common.h - a whole daemon for one test: its own home, its sockets, and workers that are this test's
 * program again, with the fake language. */
#ifndef UNIT_TEST_DAEMON_COMMON_H
#define UNIT_TEST_DAEMON_COMMON_H
#include "test_install_common.h"
#include "core/sock.h"
#include "core/time.h"
#include "daemon/daemon.h"
#include "daemon/sockets.h"
#include "store/statements.h"
#include <dirent.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/time.h>

#define WAIT_MS 15000

struct served {
	struct fixture *f;
	char *libexec;
	pid_t daemon;
};

/* --- the program as pkg-worker --- */

static inline int
print_report(struct json_object *report)
{
	if (report != NULL)
		puts(json_object_to_json_string(report));
	json_object_put(report);
	return report != NULL ? 0 : 1;
}

/* The fault of the test is for workers of jobs alone; "POINT ACTION" in a file, as the daemon and those who reconcile share
 * the environment. */
static inline void
arm_fault(void)
{
	pkg_autofree char *path = pkg_path_join(getenv("PKGD_LIBEXEC"), "fault");
	pkg_cleanup_buf struct pkg_buf text = { 0 };
	char *action;

	if (pkg_file_read(path, 256, &text, NULL) < 0)
		return;
	action = strchr(text.data, ' ');
	*action++ = '\0';
	setenv("PKGD_FAULT", text.data, 1);
	setenv("PKGD_FAULT_ACTION", action, 1);
}

static inline int
worker_main(int argc, char **argv)
{
	pkg_cleanup_home struct pkg_home home = { 0 };
	sigset_t set;

	if (argc < 2 || pkg_home_find(false, &home, NULL) < 0)
		return 2;
	if (strcmp(argv[1], "--reconcile") == 0) {
		pkg_autofree char *dies = pkg_path_join(getenv("PKGD_LIBEXEC"), "reconcile-dies");

		if (unlink(dies) == 0)
			(void)raise(SIGKILL);
		return print_report(install_reconcile(&home, NULL));
	}
	if (strcmp(argv[1], "--clean") == 0)
		return install_clean(&home, NULL) < 0;
	if (argv[1][0] == '-') {
		pkg_autofree char *slow = pkg_path_join(getenv("PKGD_LIBEXEC"), "slow");

		if (pkg_file_exists(slow))
			pkg_sleep_ms(3000);
		return print_report(json_object_new_object());
	}
	arm_fault();
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return install_job_run(&home, strtoll(argv[1], NULL, 10),
		       signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK), NULL) < 0;
}

/* To be called first in main(). */
#define RUN_AS_WORKER(argc, argv)                                                                  \
	do {                                                                                       \
		if (strcmp(pkg_path_base((argv)[0]), "pkg-worker") == 0)                           \
			return worker_main(argc, argv);                                            \
	} while (0)

/* --- the daemon --- */

static inline void
start_daemon(struct served *s)
{
	s->daemon = fork();
	if (s->daemon == 0) {
		struct daemon_options options = { 0 };
		struct daemon daemon;
		int rc;

		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		rc = daemon_open(&daemon, &options, NULL);
		if (rc == 0)
			rc = daemon_run(&daemon, NULL);
		daemon_close(&daemon);
		_exit(rc < 0);
	}
}

/* How the daemon ended; -1 when it did not within two seconds. */
static inline PKG_UNUSED int
stop_daemon(struct served *s, int signal)
{
	int status = -1;

	(void)kill(s->daemon, signal);
	for (int i = 0; i < 200; i++) {
		if (waitpid(s->daemon, &status, WNOHANG) == s->daemon) {
			s->daemon = 0;
			return status;
		}
		pkg_sleep_ms(10);
	}
	return -1;
}

static inline PKG_UNUSED void
set_fault(struct served *s, const char *point, const char *action)
{
	pkg_autofree char *path = pkg_path_join(s->libexec, "fault");
	pkg_autofree char *text = pkg_xasprintf("%s %s", point, action);

	assert_int_equal(pkg_file_write(path, text, strlen(text), 0600, false, NULL), 0);
}

static inline int
served_home(void **state)
{
	struct served *s = pkg_xcalloc(1, sizeof(*s));
	pkg_autofree char *worker = NULL;
	char self[4096];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	int made = home_made((void **)&s->f);

	*state = s;
	if (made < 0 || len <= 0)
		return -1;
	self[len] = '\0';
	s->libexec = pkg_path_join(s->f->root, "libexec");
	worker = pkg_path_join(s->libexec, "pkg-worker");
	setenv("PKGD_LIBEXEC", s->libexec, 1);
	setenv("PKGD_DAEMON_LOG_LEVEL", "error", 1);
	if (pkg_dir_make(s->libexec, 0755, NULL) < 0 || symlink(self, worker) < 0)
		return -1;
	pkg_home_clear(&s->f->home);
	return pkg_home_find(false, &s->f->home, &s->f->err);
}

static inline int
served(void **state)
{
	if (served_home(state) < 0)
		return -1;
	start_daemon(*state);
	return 0;
}

/* Those that a fault stopped would stay for ever: every process whose program is in this test's libexec. */
static inline void
end_workers(struct served *s)
{
	DIR *proc = opendir("/proc");

	for (struct dirent *entry; proc != NULL && (entry = readdir(proc)) != NULL;) {
		pkg_autofree char *path = pkg_xasprintf("/proc/%s/cmdline", entry->d_name);
		pkg_cleanup_buf struct pkg_buf text = { 0 };
		long pid = strtol(entry->d_name, NULL, 10);

		if (pid > 0 && pkg_file_read(path, 65536, &text, NULL) == 0 && text.len > 0 &&
			strncmp(text.data, s->libexec, strlen(s->libexec)) == 0)
			(void)kill((pid_t)pid, SIGKILL);
	}
	if (proc != NULL)
		closedir(proc);
}

static inline int
served_gone(void **state)
{
	struct served *s = *state;

	if (s->daemon > 0) {
		(void)kill(s->daemon, SIGKILL);
		(void)waitpid(s->daemon, NULL, 0);
	}
	unsetenv("PKGD_LIBEXEC");
	end_workers(s);
	/* Workers outlive their daemon, for a moment here. */
	for (int i = 0; i < 100 && pkg_tree_remove(s->f->root, NULL) < 0; i++)
		pkg_sleep_ms(20);
	(void)home_gone((void **)&s->f);
	free(s->libexec);
	free(s);
	return 0;
}

#define SERVED(test) cmocka_unit_test_setup_teardown(test, served, served_gone)
#define WITH_HOME_TO_SERVE(test) cmocka_unit_test_setup_teardown(test, served_home, served_gone)

/* --- a client --- */

static inline int
dial(struct served *s, bool control)
{
	pkg_autofree char *path =
		pkg_path_join(s->f->home.run, control ? DAEMON_CONTROL_SOCKET : DAEMON_ASK_SOCKET);
	struct timeval limit = { .tv_sec = WAIT_MS / 1000 };
	int64_t end = pkg_time_mono_ms() + WAIT_MS;
	int fd;

	while ((fd = pkg_sock_connect(path, NULL)) < 0 && pkg_time_mono_ms() < end)
		pkg_sleep_ms(10);
	assert_true(fd >= 0);
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	return fd;
}

/* HTTP/1.0: the answer ends with the connection and is not chunked. */
static inline void
send_request(int fd, const char *method, const char *path, const char *headers, const char *body)
{
	size_t len = body != NULL ? strlen(body) : 0;
	pkg_autofree char *text = pkg_xasprintf("%s %s HTTP/1.0\r\n%sContent-Length: %zu\r\n\r\n%s",
		method, path, headers != NULL ? headers : "", len, body != NULL ? body : "");

	assert_int_equal(pkg_write_all(fd, text, strlen(text), NULL), 0);
}

struct reply {
	int status;
	struct pkg_buf text; /* head and body */
	const char *body;
	struct json_object *json; /* NULL when it is none */
	struct json_object *result; /* borrowed */
};

static inline void
reply_clear(struct reply *reply)
{
	pkg_buf_clear(&reply->text);
	json_object_put(reply->json);
	*reply = (struct reply){ 0 };
}
#define AUTO_REPLY __attribute__((cleanup(reply_clear))) struct reply

static inline struct reply
read_reply(int fd)
{
	struct reply reply = { 0 };
	char data[65536];
	ssize_t got;

	while ((got = read(fd, data, sizeof(data))) > 0)
		pkg_buf_add_mem(&reply.text, data, (size_t)got);
	assert_true(got == 0 && reply.text.len > 12);
	reply.status = atoi(reply.text.data + 9);
	reply.body = strstr(reply.text.data, "\r\n\r\n");
	assert_non_null(reply.body);
	reply.body += 4;
	reply.json = pkg_json_parse(reply.body, strlen(reply.body), NULL);
	reply.result = pkg_json_get(reply.json, "result");
	return reply;
}

static inline struct reply
request_on(struct served *s, bool control, const char *method, const char *path,
	const char *headers, const char *body)
{
	int fd = dial(s, control);
	struct reply reply;

	send_request(fd, method, path, headers, body);
	reply = read_reply(fd);
	close(fd);
	return reply;
}

static inline PKG_UNUSED struct reply
get(struct served *s, const char *path)
{
	return request_on(s, false, "GET", path, NULL, NULL);
}

static inline PKG_UNUSED struct reply
post(struct served *s, const char *path, const char *body)
{
	return request_on(s, false, "POST", path, NULL, body);
}

/* The job's id. */
static inline PKG_UNUSED int64_t
ask_for(struct served *s, const char *body)
{
	AUTO_REPLY reply = post(s, "/v1/jobs", body);

	if (reply.status != 202)
		fail_msg("%s", reply.body);
	return pkg_json_int(reply.json, "job", 0);
}

static inline PKG_UNUSED void
wait_for(struct served *s, int64_t job, const char *state)
{
	int64_t end = pkg_time_mono_ms() + WAIT_MS;
	const char *now = NULL;

	while (pkg_time_mono_ms() < end) {
		now = state_of(s->f, job);
		if (strcmp(now, state) == 0)
			return;
		pkg_sleep_ms(10);
	}
	fail_msg("job %d is %s, not %s", (int)job, now, state);
}

static inline PKG_UNUSED struct reply
answer_card(struct served *s, int64_t job, const char *word)
{
	pkg_cleanup_store_job struct store_job row = job_of(s->f, job);
	pkg_autofree char *path = pkg_xasprintf("/v1/cards/%d", (int)row.card);
	pkg_autofree char *body = pkg_xasprintf("{\"answer\":\"%s\"}", word);

	return request_on(s, true, "POST", path, NULL, body);
}

static inline PKG_UNUSED struct reply
cancel(struct served *s, int64_t job)
{
	pkg_autofree char *path = pkg_xasprintf("/v1/jobs/%d", (int)job);

	return request_on(s, false, "DELETE", path, NULL, NULL);
}

/* Times a result stands in the job's events; waits for the first. */
static inline PKG_UNUSED size_t
results_in_events(struct served *s, int64_t job)
{
	int64_t end = pkg_time_mono_ms() + 2000;
	size_t count = 0;

	while (count == 0 && pkg_time_mono_ms() < end) {
		pkg_cleanup_buf struct pkg_buf text = events_of(s->f, job);

		count = times_in(pkg_buf_str(&text), "\"type\":\"result\"");
		pkg_sleep_ms(10);
	}
	return count;
}

/* Past the store's own functions. */
static inline PKG_UNUSED void
change_rows(struct served *s, const char *sql)
{
	pkg_cleanup(store_close) struct store *store = open_store(s->f);

	assert_int_equal(sqlite3_exec(store->db, sql, NULL, NULL, NULL), SQLITE_OK);
}
#endif
