#include "test_daemon_common.h"
#include "daemon/routes.h"

#define TOOL "{\"action\":\"install\",\"requirements\":[\"tool\"]}"

/* --- the table --- */

static void
every_row_is_well_formed_and_stands_once(PKG_UNUSED void **state)
{
	for (size_t i = 0; i < route_count; i++) {
		size_t stars = times_in(routes[i].path, "*");

		assert_true(strncmp(routes[i].path, "/v1/", 4) == 0);
		assert_non_null(routes[i].handler);
		assert_true(stars <= PKG_ARRAY_LEN(((struct http_request *)0)->params));
		for (size_t k = 0; k < i; k++)
			assert_false(strcmp(routes[i].path, routes[k].path) == 0 &&
				strcmp(routes[i].method, routes[k].method) == 0);
	}
}

/* What changes settings or answers cards is not for who asks. */
static void
routes_of_control_are_refused_on_the_ask_socket(void **state)
{
	struct served *s = *state;
	size_t refused = 0;

	for (size_t i = 0; i < route_count; i++) {
		pkg_autofree char *path = pkg_xstrdup(routes[i].path);
		AUTO_REPLY reply = { 0 };

		if (!routes[i].control)
			continue;
		for (char *p = path; *p != '\0'; p++)
			*p = *p == '*' ? '1' : *p;
		reply = request_on(s, false, routes[i].method, path, NULL, NULL);
		assert_int_equal(reply.status, 403);
		assert_string_equal(pkg_json_str(reply.result, "kind"), "forbidden");
		refused++;
	}
	assert_true(refused >= 4);
	{
		AUTO_REPLY reply = request_on(s, true, "POST", "/v1/reconcile", NULL, NULL);

		assert_int_equal(reply.status, 200);
		assert_non_null(pkg_json_array(reply.result, "claims"));
	}
}

static void
what_is_not_there_is_404_and_what_is_not_possible_405(void **state)
{
	static const struct {
		const char *method, *path;
		int status;
	} rows[] = {
		{ "GET", "/", 404 },
		{ "GET", "/v1", 404 },
		{ "GET", "/v1/", 404 },
		{ "GET", "/v2/system", 404 },
		{ "GET", "/v1/system/", 404 },
		{ "GET", "/v1/jobs/", 404 },
		{ "GET", "/v1/jobs/1/events/2", 404 },
		{ "GET", "/v1/environments/a/b", 404 },
		{ "GET", "/v1/jobs/1", 404 }, /* in a row, but no such job */
		{ "GET", "/v1/jobs/1x", 404 },
		{ "GET", "/v1/jobs/-1", 404 },
		{ "GET", "/v1/cards/99999999999999999999", 404 },
		{ "GET", "/v1/environments/default/python/python", 404 },
		{ "GET", "/v1/environments/..%2f../python/python", 404 },
		{ "GET", "/v1/environments/a/julia/x", 400 },
		{ "DELETE", "/v1/kernels/7", 404 },
		{ "POST", "/v1/system", 405 },
		{ "DELETE", "/v1/jobs", 405 },
		{ "PUT", "/v1/cards/1", 405 },
		{ "GET", "/v1/system", 200 },
		{ "GET", "/v1/config", 200 },
		{ "GET", "/v1/jobs", 200 },
		{ "GET", "/v1/cards", 200 },
		{ "GET", "/v1/environments", 200 },
		{ "GET", "/v1/kernels", 200 },
		{ "GET", "/v1/sandbox", 200 },
	};
	struct served *s = *state;

	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		AUTO_REPLY reply = request_on(s, false, rows[i].method, rows[i].path, NULL, NULL);

		if (reply.status != rows[i].status)
			fail_msg("%s %s: %s", rows[i].method, rows[i].path, reply.text.data);
		assert_int_equal(pkg_json_int(reply.json, "status", 0), rows[i].status);
		if (rows[i].status >= 400)
			assert_string_equal(pkg_json_str(reply.json, "type"), "error");
		if (rows[i].status == 405)
			assert_non_null(strstr(reply.text.data, "\r\nAllow: "));
	}
}

static void
a_path_with_several_methods_names_them_all(void **state)
{
	struct served *s = *state;
	AUTO_REPLY reply = request_on(s, false, "PATCH", "/v1/jobs", NULL, NULL);

	assert_int_equal(reply.status, 405);
	assert_non_null(strstr(reply.text.data, "\r\nAllow: POST, GET\r\n"));
}

/* --- requests for a change --- */

