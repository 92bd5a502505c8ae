#include "cli/cli.h"

/* What several commands take. */
#define OUTPUT (CLI_BIT(JSON) | CLI_BIT(HELP))
#define ROWS (OUTPUT | CLI_BIT(QUIET))
#define WHERE (CLI_BIT(ENVIRONMENT) | CLI_BIT(LANGUAGE) | CLI_BIT(PROJECT))
#define WHO (CLI_BIT(LABEL) | CLI_BIT(REASON))
#define FOLLOW (OUTPUT | CLI_BIT(QUIET) | CLI_BIT(VERBOSE))
#define JOB (WHERE | WHO | FOLLOW | CLI_BIT(YES) | CLI_BIT(NO_WAIT))
#define FILES (CLI_BIT(REQUIREMENT) | CLI_BIT(CONSTRAINT))
#define SOURCES                                                                                    \
	(CLI_BIT(INDEX_URL) | CLI_BIT(EXTRA_INDEX_URL) | CLI_BIT(REPO) | CLI_BIT(SOURCE) |         \
		CLI_BIT(PRE) | CLI_BIT(SUGGESTS) | CLI_BIT(EXCLUDE_NEWER) | CLI_BIT(DEPENDENCIES))
#define CREATES (CLI_BIT(PYTHON) | CLI_BIT(HERMETIC))
#define REQUIREMENTS N_("REQUIREMENT...")

const struct cli_command cli_commands[] = {
	{ "install", REQUIREMENTS, N_("install packages into an environment"), 0, -1,
		JOB | FILES | SOURCES | CREATES | CLI_BIT(UPGRADE), cli_cmd_install },
	{ "remove", N_("NAME..."), N_("remove packages, and what needs them"), 1, -1, JOB,
		cli_cmd_remove },
	{ "upgrade", N_("[REQUIREMENT...]"), N_("upgrade what is named, or all that was asked for"),
		0, -1, JOB | FILES | SOURCES, cli_cmd_upgrade },
	{ "rollback", N_("[GENERATION]"), N_("switch back to an earlier generation"), 0, 1, JOB,
		cli_cmd_rollback },
	{ "plan", REQUIREMENTS, N_("show what would change, and change nothing"), 0, -1,
		WHERE | WHO | FOLLOW | FILES | SOURCES | CREATES | CLI_BIT(UPGRADE) |
			CLI_BIT(ACTION),
		cli_cmd_plan },

	{ "run", N_("COMMAND [ARGUMENT...]"), N_("a command inside an environment, sandboxed"), 1,
		-1,
		WHERE | CLI_BIT(HELP) | CLI_BIT(WORKSPACE) | CLI_BIT(NETWORK) | CLI_BIT(LIMIT) |
			CLI_BIT(LABEL),
		cli_cmd_run, true },
	{ "list", "", N_("packages of an environment"), 0, 0, WHERE | ROWS | CLI_BIT(ALL),
		cli_cmd_list },
	{ "show", N_("NAME..."), N_("a package: its version, and where it came from"), 1, -1,
		WHERE | OUTPUT, cli_cmd_show },
	{ "freeze", "", N_("what an environment owns, for install -r; R: --json is a renv.lock"), 0,
		0, WHERE | OUTPUT, cli_cmd_freeze },
	{ "history", "", N_("every change of an environment"), 0, 0, WHERE | ROWS | CLI_BIT(NUMBER),
		cli_cmd_history },

	{ "env list", "", N_("environments"), 0, 0, ROWS | CLI_BIT(PROJECT) | CLI_BIT(LANGUAGE),
		cli_cmd_env_list },
	{ "env show", N_("[NAME]"), N_("an environment: interpreter, generations, kernels"), 0, 1,
		WHERE | OUTPUT, cli_cmd_env_show },
	{ "env create", N_("[NAME]"), N_("make an environment"), 0, 1,
		WHERE | WHO | FOLLOW | CREATES, cli_cmd_env_create },
	{ "env remove", N_("[NAME]"), N_("remove an environment"), 0, 1, JOB, cli_cmd_env_remove },
	{ "env repair", N_("[NAME]"), N_("rebuild a broken environment from its history"), 0, 1,
		JOB | CLI_BIT(PYTHON), cli_cmd_env_repair },

	{ "cards list", "", N_("plans that wait for an answer"), 0, 0, ROWS | CLI_BIT(ALL),
		cli_cmd_cards_list },
	{ "cards show", N_("CARD"), N_("one card in full"), 1, 1, OUTPUT, cli_cmd_cards_show },
	{ "cards approve", N_("CARD"), N_("say yes to exactly the plan that is shown"), 1, 1,
		ROWS | CLI_BIT(MESSAGE), cli_cmd_cards_approve },
	{ "cards deny", N_("CARD"), N_("say no"), 1, 1, ROWS | CLI_BIT(MESSAGE),
		cli_cmd_cards_deny },

	{ "jobs list", "", N_("jobs, newest first"), 0, 0, ROWS | CLI_BIT(NUMBER) | CLI_BIT(ALL),
		cli_cmd_jobs_list },
	{ "jobs show", N_("JOB"), N_("one job: its plan, its end, its log"), 1, 1,
		OUTPUT | CLI_BIT(LOG), cli_cmd_jobs_show },
	{ "jobs watch", N_("JOB"), N_("follow a job; Ctrl-C only leaves"), 1, 1, FOLLOW,
		cli_cmd_jobs_watch },
	{ "jobs cancel", N_("JOB"), N_("end a job; nothing will have changed"), 1, 1, ROWS,
		cli_cmd_jobs_cancel },

	{ "kernel list", "", N_("running kernels, and which of them are due a restart"), 0, 0, ROWS,
		cli_cmd_kernel_list },

	{ "sandbox status", "", N_("the boundary that package code runs in"), 0, 0, OUTPUT,
		cli_cmd_sandbox_status },
	{ "sandbox test", "", N_("prove the boundary afresh"), 0, 0, OUTPUT, cli_cmd_sandbox_test },
	{ "config show", "", N_("what is in force, and where it comes from"), 0, 0, ROWS,
		cli_cmd_config_show },
	{ "config validate", N_("[FILE]"), N_("check the configuration, or one file"), 0, 1, OUTPUT,
		cli_cmd_config_validate },
	{ "config path", "", N_("the files and directories in use"), 0, 0, OUTPUT,
		cli_cmd_config_path },
	{ "cache info", "", N_("what the cache holds"), 0, 0, OUTPUT, cli_cmd_cache_info },
	{ "cache prune", "", N_("drop what no environment uses"), 0, 0, OUTPUT,
		cli_cmd_cache_prune },
	{ "audit", "", N_("what was asked, answered, connected to and done"), 0, 0,
		OUTPUT | CLI_BIT(AFTER), cli_cmd_audit },
	{ "reconcile", "", N_("finish or undo what was interrupted"), 0, 0, OUTPUT,
		cli_cmd_reconcile },
	{ "doctor", "", N_("find out what is wrong, and how to mend it"), 0, 0, ROWS,
		cli_cmd_doctor },
	{ "help", N_("[COMMAND]"), N_("this list, or one command"), 0, 2, CLI_BIT(HELP),
		cli_cmd_help },
};
const size_t cli_command_count = PKG_ARRAY_LEN(cli_commands);
