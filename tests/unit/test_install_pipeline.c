#include "test_install_common.h"
#include "fake_lang.h"
#include "core/identity.h"

#define INSTALL(what) "{\"action\":\"install\",\"requirements\":[" what "]}"

/* --- whole jobs --- */

static void
a_first_install_waits_for_its_card_and_then_makes_the_environment(void **state)
{
	struct fixture *f = *state;
	int64_t id = submit(f, "install", INSTALL("\"app==1.0\""));
	pkg_cleanup_store_env struct store_env env = { 0 };
	pkg_cleanup(pkg_json_put) struct json_object *result = NULL;

	run_job(f, id);
	assert_string_equal(state_of(f, id), "pending");
	assert_false(in_env(f, ""));
	answer(f, id, true);
	run_job(f, id);
	assert_done(f, id);
	env = env_of(f);
	assert_int_equal(env.generation, 1);
	assert_int_equal(env.revision, 0);
	assert_true(in_env(f, FAKE_SITE "/app/__init__.py"));
	assert_true(in_env(f, FAKE_SITE "/lib/__init__.py"));
	result = result_of(f, id);
	assert_int_equal(json_object_array_length(pkg_json_array(result, "changes")), 2);
}

static void
an_additive_install_is_a_revision_of_the_same_generation(void **state)
{
	struct fixture *f = *state;
	pkg_cleanup_store_env struct store_env env = { 0 };

	assert_done(f, complete(f, "install", INSTALL("\"app==1.0\"")));
	assert_done(f, complete(f, "install", INSTALL("\"tool\"")));
	env = env_of(f);
	assert_int_equal(env.generation, 1);
	assert_int_equal(env.revision, 1);
	assert_true(in_env(f, FAKE_SITE "/tool/__init__.py"));
	assert_true(in_env(f, "bin/app"));
}

static void
an_upgrade_is_a_new_generation_and_a_rollback_the_old_one(void **state)
{
	struct fixture *f = *state;
	pkg_cleanup_store_env struct store_env env = { 0 };
	pkg_cleanup_store_env struct store_env after = { 0 };

	assert_done(f, complete(f, "install", INSTALL("\"app==1.0\"")));
	assert_done(f, complete(f, "upgrade", "{\"requirements\":[\"app\"]}"));
	env = env_of(f);
	assert_int_equal(env.generation, 2);
	assert_true(in_env(f, FAKE_SITE "/app/data/2.0.txt"));
	assert_false(in_env(f, FAKE_SITE "/app/data/1.0.txt"));
	assert_done(f, complete(f, "rollback", "{}"));
	after = env_of(f);
	assert_int_equal(after.generation, 1);
	assert_true(in_env(f, FAKE_SITE "/app/data/1.0.txt"));
	assert_false(in_env(f, FAKE_SITE "/app/data/2.0.txt"));
}

static void
removing_a_package_takes_what_needs_it_along(void **state)
{
	struct fixture *f = *state;

	assert_done(f, complete(f, "install", INSTALL("\"app==1.0\",\"tool\"")));
	assert_done(f, complete(f, "remove", "{\"requirements\":[\"lib\"]}"));
	assert_false(in_env(f, FAKE_SITE "/lib/__init__.py"));
	assert_false(in_env(f, FAKE_SITE "/app/__init__.py"));
	assert_true(in_env(f, FAKE_SITE "/tool/__init__.py"));
}

static void
what_is_there_already_needs_no_card_and_changes_nothing(void **state)
{
	struct fixture *f = *state;
	int64_t id;
	pkg_cleanup_store_job struct store_job job = { 0 };
	pkg_cleanup_store_env struct store_env env = { 0 };

	assert_done(f, complete(f, "install", INSTALL("\"app==1.0\"")));
	id = submit(f, "install", INSTALL("\"app\""));
	run_job(f, id);
	job = job_of(f, id);
	assert_int_equal(job.state, STORE_JOB_DONE);
	assert_int_equal(job.card, 0);
	env = env_of(f);
	assert_int_equal(env.revision, 0);
}

static void
a_dry_run_leaves_no_environment_and_no_card(void **state)
{
	struct fixture *f = *state;
	int64_t id = submit(f, "install", "{\"requirements\":[\"app\"],\"dry_run\":true}");
	pkg_cleanup_store_job struct store_job job = { 0 };
	pkg_autofree char *staging = install_path_staging(&f->home, id);

	run_job(f, id);
	job = job_of(f, id);
	assert_int_equal(job.state, STORE_JOB_DONE);
	assert_int_equal(job.card, 0);
	assert_non_null(job.plan);
	assert_false(in_env(f, ""));
	assert_false(pkg_file_exists(staging));
}

