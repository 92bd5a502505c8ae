#include "unit.h"

/* These start real sandboxes. A machine without bubblewrap skips them, unless CI is set. */
#include "core/file.h"
#include "core/path.h"
#include "core/sock.h"
#include "core/time.h"
#include "core/tree.h"
#include "sandbox/limits.h"
#include "sandbox/sandbox.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#define MIB (1024 * 1024)

static char root[] = "/var/tmp/pkgd-test-XXXXXX";
static struct pkg_home home;
static struct sandbox *box;
static char *work;

static char *
at(const char *name)
{
	static char paths[16][4096];
	static size_t next;
	char *path = paths[next++ % 16];
	pkg_autofree char *joined = pkg_path_join(root, name);

	strcpy(path, joined);
	return path;
}

static void
write_file(const char *path, const char *text, mode_t mode)
{
	assert_int_equal(pkg_file_write(path, text, strlen(text), mode, false, NULL), 0);
}

static int
setup_group(void **state)
{
	char here[4096];

	(void)state;
	assert_non_null(mkdtemp(root));
	assert_int_equal(setenv("PKGD_HOME", at("home"), 1), 0);
	if (!getenv("PKGD_LIBEXEC"))
		assert_int_equal(setenv("PKGD_LIBEXEC", getcwd(here, sizeof(here)), 1), 0);
	assert_int_equal(setenv("PKGD_DATADIR", at("share"), 1), 0);
	assert_int_equal(pkg_home_find(false, &home, NULL), 0);
	assert_int_equal(pkg_home_make(&home, NULL), 0);
	return 0;
}

static int
teardown_group(void **state)
{
	(void)state;
	pkg_home_clear(&home);
	return pkg_tree_remove(root, NULL);
}

static int
setup(void **state)
{
	(void)state;
	box = sandbox_open(&home, NULL, NULL);
	assert_non_null(box);
	assert_int_equal(pkg_tree_remove(at("work"), NULL), 0);
	assert_int_equal(pkg_dir_make(at("work"), 0755, NULL), 0);
	work = pkg_xstrdup(at("work"));
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	sandbox_free(box);
	box = NULL;
	free(work);
	return 0;
}

static bool
can_sandbox(void)
{
	return access("/usr/bin/bwrap", X_OK) == 0 || getenv("CI");
}

#define NEEDS_SANDBOX()                                                                            \
	if (!can_sandbox())                                                                        \
	skip()

struct result {
	int rc;
	int status;
	struct pkg_error err;
	char *out;
	char *errors;
	int64_t ms;
};

static void
result_clear(struct result *result)
{
	pkg_error_clear(&result->err);
	free(result->out);
	free(result->errors);
}
#define cleanup_result __attribute__((cleanup(result_clear)))

static struct result
run_command(const struct sandbox_profile *profile, const char *const *words, size_t count,
	int cancel_fd)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *command = pkg_argv_new();
	struct pkg_run run = { .cancel_fd = cancel_fd };
	struct sandbox_profile full = *profile;
	struct result result = { 0 };
	int64_t began = pkg_time_mono_ms();

	pkg_argv_add_n(command, count, words);
	full.command = command;
	result.rc = sandbox_run(box, &full, &run, &result.err);
	result.ms = pkg_time_mono_ms() - began;
	result.status = pkg_process_status(run.wait_status);
	result.out = pkg_buf_steal(&run.out);
	result.errors = pkg_buf_steal(&run.err);
	return result;
}

static struct result
run_script(const struct sandbox_profile *profile, const char *script)
{
	const char *const words[] = { "/bin/bash", "-c", script };

	return run_command(profile, words, 3, -1);
}

/* A kernel with the work directory writable and a script that knows it as W. */
static struct result
run_at_work(const struct sandbox_limits *limits, const char *script)
{
	const struct sandbox_mount mount = { .kind = SANDBOX_MOUNT_RW, .source = work };
	pkg_cleanup(pkg_argv_free) struct pkg_argv *env = pkg_argv_new();
	struct sandbox_profile profile = { .purpose = SANDBOX_KERNEL,
		.mounts = &mount,
		.mount_count = 1,
		.shim_fd = -1,
		.env = env,
		.cwd = work };

	if (limits)
		profile.limits = *limits;
	pkg_argv_addf(env, "W=%s", work);
	return run_script(&profile, script);
}

static void
assert_ran(const struct result *result)
{
	if (result->rc < 0)
		fail_msg("%s: %s", pkg_error_kind_name(result->err.kind), result->err.message);
}

static void
every_purpose_proves_its_boundary(void **state)
{
	pkg_cleanup_error struct pkg_error err = { 0 };
	pkg_cleanup(pkg_json_put) struct json_object *test = NULL;
	struct json_object *purposes;

	(void)state;
	NEEDS_SANDBOX();
	test = sandbox_test(box, &err);
	if (!test)
		fail_msg("%s", err.message);
	purposes = pkg_json_array(test, "purposes");
	assert_int_equal(json_object_array_length(purposes), SANDBOX_PURPOSE_COUNT);
	for (size_t i = 0; i < json_object_array_length(purposes); i++) {
		struct json_object *row = json_object_array_get_idx(purposes, i);
		struct json_object *checks = pkg_json_array(row, "checks");

		assert_true(json_object_array_length(checks) > 40);
		for (size_t j = 0; j < json_object_array_length(checks); j++) {
			struct json_object *check = json_object_array_get_idx(checks, j);

			if (strcmp(pkg_json_str(check, "result"), "pass") != 0)
				fail_msg("%s", json_object_to_json_string(check));
		}
	}
	assert_true(pkg_json_bool(test, "ok", false));
}

