#include "cli/sse.h"

#include <stdlib.h>
#include <string.h>

#include "cli/i18n.h"

void
cli_sse_event_clear(struct cli_sse_event *event)
{
	free(event->id);
	free(event->data);
	*event = (struct cli_sse_event){ 0 };
}

void
cli_sse_clear(struct cli_sse *sse)
{
	pkg_buf_clear(&sse->bytes);
	pkg_buf_clear(&sse->data);
	free(sse->id);
	*sse = (struct cli_sse){ 0 };
}

int
cli_sse_feed(struct cli_sse *sse, const char *bytes, size_t len, struct pkg_error *err)
{
	/* What was read goes in one move for many events, not in one per line. */
	pkg_buf_consume(&sse->bytes, sse->at);
	sse->at = 0;
	if (len > CLI_SSE_MAX || sse->bytes.len > CLI_SSE_MAX - len)
		return pkg_error_set(err, PKG_E_TOO_LARGE,
			_("an event of more than %u bytes came from the daemon"), CLI_SSE_MAX);
	pkg_buf_add_mem(&sse->bytes, bytes, len);
	return 0;
}

/* The next whole line without its end, which is LF, CR or CRLF. NULL: none yet. */
static const char *
next_line(struct cli_sse *sse, size_t *len)
{
	const char *start, *end;

	if (sse->skip_newline && sse->at < sse->bytes.len) {
		sse->at += sse->bytes.data[sse->at] == '\n';
		sse->skip_newline = false;
	}
	if (sse->at == sse->bytes.len)
		return NULL;
	start = sse->bytes.data + sse->at;
	for (end = start; end < sse->bytes.data + sse->bytes.len; end++) {
		if (*end != '\n' && *end != '\r')
			continue;
		*len = (size_t)(end - start);
		sse->at += *len + 1;
		sse->skip_newline = *end == '\r';
		return start;
	}
	return NULL;
}

/* "field: value": one blank after the colon is not part of the value. */
static bool
field_is(const char *line, size_t len, const char *name, const char **value, size_t *value_len)
{
	size_t at = strlen(name);

	if (len < at || memcmp(line, name, at) != 0 || (len > at && line[at] != ':'))
		return false;
	at += len > at;
	at += len > at && line[at] == ' ';
	*value = line + at;
	*value_len = len - at;
	return true;
}

static void
take_field(struct cli_sse *sse, const char *line, size_t len)
{
	const char *value;
	size_t value_len;

	if (field_is(line, len, "data", &value, &value_len)) {
		if (sse->data.len < CLI_SSE_MAX) {
			pkg_buf_add_mem(&sse->data, value, value_len);
			pkg_buf_add_char(&sse->data, '\n');
		}
	} else if (field_is(line, len, "id", &value, &value_len) &&
		memchr(value, '\0', value_len) == NULL) {
		free(sse->id);
		sse->id = pkg_xstrndup(value, value_len);
	}
}

bool
cli_sse_next(struct cli_sse *sse, struct cli_sse_event *out)
{
	const char *line;
	size_t len;

	while ((line = next_line(sse, &len)) != NULL) {
		if (len > 0) {
			take_field(sse, line, len);
			continue;
		}
		if (sse->data.len == 0) {
			free(sse->id);
			sse->id = NULL;
			continue;
		}
		pkg_buf_truncate(&sse->data, sse->data.len - 1); /* the last newline */
		out->data = pkg_buf_steal(&sse->data);
		out->id = pkg_steal_ptr(&sse->id);
		return true;
	}
	return false;
}
