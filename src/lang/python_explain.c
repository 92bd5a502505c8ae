#include "lang/python_explain.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "core/process.h"
#include "core/text.h"
#include "core/url.h"
#include "lang/python_pip.h"

#define LINE_SHOWN 300
#define CONFLICT_LINES 8
#define LAST_LINES 3

/* --- reading a log --- */

bool
lang_python_line_next(const char **at, struct lang_python_line *line)
{
	size_t len;

	if (**at == '\0')
		return false;
	len = strcspn(*at, "\n");
	*line = (struct lang_python_line){ .at = *at, .len = len };
	*at += len + ((*at)[len] == '\n');
	while (line->len > 0 && isspace((unsigned char)*line->at)) {
		line->at++;
		line->len--;
		line->indent++;
	}
	while (line->len > 0 && isspace((unsigned char)line->at[line->len - 1]))
		line->len--;
	return true;
}

bool
lang_python_line_starts(const struct lang_python_line *line, const char *prefix)
{
	size_t len = strlen(prefix);

	return line->len >= len && memcmp(line->at, prefix, len) == 0;
}

char *
lang_python_line_text(const struct lang_python_line *line, size_t max)
{
	return pkg_text_clean(line->at, line->len, max, false);
}

/* What stands after the last line that begins with prefix, at most `indent` deep. Given; NULL: none. */
static char *
last_after(const char *log, const char *prefix, size_t indent)
{
	struct lang_python_line line, found = { 0 };

	while (lang_python_line_next(&log, &line))
		if (line.indent <= indent && lang_python_line_starts(&line, prefix))
			found = line;
	if (!found.at)
		return NULL;
	found.at += strlen(prefix);
	found.len -= strlen(prefix);
	return lang_python_line_text(&found, LINE_SHOWN);
}

/* "syn-x>=1 (from parent->-r file (line 3)) (from versions: 1.0)": the parent nearest to it. */
static char *
parent_of(const char *text)
{
	const char *from = strstr(text, " (from ");
	size_t len;

	if (!from)
		return NULL;
	from += strlen(" (from ");
	len = strcspn(from, ")");
	for (size_t i = 0; i + 1 < len; i++)
		if (from[i] == '-' && from[i + 1] == '>')
			len = i;
	if (len == 0 || from[0] == '-' || strncmp(from, "versions:", 9) == 0)
		return NULL;
	return pkg_xstrndup(from, len);
}

char *
lang_python_explain_missing(const char *log, char **needed_by)
{
	pkg_autofree char *missing =
		last_after(log, "ERROR: No matching distribution found for ", 1);
	pkg_autofree char *detail = last_after(
		log, "ERROR: Could not find a version that satisfies the requirement ", 1);

	if (needed_by)
		*needed_by = missing && detail ? parent_of(detail) : NULL;
	if (missing) {
		char *from = strstr(missing, " (from ");

		if (from)
			*from = '\0';
	}
	return pkg_steal_ptr(&missing);
}

/* --- the network --- */

static char *
place_of(const struct egress_row *row)
{
	const char *host = row->host ? row->host : "an unnamed host";

	return strchr(host, ':') ? pkg_xasprintf("[%s]:%d", host, row->port)
				 : pkg_xasprintf("%s:%d", host, row->port);
}

/* The proxy's sentence without the cure that it ends with: ours is better. Given. */
static char *
sentence(const struct egress_row *row)
{
	const char *reason = row->reason ? row->reason : egress_verdict_name(row->verdict);
	const char *cure = strstr(reason, ". add ");

	return cure ? pkg_xstrndup(reason, (size_t)(cure - reason)) : pkg_xstrdup(reason);
}

static int
explain_refusal(const struct egress_row *row, const char *place, struct pkg_error *err)
{
	pkg_autofree char *reason = sentence(row);
	const char *leads = strstr(reason, " leads to ");

	if (row->verdict == EGRESS_DENIED)
		pkg_error_set(err, PKG_E_EGRESS_DENIED,
			"%s is not among the hosts that this job may reach", place);
	else
		pkg_error_set(err, PKG_E_EGRESS_DENIED, "a connection to %s was refused: %s", place,
			reason);
	/* An internal address is only reached by a rule that names it. */
	if (row->verdict == EGRESS_ADDRESS && leads) {
		leads += strlen(" leads to ");
		return pkg_error_cure(err,
			"if that is meant, add \"%s%.*s%s:%d\" to network.hosts in pkgd.json",
			memchr(leads, ':', strcspn(leads, " ")) ? "[" : "",
			(int)strcspn(leads, " "), leads,
			memchr(leads, ':', strcspn(leads, " ")) ? "]" : "", row->port);
	}
	if (row->verdict != EGRESS_DENIED)
		return -1;
	return pkg_error_cure(err, "add \"%s\" to network.hosts in pkgd.json", place);
}

