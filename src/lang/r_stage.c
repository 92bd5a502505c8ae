#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/file.h"
#include "core/path.h"
#include "core/tree.h"
#include "lang/r.h"
#include "lang/r_build.h"
#include "lang/r_request.h"
#include "lang/r_run.h"

/* Before a build nobody knows which files a package will bring. But all of them lie in one
 * directory, which has its name, and R looks nowhere else for it: whether that directory is
 * there already is all that additivity asks. */
int
lang_r_inspect(PKG_UNUSED struct lang_context *lang, PKG_UNUSED const struct lang_env *env,
	struct lang_dist *dist, PKG_UNUSED struct pkg_error *err)
{
	if (dist->inspected)
		return 0;
	dist->files = pkg_xcalloc(2, sizeof(*dist->files));
	dist->files[0].path = pkg_path_join(LANG_R_LIBRARY, dist->name);
	dist->files[0].size = dist->size;
	dist->files[1].path = pkg_path_join(LANG_R_RECORDS, dist->name);
	dist->file_count = 2;
	dist->inspected = true;
	return 0;
}

int
lang_r_prepare(struct lang_context *lang, PKG_UNUSED const struct lang_env *env,
	struct lang_dist *dists, size_t count, struct pkg_error *err)
{
	for (size_t i = 0; i < count; i++)
		if (!lang_r_built_has(lang->home, &dists[i]))
			return pkg_error_set(err, PKG_E_NOT_FOUND,
				"what was built of %s %s is not in the cache any more",
				dists[i].name, dists[i].version);
	return 0;
}

int
lang_r_stage(struct lang_context *lang, const struct lang_env *env, const struct lang_dist *dist,
	struct pkg_error *err)
{
	pkg_autofree char *entry = lang_r_built_path(lang->home, dist);
	const char *to = env->overlay ? env->overlay : env->tree;
	pkg_autofree char *library = pkg_path_join(to, LANG_R_LIBRARY);
	pkg_autofree char *records = pkg_path_join(to, LANG_R_RECORDS);
	pkg_autofree char *from_tree = entry ? pkg_path_join(entry, "tree") : NULL;
	pkg_autofree char *from_list = entry ? pkg_path_join(entry, "files") : NULL;
	pkg_autofree char *to_tree = pkg_path_join(library, dist->name);
	pkg_autofree char *to_list = pkg_path_join(records, dist->name);
	struct pkg_tree_stats stats = { 0 };

	if (!entry)
		return pkg_error_set(err, PKG_E_INTERNAL, "%s is not built", dist->name);
	if (pkg_dir_make(library, 0755, err) < 0 || pkg_dir_make(records, 0755, err) < 0)
		return -1;
	/* A path that is taken in a tree is replaced. */
	if (!env->overlay &&
		(pkg_tree_remove(to_tree, err) < 0 || pkg_tree_remove(to_list, err) < 0))
		return -1;
	if (pkg_tree_copy(AT_FDCWD, from_tree, AT_FDCWD, to_tree, &stats, err) < 0 ||
		pkg_file_link_or_copy(AT_FDCWD, from_list, AT_FDCWD, to_list, NULL, err) < 0)
		return pkg_error_prefix(err, "link %s", dist->name);
	return 0;
}

/* The directory is the package's alone: nobody else can have written there. */
int
lang_r_unstage(PKG_UNUSED struct lang_context *lang, const struct lang_env *env,
	const struct store_package *package, struct pkg_error *err)
{
	pkg_autofd int tree = pkg_dir_open(env->tree, err);
	pkg_autofree char *place = pkg_path_join(LANG_R_LIBRARY, package->key);
	pkg_autofree char *list = pkg_path_join(LANG_R_RECORDS, package->key);

	if (tree < 0)
		return -1;
	if (!lang_r_name_is(package->key))
		return pkg_error_set(err, PKG_E_INTERNAL, "'%s' is no package", package->key);
	if (pkg_tree_remove_at(tree, place, err) < 0 || pkg_tree_remove_at(tree, list, err) < 0)
		return pkg_error_prefix(err, "remove %s", package->name);
	return 0;
}
