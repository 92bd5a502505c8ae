/* list, show, history: what an environment holds and how it came to. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/cli.h"
#include "cli/table.h"
#include "cli/term.h"
#include "core/text.h"
#include "core/url.h"

#define HISTORY_ALL 1000
#define LABEL_COLUMNS 10

static struct json_object *
get_environment(struct cli *cli, const char *rest, struct pkg_error *err)
{
	pkg_autofree char *path = cli_environment_path(cli, NULL, rest);

	return cli_client_get(cli->client, path, err);
}

/* Inherited packages are many and not ours: they are counted, unless all are wanted. */
static void
print_packages(struct cli *cli, struct json_object *rows, bool all)
{
	static const char *const headings[] = { N_("NAME"), N_("VERSION"), N_("WHY"), NULL };
	pkg_cleanup(cli_table_free) struct cli_table *table = cli_table_new(headings);
	size_t count = rows != NULL ? json_object_array_length(rows) : 0;
	size_t inherited = 0;

	for (size_t i = 0; i < count; i++) {
		struct json_object *row = json_object_array_get_idx(rows, i);
		bool owned = pkg_json_bool(row, "owned", true);
		bool requested = pkg_json_bool(row, "requested", false);

		inherited += !owned;
		if (owned || all)
			cli_table_add(table, pkg_json_str(row, "name"),
				pkg_json_str(row, "version"),
				!owned		    ? _("inherited")
					: requested ? _("asked for")
						    : _("needed"));
	}
	cli_table_print(table, stdout, !cli_quiet(cli));
	if (inherited > 0 && !all)
		cli_note(cli, _("and %zu that the interpreter brings (pkg list --all shows them)"),
			inherited);
}

int
cli_cmd_list(struct cli *cli, struct pkg_error *err)
{
	pkg_cleanup(pkg_json_put) struct json_object *result =
		get_environment(cli, "/packages", err);
	bool all = cli_option_given(&cli->options, CLI_O_ALL);

	if (result == NULL)
		return -1;
	if (cli_json(cli))
		cli_print_object(result);
	else
		print_packages(cli, pkg_json_array(result, "packages"), all);
	return 0;
}

/* --- show --- */

/* Names of packages compare without case, and with '-', '_' and '.' alike. */
static bool
same_name(const char *a, const char *b)
{
	for (; *a != '\0' && *b != '\0'; a++, b++) {
		bool separators = strchr("-_.", *a) != NULL && strchr("-_.", *b) != NULL;

		if (!separators && strncasecmp(a, b, 1) != 0)
			return false;
	}
	return *a == *b;
}

static struct json_object *
find_named(struct json_object *rows, const char *name)
{
	size_t count = rows != NULL ? json_object_array_length(rows) : 0;

	for (size_t i = 0; i < count; i++) {
		struct json_object *row = json_object_array_get_idx(rows, i);

		if (same_name(pkg_json_str_or(row, "name", ""), name))
			return row;
	}
	return NULL;
}

/* The newest change that put this version there. */
static struct json_object *
find_origin(struct json_object *history, const char *name, const char *version,
	struct json_object **entry)
{
	struct json_object *rows = pkg_json_array(history, "history");
	size_t count = rows != NULL ? json_object_array_length(rows) : 0;

	for (size_t i = 0; i < count; i++) {
		struct json_object *row = json_object_array_get_idx(rows, i);
		struct json_object *change = find_named(pkg_json_array(row, "changes"), name);

		if (change == NULL || strcmp(pkg_json_str_or(change, "to", ""), version) != 0)
			continue;
		*entry = row;
		return change;
	}
	return NULL;
}

static struct json_object *
package_details(struct json_object *package, struct json_object *history)
{
	static const char *const from_change[] = { "file", "sha256", "size", "index", "url",
		"source", "uploaded" };
	static const char *const from_entry[] = { "job", "time", "uid", "label" };
	struct json_object *out = json_object_new_object();
	struct json_object *entry = NULL;
	struct json_object *change = find_origin(history, pkg_json_str_or(package, "name", ""),
		pkg_json_str_or(package, "version", ""), &entry);

	json_object_object_foreach(package, key, value)
	{
		pkg_json_set(out, key, json_object_get(value));
	}
	for (size_t i = 0; i < PKG_ARRAY_LEN(from_change); i++)
		pkg_json_set(
			out, from_change[i], json_object_get(pkg_json_get(change, from_change[i])));
	for (size_t i = 0; i < PKG_ARRAY_LEN(from_entry); i++)
		pkg_json_set(
			out, from_entry[i], json_object_get(pkg_json_get(entry, from_entry[i])));
	return out;
}

static void
print_field(const char *label, const char *text)
{
	pkg_autofree char *clean = cli_text(text);

	if (*clean == '\0')
		return;
	fputs("  ", stdout);
	cli_print_label(stdout, label, LABEL_COLUMNS);
	puts(clean);
}

