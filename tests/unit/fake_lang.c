#include "fake_lang.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/file.h"
#include "core/path.h"
#include "core/sha256.h"
#include "core/text.h"

const char *fake_lang_last_allow;

/* --- interpreters and trees --- */

static int
fake_discover(PKG_UNUSED struct lang_context *lang, const char *want, PKG_UNUSED bool all,
	struct lang_candidate_list *list, struct pkg_error *err)
{
	struct lang_candidate *one;

	if (want != NULL && strcmp(want, "9.9") == 0)
		return pkg_error_set(err, PKG_E_INTERPRETER, "no interpreter 9.9");
	list->items = pkg_xcalloc(1, sizeof(*list->items));
	list->count = 1;
	one = &list->items[0];
	one->path = pkg_xstrdup("/fake/bin/fake");
	one->origin = pkg_xstrdup("PATH");
	one->reasons = pkg_argv_new();
	one->facts = json_object_new_object();
	pkg_json_set_str(one->facts, "version", "1.2.3");
	return 0;
}

static char *
fake_describe(PKG_UNUSED struct json_object *facts)
{
	return pkg_xstrdup("Fake 1.2.3 (/fake/bin/fake)");
}

static int
write_at(const char *root, const char *path, const char *text, struct pkg_error *err)
{
	pkg_autofree char *full = pkg_path_join(root, path);
	pkg_autofree char *dir = pkg_path_dir(full);

	if (pkg_dir_make(dir, 0755, err) < 0)
		return -1;
	/* A new file each time: what is there may be a hard link that others see. */
	return pkg_file_write(full, text, strlen(text), 0644, false, err);
}

static int
fake_create(PKG_UNUSED struct lang_context *lang, const struct lang_env *env, struct pkg_error *err)
{
	if (write_at(env->tree, "fake.cfg", "home = /fake\n", err) < 0)
		return -1;
	return write_at(env->tree, FAKE_SITE "/README", "empty\n", err);
}

static int
fake_healthy(const struct lang_env *env, struct pkg_error *err)
{
	pkg_autofree char *path = pkg_path_join(env->tree, "BROKEN");

	if (!pkg_file_exists(path))
		return 0;
	return pkg_error_set(err, PKG_E_ENV_BROKEN, "the interpreter is gone");
}

/* --- what is there --- */

static struct store_package *
add_package(struct store_package_list *out, const char *name, const char *version, bool owned)
{
	struct store_package *package = store_package_list_add(out);

	package->name = pkg_xstrdup(name);
	package->key = pkg_xstrdup(name);
	package->version = pkg_xstrdup(version);
	package->owned = owned;
	package->location = owned ? pkg_xasprintf(FAKE_SITE "/%s-%s.dist-info", name, version)
				  : pkg_xstrdup("/fake/site/base");
	return package;
}

static void
scan_site(const char *tree, struct store_package_list *out)
{
	pkg_autofree char *path = tree != NULL ? pkg_path_join(tree, FAKE_SITE) : NULL;
	DIR *dir = path != NULL ? opendir(path) : NULL;

	for (struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
		char *dash = strrchr(entry->d_name, '-');

		if (!pkg_text_has_suffix(entry->d_name, ".dist-info"))
			continue;
		*dash = '\0'; /* NAME-VERSION.dist|info: the last dash is the one of "dist-info" */
		dash = strrchr(entry->d_name, '-');
		*dash = '\0';
		dash[1 + strlen(dash + 1) - strlen(".dist")] = '\0';
		if (!pkg_text_has_prefix(entry->d_name, "broken"))
			add_package(out, entry->d_name, dash + 1, true);
	}
	if (dir != NULL)
		closedir(dir);
}

