#include "store/statements.h"
#include "core/json.h"
#include <inttypes.h>

/* "pkgd" in the file's header: a file with other tables in it is not ours to change. */
#define APPLICATION_ID 0x706b6764

/* Migration n brings a file from version n to n + 1. Once released a text is frozen: what changes
 * later is a new migration at the end. Every enum is a CHECK, so a value that the code does not
 * know cannot get in (BEHAVIOURS O7), and a constraint has the name that its error will show. */
static const char *const migrations[] = {
	/* 0 -> 1 */
	"CREATE TABLE counter ("
	" name TEXT PRIMARY KEY NOT NULL,"
	" value INTEGER NOT NULL"
	") WITHOUT ROWID;"
	"INSERT INTO counter VALUES ('env', 0);"

	"CREATE TABLE env ("
	" id INTEGER PRIMARY KEY,"
	" project TEXT NOT NULL CONSTRAINT env_project CHECK (project <> ''),"
	" language TEXT NOT NULL CONSTRAINT env_language CHECK (language IN ('python', 'r')),"
	" name TEXT NOT NULL COLLATE NOCASE CONSTRAINT env_name CHECK (name <> ''),"
	" prefix TEXT NOT NULL CONSTRAINT env_prefix CHECK (prefix LIKE '/%'),"
	" facts TEXT NOT NULL CONSTRAINT env_facts CHECK (json_valid(facts)),"
	" hermetic INTEGER NOT NULL CONSTRAINT env_hermetic CHECK (hermetic IN (0, 1)),"
	" generation INTEGER NOT NULL CONSTRAINT env_generation CHECK (generation >= 0),"
	" revision INTEGER NOT NULL CONSTRAINT env_revision CHECK (revision >= 0),"
	" created_ms INTEGER NOT NULL,"
	" updated_ms INTEGER NOT NULL"
	");"
	"CREATE UNIQUE INDEX env_key ON env (project, language, name);"

	"CREATE TABLE generation ("
	" env INTEGER NOT NULL REFERENCES env (id) ON DELETE CASCADE,"
	" number INTEGER NOT NULL CONSTRAINT generation_number CHECK (number > 0),"
	" revision INTEGER NOT NULL DEFAULT 0"
	"  CONSTRAINT generation_revision CHECK (revision >= 0),"
	" created_ms INTEGER NOT NULL,"
	" job INTEGER NOT NULL,"
	" retired INTEGER NOT NULL DEFAULT 0"
	"  CONSTRAINT generation_retired CHECK (retired IN (0, 1)),"
	" PRIMARY KEY (env, number)"
	") WITHOUT ROWID;"

	"CREATE TABLE package ("
	" env INTEGER NOT NULL,"
	" generation INTEGER NOT NULL,"
	" key TEXT NOT NULL CONSTRAINT package_key CHECK (key <> ''),"
	" name TEXT NOT NULL,"
	" version TEXT NOT NULL,"
	" requirement TEXT,"
	" owned INTEGER NOT NULL CONSTRAINT package_owned CHECK (owned IN (0, 1)),"
	" location TEXT,"
	" sha256 TEXT CONSTRAINT package_sha256"
	"  CHECK (length(sha256) = 64 AND sha256 NOT GLOB '*[^0-9a-f]*'),"
	" file TEXT,"
	" url TEXT,"
	" package_index TEXT,"
	" source TEXT CONSTRAINT package_source CHECK (source IN ('wheel', 'sdist', 'direct')),"
	" PRIMARY KEY (env, generation, key),"
	" FOREIGN KEY (env, generation) REFERENCES generation (env, number) ON DELETE CASCADE"
	") WITHOUT ROWID;"

	"CREATE TABLE job ("
	" id INTEGER PRIMARY KEY,"
	" action TEXT NOT NULL CONSTRAINT job_action CHECK (action IN ('install', 'remove',"
	"  'upgrade', 'rollback', 'create', 'repair', 'delete', 'plan')),"
	" project TEXT NOT NULL CONSTRAINT job_project CHECK (project <> ''),"
	" language TEXT NOT NULL CONSTRAINT job_language CHECK (language IN ('python', 'r')),"
	" environment TEXT NOT NULL COLLATE NOCASE"
	"  CONSTRAINT job_environment CHECK (environment <> ''),"
	" request TEXT NOT NULL CONSTRAINT job_request CHECK (json_valid(request)),"
	" state TEXT NOT NULL CONSTRAINT job_state CHECK (state IN ('queued', 'planning',"
	"  'pending', 'fetching', 'building', 'applying', 'verifying', 'done', 'denied',"
	"  'failed', 'cancelled', 'interrupted')),"
	" uid INTEGER NOT NULL,"
	" pid INTEGER NOT NULL,"
	" program TEXT NOT NULL,"
	" label TEXT NOT NULL,"
	" reason TEXT NOT NULL,"
	" created_ms INTEGER NOT NULL,"
	" updated_ms INTEGER NOT NULL,"
	" ended_ms INTEGER NOT NULL DEFAULT 0,"
	" behind INTEGER NOT NULL DEFAULT 0,"
	" card INTEGER NOT NULL DEFAULT 0,"
	" plan_hash TEXT CONSTRAINT job_plan_hash CHECK (plan_hash <> ''),"
	" plan_generation INTEGER NOT NULL DEFAULT 0,"
	" plan_revision INTEGER NOT NULL DEFAULT 0,"
	" approved_hash TEXT,"
	" cancel_requested INTEGER NOT NULL DEFAULT 0"
	"  CONSTRAINT job_cancel_requested CHECK (cancel_requested IN (0, 1)),"
	" result TEXT CONSTRAINT job_result CHECK (json_valid(result)),"
	" idempotency_key TEXT CONSTRAINT job_idempotency_key CHECK (idempotency_key <> ''),"
	" CONSTRAINT job_ended CHECK ((ended_ms <> 0) ="
	"  (state IN ('done', 'denied', 'failed', 'cancelled', 'interrupted')))"
	");"
	"CREATE INDEX job_open ON job (id) WHERE ended_ms = 0;"
	"CREATE INDEX job_queued ON job (project, language, environment) WHERE state = 'queued';"
	"CREATE UNIQUE INDEX job_key ON job (uid, idempotency_key)"
	" WHERE idempotency_key IS NOT NULL;"

	/* Apart from the job, whose row changes with every step: a plan may be hundreds of pages.
	 */
	"CREATE TABLE job_plan ("
	" job INTEGER PRIMARY KEY REFERENCES job (id),"
	" plan TEXT NOT NULL CONSTRAINT job_plan CHECK (json_valid(plan))"
	");"

	"CREATE TABLE claim ("
	" id INTEGER PRIMARY KEY,"
	" job INTEGER NOT NULL REFERENCES job (id),"
	" project TEXT NOT NULL,"
	" language TEXT NOT NULL,"
	" environment TEXT NOT NULL COLLATE NOCASE,"
	" pid INTEGER NOT NULL CONSTRAINT claim_pid CHECK (pid > 0),"
	" start INTEGER NOT NULL,"
	" boot TEXT NOT NULL,"
	" phase TEXT NOT NULL CONSTRAINT claim_phase CHECK (phase IN ('queued', 'planning',"
	"  'pending', 'fetching', 'building', 'applying', 'verifying', 'done', 'denied',"
	"  'failed', 'cancelled', 'interrupted')),"
	" started_ms INTEGER NOT NULL,"
	" ended_ms INTEGER NOT NULL DEFAULT 0,"
	" outcome TEXT CONSTRAINT claim_outcome"
	"  CHECK (outcome IN ('finished', 'undone', 'interrupted')),"
	" CONSTRAINT claim_ended CHECK ((ended_ms = 0) = (outcome IS NULL))"
	");"
	/* The lock itself: one unfinished claim per environment. Case-folded, so that two names
	 * that may not both exist cannot both be under way either. */
	"CREATE UNIQUE INDEX claim_unfinished ON claim (project, language, environment)"
	" WHERE ended_ms = 0;"

	"CREATE TABLE card ("
	" id INTEGER PRIMARY KEY,"
	" job INTEGER NOT NULL REFERENCES job (id),"
	" plan_hash TEXT NOT NULL CONSTRAINT card_plan_hash CHECK (plan_hash <> ''),"
	" state TEXT NOT NULL CONSTRAINT card_state CHECK (state IN ('pending', 'approved',"
	"  'denied', 'expired', 'superseded')),"
	" created_ms INTEGER NOT NULL,"
	" expires_ms INTEGER NOT NULL,"
	" answered_ms INTEGER NOT NULL DEFAULT 0,"
	" answered_uid INTEGER NOT NULL DEFAULT -1,"
	" answered_pid INTEGER NOT NULL DEFAULT 0,"
	" answered_via TEXT CONSTRAINT card_answered_via"
	"  CHECK (answered_via IN ('control', 'page', 'policy', 'expiry')),"
	" message TEXT,"
	" plan TEXT NOT NULL CONSTRAINT card_plan CHECK (json_valid(plan)),"
	" CONSTRAINT card_answered CHECK ((state IN ('approved', 'denied', 'expired')) ="
	"  (answered_ms <> 0 AND answered_via IS NOT NULL))"
	");"
	"CREATE UNIQUE INDEX card_pending ON card (job) WHERE state = 'pending';"
	"CREATE INDEX card_expiry ON card (expires_ms) WHERE state = 'pending';"
	"CREATE INDEX card_by_state ON card (state, id);"

	/* No reference to env: of a creation there is none yet, of a deletion none any more. */
	"CREATE TABLE journal ("
	" env INTEGER PRIMARY KEY,"
	" job INTEGER NOT NULL,"
	" kind TEXT NOT NULL CONSTRAINT journal_kind CHECK (kind IN ('additive', 'switch',"
	"  'create', 'rollback', 'delete')),"
	" ops TEXT NOT NULL CONSTRAINT journal_ops CHECK (json_valid(ops)),"
	" after TEXT NOT NULL CONSTRAINT journal_after CHECK (json_valid(after)),"
	" created_ms INTEGER NOT NULL"
	");"

	"CREATE TABLE history ("
	" id INTEGER PRIMARY KEY,"
	" env INTEGER NOT NULL,"
	" seq INTEGER NOT NULL,"
	" job INTEGER NOT NULL,"
	" time_ms INTEGER NOT NULL,"
	" action TEXT NOT NULL CONSTRAINT history_action CHECK (action IN ('install', 'remove',"
	"  'upgrade', 'rollback', 'create', 'repair', 'delete', 'plan')),"
	" asked TEXT NOT NULL CONSTRAINT history_asked CHECK (json_valid(asked)),"
	" uid INTEGER NOT NULL,"
	" label TEXT NOT NULL,"
	" plan_hash TEXT,"
	" result TEXT NOT NULL CONSTRAINT history_result CHECK (result IN ('done', 'denied',"
	"  'failed', 'cancelled', 'interrupted')),"
	" kind TEXT,"
	" generation INTEGER NOT NULL,"
	" revision INTEGER NOT NULL,"
	" changes TEXT NOT NULL CONSTRAINT history_changes"
	"  CHECK (json_valid(changes) AND substr(changes, 1, 1) = '[')"
	");"
	"CREATE UNIQUE INDEX history_order ON history (env, seq);"

	"CREATE TABLE audit ("
	" seq INTEGER PRIMARY KEY,"
	" time_ms INTEGER NOT NULL,"
	" type TEXT NOT NULL CONSTRAINT audit_type CHECK (type <> ''),"
	" data TEXT NOT NULL CONSTRAINT audit_data CHECK (json_valid(data)),"
	" hash TEXT NOT NULL CONSTRAINT audit_hash CHECK (length(hash) = 64)"
	");"

	/* AUTOINCREMENT: a number said by somebody who came late must not mean another kernel. */
	"CREATE TABLE kernel ("
	" id INTEGER PRIMARY KEY AUTOINCREMENT,"
	" env INTEGER NOT NULL,"
	" generation INTEGER NOT NULL,"
	" pid INTEGER NOT NULL CONSTRAINT kernel_pid CHECK (pid > 0),"
	" start INTEGER NOT NULL,"
	" boot TEXT NOT NULL,"
	" label TEXT NOT NULL,"
	" started_ms INTEGER NOT NULL"
	");",
};

