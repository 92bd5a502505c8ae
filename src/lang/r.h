/* lang/r.h - R: the functions behind the table of lang/lang.h.
 * Purpose    One prototype per operation, as lang/lang.h documents them; the table itself is in
 *            lang/r.c.
 * Ownership  As lang/lang.h.
 * Errors     As lang/lang.h.
 *
 * An environment's tree is library/NAME/ for each package (what R_LIBS names), records/NAME with
 * the list of its files, bin/R and bin/Rscript that start the interpreter with this library first,
 * and etc/profile.R.
 */
#ifndef LANG_R_H
#define LANG_R_H
#include "lang/lang.h"

extern const struct lang_ops lang_r_ops;

/* r_discover.c */
int lang_r_discover(struct lang_context *lang, const char *want, bool all,
	struct lang_candidate_list *list, struct pkg_error *err);

/* r_create.c */
int lang_r_create(struct lang_context *lang, const struct lang_env *env, struct pkg_error *err);

/* r_inventory.c */
int lang_r_inventory(struct lang_context *lang, const struct lang_env *env,
	struct store_package_list *out, struct pkg_error *err);

/* r_load.c */
int lang_r_load(struct lang_context *lang, const struct lang_env *env,
	struct lang_resolution *resolution, struct pkg_error *err);

/* r_check.c */
int lang_r_healthy(const struct lang_env *env, struct pkg_error *err);
int lang_r_check(const struct lang_env *env, const struct store_package_list *packages, bool deep,
	struct pkg_error *err);

/* r_needs.c */
int lang_r_requirement(const char *text, char **canonical, char **key, struct pkg_error *err);
int lang_r_dependents(const struct lang_env *env, const struct store_package_list *packages,
	const char *key, struct pkg_argv *out, struct pkg_error *err);
bool lang_r_satisfied(const struct lang_env *env, const struct store_package_list *packages,
	const char *requirement);

/* r_plan.c */
int lang_r_plan(struct lang_context *lang, const struct lang_env *env,
	const struct lang_request *request, struct lang_resolution *out, struct pkg_error *err);

/* r_build.c */
int lang_r_build_all(struct lang_context *lang, const struct lang_env *env,
	const struct lang_request *request, struct lang_resolution *resolution,
	struct pkg_error *err);

/* r_stage.c */
int lang_r_inspect(struct lang_context *lang, const struct lang_env *env, struct lang_dist *dist,
	struct pkg_error *err);
int lang_r_prepare(struct lang_context *lang, const struct lang_env *env, struct lang_dist *dists,
	size_t count, struct pkg_error *err);
int lang_r_stage(struct lang_context *lang, const struct lang_env *env,
	const struct lang_dist *dist, struct pkg_error *err);
int lang_r_unstage(struct lang_context *lang, const struct lang_env *env,
	const struct store_package *package, struct pkg_error *err);
#endif
