#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/file.h"
#include "core/path.h"
#include "core/tree.h"
#include "lang/r.h"
#include "lang/r_run.h"

#define PROFILE_MAX (64 * 1024)
#define PLACEHOLDER "@ENVIRONMENT@"

/* What is there already may be somebody's packages: it is neither filled nor, after a failure,
 * removed. */
static int
need_empty(const char *tree, struct pkg_error *err)
{
	DIR *dir = opendir(tree);
	const struct dirent *entry;
	bool empty = true;

	if (!dir)
		return pkg_error_errno(err, errno, "open '%s'", tree);
	while (empty && (entry = readdir(dir)))
		empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
	closedir(dir);
	return empty ? 0
		     : pkg_error_set(err, PKG_E_EXISTS,
			       "'%s' is not empty: no environment is made there", tree);
}

/* A word of a shell script, whatever is in it. */
static void
add_quoted(struct pkg_buf *out, const char *text)
{
	pkg_buf_add_char(out, '\'');
	for (; *text; text++) {
		if (*text == '\'')
			pkg_buf_add(out, "'\\''");
		else
			pkg_buf_add_char(out, *text);
	}
	pkg_buf_add_char(out, '\'');
}

/* bin/R and bin/Rscript: whoever starts R by them, in `pkg run` or not, gets this library first
 * and the profile that sends installations to pkgd. */
static int
write_starter(const struct lang_env *env, const char *name, struct pkg_error *err)
{
	pkg_autofree char *path = pkg_path_joinf(env->tree, "bin/%s", name);
	pkg_autofree char *library = pkg_path_join(env->prefix, LANG_R_LIBRARY);
	pkg_autofree char *profile = pkg_path_join(env->prefix, "etc/profile.R");
	pkg_autofree char *program = pkg_path_joinf(lang_r_home(env->facts), "bin/%s", name);
	pkg_cleanup(pkg_argv_free) struct pkg_argv *variables = pkg_argv_new();
	pkg_cleanup_buf struct pkg_buf text = { 0 };

	lang_r_environment(env->facts, library, env->hermetic, variables);
	pkg_buf_add(&text, "#!/bin/sh\n");
	for (size_t i = 0; i < variables->count; i++) {
		const char *pair = variables->items[i];
		size_t len = strcspn(pair, "=");

		/* A person's profile, language, editor and pager are theirs, and the site's
		 * environment file is read unless it could bring its libraries back. */
		if (strncmp(pair, "R_LIBS", 6) != 0 &&
			!(env->hermetic && strncmp(pair, "R_ENVIRON=", 10) == 0))
			continue;
		pkg_buf_addf(&text, "export %.*s=", (int)len, pair);
		add_quoted(&text, pair + len + 1);
		pkg_buf_add_char(&text, '\n');
	}
	pkg_buf_add(&text,
		"export EDITOR=\"${EDITOR:-vi}\" PAGER=\"${PAGER:-/usr/bin/more}\"\nexport "
		"R_PROFILE=");
	add_quoted(&text, profile);
	pkg_buf_add(&text, "\nexec ");
	add_quoted(&text, program);
	pkg_buf_add(&text, " \"$@\"\n");
	return pkg_file_write(path, pkg_buf_str(&text), text.len, 0555, false, err);
}

/* " -e NAME" for the command that the profile tells; nothing for the language's own environment. */
static int
write_profile(struct lang_context *lang, const struct lang_env *env, struct pkg_error *err)
{
	pkg_autofree char *source = pkg_path_join(lang->home->share, "envs/r/profile.R");
	pkg_autofree char *path = pkg_path_join(env->tree, "etc/profile.R");
	const char *name = pkg_path_base(env->prefix);
	pkg_cleanup_buf struct pkg_buf text = { 0 };
	pkg_cleanup_buf struct pkg_buf out = { 0 };
	const char *at;

	if (pkg_file_read(source, PROFILE_MAX, &text, err) < 0)
		return -1;
	at = strstr(pkg_buf_str(&text), PLACEHOLDER);
	if (!at)
		return pkg_error_set(err, PKG_E_INTERNAL, "'%s' has no place for the name", source);
	pkg_buf_add_mem(&out, text.data, (size_t)(at - text.data));
	/* Names of environments hold nothing that R would read as anything but text. */
	if (strcmp(name, "r") != 0)
		pkg_buf_addf(&out, " -e %s", name);
	pkg_buf_add(&out, at + strlen(PLACEHOLDER));
	return pkg_file_write(path, pkg_buf_str(&out), out.len, 0444, false, err);
}

static int
fill(struct lang_context *lang, const struct lang_env *env, struct pkg_error *err)
{
	static const char *const directories[] = { LANG_R_LIBRARY, LANG_R_RECORDS, "bin", "etc" };

	for (size_t i = 0; i < PKG_ARRAY_LEN(directories); i++) {
		pkg_autofree char *path = pkg_path_join(env->tree, directories[i]);

		if (pkg_dir_make(path, 0755, err) < 0)
			return -1;
	}
	if (write_starter(env, "R", err) < 0 || write_starter(env, "Rscript", err) < 0)
		return -1;
	return write_profile(lang, env, err);
}

int
lang_r_create(struct lang_context *lang, const struct lang_env *env, struct pkg_error *err)
{
	if (need_empty(env->tree, err) < 0)
		return -1;
	/* The proof is the inventory that follows every creation: there R itself, in the
	 * sandbox, says that this library comes first. */
	if (fill(lang, env, err) == 0)
		return 0;
	(void)pkg_tree_remove(env->tree, NULL);
	return -1;
}
