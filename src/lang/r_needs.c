#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/file.h"
#include "core/path.h"
#include "lang/r.h"
#include "lang/r_description.h"
#include "lang/r_installed.h"

#define DEPTH_MAX 64

int
lang_r_requirement(const char *text, char **canonical, char **key, struct pkg_error *err)
{
	lang_cleanup_r_need struct lang_r_need need = { 0 };

	if (lang_r_need_parse(text, &need, err) < 0)
		return -1;
	*canonical = lang_r_need_text(&need);
	*key = pkg_xstrdup(need.name);
	return 0;
}

int
lang_r_installed_read(const struct lang_env *env, const struct store_package *package,
	struct lang_r_description *out, struct pkg_error *err)
{
	pkg_autofd int dir = -1;

	if (!package->location)
		return pkg_error_set(err, PKG_E_ENV_BROKEN, "%s has no place", package->name);
	dir = pkg_dir_open(package->owned ? env->tree : package->location, err);
	if (dir < 0)
		return -1;
	return lang_r_description_read(dir, package->owned ? package->location : ".", out, err);
}

int
lang_r_dependents(const struct lang_env *env, const struct store_package_list *packages,
	const char *key, struct pkg_argv *out, struct pkg_error *err)
{
	for (size_t i = 0; i < packages->count; i++) {
		const struct store_package *package = &packages->items[i];
		lang_cleanup_r_description struct lang_r_description description = { 0 };
		bool needs = false;

		if (!package->owned || strcmp(package->key, key) == 0)
			continue;
		if (lang_r_installed_read(env, package, &description, NULL) < 0) {
			pkg_error_set(err, PKG_E_ENV_BROKEN,
				"what %s needs cannot be read from its DESCRIPTION", package->name);
			return pkg_error_cure(err,
				"rebuild it from its history: pkg env repair -l r %s",
				pkg_path_base(env->prefix));
		}
		for (size_t j = 0; j < description.needs.count; j++)
			needs = needs || strcmp(description.needs.items[j].name, key) == 0;
		if (needs)
			pkg_argv_add(out, package->key);
	}
	return 0;
}

struct walk {
	const struct lang_env *env;
	const struct store_package_list *packages;
	struct pkg_argv *seen;
};

/* It is there, at a version that will do, and so is all that it needs. */
static bool
is_met(struct walk *walk, const struct lang_r_need *need, int depth)
{
	const struct store_package *package = store_package_find(walk->packages, need->name);
	lang_cleanup_r_description struct lang_r_description description = { 0 };

	if (strcmp(need->name, "R") == 0)
		return lang_r_need_met(need, lang_r_version(walk->env->facts));
	if (!package || depth > DEPTH_MAX || !lang_r_need_met(need, package->version))
		return false;
	if (pkg_argv_has(walk->seen, package->key))
		return true;
	pkg_argv_add(walk->seen, package->key);
	/* An inventory is a memory; the files may be gone since. */
	if (lang_r_installed_read(walk->env, package, &description, NULL) < 0 ||
		strcmp(description.version, package->version) != 0)
		return false;
	/* What is inherited belongs to the machine, and is as complete as the machine has it. */
	for (size_t i = 0; package->owned && i < description.needs.count; i++)
		if (!is_met(walk, &description.needs.items[i], depth + 1))
			return false;
	return true;
}

bool
lang_r_satisfied(const struct lang_env *env, const struct store_package_list *packages,
	const char *requirement)
{
	lang_cleanup_r_need struct lang_r_need need = { 0 };
	pkg_cleanup(pkg_argv_free) struct pkg_argv *seen = pkg_argv_new();
	struct walk walk = { env, packages, seen };
	const struct store_package *package;

	if (lang_r_need_parse(requirement, &need, NULL) < 0 || !is_met(&walk, &need, 0))
		return false;
	package = store_package_find(packages, need.name);
	if (package && package->owned) {
		const struct store_package_list one = {
			.items = (struct store_package *)(uintptr_t)package, .count = 1
		};

		if (lang_r_check(env, &one, false, NULL) < 0)
			return false;
	}
	return lang_r_healthy(env, NULL) == 0;
}
