/* jobs: what was asked of the daemon. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/follow.h"
#include "cli/result.h"
#include "cli/table.h"
#include "cli/term.h"
#include "core/text.h"
#include "install/card.h"

#define LIST_DEFAULT 20
#define LABEL_COLUMNS 10
#define PAGE 200 /* the daemon's largest */

/* What the job is about, in few words. */
static char *
job_title(struct json_object *job)
{
	struct json_object *plan = pkg_json_get(job, "plan");
	struct json_object *list = pkg_json_array(pkg_json_get(job, "request"), "requirements");
	size_t count = list != NULL ? json_object_array_length(list) : 0;
	struct pkg_buf out = { 0 };

	if (json_object_is_type(plan, json_type_object))
		return install_card_title(plan);
	pkg_buf_add(&out, pkg_json_str_or(job, "action", "?"));
	for (size_t i = 0; i < count; i++)
		pkg_buf_addf(
			&out, " %s", json_object_get_string(json_object_array_get_idx(list, i)));
	pkg_buf_addf(&out, " (%s/%s)", pkg_json_str_or(job, "project", "?"),
		pkg_json_str_or(job, "environment", "?"));
	return pkg_buf_steal(&out);
}

static void
add_job(struct cli_table *table, struct json_object *job)
{
	pkg_autofree char *id = pkg_xasprintf("%" PRId64, pkg_json_int(job, "id", 0));
	pkg_autofree char *when = cli_text_time(pkg_json_str(job, "created"));
	pkg_autofree char *title = job_title(job);
	int64_t behind = pkg_json_int(job, "behind", 0);
	int64_t card = pkg_json_int(job, "card", 0);
	const char *state = pkg_json_str_or(job, "state", "?");
	pkg_autofree char *shown = strcmp(state, "pending") == 0 && card != 0
		? pkg_xasprintf(_("%s: card %" PRId64), state, card)
		: behind != 0 ? pkg_xasprintf(_("%s behind %" PRId64), state, behind)
			      : pkg_xstrdup(state);

	cli_table_add(table, id, shown, when, title);
}

static void
append(struct json_object *to, struct json_object *from)
{
	for (size_t i = 0; i < json_object_array_length(from); i++)
		json_object_array_add(to, json_object_get(json_object_array_get_idx(from, i)));
}

/* Page by page, newest first, until there are enough. */
static struct json_object *
get_jobs(struct cli *cli, int64_t limit, struct pkg_error *err)
{
	pkg_cleanup(pkg_json_put) struct json_object *out = json_object_new_object();
	struct json_object *all = json_object_new_array();
	int64_t before = 0;

	pkg_json_set(out, "jobs", all);
	while ((int64_t)json_object_array_length(all) < limit) {
		int64_t want = limit - (int64_t)json_object_array_length(all);
		pkg_autofree char *path =
			pkg_xasprintf("/v1/jobs?limit=%" PRId64 "&before=%" PRId64,
				want < PAGE ? want : PAGE, before);
		pkg_cleanup(pkg_json_put) struct json_object *page =
			cli_client_get(cli->client, path, err);
		struct json_object *rows = pkg_json_array(page, "jobs");
		size_t count = rows != NULL ? json_object_array_length(rows) : 0;

		if (page == NULL)
			return NULL;
		if (count == 0)
			break;
		append(all, rows);
		before = pkg_json_int(json_object_array_get_idx(rows, count - 1), "id", 0);
	}
	return pkg_steal_ptr(&out);
}

int
cli_cmd_jobs_list(struct cli *cli, struct pkg_error *err)
{
	static const char *const headings[] = { N_(">JOB"), N_("STATE"), N_("CREATED"), N_("WHAT"),
		NULL };
	pkg_cleanup(cli_table_free) struct cli_table *table = cli_table_new(headings);
	bool all = cli_option_given(&cli->options, CLI_O_ALL);
	pkg_cleanup(pkg_json_put) struct json_object *result = NULL;
	struct json_object *rows;
	int64_t limit;

	if (cli_option_number(
		    &cli->options, CLI_O_NUMBER, all ? INT64_MAX : LIST_DEFAULT, &limit, err) < 0)
		return -1;
	result = get_jobs(cli, limit, err);
	if (result == NULL)
		return -1;
	if (cli_json(cli)) {
		cli_print_object(result);
		return 0;
	}
	rows = pkg_json_array(result, "jobs");
	for (size_t i = 0; i < json_object_array_length(rows); i++)
		add_job(table, json_object_array_get_idx(rows, i));
	cli_table_print(table, stdout, !cli_quiet(cli));
	return 0;
}

/* --- one --- */

static int
job_path(struct cli *cli, const char *rest, char **path, int64_t *id, struct pkg_error *err)
{
	if (cli_parse_id(cli->words->items[0], _("job"), id, err) < 0)
		return -1;
	*path = pkg_xasprintf("/v1/jobs/%" PRId64 "%s", *id, rest);
	return 0;
}

static void
print_when(const char *label, const char *iso)
{
	pkg_autofree char *when = cli_text_time(iso);

	if (iso == NULL)
		return;
	cli_print_label(stdout, label, LABEL_COLUMNS);
	puts(when);
}

static void
print_number(const char *label, int64_t number)
{
	if (number == 0)
		return;
	cli_print_label(stdout, label, LABEL_COLUMNS);
	printf("%" PRId64 "\n", number);
}

