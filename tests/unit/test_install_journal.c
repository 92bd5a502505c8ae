#include "test_install_common.h"
#include "core/fault.h"
#include "install/journal.h"
#include "store/statements.h"

/* A directory with one file that says what it is. */
static void
make_tree(struct fixture *f, const char *path)
{
	pkg_autofree char *dir = pkg_path_join(f->home.data, path);
	pkg_autofree char *file = pkg_path_join(dir, "what");

	assert_ok(pkg_dir_make(dir, 0755, &f->err));
	assert_ok(pkg_file_write(file, path, strlen(path), 0644, false, &f->err));
}

static bool
is_there(struct fixture *f, const char *path)
{
	pkg_autofree char *full = pkg_path_join(f->home.data, path);
	struct stat st;

	return lstat(full, &st) == 0;
}

static char *
link_of(struct fixture *f, const char *path)
{
	pkg_autofree char *full = pkg_path_join(f->home.data, path);
	char target[200] = "";

	return readlink(full, target, sizeof(target) - 1) > 0 ? pkg_xstrdup(target) : NULL;
}

static void
set_link(struct fixture *f, const char *path, const char *target)
{
	pkg_autofree char *full = pkg_path_join(f->home.data, path);
	pkg_autofree char *dir = pkg_path_dir(full);

	assert_ok(pkg_dir_make(dir, 0755, &f->err));
	assert_int_equal(symlink(target, full), 0);
}

/* An environment with a generation 1 in rows and on disk, and the job of the next change, claimed. */
struct place {
	int64_t env;
	int64_t job;
};

static struct place
make_place(struct fixture *f)
{
	pkg_cleanup(store_close) struct store *store = open_store(f);
	struct place place = { .env = store_env_reserve_id(store, &f->err) };
	struct store_env env = { .id = place.env,
		.project = (char *)"default",
		.language = (char *)"python",
		.name = (char *)"python",
		.prefix = (char *)"/p",
		.facts = (char *)"{}",
		.generation = 1 };
	struct store_job job = { .action = (char *)"install",
		.project = (char *)"default",
		.language = (char *)"python",
		.environment = (char *)"python",
		.request = (char *)"{}" };

	assert_ok(store_env_insert(store, &env, &f->err));
	assert_ok(store_generation_insert(store, place.env, 1, 0, &f->err));
	assert_ok(store_job_insert(store, &job, &f->err));
	place.job = job.id;
	make_tree(f, "generations/1/1");
	set_link(f, "envs/default/python/python", "../../../generations/1/1");
	return place;
}

static struct json_object *
switch_ops(void)
{
	struct json_object *ops = json_object_new_array();

	install_journal_op_move(ops, "staging/1/tree", "generations/1/2");
	install_journal_op_point(ops, "envs/default/python/python", "../../../generations/1/2");
	install_journal_op_trash(ops, "generations/1/1");
	return ops;
}

static int
commit_switch(struct fixture *f, struct place place, struct json_object *ops)
{
	pkg_cleanup(store_close) struct store *store = open_store(f);
	pkg_cleanup(pkg_json_put) struct json_object *result = json_object_new_object();
	struct install_after after = {
		.job = place.job,
		.env = place.env,
		.generation = 2,
		.new_generation = true,
		.result = result,
	};

	return install_journal_commit(&f->home, store, "switch", ops, &after, &f->err);
}

static size_t
journal_count(struct fixture *f)
{
	pkg_cleanup(store_close) struct store *store = open_store(f);
	struct store_journal_list list = { 0 };
	size_t count;

	assert_ok(store_journal_list(store, &list, &f->err));
	count = list.count;
	store_journal_list_clear(&list);
	return count;
}

