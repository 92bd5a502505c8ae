#include "store/journal.h"
#include "store/statements.h"
#include "core/time.h"
#include <inttypes.h>
#include <stdlib.h>

void
store_journal_clear(struct store_journal *journal)
{
	free(journal->kind);
	free(journal->ops);
	free(journal->after);
	*journal = (struct store_journal){ 0 };
}

void
store_journal_list_clear(struct store_journal_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		store_journal_clear(&list->items[i]);
	free(list->items);
	*list = (struct store_journal_list){ 0 };
}

int
store_journal_write(struct store *store, const struct store_journal *journal, struct pkg_error *err)
{
	int64_t now = journal->created_ms ? journal->created_ms : pkg_time_now_ms();

	if (store_exec(store, STMT_JOURNAL_INSERT, err, store_int(journal->env),
		    store_int(journal->job), store_text(journal->kind), store_text(journal->ops),
		    store_text(journal->after), store_int(now)) >= 0)
		return 0;
	if (!store_is_duplicate(store))
		return -1;
	(void)pkg_error_set(err, PKG_E_EXISTS, "environment %" PRId64 " has an unfinished change",
		journal->env);
	return pkg_error_cure(err, "run: pkg reconcile");
}

int
store_journal_remove(struct store *store, int64_t env, struct pkg_error *err)
{
	int changed = store_exec(store, STMT_JOURNAL_REMOVE, err, store_int(env));

	if (changed == 0)
		return pkg_error_set(err, PKG_E_NOT_FOUND,
			"environment %" PRId64 " has no unfinished change", env);
	return changed < 0 ? -1 : 0;
}

static void
read_journal(sqlite3_stmt *row, void *record)
{
	struct store_journal *journal = record;

	journal->env = store_column_int(row, 0);
	journal->job = store_column_int(row, 1);
	journal->kind = store_column_text(row, 2);
	journal->ops = store_column_text(row, 3);
	journal->after = store_column_text(row, 4);
	journal->created_ms = store_column_int(row, 5);
}

int
store_journal_list(struct store *store, struct store_journal_list *out, struct pkg_error *err)
{
	sqlite3_stmt *query = store_query_n(store, STMT_JOURNAL_LIST, 0, NULL, err);
	struct store_rows rows = { .size = sizeof(struct store_journal), .read = read_journal };
	int result = store_read_rows(store, query, &rows, err);

	store_journal_list_clear(out);
	*out = (struct store_journal_list){ rows.items, rows.count };
	if (result < 0)
		store_journal_list_clear(out);
	return result;
}

int
store_journal_get(
	struct store *store, int64_t env, struct store_journal *out, struct pkg_error *err)
{
	sqlite3_stmt *query = store_query(store, STMT_JOURNAL_GET, err, store_int(env));
	struct store_journal journal = { 0 };
	int found = store_read_one(store, query, read_journal, &journal, err);

	if (found == 0)
		return pkg_error_set(err, PKG_E_NOT_FOUND,
			"environment %" PRId64 " has no unfinished change", env);
	if (found < 0)
		return -1;
	store_journal_clear(out);
	*out = journal;
	return 0;
}
