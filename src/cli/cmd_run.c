/* run: a person's command inside an environment. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "install/kernel.h"

/* "memory_bytes=1G": the names are those of sandbox.limits.kernel in pkg.json(5). */
static const struct limit_name {
	const char *name;
	size_t offset;
} limit_names[] = {
	{ "wall_seconds", offsetof(struct policy_limits, wall_seconds) },
	{ "cpu_seconds", offsetof(struct policy_limits, cpu_seconds) },
	{ "memory_bytes", offsetof(struct policy_limits, memory_bytes) },
	{ "processes", offsetof(struct policy_limits, processes) },
	{ "file_bytes", offsetof(struct policy_limits, file_bytes) },
	{ "open_files", offsetof(struct policy_limits, open_files) },
	{ "disk_bytes", offsetof(struct policy_limits, disk_bytes) },
	{ "output_bytes", offsetof(struct policy_limits, output_bytes) },
};

static int
limit_value(const char *text, int64_t *out)
{
	static const char units[] = "KMGT";
	char *end = NULL;
	long long value;
	const char *unit;
	int shift = 0;

	if (strcmp(text, "unlimited") == 0) {
		*out = INT64_MAX;
		return 0;
	}
	errno = 0;
	value = strtoll(text, &end, 10);
	if (errno != 0 || end == text || value <= 0)
		return -1;
	unit = *end != '\0' ? strchr(units, *end) : NULL;
	if (*end != '\0' && (unit == NULL || end[1] != '\0'))
		return -1;
	if (unit != NULL)
		shift = 10 * (int)(unit - units + 1);
	if (value > INT64_MAX >> shift)
		return -1;
	*out = (int64_t)value << shift;
	return 0;
}

static int
take_limit(const char *text, struct policy_limits *out, struct pkg_error *err)
{
	size_t len = strcspn(text, "=");
	int64_t value = 0;

	for (size_t i = 0; i < PKG_ARRAY_LEN(limit_names); i++) {
		if (strlen(limit_names[i].name) != len ||
			strncmp(limit_names[i].name, text, len) != 0)
			continue;
		if (text[len] != '=' || limit_value(text + len + 1, &value) < 0)
			return pkg_error_set(err, PKG_E_INVALID,
				_("--limit %s: a whole number (K, M, G, T may follow) or "
				  "'unlimited' is wanted"),
				text);
		memcpy((char *)out + limit_names[i].offset, &value, sizeof(value));
		return 0;
	}
	pkg_error_set(err, PKG_E_INVALID, _("--limit %s: there is no such limit"), text);
	return pkg_error_cure(err, _("pkg.json(5) lists them under sandbox.limits"));
}

static int
take_limits(struct cli *cli, struct policy_limits *out, struct pkg_error *err)
{
	const struct pkg_argv *list = cli_option_list(&cli->options, CLI_O_LIMIT);

	for (size_t i = 0; list != NULL && i < list->count; i++)
		if (take_limit(list->items[i], out, err) < 0)
			return -1;
	return 0;
}

static int
take_network(struct cli *cli, bool *out, struct pkg_error *err)
{
	const char *word = cli_option_text(&cli->options, CLI_O_NETWORK);

	*out = word == NULL || strcmp(word, "allowlist") == 0;
	if (*out || strcmp(word, "deny") == 0)
		return 0;
	return pkg_error_set(
		err, PKG_E_INVALID, _("--network %s: 'deny' or 'allowlist' is wanted"), word);
}

/* Given; NULL without an error: none was asked for. */
static char *
take_workspace(struct cli *cli, struct pkg_error *err)
{
	const char *word = cli_option_text(&cli->options, CLI_O_WORKSPACE);
	char *path = word != NULL ? realpath(word, NULL) : NULL;

	if (word != NULL && path == NULL)
		pkg_error_errno(err, errno, "--workspace %s", word);
	return path;
}

int
cli_cmd_run(struct cli *cli, struct pkg_error *err)
{
	pkg_cleanup_error struct pkg_error why = { 0 };
	pkg_autofree char *workspace = take_workspace(cli, &why);
	struct install_kernel kernel = {
		.project = cli_option_text(&cli->options, CLI_O_PROJECT),
		.language = cli_option_text(&cli->options, CLI_O_LANGUAGE),
		.environment = cli_option_text(&cli->options, CLI_O_ENVIRONMENT),
		.label = cli_option_text(&cli->options, CLI_O_LABEL),
		.workspace = workspace,
		.command = cli->words,
	};
	int status = 0;

	if (why.kind != PKG_E_NONE) {
		pkg_error_move(err, &why);
		return -1;
	}
	if (take_network(cli, &kernel.network, err) < 0 ||
		take_limits(cli, &kernel.limits, err) < 0 ||
		install_kernel_run(&cli->home, &kernel, &status, err) < 0)
		return -1;
	return status;
}
