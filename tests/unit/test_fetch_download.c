#include "unit.h"

#include "core/lock.h"
#include "fetch/download.h"
#include "fetch_server.h"

#include <errno.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>

/* One download against a server with faults. */
struct scene {
	struct server server;
	struct server other;
	struct fetch_cas *cas;
	struct fetch_options options;
	struct fetch_item item;
	struct pkg_error err;
	struct pkg_buf asked; /* URLs that `allow` saw */
	struct pkg_buf notes;
	long long last_bytes;
	bool refuse_other;
	char cache[128];
};

static int
allow(void *context, const char *url, struct pkg_error *err)
{
	struct scene *scene = context;

	pkg_buf_addf(&scene->asked, "%s\n", url);
	if (scene->refuse_other && !strstr(url, "packages/six"))
		return pkg_error_set(err, PKG_E_EGRESS_DENIED, "not allowed");
	return 0;
}

static void
progress(void *context, const struct fetch_progress *progress)
{
	struct scene *scene = context;

	scene->last_bytes = progress->bytes;
	if (progress->note)
		pkg_buf_addf(&scene->notes, "%s\n", progress->note);
}

static void
scene_clear(struct scene *scene)
{
	fetch_cas_free(scene->cas);
	pkg_error_clear(&scene->err);
	pkg_buf_clear(&scene->asked);
	pkg_buf_clear(&scene->notes);
	server_stop(&scene->server);
	server_stop(&scene->other);
	*scene = (struct scene){ 0 };
}
#define cleanup_scene __attribute__((cleanup(scene_clear)))

static void
scene_open(struct scene *scene, const char *option, const char *value)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *options = pkg_argv_new();

	if (option)
		pkg_argv_add(options, option);
	if (value)
		pkg_argv_add(options, value);
	if (!server_start(&scene->server, options)) {
		scene_clear(scene);
		skip();
	}
	server_path(&scene->server, "cache", scene->cache, sizeof(scene->cache));
	scene->cas = fetch_cas_open(scene->cache, NULL);
	assert_non_null(scene->cas);
	scene->options = (struct fetch_options){
		.connect_timeout_ms = 2000,
		.stall_timeout_ms = 500,
		.backoff_ms = 10,
		.cancel_fd = -1,
		.allow = allow,
		.progress = progress,
		.context = scene,
	};
	scene->item = (struct fetch_item){
		.url = scene->server.url,
		.name = "six.whl",
		.sha256 = scene->server.sha256,
		.size = SERVED_SIZE,
	};
}

static int
get(struct scene *scene)
{
	pkg_error_clear(&scene->err);
	return fetch_all(scene->cas, &scene->item, 1, &scene->options, &scene->err);
}

static void
expect_arrived(struct scene *scene)
{
	long long size = 0;
	pkg_autofd int fd = -1;

	if (get(scene) < 0)
		fail_msg("%s: %s", pkg_error_kind_name(scene->err.kind), scene->err.message);
	fd = fetch_cas_get(scene->cas, scene->server.sha256, &size, NULL);
	assert_true(fd >= 0);
	assert_int_equal(size, SERVED_SIZE);
	assert_string_equal(scene->item.got_sha256, scene->server.sha256);
	assert_int_equal(scene->item.got_size, SERVED_SIZE);
	assert_int_equal(scene->last_bytes, SERVED_SIZE);
}

static void
expect_failed(struct scene *scene, enum pkg_error_kind kind, const char *says)
{
	assert_int_equal(get(scene), -1);
	if (scene->err.kind != kind || !strstr(scene->err.message, says))
		fail_msg("%s: %s", pkg_error_kind_name(scene->err.kind), scene->err.message);
	assert_false(fetch_cas_has(scene->cas, scene->server.sha256));
}

/* The server writes a line when it is done with a request, which may be a little after we are. */
static void
expect_requests(const struct scene *scene, const char *part, size_t count)
{
	size_t got = 0;

	for (int i = 0; i < 100; i++) {
		pkg_autofree char *log = server_log(&scene->server);

		got = count_of(log, part);
		if (got >= count)
			break;
		pkg_sleep_ms(20);
	}
	assert_int_equal(got, count);
}

