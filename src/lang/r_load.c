/* The proof that R can load what was installed. Loading ten packages takes longer than linking a
 * thousand files, so one that held is kept: for exactly these bytes, with exactly these packages
 * under them, this R, and the system's shared libraries as they are (ld.so.cache changes with
 * each that comes or goes). */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/file.h"
#include "core/path.h"
#include "core/sha256.h"
#include "lang/r.h"
#include "lang/r_build.h"
#include "lang/r_run.h"

/* --- proofs that are kept --- */

static void
add_stamp(struct json_object *out, const char *key, const char *path)
{
	pkg_autofree char *text = NULL;
	struct stat st;

	if (stat(path, &st) < 0)
		memset(&st, 0, sizeof(st));
	text = pkg_xasprintf("%llu %llu %lld %lld.%09ld", (unsigned long long)st.st_dev,
		(unsigned long long)st.st_ino, (long long)st.st_size, (long long)st.st_mtim.tv_sec,
		st.st_mtim.tv_nsec);
	pkg_json_set_str(out, key, text);
}

/* Given: the name of the proof's file. */
static char *
proof_path(struct lang_context *lang, const struct lang_env *env, const struct lang_r_units *units,
	const struct lang_r_unit *unit)
{
	pkg_cleanup(pkg_json_put) struct json_object *identity = json_object_new_object();
	pkg_autofree char *base = pkg_path_join(lang_r_library(env->facts), "base/DESCRIPTION");
	pkg_autofree char *text = NULL;
	char hex[PKG_SHA256_HEX];

	pkg_json_set_str(identity, "key", unit->dist->wheel_sha256);
	pkg_json_set_str(identity, "program", lang_r_program(env->facts));
	add_stamp(identity, "base", base);
	add_stamp(identity, "libraries", "/etc/ld.so.cache");
	for (size_t i = 0; i < unit->dep_count; i++) {
		const struct lang_r_dep *dep = &unit->deps[i];
		pkg_autofree char *name = pkg_xasprintf("dep %s %s", dep->name, dep->version);

		if (dep->path) {
			/* Hard links of one build are one file in every environment. */
			pkg_autofree char *file = pkg_path_join(dep->path, "DESCRIPTION");

			add_stamp(identity, name, file);
		} else {
			pkg_json_set_str(identity, name,
				dep->unit >= 0 ? units->items[dep->unit].dist->wheel_sha256 : "");
		}
	}
	text = pkg_json_canonical(identity);
	pkg_sha256_hex(text, strlen(text), hex);
	return pkg_path_joinf(lang->home->cache, "rbuilt/loaded/%s", hex);
}

static void
keep_proof(const char *path)
{
	pkg_autofree char *directory = pkg_path_dir(path);

	if (pkg_dir_make(directory, 0755, NULL) == 0)
		(void)pkg_file_write(path, "", 0, 0444, false, NULL);
}

/* --- loading --- */

struct loading {
	struct pkg_argv *loaded;
	char *failed; /* owned */
	char *why; /* owned */
};

static int
note_load(void *context, const char *const fields[LANG_R_LINE_FIELDS],
	PKG_UNUSED struct pkg_error *err)
{
	struct loading *loading = context;

	if (strcmp(fields[0], "loaded") == 0 && !pkg_argv_has(loading->loaded, fields[1]))
		pkg_argv_add(loading->loaded, fields[1]);
	if (strcmp(fields[0], "failed") == 0 && !loading->failed) {
		loading->failed = pkg_xstrdup(fields[1]);
		loading->why = pkg_xstrdup(fields[2]);
	}
	return 0;
}

/* "unable to load shared object '...': libfoo.so.1: cannot open shared object file" ->
 * "libfoo.so.1". Given. */
static char *
missing_library(const char *why)
{
	const char *end = strstr(why, ": cannot open shared object file");
	const char *start = end;

	while (start && start > why && !strchr(" \t", start[-1]))
		start--;
	return start && start < end ? pkg_xstrndup(start, (size_t)(end - start)) : NULL;
}

static int
cannot_load(const struct lang_dist *dist, const char *why, struct pkg_error *err)
{
	pkg_autofree char *library = missing_library(why);

	pkg_error_set(err, PKG_E_VERIFY, "%s %s is installed but cannot be loaded: %s", dist->name,
		dist->version, why);
	if (library)
		return pkg_error_cure(err, "install the system library %s", library);
	return 0;
}

static int
judge_load(const struct lang_resolution *resolution, const struct pkg_argv *names,
	const struct pkg_run *run, const struct loading *loading, struct pkg_error *err)
{
	for (size_t i = 0; i < resolution->count; i++) {
		const struct lang_dist *dist = &resolution->items[i];
		pkg_autofree char *end = lang_r_end(run);

		if (pkg_argv_has(loading->loaded, dist->name) || !pkg_argv_has(names, dist->name))
			continue;
		if (loading->failed && strcmp(loading->failed, dist->name) == 0)
			(void)cannot_load(dist, loading->why, err);
		else if (loading->failed)
			continue;
		else
			(void)cannot_load(dist, end, err);
		return -1;
	}
	if (run->wait_status == 0 && !loading->failed)
		return 0;
	return pkg_error_set(err, PKG_E_VERIFY, "a package ended the R that loaded it");
}

static int
load(struct lang_context *lang, const struct lang_env *env,
	const struct lang_resolution *resolution, const struct pkg_argv *names,
	struct pkg_error *err)
{
	pkg_cleanup_run struct pkg_run run = PKG_RUN_INIT;
	struct loading loading = { .loaded = pkg_argv_new() };
	int rc = -1;

	if (lang_r_script(lang, SANDBOX_VERIFY, env, env->facts, "load.R", names, NULL, &run, err) <
		0)
		pkg_error_prefix(err, "load the new packages");
	else if (lang_r_lines(pkg_buf_str(&run.out), run.out.len, note_load, &loading, err) == 0)
		rc = judge_load(resolution, names, &run, &loading, err);
	pkg_argv_free(loading.loaded);
	free(loading.failed);
	free(loading.why);
	return rc;
}

int
lang_r_load(struct lang_context *lang, const struct lang_env *env,
	struct lang_resolution *resolution, struct pkg_error *err)
{
	lang_cleanup_r_units struct lang_r_units units = { 0 };
	pkg_cleanup(pkg_argv_free) struct pkg_argv *names = pkg_argv_new();
	pkg_cleanup(pkg_argv_free) struct pkg_argv *proofs = pkg_argv_new();

	if (lang_r_units_make(lang, env, resolution, &units, err) < 0)
		return -1;
	for (size_t i = 0; i < units.count; i++) {
		pkg_autofree char *proof = proof_path(lang, env, &units, &units.items[i]);

		if (pkg_file_exists(proof))
			continue;
		pkg_argv_add(names, units.items[i].dist->name);
		pkg_argv_take(proofs, pkg_steal_ptr(&proof));
	}
	if (names->count == 0)
		return 0;
	if (load(lang, env, resolution, names, err) < 0)
		return -1;
	for (size_t i = 0; i < proofs->count; i++)
		keep_proof(proofs->items[i]);
	return 0;
}
