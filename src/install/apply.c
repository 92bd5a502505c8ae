#include "install/apply.h"

#include <fcntl.h>
#include <string.h>

#include "core/fault.h"
#include "core/file.h"
#include "core/path.h"
#include "core/tree.h"
#include "install/asked.h"
#include "install/planner.h"
#include "install/resolution.h"

void
install_applied_clear(struct install_applied *applied)
{
	free(applied->tree);
	store_package_list_clear(&applied->packages);
	*applied = (struct install_applied){ 0 };
}

/* --- fetch --- */

static struct fetch_options
fetch_options(struct install_worker *worker, const struct pkg_argv *credentials)
{
	const struct policy_config *config = &worker->config;

	return (struct fetch_options){
		.parallel = (int)config->fetch_parallel,
		.retries = (int)config->fetch_retries,
		.max_bytes = config->fetch_max_bytes,
		.ca_bundle = config->network_ca_bundle,
		.credentials = credentials,
		.cancel_fd = worker->cancel_fd,
		.allow = worker->lang.allow,
		.progress = worker->lang.transfer,
		.context = worker,
	};
}

static int
fetch_items(
	struct install_worker *worker, const struct fetch_options *options, struct pkg_error *err)
{
	struct lang_resolution *resolution = &worker->resolution;
	pkg_autofree struct fetch_item *items = pkg_xcalloc(resolution->count + 1, sizeof(*items));

	for (size_t i = 0; i < resolution->count; i++) {
		const struct lang_dist *dist = &resolution->items[i];

		items[i] = (struct fetch_item){
			.url = dist->url,
			.name = dist->file,
			.sha256 = dist->sha256,
			.size = dist->size,
		};
	}
	return fetch_all(worker->cas, items, resolution->count, options, err);
}

int
install_fetch(struct install_worker *worker, struct pkg_error *err)
{
	pkg_cleanup_install_asked struct install_asked asked = { 0 };
	pkg_cleanup(pkg_argv_free) struct pkg_argv *indexes = pkg_argv_new();
	struct fetch_options options = fetch_options(worker, indexes);
	int injected = PKG_FAULT("fetch");

	if (injected != 0)
		return pkg_error_errno(err, injected, "fetch");
	if (install_asked_read(worker, &asked, err) < 0)
		return -1;
	install_asked_indexes(worker, &asked, indexes);
	return fetch_items(worker, &options, err);
}

/* --- build --- */

int
install_build(struct install_worker *worker, bool *built, struct pkg_error *err)
{
	struct lang_env env = install_worker_env(worker);
	pkg_cleanup_install_asked struct install_asked asked = { 0 };
	struct lang_request request;
	pkg_autofree char *path = pkg_path_join(worker->staging, "resolution.json");

	if (install_asked_read(worker, &asked, err) < 0)
		return -1;
	request = install_asked_request(worker, &asked);
	*built = false;
	for (size_t i = 0; i < worker->resolution.count; i++) {
		struct lang_dist *dist = &worker->resolution.items[i];

		*built = *built || dist->is_sdist;
		if (worker->ops->build_all == NULL &&
			worker->ops->build(&worker->lang, &env, &request, dist, err) < 0)
			return -1;
	}
	if (worker->ops->build_all != NULL &&
		worker->ops->build_all(&worker->lang, &env, &request, &worker->resolution, err) < 0)
		return -1;
	if (!*built)
		return 0;
	return install_resolution_save(&worker->resolution, worker->removed, path, err);
}

/* --- apply --- */

static enum install_shape
choose_shape(const struct install_worker *worker)
{
	if (worker->fresh_tree)
		return INSTALL_FRESH;
	return install_plan_is_additive(&worker->plan) ? INSTALL_OVERLAY : INSTALL_CLONE;
}

static int
make_clone(struct install_worker *worker, const char *tree, struct pkg_error *err)
{
	struct pkg_tree_stats stats = { 0 };

	return pkg_tree_copy(AT_FDCWD, worker->tree, AT_FDCWD, tree, &stats, err);
}

static int
take_out(struct install_worker *worker, const struct lang_env *env, struct pkg_error *err)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *leaving = install_plan_leaving(worker);

	for (size_t i = 0; i < leaving->count; i++) {
		const struct store_package *old =
			store_package_find(&worker->packages, leaving->items[i]);

		if (old != NULL && worker->ops->unstage(&worker->lang, env, old, err) < 0)
			return -1;
	}
	return 0;
}

static int
put_in(struct install_worker *worker, const struct lang_env *env, struct pkg_error *err)
{
	struct lang_resolution *resolution = &worker->resolution;

	for (size_t i = 0; i < resolution->count; i++) {
		int injected = PKG_FAULT("apply-dist");

		if (injected != 0)
			return pkg_error_errno(err, injected, "apply");
		if (worker->ops->stage(&worker->lang, env, &resolution->items[i], err) < 0)
			return -1;
	}
	return 0;
}

static int
start_tree(struct install_worker *worker, struct install_applied *out, struct pkg_error *err)
{
	if (out->shape == INSTALL_FRESH) {
		out->tree = pkg_xstrdup(worker->tree);
		return 0;
	}
	out->tree =
		pkg_path_join(worker->staging, out->shape == INSTALL_OVERLAY ? "overlay" : "tree");
	/* A run before this one may have been killed here. */
	if (pkg_tree_remove(out->tree, err) < 0)
		return -1;
	if (out->shape == INSTALL_OVERLAY)
		return pkg_dir_make(out->tree, 0755, err);
	return make_clone(worker, out->tree, err);
}

/* The environment as the languages shall see the staged change. */
static struct lang_env
applied_env(const struct install_worker *worker, const struct install_applied *applied)
{
	struct lang_env env = install_worker_env(worker);

	if (applied->shape == INSTALL_OVERLAY)
		env.overlay = applied->tree;
	else
		env.tree = applied->tree;
	return env;
}

