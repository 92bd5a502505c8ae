#include "cli/cli.h"

#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "cli/term.h"
#include "core/path.h"
#include "core/text.h"
#include "install/names.h"

#define NAME_WORDS 2
#define SUMMARY_COLUMN 18
#define MESSAGE_MAX (64 * 1024)

/* --- which command --- */

/* How many words of the command's name stand at the beginning of words; 0: it is another command. */
static int
words_match(const char *name, char *const *words, int count)
{
	for (int i = 0; i < count && i < NAME_WORDS; i++) {
		size_t len = strcspn(name, " ");

		if (strlen(words[i]) != len || strncmp(words[i], name, len) != 0)
			return 0;
		if (name[len] == '\0')
			return i + 1;
		name += len + 1;
	}
	return 0;
}

/* "cards" alone, or with options only, is the first command of its family. */
static bool
is_family(const char *name, const char *word)
{
	size_t len = strlen(word);

	return strncmp(name, word, len) == 0 && name[len] == ' ';
}

static const struct cli_command *
first_of_family(const char *word)
{
	for (size_t i = 0; i < cli_command_count; i++)
		if (is_family(cli_commands[i].name, word))
			return &cli_commands[i];
	return NULL;
}

static void
nearest_command(const char *typed, struct pkg_error *err)
{
	const char *near = NULL;
	size_t best = strlen(typed) / 3 + 2;

	for (size_t i = 0; i < cli_command_count; i++) {
		const char *name = cli_commands[i].name;
		pkg_autofree char *family = pkg_xstrndup(name, strcspn(name, " "));
		size_t distance = pkg_text_distance(typed, name);
		size_t to_family = pkg_text_distance(typed, family);

		if (distance < best || to_family < best) {
			best = distance < to_family ? distance : to_family;
			near = distance <= to_family ? name : first_of_family(family)->name;
		}
	}
	if (near != NULL)
		pkg_error_cure(err, _("did you mean 'pkg %s'?"), near);
	else
		pkg_error_cure(err, "%s", _("pkg help lists the commands"));
}

const struct cli_command *
cli_find_command(char *const *words, int count, int *used, struct pkg_error *err)
{
	pkg_autofree char *typed = NULL;
	const struct cli_command *family;

	for (size_t i = 0; i < cli_command_count; i++) {
		*used = words_match(cli_commands[i].name, words, count);
		if (*used > 0)
			return &cli_commands[i];
	}
	family = first_of_family(words[0]);
	*used = 1;
	if (family != NULL && (count == 1 || words[1][0] == '-'))
		return family;
	typed = family != NULL ? pkg_xasprintf("%s %s", words[0], words[1]) : pkg_xstrdup(words[0]);
	pkg_error_set(err, PKG_E_INVALID, _("'%.80s' is no command"), typed);
	nearest_command(typed, err);
	return NULL;
}

/* --- help --- */

static void
print_option(const struct cli_option_row *row, FILE *out)
{
	pkg_autofree char *argument =
		row->argument != NULL ? pkg_xasprintf(" %s", _(row->argument)) : pkg_xstrdup("");
	pkg_autofree char *name = pkg_xasprintf("--%s%s", row->name, argument);
	char letter[5] = "    ";

	if (row->letter != 0)
		(void)snprintf(letter, sizeof(letter), "-%c, ", row->letter);
	if (cli_text_columns(name) > 24)
		fprintf(out, "  %s%s\n%32s%s\n", letter, name, "", _(row->help));
	else
		fprintf(out, "  %s%s%*s  %s\n", letter, name, (int)(24 - cli_text_columns(name)),
			"", _(row->help));
}

void
cli_print_help(const struct cli_command *command, FILE *out)
{
	const char *words = command->words[0] != '\0' ? _(command->words) : "";

	fprintf(out, _("usage: pkg %s [OPTIONS]%s%s\n"), command->name, *words != '\0' ? " " : "",
		words);
	fprintf(out, "%s\n\n%s\n", _(command->summary), _("Options:"));
	for (size_t i = 0; i < CLI_O_COUNT; i++)
		if ((command->takes >> i & 1) != 0)
			print_option(&cli_option_rows[i], out);
}

static void
print_commands(FILE *out)
{
	fputs(_("usage: pkg COMMAND [OPTIONS] [ARGUMENTS]\n\n"), out);
	for (size_t i = 0; i < cli_command_count; i++)
		fprintf(out, "  %-*s%s\n", SUMMARY_COLUMN, cli_commands[i].name,
			_(cli_commands[i].summary));
	fputs(_("\npkg help COMMAND tells what a command takes; pkg(1) tells the whole.\n"), out);
}

