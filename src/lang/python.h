/* lang/python.h - Python: the functions behind the table of lang/lang.h.
 * Purpose    One prototype per operation, as lang/lang.h documents them; the table itself is in
 *            lang/python.c. Beside them: what several of the files need of each other.
 * Ownership  As lang/lang.h.
 * Errors     As lang/lang.h.
 */
#ifndef LANG_PYTHON_H
#define LANG_PYTHON_H
#include "lang/lang.h"
#include "lang/python_facts.h"
#include "lang/python_mounts.h"

extern const struct lang_ops lang_python_ops;

/* python_discover.c */
int lang_python_discover(struct lang_context *lang, const char *want, bool all,
	struct lang_candidate_list *list, struct pkg_error *err);

/* python_create.c */
int lang_python_create(
	struct lang_context *lang, const struct lang_env *env, struct pkg_error *err);

/* python_inventory.c */
int lang_python_inventory(struct lang_context *lang, const struct lang_env *env,
	struct store_package_list *out, struct pkg_error *err);

/* python_check.c */
int lang_python_healthy(const struct lang_env *env, struct pkg_error *err);
int lang_python_check(const struct lang_env *env, const struct store_package_list *packages,
	bool deep, struct pkg_error *err);
int lang_python_requirement(const char *text, char **canonical, char **key, struct pkg_error *err);
int lang_python_version_compare(const char *a, const char *b);

/* python_needs.c */
int lang_python_dependents(const struct lang_env *env, const struct store_package_list *packages,
	const char *key, struct pkg_argv *out, struct pkg_error *err);
bool lang_python_satisfied(const struct lang_env *env, const struct store_package_list *packages,
	const char *requirement);

/* python_shadows.c */
const char *lang_python_path_reason(const struct lang_env *env, const char *path);
char *lang_python_shadows(const struct lang_env *env, const char *path);

/* The resolver: python_pip_*.c */
int lang_python_plan(struct lang_context *lang, const struct lang_env *env,
	const struct lang_request *request, struct lang_resolution *out, struct pkg_error *err);

/* python_build.c */
int lang_python_build(struct lang_context *lang, const struct lang_env *env,
	const struct lang_request *request, struct lang_dist *dist, struct pkg_error *err);

/* The store of opened wheels: python_store.c, python_stage.c */
int lang_python_inspect(struct lang_context *lang, const struct lang_env *env,
	struct lang_dist *dist, struct pkg_error *err);
int lang_python_prepare(struct lang_context *lang, const struct lang_env *env,
	struct lang_dist *dists, size_t count, struct pkg_error *err);
int lang_python_stage(struct lang_context *lang, const struct lang_env *env,
	const struct lang_dist *dist, struct pkg_error *err);
int lang_python_unstage(struct lang_context *lang, const struct lang_env *env,
	const struct store_package *package, struct pkg_error *err);
#endif
