#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/path.h"
#include "core/text.h"
#include "core/tree.h"
#include "lang/python.h"
#include "lang/python_template.h"

#define LISTING_MAX 20
#define TAIL_MAX 2000

/* A tool's exit status proves nothing (BEHAVIOURS O22): what counts is an interpreter at the place
 * where it belongs that starts and says it is in this environment. When it is not so the error holds
 * what was measured and no guess at the cause. */

/* Given: what the top of a directory and its program directories hold. */
static char *
listing(const char *tree)
{
	static const char *const places[] = { "", "bin", "Scripts" };
	pkg_cleanup(pkg_argv_free) struct pkg_argv *names = pkg_argv_new();
	pkg_autofree char *joined = NULL;

	for (size_t i = 0; i < PKG_ARRAY_LEN(places); i++) {
		pkg_autofree char *directory = pkg_path_join(tree, places[i]);
		DIR *dir = opendir(directory);
		const struct dirent *entry;

		while (dir && names->count < LISTING_MAX && (entry = readdir(dir)))
			if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
				pkg_argv_take(names, pkg_path_join(places[i], entry->d_name));
		if (dir)
			closedir(dir);
	}
	pkg_argv_sort(names);
	joined = pkg_argv_join(names, ", ");
	return names->count ? pkg_text_clean(joined, strlen(joined), TAIL_MAX, false)
			    : pkg_xstrdup("nothing");
}

/* In either layout, for the error to say where it is instead. Given, relative; NULL: nowhere. */
static char *
locate(const char *tree)
{
	static const char *const directories[] = { "bin", "Scripts" };
	static const char *const names[] = { "python", "python3", "python.exe", "python3.exe" };

	for (size_t i = 0; i < PKG_ARRAY_LEN(directories); i++) {
		for (size_t j = 0; j < PKG_ARRAY_LEN(names); j++) {
			char *relative = pkg_path_join(directories[i], names[j]);
			pkg_autofree char *path = pkg_path_join(tree, relative);
			struct stat st;

			/* A link leads to the base interpreter, which need not be here. */
			if (lstat(path, &st) == 0)
				return relative;
			free(relative);
		}
	}
	return NULL;
}

static int
prove_prefix(struct lang_context *lang, const struct lang_env *env, struct pkg_error *err)
{
	lang_cleanup_mounts struct lang_mounts mounts = { 0 };
	pkg_cleanup(pkg_argv_free) struct pkg_argv *command = pkg_argv_new();
	pkg_cleanup_run struct pkg_run run = PKG_RUN_INIT;
	pkg_autofree char *prefix = NULL;
	const char *text;
	size_t len;

	if (lang_python_mounts(env->facts, lang->home->user_home, &mounts, err) < 0)
		return -1;
	pkg_argv_take(command, pkg_path_join(env->prefix, lang_python_interpreter(env->facts)));
	pkg_argv_add(command, "-I", "-B", "-c", "import sys; print('\\n' + sys.prefix, end='')");
	if (lang_python_run(lang, SANDBOX_VERIFY, env, &mounts, command, NULL, &run, err) < 0)
		return pkg_error_prefix(err, "start '%s'", command->items[0]);
	if (run.wait_status != 0) {
		pkg_autofree char *end = lang_python_run_end(&run);

		return pkg_error_set(err, PKG_E_VERIFY,
			"the new environment's '%s' did not run: %s", command->items[0], end);
	}
	text = strrchr(pkg_buf_str(&run.out), '\n');
	text = text ? text + 1 : "";
	len = strlen(text);
	if (strcmp(text, env->prefix) == 0)
		return 0;
	prefix = pkg_text_clean(text, len, TAIL_MAX, false);
	return pkg_error_set(err, PKG_E_VERIFY,
		"the new environment's '%s' says its prefix is '%s', not '%s'", command->items[0],
		prefix, env->prefix);
}

static int
prove(struct lang_context *lang, const struct lang_env *env, struct pkg_error *err)
{
	const char *expected = lang_python_interpreter(env->facts);
	pkg_autofree char *path = pkg_path_join(env->tree, expected);
	pkg_autofree char *found = NULL;
	struct stat st;

	if (lstat(path, &st) == 0)
		return prove_prefix(lang, env, err);
	found = locate(env->tree);
	if (found)
		return pkg_error_set(err, PKG_E_VERIFY,
			"the new environment has no '%s', but a '%s'", expected, found);
	return pkg_error_set(err, PKG_E_VERIFY, "the new environment has no '%s'", expected);
}

/* The listing has to be taken before the tree goes. */
static int
fail(const struct lang_env *env, const char *made_by, struct pkg_error *err)
{
	pkg_autofree char *names = listing(env->tree);

	if (err && err->kind == PKG_E_VERIFY)
		pkg_error_set(err, PKG_E_VERIFY, "%s; made by %s; it holds: %s", err->message,
			made_by, names);
	(void)pkg_tree_remove(env->tree, NULL);
	return -1;
}

/* What is there already may be somebody's packages: it is neither filled nor, after a failure, removed. */
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

int
lang_python_create(struct lang_context *lang, const struct lang_env *env, struct pkg_error *err)
{
	pkg_cleanup_error struct pkg_error failure = { 0 };
	pkg_autofree char *made_by = NULL;
	int rc = 0;

	if (!lang_python_facts_complete(env->facts))
		return pkg_error_set(err, PKG_E_INVALID,
			"the interpreter '%s' did not tell enough to make an environment of it",
			lang_python_executable(env->facts));
	if (need_empty(env->tree, err) < 0)
		return -1;
	if (lang_python_template_make(lang, env, &made_by, &failure) < 0 ||
		prove(lang, env, &failure) < 0)
		rc = fail(env, made_by ? made_by : "nothing", &failure);
	if (rc < 0 && err)
		pkg_error_move(err, &failure);
	return rc;
}
