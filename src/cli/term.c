#define _XOPEN_SOURCE 700 /* wcwidth */
#include "cli/term.h"

#include <langinfo.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

#include "core/buf.h"
#include "core/text.h"
#include "core/time.h"

#define LINE_MAX_BYTES 4000
#define WIDTH_DEFAULT 80
#define WIDTH_MIN 20

void
cli_term_look(int fd, struct cli_term *out)
{
	const char *term = getenv("TERM");
	const char *no_colour = getenv("NO_COLOR");

	out->live = isatty(fd) && term != NULL && *term != '\0' && strcmp(term, "dumb") != 0;
	out->colour = out->live && (no_colour == NULL || *no_colour == '\0');
	out->utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

size_t
cli_term_width(int fd)
{
	struct winsize size;

	if (ioctl(fd, TIOCGWINSZ, &size) < 0 || size.ws_col == 0)
		return WIDTH_DEFAULT;
	return size.ws_col < WIDTH_MIN ? WIDTH_MIN : size.ws_col;
}

bool
cli_term_can_ask(void)
{
	return isatty(STDIN_FILENO) && isatty(STDERR_FILENO);
}

char *
cli_text(const char *text)
{
	if (text == NULL)
		return pkg_xstrdup("");
	return pkg_text_clean(text, strlen(text), LINE_MAX_BYTES, false);
}

/* The character that begins here: its columns, and its bytes in *len. The text is valid UTF-8. */
static size_t
character(const char *text, size_t *len)
{
	unsigned char first = (unsigned char)*text;
	wchar_t point = first;
	int columns;

	*len = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
	if (*len > 1)
		point = first & (0x7f >> *len);
	for (size_t i = 1; i < *len; i++) {
		if (((unsigned char)text[i] & 0xc0) != 0x80) {
			*len = i;
			return 1;
		}
		point = point << 6 | ((unsigned char)text[i] & 0x3f);
	}
	columns = wcwidth(point);
	/* The C locale knows no width beyond ASCII. */
	return columns < 0 ? 1 : (size_t)columns;
}

size_t
cli_text_columns(const char *text)
{
	size_t columns = 0;
	size_t len;

	for (; *text != '\0'; text += len)
		columns += character(text, &len);
	return columns;
}

char *
cli_text_fit(const char *text, size_t columns, bool utf8)
{
	size_t used = 0, len = 0;
	size_t at = 0, cut = 0;

	for (; text[at] != '\0'; at += len) {
		used += character(text + at, &len);
		if (used > columns)
			break;
		if (used < columns)
			cut = at + len;
	}
	if (text[at] == '\0')
		return pkg_xstrdup(text);
	return pkg_xasprintf("%.*s%s", (int)cut, text, columns == 0 ? "" : utf8 ? "…" : ".");
}

char *
cli_text_time(const char *iso)
{
	int64_t ms = iso != NULL ? pkg_time_parse(iso) : -1;
	time_t seconds = (time_t)(ms / 1000);
	struct tm local;
	char out[32];

	if (ms < 0 || localtime_r(&seconds, &local) == NULL ||
		strftime(out, sizeof(out), "%Y-%m-%d %H:%M", &local) == 0)
		return pkg_xstrdup("-");
	return pkg_xstrdup(out);
}

void
cli_print_label(FILE *out, const char *label, size_t columns)
{
	size_t used = cli_text_columns(label);

	fprintf(out, "%s%*s ", label, used < columns ? (int)(columns - used) : 0, "");
}

void
cli_print_json(FILE *out, const char *text)
{
	for (const unsigned char *p = (const unsigned char *)text; *p != '\0'; p++) {
		if (*p == 0x7f)
			fputs("\\u007f", out);
		else if (*p == 0xc2 && p[1] >= 0x80 && p[1] <= 0x9f)
			fprintf(out, "\\u%04x", *++p);
		else if (*p >= 0x20)
			fputc(*p, out);
	}
	fputc('\n', out);
	fflush(out);
}
