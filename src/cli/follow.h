/* cli/follow.h - a job, from its submission to its end, with whoever may answer in between.
 * Purpose    Shows what the job says, asks the person at the terminal about its card or tells where it waits,
 *            passes Ctrl-C on as the command means it.
 * Ownership  struct cli_follow is the caller's; the final line is given.
 * Errors     As cli/stream.h; PKG_E_FORBIDDEN when --yes may not answer (the card stays pending).
 */
#ifndef CLI_FOLLOW_H
#define CLI_FOLLOW_H
#include "cli/cli.h"

struct cli_follow {
	bool yes; /* approve every card */
	bool ask; /* a person is there to be asked */
	bool no_wait; /* leave as soon as a card waits */
	bool only_watch; /* Ctrl-C leaves, and nobody is asked */
	bool silent; /* events are not shown as JSON: the command prints something else */
};

/* Follows; *result is the final line, or one with status "pending" when the job was left to itself. With --json
 * all events and the final line have been printed, unless silent. */
int cli_follow(struct cli *cli, int64_t job, const struct cli_follow *how,
	struct json_object **result, struct pkg_error *err);
/* Submits, follows, prints the end; the exit status, or -1 with *err. */
int cli_follow_request(struct cli *cli, struct json_object *request, const struct cli_follow *how,
	struct pkg_error *err);
/* The same as -y and --no-wait say. */
int cli_follow_request_asking(struct cli *cli, struct json_object *request, struct pkg_error *err);
/* The end of a job as the person sees it; with --json nothing. The exit status, or -1 with *err. */
int cli_follow_end(struct cli *cli, struct json_object *result, struct pkg_error *err);
#endif
