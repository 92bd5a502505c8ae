/* env: environments themselves. */
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "cli/cli.h"
#include "cli/follow.h"
#include "cli/request.h"
#include "cli/table.h"
#include "cli/term.h"

static void
add_environment(struct cli_table *table, struct json_object *env)
{
	const char *health = pkg_json_str(env, "health");
	pkg_autofree char *tree = pkg_xasprintf("%" PRId64 ".%" PRId64,
		pkg_json_int(env, "generation", 0), pkg_json_int(env, "revision", 0));
	pkg_autofree char *packages = pkg_xasprintf("%" PRId64, pkg_json_int(env, "packages", 0));
	pkg_autofree char *busy = pkg_json_int(env, "busy", 0) != 0
		? pkg_xasprintf(_("busy: job %" PRId64), pkg_json_int(env, "busy", 0))
		: NULL;
	const char *kind = pkg_json_str(pkg_json_get(env, "health"), "kind");

	cli_table_add(table, pkg_json_str(env, "project"), pkg_json_str(env, "language"),
		pkg_json_str(env, "name"), tree, packages,
		busy != NULL		 ? busy
			: health != NULL ? health
			: kind != NULL	 ? kind
					 : "?",
		pkg_json_str(env, "interpreter"));
}

/* "?project=…&language=…" of -p and -l. */
static char *
list_path(struct cli *cli)
{
	const char *project = cli_option_text(&cli->options, CLI_O_PROJECT);
	const char *language = cli_option_text(&cli->options, CLI_O_LANGUAGE);
	struct pkg_buf path = { 0 };

	pkg_buf_add(&path, "/v1/environments");
	if (project != NULL) {
		pkg_autofree char *value = cli_client_segment(project);

		pkg_buf_addf(&path, "?project=%s", value);
	}
	if (language != NULL) {
		pkg_autofree char *value = cli_client_segment(language);

		pkg_buf_addf(&path, "%slanguage=%s", project != NULL ? "&" : "?", value);
	}
	return pkg_buf_steal(&path);
}

int
cli_cmd_env_list(struct cli *cli, struct pkg_error *err)
{
	static const char *const headings[] = { N_("PROJECT"), N_("LANGUAGE"), N_("NAME"),
		N_("STATE"), N_(">PACKAGES"), N_("HEALTH"), N_("INTERPRETER"), NULL };
	pkg_cleanup(cli_table_free) struct cli_table *table = cli_table_new(headings);
	pkg_autofree char *path = list_path(cli);
	pkg_cleanup(pkg_json_put) struct json_object *result =
		cli_client_get(cli->client, path, err);
	struct json_object *rows = pkg_json_array(result, "environments");

	if (result == NULL)
		return -1;
	if (cli_json(cli)) {
		cli_print_object(result);
		return 0;
	}
	for (size_t i = 0; rows != NULL && i < json_object_array_length(rows); i++)
		add_environment(table, json_object_array_get_idx(rows, i));
	cli_table_print(table, stdout, !cli_quiet(cli));
	return 0;
}

/* --- show --- */

static void
print_health(struct json_object *env)
{
	struct json_object *health = pkg_json_get(env, "health");
	pkg_autofree char *message = cli_text(pkg_json_str(health, "message"));
	pkg_autofree char *cure = cli_text(pkg_json_str(health, "cure"));

	if (json_object_is_type(health, json_type_string)) {
		pkg_autofree char *word = cli_text(json_object_get_string(health));

		printf(_("health       %s\n"), word);
		return;
	}
	printf(_("health       BROKEN: %s\n"), message);
	if (*cure != '\0')
		printf(_("cure         %s\n"), cure);
}

static void
print_requested(struct json_object *env)
{
	struct json_object *list = pkg_json_array(env, "requested");
	size_t count = list != NULL ? json_object_array_length(list) : 0;

	fputs(_("asked for   "), stdout);
	for (size_t i = 0; i < count; i++) {
		pkg_autofree char *one =
			cli_text(json_object_get_string(json_object_array_get_idx(list, i)));

		printf("%s %s", i > 0 ? "," : "", one);
	}
	puts(count == 0 ? _(" nothing") : "");
}

static void
print_generations(struct json_object *env)
{
	static const char *const headings[] = { N_(">GENERATION"), N_("CREATED"), N_(">JOB"), "",
		NULL };
	pkg_cleanup(cli_table_free) struct cli_table *table = cli_table_new(headings);
	struct json_object *rows = pkg_json_array(env, "generations");

	for (size_t i = 0; rows != NULL && i < json_object_array_length(rows); i++) {
		struct json_object *row = json_object_array_get_idx(rows, i);
		pkg_autofree char *number = pkg_xasprintf("%" PRId64 ".%" PRId64,
			pkg_json_int(row, "number", 0), pkg_json_int(row, "revision", 0));
		pkg_autofree char *when = cli_text_time(pkg_json_str(row, "created"));
		pkg_autofree char *job = pkg_xasprintf("%" PRId64, pkg_json_int(row, "job", 0));

		cli_table_add(table, number, when, job,
			pkg_json_bool(row, "current", false)	       ? _("current")
				: pkg_json_bool(row, "retired", false) ? _("gone")
								       : "");
	}
	putchar('\n');
	cli_table_print(table, stdout, true);
}