static void
a_denied_card_leaves_everything_as_it_was(void **state)
{
	struct fixture *f = *state;
	int64_t id = submit(f, "install", INSTALL("\"app\""));

	run_job(f, id);
	answer(f, id, false);
	assert_string_equal(state_of(f, id), "denied");
	assert_false(in_env(f, ""));
}

static void
a_failed_plan_says_its_kind_and_frees_the_environment(void **state)
{
	struct fixture *f = *state;
	int64_t id = complete(f, "install", INSTALL("\"missing\""));
	pkg_cleanup(pkg_json_put) struct json_object *result = result_of(f, id);

	assert_string_equal(state_of(f, id), "failed");
	assert_string_equal(pkg_json_str(result, "kind"), "no-such-package");
	assert_done(f, complete(f, "install", INSTALL("\"tool\"")));
}

static void
a_package_that_does_not_arrive_fails_the_job_and_changes_nothing(void **state)
{
	struct fixture *f = *state;
	pkg_cleanup(pkg_json_put) struct json_object *result = NULL;
	pkg_cleanup_store_env struct store_env env = { 0 };
	int64_t id;

	assert_done(f, complete(f, "install", INSTALL("\"tool\"")));
	id = complete(f, "install", INSTALL("\"broken\""));
	result = result_of(f, id);
	assert_string_equal(pkg_json_str(result, "kind"), "verify-failed");
	assert_false(in_env(f, FAKE_SITE "/broken/__init__.py"));
	env = env_of(f);
	assert_int_equal(env.revision, 0);
}

/* The same hash goes on although the environment moved; another hash is another card. */
static void
a_plan_overtaken_without_being_touched_keeps_its_approval(void **state)
{
	struct fixture *f = *state;
	int64_t id;
	pkg_cleanup_store_job struct store_job before = { 0 };
	pkg_cleanup_store_job struct store_job after = { 0 };

	assert_done(f, complete(f, "install", INSTALL("\"app==1.0\"")));
	id = submit(f, "install", INSTALL("\"tool\""));
	run_job(f, id);
	before = job_of(f, id);
	assert_done(f, complete(f, "install", INSTALL("\"other\"")));
	answer(f, id, true);
	run_job(f, id);
	assert_done(f, id);
	after = job_of(f, id);
	assert_string_equal(before.plan_hash, after.plan_hash);
	assert_int_equal(before.card, after.card);
	assert_true(in_env(f, FAKE_SITE "/other/__init__.py"));
	assert_true(in_env(f, FAKE_SITE "/tool/__init__.py"));
}

static void
a_plan_that_another_change_touched_asks_again(void **state)
{
	struct fixture *f = *state;
	int64_t id;
	pkg_cleanup_store_job struct store_job before = { 0 };
	pkg_cleanup_store_job struct store_job after = { 0 };

	assert_done(f, complete(f, "install", INSTALL("\"tool==1.0\"")));
	id = submit(f, "install", INSTALL("\"shared-a\""));
	run_job(f, id);
	before = job_of(f, id);
	/* Now the path is taken: what was additive is not any more. */
	assert_done(f, complete(f, "install", INSTALL("\"shared-b\"")));
	answer(f, id, true);
	run_job(f, id);
	assert_string_equal(state_of(f, id), "pending");
	after = job_of(f, id);
	assert_string_not_equal(before.plan_hash, after.plan_hash);
	assert_int_not_equal(before.card, after.card);
	answer(f, id, true);
	run_job(f, id);
	assert_done(f, id);
}

static void
a_source_that_turns_out_to_run_at_startup_asks_again(void **state)
{
	struct fixture *f = *state;
	int64_t id;
	pkg_cleanup_store_env struct store_env env = { 0 };

	assert_done(f, complete(f, "install", INSTALL("\"tool\"")));
	id = submit(f, "install", "{\"requirements\":[\"sdist-startup\"],\"source\":true}");
	run_job(f, id);
	answer(f, id, true);
	run_job(f, id);
	assert_string_equal(state_of(f, id), "pending");
	answer(f, id, true);
	run_job(f, id);
	assert_done(f, id);
	env = env_of(f);
	assert_int_equal(env.generation, 2);
}

