/* reconcile, sandbox, cache, audit, kernel: the daemon and its surroundings. */
#include <inttypes.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/table.h"
#include "cli/term.h"
#include "core/text.h"

/* --- the cache --- */

static void
print_cache(struct json_object *info)
{
	static const char *const headings[] = { N_("KIND"), N_(">FILES"), N_(">SIZE"), NULL };
	pkg_cleanup(cli_table_free) struct cli_table *table = cli_table_new(headings);
	struct json_object *rows = pkg_json_array(info, "kinds");
	pkg_autofree char *path = cli_text(pkg_json_str(info, "path"));
	pkg_autofree char *total = pkg_text_bytes(pkg_json_int(info, "bytes", 0));

	for (size_t i = 0; rows != NULL && i < json_object_array_length(rows); i++) {
		struct json_object *row = json_object_array_get_idx(rows, i);
		pkg_autofree char *files = pkg_xasprintf("%" PRId64, pkg_json_int(row, "files", 0));
		pkg_autofree char *bytes = pkg_text_bytes(pkg_json_int(row, "bytes", 0));

		cli_table_add(table, pkg_json_str(row, "kind"), files, bytes);
	}
	cli_table_print(table, stdout, true);
	printf(_("%s in %s\n"), total, path);
}

static int
cache_answer(struct cli *cli, struct json_object *info)
{
	if (info == NULL)
		return -1;
	if (cli_json(cli))
		cli_print_object(info);
	else
		print_cache(info);
	json_object_put(info);
	return 0;
}

int
cli_cmd_cache_info(struct cli *cli, struct pkg_error *err)
{
	return cache_answer(cli, cli_client_get(cli->client, "/v1/cache", err));
}

int
cli_cmd_cache_prune(struct cli *cli, struct pkg_error *err)
{
	return cache_answer(cli, cli_client_control(cli->client, "/v1/cache/prune", NULL, err));
}

/* --- sandbox --- */

/* A value as people read it: sizes of keys that say bytes, words for truth. */
static char *
value_text(const char *key, struct json_object *value)
{
	if (json_object_is_type(value, json_type_boolean))
		return pkg_xstrdup(json_object_get_boolean(value) ? _("yes") : _("no"));
	if (json_object_is_type(value, json_type_int) &&
		(strcmp(key, "bytes") == 0 || pkg_text_has_suffix(key, "_bytes")))
		return pkg_text_bytes(json_object_get_int64(value));
	return cli_text(json_object_get_string(value));
}

static void
print_object(struct json_object *object, int indent)
{
	json_object_object_foreach(object, key, value)
	{
		pkg_autofree char *name = cli_text(key);
		pkg_autofree char *text = NULL;

		if (value == NULL)
			continue;
		if (json_object_is_type(value, json_type_object)) {
			printf("%*s%s\n", indent, "", name);
			print_object(value, indent + 2);
			continue;
		}
		text = value_text(key, value);
		printf("%*s%-20s %s\n", indent, "", name, text);
	}
}

static int
print_answer(struct cli *cli, struct json_object *result)
{
	if (result == NULL)
		return -1;
	if (cli_json(cli))
		cli_print_object(result);
	else
		print_object(result, 0);
	json_object_put(result);
	return 0;
}

int
cli_cmd_sandbox_status(struct cli *cli, struct pkg_error *err)
{
	struct json_object *status = cli_client_get(cli->client, "/v1/sandbox", err);
	bool usable = strcmp(pkg_json_str_or(status, "state", ""), "unavailable") != 0;

	if (print_answer(cli, status) < 0)
		return -1;
	return usable ? 0 : pkg_error_kind_exit(PKG_E_SANDBOX);
}

static void
print_purpose(struct json_object *row)
{
	struct json_object *checks = pkg_json_array(row, "checks");
	struct json_object *error = pkg_json_get(row, "error");
	pkg_autofree char *purpose = cli_text(pkg_json_str(row, "purpose"));
	pkg_autofree char *message = cli_text(pkg_json_str(error, "message"));
	pkg_autofree char *cure = cli_text(pkg_json_str(error, "cure"));

	printf("%-8s %s\n", purpose, pkg_json_bool(row, "ok", false) ? _("ok") : _("FAIL"));
	for (size_t i = 0; checks != NULL && i < json_object_array_length(checks); i++) {
		struct json_object *check = json_object_array_get_idx(checks, i);
		pkg_autofree char *result = cli_text(pkg_json_str(check, "result"));
		pkg_autofree char *name = cli_text(pkg_json_str(check, "name"));
		pkg_autofree char *detail = cli_text(pkg_json_str(check, "detail"));

		printf("  %-12s %s%s%s\n", result, name, *detail != '\0' ? ": " : "", detail);
	}
	if (*message != '\0')
		printf("  %s\n", message);
	if (*cure != '\0')
		printf(_("  cure: %s\n"), cure);
}

int
cli_cmd_sandbox_test(struct cli *cli, struct pkg_error *err)
{
	pkg_cleanup(pkg_json_put) struct json_object *test =
		cli_client_control(cli->client, "/v1/sandbox/test", NULL, err);
	struct json_object *rows = pkg_json_array(test, "purposes");

	if (test == NULL)
		return -1;
	if (cli_json(cli))
		cli_print_object(test);
	for (size_t i = 0; !cli_json(cli) && rows != NULL && i < json_object_array_length(rows);
		i++)
		print_purpose(json_object_array_get_idx(rows, i));
	return pkg_json_bool(test, "ok", false) ? 0 : pkg_error_kind_exit(PKG_E_SANDBOX);
}

