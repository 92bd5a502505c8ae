/* store/statements.h - inside store/ only: every SQL statement by number, and what runs them.
 * Purpose    A statement is named here, written in statements.c, prepared on first use and kept.
 *            The helpers bind, step and read, so that a function of the store is little more than
 *            its statement.
 * Ownership  Statements belong to the store. Texts bound are borrowed until the statement has run
 *            to its end; texts read are given. Errors store_fail() turns SQLite's code into ours
 *            (store/store.h).
 */
#ifndef STORE_STATEMENTS_H
#define STORE_STATEMENTS_H
#include "store/store.h"
#include <sqlite3.h>
#include <stdbool.h>

enum store_statement {
	/* transactions */
	STMT_BEGIN,
	STMT_COMMIT,
	STMT_ROLLBACK,
	STMT_SAVEPOINT,
	STMT_RELEASE,
	STMT_ROLLBACK_TO,
	/* env.c */
	STMT_ENV_GET,
	STMT_ENV_GET_ID,
	STMT_ENV_TWIN,
	STMT_ENV_LIST,
	STMT_ENV_RESERVE_ID,
	STMT_ENV_INSERT,
	STMT_ENV_SET_CURRENT,
	STMT_ENV_SET_REVISION,
	STMT_ENV_DELETE,
	STMT_GENERATION_INSERT,
	STMT_GENERATION_LIST,
	STMT_GENERATION_SET_REVISION,
	STMT_GENERATION_RETIRE,
	STMT_GENERATION_NEXT,
	/* packages.c */
	STMT_PACKAGES_DELETE,
	STMT_PACKAGE_INSERT,
	STMT_PACKAGES_GET,
	STMT_PACKAGES_SHA256,
	/* job.c */
	STMT_JOB_INSERT,
	STMT_JOB_BY_KEY,
	STMT_JOB_GET,
	STMT_JOB_STATE,
	STMT_JOB_LIST,
	STMT_JOB_LIST_OPEN,
	STMT_JOB_SET_STATE,
	STMT_JOB_SET_PLAN,
	STMT_JOB_PUT_PLAN,
	STMT_JOB_SET_BEHIND,
	STMT_JOB_REQUEST_CANCEL,
	STMT_JOB_END,
	STMT_JOB_LINE_UP,
	STMT_JOB_RUNNABLE,
	STMT_JOB_WAIT_FOR_CARD,
	STMT_JOB_APPROVE,
	/* claim.c */
	STMT_CLAIM_INSERT,
	STMT_CLAIM_HOLDER,
	STMT_CLAIM_PHASE,
	STMT_CLAIM_END,
	STMT_CLAIM_UNFINISHED,
	/* card.c */
	STMT_CARD_INSERT,
	STMT_CARD_GET,
	STMT_CARD_LIST,
	STMT_CARD_LIST_STATE,
	STMT_CARD_ANSWER,
	STMT_CARD_SUPERSEDE,
	STMT_CARD_OVERDUE,
	STMT_CARD_NEXT_EXPIRY,
	/* journal.c */
	STMT_JOURNAL_INSERT,
	STMT_JOURNAL_REMOVE,
	STMT_JOURNAL_LIST,
	STMT_JOURNAL_GET,
	/* history.c */
	STMT_HISTORY_ADD,
	STMT_HISTORY_LIST,
	/* audit.c */
	STMT_AUDIT_LAST,
	STMT_AUDIT_INSERT,
	STMT_AUDIT_EACH,
	/* kernel.c */
	STMT_KERNEL_INSERT,
	STMT_KERNEL_REMOVE,
	STMT_KERNEL_LIST,
	STMT_COUNT
};

struct store {
	sqlite3 *db;
	char *path; /* owned; of the database file */
	int depth; /* open transactions: 0 none, 1 a real one, above that savepoints */
	int last_code; /* extended result code of the last failure */
	sqlite3_stmt *statements[STMT_COUNT]; /* NULL until first use */
};

/* ---- statements.c ---- */

struct store_value {
	bool is_text;
	int64_t integer;
	const char *text; /* borrowed; NULL binds NULL */
};

static inline struct store_value
store_int(int64_t integer)
{
	return (struct store_value){ .integer = integer };
}

