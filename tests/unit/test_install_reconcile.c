#include "test_install_common.h"
#include "fake_lang.h"
#include "core/identity.h"
#include "core/lock.h"

#define TOOL "{\"requirements\":[\"tool\"]}"

/* "JOB OUTCOME" of every claim told, joined by ", ". */
static char *
reconcile(struct fixture *f)
{
	pkg_cleanup(pkg_json_put) struct json_object *told = install_reconcile(&f->home, &f->err);
	struct json_object *claims = pkg_json_array(told, "claims");
	struct pkg_buf out = { 0 };

	if (told == NULL)
		fail_msg("%s", f->err.message);
	for (size_t i = 0; i < json_object_array_length(claims); i++) {
		struct json_object *row = json_object_array_get_idx(claims, i);

		pkg_buf_addf(&out, "%s%d %s", i > 0 ? ", " : "", (int)pkg_json_int(row, "job", 0),
			pkg_json_str(row, "outcome"));
	}
	return pkg_buf_steal(&out);
}

#define assert_told(f, text)                                                                       \
	do {                                                                                       \
		pkg_autofree char *told_ = reconcile(f);                                           \
		assert_string_equal(told_, text);                                                  \
	} while (0)

static char *
lock_path(struct fixture *f)
{
	return install_path_lock(&f->home, "default", "python", "python");
}

/* A job in this state with a claim of that holder. */
static int64_t
claimed_job(struct fixture *f, enum store_job_state state, const struct pkg_identity *holder)
{
	int64_t id = submit(f, "install", TOOL);
	pkg_cleanup(store_close) struct store *store = open_store(f);
	pkg_cleanup_store_job struct store_job job = job_of(f, id);
	int64_t claim;

	assert_ok(store_claim_take(store, &job, holder, &claim, &f->err));
	if (state != STORE_JOB_QUEUED)
		assert_ok(store_job_set_state(store, id, state, &f->err));
	return id;
}

static struct pkg_identity
gone(void)
{
	struct pkg_identity self;

	assert_int_equal(pkg_identity_of(getpid(), &self, NULL), 0);
	self.start++;
	return self;
}

/* --- who is alive --- */

static void
nothing_to_do_is_told_as_nothing(void **state)
{
	struct fixture *f = *state;

	assert_told(f, "");
	assert_done(f, complete(f, "install", TOOL));
	assert_told(f, "");
}

static void
the_same_number_with_another_start_or_boot_is_another_process(void **state)
{
	struct fixture *f = *state;
	struct pkg_identity holder = gone();
	int64_t id = claimed_job(f, STORE_JOB_PLANNING, &holder);

	assert_told(f, "1 undone");
	assert_string_equal(state_of(f, id), "interrupted");
	assert_int_equal(pkg_identity_of(getpid(), &holder, NULL), 0);
	holder.boot[0] = holder.boot[0] == 'a' ? 'b' : 'a';
	id = claimed_job(f, STORE_JOB_PLANNING, &holder);
	assert_told(f, "2 undone");
	assert_string_equal(state_of(f, id), "interrupted");
	assert_told(f, "");
}

static void
a_process_that_lives_keeps_its_claim(void **state)
{
	struct fixture *f = *state;
	struct pkg_identity self;
	int64_t id;

	assert_int_equal(pkg_identity_of(getpid(), &self, NULL), 0);
	id = claimed_job(f, STORE_JOB_APPLYING, &self);
	assert_told(f, "1 running");
	assert_string_equal(state_of(f, id), "applying");
}

/* A process that cannot be recognised (another name space, say) still has the lock. */
static void
whoever_holds_the_lock_is_at_work_whatever_the_claim_says(void **state)
{
	struct fixture *f = *state;
	struct pkg_identity holder = gone();
	int64_t id = claimed_job(f, STORE_JOB_APPLYING, &holder);
	pkg_autofree char *path = lock_path(f);
	int lock = pkg_lock_take(path, 0, &f->err);

	assert_true(lock >= 0);
	assert_told(f, "1 running");
	assert_string_equal(state_of(f, id), "applying");
	close(lock);
	assert_told(f, "1 undone");
	assert_told(f, "");
}

