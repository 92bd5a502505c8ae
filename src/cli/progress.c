#include "cli/progress.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "cli/i18n.h"
#include "cli/term.h"
#include "core/text.h"

#define REDRAW_MS 100
#define CLOCK_MS 1000 /* the elapsed time moves on */
#define BARS_MAX 6
#define BAR_COLUMNS 20
#define NAME_COLUMNS_MIN 10
#define NUMBERS_COLUMNS 22
#define FILES_MAX 20000 /* more than any plan may hold; the rest is not counted */

struct transfer {
	char *name; /* cleaned */
	int64_t bytes;
	int64_t total; /* -1: not known */
	bool done;
	bool cached;
};

struct cli_progress {
	FILE *out;
	struct cli_progress_style style;
	char *state; /* NULL: none yet */
	char *text; /* the phase's sentence; NULL */
	int64_t state_ms; /* when it began */
	struct transfer *transfers;
	size_t transfer_count;
	size_t done;
	bool dirty;
	bool paused;
	int64_t drawn_ms;
	size_t drawn[BARS_MAX + 1]; /* columns of each line on the screen */
	size_t drawn_count;
};

struct cli_progress *
cli_progress_new(FILE *out, const struct cli_progress_style *style)
{
	struct cli_progress *progress = pkg_xcalloc(1, sizeof(*progress));

	progress->out = out;
	progress->style = *style;
	progress->drawn_ms = -REDRAW_MS;
	return progress;
}

static void
forget_transfers(struct cli_progress *progress)
{
	for (size_t i = 0; i < progress->transfer_count; i++)
		free(progress->transfers[i].name);
	free(progress->transfers);
	progress->transfers = NULL;
	progress->transfer_count = progress->done = 0;
}

void
cli_progress_free(struct cli_progress *progress)
{
	if (progress == NULL)
		return;
	cli_progress_clear(progress);
	forget_transfers(progress);
	free(progress->state);
	free(progress->text);
	free(progress);
}

/* --- drawing --- */

static size_t
width_of(const struct cli_progress *progress)
{
	return progress->style.width != 0 ? progress->style.width
					  : cli_term_width(fileno(progress->out));
}

static void
erase(struct cli_progress *progress)
{
	size_t width = width_of(progress);
	size_t rows = 0;

	if (progress->drawn_count == 0)
		return;
	/* A window that became narrower has wrapped what was drawn for a wider one. */
	for (size_t i = 0; i < progress->drawn_count; i++)
		rows += progress->drawn[i] == 0 ? 1 : (progress->drawn[i] + width - 1) / width;
	fputc('\r', progress->out);
	if (rows > 1)
		fprintf(progress->out, "\033[%zuA", rows - 1);
	fputs("\033[J", progress->out);
	progress->drawn_count = 0;
	progress->dirty = true;
}

void
cli_progress_clear(struct cli_progress *progress)
{
	erase(progress);
	fflush(progress->out);
}

static void
draw_line(struct cli_progress *progress, const char *text)
{
	pkg_autofree char *fit = cli_text_fit(text, width_of(progress) - 1, progress->style.utf8);

	if (progress->drawn_count > 0)
		fputc('\n', progress->out);
	fputs(fit, progress->out);
	progress->drawn[progress->drawn_count++] = cli_text_columns(fit);
}

/* Eighths of a column with UTF-8, whole ones without. */
static void
add_bar(struct pkg_buf *line, int64_t bytes, int64_t total, bool utf8)
{
	static const char *const eighths[] = { "", "▏", "▎", "▍", "▌", "▋", "▊", "▉" };
	int64_t parts = total > 0 ? bytes * BAR_COLUMNS * 8 / total : 0;
	size_t full, used;

	parts = parts < 0 ? 0 : parts > BAR_COLUMNS * 8 ? BAR_COLUMNS * 8 : parts;
	full = (size_t)parts / 8;
	for (size_t i = 0; i < full; i++)
		pkg_buf_add(line, utf8 ? "█" : "#");
	used = full;
	if (utf8 && parts % 8 != 0) {
		pkg_buf_add(line, eighths[parts % 8]);
		used++;
	}
	for (; used < BAR_COLUMNS; used++)
		pkg_buf_add(line, utf8 ? " " : ".");
}

