/* lang/python_inventory.h - what envs/python/inventory.py printed, made an inventory.
 * Purpose    Apart from the run, so that a test can hold hostile output against it.
 * Ownership  The list is given; { 0 } before.
 * Errors     PKG_E_VERIFY for output that is none or speaks of another environment. A distribution whose
 *            name or place cannot be is left out.
 */
#ifndef LANG_PYTHON_INVENTORY_H
#define LANG_PYTHON_INVENTORY_H
#include "store/env.h"

#define LANG_PYTHON_INVENTORY_BYTES (64 * 1024 * 1024)

int lang_python_inventory_parse(const char *text, size_t len, const char *prefix,
	struct store_package_list *out, struct pkg_error *err);
#endif
