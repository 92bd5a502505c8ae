#include "lang/pep508.h"

#include <stdlib.h>

#include "core/text.h"
#include "core/url.h"
#include "lang/pep503.h"

void
lang_requirement_clear(struct lang_requirement *requirement)
{
	free(requirement->name);
	free(requirement->normalized);
	free(requirement->url);
	pkg_argv_free(requirement->extras);
	lang_pep440_set_clear(&requirement->versions);
	lang_marker_free(requirement->marker);
	memset(requirement, 0, sizeof(*requirement));
}

/* PEP 508 is an ASCII grammar without control characters other than the tab. Checked first, so that
 * no later step meets a NUL or an escape sequence. */
static int
check_bytes(struct lang_scan *scan, struct pkg_error *err)
{
	for (size_t i = 0; i < scan->len; i++) {
		unsigned char c = (unsigned char)scan->text[i];

		scan->at = i;
		if (c >= 0x80)
			return pkg_error_set(
				err, PKG_E_REQUIREMENT, "a non-ASCII character (byte 0x%02x)", c);
		if (c == 0x7f || (c < ' ' && c != '\t'))
			return pkg_error_set(
				err, PKG_E_REQUIREMENT, "a control character (0x%02x)", c);
	}
	scan->at = 0;
	return 0;
}

/* The run of name characters at the cursor; it moves only when the run is a name. */
static char *
scan_name(struct lang_scan *scan)
{
	size_t end = scan->at, start = scan->at;

	while (end < scan->len &&
		(lang_is_alnum(scan->text[end]) || strchr("-_.", scan->text[end])))
		end++;
	if (!lang_pep503_is_name_mem(scan->text + start, end - start))
		return NULL;
	scan->at = end;
	return pkg_xstrndup(scan->text + start, end - start);
}

static int
scan_project(struct lang_scan *scan, struct lang_requirement *out, struct pkg_error *err)
{
	char c = lang_scan_peek(scan);

	if (c == '-')
		return pkg_error_set(
			err, PKG_E_REQUIREMENT, "expected a project name, not an option");
	if (c == '.' || c == '/')
		return pkg_error_set(err, PKG_E_REQUIREMENT, "expected a project name, not a path");
	out->name = scan_name(scan);
	if (!out->name)
		return pkg_error_set(err, PKG_E_REQUIREMENT,
			"expected a project name (letters and digits, with '-', '_' and '.' "
			"between them)");
	out->normalized = lang_pep503_normalize(out->name);
	return 0;
}

bool
lang_requirement_has_extra(const struct lang_requirement *requirement, const char *extra)
{
	for (size_t i = 0; i < requirement->extras->count; i++)
		if (lang_pep503_equal(requirement->extras->items[i], extra))
			return true;
	return false;
}

static int
scan_extra(struct lang_scan *scan, struct lang_requirement *out, struct pkg_error *err)
{
	pkg_autofree char *extra = scan_name(scan);

	if (!extra)
		return pkg_error_set(err, PKG_E_REQUIREMENT, "expected the name of an extra");
	if (out->extras->count == LANG_REQUIREMENT_EXTRAS_MAX)
		return pkg_error_set(
			err, PKG_E_REQUIREMENT, "more than %d extras", LANG_REQUIREMENT_EXTRAS_MAX);
	if (!lang_requirement_has_extra(out, extra))
		pkg_argv_take(out->extras, pkg_steal_ptr(&extra));
	return 0;
}

static int
scan_extras(struct lang_scan *scan, struct lang_requirement *out, struct pkg_error *err)
{
	if (!lang_scan_take(scan, "["))
		return 0;
	lang_scan_blanks(scan);
	if (!lang_scan_take(scan, "]")) {
		for (;;) {
			if (scan_extra(scan, out, err) < 0)
				return -1;
			lang_scan_blanks(scan);
			if (lang_scan_take(scan, "]"))
				break;
			if (!lang_scan_take(scan, ","))
				return pkg_error_set(err, PKG_E_REQUIREMENT,
					"expected ',' or ']' after the name of an extra");
			lang_scan_blanks(scan);
		}
	}
	pkg_argv_sort(out->extras);
	lang_scan_blanks(scan);
	return 0;
}

