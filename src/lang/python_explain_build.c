#include "lang/python_explain.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"

/* A build's log is long, its last line says nothing ("See above for output"), and the line that matters is
 * the compiler's. So the log is read from its end for lines that name a cause; where none does, the last
 * lines that the package's own tools printed are quoted and nothing is concluded from them. */

#define NAME_MAX_SHOWN 200
#define QUOTED_LINES 6
#define QUOTED_LINE_MAX 200

/* Given: the text between two marks of the last line that has both; NULL: none. `before` may be NULL: the
 * line's beginning. */
static char *
last_between(const char *log, const char *before, const char *after)
{
	struct lang_python_line line;
	char *found = NULL;

	while (lang_python_line_next(&log, &line)) {
		pkg_autofree char *text = lang_python_line_text(&line, 2000);
		char *start = before ? strstr(text, before) : text;
		char *end;

		if (!start)
			continue;
		start += before ? strlen(before) : 0;
		end = strstr(start, after);
		if (!end || end == start)
			continue;
		*end = '\0';
		free(found);
		found = pkg_text_clean(start, strlen(start), NAME_MAX_SHOWN, false);
	}
	return found;
}

static char *
missing_header(const char *log)
{
	static const char *const forms[][2] = {
		{ "fatal error: ", ": No such file or directory" }, /* gcc */
		{ "fatal error: '", "' file not found" }, /* clang */
		{ "Cannot open include file: '", "'" }, /* cl */
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(forms); i++) {
		char *name = last_between(log, forms[i][0], forms[i][1]);

		if (name)
			return name;
	}
	return NULL;
}

/* The program that was to be run and is not there. */
static char *
missing_tool(const char *log)
{
	static const char *const forms[][2] = {
		{ "error: command '", "' failed: No such file or directory" },
		{ "unable to execute '", "': No such file or directory" },
		{ "No such file or directory: '", "'" },
		{ "error: [Errno 2] No such file or directory: '", "'" },
		{ "Unknown compiler(s): [['", "'" },
		{ NULL, ": command not found" },
		{ NULL, ": not found" },
	};
	static const char *const tools[] = { "cc", "gcc", "g++", "c++", "clang", "clang++", "cargo",
		"rustc", "cmake", "make", "ninja", "meson", "gfortran", "swig", "nvcc",
		"pkg-config" };
	static const char *const hints[][2] = {
		{ "can't find Rust compiler", "rustc" },
		{ "Cargo, the Rust package manager, is not installed", "cargo" },
		{ "No CMAKE_C_COMPILER could be found", "cc" },
		{ "No CMAKE_CXX_COMPILER could be found", "c++" },
		{ "CMake must be installed", "cmake" },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(hints); i++)
		if (strstr(log, hints[i][0]))
			return pkg_xstrdup(hints[i][1]);
	for (size_t i = 0; i < PKG_ARRAY_LEN(forms); i++) {
		pkg_autofree char *name = last_between(log, forms[i][0], forms[i][1]);
		const char *base = name ? strrchr(name, '/') : NULL;
		const char *word;

		if (!name)
			continue;
		/* "/bin/sh: 1: gcc" and "x86_64-linux-gnu-gcc" */
		word = strrchr(name, ' ') ? strrchr(name, ' ') + 1 : base ? base + 1 : name;
		for (size_t k = 0; k < PKG_ARRAY_LEN(tools); k++) {
			pkg_autofree char *suffix = pkg_xasprintf("-%s", tools[k]);

			if (strcmp(word, tools[k]) == 0 || pkg_text_has_suffix(word, suffix))
				return pkg_xstrdup(word);
		}
	}
	return NULL;
}

static int
explain_header(const char *what, const char *header, struct pkg_error *err)
{
	pkg_error_set(err, PKG_E_BUILD_HEADER,
		"building %s failed: the compiler did not find the header file %s", what, header);
	return pkg_error_cure(err,
		"a build cannot add system packages: install the one that has it, or choose a "
		"version with a wheel; the missing header is %s",
		header);
}

static int
explain_tool(const char *what, const char *tool, struct pkg_error *err)
{
	pkg_error_set(err, PKG_E_BUILD_COMPILER,
		"building %s failed: there is no '%s' on this machine", what, tool);
	return pkg_error_cure(
		err, "install '%s', or choose a version of the package with a wheel", tool);
}

