#include "install/events.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "core/file.h"
#include "core/path.h"
#include "core/text.h"
#include "core/time.h"
#include "install/names.h"

#define LINE_MAX_BYTES 2000
#define PROGRESS_GAP_MS 100
#define OUTPUT_GAP_MS 50
#define LAST_LINE_MAX (4 * 1024 * 1024) /* a result tells every change */

struct install_events {
	int events_fd;
	int log_fd;
	bool torn; /* the last row was cut short (a full disk): the next begins a line of its own */
	long long logged;
	bool log_cut;
	struct pkg_buf line; /* unfinished line of a child's output */
	int64_t last_output_ms;
	struct transfer {
		char *name;
		int64_t last_ms;
	} * transfers;
	size_t transfer_count;
};

static int
open_append(const char *dir, const char *name, struct pkg_error *err)
{
	pkg_autofree char *path = pkg_path_join(dir, name);
	int fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		pkg_error_errno(err, errno, "open %s", path);
	return fd;
}

static bool
ends_inside_line(int fd)
{
	off_t end = lseek(fd, 0, SEEK_END);
	char last = '\n';

	return end > 0 && pread(fd, &last, 1, end - 1) == 1 && last != '\n';
}

struct install_events *
install_events_open(const struct pkg_home *home, int64_t job, struct pkg_error *err)
{
	pkg_autofree char *dir = install_path_job(home, job);
	pkg_cleanup(install_events_free) struct install_events *events =
		pkg_xcalloc(1, sizeof(*events));
	off_t end;

	events->events_fd = events->log_fd = -1;
	if (pkg_dir_make(dir, 0700, err) < 0)
		return NULL;
	events->events_fd = open_append(dir, "events.jsonl", err);
	if (events->events_fd < 0)
		return NULL;
	events->torn = ends_inside_line(events->events_fd);
	events->log_fd = open_append(dir, "log.txt", err);
	if (events->log_fd < 0)
		return NULL;
	end = lseek(events->log_fd, 0, SEEK_END);
	events->logged = end < 0 ? 0 : end;
	return pkg_steal_ptr(&events);
}

static void take_line(struct install_events *events, const char *data, size_t len);

static void
end_line(struct install_events *events)
{
	if (events->line.len > 0)
		take_line(events, events->line.data, events->line.len);
	pkg_buf_truncate(&events->line, 0);
}

void
install_events_free(struct install_events *events)
{
	if (events == NULL)
		return;
	end_line(events);
	pkg_close(&events->events_fd);
	pkg_close(&events->log_fd);
	pkg_buf_clear(&events->line);
	for (size_t i = 0; i < events->transfer_count; i++)
		free(events->transfers[i].name);
	free(events->transfers);
	free(events);
}

void
install_events_row(struct install_events *events, struct json_object *row)
{
	char now[PKG_TIME_TEXT];
	struct pkg_buf line = { 0 };
	pkg_autofree char *text = NULL;

	pkg_time_format(pkg_time_now_ms(), now);
	pkg_json_set_str(row, "time", now);
	text = pkg_json_line(row);
	json_object_put(row);
	if (events->torn)
		pkg_buf_add_char(&line, '\n');
	pkg_buf_add(&line, text);
	pkg_buf_add_char(&line, '\n');
	/* One write per row: readers see whole lines. A full disk must not stop the job; its own writes
	 * will say so. */
	(void)pkg_write_all(events->events_fd, line.data, line.len, NULL);
	events->torn = ends_inside_line(events->events_fd);
	pkg_buf_clear(&line);
}

static struct json_object *
new_row(const char *type)
{
	struct json_object *row = json_object_new_object();

	pkg_json_set_str(row, "type", type);
	return row;
}

static void
log_bytes(struct install_events *events, const char *data, size_t len)
{
	static const char cut[] = "[the log is cut here]\n";

	if (events->log_cut)
		return;
	if (events->logged + (long long)len > INSTALL_LOG_MAX) {
		events->log_cut = true;
		(void)pkg_write_all(events->log_fd, cut, sizeof(cut) - 1, NULL);
		return;
	}
	events->logged += (long long)len;
	(void)pkg_write_all(events->log_fd, data, len, NULL);
}

static void
log_line(struct install_events *events, const char *text)
{
	pkg_autofree char *line = pkg_xasprintf("%s\n", text);

	log_bytes(events, line, strlen(line));
}

void
install_events_state(struct install_events *events, const char *state, int64_t behind)
{
	struct json_object *row = new_row("state");
	pkg_autofree char *phase = pkg_xasprintf("== %s", state);

	log_line(events, phase);
	pkg_json_set_str(row, "state", state);
	if (behind != 0)
		pkg_json_set_int(row, "behind", behind);
	install_events_row(events, row);
}

void
install_events_status(struct install_events *events, const char *text)
{
	struct json_object *row = new_row("status");
	pkg_autofree char *clean = pkg_text_clean(text, strlen(text), LINE_MAX_BYTES, false);

	end_line(events);
	log_line(events, clean);
	pkg_json_set_str(row, "text", clean);
	install_events_row(events, row);
}

