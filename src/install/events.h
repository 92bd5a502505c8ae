/* install/events.h - what a job says while it runs, on disk first.
 * Purpose    <state>/jobs/ID/events.jsonl: one JSON object a line, appended with one write(2), so that the
 *            daemon can stream it from any byte offset and a killed writer loses nothing. The raw output of
 *            children goes to log.txt beside it, cleaned of control characters and capped.
 * Ownership  struct install_events is a heap object; JSON rows given to it are taken.
 * Errors     Opening may fail; a row that cannot be written never stops a job.
 *
 * Progress lines are limited to ten a second per file, output lines to twenty a second; what is dropped from
 * the event stream is still in the log.
 */
#ifndef INSTALL_EVENTS_H
#define INSTALL_EVENTS_H
#include "core/home.h"
#include "core/json.h"
#include "fetch/download.h"

#define INSTALL_LOG_MAX (16 * 1024 * 1024) /* bytes of log.txt; then one line says it was cut */

struct install_events;
struct install_events *install_events_open(
	const struct pkg_home *home, int64_t job, struct pkg_error *err);
void install_events_free(struct install_events *events);
PKG_DEFINE_CLEANUP(struct install_events, install_events_free)

/* Adds "time" and appends. */
void install_events_row(struct install_events *events, struct json_object *row);
void install_events_state(struct install_events *events, const char *state, int64_t behind);
void install_events_status(struct install_events *events, const char *text);
void install_events_transfer(struct install_events *events, const struct fetch_progress *progress);
/* Any bytes of a child: cut into lines across calls, bars and empty lines dropped (BEHAVIOURS O48). An unfinished
 * line ends with the next status, and with the log. */
void install_events_output(struct install_events *events, const char *data, size_t len);

/* For a job that ended: appends its final line (JSON text) unless it is the last one already. Whoever ended it may have
 * been killed between its row and its event. */
void install_events_finish(const struct pkg_home *home, int64_t job, const char *result);
/* The last line is a final one. */
bool install_events_are_finished(const struct pkg_home *home, int64_t job);
#endif