int
cli_cmd_help(struct cli *cli, struct pkg_error *err)
{
	const struct cli_command *command;
	int used;

	if (cli->words->count == 0) {
		print_commands(stdout);
		return 0;
	}
	command = cli_find_command(cli->words->items, (int)cli->words->count, &used, err);
	if (command == NULL)
		return -1;
	cli_print_help(command, stdout);
	return 0;
}

/* --- for handlers --- */

bool
cli_json(struct cli *cli)
{
	return cli_option_given(&cli->options, CLI_O_JSON);
}

bool
cli_quiet(struct cli *cli)
{
	return cli_option_given(&cli->options, CLI_O_QUIET);
}

bool
cli_verbose(struct cli *cli)
{
	return cli_option_given(&cli->options, CLI_O_VERBOSE);
}

void
cli_print_object(struct json_object *json)
{
	pkg_autofree char *text = pkg_json_line(json);

	cli_print_json(stdout, text);
}

void
cli_note(struct cli *cli, const char *format, ...)
{
	pkg_autofree char *text = NULL;
	pkg_autofree char *clean = NULL;
	va_list args;

	if (cli_quiet(cli) || cli_json(cli))
		return;
	va_start(args, format);
	text = pkg_xvasprintf(format, args);
	va_end(args);
	clean = pkg_text_clean(text, strlen(text), MESSAGE_MAX, true);
	fprintf(stderr, "%s\n", clean);
}

/* Names go into a path of the API: one that is no name must not reach it ("..", "a/b", ""). */
static int
check_key(const char *project, const char *language, const char *name, struct pkg_error *err)
{
	pkg_cleanup_install_key struct install_key key = { 0 };

	return install_key_resolve(project, language, name, &key, err);
}

static const char *
last_value(const struct cli *cli, enum cli_option which)
{
	const struct pkg_argv *list = cli->options.values[which];

	return list != NULL && list->count > 0 ? list->items[list->count - 1] : NULL;
}

static char *
segment_or_default(const char *text)
{
	return cli_client_segment(text != NULL ? text : "default");
}

char *
cli_environment_path(struct cli *cli, const char *name, const char *rest)
{
	const char *given = cli_option_text(&cli->options, CLI_O_ENVIRONMENT);
	const char *language = cli_option_text(&cli->options, CLI_O_LANGUAGE);
	pkg_autofree char *project =
		segment_or_default(cli_option_text(&cli->options, CLI_O_PROJECT));
	pkg_autofree char *lang = cli_client_segment(language != NULL ? language : "python");
	pkg_autofree char *env = segment_or_default(name != NULL ? name : given);

	return pkg_xasprintf("/v1/environments/%s/%s/%s%s", project, lang, env, rest);
}

int
cli_environment_word(struct cli *cli, const char **name, struct pkg_error *err)
{
	const char *given = cli_option_text(&cli->options, CLI_O_ENVIRONMENT);
	const char *word = cli->words->count > 0 ? cli->words->items[0] : NULL;

	if (given != NULL && word != NULL && strcmp(given, word) != 0)
		return pkg_error_set(err, PKG_E_INVALID,
			_("two environments are named: '%.80s' and '%.80s'"), given, word);
	*name = word != NULL ? word : given;
	return check_key(NULL, NULL, *name, err);
}

int
cli_parse_id(const char *text, const char *what, int64_t *out, struct pkg_error *err)
{
	char *end = NULL;
	long long value;

	errno = 0;
	value = strtoll(text, &end, 10);
	if (errno != 0 || end == text || *end != '\0' || value < 1)
		return pkg_error_set(
			err, PKG_E_INVALID, _("'%.40s' is not the number of a %s"), text, what);
	*out = value;
	return 0;
}

static void
print_error_json(const struct pkg_error *err)
{
	pkg_cleanup(pkg_json_put) struct json_object *json = json_object_new_object();

	pkg_json_set_str(json, "type", "error");
	pkg_json_set_str(json, "kind", pkg_error_kind_name(err->kind));
	pkg_json_set_str(json, "message", err->message);
	pkg_json_set_str(json, "cure", err->cure);
	cli_print_object(json);
}

