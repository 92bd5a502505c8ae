/* lang/r_facts.h - what an R said of itself, and the lines in which our R scripts speak.
 * Purpose    envs/r/probe.R prints facts as lines "PKGD<tab>NAME<tab>VALUE"; this checks them once
 *            and keeps them as JSON, from which everything else reads.
 * Ownership  Facts are a json-c object, refcounted; getters borrow from it unless marked given, and
 *            never return NULL.
 * Errors     PKG_E_INVALID that says which fact is missing or cannot be.
 */
#ifndef LANG_R_FACTS_H
#define LANG_R_FACTS_H
#include "core/argv.h"
#include "core/json.h"

#define LANG_R_OUTPUT_MAX (16 * 1024 * 1024)
#define LANG_R_LINE_FIELDS 4

/* Each line that begins with "PKGD<tab>": its fields, cleaned and NUL-terminated, absent ones
 * "". Whatever else was printed is passed over. The callback's -1 ends the reading. */
typedef int lang_r_line_fn(
	void *context, const char *const fields[LANG_R_LINE_FIELDS], struct pkg_error *err);
int lang_r_lines(
	const char *text, size_t len, lang_r_line_fn *each, void *context, struct pkg_error *err);

/* Given. */
struct json_object *lang_r_facts_parse(const char *text, size_t len, struct pkg_error *err);
const char *lang_r_version(struct json_object *facts); /* "4.2.2" */
char *lang_r_minor(struct json_object *facts); /* "4.2": given */
const char *lang_r_platform(struct json_object *facts); /* "x86_64-pc-linux-gnu" */
/* The front-end's file, symlinks resolved: what to run. */
const char *lang_r_program(struct json_object *facts);
const char *lang_r_base(struct json_object *facts); /* the directory that holds all of it */
const char *lang_r_home(struct json_object *facts); /* R_HOME */
const char *lang_r_library(struct json_object *facts); /* of base and recommended packages */
void lang_r_sites(struct json_object *facts, struct pkg_argv *out); /* site libraries; appended */
char *lang_r_describe(struct json_object *facts); /* "R 4.2.2 (/usr/bin/R)": given */
/* Reasons against it are appended. home: of the user whose files must not be shown, or NULL. */
void lang_r_accept(
	struct json_object *facts, const char *minimum, const char *home, struct pkg_argv *reasons);
#endif
