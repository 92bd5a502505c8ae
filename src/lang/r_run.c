#include "lang/r_run.h"

#include <stdlib.h>
#include <string.h>

#include "core/path.h"
#include "core/text.h"

#define LINE_SHOWN 300

char *
lang_r_base_of(const char *program)
{
	static const char *const homes[] = { "/lib/R", "/lib64/R" };
	pkg_autofree char *bin = program[0] == '/' ? pkg_path_dir(program) : NULL;
	pkg_autofree char *base = bin && strcmp(bin, "/") != 0 ? pkg_path_dir(bin) : NULL;

	if (!base || strcmp(base, "/") == 0)
		return NULL;
	/* The system's own: everything around it is shown anyway. */
	if (pkg_path_contains("/usr", base))
		return pkg_steal_ptr(&base);
	for (size_t i = 0; i < PKG_ARRAY_LEN(homes); i++) {
		size_t len = strlen(base) - strlen(homes[i]);

		if (pkg_text_has_suffix(base, homes[i]) && len > 0)
			return pkg_xstrndup(base, len);
	}
	return pkg_steal_ptr(&base);
}

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

int
lang_r_mounts(struct json_object *facts, const char *user_home, struct lang_mounts *out,
	struct pkg_error *err)
{
	const char *base = lang_r_base(facts);
	pkg_cleanup(pkg_argv_free) struct pkg_argv *sites = pkg_argv_new();

	if (!is_shown(out, base)) {
		if (pkg_path_is_broad(base, user_home)) {
			pkg_error_set(err, PKG_E_INTERPRETER,
				"the directory '%s' of '%s' is too broad to be shown in a sandbox",
				base, lang_r_program(facts));
			return pkg_error_cure(err, "choose another R with --python PATH");
		}
		lang_mounts_add(out, SANDBOX_MOUNT_RO, base, NULL);
	}
	/* The word of a foreign program: nothing of somebody's home is shown for it. */
	lang_r_sites(facts, sites);
	for (size_t i = 0; i < sites->count; i++)
		if (!is_shown(out, sites->items[i]) &&
			!pkg_path_is_broad(sites->items[i], user_home) &&
			!(user_home && pkg_path_contains(user_home, sites->items[i])))
			lang_mounts_add_optional(out, SANDBOX_MOUNT_RO, sites->items[i], NULL);
	return 0;
}

void
lang_r_environment(
	struct json_object *facts, const char *first, bool hermetic, struct pkg_argv *out)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *sites = pkg_argv_new();
	pkg_autofree char *site = NULL;

	if (!hermetic)
		lang_r_sites(facts, sites);
	site = pkg_argv_join(sites, ":");
	/* R takes an empty variable for an unset one, and a directory that is not there for
	 * none. */
	pkg_argv_addf(out, "R_LIBS=%s", first ? first : "/nonexistent");
	pkg_argv_addf(out, "R_LIBS_USER=%s", first ? first : "/nonexistent");
	pkg_argv_addf(out, "R_LIBS_SITE=%s", *site ? site : "/nonexistent");
	/* The site's own files add libraries of their own (Debian's Renviron.site does). */
	pkg_argv_add(out, "R_ENVIRON=/dev/null", "R_ENVIRON_USER=/dev/null", "R_PROFILE=/dev/null",
		"R_PROFILE_USER=/dev/null", "EDITOR=vi", "PAGER=cat", "LANGUAGE=en");
}

static char *
libraries_of(const struct lang_env *env)
{
	pkg_autofree char *own = pkg_path_join(env->prefix, LANG_R_LIBRARY);

	return env->overlay ? pkg_xasprintf(LANG_R_OVERLAY "/" LANG_R_LIBRARY ":%s", own)
			    : pkg_steal_ptr(&own);
}

static void
add_command(struct lang_context *lang, struct json_object *facts, const char *script,
	const struct pkg_argv *arguments, struct lang_mounts *mounts, struct pkg_argv *command)
{
	pkg_autofree char *directory = pkg_path_join(lang->home->share, "envs/r");

	if (!is_shown(mounts, directory))
		lang_mounts_add(mounts, SANDBOX_MOUNT_RO, directory, NULL);
	pkg_argv_add(command, lang_r_program(facts), "--vanilla", "--no-echo", "-f");
	pkg_argv_take(command, pkg_path_join(directory, script));
	if (!arguments)
		return;
	pkg_argv_add(command, "--args");
	pkg_argv_add_all(command, arguments);
}

int
lang_r_script(struct lang_context *lang, enum sandbox_purpose purpose, const struct lang_env *env,
	struct json_object *facts, const char *script, const struct pkg_argv *arguments,
	const struct sandbox_limits *limits, struct pkg_run *run, struct pkg_error *err)
{
	lang_cleanup_mounts struct lang_mounts mounts = { 0 };
	pkg_cleanup(pkg_argv_free) struct pkg_argv *command = pkg_argv_new();
	pkg_cleanup(pkg_argv_free) struct pkg_argv *variables = pkg_argv_new();
	pkg_autofree char *libraries = env ? libraries_of(env) : NULL;
	struct sandbox_profile profile = {
		.purpose = purpose, .command = command, .env = variables, .shim_fd = -1
	};

	if (lang_r_mounts(facts, lang->home->user_home, &mounts, err) < 0)
		return -1;
	lang_r_environment(facts, libraries, env && env->hermetic, variables);
	/* A heap to begin with that loading some packages does not outgrow. */
	pkg_argv_add(variables, "R_DEFAULT_PACKAGES=NULL", "R_NSIZE=1000000", "R_VSIZE=32M");
	add_command(lang, facts, script, arguments, &mounts, command);
	if (env) {
		profile.tree = env->tree;
		profile.prefix = env->prefix;
		if (env->overlay)
			lang_mounts_add(&mounts, SANDBOX_MOUNT_RO, env->overlay, LANG_R_OVERLAY);
	}
	if (limits)
		profile.limits = *limits;
	profile.mounts = mounts.items;
	profile.mount_count = mounts.count;
	run->cancel_fd = lang->cancel_fd;
	return sandbox_run(lang->sandbox, &profile, run, err);
}

char *
lang_r_end(const struct pkg_run *run)
{
	pkg_autofree char *status = pkg_process_describe(run->wait_status);
	const char *text = pkg_buf_str(&run->err);
	size_t end = run->err.len;
	size_t start;
	pkg_autofree char *line = NULL;

	while (end > 0 && strchr("\n \t", text[end - 1]))
		end--;
	start = end;
	while (start > 0 && text[start - 1] != '\n')
		start--;
	line = pkg_text_clean(text + start, end - start, LINE_SHOWN, false);
	return *line ? pkg_xasprintf("%s: %s", status, line) : pkg_xstrdup(status);
}
