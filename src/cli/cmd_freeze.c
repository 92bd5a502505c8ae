/* freeze: what an environment owns, in the form that install -r takes back. */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/term.h"
#include "lang/r_lock.h"

#define HISTORY_ALL 1000

static struct json_object *
get_environment(struct cli *cli, const char *rest, struct pkg_error *err)
{
	pkg_autofree char *path = cli_environment_path(cli, NULL, rest);

	return cli_client_get(cli->client, path, err);
}

/* The repository of the newest change that brought this version. Borrowed; NULL. */
static const char *
index_of(struct json_object *history, const char *name, const char *version)
{
	struct json_object *rows = pkg_json_array(history, "history");

	for (size_t i = 0; rows != NULL && i < json_object_array_length(rows); i++) {
		struct json_object *changes =
			pkg_json_array(json_object_array_get_idx(rows, i), "changes");

		for (size_t k = 0; changes != NULL && k < json_object_array_length(changes); k++) {
			struct json_object *change = json_object_array_get_idx(changes, k);

			if (strcmp(pkg_json_str_or(change, "name", ""), name) == 0 &&
				strcmp(pkg_json_str_or(change, "to", ""), version) == 0 &&
				pkg_json_str(change, "index") != NULL)
				return pkg_json_str(change, "index");
		}
	}
	return NULL;
}

/* "4.2.2" of "R 4.2.2 (/usr/lib/R/bin/R)". Given. */
static char *
r_version(struct json_object *env)
{
	const char *text = pkg_json_str_or(env, "interpreter", "");

	text += strncmp(text, "R ", 2) == 0 ? 2 : 0;
	return pkg_xstrndup(text, strcspn(text, " "));
}

static int
print_lock(struct cli *cli, struct json_object *packages, struct pkg_error *err)
{
	pkg_autofree char *rest = pkg_xasprintf("/history?limit=%d", HISTORY_ALL);
	pkg_cleanup(pkg_json_put) struct json_object *history = get_environment(cli, rest, err);
	pkg_cleanup(pkg_json_put) struct json_object *env =
		history != NULL ? get_environment(cli, "", err) : NULL;
	struct json_object *rows = pkg_json_array(packages, "packages");
	size_t all = rows != NULL ? json_object_array_length(rows) : 0;
	pkg_autofree struct lang_r_locked *locked = pkg_xcalloc(all + 1, sizeof(*locked));
	pkg_autofree char *version = NULL;
	pkg_autofree char *text = NULL;
	size_t count = 0;

	if (env == NULL)
		return -1;
	for (size_t i = 0; i < all; i++) {
		struct json_object *row = json_object_array_get_idx(rows, i);
		const char *name = pkg_json_str_or(row, "name", "");
		const char *is = pkg_json_str_or(row, "version", "");

		if (pkg_json_bool(row, "owned", false))
			locked[count++] =
				(struct lang_r_locked){ name, is, index_of(history, name, is) };
	}
	version = r_version(env);
	text = lang_r_lock_write(version, locked, count);
	fputs(text, stdout);
	return 0;
}

static void
print_lines(struct json_object *packages, const char *separator)
{
	struct json_object *rows = pkg_json_array(packages, "packages");

	for (size_t i = 0; rows != NULL && i < json_object_array_length(rows); i++) {
		struct json_object *row = json_object_array_get_idx(rows, i);
		pkg_autofree char *name = cli_text(pkg_json_str(row, "name"));
		pkg_autofree char *version = cli_text(pkg_json_str(row, "version"));

		if (pkg_json_bool(row, "owned", false))
			printf("%s%s%s\n", name, separator, version);
	}
}

int
cli_cmd_freeze(struct cli *cli, struct pkg_error *err)
{
	pkg_cleanup(pkg_json_put) struct json_object *packages =
		get_environment(cli, "/packages", err);
	bool is_r;

	if (packages == NULL)
		return -1;
	is_r = strcmp(pkg_json_str_or(packages, "language", ""), "r") == 0;
	if (is_r && cli_json(cli))
		return print_lock(cli, packages, err);
	if (cli_json(cli))
		cli_print_object(packages);
	else
		print_lines(packages, is_r ? "@" : "==");
	return 0;
}
