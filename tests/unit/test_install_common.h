/* tests/unit/test_install_common.h - what the tests of install/ share: a whole home of their own, and jobs in it. */
#ifndef UNIT_TEST_INSTALL_COMMON_H
#define UNIT_TEST_INSTALL_COMMON_H
#include "unit.h"
#include "core/file.h"
#include "core/path.h"
#include "core/tree.h"
#include "install/names.h"
#include "install/pipeline.h"
#include "install/reconcile.h"
#include "store/card.h"
#include "store/history.h"
#include "store/journal.h"
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct fixture {
	struct pkg_home home;
	char *root;
	struct pkg_error err;
};

#define assert_ok(call)                                                                            \
	do {                                                                                       \
		int result_ = (int)(call);                                                         \
		if (result_ < 0)                                                                   \
			fail_msg("%s: %s", #call,                                                  \
				f->err.message ? f->err.message : "(no message)");                 \
	} while (0)
#define assert_kind(expected)                                                                      \
	assert_string_equal(pkg_error_kind_name(f->err.kind), pkg_error_kind_name(expected))

/* In memory where that is possible: thousands of syncs are slow on a disk. */
static inline int
home_made(void **state)
{
	struct fixture *f = pkg_xcalloc(1, sizeof(*f));
	const char *tmp = access("/dev/shm", W_OK) == 0 ? "/dev/shm"
		: getenv("TMPDIR") != NULL		? getenv("TMPDIR")
							: "/tmp";
	const char *source = getenv("PKGD_TEST_SRCDIR");

	f->root = pkg_xasprintf("%s/pkgd-install-XXXXXX", tmp);
	*state = f;
	if (source == NULL || mkdtemp(f->root) == NULL)
		return -1;
	setenv("PKGD_HOME", f->root, 1);
	setenv("PKGD_DATADIR", source, 1);
	unsetenv("PKGD_FAULT");
	unsetenv("PKGD_FAULT_ACTION");
	if (pkg_home_find(false, &f->home, &f->err) == 0 && pkg_home_make(&f->home, &f->err) == 0)
		return 0;
	print_error("%s\n", f->err.message);
	return -1;
}

static inline int
home_gone(void **state)
{
	struct fixture *f = *state;

	(void)pkg_tree_remove(f->root, NULL);
	pkg_home_clear(&f->home);
	pkg_error_clear(&f->err);
	free(f->root);
	free(f);
	return 0;
}

#define WITH_HOME(test) cmocka_unit_test_setup_teardown(test, home_made, home_gone)

/* A store for one statement: its view of locks must not be carried across a fork. */
static inline PKG_UNUSED struct store *
open_store(struct fixture *f)
{
	struct store *store = store_open(&f->home, &f->err);

	if (store == NULL)
		fail_msg("%s", f->err.message);
	return store;
}

static inline PKG_UNUSED int64_t
submit(struct fixture *f, const char *action, const char *request)
{
	pkg_cleanup(store_close) struct store *store = open_store(f);
	struct store_job job = { .action = (char *)action,
		.project = (char *)"default",
		.language = (char *)"python",
		.environment = (char *)"python",
		.request = (char *)request,
		.requester = { .uid = 7, .pid = 8, .label = (char *)"test" } };

	assert_ok(store_job_insert(store, &job, &f->err));
	return job.id;
}

static inline PKG_UNUSED struct store_job
job_of(struct fixture *f, int64_t id)
{
	pkg_cleanup(store_close) struct store *store = open_store(f);
	struct store_job job = { 0 };

	assert_ok(store_job_get(store, id, &job, &f->err));
	return job;
}

static inline PKG_UNUSED const char *
state_of(struct fixture *f, int64_t id)
{
	pkg_cleanup_store_job struct store_job job = job_of(f, id);

	return store_job_state_name(job.state);
}

static inline PKG_UNUSED void
answer(struct fixture *f, int64_t id, bool approve)
{
	pkg_cleanup(store_close) struct store *store = open_store(f);
	pkg_cleanup_store_job struct store_job job = job_of(f, id);
	struct store_answer given = {
		.approve = approve, .uid = 1, .pid = 2, .via = "control", .plan_hash = job.plan_hash
	};

	assert_ok(store_card_answer(store, job.card, &given, &f->err));
}

static inline PKG_UNUSED void
run_job(struct fixture *f, int64_t id)
{
	assert_ok(install_job_run(&f->home, id, -1, &f->err));
}

/* Asked, planned, approved where a card came, and run to its end. */
static inline PKG_UNUSED int64_t
complete(struct fixture *f, const char *action, const char *request)
{
	int64_t id = submit(f, action, request);

	run_job(f, id);
	if (strcmp(state_of(f, id), "pending") == 0) {
		answer(f, id, true);
		run_job(f, id);
	}
	return id;
}

static inline PKG_UNUSED void
assert_done(struct fixture *f, int64_t id)
{
	pkg_cleanup_store_job struct store_job job = job_of(f, id);

	if (job.state != STORE_JOB_DONE)
		fail_msg("job %d is %s: %s", (int)id, store_job_state_name(job.state),
			job.result != NULL ? job.result : "(no result)");
}

static inline PKG_UNUSED struct json_object *
result_of(struct fixture *f, int64_t id)
{
	pkg_cleanup_store_job struct store_job job = job_of(f, id);

	assert_non_null(job.result);
	return pkg_json_parse(job.result, strlen(job.result), NULL);
}

static inline PKG_UNUSED struct store_env
env_of(struct fixture *f)
{
	pkg_cleanup(store_close) struct store *store = open_store(f);
	struct store_env_key key = { "default", "python", "python" };
	struct store_env env = { 0 };

	(void)store_env_get(store, &key, &env, NULL);
	return env;
}

static inline PKG_UNUSED bool
in_env(struct fixture *f, const char *path)
{
	pkg_autofree char *full =
		pkg_path_joinf(f->home.data, "envs/default/python/python/%s", path);

	return pkg_file_exists(full);
}

static inline PKG_UNUSED struct pkg_buf
file_text(const char *path)
{
	struct pkg_buf text = { 0 };

	assert_int_equal(pkg_file_read(path, 16 << 20, &text, NULL), 0);
	return text;
}

static inline PKG_UNUSED struct pkg_buf
events_of(struct fixture *f, int64_t id)
{
	pkg_autofree char *dir = install_path_job(&f->home, id);
	pkg_autofree char *path = pkg_path_join(dir, "events.jsonl");

	return file_text(path);
}

static inline PKG_UNUSED size_t
times_in(const char *text, const char *what)
{
	size_t count = 0;

	for (; (text = strstr(text, what)) != NULL; text++)
		count++;
	return count;
}
#endif
