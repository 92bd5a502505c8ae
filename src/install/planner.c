#include "install/planner.h"

#include <inttypes.h>
#include <string.h>

#include "core/file.h"
#include "core/path.h"
#include "core/tree.h"
#include "install/asked.h"
#include "install/journal.h"
#include "install/resolution.h"

#define BASE_MAX (64u * 1024 * 1024)

/* --- an empty tree for an environment that is new or rebuilt --- */

static char *
staged(const struct install_worker *worker, const char *name)
{
	return pkg_path_join(worker->staging, name);
}

/* base.json lets the worker that applies use the tree that was planned against. */
static int
save_base(const struct install_worker *worker, struct pkg_error *err)
{
	pkg_cleanup(pkg_json_put) struct json_object *json = json_object_new_object();
	pkg_autofree char *path = staged(worker, "base.json");
	pkg_autofree char *text = NULL;

	pkg_json_set(json, "facts", json_object_get(worker->facts));
	pkg_json_set(json, "packages", install_packages_to_json(&worker->fresh));
	text = pkg_json_line(json);
	return pkg_file_write(path, text, strlen(text), 0600, false, err);
}

static int
load_base(struct install_worker *worker, struct pkg_error *err)
{
	pkg_autofree char *path = staged(worker, "base.json");
	pkg_autofree char *tree = staged(worker, "tree");
	pkg_cleanup(pkg_json_put) struct json_object *json = NULL;

	if (!pkg_file_exists(path) || !pkg_file_exists(tree))
		return pkg_error_set(
			err, PKG_E_NOT_FOUND, "the planned tree is not there any more");
	json = pkg_json_read_file(path, BASE_MAX, err);
	if (json == NULL || pkg_json_get(json, "facts") == NULL ||
		install_packages_from_json(pkg_json_array(json, "packages"), &worker->fresh, err) <
			0)
		return -1;
	json_object_put(worker->facts);
	worker->facts = json_object_get(pkg_json_get(json, "facts"));
	free(worker->tree);
	worker->tree = pkg_steal_ptr(&tree);
	worker->fresh_tree = true;
	return 0;
}

static struct json_object *
choose_interpreter(struct install_worker *worker, const char *want, struct pkg_error *err)
{
	struct lang_candidate_list list = { 0 };
	struct json_object *facts = NULL;

	if (worker->ops->discover(&worker->lang, want, false, &list, err) == 0)
		for (size_t i = 0; i < list.count && facts == NULL; i++)
			if (list.items[i].reasons->count == 0)
				facts = json_object_get(list.items[i].facts);
	lang_candidate_list_clear(&list);
	return facts;
}

static int
build_fresh_tree(struct install_worker *worker, const char *want, struct pkg_error *err)
{
	struct lang_env env;
	struct json_object *facts = choose_interpreter(worker, want, err);

	if (facts == NULL)
		return -1;
	json_object_put(worker->facts);
	worker->facts = facts;
	free(worker->tree);
	worker->tree = staged(worker, "tree");
	worker->fresh_tree = true;
	if (pkg_tree_remove(worker->tree, err) < 0 || pkg_dir_make(worker->tree, 0755, err) < 0)
		return -1;
	env = install_worker_env(worker);
	if (worker->ops->create(&worker->lang, &env, err) < 0 ||
		worker->ops->inventory(&worker->lang, &env, &worker->fresh, err) < 0)
		return -1;
	return save_base(worker, err);
}

/* What the resolver starts from. */
static const struct store_package_list *
present(const struct install_worker *worker)
{
	return worker->fresh_tree ? &worker->fresh : &worker->packages;
}

static int
need_env(struct install_worker *worker, struct pkg_error *err)
{
	if (worker->env.id != 0)
		return 0;
	pkg_error_set(err, PKG_E_NOT_FOUND, "there is no %s environment '%s' in project '%s'",
		worker->job.language, worker->job.environment, worker->job.project);
	return pkg_error_cure(err, "pkg env list shows those that are there");
}

/* --- the plan itself --- */