static void
a_switch_moves_points_and_puts_the_old_tree_aside(void **state)
{
	struct fixture *f = *state;
	struct place place = make_place(f);
	pkg_cleanup(pkg_json_put) struct json_object *ops = switch_ops();
	pkg_autofree char *target = NULL;
	pkg_cleanup_store_env struct store_env env = { 0 };

	make_tree(f, "staging/1/tree");
	assert_int_equal(commit_switch(f, place, ops), 0);
	target = link_of(f, "envs/default/python/python");
	assert_string_equal(target, "../../../generations/1/2");
	assert_true(is_there(f, "generations/1/2/what"));
	assert_false(is_there(f, "generations/1/1"));
	env = env_of(f);
	assert_int_equal(env.generation, 2);
	assert_int_equal(journal_count(f), 0);
	assert_string_equal(state_of(f, place.job), "done");
}

/* The first N steps were done when the kill came, N from none to all; then all of it again. */
static void
a_journal_is_completed_from_any_step(void **state)
{
	struct fixture *f = *state;
	struct place place = make_place(f);
	pkg_cleanup(pkg_json_put) struct json_object *ops = switch_ops();

	for (int done = 0; done <= 3; done++) {
		pkg_cleanup(store_close) struct store *store = open_store(f);
		pkg_autofree char *ops_text = pkg_json_line(ops);
		pkg_autofree char *after =
			pkg_xasprintf("{\"job\":%d,\"env\":%d,\"generation\":%d,\"revision\":0,"
				      "\"new_generation\":false,\"result\":{}}",
				(int)place.job, (int)place.env, 1);
		struct store_journal journal = { .env = place.env,
			.job = place.job,
			.kind = (char *)"switch",
			.ops = ops_text,
			.after = after };
		pkg_autofree char *target = NULL;
		pkg_autofree char *root = pkg_xstrdup(f->home.data);
		pkg_autofree char *wipe = pkg_xasprintf(
			"rm -rf '%s'/generations '%s'/staging '%s'/envs/default", root, root, root);

		assert_int_equal(system(wipe), 0);
		make_tree(f, done >= 1 ? "generations/1/2" : "staging/1/tree");
		set_link(f, "envs/default/python/python",
			done >= 2 ? "../../../generations/1/2" : "../../../generations/1/1");
		if (done < 3)
			make_tree(f, "generations/1/1");
		assert_ok(store_journal_write(store, &journal, &f->err));
		assert_int_equal(install_journal_complete(&f->home, store, &journal, &f->err), 0);
		target = link_of(f, "envs/default/python/python");
		assert_string_equal(target, "../../../generations/1/2");
		assert_true(is_there(f, "generations/1/2/what"));
		assert_false(is_there(f, "generations/1/1"));
		assert_int_equal(journal_count(f), 0);
	}
}

static void
a_foreign_file_in_the_way_undoes_what_was_moved(void **state)
{
	struct fixture *f = *state;
	struct place place = make_place(f);
	pkg_cleanup(pkg_json_put) struct json_object *ops = json_object_new_array();

	make_tree(f, "staging/1/overlay/a");
	make_tree(f, "staging/1/overlay/b");
	make_tree(f, "staging/1/overlay/c");
	make_tree(f, "generations/1/1/b");
	install_journal_op_move(ops, "staging/1/overlay/a", "generations/1/1/a");
	install_journal_op_move(ops, "staging/1/overlay/b", "generations/1/1/b");
	install_journal_op_move(ops, "staging/1/overlay/c", "generations/1/1/c");
	assert_int_equal(commit_switch(f, place, ops), -1);
	assert_kind(PKG_E_PATH_CLASH);
	assert_non_null(strstr(f->err.message, "generations/1/1/b"));
	assert_true(is_there(f, "staging/1/overlay/a/what"));
	assert_false(is_there(f, "generations/1/1/a"));
	assert_false(is_there(f, "generations/1/1/c"));
	assert_true(is_there(f, "generations/1/1/b/what"));
	assert_int_equal(journal_count(f), 0);
}

static void
a_missing_source_undoes_what_was_moved(void **state)
{
	struct fixture *f = *state;
	struct place place = make_place(f);
	pkg_cleanup(pkg_json_put) struct json_object *ops = json_object_new_array();

	make_tree(f, "staging/1/overlay/a");
	install_journal_op_move(ops, "staging/1/overlay/a", "generations/1/1/a");
	install_journal_op_move(ops, "staging/1/overlay/b", "generations/1/1/b");
	assert_int_equal(commit_switch(f, place, ops), -1);
	assert_true(is_there(f, "staging/1/overlay/a/what"));
	assert_int_equal(journal_count(f), 0);
}