static void
a_zombie_is_gone(void **state)
{
	struct fixture *f = *state;
	pid_t child = fork();
	struct pkg_identity holder;
	int64_t id;

	if (child == 0) {
		pause();
		_exit(0);
	}
	assert_int_equal(pkg_identity_of(child, &holder, NULL), 0);
	id = claimed_job(f, STORE_JOB_FETCHING, &holder);
	assert_told(f, "1 running");
	assert_int_equal(kill(child, SIGKILL), 0);
	/* WNOWAIT: it has ended and nobody has fetched it. */
	assert_int_equal(waitid(P_PID, (id_t)child, &(siginfo_t){ 0 }, WEXITED | WNOWAIT), 0);
	assert_told(f, "1 undone");
	assert_string_equal(state_of(f, id), "interrupted");
	assert_int_equal(waitpid(child, NULL, 0), child);
}

/* --- how a job ends --- */

static void
a_job_that_was_being_cancelled_ends_as_cancelled(void **state)
{
	struct fixture *f = *state;
	struct pkg_identity holder = gone();
	int64_t id = claimed_job(f, STORE_JOB_BUILDING, &holder);
	pkg_cleanup(store_close) struct store *store = open_store(f);

	assert_ok(store_job_request_cancel(store, id, &f->err));
	assert_told(f, "1 undone");
	assert_string_equal(state_of(f, id), "cancelled");
}

/* Killed between taking its claim and its first phase. */
static void
a_queued_job_with_a_dead_claim_does_not_block_its_environment(void **state)
{
	struct fixture *f = *state;
	struct pkg_identity holder = gone();
	int64_t id = claimed_job(f, STORE_JOB_QUEUED, &holder);

	assert_told(f, "1 undone");
	assert_string_equal(state_of(f, id), "interrupted");
	assert_done(f, complete(f, "install", TOOL));
}

static void
a_claim_that_outlived_its_job_is_told_as_finished(void **state)
{
	struct fixture *f = *state;
	struct pkg_identity holder = gone();
	int64_t id = claimed_job(f, STORE_JOB_VERIFYING, &holder);
	pkg_cleanup(store_close) struct store *store = open_store(f);

	assert_ok(store_job_end(store, id, STORE_JOB_FAILED, "{}", &f->err));
	assert_told(f, "1 finished");
	assert_string_equal(state_of(f, id), "failed");
	assert_told(f, "");
}

static void
an_active_job_without_a_claim_is_ended_unless_somebody_is_at_work(void **state)
{
	struct fixture *f = *state;
	int64_t id = submit(f, "install", TOOL);
	pkg_autofree char *path = lock_path(f);
	int lock = pkg_lock_take(path, 0, &f->err);
	pkg_cleanup(store_close) struct store *store = open_store(f);

	assert_ok(store_job_set_state(store, id, STORE_JOB_PLANNING, &f->err));
	assert_told(f, "");
	assert_string_equal(state_of(f, id), "planning");
	close(lock);
	assert_told(f, "1 undone");
	assert_string_equal(state_of(f, id), "interrupted");
	assert_told(f, "");
}

static void
jobs_that_wait_are_left_alone(void **state)
{
	struct fixture *f = *state;
	int64_t waiting = submit(f, "install", TOOL);
	int64_t queued = submit(f, "install", TOOL);
	pkg_autofree char *staging = install_path_staging(&f->home, waiting);

	run_job(f, waiting);
	assert_told(f, "");
	assert_string_equal(state_of(f, waiting), "pending");
	assert_string_equal(state_of(f, queued), "queued");
	assert_ok(install_clean(&f->home, &f->err));
	assert_true(pkg_file_exists(staging));
	answer(f, waiting, true);
	run_job(f, waiting);
	assert_done(f, waiting);
}

static void
the_end_is_told_to_the_events_and_the_history_once(void **state)
{
	struct fixture *f = *state;
	struct pkg_identity holder = gone();
	pkg_cleanup(store_close) struct store *store = NULL;
	pkg_cleanup_store_env struct store_env env = { 0 };
	pkg_cleanup_store_history_list struct store_history_list history = { 0 };
	pkg_cleanup_buf struct pkg_buf text = { 0 };
	pkg_cleanup(pkg_json_put) struct json_object *result = NULL;
	int64_t id;

	assert_done(f, complete(f, "install", TOOL));
	id = claimed_job(f, STORE_JOB_APPLYING, &holder);
	assert_told(f, "2 undone");
	assert_told(f, "");
	text = events_of(f, id);
	assert_int_equal(times_in(pkg_buf_str(&text), "\"type\":\"result\""), 1);
	result = result_of(f, id);
	assert_string_equal(pkg_json_str(result, "status"), "interrupted");
	assert_string_equal(pkg_json_str(result, "kind"), "interrupted");
	assert_non_null(strstr(pkg_json_str(result, "message"), "applying"));
	store = open_store(f);
	env = env_of(f);
	assert_ok(store_history_list(store, env.id, 0, 10, &history, &f->err));
	assert_int_equal(history.count, 2);
	assert_string_equal(history.items[0].result, "interrupted");
}