static int
fake_inventory(PKG_UNUSED struct lang_context *lang, const struct lang_env *env,
	struct store_package_list *out, PKG_UNUSED struct pkg_error *err)
{
	scan_site(env->overlay, out);
	scan_site(env->tree, out);
	store_package_list_sort(out);
	if (!env->hermetic && store_package_find(out, "base") == NULL)
		add_package(out, "base", "1.0", false);
	store_package_list_sort(out);
	return 0;
}

static struct pkg_argv *
files_of(const char *name, const char *version, bool built)
{
	struct pkg_argv *files = pkg_argv_new();

	if (pkg_text_has_prefix(name, "app"))
		pkg_argv_addf(files, "bin/%s", name);
	pkg_argv_addf(files, FAKE_SITE "/%s-%s.dist-info/METADATA", name, version);
	pkg_argv_addf(files, FAKE_SITE "/%s-%s.dist-info/RECORD", name, version);
	pkg_argv_addf(files, FAKE_SITE "/%s/__init__.py", name);
	pkg_argv_addf(files, FAKE_SITE "/%s/data/%s.txt", name, version);
	if (pkg_text_has_prefix(name, "startup") ||
		(built && pkg_text_has_prefix(name, "sdist-startup")))
		pkg_argv_addf(files, FAKE_SITE "/%s.pth", name);
	if (pkg_text_has_prefix(name, "shared"))
		pkg_argv_add(files, FAKE_SITE "/shared.py");
	return files;
}

static int
fake_check(const struct lang_env *env, const struct store_package_list *packages,
	PKG_UNUSED bool deep, struct pkg_error *err)
{
	for (size_t i = 0; i < packages->count; i++) {
		const struct store_package *package = &packages->items[i];
		pkg_cleanup(pkg_argv_free) struct pkg_argv *files =
			files_of(package->name, package->version, true);

		for (size_t k = 0; package->owned && k < files->count; k++) {
			pkg_autofree char *path = pkg_path_join(env->tree, files->items[k]);

			if (!pkg_file_exists(path))
				return pkg_error_set(err, PKG_E_VERIFY, "%s %s: %s is not there",
					package->name, package->version, files->items[k]);
		}
	}
	return 0;
}

static int
fake_dependents(PKG_UNUSED const struct lang_env *env, const struct store_package_list *packages,
	const char *key, struct pkg_argv *out, PKG_UNUSED struct pkg_error *err)
{
	for (size_t i = 0; strcmp(key, "lib") == 0 && i < packages->count; i++)
		if (packages->items[i].owned && pkg_text_has_prefix(packages->items[i].key, "app"))
			pkg_argv_add(out, packages->items[i].key);
	return 0;
}

static int
fake_requirement(const char *text, char **canonical, char **key, struct pkg_error *err)
{
	size_t len = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-");

	if (len == 0 || text[0] == '-' || (text[len] != '\0' && strchr("=@ ", text[len]) == NULL))
		return pkg_error_set(
			err, PKG_E_REQUIREMENT, "position %zu: not a requirement", len);
	*canonical = pkg_xstrdup(text);
	*key = pkg_xstrndup(text, len);
	return 0;
}

static int
fake_version_compare(const char *a, const char *b)
{
	double x = strtod(a, NULL), y = strtod(b, NULL);

	return x < y ? -1 : x > y;
}

static const char *
pinned(const char *requirement)
{
	const char *at = strstr(requirement, "==");

	if (at != NULL)
		return at + 2;
	return strchr(requirement, '@') != NULL ? "1.0" : NULL;
}

static bool
fake_satisfied(PKG_UNUSED const struct lang_env *env, const struct store_package_list *packages,
	const char *requirement)
{
	pkg_autofree char *key = pkg_xstrndup(
		requirement, strspn(requirement, "abcdefghijklmnopqrstuvwxyz0123456789-"));
	const struct store_package *package = store_package_find(packages, key);

	return package != NULL &&
		(pinned(requirement) == NULL || strcmp(pinned(requirement), package->version) == 0);
}

/* --- a change --- */