static void
print_asker(struct json_object *job)
{
	struct json_object *requester = pkg_json_get(job, "requester");
	pkg_autofree char *program = cli_text(pkg_json_str(requester, "program"));
	pkg_autofree char *label = cli_text(pkg_json_str(requester, "label"));
	pkg_autofree char *reason = cli_text(pkg_json_str(requester, "reason"));

	cli_print_label(stdout, _("asked by"), LABEL_COLUMNS);
	printf(_("uid %" PRId64 ", %s (pid %" PRId64 ")%s%s\n"), pkg_json_int(requester, "uid", -1),
		program, pkg_json_int(requester, "pid", -1), *label != '\0' ? ", " : "", label);
	if (*reason == '\0')
		return;
	cli_print_label(stdout, _("reason"), LABEL_COLUMNS);
	puts(reason);
}

static void
print_end(struct json_object *job, bool colour)
{
	struct json_object *result = pkg_json_get(job, "result");
	pkg_cleanup_error struct pkg_error why = { 0 };

	if (!json_object_is_type(result, json_type_object))
		return;
	putchar('\n');
	if (cli_result_error(result, &why) == 0) {
		cli_result_print(result,
			&(struct cli_result_style){ .colour = colour, .verbose = true }, stdout);
		return;
	}
	{
		pkg_autofree char *message =
			pkg_text_clean(why.message, strlen(why.message), 65536, true);
		pkg_autofree char *cure = cli_text(why.cure);

		printf("%s: %s\n", pkg_error_kind_name(why.kind), message);
		if (*cure != '\0')
			printf(_("cure: %s\n"), cure);
	}
}

static void
print_job(struct json_object *job)
{
	struct json_object *plan = pkg_json_get(job, "plan");
	pkg_autofree char *state = cli_text(pkg_json_str(job, "state"));
	pkg_autofree char *title = job_title(job);
	pkg_autofree char *clean = cli_text(title);
	struct cli_term term;

	cli_term_look(STDOUT_FILENO, &term);
	printf(_("job %" PRId64 ", %s: %s\n"), pkg_json_int(job, "id", 0), state, clean);
	print_asker(job);
	print_when(_("created"), pkg_json_str(job, "created"));
	print_when(_("ended"), pkg_json_str(job, "ended"));
	print_number(_("behind job"), pkg_json_int(job, "behind", 0));
	print_number(_("card"), pkg_json_int(job, "card", 0));
	if (json_object_is_type(plan, json_type_object)) {
		pkg_autofree char *text = install_card_text(plan, NULL, term.colour);

		printf("\n%s", text);
	}
	print_end(job, term.colour);
}

static int
show_log(struct cli *cli, int64_t id, const char *path, struct pkg_error *err)
{
	pkg_cleanup(pkg_json_put) struct json_object *out = json_object_new_object();
	pkg_autofree char *text = NULL;
	size_t len = 0;
	FILE *file;
	int rc;

	if (!cli_json(cli))
		return cli_client_copy(cli->client, path, stdout, err);
	file = open_memstream(&text, &len);
	if (file == NULL)
		return pkg_error_errno(err, errno, "open_memstream");
	rc = cli_client_copy(cli->client, path, file, err);
	(void)fclose(file);
	if (rc < 0)
		return -1;
	pkg_json_set_int(out, "job", id);
	pkg_json_set_str(out, "log", text);
	cli_print_object(out);
	return 0;
}

int
cli_cmd_jobs_show(struct cli *cli, struct pkg_error *err)
{
	bool log = cli_option_given(&cli->options, CLI_O_LOG);
	pkg_autofree char *path = NULL;
	pkg_cleanup(pkg_json_put) struct json_object *job = NULL;
	int64_t id;

	if (job_path(cli, log ? "/log" : "", &path, &id, err) < 0)
		return -1;
	if (log)
		return show_log(cli, id, path, err);
	job = cli_client_get(cli->client, path, err);
	if (job == NULL)
		return -1;
	if (cli_json(cli))
		cli_print_object(job);
	else
		print_job(job);
	return 0;
}

int
cli_cmd_jobs_watch(struct cli *cli, struct pkg_error *err)
{
	static const struct cli_follow how = { .only_watch = true };
	pkg_cleanup(pkg_json_put) struct json_object *result = NULL;
	int64_t id;

	if (cli_parse_id(cli->words->items[0], _("job"), &id, err) < 0 ||
		cli_follow(cli, id, &how, &result, err) < 0)
		return -1;
	return cli_follow_end(cli, result, err);
}

int
cli_cmd_jobs_cancel(struct cli *cli, struct pkg_error *err)
{
	pkg_autofree char *path = NULL;
	pkg_cleanup(pkg_json_put) struct json_object *answer = NULL;
	pkg_autofree char *reason = NULL;
	bool delivered;
	int64_t id;

	if (job_path(cli, "", &path, &id, err) < 0)
		return -1;
	answer = cli_client_cancel(cli->client, path, err);
	if (answer == NULL)
		return -1;
	delivered = pkg_json_bool(answer, "delivered", false);
	reason = cli_text(pkg_json_str(answer, "reason"));
	if (cli_json(cli))
		cli_print_object(answer);
	else if (!cli_quiet(cli))
		printf(delivered ? _("job %" PRId64 " was told to end: %s\n")
				 : _("job %" PRId64 " was not cancelled: %s\n"),
			id, reason);
	return delivered ? 0 : 1;
}