static void
only_what_is_granted_can_be_read_or_written(void **state)
{
	const struct sandbox_mount mounts[] = {
		{ .kind = SANDBOX_MOUNT_RW, .source = work },
		{ .kind = SANDBOX_MOUNT_RO, .source = at("readable") },
		{ .kind = SANDBOX_MOUNT_MASK, .target = at("readable/hidden") },
		{ .kind = SANDBOX_MOUNT_MASK, .target = at("readable/closed") },
	};
	const struct sandbox_profile profile = { .purpose = SANDBOX_KERNEL,
		.mounts = mounts,
		.mount_count = 4,
		.shim_fd = -1,
		.cwd = work };
	pkg_autofree char *script = NULL;
	cleanup_result struct result result = { 0 };

	(void)state;
	NEEDS_SANDBOX();
	assert_int_equal(pkg_dir_make(at("readable/closed"), 0755, NULL), 0);
	write_file(at("readable/file"), "granted\n", 0644);
	write_file(at("readable/hidden"), "secret\n", 0644);
	write_file(at("readable/closed/x"), "secret\n", 0644);
	write_file(at("outside"), "secret\n", 0644);
	assert_int_equal(symlink(at("outside"), at("work/link")), 0);
	script = pkg_xasprintf(
		"cat %s/readable/file; echo made > made; cat made\n"
		"cat %s/outside && echo LEAK; cat link && echo LEAK; cat %s/readable/hidden && "
		"echo LEAK\n"
		"ls %s/readable/closed | grep . && echo LEAK; touch %s/readable/closed/y && echo "
		"LEAK\n"
		"touch %s/readable/x && echo LEAK; touch %s/x && echo LEAK; touch /x && echo LEAK\n"
		"touch /etc/x /usr/x /dev/x && echo LEAK; ls /home /root /var/log && echo LEAK\n"
		"ln %s/readable/file here && echo LEAK; mkdir /proc/x && echo LEAK; true",
		root, root, root, root, root, root, root, root);
	result = run_script(&profile, script);
	assert_ran(&result);
	assert_int_equal(result.status, 0);
	assert_string_equal(result.out, "granted\nmade\n");
	assert_int_equal(access(at("work/made"), F_OK), 0);
}

static void
there_is_no_network_not_even_this_machine(void **state)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(address);
	pkg_autofd int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	pkg_autofd int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	pkg_autofree char *script = NULL;
	cleanup_result struct result result = { 0 };

	(void)state;
	NEEDS_SANDBOX();
	assert_int_equal(bind(server, (struct sockaddr *)&address, size), 0);
	assert_int_equal(listen(server, 8), 0);
	assert_int_equal(getsockname(server, (struct sockaddr *)&address, &size), 0);
	/* It can be reached from here. */
	assert_int_equal(connect(client, (struct sockaddr *)&address, size), 0);
	script = pkg_xasprintf("(echo > /dev/tcp/127.0.0.1/%d) 2>/dev/null && echo LEAK; "
			       "(echo > /dev/udp/198.51.100.1/53) 2>/dev/null && echo LEAK; "
			       "(echo > /dev/tcp/198.51.100.1/80) 2>/dev/null && echo LEAK; "
			       "cat /proc/net/dev | grep -c :",
		ntohs(address.sin_port));
	result = run_at_work(NULL, script);
	assert_ran(&result);
	assert_string_equal(result.out, "1\n");
}

static void
only_its_own_processes_are_there(void **state)
{
	cleanup_result struct result result = { 0 };

	(void)state;
	NEEDS_SANDBOX();
	result = run_at_work(NULL,
		"cd /proc; for p in [0-9]*; do [ $p -gt 20 ] && echo LEAK $p; done; "
		"kill -0 %d 2>/dev/null && echo LEAK; echo $$");
	assert_ran(&result);
	assert_string_equal(result.out, "2\n");
}

static off_t
size_of(const char *path)
{
	struct stat st;

	return stat(path, &st) < 0 ? -1 : st.st_size;
}

static void
assert_stands_still(const char *path)
{
	off_t first = size_of(path);

	assert_true(first > 0);
	pkg_sleep_ms(300);
	assert_true(size_of(path) == first);
}

#define OUTLIVE                                                                                    \
	"setsid bash -c '(trap \"\" TERM HUP INT; while :; do echo >> $W/alive; sleep 0.02; "      \
	"done) & "                                                                                 \
	"exit 0' & for i in {1..100}; do [ -s $W/alive ] && break; sleep 0.02; done; "