static void
a_tree_that_the_database_does_not_know_is_told_with_a_cure(void **state)
{
	struct fixture *f = *state;
	struct place place = make_place(f);
	pkg_cleanup(pkg_json_put) struct json_object *ops = switch_ops();
	pkg_autofree char *target = NULL;

	make_tree(f, "staging/1/tree");
	make_tree(f, "generations/1/2/other");
	assert_int_equal(commit_switch(f, place, ops), -1);
	assert_kind(PKG_E_PATH_CLASH);
	assert_non_null(strstr(f->err.cure, "generations/1/2"));
	assert_true(is_there(f, "generations/1/2/other"));
	target = link_of(f, "envs/default/python/python");
	assert_string_equal(target, "../../../generations/1/1");
}

/* What stands at the prefix is a directory of somebody's: not switched, and the tree goes back. */
static void
a_prefix_that_cannot_be_switched_undoes_the_move(void **state)
{
	struct fixture *f = *state;
	struct place place = make_place(f);
	pkg_cleanup(pkg_json_put) struct json_object *ops = switch_ops();
	pkg_autofree char *link = pkg_path_join(f->home.data, "envs/default/python/python");

	assert_int_equal(unlink(link), 0);
	make_tree(f, "envs/default/python/python");
	make_tree(f, "staging/1/tree");
	assert_int_equal(commit_switch(f, place, ops), -1);
	assert_true(is_there(f, "staging/1/tree/what"));
	assert_false(is_there(f, "generations/1/2"));
	assert_true(is_there(f, "envs/default/python/python/what"));
	assert_false(is_there(f, "envs/default/python/.python.new"));
}

/* Once the link is switched an undo would leave it without a tree. */
static void
what_fails_after_the_switch_is_finished_later(void **state)
{
#ifdef PKGD_FAULT_POINTS
	struct fixture *f = *state;
	struct place place = make_place(f);
	pkg_cleanup(pkg_json_put) struct json_object *ops = switch_ops();
	pkg_cleanup(store_close) struct store *store = NULL;
	struct store_journal journal = { 0 };
	pkg_autofree char *target = NULL;

	make_tree(f, "staging/1/tree");
	setenv("PKGD_FAULT", "commit-step:3", 1);
	setenv("PKGD_FAULT_ACTION", "enospc", 1);
	assert_int_equal(commit_switch(f, place, ops), 1);
	assert_kind(PKG_E_DISK_FULL);
	unsetenv("PKGD_FAULT");
	target = link_of(f, "envs/default/python/python");
	assert_string_equal(target, "../../../generations/1/2");
	assert_true(is_there(f, "generations/1/2/what"));
	assert_int_equal(journal_count(f), 1);
	store = open_store(f);
	assert_ok(store_journal_get(store, place.env, &journal, &f->err));
	assert_int_equal(install_journal_complete(&f->home, store, &journal, &f->err), 0);
	store_journal_clear(&journal);
	assert_false(is_there(f, "generations/1/1"));
	assert_int_equal(journal_count(f), 0);
#else
	(void)state;
	skip();
#endif
}

/* While its row stands the change is decided: what was undone must not be told as never to come. */
static void
an_undo_whose_row_cannot_be_removed_is_still_open(void **state)
{
	struct fixture *f = *state;
	struct place place = make_place(f);
	pkg_cleanup(pkg_json_put) struct json_object *ops = switch_ops();
	pkg_cleanup(store_close) struct store *store = open_store(f);
	struct store_journal journal = { 0 };

	make_tree(f, "staging/1/tree");
	make_tree(f, "generations/1/2/other");
	assert_int_equal(sqlite3_exec(store->db,
				 "PRAGMA foreign_keys = OFF;"
				 "CREATE TABLE guard (env INTEGER REFERENCES journal (env));"
				 "INSERT INTO guard VALUES (1)",
				 NULL, NULL, NULL),
		SQLITE_OK);
	assert_int_equal(commit_switch(f, place, ops), 1);
	assert_int_equal(journal_count(f), 1);
	assert_int_equal(sqlite3_exec(store->db, "DROP TABLE guard", NULL, NULL, NULL), SQLITE_OK);
	assert_ok(store_journal_get(store, place.env, &journal, &f->err));
	assert_int_equal(install_journal_complete(&f->home, store, &journal, &f->err), -1);
	store_journal_clear(&journal);
	assert_int_equal(journal_count(f), 0);
	assert_true(is_there(f, "staging/1/tree/what"));
}