static struct install_plan_input
plan_input(const struct install_worker *worker, const struct pkg_argv *requested,
	const struct lang_env *env, const char *creates)
{
	return (struct install_plan_input){
		.action = worker->job.action,
		.project = worker->job.project,
		.language = worker->job.language,
		.environment = worker->job.environment,
		.creates = creates,
		.hermetic = env->hermetic,
		.requested = requested,
		.set = {
			/* A rebuilt environment is compared with what it was; a new one with what it inherits. */
			.before = worker->env.id != 0 ? &worker->packages : &worker->fresh,
			.after = &worker->resolution,
			.removed = worker->removed,
			.env = env,
			.ops = worker->ops,
		},
	};
}

static int
make_plan(struct install_worker *worker, const struct pkg_argv *requested, struct pkg_error *err)
{
	struct lang_env env = install_worker_env(worker);
	pkg_autofree char *creates =
		worker->fresh_tree ? worker->ops->describe(worker->facts) : NULL;
	struct install_plan_input input = plan_input(worker, requested, &env, creates);

	install_plan_clear(&worker->plan);
	return install_plan_make(&input, &worker->plan, err);
}

int
install_remake_plan(struct install_worker *worker, struct pkg_error *err)
{
	pkg_cleanup_install_asked struct install_asked asked = { 0 };
	int rc = install_asked_read(worker, &asked, err);

	if (rc == 0)
		rc = make_plan(worker, asked.requirements, err);
	return rc;
}

static int
save_resolution(const struct install_worker *worker, struct pkg_error *err)
{
	pkg_autofree char *path = staged(worker, "resolution.json");

	return install_resolution_save(&worker->resolution, worker->removed, path, err);
}

int
install_replan_saved(struct install_worker *worker, struct pkg_error *err)
{
	pkg_autofree char *path = staged(worker, "resolution.json");
	bool rebuilt = worker->env.id == 0 || strcmp(worker->job.action, "repair") == 0;

	if (rebuilt && load_base(worker, err) < 0)
		return -1;
	if (install_resolution_load(path, &worker->resolution, worker->removed, err) < 0)
		return -1;
	lang_resolution_sort(&worker->resolution);
	return install_remake_plan(worker, err);
}

static int
resolve(struct install_worker *worker, const struct lang_request *request, struct pkg_error *err)
{
	struct lang_env env = install_worker_env(worker);
	struct lang_request full = *request;

	full.installed = present(worker);
	lang_resolution_clear(&worker->resolution);
	if (worker->ops->plan(&worker->lang, &env, &full, &worker->resolution, err) < 0)
		return -1;
	for (size_t i = 0; i < worker->resolution.count; i++)
		if (worker->ops->inspect(&worker->lang, &env, &worker->resolution.items[i], err) <
			0)
			return -1;
	lang_resolution_sort(&worker->resolution);
	return save_resolution(worker, err);
}

static bool
all_satisfied(struct install_worker *worker, const struct pkg_argv *requirements)
{
	struct lang_env env = install_worker_env(worker);

	for (size_t i = 0; i < requirements->count; i++)
		if (!worker->ops->satisfied(&env, present(worker), requirements->items[i]))
			return false;
	return true;
}

/* BEHAVIOURS D9: what the rows say is there must be in the tree too, or nobody would put it back. */
static int
check_present(struct install_worker *worker, const struct pkg_argv *keys, struct pkg_error *err)
{
	struct lang_env env = install_worker_env(worker);

	for (size_t i = 0; i < keys->count; i++) {
		struct store_package *package = store_package_find(present(worker), keys->items[i]);
		struct store_package_list one = { package, 1 };

		if (package == NULL || !package->owned ||
			worker->ops->check(&env, &one, false, err) == 0)
			continue;
		if (err != NULL)
			err->kind = PKG_E_ENV_BROKEN;
		return pkg_error_cure(err, "rebuild it from its history: pkg env repair%s %s",
			strcmp(worker->job.language, "r") == 0 ? " -l r" : "",
			worker->job.environment);
	}
	return 0;
}

static int
start_env(struct install_worker *worker, struct pkg_error *err)
{
	struct lang_env env;

	if (worker->env.id == 0)
		return build_fresh_tree(worker, pkg_json_str(worker->request, "python"), err);
	env = install_worker_env(worker);
	return worker->ops->healthy(&env, err);
}