static void
a_daemon_it_leaves_behind_dies_with_it_and_does_not_hold_it_up(void **state)
{
	cleanup_result struct result result = { 0 };

	(void)state;
	NEEDS_SANDBOX();
	result = run_at_work(NULL, OUTLIVE "exit 3");
	assert_ran(&result);
	assert_int_equal(result.status, 3);
	assert_true(result.ms < 5000);
	assert_stands_still(at("work/alive"));
}

static void
the_deadline_ends_it_within_two_seconds_whatever_it_ignores(void **state)
{
	const struct sandbox_limits limits = { .wall_ms = 500 };
	cleanup_result struct result result = { 0 };

	(void)state;
	NEEDS_SANDBOX();
	result = run_at_work(&limits, OUTLIVE "trap '' TERM; while :; do sleep 1; done");
	assert_int_equal(result.rc, -1);
	assert_int_equal(result.err.kind, PKG_E_TIMEOUT);
	assert_true(result.ms < 2500);
	assert_stands_still(at("work/alive"));
}

static void
a_cancel_asks_the_command_first(void **state)
{
	const struct sandbox_mount mount = { .kind = SANDBOX_MOUNT_RW, .source = work };
	const struct sandbox_profile profile = { .purpose = SANDBOX_KERNEL,
		.mounts = &mount,
		.mount_count = 1,
		.shim_fd = -1,
		.cwd = work };
	const char *const words[] = { "/bin/bash", "-c",
		"trap 'echo asked; exit 4' TERM; : > ready; while :; do sleep 0.05; done" };
	cleanup_result struct result result = { 0 };
	int ends[2];
	pid_t helper;

	(void)state;
	NEEDS_SANDBOX();
	assert_int_equal(pipe(ends), 0);
	helper = fork();
	if (helper == 0) {
		for (int i = 0; i < 1000 && access(at("work/ready"), F_OK) < 0; i++)
			usleep(10000);
		_exit(write(ends[1], "x", 1) == 1 ? 0 : 1);
	}
	result = run_command(&profile, words, 3, ends[0]);
	assert_int_equal(waitpid(helper, NULL, 0), helper);
	assert_int_equal(result.rc, -1);
	assert_int_equal(result.err.kind, PKG_E_CANCELLED);
	assert_string_equal(result.err.message, "cancelled");
	assert_string_equal(result.out, "asked\n");
	close(ends[0]);
	close(ends[1]);
}

static void
memory_is_counted_over_all_processes_together(void **state)
{
	const struct sandbox_limits limits = { .memory = 128 * MIB, .wall_ms = 20000 };
	cleanup_result struct result result = { 0 };

	(void)state;
	NEEDS_SANDBOX();
	result = run_at_work(&limits,
		"for i in 1 2 3 4; do (head -c 60000000 /dev/zero; sleep 60) | "
		"tail -c 60000000 > /dev/null & done; wait");
	assert_int_equal(result.rc, -1);
	assert_int_equal(result.err.kind, PKG_E_MEMORY);
	assert_true(result.ms < 10000);
}

static void
memory_of_one_process_and_of_tmp_ends_at_the_limit(void **state)
{
	const struct sandbox_limits limits = { .memory = 64 * MIB, .wall_ms = 20000 };
	cleanup_result struct result result = { 0 };

	(void)state;
	NEEDS_SANDBOX();
	if (SANDBOX_SANITIZED)
		skip();
	result = run_at_work(&limits,
		"head -c 200000000 /dev/zero > /tmp/big; stat -c %s /tmp/big; "
		"head -c 200000000 /dev/zero > /dev/shm/big && echo LEAK; rm -f "
		"/dev/shm/big /tmp/big; "
		"(head -c 200000000 /dev/zero | tail -c 190000000) > /dev/null "
		"&& echo LEAK; echo end");
	assert_ran(&result);
	assert_string_equal(result.out, "33554432\nend\n");
}

static void
disk_is_watched_with_and_without_a_name(void **state)
{
	static const char *const scripts[] = {
		"head -c 60000000 /dev/zero > $W/big; sleep 60",
		"exec 9> $W/gone; rm $W/gone; head -c 60000000 /dev/zero >&9; sleep 60",
		"mkdir $W/d; head -c 60000000 /dev/zero > $W/d/big; chmod 0 $W/d; sleep 60",
	};
	const struct sandbox_limits limits = { .disk = 16 * MIB, .wall_ms = 20000 };

	(void)state;
	NEEDS_SANDBOX();
	for (size_t i = 0; i < PKG_ARRAY_LEN(scripts); i++) {
		cleanup_result struct result result = run_at_work(&limits, scripts[i]);

		if (result.rc != -1 || result.err.kind != PKG_E_DISK_FULL || result.ms > 15000)
			fail_msg("%s: %s", scripts[i],
				result.err.message ? result.err.message : "not stopped");
	}
}

static void
too_many_processes_end_it(void **state)
{
	const struct sandbox_limits limits = { .processes = 20, .wall_ms = 20000 };
	cleanup_result struct result result = { 0 };

	(void)state;
	NEEDS_SANDBOX();
	result = run_at_work(&limits, "for i in {1..60}; do sleep 60 & done; wait");
	assert_int_equal(result.rc, -1);
	assert_int_equal(result.err.kind, PKG_E_TOO_LARGE);
	assert_true(result.ms < 5000);
}

