#include "test_store_common.h"

/* ---- States ---- */

static void
every_state_has_a_name_that_parses_back_and_fits_the_schema(void **state)
{
	FIXTURE(state);

	for (int i = 0; i < STORE_JOB_STATE_COUNT; i++) {
		enum store_job_state in = (enum store_job_state)i;
		enum store_job_state out = STORE_JOB_STATE_COUNT;
		int64_t id = make_job(store, "data", err);

		assert_int_equal(store_job_state_parse(store_job_state_name(in), &out), 0);
		assert_int_equal(out, in);
		if (store_job_state_ended(in))
			assert_ok(store_job_end(store, id, in, "{}", err));
		else
			assert_ok(store_job_set_state(store, id, in, err));
	}
	assert_true(store_job_state_ended(STORE_JOB_DENIED));
	assert_false(store_job_state_ended(STORE_JOB_PENDING));
}

static void
text_that_is_no_state_does_not_parse(PKG_UNUSED void **state)
{
	static const char *const texts[] = { "", "DONE", "done ", "unknown", NULL };
	enum store_job_state out = STORE_JOB_PENDING;

	for (size_t i = 0; i < PKG_ARRAY_LEN(texts); i++)
		assert_int_equal(store_job_state_parse(texts[i], &out), -1);
	assert_int_equal(out, STORE_JOB_PENDING);
}

static void
a_state_that_the_schema_does_not_know_is_refused(void **state)
{
	FIXTURE(state);
	int64_t id = make_job(store, "data", err);
	struct store_job job = plain_job("data");

	assert_refused(
		store_job_set_state(store, id, (enum store_job_state)99, err), PKG_E_DATABASE);
	assert_says("job_state");
	job.state = (enum store_job_state) - 1;
	assert_refused(store_job_insert(store, &job, err), PKG_E_DATABASE);
	assert_says("job_state");
	assert_int_equal(number(store, "SELECT state = 'queued' FROM job"), 1);
}

static void
bad_values_of_a_job_are_refused_by_name(void **state)
{
	FIXTURE(state);
	struct store_job cases[5];
	static const char *const fields[] = { "job_action", "job_language", "job_environment",
		"job_request", "job_idempotency_key" };

	for (size_t i = 0; i < PKG_ARRAY_LEN(cases); i++)
		cases[i] = plain_job("data");
	cases[0].action = (char *)"explode";
	cases[1].language = (char *)"perl";
	cases[2].environment = (char *)"";
	cases[3].request = (char *)"{\"a\":";
	cases[4].idempotency_key = (char *)"";
	for (size_t i = 0; i < PKG_ARRAY_LEN(cases); i++) {
		assert_refused(store_job_insert(store, &cases[i], err), PKG_E_DATABASE);
		assert_says(fields[i]);
	}
	assert_int_equal(number(store, "SELECT count(*) FROM job"), 0);
}

/* ---- Life of a job ---- */

static void
a_job_comes_back_as_it_went_in(void **state)
{
	FIXTURE(state);
	pkg_cleanup_store_job struct store_job out = { 0 };
	struct store_job in = plain_job("data");

	in.request = (char *)"{\"install\":[\"numpy\"]}";
	in.requester.program = (char *)"python3";
	in.requester.reason = (char *)"to count";
	assert_ok(store_job_insert(store, &in, err));
	assert_true(in.id > 0 && in.created_ms > 0);
	assert_ok(store_job_get(store, in.id, &out, err));
	assert_string_equal(out.action, "install");
	assert_string_equal(out.request, in.request);
	assert_int_equal(out.state, STORE_JOB_QUEUED);
	assert_int_equal(out.requester.uid, 7);
	assert_int_equal(out.requester.pid, 8);
	assert_string_equal(out.requester.program, "python3");
	assert_string_equal(out.requester.label, "agent");
	assert_string_equal(out.requester.reason, "to count");
	assert_int_equal(out.created_ms, in.created_ms);
	assert_int_equal(out.ended_ms, 0);
	assert_null(out.plan);
	assert_null(out.plan_hash);
	assert_null(out.approved_hash);
	assert_null(out.result);
	assert_null(out.idempotency_key);
	assert_false(out.cancel_requested);
	assert_refused(store_job_get(store, 99, &out, err), PKG_E_NOT_FOUND);
	assert_int_equal(out.id, in.id);
}

