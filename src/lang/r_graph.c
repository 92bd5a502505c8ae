#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "core/file.h"
#include "core/path.h"
#include "core/sha256.h"
#include "lang/r_build.h"
#include "lang/r_facts.h"
#include "lang/r_files.h"
#include "lang/r_run.h"

#define RECIPE 2 /* changes when builds are made another way */
#define DEPS_MAX 5000

void
lang_r_units_clear(struct lang_r_units *units)
{
	for (size_t i = 0; i < units->count; i++) {
		struct lang_r_unit *unit = &units->items[i];

		for (size_t j = 0; j < unit->dep_count; j++) {
			free(unit->deps[j].name);
			free(unit->deps[j].version);
			free(unit->deps[j].path);
		}
		free(unit->deps);
		free(unit->label);
		lang_r_description_clear(&unit->description);
	}
	free(units->items);
	*units = (struct lang_r_units){ 0 };
}

static long
find_unit(const struct lang_r_units *units, const char *name)
{
	for (size_t i = 0; i < units->count; i++)
		if (strcmp(units->items[i].dist->name, name) == 0)
			return (long)i;
	return -1;
}

static bool
has_dep(const struct lang_r_unit *unit, const char *name)
{
	for (size_t i = 0; i < unit->dep_count; i++)
		if (strcmp(unit->deps[i].name, name) == 0)
			return true;
	return false;
}

static struct lang_r_dep *
add_dep(struct lang_r_unit *unit, const char *name, const char *version, long number)
{
	struct lang_r_dep *dep;

	unit->deps = pkg_xrealloc(unit->deps, unit->dep_count + 1, sizeof(*unit->deps));
	dep = &unit->deps[unit->dep_count++];
	*dep = (struct lang_r_dep){ pkg_xstrdup(name), pkg_xstrdup(version), NULL, number };
	return dep;
}

/* Where an R of this environment would find the package: its own library, the site's, R's.
 * Given; NULL: nowhere. */
static char *
find_installed(const struct lang_env *env, const char *name, struct lang_r_description *out)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *libraries = pkg_argv_new();

	pkg_argv_take(libraries, pkg_path_join(env->tree, LANG_R_LIBRARY));
	if (!env->hermetic)
		lang_r_sites(env->facts, libraries);
	pkg_argv_add(libraries, lang_r_library(env->facts));
	for (size_t i = 0; i < libraries->count; i++) {
		pkg_autofd int library = pkg_dir_open(libraries->items[i], NULL);

		if (library >= 0 && lang_r_description_read(library, name, out, NULL) == 0)
			return pkg_path_join(libraries->items[i], name);
	}
	return NULL;
}

static int add_needs(const struct lang_env *env, const struct lang_r_units *units,
	struct lang_r_unit *unit, const struct lang_r_needs *needs, struct pkg_error *err);

static int
add_installed(const struct lang_env *env, const struct lang_r_units *units,
	struct lang_r_unit *unit, const char *name, struct pkg_error *err)
{
	lang_cleanup_r_description struct lang_r_description description = { 0 };
	pkg_autofree char *path = find_installed(env, name, &description);
	bool own;
	struct lang_r_dep *dep;

	if (!path)
		return pkg_error_set(err, PKG_E_BUILD,
			"%s needs %s, which is neither planned nor there", unit->label, name);
	own = pkg_path_contains(lang_r_library(env->facts), path);
	/* R's own: base packages have R's version, and change with its patches without anybody's
	 * harm. */
	if (own && strcmp(description.version, lang_r_version(env->facts)) == 0)
		return 0;
	dep = add_dep(unit, name, description.version, -1);
	if (!own)
		dep->path = pkg_steal_ptr(&path);
	return add_needs(env, units, unit, &description.needs, err);
}

static int
add_needs(const struct lang_env *env, const struct lang_r_units *units, struct lang_r_unit *unit,
	const struct lang_r_needs *needs, struct pkg_error *err)
{
	for (size_t i = 0; i < needs->count; i++) {
		const char *name = needs->items[i].name;
		long number;

		if (strcmp(name, "R") == 0 || strcmp(name, unit->dist->name) == 0 ||
			has_dep(unit, name))
			continue;
		if (unit->dep_count >= DEPS_MAX)
			return pkg_error_set(err, PKG_E_TOO_LARGE, "%s needs more than %d packages",
				unit->label, DEPS_MAX);
		number = find_unit(units, name);
		if (number < 0) {
			if (add_installed(env, units, unit, name, err) < 0)
				return -1;
			continue;
		}
		add_dep(unit, name, units->items[number].dist->version, number);
		if (add_needs(env, units, unit, &units->items[number].description.needs, err) < 0)
			return -1;
	}
	return 0;
}

static int
compare_deps(const void *a, const void *b)
{
	return strcmp(((const struct lang_r_dep *)a)->name, ((const struct lang_r_dep *)b)->name);
}

static void
set_key(const struct lang_env *env, const struct lang_r_unit *unit)
{
	pkg_cleanup(pkg_json_put) struct json_object *identity = json_object_new_object();
	struct json_object *deps = json_object_new_object();
	pkg_autofree char *minor = lang_r_minor(env->facts);
	pkg_autofree char *text = NULL;
	char key[PKG_SHA256_HEX];

	for (size_t i = 0; i < unit->dep_count; i++)
		pkg_json_set_str(deps, unit->deps[i].name, unit->deps[i].version);
	pkg_json_set_int(identity, "recipe", RECIPE);
	pkg_json_set_str(identity, "source", unit->dist->sha256);
	pkg_json_set_str(identity, "r", minor);
	pkg_json_set_str(identity, "home", lang_r_home(env->facts));
	pkg_json_set_str(identity, "platform", lang_r_platform(env->facts));
	pkg_json_set(identity, "deps", deps);
	/* It says that it cannot be moved after it was installed. */
	if (!unit->description.staged_install)
		pkg_json_set_str(identity, "prefix", env->prefix);
	text = pkg_json_canonical(identity);
	pkg_sha256_hex(text, strlen(text), key);
	free(unit->dist->wheel_sha256);
	unit->dist->wheel_sha256 = pkg_xstrdup(key);
}

int
lang_r_units_make(struct lang_context *lang, const struct lang_env *env,
	struct lang_resolution *resolution, struct lang_r_units *out, struct pkg_error *err)
{
	out->items = pkg_xcalloc(resolution->count + 1, sizeof(*out->items));
	for (size_t i = 0; i < resolution->count; i++) {
		struct lang_r_unit *unit = &out->items[out->count++];

		unit->dist = &resolution->items[i];
		unit->label = pkg_xasprintf("%s %s", unit->dist->name, unit->dist->version);
		if (lang_r_files_describe(lang, unit->dist->sha256, unit->dist->name,
			    &unit->description, err) < 0)
			return -1;
	}
	for (size_t i = 0; i < out->count; i++) {
		struct lang_r_unit *unit = &out->items[i];

		if (add_needs(env, out, unit, &unit->description.needs, err) < 0)
			return -1;
		if (unit->dep_count > 1)
			qsort(unit->deps, unit->dep_count, sizeof(*unit->deps), compare_deps);
		set_key(env, unit);
	}
	return 0;
}
