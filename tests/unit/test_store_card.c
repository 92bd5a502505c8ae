#include "test_store_common.h"
#include "core/json.h"
#include "core/time.h"

static int64_t
ask(struct store *store, int64_t job, const char *hash, int64_t expires_ms, struct pkg_error *err)
{
	int64_t card;

	return store_card_open(store, job, hash, "{\"changes\":[]}", expires_ms, &card, err) < 0
		? -1
		: card;
}

static int64_t
later(void)
{
	return pkg_time_now_ms() + 3600000;
}

static struct store_answer
yes(void)
{
	return (struct store_answer){ .approve = true, .uid = 1000, .pid = 42, .via = "control" };
}

static struct store_answer
no(void)
{
	return (struct store_answer){
		.uid = 1000, .pid = 42, .via = "page", .message = "not \"this\" week"
	};
}

static enum store_job_state
state_of(struct store *store, int64_t id)
{
	pkg_cleanup_store_job struct store_job job = { 0 };

	return store_job_get(store, id, &job, NULL) < 0 ? STORE_JOB_STATE_COUNT : job.state;
}

static void
assert_card(struct store *store, int64_t id, const char *state)
{
	pkg_cleanup_store_card struct store_card card = { 0 };

	assert_int_equal(store_card_get(store, id, &card, NULL), 0);
	assert_string_equal(card.state, state);
}

static void
a_card_makes_its_job_pending_and_survives_a_restart(void **state)
{
	FIXTURE(state);
	pkg_cleanup_store_card struct store_card card = { 0 };
	pkg_cleanup_store_job struct store_job job = { 0 };
	int64_t expires = later();
	int64_t job_id = make_job(store, "data", err);
	int64_t id = ask(store, job_id, "h1", expires, err);

	assert_true(id > 0);
	store_close(store);
	f->store = store_open(&f->home, err);
	assert_ok(store_card_get(f->store, id, &card, err));
	assert_int_equal(card.job, job_id);
	assert_string_equal(card.plan_hash, "h1");
	assert_string_equal(card.plan, "{\"changes\":[]}");
	assert_string_equal(card.state, "pending");
	assert_int_equal(card.expires_ms, expires);
	assert_int_equal(card.answered_ms, 0);
	assert_int_equal(card.answered_uid, -1);
	assert_null(card.answered_via);
	assert_null(card.message);
	assert_ok(store_job_get(f->store, job_id, &job, err));
	assert_int_equal(job.state, STORE_JOB_PENDING);
	assert_int_equal(job.card, id);
	assert_refused(store_card_get(f->store, 99, &card, err), PKG_E_NOT_FOUND);
}

static void
yes_queues_the_job_with_the_hash_that_was_approved(void **state)
{
	FIXTURE(state);
	pkg_cleanup_store_card struct store_card card = { 0 };
	pkg_cleanup_store_job struct store_job job = { 0 };
	struct store_answer answer = yes();
	int64_t job_id = make_job(store, "data", err);
	int64_t id = ask(store, job_id, "h1", later(), err);

	answer.plan_hash = "h1";
	assert_ok(store_card_answer(store, id, &answer, err));
	assert_ok(store_card_get(store, id, &card, err));
	assert_string_equal(card.state, "approved");
	assert_true(card.answered_ms > 0);
	assert_int_equal(card.answered_uid, 1000);
	assert_int_equal(card.answered_pid, 42);
	assert_string_equal(card.answered_via, "control");
	assert_ok(store_job_get(store, job_id, &job, err));
	assert_int_equal(job.state, STORE_JOB_QUEUED);
	assert_string_equal(job.approved_hash, "h1");
	assert_null(job.result);
}

static void
assert_denied_line(struct store *store, int64_t job_id, const char *kind, const char *message)
{
	static const char *const keys[] = { "type", "job", "status", "kind", "message",
		"environment", "language", "generation", "revision", "additive", "reasons",
		"changes" };
	pkg_cleanup_store_job struct store_job job = { 0 };
	struct json_object *line;

	assert_int_equal(store_job_get(store, job_id, &job, NULL), 0);
	assert_int_equal(job.state, STORE_JOB_DENIED);
	assert_true(job.ended_ms > 0);
	assert_null(strchr(job.result, '\n'));
	line = pkg_json_parse(job.result, strlen(job.result), NULL);
	assert_non_null(line);
	for (size_t i = 0; i < PKG_ARRAY_LEN(keys); i++)
		assert_true(json_object_object_get_ex(line, keys[i], NULL));
	assert_string_equal(pkg_json_str(line, "type"), "result");
	assert_int_equal(pkg_json_int(line, "job", 0), job_id);
	assert_string_equal(pkg_json_str(line, "status"), "denied");
	assert_string_equal(pkg_json_str(line, "kind"), kind);
	assert_non_null(strstr(pkg_json_str(line, "message"), message));
	assert_string_equal(pkg_json_str(line, "environment"), "data");
	assert_int_equal(pkg_json_int(line, "generation", -1), 2);
	assert_int_equal(pkg_json_int(line, "revision", -1), 5);
	pkg_json_put(line);
}