static void
print_kernels(struct json_object *env)
{
	static const char *const headings[] = { N_(">KERNEL"), N_(">PID"), N_(">GENERATION"),
		N_("LABEL"), "", NULL };
	pkg_cleanup(cli_table_free) struct cli_table *table = cli_table_new(headings);
	struct json_object *rows = pkg_json_array(env, "kernels");
	size_t count = rows != NULL ? json_object_array_length(rows) : 0;

	for (size_t i = 0; i < count; i++) {
		struct json_object *row = json_object_array_get_idx(rows, i);
		pkg_autofree char *id = pkg_xasprintf("%" PRId64, pkg_json_int(row, "id", 0));
		pkg_autofree char *pid = pkg_xasprintf("%" PRId64, pkg_json_int(row, "pid", 0));
		pkg_autofree char *generation =
			pkg_xasprintf("%" PRId64, pkg_json_int(row, "generation", 0));

		cli_table_add(table, id, pid, generation, pkg_json_str(row, "label"),
			pkg_json_bool(row, "restart_due", false) ? _("restart due") : "");
	}
	if (count > 0)
		putchar('\n');
	cli_table_print(table, stdout, true);
}

static void
print_environment(struct json_object *env)
{
	pkg_autofree char *project = cli_text(pkg_json_str(env, "project"));
	pkg_autofree char *name = cli_text(pkg_json_str(env, "name"));
	pkg_autofree char *language = cli_text(pkg_json_str(env, "language"));
	pkg_autofree char *interpreter = cli_text(pkg_json_str(env, "interpreter"));
	pkg_autofree char *prefix = cli_text(pkg_json_str(env, "prefix"));

	printf(_("environment  %s/%s (%s%s)\n"), project, name, language,
		pkg_json_bool(env, "hermetic", false) ? _(", hermetic") : "");
	printf(_("interpreter  %s\n"), interpreter);
	printf(_("prefix       %s\n"), prefix);
	printf(_("state        generation %" PRId64 ", revision %" PRId64 ", %" PRId64
		 " packages of its own\n"),
		pkg_json_int(env, "generation", 0), pkg_json_int(env, "revision", 0),
		pkg_json_int(env, "packages", 0));
	print_health(env);
	if (pkg_json_int(env, "busy", 0) != 0)
		printf(_("busy         job %" PRId64 "\n"), pkg_json_int(env, "busy", 0));
	print_requested(env);
	print_generations(env);
	print_kernels(env);
}

int
cli_cmd_env_show(struct cli *cli, struct pkg_error *err)
{
	const char *name = NULL;
	pkg_autofree char *path = NULL;
	pkg_cleanup(pkg_json_put) struct json_object *env = NULL;

	if (cli_environment_word(cli, &name, err) < 0)
		return -1;
	path = cli_environment_path(cli, name, "");
	env = cli_client_get(cli->client, path, err);
	if (env == NULL)
		return -1;
	if (cli_json(cli))
		cli_print_object(env);
	else
		print_environment(env);
	return 0;
}

/* --- changes --- */

int
cli_cmd_env_create(struct cli *cli, struct pkg_error *err)
{
	static const struct cli_follow how = { 0 };
	const char *name = NULL;
	pkg_cleanup(pkg_json_put) struct json_object *request = NULL;

	if (cli_environment_word(cli, &name, err) < 0)
		return -1;
	request = cli_request_new(cli, "create", name);
	cli_request_add_creation(cli, request);
	return cli_follow_request(cli, request, &how, err);
}

int
cli_cmd_env_remove(struct cli *cli, struct pkg_error *err)
{
	const char *name = NULL;
	pkg_cleanup(pkg_json_put) struct json_object *request = NULL;

	if (cli_environment_word(cli, &name, err) < 0)
		return -1;
	request = cli_request_new(cli, "delete", name);
	return cli_follow_request_asking(cli, request, err);
}

int
cli_cmd_env_repair(struct cli *cli, struct pkg_error *err)
{
	const char *name = NULL;
	pkg_cleanup(pkg_json_put) struct json_object *request = NULL;

	if (cli_environment_word(cli, &name, err) < 0)
		return -1;
	request = cli_request_new(cli, "repair", name);
	cli_request_add_creation(cli, request);
	return cli_follow_request_asking(cli, request, err);
}
