#include "test_store_common.h"

/* ---- Journal ---- */

static struct store_journal
intent(int64_t env)
{
	return (struct store_journal){ .env = env,
		.job = 4,
		.kind = (char *)"switch",
		.ops = (char *)"[]",
		.after = (char *)"{}" };
}

static void
an_intent_is_written_once_per_environment_and_removed(void **state)
{
	FIXTURE(state);
	struct store_journal in = intent(3);
	struct store_journal other = intent(2);
	struct store_journal out = { 0 };
	struct store_journal_list list = { 0 };

	assert_refused(store_journal_get(store, 3, &out, err), PKG_E_NOT_FOUND);
	assert_ok(store_journal_write(store, &in, err));
	assert_refused(store_journal_write(store, &in, err), PKG_E_EXISTS);
	assert_ok(store_journal_write(store, &other, err));
	assert_ok(store_journal_get(store, 3, &out, err));
	assert_int_equal(out.job, 4);
	assert_string_equal(out.kind, "switch");
	assert_string_equal(out.ops, "[]");
	assert_string_equal(out.after, "{}");
	assert_true(out.created_ms > 0);
	assert_ok(store_journal_list(store, &list, err));
	assert_int_equal(list.count, 2);
	assert_int_equal(list.items[0].env, 2);
	assert_ok(store_journal_remove(store, 3, err));
	assert_refused(store_journal_remove(store, 3, err), PKG_E_NOT_FOUND);
	assert_ok(store_journal_list(store, &list, err));
	assert_int_equal(list.count, 1);
	store_journal_list_clear(&list);
	store_journal_clear(&out);
}

static void
bad_values_of_an_intent_are_refused_by_name(void **state)
{
	FIXTURE(state);
	struct store_journal cases[3] = { intent(1), intent(1), intent(1) };
	static const char *const fields[] = { "journal_kind", "journal_ops", "journal_after" };

	cases[0].kind = (char *)"wish";
	cases[1].ops = (char *)"[";
	cases[2].after = (char *)"";
	for (size_t i = 0; i < PKG_ARRAY_LEN(cases); i++) {
		assert_refused(store_journal_write(store, &cases[i], err), PKG_E_DATABASE);
		assert_says(fields[i]);
	}
	assert_int_equal(number(store, "SELECT count(*) FROM journal"), 0);
}

/* ---- History ---- */

static struct store_history
entry(int64_t env)
{
	return (struct store_history){ .env = env,
		.job = 9,
		.action = (char *)"install",
		.asked = (char *)"{\"install\":[\"x\"]}",
		.uid = 7,
		.result = (char *)"done",
		.generation = 2,
		.revision = 1,
		.changes = (char *)"[{\"name\":\"x\"}]" };
}

static void
history_counts_from_one_in_every_environment(void **state)
{
	FIXTURE(state);
	pkg_cleanup_store_history_list struct store_history_list list = { 0 };
	static const int64_t envs[] = { 1, 1, 2, 1, 2 };
	static const int64_t seqs[] = { 1, 2, 1, 3, 2 };

	for (size_t i = 0; i < PKG_ARRAY_LEN(envs); i++) {
		struct store_history row = entry(envs[i]);

		assert_ok(store_history_add(store, &row, err));
		assert_int_equal(row.seq, seqs[i]);
		assert_true(row.time_ms > 0);
	}
	assert_ok(store_history_list(store, 1, 0, 2, &list, err));
	assert_int_equal(list.count, 2);
	assert_int_equal(list.items[0].seq, 3);
	assert_int_equal(list.items[0].job, 9);
	assert_string_equal(list.items[0].asked, "{\"install\":[\"x\"]}");
	assert_string_equal(list.items[0].label, "");
	assert_string_equal(list.items[0].changes, "[{\"name\":\"x\"}]");
	assert_null(list.items[0].plan_hash);
	assert_null(list.items[0].kind);
	assert_ok(store_history_list(store, 1, 2, 0, &list, err));
	assert_int_equal(list.count, 1);
	assert_int_equal(list.items[0].seq, 1);
	assert_ok(store_history_list(store, 3, 0, 0, &list, err));
	assert_int_equal(list.count, 0);
}

static void
bad_values_of_history_are_refused_by_name(void **state)
{
	FIXTURE(state);
	struct store_history cases[4] = { entry(1), entry(1), entry(1), entry(1) };
	static const char *const fields[] = { "history_action", "history_result", "history_changes",
		"history_asked" };

	cases[0].action = (char *)"dance";
	cases[1].result = (char *)"pending";
	cases[2].changes = (char *)"{}";
	cases[3].asked = (char *)"numpy";
	for (size_t i = 0; i < PKG_ARRAY_LEN(cases); i++) {
		assert_refused(store_history_add(store, &cases[i], err), PKG_E_DATABASE);
		assert_says(fields[i]);
	}
	assert_int_equal(number(store, "SELECT count(*) FROM history"), 0);
}

/* ---- Audit ---- */

