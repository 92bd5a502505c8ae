/* cards: plans that wait for an answer. */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/table.h"
#include "cli/term.h"
#include "install/card.h"

static void
add_card(struct cli_table *table, struct json_object *card)
{
	pkg_autofree char *id = pkg_xasprintf("%" PRId64, pkg_json_int(card, "id", 0));
	pkg_autofree char *job = pkg_xasprintf("%" PRId64, pkg_json_int(card, "job", 0));
	pkg_autofree char *when = cli_text_time(pkg_json_str(card, "created"));
	pkg_autofree char *title = install_card_title(pkg_json_get(card, "plan"));
	struct json_object *requester = pkg_json_get(card, "requester");
	const char *label = pkg_json_str(requester, "label");
	const char *program = pkg_json_str(requester, "program");

	cli_table_add(table, id, pkg_json_str(card, "state"), job, when,
		label != NULL && *label != '\0' ? label : program, title);
}

int
cli_cmd_cards_list(struct cli *cli, struct pkg_error *err)
{
	static const char *const headings[] = { N_(">CARD"), N_("STATE"), N_(">JOB"), N_("CREATED"),
		N_("ASKED BY"), N_("PLAN"), NULL };
	pkg_cleanup(cli_table_free) struct cli_table *table = cli_table_new(headings);
	bool all = cli_option_given(&cli->options, CLI_O_ALL);
	pkg_cleanup(pkg_json_put) struct json_object *result =
		cli_client_get(cli->client, all ? "/v1/cards" : "/v1/cards?state=pending", err);
	struct json_object *rows = pkg_json_array(result, "cards");

	if (result == NULL)
		return -1;
	if (cli_json(cli)) {
		cli_print_object(result);
		return 0;
	}
	for (size_t i = 0; rows != NULL && i < json_object_array_length(rows); i++)
		add_card(table, json_object_array_get_idx(rows, i));
	cli_table_print(table, stdout, !cli_quiet(cli));
	return 0;
}

/* The card that the command's word names. */
static struct json_object *
get_card(struct cli *cli, struct pkg_error *err)
{
	pkg_autofree char *path = NULL;
	int64_t id;

	if (cli_parse_id(cli->words->items[0], _("card"), &id, err) < 0)
		return NULL;
	path = pkg_xasprintf("/v1/cards/%" PRId64, id);
	return cli_client_get(cli->client, path, err);
}

static void
print_card(struct json_object *card, FILE *out)
{
	struct json_object *by = pkg_json_get(card, "answered_by");
	pkg_autofree char *state = cli_text(pkg_json_str(card, "state"));
	pkg_autofree char *hash = cli_text(pkg_json_str(card, "plan_hash"));
	pkg_autofree char *expires = cli_text_time(pkg_json_str(card, "expires"));
	pkg_autofree char *message = cli_text(pkg_json_str(card, "message"));
	pkg_autofree char *via = cli_text(pkg_json_str(by, "via"));
	pkg_autofree char *text = NULL;
	struct cli_term term;

	cli_term_look(fileno(out), &term);
	text = install_card_text(
		pkg_json_get(card, "plan"), pkg_json_get(card, "requester"), term.colour);
	fprintf(out, _("card %" PRId64 " of job %" PRId64 ", %s\n%splan %s\n"),
		pkg_json_int(card, "id", 0), pkg_json_int(card, "job", 0), state, text, hash);
	if (by != NULL)
		fprintf(out, _("answered by uid %" PRId64 " (%s)\n"), pkg_json_int(by, "uid", -1),
			via);
	else if (strcmp(state, "pending") == 0)
		fprintf(out, _("open until %s\n"), expires);
	if (*message != '\0')
		fprintf(out, _("message: %s\n"), message);
}

int
cli_cmd_cards_show(struct cli *cli, struct pkg_error *err)
{
	pkg_cleanup(pkg_json_put) struct json_object *card = get_card(cli, err);

	if (card == NULL)
		return -1;
	if (cli_json(cli))
		cli_print_object(card);
	else
		print_card(card, stdout);
	return 0;
}

/* The answer is about the plan that was just shown: another hash by then is refused by the daemon. */
static int
answer(struct cli *cli, const char *word, struct pkg_error *err)
{
	pkg_cleanup(pkg_json_put) struct json_object *card = get_card(cli, err);
	pkg_cleanup(pkg_json_put) struct json_object *body = json_object_new_object();
	pkg_cleanup(pkg_json_put) struct json_object *after = NULL;
	const char *message = cli_option_text(&cli->options, CLI_O_MESSAGE);
	pkg_autofree char *path = NULL;

	if (card == NULL)
		return -1;
	path = pkg_xasprintf("/v1/cards/%" PRId64, pkg_json_int(card, "id", 0));
	pkg_json_set_str(body, "answer", word);
	pkg_json_set_str(body, "plan_hash", pkg_json_str(card, "plan_hash"));
	if (message != NULL)
		pkg_json_set_str(body, "message", message);
	after = cli_client_control(cli->client, path, body, err);
	if (after == NULL)
		return -1;
	if (cli_json(cli))
		cli_print_object(after);
	else if (cli_quiet(cli))
		return 0;
	else
		print_card(after, stdout);
	return 0;
}

int
cli_cmd_cards_approve(struct cli *cli, struct pkg_error *err)
{
	return answer(cli, "approve", err);
}

int
cli_cmd_cards_deny(struct cli *cli, struct pkg_error *err)
{
	return answer(cli, "deny", err);
}
