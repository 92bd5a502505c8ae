/* cli/ask.h - one question at a time to the person at the terminal.
 * Purpose    The state of the conversation: which question is open, what was typed so far. Reads without waiting,
 *            so that events go on while someone thinks.
 * Ownership  The struct is the caller's storage.
 * Errors     None; the end of input is an answer of its own.
 */
#ifndef CLI_ASK_H
#define CLI_ASK_H
#include "core/buf.h"

enum cli_question { CLI_ASK_NOTHING, CLI_ASK_PLAN, CLI_ASK_MESSAGE, CLI_ASK_CANCEL };
enum cli_reply {
	CLI_REPLY_NONE, /* not a whole line yet, or one that says nothing we know */
	CLI_REPLY_YES,
	CLI_REPLY_NO,
	CLI_REPLY_DENY_WITH, /* the next line is the message */
	CLI_REPLY_TEXT, /* text holds the line */
	CLI_REPLY_END, /* nobody is there any more */
};

struct cli_ask {
	enum cli_question question;
	struct pkg_buf typed;
	char *text; /* owned; of CLI_REPLY_TEXT */
};
void cli_ask_clear(struct cli_ask *ask);
/* Writes the prompt to stderr and opens the question. */
void cli_ask_open(struct cli_ask *ask, enum cli_question question);
void cli_ask_close(struct cli_ask *ask);
/* Reads what is there on fd. */
enum cli_reply cli_ask_read(struct cli_ask *ask, int fd);
/* Pure: what a line means as the answer to a question. */
enum cli_reply cli_ask_meaning(enum cli_question question, const char *line);
#endif
