/* The crash matrix: whole jobs, killed at every pass of every point where that is possible, and with a disk that is full
 * there. Whatever happened, the environment is as it was before or as it is after, the job says which, and nothing is
 * left over. */
#include "test_install_common.h"
#include "fake_lang.h"

#define INSTALL(what) "{\"requirements\":[" what "]}"

/* Everything that counts, as text: where the prefix leads, the tree, the rows. */
static int
note_entry(void *context, const char *relative, const struct stat *st,
	PKG_UNUSED struct pkg_error *err)
{
	pkg_buf_addf(context, "%s %o %lld\n", relative, (unsigned)st->st_mode & S_IFMT,
		S_ISREG(st->st_mode) ? (long long)st->st_size : 0);
	return 0;
}

static char *
snapshot(struct fixture *f)
{
	pkg_cleanup(store_close) struct store *store = open_store(f);
	pkg_cleanup_store_env struct store_env env = env_of(f);
	pkg_cleanup_store_package_list struct store_package_list packages = { 0 };
	pkg_autofree char *link = pkg_path_join(f->home.data, "envs/default/python/python");
	struct store_generation_list list = { 0 };
	struct pkg_buf out = { 0 };
	char target[256] = "";

	if (readlink(link, target, sizeof(target) - 1) < 0)
		target[0] = '\0';
	pkg_buf_addf(&out, "link %s\nenv %d generation %d revision %d\n", target, (int)env.id,
		(int)env.generation, (int)env.revision);
	if (env.id != 0) {
		pkg_autofree char *tree =
			pkg_path_joinf(f->home.data, "generations/%d", (int)env.id);

		assert_ok(pkg_tree_walk(AT_FDCWD, tree, note_entry, &out, &f->err));
		assert_ok(store_generation_list(store, env.id, &list, &f->err));
		assert_ok(store_packages_get(store, env.id, env.generation, &packages, &f->err));
	}
	for (size_t i = 0; i < list.count; i++)
		pkg_buf_addf(&out, "generation %d.%d %d %d\n", (int)list.items[i].number,
			(int)list.items[i].revision, list.items[i].current, list.items[i].retired);
	for (size_t i = 0; i < packages.count; i++)
		pkg_buf_addf(&out, "package %s %s %d\n", packages.items[i].key,
			packages.items[i].version, packages.items[i].owned);
	store_generation_list_clear(&list);
	return pkg_buf_steal(&out);
}

static const struct scenario {
	const char *name;
	const char *before[4]; /* action, request, ... that make the state of before */
	const char *action;
	const char *request;
} scenarios[] = {
	{ "create", { NULL }, "create", "{}" },
	{ "first install", { NULL }, "install", INSTALL("\"app==1.0\"") },
	{ "additive install", { "install", INSTALL("\"app==1.0\"") }, "install",
		INSTALL("\"tool\",\"appendix\"") },
	{ "upgrade", { "install", INSTALL("\"app==1.0\""), "install", INSTALL("\"app==1.1\"") },
		"upgrade", "{\"requirements\":[\"app\"]}" },
	{ "remove", { "install", INSTALL("\"app==1.0\",\"tool\"") }, "remove",
		"{\"requirements\":[\"lib\"]}" },
	{ "rollback", { "install", INSTALL("\"app==1.0\""), "install", INSTALL("\"app==1.1\"") },
		"rollback", "{}" },
	{ "delete", { "install", INSTALL("\"app==1.0\"") }, "delete", "{}" },
};

static const char *const points[] = { "plan", "fetch", "apply-dist", "verify", "commit-before",
	"commit-journalled", "commit-step", "commit-stepped", "commit-rows", "store-commit",
	"store-committed" };

static void
copy_home(const char *from, const char *to)
{
	pkg_autofree char *command = pkg_xasprintf("rm -rf '%s' && cp -a '%s' '%s'", to, from, to);

	assert_int_equal(system(command), 0);
}

static void
arm(const char *point, int pass, const char *action)
{
	pkg_autofree char *fault = pkg_xasprintf("%s:%d", point, pass);

	setenv("PKGD_FAULT", fault, 1);
	setenv("PKGD_FAULT_ACTION", action, 1);
}