static void
a_direct_url_without_blanks_may_reach_its_host(void **state)
{
	static const char *const texts[] = { INSTALL("\"tool @ https://host.invalid/tool.whl\""),
		INSTALL("\"tool@https://host.invalid/tool.whl\""),
		INSTALL("\"tool@  https://host.invalid/tool.whl ; x\"") };
	struct fixture *f = *state;

	for (size_t i = 0; i < PKG_ARRAY_LEN(texts); i++) {
		int64_t id = submit(f, "install", texts[i]);

		fake_lang_last_allow = NULL;
		run_job(f, id);
		assert_non_null(fake_lang_last_allow);
		assert_string_equal(fake_lang_last_allow, "ok");
	}
}

static void
a_job_that_does_not_wait_for_a_worker_is_left_alone(void **state)
{
	struct fixture *f = *state;
	int64_t id = submit(f, "install", INSTALL("\"tool\""));

	run_job(f, id);
	assert_string_equal(state_of(f, id), "pending");
	assert_int_equal(install_job_run(&f->home, id, -1, &f->err), -1);
	assert_kind(PKG_E_INVALID);
	assert_string_equal(state_of(f, id), "pending");
	answer(f, id, true);
	run_job(f, id);
	assert_done(f, id);
	pkg_error_clear(&f->err);
	assert_int_equal(install_job_run(&f->home, id, -1, &f->err), -1);
	assert_done(f, id);
}

static void
a_cancel_that_came_before_planning_ends_the_job(void **state)
{
	struct fixture *f = *state;
	int64_t id = submit(f, "install", INSTALL("\"tool\""));
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], "x", 1), 1);
	assert_ok(install_job_run(&f->home, id, ends[0], &f->err));
	assert_string_equal(state_of(f, id), "cancelled");
	close(ends[0]);
	close(ends[1]);
	assert_done(f, complete(f, "install", INSTALL("\"tool\"")));
}

static void
a_bad_configuration_ends_the_job_with_its_reason(void **state)
{
	struct fixture *f = *state;
	pkg_autofree char *path = pkg_path_join(f->home.config, "pkgd.json");
	pkg_cleanup(pkg_json_put) struct json_object *result = NULL;
	int64_t id = submit(f, "install", INSTALL("\"tool\""));

	assert_ok(pkg_file_write(path, "{\"x\":1}", 7, 0600, false, &f->err));
	run_job(f, id);
	result = result_of(f, id);
	assert_string_equal(pkg_json_str(result, "kind"), "invalid-configuration");
}

/* Without a place for its events a job still ends, and is not started for ever. */
static void
a_job_without_a_log_still_ends(void **state)
{
	struct fixture *f = *state;
	int64_t id = submit(f, "install", INSTALL("\"tool\""));
	pkg_autofree char *dir = install_path_job(&f->home, id);

	assert_ok(pkg_file_write(dir, "in the way", 10, 0600, false, &f->err));
	(void)install_job_run(&f->home, id, -1, &f->err);
	assert_string_equal(state_of(f, id), "failed");
}

static void
old_generations_go_but_never_the_one_left_last_or_held(void **state)
{
	struct fixture *f = *state;
	pkg_cleanup(store_close) struct store *store = NULL;
	pkg_cleanup_store_env struct store_env env = { 0 };
	struct store_generation_list list = { 0 };
	struct store_kernel kernel = { .label = (char *)"k" };

	setenv("PKGD_RETENTION_GENERATIONS", "1", 1);
	assert_done(f, complete(f, "install", INSTALL("\"app==1.0\"")));
	env = env_of(f);
	store = open_store(f);
	kernel.env = env.id;
	kernel.generation = 1;
	assert_ok(pkg_identity_of(getpid(), &kernel.process, &f->err));
	assert_ok(store_kernel_insert(store, &kernel, &f->err));
	assert_done(f, complete(f, "install", INSTALL("\"app==1.1\""))); /* 2; 1 is held */
	assert_done(f, complete(f, "install", INSTALL("\"app==1.2\""))); /* 3; 2 is kept */
	assert_done(f, complete(f, "install", INSTALL("\"app==1.3\""))); /* 4; 2 goes */
	assert_done(f, complete(f, "rollback", "{\"generation\":3}"));
	assert_done(
		f, complete(f, "install", INSTALL("\"app==1.4\""))); /* 5; 3 was current: 4 goes */
	unsetenv("PKGD_RETENTION_GENERATIONS");
	assert_ok(store_generation_list(store, env.id, &list, &f->err));
	assert_int_equal(list.count, 5);
	for (size_t i = 0; i < list.count; i++) {
		int64_t number = list.items[i].number;
		pkg_autofree char *tree = install_path_generation(&f->home, env.id, number);
		bool gone = number == 2 || number == 4;

		assert_int_equal(list.items[i].retired, gone);
		assert_int_equal(pkg_file_exists(tree), !gone);
	}
	store_generation_list_clear(&list);
}