/* "git+https", "git", "hg+ssh" ... */
static bool
is_vcs_scheme(const char *scheme, size_t len)
{
	static const char *const systems[] = { "git", "hg", "svn", "bzr" };

	for (size_t i = 0; i < PKG_ARRAY_LEN(systems); i++) {
		size_t n = strlen(systems[i]);

		if (len >= n && memcmp(scheme, systems[i], n) == 0 &&
			(len == n || scheme[n] == '+'))
			return true;
	}
	return false;
}

static int
classify_url(struct lang_requirement *out, struct pkg_error *err)
{
	pkg_autofree char *scheme = NULL;
	size_t len = 0;

	while (lang_is_alnum(out->url[len]) || (out->url[len] && strchr("+-.", out->url[len])))
		len++;
	if (len == 0 || out->url[len] != ':' || !lang_is_alpha(out->url[0]))
		return pkg_error_set(
			err, PKG_E_REQUIREMENT, "expected an http or https URL after '@'");
	scheme = pkg_xstrndup(out->url, len);
	for (size_t i = 0; i < len; i++)
		scheme[i] = lang_lower(scheme[i]);
	if (strcmp(scheme, "file") == 0) {
		out->kind = LANG_REQUIREMENT_FILE;
		return 0;
	}
	if (is_vcs_scheme(scheme, len)) {
		out->kind = LANG_REQUIREMENT_VCS;
		return 0;
	}
	if (strcmp(scheme, "http") == 0 || strcmp(scheme, "https") == 0) {
		pkg_cleanup_url struct pkg_url url = { 0 };
		pkg_cleanup_error struct pkg_error why = { 0 };

		out->kind = LANG_REQUIREMENT_URL;
		if (pkg_url_parse(out->url, &url, &why) < 0)
			return pkg_error_set(err, PKG_E_REQUIREMENT, "the URL is not valid");
		return 0;
	}
	return pkg_error_set(
		err, PKG_E_REQUIREMENT, "URLs of scheme '%s' are not accepted", scheme);
}

/* The grammar ends a URL at a blank, so "url;marker" would swallow the marker and with it a
 * condition somebody relied on. Other characters here are not allowed in a URL at all (RFC 3986).
 */
static int
scan_url(struct lang_scan *scan, struct lang_requirement *out, struct pkg_error *err)
{
	size_t start, end;

	lang_scan_blanks(scan);
	start = end = scan->at;
	for (; end < scan->len && !lang_is_blank(scan->text[end]); end++) {
		scan->at = end;
		if (scan->text[end] == ';')
			return pkg_error_set(err, PKG_E_REQUIREMENT,
				"a URL and its marker need a blank before the ';'");
		if (strchr("<>\"{}|\\^`", scan->text[end]))
			return pkg_error_set(
				err, PKG_E_REQUIREMENT, "'%c' cannot be in a URL", scan->text[end]);
	}
	scan->at = start;
	if (end == start)
		return pkg_error_set(err, PKG_E_REQUIREMENT, "expected a URL after '@'");
	out->url = pkg_xstrndup(scan->text + start, end - start);
	if (classify_url(out, err) < 0)
		return -1;
	scan->at = end;
	lang_scan_blanks(scan);
	return 0;
}

/* "()" is the empty set, which `packaging` takes too: old wheels have it in their metadata. */
static int
scan_parenthesised(struct lang_scan *scan, struct lang_requirement *out, struct pkg_error *err)
{
	lang_scan_blanks(scan);
	if (lang_scan_take(scan, ")"))
		return 0;
	if (lang_pep440_set_scan(scan, &out->versions, err) < 0)
		return -1;
	if (!lang_scan_take(scan, ")"))
		return pkg_error_set(err, PKG_E_REQUIREMENT, "expected ',' or ')'");
	return 0;
}

