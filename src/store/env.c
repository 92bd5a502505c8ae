#include "store/env.h"
#include "store/statements.h"
#include "core/time.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void
store_env_clear(struct store_env *env)
{
	free(env->project);
	free(env->language);
	free(env->name);
	free(env->prefix);
	free(env->facts);
	*env = (struct store_env){ 0 };
}

void
store_env_list_clear(struct store_env_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		store_env_clear(&list->items[i]);
	free(list->items);
	*list = (struct store_env_list){ 0 };
}

void
store_generation_list_clear(struct store_generation_list *list)
{
	free(list->items);
	*list = (struct store_generation_list){ 0 };
}

/* ---- Environments -----------------------------------------------------------------------------
 */

static void
read_env(sqlite3_stmt *row, void *record)
{
	struct store_env *env = record;

	env->id = store_column_int(row, 0);
	env->project = store_column_text(row, 1);
	env->language = store_column_text(row, 2);
	env->name = store_column_text(row, 3);
	env->prefix = store_column_text(row, 4);
	env->facts = store_column_text(row, 5);
	env->hermetic = store_column_int(row, 6) != 0;
	env->generation = store_column_int(row, 7);
	env->revision = store_column_int(row, 8);
	env->created_ms = store_column_int(row, 9);
	env->updated_ms = store_column_int(row, 10);
}

int
store_env_get(struct store *store, const struct store_env_key *key, struct store_env *out,
	struct pkg_error *err)
{
	sqlite3_stmt *query = store_query(store, STMT_ENV_GET, err, store_text(key->project),
		store_text(key->language), store_text(key->name));
	struct store_env env = { 0 };
	int found = store_read_one(store, query, read_env, &env, err);

	if (found == 0)
		return pkg_error_set(err, PKG_E_NOT_FOUND,
			"project '%s' has no %s environment named '%s'", key->project,
			key->language, key->name);
	if (found < 0)
		return -1;
	store_env_clear(out);
	*out = env;
	return 0;
}

int
store_env_get_id(struct store *store, int64_t id, struct store_env *out, struct pkg_error *err)
{
	sqlite3_stmt *query = store_query(store, STMT_ENV_GET_ID, err, store_int(id));
	struct store_env env = { 0 };
	int found = store_read_one(store, query, read_env, &env, err);

	if (found == 0)
		return pkg_error_set(
			err, PKG_E_NOT_FOUND, "there is no environment with id %" PRId64, id);
	if (found < 0)
		return -1;
	store_env_clear(out);
	*out = env;
	return 0;
}

int
store_env_check_name(struct store *store, const struct store_env_key *key, struct pkg_error *err)
{
	sqlite3_stmt *query = store_query(store, STMT_ENV_TWIN, err, store_text(key->project),
		store_text(key->language), store_text(key->name));
	pkg_autofree char *twin = NULL;
	int found = store_read_one(store, query, store_read_text, &twin, err);

	if (found <= 0)
		return found;
	(void)pkg_error_set(err, PKG_E_EXISTS,
		"an environment named '%s' exists: '%s' differs from it only by case", twin,
		key->name);
	return pkg_error_cure(err, "use '%s', or a name that differs by more than case", twin);
}

int
store_env_list(struct store *store, const char *project, const char *language,
	struct store_env_list *out, struct pkg_error *err)
{
	sqlite3_stmt *query =
		store_query(store, STMT_ENV_LIST, err, store_text(project), store_text(language));
	struct store_rows rows = { .size = sizeof(struct store_env), .read = read_env };
	int result = store_read_rows(store, query, &rows, err);

	store_env_list_clear(out);
	*out = (struct store_env_list){ rows.items, rows.count };
	if (result < 0)
		store_env_list_clear(out);
	return result;
}

int64_t
store_env_reserve_id(struct store *store, struct pkg_error *err)
{
	int64_t id;
	int found = store_exec_int_n(store, STMT_ENV_RESERVE_ID, &id, 0, NULL, err);

	if (found == 0)
		return pkg_error_set(err, PKG_E_DATABASE,
			"database '%s' has lost its counter of environments", store->path);
	return found < 0 ? -1 : id;
}

int
store_env_insert(struct store *store, const struct store_env *env, struct pkg_error *err)
{
	struct store_env_key key = { env->project, env->language, env->name };
	int64_t created = env->created_ms ? env->created_ms : pkg_time_now_ms();
	int64_t updated = env->updated_ms ? env->updated_ms : created;

	if (env->id <= 0)
		return pkg_error_set(
			err, PKG_E_INTERNAL, "no id was reserved for environment '%s'", env->name);
	if (store_exec(store, STMT_ENV_INSERT, err, store_int(env->id), store_text(env->project),
		    store_text(env->language), store_text(env->name), store_text(env->prefix),
		    store_text(env->facts ? env->facts : "{}"), store_int(env->hermetic),
		    store_int(env->generation), store_int(env->revision), store_int(created),
		    store_int(updated)) >= 0)
		return 0;
	if (!store_is_duplicate(store))
		return -1;
	/* The same name, or the same but for its case: the check words the second. */
	if (store_env_check_name(store, &key, err) == 0)
		(void)pkg_error_set(err, PKG_E_EXISTS,
			"project '%s' has a %s environment named '%s' already", env->project,
			env->language, env->name);
	return -1;
}

