#include "cli/request.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/file.h"
#include "core/path.h"
#include "lang/r_lock.h"
#include "lang/requirements_file.h"

static void
set_text(struct cli *cli, struct json_object *request, const char *key, enum cli_option option)
{
	const char *text = cli_option_text(&cli->options, option);

	if (text != NULL)
		pkg_json_set_str(request, key, text);
}

static void
set_flag(struct cli *cli, struct json_object *request, const char *key, enum cli_option option)
{
	if (cli_option_given(&cli->options, option))
		pkg_json_set_bool(request, key, true);
}

static void
set_list(struct cli *cli, struct json_object *request, const char *key, enum cli_option option)
{
	const struct pkg_argv *list = cli_option_list(&cli->options, option);

	if (list != NULL)
		pkg_json_set(request, key, pkg_json_from_argv(list));
}

struct json_object *
cli_request_new(struct cli *cli, const char *action, const char *name)
{
	struct json_object *request = json_object_new_object();

	pkg_json_set_str(request, "action", action);
	set_text(cli, request, "environment", CLI_O_ENVIRONMENT);
	if (name != NULL)
		pkg_json_set_str(request, "environment", name);
	set_text(cli, request, "language", CLI_O_LANGUAGE);
	set_text(cli, request, "project", CLI_O_PROJECT);
	set_text(cli, request, "label", CLI_O_LABEL);
	set_text(cli, request, "reason", CLI_O_REASON);
	return request;
}

/* --- requirements files --- */

struct lists {
	struct pkg_argv *requirements;
	struct pkg_argv *constraints;
	struct pkg_argv *hashes;
	struct pkg_argv *repos; /* that a lock file names */
};

static int
read_text(const char *path, struct pkg_buf *out, struct pkg_error *err)
{
	return pkg_file_read(path, LANG_REQUIREMENTS_BYTES_MAX + 1, out, err);
}

/* A nested file stands beside the one that names it, as pip has it. The person who runs us may read it, or not. */
static int
read_nested(void *context, const char *from, const char *name, struct pkg_buf *content, char **path,
	struct pkg_error *err)
{
	pkg_autofree char *dir = pkg_path_dir(from);

	(void)context;
	*path = name[0] == '/' || strcmp(dir, ".") == 0 ? pkg_xstrdup(name)
							: pkg_path_join(dir, name);
	if (read_text(*path, content, err) == 0)
		return 0;
	free(*path);
	*path = NULL;
	return -1;
}

static int
add_hashes(const struct lang_requirements_item *item, struct pkg_argv *out, struct pkg_error *err)
{
	const struct lang_requirement *requirement = &item->requirement;
	pkg_autofree char *versions = NULL;
	struct pkg_buf line = { 0 };

	if (item->hashes->count == 0)
		return 0;
	versions = lang_pep440_set_text(&requirement->versions);
	if (requirement->kind == LANG_REQUIREMENT_INDEX &&
		(strncmp(versions, "==", 2) != 0 || strpbrk(versions, ",*") != NULL))
		return pkg_error_set(err, PKG_E_REQUIREMENT,
			_("%s: a hash belongs to one version: '%s==VERSION' is wanted"),
			item->origin, requirement->name);
	pkg_buf_addf(&line, "%s%s", requirement->normalized, versions);
	for (size_t i = 0; i < item->hashes->count; i++)
		pkg_buf_addf(&line, " sha256:%s", item->hashes->items[i]);
	pkg_argv_take(out, pkg_buf_steal(&line));
	return 0;
}

static int
add_items(const struct lang_requirements *list, struct lists *out, struct pkg_error *err)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct lang_requirements_item *item = &list->items[i];

		pkg_argv_take(item->constraint ? out->constraints : out->requirements,
			lang_requirement_text(&item->requirement));
		if (add_hashes(item, out->hashes, err) < 0)
			return -1;
	}
	return 0;
}

static int
add_file(const char *path, bool constraint, struct lists *out, struct pkg_error *err)
{
	pkg_cleanup_buf struct pkg_buf text = { 0 };
	lang_cleanup_requirements struct lang_requirements list = { 0 };

	if (read_text(path, &text, err) < 0 ||
		lang_requirements_parse(path, pkg_buf_str(&text), text.len, constraint, read_nested,
			NULL, &list, err) < 0)
		return -1;
	return add_items(&list, out, err);
}