static void
fill_audit(struct store *store, int rows)
{
	for (int i = 0; i < rows; i++) {
		char data[32];

		(void)snprintf(data, sizeof(data), "{\"n\":%d}", i);
		assert_int_equal(
			store_audit_add(store, i % 2 ? "answer" : "request", data, NULL), 0);
	}
}

static void
an_untouched_trail_holds(void **state)
{
	FIXTURE(state);
	int64_t rows = -1;

	assert_ok(store_audit_verify(store, &rows, err));
	assert_int_equal(rows, 0);
	fill_audit(store, 30);
	assert_ok(store_audit_verify(store, &rows, err));
	assert_int_equal(rows, 30);
	assert_ok(store_audit_verify(store, NULL, err));
}

static void
every_kind_of_tampering_is_found_at_its_row(void **state)
{
	static const struct {
		const char *sql;
		const char *says;
		int64_t hold;
	} cases[] = {
		{ "UPDATE audit SET data = '{\"n\":99}' WHERE seq = 5", "row 5 ", 4 },
		{ "UPDATE audit SET type = 'other' WHERE seq = 1", "row 1 ", 0 },
		{ "UPDATE audit SET time_ms = time_ms + 1 WHERE seq = 20", "row 20 ", 19 },
		{ "UPDATE audit SET hash = (SELECT hash FROM audit WHERE seq = 3) WHERE seq = 4",
			"row 4 ", 3 },
		{ "DELETE FROM audit WHERE seq = 7", "row 8 ", 6 },
		{ "DELETE FROM audit WHERE seq = 1", "row 2 ", 0 },
		{ "UPDATE audit SET seq = seq + 100", "row 101 ", 0 },
		{ "INSERT INTO audit SELECT 0, time_ms, type, data, hash FROM audit WHERE seq = 1",
			"row 0 ", 0 },
		{ "INSERT INTO audit SELECT 21, time_ms, type, data, hash FROM audit WHERE seq = "
		  "20",
			"row 21 ", 20 },
		{ "UPDATE audit SET data = (SELECT data FROM audit b WHERE b.seq = 21 - audit.seq)",
			"row 1 ", 0 },
	};
	FIXTURE(state);

	fill_audit(store, 20);
	for (size_t i = 0; i < PKG_ARRAY_LEN(cases); i++) {
		int64_t rows = -1;

		assert_ok(store_begin(store, err));
		assert_int_equal(raw(store, cases[i].sql), SQLITE_OK);
		assert_refused(store_audit_verify(store, &rows, err), PKG_E_INTERNAL);
		assert_says(cases[i].says);
		assert_int_equal(rows, cases[i].hold);
		store_rollback(store);
		assert_ok(store_audit_verify(store, NULL, err));
	}
}

static void
text_moved_between_type_and_data_is_found(void **state)
{
	FIXTURE(state);

	assert_ok(store_audit_add(store, "a\n1", "2", err));
	assert_ok(store_audit_verify(store, NULL, err));
	assert_int_equal(raw(store, "UPDATE audit SET type = 'a', data = '1' || char(10) || '2'"),
		SQLITE_CONSTRAINT_CHECK);
	assert_int_equal(raw(store, "UPDATE audit SET type = 'a'"), SQLITE_OK);
	assert_refused(store_audit_verify(store, NULL, err), PKG_E_INTERNAL);
}

static int
add_audit(struct fixture *f, PKG_UNUSED int number_)
{
	struct store *store = store_open(&f->home, NULL);
	int result = 0;

	for (int i = 0; store && i < 20; i++) {
		if (store_audit_add(store, "test", "{}", NULL) < 0)
			result = 1;
	}
	store_close(store);
	return store ? result : 2;
}

static void
six_processes_write_one_chain(void **state)
{
	FIXTURE(state);
	int statuses[6];
	int64_t rows;

	at_once(6, add_audit, f, statuses);
	store = f->store;
	assert_int_equal(count_of(statuses, 6, 0), 6);
	assert_ok(store_audit_verify(store, &rows, err));
	assert_int_equal(rows, 120);
}

struct seen {
	struct store *store;
	int64_t first;
	int64_t last;
	int count;
	int stop_after;
	enum pkg_error_kind nested;
};

static int
look(void *context, const struct store_audit *row)
{
	struct seen *seen = context;

	if (seen->count++ == 0)
		seen->first = row->seq;
	seen->last = row->seq;
	if (seen->store) {
		struct pkg_error err = { 0 };

		assert_int_equal(store_audit_verify(seen->store, NULL, &err), -1);
		seen->nested = err.kind;
		pkg_error_clear(&err);
	}
	return seen->count == seen->stop_after;
}

