/* lang/r_inventory.h - what envs/r/inventory.R printed, made an inventory.
 * Purpose    Apart from the run, so that a test can hold hostile output against it.
 * Ownership  The list is given; { 0 } before.
 * Errors     PKG_E_VERIFY for output that is none, that was cut short, or in which another library
 *            comes first. A package whose name, version or place cannot be is left out.
 */
#ifndef LANG_R_INVENTORY_H
#define LANG_R_INVENTORY_H
#include "store/env.h"

int lang_r_inventory_parse(const char *text, size_t len, const char *prefix,
	struct store_package_list *out, struct pkg_error *err);
#endif