/* What a build wants before it begins is resolved by a pip of its own, whose lines are indented. */
static char *
missing_requirement(const char *log)
{
	struct lang_python_line line;
	static const char mark[] = "ERROR: No matching distribution found for ";

	while (lang_python_line_next(&log, &line)) {
		if (line.indent < 2 || !lang_python_line_starts(&line, mark))
			continue;
		line.at += strlen(mark);
		line.len -= strlen(mark);
		return lang_python_line_text(&line, NAME_MAX_SHOWN);
	}
	return NULL;
}

/* Lines of pip's own around what the package's tools printed. */
static bool
is_frame(const struct lang_python_line *line)
{
	static const char *const marks[] = { "[end of output]",
		"note: ", "hint: ", "error: ", "ERROR: Failed", "\xc3\x97 ", "\xe2\x94\x82 ",
		"\xe2\x95\xb0", "Building wheel", "Failed to build", "Failed building",
		"Preparing metadata", "Preparing wheel", "Installing build dependencies",
		"Getting requirements to", "Processing ", "Looking in ", "Collecting ",
		"Downloading ", "Using cached ", "adding trusted host", "Obtaining dependency",
		"Requirement already", "Using pip ", "Running command ",
		"full command: ", "cwd: " };

	for (size_t i = 0; i < PKG_ARRAY_LEN(marks); i++)
		if (lang_python_line_starts(line, marks[i]) &&
			!(strcmp(marks[i], "error: ") == 0 && line->indent >= 6))
			return true;
	/* Carets beneath a line of source, too. */
	return strspn(line->at, "^~ ") >= line->len;
}

/* "\n  line\n  line": given. */
static char *
last_output(const char *log)
{
	struct lang_python_line line;
	struct lang_python_line kept[QUOTED_LINES] = { 0 };
	struct pkg_buf out = { 0 };
	size_t count = 0;

	while (lang_python_line_next(&log, &line))
		if (!is_frame(&line))
			kept[count++ % QUOTED_LINES] = line;
	for (size_t i = count > QUOTED_LINES ? count - QUOTED_LINES : 0; i < count; i++) {
		pkg_autofree char *text =
			lang_python_line_text(&kept[i % QUOTED_LINES], QUOTED_LINE_MAX);

		pkg_buf_addf(&out, "\n  %s", text);
	}
	return pkg_buf_steal(&out);
}

/* Did its last words speak of the network? */
static bool
is_about_network(const char *output)
{
	static const char *const words[] = { "403", "proxy", "Proxy", "urlopen", "Connection",
		"connection", "Could not resolve", "Tunnel", "download", "unreachable" };

	for (size_t i = 0; i < PKG_ARRAY_LEN(words); i++)
		if (strstr(output, words[i]))
			return true;
	return false;
}

int
lang_python_explain_build(const struct lang_python_failure *failure, struct pkg_error *err)
{
	pkg_autofree char *header = missing_header(failure->log);
	pkg_autofree char *tool = missing_tool(failure->log);
	pkg_autofree char *needed = missing_requirement(failure->log);
	pkg_autofree char *output = last_output(failure->log);
	const struct egress_row *denied = lang_python_explain_denied(failure->rows);
	/* A plan has no name for it yet: then it is what came last. */
	pkg_autofree char *file = lang_python_explain_last_file(failure->log, NULL);
	const char *what = failure->building ? failure->building
		: file			     ? file
					     : "a source distribution";

	if (header)
		return explain_header(what, header, err);
	if (tool)
		return explain_tool(what, tool, err);
	if (denied && (needed || is_about_network(output))) {
		lang_python_explain_row(denied, err);
		return pkg_error_prefix(err, "building %s failed", what);
	}
	if (needed) {
		pkg_error_set(err, PKG_E_BUILD,
			"building %s failed: the index has no wheel of '%s', which its build needs",
			what, needed);
		return pkg_error_cure(err, "choose a version of the package with a wheel");
	}
	pkg_error_set(err, PKG_E_BUILD, "building %s failed%s%s", what, *output ? ":" : "", output);
	return pkg_error_cure(err, "choose a version with a wheel, or see the job's log");
}
