#include "install/plan.h"

#include <string.h>

void
install_plan_clear(struct install_plan *plan)
{
	json_object_put(plan->json);
	*plan = (struct install_plan){ 0 };
}

/* "added", "upgraded", "downgraded" or, at the same version, "reinstalled". */
static const char *
change_word(const struct lang_ops *ops, const char *from, const char *to)
{
	int order;

	if (from == NULL)
		return "added";
	order = ops->version_compare(from, to);
	return order < 0 ? "upgraded" : order > 0 ? "downgraded" : "reinstalled";
}

static struct json_object *
new_change(const char *name, const char *change, const char *from, const char *to)
{
	struct json_object *row = json_object_new_object();

	pkg_json_set_str(row, "name", name);
	pkg_json_set_str(row, "change", change);
	pkg_json_set_str(row, "from", from);
	pkg_json_set_str(row, "to", to);
	return row;
}

static struct json_object *
dist_change(const struct install_change_set *set, const struct lang_dist *dist)
{
	const struct store_package *old = store_package_find(set->before, dist->key);
	const char *from = old != NULL ? old->version : NULL;
	struct json_object *row = new_change(
		dist->name, change_word(set->ops, from, dist->version), from, dist->version);

	pkg_json_set_str(row, "file", dist->file);
	pkg_json_set_str(row, "sha256", dist->sha256);
	pkg_json_set_int(row, "size", dist->size);
	pkg_json_set_str(row, "index", dist->index);
	pkg_json_set_str(row, "source", dist->is_sdist ? "sdist" : "wheel");
	/* A direct URL is told whole; a file of an index is named by the index and its hash. */
	pkg_json_set_str(row, "url", dist->index == NULL ? dist->url : NULL);
	pkg_json_set_bool(row, "requested", dist->requirement != NULL);
	pkg_json_set_bool(row, "yanked", dist->yanked);
	pkg_json_set_str(row, "uploaded", dist->uploaded);
	if (dist->system_note != NULL)
		pkg_json_set_str(row, "system_note", dist->system_note);
	return row;
}

static struct json_object *
restart_json(const struct install_verdict *verdict)
{
	struct json_object *restart = json_object_new_object();
	struct json_object *reasons = json_object_new_array();

	for (size_t i = 0; i < verdict->count; i++) {
		struct json_object *row = json_object_new_object();

		pkg_json_set_str(row, "reason", verdict->reasons[i].reason);
		pkg_json_set_str(row, "name", verdict->reasons[i].name);
		pkg_json_set_str(row, "detail", verdict->reasons[i].detail);
		json_object_array_add(reasons, row);
	}
	pkg_json_set_bool(restart, "additive", verdict->additive);
	pkg_json_set(restart, "reasons", reasons);
	return restart;
}

static struct json_object *
plan_frame(const struct install_plan_input *input)
{
	struct json_object *plan = json_object_new_object();
	struct json_object *creates = NULL;

	if (input->creates != NULL) {
		creates = json_object_new_object();
		pkg_json_set_str(creates, "interpreter", input->creates);
		pkg_json_set_bool(creates, "hermetic", input->hermetic);
	}
	pkg_json_set_int(plan, "version", INSTALL_PLAN_VERSION);
	pkg_json_set_str(plan, "action", input->action);
	pkg_json_set_str(plan, "project", input->project);
	pkg_json_set_str(plan, "language", input->language);
	pkg_json_set_str(plan, "environment", input->environment);
	pkg_json_set(plan, "creates", creates);
	pkg_json_set(plan, "requested", pkg_json_from_argv(input->requested));
	pkg_json_set(plan, "switch_to",
		input->switch_to != 0 ? json_object_new_int64(input->switch_to) : NULL);
	return plan;
}

static void
hash_plan(struct install_plan *plan)
{
	pkg_autofree char *text = pkg_json_canonical(plan->json);

	pkg_sha256_hex(text, strlen(text), plan->hash);
}

static void
finish_plan(struct install_plan *out, struct json_object *plan, struct json_object *changes,
	long long bytes, struct json_object *restart)
{
	pkg_json_set(plan, "changes", changes);
	pkg_json_set_int(plan, "download_bytes", bytes);
	pkg_json_set(plan, "restart", restart);
	out->json = plan;
	hash_plan(out);
}

