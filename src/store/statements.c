#include "store/statements.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Column lists, in the order in which the readers of each record take them. INDEXED BY stands where
 * few of many rows are wanted and the planner, who has no statistics, would rather read them all in
 * order. */
#define ENV                                                                                        \
	"SELECT id, project, language, name, prefix, facts, hermetic, generation, revision, "      \
	"created_ms, updated_ms FROM env "
#define JOB                                                                                        \
	"SELECT j.id, j.action, j.project, j.language, j.environment, j.request, j.state, j.uid, " \
	"j.pid, j.program, j.label, j.reason, j.created_ms, j.updated_ms, j.ended_ms, j.behind, "  \
	"j.card, p.plan, j.plan_hash, j.plan_generation, j.plan_revision, j.approved_hash, "       \
	"j.cancel_requested, j.result, j.idempotency_key FROM job j "
#define WITH_PLAN "LEFT JOIN job_plan p ON p.job = j.id "
#define CLAIM                                                                                      \
	"SELECT id, job, project, language, environment, pid, start, boot, phase, started_ms, "    \
	"ended_ms, outcome FROM claim "
#define CARD                                                                                       \
	"SELECT id, job, plan_hash, plan, state, created_ms, expires_ms, answered_ms, "            \
	"answered_uid, answered_pid, answered_via, message FROM card "
#define JOURNAL "SELECT env, job, kind, ops, after, created_ms FROM journal "

/* The unfinished claim on the environment of the job row named. */
#define CLAIM_ON(job)                                                                              \
	"FROM claim c WHERE c.project = " job ".project AND c.language = " job ".language "        \
	"AND c.environment = " job ".environment AND c.ended_ms = 0"
/* What is in the way of a queued job: who works there, else the oldest in the queue. */
#define CLAIM_ON_JOB CLAIM_ON("job")
#define IN_THE_WAY                                                                                 \
	"coalesce((SELECT c.job " CLAIM_ON_JOB "), "                                               \
	"nullif((SELECT min(q.id) FROM job q WHERE q.project = job.project "                       \
	"AND q.language = job.language AND q.environment = job.environment "                       \
	"AND q.state = 'queued'), job.id), 0)"

