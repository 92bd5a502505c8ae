#include "cli/result.h"

#include <inttypes.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/term.h"
#include "install/card.h"

static bool
status_is(struct json_object *result, const char *word)
{
	return strcmp(pkg_json_str_or(result, "status", ""), word) == 0;
}

int
cli_result_exit(struct json_object *result)
{
	const char *kind = pkg_json_str(result, "kind");
	int exit_status;

	if (status_is(result, "done"))
		return 0;
	if (status_is(result, "pending"))
		return CLI_EXIT_PENDING;
	if (kind == NULL)
		return status_is(result, "denied") ? pkg_error_kind_exit(PKG_E_DENIED) : 1;
	exit_status = pkg_error_kind_exit(pkg_error_kind_parse(kind));
	/* A job that did not end well never looks as if it had, whatever it claims. */
	return exit_status == 0 || exit_status == CLI_EXIT_PENDING ? 1 : exit_status;
}

int
cli_result_error(struct json_object *result, struct pkg_error *err)
{
	if (status_is(result, "done") || status_is(result, "pending"))
		return 0;
	pkg_json_to_error(result, err);
	if (pkg_json_str(result, "message") == NULL)
		pkg_error_set(err, pkg_error_kind_parse(pkg_json_str(result, "kind")),
			_("the job ended as '%s'"), pkg_json_str_or(result, "status", "?"));
	return -1;
}

/* --- text --- */

static const struct mark {
	const char *change;
	const char *sign;
	const char *sgr;
	const char *counted; /* "3 added" */
} marks[] = {
	{ "added", "+", "32", N_("%zu added") },
	{ "upgraded", "\xe2\x86\x91", "33", N_("%zu upgraded") },
	{ "downgraded", "\xe2\x86\x93", "33", N_("%zu downgraded") },
	{ "reinstalled", "=", "33", N_("%zu reinstalled") },
	{ "removed", "\xe2\x88\x92", "31", N_("%zu removed") },
};

static const struct mark *
find_mark(struct json_object *change)
{
	const char *word = pkg_json_str_or(change, "change", "");

	for (size_t i = 0; i < PKG_ARRAY_LEN(marks); i++)
		if (strcmp(marks[i].change, word) == 0)
			return &marks[i];
	return NULL;
}

/* The table above is the only source of these formats. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
static void
add_count(struct pkg_buf *out, const char *format, size_t count)
{
	pkg_buf_addf(out, format, count);
}
#pragma GCC diagnostic pop

static void
add_counts(struct pkg_buf *out, struct json_object *changes)
{
	size_t total = changes != NULL ? json_object_array_length(changes) : 0;
	bool first = true;

	for (size_t m = 0; m < PKG_ARRAY_LEN(marks); m++) {
		size_t count = 0;

		for (size_t i = 0; i < total; i++)
			count += find_mark(json_object_array_get_idx(changes, i)) == &marks[m];
		if (count == 0)
			continue;
		pkg_buf_add(out, first ? "" : ", ");
		add_count(out, _(marks[m].counted), count);
		first = false;
	}
	if (first)
		pkg_buf_add(out, _("nothing changed"));
}

static void
print_head(struct json_object *result, FILE *out)
{
	pkg_cleanup_buf struct pkg_buf line = { 0 };
	pkg_autofree char *project = cli_text(pkg_json_str_or(result, "project", "default"));
	pkg_autofree char *name = cli_text(pkg_json_str_or(result, "environment", "?"));
	pkg_autofree char *note = cli_text(pkg_json_str(result, "message"));

	if (*note != '\0')
		pkg_buf_add(&line, note);
	else
		add_counts(&line, pkg_json_array(result, "changes"));
	fprintf(out, _("%s/%s: %s (generation %" PRId64 ", revision %" PRId64 ")\n"), project, name,
		line.data, pkg_json_int(result, "generation", 0),
		pkg_json_int(result, "revision", 0));
}

static void
print_change(struct json_object *change, const struct cli_result_style *style, FILE *out)
{
	const struct mark *mark = find_mark(change);
	pkg_autofree char *name = cli_text(pkg_json_str(change, "name"));
	pkg_autofree char *from = cli_text(pkg_json_str(change, "from"));
	pkg_autofree char *to = cli_text(pkg_json_str(change, "to"));
	bool both = *from != '\0' && *to != '\0';

	if (style->colour && mark != NULL)
		fprintf(out, "  \033[%sm%s\033[0m", mark->sgr, mark->sign);
	else
		fprintf(out, "  %s", mark != NULL ? mark->sign : "?");
	fprintf(out, " %s %s%s%s\n", name, from, both ? " -> " : "", to);
}

static void
print_restart(struct json_object *result, FILE *out)
{
	struct json_object *due = pkg_json_array(result, "restart_due");
	size_t count = due != NULL ? json_object_array_length(due) : 0;
	pkg_autofree char *verdict = install_card_verdict(result);

	fprintf(out, "%s\n", verdict);
	for (size_t i = 0; i < count; i++)
		fprintf(out, _("kernel %" PRId64 " is due a restart\n"),
			json_object_get_int64(json_object_array_get_idx(due, i)));
}

static void
print_timings(struct json_object *result, FILE *out)
{
	struct json_object *timings = pkg_json_get(result, "timings");
	pkg_autofree char *boundary = cli_text(pkg_json_str(result, "boundary"));
	const char *separator = "";

	if (json_object_is_type(timings, json_type_object) &&
		json_object_object_length(timings) > 0) {
		fputs(_("time: "), out);
		json_object_object_foreach(timings, key, value)
		{
			pkg_autofree char *name = cli_text(key);

			/* "planning_ms" */
			fprintf(out, "%s%.*s %.2f s", separator, (int)strcspn(name, "_"), name,
				(double)json_object_get_int64(value) / 1000);
			separator = ", ";
		}
		fputc('\n', out);
	}
	if (*boundary != '\0')
		fprintf(out, _("boundary: %s\n"), boundary);
}