static void
file_size_and_processor_time_end_at_their_limits(void **state)
{
	const struct sandbox_limits small = { .file_size = MIB };
	const struct sandbox_limits busy = { .cpu_s = 1, .wall_ms = 20000 };
	cleanup_result struct result file =
		run_at_work(&small, "exec head -c 4000000 /dev/zero > $W/file");
	cleanup_result struct result processor = run_at_work(&busy, "while :; do :; done");

	(void)state;
	NEEDS_SANDBOX();
	assert_int_equal(file.rc, -1);
	assert_int_equal(file.err.kind, PKG_E_TOO_LARGE);
	assert_true(size_of(at("work/file")) <= MIB);
	assert_int_equal(processor.rc, -1);
	assert_int_equal(processor.err.kind, PKG_E_TIMEOUT);
	assert_true(processor.ms < 5000);
}

static void
no_descriptor_but_the_standard_ones_comes_in(void **state)
{
	cleanup_result struct result result = { 0 };
	int leaked[3];

	(void)state;
	NEEDS_SANDBOX();
	for (size_t i = 0; i < 3; i++)
		leaked[i] = open(root, O_RDONLY | O_DIRECTORY);
	result = run_at_work(
		NULL, "cd /proc/self/fd; for f in *; do [ $f -gt 2 ] && readlink $f; done; true");
	assert_ran(&result);
	/* bash opens the directory of the pattern itself, and keeps nothing. */
	assert_null(strstr(result.out, root));
	assert_null(strstr(result.out, "pipe"));
	assert_null(strstr(result.out, "memfd"));
	for (size_t i = 0; i < 3; i++)
		close(leaked[i]);
}

static void
descriptors_that_the_profile_names_come_in_under_their_numbers_and_stay_ours(void **state)
{
	struct sandbox_profile profile = { .purpose = SANDBOX_APPLY, .shim_fd = -1 };
	cleanup_result struct result result = { 0 };
	char script[128];
	int fds[1];
	int other;

	(void)state;
	NEEDS_SANDBOX();
	write_file(at("work/secret"), "passed\n", 0600);
	fds[0] = open(at("work/secret"), O_RDONLY | O_CLOEXEC);
	other = open(at("work/secret"), O_RDONLY | O_CLOEXEC);
	assert_true(fds[0] > 2 && other > 2);
	profile.inherit_fds = fds;
	profile.inherit_count = 1;
	(void)snprintf(script, sizeof(script),
		"cat <&%d; ls /proc/self/fd | wc -l; test -e /proc/self/fd/%d || echo no", fds[0],
		other);
	result = run_script(&profile, script);
	assert_ran(&result);
	/* 0, 1, 2, the one, and the directory that ls reads. */
	assert_string_equal(result.out, "passed\n5\nno\n");
	assert_true(fcntl(fds[0], F_GETFD) >= 0);
	close(fds[0]);
	fds[0] = STDOUT_FILENO;
	result_clear(&result);
	result = run_script(&profile, "true");
	assert_int_equal(result.rc, -1);
	assert_int_equal(result.err.kind, PKG_E_INVALID);
	close(other);
}

static void
the_environment_is_built_and_nothing_is_inherited(void **state)
{
	const struct sandbox_profile profile = { .purpose = SANDBOX_PROBE, .shim_fd = -1 };
	const char *const words[] = { "/usr/bin/env" };
	static const char *const allowed[] = { "HOME", "LANG", "LC_", "LOGNAME",
		"LOKY_MAX_CPU_COUNT", "MKL_NUM_THREADS", "MPLCONFIGDIR", "NUMBA_NUM_THREADS",
		"NUMEXPR_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "PATH", "PWD",
		"SHELL", "TEMP", "TMP", "TMPDIR", "TZ", "USER", "VECLIB_MAXIMUM_THREADS",
		"ASAN_OPTIONS" };
	cleanup_result struct result result = { 0 };

	(void)state;
	NEEDS_SANDBOX();
	assert_int_equal(setenv("API_TOKEN", "secret", 1), 0);
	result = run_command(&profile, words, 1, -1);
	assert_ran(&result);
	for (char *save, *line = strtok_r(result.out, "\n", &save); line;
		line = strtok_r(NULL, "\n", &save)) {
		size_t i = 0;

		while (i < PKG_ARRAY_LEN(allowed) &&
			strncmp(line, allowed[i], strlen(allowed[i])) != 0)
			i++;
		if (i == PKG_ARRAY_LEN(allowed))
			fail_msg("'%s' is in the environment", line);
	}
}

static void
exit_statuses_are_exact(void **state)
{
	static const struct {
		const char *script;
		int status;
	} cases[] = { { "exit 0", 0 }, { "exit 7", 7 }, { "exit 255", 255 }, { "kill -9 $$", 137 },
		{ "kill -TERM $$", 143 }, { "kill -SEGV $$", 139 } };

	(void)state;
	NEEDS_SANDBOX();
	for (size_t i = 0; i < PKG_ARRAY_LEN(cases); i++) {
		cleanup_result struct result result = run_at_work(NULL, cases[i].script);

		assert_ran(&result);
		assert_int_equal(result.status, cases[i].status);
	}
}

