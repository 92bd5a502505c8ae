/* lang/python_layout.h - where each file of a wheel goes in an environment.
 * Purpose    The one place that turns entries of a wheel into paths of a tree, for the forecast of a
 *            plan as for the installation itself. Pure: touches no file.
 * Ownership  The structs own their strings and have *_clear; a layout borrows from the facts, a list
 *            of items from the wheel and the layout that it was made of.
 * Errors     PKG_E_ARCHIVE that names the path, for a wheel that would leave the tree, touch what
 *            makes the environment one, speak for another distribution, or has two files at one path.
 *
 * What is a wheel's business is decided here and not by what lies in the tree: site directories, new
 * names in the scripts directory, headers in their own directory, data anywhere but at the
 * interpreter, its activation scripts, pyvenv.cfg and lib64.
 */
#ifndef LANG_PYTHON_LAYOUT_H
#define LANG_PYTHON_LAYOUT_H
#include "core/json.h"
#include "lang/entry_points.h"
#include "lang/record.h"

/* What is to be known of a wheel to lay it out. */
struct lang_python_wheel {
	char *name; /* as METADATA writes it */
	char *version;
	char *requires_python; /* NULL: any */
	char *dist_info; /* directory names */
	char *data; /* NULL: none */
	bool root_is_purelib;
	struct lang_entry_points points;
	struct lang_record files; /* sorted by path; hashes NULL where only a listing is known */
};
void lang_python_wheel_clear(struct lang_python_wheel *wheel);
#define lang_cleanup_python_wheel __attribute__((cleanup(lang_python_wheel_clear)))

struct lang_python_layout {
	const char *site; /* relative to the tree, like all but the interpreter */
	const char *platlib;
	const char *scripts;
	const char *data; /* "": the tree itself */
	const char *cache_tag; /* "cpython-311" */
	char *headers; /* owned */
	char *interpreter; /* owned; absolute, at the stable prefix */
};
void lang_python_layout_init(struct lang_python_layout *layout, struct json_object *facts,
	const char *prefix, const char *name);
void lang_python_layout_clear(struct lang_python_layout *layout);
#define lang_cleanup_python_layout __attribute__((cleanup(lang_python_layout_clear)))

enum lang_python_item_kind {
	LANG_PYTHON_LINK, /* the wheel's file as it is */
	LANG_PYTHON_SCRIPT, /* the wheel's own script: its first line may change */
	LANG_PYTHON_BYTECODE, /* of `file`; only if that compiles */
	LANG_PYTHON_LAUNCHER, /* of `point` */
	LANG_PYTHON_INSTALLER, /* the rest is written into .dist-info */
	LANG_PYTHON_REQUESTED,
	LANG_PYTHON_DIRECT_URL,
	LANG_PYTHON_RECORD,
};
struct lang_python_item {
	enum lang_python_item_kind kind;
	char *path; /* owned; relative to the tree */
	const struct lang_record_entry *file; /* NULL for what is no file of the wheel */
	const struct lang_entry_point *point;
};
struct lang_python_items {
	struct lang_python_item *items; /* owned; sorted by path, each path once */
	size_t count;
	size_t cap;
};
/* requested: somebody asked for it by name; direct: it came by URL (PEP 610). */
int lang_python_items_make(const struct lang_python_layout *layout,
	const struct lang_python_wheel *wheel, bool requested, bool direct,
	struct lang_python_items *out, struct pkg_error *err);
void lang_python_items_clear(struct lang_python_items *items);
#define lang_cleanup_python_items __attribute__((cleanup(lang_python_items_clear)))

/* "lib/python3.11/site-packages/x-1.dist-info". Given. */
char *lang_python_layout_dist_info(
	const struct lang_python_layout *layout, const struct lang_python_wheel *wheel);
/* The path of a tree as a RECORD in a .dist-info directory below `site` names it
 * ("../../../bin/x"). Given. */
char *lang_python_record_path(const char *site, const char *path);
/* "a/__pycache__/b.cpython-311.pyc" for "a/b.py"; NULL for what is no source. Given. */
char *lang_python_pyc_path(const char *path, const char *cache_tag);
/* Paths of the environment itself, which no distribution may own: the interpreter, activation
 * scripts, pyvenv.cfg, lib64. */
bool lang_python_path_is_reserved(const char *path, const char *scripts);
/* Entries whose bytecode is wanted: those that end up where modules are imported from. */
bool lang_python_entry_compiles(const struct lang_python_wheel *wheel, const char *entry);
#endif
