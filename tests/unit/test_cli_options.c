#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

#define TAKES (CLI_BIT(ENVIRONMENT) | CLI_BIT(INDEX_URL) | CLI_BIT(EXTRA_INDEX_URL) | CLI_BIT(JSON))
#define ARGS_MAX 12

struct parsed {
	struct cli_options options;
	struct pkg_argv *words;
	struct pkg_error err;
	int rc;
};

/* text: words separated by blanks. */
static void
parse(struct parsed *parsed, bool options_first, const char *text)
{
	pkg_autofree char *copy = pkg_xasprintf("pkg %s", text);
	char *args[ARGS_MAX + 1] = { 0 };
	char *save = NULL;
	int count = 0;

	for (char *one = strtok_r(copy, " ", &save); one != NULL && count < ARGS_MAX;
		one = strtok_r(NULL, " ", &save))
		args[count++] = one;
	*parsed = (struct parsed){ .words = pkg_argv_new() };
	parsed->rc = cli_options_parse(
		TAKES, options_first, count, args, &parsed->options, parsed->words, &parsed->err);
}

static void
forget(struct parsed *parsed)
{
	cli_options_clear(&parsed->options);
	pkg_argv_free(parsed->words);
	pkg_error_clear(&parsed->err);
}

static void
wrong_option_is_named_with_the_nearest(PKG_UNUSED void **state)
{
	static const struct {
		const char *text;
		const char *message;
		const char *cure; /* NULL: none */
	} cases[] = {
		{ "--enviroment x", "'--enviroment'", "'--environment'" },
		{ "--indx-url=x", "'--indx-url'", "'--index-url'" },
		{ "--source", "'--source'", NULL },
		{ "--zzzzzzzz", "'--zzzzzzzz'", NULL },
		{ "-x", "'-x'", NULL },
		{ "-y", "'-y'", NULL },
		{ "--environment", "'--environment' wants a value", NULL },
		{ "-e", "'--environment' wants a value", NULL },
		{ "--json=1", "'--json' takes no value", NULL },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(cases); i++) {
		struct parsed parsed;

		parse(&parsed, false, cases[i].text);
		assert_int_equal(parsed.rc, -1);
		assert_int_equal(parsed.err.kind, PKG_E_INVALID);
		assert_non_null(strstr(parsed.err.message, cases[i].message));
		if (cases[i].cure != NULL)
			assert_non_null(strstr(parsed.err.cure, cases[i].cure));
		else
			assert_null(parsed.err.cure);
		forget(&parsed);
	}
}

static void
values_are_kept_in_order_and_words_may_stand_anywhere(PKG_UNUSED void **state)
{
	struct parsed parsed;
	const struct pkg_argv *list;

	parse(&parsed, false, "six -e a --extra-index-url 1 flask -e b --extra-index-url=2");
	assert_int_equal(parsed.rc, 0);
	assert_int_equal(parsed.words->count, 2);
	assert_string_equal(parsed.words->items[1], "flask");
	assert_string_equal(cli_option_text(&parsed.options, CLI_O_ENVIRONMENT), "b");
	list = cli_option_list(&parsed.options, CLI_O_EXTRA_INDEX_URL);
	assert_int_equal(list->count, 2);
	assert_string_equal(list->items[0], "1");
	assert_false(cli_option_given(&parsed.options, CLI_O_JSON));
	assert_null(cli_option_text(&parsed.options, CLI_O_INDEX_URL));
	assert_true(parsed.options.read ==
		(CLI_BIT(ENVIRONMENT) | CLI_BIT(EXTRA_INDEX_URL) | CLI_BIT(JSON) |
			CLI_BIT(INDEX_URL)));
	forget(&parsed);
}

