/* egress/rules.h - the file that says what this sandbox may reach.
 * Purpose    {"name": "...", "rules": [...], "cure": "...", "limits": {...}}: written by the
 *            worker, read again for a new connection whenever it changed, so that an edit takes
 *            effect without a restart. A broken edit keeps the last good rules.
 * Ownership  Rules are shared (counted): a connection keeps the ones it was judged by.
 * Errors     PKG_E_INVALID, or the errno of reading.
 */
#ifndef EGRESS_RULES_H
#define EGRESS_RULES_H
#include "egress/limits.h"
#include "policy/hostrule.h"
#include <stdbool.h>
#include <sys/stat.h>

struct egress_rules {
	unsigned references;
	struct policy_host_rules list;
	char *name; /* of the list, for refusals */
	char *cure; /* what to run to change it; "" when nothing helps */
	struct egress_limits limits;
};

/* Given, with one reference. */
struct egress_rules *egress_rules_load(const char *path, struct pkg_error *err);
struct egress_rules *egress_rules_get(struct egress_rules *rules); /* one more */
void egress_rules_put(struct egress_rules *rules);

struct egress_rules_file {
	char *path; /* owned */
	struct egress_rules *current; /* owned */
	struct stat seen; /* of the file that was tried last, good or not */
};
int egress_rules_file_open(struct egress_rules_file *file, const char *path, struct pkg_error *err);
/* Loads it again if it changed. -1, once per change, when the new contents cannot be used; current
 * then stays what it was. */
int egress_rules_file_refresh(struct egress_rules_file *file, struct pkg_error *err);
void egress_rules_file_close(struct egress_rules_file *file);
#endif
