/* lang/lang.h - what the pipeline asks of a language.
 * Purpose    One table of functions per language (Python now, R beside it), so that install/ knows
 *            nothing of wheels or libraries. Languages never open the database.
 * Ownership  Records own their strings and have *_clear; a context and an environment are borrowed
 *            for the call.
 * Errors     Kinds as decided from our own facts (proxy log, HTTP status, exit status, resolver
 *            output).
 */
#ifndef LANG_LANG_H
#define LANG_LANG_H
#include "core/json.h"
#include "egress/session.h"
#include "fetch/cas.h"
#include "fetch/download.h"
#include "lang/mounts.h"
#include "policy/config.h"
#include "sandbox/sandbox.h"
#include "store/env.h"

/* What a worker has, handed down to every language call. */
struct lang_context {
	const struct pkg_home *home;
	const struct policy_config *config;
	struct sandbox *sandbox;
	struct fetch_cas *cas;
	const char *scratch; /* this job's own directory; emptied by the caller */
	int cancel_fd; /* readable: stop; -1: none */
	/* The hosts that this job may reach: a rules file for pkg-proxy, and the same answer for
	 * our own fetcher (see fetch/download.h). Both name only the hosts of the indexes and URLs
	 * in use. */
	const char *egress_rules;
	int (*allow)(void *context, const char *url, struct pkg_error *err);
	/* Sentences about what goes on now ("unpacking 3 wheels"), and raw output of children for
	 * the log. */
	void (*status)(void *context, const char *text);
	void (*output)(void *context, const char *data, size_t len);
	void (*transfer)(void *context, const struct fetch_progress *progress);
	/* One row per connection that a sandbox of this job made. */
	void (*connection)(void *context, struct json_object *row);
	void *context;
};

/* An environment as a language sees it. */
struct lang_env {
	const char *prefix; /* the stable prefix */
	const char *tree; /* the tree to look at or to build; mounted at prefix inside sandboxes */
	/* A second tree of additions that is not linked in yet: stage() writes there, inventory()
	 * looks there before `tree`. NULL: stage() writes into `tree` itself. Paths, scripts and
	 * RECORDs name prefix. */
	const char *overlay;
	struct json_object *facts; /* of its interpreter, stored at creation */
	bool hermetic;
};

struct lang_candidate {
	char *path;
	char *origin; /* "option", "configuration", "PATH", "pyenv", "uv", "conda", "system" */
	struct json_object *facts; /* owned; NULL when it did not answer */
	struct pkg_argv *reasons; /* owned; why it lost, measured facts; empty: accepted */
};
struct lang_candidate_list {
	struct lang_candidate *items;
	size_t count;
};
void lang_candidate_list_clear(struct lang_candidate_list *list);

/* What a person asked for, parsed. */
struct lang_request {
	const struct pkg_argv *requirements; /* canonical texts, one requirement each */
	const struct pkg_argv *constraints; /* the same; may be empty */
	const struct pkg_argv
		*hashes; /* "name==version sha256:…" lines of -r files; may be empty */
	const char *index_url; /* may hold userinfo */
	const struct pkg_argv *extra_index_urls;
	const struct pkg_argv *repos; /* R: repositories in order; may hold userinfo */
	bool source; /* source distributions allowed */
	bool upgrade; /* newest allowed versions of what is named */
	bool upgrade_all; /* and of their dependencies */
	bool prerelease;
	bool suggests; /* R: also what the named packages only suggest, where a repository has it */
	const char *exclude_newer; /* ISO 8601; NULL */
	/* What the environment resolves now: preferred, and not to be broken. NULL: nothing. */
	const struct store_package_list *installed;
};

/* One distribution that a plan puts into the environment. */
struct lang_file {
	char *path; /* where it will be, relative to the tree */
	long long size;
};
struct lang_dist {
	char *name;
	char *key;
	char *version;
	char *requirement; /* as asked for; NULL: it came as a dependency */
	char *file; /* file name */
	char *url; /* without userinfo */
	char *index; /* without userinfo; NULL for a direct URL */
	char *sha256; /* of the file; always known once a plan is made */
	long long size;
	char *source; /* "wheel", "sdist" or "direct" (a wheel or sdist by URL) */
	bool is_sdist;
	bool yanked;
	char *yanked_reason; /* cleaned; NULL */
	char *uploaded; /* ISO 8601; NULL when the index does not say */
	char *requires_python; /* NULL */
	char *wheel_sha256; /* what is unpacked: sha256 itself, or that of the wheel built from it;
			       R: the key of its build; NULL before */
	char *system_note; /* what the system lacks for it, and the cure; shown on the card; NULL */
	/* by inspect(): */
	bool inspected;
	struct lang_file *files; /* owned; sorted by path */
	size_t file_count;
};
void lang_dist_clear(struct lang_dist *dist);
struct lang_resolution {
	struct lang_dist *items; /* owned; sorted by key */
	size_t count;
	char *engine; /* "pip 23.0.1" */
};
void lang_resolution_clear(struct lang_resolution *resolution);
#define pkg_cleanup_lang_resolution __attribute__((cleanup(lang_resolution_clear)))
struct lang_dist *lang_resolution_add(struct lang_resolution *resolution);
void lang_resolution_sort(struct lang_resolution *resolution);

