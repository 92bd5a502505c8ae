/* tests/unit/test_store_common.h - what the tests of the store share: a home of their own, a store
 * in it, records to start from, and several processes that start at the same moment. */
#ifndef UNIT_TEST_STORE_COMMON_H
#define UNIT_TEST_STORE_COMMON_H
#include "unit.h"
#include "core/path.h"
#include "core/tree.h"
#include "store/card.h"
#include "store/history.h"
#include "store/journal.h"
#include "store/statements.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct fixture {
	struct pkg_home home;
	struct store *store;
	struct pkg_error err;
};

/* In every test that takes the fixture. */
#define FIXTURE(state)                                                                             \
	struct fixture *f = *(state);                                                              \
	struct store *store PKG_UNUSED = f->store;                                                 \
	struct pkg_error *err PKG_UNUSED = &f->err

#define assert_ok(call)                                                                            \
	do {                                                                                       \
		int result_ = (int)(call);                                                         \
		if (result_ < 0)                                                                   \
			fail_msg("%s: %s", #call, err->message ? err->message : "(no message)");   \
	} while (0)
#define assert_refused(call, expected)                                                             \
	do {                                                                                       \
		pkg_error_clear(err);                                                              \
		assert_int_equal((int)(call), -1);                                                 \
		assert_string_equal(                                                               \
			pkg_error_kind_name(err->kind), pkg_error_kind_name(expected));            \
	} while (0)
#define assert_says(text)                                                                          \
	do {                                                                                       \
		if (!err->message || !strstr(err->message, text))                                  \
			fail_msg("'%s' is not in: %s", text, err->message);                        \
	} while (0)

static inline int
home_only(void **state)
{
	struct fixture *f = pkg_xcalloc(1, sizeof(*f));
	const char *tmp = getenv("TMPDIR");

	f->home.state = pkg_xasprintf("%s/pkgd-store-XXXXXX", tmp ? tmp : "/tmp");
	*state = f;
	return mkdtemp(f->home.state) ? 0 : -1;
}

static inline int
home_with_store(void **state)
{
	struct fixture *f;

	if (home_only(state) < 0)
		return -1;
	f = *state;
	f->store = store_open(&f->home, &f->err);
	if (!f->store)
		print_error("%s\n", f->err.message);
	return f->store ? 0 : -1;
}

static inline int
home_gone(void **state)
{
	struct fixture *f = *state;

	store_close(f->store);
	pkg_error_clear(&f->err);
	(void)pkg_tree_remove(f->home.state, NULL);
	free(f->home.state);
	free(f);
	return 0;
}

#define WITH_STORE(test) cmocka_unit_test_setup_teardown(test, home_with_store, home_gone)
#define WITH_HOME(test) cmocka_unit_test_setup_teardown(test, home_only, home_gone)

/* ---- Records ---- */

static inline PKG_UNUSED int64_t
make_env(struct store *store, const char *name, struct pkg_error *err)
{
	struct store_env env = { .id = store_env_reserve_id(store, err),
		.project = (char *)"p",
		.language = (char *)"python",
		.name = (char *)name,
		.prefix = (char *)"/envs/p/python/x" };

	return store_env_insert(store, &env, err) < 0 ? -1 : env.id;
}

static inline PKG_UNUSED struct store_job
plain_job(const char *environment)
{
	return (struct store_job){ .action = (char *)"install",
		.project = (char *)"p",
		.language = (char *)"python",
		.environment = (char *)environment,
		.request = (char *)"{}",
		.requester = { .uid = 7, .pid = 8, .label = (char *)"agent" } };
}

static inline PKG_UNUSED int64_t
make_job(struct store *store, const char *environment, struct pkg_error *err)
{
	struct store_job job = plain_job(environment);

	return store_job_insert(store, &job, err) < 0 ? -1 : job.id;
}

/* The number that one SQL query gives, past the store's own functions. */
static inline PKG_UNUSED int64_t
number(struct store *store, const char *sql)
{
	int64_t value = -1;

	assert_int_equal(store_schema_number(store, sql, &value, NULL), 0);
	return value;
}

static inline PKG_UNUSED int
raw(struct store *store, const char *sql)
{
	return sqlite3_exec(store->db, sql, NULL, NULL, NULL);
}

/* ---- Processes ---- */

enum { AT_ONCE_MAX = 16 };

/* Runs count processes, without the fixture's store, that all begin when the last is there;
 * statuses[i] is what each returned (0..255), 128 + N when a signal ended it. No cmocka assertion
 * may be used in them. Afterwards the store is opened again, if it was open before: SQLite's view
 * of its locks must not be carried across a fork. */
static inline PKG_UNUSED void
at_once(int count, int (*work)(struct fixture *f, int number), struct fixture *f, int *statuses)
{
	pid_t pids[AT_ONCE_MAX];
	bool reopen = f->store != NULL;
	int gate[2];

	store_close(f->store);
	f->store = NULL;
	assert_int_equal(pipe(gate), 0);
	for (int i = 0; i < count; i++) {
		pids[i] = fork();
		if (pids[i] == 0) {
			char c;

			(void)close(gate[1]);
			(void)!read(gate[0], &c, 1);
			_exit(work(f, i));
		}
		assert_true(pids[i] > 0);
	}
	(void)close(gate[0]);
	(void)close(gate[1]);
	for (int i = 0; i < count; i++) {
		int status;

		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		statuses[i] = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	}
	if (reopen) {
		f->store = store_open(&f->home, &f->err);
		assert_non_null(f->store);
	}
}

static inline PKG_UNUSED int
count_of(const int *statuses, int count, int wanted)
{
	int found = 0;

	for (int i = 0; i < count; i++)
		found += statuses[i] == wanted;
	return found;
}
#endif
