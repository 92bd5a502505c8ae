/* lang/python_store.h - the shared store of opened wheels and their bytecode.
 * Purpose    A wheel is unpacked and compiled once; every environment gets hard links.
 *            <cache>/wheels/<2 hex>/<sha256>/ holds tree/ (the entries as unpacked, 0444 or 0555),
 *            wheel.json (what the wheel says of itself) and files (its listing, in the form of a
 *            RECORD). <cache>/bytecode/<cache tag>-<magic>/<2 hex>/<sha256>/ mirrors the tree with
 *            nothing but __pycache__ directories. An entry is complete or absent: it grows below
 *            <cache>/opening/ and is renamed into its place when it is on disk.
 * Ownership  Results are given.
 * Errors     PKG_E_NOT_FOUND for an entry that is absent or damaged (the caller opens it again);
 *            PKG_E_ARCHIVE for a wheel that is not what the plan says.
 *
 * All files of one tree have one time, which comes from the wheel's hash. Bytecode is bound to the
 * time and size of its source, so what was compiled once is valid in every environment, and bytecode
 * that another version left behind never is. A file that somebody changed through a link in one of
 * the environments shows by its time or size, and then the entry is made anew.
 */
#ifndef LANG_PYTHON_STORE_H
#define LANG_PYTHON_STORE_H
#include "lang/lang.h"
#include "lang/python_layout.h"
#include <sys/stat.h>
#include <time.h>

/* What is unpacked for a distribution: the wheel itself or the one built from it; NULL: not known
 * yet. Borrowed. */
const char *lang_python_store_sha256(const struct lang_dist *dist);
time_t lang_python_store_time(const char *sha256);
/* Given. */
char *lang_python_store_path(const struct pkg_home *home, const char *sha256);
char *lang_python_store_bytecode(
	const struct pkg_home *home, struct json_object *facts, const char *sha256);
/* Complete, by its names alone. */
bool lang_python_store_has(const struct pkg_home *home, const char *sha256);
bool lang_python_store_has_bytecode(
	const struct pkg_home *home, struct json_object *facts, const char *sha256);

/* What an entry says; with_files false leaves the listing out. */
int lang_python_store_load(const struct pkg_home *home, const char *sha256, bool with_files,
	struct lang_python_wheel *out, struct pkg_error *err);
/* Name and version are those of the plan. PKG_E_ARCHIVE. */
int lang_python_store_agrees(
	const struct lang_dist *dist, const struct lang_python_wheel *wheel, struct pkg_error *err);
/* The file at path below the entry's tree is as it was unpacked. */
bool lang_python_store_intact(
	int tree_fd, const struct lang_record_entry *file, time_t mtime, struct stat *st);
/* Moves a damaged entry out of the way and deletes it; the one that tree_fd belongs to, and none that
 * another worker put in its place. tree_fd -1: whatever is there. */
int lang_python_store_discard(
	const struct pkg_home *home, const char *sha256, int tree_fd, struct pkg_error *err);

/* Opens what is missing: checked, with bytecode for the environment's interpreter, in sandboxes
 * without network. Workers that want the same wheels share the work. Distributions without
 * a known wheel are left out. */
int lang_python_store_open(struct lang_context *lang, const struct lang_env *env,
	const struct lang_dist *const *dists, size_t count, struct pkg_error *err);

/* --- for python_prepare.c --- */
/* An empty directory below <cache>/opening/ that ends with its holder: what a killed worker left is
 * removed by the next one. Descriptor (keep it open meanwhile) and path, given. */
int lang_python_store_begin(const struct pkg_home *home, char **path, struct pkg_error *err);
/* One of 256 locks for what begins with these two digits; the descriptor, given. */
int lang_python_store_lock(struct lang_context *lang, const char *sha256, struct pkg_error *err);
/* Checks that the unpacked tree at dir_fd/"tree" holds exactly what the report of pkg-unpack lists,
 * gives all files their time, and writes wheel.json and files beside it. */
int lang_python_store_seal(
	int dir_fd, const char *sha256, struct json_object *report, struct pkg_error *err);
/* Renames into place; one that is there already is as good. */
int lang_python_store_publish(const char *from, const char *to, struct pkg_error *err);
#endif