static void
a_walk_starts_after_a_row_and_stops_when_told(void **state)
{
	FIXTURE(state);
	struct seen all = { 0 };
	struct seen some = { .stop_after = 3 };
	struct seen nested = { .store = store, .stop_after = 1 };

	fill_audit(store, 10);
	assert_ok(store_audit_each(store, 4, look, &all, err));
	assert_int_equal(all.count, 6);
	assert_int_equal(all.first, 5);
	assert_int_equal(all.last, 10);
	assert_ok(store_audit_each(store, 0, look, &some, err));
	assert_int_equal(some.last, 3);
	/* A walk within a walk would reset the outer one: it is refused instead. */
	assert_ok(store_audit_each(store, 0, look, &nested, err));
	assert_int_equal(nested.nested, PKG_E_INTERNAL);
	assert_ok(store_audit_verify(store, NULL, err));
}

static void
bad_values_of_the_audit_are_refused_by_name(void **state)
{
	FIXTURE(state);

	assert_refused(store_audit_add(store, "", "{}", err), PKG_E_DATABASE);
	assert_says("audit_type");
	assert_refused(store_audit_add(store, "x", "{", err), PKG_E_DATABASE);
	assert_says("audit_data");
	assert_int_equal(number(store, "SELECT count(*) FROM audit"), 0);
}

/* ---- Kernels ---- */

static pid_t
start_child(int *gate)
{
	int ends[2];
	pid_t pid;

	if (pipe(ends) < 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		char c;

		(void)close(ends[1]);
		(void)!read(ends[0], &c, 1);
		_exit(0);
	}
	(void)close(ends[0]);
	*gate = ends[1];
	return pid;
}

static void
kernels_whose_process_is_gone_leave_the_list(void **state)
{
	FIXTURE(state);
	pkg_cleanup_store_kernel_list struct store_kernel_list list = { 0 };
	struct store_kernel alive = { .env = 1, .generation = 2, .label = (char *)"nb" };
	struct store_kernel zombie = { .env = 1, .generation = 1 };
	struct store_kernel reused = { .env = 1, .generation = 1 };
	struct store_kernel elsewhere = { .env = 2, .generation = 1 };
	siginfo_t info;
	int gate = -1;
	pid_t child = start_child(&gate);

	assert_true(child > 0);
	assert_ok(pkg_identity_of(getpid(), &alive.process, err));
	assert_ok(pkg_identity_of(child, &zombie.process, err));
	reused.process = elsewhere.process = alive.process;
	reused.process.start++;
	assert_ok(store_kernel_insert(store, &zombie, err));
	assert_ok(store_kernel_insert(store, &reused, err));
	assert_ok(store_kernel_insert(store, &alive, err));
	assert_ok(store_kernel_insert(store, &elsewhere, err));
	assert_ok(store_kernel_list(store, 1, &list, err));
	assert_int_equal(list.count, 2);
	assert_int_equal(list.items[0].id, zombie.id);
	/* Ended but not reaped is gone, too (BEHAVIOURS T73). */
	(void)close(gate);
	assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
	assert_ok(store_kernel_list(store, 1, &list, err));
	assert_int_equal(list.count, 1);
	assert_int_equal(list.items[0].id, alive.id);
	assert_int_equal(list.items[0].generation, 2);
	assert_string_equal(list.items[0].label, "nb");
	assert_true(list.items[0].process.start == alive.process.start);
	assert_ok(store_kernel_list(store, 0, &list, err));
	assert_int_equal(list.count, 2);
	assert_int_equal(number(store, "SELECT count(*) FROM kernel"), 2);
	assert_int_equal(waitpid(child, NULL, 0), child);
}

static void
the_id_of_a_removed_kernel_is_not_given_out_again(void **state)
{
	FIXTURE(state);
	struct store_kernel kernel = { .env = 1, .generation = 1 };
	int64_t first;

	assert_ok(pkg_identity_of(getpid(), &kernel.process, err));
	assert_ok(store_kernel_insert(store, &kernel, err));
	first = kernel.id;
	assert_ok(store_kernel_remove(store, first, err));
	assert_refused(store_kernel_remove(store, first, err), PKG_E_NOT_FOUND);
	assert_ok(store_kernel_insert(store, &kernel, err));
	assert_true(kernel.id > first);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_STORE(an_intent_is_written_once_per_environment_and_removed),
		WITH_STORE(bad_values_of_an_intent_are_refused_by_name),
		WITH_STORE(history_counts_from_one_in_every_environment),
		WITH_STORE(bad_values_of_history_are_refused_by_name),
		WITH_STORE(an_untouched_trail_holds),
		WITH_STORE(every_kind_of_tampering_is_found_at_its_row),
		WITH_STORE(text_moved_between_type_and_data_is_found),
		WITH_STORE(six_processes_write_one_chain),
		WITH_STORE(a_walk_starts_after_a_row_and_stops_when_told),
		WITH_STORE(bad_values_of_the_audit_are_refused_by_name),
		WITH_STORE(kernels_whose_process_is_gone_leave_the_list),
		WITH_STORE(the_id_of_a_removed_kernel_is_not_given_out_again),
	};

	return cmocka_run_group_tests_name("store history", tests, NULL, NULL);
}