static void
a_plan_is_kept_and_replaced(void **state)
{
	FIXTURE(state);
	pkg_cleanup_store_job struct store_job job = { 0 };
	int64_t id = make_job(store, "data", err);

	assert_ok(store_job_set_plan(store, id, "{\"n\":1}", "h1", 1, 0, err));
	assert_ok(store_job_set_plan(store, id, "{\"n\":2}", "h2", 3, 4, err));
	assert_ok(store_job_request_cancel(store, id, err));
	assert_ok(store_job_get(store, id, &job, err));
	assert_string_equal(job.plan, "{\"n\":2}");
	assert_string_equal(job.plan_hash, "h2");
	assert_int_equal(job.plan_generation, 3);
	assert_int_equal(job.plan_revision, 4);
	assert_true(job.cancel_requested);
	assert_refused(store_job_set_plan(store, id, "{", "h3", 1, 0, err), PKG_E_DATABASE);
	assert_ok(store_job_get(store, id, &job, err));
	assert_string_equal(job.plan_hash, "h2");
	assert_refused(store_job_set_plan(store, 99, "{}", "h", 1, 0, err), PKG_E_NOT_FOUND);
}

static void
nothing_moves_a_job_that_has_ended(void **state)
{
	FIXTURE(state);
	pkg_cleanup_store_job struct store_job job = { 0 };
	int64_t id = make_job(store, "data", err);

	assert_ok(store_job_set_behind(store, id, 4, err));
	assert_refused(store_job_set_state(store, id, STORE_JOB_DONE, err), PKG_E_INTERNAL);
	assert_refused(store_job_end(store, id, STORE_JOB_PENDING, "{}", err), PKG_E_INTERNAL);
	assert_refused(store_job_end(store, id, STORE_JOB_DONE, NULL, err), PKG_E_INTERNAL);
	assert_refused(store_job_end(store, id, STORE_JOB_DONE, "{", err), PKG_E_DATABASE);
	assert_ok(store_job_end(store, id, STORE_JOB_CANCELLED, "{\"a\":1}", err));
	assert_refused(store_job_end(store, id, STORE_JOB_DONE, "{}", err), PKG_E_INTERNAL);
	assert_says("has ended already: cancelled");
	assert_refused(store_job_set_state(store, id, STORE_JOB_QUEUED, err), PKG_E_INTERNAL);
	assert_refused(store_job_set_plan(store, id, "{}", "h", 1, 0, err), PKG_E_INTERNAL);
	assert_refused(store_job_set_behind(store, id, 1, err), PKG_E_INTERNAL);
	assert_refused(store_job_request_cancel(store, id, err), PKG_E_INVALID);
	assert_refused(store_job_set_state(store, 99, STORE_JOB_QUEUED, err), PKG_E_NOT_FOUND);
	assert_ok(store_job_get(store, id, &job, err));
	assert_int_equal(job.state, STORE_JOB_CANCELLED);
	assert_string_equal(job.result, "{\"a\":1}");
	assert_true(job.ended_ms > 0);
	assert_int_equal(job.behind, 0);
	assert_false(job.cancel_requested);
}

static void
the_same_key_by_the_same_user_is_the_same_job(void **state)
{
	FIXTURE(state);
	struct store_job first = plain_job("data");
	struct store_job again = plain_job("other");
	struct store_job stranger = plain_job("data");

	first.idempotency_key = again.idempotency_key = stranger.idempotency_key = (char *)"k";
	stranger.requester.uid = 8;
	assert_ok(store_job_insert(store, &first, err));
	assert_refused(store_job_insert(store, &again, err), PKG_E_EXISTS);
	assert_int_equal(again.id, first.id);
	assert_ok(store_job_insert(store, &stranger, err));
	assert_true(stranger.id != first.id);
	/* Without a key all are different. */
	assert_true(make_job(store, "data", err) != make_job(store, "data", err));
}