static const char *const sql[STMT_COUNT] = {
	/* Always the write lock at once: a read that turns into a write cannot wait for its turn,
	 * it fails (BEHAVIOURS A25). */
	[STMT_BEGIN] = "BEGIN IMMEDIATE",
	[STMT_COMMIT] = "COMMIT",
	[STMT_ROLLBACK] = "ROLLBACK",
	[STMT_SAVEPOINT] = "SAVEPOINT scope",
	[STMT_RELEASE] = "RELEASE scope",
	[STMT_ROLLBACK_TO] = "ROLLBACK TO scope",

	[STMT_ENV_GET] = ENV "WHERE project = ? AND language = ? AND name = ? COLLATE BINARY",
	[STMT_ENV_GET_ID] = ENV "WHERE id = ?",
	[STMT_ENV_TWIN] = "SELECT name FROM env WHERE project = ?1 AND language = ?2 "
			  "AND name = ?3 AND name <> ?3 COLLATE BINARY",
	[STMT_ENV_LIST] =
		ENV "WHERE (?1 IS NULL OR project = ?1) AND (?2 IS NULL OR language = ?2) "
		    "ORDER BY project, language, name",
	[STMT_ENV_RESERVE_ID] =
		"UPDATE counter SET value = value + 1 WHERE name = 'env' RETURNING value",
	[STMT_ENV_INSERT] =
		"INSERT INTO env (id, project, language, name, prefix, facts, hermetic, "
		"generation, revision, created_ms, updated_ms) "
		"VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
	[STMT_ENV_SET_CURRENT] = "UPDATE env SET generation = ?2, revision = ?3, "
				 "facts = coalesce(?4, facts), updated_ms = ?5 WHERE id = ?1",
	[STMT_ENV_SET_REVISION] = "UPDATE env SET revision = ?3, updated_ms = ?4 "
				  "WHERE id = ?1 AND generation = ?2 AND revision <> ?3",
	[STMT_ENV_DELETE] = "DELETE FROM env WHERE id = ?",

	[STMT_GENERATION_INSERT] =
		"INSERT INTO generation (env, number, job, created_ms) VALUES (?, ?, ?, ?)",
	[STMT_GENERATION_LIST] =
		"SELECT g.number, g.revision, g.created_ms, g.job, g.number = e.generation, "
		"g.retired "
		"FROM generation g JOIN env e ON e.id = g.env WHERE g.env = ? ORDER BY g.number",
	[STMT_GENERATION_SET_REVISION] =
		"UPDATE generation SET revision = ?3 WHERE env = ?1 AND number = ?2",
	[STMT_GENERATION_RETIRE] =
		"UPDATE generation SET retired = 1 WHERE env = ?1 AND number = ?2 "
		"AND number <> (SELECT generation FROM env WHERE id = ?1)",
	[STMT_GENERATION_NEXT] =
		"SELECT coalesce(max(number), 0) + 1 FROM generation WHERE env = ?",

	[STMT_PACKAGES_DELETE] = "DELETE FROM package WHERE env = ? AND generation = ?",
	[STMT_PACKAGE_INSERT] = "INSERT INTO package (env, generation, key, name, version, "
				"requirement, owned, location, sha256, file, url, package_index, "
				"source) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
	[STMT_PACKAGES_GET] =
		"SELECT key, name, version, requirement, owned, location, sha256, file, url, "
		"package_index, source FROM package WHERE env = ? AND generation = ? ORDER BY key",
	[STMT_PACKAGES_SHA256] =
		"SELECT DISTINCT p.sha256 FROM generation g JOIN package p ON p.env = g.env "
		"AND p.generation = g.number WHERE g.retired = 0 AND p.sha256 IS NOT NULL "
		"ORDER BY p.sha256",

	[STMT_JOB_INSERT] = "INSERT INTO job (action, project, language, environment, request, "
			    "state, uid, pid, "
			    "program, label, reason, created_ms, updated_ms, idempotency_key) "
			    "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?12, ?13)",
	[STMT_JOB_BY_KEY] = "SELECT id FROM job WHERE uid = ? AND idempotency_key = ?",
	[STMT_JOB_GET] = JOB WITH_PLAN "WHERE j.id = ?",
	[STMT_JOB_STATE] = "SELECT state FROM job WHERE id = ?",
	[STMT_JOB_LIST] = JOB WITH_PLAN "WHERE j.id < ? ORDER BY j.id DESC LIMIT ?",
	[STMT_JOB_LIST_OPEN] =
		JOB WITH_PLAN "WHERE j.ended_ms = 0 AND j.id < ? ORDER BY j.id DESC LIMIT ?",
	[STMT_JOB_SET_STATE] = "UPDATE job SET state = ?2, behind = 0, updated_ms = ?3 "
			       "WHERE id = ?1 AND ended_ms = 0",
	[STMT_JOB_SET_PLAN] = "UPDATE job SET plan_hash = ?2, plan_generation = ?3, "
			      "plan_revision = ?4, updated_ms = ?5 WHERE id = ?1 AND ended_ms = 0",
	[STMT_JOB_PUT_PLAN] = "INSERT INTO job_plan (job, plan) VALUES (?1, ?2) "
			      "ON CONFLICT (job) DO UPDATE SET plan = excluded.plan",
	[STMT_JOB_SET_BEHIND] = "UPDATE job SET behind = ?2, updated_ms = ?3 "
				"WHERE id = ?1 AND ended_ms = 0",
	[STMT_JOB_REQUEST_CANCEL] = "UPDATE job SET cancel_requested = 1, updated_ms = ?2 "
				    "WHERE id = ?1 AND ended_ms = 0",
	[STMT_JOB_END] = "UPDATE job SET state = ?2, result = ?3, behind = 0, updated_ms = ?4, "
			 "ended_ms = ?4 WHERE id = ?1 AND ended_ms = 0",
	[STMT_JOB_LINE_UP] = "UPDATE job SET behind = " IN_THE_WAY
			     " WHERE state = 'queued' AND behind <> " IN_THE_WAY,
	[STMT_JOB_RUNNABLE] =
		JOB "INDEXED BY job_queued " WITH_PLAN "WHERE j.state = 'queued' AND j.behind = 0 "
		    "AND NOT EXISTS (SELECT 1 " CLAIM_ON("j") ") ORDER BY j.id",
	/* The yes to an earlier plan is not one to this. */
	[STMT_JOB_WAIT_FOR_CARD] =
		"UPDATE job SET state = 'pending', behind = 0, card = ?2, approved_hash = NULL, "
		"updated_ms = ?3 WHERE id = ?1 AND ended_ms = 0",
	[STMT_JOB_APPROVE] = "UPDATE job SET state = 'queued', approved_hash = ?2, updated_ms = ?3 "
			     "WHERE id = ?1 AND state = 'pending'",

	[STMT_CLAIM_INSERT] =
		"INSERT INTO claim (job, project, language, environment, pid, start, boot, phase, "
		"started_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
	[STMT_CLAIM_HOLDER] = CLAIM "WHERE project = ? AND language = ? AND environment = ? "
				    "AND ended_ms = 0",
	[STMT_CLAIM_PHASE] = "UPDATE claim SET phase = ?2 WHERE id = ?1 AND ended_ms = 0",
	[STMT_CLAIM_END] =
		"UPDATE claim SET outcome = ?2, ended_ms = ?3 WHERE id = ?1 AND ended_ms = 0",
	[STMT_CLAIM_UNFINISHED] =
		CLAIM "INDEXED BY claim_unfinished WHERE ended_ms = 0 ORDER BY id",

	[STMT_CARD_INSERT] =
		"INSERT INTO card (job, plan_hash, plan, state, created_ms, expires_ms) "
		"VALUES (?, ?, ?, 'pending', ?, ?)",
	[STMT_CARD_GET] = CARD "WHERE id = ?",
	[STMT_CARD_LIST] = CARD "ORDER BY id DESC LIMIT ?",
	[STMT_CARD_LIST_STATE] = CARD "WHERE state = ? ORDER BY id DESC LIMIT ?",
	[STMT_CARD_ANSWER] = "UPDATE card SET state = ?2, answered_ms = ?3, answered_uid = ?4, "
			     "answered_pid = ?5, "
			     "answered_via = ?6, message = ?7 WHERE id = ?1 AND state = 'pending'",
	[STMT_CARD_SUPERSEDE] =
		"UPDATE card SET state = 'superseded' WHERE job = ? AND state = 'pending'",
	[STMT_CARD_OVERDUE] =
		CARD "WHERE state = 'pending' AND expires_ms BETWEEN 1 AND ? ORDER BY id LIMIT 1",
	[STMT_CARD_NEXT_EXPIRY] =
		"SELECT expires_ms FROM card INDEXED BY card_expiry WHERE state = 'pending' "
		"AND expires_ms > 0 ORDER BY expires_ms LIMIT 1",

	[STMT_JOURNAL_INSERT] = "INSERT INTO journal (env, job, kind, ops, after, created_ms) "
				"VALUES (?, ?, ?, ?, ?, ?)",
	[STMT_JOURNAL_REMOVE] = "DELETE FROM journal WHERE env = ?",
	[STMT_JOURNAL_LIST] = JOURNAL "ORDER BY env",
	[STMT_JOURNAL_GET] = JOURNAL "WHERE env = ?",

	[STMT_HISTORY_ADD] =
		"INSERT INTO history (env, seq, job, time_ms, action, asked, uid, label, "
		"plan_hash, "
		"result, kind, generation, revision, changes) SELECT ?1, coalesce(max(seq), 0) + "
		"1, "
		"?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13 FROM history WHERE env = ?1 "
		"RETURNING seq",
	[STMT_HISTORY_LIST] =
		"SELECT seq, env, job, time_ms, action, asked, uid, label, plan_hash, result, "
		"kind, "
		"generation, revision, changes FROM history WHERE env = ? AND seq < ? "
		"ORDER BY seq DESC LIMIT ?",

	[STMT_AUDIT_LAST] =
		"SELECT seq, time_ms, type, data, hash FROM audit ORDER BY seq DESC LIMIT 1",
	[STMT_AUDIT_INSERT] =
		"INSERT INTO audit (seq, time_ms, type, data, hash) VALUES (?, ?, ?, ?, ?)",
	[STMT_AUDIT_EACH] =
		"SELECT seq, time_ms, type, data, hash FROM audit WHERE seq > ? ORDER BY seq",

	[STMT_KERNEL_INSERT] =
		"INSERT INTO kernel (env, generation, pid, start, boot, label, started_ms) "
		"VALUES (?, ?, ?, ?, ?, ?, ?)",
	[STMT_KERNEL_REMOVE] = "DELETE FROM kernel WHERE id = ?",
	[STMT_KERNEL_LIST] = "SELECT id, env, generation, pid, start, boot, label, started_ms "
			     "FROM kernel WHERE ?1 = 0 OR env = ?1 ORDER BY id",
};