static int
put_bytes(struct lang_context *lang, const char *text, char *sha256, struct pkg_error *err)
{
	pkg_autofree char *path = NULL;
	pkg_autofd int fd = fetch_cas_temp(lang->cas, &path, err);

	if (fd < 0 || pkg_write_all(fd, text, strlen(text), err) < 0)
		return -1;
	pkg_sha256_hex(text, strlen(text), sha256);
	return fetch_cas_adopt(lang->cas, sha256, path, err);
}

static int
add_dist(struct lang_context *lang, const char *name, const char *version, const char *requirement,
	struct lang_resolution *out, struct pkg_error *err)
{
	pkg_autofree char *text = pkg_xasprintf("bytes of %s %s", name, version);
	struct lang_dist *dist;
	char sha256[PKG_SHA256_HEX];

	for (size_t i = 0; i < out->count; i++)
		if (strcmp(out->items[i].key, name) == 0)
			return 0;
	if (pkg_text_has_prefix(name, "missing"))
		return pkg_error_set(err, PKG_E_NO_SUCH_PACKAGE, "there is no package '%s'", name);
	if (put_bytes(lang, text, sha256, err) < 0)
		return -1;
	dist = lang_resolution_add(out);
	dist->name = pkg_xstrdup(name);
	dist->key = pkg_xstrdup(name);
	dist->version = pkg_xstrdup(version);
	dist->requirement = pkg_xstrdup(requirement);
	dist->is_sdist = pkg_text_has_prefix(name, "sdist");
	dist->file = pkg_xasprintf("%s-%s.%s", name, version, dist->is_sdist ? "tar.gz" : "whl");
	dist->url = pkg_xasprintf("https://files.invalid/%s", dist->file);
	dist->index = pkg_xstrdup("https://index.invalid/simple/");
	dist->sha256 = pkg_xstrdup(sha256);
	dist->size = (long long)strlen(text);
	dist->source = pkg_xstrdup(dist->is_sdist ? "sdist" : "wheel");
	return 0;
}

static void
try_url(struct lang_context *lang, const char *requirement)
{
	const char *at = strstr(requirement, "http");
	pkg_autofree char *url = at != NULL ? pkg_xstrndup(at, strcspn(at, " ")) : NULL;
	pkg_cleanup_error struct pkg_error why = { 0 };

	if (url != NULL)
		fake_lang_last_allow = lang->allow(lang->context, url, &why) == 0
			? "ok"
			: pkg_error_kind_name(why.kind);
}

static int
fake_plan(struct lang_context *lang, const struct lang_env *env, const struct lang_request *request,
	struct lang_resolution *out, struct pkg_error *err)
{
	pkg_cleanup_store_package_list struct store_package_list there = { 0 };

	if (fake_inventory(lang, env, &there, err) < 0)
		return -1;
	out->engine = pkg_xstrdup("fake 1");
	for (size_t i = 0; i < request->requirements->count; i++) {
		const char *text = request->requirements->items[i];
		const char *version = pinned(text) != NULL ? pinned(text) : "2.0";
		pkg_autofree char *key = NULL;
		pkg_autofree char *canonical = NULL;

		try_url(lang, text);
		if (fake_requirement(text, &canonical, &key, err) < 0)
			return -1;
		if (fake_satisfied(env, &there, text) &&
			(!request->upgrade ||
				strcmp(store_package_find(&there, key)->version, version) == 0))
			continue;
		if (add_dist(lang, key, version, text, out, err) < 0)
			return -1;
		if (pkg_text_has_prefix(key, "app") &&
			add_dist(lang, "lib", version, NULL, out, err) < 0)
			return -1;
	}
	return 0;
}

static void
fill_files(struct lang_dist *dist, bool built)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *files =
		files_of(dist->name, dist->version, built);

	for (size_t i = 0; i < dist->file_count; i++)
		free(dist->files[i].path);
	free(dist->files);
	dist->files = pkg_xcalloc(files->count, sizeof(*dist->files));
	dist->file_count = files->count;
	for (size_t i = 0; i < files->count; i++)
		dist->files[i] = (struct lang_file){ pkg_xstrdup(files->items[i]), 1 };
	dist->inspected = true;
}