/* --- workers that are really there --- */

#ifdef PKGD_FAULT_POINTS
/* Starts the approved job in a process that stops or dies at a point. */
static pid_t
start_worker(struct fixture *f, int64_t job, const char *point, const char *action)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		setenv("PKGD_FAULT", point, 1);
		setenv("PKGD_FAULT_ACTION", action, 1);
		_exit(install_job_run(&f->home, job, -1, NULL) < 0);
	}
	assert_int_equal(waitpid(child, &status, WUNTRACED), child);
	return child;
}

static int64_t
approved_job(struct fixture *f, const char *request)
{
	int64_t id = submit(f, "install", request);

	run_job(f, id);
	answer(f, id, true);
	return id;
}

static void
a_worker_in_the_middle_of_its_commit_is_not_disturbed(void **state)
{
	struct fixture *f = *state;
	int64_t id = approved_job(f, TOOL);
	pid_t worker = start_worker(f, id, "commit-step", "stop");
	int status;

	assert_told(f, "1 running");
	assert_false(in_env(f, FAKE_SITE "/tool"));
	assert_int_equal(kill(worker, SIGCONT), 0);
	assert_int_equal(waitpid(worker, &status, 0), worker);
	assert_int_equal(status, 0);
	assert_done(f, id);
	assert_told(f, "");
}

static void
a_worker_that_is_killed_is_running_then_undone_once(void **state)
{
	struct fixture *f = *state;
	int64_t id = approved_job(f, TOOL);
	pid_t worker = start_worker(f, id, "apply-dist", "stop");
	pkg_autofree char *staging = install_path_staging(&f->home, id);

	assert_told(f, "1 running");
	assert_true(pkg_file_exists(staging));
	assert_int_equal(kill(worker, SIGKILL), 0);
	assert_int_equal(waitpid(worker, NULL, 0), worker);
	assert_told(f, "1 undone");
	assert_told(f, "");
	assert_false(pkg_file_exists(staging));
	assert_done(f, complete(f, "install", TOOL));
}

/* However late it was killed: a job that ended does not keep its environment from everybody. */
static void
a_job_that_ended_has_no_claim_left(void **state)
{
	struct fixture *f = *state;
	size_t ended = 0;

	for (int pass = 1; pass <= 8; pass++) {
		pkg_cleanup(store_close) struct store *store = NULL;
		pkg_cleanup_store_claim_list struct store_claim_list claims = { 0 };
		pkg_autofree char *point = pkg_xasprintf("store-committed:%d", pass);
		pkg_autofree char *told = NULL;
		int64_t id = submit(f, "install", "{\"requirements\":[\"missing\"]}");

		(void)start_worker(f, id, point, "kill");
		store = open_store(f);
		assert_ok(store_claim_unfinished(store, &claims, &f->err));
		if (strcmp(state_of(f, id), "failed") == 0) {
			assert_int_equal(claims.count, 0);
			ended++;
		}
		told = reconcile(f);
	}
	assert_true(ended > 0);
}

static void
another_job_of_the_environment_waits_for_the_dead_one_to_be_settled(void **state)
{
	struct fixture *f = *state;
	int64_t id = approved_job(f, TOOL);
	int64_t next = submit(f, "install", "{\"requirements\":[\"other\"]}");

	(void)start_worker(f, id, "commit-journalled", "kill");
	run_job(f, next);
	assert_string_equal(state_of(f, next), "queued");
	assert_told(f, "1 finished");
	assert_done(f, id);
	run_job(f, next);
	assert_string_equal(state_of(f, next), "pending");
}

