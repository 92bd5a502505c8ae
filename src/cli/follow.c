#include "cli/follow.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cli/ask.h"
#include "cli/progress.h"
#include "cli/result.h"
#include "cli/stream.h"
#include "cli/term.h"
#include "core/time.h"
#include "install/card.h"

/* A card that was answered long ago comes with its answer right behind it: wait for that before asking. */
#define SETTLE_MS 50

struct follow {
	struct cli *cli;
	const struct cli_follow *how;
	int64_t job;
	struct cli_stream *stream;
	FILE *screen; /* stderr's file, buffered */
	struct cli_progress *progress; /* NULL with --json or --quiet */
	int signals; /* signalfd: SIGINT */
	struct cli_ask ask;
	int64_t card; /* it waits for an answer; 0: none does */
	bool presented; /* its card was shown, or told of */
	int64_t present_at_ms; /* monotonic */
	bool nobody; /* stdin has ended */
	struct json_object *card_event; /* the latest */
	char *status; /* the last sentence */
	bool cancelled; /* asked for by us */
	bool left;
	struct json_object *result;
};

/* --- telling --- */

static bool
shows_json(struct follow *follow)
{
	return cli_json(follow->cli) && !follow->how->silent;
}

static void
hold_screen(struct follow *follow, bool hold)
{
	if (follow->progress != NULL)
		cli_progress_pause(follow->progress, hold);
}

static void
show_card(struct follow *follow)
{
	struct json_object *plan = pkg_json_get(follow->card_event, "plan");
	struct cli_term term;
	pkg_autofree char *text = NULL;

	cli_term_look(STDERR_FILENO, &term);
	text = install_card_text(plan, NULL, term.colour);
	hold_screen(follow, true);
	fprintf(stderr, _("\ncard %" PRId64 " of job %" PRId64 "\n%s"), follow->card, follow->job,
		text);
}

/* Where it waits and how to answer, for whoever reads along. */
static void
tell_where(struct follow *follow)
{
	if (follow->progress != NULL)
		cli_progress_clear(follow->progress);
	cli_note(follow->cli,
		_("job %" PRId64 " waits for an answer to card %" PRId64 ":\n"
		  "  pkg cards show %" PRId64 "\n"
		  "  pkg cards approve %" PRId64 "    or    pkg cards deny %" PRId64),
		follow->job, follow->card, follow->card, follow->card, follow->card);
}

/* --- answering --- */

static int
send_answer(struct follow *follow, const char *word, const char *message, struct pkg_error *err)
{
	pkg_cleanup(pkg_json_put) struct json_object *body = json_object_new_object();
	pkg_cleanup(pkg_json_put) struct json_object *answered = NULL;
	pkg_autofree char *path = pkg_xasprintf("/v1/cards/%" PRId64, follow->card);

	pkg_json_set_str(body, "answer", word);
	pkg_json_set_str(body, "plan_hash", pkg_json_str(follow->card_event, "hash"));
	if (message != NULL && *message != '\0')
		pkg_json_set_str(body, "message", message);
	answered = cli_client_control(follow->cli->client, path, body, err);
	return answered != NULL ? 0 : -1;
}

/* Someone else was faster, or the plan was made again: the events will tell. */
static bool
is_overtaken(const struct pkg_error *err)
{
	return err->kind == PKG_E_ANSWERED || err->kind == PKG_E_EXPIRED;
}

static int
approve_for_yes(struct follow *follow, struct pkg_error *err)
{
	pkg_cleanup_error struct pkg_error why = { 0 };

	if (send_answer(follow, "approve", NULL, &why) == 0 || is_overtaken(&why)) {
		follow->left = follow->how->no_wait;
		return 0;
	}
	pkg_error_move(err, &why);
	return pkg_error_prefix(err,
		_("job %" PRId64 ": --yes could not approve card %" PRId64 ", which stays pending"),
		follow->job, follow->card);
}

static void
answer_from_terminal(struct follow *follow, const char *word, const char *message)
{
	pkg_cleanup_error struct pkg_error why = { 0 };

	hold_screen(follow, false);
	if (send_answer(follow, word, message, &why) == 0 || is_overtaken(&why))
		return;
	(void)cli_print_error(false, "", &why);
	tell_where(follow);
}

/* A question whose only end is an error is not asked. */
static bool
can_ask(struct follow *follow)
{
	return follow->how->ask && !follow->nobody && !cli_json(follow->cli) &&
		cli_client_may_control(follow->cli->client, NULL) == 0;
}