/* True when this file may be told of again; a finished one always is. */
static bool
transfer_due(struct install_events *events, const struct fetch_progress *progress)
{
	int64_t now = pkg_time_mono_ms();
	size_t i;

	for (i = 0; i < events->transfer_count; i++)
		if (strcmp(events->transfers[i].name, progress->name) == 0)
			break;
	if (i == events->transfer_count) {
		events->transfers =
			pkg_xrealloc(events->transfers, i + 1, sizeof(events->transfers[0]));
		events->transfers[i] = (struct transfer){ pkg_xstrdup(progress->name), 0 };
		events->transfer_count++;
	} else if (!progress->done && progress->note == NULL &&
		now - events->transfers[i].last_ms < PROGRESS_GAP_MS) {
		return false;
	}
	events->transfers[i].last_ms = now;
	return true;
}

void
install_events_transfer(struct install_events *events, const struct fetch_progress *progress)
{
	pkg_autofree char *name =
		pkg_text_clean(progress->name, strlen(progress->name), LINE_MAX_BYTES, false);
	struct json_object *row;

	if (!transfer_due(events, progress))
		return;
	if (progress->done) {
		pkg_autofree char *line = pkg_xasprintf("%s: %lld bytes%s", progress->name,
			progress->bytes, progress->cached ? ", from the cache" : "");

		log_line(events, line);
	}
	row = new_row("progress");
	pkg_json_set_str(row, "name", name);
	pkg_json_set_int(row, "bytes", progress->bytes);
	pkg_json_set_int(row, "total", progress->total);
	pkg_json_set_bool(row, "done", progress->done);
	pkg_json_set_bool(row, "cached", progress->cached);
	pkg_json_set_str(row, "note", progress->note);
	install_events_row(events, row);
}

/* BEHAVIOURS O48: nothing but the characters of progress bars, or a pipe sign in front. */
static bool
is_noise(const char *line)
{
	if (line[strspn(line, " \t")] == '\0' || line[0] == '|')
		return true;
	for (const char *p = line; *p != '\0';) {
		if (strchr("-=|/\\ \t", *p) != NULL) {
			p++;
		} else if (strncmp(p, "\xe2\x94\x81", 3) == 0 ||
			strncmp(p, "\xe2\x95\xb8", 3) == 0 || strncmp(p, "\xe2\x95\xba", 3) == 0) {
			p += 3;
		} else {
			return false;
		}
	}
	return true;
}

static void
take_line(struct install_events *events, const char *data, size_t len)
{
	pkg_autofree char *clean = pkg_text_clean(data, len, LINE_MAX_BYTES, false);
	int64_t now = pkg_time_mono_ms();
	struct json_object *row;

	log_line(events, clean);
	if (is_noise(clean) || now - events->last_output_ms < OUTPUT_GAP_MS)
		return;
	events->last_output_ms = now;
	row = new_row("output");
	pkg_json_set_str(row, "text", clean);
	install_events_row(events, row);
}

void
install_events_output(struct install_events *events, const char *data, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (data[i] != '\n' && data[i] != '\r') {
			if (events->line.len < LINE_MAX_BYTES)
				pkg_buf_add_char(&events->line, data[i]);
			continue;
		}
		end_line(events);
	}
}

/* The last whole line of the file. */
static bool
has_result(int fd)
{
	off_t size = lseek(fd, 0, SEEK_END);
	off_t from = size > LAST_LINE_MAX ? size - LAST_LINE_MAX : 0;
	pkg_autofree char *data = pkg_xmalloc(LAST_LINE_MAX);
	ssize_t got = pread(fd, data, LAST_LINE_MAX, from);
	pkg_cleanup(pkg_json_put) struct json_object *row = NULL;
	const char *line;

	if (got < 2 || data[got - 1] != '\n')
		return false;
	line = memrchr(data, '\n', (size_t)got - 1);
	line = line != NULL ? line + 1 : data;
	row = pkg_json_parse(line, (size_t)(data + got - 1 - line), NULL);
	return row != NULL && strcmp(pkg_json_str_or(row, "type", ""), "result") == 0;
}

bool
install_events_are_finished(const struct pkg_home *home, int64_t job)
{
	pkg_autofree char *dir = install_path_job(home, job);
	pkg_autofree char *path = pkg_path_join(dir, "events.jsonl");
	pkg_autofd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	return fd >= 0 && has_result(fd);
}

void
install_events_finish(const struct pkg_home *home, int64_t job, const char *result)
{
	pkg_cleanup(install_events_free) struct install_events *events =
		install_events_open(home, job, NULL);
	struct json_object *row;

	if (events == NULL || has_result(events->events_fd))
		return;
	row = pkg_json_parse(result, strlen(result), NULL);
	if (row != NULL)
		install_events_row(events, row);
}
