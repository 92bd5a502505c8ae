#include <stdlib.h>
#include <string.h>

#include "core/file.h"
#include "core/path.h"
#include "core/tree.h"
#include "core/url.h"
#include "lang/python.h"
#include "lang/python_explain.h"
#include "lang/python_files.h"
#include "lang/python_harvest.h"
#include "lang/python_index.h"
#include "lang/python_inputs.h"
#include "lang/python_pip.h"
#include "lang/python_report.h"
#include "lang/python_run.h"

/* Planning is pip's resolver in a sandbox, told everything by two files and asked for its report.
 *
 * Wheels only: no code of a package runs. pip is started without the site module, so not even .pth files
 * of what is installed, and no other program can be started; so the cache of pages and files that pip
 * keeps between plans is safe to share (BEHAVIOURS D4).
 * With source distributions allowed, their metadata can only be had by running them: then it is the build
 * sandbox with a cache of its own, and nothing secret may be within reach. */

#define CACHE_INSIDE "/http"
#define OWN_CACHE "http"
#define INPUT_MAX (4 * 1024 * 1024)
#define ROUNDS_MAX 16 /* of leaving out what is too new */
#define ASK_RETRIES 1

struct plan {
	struct lang_context *lang;
	const struct lang_env *env;
	const struct lang_request *request;
	struct lang_python_pip pip;
	char *work; /* owned */
	char *cache; /* owned; pip's, on the host */
	char *last_url; /* owned; of the file that a failed run took last; NULL */
	bool uncached; /* pip is not to keep what it downloads */
	struct pkg_argv *excluded; /* owned; constraints of our own */
};

static void
plan_clear(struct plan *plan)
{
	if (plan->work)
		(void)pkg_tree_remove(plan->work, NULL);
	lang_python_pip_clear(&plan->pip);
	free(plan->work);
	free(plan->cache);
	free(plan->last_url);
	pkg_argv_free(plan->excluded);
}
#define cleanup_plan __attribute__((cleanup(plan_clear)))

/* --- what pip gets --- */

static int
write_input(const struct plan *plan, const char *name, const struct pkg_buf *text,
	struct pkg_error *err)
{
	pkg_autofree char *path = pkg_path_join(plan->work, name);

	if (text->len > INPUT_MAX)
		return pkg_error_set(err, PKG_E_TOO_LARGE, "too many requirements");
	return pkg_file_write(path, pkg_buf_str(text), text->len, 0600, false, err);
}

static int
write_constraints(const struct plan *plan, struct pkg_error *err)
{
	pkg_cleanup_buf struct pkg_buf lines = { 0 };

	if (lang_python_constraint_lines(plan->request, plan->env->facts, &lines, err) < 0)
		return -1;
	for (size_t i = 0; i < plan->excluded->count; i++)
		pkg_buf_addf(&lines, "%s\n", plan->excluded->items[i]);
	return write_input(plan, "constraints.txt", &lines, err);
}

/* *count: requirements whose marker holds. */
static int
write_requirements(const struct plan *plan, size_t *count, struct pkg_error *err)
{
	pkg_cleanup_buf struct pkg_buf lines = { 0 };

	if (lang_python_index_lines(plan->request, &lines, err) < 0 ||
		lang_python_requirement_lines(plan->request, plan->env->facts, &lines, count, err) <
			0)
		return -1;
	return write_input(plan, "requirements.txt", &lines, err);
}

static void
add_options(const struct plan *plan, struct pkg_argv *command)
{
	const struct lang_request *request = plan->request;

	pkg_argv_add(command, "install", "--isolated", "--no-input", "--disable-pip-version-check",
		"--progress-bar", "off", "--no-color", "--dry-run", "--report",
		LANG_PYTHON_WORK "/report.json", "--retries", "3", "--timeout", "30");
	if (request->source)
		pkg_argv_add(
			command, "--cache-dir", LANG_PYTHON_WORK "/" OWN_CACHE, "--use-pep517");
	else if (plan->uncached)
		pkg_argv_add(command, "--no-cache-dir", "--only-binary", ":all:");
	else
		pkg_argv_add(command, "--cache-dir", CACHE_INSIDE, "--only-binary", ":all:");
	if (request->upgrade || request->upgrade_all)
		pkg_argv_add(command, "--upgrade", "--upgrade-strategy",
			request->upgrade_all ? "eager" : "only-if-needed");
	if (request->prerelease)
		pkg_argv_add(command, "--pre");
	pkg_argv_add(command, "-r", LANG_PYTHON_WORK "/requirements.txt", "-c",
		LANG_PYTHON_WORK "/constraints.txt");
}

