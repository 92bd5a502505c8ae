#include "lang/python_inventory.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/path.h"
#include "core/text.h"
#include "lang/pep503.h"
#include "lang/python.h"

#define SCRIPT "inventory.py"
#define VERSION_MAX 256

/* Owned is what lies in the tree, or in the overlay that is about to be: relative. Anything else is
 * inherited: absolute. Given; NULL for what is no place at all. */
static char *
place(const char *location, const char *prefix, bool *owned)
{
	const char *const roots[] = { prefix, LANG_PYTHON_OVERLAY };
	pkg_autofree char *normal = location[0] == '/' ? pkg_path_normalize(location) : NULL;

	*owned = false;
	if (!normal || strlen(normal) > PATH_MAX)
		return NULL;
	for (size_t i = 0; i < PKG_ARRAY_LEN(roots); i++) {
		size_t len = strlen(roots[i]);

		if (!pkg_path_contains(roots[i], normal) || normal[len] != '/')
			continue;
		*owned = true;
		return pkg_xstrdup(normal + len + 1);
	}
	return pkg_steal_ptr(&normal);
}

static void
add_package(struct json_object *item, const char *prefix, struct store_package_list *out)
{
	const char *name = pkg_json_str_or(item, "name", "");
	const char *version = pkg_json_str_or(item, "version", "");
	bool owned;
	pkg_autofree char *location = place(pkg_json_str_or(item, "location", ""), prefix, &owned);
	struct store_package *package;

	if (!lang_pep503_is_name(name) || !location ||
		!pkg_path_is_confined(location + !owned, strlen(location + !owned)))
		return;
	package = store_package_list_add(out);
	package->name = pkg_xstrdup(name);
	package->key = lang_pep503_normalize(name);
	package->version = pkg_text_clean(version, strlen(version), VERSION_MAX, false);
	package->owned = owned;
	package->location = pkg_steal_ptr(&location);
}

/* Keys are made again here: two names that are one project must not become two packages. */
static void
drop_repeated(struct store_package_list *list)
{
	size_t kept = 0;

	for (size_t i = 0; i < list->count; i++) {
		if (kept > 0 && strcmp(list->items[kept - 1].key, list->items[i].key) == 0) {
			store_package_clear(&list->items[i]);
			continue;
		}
		if (kept != i) {
			list->items[kept] = list->items[i];
			list->items[i] = (struct store_package){ 0 };
		}
		kept++;
	}
	list->count = kept;
}

int
lang_python_inventory_parse(const char *text, size_t len, const char *prefix,
	struct store_package_list *out, struct pkg_error *err)
{
	pkg_cleanup(pkg_json_put) struct json_object *facts = lang_python_output(text, len);
	struct json_object *items = facts ? pkg_json_array(facts, "distributions") : NULL;
	const char *found = facts ? pkg_json_str_or(facts, "prefix", "") : "";

	if (!items)
		return pkg_error_set(err, PKG_E_VERIFY,
			"what the environment's interpreter printed is no inventory");
	if (strcmp(found, prefix) != 0) {
		pkg_autofree char *clean = pkg_text_clean(found, strlen(found), PATH_MAX, false);

		return pkg_error_set(err, PKG_E_VERIFY,
			"the environment's interpreter says its prefix is '%s', not '%s'", clean,
			prefix);
	}
	store_package_list_clear(out);
	for (size_t i = 0; i < json_object_array_length(items); i++)
		if (json_object_is_type(json_object_array_get_idx(items, i), json_type_object))
			add_package(json_object_array_get_idx(items, i), prefix, out);
	store_package_list_sort(out);
	drop_repeated(out);
	return 0;
}

static void
add_overlay(const struct lang_env *env, struct pkg_argv *command)
{
	const char *const sites[] = { lang_python_site(env->facts),
		lang_python_platlib(env->facts) };

	for (size_t i = 0; env->overlay && i < PKG_ARRAY_LEN(sites); i++) {
		pkg_argv_add(command, "--overlay");
		pkg_argv_take(command, pkg_path_join(LANG_PYTHON_OVERLAY, sites[i]));
	}
}

int
lang_python_inventory(struct lang_context *lang, const struct lang_env *env,
	struct store_package_list *out, struct pkg_error *err)
{
	lang_cleanup_mounts struct lang_mounts mounts = { 0 };
	pkg_cleanup(pkg_argv_free) struct pkg_argv *command = pkg_argv_new();
	pkg_cleanup_run struct pkg_run run = PKG_RUN_INIT;
	const struct sandbox_limits limits = { .output = LANG_PYTHON_INVENTORY_BYTES };

	if (lang_python_healthy(env, err) < 0 ||
		lang_python_mounts(env->facts, lang->home->user_home, &mounts, err) < 0)
		return -1;
	pkg_argv_take(command, pkg_path_join(env->prefix, lang_python_interpreter(env->facts)));
	pkg_argv_add(command, "-I", "-B");
	pkg_argv_take(command, lang_python_script(lang, &mounts, SCRIPT));
	add_overlay(env, command);
	if (lang_python_run(lang, SANDBOX_VERIFY, env, &mounts, command, &limits, &run, err) < 0)
		return pkg_error_prefix(err, "ask the environment what it holds");
	if (run.wait_status != 0) {
		pkg_autofree char *end = lang_python_run_end(&run);

		return pkg_error_set(err, PKG_E_VERIFY,
			"the environment's interpreter did not tell what it holds: %s", end);
	}
	return lang_python_inventory_parse(
		pkg_buf_str(&run.out), run.out.len, env->prefix, out, err);
}
