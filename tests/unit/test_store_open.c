#include "test_store_common.h"
#include "core/file.h"
#include "core/time.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

/* ---- First open ---- */

static int
open_and_write(struct fixture *f, int number_)
{
	struct store *store = store_open(&f->home, NULL);
	int result = 1;

	if (store && store_env_reserve_id(store, NULL) > 0 &&
		store_audit_add(store, "test", number_ % 2 ? "1" : "2", NULL) == 0)
		result = 0;
	store_close(store);
	return result;
}

static void
four_processes_open_a_new_database_at_once_three_times_over(void **state)
{
	FIXTURE(state);
	int statuses[4];

	for (int round = 0; round < 3; round++) {
		pkg_autofree char *path = pkg_path_join(f->home.state, "state.db");

		at_once(4, open_and_write, f, statuses);
		assert_int_equal(count_of(statuses, 4, 0), 4);
		f->store = store_open(&f->home, err);
		assert_non_null(f->store);
		assert_int_equal(number(f->store, "SELECT value FROM counter"), 4);
		assert_int_equal(number(f->store, "SELECT count(*) FROM audit"), 4);
		assert_int_equal(store_audit_verify(f->store, NULL, err), 0);
		store_close(f->store);
		f->store = NULL;
		assert_int_equal(unlink(path), 0);
	}
}

static void
the_file_is_private_and_every_pragma_is_on(void **state)
{
	static const struct {
		const char *sql;
		int64_t value;
	} pragmas[] = {
		{ "SELECT journal_mode = 'wal' FROM pragma_journal_mode", 1 },
		{ "PRAGMA synchronous", 2 },
		{ "PRAGMA foreign_keys", 1 },
		{ "PRAGMA trusted_schema", 0 },
		{ "PRAGMA cell_size_check", 1 },
		{ "PRAGMA user_version", 1 },
	};
	static const char *const files[] = { "state.db", "state.db-wal", "state.db-shm" };
	FIXTURE(state);

	for (size_t i = 0; i < PKG_ARRAY_LEN(pragmas); i++)
		assert_int_equal(number(store, pragmas[i].sql), pragmas[i].value);
	for (size_t i = 0; i < PKG_ARRAY_LEN(files); i++) {
		pkg_autofree char *path = pkg_path_join(f->home.state, files[i]);
		struct stat st;

		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(st.st_mode & 07777, 0600);
	}
}

static void
every_statement_is_valid(void **state)
{
	FIXTURE(state);

	for (int i = 0; i < STMT_COUNT; i++) {
		/* A count that no statement takes: prepared, then refused. */
		assert_null(store_query_n(store, (enum store_statement)i, 99, NULL, err));
		assert_int_equal(err->kind, PKG_E_INTERNAL);
		assert_non_null(store->statements[i]);
	}
}

static void
what_was_written_is_there_after_reopening(void **state)
{
	FIXTURE(state);
	int64_t id = make_job(store, "data", err);
	pkg_cleanup_store_job struct store_job job = { 0 };

	assert_true(id > 0);
	store_close(store);
	f->store = store_open(&f->home, err);
	assert_non_null(f->store);
	assert_ok(store_job_get(f->store, id, &job, err));
	assert_string_equal(job.environment, "data");
}

/* ---- Files that are refused ---- */

static void
rewrite(struct fixture *f, const char *sql)
{
	assert_int_equal(raw(f->store, sql), SQLITE_OK);
	store_close(f->store);
	f->store = NULL;
}

static void
refuse_and_leave_alone(struct fixture *f, const char *message, const char *cure)
{
	pkg_autofree char *path = pkg_path_join(f->home.state, "state.db");
	pkg_cleanup_buf struct pkg_buf before = { 0 };
	pkg_cleanup_buf struct pkg_buf after = { 0 };
	struct pkg_error *err = &f->err;

	assert_ok(pkg_file_read(path, 1 << 20, &before, err));
	assert_null(store_open(&f->home, err));
	assert_int_equal(err->kind, PKG_E_DATABASE);
	assert_says(message);
	assert_says(path);
	assert_non_null(strstr(err->cure, cure));
	assert_ok(pkg_file_read(path, 1 << 20, &after, err));
	assert_int_equal(before.len, after.len);
	assert_memory_equal(before.data, after.data, before.len);
}

static void
a_newer_database_is_refused_with_both_numbers(void **state)
{
	FIXTURE(state);

	rewrite(f, "PRAGMA user_version = 41");
	refuse_and_leave_alone(f, "has version 41, this pkgd knows up to 1", "newer");
}

