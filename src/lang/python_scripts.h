/* lang/python_scripts.h - the text of the commands that a Python distribution installs.
 * Purpose    Launchers of entry points and the first line of a wheel's own scripts, byte for byte as
 *            pip (23 to 25.1, with its distlib) writes them. Pure.
 * Ownership  Buffers are the caller's and appended to.
 * Errors     None: entry points come checked from lang/entry_points.h.
 */
#ifndef LANG_PYTHON_SCRIPTS_H
#define LANG_PYTHON_SCRIPTS_H
#include "core/buf.h"
#include "lang/entry_points.h"
#include <stdbool.h>

/* The kernel cuts a "#!" line at 127 bytes and takes what follows a blank for an argument. */
#define LANG_PYTHON_SHEBANG_MAX 127

/* "#!/env/bin/python\n", or for a long path or one with blanks three lines that are a program of
 * /bin/sh and a string of Python both. */
void lang_python_shebang(const char *interpreter, struct pkg_buf *out);
void lang_python_launcher(
	const char *interpreter, const struct lang_entry_point *point, struct pkg_buf *out);
/* The first line begins with "#!python", which stands for the environment's own interpreter. */
bool lang_python_script_is_ours(const char *text, size_t len);
/* Such a script with its first line replaced. */
void lang_python_script_rewrite(
	const char *interpreter, const char *text, size_t len, struct pkg_buf *out);
#endif