static void
draw_transfer(struct cli_progress *progress, const struct transfer *transfer)
{
	pkg_cleanup_buf struct pkg_buf line = { 0 };
	size_t width = width_of(progress);
	size_t room = width > BAR_COLUMNS + NUMBERS_COLUMNS + 5 + NAME_COLUMNS_MIN
		? width - BAR_COLUMNS - NUMBERS_COLUMNS - 5
		: NAME_COLUMNS_MIN;
	pkg_autofree char *name = cli_text_fit(transfer->name, room, progress->style.utf8);
	pkg_autofree char *have = pkg_text_bytes(transfer->bytes);
	pkg_autofree char *all = transfer->total >= 0 ? pkg_text_bytes(transfer->total) : NULL;

	pkg_buf_addf(&line, "%s%*s ", name, (int)(room - cli_text_columns(name)), "");
	if (all != NULL) {
		pkg_buf_add(&line, progress->style.utf8 ? "▕" : "[");
		add_bar(&line, transfer->bytes, transfer->total, progress->style.utf8);
		pkg_buf_add(&line, progress->style.utf8 ? "▏" : "]");
	}
	pkg_buf_addf(&line, " %s%s%s", have, all != NULL ? " / " : "", all != NULL ? all : "");
	draw_line(progress, line.data);
}

static const char *
state_words(const char *state)
{
	static const struct {
		const char *state;
		const char *words;
	} all[] = {
		{ "queued", N_("queued") },
		{ "planning", N_("planning") },
		{ "pending", N_("waiting for an answer") },
		{ "fetching", N_("fetching") },
		{ "building", N_("building") },
		{ "applying", N_("applying") },
		{ "verifying", N_("verifying") },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(all); i++)
		if (strcmp(all[i].state, state) == 0)
			return _(all[i].words);
	return state;
}

static void
add_files(const struct cli_progress *progress, struct pkg_buf *line)
{
	int64_t bytes = 0, total = 0;

	for (size_t i = 0; i < progress->transfer_count; i++) {
		bytes += progress->transfers[i].bytes;
		total += progress->transfers[i].total > 0 ? progress->transfers[i].total : 0;
	}
	if (progress->transfer_count > 0) {
		pkg_autofree char *have = pkg_text_bytes(bytes);
		pkg_autofree char *all = pkg_text_bytes(total > bytes ? total : bytes);

		pkg_buf_addf(line, _("  %zu of %zu files, %s of %s"), progress->done,
			progress->transfer_count, have, all);
	}
}

static void
draw_phase(struct cli_progress *progress, int64_t now_ms)
{
	pkg_cleanup_buf struct pkg_buf line = { 0 };
	int64_t seconds = (now_ms - progress->state_ms) / 1000;

	pkg_buf_addf(&line, "%" PRId64 ":%02" PRId64 "  %s", seconds / 60, seconds % 60,
		state_words(progress->state));
	if (strcmp(progress->state, "fetching") == 0)
		add_files(progress, &line);
	else if (progress->text != NULL)
		pkg_buf_addf(&line, "  %s", progress->text);
	draw_line(progress, line.data);
}

static void
draw(struct cli_progress *progress, int64_t now_ms)
{
	size_t bars = 0;

	erase(progress);
	for (size_t i = 0; i < progress->transfer_count && bars < BARS_MAX; i++) {
		if (progress->transfers[i].done)
			continue;
		draw_transfer(progress, &progress->transfers[i]);
		bars++;
	}
	draw_phase(progress, now_ms);
	fflush(progress->out);
	progress->dirty = false;
	progress->drawn_ms = now_ms;
}

int64_t
cli_progress_wait(const struct cli_progress *progress, int64_t now_ms)
{
	int64_t due = progress->drawn_ms + (progress->dirty ? REDRAW_MS : CLOCK_MS);

	if (!progress->style.live || progress->paused || progress->state == NULL)
		return -1;
	return due > now_ms ? due - now_ms : 0;
}

void
cli_progress_tick(struct cli_progress *progress, int64_t now_ms)
{
	if (cli_progress_wait(progress, now_ms) == 0)
		draw(progress, now_ms);
}

void
cli_progress_pause(struct cli_progress *progress, bool paused)
{
	if (paused)
		cli_progress_clear(progress);
	progress->paused = paused;
	progress->dirty = true;
}

/* --- events --- */

static void
say(struct cli_progress *progress, const char *text)
{
	erase(progress);
	fprintf(progress->out, "%s\n", text);
	fflush(progress->out);
}