/* --- why it did not work --- */

static void
ask_indexes(const struct plan *plan, const char *requirement, const struct pkg_argv *indexes,
	struct lang_python_answer *answers)
{
	pkg_autofree char *name = pkg_xstrndup(requirement, strcspn(requirement, " [<>=!~;(@"));

	for (size_t i = 0; i < indexes->count; i++)
		answers[i].page = lang_python_index_ask(
			plan->lang, indexes->items[i], name, ASK_RETRIES, &answers[i].error);
}

static int
explain(const struct plan *plan, const struct lang_python_run *run, struct pkg_error *err)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *indexes = lang_python_indexes(plan->request);
	pkg_autofree struct lang_python_answer *answers =
		pkg_xcalloc(indexes->count + 1, sizeof(*answers));
	pkg_autofree char *tool = pkg_xasprintf("pip %s", plan->pip.version);
	pkg_autofree char *missing = lang_python_explain_missing(pkg_buf_str(&run->log), NULL);
	struct lang_python_failure failure = {
		.tool = tool,
		.status = run->status,
		.log = pkg_buf_str(&run->log),
		.rows = &run->rows,
		.answers = answers,
		.answer_count = missing ? indexes->count : 0,
		.python = lang_python_version(plan->env->facts),
		.source = plan->request->source,
		.prerelease = plan->request->prerelease,
	};

	for (size_t i = 0; i < indexes->count; i++) {
		char *bare = pkg_url_redact(indexes->items[i]);

		answers[i].index = bare;
	}
	if (missing)
		ask_indexes(plan, missing, indexes, answers);
	lang_python_explain(&failure, err);
	for (size_t i = 0; i < indexes->count; i++) {
		free((char *)answers[i].index);
		json_object_put(answers[i].page);
		pkg_error_clear(&answers[i].error);
	}
	return -1;
}

/* --- running it --- */

static void
say(const struct plan *plan, const char *what)
{
	pkg_autofree char *text = pkg_xasprintf("%s with pip %s", what, plan->pip.version);

	if (plan->lang->status)
		plan->lang->status(plan->lang->context, text);
}

/* The report was written inside the sandbox. */
static int
read_report(const struct plan *plan, struct lang_resolution *out, struct pkg_error *err)
{
	pkg_autofd int dir = pkg_dir_open(plan->work, err);
	pkg_cleanup_buf struct pkg_buf text = { 0 };

	if (dir < 0)
		return -1;
	if (pkg_file_read_beneath(dir, "report.json", LANG_PYTHON_REPORT_MAX, &text, err) < 0)
		return pkg_error_prefix(err, "pip's report");
	return lang_python_report_parse(pkg_buf_str(&text), text.len, out, err);
}

static int
run_pip(struct plan *plan, struct lang_resolution *out, struct pkg_error *err)
{
	lang_cleanup_mounts struct lang_mounts mounts = { 0 };
	pkg_cleanup(pkg_argv_free) struct pkg_argv *command = pkg_argv_new();
	bool source = plan->request->source;
	lang_cleanup_python_run struct lang_python_run run = {
		.purpose = source ? SANDBOX_BUILD : SANDBOX_PLAN,
		.env = plan->env,
		.work = plan->work,
		.mounts = &mounts,
		.command = command,
	};

	if (lang_python_mounts(plan->env->facts, plan->lang->home->user_home, &mounts, err) < 0)
		return -1;
	if (!source)
		lang_mounts_add(&mounts, SANDBOX_MOUNT_RW, plan->cache, CACHE_INSIDE);
	lang_python_pip_command(&plan->pip, plan->env->facts, plan->env, source, &mounts, command);
	add_options(plan, command);
	if (lang_python_run_work(plan->lang, &run, err) < 0)
		return pkg_error_prefix(err, "resolve with pip %s", plan->pip.version);
	if (run.status != 0) {
		free(plan->last_url);
		plan->last_url = lang_python_explain_last_url(pkg_buf_str(&run.log), NULL);
		return explain(plan, &run, err);
	}
	if (read_report(plan, out, err) < 0)
		return -1;
	lang_python_report_yanked(out, pkg_buf_str(&run.log));
	return 0;
}