enum { SCHEMA_VERSION = PKG_ARRAY_LEN(migrations) };

/* Stands in for SQLite's own function of that name, which versions 3.38 to 3.40 by mistake forbid
 * in a CHECK when trusted_schema is off ("unsafe use"); stricter, as it is the parser that will
 * read it. */
static void
json_valid(sqlite3_context *context, PKG_UNUSED int count, sqlite3_value **values)
{
	const char *text = (const char *)sqlite3_value_text(values[0]);
	struct json_object *value;

	if (!text)
		return; /* the result is NULL, and such a CHECK passes: NOT NULL is another's
			   business */
	value = pkg_json_parse(text, (size_t)sqlite3_value_bytes(values[0]), NULL);
	sqlite3_result_int(context, value != NULL);
	pkg_json_put(value);
}

int
store_schema_functions(struct store *store, struct pkg_error *err)
{
	int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;

	if (sqlite3_create_function_v2(store->db, "json_valid", 1, flags, NULL, json_valid, NULL,
		    NULL, NULL) != SQLITE_OK)
		return store_fail(store, err);
	return 0;
}

int
store_schema_number(struct store *store, const char *sql, int64_t *out, struct pkg_error *err)
{
	sqlite3_stmt *statement = NULL;
	int result = 0;

	if (sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL) != SQLITE_OK ||
		sqlite3_step(statement) != SQLITE_ROW)
		result = store_fail(store, err);
	else
		*out = sqlite3_column_int64(statement, 0);
	(void)sqlite3_finalize(statement);
	return result;
}