static void
the_database_of_another_program_is_refused(void **state)
{
	FIXTURE(state);

	rewrite(f, "PRAGMA application_id = 99");
	refuse_and_leave_alone(f, "is not a database of pkgd", "move it away");
}

static void
a_database_with_foreign_tables_and_no_version_is_refused(void **state)
{
	FIXTURE(state);

	rewrite(f, "PRAGMA application_id = 0; PRAGMA user_version = 0");
	refuse_and_leave_alone(f, "is not a database of pkgd", "move it away");
}

static void
a_file_of_other_bytes_is_refused_and_kept(void **state)
{
	FIXTURE(state);
	pkg_autofree char *path = pkg_path_join(f->home.state, "state.db");
	pkg_cleanup_buf struct pkg_buf junk = { 0 };

	for (int i = 0; i < 3000; i++)
		pkg_buf_addf(&junk, "%d no database ", i);
	assert_ok(pkg_file_write(path, junk.data, junk.len, 0600, false, err));
	refuse_and_leave_alone(f, "is damaged", "restore");
}

static void
damage_inside_is_named_when_it_is_met(void **state)
{
	FIXTURE(state);
	pkg_autofree char *path = pkg_path_join(f->home.state, "state.db");
	pkg_cleanup(store_close) struct store *again = NULL;
	struct store_env_list list = { 0 };
	char zeros[4096] = { 0 };
	int64_t page = number(store, "SELECT rootpage FROM sqlite_schema WHERE name = 'env'");
	int fd;

	assert_true(make_env(store, "data", err) > 0);
	rewrite(f, "PRAGMA wal_checkpoint(TRUNCATE)");
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_int_equal(pwrite(fd, zeros, sizeof(zeros), (page - 1) * 4096), sizeof(zeros));
	assert_int_equal(close(fd), 0);
	again = store_open(&f->home, err);
	assert_non_null(again);
	assert_refused(store_env_list(again, NULL, NULL, &list, err), PKG_E_DATABASE);
	assert_says("is damaged");
	assert_says(path);
	assert_non_null(strstr(err->cure, "restore"));
	assert_int_equal(list.count, 0);
}

static void
an_empty_file_becomes_a_database(void **state)
{
	FIXTURE(state);
	pkg_autofree char *path = pkg_path_join(f->home.state, "state.db");

	assert_ok(pkg_file_write(path, "", 0, 0600, false, err));
	f->store = store_open(&f->home, err);
	assert_non_null(f->store);
	assert_int_equal(number(f->store, "PRAGMA user_version"), 1);
}

static void
a_missing_directory_is_named(void **state)
{
	FIXTURE(state);
	struct pkg_home home = { .state = (char *)"/nonexistent/pkgd" };

	assert_null(store_open(&home, err));
	assert_int_equal(err->kind, PKG_E_IO);
	assert_says("/nonexistent/pkgd");
	assert_non_null(f);
}

/* ---- Dying in the middle ---- */

#ifdef PKGD_FAULT_POINTS
static int
die_at(struct fixture *f, int after)
{
	(void)setenv("PKGD_FAULT", after ? "store-committed" : "store-commit", 1);
	(void)store_open(&f->home, NULL);
	return 0;
}

static int
die_before_commit(struct fixture *f, PKG_UNUSED int number_)
{
	return die_at(f, 0);
}

static int
die_after_commit(struct fixture *f, PKG_UNUSED int number_)
{
	return die_at(f, 1);
}

static void
killed_while_setting_up_the_next_open_finishes(void **state)
{
	FIXTURE(state);
	int status;

	at_once(1, die_before_commit, f, &status);
	assert_int_equal(status, 128 + SIGKILL);
	at_once(1, die_after_commit, f, &status);
	assert_int_equal(status, 128 + SIGKILL);
	f->store = store_open(&f->home, err);
	assert_non_null(f->store);
	assert_true(make_env(f->store, "data", err) > 0);
}

static void
a_commit_that_fails_leaves_nothing_and_no_transaction(void **state)
{
	FIXTURE(state);

	assert_ok(store_begin(store, err));
	assert_true(make_job(store, "data", err) > 0);
	(void)setenv("PKGD_FAULT", "store-commit", 1);
	(void)setenv("PKGD_FAULT_ACTION", "enospc", 1);
	pkg_error_clear(err);
	assert_int_equal(store_commit(store, err), -1);
	(void)unsetenv("PKGD_FAULT");
	(void)unsetenv("PKGD_FAULT_ACTION");
	assert_int_equal(err->kind, PKG_E_DISK_FULL);
	store_rollback(store);
	assert_int_equal(number(store, "SELECT count(*) FROM job"), 0);
	assert_true(make_job(store, "data", err) > 0);
}
#endif

