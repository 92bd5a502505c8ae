#include "lang/r_explain.h"

#include <stdlib.h>
#include <string.h>

#include "core/text.h"

#define LINE_SHOWN 400
#define TAIL_SHOWN 1200
#define HEADER_MAX 200

/* First line of the log that holds all parts, in that order. *len: its length. NULL: none. */
static const char *
find_line(const struct lang_r_failure *failure, const char *const *parts, size_t count, size_t *len)
{
	const char *end = failure->log + failure->log_len;

	for (const char *line = failure->log; line < end;) {
		const char *newline = memchr(line, '\n', (size_t)(end - line));
		const char *stop = newline ? newline : end;
		const char *at = line;
		size_t found = 0;

		while (found < count && at &&
			(at = memmem(at, (size_t)(stop - at), parts[found], strlen(parts[found]))))
			at += strlen(parts[found++]);
		if (found == count) {
			*len = (size_t)(stop - line);
			return line;
		}
		line = newline ? newline + 1 : end;
	}
	return NULL;
}

static char *
clean_line(const char *line, size_t len)
{
	while (len > 0 && strchr(" \t", *line)) {
		line++;
		len--;
	}
	return pkg_text_clean(line, len, LINE_SHOWN, false);
}

/* "a.c:1:10: fatal error: curl/curl.h: No such file or directory" */
static int
missing_header(const struct lang_r_failure *failure, struct pkg_error *err)
{
	static const char *const gcc[] = { "fatal error: ", ": No such file or directory" };
	static const char *const clang[] = { "fatal error: '", "' file not found" };
	const char *const *forms[] = { gcc, clang };

	for (size_t i = 0; i < PKG_ARRAY_LEN(forms); i++) {
		size_t len = 0;
		const char *line = find_line(failure, forms[i], 2, &len);
		const char *start, *end;
		pkg_autofree char *header = NULL;
		pkg_autofree char *cure = NULL;

		if (!line)
			continue;
		start = (const char *)memmem(line, len, forms[i][0], strlen(forms[i][0])) +
			strlen(forms[i][0]);
		end = memmem(start, (size_t)(line + len - start), forms[i][1], strlen(forms[i][1]));
		header = pkg_text_clean(start, (size_t)(end - start), HEADER_MAX, false);
		cure = failure->sysreqs ? lang_r_sysreqs_cure(failure->sysreqs, header) : NULL;
		pkg_error_set(err, PKG_E_BUILD_HEADER,
			"%s does not compile: the header '%s' is not there", failure->label,
			header);
		if (cure)
			return pkg_error_cure(err, "install what has the header: %s", cure);
		if (failure->system_note)
			return pkg_error_cure(err, "%s", failure->system_note);
		return pkg_error_cure(
			err, "install the system's development package that has '%s'", header);
	}
	return 0;
}

static int
missing_compiler(const struct lang_r_failure *failure, struct pkg_error *err)
{
	static const char *const tools[] = { "gcc", "g++", "cc", "c++", "gfortran", "make",
		"clang" };
	static const char *const ends[] = { ": not found", ": No such file or directory",
		": command not found" };

	for (size_t i = 0; i < PKG_ARRAY_LEN(tools); i++)
		for (size_t j = 0; j < PKG_ARRAY_LEN(ends); j++) {
			pkg_autofree char *text = pkg_xasprintf(" %s%s", tools[i], ends[j]);
			const char *const parts[] = { text };
			size_t len = 0;

			if (!find_line(failure, parts, 1, &len))
				continue;
			pkg_error_set(err, PKG_E_BUILD_COMPILER,
				"%s does not compile: there is no %s", failure->label, tools[i]);
			return pkg_error_cure(err,
				"Debian: apt-get install r-base-dev; Fedora: dnf "
				"install R-core-devel");
		}
	return 0;
}

/* In the order in which they count: what stands further down is often a consequence of what
 * stands above. */
static const struct telling {
	const char *parts[2];
	size_t count;
	enum pkg_error_kind kind;
	const char *what;
} tellings[] = {
	{ { "No space left on device" }, 1, PKG_E_DISK_FULL, "the disk is full" },
	{ { "Could not resolve host" }, 1, PKG_E_BUILD,
		"its build wants the network, which builds do not have" },
	{ { "cannot open URL" }, 1, PKG_E_BUILD,
		"its build wants the network, which builds do not have" },
	{ { "configure: error: " }, 1, PKG_E_BUILD, "its configure script ends" },
	{ { "ERROR: dependenc", "not available" }, 2, PKG_E_BUILD,
		"a package that it needs is not there" },
	{ { "cannot find -l" }, 1, PKG_E_BUILD, "a library that it links to is not there" },
	{ { ": error: " }, 1, PKG_E_BUILD, "it does not compile" },
	{ { "undefined reference to" }, 1, PKG_E_BUILD, "it does not link" },
	{ { "ERROR: hard-coded installation path" }, 1, PKG_E_BUILD, "it cannot be moved" },
	{ { "Error in " }, 1, PKG_E_BUILD, "R stops" },
	{ { "Error : " }, 1, PKG_E_BUILD, "R stops" },
	{ { "Error: " }, 1, PKG_E_BUILD, "R stops" },
	{ { "ERROR: " }, 1, PKG_E_BUILD, "R stops" },
};

static int
told(const struct lang_r_failure *failure, struct pkg_error *err)
{
	for (size_t i = 0; i < PKG_ARRAY_LEN(tellings); i++) {
		const struct telling *telling = &tellings[i];
		size_t len = 0;
		const char *line = find_line(failure, telling->parts, telling->count, &len);
		pkg_autofree char *shown = line ? clean_line(line, len) : NULL;

		if (!line)
			continue;
		pkg_error_set(err, telling->kind, "%s cannot be built: %s: %s", failure->label,
			telling->what, shown);
		if (failure->system_note)
			return pkg_error_cure(err, "%s", failure->system_note);
		return -1;
	}
	return 0;
}

int
lang_r_explain(const struct lang_r_failure *failure, struct pkg_error *err)
{
	pkg_autofree char *tail = NULL;

	/* They return 0 when theirs is not the reason. */
	if (missing_header(failure, err) < 0 || missing_compiler(failure, err) < 0 ||
		told(failure, err) < 0)
		return -1;
	tail = pkg_text_tail(failure->log, failure->log_len, TAIL_SHOWN);
	return pkg_error_set(err, PKG_E_BUILD,
		"%s cannot be built: exit status %d; its last words: %s", failure->label,
		failure->status, *tail ? tail : "none");
}

bool
lang_r_explain_is_vague(const char *log, size_t len)
{
	static const char *const words[] = { "fatal error: ", "configure: error: ", ": error: ",
		"ERROR: dependenc", "No space left" };

	for (size_t i = 0; i < PKG_ARRAY_LEN(words); i++)
		if (memmem(log, len, words[i], strlen(words[i])))
			return false;
	return true;
}