static void
no_ends_the_job_with_a_result_that_carries_the_words(void **state)
{
	FIXTURE(state);
	struct store_answer answer = no();
	int64_t job_id = make_job(store, "data", err);
	int64_t id = ask(store, job_id, "h1", later(), err);

	assert_ok(store_env_set_current(store, make_env(store, "data", err), 2, 5, NULL, err));
	assert_ok(store_card_answer(store, id, &answer, err));
	assert_card(store, id, "denied");
	assert_denied_line(store, job_id, "denied", "uid 1000 (page): not \"this\" week");
}

static void
the_second_answer_is_refused_and_names_the_first(void **state)
{
	FIXTURE(state);
	struct store_answer first = yes();
	struct store_answer second = no();
	int64_t job_id = make_job(store, "data", err);
	int64_t id = ask(store, job_id, "h1", later(), err);

	assert_ok(store_card_answer(store, id, &first, err));
	assert_refused(store_card_answer(store, id, &second, err), PKG_E_ANSWERED);
	assert_says("was approved at 20");
	assert_says("by uid 1000 (process 42, control)");
	assert_card(store, id, "approved");
	assert_int_equal(state_of(store, job_id), STORE_JOB_QUEUED);
	assert_refused(store_card_answer(store, 99, &second, err), PKG_E_NOT_FOUND);
}

static int
race_to_answer(struct fixture *f, int who)
{
	pkg_cleanup_error struct pkg_error err = { 0 };
	struct store *store = store_open(&f->home, NULL);
	struct store_answer answer = who % 2 ? yes() : no();
	int result = store ? store_card_answer(store, 1, &answer, &err) : -1;

	store_close(store);
	return result == 0 ? 0 : err.kind == PKG_E_ANSWERED ? 3 : 9;
}

static void
of_eight_processes_the_first_answer_wins(void **state)
{
	FIXTURE(state);
	int statuses[8];
	bool approved;

	assert_int_equal(ask(store, make_job(store, "data", err), "h", later(), err), 1);
	at_once(8, race_to_answer, f, statuses);
	store = f->store;
	assert_int_equal(count_of(statuses, 8, 0), 1);
	assert_int_equal(count_of(statuses, 8, 3), 7);
	/* Card and job say what the winner said. */
	approved = statuses[1] == 0 || statuses[3] == 0 || statuses[5] == 0 || statuses[7] == 0;
	assert_card(store, 1, approved ? "approved" : "denied");
	assert_int_equal(state_of(store, 1), approved ? STORE_JOB_QUEUED : STORE_JOB_DENIED);
}

static void
an_answer_about_another_plan_is_refused(void **state)
{
	FIXTURE(state);
	struct store_answer answer = yes();
	int64_t job_id = make_job(store, "data", err);
	int64_t id = ask(store, job_id, "h1", later(), err);

	answer.plan_hash = "h2";
	assert_refused(store_card_answer(store, id, &answer, err), PKG_E_ANSWERED);
	assert_says("h1");
	assert_says("h2");
	assert_card(store, id, "pending");
	assert_int_equal(state_of(store, job_id), STORE_JOB_PENDING);
}

static void
an_answer_that_comes_too_late_is_refused_and_the_job_is_over(void **state)
{
	FIXTURE(state);
	struct store_answer answer = yes();
	int64_t job_id = make_job(store, "data", err);
	int64_t id = ask(store, job_id, "h1", pkg_time_now_ms() - 1, err);

	assert_ok(store_env_set_current(store, make_env(store, "data", err), 2, 5, NULL, err));
	for (int i = 0; i < 2; i++) {
		assert_refused(store_card_answer(store, id, &answer, err), PKG_E_EXPIRED);
		assert_says("expired at 20");
		assert_card(store, id, "expired");
		assert_denied_line(store, job_id, "card-expired", "without an answer");
	}
}