/* Two failures are of the cache and not of the index. Bytes that were damaged once on their way are kept
 * by pip, and wrong for ever. And to keep a file pip before 23.3 holds it in memory three times, which is
 * too much for the largest. */
static bool
may_do_better(struct plan *plan, const struct pkg_error *why)
{
	bool damaged = why->kind == PKG_E_HASH || why->kind == PKG_E_ARCHIVE;

	if (plan->request->source || plan->uncached)
		return false;
	if (damaged && plan->last_url) {
		lang_python_cache_forget(plan->cache, plan->last_url);
		say(plan, "the last file was not right: resolving again");
		return true;
	}
	if (why->kind != PKG_E_MEMORY)
		return false;
	plan->uncached = true;
	say(plan, "resolving again, without keeping large files,");
	return true;
}

static int
run_pip_somehow(struct plan *plan, struct lang_resolution *out, struct pkg_error *err)
{
	pkg_cleanup_error struct pkg_error why = { 0 };

	if (run_pip(plan, out, &why) == 0)
		return 0;
	if (may_do_better(plan, &why))
		return run_pip(plan, out, err);
	pkg_error_move(err, &why);
	return -1;
}

static int
resolve_once(struct plan *plan, struct lang_resolution *out, struct pkg_error *err)
{
	lang_resolution_clear(out);
	if (write_constraints(plan, err) < 0 || run_pip_somehow(plan, out, err) < 0 ||
		lang_python_report_asked(out, plan->request->requirements, err) < 0 ||
		lang_python_report_check_hashes(out, plan->request->hashes, err) < 0)
		return -1;
	(void)lang_python_harvest(plan->lang, plan->cache, out);
	return lang_python_files_describe(plan->lang, plan->request, plan->cache, out, err);
}

/* pip knows no date before which a file must have been uploaded, so what is too new is left out and the rest
 * asked again, until nothing is. */
static int
resolve(struct plan *plan, struct lang_resolution *out, struct pkg_error *err)
{
	const char *cutoff = plan->request->exclude_newer;

	for (int round = 0; round < ROUNDS_MAX; round++) {
		size_t before = plan->excluded->count;

		if (resolve_once(plan, out, err) < 0)
			return before > 0 ? pkg_error_prefix(err,
						    "without what was uploaded after %s", cutoff)
					  : -1;
		if (!cutoff)
			return 0;
		if (lang_python_files_newer(plan->lang, plan->request, plan->cache, out, cutoff,
			    plan->excluded, err) < 0)
			return -1;
		if (plan->excluded->count == before)
			return 0;
	}
	return pkg_error_set(err, PKG_E_RESOLUTION,
		"after %d attempts there is still a file newer than %s in the plan", ROUNDS_MAX,
		cutoff);
}

static int
prepare(struct plan *plan, struct pkg_error *err)
{
	const struct pkg_home *home = plan->lang->home;

	if (plan->request->source && lang_python_refuse_credentials(plan->request, err) < 0)
		return -1;
	if (lang_python_pip_get(plan->lang, plan->env->facts, &plan->pip, err) < 0)
		return -1;
	plan->work = lang_python_work_make(plan->lang, "plan", err);
	if (!plan->work)
		return -1;
	plan->cache = plan->request->source ? pkg_path_join(plan->work, OWN_CACHE)
					    : pkg_path_join(home->cache, "http");
	return pkg_dir_make(plan->cache, 0700, err);
}

int
lang_python_plan(struct lang_context *lang, const struct lang_env *env,
	const struct lang_request *request, struct lang_resolution *out, struct pkg_error *err)
{
	cleanup_plan struct plan plan = {
		.lang = lang, .env = env, .request = request, .excluded = pkg_argv_new()
	};
	size_t count = 0;

	if (prepare(&plan, err) < 0 || write_requirements(&plan, &count, err) < 0)
		return -1;
	if (count == 0) {
		out->engine = pkg_xasprintf("pip %s", plan.pip.version);
		return 0;
	}
	say(&plan, request->source ? "resolving (source distributions allowed)" : "resolving");
	if (resolve(&plan, out, err) < 0) {
		lang_resolution_clear(out);
		return -1;
	}
	if (!request->source)
		lang_python_cache_trim(lang->home, plan.cache);
	return 0;
}
