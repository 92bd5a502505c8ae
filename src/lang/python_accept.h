/* lang/python_accept.h - may environments be made from this interpreter?
 * Purpose    A pure judgement: facts, platform, oldest version and home in, measured reasons out. What
 *            is not the reason of a rejection is not in it, and what is was measured (BEHAVIOURS O15).
 * Ownership  Everything is borrowed; reasons are appended to the caller's vector.
 * Errors     None. An interpreter without a reason against it is accepted.
 */
#ifndef LANG_PYTHON_ACCEPT_H
#define LANG_PYTHON_ACCEPT_H
#include "core/argv.h"
#include "core/json.h"
#include <stdbool.h>

enum lang_python_platform { LANG_PYTHON_POSIX, LANG_PYTHON_NT };

/* minimum: "3.8"; home: of the user whose files must not be shown, or NULL. Facts as
 * lang_python_facts_parse() gives them. */
void lang_python_accept(struct json_object *facts, enum lang_python_platform platform,
	const char *minimum, const char *home, struct pkg_argv *reasons);

/* "3", "3.11" or "3.11.7": nothing else is a version that someone could want. */
bool lang_python_is_wanted_version(const char *text);
/* Its version begins with those numbers. */
bool lang_python_is_version(struct json_object *facts, const char *wanted);
#endif
