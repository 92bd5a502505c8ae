#include "install/commit.h"

#include <inttypes.h>
#include <string.h>

#include "core/file.h"
#include "core/path.h"

/* Journal paths are relative to <data>. */
static char *
generation_path(int64_t env, int64_t number)
{
	return pkg_xasprintf("generations/%" PRId64 "/%" PRId64, env, number);
}

static char *
staged_path(const struct install_worker *worker, const char *name)
{
	return pkg_xasprintf("staging/%" PRId64 "/%s", worker->job.id, name);
}

static char *
link_path(const struct install_worker *worker)
{
	const struct store_job *job = &worker->job;

	return pkg_xasprintf("envs/%s/%s/%s", job->project, job->language, job->environment);
}

/* The prefix's own directory is three levels below <data>; a relative link survives a moved home. */
static void
add_point(struct install_worker *worker, struct json_object *ops, int64_t env, int64_t number)
{
	pkg_autofree char *link = link_path(worker);
	pkg_autofree char *target =
		pkg_xasprintf("../../../generations/%" PRId64 "/%" PRId64, env, number);

	install_journal_op_point(ops, link, target);
}

static bool
kernel_holds(const struct store_kernel_list *kernels, int64_t generation)
{
	for (size_t i = 0; i < kernels->count; i++)
		if (kernels->items[i].generation == generation)
			return true;
	return false;
}

/* Old generations beyond retention.generations that no kernel holds: renamed aside now, deleted later and
 * slowly. */
static struct json_object *
add_retirement(
	struct install_worker *worker, struct json_object *ops, int64_t next, struct pkg_error *err)
{
	pkg_cleanup_store_kernel_list struct store_kernel_list kernels = { 0 };
	struct store_generation_list list = { 0 };
	struct json_object *retire = json_object_new_array();
	int64_t keep = worker->config.retention_generations;
	/* What the user has now is the first to be kept: after a rollback it is not the newest. */
	bool keep_current = keep > 0;

	if (store_generation_list(worker->store, worker->env.id, &list, err) < 0 ||
		store_kernel_list(worker->store, worker->env.id, &kernels, err) < 0) {
		store_generation_list_clear(&list);
		json_object_put(retire);
		return NULL;
	}
	keep -= keep_current;
	for (size_t i = list.count; i-- > 0;) {
		const struct store_generation *one = &list.items[i];
		pkg_autofree char *path = generation_path(worker->env.id, one->number);

		if (one->retired || one->number == next ||
			(keep_current && one->number == worker->env.generation) || keep-- > 0 ||
			kernel_holds(&kernels, one->number))
			continue;
		install_journal_op_trash(ops, path);
		json_object_array_add(retire, json_object_new_int64(one->number));
	}
	store_generation_list_clear(&list);
	return retire;
}

static void
tell_unfinished(struct install_worker *worker, const struct pkg_error *err)
{
	pkg_autofree char *text = pkg_xasprintf("the change is decided and will be finished: %s",
		err != NULL && err->message != NULL ? err->message : "the reason is not known");

	install_events_status(worker->events, text);
}

static int
finish(struct install_worker *worker, const char *kind, struct json_object *ops,
	struct install_after *after, struct pkg_error *err)
{
	pkg_cleanup(pkg_json_put) struct json_object *history = install_worker_history(worker);
	pkg_cleanup(pkg_json_put) struct json_object *result = install_worker_result(
		worker, STORE_JOB_DONE, NULL, after->generation, after->revision);
	int rc;

	after->job = worker->job.id;
	after->history = history;
	after->result = result;
	rc = install_journal_commit(worker->home, worker->store, kind, ops, after, err);
	/* Done: the journal's rows ended the claim. Decided but not written (1): it stays for reconcile. */
	if (rc >= 0)
		worker->claim = 0;
	if (rc > 0)
		tell_unfinished(worker, err);
	if (rc != 0)
		return rc;
	worker->job.state = STORE_JOB_DONE;
	install_events_row(worker->events, json_object_get(result));
	return 0;
}

static struct json_object *
new_env_row(const struct install_worker *worker, const struct lang_env *env)
{
	struct json_object *row = json_object_new_object();

	pkg_json_set_str(row, "project", worker->job.project);
	pkg_json_set_str(row, "language", worker->job.language);
	pkg_json_set_str(row, "name", worker->job.environment);
	pkg_json_set_str(row, "prefix", worker->prefix);
	pkg_json_set_bool(row, "hermetic", env->hermetic);
	return row;
}

/* Numbers begin again when the database was moved away; trees of before are another's and stay. */
static int64_t
reserve_id(struct install_worker *worker, struct pkg_error *err)
{
	int64_t id;

	do {
		pkg_autofree char *dir = NULL;

		id = store_env_reserve_id(worker->store, err);
		if (id < 0)
			return -1;
		dir = pkg_path_joinf(worker->home->data, "generations/%" PRId64, id);
		if (!pkg_file_exists(dir))
			return id;
	} while (id < INT64_MAX);
	return -1;
}

