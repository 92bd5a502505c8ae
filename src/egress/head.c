#include "egress/head.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct span {
	const char *data;
	size_t len;
};

struct field {
	struct span name, value;
};

enum egress_scan
egress_scan(struct egress_scanner *scanner, const char *data, size_t len)
{
	while (scanner->seen < len) {
		size_t at = scanner->seen++;

		if (data[at] == '\0')
			return EGRESS_SCAN_BAD;
		/* Every LF ends a CRLF and every CR begins one, else two parsers see different
		 * lines. */
		if (at > 0 && data[at - 1] == '\r' && data[at] != '\n')
			return EGRESS_SCAN_BAD;
		if (data[at] != '\n')
			continue;
		if (at == 0 || data[at - 1] != '\r')
			return EGRESS_SCAN_BAD;
		if (at - 1 == scanner->line)
			return scanner->line == 0 ? EGRESS_SCAN_BAD : EGRESS_SCAN_DONE;
		scanner->line = at + 1;
	}
	return EGRESS_SCAN_MORE;
}

static int
refuse(int *status, int code, struct pkg_error *err, const char *why)
{
	*status = code;
	return pkg_error_set(err, PKG_E_INVALID, "%s", why);
}

static bool
is_token(struct span span)
{
	for (size_t i = 0; i < span.len; i++) {
		unsigned char c = (unsigned char)span.data[i];

		if (c <= ' ' || c >= 0x7f || strchr("\"(),/:;<=>?@[\\]{}", c))
			return false;
	}
	return span.len > 0;
}

static bool
span_is(struct span span, const char *text)
{
	return span.len == strlen(text) && strncasecmp(span.data, text, span.len) == 0;
}

static bool
span_starts(struct span span, const char *text)
{
	return span.len >= strlen(text) && strncasecmp(span.data, text, strlen(text)) == 0;
}

static struct span
trim(struct span span)
{
	while (span.len && (span.data[0] == ' ' || span.data[0] == '\t'))
		span.data++, span.len--;
	while (span.len && (span.data[span.len - 1] == ' ' || span.data[span.len - 1] == '\t'))
		span.len--;
	return span;
}

/* The next element of a comma-separated list; false at its end. Empty elements are skipped. */
static bool
next_element(struct span *list, struct span *out)
{
	while (list->len) {
		const char *comma = memchr(list->data, ',', list->len);
		size_t len = comma ? (size_t)(comma - list->data) : list->len;
		size_t used = comma ? len + 1 : len;

		*out = trim((struct span){ list->data, len });
		list->data += used;
		list->len -= used;
		if (out->len)
			return true;
	}
	return false;
}

static bool
parse_field(const char *line, size_t len, struct field *out)
{
	const char *colon = memchr(line, ':', len);

	if (!colon)
		return false;
	/* A token has no blank, so a folded line and a blank before the colon both fail here. */
	out->name = (struct span){ line, (size_t)(colon - line) };
	if (!is_token(out->name))
		return false;
	out->value = trim((struct span){ colon + 1, len - out->name.len - 1 });
	for (size_t i = 0; i < out->value.len; i++) {
		unsigned char c = (unsigned char)out->value.data[i];

		if ((c < 0x20 && c != '\t') || c == 0x7f)
			return false;
	}
	return true;
}

bool
egress_field_valid(const char *line, size_t len)
{
	struct field field;

	return parse_field(line, len, &field);
}

/* The first line of a head; what is left starts after its CRLF. */
static struct span
take_line(struct span *rest)
{
	const char *end = memchr(rest->data, '\n', rest->len);
	struct span line = { rest->data, (size_t)(end - rest->data) - 1 };

	rest->len -= line.len + 2;
	rest->data = end + 1;
	return line;
}

/* All fields, up to and without the empty line. -1: malformed, -2: more than max. */
static int
parse_fields(struct span rest, size_t max, struct field **out, size_t *count)
{
	size_t lines = 0;

	for (size_t i = 0; i < rest.len; i++)
		lines += rest.data[i] == '\n';
	if (lines - 1 > max)
		return -2;
	*out = pkg_xcalloc(lines, sizeof(**out));
	for (*count = 0; *count + 1 < lines; (*count)++) {
		struct span line = take_line(&rest);

		if (!parse_field(line.data, line.len, &(*out)[*count]))
			return -1;
	}
	return 0;
}