static void
a_request_that_can_only_fail_makes_no_job(void **state)
{
	static const struct {
		const char *body;
		int status;
		const char *says;
	} rows[] = {
		{ "", 400, "JSON object" },
		{ "{", 400, "line 1" },
		{ "[]", 400, "not a JSON object" },
		{ "{}", 400, "action" },
		{ "{\"action\":\"explode\"}", 400, "explode" },
		{ "{\"action\":\"install\"}", 400, "no package was named" },
		{ "{\"action\":\"install\",\"requirements\":[]}", 400, "no package was named" },
		{ "{\"action\":\"install\",\"requirements\":\"tool\"}", 400,
			"requirements: array" },
		{ "{\"action\":\"install\",\"requirements\":[7]}", 400, "requirements" },
		{ "{\"action\":\"install\",\"requirements\":[\"--index-url=x\"]}", 400,
			"not a requirement" },
		{ "{\"action\":\"install\",\"requirments\":[\"tool\"]}", 400, "did you mean" },
		{ "{\"action\":\"install\",\"requirements\":[\"tool\"],\"source\":\"yes\"}", 400,
			"source: boolean" },
		{ "{\"action\":\"install\",\"requirements\":[\"tool\"],\"environment\":\"../x\"}",
			400, "environment" },
		{ "{\"action\":\"install\",\"requirements\":[\"tool\"],\"project\":\"a/b\"}", 400,
			"project" },
		{ "{\"action\":\"install\",\"requirements\":[\"tool\"],\"language\":\"cobol\"}",
			400, "cobol" },
		{ "{\"action\":\"install\",\"requirements\":[\"tool\"],\"index_url\":\"file:///"
		  "x\"}",
			400, "index URL" },
		{ "{\"action\":\"install\",\"requirements\":[\"tool\"],\"index_url\":"
		  "\"https://u:p@h.invalid/\"}",
			400, "user name or password" },
		{ "{\"action\":\"install\",\"requirements\":[\"tool @ "
		  "https://u:p@h.invalid/t.whl\"]}",
			400, "user name or password" },
		{ "{\"action\":\"install\",\"requirements\":[\"tool\"],\"extra_index_urls\":"
		  "[\"https://u@h.invalid/\"]}",
			400, "user name or password" },
	};
	struct served *s = *state;
	AUTO_REPLY after = { 0 };

	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		AUTO_REPLY reply = post(s, "/v1/jobs", rows[i].body);

		if (reply.status != rows[i].status || strstr(reply.body, rows[i].says) == NULL)
			fail_msg("%s: %d %s", rows[i].body, reply.status, reply.body);
	}
	after = get(s, "/v1/jobs");
	assert_int_equal(json_object_array_length(pkg_json_array(after.result, "jobs")), 0);
}

static void
a_request_larger_than_a_megabyte_is_refused(void **state)
{
	struct served *s = *state;
	pkg_autofree char *body = pkg_xmalloc(1200001);
	AUTO_REPLY reply = { 0 };

	memset(body, ' ', 1200000);
	body[1200000] = '\0';
	reply = post(s, "/v1/jobs", body);
	assert_int_equal(reply.status, 413);
}

static void
an_idempotency_key_makes_one_job(void **state)
{
	static const char *const bad[] = { "Idempotency-Key: \r\n", "Idempotency-Key: a b\r\n" };
	struct served *s = *state;
	int64_t ids[3];

	for (size_t i = 0; i < 3; i++) {
		AUTO_REPLY reply = request_on(s, false, "POST", "/v1/jobs",
			i < 2 ? "Idempotency-Key: k1\r\n" : "Idempotency-Key: k2\r\n", TOOL);

		assert_int_equal(reply.status, 202);
		ids[i] = pkg_json_int(reply.json, "job", 0);
	}
	assert_int_equal(ids[0], ids[1]);
	assert_int_not_equal(ids[0], ids[2]);
	for (size_t i = 0; i < PKG_ARRAY_LEN(bad); i++) {
		AUTO_REPLY reply = request_on(s, false, "POST", "/v1/jobs", bad[i], TOOL);

		assert_int_equal(reply.status, 400);
	}
	{
		pkg_autofree char *long_key = pkg_xmalloc(300);
		pkg_autofree char *header = NULL;
		AUTO_REPLY reply = { 0 };

		memset(long_key, 'k', 299);
		long_key[299] = '\0';
		header = pkg_xasprintf("Idempotency-Key: %s\r\n", long_key);
		reply = request_on(s, false, "POST", "/v1/jobs", header, TOOL);
		assert_int_equal(reply.status, 400);
	}
}