static void
a_command_that_is_not_there_is_the_profiles_mistake(void **state)
{
	const struct sandbox_profile profile = { .purpose = SANDBOX_PROBE, .shim_fd = -1 };
	const char *const words[] = { "/no/such/program" };
	cleanup_result struct result result = { 0 };

	(void)state;
	NEEDS_SANDBOX();
	result = run_command(&profile, words, 1, -1);
	assert_int_equal(result.rc, -1);
	assert_int_equal(result.err.kind, PKG_E_INVALID);
	assert_non_null(strstr(result.err.message, "/no/such/program"));
}

static void
a_tree_is_at_its_prefix_and_only_apply_may_write_to_it(void **state)
{
	struct sandbox_profile profile = { .purpose = SANDBOX_VERIFY,
		.tree = at("home/data/generations/e/3"),
		.prefix = at("home/data/envs/p/python/main"),
		.shim_fd = -1 };
	pkg_autofree char *script = pkg_xasprintf("cat %s/file; echo new > %s/new; ls %s",
		profile.prefix, profile.prefix, profile.tree);
	cleanup_result struct result verify = { 0 };
	cleanup_result struct result apply = { 0 };

	(void)state;
	NEEDS_SANDBOX();
	assert_int_equal(pkg_dir_make(profile.tree, 0755, NULL), 0);
	write_file(at("home/data/generations/e/3/file"), "tree\n", 0644);
	verify = run_script(&profile, script);
	assert_ran(&verify);
	assert_int_equal(verify.status, 2);
	assert_string_equal(verify.out, "tree\n");
	assert_int_equal(access(at("home/data/generations/e/3/new"), F_OK), -1);
	profile.purpose = SANDBOX_APPLY;
	profile.tree_writable = true;
	apply = run_script(&profile, script);
	assert_ran(&apply);
	assert_int_equal(access(at("home/data/generations/e/3/new"), F_OK), 0);
}

static void
a_workspace_named_through_a_symlink_works_under_both_names(void **state)
{
	struct sandbox_mount mount = { .kind = SANDBOX_MOUNT_RW };
	struct sandbox_profile profile = {
		.purpose = SANDBOX_KERNEL, .mounts = &mount, .mount_count = 1, .shim_fd = -1
	};
	pkg_autofree char *link = pkg_xstrdup(at("link"));
	pkg_autofree char *script =
		pkg_xasprintf("echo one > %s/a && cat %s/a && echo two > %s/b && cat %s/b", link,
			work, work, link);
	cleanup_result struct result result = { 0 };

	(void)state;
	NEEDS_SANDBOX();
	assert_int_equal(symlink(work, link), 0);
	mount.source = link;
	profile.cwd = link;
	result = run_script(&profile, script);
	assert_ran(&result);
	assert_string_equal(result.out, "one\ntwo\n");
}

static void
a_bad_workspace_is_refused_and_the_next_one_works(void **state)
{
	cleanup_result struct result bad = { 0 };
	cleanup_result struct result good = { 0 };

	(void)state;
	NEEDS_SANDBOX();
	write_file(at("precious"), "x", 0644);
	assert_int_equal(link(at("precious"), at("work/linked")), 0);
	bad = run_at_work(NULL, "echo ran");
	assert_int_equal(bad.rc, -1);
	assert_int_equal(bad.err.kind, PKG_E_INVALID);
	assert_int_equal(unlink(at("work/linked")), 0);
	good = run_at_work(NULL, "echo ran");
	assert_ran(&good);
	assert_string_equal(good.out, "ran\n");
}

/* Runs its command as it is, and says that it is bubblewrap. */
#define FAKE                                                                                       \
	"#!/bin/bash\n"                                                                            \
	"[ \"$1\" = --version ] && { echo bubblewrap 0.8.0; exit; }\n"                             \
	"while [ $# -gt 0 ] && [ \"$1\" != -- ]; do [ \"$1\" = --json-status-fd ] && fd=$2; "      \
	"shift; done\n"                                                                            \
	"shift\n"                                                                                  \
	"echo '{\"child-pid\": '$$'}' >&$fd; \"$@\"; s=$?; echo '{\"exit-code\": '$s'}' >&$fd; "   \
	"exit $s\n"

static struct sandbox *
open_with(enum sandbox_mode mode, const char *bwrap)
{
	const struct sandbox_options options = { .mode = mode, .bwrap = bwrap };

	return sandbox_open(&home, &options, NULL);
}