/* What decides where the message ends may not be declared hop-by-hop: dropping it would let the
 * next server see another message than we did. */
static bool
connection_is_sane(const struct field *fields, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct span list = fields[i].value, name;

		if (!span_is(fields[i].name, "connection"))
			continue;
		while (next_element(&list, &name))
			if (!is_token(name) || span_is(name, "content-length") ||
				span_is(name, "transfer-encoding") || span_is(name, "host"))
				return false;
	}
	return true;
}

/* RFC 9112 section 9.3. Proxy-Connection is what some clients say to a proxy instead. */
static bool
wants_close(const struct field *fields, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct span list = fields[i].value, option;

		if (!span_is(fields[i].name, "connection") &&
			!span_is(fields[i].name, "proxy-connection"))
			continue;
		while (next_element(&list, &option))
			if (span_is(option, "close"))
				return true;
	}
	return false;
}

static bool
is_hop_by_hop(struct span name, const struct field *fields, size_t count)
{
	static const char *const always[] = { "connection", "keep-alive", "te", "upgrade",
		"http2-settings" };

	for (size_t i = 0; i < PKG_ARRAY_LEN(always); i++)
		if (span_is(name, always[i]))
			return true;
	if (span_starts(name, "proxy-"))
		return true;
	for (size_t i = 0; i < count; i++) {
		struct span list = fields[i].value, element;

		if (!span_is(fields[i].name, "connection"))
			continue;
		while (next_element(&list, &element))
			if (element.len == name.len &&
				strncasecmp(element.data, name.data, name.len) == 0)
				return true;
	}
	return false;
}

static void
write_fields(const struct field *fields, size_t count, bool drop_host, struct pkg_buf *out)
{
	for (size_t i = 0; i < count; i++) {
		if (is_hop_by_hop(fields[i].name, fields, count) ||
			(drop_host && span_is(fields[i].name, "host")))
			continue;
		pkg_buf_add_mem(out, fields[i].name.data, fields[i].name.len);
		pkg_buf_add(out, ": ");
		pkg_buf_add_mem(out, fields[i].value.data, fields[i].value.len);
		pkg_buf_add(out, "\r\n");
	}
}

static int
parse_length(struct span value, int64_t *out)
{
	int64_t number = 0;

	/* 18 digits fit; a list, a sign or a blank does not pass. */
	if (value.len == 0 || value.len > 18)
		return -1;
	for (size_t i = 0; i < value.len; i++) {
		if (value.data[i] < '0' || value.data[i] > '9')
			return -1;
		number = number * 10 + (value.data[i] - '0');
	}
	*out = number;
	return 0;
}

/* 0, or the status of a refusal with *why set. */
static int
parse_framing(const struct field *fields, size_t count, enum egress_body *body, int64_t *length,
	const char **why)
{
	size_t lengths = 0, codings = 0;

	*body = EGRESS_BODY_NONE;
	for (size_t i = 0; i < count; i++) {
		if (span_is(fields[i].name, "content-length")) {
			*why = "Content-Length is no single decimal number";
			if (lengths++ > 0 || parse_length(fields[i].value, length) < 0)
				return 400;
			*body = EGRESS_BODY_LENGTH;
		} else if (span_is(fields[i].name, "transfer-encoding")) {
			*why = "Transfer-Encoding is repeated";
			if (codings++ > 0)
				return 400;
			*why = "only the chunked transfer coding is known here";
			if (!span_is(fields[i].value, "chunked"))
				return 501;
		}
	}
	*why = "both Content-Length and Transfer-Encoding";
	if (codings && lengths)
		return 400;
	if (codings)
		*body = EGRESS_BODY_CHUNKED;
	return 0;
}

/* 0, 400 or 505. */
static int
parse_version(struct span text, int *minor)
{
	if (text.len != 8 || memcmp(text.data, "HTTP/", 5) != 0 ||
		!isdigit((unsigned char)text.data[5]) || text.data[6] != '.' ||
		!isdigit((unsigned char)text.data[7]))
		return 400;
	if (text.data[5] != '1' || text.data[7] > '1')
		return 505;
	*minor = text.data[7] - '0';
	return 0;
}