/* The first generation of a new environment out of <staging>/tree. */
static int
commit_new_env(struct install_worker *worker, const struct store_package_list *packages,
	struct pkg_error *err)
{
	struct lang_env env = install_worker_env(worker);
	pkg_cleanup(pkg_json_put) struct json_object *ops = json_object_new_array();
	pkg_cleanup(pkg_json_put) struct json_object *row = new_env_row(worker, &env);
	pkg_cleanup(pkg_json_put) struct json_object *rows = install_packages_to_json(packages);
	pkg_autofree char *facts = pkg_json_line(worker->facts);
	pkg_autofree char *from = staged_path(worker, "tree");
	pkg_autofree char *to = NULL;
	int64_t id = reserve_id(worker, err);
	struct install_after after = {
		.env = id,
		.new_env = row,
		.facts = facts,
		.generation = 1,
		.new_generation = true,
		.packages = rows,
	};

	if (id < 0)
		return -1;
	to = generation_path(id, 1);
	install_journal_op_move(ops, from, to);
	add_point(worker, ops, id, 1);
	return finish(worker, "create", ops, &after, err);
}

static int
commit_next_generation(
	struct install_worker *worker, const struct install_applied *applied, struct pkg_error *err)
{
	pkg_cleanup(pkg_json_put) struct json_object *ops = json_object_new_array();
	pkg_cleanup(pkg_json_put) struct json_object *rows =
		install_packages_to_json(&applied->packages);
	pkg_cleanup(pkg_json_put) struct json_object *retire = NULL;
	pkg_autofree char *facts =
		applied->shape == INSTALL_FRESH ? pkg_json_line(worker->facts) : NULL;
	pkg_autofree char *from = staged_path(worker, "tree");
	pkg_autofree char *to = NULL;
	int64_t next = store_generation_next(worker->store, worker->env.id, err);
	struct install_after after = {
		.env = worker->env.id,
		.facts = facts,
		.generation = next,
		.new_generation = true,
		.packages = rows,
	};

	if (next < 0)
		return -1;
	to = generation_path(worker->env.id, next);
	install_journal_op_move(ops, from, to);
	add_point(worker, ops, worker->env.id, next);
	retire = add_retirement(worker, ops, next, err);
	if (retire == NULL)
		return -1;
	after.retire = retire;
	return finish(worker, "switch", ops, &after, err);
}

static int
commit_overlay(
	struct install_worker *worker, const struct install_applied *applied, struct pkg_error *err)
{
	pkg_autofd int data = pkg_dir_open(worker->home->data, err);
	pkg_cleanup(pkg_json_put) struct json_object *ops = json_object_new_array();
	pkg_cleanup(pkg_json_put) struct json_object *rows =
		install_packages_to_json(&applied->packages);
	pkg_autofree char *overlay = staged_path(worker, "overlay");
	pkg_autofree char *tree = generation_path(worker->env.id, worker->env.generation);
	struct install_after after = {
		.env = worker->env.id,
		.generation = worker->env.generation,
		.revision = worker->env.revision + 1,
		.packages = rows,
	};

	if (data < 0 || install_overlay_steps(data, overlay, tree, ops, err) < 0)
		return -1;
	return finish(worker, "additive", ops, &after, err);
}

int
install_commit_applied(
	struct install_worker *worker, const struct install_applied *applied, struct pkg_error *err)
{
	if (worker->env.id == 0)
		return commit_new_env(worker, &applied->packages, err);
	if (applied->shape == INSTALL_OVERLAY)
		return commit_overlay(worker, applied, err);
	return commit_next_generation(worker, applied, err);
}

int
install_commit_fresh(struct install_worker *worker, struct pkg_error *err)
{
	return commit_new_env(worker, &worker->fresh, err);
}

int
install_commit_rollback(struct install_worker *worker, struct pkg_error *err)
{
	pkg_cleanup(pkg_json_put) struct json_object *ops = json_object_new_array();
	struct store_generation_list list = { 0 };
	struct install_after after = {
		.env = worker->env.id,
		.generation = json_object_get_int64(pkg_json_get(worker->plan.json, "switch_to")),
	};

	if (store_generation_list(worker->store, worker->env.id, &list, err) < 0)
		return -1;
	for (size_t i = 0; i < list.count; i++)
		if (list.items[i].number == after.generation)
			after.revision = list.items[i].revision;
	store_generation_list_clear(&list);
	add_point(worker, ops, worker->env.id, after.generation);
	return finish(worker, "rollback", ops, &after, err);
}

int
install_commit_delete(struct install_worker *worker, struct pkg_error *err)
{
	pkg_cleanup(pkg_json_put) struct json_object *ops = json_object_new_array();
	pkg_autofree char *link = link_path(worker);
	pkg_autofree char *trees = pkg_xasprintf("generations/%" PRId64, worker->env.id);
	struct install_after after = { .env = worker->env.id, .delete_env = true };

	install_journal_op_unpoint(ops, link);
	install_journal_op_trash(ops, trees);
	return finish(worker, "delete", ops, &after, err);
}
