/* cli/progress.h - what a person sees of a running job, on stderr.
 * Purpose    On a terminal one live block, bars of the running downloads above a line with the phase, redrawn at
 *            most ten times a second and gone at the end; elsewhere plain lines. Everything in events is cleaned
 *            before it is shown.
 * Ownership  A heap object; it borrows the stream. Events are borrowed.
 * Errors     None: what cannot be drawn is left out.
 */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H
#include "core/json.h"
#include <stdio.h>

struct cli_progress_style {
	bool live; /* the block; else lines */
	bool colour;
	bool utf8;
	bool verbose; /* builders' output and connections, too */
	size_t width; /* of the terminal; 0: ask it each time */
};

struct cli_progress;
struct cli_progress *cli_progress_new(FILE *out, const struct cli_progress_style *style);
void cli_progress_free(struct cli_progress *progress);
PKG_DEFINE_CLEANUP(struct cli_progress, cli_progress_free)
/* now_ms: monotonic, in all of these. */
void cli_progress_event(struct cli_progress *progress, struct json_object *event, int64_t now_ms);
/* Draws if it is time to. */
void cli_progress_tick(struct cli_progress *progress, int64_t now_ms);
/* Milliseconds until it wants a tick; -1: none. */
int64_t cli_progress_wait(const struct cli_progress *progress, int64_t now_ms);
/* Takes the block off the screen, so that other text can be written; the next tick draws it again. */
void cli_progress_clear(struct cli_progress *progress);
/* Nothing is drawn while a person is asked something. */
void cli_progress_pause(struct cli_progress *progress, bool paused);
#endif
