#include "store/history.h"
#include "store/statements.h"
#include "core/time.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

void
store_kernel_clear(struct store_kernel *kernel)
{
	free(kernel->label);
	*kernel = (struct store_kernel){ 0 };
}

void
store_kernel_list_clear(struct store_kernel_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		store_kernel_clear(&list->items[i]);
	free(list->items);
	*list = (struct store_kernel_list){ 0 };
}

int
store_kernel_insert(struct store *store, struct store_kernel *kernel, struct pkg_error *err)
{
	int64_t now = kernel->started_ms ? kernel->started_ms : pkg_time_now_ms();

	if (store_exec(store, STMT_KERNEL_INSERT, err, store_int(kernel->env),
		    store_int(kernel->generation), store_int(kernel->process.pid),
		    store_int((int64_t)kernel->process.start), store_text(kernel->process.boot),
		    store_text(kernel->label ? kernel->label : ""), store_int(now)) < 0)
		return -1;
	kernel->id = sqlite3_last_insert_rowid(store->db);
	kernel->started_ms = now;
	return 0;
}

int
store_kernel_remove(struct store *store, int64_t id, struct pkg_error *err)
{
	int changed = store_exec(store, STMT_KERNEL_REMOVE, err, store_int(id));

	if (changed == 0)
		return pkg_error_set(err, PKG_E_NOT_FOUND, "there is no kernel %" PRId64, id);
	return changed < 0 ? -1 : 0;
}

static void
read_kernel(sqlite3_stmt *row, void *record)
{
	struct store_kernel *kernel = record;
	pkg_autofree char *boot = store_column_text(row, 5);

	kernel->id = store_column_int(row, 0);
	kernel->env = store_column_int(row, 1);
	kernel->generation = store_column_int(row, 2);
	kernel->process.pid = (pid_t)store_column_int(row, 3);
	kernel->process.start = (uint64_t)store_column_int(row, 4);
	(void)snprintf(kernel->process.boot, sizeof(kernel->process.boot), "%s", boot);
	kernel->label = store_column_text(row, 6);
	kernel->started_ms = store_column_int(row, 7);
}

/* Keeps the living in the list. A row's id is never used again, so it cannot have come to mean
 * another kernel since it was read; another process may have removed it, and that is as good. */
static int
remove_gone(struct store *store, struct store_kernel_list *list, struct pkg_error *err)
{
	size_t kept = 0;
	int result = 0;

	for (size_t i = 0; i < list->count; i++) {
		struct store_kernel *kernel = &list->items[i];

		if (pkg_identity_alive(&kernel->process)) {
			list->items[kept++] = *kernel;
			continue;
		}
		if (result == 0 &&
			store_exec(store, STMT_KERNEL_REMOVE, err, store_int(kernel->id)) < 0)
			result = -1;
		store_kernel_clear(kernel);
	}
	list->count = kept;
	return result;
}

int
store_kernel_list(
	struct store *store, int64_t env, struct store_kernel_list *out, struct pkg_error *err)
{
	sqlite3_stmt *query = store_query(store, STMT_KERNEL_LIST, err, store_int(env));
	struct store_rows rows = { .size = sizeof(struct store_kernel), .read = read_kernel };
	int result = store_read_rows(store, query, &rows, err);

	store_kernel_list_clear(out);
	*out = (struct store_kernel_list){ rows.items, rows.count };
	if (result == 0)
		result = remove_gone(store, out, err);
	if (result < 0)
		store_kernel_list_clear(out);
	return result;
}