static void
a_page_is_never_everything(void **state)
{
	struct served *s = *state;
	AUTO_REPLY all = { 0 };
	AUTO_REPLY none = { 0 };
	AUTO_REPLY next = { 0 };

	for (int i = 0; i < 3; i++)
		(void)ask_for(s, TOOL);
	all = get(s, "/v1/jobs?limit=100000");
	assert_int_equal(json_object_array_length(pkg_json_array(all.result, "jobs")), 3);
	none = get(s, "/v1/jobs?limit=0");
	assert_int_equal(json_object_array_length(pkg_json_array(none.result, "jobs")), 1);
	next = get(s, "/v1/jobs?limit=2&before=3");
	assert_int_equal(
		pkg_json_int(
			json_object_array_get_idx(pkg_json_array(next.result, "jobs"), 0), "id", 0),
		2);
}

/* A database that was moved away numbers its jobs from 1 again; the logs of before are not theirs. */
static void
a_new_job_does_not_inherit_the_log_of_an_old_one(void **state)
{
	struct served *s = *state;
	pkg_autofree char *dir = install_path_job(&s->f->home, 1);
	pkg_autofree char *path = pkg_path_join(dir, "events.jsonl");
	static const char old[] = "{\"type\":\"result\",\"status\":\"failed\"}\n";
	pkg_cleanup_buf struct pkg_buf text = { 0 };

	assert_int_equal(pkg_dir_make(dir, 0700, NULL), 0);
	assert_int_equal(pkg_file_write(path, old, strlen(old), 0600, false, NULL), 0);
	wait_for(s, ask_for(s, TOOL), "pending");
	text = events_of(s->f, 1);
	assert_null(strstr(pkg_buf_str(&text), "failed"));
}

/* --- a job from the request to its end --- */

static void
a_card_is_answered_once_and_only_where_that_is_allowed(void **state)
{
	struct served *s = *state;
	int64_t job = ask_for(s, TOOL);
	AUTO_REPLY asked = { 0 };
	AUTO_REPLY stale = { 0 };
	AUTO_REPLY odd = { 0 };
	AUTO_REPLY yes = { 0 };
	AUTO_REPLY again = { 0 };
	AUTO_REPLY env = { 0 };

	wait_for(s, job, "pending");
	asked = post(s, "/v1/cards/1", "{\"answer\":\"approve\"}");
	assert_int_equal(asked.status, 403);
	stale = request_on(s, true, "POST", "/v1/cards/1", NULL,
		"{\"answer\":\"approve\",\"plan_hash\":\"0000\"}");
	assert_int_equal(stale.status, 409);
	odd = request_on(s, true, "POST", "/v1/cards/1", NULL, "{\"answer\":\"perhaps\"}");
	assert_int_equal(odd.status, 400);
	assert_string_equal(state_of(s->f, job), "pending");
	yes = answer_card(s, job, "approve");
	assert_int_equal(yes.status, 200);
	assert_string_equal(pkg_json_str(yes.result, "state"), "approved");
	assert_int_equal(pkg_json_int(pkg_json_get(yes.result, "answered_by"), "pid", 0), getpid());
	wait_for(s, job, "done");
	again = answer_card(s, job, "deny");
	assert_int_equal(again.status, 409);
	assert_string_equal(pkg_json_str(again.result, "kind"), "already-answered");
	env = get(s, "/v1/environments/default/default/default/packages");
	assert_non_null(strstr(env.body, "\"tool\""));
	assert_int_equal(results_in_events(s, job), 1);
}

static void
a_denied_card_ends_its_job_with_an_event(void **state)
{
	struct served *s = *state;
	int64_t job = ask_for(s, TOOL);
	AUTO_REPLY no = { 0 };

	wait_for(s, job, "pending");
	no = answer_card(s, job, "deny");
	assert_int_equal(no.status, 200);
	assert_string_equal(state_of(s->f, job), "denied");
	assert_int_equal(results_in_events(s, job), 1);
}

static void
an_answer_that_comes_too_late_ends_the_job_with_an_event(void **state)
{
	struct served *s = *state;
	int64_t job = ask_for(s, TOOL);
	AUTO_REPLY late = { 0 };

	wait_for(s, job, "pending");
	change_rows(s, "UPDATE card SET expires_ms = 1000");
	late = answer_card(s, job, "approve");
	assert_int_equal(late.status, 403);
	assert_string_equal(pkg_json_str(late.result, "kind"), "card-expired");
	assert_string_equal(state_of(s->f, job), "denied");
	assert_int_equal(results_in_events(s, job), 1);
}