static void
two_dashes_or_the_first_word_end_the_options(PKG_UNUSED void **state)
{
	struct parsed parsed;

	parse(&parsed, false, "-e a -- --json");
	assert_int_equal(parsed.rc, 0);
	assert_string_equal(parsed.words->items[0], "--json");
	assert_false(cli_option_given(&parsed.options, CLI_O_JSON));
	forget(&parsed);
	parse(&parsed, true, "-e a python --json");
	assert_int_equal(parsed.rc, 0);
	assert_int_equal(parsed.words->count, 2);
	assert_false(cli_option_given(&parsed.options, CLI_O_JSON));
	forget(&parsed);
}

static void
numbers_are_whole_and_positive(PKG_UNUSED void **state)
{
	static const char *const bad[] = { "0", "-1", "", "5x", "x", "99999999999999999999",
		"1e3" };
	struct cli_options options = { 0 };
	int64_t value;

	assert_int_equal(cli_option_number(&options, CLI_O_NUMBER, 7, &value, NULL), 0);
	assert_int_equal(value, 7);
	for (size_t i = 0; i < PKG_ARRAY_LEN(bad); i++) {
		pkg_cleanup_error struct pkg_error err = { 0 };

		pkg_argv_free(options.values[CLI_O_NUMBER]);
		options.values[CLI_O_NUMBER] = pkg_argv_new();
		pkg_argv_add(options.values[CLI_O_NUMBER], bad[i]);
		assert_int_equal(cli_option_number(&options, CLI_O_NUMBER, 7, &value, &err), -1);
		assert_int_equal(err.kind, PKG_E_INVALID);
	}
	cli_options_clear(&options);
}

/* --- the tables --- */

static void
every_option_has_one_name_and_one_letter_and_a_command(PKG_UNUSED void **state)
{
	for (size_t i = 0; i < CLI_O_COUNT; i++) {
		bool taken = false;

		for (size_t k = 0; k < i; k++) {
			assert_string_not_equal(cli_option_rows[i].name, cli_option_rows[k].name);
			assert_true(cli_option_rows[i].letter == 0 ||
				cli_option_rows[i].letter != cli_option_rows[k].letter);
		}
		for (size_t c = 0; c < cli_command_count; c++)
			taken = taken || (cli_commands[c].takes >> i & 1) != 0;
		assert_true(taken);
	}
}

static void
commands_are_found_by_name_family_and_nearness(PKG_UNUSED void **state)
{
	static const struct {
		const char *words[3];
		const char *found; /* NULL: none */
		const char *cure;
	} cases[] = {
		{ { "install", "x" }, "install", NULL },
		{ { "cards" }, "cards list", NULL },
		{ { "cards", "--json" }, "cards list", NULL },
		{ { "cards", "approve", "7" }, "cards approve", NULL },
		{ { "sandbox" }, "sandbox status", NULL },
		{ { "instal" }, NULL, "pkg install" },
		{ { "cards", "aprove" }, NULL, "pkg cards approve" },
		{ { "card" }, NULL, "pkg cards list" },
		{ { "xyzzyx" }, NULL, "pkg help" },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(cases); i++) {
		pkg_cleanup_error struct pkg_error err = { 0 };
		char *words[3];
		int count = 0, used = 0;
		const struct cli_command *command;

		for (; count < 3 && cases[i].words[count] != NULL; count++)
			words[count] = (char *)cases[i].words[count];
		command = cli_find_command(words, count, &used, &err);
		if (cases[i].found != NULL) {
			assert_non_null(command);
			assert_string_equal(command->name, cases[i].found);
			continue;
		}
		assert_null(command);
		assert_int_equal(err.kind, PKG_E_INVALID);
		assert_non_null(strstr(err.cure, cases[i].cure));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wrong_option_is_named_with_the_nearest),
		cmocka_unit_test(values_are_kept_in_order_and_words_may_stand_anywhere),
		cmocka_unit_test(two_dashes_or_the_first_word_end_the_options),
		cmocka_unit_test(numbers_are_whole_and_positive),
		cmocka_unit_test(every_option_has_one_name_and_one_letter_and_a_command),
		cmocka_unit_test(commands_are_found_by_name_family_and_nearness),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