/* A renv.lock, or what `pkg freeze` prints. Its repositories count where none are named by options. */
static int
add_r_file(const char *path, bool constraint, struct lists *out, struct pkg_error *err)
{
	pkg_cleanup_buf struct pkg_buf text = { 0 };

	if (pkg_file_read(path, LANG_R_LOCK_MAX + 1, &text, err) < 0)
		return -1;
	if (lang_r_lock_parse(pkg_buf_str(&text), text.len,
		    constraint ? out->constraints : out->requirements, out->repos, err) < 0)
		return pkg_error_prefix(err, "%s", path);
	return 0;
}

static int
add_files(struct cli *cli, enum cli_option option, struct lists *out, struct pkg_error *err)
{
	const struct pkg_argv *files = cli_option_list(&cli->options, option);
	const char *language = cli_option_text(&cli->options, CLI_O_LANGUAGE);
	bool constraint = option == CLI_O_CONSTRAINT;
	bool is_r = language != NULL && strcmp(language, "r") == 0;

	for (size_t i = 0; files != NULL && i < files->count; i++) {
		int rc = is_r ? add_r_file(files->items[i], constraint, out, err)
			      : add_file(files->items[i], constraint, out, err);

		if (rc < 0)
			return -1;
	}
	return 0;
}

/* After "--" getopt lets anything through; no resolver shall ever see it as an option. */
static int
add_words(struct cli *cli, struct lists *out, struct pkg_error *err)
{
	for (size_t i = 0; i < cli->words->count; i++) {
		const char *word = cli->words->items[i];

		if (word[0] == '-')
			return pkg_error_set(err, PKG_E_REQUIREMENT,
				_("'%.80s' begins with '-': that is no requirement"), word);
		pkg_argv_add(out->requirements, word);
	}
	return 0;
}

static void
set_lists(struct json_object *request, const struct lists *lists)
{
	pkg_json_set(request, "requirements", pkg_json_from_argv(lists->requirements));
	if (lists->constraints->count > 0)
		pkg_json_set(request, "constraints", pkg_json_from_argv(lists->constraints));
	if (lists->hashes->count > 0)
		pkg_json_set(request, "hashes", pkg_json_from_argv(lists->hashes));
	if (lists->repos->count > 0 && pkg_json_get(request, "repos") == NULL)
		pkg_json_set(request, "repos", pkg_json_from_argv(lists->repos));
}

int
cli_request_add_requirements(struct cli *cli, struct json_object *request, struct pkg_error *err)
{
	struct lists lists = { pkg_argv_new(), pkg_argv_new(), pkg_argv_new(), pkg_argv_new() };
	int rc = add_words(cli, &lists, err);

	if (rc == 0)
		rc = add_files(cli, CLI_O_REQUIREMENT, &lists, err);
	if (rc == 0)
		rc = add_files(cli, CLI_O_CONSTRAINT, &lists, err);
	if (rc == 0)
		set_lists(request, &lists);
	pkg_argv_free(lists.requirements);
	pkg_argv_free(lists.constraints);
	pkg_argv_free(lists.hashes);
	pkg_argv_free(lists.repos);
	return rc;
}

void
cli_request_add_sources(struct cli *cli, struct json_object *request)
{
	set_text(cli, request, "index_url", CLI_O_INDEX_URL);
	set_list(cli, request, "extra_index_urls", CLI_O_EXTRA_INDEX_URL);
	set_list(cli, request, "repos", CLI_O_REPO);
	set_flag(cli, request, "source", CLI_O_SOURCE);
	set_flag(cli, request, "prerelease", CLI_O_PRE);
	set_flag(cli, request, "suggests", CLI_O_SUGGESTS);
	set_flag(cli, request, "upgrade", CLI_O_UPGRADE);
	set_flag(cli, request, "upgrade_all", CLI_O_DEPENDENCIES);
	set_text(cli, request, "exclude_newer", CLI_O_EXCLUDE_NEWER);
}

/* A path is one as seen from here, not from where the daemon stands; "3.11" is a version. */
static char *
absolute_interpreter(const char *text)
{
	char here[PATH_MAX];
	pkg_autofree char *joined = NULL;

	if (text[0] == '/' || strchr(text, '/') == NULL || getcwd(here, sizeof(here)) == NULL)
		return pkg_xstrdup(text);
	joined = pkg_path_join(here, text);
	return pkg_path_normalize(joined);
}

void
cli_request_add_creation(struct cli *cli, struct json_object *request)
{
	const char *python = cli_option_text(&cli->options, CLI_O_PYTHON);

	if (python != NULL) {
		pkg_autofree char *path = absolute_interpreter(python);

		pkg_json_set_str(request, "python", path);
	}
	set_flag(cli, request, "hermetic", CLI_O_HERMETIC);
}
