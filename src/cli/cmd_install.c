/* install, remove, upgrade, rollback, plan: a change of an environment. */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/follow.h"
#include "cli/request.h"
#include "cli/result.h"
#include "cli/term.h"
#include "install/card.h"

static int
need_requirements(struct json_object *request, struct pkg_error *err)
{
	if (json_object_array_length(pkg_json_array(request, "requirements")) > 0)
		return 0;
	pkg_error_set(err, PKG_E_INVALID, "%s", _("no package was named"));
	return pkg_error_cure(err, "%s", _("name one, or a file of them with -r"));
}

int
cli_cmd_install(struct cli *cli, struct pkg_error *err)
{
	pkg_cleanup(pkg_json_put) struct json_object *request =
		cli_request_new(cli, "install", NULL);

	cli_request_add_sources(cli, request);
	cli_request_add_creation(cli, request);
	if (cli_request_add_requirements(cli, request, err) < 0 ||
		need_requirements(request, err) < 0)
		return -1;
	return cli_follow_request_asking(cli, request, err);
}

int
cli_cmd_remove(struct cli *cli, struct pkg_error *err)
{
	pkg_cleanup(pkg_json_put) struct json_object *request =
		cli_request_new(cli, "remove", NULL);

	if (cli_request_add_requirements(cli, request, err) < 0)
		return -1;
	return cli_follow_request_asking(cli, request, err);
}

int
cli_cmd_upgrade(struct cli *cli, struct pkg_error *err)
{
	pkg_cleanup(pkg_json_put) struct json_object *request =
		cli_request_new(cli, "upgrade", NULL);

	cli_request_add_sources(cli, request);
	if (cli_request_add_requirements(cli, request, err) < 0)
		return -1;
	return cli_follow_request_asking(cli, request, err);
}

static int
add_generation(struct cli *cli, struct json_object *request, struct pkg_error *err)
{
	int64_t generation;

	if (cli->words->count == 0)
		return 0;
	if (cli->words->count > 1)
		return pkg_error_set(err, PKG_E_INVALID, "%s", _("one generation is enough"));
	if (cli_parse_id(cli->words->items[0], _("generation"), &generation, err) < 0)
		return -1;
	pkg_json_set_int(request, "generation", generation);
	return 0;
}

int
cli_cmd_rollback(struct cli *cli, struct pkg_error *err)
{
	pkg_cleanup(pkg_json_put) struct json_object *request =
		cli_request_new(cli, "rollback", NULL);

	if (add_generation(cli, request, err) < 0)
		return -1;
	return cli_follow_request_asking(cli, request, err);
}

/* --- plan --- */

static struct json_object *
plan_request(struct cli *cli, struct pkg_error *err)
{
	const char *action = cli_option_text(&cli->options, CLI_O_ACTION);
	pkg_cleanup(pkg_json_put) struct json_object *request = NULL;
	bool rollback;

	if (action == NULL)
		action = "install";
	rollback = strcmp(action, "rollback") == 0;
	if (!rollback && strcmp(action, "install") != 0 && strcmp(action, "remove") != 0 &&
		strcmp(action, "upgrade") != 0) {
		pkg_error_set(err, PKG_E_INVALID, _("--action '%.40s' is not known: it is %s"),
			action, cli_option_rows[CLI_O_ACTION].argument);
		return NULL;
	}
	request = cli_request_new(cli, action, NULL);
	pkg_json_set_bool(request, "dry_run", true);
	cli_request_add_sources(cli, request);
	cli_request_add_creation(cli, request);
	if (rollback ? add_generation(cli, request, err) < 0
		     : cli_request_add_requirements(cli, request, err) < 0)
		return NULL;
	if (strcmp(action, "install") == 0 && need_requirements(request, err) < 0)
		return NULL;
	return pkg_steal_ptr(&request);
}

/* {"hash", "changes", "download_bytes", "restart", and the rest of the plan}. */
static void
print_plan_json(struct json_object *plan, const char *hash)
{
	pkg_cleanup(pkg_json_put) struct json_object *out = json_object_new_object();

	pkg_json_set_str(out, "hash", hash);
	json_object_object_foreach(plan, key, value)
	{
		pkg_json_set(out, key, json_object_get(value));
	}
	cli_print_object(out);
}

static int
print_plan(struct cli *cli, int64_t id, struct pkg_error *err)
{
	pkg_autofree char *path = pkg_xasprintf("/v1/jobs/%" PRId64, id);
	pkg_cleanup(pkg_json_put) struct json_object *job = cli_client_get(cli->client, path, err);
	struct json_object *plan = pkg_json_get(job, "plan");
	const char *hash = pkg_json_str_or(job, "plan_hash", "");
	struct cli_term term;
	pkg_autofree char *text = NULL;

	if (job == NULL)
		return -1;
	if (!json_object_is_type(plan, json_type_object))
		return pkg_error_set(
			err, PKG_E_INTERNAL, _("job %" PRId64 " ended without a plan"), id);
	if (cli_json(cli)) {
		print_plan_json(plan, hash);
		return 0;
	}
	cli_term_look(STDOUT_FILENO, &term);
	text = install_card_text(plan, NULL, term.colour);
	printf(_("%splan %s\n"), text, hash);
	return 0;
}

int
cli_cmd_plan(struct cli *cli, struct pkg_error *err)
{
	static const struct cli_follow how = { .silent = true };
	pkg_cleanup(pkg_json_put) struct json_object *request = plan_request(cli, err);
	pkg_cleanup(pkg_json_put) struct json_object *result = NULL;
	int64_t job;

	if (request == NULL)
		return -1;
	job = cli_client_submit(cli->client, request, err);
	if (job < 0 || cli_follow(cli, job, &how, &result, err) < 0 ||
		cli_result_error(result, err) < 0)
		return -1;
	if (cli_result_exit(result) != 0)
		return cli_follow_end(cli, result, err);
	return print_plan(cli, job, err);
}