static void
lists_are_newest_first_and_paged(void **state)
{
	FIXTURE(state);
	pkg_cleanup_store_job_list struct store_job_list list = { 0 };
	int64_t ids[5];

	for (size_t i = 0; i < PKG_ARRAY_LEN(ids); i++)
		ids[i] = make_job(store, "data", err);
	assert_ok(store_job_set_plan(store, ids[4], "{\"n\":2}", "h2", 3, 4, err));
	assert_ok(store_job_end(store, ids[3], STORE_JOB_DONE, "{}", err));
	assert_ok(store_job_list(store, false, 0, 2, &list, err));
	assert_int_equal(list.count, 2);
	assert_int_equal(list.items[0].id, ids[4]);
	assert_string_equal(list.items[0].plan, "{\"n\":2}");
	assert_int_equal(list.items[1].id, ids[3]);
	assert_ok(store_job_list(store, false, ids[3], 2, &list, err));
	assert_int_equal(list.items[0].id, ids[2]);
	assert_ok(store_job_list(store, true, 0, 0, &list, err));
	assert_int_equal(list.count, 4);
	assert_int_equal(list.items[1].id, ids[2]);
	assert_ok(store_job_list(store, true, ids[1], 0, &list, err));
	assert_int_equal(list.count, 1);
}

/* ---- Claims ---- */

static struct pkg_identity
self(void)
{
	struct pkg_identity me = { 0 };

	(void)pkg_identity_of(getpid(), &me, NULL);
	return me;
}

static int64_t
claim_for(struct store *store, int64_t job_id, struct pkg_error *err)
{
	pkg_cleanup_store_job struct store_job job = { 0 };
	struct pkg_identity me = self();
	int64_t claim;

	if (store_job_get(store, job_id, &job, err) < 0 ||
		store_claim_take(store, &job, &me, &claim, err) < 0)
		return -1;
	return claim;
}

static void
a_claim_lives_from_take_to_end_and_stays_as_history(void **state)
{
	FIXTURE(state);
	pkg_cleanup_store_claim_list struct store_claim_list list = { 0 };
	struct pkg_identity me = self();
	int64_t job = make_job(store, "data", err);
	int64_t claim = claim_for(store, job, err);

	assert_true(claim > 0);
	assert_ok(store_claim_phase(store, claim, "building", err));
	assert_refused(store_claim_phase(store, claim, "sleeping", err), PKG_E_DATABASE);
	assert_ok(store_claim_unfinished(store, &list, err));
	assert_int_equal(list.count, 1);
	assert_int_equal(list.items[0].id, claim);
	assert_int_equal(list.items[0].job, job);
	assert_string_equal(list.items[0].environment, "data");
	assert_string_equal(list.items[0].phase, "building");
	assert_int_equal(list.items[0].holder.pid, me.pid);
	assert_true(list.items[0].holder.start == me.start);
	assert_string_equal(list.items[0].holder.boot, me.boot);
	assert_true(pkg_identity_alive(&list.items[0].holder));
	assert_int_equal(list.items[0].ended_ms, 0);
	assert_null(list.items[0].outcome);
	assert_refused(store_claim_end(store, claim, "unknown", err), PKG_E_DATABASE);
	assert_refused(store_claim_end(store, claim, NULL, err), PKG_E_DATABASE);
	assert_ok(store_claim_end(store, claim, "interrupted", err));
	/* Once: whoever comes second finds it settled (BEHAVIOURS T74). */
	assert_refused(store_claim_end(store, claim, "undone", err), PKG_E_NOT_FOUND);
	assert_refused(store_claim_phase(store, claim, "done", err), PKG_E_NOT_FOUND);
	assert_ok(store_claim_unfinished(store, &list, err));
	assert_int_equal(list.count, 0);
	assert_int_equal(number(store, "SELECT outcome = 'interrupted' FROM claim"), 1);
	assert_true(claim_for(store, job, err) > claim);
}