/* Nothing is left behind beside the files. */
static size_t
leftovers(const struct scene *scene)
{
	pkg_autofree char *command = pkg_xasprintf("ls %s/partial | wc -l", scene->cache);
	FILE *list = popen(command, "r");
	size_t count = 99;

	assert_non_null(list);
	assert_int_equal(fscanf(list, "%zu", &count), 1);
	pclose(list);
	return count;
}

static void
write_partial(const struct scene *scene, size_t len, bool right)
{
	static char data[SERVED_SIZE + 1000];
	pkg_autofree char *path = fetch_cas_partial(scene->cas, scene->server.sha256);

	served_bytes(data);
	if (!right)
		data[0] ^= 1;
	assert_int_equal(pkg_file_write(path, data, len, 0600, false, NULL), 0);
}

static void
a_file_arrives_once_and_then_comes_from_the_cache(PKG_UNUSED void **state)
{
	cleanup_scene struct scene scene = { 0 };

	scene_open(&scene, NULL, NULL);
	expect_arrived(&scene);
	assert_false(scene.item.from_cache);
	expect_arrived(&scene);
	assert_true(scene.item.from_cache);
	expect_requests(&scene, "\"GET\"", 1);
	assert_int_equal(leftovers(&scene), 0);
}

struct retry_row {
	const char *option;
	const char *value;
	size_t requests;
};

static void
transient_faults_are_overcome(PKG_UNUSED void **state)
{
	static const struct retry_row rows[] = {
		{ "--status", "*six.whl=500@2", 3 },
		{ "--status", "*six.whl=502@1", 2 },
		{ "--status", "*six.whl=408@1", 2 },
		{ "--drop", "*six.whl@2", 3 },
		{ "--truncate", "*six.whl@1", 2 },
		{ "--stall", "*six.whl@1", 2 },
		{ "--hang", "*six.whl@1", 2 },
		{ "--corrupt", "*six.whl@1", 2 },
		{ "--grow", "*six.whl=100@1", 2 },
		{ "--nolength", "*six.whl", 1 },
		{ "--no-ranges", NULL, 1 },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		cleanup_scene struct scene scene = { 0 };

		scene_open(&scene, rows[i].option, rows[i].value);
		expect_arrived(&scene);
		expect_requests(&scene, "\"GET\"", rows[i].requests);
		assert_int_equal(
			count_of(pkg_buf_str(&scene.notes), "retrying in"), rows[i].requests - 1);
		assert_int_equal(leftovers(&scene), 0);
	}
}

static void
retry_after_is_honoured(PKG_UNUSED void **state)
{
	cleanup_scene struct scene scene = { 0 };
	int64_t begin;

	scene_open(&scene, "--status", "*six.whl=503@1");
	begin = pkg_time_mono_ms();
	expect_arrived(&scene);
	assert_in_range(pkg_time_mono_ms() - begin, 950, 3000);
	assert_non_null(strstr(pkg_buf_str(&scene.notes),
		"retrying in 1.0 s: "
		"'six.whl' from 127.0.0.1: HTTP status 503"));
}

struct failure_row {
	const char *option;
	const char *value;
	enum pkg_error_kind kind;
	const char *says;
	size_t requests;
};

static void
lasting_faults_end_with_their_kind(PKG_UNUSED void **state)
{
	static const struct failure_row rows[] = {
		{ "--status", "*six.whl=500", PKG_E_INDEX_STATUS, "HTTP status 500", 3 },
		{ "--status", "*six.whl=404", PKG_E_INDEX_STATUS, "HTTP status 404", 1 },
		{ "--status", "*six.whl=403", PKG_E_AUTH, "HTTP status 403", 1 },
		{ "--auth", "*six.whl=u:p", PKG_E_AUTH, "HTTP status 401", 1 },
		{ "--drop", "*six.whl", PKG_E_INDEX_UNREACHABLE, "(3 tries)", 3 },
		{ "--stall", "*six.whl", PKG_E_TIMEOUT, "no byte for 500 ms", 3 },
		{ "--hang", "*six.whl", PKG_E_TIMEOUT, "no byte for 500 ms", 3 },
		{ "--corrupt", "*six.whl", PKG_E_HASH, "sha256 expected", 2 },
		{ "--grow", "*six.whl=1", PKG_E_HASH, "300000 bytes expected", 2 },
		{ "--redirect", "*=ftp://127.0.0.1/x", PKG_E_INDEX_STATUS, "usable", 1 },
		{ "--redirect", "*=/again{path}", PKG_E_INDEX_STATUS, "more than 3 redirects", 4 },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		cleanup_scene struct scene scene = { 0 };

		scene_open(&scene, rows[i].option, rows[i].value);
		scene.options.retries = 2;
		scene.options.max_redirects = 3;
		expect_failed(&scene, rows[i].kind, rows[i].says);
		expect_requests(&scene, "\"GET\"", rows[i].requests);
	}
}