static void
a_bwrap_that_confines_nothing_fails_the_test_and_runs_nothing(void **state)
{
	pkg_autofree char *fake = pkg_xstrdup(at("fake-bwrap"));
	pkg_cleanup(pkg_json_put) struct json_object *test = NULL;
	pkg_cleanup(pkg_json_put) struct json_object *status = NULL;
	pkg_autofree char *described = NULL;
	cleanup_result struct result result = { 0 };
	size_t failed = 0;

	(void)state;
	write_file(fake, FAKE, 0755);
	sandbox_free(box);
	box = open_with(SANDBOX_ENFORCE, fake);
	result = run_at_work(NULL, "echo ran > $W/ran");
	assert_int_equal(result.rc, -1);
	assert_int_equal(result.err.kind, PKG_E_SANDBOX);
	assert_int_equal(access(at("work/ran"), F_OK), -1);
	test = sandbox_test(box, NULL);
	assert_non_null(test);
	assert_false(pkg_json_bool(test, "ok", true));
	for (size_t i = 0; i < SANDBOX_PURPOSE_COUNT; i++) {
		struct json_object *row =
			json_object_array_get_idx(pkg_json_array(test, "purposes"), i);
		struct json_object *checks = pkg_json_array(row, "checks");

		assert_false(pkg_json_bool(row, "ok", true));
		for (size_t j = 0; j < json_object_array_length(checks); j++)
			failed +=
				strcmp(pkg_json_str(json_object_array_get_idx(checks, j), "result"),
					"FAIL") == 0;
	}
	assert_true(failed > 10 * SANDBOX_PURPOSE_COUNT);
	status = sandbox_status(box);
	assert_string_equal(pkg_json_str(status, "state"), "unavailable");
	assert_false(pkg_json_bool(status, "enforced", true));
	assert_string_equal(pkg_json_str(status, "network_policy"), "not_enforced");
	described = sandbox_describe(box, SANDBOX_KERNEL);
	assert_non_null(strstr(described, "no sandbox"));
}

static void
auto_runs_without_a_boundary_and_says_so_and_off_never_tries(void **state)
{
	pkg_autofree char *fake = pkg_xstrdup(at("fake-bwrap"));
	static const enum sandbox_mode modes[] = { SANDBOX_AUTO, SANDBOX_OFF };

	(void)state;
	write_file(fake, FAKE, 0755);
	for (size_t i = 0; i < PKG_ARRAY_LEN(modes); i++) {
		pkg_cleanup(pkg_json_put) struct json_object *status = NULL;
		pkg_autofree char *described = NULL;
		cleanup_result struct result result = { 0 };

		sandbox_free(box);
		box = open_with(modes[i], fake);
		result = run_at_work(NULL, "echo unconfined; [ -e /proc/1/comm ]");
		assert_ran(&result);
		assert_string_equal(result.out, "unconfined\n");
		assert_false(sandbox_confines(box, SANDBOX_KERNEL, NULL));
		described = sandbox_describe(box, SANDBOX_KERNEL);
		assert_non_null(strstr(described, "NO SANDBOX"));
		status = sandbox_status(box);
		assert_string_equal(pkg_json_str(status, "state"),
			modes[i] == SANDBOX_OFF ? "disabled" : "unavailable");
		assert_false(pkg_json_bool(status, "enforced", true));
		assert_non_null(pkg_json_str(status, "warning"));
	}
}

static void
without_a_boundary_a_staged_tree_is_used_where_it_is(void **state)
{
	struct sandbox_profile profile = { .purpose = SANDBOX_VERIFY,
		.tree = at("home/data/generations/e/4"),
		.prefix = at("home/data/envs/p/python/other"),
		.shim_fd = -1 };
	pkg_autofree char *program = pkg_path_join(profile.prefix, "bin/hello");
	const char *const words[] = { program };
	cleanup_result struct result result = { 0 };

	(void)state;
	assert_int_equal(pkg_dir_make(at("home/data/generations/e/4/bin"), 0755, NULL), 0);
	write_file(at("home/data/generations/e/4/bin/hello"), "#!/bin/sh\necho hello\n", 0755);
	sandbox_free(box);
	box = open_with(SANDBOX_OFF, NULL);
	result = run_command(&profile, words, 1, -1);
	assert_ran(&result);
	assert_string_equal(result.out, "hello\n");
}

static void
a_missing_bwrap_is_told_with_its_cure_and_found_once_it_is_there(void **state)
{
	pkg_autofree char *path = pkg_xstrdup(at("late-bwrap"));
	cleanup_result struct result before = { 0 };
	cleanup_result struct result refused = { 0 };
	cleanup_result struct result after = { 0 };

	(void)state;
	NEEDS_SANDBOX();
	sandbox_free(box);
	box = open_with(SANDBOX_ENFORCE, path);
	before = run_at_work(NULL, "echo ran");
	assert_int_equal(before.rc, -1);
	assert_int_equal(before.err.kind, PKG_E_SANDBOX);
	assert_non_null(strstr(before.err.cure, "bubblewrap"));
	/* One that the machine does not let work. */
	write_file(path,
		"#!/bin/sh\n[ \"$1\" = --version ] && { echo bubblewrap 0.8.0; exit; }\n"
		"echo 'bwrap: Creating new namespace failed: Operation not permitted' >&2; exit "
		"1\n",
		0755);
	refused = run_at_work(NULL, "echo ran");
	assert_int_equal(refused.rc, -1);
	assert_int_equal(refused.err.kind, PKG_E_SANDBOX);
	assert_non_null(refused.err.cure);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("/usr/bin/bwrap", path), 0);
	after = run_at_work(NULL, "echo ran");
	assert_ran(&after);
	assert_string_equal(after.out, "ran\n");
}