/* ---- Failures ---------------------------------------------------------------------------------
 */

static int
fail_damaged(struct store *store, const char *text, struct pkg_error *err)
{
	(void)pkg_error_set(err, PKG_E_DATABASE, "database '%s' is damaged: %s (SQLite code %d)",
		store->path, text, store->last_code);
	return pkg_error_cure(err,
		"stop pkgd and restore '%s' from a backup, or move it away together with its -wal "
		"and -shm files: pkgd then starts without the environments it knew; nothing was "
		"deleted",
		store->path);
}

int
store_fail(struct store *store, struct pkg_error *err)
{
	const char *text = sqlite3_errmsg(store->db);
	int sys = sqlite3_system_errno(store->db);

	store->last_code = sqlite3_extended_errcode(store->db);
	switch (store->last_code & 0xff) {
	case SQLITE_FULL:
		return pkg_error_errno(err, ENOSPC, "write to database '%s'", store->path);
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return fail_damaged(store, text, err);
	case SQLITE_TOOBIG:
		return pkg_error_set(err, PKG_E_TOO_LARGE, "database '%s': %s", store->path, text);
	case SQLITE_IOERR:
		/* A quota is a full disk to the user, but not to SQLite. */
		if (sys == ENOSPC || sys == EDQUOT)
			return pkg_error_errno(err, sys, "write to database '%s'", store->path);
		break;
	case SQLITE_CANTOPEN:
		if (sys != 0)
			return pkg_error_errno(err, sys, "open database '%s'", store->path);
		break;
	default:
		break;
	}
	(void)pkg_error_set(err, PKG_E_DATABASE, "database '%s': %s (SQLite code %d)", store->path,
		text, store->last_code);
	if ((store->last_code & 0xff) == SQLITE_BUSY)
		return pkg_error_cure(err,
			"another process holds its lock for long: try again, "
			"and look for a stopped pkg-worker");
	return -1;
}