static void
a_decided_change_that_cannot_be_made_is_undone_and_told_once(void **state)
{
	struct fixture *f = *state;
	pkg_autofree char *stray =
		pkg_path_join(f->home.data, "generations/1/1/" FAKE_SITE "/other");
	pkg_cleanup(pkg_json_put) struct json_object *result = NULL;
	int64_t id;

	assert_done(f, complete(f, "install", TOOL));
	id = approved_job(f, "{\"requirements\":[\"another\",\"other\"]}");
	(void)start_worker(f, id, "commit-journalled", "kill");
	assert_ok(pkg_file_write(stray, "x", 1, 0644, false, &f->err));
	assert_told(f, "2 failed");
	assert_told(f, "");
	assert_false(in_env(f, FAKE_SITE "/another"));
	assert_true(pkg_file_exists(stray));
	assert_string_equal(state_of(f, id), "interrupted");
	result = result_of(f, id);
	assert_string_equal(pkg_json_str(result, "kind"), "path-conflict");
	assert_int_equal(unlink(stray), 0);
	assert_done(f, complete(f, "install", "{\"requirements\":[\"another\",\"other\"]}"));
}

static void
what_is_current_is_checked_where_something_was_settled(void **state)
{
	struct fixture *f = *state;
	pkg_autofree char *file =
		pkg_path_join(f->home.data, "generations/1/1/" FAKE_SITE "/tool/__init__.py");
	pkg_cleanup(pkg_json_put) struct json_object *told = NULL;
	struct json_object *row;

	assert_done(f, complete(f, "install", TOOL));
	(void)start_worker(f, approved_job(f, "{\"requirements\":[\"other\"]}"), "verify", "kill");
	assert_int_equal(unlink(file), 0);
	told = install_reconcile(&f->home, &f->err);
	row = json_object_array_get_idx(pkg_json_array(told, "checked"), 0);
	assert_non_null(row);
	assert_false(pkg_json_bool(row, "ok", true));
	assert_non_null(strstr(pkg_json_str(row, "message"), "tool/__init__.py"));
}
#endif

/* --- cleaning --- */

static void
cleaning_takes_trash_and_ended_staging_and_nothing_in_use(void **state)
{
	static const struct {
		const char *path;
		bool stays;
	} rows[] = {
		{ "trash/1-2-3", false },
		{ "staging/999", false },
		{ "staging/stray", false },
		{ "staging/12x", false },
		{ "staging/interpreters-999999999", false },
		{ "generations/1/1", true },
		{ "envs/x", true },
	};
	struct fixture *f = *state;
	pkg_autofree char *mine =
		pkg_path_joinf(f->home.data, "staging/interpreters-%d", (int)getpid());

	assert_ok(pkg_dir_make(mine, 0755, &f->err));
	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		pkg_autofree char *path = pkg_path_joinf(f->home.data, "%s/a/b", rows[i].path);

		assert_ok(pkg_dir_make(path, 0755, &f->err));
	}
	assert_ok(install_clean(&f->home, &f->err));
	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		pkg_autofree char *path = pkg_path_join(f->home.data, rows[i].path);

		if (pkg_file_exists(path) != rows[i].stays)
			fail_msg("%s", rows[i].path);
	}
	assert_true(pkg_file_exists(mine));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_HOME(nothing_to_do_is_told_as_nothing),
		WITH_HOME(the_same_number_with_another_start_or_boot_is_another_process),
		WITH_HOME(a_process_that_lives_keeps_its_claim),
		WITH_HOME(whoever_holds_the_lock_is_at_work_whatever_the_claim_says),
		WITH_HOME(a_zombie_is_gone),
		WITH_HOME(a_job_that_was_being_cancelled_ends_as_cancelled),
		WITH_HOME(a_queued_job_with_a_dead_claim_does_not_block_its_environment),
		WITH_HOME(a_claim_that_outlived_its_job_is_told_as_finished),
		WITH_HOME(an_active_job_without_a_claim_is_ended_unless_somebody_is_at_work),
		WITH_HOME(jobs_that_wait_are_left_alone),
		WITH_HOME(the_end_is_told_to_the_events_and_the_history_once),
#ifdef PKGD_FAULT_POINTS
		WITH_HOME(a_worker_in_the_middle_of_its_commit_is_not_disturbed),
		WITH_HOME(a_worker_that_is_killed_is_running_then_undone_once),
		WITH_HOME(a_job_that_ended_has_no_claim_left),
		WITH_HOME(another_job_of_the_environment_waits_for_the_dead_one_to_be_settled),
		WITH_HOME(a_decided_change_that_cannot_be_made_is_undone_and_told_once),
		WITH_HOME(what_is_current_is_checked_where_something_was_settled),
#endif
		WITH_HOME(cleaning_takes_trash_and_ended_staging_and_nothing_in_use),
	};

	return cmocka_run_group_tests_name("install_reconcile", tests, NULL, NULL);
}