static void
a_program_that_others_could_replace_is_not_used(void **state)
{
	pkg_autofree char *path = pkg_xstrdup(at("open-bwrap"));
	cleanup_result struct result result = { 0 };

	(void)state;
	write_file(path, FAKE, 0755);
	assert_int_equal(chmod(path, 0777), 0);
	sandbox_free(box);
	box = open_with(SANDBOX_ENFORCE, path);
	result = run_at_work(NULL, "echo ran");
	assert_int_equal(result.rc, -1);
	assert_int_equal(result.err.kind, PKG_E_SANDBOX);
}

static void
the_end_of_the_worker_is_the_end_of_all_inside(void **state)
{
	pid_t worker;

	(void)state;
	NEEDS_SANDBOX();
	worker = fork();
	assert_true(worker >= 0);
	if (worker == 0) {
		struct result result = run_at_work(NULL, OUTLIVE "sleep 60");

		_exit(result.rc < 0);
	}
	for (int i = 0; i < 500 && size_of(at("work/alive")) <= 0; i++)
		pkg_sleep_ms(10);
	assert_int_equal(kill(worker, SIGKILL), 0);
	assert_int_equal(waitpid(worker, NULL, 0), worker);
	pkg_sleep_ms(200);
	assert_stands_still(at("work/alive"));
}

/* Takes the listener out of the namespace, as the proxy does, and answers one connection. */
static int
serve_once(int sock)
{
	int listener = pkg_sock_recv_fd(sock, 5000, NULL);
	int client = listener < 0 ? -1 : accept(listener, NULL, NULL);
	char text[16] = "";

	return client >= 0 && read(client, text, 5) == 5 && memcmp(text, "ping\n", 5) == 0 &&
			write(client, "pong\n", 5) == 5
		? 0
		: 1;
}

static void
the_listener_handed_out_is_the_only_way_out_and_works_at_once(void **state)
{
	struct sandbox_profile profile = { .purpose = SANDBOX_PLAN };
	pkg_autofree char *shim = pkg_path_join(home.libexec, "pkg-shim");
	cleanup_result struct result result = { 0 };
	int pair[2];
	int status;
	pid_t proxy;

	(void)state;
	NEEDS_SANDBOX();
	if (access(shim, X_OK) < 0)
		skip();
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	proxy = fork();
	if (proxy == 0)
		_exit(serve_once(pair[0]));
	profile.shim_fd = pair[1];
	result = run_script(&profile,
		"exec 3<> /dev/tcp/127.0.0.1/3128; echo ping >&3; cat <&3; echo $http_proxy; "
		"ls /proc/self/fd | wc -l; (echo > /dev/tcp/127.0.0.1/22) 2>/dev/null && echo "
		"LEAK; true");
	assert_ran(&result);
	assert_string_equal(result.out, "pong\nhttp://127.0.0.1:3128\n5\n");
	assert_int_equal(waitpid(proxy, &status, 0), proxy);
	assert_int_equal(status, 0);
	close(pair[0]);
	close(pair[1]);
}

/* Reads from the terminal until text was there, or for two seconds. */
static bool
expect(int terminal, const char *text, struct pkg_buf *seen)
{
	int64_t deadline = pkg_time_mono_ms() + 5000;

	while (!strstr(pkg_buf_str(seen), text) && pkg_time_mono_ms() < deadline) {
		struct pollfd look = { .fd = terminal, .events = POLLIN };
		char chunk[256];
		ssize_t n;

		if (poll(&look, 1, 100) <= 0)
			continue;
		n = read(terminal, chunk, sizeof(chunk));
		if (n <= 0)
			break;
		pkg_buf_add_mem(seen, chunk, (size_t)n);
	}
	return strstr(pkg_buf_str(seen), text) != NULL;
}

static void
run_at_terminal(const char *script)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *command = pkg_argv_new();
	const struct sandbox_profile profile = {
		.purpose = SANDBOX_KERNEL, .command = command, .shim_fd = -1
	};
	struct pkg_error err = { 0 };
	int status = 99;

	pkg_argv_add(command, "/bin/bash", "-c", script);
	if (sandbox_run_interactive(box, &profile, &status, &err) < 0)
		printf("failed: %s\n", err.message);
	fflush(stdout);
	_exit(status);
}

