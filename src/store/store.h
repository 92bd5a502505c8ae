/* store/store.h - the database.
 * Purpose    The only place that speaks SQL. One SQLite file, <state>/state.db, opened by the
 *            daemon and by every worker: WAL, synchronous=FULL, busy handler set before WAL, first-
 *            run setup serialised across processes by an exclusive lock on <state>/setup.lock
 *            (BEHAVIOURS A25). Statements are an enum-indexed table, prepared on first use;
 *            migrations are numbered and commit together with their version number (PRAGMA
 *            user_version).
 * Ownership  struct store is a heap object, used by one thread. Records given are freed by their
 *            own functions.
 * Errors     PKG_E_DATABASE with SQLite's text and code; PKG_E_NOT_FOUND, PKG_E_EXISTS where a
 *            function says so; PKG_E_DISK_FULL for SQLITE_FULL, PKG_E_TOO_LARGE above 64 MiB a
 *            value. A damaged file, one of another program and one written by a newer pkgd are
 *            refused by name and number and left as they are. A lock that another process holds for
 *            10 s is PKG_E_DATABASE: PKG_E_BUSY always means a claim (and in store_open(), the
 *            setup lock).
 *
 * A `get` fills a record that is { 0 } or was filled before (then it is released first), and leaves
 * it alone on failure; lists are replaced. An update that finds no row is PKG_E_NOT_FOUND. A limit
 * of 0 is none. Times that a record leaves at 0 are set to now. An enum's value that the schema
 * does not know is refused by a CHECK constraint (PKG_E_DATABASE with its name).
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H
#include "core/error.h"
#include "core/home.h"
#include <stdint.h>

struct store;
struct store *store_open(const struct pkg_home *home, struct pkg_error *err);
void store_close(struct store *store); /* NULL is fine */
PKG_DEFINE_CLEANUP(struct store, store_close)

/* BEGIN IMMEDIATE: never a deferred read that turns into a write. Not nested: PKG_E_INTERNAL. Every
 * function of the store may be called inside; those that need a transaction of their own then use a
 * savepoint, so one that fails has changed nothing and the caller may go on, commit or roll back.
 * Only a failure of the disk undoes all of it; what follows up to the store_rollback() is then
 * refused. */
int store_begin(struct store *store, struct pkg_error *err);
int store_commit(struct store *store, struct pkg_error *err); /* on failure it is rolled back */
void store_rollback(struct store *store); /* no-op outside a transaction */
#endif