/* ---- Transactions ---- */

static void
a_transaction_inside_another_is_refused(void **state)
{
	FIXTURE(state);

	assert_refused(store_commit(store, err), PKG_E_INTERNAL);
	store_rollback(store);
	assert_ok(store_begin(store, err));
	assert_refused(store_begin(store, err), PKG_E_INTERNAL);
	assert_ok(store_commit(store, err));
	assert_ok(store_begin(store, err));
	store_rollback(store);
}

static void
rollback_takes_everything_back(void **state)
{
	FIXTURE(state);

	assert_ok(store_begin(store, err));
	assert_true(make_job(store, "data", err) > 0);
	assert_ok(store_audit_add(store, "test", "{}", err));
	store_rollback(store);
	assert_int_equal(number(store, "SELECT count(*) FROM job"), 0);
	assert_int_equal(number(store, "SELECT count(*) FROM audit"), 0);
}

static void
a_part_that_fails_is_undone_and_the_rest_stays(void **state)
{
	FIXTURE(state);
	struct store_package twice[2] = {
		{ .key = (char *)"a", .name = (char *)"a", .version = (char *)"1" },
		{ .key = (char *)"a", .name = (char *)"a", .version = (char *)"2" }
	};
	struct store_package_list list = { twice, 2 };
	int64_t env;

	assert_ok(store_begin(store, err));
	env = make_env(store, "data", err);
	assert_ok(store_generation_insert(store, env, 1, 0, err));
	assert_refused(store_packages_set(store, env, 1, &list, err), PKG_E_EXISTS);
	assert_says("'a' is twice");
	assert_int_equal(number(store, "SELECT count(*) FROM package"), 0);
	assert_int_equal(number(store, "SELECT count(*) FROM generation"), 1);
	list.count = 1;
	assert_ok(store_packages_set(store, env, 1, &list, err));
	assert_ok(store_commit(store, err));
	assert_int_equal(number(store, "SELECT count(*) FROM package"), 1);
}

static void
a_full_disk_undoes_the_whole_and_refuses_the_rest(void **state)
{
	FIXTURE(state);
	pkg_autofree char *limit = NULL;
	pkg_autofree char *big = pkg_xmalloc(100002);
	int64_t job = make_job(store, "data", err);

	memset(big, ' ', 100001);
	big[0] = '1';
	big[100001] = '\0';
	limit = pkg_xasprintf(
		"PRAGMA max_page_count = %d", (int)number(store, "PRAGMA page_count"));
	assert_int_equal(raw(store, limit), SQLITE_OK);
	assert_ok(store_begin(store, err));
	assert_ok(store_job_set_behind(store, job, 5, err));
	assert_refused(store_job_set_plan(store, job, big, "h", 1, 0, err), PKG_E_DISK_FULL);
	assert_non_null(err->cure);
	/* Whether SQLite gave up the whole or only the statement: nothing of it may be kept in
	 * halves. */
	if (sqlite3_get_autocommit(store->db)) {
		assert_refused(store_job_set_behind(store, job, 6, err), PKG_E_DATABASE);
		assert_refused(store_commit(store, err), PKG_E_DATABASE);
	}
	store_rollback(store);
	assert_int_equal(number(store, "SELECT behind FROM job"), 0);
	assert_int_equal(raw(store, "PRAGMA max_page_count = 1000000"), SQLITE_OK);
	assert_ok(store_job_set_plan(store, job, big, "h", 1, 0, err));
}

static void
writes_after_a_lost_transaction_are_refused(void **state)
{
	FIXTURE(state);
	int64_t job = make_job(store, "data", err);

	assert_ok(store_begin(store, err));
	assert_ok(store_job_set_behind(store, job, 5, err));
	/* What SQLite does by itself on some failures. */
	assert_int_equal(raw(store, "ROLLBACK"), SQLITE_OK);
	assert_refused(store_job_set_behind(store, job, 6, err), PKG_E_DATABASE);
	assert_says("undone");
	assert_refused(store_commit(store, err), PKG_E_DATABASE);
	assert_ok(store_job_set_behind(store, job, 7, err));
	assert_int_equal(number(store, "SELECT behind FROM job"), 7);
}

static void
a_value_beyond_all_measure_is_refused(void **state)
{
	FIXTURE(state);
	size_t size = (64u << 20) + 2;
	pkg_autofree char *big = pkg_xmalloc(size);
	int64_t job = make_job(store, "data", err);

	memset(big, ' ', size - 1);
	big[0] = '1';
	big[size - 1] = '\0';
	assert_refused(store_job_set_plan(store, job, big, "h", 1, 0, err), PKG_E_TOO_LARGE);
	assert_int_equal(number(store, "SELECT plan_hash IS NULL FROM job"), 1);
}