int
lang_python_explain_row(const struct egress_row *row, struct pkg_error *err)
{
	pkg_autofree char *place = place_of(row);
	pkg_autofree char *reason = sentence(row);

	switch (row->verdict) {
	case EGRESS_DENIED:
	case EGRESS_ADDRESS:
	case EGRESS_TLS_MISMATCH:
	case EGRESS_NOT_TLS:
		return explain_refusal(row, place, err);
	case EGRESS_OVERSIZE:
		return pkg_error_set(err, PKG_E_TOO_LARGE, "%s: %s", place, reason);
	case EGRESS_FAILED:
	case EGRESS_TIMEOUT:
	case EGRESS_BUSY:
	case EGRESS_MALFORMED:
	case EGRESS_ALLOWED:
	case EGRESS_ABORTED:
	case EGRESS_SUPPRESSED:
		break;
	}
	pkg_error_set(err, PKG_E_INDEX_UNREACHABLE, "%s could not be reached: %s", place, reason);
	return pkg_error_cure(err, "see whether the index answers, then try again");
}

const struct egress_row *
lang_python_explain_denied(const struct egress_rows *rows)
{
	const struct egress_row *cause = rows ? egress_rows_cause(rows) : NULL;
	bool denied = cause &&
		(cause->verdict == EGRESS_DENIED || cause->verdict == EGRESS_ADDRESS ||
			cause->verdict == EGRESS_TLS_MISMATCH || cause->verdict == EGRESS_NOT_TLS);

	return denied ? cause : NULL;
}

/* --- what ends any program --- */

static int
explain_signal(const struct lang_python_failure *failure, struct pkg_error *err)
{
	/* The status of a wait for a process that a signal ended is its number. */
	pkg_autofree char *end = pkg_process_describe(failure->status - 128);

	return pkg_error_set(err, PKG_E_KILLED, "%s was %s", failure->tool, end);
}

static bool
has(const struct lang_python_failure *failure, const char *text)
{
	return strstr(failure->log, text) != NULL;
}

static int
explain_system(const struct lang_python_failure *failure, struct pkg_error *err)
{
	pkg_autofree char *denied = NULL;

	if (has(failure, "No space left on device") || has(failure, "Disk quota exceeded")) {
		pkg_error_set(err, PKG_E_DISK_FULL, "%s ran out of disk space", failure->tool);
		return pkg_error_cure(err, "free some space (pkg cache prune), then try again");
	}
	if (has(failure, "\nMemoryError") || has(failure, "ERROR: MemoryError")) {
		pkg_error_set(err, PKG_E_MEMORY, "%s reached the limit of memory of its sandbox",
			failure->tool);
		return pkg_error_cure(err, "raise 'memory' of this purpose in sandbox.limits");
	}
	denied = last_after(failure->log,
		"ERROR: Could not install packages due to an OSError: [Errno 13] ", 1);
	if (denied)
		return pkg_error_set(err, PKG_E_PERMISSION, "%s: %s", failure->tool, denied);
	return 0;
}

/* --- files that are not what they should be --- */

/* The first URL in a line, without fragment. Given; NULL: none. */
static char *
url_in(const char *line, size_t len)
{
	pkg_autofree char *text = pkg_xstrndup(line, len);
	const char *url = strstr(text, "http://");

	if (!url)
		url = strstr(text, "https://");
	return url ? pkg_xstrndup(url, strcspn(url, " )#")) : NULL;
}

static char *
name_of(const char *url)
{
	pkg_autofree char *name = url ? pkg_url_basename(url) : NULL;

	return name && *name ? pkg_text_clean(name, strlen(name), LINE_SHOWN, false) : NULL;
}

/* The name of the file that a line has the URL of. Given; NULL: none. */
static char *
file_in(const char *line, size_t len)
{
	pkg_autofree char *url = url_in(line, len);

	return name_of(url);
}

static char *
word_after(const char *text, const char *mark)
{
	const char *found = strstr(text, mark);
	size_t len;

	if (!found)
		return pkg_xstrdup("(unknown)");
	found += strlen(mark);
	found += strspn(found, " ");
	len = strcspn(found, " \n");
	return pkg_text_clean(found, len, 128, false);
}

char *
lang_python_explain_last_url(const char *log, const char *end)
{
	struct lang_python_line line;
	char *found = NULL;

	while ((!end || log < end) && lang_python_line_next(&log, &line)) {
		char *url;

		if (!lang_python_line_starts(&line, "Downloading ") &&
			!lang_python_line_starts(&line, "Using cached "))
			continue;
		url = url_in(line.at, line.len);
		if (!url || pkg_text_has_suffix(url, ".metadata")) {
			free(url);
			continue;
		}
		free(found);
		found = url;
	}
	return found;
}