static enum install_outcome
plan_install_asked(
	struct install_worker *worker, const struct install_asked *asked, struct pkg_error *err)
{
	struct lang_request request = install_asked_request(worker, asked);

	if (asked->requirements->count == 0)
		return pkg_error_set(err, PKG_E_INVALID, "no requirement was given");
	if (start_env(worker, err) < 0)
		return INSTALL_FAILED;
	if (!worker->fresh_tree && check_present(worker, asked->keys, err) < 0)
		return INSTALL_FAILED;
	if (!request.upgrade && !request.suggests && all_satisfied(worker, asked->requirements))
		return install_remake_plan(worker, err) < 0 ? INSTALL_FAILED : INSTALL_NOTHING;
	if (resolve(worker, &request, err) < 0 || install_remake_plan(worker, err) < 0)
		return INSTALL_FAILED;
	return install_plan_is_empty(&worker->plan) ? INSTALL_NOTHING : INSTALL_PLANNED;
}

static enum install_outcome
plan_install(struct install_worker *worker, struct pkg_error *err)
{
	pkg_cleanup_install_asked struct install_asked asked = { 0 };

	if (install_asked_read(worker, &asked, err) < 0)
		return INSTALL_FAILED;
	return plan_install_asked(worker, &asked, err);
}

static enum install_outcome
nothing_planned(
	struct install_worker *worker, const struct install_asked *asked, struct pkg_error *err)
{
	return make_plan(worker, asked->requirements, err) < 0 ? INSTALL_FAILED : INSTALL_NOTHING;
}

/* Without names: everything that was ever asked for. */
static int
upgrade_roots(struct install_worker *worker, struct install_asked *asked)
{
	for (size_t i = 0; asked->keys->count == 0 && i < worker->packages.count; i++)
		if (worker->packages.items[i].requirement != NULL)
			pkg_argv_add(asked->requirements, worker->packages.items[i].requirement);
	return asked->requirements->count > 0 ? 0 : -1;
}

static enum install_outcome
plan_upgrade(struct install_worker *worker, struct pkg_error *err)
{
	pkg_cleanup_install_asked struct install_asked asked = { 0 };

	if (need_env(worker, err) < 0 || install_asked_read(worker, &asked, err) < 0)
		return INSTALL_FAILED;
	if (upgrade_roots(worker, &asked) < 0)
		return nothing_planned(worker, &asked, err);
	return plan_install_asked(worker, &asked, err);
}

/* --- remove --- */

static int
remove_one(struct install_worker *worker, const char *key, const char *asked, struct pkg_error *err)
{
	const struct store_package *package = store_package_find(&worker->packages, key);

	if (package == NULL) {
		pkg_error_set(err, PKG_E_NOT_FOUND, "'%s' is not in the environment", asked);
		return pkg_error_cure(err, "pkg list shows what is");
	}
	if (!package->owned) {
		pkg_error_set(err, PKG_E_INVALID,
			"'%s' %s is inherited from %s; it is not the environment's to remove",
			package->name, package->version, package->location);
		return pkg_error_cure(err, "an environment made with --hermetic does not inherit");
	}
	if (!pkg_argv_has(worker->removed, key))
		pkg_argv_add(worker->removed, key);
	return 0;
}

/* Whatever needs a removed package goes with it, as the card shows: nothing broken stays. */
static int
close_over_dependents(struct install_worker *worker, struct pkg_error *err)
{
	struct lang_env env = install_worker_env(worker);

	for (size_t i = 0; i < worker->removed->count; i++) {
		pkg_cleanup(pkg_argv_free) struct pkg_argv *needs = pkg_argv_new();

		if (worker->ops->dependents(
			    &env, &worker->packages, worker->removed->items[i], needs, err) < 0)
			return -1;
		for (size_t k = 0; k < needs->count; k++)
			if (!pkg_argv_has(worker->removed, needs->items[k]))
				pkg_argv_add(worker->removed, needs->items[k]);
	}
	pkg_argv_sort(worker->removed);
	return 0;
}

