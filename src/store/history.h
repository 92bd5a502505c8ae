/* store/history.h - the ordered history of every environment, the audit trail, and the kernels.
 * Purpose    History: what was asked, by whom, which plan, what came of it, replayable by repair.
 *            Audit: a hash-chained list of every request, plan, answer, connection and result (each
 *            row's hash covers the one before). Kernels: long-lived processes bound to one
 *            generation.
 * Ownership  As store/env.h.
 * Errors     As store/store.h.
 */
#ifndef STORE_HISTORY_H
#define STORE_HISTORY_H
#include "core/identity.h"
#include "store/store.h"

struct store_history {
	int64_t seq; /* per environment, from 1 */
	int64_t env;
	int64_t job;
	int64_t time_ms;
	char *action;
	char *asked; /* JSON of the request */
	int64_t uid;
	char *label;
	char *plan_hash; /* NULL when no plan came about */
	char *result; /* ended state's name */
	char *kind; /* error kind, NULL when done */
	int64_t generation; /* after */
	int64_t revision;
	char *changes; /* JSON array */
};
void store_history_clear(struct store_history *history);
struct store_history_list {
	struct store_history *items;
	size_t count;
};
void store_history_list_clear(struct store_history_list *list);
#define pkg_cleanup_store_history_list __attribute__((cleanup(store_history_list_clear)))
int store_history_add(
	struct store *store, struct store_history *history, struct pkg_error *err); /* sets seq */
int store_history_list(struct store *store, int64_t env, int64_t before, int limit,
	struct store_history_list *out,
	struct pkg_error *err); /* newest first; before 0: from the newest */

/* data is JSON. Chains by itself: hash = sha256(previous hash, seq, time, type, data). */
int store_audit_add(struct store *store, const char *type, const char *data, struct pkg_error *err);
struct store_audit {
	int64_t seq;
	int64_t time_ms;
	char *type;
	char *data;
	char *hash;
};
/* In order from above `after`; the callback's nonzero stops, and is no failure. It must not call
 * the store: a read transaction is open. */
int store_audit_each(struct store *store, int64_t after,
	int (*visit)(void *context, const struct store_audit *row), void *context,
	struct pkg_error *err);
/* 0 when the chain holds; -1 PKG_E_INTERNAL naming the first row that does not. *rows (may be
 * NULL): how many hold. Rows cut off at the end do not show; whoever must know keeps the last hash
 * elsewhere. */
int store_audit_verify(struct store *store, int64_t *rows, struct pkg_error *err);

struct store_kernel {
	int64_t id;
	int64_t env;
	int64_t generation;
	struct pkg_identity process;
	char *label;
	int64_t started_ms;
};
void store_kernel_clear(struct store_kernel *kernel);
struct store_kernel_list {
	struct store_kernel *items;
	size_t count;
};
void store_kernel_list_clear(struct store_kernel_list *list);
#define pkg_cleanup_store_kernel_list __attribute__((cleanup(store_kernel_list_clear)))
int store_kernel_insert(
	struct store *store, struct store_kernel *kernel, struct pkg_error *err); /* sets id */
int store_kernel_remove(struct store *store, int64_t id, struct pkg_error *err);
/* env 0: all. Rows whose process is gone are removed first. */
int store_kernel_list(
	struct store *store, int64_t env, struct store_kernel_list *out, struct pkg_error *err);
#endif
