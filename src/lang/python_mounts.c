#include "lang/python_mounts.h"

#include <stdlib.h>
#include <string.h>

#include "core/path.h"
#include "core/text.h"
#include "lang/python_facts.h"

#define LINE_MAX_SHOWN 300

static bool
is_shown(const struct lang_mounts *mounts, const char *path)
{
	if (pkg_path_contains("/usr", path))
		return true;
	for (size_t i = 0; i < mounts->count; i++)
		if (mounts->items[i].source && !mounts->items[i].target &&
			pkg_path_contains(mounts->items[i].source, path))
			return true;
	return false;
}

/* Directories that the interpreter named beside its own: libraries, a site directory that a .pth of
 * its points to. They are the word of a foreign program, so nothing of somebody's home is shown for
 * it, and one that is refused is simply not there inside. */
static void
add_named(struct lang_mounts *mounts, const struct pkg_argv *paths, const char *home)
{
	for (size_t i = 0; i < paths->count; i++) {
		const char *path = paths->items[i];

		if (is_shown(mounts, path) || pkg_path_is_broad(path, home) ||
			(home && pkg_path_contains(home, path)))
			continue;
		lang_mounts_add_optional(mounts, SANDBOX_MOUNT_RO, path, NULL);
	}
}

char *
lang_python_base_of(const char *executable)
{
	pkg_autofree char *dir = pkg_path_dir(executable);
	char *base;

	if (!dir || strcmp(dir, "/") == 0 || executable[0] != '/')
		return NULL;
	base = pkg_path_dir(dir);
	if (base && strcmp(base, "/") == 0) {
		free(base);
		return NULL;
	}
	return base;
}

int
lang_python_mounts(
	struct json_object *facts, const char *home, struct lang_mounts *out, struct pkg_error *err)
{
	const char *base = lang_python_base(facts);
	pkg_cleanup(pkg_argv_free) struct pkg_argv *named = pkg_argv_new();
	struct json_object *libs = pkg_json_array(facts, "lib_dirs");

	if (!is_shown(out, base)) {
		if (pkg_path_is_broad(base, home)) {
			pkg_error_set(err, PKG_E_INTERPRETER,
				"the directory '%s' of the interpreter '%s' is too broad to be "
				"shown in a sandbox",
				base, lang_python_executable(facts));
			return pkg_error_cure(err, "choose another interpreter with --python");
		}
		lang_mounts_add(out, SANDBOX_MOUNT_RO, base, NULL);
	}
	for (size_t i = 0; libs && i < json_object_array_length(libs); i++)
		pkg_argv_add(named, json_object_get_string(json_object_array_get_idx(libs, i)));
	lang_python_inherited(facts, named);
	add_named(out, named, home);
	return 0;
}

char *
lang_python_script(const struct lang_context *lang, struct lang_mounts *mounts, const char *name)
{
	pkg_autofree char *directory = pkg_path_join(lang->home->share, "envs/python");

	if (!is_shown(mounts, directory))
		lang_mounts_add(mounts, SANDBOX_MOUNT_RO, directory, NULL);
	return pkg_path_join(directory, name);
}

int
lang_python_run(struct lang_context *lang, enum sandbox_purpose purpose, const struct lang_env *env,
	struct lang_mounts *mounts, const struct pkg_argv *command,
	const struct sandbox_limits *limits, struct pkg_run *run, struct pkg_error *err)
{
	struct sandbox_profile profile = {
		.purpose = purpose,
		.command = command,
		.shim_fd = -1,
	};

	if (env) {
		profile.tree = env->tree;
		profile.prefix = env->prefix;
		profile.tree_writable = purpose == SANDBOX_APPLY;
		if (env->overlay)
			lang_mounts_add(
				mounts, SANDBOX_MOUNT_RO, env->overlay, LANG_PYTHON_OVERLAY);
	}
	if (limits)
		profile.limits = *limits;
	profile.mounts = mounts->items;
	profile.mount_count = mounts->count;
	run->cancel_fd = lang->cancel_fd;
	return sandbox_run(lang->sandbox, &profile, run, err);
}

char *
lang_python_run_end(const struct pkg_run *run)
{
	pkg_autofree char *status = pkg_process_describe(run->wait_status);
	const char *text = pkg_buf_str(&run->err);
	size_t end = run->err.len;
	size_t start;
	pkg_autofree char *line = NULL;

	while (end > 0 && (text[end - 1] == '\n' || text[end - 1] == ' '))
		end--;
	start = end;
	while (start > 0 && text[start - 1] != '\n')
		start--;
	line = pkg_text_clean(text + start, end - start, LINE_MAX_SHOWN, false);
	return *line ? pkg_xasprintf("%s: %s", status, line) : pkg_xstrdup(status);
}