/* --- reconcile --- */

static void
print_claims(struct json_object *rows)
{
	for (size_t i = 0; rows != NULL && i < json_object_array_length(rows); i++) {
		struct json_object *row = json_object_array_get_idx(rows, i);
		pkg_autofree char *project = cli_text(pkg_json_str(row, "project"));
		pkg_autofree char *env = cli_text(pkg_json_str(row, "environment"));
		pkg_autofree char *outcome = cli_text(pkg_json_str(row, "outcome"));
		pkg_autofree char *message = cli_text(pkg_json_str(row, "message"));

		printf(_("job %" PRId64 " on %s/%s: %s%s%s\n"), pkg_json_int(row, "job", 0),
			project, env, outcome, *message != '\0' ? ": " : "", message);
	}
}

static void
print_checked(struct json_object *rows)
{
	for (size_t i = 0; rows != NULL && i < json_object_array_length(rows); i++) {
		struct json_object *row = json_object_array_get_idx(rows, i);
		pkg_autofree char *project = cli_text(pkg_json_str(row, "project"));
		pkg_autofree char *env = cli_text(pkg_json_str(row, "environment"));
		pkg_autofree char *message = cli_text(pkg_json_str(row, "message"));

		printf("%s/%s: %s\n", project, env,
			pkg_json_bool(row, "ok", false) ? _("sound") : message);
	}
}

int
cli_cmd_reconcile(struct cli *cli, struct pkg_error *err)
{
	pkg_cleanup(pkg_json_put) struct json_object *report =
		cli_client_control(cli->client, "/v1/reconcile", NULL, err);
	struct json_object *claims = pkg_json_array(report, "claims");

	if (report == NULL)
		return -1;
	if (cli_json(cli)) {
		cli_print_object(report);
		return 0;
	}
	if (claims == NULL || json_object_array_length(claims) == 0)
		puts(_("nothing was interrupted"));
	print_claims(claims);
	print_checked(pkg_json_array(report, "checked"));
	return 0;
}

/* --- kernels --- */

static void
add_kernel(struct cli_table *table, struct json_object *row)
{
	pkg_autofree char *id = pkg_xasprintf("%" PRId64, pkg_json_int(row, "id", 0));
	pkg_autofree char *pid = pkg_xasprintf("%" PRId64, pkg_json_int(row, "pid", 0));
	pkg_autofree char *generation =
		pkg_xasprintf("%" PRId64, pkg_json_int(row, "generation", 0));
	pkg_autofree char *when = cli_text_time(pkg_json_str(row, "started"));
	pkg_autofree char *env = pkg_xasprintf("%s/%s", pkg_json_str_or(row, "project", "?"),
		pkg_json_str_or(row, "environment", "?"));

	cli_table_add(table, id, env, generation, pid, when, pkg_json_str(row, "label"),
		pkg_json_bool(row, "restart_due", false) ? _("restart due") : "");
}

int
cli_cmd_kernel_list(struct cli *cli, struct pkg_error *err)
{
	static const char *const headings[] = { N_(">KERNEL"), N_("ENVIRONMENT"), N_(">GENERATION"),
		N_(">PID"), N_("STARTED"), N_("LABEL"), "", NULL };
	pkg_cleanup(cli_table_free) struct cli_table *table = cli_table_new(headings);
	pkg_cleanup(pkg_json_put) struct json_object *result =
		cli_client_get(cli->client, "/v1/kernels", err);
	struct json_object *rows = pkg_json_array(result, "kernels");

	if (result == NULL)
		return -1;
	if (cli_json(cli)) {
		cli_print_object(result);
		return 0;
	}
	for (size_t i = 0; rows != NULL && i < json_object_array_length(rows); i++)
		add_kernel(table, json_object_array_get_idx(rows, i));
	cli_table_print(table, stdout, !cli_quiet(cli));
	return 0;
}

/* --- audit --- */

static void
print_audit(struct json_object *row, bool json)
{
	struct json_object *data = pkg_json_get(row, "data");
	pkg_autofree char *when = cli_text_time(pkg_json_str(row, "time"));
	pkg_autofree char *type = cli_text(pkg_json_str(row, "type"));
	pkg_autofree char *text = data != NULL ? pkg_json_line(data) : NULL;
	pkg_autofree char *clean = cli_text(text);

	if (json)
		cli_print_object(row);
	else
		printf("%" PRId64 "  %s  %-10s  %s\n", pkg_json_int(row, "seq", 0), when, type,
			clean);
}

int
cli_cmd_audit(struct cli *cli, struct pkg_error *err)
{
	bool json = cli_json(cli);
	int64_t after;

	if (cli_option_number(&cli->options, CLI_O_AFTER, 0, &after, err) < 0)
		return -1;
	for (;;) {
		pkg_autofree char *path = pkg_xasprintf("/v1/audit?after=%" PRId64, after);
		pkg_cleanup(pkg_json_put) struct json_object *page =
			cli_client_control_get(cli->client, path, err);
		struct json_object *rows = pkg_json_array(page, "rows");
		size_t count = rows != NULL ? json_object_array_length(rows) : 0;

		if (page == NULL)
			return -1;
		for (size_t i = 0; i < count; i++)
			print_audit(json_object_array_get_idx(rows, i), json);
		/* The daemon gives whole pages; one that does not move on would never end. */
		if (count == 0 ||
			pkg_json_int(json_object_array_get_idx(rows, count - 1), "seq", 0) <= after)
			return 0;
		after = pkg_json_int(json_object_array_get_idx(rows, count - 1), "seq", 0);
	}
}