bool
store_is_duplicate(const struct store *store)
{
	return store->last_code == SQLITE_CONSTRAINT_UNIQUE ||
		store->last_code == SQLITE_CONSTRAINT_PRIMARYKEY;
}

/* ---- Running ----------------------------------------------------------------------------------
 */

void
store_reset(sqlite3_stmt *statement)
{
	(void)sqlite3_reset(statement);
	/* The texts bound are the caller's and may go now. */
	(void)sqlite3_clear_bindings(statement);
}

static int
bind(struct store *store, sqlite3_stmt *statement, size_t count, const struct store_value *values,
	struct pkg_error *err)
{
	if ((size_t)sqlite3_bind_parameter_count(statement) != count)
		return pkg_error_set(err, PKG_E_INTERNAL, "%zu values for statement: %s", count,
			sqlite3_sql(statement));
	for (size_t i = 0; i < count; i++) {
		const struct store_value *value = &values[i];
		int at = (int)i + 1;
		int code = value->is_text
			? sqlite3_bind_text(statement, at, value->text, -1, SQLITE_STATIC)
			: sqlite3_bind_int64(statement, at, value->integer);

		if (code != SQLITE_OK)
			return store_fail(store, err);
	}
	return 0;
}

sqlite3_stmt *
store_query_n(struct store *store, enum store_statement which, size_t count,
	const struct store_value *values, struct pkg_error *err)
{
	sqlite3_stmt **slot = &store->statements[which];

	store->last_code = SQLITE_OK;
	/* After a failure that undid the transaction, the rest of it must not be written by itself.
	 */
	if (store->depth > 0 && sqlite3_get_autocommit(store->db)) {
		(void)pkg_error_set(err, PKG_E_DATABASE,
			"database '%s': the transaction was undone after an earlier failure",
			store->path);
		return NULL;
	}
	if (!*slot &&
		sqlite3_prepare_v3(store->db, sql[which], -1, SQLITE_PREPARE_PERSISTENT, slot,
			NULL) != SQLITE_OK) {
		(void)store_fail(store, err);
		return NULL;
	}
	if (sqlite3_stmt_busy(*slot)) {
		(void)pkg_error_set(err, PKG_E_INTERNAL, "statement in use: %s", sql[which]);
		return NULL;
	}
	if (bind(store, *slot, count, values, err) < 0) {
		store_reset(*slot);
		return NULL;
	}
	return *slot;
}