static void
at_a_terminal_keys_and_signals_reach_the_command_and_its_status_comes_back(void **state)
{
	static const struct {
		const char *key; /* typed, or NULL: SIGTERM to us */
		const char *expected;
		int status;
	} cases[] = { { "\003", "GOT INT", 5 }, { "\034", "GOT QUIT", 6 },
		{ NULL, "GOT TERM", 7 } };

	(void)state;
	NEEDS_SANDBOX();
	for (size_t i = 0; i < PKG_ARRAY_LEN(cases); i++) {
		pkg_cleanup_buf struct pkg_buf seen = { 0 };
		int status;
		int terminal;
		pid_t pid = forkpty(&terminal, NULL, NULL, NULL);

		assert_true(pid >= 0);
		if (pid == 0)
			run_at_terminal(
				"trap 'echo GOT INT; exit 5' INT; trap 'echo GOT QUIT; exit 6' "
				"QUIT; trap 'echo GOT TERM; exit 7' TERM; test -t 0 && echo READY; "
				"while :; do sleep 0.05; done");
		if (!expect(terminal, "READY", &seen))
			fail_msg("not ready: %s", pkg_buf_str(&seen));
		if (cases[i].key)
			assert_int_equal(write(terminal, cases[i].key, 1), 1);
		else
			assert_int_equal(kill(pid, SIGTERM), 0);
		if (!expect(terminal, cases[i].expected, &seen))
			fail_msg("%s: %s", cases[i].expected, pkg_buf_str(&seen));
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), cases[i].status);
		close(terminal);
	}
}

static void
a_command_that_stops_stops_us_and_goes_on_with_us(void **state)
{
	pkg_cleanup_buf struct pkg_buf seen = { 0 };
	int status;
	int terminal;
	pid_t pid;

	(void)state;
	NEEDS_SANDBOX();
	pid = forkpty(&terminal, NULL, NULL, NULL);
	assert_true(pid >= 0);
	if (pid == 0)
		run_at_terminal("echo READY; read line; echo HEARD $line; exit 3");
	assert_true(expect(terminal, "READY", &seen));
	assert_int_equal(write(terminal, "\032", 1), 1);
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_true(WIFSTOPPED(status));
	assert_int_equal(kill(pid, SIGCONT), 0);
	assert_int_equal(write(terminal, "words\n", 6), 6);
	if (!expect(terminal, "HEARD words", &seen))
		fail_msg("%s", pkg_buf_str(&seen));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WEXITSTATUS(status), 3);
	close(terminal);
}

static void
nothing_of_a_run_is_left_on_disk(void **state)
{
	cleanup_result struct result result = { 0 };
	size_t left = 0;
	struct pkg_argv *names = pkg_argv_new();
	char command[4200];
	FILE *list;
	char line[256];

	(void)state;
	NEEDS_SANDBOX();
	result = run_at_work(NULL, "true");
	assert_ran(&result);
	(void)snprintf(command, sizeof(command), "ls -A '%s' '%s'", home.state, home.run);
	list = popen(command, "re");
	assert_non_null(list);
	while (fgets(line, sizeof(line), list)) {
		pkg_argv_add(names, line);
		left += strncmp(line, "probe-", 6) == 0 || line[0] == '.';
	}
	assert_int_equal(pclose(list), 0);
	assert_int_equal(left, 0);
	assert_true(names->count > 2);
	pkg_argv_free(names);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(every_purpose_proves_its_boundary),
		TEST(only_what_is_granted_can_be_read_or_written),
		TEST(there_is_no_network_not_even_this_machine),
		TEST(only_its_own_processes_are_there),
		TEST(a_daemon_it_leaves_behind_dies_with_it_and_does_not_hold_it_up),
		TEST(the_deadline_ends_it_within_two_seconds_whatever_it_ignores),
		TEST(a_cancel_asks_the_command_first),
		TEST(memory_is_counted_over_all_processes_together),
		TEST(memory_of_one_process_and_of_tmp_ends_at_the_limit),
		TEST(disk_is_watched_with_and_without_a_name),
		TEST(too_many_processes_end_it),
		TEST(file_size_and_processor_time_end_at_their_limits),
		TEST(no_descriptor_but_the_standard_ones_comes_in),
		TEST(descriptors_that_the_profile_names_come_in_under_their_numbers_and_stay_ours),
		TEST(the_environment_is_built_and_nothing_is_inherited),
		TEST(exit_statuses_are_exact),
		TEST(a_command_that_is_not_there_is_the_profiles_mistake),
		TEST(a_tree_is_at_its_prefix_and_only_apply_may_write_to_it),
		TEST(a_workspace_named_through_a_symlink_works_under_both_names),
		TEST(a_bad_workspace_is_refused_and_the_next_one_works),
		TEST(a_bwrap_that_confines_nothing_fails_the_test_and_runs_nothing),
		TEST(auto_runs_without_a_boundary_and_says_so_and_off_never_tries),
		TEST(without_a_boundary_a_staged_tree_is_used_where_it_is),
		TEST(a_missing_bwrap_is_told_with_its_cure_and_found_once_it_is_there),
		TEST(a_program_that_others_could_replace_is_not_used),
		TEST(the_end_of_the_worker_is_the_end_of_all_inside),
		TEST(the_listener_handed_out_is_the_only_way_out_and_works_at_once),
		TEST(at_a_terminal_keys_and_signals_reach_the_command_and_its_status_comes_back),
		TEST(a_command_that_stops_stops_us_and_goes_on_with_us),
		TEST(nothing_of_a_run_is_left_on_disk),
	};

	return cmocka_run_group_tests(tests, setup_group, teardown_group);
}