/* The database moved away: ids begin again, trees of before stay. */
static void
a_tree_of_another_database_is_never_overwritten(void **state)
{
	struct fixture *f = *state;
	pkg_autofree char *db = pkg_path_join(f->home.state, "state.db");
	pkg_autofree char *old = pkg_path_join(f->home.data, "generations/1/1/" FAKE_SITE "/app");
	pkg_cleanup_store_env struct store_env env = { 0 };

	assert_done(f, complete(f, "install", INSTALL("\"app==1.0\"")));
	assert_int_equal(unlink(db), 0);
	assert_done(f, complete(f, "install", INSTALL("\"tool\"")));
	env = env_of(f);
	assert_int_equal(env.id, 2);
	assert_true(pkg_file_exists(old));
	assert_true(in_env(f, FAKE_SITE "/tool"));
	assert_false(in_env(f, FAKE_SITE "/app"));
}

static void
a_generation_that_the_database_does_not_know_stops_the_change_with_a_cure(void **state)
{
	struct fixture *f = *state;
	pkg_autofree char *stray = pkg_path_join(f->home.data, "generations/1/2/stray");
	pkg_cleanup(pkg_json_put) struct json_object *result = NULL;
	pkg_cleanup_store_env struct store_env env = { 0 };
	int64_t id;

	assert_done(f, complete(f, "install", INSTALL("\"app==1.0\"")));
	assert_ok(pkg_dir_make(stray, 0755, &f->err));
	id = complete(f, "install", INSTALL("\"app==2.0\""));
	result = result_of(f, id);
	assert_string_equal(pkg_json_str(result, "kind"), "path-conflict");
	assert_non_null(strstr(pkg_json_str(result, "message"), "generations/1/2"));
	assert_non_null(strstr(pkg_json_str(result, "cure"), "generations/1/2"));
	assert_true(pkg_file_exists(stray));
	env = env_of(f);
	assert_int_equal(env.generation, 1);
	assert_true(in_env(f, FAKE_SITE "/app/data/1.0.txt"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_HOME(a_first_install_waits_for_its_card_and_then_makes_the_environment),
		WITH_HOME(an_additive_install_is_a_revision_of_the_same_generation),
		WITH_HOME(an_upgrade_is_a_new_generation_and_a_rollback_the_old_one),
		WITH_HOME(removing_a_package_takes_what_needs_it_along),
		WITH_HOME(what_is_there_already_needs_no_card_and_changes_nothing),
		WITH_HOME(a_dry_run_leaves_no_environment_and_no_card),
		WITH_HOME(a_denied_card_leaves_everything_as_it_was),
		WITH_HOME(a_failed_plan_says_its_kind_and_frees_the_environment),
		WITH_HOME(a_package_that_does_not_arrive_fails_the_job_and_changes_nothing),
		WITH_HOME(a_plan_overtaken_without_being_touched_keeps_its_approval),
		WITH_HOME(a_plan_that_another_change_touched_asks_again),
		WITH_HOME(a_source_that_turns_out_to_run_at_startup_asks_again),
		WITH_HOME(a_direct_url_without_blanks_may_reach_its_host),
		WITH_HOME(a_job_that_does_not_wait_for_a_worker_is_left_alone),
		WITH_HOME(a_cancel_that_came_before_planning_ends_the_job),
		WITH_HOME(a_bad_configuration_ends_the_job_with_its_reason),
		WITH_HOME(a_job_without_a_log_still_ends),
		WITH_HOME(old_generations_go_but_never_the_one_left_last_or_held),
		WITH_HOME(a_tree_of_another_database_is_never_overwritten),
		WITH_HOME(
			a_generation_that_the_database_does_not_know_stops_the_change_with_a_cure),
	};

	return cmocka_run_group_tests_name("install_pipeline", tests, NULL, NULL);
}
