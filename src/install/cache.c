#include "install/cache.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "core/path.h"
#include "core/tree.h"
#include "store/job.h"

/* Below <cache>. Kinds with "hash": names end in the sha256 of the file they came from, which is what a generation's
 * rows name; the others are remade at no cost but time. */
static const struct kind {
	const char *name;
	bool hash;
} kinds[] = {
	{ "files", true },
	{ "wheels", true },
	{ "bytecode", true },
	{ "built", false },
	{ "rbuilt", true },
	{ "partial", false },
	{ "http", false },
	{ "index", false },
	{ "metadata", false },
	{ "pip", false },
	{ "probe", false },
	{ "venv", false },
};

struct sizes {
	int64_t files;
	int64_t bytes;
};

static int
add_size(void *context, const char *relative, const struct stat *st, struct pkg_error *err)
{
	struct sizes *sizes = context;

	(void)relative;
	(void)err;
	if (S_ISREG(st->st_mode)) {
		sizes->files++;
		sizes->bytes += st->st_size;
	}
	return 0;
}

static void
measure(const char *path, struct sizes *sizes)
{
	struct stat st;

	if (stat(path, &st) == 0)
		(void)pkg_tree_walk(AT_FDCWD, path, add_size, sizes, NULL);
}

static struct json_object *
kind_row(const char *name, const struct sizes *sizes)
{
	struct json_object *row = json_object_new_object();

	pkg_json_set_str(row, "kind", name);
	pkg_json_set_int(row, "files", sizes->files);
	pkg_json_set_int(row, "bytes", sizes->bytes);
	return row;
}

static struct json_object *
report(const struct pkg_home *home, const struct sizes *all)
{
	struct json_object *out = json_object_new_object();
	struct json_object *rows = json_object_new_array();
	int64_t bytes = 0;

	for (size_t i = 0; i < PKG_ARRAY_LEN(kinds); i++) {
		json_object_array_add(rows, kind_row(kinds[i].name, &all[i]));
		bytes += all[i].bytes;
	}
	pkg_json_set_str(out, "path", home->cache);
	pkg_json_set(out, "kinds", rows);
	pkg_json_set_int(out, "bytes", bytes);
	return out;
}

struct json_object *
install_cache_info(const struct pkg_home *home, struct pkg_error *err)
{
	struct sizes all[PKG_ARRAY_LEN(kinds)] = { 0 };

	(void)err;
	for (size_t i = 0; i < PKG_ARRAY_LEN(kinds); i++) {
		pkg_autofree char *path = pkg_path_join(home->cache, kinds[i].name);

		measure(path, &all[i]);
	}
	return report(home, all);
}

/* --- prune --- */

/* Entries named by a hash lie one or two levels below their kind. */
struct entries {
	struct pkg_argv *found; /* relative paths */
};

static int
note_entry(void *context, const char *relative, const struct stat *st, struct pkg_error *err)
{
	struct entries *entries = context;

	(void)st;
	(void)err;
	if (strlen(pkg_path_base(relative)) == 64)
		pkg_argv_add(entries->found, relative);
	return 0;
}

static int
prune_hashed(
	const char *path, const struct pkg_argv *wanted, struct sizes *sizes, struct pkg_error *err)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *found = pkg_argv_new();
	struct entries entries = { found };
	struct stat st;

	if (stat(path, &st) < 0)
		return 0;
	if (pkg_tree_walk(AT_FDCWD, path, note_entry, &entries, err) < 0)
		return -1;
	for (size_t i = 0; i < found->count; i++) {
		pkg_autofree char *entry = pkg_path_join(path, found->items[i]);

		if (pkg_argv_has(wanted, pkg_path_base(entry)))
			continue;
		measure(entry, sizes);
		if (pkg_tree_remove(entry, err) < 0)
			return -1;
	}
	return 0;
}

static int
refuse_while_busy(struct store *store, struct pkg_error *err)
{
	pkg_cleanup_store_claim_list struct store_claim_list claims = { 0 };

	if (store_claim_unfinished(store, &claims, err) < 0)
		return -1;
	if (claims.count == 0)
		return 0;
	return pkg_error_set(err, PKG_E_BUSY, "%zu jobs are at work on the cache", claims.count);
}

static int
prune_all(const struct pkg_home *home, const struct pkg_argv *wanted, struct sizes *all,
	struct pkg_error *err)
{
	for (size_t i = 0; i < PKG_ARRAY_LEN(kinds); i++) {
		pkg_autofree char *path = pkg_path_join(home->cache, kinds[i].name);

		if (kinds[i].hash) {
			if (prune_hashed(path, wanted, &all[i], err) < 0)
				return -1;
			continue;
		}
		measure(path, &all[i]);
		if (pkg_tree_remove(path, err) < 0)
			return -1;
	}
	return 0;
}

struct json_object *
install_cache_prune(const struct pkg_home *home, struct pkg_error *err)
{
	pkg_cleanup(store_close) struct store *store = store_open(home, err);
	pkg_cleanup(pkg_argv_free) struct pkg_argv *wanted = pkg_argv_new();
	struct sizes all[PKG_ARRAY_LEN(kinds)] = { 0 };

	if (store == NULL || refuse_while_busy(store, err) < 0 ||
		store_packages_sha256(store, wanted, err) < 0 ||
		prune_all(home, wanted, all, err) < 0)
		return NULL;
	return report(home, all);
}
