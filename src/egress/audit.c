#include "egress/audit.h"

#include "core/file.h"
#include "core/json.h"
#include "core/time.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#define AUDIT_FILE_MAX (256u * 1024 * 1024) /* far above audit_rows of the longest lines */

static const char *const verdict_names[] = {
#define VERDICT_NAME(symbol, name) name,
	EGRESS_VERDICTS(VERDICT_NAME)
#undef VERDICT_NAME
};

const char *
egress_verdict_name(enum egress_verdict verdict)
{
	return (size_t)verdict < PKG_ARRAY_LEN(verdict_names) ? verdict_names[verdict] : "unknown";
}

int
egress_audit_open(const char *path, struct pkg_error *err)
{
	int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return pkg_error_errno(err, errno, "open the audit file %s", path);
	return fd;
}

/* By hand: json-c would cost more than all else about a short tunnel. */
static void
add_string(struct pkg_buf *out, const char *key, const char *text)
{
	pkg_buf_addf(out, ",\"%s\":", key);
	if (!text) {
		pkg_buf_add(out, "null");
		return;
	}
	pkg_buf_add_char(out, '"');
	for (const char *p = text; *p; p++) {
		if (*p == '"' || *p == '\\')
			pkg_buf_add_char(out, '\\');
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			pkg_buf_addf(out, "\\u%04x", (unsigned)(unsigned char)*p);
		else
			pkg_buf_add_char(out, *p);
	}
	pkg_buf_add_char(out, '"');
}

void
egress_audit_format(const struct egress_row *row, struct pkg_buf *out)
{
	char when[PKG_TIME_TEXT];

	pkg_time_format(row->time_ms, when);
	pkg_buf_reserve(out, 512);
	pkg_buf_addf(out, "{\"time\":\"%s\",\"verdict\":\"%s\",\"status\":%d", when,
		egress_verdict_name(row->verdict), row->status);
	add_string(out, "method", row->method);
	add_string(out, "host", row->host);
	pkg_buf_addf(out, ",\"port\":%d", row->port);
	add_string(out, "address", row->address);
	add_string(out, "rule", row->rule);
	add_string(out, "reason", row->reason);
	pkg_buf_addf(out, ",\"up\":%lld,\"down\":%lld,\"duration_ms\":%lld}\n", (long long)row->up,
		(long long)row->down, (long long)row->duration_ms);
}

int
egress_audit_write(int fd, const struct egress_row *row, struct pkg_error *err)
{
	pkg_cleanup_buf struct pkg_buf line = { 0 };

	egress_audit_format(row, &line);
	return pkg_write_all(fd, line.data, line.len, err);
}

struct json_object *
egress_row_to_json(const struct egress_row *row)
{
	struct json_object *json = json_object_new_object();
	char when[PKG_TIME_TEXT];

	pkg_time_format(row->time_ms, when);
	pkg_json_set_str(json, "time", when);
	pkg_json_set_str(json, "verdict", egress_verdict_name(row->verdict));
	pkg_json_set_int(json, "status", row->status);
	pkg_json_set_str(json, "method", row->method);
	pkg_json_set_str(json, "host", row->host);
	pkg_json_set_int(json, "port", row->port);
	pkg_json_set_str(json, "address", row->address);
	pkg_json_set_str(json, "rule", row->rule);
	pkg_json_set_str(json, "reason", row->reason);
	pkg_json_set_int(json, "up", row->up);
	pkg_json_set_int(json, "down", row->down);
	pkg_json_set_int(json, "duration_ms", row->duration_ms);
	return json;
}

static char *
dup_str(struct json_object *object, const char *key)
{
	return pkg_xstrdup(pkg_json_str(object, key));
}

static int
parse_row(const char *line, size_t len, struct egress_row *out)
{
	struct json_object *object = pkg_json_parse(line, len, NULL);
	const char *verdict = object ? pkg_json_str(object, "verdict") : NULL;
	const char *when = object ? pkg_json_str(object, "time") : NULL;
	int rc = -1;

	memset(out, 0, sizeof(*out));
	for (size_t i = 0; verdict && when && i < PKG_ARRAY_LEN(verdict_names); i++)
		if (strcmp(verdict, verdict_names[i]) == 0) {
			out->verdict = (enum egress_verdict)i;
			rc = 0;
		}
	if (rc == 0) {
		out->time_ms = pkg_time_parse(when);
		out->method = dup_str(object, "method");
		out->host = dup_str(object, "host");
		out->address = dup_str(object, "address");
		out->rule = dup_str(object, "rule");
		out->reason = dup_str(object, "reason");
		out->port = (int)pkg_json_int(object, "port", 0);
		out->status = (int)pkg_json_int(object, "status", 0);
		out->up = pkg_json_int(object, "up", 0);
		out->down = pkg_json_int(object, "down", 0);
		out->duration_ms = pkg_json_int(object, "duration_ms", 0);
	}
	json_object_put(object);
	return rc;
}

int
egress_audit_read(const char *path, int64_t start, struct egress_rows *out, struct pkg_error *err)
{
	pkg_cleanup_buf struct pkg_buf text = { 0 };
	const char *line, *end;
	size_t cap = out->count;

	if (!pkg_file_exists(path))
		return 0;
	if (pkg_file_read(path, AUDIT_FILE_MAX, &text, err) < 0)
		return pkg_error_prefix(err, "read the audit file");
	line = pkg_buf_str(&text);
	line += (size_t)start < text.len ? (size_t)start : text.len;
	while ((end = strchr(line, '\n'))) {
		struct egress_row row;

		if (parse_row(line, (size_t)(end - line), &row) == 0) {
			if (out->count == cap) {
				cap = cap ? cap * 2 : 16;
				out->items = pkg_xrealloc(out->items, cap, sizeof(*out->items));
			}
			out->items[out->count++] = row;
		}
		line = end + 1;
	}
	return 0;
}

void
egress_rows_clear(struct egress_rows *rows)
{
	for (size_t i = 0; i < rows->count; i++) {
		free(rows->items[i].method);
		free(rows->items[i].host);
		free(rows->items[i].address);
		free(rows->items[i].rule);
		free(rows->items[i].reason);
	}
	free(rows->items);
	rows->items = NULL;
	rows->count = 0;
}