/* ---- Other processes ---- */

static int held[2]; /* pipes between the processes of one test */
static int tried[2];

static int
hold(struct store *store)
{
	char c;

	if (store_begin(store, NULL) < 0 || write(held[1], "xx", 2) != 2 ||
		read(tried[0], &c, 1) != 1)
		return 8;
	/* The patient one is waiting by now, or comes to a free lock. */
	pkg_sleep_ms(100);
	return store_commit(store, NULL) < 0 ? 7 : 0;
}

/* 0 holds the lock until 1 has given up; 2 waits. */
static int
contend(struct fixture *f, int who)
{
	pkg_cleanup_error struct pkg_error err = { 0 };
	struct store *store = store_open(&f->home, NULL);
	bool refused;
	char c;

	/* Should one of the three fail, the others would wait for ever. */
	(void)alarm(60);
	if (!store)
		return 9;
	if (who == 0)
		return hold(store);
	if (read(held[0], &c, 1) != 1)
		return 6;
	if (who == 2)
		return store_env_reserve_id(store, NULL) > 0 ? 0 : 5;
	store_set_timeout(store, 30);
	refused = store_env_reserve_id(store, &err) < 0 && err.kind == PKG_E_DATABASE &&
		strstr(err.message, "locked") && err.cure;
	return write(tried[1], "x", 1) == 1 && refused ? 0 : 4;
}

static void
a_lock_is_waited_for_and_then_named(void **state)
{
	FIXTURE(state);
	int statuses[3];

	assert_int_equal(pipe(held), 0);
	assert_int_equal(pipe(tried), 0);
	at_once(3, contend, f, statuses);
	store = f->store;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(statuses[i], 0);
		(void)close(i < 2 ? held[i] : tried[0]);
	}
	(void)close(tried[1]);
	assert_int_equal(number(store, "SELECT value FROM counter"), 1);
}

static int
count_up(struct fixture *f, int who)
{
	struct store *store = store_open(&f->home, NULL);
	int result = 0;

	for (int i = 0; store && i < 25; i++) {
		/* Read, then write: what a deferred transaction would fail at. */
		if (store_begin(store, NULL) < 0 || store_generation_next(store, who, NULL) != 1 ||
			store_env_reserve_id(store, NULL) < 0 || store_commit(store, NULL) < 0)
			result = 1;
	}
	store_close(store);
	return store ? result : 2;
}

static void
eight_processes_that_read_then_write_lose_nothing(void **state)
{
	FIXTURE(state);
	int statuses[8];

	at_once(8, count_up, f, statuses);
	store = f->store;
	assert_int_equal(count_of(statuses, 8, 0), 8);
	assert_int_equal(number(store, "SELECT value FROM counter"), 200);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_HOME(four_processes_open_a_new_database_at_once_three_times_over),
		WITH_STORE(the_file_is_private_and_every_pragma_is_on),
		WITH_STORE(every_statement_is_valid),
		WITH_STORE(what_was_written_is_there_after_reopening),
		WITH_STORE(a_newer_database_is_refused_with_both_numbers),
		WITH_STORE(the_database_of_another_program_is_refused),
		WITH_STORE(a_database_with_foreign_tables_and_no_version_is_refused),
		WITH_HOME(a_file_of_other_bytes_is_refused_and_kept),
		WITH_STORE(damage_inside_is_named_when_it_is_met),
		WITH_HOME(an_empty_file_becomes_a_database),
		WITH_HOME(a_missing_directory_is_named),
#ifdef PKGD_FAULT_POINTS
		WITH_HOME(killed_while_setting_up_the_next_open_finishes),
		WITH_STORE(a_commit_that_fails_leaves_nothing_and_no_transaction),
#endif
		WITH_STORE(a_transaction_inside_another_is_refused),
		WITH_STORE(rollback_takes_everything_back),
		WITH_STORE(a_part_that_fails_is_undone_and_the_rest_stays),
		WITH_STORE(a_full_disk_undoes_the_whole_and_refuses_the_rest),
		WITH_STORE(writes_after_a_lost_transaction_are_refused),
		WITH_STORE(a_value_beyond_all_measure_is_refused),
		WITH_STORE(a_lock_is_waited_for_and_then_named),
		WITH_STORE(eight_processes_that_read_then_write_lose_nothing),
	};

	return cmocka_run_group_tests_name("store", tests, NULL, NULL);
}
