#include "store/store.h"
#include "store/statements.h"
#include "core/fault.h"
#include "core/file.h"
#include "core/lock.h"
#include "core/path.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	SETUP_TIMEOUT_MS = 30000,
	BUSY_TIMEOUT_MS = 10000,
	TEXT_MAX = 64 << 20, /* of one value or row: plans are the largest */
};

/* ---- Opening ----------------------------------------------------------------------------------
 */

/* SQLite would make it with the umask's mode, and give the same mode to the WAL. An existing file
 * is not opened here: closing a second descriptor drops the locks that this process has on it. */
static int
create_file(const struct pkg_home *home, const char *path, struct pkg_error *err)
{
	pkg_autofd int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd >= 0)
		return pkg_dir_sync(home->state, err);
	if (errno == EEXIST)
		return 0;
	return pkg_error_errno(err, errno, "create database '%s'", path);
}

static int
run(struct store *store, const char *sql, struct pkg_error *err)
{
	if (sqlite3_exec(store->db, sql, NULL, NULL, NULL) != SQLITE_OK)
		return store_fail(store, err);
	return 0;
}

/* The file is somebody else's as far as its schema goes: no function with side effects out of it,
 * no trigger, no view, no writing to the schema itself. */
static void
distrust(sqlite3 *db)
{
	(void)sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	(void)sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	(void)sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	(void)sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
	(void)sqlite3_db_config(db, SQLITE_DBCONFIG_DQS_DML, 0, NULL);
	(void)sqlite3_db_config(db, SQLITE_DBCONFIG_DQS_DDL, 0, NULL);
	(void)sqlite3_limit(db, SQLITE_LIMIT_LENGTH, TEXT_MAX);
	(void)sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
}

static int
connect_file(struct store *store, struct pkg_error *err)
{
	int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE;

	if (sqlite3_open_v2(store->path, &store->db, flags, NULL) != SQLITE_OK)
		return store_fail(store, err);
	(void)sqlite3_extended_result_codes(store->db, 1);
	/* Before anything reads the file, so also before the switch to WAL. */
	store_set_timeout(store, BUSY_TIMEOUT_MS);
	distrust(store->db);
	return store_schema_functions(store, err);
}

static int
use_wal(struct store *store, struct pkg_error *err)
{
	sqlite3_stmt *statement = NULL;
	bool wal;

	if (sqlite3_prepare_v2(store->db, "PRAGMA journal_mode = WAL", -1, &statement, NULL) !=
			SQLITE_OK ||
		sqlite3_step(statement) != SQLITE_ROW) {
		(void)store_fail(store, err);
		(void)sqlite3_finalize(statement);
		return -1;
	}
	wal = strcmp((const char *)sqlite3_column_text(statement, 0), "wal") == 0;
	(void)sqlite3_finalize(statement);
	if (!wal)
		return pkg_error_set(err, PKG_E_DATABASE,
			"database '%s': its file system cannot hold a write-ahead log",
			store->path);
	return 0;
}

/* With the setup lock held, so nobody sees a half-made file and no two switch to WAL at once. */
static int
set_up(struct store *store, const struct pkg_home *home, struct pkg_error *err)
{
	int64_t version;

	if (create_file(home, store->path, err) < 0 || connect_file(store, err) < 0 ||
		store_schema_check(store, &version, err) < 0 || use_wal(store, err) < 0)
		return -1;
	if (run(store,
		    "PRAGMA synchronous = FULL;"
		    "PRAGMA foreign_keys = ON;"
		    "PRAGMA temp_store = MEMORY;"
		    "PRAGMA cell_size_check = ON;"
		    "PRAGMA journal_size_limit = 16777216",
		    err) < 0)
		return -1;
	return store_schema_migrate(store, version, err);
}

struct store *
store_open(const struct pkg_home *home, struct pkg_error *err)
{
	pkg_autofree char *lock_path = pkg_path_join(home->state, "setup.lock");
	struct store *store = pkg_xcalloc(1, sizeof(*store));
	pkg_autofd int lock = -1;

	store->path = pkg_path_join(home->state, "state.db");
	lock = pkg_lock_take(lock_path, SETUP_TIMEOUT_MS, err);
	if (lock < 0) {
		(void)pkg_error_prefix(err, "open database '%s'", store->path);
		store_close(store);
		return NULL;
	}
	if (set_up(store, home, err) < 0) {
		store_close(store);
		return NULL;
	}
	return store;
}

void
store_close(struct store *store)
{
	if (!store)
		return;
	store_rollback(store);
	for (size_t i = 0; i < STMT_COUNT; i++)
		(void)sqlite3_finalize(store->statements[i]);
	(void)sqlite3_close(store->db);
	free(store->path);
	free(store);
}

void
store_set_timeout(struct store *store, int timeout_ms)
{
	(void)sqlite3_busy_timeout(store->db, timeout_ms);
}

/* ---- Transactions -----------------------------------------------------------------------------
 */

int
store_begin(struct store *store, struct pkg_error *err)
{
	if (store->depth > 0)
		return pkg_error_set(err, PKG_E_INTERNAL, "a transaction is open already");
	return store_scope_begin(store, err);
}

static int
commit(struct store *store, struct pkg_error *err)
{
	int fault = PKG_FAULT("store-commit");

	if (fault)
		return pkg_error_errno(err, fault, "commit to database '%s'", store->path);
	if (store_exec_n(store, STMT_COMMIT, 0, NULL, err) < 0)
		return -1;
	store->depth = 0;
	(void)PKG_FAULT("store-committed");
	return 0;
}

int
store_commit(struct store *store, struct pkg_error *err)
{
	if (store->depth != 1)
		return pkg_error_set(err, PKG_E_INTERNAL, "there is no transaction to commit");
	if (commit(store, err) == 0)
		return 0;
	store_rollback(store);
	return -1;
}

void
store_rollback(struct store *store)
{
	if (store->depth == 0)
		return;
	/* Some failures (a full disk) made SQLite undo it already. */
	if (!sqlite3_get_autocommit(store->db))
		(void)store_exec_n(store, STMT_ROLLBACK, 0, NULL, NULL);
	store->depth = 0;
}

int
store_scope_begin(struct store *store, struct pkg_error *err)
{
	enum store_statement how = store->depth == 0 ? STMT_BEGIN : STMT_SAVEPOINT;

	if (store_exec_n(store, how, 0, NULL, err) < 0)
		return -1;
	store->depth++;
	return 0;
}

int
store_scope_end(struct store *store, int result, struct pkg_error *err)
{
	if (store->depth == 1) {
		if (result >= 0)
			return store_commit(store, err) < 0 ? -1 : result;
		store_rollback(store);
		return -1;
	}
	/* Savepoints all have one name; SQLite means the innermost. */
	if (result < 0 || store_exec_n(store, STMT_RELEASE, 0, NULL, err) < 0) {
		if (store_exec_n(store, STMT_ROLLBACK_TO, 0, NULL, NULL) >= 0)
			(void)store_exec_n(store, STMT_RELEASE, 0, NULL, NULL);
		result = -1;
	}
	store->depth--;
	return result;
}