static void
a_start_token_beyond_63_bits_survives(void **state)
{
	FIXTURE(state);
	pkg_cleanup_store_claim_list struct store_claim_list list = { 0 };
	struct pkg_identity holder = { .pid = 1, .start = UINT64_MAX - 3, .boot = "b" };
	struct store_job job = plain_job("data");
	int64_t claim;

	assert_ok(store_job_insert(store, &job, err));
	assert_ok(store_claim_take(store, &job, &holder, &claim, err));
	assert_ok(store_claim_unfinished(store, &list, err));
	assert_true(list.items[0].holder.start == UINT64_MAX - 3);
}

static void
a_second_claim_is_refused_and_names_the_first(void **state)
{
	FIXTURE(state);
	int64_t first = make_job(store, "data", err);
	int64_t second = make_job(store, "DATA", err);
	int64_t elsewhere = make_job(store, "other", err);
	char job_text[32];

	(void)snprintf(job_text, sizeof(job_text), "job %d ", (int)first);
	assert_true(claim_for(store, first, err) > 0);
	assert_true(claim_for(store, elsewhere, err) > 0);
	/* The case-folded twin as well: both would create the same environment. */
	assert_refused(claim_for(store, second, err), PKG_E_BUSY);
	assert_says(job_text);
	assert_says("is working");
	assert_null(err->cure);
}

static void
a_claim_of_a_dead_process_is_refused_too_and_says_what_to_do(void **state)
{
	FIXTURE(state);
	struct pkg_identity reused = self();
	struct store_job job = plain_job("data");
	int64_t claim;

	/* The pid lives, but it is not that process any more (BEHAVIOURS T72). */
	reused.start++;
	assert_ok(store_job_insert(store, &job, err));
	assert_ok(store_claim_take(store, &job, &reused, &claim, err));
	assert_refused(claim_for(store, job.id, err), PKG_E_BUSY);
	assert_says("is gone");
	assert_string_equal(err->cure, "run: pkg reconcile");
}

static int
race_for_claim(struct fixture *f, PKG_UNUSED int number_)
{
	pkg_cleanup_error struct pkg_error err = { 0 };
	struct store *store = store_open(&f->home, NULL);
	int64_t claim = store ? claim_for(store, 1, &err) : -1;

	store_close(store);
	return claim > 0 ? 0 : err.kind == PKG_E_BUSY ? 3 : 9;
}

static void
of_eight_processes_exactly_one_gets_the_claim(void **state)
{
	FIXTURE(state);
	int statuses[8];

	assert_int_equal(make_job(store, "data", err), 1);
	at_once(8, race_for_claim, f, statuses);
	store = f->store;
	assert_int_equal(count_of(statuses, 8, 0), 1);
	assert_int_equal(count_of(statuses, 8, 3), 7);
	assert_int_equal(number(store, "SELECT count(*) FROM claim"), 1);
}

/* ---- What may run ---- */