static enum install_outcome
plan_remove(struct install_worker *worker, struct pkg_error *err)
{
	pkg_cleanup_install_asked struct install_asked asked = { 0 };

	if (need_env(worker, err) < 0 || install_asked_read(worker, &asked, err) < 0)
		return INSTALL_FAILED;
	if (asked.keys->count == 0)
		return pkg_error_set(err, PKG_E_INVALID, "no package was named");
	for (size_t i = 0; i < asked.keys->count; i++)
		if (remove_one(worker, asked.keys->items[i], asked.requirements->items[i], err) < 0)
			return INSTALL_FAILED;
	if (close_over_dependents(worker, err) < 0 || save_resolution(worker, err) < 0 ||
		make_plan(worker, asked.requirements, err) < 0)
		return INSTALL_FAILED;
	return INSTALL_PLANNED;
}

/* --- rollback, create, delete, repair --- */

static int64_t
rollback_target(struct install_worker *worker, struct pkg_error *err)
{
	struct store_generation_list list = { 0 };
	int64_t want = pkg_json_int(worker->request, "generation", 0);
	int64_t found = 0;

	if (store_generation_list(worker->store, worker->env.id, &list, err) < 0)
		return -1;
	for (size_t i = 0; i < list.count; i++) {
		const struct store_generation *one = &list.items[i];
		bool fits = want != 0 ? one->number == want
				      : one->number < worker->env.generation && one->number > found;

		if (fits && !one->retired)
			found = one->number;
	}
	store_generation_list_clear(&list);
	if (found == 0 && want != 0)
		pkg_error_set(err, PKG_E_NOT_FOUND, "generation %" PRId64 " is not on disk", want);
	else if (found == 0)
		pkg_error_set(err, PKG_E_NOT_FOUND, "there is no generation before %" PRId64,
			worker->env.generation);
	if (found == 0)
		pkg_error_cure(err, "pkg env show lists the generations");
	return found;
}

static enum install_outcome
plan_rollback(struct install_worker *worker, struct pkg_error *err)
{
	pkg_cleanup_store_package_list struct store_package_list after = { 0 };
	pkg_cleanup(pkg_argv_free) struct pkg_argv *nothing = pkg_argv_new();
	struct lang_env env;
	struct install_plan_input input;
	int64_t target;

	if (need_env(worker, err) < 0)
		return INSTALL_FAILED;
	target = rollback_target(worker, err);
	if (target <= 0 ||
		store_packages_get(worker->store, worker->env.id, target, &after, err) < 0)
		return INSTALL_FAILED;
	env = install_worker_env(worker);
	input = plan_input(worker, nothing, &env, NULL);
	input.switch_to = target;
	install_plan_clear(&worker->plan);
	if (install_plan_diff(&input, &after, &worker->plan, err) < 0)
		return INSTALL_FAILED;
	return target == worker->env.generation ? INSTALL_NOTHING : INSTALL_PLANNED;
}

static enum install_outcome
plan_create(struct install_worker *worker, struct pkg_error *err)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *nothing = pkg_argv_new();

	if (worker->env.id == 0 &&
		build_fresh_tree(worker, pkg_json_str(worker->request, "python"), err) < 0)
		return INSTALL_FAILED;
	if (make_plan(worker, nothing, err) < 0)
		return INSTALL_FAILED;
	return INSTALL_NOTHING;
}

static enum install_outcome
plan_delete(struct install_worker *worker, struct pkg_error *err)
{
	pkg_cleanup_store_package_list struct store_package_list none = { 0 };
	pkg_cleanup_store_kernel_list struct store_kernel_list kernels = { 0 };
	pkg_cleanup(pkg_argv_free) struct pkg_argv *nothing = pkg_argv_new();
	struct lang_env env;
	struct install_plan_input input;

	if (need_env(worker, err) < 0 ||
		store_kernel_list(worker->store, worker->env.id, &kernels, err) < 0)
		return INSTALL_FAILED;
	if (kernels.count > 0) {
		pkg_error_set(
			err, PKG_E_BUSY, "%zu running kernels use the environment", kernels.count);
		pkg_error_cure(err, "stop them first; pkg env show lists them");
		return INSTALL_FAILED;
	}
	env = install_worker_env(worker);
	input = plan_input(worker, nothing, &env, NULL);
	install_plan_clear(&worker->plan);
	if (install_plan_diff(&input, &none, &worker->plan, err) < 0)
		return INSTALL_FAILED;
	return INSTALL_PLANNED;
}