/* "data.new" is a name as good as "data". */
static void
switching_one_environment_leaves_its_neighbours_alone(void **state)
{
	struct fixture *f = *state;
	struct place place = make_place(f);
	pkg_cleanup(pkg_json_put) struct json_object *ops = switch_ops();
	pkg_autofree char *target = NULL;

	set_link(f, "envs/default/python/python.new", "../../../generations/9/9");
	make_tree(f, "staging/1/tree");
	assert_int_equal(commit_switch(f, place, ops), 0);
	target = link_of(f, "envs/default/python/python.new");
	assert_non_null(target);
	assert_string_equal(target, "../../../generations/9/9");
}

/* Rows that can never be written would block the environment for ever. */
static void
a_job_that_was_ended_meanwhile_does_not_keep_its_change_open(void **state)
{
	struct fixture *f = *state;
	struct place place = make_place(f);
	pkg_cleanup(pkg_json_put) struct json_object *ops = switch_ops();
	pkg_cleanup(store_close) struct store *store = open_store(f);
	pkg_cleanup_store_env struct store_env env = { 0 };

	make_tree(f, "staging/1/tree");
	assert_ok(store_job_end(store, place.job, STORE_JOB_CANCELLED, "{}", &f->err));
	assert_int_equal(commit_switch(f, place, ops), 0);
	env = env_of(f);
	assert_int_equal(env.generation, 2);
	assert_string_equal(state_of(f, place.job), "cancelled");
	assert_int_equal(journal_count(f), 0);
}

static void
a_new_environment_that_is_there_already_is_refused_untouched(void **state)
{
	static const char *const names[] = { "python", "Python" };
	struct fixture *f = *state;
	struct place place = make_place(f);
	pkg_cleanup(store_close) struct store *store = open_store(f);

	make_tree(f, "staging/1/tree");
	for (size_t i = 0; i < PKG_ARRAY_LEN(names); i++) {
		pkg_cleanup(pkg_json_put) struct json_object *ops = json_object_new_array();
		pkg_cleanup(pkg_json_put) struct json_object *row = json_object_new_object();
		pkg_autofree char *target = NULL;
		struct install_after after = { .job = place.job,
			.env = store_env_reserve_id(store, &f->err),
			.new_env = row,
			.facts = "{}",
			.generation = 1,
			.new_generation = true };

		pkg_json_set_str(row, "project", "default");
		pkg_json_set_str(row, "language", "python");
		pkg_json_set_str(row, "name", names[i]);
		pkg_json_set_str(row, "prefix", "/p");
		install_journal_op_move(ops, "staging/1/tree", "generations/7/1");
		install_journal_op_point(
			ops, "envs/default/python/python", "../../../generations/7/1");
		assert_int_equal(
			install_journal_commit(&f->home, store, "create", ops, &after, &f->err),
			-1);
		assert_kind(PKG_E_EXISTS);
		assert_true(is_there(f, "staging/1/tree/what"));
		target = link_of(f, "envs/default/python/python");
		assert_string_equal(target, "../../../generations/1/1");
	}
}

static void
a_second_change_of_one_environment_is_refused(void **state)
{
	struct fixture *f = *state;
	struct place place = make_place(f);
	pkg_cleanup(pkg_json_put) struct json_object *ops = switch_ops();
	pkg_cleanup(store_close) struct store *store = open_store(f);
	struct store_journal journal = { .env = place.env,
		.job = place.job,
		.kind = (char *)"switch",
		.ops = (char *)"[]",
		.after = (char *)"{}" };

	make_tree(f, "staging/1/tree");
	assert_ok(store_journal_write(store, &journal, &f->err));
	assert_int_equal(commit_switch(f, place, ops), -1);
	assert_kind(PKG_E_EXISTS);
	assert_true(is_there(f, "staging/1/tree/what"));
	assert_int_equal(journal_count(f), 1);
}

