#include "cli/ask.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "cli/i18n.h"
#include "core/text.h"

#define LINE_MAX_BYTES 2000

void
cli_ask_clear(struct cli_ask *ask)
{
	pkg_buf_clear(&ask->typed);
	free(ask->text);
	*ask = (struct cli_ask){ 0 };
}

static const char *
prompt_of(enum cli_question question)
{
	switch (question) {
	case CLI_ASK_PLAN:
		return _("Apply this plan? [y/N/d=deny with a message] ");
	case CLI_ASK_MESSAGE:
		return _("message: ");
	case CLI_ASK_CANCEL:
		return _("cancel the job? [y/N] ");
	case CLI_ASK_NOTHING:
		break;
	}
	return "";
}

void
cli_ask_open(struct cli_ask *ask, enum cli_question question)
{
	ask->question = question;
	pkg_buf_truncate(&ask->typed, 0);
	fputs(prompt_of(question), stderr);
	fflush(stderr);
}

void
cli_ask_close(struct cli_ask *ask)
{
	if (ask->question != CLI_ASK_NOTHING)
		fputc('\n', stderr);
	ask->question = CLI_ASK_NOTHING;
}

static bool
is_word(const char *line, const char *letter, const char *word)
{
	return strcasecmp(line, letter) == 0 || strcasecmp(line, word) == 0;
}

enum cli_reply
cli_ask_meaning(enum cli_question question, const char *line)
{
	if (question == CLI_ASK_MESSAGE)
		return CLI_REPLY_TEXT;
	if (is_word(line, "y", "yes"))
		return CLI_REPLY_YES;
	if (question == CLI_ASK_PLAN && is_word(line, "d", "deny"))
		return CLI_REPLY_DENY_WITH;
	if (*line == '\0' || is_word(line, "n", "no"))
		return CLI_REPLY_NO;
	return CLI_REPLY_NONE;
}

static char *
trimmed(const char *line, size_t len)
{
	while (len > 0 && strchr(" \t\r", line[len - 1]) != NULL)
		len--;
	for (; len > 0 && strchr(" \t", *line) != NULL; len--)
		line++;
	return pkg_text_clean(line, len, LINE_MAX_BYTES, false);
}

enum cli_reply
cli_ask_read(struct cli_ask *ask, int fd)
{
	char data[512];
	ssize_t got = read(fd, data, sizeof(data));
	char *end;
	enum cli_reply reply;

	if (got < 0 && (errno == EINTR || errno == EAGAIN))
		return CLI_REPLY_NONE;
	if (got <= 0)
		return CLI_REPLY_END;
	if (ask->typed.len < LINE_MAX_BYTES)
		pkg_buf_add_mem(&ask->typed, data, (size_t)got);
	end = memchr(data, '\n', (size_t)got);
	if (end == NULL)
		return CLI_REPLY_NONE;
	end = memchr(ask->typed.data, '\n', ask->typed.len);
	free(ask->text);
	ask->text = trimmed(
		ask->typed.data, end != NULL ? (size_t)(end - ask->typed.data) : ask->typed.len);
	reply = cli_ask_meaning(ask->question, ask->text);
	if (reply == CLI_REPLY_NONE)
		cli_ask_open(ask, ask->question);
	else
		/* The person's own newline ended the line on the screen. */
		ask->question = CLI_ASK_NOTHING;
	return reply;
}