static void
expiry_ends_what_is_past_its_time_and_nothing_else(void **state)
{
	FIXTURE(state);
	pkg_cleanup_store_card struct store_card card = { 0 };
	int64_t jobs[4];
	int64_t cards[4];
	static const int64_t times[] = { 1000, 2000, 3000, 0 };

	assert_int_equal(store_card_next_expiry(store, err), 0);
	assert_int_equal(store_card_expire(store, 99999, err), 0);
	for (size_t i = 0; i < PKG_ARRAY_LEN(times); i++) {
		jobs[i] = make_job(store, "data", err);
		cards[i] = ask(store, jobs[i], "h", times[i], err);
	}
	assert_int_equal(store_card_next_expiry(store, err), 1000);
	assert_int_equal(store_card_expire(store, 999, err), 0);
	assert_int_equal(store_card_expire(store, 2000, err), 2);
	assert_int_equal(store_card_expire(store, 2000, err), 0);
	assert_int_equal(store_card_next_expiry(store, err), 3000);
	assert_ok(store_card_get(store, cards[0], &card, err));
	assert_string_equal(card.state, "expired");
	assert_string_equal(card.answered_via, "expiry");
	assert_int_equal(card.answered_uid, -1);
	assert_int_equal(card.answered_ms, 2000);
	assert_int_equal(state_of(store, jobs[1]), STORE_JOB_DENIED);
	assert_int_equal(state_of(store, jobs[2]), STORE_JOB_PENDING);
	/* 0 is never. */
	assert_int_equal(store_card_expire(store, INT64_MAX, err), 1);
	assert_int_equal(store_card_next_expiry(store, err), 0);
	assert_int_equal(state_of(store, jobs[3]), STORE_JOB_PENDING);
	assert_card(store, cards[3], "pending");
}

static void
a_new_plan_supersedes_the_old_question_and_the_old_yes(void **state)
{
	FIXTURE(state);
	pkg_cleanup_store_job struct store_job job = { 0 };
	struct store_answer answer = yes();
	int64_t job_id = make_job(store, "data", err);
	int64_t first = ask(store, job_id, "h1", later(), err);
	int64_t second = ask(store, job_id, "h2", later(), err);
	int64_t third;

	assert_card(store, first, "superseded");
	assert_refused(store_card_answer(store, first, &answer, err), PKG_E_ANSWERED);
	assert_says("superseded");
	assert_ok(store_card_answer(store, second, &answer, err));
	third = ask(store, job_id, "h3", later(), err);
	assert_true(third > second);
	assert_card(store, second, "approved");
	assert_ok(store_job_get(store, job_id, &job, err));
	assert_int_equal(job.card, third);
	assert_null(job.approved_hash);
}

static void
the_end_of_a_job_closes_its_question(void **state)
{
	FIXTURE(state);
	struct store_answer answer = yes();
	int64_t job_id = make_job(store, "data", err);
	int64_t id = ask(store, job_id, "h1", later(), err);

	assert_ok(store_job_end(store, job_id, STORE_JOB_CANCELLED, "{}", err));
	assert_card(store, id, "superseded");
	assert_refused(store_card_answer(store, id, &answer, err), PKG_E_ANSWERED);
	assert_refused(ask(store, job_id, "h2", later(), err), PKG_E_INTERNAL);
	assert_refused(ask(store, 99, "h2", later(), err), PKG_E_NOT_FOUND);
	assert_int_equal(number(store, "SELECT count(*) FROM card"), 1);
	assert_int_equal(state_of(store, job_id), STORE_JOB_CANCELLED);
}

static void
an_answer_to_a_job_that_waits_no_more_changes_nothing(void **state)
{
	FIXTURE(state);
	struct store_answer answers[2] = { yes(), no() };
	int64_t job_id = make_job(store, "data", err);
	int64_t id = ask(store, job_id, "h1", later(), err);

	assert_ok(store_job_set_state(store, job_id, STORE_JOB_PLANNING, err));
	for (int i = 0; i < 2; i++) {
		assert_refused(store_card_answer(store, id, &answers[i], err), PKG_E_ANSWERED);
		assert_says("does not wait");
	}
	assert_card(store, id, "pending");
	assert_int_equal(state_of(store, job_id), STORE_JOB_PLANNING);
	assert_ok(store_card_supersede(store, job_id, err));
	assert_card(store, id, "superseded");
}