int
install_plan_make(
	const struct install_plan_input *input, struct install_plan *out, struct pkg_error *err)
{
	const struct install_change_set *set = &input->set;
	pkg_cleanup_install_verdict struct install_verdict verdict = { 0 };
	struct json_object *changes = json_object_new_array();
	long long bytes = 0;

	for (size_t i = 0; i < set->removed->count; i++) {
		const struct store_package *old =
			store_package_find(set->before, set->removed->items[i]);

		if (old == NULL) {
			json_object_put(changes);
			return pkg_error_set(err, PKG_E_INTERNAL,
				"the plan removes '%s', which is not there",
				set->removed->items[i]);
		}
		json_object_array_add(
			changes, new_change(old->name, "removed", old->version, NULL));
	}
	for (size_t i = 0; i < set->after->count; i++) {
		json_object_array_add(changes, dist_change(set, &set->after->items[i]));
		bytes += set->after->items[i].size > 0 ? set->after->items[i].size : 0;
	}
	install_additive(set, &verdict);
	finish_plan(out, plan_frame(input), changes, bytes, restart_json(&verdict));
	return 0;
}

/* Another generation becomes current: even one with the same packages is another tree. */
static struct json_object *
diff_restart(struct json_object *changes, int64_t switch_to)
{
	struct json_object *restart = json_object_new_object();
	struct json_object *reasons = json_object_new_array();
	size_t count = json_object_array_length(changes);

	for (size_t i = 0; i < count; i++) {
		struct json_object *change = json_object_array_get_idx(changes, i);
		const char *word = pkg_json_str(change, "change");
		struct json_object *row = json_object_new_object();
		bool added = strcmp(word, "added") == 0;

		pkg_json_set_str(row, "reason",
			added				       ? "added"
				: strcmp(word, "removed") == 0 ? "removed"
							       : "version-changed");
		pkg_json_set_str(row, "name", pkg_json_str(change, "name"));
		pkg_json_set_str(row, "detail", NULL);
		json_object_array_add(reasons, row);
	}
	pkg_json_set_bool(restart, "additive", count == 0 && switch_to == 0);
	pkg_json_set(restart, "reasons", reasons);
	return restart;
}

/* The same version from other bytes, or from another place, is a change as well. */
static bool
is_same(const struct store_package *a, const struct store_package *b)
{
	bool same_bytes =
		a->sha256 == NULL || b->sha256 == NULL || strcmp(a->sha256, b->sha256) == 0;

	return a->owned == b->owned && same_bytes && strcmp(a->version, b->version) == 0;
}

int
install_plan_diff(const struct install_plan_input *input, const struct store_package_list *after,
	struct install_plan *out, struct pkg_error *err)
{
	const struct store_package_list *before = input->set.before;
	struct json_object *changes = json_object_new_array();
	size_t i = 0, j = 0;

	(void)err;
	/* Both lists are sorted by key: one merge. */
	while (i < before->count || j < after->count) {
		const struct store_package *old = i < before->count ? &before->items[i] : NULL;
		const struct store_package *new = j < after->count ? &after->items[j] : NULL;
		int order = old == NULL ? 1 : new == NULL ? -1 : strcmp(old->key, new->key);

		/* What is inherited stays where it is, whatever becomes of the environment. */
		if (order < 0 && old->owned)
			json_object_array_add(
				changes, new_change(old->name, "removed", old->version, NULL));
		else if (order > 0 && new->owned)
			json_object_array_add(
				changes, new_change(new->name, "added", NULL, new->version));
		else if (order == 0 && !is_same(old, new))
			json_object_array_add(changes,
				new_change(new->name,
					change_word(input->set.ops, old->version, new->version),
					old->version, new->version));
		i += order <= 0;
		j += order >= 0;
	}
	finish_plan(out, plan_frame(input), changes, 0, diff_restart(changes, input->switch_to));
	return 0;
}

int
install_plan_parse(const char *text, struct install_plan *out, struct pkg_error *err)
{
	struct json_object *plan = pkg_json_parse(text, strlen(text), err);

	if (plan == NULL)
		return pkg_error_prefix(err, "stored plan");
	if (pkg_json_array(plan, "changes") == NULL || pkg_json_get(plan, "restart") == NULL) {
		json_object_put(plan);
		return pkg_error_set(
			err, PKG_E_INTERNAL, "stored plan: no changes or verdict in it");
	}
	out->json = plan;
	hash_plan(out);
	return 0;
}

struct json_object *
install_plan_changes(const struct install_plan *plan)
{
	return pkg_json_array(plan->json, "changes");
}

bool
install_plan_is_additive(const struct install_plan *plan)
{
	return pkg_json_bool(pkg_json_get(plan->json, "restart"), "additive", false);
}

bool
install_plan_is_empty(const struct install_plan *plan)
{
	return json_object_array_length(install_plan_changes(plan)) == 0 &&
		pkg_json_get(plan->json, "switch_to") == NULL;
}