/* Roots as they were asked for, everything owned pinned to the version it had: what history recorded, rebuilt on
 * an interpreter that runs. */
static void
recorded_request(struct install_worker *worker, struct install_asked *asked)
{
	for (size_t i = 0; i < worker->packages.count; i++) {
		const struct store_package *package = &worker->packages.items[i];

		if (!package->owned)
			continue;
		if (package->requirement != NULL)
			pkg_argv_add(asked->requirements, package->requirement);
		if (package->source == NULL || strcmp(package->source, "direct") != 0)
			pkg_argv_addf(
				asked->constraints, "%s==%s", package->name, package->version);
	}
}

static bool
env_is_sound(struct install_worker *worker)
{
	struct lang_env env = install_worker_env(worker);

	return worker->ops->healthy(&env, NULL) == 0 &&
		worker->ops->check(&env, &worker->packages, true, NULL) == 0;
}

/* What the rebuilt environment no longer has: dependencies of another interpreter, say. */
static void
note_lost(struct install_worker *worker)
{
	for (size_t i = 0; i < worker->packages.count; i++) {
		const struct store_package *old = &worker->packages.items[i];
		bool stays = false;

		for (size_t k = 0; k < worker->resolution.count && !stays; k++)
			stays = strcmp(worker->resolution.items[k].key, old->key) == 0;
		if (old->owned && !stays)
			pkg_argv_add(worker->removed, old->key);
	}
}

static int
rebuild_interpreter(struct install_worker *worker, struct pkg_error *err)
{
	const char *want = pkg_json_str(worker->request, "python");
	pkg_autofree char *same = NULL;
	const char *version = pkg_json_str(worker->facts, "version");
	size_t minor;

	if (want != NULL)
		return build_fresh_tree(worker, want, err);
	/* The same X.Y if the machine still has one, so that recorded files fit. */
	minor = version != NULL ? strcspn(version, ".") : 0;
	if (minor > 0 && version[minor] == '.')
		same = pkg_xstrndup(version, minor + 1 + strcspn(version + minor + 1, "."));
	if (same != NULL && build_fresh_tree(worker, same, NULL) == 0)
		return 0;
	return build_fresh_tree(worker, NULL, err);
}

static enum install_outcome
plan_repair(struct install_worker *worker, struct pkg_error *err)
{
	pkg_cleanup_install_asked struct install_asked asked = { 0 };
	struct lang_request request;

	if (need_env(worker, err) < 0 || install_asked_read(worker, &asked, err) < 0)
		return INSTALL_FAILED;
	if (env_is_sound(worker))
		return nothing_planned(worker, &asked, err);
	recorded_request(worker, &asked);
	if (rebuild_interpreter(worker, err) < 0)
		return INSTALL_FAILED;
	request = install_asked_request(worker, &asked);
	if (asked.requirements->count > 0 && resolve(worker, &request, err) < 0)
		return INSTALL_FAILED;
	note_lost(worker);
	if (save_resolution(worker, err) < 0 || install_remake_plan(worker, err) < 0)
		return INSTALL_FAILED;
	return INSTALL_PLANNED;
}

static const struct install_action actions[] = {
	{ "install", true, false, plan_install },
	{ "upgrade", true, false, plan_upgrade },
	{ "remove", true, false, plan_remove },
	{ "repair", true, false, plan_repair },
	{ "rollback", true, true, plan_rollback },
	{ "delete", true, true, plan_delete },
	{ "create", false, false, plan_create },
};

const struct install_action *
install_action_find(const char *name)
{
	for (size_t i = 0; i < PKG_ARRAY_LEN(actions); i++)
		if (strcmp(actions[i].name, name) == 0)
			return &actions[i];
	return NULL;
}

struct pkg_argv *
install_plan_leaving(const struct install_worker *worker)
{
	struct pkg_argv *leaving = pkg_argv_dup(worker->removed);

	for (size_t i = 0; i < worker->resolution.count; i++) {
		const struct store_package *old =
			store_package_find(&worker->packages, worker->resolution.items[i].key);

		if (old != NULL && old->owned && !pkg_argv_has(leaving, old->key))
			pkg_argv_add(leaving, old->key);
	}
	return leaving;
}