static void
on_state(struct cli_progress *progress, struct json_object *event, int64_t now_ms)
{
	char *state = cli_text(pkg_json_str(event, "state"));
	int64_t behind = pkg_json_int(event, "behind", 0);

	free(progress->state);
	free(progress->text);
	progress->state = state;
	progress->text = behind > 0 ? pkg_xasprintf(_("behind job %" PRId64), behind) : NULL;
	progress->state_ms = now_ms;
	forget_transfers(progress);
	if (progress->style.live)
		return;
	if (behind > 0) {
		pkg_autofree char *line =
			pkg_xasprintf("%s, %s", state_words(state), progress->text);

		say(progress, line);
	} else if (strcmp(state, "pending") != 0) {
		say(progress, state_words(state));
	}
}

static void
on_status(struct cli_progress *progress, struct json_object *event)
{
	free(progress->text);
	progress->text = cli_text(pkg_json_str(event, "text"));
	if (!progress->style.live)
		say(progress, progress->text);
}

static struct transfer *
find_transfer(struct cli_progress *progress, const char *name)
{
	for (size_t i = 0; i < progress->transfer_count; i++)
		if (strcmp(progress->transfers[i].name, name) == 0)
			return &progress->transfers[i];
	if (progress->transfer_count == FILES_MAX)
		return NULL;
	progress->transfers = pkg_xrealloc(
		progress->transfers, progress->transfer_count + 1, sizeof(*progress->transfers));
	progress->transfers[progress->transfer_count] =
		(struct transfer){ .name = pkg_xstrdup(name), .total = -1 };
	return &progress->transfers[progress->transfer_count++];
}

/* Numbers of a download are never trusted to fit the arithmetic of a bar. */
static int64_t
bounded(int64_t value)
{
	return value < -1 ? -1 : value > INT64_MAX / (BAR_COLUMNS * 16) ? 0 : value;
}

static void
say_transfer(struct cli_progress *progress, const struct transfer *transfer)
{
	pkg_autofree char *size = pkg_text_bytes(transfer->bytes);
	pkg_autofree char *line = transfer->cached
		? pkg_xasprintf(_("%s is in the cache"), transfer->name)
		: pkg_xasprintf("%s  %s", transfer->name, size);

	say(progress, line);
}

static void
on_progress(struct cli_progress *progress, struct json_object *event)
{
	pkg_autofree char *name = cli_text(pkg_json_str(event, "name"));
	pkg_autofree char *note = cli_text(pkg_json_str(event, "note"));
	struct transfer *transfer = find_transfer(progress, name);
	bool done = pkg_json_bool(event, "done", false);

	if (transfer == NULL)
		return;
	transfer->bytes = bounded(pkg_json_int(event, "bytes", 0));
	transfer->total = bounded(pkg_json_int(event, "total", -1));
	transfer->cached = pkg_json_bool(event, "cached", false);
	if (done && !transfer->done) {
		progress->done++;
		transfer->done = true;
		if (!progress->style.live)
			say_transfer(progress, transfer);
	}
	if (*note != '\0') {
		pkg_autofree char *line = pkg_xasprintf("%s: %s", name, note);

		say(progress, line);
	}
}

static void
on_connection(struct cli_progress *progress, struct json_object *event)
{
	struct json_object *row = pkg_json_get(event, "row");
	pkg_autofree char *host = cli_text(pkg_json_str(row, "host"));
	pkg_autofree char *verdict = cli_text(pkg_json_str(row, "verdict"));
	pkg_autofree char *reason = cli_text(pkg_json_str(row, "reason"));
	pkg_autofree char *line = pkg_xasprintf(_("connection to %s:%" PRId64 ": %s %s"), host,
		pkg_json_int(row, "port", 0), verdict, reason);

	say(progress, line);
}

void
cli_progress_event(struct cli_progress *progress, struct json_object *event, int64_t now_ms)
{
	const char *type = pkg_json_str_or(event, "type", "");

	progress->dirty = true;
	if (strcmp(type, "state") == 0) {
		on_state(progress, event, now_ms);
	} else if (strcmp(type, "status") == 0) {
		on_status(progress, event);
	} else if (strcmp(type, "progress") == 0) {
		on_progress(progress, event);
	} else if (strcmp(type, "output") == 0 && progress->style.verbose) {
		pkg_autofree char *line = cli_text(pkg_json_str(event, "text"));

		say(progress, line);
	} else if (strcmp(type, "connection") == 0 && progress->style.verbose) {
		on_connection(progress, event);
	}
}