static int
no_env(int64_t env, struct pkg_error *err)
{
	return pkg_error_set(err, PKG_E_NOT_FOUND, "there is no environment with id %" PRId64, env);
}

static int
set_current(struct store *store, int64_t env, int64_t generation, int64_t revision,
	const char *facts, struct pkg_error *err)
{
	int changed =
		store_exec(store, STMT_ENV_SET_CURRENT, err, store_int(env), store_int(generation),
			store_int(revision), store_text(facts), store_int(pkg_time_now_ms()));

	if (changed == 0)
		return no_env(env, err);
	if (changed < 0)
		return -1;
	/* The revision is known by the generation too, for when it is rolled back to. */
	changed = store_exec(store, STMT_GENERATION_SET_REVISION, err, store_int(env),
		store_int(generation), store_int(revision));
	return changed < 0 ? -1 : 0;
}

int
store_env_set_current(struct store *store, int64_t env, int64_t generation, int64_t revision,
	const char *facts, struct pkg_error *err)
{
	if (store_scope_begin(store, err) < 0)
		return -1;
	return store_scope_end(
		store, set_current(store, env, generation, revision, facts, err), err);
}

int
store_env_delete(struct store *store, int64_t env, struct pkg_error *err)
{
	int changed = store_exec(store, STMT_ENV_DELETE, err, store_int(env));

	if (changed == 0)
		return no_env(env, err);
	return changed < 0 ? -1 : 0;
}

/* ---- Generations ------------------------------------------------------------------------------
 */

int
store_generation_insert(
	struct store *store, int64_t env, int64_t number, int64_t job, struct pkg_error *err)
{
	if (store_exec(store, STMT_GENERATION_INSERT, err, store_int(env), store_int(number),
		    store_int(job), store_int(pkg_time_now_ms())) >= 0)
		return 0;
	if (store_is_duplicate(store))
		(void)pkg_error_set(err, PKG_E_EXISTS,
			"environment %" PRId64 " has a generation %" PRId64 " already", env,
			number);
	else if (store->last_code == SQLITE_CONSTRAINT_FOREIGNKEY)
		(void)no_env(env, err);
	return -1;
}

static void
read_generation(sqlite3_stmt *row, void *record)
{
	struct store_generation *generation = record;

	generation->number = store_column_int(row, 0);
	generation->revision = store_column_int(row, 1);
	generation->created_ms = store_column_int(row, 2);
	generation->job = store_column_int(row, 3);
	generation->current = store_column_int(row, 4) != 0;
	generation->retired = store_column_int(row, 5) != 0;
}

int
store_generation_list(
	struct store *store, int64_t env, struct store_generation_list *out, struct pkg_error *err)
{
	sqlite3_stmt *query = store_query(store, STMT_GENERATION_LIST, err, store_int(env));
	struct store_rows rows = { .size = sizeof(struct store_generation),
		.read = read_generation };
	int result = store_read_rows(store, query, &rows, err);

	store_generation_list_clear(out);
	*out = (struct store_generation_list){ rows.items, rows.count };
	if (result < 0)
		store_generation_list_clear(out);
	return result;
}

static int
set_revision(
	struct store *store, int64_t env, int64_t number, int64_t revision, struct pkg_error *err)
{
	int changed = store_exec(store, STMT_GENERATION_SET_REVISION, err, store_int(env),
		store_int(number), store_int(revision));

	if (changed == 0)
		return pkg_error_set(err, PKG_E_NOT_FOUND,
			"environment %" PRId64 " has no generation %" PRId64, env, number);
	if (changed < 0)
		return -1;
	changed = store_exec(store, STMT_ENV_SET_REVISION, err, store_int(env), store_int(number),
		store_int(revision), store_int(pkg_time_now_ms()));
	return changed < 0 ? -1 : 0;
}

int
store_generation_set_revision(
	struct store *store, int64_t env, int64_t number, int64_t revision, struct pkg_error *err)
{
	if (store_scope_begin(store, err) < 0)
		return -1;
	return store_scope_end(store, set_revision(store, env, number, revision, err), err);
}

int
store_generation_retire(struct store *store, int64_t env, int64_t number, struct pkg_error *err)
{
	int changed =
		store_exec(store, STMT_GENERATION_RETIRE, err, store_int(env), store_int(number));

	if (changed == 0)
		return pkg_error_set(err, PKG_E_NOT_FOUND,
			"environment %" PRId64 " has no generation %" PRId64
			" beside its current one",
			env, number);
	return changed < 0 ? -1 : 0;
}

int64_t
store_generation_next(struct store *store, int64_t env, struct pkg_error *err)
{
	int64_t next = -1;

	if (store_exec_int(store, STMT_GENERATION_NEXT, &next, err, store_int(env)) < 0)
		return -1;
	return next;
}