char *
lang_python_explain_last_file(const char *log, const char *end)
{
	pkg_autofree char *url = lang_python_explain_last_url(log, end);

	return name_of(url);
}

/* Newer ones say "unknown package:" where the line with the URL should be: then it is the last one that
 * was downloaded. */
static char *
mismatched_file(const char *log, const char *block)
{
	const char *at = block;
	struct lang_python_line line;
	char *file = NULL;

	while (!file && lang_python_line_next(&at, &line) &&
		!lang_python_line_starts(&line, "Expected "))
		file = file_in(line.at, line.len);
	return file ? file : lang_python_explain_last_file(log, block);
}

static int
explain_hash(const struct lang_python_failure *failure, const char *block, struct pkg_error *err)
{
	pkg_autofree char *file = mismatched_file(failure->log, block);
	pkg_autofree char *expected = word_after(block, "Expected sha256 ");
	pkg_autofree char *got = word_after(block, "Got ");

	pkg_error_set(err, PKG_E_HASH, "%s%s%s has sha256 %s, but %s was announced",
		file ? "'" : "", file ? file : "a downloaded file", file ? "'" : "", got, expected);
	return pkg_error_cure(err,
		"nothing was installed; try again if the download was damaged, else "
		"ask whoever runs the index");
}

static int
explain_truncated(
	const struct lang_python_failure *failure, const char *found, struct pkg_error *err)
{
	pkg_autofree char *file = lang_python_explain_last_file(failure->log, found);
	struct lang_python_line rest = { .at = found + strcspn(found, "(\n") };
	pkg_autofree char *amounts = NULL;

	rest.len = strcspn(rest.at, "\n");
	amounts = lang_python_line_text(&rest, 60);
	pkg_error_set(err, PKG_E_ARCHIVE, "the download of '%s' ended early%s%s",
		file ? file : "a file", *amounts ? " " : "", amounts);
	return pkg_error_cure(err, "try again");
}

static int
explain_archive(const struct lang_python_failure *failure, struct pkg_error *err)
{
	const char *log = failure->log;
	const char *truncated =
		strstr(log, "Download failed because not enough bytes were received");
	pkg_autofree char *file = lang_python_explain_last_file(log, NULL);
	struct lang_python_line line;

	if (truncated)
		return explain_truncated(failure, truncated, err);
	while (lang_python_line_next(&log, &line)) {
		pkg_autofree char *text = lang_python_line_text(&line, LINE_SHOWN);

		if (pkg_text_has_prefix(text, "ERROR: Wheel '") && strstr(text, " is invalid"))
			return pkg_error_set(err, PKG_E_ARCHIVE, "'%s' is not a valid wheel",
				file ? file : "a downloaded file");
		if (pkg_text_has_prefix(text, "ERROR: ") && strstr(text, "has an invalid wheel"))
			return pkg_error_set(err, PKG_E_ARCHIVE, "'%s' is not a valid wheel: %s",
				file ? file : "a downloaded file", text + strlen("ERROR: "));
	}
	return 0;
}

/* --- resolution --- */

static int
explain_conflict(const struct lang_python_failure *failure, struct pkg_error *err)
{
	const char *block = strstr(failure->log, "The conflict is caused by:");
	pkg_cleanup_buf struct pkg_buf lines = { 0 };
	struct lang_python_line line;
	size_t count = 0;

	if (block)
		(void)lang_python_line_next(&block, &line);
	while (block && lang_python_line_next(&block, &line) && line.len > 0) {
		pkg_autofree char *text = lang_python_line_text(&line, LINE_SHOWN);

		if (count++ < CONFLICT_LINES)
			pkg_buf_addf(&lines, "%s%s", lines.len > 0 ? "; " : "", text);
	}
	if (count > CONFLICT_LINES)
		pkg_buf_addf(&lines, "; and %zu more", count - CONFLICT_LINES);
	pkg_error_set(err, PKG_E_CONFLICT, "the requirements contradict each other%s%s",
		lines.len > 0 ? ": " : "", pkg_buf_str(&lines));
	return pkg_error_cure(err, "ask for other versions of one of them");
}

static int
explain_http(const struct lang_python_failure *failure, struct pkg_error *err)
{
	pkg_autofree char *http = last_after(failure->log, "ERROR: HTTP error ", 3);
	pkg_autofree char *os = last_after(
		failure->log, "ERROR: Could not install packages due to an OSError: ", 1);
	pkg_autofree char *file = http ? file_in(http, strlen(http)) : NULL;
	const struct egress_row *cause = failure->rows ? egress_rows_cause(failure->rows) : NULL;
	int status = http ? atoi(http) : 0;

	if (!http && !os)
		return 0;
	if (cause)
		return lang_python_explain_row(cause, err);
	if (os && strstr(os, "CERTIFICATE_VERIFY_FAILED"))
		return pkg_error_set(err, PKG_E_TLS, "%s: %s", failure->tool, os);
	if (os)
		return pkg_error_set(err, PKG_E_INDEX_UNREACHABLE, "%s: %s", failure->tool, os);
	pkg_error_set(err, status == 401 || status == 403 ? PKG_E_AUTH : PKG_E_INDEX_STATUS,
		"'%s': the server answered HTTP %d", file ? file : "a file", status);
	return pkg_error_cure(err, "ask for another version, or whoever runs the index");
}