struct lang_ops {
	const char *name; /* "python" */

	/* --- interpreters and empty trees --- */
	/* Candidates in order; all: every one is probed, else the search ends at the first
	 * accepted. want: NULL, an absolute path or "X.Y". PKG_E_INTERPRETER lists every candidate
	 * and why it lost (the list is filled too). */
	int (*discover)(struct lang_context *lang, const char *want, bool all,
		struct lang_candidate_list *list, struct pkg_error *err);
	/* "CPython 3.11.2 (/usr/bin/python3.11)": given. */
	char *(*describe)(struct json_object *facts);
	/* Fills the empty directory env->tree and proves it (BEHAVIOURS O22, O24). */
	int (*create)(struct lang_context *lang, const struct lang_env *env, struct pkg_error *err);
	/* Cheap, no process: the base interpreter that the facts name is still there and the same
	 * minor version. PKG_E_ENV_BROKEN with the cure `pkg env repair`. */
	int (*healthy)(const struct lang_env *env, struct pkg_error *err);

	/* What a sandbox must show, read-only, for the environment's programs to run; appended. user_home bounds
	 * what may be shown; may be NULL. */
	int (*mounts)(const struct lang_env *env, const char *user_home, struct lang_mounts *out,
		struct pkg_error *err);

	/* --- what is there --- */
	/* The environment's own interpreter, in the verify sandbox: everything it resolves, sorted
	 * by key; owned tells what lies in the tree. */
	int (*inventory)(struct lang_context *lang, const struct lang_env *env,
		struct store_package_list *out, struct pkg_error *err);
	/* Part of the proof after a change: the new packages can be loaded, in the verify sandbox.
	 * NULL: nothing to do. */
	int (*load)(struct lang_context *lang, const struct lang_env *env,
		struct lang_resolution *resolution, struct pkg_error *err);
	/* No process: every owned package's files are where its RECORD says, with the sizes it says
	 * (hashes too when deep). PKG_E_VERIFY names the first few that are not. */
	int (*check)(const struct lang_env *env, const struct store_package_list *packages,
		bool deep, struct pkg_error *err);
	/* Owned packages of the tree that need `key` (directly), from their metadata on disk. */
	int (*dependents)(const struct lang_env *env, const struct store_package_list *packages,
		const char *key, struct pkg_argv *out, struct pkg_error *err);
	/* Parses what a person typed. Canonical text and key are given. PKG_E_REQUIREMENT with the
	 * position. */
	int (*requirement)(const char *text, char **canonical, char **key, struct pkg_error *err);
	/* <0, 0, >0 by the language's order of versions; text that is no version sorts first. */
	int (*version_compare)(const char *a, const char *b);
	/* True when the requirement is met by the inventory and the package is really on disk (O57,
	 * A15). */
	bool (*satisfied)(const struct lang_env *env, const struct store_package_list *packages,
		const char *requirement);

	/* --- a change --- */
	int (*plan)(struct lang_context *lang, const struct lang_env *env,
		const struct lang_request *request, struct lang_resolution *out,
		struct pkg_error *err);
	/* Fills files (and size, uploaded where missing) without unpacking or running anything. */
	int (*inspect)(struct lang_context *lang, const struct lang_env *env,
		struct lang_dist *dist, struct pkg_error *err);
	/* After fetch: sdist -> wheel in the build sandbox (cached); wheel: nothing. Sets
	 * wheel_sha256, re-inspects. */
	int (*build)(struct lang_context *lang, const struct lang_env *env,
		const struct lang_request *request, struct lang_dist *dist, struct pkg_error *err);
	/* Instead of build, where builds need each other: all of them, in their order. NULL: build. */
	int (*build_all)(struct lang_context *lang, const struct lang_env *env,
		const struct lang_request *request, struct lang_resolution *resolution,
		struct pkg_error *err);
	/* Opens the wheels into the shared store, checked, with bytecode; everything stage() needs
	 * is local after it. */
	int (*prepare)(struct lang_context *lang, const struct lang_env *env,
		struct lang_dist *dists, size_t count, struct pkg_error *err);
	/* Links one distribution into env->overlay, else into env->tree (there a path that is taken
	 * is replaced). */
	int (*stage)(struct lang_context *lang, const struct lang_env *env,
		const struct lang_dist *dist, struct pkg_error *err);
	/* Takes one owned package out of env->tree by its RECORD; files that others own or nobody
	 * listed stay. */
	int (*unstage)(struct lang_context *lang, const struct lang_env *env,
		const struct store_package *package, struct pkg_error *err);

	/* --- additivity (DESIGN.md section 4) --- */
	/* Reason for one path that a change adds: "startup-file" for .pth, sitecustomize,
	 * usercustomize; NULL. */
	const char *(*path_reason)(const struct lang_env *env, const char *path);
	/* Inherited or standard module that importing would now find in `path` instead; given,
	 * NULL: none. */
	char *(*shadows)(const struct lang_env *env, const char *path);
};

/* NULL with PKG_E_INVALID for a language that is not "python" or "r". */
const struct lang_ops *lang_find(const char *language, struct pkg_error *err);
#endif
