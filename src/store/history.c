#include "store/history.h"
#include "store/statements.h"
#include "core/time.h"
#include <stdlib.h>

void
store_history_clear(struct store_history *history)
{
	free(history->action);
	free(history->asked);
	free(history->label);
	free(history->plan_hash);
	free(history->result);
	free(history->kind);
	free(history->changes);
	*history = (struct store_history){ 0 };
}

void
store_history_list_clear(struct store_history_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		store_history_clear(&list->items[i]);
	free(list->items);
	*list = (struct store_history_list){ 0 };
}

int
store_history_add(struct store *store, struct store_history *history, struct pkg_error *err)
{
	int64_t now = history->time_ms ? history->time_ms : pkg_time_now_ms();
	int found = store_exec_int(store, STMT_HISTORY_ADD, &history->seq, err,
		store_int(history->env), store_int(history->job), store_int(now),
		store_text(history->action), store_text(history->asked), store_int(history->uid),
		store_text(history->label ? history->label : ""), store_text(history->plan_hash),
		store_text(history->result), store_text(history->kind),
		store_int(history->generation), store_int(history->revision),
		store_text(history->changes ? history->changes : "[]"));

	if (found < 0)
		return -1;
	history->time_ms = now;
	return 0;
}

static void
read_history(sqlite3_stmt *row, void *record)
{
	struct store_history *history = record;

	history->seq = store_column_int(row, 0);
	history->env = store_column_int(row, 1);
	history->job = store_column_int(row, 2);
	history->time_ms = store_column_int(row, 3);
	history->action = store_column_text(row, 4);
	history->asked = store_column_text(row, 5);
	history->uid = store_column_int(row, 6);
	history->label = store_column_text(row, 7);
	history->plan_hash = store_column_text(row, 8);
	history->result = store_column_text(row, 9);
	history->kind = store_column_text(row, 10);
	history->generation = store_column_int(row, 11);
	history->revision = store_column_int(row, 12);
	history->changes = store_column_text(row, 13);
}

int
store_history_list(struct store *store, int64_t env, int64_t before, int limit,
	struct store_history_list *out, struct pkg_error *err)
{
	sqlite3_stmt *query = store_query(store, STMT_HISTORY_LIST, err, store_int(env),
		store_int(before > 0 ? before : INT64_MAX), store_int(store_limit(limit)));
	struct store_rows rows = { .size = sizeof(struct store_history), .read = read_history };
	int result = store_read_rows(store, query, &rows, err);

	store_history_list_clear(out);
	*out = (struct store_history_list){ rows.items, rows.count };
	if (result < 0)
		store_history_list_clear(out);
	return result;
}