static int
present_card(struct follow *follow, struct pkg_error *err)
{
	follow->presented = true;
	if (follow->how->yes)
		return approve_for_yes(follow, err);
	if (follow->how->no_wait) {
		follow->left = true;
		return 0;
	}
	if (!can_ask(follow)) {
		tell_where(follow);
		return 0;
	}
	show_card(follow);
	cli_ask_open(&follow->ask, CLI_ASK_PLAN);
	return 0;
}

/* --- events --- */

static void
on_card(struct follow *follow, struct json_object *event)
{
	int64_t before = pkg_json_int(follow->card_event, "card", 0);
	int64_t card = pkg_json_int(event, "card", 0);

	/* Told twice: it is presented once. */
	if (card == follow->card)
		return;
	cli_ask_close(&follow->ask);
	hold_screen(follow, false);
	if (before != 0 && before != card) {
		pkg_autofree char *status = cli_text(follow->status);

		if (follow->progress != NULL)
			cli_progress_clear(follow->progress);
		cli_note(follow->cli,
			_("card %" PRId64 " takes the place of card %" PRId64
			  ": the plan is another one now%s%s%s"),
			card, before, *status != '\0' ? " (" : "", status,
			*status != '\0' ? ")" : "");
	}
	json_object_put(follow->card_event);
	follow->card_event = json_object_get(event);
	follow->card = card;
	follow->presented = false;
	follow->present_at_ms = pkg_time_mono_ms() + SETTLE_MS;
}

static void
on_answer(struct follow *follow, struct json_object *event)
{
	struct json_object *by = pkg_json_get(event, "by");
	pkg_autofree char *state = cli_text(pkg_json_str(event, "state"));
	pkg_autofree char *via = cli_text(pkg_json_str(by, "via"));
	pkg_autofree char *message = cli_text(pkg_json_str(event, "message"));

	cli_ask_close(&follow->ask);
	hold_screen(follow, false);
	if (follow->progress != NULL)
		cli_progress_clear(follow->progress);
	/* A denial is in the job's own end. */
	if (strcmp(state, "denied") != 0)
		cli_note(follow->cli, _("card %" PRId64 ": %s by uid %" PRId64 " (%s)%s%s"),
			pkg_json_int(event, "card", 0), state, pkg_json_int(by, "uid", -1), via,
			*message != '\0' ? ": " : "", message);
	follow->card = 0;
}

static void
on_result(struct follow *follow, struct json_object *event)
{
	cli_ask_close(&follow->ask);
	hold_screen(follow, false);
	follow->result = json_object_get(event);
}

static void
on_event(struct follow *follow, const struct cli_event *event)
{
	if (shows_json(follow))
		cli_print_json(stdout, event->text);
	if (follow->progress != NULL)
		cli_progress_event(follow->progress, event->json, pkg_time_mono_ms());
	if (strcmp(event->type, "card") == 0) {
		on_card(follow, event->json);
	} else if (strcmp(event->type, "answer") == 0) {
		on_answer(follow, event->json);
	} else if (strcmp(event->type, "result") == 0) {
		on_result(follow, event->json);
	} else if (strcmp(event->type, "status") == 0) {
		free(follow->status);
		follow->status = pkg_xstrdup(pkg_json_str(event->json, "text"));
	}
}

/* --- the terminal --- */

static void
cancel_job(struct follow *follow)
{
	pkg_autofree char *path = pkg_xasprintf("/v1/jobs/%" PRId64, follow->job);
	pkg_cleanup_error struct pkg_error why = { 0 };
	struct json_object *answer = cli_client_cancel(follow->cli->client, path, &why);

	follow->cancelled = true;
	if (answer == NULL) {
		(void)cli_print_error(cli_json(follow->cli), "cancel", &why);
		follow->left = true;
	}
	json_object_put(answer);
}

/* The question that Ctrl-C interrupted, again. */
static void
resume_questions(struct follow *follow)
{
	if (follow->card != 0 && follow->presented && can_ask(follow))
		cli_ask_open(&follow->ask, CLI_ASK_PLAN);
	else
		hold_screen(follow, false);
}

