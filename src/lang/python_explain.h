/* lang/python_explain.h - why pip failed, from facts.
 * Purpose    pip has one sentence for five causes, and hides a build's error behind its summary. What
 *            decides here is what we measured ourselves: the proxy's rows, what the indexes answered when
 *            we asked them, how the process ended; pip's text only where it is the fact (a conflict, a
 *            compiler's line). Pure: everything is in the struct.
 * Ownership  Everything is borrowed.
 * Errors     That is what it makes: every function here returns -1 with *err set. A cause that is not
 *            known is not invented: PKG_E_RESOLUTION or PKG_E_BUILD with the log's last lines.
 */
#ifndef LANG_PYTHON_EXPLAIN_H
#define LANG_PYTHON_EXPLAIN_H
#include "core/json.h"
#include "egress/session.h"
#include <stdbool.h>

/* What one index said of the project that pip did not find. */
struct lang_python_answer {
	const char *index; /* without userinfo */
	struct json_object *page; /* lang/python_index.h; NULL when there was none */
	struct pkg_error error; /* PKG_E_NONE with a page; PKG_E_NOT_FOUND: no such project there */
};

struct lang_python_failure {
	const char *tool; /* "pip 23.0.1" */
	int status; /* 0..255, or 128+N */
	const char *log; /* NUL-terminated */
	const struct egress_rows *rows;
	const struct lang_python_answer *answers;
	size_t answer_count;
	const char *python; /* "3.11.2" */
	bool source; /* source distributions were allowed */
	bool prerelease;
	const char *building; /* "NAME VERSION" or a file's name; NULL: a plan failed */
	/* What was not found, where no log has to be read for it; NULL: lang_python_explain_missing(). */
	const char *missing;
	const char *needed_by; /* with it; NULL: it was asked for */
};

/* The requirement that pip found nothing for ("six==99"), and what needs it (NULL: it was asked for).
 * Given; NULL when that is not why it failed. needed_by may be NULL. */
char *lang_python_explain_missing(const char *log, char **needed_by);
int lang_python_explain(const struct lang_python_failure *failure, struct pkg_error *err);

/* Its parts, in files of their own. */
int lang_python_explain_not_found(const struct lang_python_failure *failure, struct pkg_error *err);
int lang_python_explain_build(const struct lang_python_failure *failure, struct pkg_error *err);
int lang_python_explain_row(const struct egress_row *row, struct pkg_error *err);
/* A refusal by the host rules, or NULL. Borrowed. */
const struct egress_row *lang_python_explain_denied(const struct egress_rows *rows);
/* The URL of a file that pip took last, from the index or its cache. Given; NULL: none. */
char *lang_python_explain_last_url(const char *log, const char *end);
/* The file that pip downloaded last before `end` (NULL: the log's end). Given; NULL: none. */
char *lang_python_explain_last_file(const char *log, const char *end);
/* Line n of the text, without blanks around it: what helps to read logs. */
struct lang_python_line {
	const char *at;
	size_t len;
	size_t indent;
};
/* The line at *at, which is moved to the next one. False at the end. */
bool lang_python_line_next(const char **at, struct lang_python_line *line);
bool lang_python_line_starts(const struct lang_python_line *line, const char *prefix);
/* Cleaned, at most max bytes. Given. */
char *lang_python_line_text(const struct lang_python_line *line, size_t max);
#endif