static inline struct store_value
store_text(const char *text)
{
	return (struct store_value){ .is_text = true, .text = text };
}

/* The statement, bound and ready for store_step(); PKG_E_INTERNAL while it is being stepped
 * already. Always run it to its end or call store_reset(), else it keeps a read transaction open.
 */
sqlite3_stmt *store_query_n(struct store *store, enum store_statement which, size_t count,
	const struct store_value *values, struct pkg_error *err);
/* 1: a row, 0: the end (and reset), -1: failed (and reset). */
int store_step(struct store *store, sqlite3_stmt *statement, struct pkg_error *err);
void store_reset(sqlite3_stmt *statement);
/* Runs to the end; returns the number of rows changed, -1 on failure. */
int store_exec_n(struct store *store, enum store_statement which, size_t count,
	const struct store_value *values, struct pkg_error *err);
/* First column of the first row into *out, then runs to the end. 1: there was a row, 0: none, -1.
 */
int store_exec_int_n(struct store *store, enum store_statement which, int64_t *out, size_t count,
	const struct store_value *values, struct pkg_error *err);

#define STORE_VALUES(...)                                                                          \
	PKG_ARRAY_LEN(((const struct store_value[]){ __VA_ARGS__ })), (const struct store_value[]) \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}
#define store_query(store, which, err, ...)                                                        \
	store_query_n(store, which, STORE_VALUES(__VA_ARGS__), err)
#define store_exec(store, which, err, ...)                                                         \
	store_exec_n(store, which, STORE_VALUES(__VA_ARGS__), err)
#define store_exec_int(store, which, out, err, ...)                                                \
	store_exec_int_n(store, which, out, STORE_VALUES(__VA_ARGS__), err)

/* Fills the record, which is zeroed, from the current row. */
typedef void store_read_fn(sqlite3_stmt *statement, void *record);
/* 1: *record is filled, 0: no such row, -1. Takes a NULL statement as a failure that is told
 * already. */
int store_read_one(struct store *store, sqlite3_stmt *statement, store_read_fn *read, void *record,
	struct pkg_error *err);
struct store_rows {
	size_t size; /* in: of one record */
	store_read_fn *read; /* in */
	void *items; /* out, given; on failure those read so far */
	size_t count;
};
int store_read_rows(struct store *store, sqlite3_stmt *statement, struct store_rows *rows,
	struct pkg_error *err);

int64_t store_column_int(sqlite3_stmt *statement, int column);
char *store_column_text(sqlite3_stmt *statement, int column); /* given; NULL for NULL */
store_read_fn store_read_text; /* the record is a char *, given: the first column */

/* Sets err from the database's last failure; returns -1. */
int store_fail(struct store *store, struct pkg_error *err);
/* The last failure was a second row where a unique index allows one. */
bool store_is_duplicate(const struct store *store);
/* A limit given by a caller as SQLite wants it: none when it is not positive. */
int64_t store_limit(int limit);

/* ---- store.c ---- */

/* A transaction of a function that makes its own: a real one (BEGIN IMMEDIATE), or a savepoint when
 *the caller is in one already. store_scope_end() commits it when result is not negative, else
 *undoes it, and returns result, or -1 when the commit fails: if (store_scope_begin(store, err) < 0)
 *		return -1;
 *	return store_scope_end(store, work(store, ..., err), err); */
int store_scope_begin(struct store *store, struct pkg_error *err);
int store_scope_end(struct store *store, int result, struct pkg_error *err);
/* How long another process may hold what we need; 10 s after store_open(). */
void store_set_timeout(struct store *store, int timeout_ms);

/* ---- schema.c ---- */

/* The SQL functions that the CHECK constraints call. */
int store_schema_functions(struct store *store, struct pkg_error *err);
/* Refuses files of others and of newer versions, without changing them. *version is the file's own.
 */
int store_schema_check(struct store *store, int64_t *version, struct pkg_error *err);
/* Brings the file from that version to ours; the setup lock is held. */
int store_schema_migrate(struct store *store, int64_t version, struct pkg_error *err);
/* One number that a pragma or query gives. */
int store_schema_number(struct store *store, const char *sql, int64_t *out, struct pkg_error *err);
#endif
