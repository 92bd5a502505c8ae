#include "cli/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "core/buf.h"
#include "core/text.h"

#define LONG_BASE 256 /* what getopt_long gives for option 0: above every letter */
#define NUMBER_MAX (INT64_C(1) << 53) /* the largest that JSON readers keep exact */

const struct cli_option_row cli_option_rows[CLI_O_COUNT] = {
#define CLI_OPTION_ROW(symbol, letter, name, argument, help) { letter, name, argument, help },
	CLI_OPTIONS(CLI_OPTION_ROW)
#undef CLI_OPTION_ROW
};

static bool
takes_option(uint64_t takes, size_t which)
{
	return (takes >> which & 1) != 0;
}

static void
fill_getopt(uint64_t takes, bool options_first, struct option *longs, struct pkg_buf *shorts)
{
	size_t count = 0;

	pkg_buf_add(shorts, options_first ? "+:" : ":");
	for (size_t i = 0; i < CLI_O_COUNT; i++) {
		const struct cli_option_row *row = &cli_option_rows[i];
		bool argument = row->argument != NULL;

		if (!takes_option(takes, i))
			continue;
		longs[count++] = (struct option){ row->name,
			argument ? required_argument : no_argument, NULL, LONG_BASE + (int)i };
		if (row->letter != 0)
			pkg_buf_addf(shorts, "%c%s", row->letter, argument ? ":" : "");
	}
	longs[count] = (struct option){ NULL, 0, NULL, 0 };
}

static enum cli_option
which_option(int code)
{
	if (code >= LONG_BASE)
		return (enum cli_option)(code - LONG_BASE);
	for (size_t i = 0; i < CLI_O_COUNT; i++)
		if (cli_option_rows[i].letter == code)
			return (enum cli_option)i;
	return CLI_O_COUNT;
}

static const char *
nearest_option(uint64_t takes, const char *name)
{
	const char *near = NULL;
	size_t best = strlen(name) / 3 + 2;

	for (size_t i = 0; i < CLI_O_COUNT; i++) {
		size_t distance = pkg_text_distance(name, cli_option_rows[i].name);

		if (!takes_option(takes, i))
			continue;
		/* "--env" and "--index" are beginnings rather than misspellings. */
		if (strlen(name) > 1 && pkg_text_has_prefix(cli_option_rows[i].name, name))
			distance = 0;
		if (distance < best) {
			best = distance;
			near = cli_option_rows[i].name;
		}
	}
	return near;
}

/* text: the argument as typed, "--enviroment=x". */
static int
unknown_option(uint64_t takes, const char *text, struct pkg_error *err)
{
	pkg_autofree char *option = pkg_xstrndup(text, strcspn(text, "="));
	pkg_autofree char *shown = pkg_text_clean(option, strlen(option), 80, false);
	const char *near = nearest_option(takes, option + strspn(option, "-"));

	pkg_error_set(err, PKG_E_INVALID, _("option '%s' is not known here"), shown);
	if (near != NULL)
		pkg_error_cure(err, _("did you mean '--%s'?"), near);
	return -1;
}

static int
unknown_letter(int letter, struct pkg_error *err)
{
	return pkg_error_set(err, PKG_E_INVALID, _("option '-%c' is not known here"),
		letter > ' ' && letter < 0x7f ? letter : '?');
}

/* What getopt_long left in optopt tells the cases apart: 0 is an unknown or ambiguous long option. */
static int
refuse(int code, uint64_t takes, char *const *argv, struct pkg_error *err)
{
	enum cli_option which = which_option(optopt);

	if (code == ':')
		return pkg_error_set(err, PKG_E_INVALID, _("option '--%s' wants a value: %s"),
			cli_option_rows[which].name, _(cli_option_rows[which].argument));
	if (optopt == 0)
		return unknown_option(takes, argv[optind - 1], err);
	if (optopt >= LONG_BASE)
		return pkg_error_set(err, PKG_E_INVALID, _("option '--%s' takes no value"),
			cli_option_rows[which].name);
	return unknown_letter(optopt, err);
}

static void
keep(struct cli_options *options, enum cli_option which)
{
	if (options->values[which] == NULL)
		options->values[which] = pkg_argv_new();
	if (cli_option_rows[which].argument != NULL)
		pkg_argv_add(options->values[which], optarg);
}

int
cli_options_parse(uint64_t takes, bool options_first, int argc, char **argv,
	struct cli_options *out, struct pkg_argv *words, struct pkg_error *err)
{
	struct option longs[CLI_O_COUNT + 1];
	pkg_cleanup_buf struct pkg_buf shorts = { 0 };
	int code;

	fill_getopt(takes, options_first, longs, &shorts);
	opterr = 0;
	optind = 0; /* glibc: begin afresh */
	while ((code = getopt_long(argc, argv, shorts.data, longs, NULL)) != -1) {
		if (code == '?' || code == ':')
			return refuse(code, takes, argv, err);
		keep(out, which_option(code));
	}
	for (int i = optind; i < argc; i++)
		pkg_argv_add(words, argv[i]);
	return 0;
}

void
cli_options_clear(struct cli_options *options)
{
	for (size_t i = 0; i < CLI_O_COUNT; i++)
		pkg_argv_free(options->values[i]);
	*options = (struct cli_options){ 0 };
}

const struct pkg_argv *
cli_option_list(struct cli_options *options, enum cli_option which)
{
	options->read |= UINT64_C(1) << which;
	return options->values[which];
}

bool
cli_option_given(struct cli_options *options, enum cli_option which)
{
	return cli_option_list(options, which) != NULL;
}

const char *
cli_option_text(struct cli_options *options, enum cli_option which)
{
	const struct pkg_argv *list = cli_option_list(options, which);

	return list != NULL && list->count > 0 ? list->items[list->count - 1] : NULL;
}

int
cli_option_number(struct cli_options *options, enum cli_option which, int64_t fallback,
	int64_t *out, struct pkg_error *err)
{
	const char *text = cli_option_text(options, which);
	char *end = NULL;
	long long value;

	*out = fallback;
	if (text == NULL)
		return 0;
	errno = 0;
	value = strtoll(text, &end, 10);
	if (errno != 0 || end == text || *end != '\0' || value < 1 || value > NUMBER_MAX)
		return pkg_error_set(err, PKG_E_INVALID,
			_("--%s: a whole number from 1 on is wanted, '%.40s' is there"),
			cli_option_rows[which].name, text);
	*out = value;
	return 0;
}
