#include "unit.h"

#include <string.h>
#include <unistd.h>

#include "cli/ask.h"

static void
only_a_clear_yes_is_a_yes(PKG_UNUSED void **state)
{
	static const struct {
		enum cli_question question;
		const char *line;
		enum cli_reply reply;
	} cases[] = {
		{ CLI_ASK_PLAN, "y", CLI_REPLY_YES },
		{ CLI_ASK_PLAN, "YES", CLI_REPLY_YES },
		{ CLI_ASK_PLAN, "", CLI_REPLY_NO },
		{ CLI_ASK_PLAN, "n", CLI_REPLY_NO },
		{ CLI_ASK_PLAN, "d", CLI_REPLY_DENY_WITH },
		{ CLI_ASK_PLAN, "yy", CLI_REPLY_NONE },
		{ CLI_ASK_PLAN, "y n", CLI_REPLY_NONE },
		{ CLI_ASK_CANCEL, "y", CLI_REPLY_YES },
		{ CLI_ASK_CANCEL, "", CLI_REPLY_NO },
		{ CLI_ASK_CANCEL, "d", CLI_REPLY_NONE },
		{ CLI_ASK_MESSAGE, "y", CLI_REPLY_TEXT },
		{ CLI_ASK_MESSAGE, "", CLI_REPLY_TEXT },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(cases); i++)
		assert_int_equal(cli_ask_meaning(cases[i].question, cases[i].line), cases[i].reply);
}

static void
type(int fd, const char *text)
{
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

static void
line_may_come_in_pieces_and_input_may_end(PKG_UNUSED void **state)
{
	struct cli_ask ask = { 0 };
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	cli_ask_open(&ask, CLI_ASK_MESSAGE);
	type(fds[1], " not ");
	assert_int_equal(cli_ask_read(&ask, fds[0]), CLI_REPLY_NONE);
	type(fds[1], "today\x1b[2J \n");
	assert_int_equal(cli_ask_read(&ask, fds[0]), CLI_REPLY_TEXT);
	assert_string_equal(ask.text, "not today");
	assert_int_equal(ask.question, CLI_ASK_NOTHING);
	cli_ask_open(&ask, CLI_ASK_PLAN);
	type(fds[1], "what\n");
	assert_int_equal(cli_ask_read(&ask, fds[0]), CLI_REPLY_NONE);
	assert_int_equal(ask.question, CLI_ASK_PLAN);
	close(fds[1]);
	assert_int_equal(cli_ask_read(&ask, fds[0]), CLI_REPLY_END);
	close(fds[0]);
	cli_ask_clear(&ask);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_a_clear_yes_is_a_yes),
		cmocka_unit_test(line_may_come_in_pieces_and_input_may_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
