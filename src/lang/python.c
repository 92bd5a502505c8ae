#include "lang/python.h"
#include "lang/python_engine.h"

static int
mounts_of(const struct lang_env *env, const char *user_home, struct lang_mounts *out,
	struct pkg_error *err)
{
	return lang_python_mounts(env->facts, user_home, out, err);
}

const struct lang_ops lang_python_ops = {
	.name = "python",
	.discover = lang_python_discover,
	.describe = lang_python_describe,
	.create = lang_python_create,
	.mounts = mounts_of,
	.healthy = lang_python_healthy,
	.inventory = lang_python_inventory,
	.check = lang_python_check,
	.dependents = lang_python_dependents,
	.requirement = lang_python_requirement,
	.version_compare = lang_python_version_compare,
	.satisfied = lang_python_satisfied,
	.plan = lang_python_engine_plan,
	.inspect = lang_python_inspect,
	.build = lang_python_build,
	.prepare = lang_python_prepare,
	.stage = lang_python_stage,
	.unstage = lang_python_unstage,
	.path_reason = lang_python_path_reason,
	.shadows = lang_python_shadows,
};