static void
a_card_that_nobody_answers_ends_its_job_when_its_time_is_over(void **state)
{
	struct served *s = *state;
	int64_t job = ask_for(s, TOOL);
	pkg_autofree char *sql = pkg_xasprintf("UPDATE card SET expires_ms = %lld WHERE id = 1",
		(long long)pkg_time_now_ms() + 400);
	int64_t other;

	wait_for(s, job, "pending");
	change_rows(s, sql);
	/* Whatever happens makes the daemon look for the next expiry. */
	other = ask_for(s, TOOL);
	wait_for(s, job, "denied");
	assert_int_equal(results_in_events(s, job), 1);
	wait_for(s, other, "pending");
}

/* --- cancelling, in every state --- */

static void
a_job_that_waits_for_its_card_is_cancelled_and_the_card_with_it(void **state)
{
	struct served *s = *state;
	int64_t job = ask_for(s, TOOL);
	AUTO_REPLY first = { 0 };
	AUTO_REPLY second = { 0 };
	AUTO_REPLY yes = { 0 };

	wait_for(s, job, "pending");
	first = cancel(s, job);
	assert_int_equal(first.status, 200);
	assert_true(pkg_json_bool(first.result, "delivered", false));
	assert_string_equal(state_of(s->f, job), "cancelled");
	assert_int_equal(results_in_events(s, job), 1);
	second = cancel(s, job);
	assert_int_equal(second.status, 200);
	assert_false(pkg_json_bool(second.result, "delivered", true));
	yes = answer_card(s, job, "approve");
	assert_int_equal(yes.status, 409);
	assert_string_equal(state_of(s->f, job), "cancelled");
}

static void
a_job_that_is_not_there_cannot_be_cancelled(void **state)
{
	AUTO_REPLY reply = cancel(*state, 77);

	assert_int_equal(reply.status, 404);
}

/* The rows of a change cannot be written, as on a full disk: it is finished once they can. */
static void
a_decided_change_is_finished_as_soon_as_that_is_possible(void **state)
{
	struct served *s = *state;
	int64_t job = ask_for(s, TOOL);
	AUTO_REPLY yes = { 0 };

	wait_for(s, job, "pending");
	change_rows(s,
		"PRAGMA foreign_keys = OFF;"
		"CREATE TABLE guard (env INTEGER REFERENCES journal (env));"
		"INSERT INTO guard VALUES (1)");
	yes = answer_card(s, job, "approve");
	wait_for(s, job, "verifying");
	pkg_sleep_ms(500);
	assert_string_equal(state_of(s->f, job), "verifying");
	change_rows(s, "DROP TABLE guard");
	wait_for(s, job, "done");
	assert_int_equal(results_in_events(s, job), 1);
}

#ifdef PKGD_FAULT_POINTS
static void
serve_with_fault(struct served *s, const char *point, const char *action)
{
	set_fault(s, point, action);
	start_daemon(s);
}

/* Its worker hangs and does not hear of it: it is ended, and so is what waits behind it. */
static void
a_running_job_and_one_behind_it_are_cancelled(void **state)
{
	struct served *s = *state;
	int64_t running, behind, start;
	AUTO_REPLY one = { 0 };
	AUTO_REPLY two = { 0 };

	serve_with_fault(s, "plan", "stop");
	running = ask_for(s, TOOL);
	wait_for(s, running, "planning");
	behind = ask_for(s, TOOL);
	assert_string_equal(state_of(s->f, behind), "queued");
	two = cancel(s, behind);
	assert_true(pkg_json_bool(two.result, "delivered", false));
	assert_string_equal(state_of(s->f, behind), "cancelled");
	start = pkg_time_mono_ms();
	one = cancel(s, running);
	assert_true(pkg_json_bool(one.result, "delivered", false));
	wait_for(s, running, "cancelled");
	assert_true(pkg_time_mono_ms() - start < 3000);
	assert_int_equal(results_in_events(s, running), 1);
	assert_int_equal(results_in_events(s, behind), 1);
}