static void
print_origin(struct json_object *details)
{
	const char *index = pkg_json_str(details, "index");
	const char *url = pkg_json_str(details, "url");
	pkg_autofree char *size = pkg_text_bytes(pkg_json_int(details, "size", 0));
	pkg_autofree char *when = cli_text_time(pkg_json_str(details, "time"));
	pkg_autofree char *from = index != NULL ? pkg_url_short(index)
		: url != NULL			? pkg_url_redact(url)
						: NULL;

	print_field(_("file"), pkg_json_str(details, "file"));
	if (pkg_json_int(details, "size", 0) > 0)
		print_field(_("size"), size);
	print_field("sha256", pkg_json_str(details, "sha256"));
	print_field(_("from"), from);
	if (pkg_json_get(details, "job") == NULL)
		return;
	fputs("  ", stdout);
	cli_print_label(stdout, _("installed"), LABEL_COLUMNS);
	printf(_("%s by job %" PRId64 ", uid %" PRId64 "\n"), when, pkg_json_int(details, "job", 0),
		pkg_json_int(details, "uid", -1));
}

static void
print_package(struct json_object *details)
{
	pkg_autofree char *name = cli_text(pkg_json_str(details, "name"));
	pkg_autofree char *version = cli_text(pkg_json_str(details, "version"));

	printf("%s %s\n", name, version);
	print_field(_("why"),
		!pkg_json_bool(details, "owned", true) ? _("inherited from the interpreter")
			: pkg_json_bool(details, "requested", false) ? _("asked for")
								     : _("needed by others"));
	print_origin(details);
}

static int
show_one(struct cli *cli, const char *name, struct json_object *packages,
	struct json_object *history, struct json_object *out, struct pkg_error *err)
{
	struct json_object *package = find_named(pkg_json_array(packages, "packages"), name);
	struct json_object *details;

	if (package == NULL) {
		pkg_error_set(err, PKG_E_NOT_FOUND, _("'%.80s' is not in the environment"), name);
		return pkg_error_cure(err, "%s", _("pkg list --all shows what is"));
	}
	details = package_details(package, history);
	json_object_array_add(out, details);
	if (!cli_json(cli))
		print_package(details);
	return 0;
}

int
cli_cmd_show(struct cli *cli, struct pkg_error *err)
{
	pkg_autofree char *rest = pkg_xasprintf("/history?limit=%d", HISTORY_ALL);
	pkg_cleanup(pkg_json_put) struct json_object *packages =
		get_environment(cli, "/packages", err);
	pkg_cleanup(pkg_json_put) struct json_object *history =
		packages != NULL ? get_environment(cli, rest, err) : NULL;
	pkg_cleanup(pkg_json_put) struct json_object *out = json_object_new_object();
	struct json_object *rows = json_object_new_array();

	pkg_json_set(out, "packages", rows);
	if (history == NULL)
		return -1;
	for (size_t i = 0; i < cli->words->count; i++)
		if (show_one(cli, cli->words->items[i], packages, history, rows, err) < 0)
			return -1;
	if (cli_json(cli))
		cli_print_object(out);
	return 0;
}

/* --- history --- */

static char *
asked_text(struct json_object *row)
{
	struct json_object *list = pkg_json_array(pkg_json_get(row, "asked"), "requirements");
	size_t count = list != NULL ? json_object_array_length(list) : 0;
	struct pkg_buf out = { 0 };

	pkg_buf_add(&out, pkg_json_str_or(row, "action", "?"));
	for (size_t i = 0; i < count; i++)
		pkg_buf_addf(
			&out, " %s", json_object_get_string(json_object_array_get_idx(list, i)));
	return pkg_buf_steal(&out);
}

static void
add_history(struct cli_table *table, struct json_object *row)
{
	struct json_object *changes = pkg_json_array(row, "changes");
	pkg_autofree char *when = cli_text_time(pkg_json_str(row, "time"));
	pkg_autofree char *job = pkg_xasprintf("%" PRId64, pkg_json_int(row, "job", 0));
	pkg_autofree char *tree = pkg_xasprintf("%" PRId64 ".%" PRId64,
		pkg_json_int(row, "generation", 0), pkg_json_int(row, "revision", 0));
	pkg_autofree char *count = pkg_xasprintf(
		"%zu", changes != NULL ? json_object_array_length(changes) : (size_t)0);
	const char *label = pkg_json_str(row, "label");
	pkg_autofree char *who = label != NULL && *label != '\0'
		? pkg_xstrdup(label)
		: pkg_xasprintf(_("uid %" PRId64), pkg_json_int(row, "uid", -1));
	pkg_autofree char *asked = asked_text(row);

	cli_table_add(table, when, job, pkg_json_str(row, "result"), tree, count, who, asked);
}

int
cli_cmd_history(struct cli *cli, struct pkg_error *err)
{
	static const char *const headings[] = { N_("TIME"), N_(">JOB"), N_("RESULT"), N_("STATE"),
		N_(">CHANGES"), N_("BY"), N_("ASKED"), NULL };
	pkg_cleanup(cli_table_free) struct cli_table *table = cli_table_new(headings);
	pkg_cleanup(pkg_json_put) struct json_object *result = NULL;
	pkg_autofree char *rest = NULL;
	struct json_object *rows;
	int64_t limit;

	if (cli_option_number(&cli->options, CLI_O_NUMBER, HISTORY_ALL, &limit, err) < 0)
		return -1;
	rest = pkg_xasprintf("/history?limit=%" PRId64, limit);
	result = get_environment(cli, rest, err);
	if (result == NULL)
		return -1;
	if (cli_json(cli)) {
		cli_print_object(result);
		return 0;
	}
	rows = pkg_json_array(result, "history");
	for (size_t i = 0; rows != NULL && i < json_object_array_length(rows); i++)
		add_history(table, json_object_array_get_idx(rows, i));
	cli_table_print(table, stdout, !cli_quiet(cli));
	return 0;
}