int
cli_print_error(bool json, const char *what, const struct pkg_error *err)
{
	const char *message = err->message != NULL ? err->message : "";
	pkg_autofree char *clean = pkg_text_clean(message, strlen(message), MESSAGE_MAX, true);

	if (json) {
		print_error_json(err);
		return pkg_error_kind_exit(err->kind);
	}
	fflush(stdout);
	fprintf(stderr, "pkg: %s%s%s\n", what, *what != '\0' ? ": " : "", clean);
	if (err->cure != NULL) {
		pkg_autofree char *cure =
			pkg_text_clean(err->cure, strlen(err->cure), MESSAGE_MAX, true);

		/* A word that tests and people look for; it stays the last line. */
		fprintf(stderr, _("cure: %s\n"), cure);
	}
	return pkg_error_kind_exit(err->kind);
}

/* --- main --- */

static int
check_words(const struct cli *cli, struct pkg_error *err)
{
	const struct cli_command *command = cli->command;
	int count = (int)cli->words->count;

	if (count < command->min_words)
		pkg_error_set(err, PKG_E_INVALID, _("%s is missing"), _(command->words));
	else if (command->max_words >= 0 && count > command->max_words)
		pkg_error_set(err, PKG_E_INVALID, _("'%.80s' is one argument too many"),
			cli->words->items[command->max_words]);
	else
		return 0;
	return pkg_error_cure(err, "pkg help %s", command->name);
}

int
cli_run(struct cli *cli, struct pkg_error *err)
{
	if (cli_option_given(&cli->options, CLI_O_HELP)) {
		cli_print_help(cli->command, stdout);
		return 0;
	}
	if (check_words(cli, err) < 0 ||
		check_key(last_value(cli, CLI_O_PROJECT), last_value(cli, CLI_O_LANGUAGE),
			last_value(cli, CLI_O_ENVIRONMENT), err) < 0 ||
		pkg_home_find(false, &cli->home, err) < 0)
		return -1;
	cli->client = cli_client_new(&cli->home);
	return cli->command->handler(cli, err);
}

static void
cli_clear(struct cli *cli)
{
	cli_client_free(cli->client);
	cli_options_clear(&cli->options);
	pkg_argv_free(cli->words);
	pkg_home_clear(&cli->home);
}

/* Before the options are read for good: an error in them has to be told in the right form. */
static bool
asks_for_json(int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (strcmp(argv[i], "--json") == 0)
			return true;
	return false;
}

static int
parse_and_run(int argc, char **argv, struct cli *cli, struct pkg_error *err)
{
	int used;

	cli->command = cli_find_command(argv + 1, argc - 1, &used, err);
	if (cli->command == NULL)
		return -1;
	/* getopt_long() takes the last word of the name for the program's. */
	if (cli_options_parse(cli->command->takes, cli->command->options_first, argc - used,
		    argv + used, &cli->options, cli->words, err) < 0)
		return -1;
	return cli_run(cli, err);
}

/* Beside the data, wherever that is: an installed tree that was moved keeps its languages. */
static char *
catalogues(void)
{
	const char *data = getenv("PKGD_DATADIR");
	pkg_autofree char *dir = NULL;

	if (data == NULL || data[0] != '/')
		return pkg_xstrdup(PKGD_LOCALEDIR);
	dir = pkg_path_dir(data);
	return pkg_path_join(dir, "locale");
}

static void
choose_language(bool json)
{
	pkg_autofree char *dir = catalogues();

	setlocale(LC_ALL, "");
	/* Numbers are for programs, too; JSON's messages are in one language whoever asks. */
	setlocale(LC_NUMERIC, "C");
	if (json)
		setlocale(LC_MESSAGES, "C");
	bindtextdomain("pkgd", dir);
	textdomain("pkgd");
}

/* Output that did not arrive is a failure: a full disk must not look like success. */
static int
finish_output(int status)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	fprintf(stderr, _("pkg: writing the output: %s\n"), strerror(errno));
	return status == 0 ? 1 : status;
}

int
cli_main(int argc, char **argv)
{
	struct cli cli = { .words = pkg_argv_new() };
	pkg_cleanup_error struct pkg_error err = { 0 };
	bool json = asks_for_json(argc, argv);
	int status;

	choose_language(json);
	if (argc == 1 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
		print_commands(argc == 1 ? stderr : stdout);
		status = argc == 1 ? 2 : 0;
	} else if (strcmp(argv[1], "--version") == 0) {
		puts("pkg " PACKAGE_VERSION);
		status = 0;
	} else {
		status = parse_and_run(argc, argv, &cli, &err);
		if (status < 0)
			status = cli_print_error(
				json, cli.command != NULL ? cli.command->name : "", &err);
	}
	cli_clear(&cli);
	return finish_output(status);
}