static void
nobody_there_is_unreachable(PKG_UNUSED void **state)
{
	cleanup_scene struct scene scene = { 0 };

	scene_open(&scene, NULL, NULL);
	scene.item.url = "http://127.0.0.1:1/pypi/packages/six/six.whl";
	expect_failed(&scene, PKG_E_INDEX_UNREACHABLE, "'six.whl' from 127.0.0.1");
	scene.item.url = "file:///etc/passwd";
	expect_failed(&scene, PKG_E_INVALID, "six.whl");
}

static void
a_partial_file_is_resumed(PKG_UNUSED void **state)
{
	cleanup_scene struct scene scene = { 0 };

	scene_open(&scene, NULL, NULL);
	write_partial(&scene, 100000, true);
	expect_arrived(&scene);
	expect_requests(&scene, "\"range\": \"bytes=100000-\"", 1);
	expect_requests(&scene, "\"bytes\": 200000", 1);
}

/* Makes options.cancel_fd readable after a while. */
struct canceller {
	pid_t pid;
	int fds[2];
};

static void
cancel_soon(struct scene *scene, struct canceller *canceller)
{
	assert_int_equal(pipe(canceller->fds), 0);
	scene->options.cancel_fd = canceller->fds[0];
	canceller->pid = fork();
	if (canceller->pid == 0) {
		pkg_sleep_ms(300);
		_exit(write(canceller->fds[1], "x", 1) == 1 ? 0 : 1);
	}
}

static void
cancel_done(struct scene *scene, struct canceller *canceller)
{
	assert_int_equal(waitpid(canceller->pid, NULL, 0), canceller->pid);
	close(canceller->fds[0]);
	close(canceller->fds[1]);
	scene->options.cancel_fd = -1;
}

static void
what_another_left_is_resumed_if_the_file_is_still_the_same(PKG_UNUSED void **state)
{
	cleanup_scene struct scene scene = { 0 };
	struct canceller canceller;
	pkg_autofree char *meta = NULL;
	char path[128];

	/* The first one gets half and is stopped; the second continues. */
	scene_open(&scene, "--truncate", "*six.whl@1");
	scene.options.backoff_ms = 30000;
	cancel_soon(&scene, &canceller);
	expect_failed(&scene, PKG_E_CANCELLED, "cancelled");
	cancel_done(&scene, &canceller);
	/* The file, its lock and its validators. */
	assert_int_equal(leftovers(&scene), 3);
	expect_arrived(&scene);
	expect_requests(&scene, "\"range\": \"bytes=150000-\"", 1);
	expect_requests(&scene, "\"status\": 206", 1);
	/* A file that changed meanwhile: the validator does not match, and all of it is sent. */
	server_path(&scene.server, "cache/files", path, sizeof(path));
	assert_int_equal(pkg_tree_remove(path, NULL), 0);
	write_partial(&scene, 100000, true);
	meta = pkg_xasprintf("%s/partial/%s.json", scene.cache, scene.server.sha256);
	assert_int_equal(
		pkg_file_write(meta, "{\"etag\":\"\\\"old\\\"\"}", 18, 0600, false, NULL), 0);
	expect_arrived(&scene);
	expect_requests(&scene, "\"range\": \"bytes=100000-\"", 1);
	expect_requests(&scene, "\"status\": 206", 1);
}

