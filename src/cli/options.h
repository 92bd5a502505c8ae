/* cli/options.h - the options, each with one meaning in every command that takes it.
 * Purpose    One table from which getopt_long(3), the help, the completions' test and the test that every
 *            declared option is read are fed.
 * Ownership  struct cli_options owns the values; words are given to the caller's vector.
 * Errors     PKG_E_INVALID (exit 2) naming the option, with the nearest one that the command takes as the cure.
 */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H
#include "cli/i18n.h"
#include "core/argv.h"
#include "core/error.h"
#include <stdbool.h>
#include <stdint.h>

#define CLI_OPTIONS(X)                                                                             \
	/* X(symbol, letter, name, argument, help) */                                              \
	X(ENVIRONMENT, 'e', "environment", N_("NAME"), N_("the environment"))                      \
	X(LANGUAGE, 'l', "language", "python|r", N_("the environment's language"))                 \
	X(PROJECT, 'p', "project", N_("NAME"), N_("the environment's project"))                    \
	X(REQUIREMENT, 'r', "requirement", N_("FILE"), N_("what a requirements file asks for"))    \
	X(CONSTRAINT, 'c', "constraint", N_("FILE"), N_("limit versions as this file says"))       \
	X(INDEX_URL, 0, "index-url", "URL", N_("the package index"))                               \
	X(EXTRA_INDEX_URL, 0, "extra-index-url", "URL", N_("a further package index"))             \
	X(REPO, 0, "repo", "URL",                                                                  \
		N_("a repository of R packages; the first that has a name counts"))                \
	X(PYTHON, 0, "python", N_("PATH|X.Y"), N_("interpreter of a new environment"))             \
	X(HERMETIC, 0, "hermetic", NULL, N_("a new environment inherits no packages"))             \
	X(SOURCE, 0, "source", NULL, N_("allow builds from source, in the build sandbox"))         \
	X(UPGRADE, 0, "upgrade", NULL, N_("newest versions of what is named"))                     \
	X(DEPENDENCIES, 0, "dependencies", NULL, N_("newest versions of what those need, too"))    \
	X(PRE, 0, "pre", NULL, N_("allow pre-releases"))                                           \
	X(SUGGESTS, 0, "suggests", NULL, N_("R: also what the named packages suggest"))            \
	X(EXCLUDE_NEWER, 0, "exclude-newer", N_("TIME"), N_("ignore files uploaded after TIME"))   \
	X(ACTION, 0, "action", "install|remove|upgrade|rollback", N_("what to plan"))              \
	X(YES, 'y', "yes", NULL, N_("approve every card of this job"))                             \
	X(NO_WAIT, 0, "no-wait", NULL, N_("do not wait for an answer: exit status 75"))            \
	X(LABEL, 0, "label", N_("TEXT"), N_("who asks, as the card shows it"))                     \
	X(REASON, 0, "reason", N_("TEXT"), N_("why, as the card shows it"))                        \
	X(MESSAGE, 'm', "message", N_("TEXT"), N_("words that go with the answer"))                \
	X(ALL, 'a', "all", NULL, N_("everything, not only what is current"))                       \
	X(NUMBER, 'n', "number", N_("NUMBER"), N_("at most so many rows"))                         \
	X(AFTER, 0, "after", N_("NUMBER"), N_("rows after this one"))                              \
	X(LOG, 0, "log", NULL, N_("the job's whole log"))                                          \
	X(WORKSPACE, 0, "workspace", N_("DIR"), N_("the one place that the command may write to")) \
	X(NETWORK, 0, "network", "deny|allowlist", N_("what the command may reach"))               \
	X(LIMIT, 0, "limit", N_("NAME=VALUE"),                                                     \
		N_("a limit of sandbox.limits.kernel, for this run"))                              \
	X(JSON, 0, "json", NULL, N_("JSON for programs"))                                          \
	X(QUIET, 'q', "quiet", NULL, N_("only the result"))                                        \
	X(VERBOSE, 'v', "verbose", NULL, N_("more detail"))                                        \
	X(HELP, 'h', "help", NULL, N_("this help"))

enum cli_option {
#define CLI_OPTION_ENUM(symbol, letter, name, argument, help) CLI_O_##symbol,
	CLI_OPTIONS(CLI_OPTION_ENUM)
#undef CLI_OPTION_ENUM
		CLI_O_COUNT
};

struct cli_option_row {
	char letter; /* 0: none */
	const char *name;
	const char *argument; /* NULL: a flag */
	const char *help;
};
extern const struct cli_option_row cli_option_rows[CLI_O_COUNT];

struct cli_options {
	struct pkg_argv *values[CLI_O_COUNT]; /* owned; NULL: not given; a flag's is empty */
	uint64_t read; /* those that a handler asked for */
};
#define CLI_BIT(symbol) (UINT64_C(1) << CLI_O_##symbol)

/* takes: the bits of the options that the command knows. options_first: the first word ends them. */
int cli_options_parse(uint64_t takes, bool options_first, int argc, char **argv,
	struct cli_options *out, struct pkg_argv *words, struct pkg_error *err);
void cli_options_clear(struct cli_options *options);
#define cli_cleanup_options __attribute__((cleanup(cli_options_clear)))

bool cli_option_given(struct cli_options *options, enum cli_option which);
/* The last one; NULL: not given. Borrowed. */
const char *cli_option_text(struct cli_options *options, enum cli_option which);
/* NULL: not given. Borrowed. */
const struct pkg_argv *cli_option_list(struct cli_options *options, enum cli_option which);
/* The fallback when it was not given; PKG_E_INVALID outside 1 to 2^53. */
int cli_option_number(struct cli_options *options, enum cli_option which, int64_t fallback,
	int64_t *out, struct pkg_error *err);
#endif