static void
one_job_per_environment_may_run_and_the_rest_stand_behind_it(void **state)
{
	FIXTURE(state);
	pkg_cleanup_store_job_list struct store_job_list list = { 0 };
	int64_t a1 = make_job(store, "a", err);
	int64_t a2 = make_job(store, "A", err);
	int64_t b1 = make_job(store, "b", err);
	int64_t a3 = make_job(store, "a", err);
	int64_t claim;

	assert_ok(store_job_runnable(store, &list, err));
	assert_int_equal(list.count, 2);
	assert_int_equal(list.items[0].id, a1);
	assert_int_equal(list.items[1].id, b1);
	assert_int_equal(number(store, "SELECT behind FROM job WHERE id = 2"), a1);
	assert_int_equal(number(store, "SELECT behind FROM job WHERE id = 4"), a1);
	assert_int_equal(number(store, "SELECT behind FROM job WHERE id = 3"), 0);

	/* The second is working there: the first, queued again, stands behind it. */
	claim = claim_for(store, a2, err);
	assert_ok(store_job_set_state(store, a2, STORE_JOB_PLANNING, err));
	assert_ok(store_job_runnable(store, &list, err));
	assert_int_equal(list.count, 1);
	assert_int_equal(list.items[0].id, b1);
	assert_int_equal(number(store, "SELECT behind FROM job WHERE id = 1"), a2);
	assert_int_equal(number(store, "SELECT behind FROM job WHERE id = 4"), a2);

	/* A job that waits for a card holds nothing up. */
	assert_ok(store_job_set_state(store, a2, STORE_JOB_PENDING, err));
	assert_ok(store_claim_end(store, claim, "finished", err));
	assert_ok(store_job_end(store, b1, STORE_JOB_DONE, "{}", err));
	assert_ok(store_job_runnable(store, &list, err));
	assert_int_equal(list.count, 1);
	assert_int_equal(list.items[0].id, a1);
	assert_ok(store_job_end(store, a1, STORE_JOB_CANCELLED, "{}", err));
	assert_ok(store_job_runnable(store, &list, err));
	assert_int_equal(list.count, 1);
	assert_int_equal(list.items[0].id, a3);
	assert_int_equal(list.items[0].behind, 0);
}

static void
an_environment_of_the_other_language_is_another(void **state)
{
	FIXTURE(state);
	pkg_cleanup_store_job_list struct store_job_list list = { 0 };
	struct store_job r = plain_job("a");
	int64_t python = make_job(store, "a", err);

	r.language = (char *)"r";
	assert_ok(store_job_insert(store, &r, err));
	assert_true(claim_for(store, python, err) > 0);
	assert_ok(store_job_runnable(store, &list, err));
	assert_int_equal(list.count, 1);
	assert_int_equal(list.items[0].id, r.id);
}

static void
asking_what_may_run_writes_nothing_when_nothing_moved(void **state)
{
	FIXTURE(state);
	pkg_cleanup_store_job_list struct store_job_list list = { 0 };
	int64_t before;

	assert_true(make_job(store, "a", err) > 0);
	assert_true(make_job(store, "a", err) > 0);
	assert_ok(store_job_runnable(store, &list, err));
	before = number(store, "SELECT total_changes()");
	for (int i = 0; i < 3; i++)
		assert_ok(store_job_runnable(store, &list, err));
	assert_int_equal(number(store, "SELECT total_changes()"), before);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_STORE(every_state_has_a_name_that_parses_back_and_fits_the_schema),
		cmocka_unit_test(text_that_is_no_state_does_not_parse),
		WITH_STORE(a_state_that_the_schema_does_not_know_is_refused),
		WITH_STORE(bad_values_of_a_job_are_refused_by_name),
		WITH_STORE(a_job_comes_back_as_it_went_in),
		WITH_STORE(a_plan_is_kept_and_replaced),
		WITH_STORE(nothing_moves_a_job_that_has_ended),
		WITH_STORE(the_same_key_by_the_same_user_is_the_same_job),
		WITH_STORE(lists_are_newest_first_and_paged),
		WITH_STORE(a_claim_lives_from_take_to_end_and_stays_as_history),
		WITH_STORE(a_start_token_beyond_63_bits_survives),
		WITH_STORE(a_second_claim_is_refused_and_names_the_first),
		WITH_STORE(a_claim_of_a_dead_process_is_refused_too_and_says_what_to_do),
		WITH_STORE(of_eight_processes_exactly_one_gets_the_claim),
		WITH_STORE(one_job_per_environment_may_run_and_the_rest_stand_behind_it),
		WITH_STORE(an_environment_of_the_other_language_is_another),
		WITH_STORE(asking_what_may_run_writes_nothing_when_nothing_moved),
	};

	return cmocka_run_group_tests_name("store jobs", tests, NULL, NULL);
}