static int
parse_absolute(struct span target, struct egress_request *out, struct pkg_error *err)
{
	struct span rest = target;
	const char *end;

	if (!span_starts(target, "http://"))
		return refuse(&out->status, 400, err,
			span_starts(target, "https://")
				? "an https URL is asked for through CONNECT"
				: "neither CONNECT nor an absolute http URL");
	rest.data += 7;
	rest.len -= 7;
	for (end = rest.data; end < rest.data + rest.len && *end != '/' && *end != '?';)
		end++;
	if (memchr(target.data, '#', target.len))
		return refuse(&out->status, 400, err, "the URL has a fragment");
	if (memchr(rest.data, '@', (size_t)(end - rest.data)))
		return refuse(&out->status, 400, err, "the URL has credentials before its host");
	if (policy_authority_parse(
		    rest.data, (size_t)(end - rest.data), &out->host, &out->port, err) < 0) {
		out->status = 400;
		return -1;
	}
	if (out->port == 0)
		out->port = 80;
	rest.len -= (size_t)(end - rest.data);
	if (rest.len == 0 && strcmp(out->method, "OPTIONS") == 0)
		out->target = pkg_xstrdup("*");
	else
		out->target = pkg_xasprintf(
			"%s%.*s", rest.len && *end == '/' ? "" : "/", (int)rest.len, end);
	return 0;
}

static int
parse_request_line(struct span line, struct egress_request *out, struct pkg_error *err)
{
	const char *first = memchr(line.data, ' ', line.len);
	const char *last = memrchr(line.data, ' ', line.len);
	struct span method, target;
	int status;

	if (!first || first == last)
		return refuse(&out->status, 400, err, "the request line has not three parts");
	method = (struct span){ line.data, (size_t)(first - line.data) };
	target = (struct span){ first + 1, (size_t)(last - first) - 1 };
	if (!is_token(method) || method.len >= sizeof(out->method))
		return refuse(&out->status, 400, err, "the method is no token of 23 bytes at most");
	for (size_t i = 0; i < target.len; i++)
		if (target.data[i] <= ' ' || (unsigned char)target.data[i] >= 0x7f)
			return refuse(&out->status, 400, err,
				"the request target has a blank, a control or a byte outside "
				"ASCII");
	status = parse_version(
		(struct span){ last + 1, line.len - (size_t)(last + 1 - line.data) }, &out->minor);
	if (status)
		return refuse(&out->status, status, err, "the version is not HTTP/1.0 or HTTP/1.1");
	memcpy(out->method, method.data, method.len);
	out->method[method.len] = '\0';
	out->connect = strcmp(out->method, "CONNECT") == 0;
	if (!out->connect)
		return parse_absolute(target, out, err);
	if (policy_authority_parse(target.data, target.len, &out->host, &out->port, err) < 0) {
		out->status = 400;
		return -1;
	}
	if (out->port == 0)
		out->port = 443;
	return 0;
}

static int
check_fields(
	const struct field *fields, size_t count, struct egress_request *out, struct pkg_error *err)
{
	const char *why = NULL;
	size_t hosts = 0;
	int status;

	for (size_t i = 0; i < count; i++)
		hosts += span_is(fields[i].name, "host");
	/* RFC 9112 section 3.2. CONNECT has its authority already; some clients leave Host out. */
	if (hosts > 1 || (hosts == 0 && out->minor == 1 && !out->connect))
		return refuse(
			&out->status, 400, err, hosts ? "Host is repeated" : "Host is missing");
	if (!connection_is_sane(fields, count))
		return refuse(&out->status, 400, err,
			"Connection names a field that must not be dropped, or is no list");
	status = parse_framing(fields, count, &out->body, &out->length, &why);
	if (status)
		return refuse(&out->status, status, err, why);
	if (out->body == EGRESS_BODY_CHUNKED && out->minor == 0)
		return refuse(&out->status, 400, err, "Transfer-Encoding in HTTP/1.0");
	if (out->connect && (out->body == EGRESS_BODY_CHUNKED || out->length > 0))
		return refuse(&out->status, 400, err, "CONNECT with a body");
	return 0;
}

int
egress_request_parse(const char *head, size_t len, size_t max_fields, struct egress_request *out,
	struct pkg_error *err)
{
	struct span rest = { head, len };
	pkg_autofree struct field *fields = NULL;
	size_t count = 0;
	int rc;

