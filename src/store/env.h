/* store/env.h - environments, their generations and what is in them.
 * Purpose    An environment is (project, language, name); its stable prefix and interpreter facts
 * are fixed at creation. Inventories are kept per generation, so a rollback needs no scan.
 * Ownership  Records own their strings; { 0 } is empty; *_clear releases. Lists are given.
 * Errors     As store/store.h.
 */
#ifndef STORE_ENV_H
#define STORE_ENV_H
#include "core/argv.h"
#include "store/store.h"
#include <stdbool.h>

struct store_env_key {
	const char *project; /* borrowed in arguments */
	const char *language;
	const char *name;
};

struct store_env {
	int64_t id;
	char *project;
	char *language;
	char *name;
	char *prefix; /* the stable prefix: absolute path of the symlink */
	char *facts; /* JSON of the interpreter at creation (or last repair) */
	bool hermetic;
	int64_t generation; /* current */
	int64_t revision; /* of the current generation */
	int64_t created_ms;
	int64_t updated_ms;
};
void store_env_clear(struct store_env *env);
#define pkg_cleanup_store_env __attribute__((cleanup(store_env_clear)))

struct store_env_list {
	struct store_env *items; /* owned */
	size_t count;
};
void store_env_list_clear(struct store_env_list *list);
#define pkg_cleanup_store_env_list __attribute__((cleanup(store_env_list_clear)))

struct store_generation {
	int64_t number;
	int64_t revision;
	int64_t created_ms;
	int64_t job; /* that made it */
	bool current;
	bool retired; /* its tree is gone or going */
};
struct store_generation_list {
	struct store_generation *items; /* owned */
	size_t count;
};
void store_generation_list_clear(struct store_generation_list *list);

struct store_package {
	char *name; /* as the distribution spells it */
	char *key; /* normalised: PEP 503 for Python, verbatim for R */
	char *version;
	char *requirement; /* what was asked for ("flask>=2"), NULL when it came as a dependency */
	bool owned; /* false: inherited, resolved from outside the tree */
	char *location; /* directory of its metadata: relative to the tree if owned, else absolute
			 */
	char *sha256; /* of the file it came from; NULL when inherited */
	char *file;
	char *url; /* without credentials */
	char *index; /* without credentials */
	char *source; /* "wheel", "sdist", "direct"; NULL when inherited */
};
struct store_package_list {
	struct store_package *items; /* owned; sorted by key */
	size_t count;
};
void store_package_clear(struct store_package *package);
void store_package_list_clear(struct store_package_list *list);
/* Appends an empty record and lends it, until the next one. Grow a list with nothing else. */
struct store_package *store_package_list_add(struct store_package_list *list);
void store_package_list_sort(struct store_package_list *list);
/* Binary search by key; NULL when absent. */
struct store_package *store_package_find(const struct store_package_list *list, const char *key);
#define pkg_cleanup_store_package_list __attribute__((cleanup(store_package_list_clear)))

/* PKG_E_NOT_FOUND. By exact name; names are unique case-folded per project and language. */
int store_env_get(struct store *store, const struct store_env_key *key, struct store_env *out,
	struct pkg_error *err);
int store_env_get_id(struct store *store, int64_t id, struct store_env *out, struct pkg_error *err);
/* PKG_E_EXISTS when a name that differs only by case is there ("an environment named 'Data'
 * exists"); 0 when there is none or exactly this one. */
int store_env_check_name(
	struct store *store, const struct store_env_key *key, struct pkg_error *err);
int store_env_list(struct store *store, const char *project, const char *language,
	struct store_env_list *out, struct pkg_error *err); /* NULL: all */
/* Gives an id to a new environment before its tree is built: env ids are never used twice. */
int64_t store_env_reserve_id(struct store *store, struct pkg_error *err);
/* Inserts (env->id reserved before). PKG_E_EXISTS. */
int store_env_insert(struct store *store, const struct store_env *env, struct pkg_error *err);
/* Moves the pointer and counters (the generation's revision too), and facts when not NULL. */
int store_env_set_current(struct store *store, int64_t env, int64_t generation, int64_t revision,
	const char *facts, struct pkg_error *err);
/* Deletes the environment with its generations and packages; history stays. */
int store_env_delete(struct store *store, int64_t env, struct pkg_error *err);

int store_generation_insert(
	struct store *store, int64_t env, int64_t number, int64_t job, struct pkg_error *err);
int store_generation_list(
	struct store *store, int64_t env, struct store_generation_list *out, struct pkg_error *err);
/* Of the current one: the environment's, too. */
int store_generation_set_revision(
	struct store *store, int64_t env, int64_t number, int64_t revision, struct pkg_error *err);
/* PKG_E_NOT_FOUND for the current one. */
int store_generation_retire(
	struct store *store, int64_t env, int64_t number, struct pkg_error *err);
int64_t store_generation_next(
	struct store *store, int64_t env, struct pkg_error *err); /* max + 1, from 1 */

/* Replaces the whole inventory of a generation, which has to be there. PKG_E_EXISTS for a key that
 * is in it twice. */
int store_packages_set(struct store *store, int64_t env, int64_t generation,
	const struct store_package_list *list, struct pkg_error *err);
int store_packages_get(struct store *store, int64_t env, int64_t generation,
	struct store_package_list *out, struct pkg_error *err);
/* sha256 of every file that some generation on disk was made from: what a cache prune must keep. */
int store_packages_sha256(struct store *store, struct pkg_argv *out, struct pkg_error *err);
#endif