static void
a_partial_file_that_is_wrong_costs_one_fresh_try(PKG_UNUSED void **state)
{
	static const size_t lens[] = { 1, 100000, SERVED_SIZE, SERVED_SIZE + 1000 };

	for (size_t i = 0; i < PKG_ARRAY_LEN(lens); i++) {
		cleanup_scene struct scene scene = { 0 };

		scene_open(&scene, NULL, NULL);
		write_partial(&scene, lens[i], false);
		expect_arrived(&scene);
		expect_requests(&scene, "\"status\": 200", 1);
	}
}

static void
a_complete_partial_file_needs_no_request(PKG_UNUSED void **state)
{
	cleanup_scene struct scene scene = { 0 };

	scene_open(&scene, NULL, NULL);
	write_partial(&scene, SERVED_SIZE, true);
	expect_arrived(&scene);
	expect_requests(&scene, "\"GET\"", 0);
}

static void
a_server_without_ranges_starts_over(PKG_UNUSED void **state)
{
	cleanup_scene struct scene scene = { 0 };

	scene_open(&scene, "--no-ranges", NULL);
	write_partial(&scene, 100000, true);
	expect_arrived(&scene);
}

static void
a_damaged_cache_file_is_downloaded_again(PKG_UNUSED void **state)
{
	cleanup_scene struct scene scene = { 0 };
	pkg_autofree char *path = NULL;

	scene_open(&scene, NULL, NULL);
	expect_arrived(&scene);
	path = fetch_cas_path(scene.cas, scene.server.sha256);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(pkg_file_write(path, "damage", 6, 0444, false, NULL), 0);
	expect_arrived(&scene);
	assert_false(scene.item.from_cache);
}

static void
a_file_without_a_known_hash_gets_one(PKG_UNUSED void **state)
{
	cleanup_scene struct scene scene = { 0 };

	scene_open(&scene, "--truncate", "*six.whl@1");
	scene.item.sha256 = NULL;
	scene.item.size = -1;
	expect_arrived(&scene);
	expect_requests(&scene, "\"status\": 206", 1);
	assert_int_equal(leftovers(&scene), 0);
}

static void
sizes_are_bounded(PKG_UNUSED void **state)
{
	cleanup_scene struct scene scene = { 0 };

	scene_open(&scene, "--nolength", "*six.whl");
	scene.options.max_bytes = SERVED_SIZE - 1;
	expect_failed(&scene, PKG_E_TOO_LARGE, "300000 bytes announced");
	scene.item.size = -1;
	expect_failed(&scene, PKG_E_TOO_LARGE, "more than 299999 bytes");
	scene.options.max_bytes = SERVED_SIZE;
	expect_arrived(&scene);
}

static void
redirects_are_asked_for_and_lose_credentials(PKG_UNUSED void **state)
{
	cleanup_scene struct scene scene = { 0 };
	pkg_autofree char *with_user = NULL;
	pkg_autofree char *rule = NULL;
	pkg_autofree char *log = NULL;
	pkg_autofree char *other_log = NULL;

	/* The other host has the file; the first one sends everybody there. */
	if (!server_start(&scene.other, NULL))
		skip();
	rule = pkg_xasprintf("*/moved/*=%s", scene.other.url);
	scene_open(&scene, "--redirect", rule);
	with_user =
		pkg_xasprintf("http://user:secret@127.0.0.1:%d/moved/six.whl", scene.server.port);
	scene.item.url = with_user;
	expect_arrived(&scene);
	log = server_log(&scene.server);
	other_log = server_log(&scene.other);
	assert_int_equal(count_of(log, "\"auth\": true"), 1);
	assert_int_equal(count_of(other_log, "\"GET\""), 1);
	assert_int_equal(count_of(other_log, "\"auth\": true"), 0);
	assert_int_equal(count_of(scene.asked.data, "http://127.0.0.1:"), 2);
	assert_null(strstr(scene.asked.data, "secret"));
	/* Without anybody to ask there is no going elsewhere. */
	pkg_error_clear(&scene.err);
	scene.options.allow = NULL;
	scene.item.sha256 = "0000000000000000000000000000000000000000000000000000000000000000";
	assert_int_equal(get(&scene), -1);
	assert_int_equal(scene.err.kind, PKG_E_EGRESS_DENIED);
	assert_null(strstr(scene.err.message, "secret"));
}

