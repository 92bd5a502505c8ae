/* config: what is in force, whether it is sound, and where it is. */
#include <string.h>

#include "cli/cli.h"
#include "cli/table.h"
#include "cli/term.h"
#include "core/file.h"
#include "core/path.h"
#include "policy/config.h"

static void
add_key(struct cli_table *table, const char *key, struct json_object *row)
{
	struct json_object *value = pkg_json_get(row, "value");
	pkg_autofree char *text = value == NULL ? pkg_xstrdup("-")
		: json_object_is_type(value, json_type_string)
		? pkg_xstrdup(json_object_get_string(value))
		: pkg_json_line(value);

	cli_table_add(table, key, text, pkg_json_str(row, "origin"));
}

int
cli_cmd_config_show(struct cli *cli, struct pkg_error *err)
{
	static const char *const headings[] = { N_("KEY"), N_("VALUE"), N_("FROM"), NULL };
	pkg_cleanup(cli_table_free) struct cli_table *table = cli_table_new(headings);
	pkg_cleanup(pkg_json_put) struct json_object *config =
		cli_client_get(cli->client, "/v1/config", err);

	if (config == NULL)
		return -1;
	if (cli_json(cli)) {
		cli_print_object(config);
		return 0;
	}
	json_object_object_foreach(config, key, row)
	{
		add_key(table, key, row);
	}
	cli_table_print(table, stdout, !cli_quiet(cli));
	return 0;
}

static int
check(struct cli *cli, const char *file, struct pkg_error *err)
{
	pkg_cleanup_policy_config struct policy_config config = { 0 };

	/* No daemon is asked: a broken configuration may be why there is none. */
	return file != NULL ? policy_config_check(file, err)
			    : policy_config_load(&cli->home, &config, err);
}

int
cli_cmd_config_validate(struct cli *cli, struct pkg_error *err)
{
	const char *file = cli->words->count > 0 ? cli->words->items[0] : NULL;
	pkg_cleanup(pkg_json_put) struct json_object *out = json_object_new_object();

	if (check(cli, file, err) < 0)
		return -1;
	pkg_json_set_bool(out, "ok", true);
	pkg_json_set_str(out, "file", file);
	if (cli_json(cli))
		cli_print_object(out);
	else
		puts(_("the configuration is sound"));
	return 0;
}

int
cli_cmd_config_path(struct cli *cli, struct pkg_error *err)
{
	const struct pkg_home *home = &cli->home;
	pkg_autofree char *file = pkg_path_join(home->config, "pkgd.json");
	const struct {
		const char *name;
		const char *path;
	} all[] = { { "file", file }, { "config", home->config }, { "data", home->data },
		{ "state", home->state }, { "cache", home->cache }, { "run", home->run } };
	pkg_cleanup(pkg_json_put) struct json_object *out = json_object_new_object();

	(void)err;
	for (size_t i = 0; i < PKG_ARRAY_LEN(all); i++)
		pkg_json_set_str(out, all[i].name, all[i].path);
	if (cli_json(cli)) {
		cli_print_object(out);
		return 0;
	}
	for (size_t i = 0; i < PKG_ARRAY_LEN(all); i++)
		printf("%-7s %s%s\n", all[i].name, all[i].path,
			pkg_file_exists(all[i].path) ? "" : _("  (not there)"));
	return 0;
}