static void
steps_outside_of_data_and_unknown_ones_are_not_done(void **state)
{
	static const char *const texts[] = { "[[\"trash\",\"../state\"]]",
		"[[\"move\",\"/etc\",\"x\"]]", "[[\"move\",\"staging\",\"../x\"]]",
		"[[\"burn\",\"generations\"]]", "[[\"move\"]]", "[[]]" };
	struct fixture *f = *state;
	struct place place = make_place(f);

	for (size_t i = 0; i < PKG_ARRAY_LEN(texts); i++) {
		pkg_cleanup(pkg_json_put) struct json_object *ops =
			pkg_json_parse(texts[i], strlen(texts[i]), NULL);

		assert_int_equal(commit_switch(f, place, ops), -1);
		assert_kind(PKG_E_INTERNAL);
		assert_int_equal(journal_count(f), 0);
		assert_true(is_there(f, "generations/1/1/what"));
	}
}

static void
inventories_survive_the_way_through_json(void **state)
{
	static const char *const bad[] = { "{}", "[{}]", "[{\"name\":\"a\",\"key\":\"a\"}]",
		"[1]" };
	struct fixture *f = *state;
	pkg_cleanup_store_package_list struct store_package_list list = { 0 };
	pkg_cleanup_store_package_list struct store_package_list read = { 0 };
	struct store_package *package = store_package_list_add(&list);
	pkg_cleanup(pkg_json_put) struct json_object *json = NULL;
	pkg_cleanup(pkg_json_put) struct json_object *again = NULL;

	package->name = pkg_xstrdup("Flask");
	package->key = pkg_xstrdup("flask");
	package->version = pkg_xstrdup("3.0");
	package->owned = true;
	package->requirement = pkg_xstrdup("flask>=2");
	json = install_packages_to_json(&list);
	assert_ok(install_packages_from_json(json, &read, &f->err));
	again = install_packages_to_json(&read);
	assert_true(json_object_equal(json, again));
	assert_null(read.items[0].sha256);
	assert_int_equal(install_packages_from_json(NULL, &read, &f->err), -1);
	assert_kind(PKG_E_INVALID);
	for (size_t i = 0; i < PKG_ARRAY_LEN(bad); i++) {
		pkg_cleanup(pkg_json_put) struct json_object *array =
			pkg_json_parse(bad[i], strlen(bad[i]), NULL);

		assert_int_equal(install_packages_from_json(array, &read, &f->err), -1);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_HOME(a_switch_moves_points_and_puts_the_old_tree_aside),
		WITH_HOME(a_journal_is_completed_from_any_step),
		WITH_HOME(a_foreign_file_in_the_way_undoes_what_was_moved),
		WITH_HOME(a_missing_source_undoes_what_was_moved),
		WITH_HOME(a_tree_that_the_database_does_not_know_is_told_with_a_cure),
		WITH_HOME(a_prefix_that_cannot_be_switched_undoes_the_move),
		WITH_HOME(what_fails_after_the_switch_is_finished_later),
		WITH_HOME(an_undo_whose_row_cannot_be_removed_is_still_open),
		WITH_HOME(switching_one_environment_leaves_its_neighbours_alone),
		WITH_HOME(a_job_that_was_ended_meanwhile_does_not_keep_its_change_open),
		WITH_HOME(a_new_environment_that_is_there_already_is_refused_untouched),
		WITH_HOME(a_second_change_of_one_environment_is_refused),
		WITH_HOME(steps_outside_of_data_and_unknown_ones_are_not_done),
		WITH_HOME(inventories_survive_the_way_through_json),
	};

	return cmocka_run_group_tests_name("install_journal", tests, NULL, NULL);
}
