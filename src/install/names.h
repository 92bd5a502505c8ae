/* install/names.h - what an environment may be called, and where it is.
 * Purpose    The one resolver of (project, language, name) for the API, the CLI and kernels: `default` and a
 *            missing name mean the language's own environment (BEHAVIOURS O2, O3, T1).
 * Ownership  struct install_key owns its strings; paths are given.
 * Errors     PKG_E_INVALID that says which part breaks which rule.
 */
#ifndef INSTALL_NAMES_H
#define INSTALL_NAMES_H
#include "core/home.h"
#include "store/env.h"

/* 1 to 64 characters: a letter or digit, then letters, digits, '.', '_', '-' (BEHAVIOURS O2). */
#define INSTALL_NAME_MAX 64

struct install_key {
	char *project;
	char *language;
	char *name;
};
/* NULL or "default" (any case): project "default", language "python", name = the language's name. */
int install_key_resolve(const char *project, const char *language, const char *name,
	struct install_key *out, struct pkg_error *err);
void install_key_clear(struct install_key *key);
#define pkg_cleanup_install_key __attribute__((cleanup(install_key_clear)))
struct store_env_key install_key_borrow(const struct install_key *key);
bool install_name_is_valid(const char *name);

/* <data>/envs/PROJECT/LANGUAGE/NAME: the stable prefix, a symlink. */
char *install_path_prefix(
	const struct pkg_home *home, const char *project, const char *language, const char *name);
/* <data>/generations/ENV/NUMBER */
char *install_path_generation(const struct pkg_home *home, int64_t env, int64_t number);
/* <data>/staging/JOB: everything a job builds before its commit; same file system as the generations. */
char *install_path_staging(const struct pkg_home *home, int64_t job);
/* <data>/trash */
char *install_path_trash(const struct pkg_home *home);
/* <state>/jobs/JOB: request, events, logs. */
char *install_path_job(const struct pkg_home *home, int64_t job);
/* <state>/locks/KEY.lock: held by the worker of that environment; its name is a hash of the key. */
char *install_path_lock(
	const struct pkg_home *home, const char *project, const char *language, const char *name);
#endif
