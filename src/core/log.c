#include "core/log.h"

#include "core/buf.h"
#include "core/text.h"
#include "core/time.h"
#include "core/url.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LINE_MAX_BYTES 4096

static const char *const level_names[] = { "error", "warn", "info", "debug" };
static char program_name[32] = "pkgd";
static enum pkg_log_level threshold = PKG_LOG_INFO;

void
pkg_log_init(const char *program, enum pkg_log_level level)
{
	(void)snprintf(program_name, sizeof(program_name), "%s", program);
	threshold = level;
}

int
pkg_log_level_parse(const char *text, enum pkg_log_level *out)
{
	for (size_t i = 0; text && i < PKG_ARRAY_LEN(level_names); i++) {
		if (strcmp(text, level_names[i]) == 0) {
			*out = (enum pkg_log_level)i;
			return 0;
		}
	}
	return -1;
}

/* Copies text with the userinfo of every URL in it removed. */
static void
add_redacted(struct pkg_buf *out, const char *text)
{
	const char *mark;

	while ((mark = strstr(text, "://"))) {
		pkg_autofree char *url = NULL;
		pkg_autofree char *shown = NULL;
		const char *start = mark;
		const char *end = mark + strcspn(mark, " \t\n\"'<>`");

		while (start > text &&
			(isalnum((unsigned char)start[-1]) || strchr("+-.", start[-1])))
			start--;
		url = pkg_xstrndup(start, (size_t)(end - start));
		shown = pkg_url_redact(url);
		pkg_buf_add_mem(out, text, (size_t)(start - text));
		pkg_buf_add(out, shown);
		text = end;
	}
	pkg_buf_add(out, text);
}

static void
emit(enum pkg_log_level level, const char *message)
{
	pkg_cleanup_buf struct pkg_buf safe = { 0 };
	pkg_cleanup_buf struct pkg_buf line = { 0 };
	pkg_autofree char *clean = NULL;
	pkg_autofree char *cut = NULL;
	char now[PKG_TIME_TEXT];
	int saved = errno;

	/* Cleaned first, so that an escape sequence cannot hide an '@'; cut last, so that no URL
	 * loses its '@' and keeps its password. */
	clean = pkg_text_clean(message, strlen(message), SIZE_MAX, false);
	add_redacted(&safe, clean);
	pkg_time_format(pkg_time_now_ms(), now);
	pkg_buf_addf(&line, "%s %s %s: ", now, level_names[level], program_name);
	cut = pkg_text_clean(pkg_buf_str(&safe), safe.len, LINE_MAX_BYTES - line.len - 1, false);
	pkg_buf_add(&line, cut);
	pkg_buf_add_char(&line, '\n');
	/* One write: lines of several processes do not mix. A log that cannot be written has
	 * nowhere to say so. */
	if (write(STDERR_FILENO, line.data, line.len) < 0)
		errno = saved;
	errno = saved;
}

void
pkg_log(enum pkg_log_level level, const char *format, ...)
{
	pkg_autofree char *message = NULL;
	va_list args;

	if (level > threshold)
		return;
	va_start(args, format);
	message = pkg_xvasprintf(format, args);
	va_end(args);
	emit(level, message);
}

void
pkg_log_error(const struct pkg_error *err, const char *format, ...)
{
	pkg_cleanup_buf struct pkg_buf message = { 0 };
	pkg_autofree char *what = NULL;
	va_list args;

	va_start(args, format);
	what = pkg_xvasprintf(format, args);
	va_end(args);
	pkg_buf_addf(&message, "%s: %s kind=%s", what, err->message ? err->message : "no reason",
		pkg_error_kind_name(err->kind));
	if (err->cure)
		pkg_buf_addf(&message, " cure=\"%s\"", err->cure);
	emit(PKG_LOG_ERROR, pkg_buf_str(&message));
}