	if (parse_request_line(take_line(&rest), out, err) < 0)
		return -1;
	rc = parse_fields(rest, max_fields, &fields, &count);
	if (rc < 0)
		return refuse(&out->status, rc == -1 ? 400 : 431, err,
			rc == -1 ? "a header field is malformed or folded"
				 : "too many header fields");
	if (check_fields(fields, count, out, err) < 0)
		return -1;
	out->persistent = !out->connect && out->minor == 1 && !wants_close(fields, count);
	if (!out->connect)
		write_fields(fields, count, true, &out->fields);
	return 0;
}

void
egress_request_authority(const struct egress_request *request, struct pkg_buf *out)
{
	bool v6 = request->host.address.family == AF_INET6;

	pkg_buf_addf(out, "%s%s%s", v6 ? "[" : "", request->host.name, v6 ? "]" : "");
	if (request->connect || request->port != 80)
		pkg_buf_addf(out, ":%d", request->port);
}

void
egress_request_write(const struct egress_request *request, bool absolute, const char *authorization,
	struct pkg_buf *out)
{
	pkg_buf_addf(out, "%s ", request->method);
	if (request->connect || absolute) {
		if (!request->connect)
			pkg_buf_add(out, "http://");
		egress_request_authority(request, out);
	}
	if (!request->connect && !(absolute && strcmp(request->target, "*") == 0))
		pkg_buf_add(out, request->target);
	pkg_buf_addf(out, " HTTP/1.%d\r\nHost: ", request->minor);
	egress_request_authority(request, out);
	pkg_buf_add(out, "\r\n");
	if (authorization)
		pkg_buf_addf(out, "Proxy-Authorization: %s\r\n", authorization);
	if (request->fields.len)
		pkg_buf_add_mem(out, request->fields.data, request->fields.len);
	pkg_buf_add(out, request->connect || request->keep ? "\r\n" : "Connection: close\r\n\r\n");
}

void
egress_request_clear(struct egress_request *request)
{
	free(request->target);
	pkg_buf_clear(&request->fields);
	memset(request, 0, sizeof(*request));
}

static int
parse_status_line(struct span line, struct egress_response *out, int *minor)
{
	struct span version = { line.data, 8 };

	if (line.len < 12 || parse_version(version, minor) != 0 || line.data[8] != ' ' ||
		(line.len > 12 && line.data[12] != ' '))
		return -1;
	for (size_t i = 9; i < 12; i++) {
		if (!isdigit((unsigned char)line.data[i]))
			return -1;
		out->status = out->status * 10 + (line.data[i] - '0');
	}
	return out->status >= 100 ? 0 : -1;
}

int
egress_response_parse(const char *head, size_t len, size_t max_fields, bool to_head,
	struct egress_response *out, struct pkg_error *err)
{
	struct span rest = { head, len };
	struct span line = take_line(&rest);
	pkg_autofree struct field *fields = NULL;
	enum egress_body body = EGRESS_BODY_NONE;
	int64_t length = 0;
	const char *why = "its framing is ambiguous";
	size_t count = 0;
	int minor = 0;

	if (parse_status_line(line, out, &minor) < 0)
		return refuse(&out->status, 502, err, "the server's status line is malformed");
	/* We forward no Upgrade, so nobody can have asked for 101. */
	if (out->status == 101)
		return refuse(&out->status, 502, err, "the server switched protocols unasked");
	if (parse_fields(rest, max_fields, &fields, &count) < 0)
		return refuse(&out->status, 502, err,
			"the server's header is malformed, folded or too long");
	if (!connection_is_sane(fields, count) ||
		parse_framing(fields, count, &body, &length, &why) == 400)
		return refuse(&out->status, 502, err, why);
	out->interim = out->status < 200;
	out->length = body == EGRESS_BODY_LENGTH ? length : -1;
	if (to_head || out->interim || out->status == 204 || out->status == 304)
		out->length = 0;
	out->persistent = minor == 1 && !wants_close(fields, count);
	/* Where it does not say where it ends, its end is the connection's. */
	out->keep = out->keep && out->length >= 0;
	pkg_buf_add_mem(&out->head, line.data, line.len);
	pkg_buf_add(&out->head, "\r\n");
	write_fields(fields, count, false, &out->head);
	pkg_buf_add(&out->head, out->interim || out->keep ? "\r\n" : "Connection: close\r\n\r\n");
	return 0;
}

void
egress_response_clear(struct egress_response *response)
{
	pkg_buf_clear(&response->head);
	memset(response, 0, sizeof(*response));
}