int
store_step(struct store *store, sqlite3_stmt *statement, struct pkg_error *err)
{
	int code = sqlite3_step(statement);
	int result = 0;

	if (code == SQLITE_ROW)
		return 1;
	if (code != SQLITE_DONE)
		result = store_fail(store, err);
	store_reset(statement);
	return result;
}

int
store_exec_n(struct store *store, enum store_statement which, size_t count,
	const struct store_value *values, struct pkg_error *err)
{
	sqlite3_stmt *statement = store_query_n(store, which, count, values, err);
	int result;

	if (!statement)
		return -1;
	do {
		result = store_step(store, statement, err);
	} while (result > 0);
	return result < 0 ? -1 : sqlite3_changes(store->db);
}

int
store_exec_int_n(struct store *store, enum store_statement which, int64_t *out, size_t count,
	const struct store_value *values, struct pkg_error *err)
{
	sqlite3_stmt *statement = store_query_n(store, which, count, values, err);
	int64_t value = 0;
	int found = 0;
	int result;

	if (!statement)
		return -1;
	/* To the end even after the row: only then a statement by itself has committed. */
	while ((result = store_step(store, statement, err)) > 0) {
		if (!found)
			value = store_column_int(statement, 0);
		found = 1;
	}
	if (result < 0)
		return -1;
	if (found)
		*out = value;
	return found;
}

/* ---- Reading ----------------------------------------------------------------------------------
 */

int
store_read_one(struct store *store, sqlite3_stmt *statement, store_read_fn *read, void *record,
	struct pkg_error *err)
{
	int result;

	if (!statement)
		return -1;
	result = store_step(store, statement, err);
	if (result > 0) {
		read(statement, record);
		store_reset(statement);
	}
	return result;
}

int
store_read_rows(struct store *store, sqlite3_stmt *statement, struct store_rows *rows,
	struct pkg_error *err)
{
	size_t room = 0;
	int result;

	if (!statement)
		return -1;
	while ((result = store_step(store, statement, err)) > 0) {
		char *record;

		if (rows->count == room) {
			room = room ? 2 * room : 16;
			rows->items = pkg_xrealloc(rows->items, room, rows->size);
		}
		record = (char *)rows->items + rows->count * rows->size;
		memset(record, 0, rows->size);
		rows->read(statement, record);
		rows->count++;
	}
	return result;
}

int64_t
store_column_int(sqlite3_stmt *statement, int column)
{
	return sqlite3_column_int64(statement, column);
}

char *
store_column_text(sqlite3_stmt *statement, int column)
{
	return pkg_xstrdup((const char *)sqlite3_column_text(statement, column));
}

void
store_read_text(sqlite3_stmt *statement, void *record)
{
	*(char **)record = store_column_text(statement, 0);
}

int64_t
store_limit(int limit)
{
	return limit > 0 ? limit : -1;
}
