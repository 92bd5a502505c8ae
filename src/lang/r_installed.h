/* lang/r_installed.h - the DESCRIPTION of a package of an inventory.
 * Purpose    Of an owned one out of the environment's tree, of an inherited one where it lies.
 * Ownership  As lang/r_description.h.
 * Errors     As reading a file, and PKG_E_ARCHIVE for what is no DESCRIPTION.
 */
#ifndef LANG_R_INSTALLED_H
#define LANG_R_INSTALLED_H
#include "lang/lang.h"
#include "lang/r_description.h"
#include "lang/r_facts.h"

int lang_r_installed_read(const struct lang_env *env, const struct store_package *package,
	struct lang_r_description *out, struct pkg_error *err);
#endif