static int
explain_hashes_needed(const struct lang_python_failure *failure, struct pkg_error *err)
{
	if (!has(failure, "In --require-hashes mode") && !has(failure, "Hashes are required in"))
		return 0;
	pkg_error_set(err, PKG_E_RESOLUTION,
		"hashes were given for some of the packages that are needed, but not for all");
	return pkg_error_cure(err,
		"give one for every package, dependencies included and pinned with "
		"==, or for none");
}

/* The last lines that say something, oldest first. Given. */
static char *
last_words(const char *log)
{
	struct lang_python_line line;
	struct lang_python_line kept[LAST_LINES] = { 0 };
	struct pkg_buf out = { 0 };
	size_t count = 0;

	while (lang_python_line_next(&log, &line))
		if (line.len > 0 && !lang_python_line_starts(&line, "note:") &&
			!lang_python_line_starts(&line, "hint:"))
			kept[count++ % LAST_LINES] = line;
	for (size_t i = count > LAST_LINES ? count - LAST_LINES : 0; i < count; i++) {
		pkg_autofree char *text = lang_python_line_text(&kept[i % LAST_LINES], LINE_SHOWN);

		pkg_buf_addf(&out, "%s%s", out.len > 0 ? " | " : "", text);
	}
	return pkg_buf_steal(&out);
}

static bool
is_vcs(const char *requirement)
{
	static const char *const schemes[] = { "git+", "hg+", "svn+", "bzr+" };
	const char *url = strstr(requirement, "@ ");

	for (size_t i = 0; url && i < PKG_ARRAY_LEN(schemes); i++)
		if (pkg_text_has_prefix(url + 2, schemes[i]))
			return true;
	return false;
}

/* Something that is needed is named by the URL of a source distribution. */
static int
explain_refused_build(const struct lang_python_failure *failure, struct pkg_error *err)
{
	pkg_autofree char *collected = NULL;
	pkg_autofree char *file = NULL;

	if (!has(failure, LANG_PYTHON_PIP_REFUSAL))
		return 0;
	collected = last_after(failure->log, "Collecting ", 1);
	if (collected && is_vcs(collected)) {
		pkg_error_set(err, PKG_E_UNSUPPORTED,
			"'%s' is needed, which comes from a version control system", collected);
		return pkg_error_cure(err, "ask for another version of what needs it");
	}
	file = collected ? file_in(collected, strlen(collected)) : NULL;
	pkg_error_set(err, PKG_E_NO_WHEEL,
		"'%s' is needed, which is a source distribution: its build was not started",
		file		    ? file
			: collected ? collected
				    : "a file");
	return pkg_error_cure(
		err, "--source allows building it here, which runs the package's own code");
}

static int
explain_plan(const struct lang_python_failure *failure, struct pkg_error *err)
{
	const char *hashes = strstr(failure->log, "DO NOT MATCH THE HASHES");
	pkg_autofree char *missing = lang_python_explain_missing(failure->log, NULL);
	pkg_autofree char *words = NULL;

	if (hashes)
		return explain_hash(failure, hashes, err);
	if (has(failure, "ResolutionImpossible"))
		return explain_conflict(failure, err);
	if (missing)
		return lang_python_explain_not_found(failure, err);
	if (explain_hashes_needed(failure, err) < 0 || explain_archive(failure, err) < 0 ||
		explain_http(failure, err) < 0)
		return -1;
	words = last_words(failure->log);
	return pkg_error_set(err, PKG_E_RESOLUTION, "%s ended with status %d%s%s", failure->tool,
		failure->status, *words ? ": " : "", words);
}

int
lang_python_explain(const struct lang_python_failure *failure, struct pkg_error *err)
{
	pkg_cleanup_error struct pkg_error found = { 0 };

	if (explain_refused_build(failure, &found) == 0 && explain_system(failure, &found) == 0) {
		if (failure->status > 128)
			explain_signal(failure, &found);
		else if (failure->building ||
			(has(failure, "metadata-generation-failed") ||
				has(failure, "subprocess-exited-with-error")))
			lang_python_explain_build(failure, &found);
		else
			explain_plan(failure, &found);
	}
	if (err)
		pkg_error_move(err, &found);
	return -1;
}
