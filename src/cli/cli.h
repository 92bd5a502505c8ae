/* cli/cli.h - the commands: the table that a reader starts at, and what a command is given.
 * Purpose    One row per command: its words, what it takes, what it does. A command family has a file of its own.
 * Ownership  struct cli is main's; a handler borrows it.
 * Errors     A handler returns an exit status, or -1 with *err, which main prints with its cure and turns into the
 *            exit status of its kind (core/error.h).
 */
#ifndef CLI_CLI_H
#define CLI_CLI_H
#include "cli/client.h"
#include "cli/options.h"

#define CLI_EXIT_PENDING 75 /* sysexits' EX_TEMPFAIL: an answer is awaited */

struct cli_command;
struct cli {
	const struct cli_command *command;
	struct cli_options options;
	struct pkg_argv *words; /* owned; what stands after the command's name */
	struct pkg_home home;
	struct cli_client *client; /* owned */
};

typedef int cli_handler_fn(struct cli *cli, struct pkg_error *err);
struct cli_command {
	const char *name; /* "install", "cards approve" */
	const char *words; /* how the help shows its arguments; "" */
	const char *summary;
	int min_words;
	int max_words; /* -1: any number */
	uint64_t takes; /* CLI_BIT()s */
	cli_handler_fn *handler;
	bool options_first; /* the first word ends the options */
};
extern const struct cli_command cli_commands[];
extern const size_t cli_command_count;
/* The command that words begin with, and how many of them are its name; a family's name alone is its first
 * command. NULL with PKG_E_INVALID and the nearest name. */
const struct cli_command *cli_find_command(
	char *const *words, int count, int *used, struct pkg_error *err);
/* Everything but the process: for main and tests. Returns the exit status. */
int cli_main(int argc, char **argv);
int cli_run(struct cli *cli, struct pkg_error *err);
void cli_print_help(const struct cli_command *command, FILE *out);

/* --- for handlers --- */
bool cli_json(struct cli *cli);
bool cli_quiet(struct cli *cli);
bool cli_verbose(struct cli *cli);
/* One line of JSON on stdout. */
void cli_print_object(struct json_object *json);
/* A sentence on stderr, unless --quiet or --json. */
void cli_note(struct cli *cli, const char *format, ...) PKG_PRINTF(2, 3);
/* "/v1/environments/PROJECT/LANGUAGE/NAME<rest>" of -p, -l and -e (or name, when not NULL). Given. */
char *cli_environment_path(struct cli *cli, const char *name, const char *rest);
/* The environment that a command's one optional word or -e names; NULL for the default. Borrowed. */
int cli_environment_word(struct cli *cli, const char **name, struct pkg_error *err);
/* A positive whole number; PKG_E_INVALID names what it should have been. */
int cli_parse_id(const char *text, const char *what, int64_t *out, struct pkg_error *err);
/* "pkg: what: because", and the cure as the last line; one JSON line on stdout with --json. Returns the exit
 * status of the kind. */
int cli_print_error(bool json, const char *what, const struct pkg_error *err);

/* cmd_install.c */
cli_handler_fn cli_cmd_install, cli_cmd_remove, cli_cmd_upgrade, cli_cmd_rollback, cli_cmd_plan;
/* cmd_list.c */
cli_handler_fn cli_cmd_list, cli_cmd_show, cli_cmd_history;
cli_handler_fn cli_cmd_list, cli_cmd_show, cli_cmd_freeze;
/* cmd_run.c */
cli_handler_fn cli_cmd_run;
/* cmd_env.c */
cli_handler_fn cli_cmd_env_list, cli_cmd_env_show, cli_cmd_env_create, cli_cmd_env_remove,
	cli_cmd_env_repair;
/* cmd_cards.c */
cli_handler_fn cli_cmd_cards_list, cli_cmd_cards_show, cli_cmd_cards_approve, cli_cmd_cards_deny;
/* cmd_jobs.c */
cli_handler_fn cli_cmd_jobs_list, cli_cmd_jobs_show, cli_cmd_jobs_watch, cli_cmd_jobs_cancel;
/* cmd_system.c */
cli_handler_fn cli_cmd_reconcile, cli_cmd_sandbox_status, cli_cmd_sandbox_test, cli_cmd_cache_info,
	cli_cmd_cache_prune, cli_cmd_audit, cli_cmd_kernel_list;
/* cmd_config.c */
cli_handler_fn cli_cmd_config_show, cli_cmd_config_validate, cli_cmd_config_path;
/* cmd_doctor.c */
cli_handler_fn cli_cmd_doctor;
/* cli.c */
cli_handler_fn cli_cmd_help;
#endif