/* Its worker has opened the card and is not gone yet. */
static void
a_cancel_is_not_lost_while_the_worker_leaves(void **state)
{
	struct served *s = *state;
	int64_t job;
	AUTO_REPLY gone = { 0 };
	int seen = 0;

	/* The last commit of a run that ends with a card is the one that opens it. */
	for (int pass = 1; pass < 7; pass++) {
		pkg_autofree char *point = pkg_xasprintf("store-committed:%d", pass);
		int64_t end = pkg_time_mono_ms() + 1000;
		bool waits;

		serve_with_fault(s, point, "stop");
		job = ask_for(s, TOOL);
		while (strcmp(state_of(s->f, job), "pending") != 0 && pkg_time_mono_ms() < end)
			pkg_sleep_ms(10);
		waits = strcmp(state_of(s->f, job), "pending") == 0;
		seen += waits;
		gone = cancel(s, job);
		assert_true(pkg_json_bool(gone.result, "delivered", false));
		reply_clear(&gone);
		/* Nobody works on it any more: at once. */
		if (waits)
			assert_string_equal(state_of(s->f, job), "cancelled");
		wait_for(s, job, "cancelled");
		assert_int_equal(results_in_events(s, job), 1);
		assert_int_equal(stop_daemon(s, SIGTERM), 0);
	}
	assert_true(seen > 0);
}

static void
a_worker_that_dies_is_followed_by_a_reconcile(void **state)
{
	struct served *s = *state;
	int64_t job, next;
	AUTO_REPLY yes = { 0 };

	serve_with_fault(s, "fetch", "kill");
	job = ask_for(s, TOOL);
	wait_for(s, job, "pending");
	yes = answer_card(s, job, "approve");
	wait_for(s, job, "interrupted");
	assert_int_equal(results_in_events(s, job), 1);
	/* The environment is free again. */
	next = ask_for(s, TOOL);
	wait_for(s, next, "pending");
}

static void
a_worker_that_dies_in_its_commit_is_finished_by_the_daemon(void **state)
{
	struct served *s = *state;
	int64_t job;
	AUTO_REPLY yes = { 0 };

	serve_with_fault(s, "commit-stepped", "kill");
	job = ask_for(s, TOOL);
	wait_for(s, job, "pending");
	yes = answer_card(s, job, "approve");
	wait_for(s, job, "done");
	assert_int_equal(results_in_events(s, job), 1);
	assert_true(in_env(s->f, "lib/site/tool"));
}

static void
a_reconcile_that_dies_is_tried_again(void **state)
{
	struct served *s = *state;
	pkg_autofree char *dies = pkg_path_join(s->libexec, "reconcile-dies");
	int64_t job;
	AUTO_REPLY yes = { 0 };

	serve_with_fault(s, "commit-stepped", "kill");
	job = ask_for(s, TOOL);
	wait_for(s, job, "pending");
	assert_int_equal(pkg_file_write(dies, "", 0, 0600, false, NULL), 0);
	yes = answer_card(s, job, "approve");
	wait_for(s, job, "done");
	assert_false(pkg_file_exists(dies));
}

static void
wait_for_end(struct served *s, int64_t job)
{
	int64_t end = pkg_time_mono_ms() + WAIT_MS;
	enum store_job_state state = STORE_JOB_QUEUED;

	while (!store_job_state_ended(state)) {
		pkg_cleanup_store_job struct store_job row = job_of(s->f, job);

		assert_true(pkg_time_mono_ms() < end);
		state = row.state;
		pkg_sleep_ms(10);
	}
}

/* Its row says done, its events do not yet. */
static void
a_worker_that_dies_before_its_last_event_is_told_all_the_same(void **state)
{
	struct served *s = *state;
	int64_t job;
	bool done = false;

	for (int pass = 1; pass < 12 && !done; pass++) {
		pkg_autofree char *point = pkg_xasprintf("store-committed:%d", pass);

		serve_with_fault(s, point, "kill");
		job = ask_for(s, "{\"action\":\"create\"}");
		wait_for_end(s, job);
		assert_int_equal(results_in_events(s, job), 1);
		done = strcmp(state_of(s->f, job), "done") == 0;
		assert_int_equal(stop_daemon(s, SIGTERM), 0);
	}
	assert_true(done);
}

static void
a_daemon_that_comes_back_adopts_the_worker_and_can_cancel_it(void **state)
{
	struct served *s = *state;
	int64_t job;
	AUTO_REPLY gone = { 0 };

	serve_with_fault(s, "plan", "stop");
	job = ask_for(s, TOOL);
	wait_for(s, job, "planning");
	assert_int_equal(WTERMSIG(stop_daemon(s, SIGKILL)), SIGKILL);
	start_daemon(s);
	/* At once: the first reconcile need not be through. */
	gone = cancel(s, job);
	assert_true(pkg_json_bool(gone.result, "delivered", false));
	wait_for(s, job, "cancelled");
	assert_int_equal(results_in_events(s, job), 1);
}

