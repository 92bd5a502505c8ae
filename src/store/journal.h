/* store/journal.h - intent on disk: what a commit is about to do to the file system.
 * Purpose    A row here means the change is decided and will be completed by whoever comes next; no
 * row means it never happened and staging is thrown away (DESIGN.md section 4). One row per
 *            environment at most.
 * Ownership  As store/env.h.
 * Errors     As store/store.h; PKG_E_EXISTS when the environment has an unfinished one.
 */
#ifndef STORE_JOURNAL_H
#define STORE_JOURNAL_H
#include "store/store.h"

struct store_journal {
	int64_t env;
	int64_t job;
	char *kind; /* "additive", "switch", "create", "rollback", "delete" */
	char *ops; /* JSON, understood by install/journal.c */
	char *after; /* JSON: rows to write once the operations are done, by install/journal.c */
	int64_t created_ms;
};
void store_journal_clear(struct store_journal *journal);
#define pkg_cleanup_store_journal __attribute__((cleanup(store_journal_clear)))
struct store_journal_list {
	struct store_journal *items;
	size_t count;
};
void store_journal_list_clear(struct store_journal_list *list);

int store_journal_write(
	struct store *store, const struct store_journal *journal, struct pkg_error *err);
int store_journal_remove(struct store *store, int64_t env, struct pkg_error *err);
int store_journal_list(struct store *store, struct store_journal_list *out, struct pkg_error *err);
int store_journal_get(struct store *store, int64_t env, struct store_journal *out,
	struct pkg_error *err); /* PKG_E_NOT_FOUND */
#endif