static void
a_refused_redirect_is_never_dialled(PKG_UNUSED void **state)
{
	cleanup_scene struct scene scene = { 0 };

	scene_open(&scene, "--redirect", "*six.whl=/pypi/elsewhere");
	scene.refuse_other = true;
	expect_failed(&scene, PKG_E_EGRESS_DENIED, "not allowed");
	expect_requests(&scene, "\"GET\"", 1);
}

static void
credentials_go_to_their_own_host_only(PKG_UNUSED void **state)
{
	cleanup_scene struct scene scene = { 0 };
	pkg_cleanup(pkg_argv_free) struct pkg_argv *mine = pkg_argv_new();
	pkg_cleanup(pkg_argv_free) struct pkg_argv *others = pkg_argv_new();

	scene_open(&scene, "--auth", "*six.whl=us er:p@ss");
	pkg_argv_add(others, "http://us%20er:p%40ss@127.0.0.1:1/simple/");
	pkg_argv_addf(others, "https://us%%20er:p%%40ss@127.0.0.1:%d/", scene.server.port);
	scene.options.credentials = others;
	expect_failed(&scene, PKG_E_AUTH, "401");
	assert_non_null(strstr(scene.err.cure, ".netrc"));
	expect_requests(&scene, "\"auth\": true", 0);
	pkg_argv_addf(mine, "http://us%%20er:p%%40ss@127.0.0.1:%d/simple/", scene.server.port);
	scene.options.credentials = mine;
	expect_arrived(&scene);
}

static void
cancelling_stops_a_hanging_download(PKG_UNUSED void **state)
{
	cleanup_scene struct scene scene = { 0 };
	struct canceller canceller;
	int64_t begin;

	scene_open(&scene, "--stall", "*six.whl");
	scene.options.stall_timeout_ms = 20000;
	cancel_soon(&scene, &canceller);
	begin = pkg_time_mono_ms();
	expect_failed(&scene, PKG_E_CANCELLED, "cancelled");
	assert_in_range(pkg_time_mono_ms() - begin, 200, 2000);
	cancel_done(&scene, &canceller);
	/* What came is kept for the next one. */
	assert_true(leftovers(&scene) > 0);
}

static void
two_processes_share_one_download(PKG_UNUSED void **state)
{
	cleanup_scene struct scene scene = { 0 };
	pid_t pids[3];

	scene_open(&scene, "--rate-kbps", "4000");
	for (size_t i = 0; i < 3; i++) {
		pids[i] = fork();
		if (pids[i] == 0)
			_exit(get(&scene) == 0 ? 0 : 1);
	}
	for (size_t i = 0; i < 3; i++) {
		int status;

		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_int_equal(status, 0);
	}
	expect_arrived(&scene);
	expect_requests(&scene, "\"GET\"", 1);
	assert_int_equal(leftovers(&scene), 0);
}

static void
a_wait_for_another_process_is_cancellable(PKG_UNUSED void **state)
{
	cleanup_scene struct scene scene = { 0 };
	struct canceller canceller;
	pkg_autofree char *lock = NULL;
	pkg_autofd int held = -1;

	scene_open(&scene, NULL, NULL);
	lock = pkg_xasprintf("%s/partial/%s.lock", scene.cache, scene.server.sha256);
	held = pkg_lock_take(lock, 0, NULL);
	assert_true(held >= 0);
	cancel_soon(&scene, &canceller);
	expect_failed(&scene, PKG_E_CANCELLED, "cancelled");
	assert_non_null(strstr(scene.notes.data, "another process"));
	cancel_done(&scene, &canceller);
}

static void
tls_is_checked_and_never_given_up(PKG_UNUSED void **state)
{
	cleanup_scene struct scene scene = { 0 };
	char ca[128];

	scene_open(&scene, "--https", NULL);
	server_path(&scene.server, "out/ca.pem", ca, sizeof(ca));
	expect_failed(&scene, PKG_E_TLS, "'six.whl' from 127.0.0.1");
	assert_non_null(strstr(scene.err.cure, "SSL_CERT_FILE"));
	scene.options.ca_bundle = "/nonexistent.pem";
	expect_failed(&scene, PKG_E_TLS, "/nonexistent.pem");
	scene.options.ca_bundle = ca;
	expect_arrived(&scene);
	/* The same by environment. */
	scene.options.ca_bundle = NULL;
	assert_int_equal(setenv("SSL_CERT_FILE", ca, 1), 0);
	server_path(&scene.server, "cache/files", scene.cache, sizeof(scene.cache));
	assert_int_equal(pkg_tree_remove(scene.cache, NULL), 0);
	expect_arrived(&scene);
	assert_false(scene.item.from_cache);
	assert_int_equal(unsetenv("SSL_CERT_FILE"), 0);
}

