/* lang/python_tags.h - which wheels an interpreter can use (PEP 425, 600, 656, 703), from its facts.
 * Purpose    The list that `packaging.tags.sys_tags()` gives inside that interpreter, without running it:
 *            "cp311-cp311-manylinux_2_36_x86_64", ..., "py3-none-any", best first.
 * Ownership  A heap object.
 * Errors     None: facts are checked when they are read. An interpreter of an unknown kind has the tags that
 *            any Python has.
 */
#ifndef LANG_PYTHON_TAGS_H
#define LANG_PYTHON_TAGS_H
#include "core/argv.h"
#include "core/json.h"

struct lang_python_tags;
struct lang_python_tags *lang_python_tags_new(struct json_object *facts);
void lang_python_tags_free(struct lang_python_tags *tags);
PKG_DEFINE_CLEANUP(struct lang_python_tags, lang_python_tags_free)
/* Best first; borrowed. */
const struct pkg_argv *lang_python_tags_list(const struct lang_python_tags *tags);
/* The best of these ("py2-none-any", "py3-none-any") has this position in the list; -1: none is in it. */
int lang_python_tags_rank(const struct lang_python_tags *tags, const struct pkg_argv *wheel);
/* The same for the end of a file name: "py2.py3-none-any" (PEP 425, "Compressed tag sets"). */
int lang_python_tags_rank_text(const struct lang_python_tags *tags, const char *text, size_t len);
#endif
