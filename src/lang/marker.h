/* lang/marker.h - environment markers (PEP 508, PEP 685): python_version < "3.9" and extra == "x".
 * Purpose    Parse, show and evaluate the condition after a requirement's ';'.
 * Ownership  A marker is a heap object, released with lang_marker_free(). struct lang_marker_env
 *            borrows its strings; NULL counts as "".
 * Errors     PKG_E_REQUIREMENT for text outside the grammar, and at evaluation for '~=' between
 *            strings that are not versions.
 */
#ifndef LANG_MARKER_H
#define LANG_MARKER_H
#include "core/buf.h"
#include "core/error.h"
#include "lang/scan.h"

#define LANG_MARKER_DEPTH_MAX 32 /* nested parentheses */
#define LANG_MARKER_TEXT_MAX 4096

struct lang_marker;

struct lang_marker_env {
	const char *python_version; /* "3.11" */
	const char *python_full_version; /* "3.11.2" */
	const char *os_name;
	const char *sys_platform;
	const char *platform_release;
	const char *platform_system;
	const char *platform_version;
	const char *platform_machine;
	const char *platform_python_implementation;
	const char *implementation_name;
	const char *implementation_version;
};

/* NULL on failure; the text must be a marker and nothing else. */
struct lang_marker *lang_marker_parse(const char *text, struct pkg_error *err);
/* The marker at the cursor, which is left after it and the blanks that follow, or on the fault. */
struct lang_marker *lang_marker_scan(struct lang_scan *scan, struct pkg_error *err);
void lang_marker_free(struct lang_marker *marker);
PKG_DEFINE_CLEANUP(struct lang_marker, lang_marker_free)

/* Two versions are compared as PEP 440 says, anything else as strings; `extra` always as a
 * normalised name. Call it once per requested extra, with NULL for none. Every comparison is made:
 * one that has no meaning is an error wherever it stands. */
int lang_marker_evaluate(const struct lang_marker *marker, const struct lang_marker_env *env,
	const char *extra, bool *result, struct pkg_error *err);
/* The marker names `extra` anywhere: only such a one depends on what was asked for. */
bool lang_marker_has_extra(const struct lang_marker *marker);
/* Given: canonical spelling, with no more parentheses than it needs. */
char *lang_marker_text(const struct lang_marker *marker);
#endif
