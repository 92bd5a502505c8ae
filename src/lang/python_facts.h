/* lang/python_facts.h - what a Python interpreter said of itself.
 * Purpose    envs/python/probe.py prints one JSON object; this checks it once, so that everything
 *            else can read it without asking again: which marker environment, which layout an
 *            environment of that interpreter has, what to run.
 * Ownership  Facts are a json-c object, refcounted; getters borrow from it unless marked given, and
 *            never return NULL.
 * Errors     PKG_E_INVALID that says which fact is missing or cannot be.
 *
 * Facts come from a foreign program: every text in them is clean and bounded, every path absolute; the layout
 * is confined and of the expected shape in those that lang_python_accept() accepts. That does not make them true: what a sandbox shows is decided by where the
 * interpreter's file really is (lang/python_mounts.h), never by a prefix that it claims.
 */
#ifndef LANG_PYTHON_FACTS_H
#define LANG_PYTHON_FACTS_H
#include "core/json.h"
#include "lang/marker.h"

#define LANG_PYTHON_FACTS_MAX (1024 * 1024)

/* What one of our scripts printed: the last line that begins with '{', as an object. Given; NULL when
 * there is none. */
struct json_object *lang_python_output(const char *text, size_t len);
/* Output of the probe (a line that begins with '{' after whatever else was printed). An interpreter
 * too old to tell more gives a version and no layout: lang_python_facts_complete() is false. Given. */
struct json_object *lang_python_facts_parse(const char *text, size_t len, struct pkg_error *err);
/* Everything that creating an environment needs is there. */
bool lang_python_facts_complete(struct json_object *facts);

/* --- what it is --- */
const char *lang_python_version(struct json_object *facts); /* "3.11.2", "3.13.0rc1" */
void lang_python_version_info(struct json_object *facts, int *major, int *minor);
/* "CPython 3.11.2 (/usr/bin/python3.11)": given. */
char *lang_python_describe(struct json_object *facts);
/* The base interpreter's file, symlinks resolved: what to run, and what bin/python points to. */
const char *lang_python_executable(struct json_object *facts);
/* The directory that holds it and its standard library ("/usr", "/home/u/.pyenv/versions/3.11.7"). */
const char *lang_python_base(struct json_object *facts);
const char *lang_python_cache_tag(struct json_object *facts); /* "cpython-311" */
const char *lang_python_magic(struct json_object *facts); /* of .pyc files, hexadecimal */
const char *lang_python_soabi(struct json_object *facts); /* "" where it has none */
bool lang_python_free_threaded(struct json_object *facts);
/* Borrows strings of the facts. */
void lang_python_marker_env(struct json_object *facts, struct lang_marker_env *out);
/* Two interpreters with the same key build the same wheels and environments: version, ABI,
 * platform, file. 64 hexadecimal digits, given. */
char *lang_python_key(struct json_object *facts);
/* Absolute paths of pip wheels that came with it (ensurepip, the system's python-wheels folder),
 * best first; existing at the time of the probe. Appended. */
void lang_python_pip_wheels(struct json_object *facts, struct pkg_argv *out);

/* --- layout of an environment, relative to its tree --- */
const char *lang_python_site(
	struct json_object *facts); /* purelib, "lib/python3.11/site-packages" */
const char *lang_python_platlib(struct json_object *facts); /* real directory; mostly the same */
const char *lang_python_scripts(struct json_object *facts); /* "bin" */
const char *lang_python_data(struct json_object *facts); /* "" is the tree itself */
/* "include/site/python3.11/NAME", where headers of a distribution go. Given. */
char *lang_python_headers(struct json_object *facts, const char *name);
const char *lang_python_interpreter(struct json_object *facts); /* "bin/python" */

/* --- what an environment that is not hermetic inherits --- */
/* Absolute directories in search order, standard library excluded. Appended. */
void lang_python_inherited(struct json_object *facts, struct pkg_argv *out);
#endif
