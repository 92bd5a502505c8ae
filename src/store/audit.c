#include "store/history.h"
#include "store/statements.h"
#include "core/sha256.h"
#include "core/time.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* What the first row follows. */
static const char origin[PKG_SHA256_HEX] =
	"0000000000000000000000000000000000000000000000000000000000000000";

/* One text per line, the free one last, and the type with its length: no two rows read the same. */
static void
chain(const char *previous, const struct store_audit *row, char out[PKG_SHA256_HEX])
{
	pkg_autofree char *head = pkg_xasprintf("%s\n%" PRId64 "\n%" PRId64 "\n%zu:%s\n", previous,
		row->seq, row->time_ms, strlen(row->type), row->type);
	pkg_cleanup(pkg_sha256_free) struct pkg_sha256 *sha = pkg_sha256_new();

	pkg_sha256_add(sha, head, strlen(head));
	pkg_sha256_add(sha, row->data, strlen(row->data));
	pkg_sha256_end_hex(sha, out);
}

static void
clear(struct store_audit *row)
{
	free(row->type);
	free(row->data);
	free(row->hash);
	*row = (struct store_audit){ 0 };
}

static void
read_audit(sqlite3_stmt *statement, void *record)
{
	struct store_audit *row = record;

	row->seq = store_column_int(statement, 0);
	row->time_ms = store_column_int(statement, 1);
	row->type = store_column_text(statement, 2);
	row->data = store_column_text(statement, 3);
	row->hash = store_column_text(statement, 4);
}

static int
add(struct store *store, const char *type, const char *data, struct pkg_error *err)
{
	sqlite3_stmt *query = store_query_n(store, STMT_AUDIT_LAST, 0, NULL, err);
	pkg_autofree char *own_type = pkg_xstrdup(type);
	pkg_autofree char *own_data = pkg_xstrdup(data);
	struct store_audit last = { 0 };
	struct store_audit row = { .type = own_type, .data = own_data };
	char hash[PKG_SHA256_HEX];
	int found = store_read_one(store, query, read_audit, &last, err);

	if (found < 0)
		return -1;
	row.seq = last.seq + 1;
	row.time_ms = pkg_time_now_ms();
	chain(found ? last.hash : origin, &row, hash);
	clear(&last);
	if (store_exec(store, STMT_AUDIT_INSERT, err, store_int(row.seq), store_int(row.time_ms),
		    store_text(type), store_text(data), store_text(hash)) < 0)
		return -1;
	return 0;
}

int
store_audit_add(struct store *store, const char *type, const char *data, struct pkg_error *err)
{
	if (store_scope_begin(store, err) < 0)
		return -1;
	return store_scope_end(store, add(store, type, data, err), err);
}

int
store_audit_each(struct store *store, int64_t after,
	int (*visit)(void *context, const struct store_audit *row), void *context,
	struct pkg_error *err)
{
	sqlite3_stmt *query = store_query(store, STMT_AUDIT_EACH, err, store_int(after));
	int result;

	if (!query)
		return -1;
	while ((result = store_step(store, query, err)) > 0) {
		struct store_audit row = { 0 };
		int stop;

		read_audit(query, &row);
		stop = visit(context, &row);
		clear(&row);
		if (stop) {
			store_reset(query);
			return 0;
		}
	}
	return result;
}

struct walk {
	char previous[PKG_SHA256_HEX];
	int64_t rows; /* that hold */
	bool is_broken;
	int64_t broken; /* seq of the first that does not hold */
};

static int
check(void *context, const struct store_audit *row)
{
	struct walk *walk = context;
	char hash[PKG_SHA256_HEX];

	chain(walk->previous, row, hash);
	/* The number too, or rows cut off at the start would leave a chain that holds. */
	if (row->seq != walk->rows + 1 || strcmp(hash, row->hash) != 0) {
		walk->is_broken = true;
		walk->broken = row->seq;
		return 1;
	}
	memcpy(walk->previous, hash, sizeof(hash));
	walk->rows++;
	return 0;
}

int
store_audit_verify(struct store *store, int64_t *rows, struct pkg_error *err)
{
	struct walk walk = { 0 };

	memcpy(walk.previous, origin, sizeof(origin));
	/* From below any number: a row with seq 0 or less must be seen, too. */
	if (store_audit_each(store, INT64_MIN, check, &walk, err) < 0)
		return -1;
	if (rows)
		*rows = walk.rows;
	if (walk.is_broken)
		return pkg_error_set(err, PKG_E_INTERNAL,
			"audit trail: row %" PRId64 " does not follow from the one before it",
			walk.broken);
	return 0;
}
