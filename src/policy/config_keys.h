/* policy/config_keys.h - the one table of what pkgd.json may hold.
 * Purpose    The loader, the checker, `pkg config show`, the test of the schema and the test of pkg.json(5) all
 *            walk this table, so a key cannot be known to one and not to another.
 * Ownership  Static data.
 * Errors     None.
 */
#ifndef POLICY_CONFIG_KEYS_H
#define POLICY_CONFIG_KEYS_H
#include "policy/config.h"
#include <stddef.h>

enum policy_key_type {
	POLICY_KEY_TEXT, /* char * */
	POLICY_KEY_LIST, /* struct pkg_argv * */
	POLICY_KEY_NUMBER, /* int64_t; bounded by min and max */
	POLICY_KEY_LIMIT, /* the same; the word "unlimited" is INT64_MAX */
	POLICY_KEY_NETWORK, /* enum policy_network */
};

struct policy_key {
	const char *name; /* dotted */
	enum policy_key_type type;
	size_t offset; /* in struct policy_config */
	const char *fallback; /* as text; a list's items are separated by blanks */
	int64_t min, max; /* numbers */
	/* NULL, or says why a text (each item of a list) will not do: PKG_E_CONFIG without the place. */
	int (*check)(const char *value, struct pkg_error *err);
};

extern const struct policy_key policy_keys[];
extern const size_t policy_key_count;
/* NULL when there is no such key. */
const struct policy_key *policy_key_find(const char *name);
/* The known name nearest to it, NULL when none is near. */
const char *policy_key_nearest(const char *name);
#endif