/* In a process of its own that may die: true when it did. */
static bool
in_child(struct fixture *f, int64_t job, const char *point, int pass, const char *action)
{
	pid_t child = fork();
	int status = 0;

	if (child == 0) {
		arm(point, pass, action);
		if (job == 0) {
			json_object_put(install_reconcile(&f->home, NULL));
			_exit(0);
		}
		_exit(install_job_run(&f->home, job, -1, NULL) < 0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

static void
assert_settled(struct fixture *f, int64_t job, const char *where)
{
	pkg_cleanup(store_close) struct store *store = open_store(f);
	pkg_cleanup_store_claim_list struct store_claim_list claims = { 0 };
	struct store_journal_list journals = { 0 };
	pkg_cleanup_store_job struct store_job row = job_of(f, job);
	pkg_autofree char *staging = install_path_staging(&f->home, job);

	assert_ok(store_claim_unfinished(store, &claims, &f->err));
	assert_ok(store_journal_list(store, &journals, &f->err));
	if (claims.count != 0 || journals.count != 0)
		fail_msg("%s: %zu claims and %zu journals are left", where, claims.count,
			journals.count);
	store_journal_list_clear(&journals);
	if (!store_job_state_ended(row.state) && row.state != STORE_JOB_PENDING &&
		row.state != STORE_JOB_QUEUED)
		fail_msg("%s: the job is still %s", where, store_job_state_name(row.state));
	if (store_job_state_ended(row.state)) {
		assert_ok(install_clean(&f->home, &f->err));
		if (pkg_file_exists(staging))
			fail_msg("%s: staging is left", where);
	}
}

static void
reconcile_to_the_end(struct fixture *f, int64_t job, const char *where)
{
	pkg_cleanup(pkg_json_put) struct json_object *first = install_reconcile(&f->home, &f->err);
	pkg_cleanup(pkg_json_put) struct json_object *second = NULL;
	struct json_object *checked;

	if (first == NULL)
		fail_msg("%s: %s", where, f->err.message);
	checked = pkg_json_array(first, "checked");
	for (size_t i = 0; i < json_object_array_length(checked); i++)
		if (!pkg_json_bool(json_object_array_get_idx(checked, i), "ok", false))
			fail_msg("%s: %s", where, json_object_to_json_string(checked));
	second = install_reconcile(&f->home, &f->err);
	assert_non_null(second);
	if (json_object_array_length(pkg_json_array(second, "claims")) != 0)
		fail_msg("%s: told twice: %s", where, json_object_to_json_string(second));
	assert_settled(f, job, where);
}

struct matrix {
	struct fixture *f;
	const struct scenario *scenario;
	/* Copies of whole homes: */
	char *asked_home; /* the job is queued */
	char *ready_home; /* and approved; NULL when it needs no card */
	char *before, *after;
	int64_t job;
};

static void
matrix_start(struct matrix *m, struct fixture *f, const struct scenario *scenario)
{
	*m = (struct matrix){ .f = f, .scenario = scenario };
	m->asked_home = pkg_xasprintf("%s.asked", f->root);
	m->ready_home = pkg_xasprintf("%s.ready", f->root);
	for (size_t i = 0; i + 1 < PKG_ARRAY_LEN(scenario->before); i += 2)
		if (scenario->before[i] != NULL)
			assert_done(f, complete(f, scenario->before[i], scenario->before[i + 1]));
	m->before = snapshot(f);
	m->job = submit(f, scenario->action, scenario->request);
	copy_home(f->root, m->asked_home);
	run_job(f, m->job);
	if (strcmp(state_of(f, m->job), "pending") == 0) {
		answer(f, m->job, true);
		copy_home(f->root, m->ready_home);
		run_job(f, m->job);
	} else {
		free(pkg_steal_ptr(&m->ready_home));
	}
	assert_done(f, m->job);
	m->after = snapshot(f);
	assert_string_not_equal(m->before, m->after);
}

static void
matrix_end(struct matrix *m)
{
	(void)pkg_tree_remove(m->asked_home, NULL);
	if (m->ready_home != NULL)
		(void)pkg_tree_remove(m->ready_home, NULL);
	free(m->asked_home);
	free(m->ready_home);
	free(m->before);
	free(m->after);
}

static void
assert_before_or_after(struct matrix *m, const char *where)
{
	pkg_autofree char *now = snapshot(m->f);
	pkg_cleanup_store_job struct store_job job = job_of(m->f, m->job);
	bool after = strcmp(now, m->after) == 0;

	if (!after && strcmp(now, m->before) != 0)
		fail_msg("%s: neither before nor after:\n%s\n--- before\n%s--- after\n%s", where,
			now, m->before, m->after);
	if (after != (job.state == STORE_JOB_DONE))
		fail_msg("%s: the job is %s, the environment is %s", where,
			store_job_state_name(job.state), after ? "changed" : "as it was");
}

/* Every pass of one point, until a run gets through without it. How many there are. */
static int
fail_at_every_pass(struct matrix *m, const char *home, const char *point)
{
	static const char *const actions[] = { "kill", "enospc" };
	bool killed = true;
	int pass = 0;

	while (killed) {
		pass++;
		for (size_t i = 0; i < PKG_ARRAY_LEN(actions); i++) {
			pkg_autofree char *where = pkg_xasprintf(
				"%s, %s:%d %s", m->scenario->name, point, pass, actions[i]);
			bool dead;

			copy_home(home, m->f->root);
			dead = in_child(m->f, m->job, point, pass, actions[i]);
			reconcile_to_the_end(m->f, m->job, where);
			assert_before_or_after(m, where);
			killed = i == 0 ? dead : killed;
		}
	}
	return pass - 1;
}

/* The one who puts it right is killed as well. */
static int
kill_reconcile_at_every_pass(struct matrix *m, const char *home, const char *point)
{
	bool killed = true;
	int pass = 0;

	while (killed) {
		pkg_autofree char *where = NULL;

		pass++;
		where = pkg_xasprintf("%s, reconcile %s:%d", m->scenario->name, point, pass);
		copy_home(home, m->f->root);
		assert_true(in_child(m->f, m->job, "commit-journalled", 1, "kill"));
		killed = in_child(m->f, 0, point, pass, "kill");
		reconcile_to_the_end(m->f, m->job, where);
		assert_before_or_after(m, where);
		assert_done(m->f, m->job);
	}
	return pass - 1;
}

static void
run_matrix(struct fixture *f, const struct scenario *scenario)
{
	struct matrix m;
	const char *home;
	int kills = 0, again = 0;

	setenv("PKGD_RETENTION_GENERATIONS", "1", 1);
	matrix_start(&m, f, scenario);
	home = m.ready_home != NULL ? m.ready_home : m.asked_home;
	for (size_t i = 0; i < PKG_ARRAY_LEN(points); i++) {
		kills += fail_at_every_pass(&m, m.asked_home, points[i]);
		if (m.ready_home != NULL)
			kills += fail_at_every_pass(&m, m.ready_home, points[i]);
		if (strncmp(points[i], "commit-s", 8) == 0 || strncmp(points[i], "store-", 6) == 0)
			again += kill_reconcile_at_every_pass(&m, home, points[i]);
	}
	print_message("# %s: killed %d times, reconcile %d times\n", scenario->name, kills, again);
	assert_true(kills > 0 && again > 0);
	matrix_end(&m);
	unsetenv("PKGD_RETENTION_GENERATIONS");
}

#ifdef PKGD_FAULT_POINTS
#define MATRIX(name, index)                                                                        \
	static void name(void **state)                                                             \
	{                                                                                          \
		run_matrix(*state, &scenarios[index]);                                             \
	}
#else
#define MATRIX(name, index)                                                                        \
	static void name(PKG_UNUSED void **state)                                                  \
	{                                                                                          \
		(void)run_matrix;                                                                  \
		skip();                                                                            \
	}
#endif
MATRIX(a_killed_create_is_before_or_after, 0)
MATRIX(a_killed_first_install_is_before_or_after, 1)
MATRIX(a_killed_additive_install_is_before_or_after, 2)
MATRIX(a_killed_upgrade_is_before_or_after, 3)
MATRIX(a_killed_remove_is_before_or_after, 4)
MATRIX(a_killed_rollback_is_before_or_after, 5)
MATRIX(a_killed_delete_is_before_or_after, 6)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_HOME(a_killed_create_is_before_or_after),
		WITH_HOME(a_killed_first_install_is_before_or_after),
		WITH_HOME(a_killed_additive_install_is_before_or_after),
		WITH_HOME(a_killed_upgrade_is_before_or_after),
		WITH_HOME(a_killed_remove_is_before_or_after),
		WITH_HOME(a_killed_rollback_is_before_or_after),
		WITH_HOME(a_killed_delete_is_before_or_after),
	};

	return cmocka_run_group_tests_name("install_crash", tests, NULL, NULL);
}