static int
fake_inspect(PKG_UNUSED struct lang_context *lang, PKG_UNUSED const struct lang_env *env,
	struct lang_dist *dist, PKG_UNUSED struct pkg_error *err)
{
	if (!dist->is_sdist)
		fill_files(dist, false);
	return 0;
}

static int
fake_build(PKG_UNUSED struct lang_context *lang, PKG_UNUSED const struct lang_env *env,
	PKG_UNUSED const struct lang_request *request, struct lang_dist *dist,
	PKG_UNUSED struct pkg_error *err)
{
	free(dist->wheel_sha256);
	dist->wheel_sha256 = pkg_xstrdup(dist->sha256);
	if (dist->is_sdist)
		fill_files(dist, true);
	return 0;
}

static int
fake_prepare(struct lang_context *lang, PKG_UNUSED const struct lang_env *env,
	struct lang_dist *dists, size_t count, struct pkg_error *err)
{
	for (size_t i = 0; i < count; i++)
		if (!fetch_cas_has(lang->cas, dists[i].sha256))
			return pkg_error_set(
				err, PKG_E_INTERNAL, "%s was not fetched", dists[i].file);
	return 0;
}

static int
fake_stage(PKG_UNUSED struct lang_context *lang, const struct lang_env *env,
	const struct lang_dist *dist, struct pkg_error *err)
{
	pkg_autofree char *text = pkg_xasprintf("%s %s\n", dist->name, dist->version);

	for (size_t i = 0; i < dist->file_count; i++)
		if (write_at(env->overlay != NULL ? env->overlay : env->tree, dist->files[i].path,
			    text, err) < 0)
			return -1;
	return 0;
}

static int
fake_unstage(PKG_UNUSED struct lang_context *lang, const struct lang_env *env,
	const struct store_package *package, struct pkg_error *err)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *files =
		files_of(package->name, package->version, true);

	for (size_t i = 0; i < files->count; i++) {
		pkg_autofree char *path = pkg_path_join(env->tree, files->items[i]);
		pkg_autofree char *dir = pkg_path_dir(path);

		if (unlink(path) < 0 && errno != ENOENT)
			return pkg_error_errno(err, errno, "remove %s", path);
		(void)rmdir(dir);
	}
	return 0;
}

/* --- additivity --- */

static const char *
fake_path_reason(PKG_UNUSED const struct lang_env *env, const char *path)
{
	return pkg_text_has_suffix(path, ".pth") ? "startup-file" : NULL;
}

static char *
fake_shadows(const struct lang_env *env, const char *path)
{
	return !env->hermetic && strcmp(path, FAKE_SITE "/base/__init__.py") == 0
		? pkg_xstrdup("base")
		: NULL;
}

const struct lang_ops *
lang_find(const char *language, struct pkg_error *err)
{
	static const struct lang_ops ops = {
		.name = "python",
		.discover = fake_discover,
		.describe = fake_describe,
		.create = fake_create,
		.healthy = fake_healthy,
		.inventory = fake_inventory,
		.check = fake_check,
		.dependents = fake_dependents,
		.requirement = fake_requirement,
		.version_compare = fake_version_compare,
		.satisfied = fake_satisfied,
		.plan = fake_plan,
		.inspect = fake_inspect,
		.build = fake_build,
		.prepare = fake_prepare,
		.stage = fake_stage,
		.unstage = fake_unstage,
		.path_reason = fake_path_reason,
		.shadows = fake_shadows,
	};

	if (strcmp(language, "python") == 0)
		return &ops;
	pkg_error_set(err, PKG_E_INVALID, "'%s' is no language", language);
	return NULL;
}