static void
a_job_outlives_its_daemon(void **state)
{
	struct served *s = *state;
	pkg_cleanup(store_close) struct store *store = NULL;
	pkg_cleanup_store_claim_list struct store_claim_list claims = { 0 };
	int64_t job;

	serve_with_fault(s, "plan", "stop");
	job = ask_for(s, TOOL);
	wait_for(s, job, "planning");
	assert_int_equal(stop_daemon(s, SIGTERM), 0);
	store = open_store(s->f);
	assert_int_equal(store_claim_unfinished(store, &claims, NULL), 0);
	assert_int_equal(claims.count, 1);
	start_daemon(s);
	{
		AUTO_REPLY up = get(s, "/v1/system");

		assert_int_equal(up.status, 200);
	}
	assert_int_equal(kill(claims.items[0].holder.pid, SIGCONT), 0);
	wait_for(s, job, "pending");
}
#endif

/* --- kernels --- */

static void
a_kernel_is_registered_on_a_generation_that_is_there(void **state)
{
	struct served *s = *state;
	int64_t job = ask_for(s, "{\"action\":\"create\"}");
	AUTO_REPLY none = { 0 };
	AUTO_REPLY mine = { 0 };
	AUTO_REPLY list = { 0 };
	AUTO_REPLY gone = { 0 };

	wait_for(s, job, "done");
	none = post(s, "/v1/kernels", "{\"generation\":7}");
	assert_int_equal(none.status, 404);
	mine = post(s, "/v1/kernels", "{\"label\":\"nb\"}");
	assert_int_equal(mine.status, 200);
	assert_int_equal(pkg_json_int(mine.result, "generation", 0), 1);
	list = get(s, "/v1/kernels");
	assert_non_null(strstr(list.body, "\"nb\""));
	gone = request_on(s, false, "DELETE", "/v1/kernels/1", NULL, NULL);
	assert_int_equal(gone.status, 200);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_is_well_formed_and_stands_once),
		SERVED(routes_of_control_are_refused_on_the_ask_socket),
		SERVED(what_is_not_there_is_404_and_what_is_not_possible_405),
		SERVED(a_path_with_several_methods_names_them_all),
		SERVED(a_request_that_can_only_fail_makes_no_job),
		SERVED(a_request_larger_than_a_megabyte_is_refused),
		SERVED(an_idempotency_key_makes_one_job),
		SERVED(a_page_is_never_everything),
		SERVED(a_new_job_does_not_inherit_the_log_of_an_old_one),
		SERVED(a_card_is_answered_once_and_only_where_that_is_allowed),
		SERVED(a_denied_card_ends_its_job_with_an_event),
		SERVED(an_answer_that_comes_too_late_ends_the_job_with_an_event),
		SERVED(a_card_that_nobody_answers_ends_its_job_when_its_time_is_over),
		SERVED(a_job_that_waits_for_its_card_is_cancelled_and_the_card_with_it),
		SERVED(a_job_that_is_not_there_cannot_be_cancelled),
		SERVED(a_decided_change_is_finished_as_soon_as_that_is_possible),
#ifdef PKGD_FAULT_POINTS
		WITH_HOME_TO_SERVE(a_running_job_and_one_behind_it_are_cancelled),
		WITH_HOME_TO_SERVE(a_cancel_is_not_lost_while_the_worker_leaves),
		WITH_HOME_TO_SERVE(a_worker_that_dies_is_followed_by_a_reconcile),
		WITH_HOME_TO_SERVE(a_worker_that_dies_in_its_commit_is_finished_by_the_daemon),
		WITH_HOME_TO_SERVE(a_reconcile_that_dies_is_tried_again),
		WITH_HOME_TO_SERVE(a_worker_that_dies_before_its_last_event_is_told_all_the_same),
		WITH_HOME_TO_SERVE(a_daemon_that_comes_back_adopts_the_worker_and_can_cancel_it),
		WITH_HOME_TO_SERVE(a_job_outlives_its_daemon),
#endif
		SERVED(a_kernel_is_registered_on_a_generation_that_is_there),
	};

	RUN_AS_WORKER(argc, argv);
	return cmocka_run_group_tests_name("daemon_routes", tests, NULL, NULL);
}
