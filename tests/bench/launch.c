/* launch ROUNDS - what a sandbox costs, from nothing to the end of `true` inside.
 *
 * Takes turns: A B C A B C ..., one line of JSON with the milliseconds of every round:
 *   raw        true, as it is
 *   bare       bwrap with the argv that sandbox_argv() makes, no network, nobody looking after it
 *   confined   the same through sandbox_run()
 *   ready      the same with the way out: a proxy of its own, the listener handed out, connections taken
 *   bare20, confined20   with twenty read-only mounts more
 */
#include "core/file.h"
#include "core/home.h"
#include "core/json.h"
#include "core/path.h"
#include "core/run.h"
#include "core/tree.h"
#include "egress/session.h"
#include "sandbox/argv.h"
#include "sandbox/limits.h"
#include "sandbox/paths.h"
#include "sandbox/sandbox.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EXTRA 20
#define WARMUP 3

struct bench {
	struct pkg_home home;
	struct sandbox_host host;
	struct sandbox *sandbox;
	struct pkg_argv *command;
	char *rules;
	char *audit;
	char *folders[EXTRA];
	struct sandbox_mount mounts[EXTRA];
};

static void
check(int rc, struct pkg_error *err)
{
	if (rc >= 0)
		return;
	fprintf(stderr, "launch: %s\n", err->message ? err->message : "failed");
	exit(1);
}

static struct sandbox_profile
profile_of(const struct bench *bench, size_t mounts)
{
	return (struct sandbox_profile){ .purpose = SANDBOX_KERNEL,
		.mounts = bench->mounts,
		.mount_count = mounts,
		.command = bench->command,
		.shim_fd = -1 };
}

static void
run_bare(const struct bench *bench, size_t mounts)
{
	static const struct sandbox_argv_fds none = SANDBOX_ARGV_NO_FDS;
	pkg_cleanup_sandbox_paths struct sandbox_paths paths = { 0 };
	pkg_cleanup(pkg_argv_free) struct pkg_argv *argv = NULL;
	pkg_cleanup(pkg_process_free) struct pkg_process *process = NULL;
	struct sandbox_profile profile = profile_of(bench, mounts);
	struct pkg_error err = { 0 };
	struct pkg_process_spec spec = { .stdin_fd = -1, .stdout_fd = -1, .stderr_fd = 2 };

	check(sandbox_limits_resolve(&profile, NULL, bench->host.ram, &profile.limits, &err), &err);
	check(sandbox_paths_resolve(&profile, &bench->host, &paths, &err), &err);
	check(sandbox_argv(&paths.profile, &bench->host, &none, &argv, &err), &err);
	spec.argv = argv;
	process = pkg_process_spawn(&spec, &err);
	check(process ? pkg_process_wait(process, -1, &err) : -1, &err);
	if (process->wait_status != 0)
		exit(1);
}

static void
run_raw(const struct bench *bench)
{
	struct pkg_error err = { 0 };
	struct pkg_process_spec spec = {
		.argv = bench->command, .stdin_fd = -1, .stdout_fd = -1, .stderr_fd = 2
	};
	pkg_cleanup(pkg_process_free) struct pkg_process *process = pkg_process_spawn(&spec, &err);

	check(process ? pkg_process_wait(process, -1, &err) : -1, &err);
}

static void
run_confined(struct bench *bench, size_t mounts, bool network)
{
	struct sandbox_profile profile = profile_of(bench, mounts);
	struct egress_session *session = NULL;
	pkg_cleanup_run struct pkg_run run = PKG_RUN_INIT;
	struct pkg_error err = { 0 };

	if (network) {
		check(egress_session_start(
			      bench->home.libexec, bench->rules, bench->audit, &session, &err),
			&err);
		profile.shim_fd = egress_session_shim_fd(session);
	}
	check(sandbox_run(bench->sandbox, &profile, &run, &err), &err);
	if (run.wait_status != 0)
		exit(1);
	check(egress_session_finish(session, NULL, &err), &err);
}

static double
now_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static const char *const names[] = { "raw", "bare", "confined", "ready", "bare20", "confined20" };

static void
run_one(struct bench *bench, size_t which)
{
	switch (which) {
	case 0:
		run_raw(bench);
		break;
	case 1:
		run_bare(bench, 0);
		break;
	case 2:
		run_confined(bench, 0, false);
		break;
	case 3:
		run_confined(bench, 0, true);
		break;
	case 4:
		run_bare(bench, EXTRA);
		break;
	default:
		run_confined(bench, EXTRA, false);
	}
}

static void
prepare(struct bench *bench, struct pkg_error *err)
{
	struct json_object *rules = json_object_new_array();

	check(pkg_home_find(false, &bench->home, err), err);
	check(pkg_home_make(&bench->home, err), err);
	bench->sandbox = sandbox_open(&bench->home, NULL, err);
	check(bench->sandbox && sandbox_confines(bench->sandbox, SANDBOX_KERNEL, err) ? 0 : -1,
		err);
	check(sandbox_host_read(&bench->home, NULL, &bench->host, err), err);
	bench->command = pkg_argv_new();
	pkg_argv_add(bench->command, "/usr/bin/true");
	bench->rules = pkg_path_join(bench->home.run, "launch.json");
	bench->audit = pkg_path_join(bench->home.run, "launch.jsonl");
	json_object_array_add(rules, json_object_new_string("example.org"));
	check(egress_session_write_rules(bench->rules, "bench", rules, NULL, NULL, err), err);
	json_object_put(rules);
	for (size_t i = 0; i < EXTRA; i++) {
		bench->folders[i] = pkg_path_joinf(bench->home.data, "extra-%zu", i);
		check(pkg_dir_make(bench->folders[i], 0755, err), err);
		bench->mounts[i] = (struct sandbox_mount){ .kind = SANDBOX_MOUNT_RO,
			.source = bench->folders[i] };
	}
}

int
main(int argc, char **argv)
{
	struct bench bench = { 0 };
	struct pkg_error err = { 0 };
	int rounds = argc > 1 ? atoi(argv[1]) : 30;
	struct json_object *out = json_object_new_object();

	prepare(&bench, &err);
	for (size_t i = 0; i < PKG_ARRAY_LEN(names); i++)
		json_object_object_add(out, names[i], json_object_new_array());
	for (int round = -WARMUP; round < rounds; round++) {
		for (size_t i = 0; i < PKG_ARRAY_LEN(names); i++) {
			double start = now_ms();

			run_one(&bench, i);
			if (round >= 0)
				json_object_array_add(json_object_object_get(out, names[i]),
					json_object_new_double(now_ms() - start));
		}
	}
	puts(json_object_to_json_string_ext(out, JSON_C_TO_STRING_PLAIN));
	json_object_put(out);
	for (size_t i = 0; i < EXTRA; i++)
		free(bench.folders[i]);
	free(bench.rules);
	free(bench.audit);
	pkg_argv_free(bench.command);
	sandbox_host_clear(&bench.host);
	sandbox_free(bench.sandbox);
	pkg_home_clear(&bench.home);
	return 0;
}