static void
https_is_not_redirected_to_http(PKG_UNUSED void **state)
{
	cleanup_scene struct scene scene = { 0 };
	pkg_autofree char *rule = NULL;
	pkg_cleanup(pkg_argv_free) struct pkg_argv *options = pkg_argv_new();
	pkg_autofree char *log = NULL;
	char ca[128];

	scene_open(&scene, NULL, NULL);
	rule = pkg_xasprintf("*=%s", scene.server.url);
	pkg_argv_add(options, "--https", "--redirect", rule);
	if (!server_start(&scene.other, options))
		skip();
	server_path(&scene.other, "out/ca.pem", ca, sizeof(ca));
	scene.options.ca_bundle = ca;
	scene.item.url = scene.other.url;
	expect_failed(&scene, PKG_E_TLS, "from https to plain http");
	pkg_sleep_ms(100);
	log = server_log(&scene.server);
	assert_string_equal(log, "");
}

/* Answers every connection with the same bytes. */
static pid_t
answer(const char *text, int *port)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	socklen_t len = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	pid_t pid;

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(listener, 16), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &len), 0);
	*port = ntohs(address.sin_port);
	pid = fork();
	while (pid == 0) {
		char request[4096];
		int fd = accept(listener, NULL, NULL);

		if (fd < 0 || read(fd, request, sizeof(request)) < 0 ||
			write(fd, text, strlen(text)) < 0)
			_exit(1);
		close(fd);
	}
	close(listener);
	return pid;
}

static void
answers_that_make_no_sense_are_errors(PKG_UNUSED void **state)
{
	static const struct {
		const char *answer;
		enum pkg_error_kind kind;
	} rows[] = {
		{ "", PKG_E_INDEX_UNREACHABLE },
		{ "SSH-2.0-OpenSSH_9.2\r\n", PKG_E_INDEX_STATUS },
		{ "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nshort", PKG_E_HASH },
		{ "HTTP/1.1 200 OK\r\n\r\nshort", PKG_E_INDEX_UNREACHABLE },
		{ "HTTP/1.1 206 Partial\r\nContent-Range: bytes 5-9/300000\r\n\r\nshort",
			PKG_E_INDEX_STATUS },
		{ "HTTP/1.1 302 Found\r\n\r\n", PKG_E_INDEX_STATUS },
		{ "HTTP/1.1 302 Found\r\nLocation: http://[\r\n\r\n", PKG_E_INDEX_STATUS },
		{ "HTTP/1.1 204 No Content\r\n\r\n", PKG_E_INDEX_UNREACHABLE },
		{ "HTTP/1.1 418 Teapot\r\n\r\n", PKG_E_INDEX_STATUS },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		cleanup_scene struct scene scene = { 0 };
		pkg_autofree char *url = NULL;
		int port;
		pid_t pid;

		scene_open(&scene, NULL, NULL);
		pid = answer(rows[i].answer, &port);
		url = pkg_xasprintf("http://127.0.0.1:%d/six.whl", port);
		scene.item.url = url;
		scene.options.retries = 1;
		expect_failed(&scene, rows[i].kind, "");
		(void)kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
	}
}