int
store_schema_check(struct store *store, int64_t *version, struct pkg_error *err)
{
	int64_t application;
	int64_t tables;

	if (store_schema_number(store, "PRAGMA application_id", &application, err) < 0 ||
		store_schema_number(store, "PRAGMA user_version", version, err) < 0 ||
		store_schema_number(store, "SELECT count(*) FROM sqlite_schema", &tables, err) < 0)
		return -1;
	if (application != APPLICATION_ID && (application != 0 || *version != 0 || tables != 0)) {
		(void)pkg_error_set(
			err, PKG_E_DATABASE, "'%s' is not a database of pkgd", store->path);
		return pkg_error_cure(err, "move it away; pkgd makes its own when there is none");
	}
	if (*version < 0 || *version > SCHEMA_VERSION) {
		(void)pkg_error_set(err, PKG_E_DATABASE,
			"database '%s' has version %" PRId64 ", this pkgd knows up to %d",
			store->path, *version, SCHEMA_VERSION);
		return pkg_error_cure(
			err, "use the pkgd that wrote it, or a newer one; nothing was changed");
	}
	return 0;
}

static int
migrate_to(struct store *store, int number, struct pkg_error *err)
{
	pkg_autofree char *mark = pkg_xasprintf(
		"PRAGMA application_id = %d; PRAGMA user_version = %d", APPLICATION_ID, number);

	if (sqlite3_exec(store->db, migrations[number - 1], NULL, NULL, NULL) != SQLITE_OK ||
		sqlite3_exec(store->db, mark, NULL, NULL, NULL) != SQLITE_OK) {
		(void)store_fail(store, err);
		return pkg_error_prefix(err, "migrate to version %d", number);
	}
	return 0;
}

int
store_schema_migrate(struct store *store, int64_t version, struct pkg_error *err)
{
	/* A transaction each, its number included: whoever is killed here goes on from where it
	 * was. */
	for (int next = (int)version + 1; next <= SCHEMA_VERSION; next++) {
		if (store_scope_begin(store, err) < 0 ||
			store_scope_end(store, migrate_to(store, next, err), err) < 0)
			return -1;
	}
	return 0;
}