static void
question_and_answer_fit_into_one_transaction(void **state)
{
	FIXTURE(state);
	struct store_answer answer = yes();
	struct store_answer wrong = yes();
	int64_t job_id = make_job(store, "data", err);
	int64_t id;

	answer.via = "policy";
	wrong.plan_hash = "other";
	assert_ok(store_begin(store, err));
	id = ask(store, job_id, "h1", later(), err);
	assert_refused(store_card_answer(store, id, &wrong, err), PKG_E_ANSWERED);
	assert_ok(store_card_answer(store, id, &answer, err));
	assert_ok(store_job_set_state(store, job_id, STORE_JOB_FETCHING, err));
	assert_ok(store_audit_add(store, "answer", "{}", err));
	assert_ok(store_commit(store, err));
	assert_card(store, id, "approved");
	assert_int_equal(state_of(store, job_id), STORE_JOB_FETCHING);

	assert_ok(store_begin(store, err));
	assert_true(ask(store, job_id, "h2", later(), err) > id);
	store_rollback(store);
	assert_int_equal(number(store, "SELECT count(*) FROM card"), 1);
	assert_int_equal(state_of(store, job_id), STORE_JOB_FETCHING);
}

static void
lists_are_newest_first_and_by_state(void **state)
{
	FIXTURE(state);
	pkg_cleanup_store_card_list struct store_card_list list = { 0 };
	struct store_answer answer = yes();
	int64_t ids[3];

	for (size_t i = 0; i < PKG_ARRAY_LEN(ids); i++)
		ids[i] = ask(store, make_job(store, "data", err), "h", later(), err);
	assert_ok(store_card_answer(store, ids[1], &answer, err));
	assert_ok(store_card_list(store, NULL, 0, &list, err));
	assert_int_equal(list.count, 3);
	assert_int_equal(list.items[0].id, ids[2]);
	assert_ok(store_card_list(store, "pending", 0, &list, err));
	assert_int_equal(list.count, 2);
	assert_int_equal(list.items[1].id, ids[0]);
	assert_ok(store_card_list(store, "pending", 1, &list, err));
	assert_int_equal(list.count, 1);
	assert_ok(store_card_list(store, "denied", 0, &list, err));
	assert_int_equal(list.count, 0);
}

static void
bad_values_of_a_card_are_refused_by_name(void **state)
{
	FIXTURE(state);
	struct store_answer answer = yes();
	int64_t job_id = make_job(store, "data", err);
	int64_t id = ask(store, job_id, "h1", later(), err);

	answer.via = "shouting";
	assert_refused(store_card_answer(store, id, &answer, err), PKG_E_DATABASE);
	assert_says("card_answered_via");
	answer.via = NULL;
	assert_refused(store_card_answer(store, id, &answer, err), PKG_E_DATABASE);
	assert_refused(ask(store, job_id, "", later(), err), PKG_E_DATABASE);
	assert_says("card_plan_hash");
	assert_card(store, id, "pending");
	assert_int_equal(raw(store, "UPDATE card SET state = 'maybe'"), SQLITE_CONSTRAINT_CHECK);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_STORE(a_card_makes_its_job_pending_and_survives_a_restart),
		WITH_STORE(yes_queues_the_job_with_the_hash_that_was_approved),
		WITH_STORE(no_ends_the_job_with_a_result_that_carries_the_words),
		WITH_STORE(the_second_answer_is_refused_and_names_the_first),
		WITH_STORE(of_eight_processes_the_first_answer_wins),
		WITH_STORE(an_answer_about_another_plan_is_refused),
		WITH_STORE(an_answer_that_comes_too_late_is_refused_and_the_job_is_over),
		WITH_STORE(expiry_ends_what_is_past_its_time_and_nothing_else),
		WITH_STORE(a_new_plan_supersedes_the_old_question_and_the_old_yes),
		WITH_STORE(the_end_of_a_job_closes_its_question),
		WITH_STORE(an_answer_to_a_job_that_waits_no_more_changes_nothing),
		WITH_STORE(question_and_answer_fit_into_one_transaction),
		WITH_STORE(lists_are_newest_first_and_by_state),
		WITH_STORE(bad_values_of_a_card_are_refused_by_name),
	};

	return cmocka_run_group_tests_name("store cards", tests, NULL, NULL);
}
