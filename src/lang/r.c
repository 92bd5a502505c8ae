#include "lang/r.h"

#include "lang/r_run.h"
#include "lang/r_version.h"

static int
mounts_of(const struct lang_env *env, const char *user_home, struct lang_mounts *out,
	struct pkg_error *err)
{
	return lang_r_mounts(env->facts, user_home, out, err);
}

/* Nothing that a package brings runs when R starts. */
static const char *
path_reason(PKG_UNUSED const struct lang_env *env, PKG_UNUSED const char *path)
{
	return NULL;
}

/* A package hides another of its own name alone, and the inventory tells of those that are
 * inherited. */
static char *
shadows(PKG_UNUSED const struct lang_env *env, PKG_UNUSED const char *path)
{
	return NULL;
}

const struct lang_ops lang_r_ops = {
	.name = "r",
	.discover = lang_r_discover,
	.describe = lang_r_describe,
	.create = lang_r_create,
	.mounts = mounts_of,
	.healthy = lang_r_healthy,
	.inventory = lang_r_inventory,
	.load = lang_r_load,
	.check = lang_r_check,
	.dependents = lang_r_dependents,
	.requirement = lang_r_requirement,
	.version_compare = lang_r_version_compare,
	.satisfied = lang_r_satisfied,
	.plan = lang_r_plan,
	.inspect = lang_r_inspect,
	.build_all = lang_r_build_all,
	.prepare = lang_r_prepare,
	.stage = lang_r_stage,
	.unstage = lang_r_unstage,
	.path_reason = path_reason,
	.shadows = shadows,
};