static void
on_input(struct follow *follow)
{
	enum cli_question question = follow->ask.question;

	switch (cli_ask_read(&follow->ask, STDIN_FILENO)) {
	case CLI_REPLY_NONE:
		break;
	case CLI_REPLY_YES:
		if (question == CLI_ASK_CANCEL)
			cancel_job(follow);
		else
			answer_from_terminal(follow, "approve", NULL);
		break;
	case CLI_REPLY_NO:
		if (question == CLI_ASK_CANCEL)
			resume_questions(follow);
		else
			answer_from_terminal(follow, "deny", NULL);
		break;
	case CLI_REPLY_DENY_WITH:
		cli_ask_open(&follow->ask, CLI_ASK_MESSAGE);
		break;
	case CLI_REPLY_TEXT:
		answer_from_terminal(follow, "deny", follow->ask.text);
		break;
	case CLI_REPLY_END:
		/* A terminal that went away has said neither yes nor no. */
		follow->nobody = true;
		cli_ask_close(&follow->ask);
		hold_screen(follow, false);
		if (follow->card != 0)
			tell_where(follow);
		break;
	}
}

static void
on_interrupt(struct follow *follow)
{
	enum cli_question question = follow->ask.question;
	struct signalfd_siginfo info;

	if (read(follow->signals, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return;
	if (follow->progress != NULL)
		cli_progress_clear(follow->progress);
	/* The terminal has echoed "^C" into the line. */
	if (question == CLI_ASK_NOTHING && isatty(STDERR_FILENO))
		fputc('\n', stderr);
	cli_ask_close(&follow->ask);
	if (follow->how->only_watch || follow->cancelled || question == CLI_ASK_CANCEL) {
		follow->left = true;
	} else if (follow->how->ask && !follow->nobody && !cli_json(follow->cli)) {
		hold_screen(follow, true);
		cli_ask_open(&follow->ask, CLI_ASK_CANCEL);
	} else {
		cancel_job(follow);
	}
}

/* --- the loop --- */

static int64_t
next_timeout(const struct follow *follow)
{
	int64_t now = pkg_time_mono_ms();

	if (follow->card != 0 && !follow->presented)
		return follow->present_at_ms > now ? follow->present_at_ms - now : 0;
	return follow->progress != NULL ? cli_progress_wait(follow->progress, now) : -1;
}

static bool
is_card_due(const struct follow *follow)
{
	return follow->card != 0 && !follow->presented &&
		pkg_time_mono_ms() >= follow->present_at_ms;
}

static int
step(struct follow *follow, struct pkg_error *err)
{
	bool asking = follow->ask.question != CLI_ASK_NOTHING;
	struct curl_waitfd others[2] = {
		{ .fd = follow->signals, .events = CURL_WAIT_POLLIN },
		{ .fd = STDIN_FILENO, .events = CURL_WAIT_POLLIN },
	};
	cli_cleanup_event struct cli_event event = { 0 };
	int rc = cli_stream_next(
		follow->stream, others, asking ? 2 : 1, next_timeout(follow), &event, err);

	if (rc < 0)
		return -1;
	if (rc > 0)
		on_event(follow, &event);
	else if (others[0].revents != 0)
		on_interrupt(follow);
	else if (asking && others[1].revents != 0)
		on_input(follow);
	if (is_card_due(follow) && present_card(follow, err) < 0)
		return -1;
	if (follow->progress != NULL)
		cli_progress_tick(follow->progress, pkg_time_mono_ms());
	return 0;
}

/* What stands in for a final line when the job goes on without us. */
static struct json_object *
pending_line(struct follow *follow, struct pkg_error *err)
{
	struct cli_client *client = follow->cli->client;
	pkg_autofree char *path = pkg_xasprintf("/v1/jobs/%" PRId64, follow->job);
	pkg_cleanup(pkg_json_put) struct json_object *job = cli_client_get(client, path, err);
	pkg_cleanup(pkg_json_put) struct json_object *env = NULL;
	pkg_autofree char *env_path = NULL;
	pkg_autofree char *message = NULL;
	pkg_autofree char *cure = NULL;

	if (job == NULL)
		return NULL;
	env_path = pkg_xasprintf("/v1/environments/%s/%s/%s", pkg_json_str_or(job, "project", ""),
		pkg_json_str_or(job, "language", ""), pkg_json_str_or(job, "environment", ""));
	env = cli_client_get(client, env_path, NULL);
	if (follow->card != 0) {
		message = pkg_xasprintf(_("job %" PRId64 " waits for an answer to card %" PRId64),
			follow->job, follow->card);
		cure = pkg_xasprintf("pkg cards approve %" PRId64, follow->card);
	} else {
		message = pkg_xasprintf(_("job %" PRId64 " goes on"), follow->job);
		cure = pkg_xasprintf("pkg jobs watch %" PRId64, follow->job);
	}
	return cli_result_pending(
		job, env, pkg_json_get(follow->card_event, "plan"), message, cure);
}

static int
run(struct follow *follow, struct pkg_error *err)
{
	while (follow->result == NULL && !follow->left)
		if (step(follow, err) < 0)
			return -1;
	if (follow->result == NULL) {
		follow->result = pending_line(follow, err);
		if (follow->result != NULL && shows_json(follow))
			cli_print_object(follow->result);
	}
	return follow->result != NULL ? 0 : -1;
}

/* From here on Ctrl-C is a message to us, not our end. */
static int
open_signals(sigset_t *old)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, old);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void
open_screen(struct follow *follow)
{
	struct cli_term term;
	struct cli_progress_style style;

	if (cli_quiet(follow->cli) || cli_json(follow->cli))
		return;
	follow->screen = fdopen(dup(STDERR_FILENO), "w");
	if (follow->screen == NULL)
		return;
	cli_term_look(STDERR_FILENO, &term);
	style = (struct cli_progress_style){
		.live = term.live,
		.colour = term.colour,
		.utf8 = term.utf8,
		.verbose = cli_verbose(follow->cli),
	};
	follow->progress = cli_progress_new(follow->screen, &style);
}

static void
close_follow(struct follow *follow)
{
	cli_progress_free(follow->progress);
	if (follow->screen != NULL)
		(void)fclose(follow->screen);
	cli_ask_clear(&follow->ask);
	cli_stream_free(follow->stream);
	json_object_put(follow->card_event);
	free(follow->status);
	pkg_close(&follow->signals);
}

int
cli_follow(struct cli *cli, int64_t job, const struct cli_follow *how, struct json_object **result,
	struct pkg_error *err)
{
	struct follow follow = { .cli = cli, .how = how, .job = job };
	sigset_t old;
	int rc;

	follow.signals = open_signals(&old);
	if (follow.signals < 0)
		return pkg_error_errno(err, errno, "signalfd");
	follow.stream = cli_stream_open(cli->client, job);
	open_screen(&follow);
	rc = run(&follow, err);
	*result = follow.result;
	close_follow(&follow);
	sigprocmask(SIG_SETMASK, &old, NULL);
	return rc;
}

int
cli_follow_end(struct cli *cli, struct json_object *result, struct pkg_error *err)
{
	bool verbose = cli_verbose(cli);
	struct cli_term term;

	if (cli_json(cli))
		return cli_result_exit(result);
	if (cli_result_error(result, err) < 0)
		return -1;
	if (cli_result_exit(result) == CLI_EXIT_PENDING) {
		pkg_autofree char *text = cli_text(pkg_json_str(result, "message"));
		pkg_autofree char *cure = cli_text(pkg_json_str(result, "cure"));

		printf("%s\n%s\n", text, cure);
		return CLI_EXIT_PENDING;
	}
	cli_term_look(STDOUT_FILENO, &term);
	cli_result_print(result,
		&(struct cli_result_style){ .colour = term.colour, .verbose = verbose }, stdout);
	return 0;
}

static void
tell_job(struct cli *cli, int64_t job, bool no_wait)
{
	pkg_cleanup(pkg_json_put) struct json_object *line = NULL;

	if (cli_json(cli)) {
		line = json_object_new_object();
		pkg_json_set_str(line, "type", "job");
		pkg_json_set_int(line, "job", job);
		cli_print_object(line);
	} else if (no_wait) {
		cli_note(cli, _("job %" PRId64), job);
	}
}

int
cli_follow_request(struct cli *cli, struct json_object *request, const struct cli_follow *how,
	struct pkg_error *err)
{
	pkg_cleanup(pkg_json_put) struct json_object *result = NULL;
	int64_t job = cli_client_submit(cli->client, request, err);

	if (job < 0)
		return -1;
	tell_job(cli, job, how->no_wait);
	if (cli_follow(cli, job, how, &result, err) < 0)
		return -1;
	return cli_follow_end(cli, result, err);
}

int
cli_follow_request_asking(struct cli *cli, struct json_object *request, struct pkg_error *err)
{
	struct cli_follow how = {
		.yes = cli_option_given(&cli->options, CLI_O_YES),
		.no_wait = cli_option_given(&cli->options, CLI_O_NO_WAIT),
		.ask = cli_term_can_ask(),
	};

	return cli_follow_request(cli, request, &how, err);
}