static int
scan_versions(struct lang_scan *scan, struct lang_requirement *out, struct pkg_error *err)
{
	if (lang_scan_end(scan) || lang_scan_peek(scan) == ';')
		return 0;
	if (lang_scan_take(scan, "(")) {
		if (scan_parenthesised(scan, out, err) < 0)
			return -1;
	} else if (!strchr("=<>!~", lang_scan_peek(scan))) {
		return pkg_error_set(err, PKG_E_REQUIREMENT,
			"expected a version comparison, '@', ';' or the end after the name");
	} else if (lang_pep440_set_scan(scan, &out->versions, err) < 0) {
		return -1;
	}
	lang_scan_blanks(scan);
	return 0;
}

static int
scan_requirement(struct lang_scan *scan, struct lang_requirement *out, struct pkg_error *err)
{
	if (check_bytes(scan, err) < 0)
		return -1;
	lang_scan_blanks(scan);
	if (scan_project(scan, out, err) < 0)
		return -1;
	lang_scan_blanks(scan);
	if (scan_extras(scan, out, err) < 0)
		return -1;
	if (lang_scan_take(scan, "@") ? scan_url(scan, out, err) < 0
				      : scan_versions(scan, out, err) < 0)
		return -1;
	if (lang_scan_take(scan, ";")) {
		out->marker = lang_marker_scan(scan, err);
		if (!out->marker)
			return -1;
		if (!lang_scan_end(scan))
			return pkg_error_set(
				err, PKG_E_REQUIREMENT, "expected 'and', 'or' or the end");
	}
	if (!lang_scan_end(scan))
		return pkg_error_set(err, PKG_E_REQUIREMENT, "expected %s';' or the end",
			out->versions.count > 0 ? "',', " : "");
	return 0;
}

/* Fit to be shown: without what stands before an '@' in a URL's authority. */
static char *
show(const char *text, size_t len)
{
	static const char sign[] = "://";
	const char *end = text + len, *next;
	struct pkg_buf out = { 0 };
	char *shown;

	while ((next = memmem(text, (size_t)(end - text), sign, strlen(sign)))) {
		next += strlen(sign);
		pkg_buf_add_mem(&out, text, (size_t)(next - text));
		text = next;
		for (const char *p = next; p < end && !lang_is_blank(*p); p++)
			if (*p == '@')
				text = p;
		if (text != next)
			pkg_buf_add(&out, "...");
	}
	pkg_buf_add_mem(&out, text, (size_t)(end - text));
	shown = pkg_text_clean(pkg_buf_str(&out), out.len, 200, false);
	pkg_buf_clear(&out);
	return shown;
}

int
lang_requirement_parse_mem(
	const char *text, size_t len, struct lang_requirement *out, struct pkg_error *err)
{
	struct lang_scan scan = { .text = text, .len = len };
	pkg_autofree char *shown = NULL;

	memset(out, 0, sizeof(*out));
	if (len > LANG_REQUIREMENT_MAX)
		return pkg_error_set(err, PKG_E_REQUIREMENT,
			"a requirement has at most %d bytes, this one has %zu",
			LANG_REQUIREMENT_MAX, len);
	out->extras = pkg_argv_new();
	if (scan_requirement(&scan, out, err) == 0)
		return 0;
	lang_requirement_clear(out);
	shown = show(text, len);
	return pkg_error_prefix(err, "requirement '%s': column %zu", shown, scan.at + 1);
}

int
lang_requirement_parse(const char *text, struct lang_requirement *out, struct pkg_error *err)
{
	return lang_requirement_parse_mem(text, strlen(text), out, err);
}

char *
lang_requirement_text(const struct lang_requirement *requirement)
{
	pkg_autofree char *versions = lang_pep440_set_text(&requirement->versions);
	struct pkg_buf out = { 0 };

	pkg_buf_add(&out, requirement->name);
	if (requirement->extras->count > 0) {
		pkg_autofree char *extras = pkg_argv_join(requirement->extras, ",");

		pkg_buf_addf(&out, "[%s]", extras);
	}
	if (requirement->url)
		pkg_buf_addf(&out, " @ %s", requirement->url);
	pkg_buf_add(&out, versions);
	if (requirement->marker) {
		pkg_autofree char *marker = lang_marker_text(requirement->marker);

		pkg_buf_addf(&out, "%s; %s", requirement->url ? " " : "", marker);
	}
	return pkg_buf_steal(&out);
}