void
cli_result_print(struct json_object *result, const struct cli_result_style *style, FILE *out)
{
	struct json_object *changes = pkg_json_array(result, "changes");
	size_t count = changes != NULL ? json_object_array_length(changes) : 0;

	print_head(result, out);
	for (size_t i = 0; i < count; i++)
		print_change(json_object_array_get_idx(changes, i), style, out);
	if (count > 0 && status_is(result, "done"))
		print_restart(result, out);
	if (style->verbose)
		print_timings(result, out);
}

/* --- a job that has not ended --- */

static struct json_object *
pick(struct json_object *array, const char *const *keys)
{
	struct json_object *out = json_object_new_array();
	size_t count = array != NULL ? json_object_array_length(array) : 0;

	for (size_t i = 0; i < count; i++) {
		struct json_object *from = json_object_array_get_idx(array, i);
		struct json_object *row = json_object_new_object();

		for (size_t k = 0; keys[k] != NULL; k++)
			pkg_json_set(row, keys[k], json_object_get(pkg_json_get(from, keys[k])));
		json_object_array_add(out, row);
	}
	return out;
}

struct json_object *
cli_result_pending(struct json_object *job, struct json_object *environment,
	struct json_object *plan, const char *message, const char *cure)
{
	static const char *const change_keys[] = { "name", "change", "from", "to", NULL };
	static const char *const reason_keys[] = { "reason", "name", NULL };
	static const char *const copied[] = { "action", "project", "environment", "language",
		"plan_hash" };
	struct json_object *restart = pkg_json_get(plan, "restart");
	struct json_object *result = json_object_new_object();

	pkg_json_set_str(result, "type", "result");
	pkg_json_set_int(result, "job", pkg_json_int(job, "id", 0));
	pkg_json_set_str(result, "status", "pending");
	pkg_json_set_str(result, "kind", pkg_error_kind_name(PKG_E_PENDING));
	pkg_json_set_str(result, "message", message);
	pkg_json_set_str(result, "cure", cure);
	pkg_json_set_int(result, "card", pkg_json_int(job, "card", 0));
	for (size_t i = 0; i < PKG_ARRAY_LEN(copied); i++)
		pkg_json_set_str(result, copied[i], pkg_json_str(job, copied[i]));
	pkg_json_set_int(result, "generation", pkg_json_int(environment, "generation", 0));
	pkg_json_set_int(result, "revision", pkg_json_int(environment, "revision", 0));
	pkg_json_set_bool(result, "additive", pkg_json_bool(restart, "additive", true));
	pkg_json_set(result, "reasons", pick(pkg_json_array(restart, "reasons"), reason_keys));
	pkg_json_set(result, "changes", pick(pkg_json_array(plan, "changes"), change_keys));
	pkg_json_set(result, "restart_due", json_object_new_array());
	pkg_json_set_str(result, "boundary", NULL);
	pkg_json_set(result, "timings", json_object_new_object());
	return result;
}