static void
a_proxy_that_refuses_is_said_to_be_one(PKG_UNUSED void **state)
{
	cleanup_scene struct scene scene = { 0 };
	pkg_autofree char *proxy = NULL;
	int port;
	pid_t pid;

	scene_open(&scene, NULL, NULL);
	pid = answer("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n", &port);
	proxy = pkg_xasprintf("http://127.0.0.1:%d", port);
	assert_int_equal(setenv("https_proxy", proxy, 1), 0);
	scene.item.url = "https://pypi.example/six.whl";
	expect_failed(&scene, PKG_E_EGRESS_DENIED, "the proxy refused the connection");
	assert_int_equal(unsetenv("https_proxy"), 0);
	(void)kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static int
fill_a_disk(struct scene *scene)
{
	struct fetch_cas *cas;
	char path[128];

	server_path(&scene->server, "small", path, sizeof(path));
	if (mkdir(path, 0755) < 0 || unshare(CLONE_NEWNS) < 0 ||
		mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
		mount("none", path, "tmpfs", 0, "size=64k") < 0)
		return 77;
	cas = fetch_cas_open(path, NULL);
	if (!cas || fetch_all(cas, &scene->item, 1, &scene->options, &scene->err) == 0)
		return 1;
	if (scene->err.kind != PKG_E_DISK_FULL || scene->err.sys != ENOSPC)
		return 2;
	return strstr(scene->err.message, "six.whl") ? 0 : 3;
}

static void
a_full_disk_is_said_to_be_one(PKG_UNUSED void **state)
{
	cleanup_scene struct scene scene = { 0 };
	int status;
	pid_t pid;

	scene_open(&scene, NULL, NULL);
	pid = fork();
	if (pid == 0)
		_exit(fill_a_disk(&scene));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(status, 0);
}

static void
many_files_come_in_parallel_and_the_first_failure_ends_all(PKG_UNUSED void **state)
{
	cleanup_scene struct scene scene = { 0 };
	struct fetch_item items[20];
	char names[20][32];
	char shas[20][PKG_SHA256_HEX];
	char *urls[20];
	int64_t begin;

	scene_open(&scene, "--latency-ms", "150");
	for (size_t i = 0; i < 20; i++) {
		char path[128];

		(void)snprintf(names[i], sizeof(names[i]), "file-%zu.whl", i);
		pkg_sha256_hex(names[i], strlen(names[i]), shas[i]);
		(void)snprintf(path, sizeof(path), "%s/out/pypi/packages/six/%s", scene.server.root,
			names[i]);
		assert_int_equal(
			pkg_file_write(path, names[i], strlen(names[i]), 0644, false, NULL), 0);
		urls[i] = pkg_xasprintf(
			"http://127.0.0.1:%d/pypi/packages/six/%s", scene.server.port, names[i]);
		items[i] = (struct fetch_item){
			.url = urls[i], .name = names[i], .sha256 = shas[i], .size = -1
		};
	}
	begin = pkg_time_mono_ms();
	if (fetch_all(scene.cas, items, 20, &scene.options, &scene.err) < 0)
		fail_msg("%s", scene.err.message);
	/* One after the other they would take three seconds. */
	assert_in_range(pkg_time_mono_ms() - begin, 300, 2000);
	for (size_t i = 0; i < 20; i++)
		assert_true(fetch_cas_has(scene.cas, shas[i]));
	shas[19][0] ^= 1;
	items[18].sha256 = NULL;
	assert_int_equal(fetch_all(scene.cas, items, 20, &scene.options, &scene.err), -1);
	assert_int_equal(scene.err.kind, shas[19][0] > 'f' ? PKG_E_INVALID : PKG_E_HASH);
	assert_non_null(strstr(scene.err.message, "file-19.whl"));
	for (size_t i = 0; i < 20; i++)
		free(urls[i]);
}

/* Documents and sizes. */

static void
documents_are_bounded_and_know_their_type(PKG_UNUSED void **state)
{
	cleanup_scene struct scene scene = { 0 };
	pkg_cleanup_buf struct pkg_buf body = { 0 };
	pkg_autofree char *type = NULL;
	pkg_autofree char *final = NULL;
	pkg_autofree char *url = NULL;
	char path[128];

	scene_open(&scene, "--status", "*/simple/*=500@1");
	server_path(&scene.server, "out/pypi/simple/six", path, sizeof(path));
	assert_int_equal(pkg_dir_make(path, 0755, NULL), 0);
	server_path(&scene.server, "out/pypi/simple/six/index.json", path, sizeof(path));
	assert_int_equal(pkg_file_write(path, "{}", 2, 0644, false, NULL), 0);
	url = pkg_xasprintf("http://user:secret@127.0.0.1:%d/pypi/simple/SIX", scene.server.port);
	if (fetch_document(url, "application/vnd.pypi.simple.v1+json", 2, &scene.options, &body,
		    &type, &final, &scene.err) < 0)
		fail_msg("%s", scene.err.message);
	assert_string_equal(body.data, "{}");
	assert_string_equal(type, "application/vnd.pypi.simple.v1+json");
	assert_non_null(strstr(final, "/pypi/simple/six/"));
	assert_null(strstr(final, "secret"));
	/* The redirect stayed on the host, so the credentials did. */
	expect_requests(&scene, "\"auth\": true", 3);
	assert_int_equal(
		fetch_document(final, "*/*", 1, &scene.options, &body, NULL, NULL, &scene.err), -1);
	assert_int_equal(scene.err.kind, PKG_E_NOT_FOUND);
	assert_int_equal(fetch_document(scene.server.url, NULL, SERVED_SIZE - 1, &scene.options,
				 &body, NULL, NULL, &scene.err),
		-1);
	assert_int_equal(scene.err.kind, PKG_E_TOO_LARGE);
}

static void
sizes_are_asked_for_without_the_file(PKG_UNUSED void **state)
{
	static const struct {
		const char *option;
		const char *value;
		long long size;
	} rows[] = {
		{ NULL, NULL, SERVED_SIZE },
		{ "--nolength", "*", -1 },
		{ "--no-ranges", NULL, SERVED_SIZE },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		cleanup_scene struct scene scene = { 0 };
		long long size = 0;

		scene_open(&scene, rows[i].option, rows[i].value);
		assert_int_equal(
			fetch_size(scene.server.url, &scene.options, &size, &scene.err), 0);
		/* Where HEAD says nothing, a range of one byte does. */
		assert_int_equal(size, i == 1 ? SERVED_SIZE : rows[i].size);
	}
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_arrives_once_and_then_comes_from_the_cache),
		cmocka_unit_test(transient_faults_are_overcome),
		cmocka_unit_test(retry_after_is_honoured),
		cmocka_unit_test(lasting_faults_end_with_their_kind),
		cmocka_unit_test(nobody_there_is_unreachable),
		cmocka_unit_test(a_partial_file_is_resumed),
		cmocka_unit_test(what_another_left_is_resumed_if_the_file_is_still_the_same),
		cmocka_unit_test(a_partial_file_that_is_wrong_costs_one_fresh_try),
		cmocka_unit_test(a_complete_partial_file_needs_no_request),
		cmocka_unit_test(a_server_without_ranges_starts_over),
		cmocka_unit_test(a_damaged_cache_file_is_downloaded_again),
		cmocka_unit_test(a_file_without_a_known_hash_gets_one),
		cmocka_unit_test(sizes_are_bounded),
		cmocka_unit_test(redirects_are_asked_for_and_lose_credentials),
		cmocka_unit_test(a_refused_redirect_is_never_dialled),
		cmocka_unit_test(credentials_go_to_their_own_host_only),
		cmocka_unit_test(cancelling_stops_a_hanging_download),
		cmocka_unit_test(two_processes_share_one_download),
		cmocka_unit_test(a_wait_for_another_process_is_cancellable),
		cmocka_unit_test(tls_is_checked_and_never_given_up),
		cmocka_unit_test(https_is_not_redirected_to_http),
		cmocka_unit_test(answers_that_make_no_sense_are_errors),
		cmocka_unit_test(a_proxy_that_refuses_is_said_to_be_one),
		cmocka_unit_test(a_full_disk_is_said_to_be_one),
		cmocka_unit_test(many_files_come_in_parallel_and_the_first_failure_ends_all),
		cmocka_unit_test(documents_are_bounded_and_know_their_type),
		cmocka_unit_test(sizes_are_asked_for_without_the_file),
	};

	/* Neither proxies nor certificates of whoever runs the tests: the server is on loopback. */
	(void)unsetenv("SSL_CERT_FILE");
	(void)unsetenv("CURL_CA_BUNDLE");
	(void)setenv("NO_PROXY", "127.0.0.1", 1);
	(void)setenv("no_proxy", "127.0.0.1", 1);
	(void)setenv("HOME", "/nonexistent", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