int
install_apply(struct install_worker *worker, struct install_applied *out, struct pkg_error *err)
{
	struct lang_env env = install_worker_env(worker);

	out->shape = choose_shape(worker);
	if (worker->ops->prepare(&worker->lang, &env, worker->resolution.items,
		    worker->resolution.count, err) < 0)
		return -1;
	if (start_tree(worker, out, err) < 0)
		return -1;
	env = applied_env(worker, out);
	if (out->shape == INSTALL_CLONE && take_out(worker, &env, err) < 0)
		return -1;
	return put_in(worker, &env, err);
}

/* --- verify --- */

static const struct lang_dist *
find_dist(const struct lang_resolution *resolution, const char *key)
{
	for (size_t i = 0; i < resolution->count; i++)
		if (strcmp(resolution->items[i].key, key) == 0)
			return &resolution->items[i];
	return NULL;
}

static void
fill_from_dist(struct store_package *package, const struct lang_dist *dist)
{
	package->requirement = pkg_xstrdup(dist->requirement);
	package->sha256 = pkg_xstrdup(dist->sha256);
	package->file = pkg_xstrdup(dist->file);
	package->url = pkg_xstrdup(dist->url);
	package->index = pkg_xstrdup(dist->index);
	package->source = pkg_xstrdup(dist->source);
}

static void
fill_from_old(struct store_package *package, const struct store_package *old)
{
	package->requirement = pkg_xstrdup(old->requirement);
	package->sha256 = pkg_xstrdup(old->sha256);
	package->file = pkg_xstrdup(old->file);
	package->url = pkg_xstrdup(old->url);
	package->index = pkg_xstrdup(old->index);
	package->source = pkg_xstrdup(old->source);
}

/* The interpreter says name, version and place; where the bytes came from is ours to know. */
static void
fill_origins(const struct install_worker *worker, struct store_package_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		struct store_package *package = &list->items[i];
		const struct lang_dist *dist = find_dist(&worker->resolution, package->key);
		const struct store_package *old =
			store_package_find(&worker->packages, package->key);

		if (!package->owned)
			continue;
		if (dist != NULL)
			fill_from_dist(package, dist);
		else if (old != NULL && old->owned)
			fill_from_old(package, old);
		/* An upgrade of something once asked for by name does not make it a mere dependency. */
		if (package->requirement == NULL && old != NULL)
			package->requirement = pkg_xstrdup(old->requirement);
	}
}

static int
check_planned(const struct install_worker *worker, const struct store_package_list *seen,
	struct pkg_error *err)
{
	for (size_t i = 0; i < worker->resolution.count; i++) {
		const struct lang_dist *dist = &worker->resolution.items[i];
		const struct store_package *package = store_package_find(seen, dist->key);

		if (package == NULL)
			return pkg_error_set(err, PKG_E_VERIFY,
				"the interpreter does not find %s %s after the change", dist->name,
				dist->version);
		if (worker->ops->version_compare(package->version, dist->version) != 0)
			return pkg_error_set(err, PKG_E_VERIFY,
				"the interpreter finds %s %s where %s was planned", dist->name,
				package->version, dist->version);
		if (!package->owned)
			return pkg_error_set(err, PKG_E_VERIFY,
				"the interpreter finds %s %s in %s, not in the environment",
				dist->name, package->version, package->location);
	}
	return 0;
}

static int
check_gone(const struct install_worker *worker, const struct store_package_list *seen,
	struct pkg_error *err)
{
	for (size_t i = 0; i < worker->removed->count; i++) {
		const struct store_package *package =
			store_package_find(seen, worker->removed->items[i]);

		if (package != NULL && package->owned)
			return pkg_error_set(err, PKG_E_VERIFY,
				"%s %s is still there after its removal", package->name,
				package->version);
	}
	return 0;
}

/* Whatever the plan does not name is as it was. */
static int
check_kept(const struct install_worker *worker, const struct store_package_list *before,
	const struct store_package_list *seen, struct pkg_error *err)
{
	for (size_t i = 0; i < before->count; i++) {
		const struct store_package *old = &before->items[i];
		const struct store_package *now = store_package_find(seen, old->key);

		if (find_dist(&worker->resolution, old->key) != NULL ||
			pkg_argv_has(worker->removed, old->key))
			continue;
		/* What is inherited may change under us: the system is not ours. */
		if (old->owned && (now == NULL || strcmp(now->version, old->version) != 0))
			return pkg_error_set(err, PKG_E_VERIFY,
				"%s %s is not there any more, though the plan does not touch it",
				old->name, old->version);
	}
	return 0;
}

int
install_verify(
	struct install_worker *worker, struct install_applied *applied, struct pkg_error *err)
{
	struct lang_env env = applied_env(worker, applied);
	const struct store_package_list *before =
		worker->fresh_tree ? &worker->fresh : &worker->packages;
	int injected = PKG_FAULT("verify");

	if (injected != 0)
		return pkg_error_errno(err, injected, "verify");
	if (worker->ops->inventory(&worker->lang, &env, &applied->packages, err) < 0)
		return pkg_error_prefix(err, "verify");
	store_package_list_sort(&applied->packages);
	if (check_planned(worker, &applied->packages, err) < 0 ||
		check_gone(worker, &applied->packages, err) < 0 ||
		check_kept(worker, before, &applied->packages, err) < 0)
		return -1;
	if (worker->ops->load != NULL &&
		worker->ops->load(&worker->lang, &env, &worker->resolution, err) < 0)
		return -1;
	fill_origins(worker, &applied->packages);
	return 0;
}
