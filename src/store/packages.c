#include "store/env.h"
#include "store/statements.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- The list ---------------------------------------------------------------------------------
 */

void
store_package_clear(struct store_package *package)
{
	free(package->name);
	free(package->key);
	free(package->version);
	free(package->requirement);
	free(package->location);
	free(package->sha256);
	free(package->file);
	free(package->url);
	free(package->index);
	free(package->source);
	*package = (struct store_package){ 0 };
}

void
store_package_list_clear(struct store_package_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		store_package_clear(&list->items[i]);
	free(list->items);
	*list = (struct store_package_list){ 0 };
}

struct store_package *
store_package_list_add(struct store_package_list *list)
{
	/* The room is the power of two that holds count, so it need not be stored. */
	if ((list->count & (list->count - 1)) == 0)
		list->items = pkg_xrealloc(
			list->items, list->count ? 2 * list->count : 1, sizeof(*list->items));
	list->items[list->count] = (struct store_package){ 0 };
	return &list->items[list->count++];
}

static int
by_key(const void *a, const void *b)
{
	return strcmp(
		((const struct store_package *)a)->key, ((const struct store_package *)b)->key);
}

void
store_package_list_sort(struct store_package_list *list)
{
	if (list->count > 1)
		qsort(list->items, list->count, sizeof(*list->items), by_key);
}

static int
key_of(const void *key, const void *package)
{
	return strcmp(key, ((const struct store_package *)package)->key);
}

struct store_package *
store_package_find(const struct store_package_list *list, const char *key)
{
	if (list->count == 0)
		return NULL;
	return bsearch(key, list->items, list->count, sizeof(*list->items), key_of);
}

/* ---- Inventories ------------------------------------------------------------------------------
 */

static int
insert_package(struct store *store, int64_t env, int64_t generation,
	const struct store_package *package, struct pkg_error *err)
{
	if (store_exec(store, STMT_PACKAGE_INSERT, err, store_int(env), store_int(generation),
		    store_text(package->key), store_text(package->name),
		    store_text(package->version), store_text(package->requirement),
		    store_int(package->owned), store_text(package->location),
		    store_text(package->sha256), store_text(package->file),
		    store_text(package->url), store_text(package->index),
		    store_text(package->source)) >= 0)
		return 0;
	if (store_is_duplicate(store))
		return pkg_error_set(err, PKG_E_EXISTS,
			"package '%s' is twice in the inventory of generation %" PRId64,
			package->key, generation);
	if (store->last_code == SQLITE_CONSTRAINT_FOREIGNKEY)
		return pkg_error_set(err, PKG_E_NOT_FOUND,
			"environment %" PRId64 " has no generation %" PRId64, env, generation);
	return pkg_error_prefix(err, "package '%s'", package->key ? package->key : "");
}

static int
replace(struct store *store, int64_t env, int64_t generation, const struct store_package_list *list,
	struct pkg_error *err)
{
	if (store_exec(store, STMT_PACKAGES_DELETE, err, store_int(env), store_int(generation)) < 0)
		return -1;
	for (size_t i = 0; i < list->count; i++) {
		if (insert_package(store, env, generation, &list->items[i], err) < 0)
			return -1;
	}
	return 0;
}

int
store_packages_set(struct store *store, int64_t env, int64_t generation,
	const struct store_package_list *list, struct pkg_error *err)
{
	if (store_scope_begin(store, err) < 0)
		return -1;
	return store_scope_end(store, replace(store, env, generation, list, err), err);
}

static void
read_package(sqlite3_stmt *row, struct store_package *package)
{
	package->key = store_column_text(row, 0);
	package->name = store_column_text(row, 1);
	package->version = store_column_text(row, 2);
	package->requirement = store_column_text(row, 3);
	package->owned = store_column_int(row, 4) != 0;
	package->location = store_column_text(row, 5);
	package->sha256 = store_column_text(row, 6);
	package->file = store_column_text(row, 7);
	package->url = store_column_text(row, 8);
	package->index = store_column_text(row, 9);
	package->source = store_column_text(row, 10);
}

int
store_packages_get(struct store *store, int64_t env, int64_t generation,
	struct store_package_list *out, struct pkg_error *err)
{
	sqlite3_stmt *query =
		store_query(store, STMT_PACKAGES_GET, err, store_int(env), store_int(generation));
	int result;

	store_package_list_clear(out);
	if (!query)
		return -1;
	/* Through list_add, so that the caller can add to it. */
	while ((result = store_step(store, query, err)) > 0)
		read_package(query, store_package_list_add(out));
	if (result < 0)
		store_package_list_clear(out);
	return result;
}

int
store_packages_sha256(struct store *store, struct pkg_argv *out, struct pkg_error *err)
{
	sqlite3_stmt *query = store_query_n(store, STMT_PACKAGES_SHA256, 0, NULL, err);
	int result;

	if (!query)
		return -1;
	while ((result = store_step(store, query, err)) > 0)
		pkg_argv_take(out, store_column_text(query, 0));
	return result;
}
