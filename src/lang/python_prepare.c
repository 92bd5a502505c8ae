/* Opening wheels: one sandbox run unpacks all that are missing, one compiles all that have no
 * bytecode for this interpreter. Neither has network, and neither may write anywhere but to a
 * directory that is looked through afterwards, before any of it gets its name in the store. */
#include "lang/python.h"
#include "lang/python_store.h"

#include "core/fault.h"
#include "core/file.h"
#include "core/path.h"
#include "core/sha256.h"
#include "core/text.h"
#include "core/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WHEELS_MAX 64 /* of one run: reports are held in memory */
#define REPORTS_MAX (INT64_C(128) * 1024 * 1024)

/* Descriptors do not pass into a sandbox, so what replaces itself by pkg-unpack opens the files
 * there: PROGRAM, "wheel", then a name, a path and a directory for each. */
static const char opener[] = "import os, sys\n"
			     "a = sys.argv[1:]\n"
			     "for i in range(3, len(a), 3):\n"
			     "    fd = os.open(a[i], os.O_RDONLY)\n"
			     "    os.set_inheritable(fd, True)\n"
			     "    a[i] = str(fd)\n"
			     "os.execv(a[0], a)\n";

struct opening {
	struct lang_context *lang;
	const struct lang_env *env;
	const struct lang_dist **wheels; /* owned; still to be unpacked */
	size_t wheel_count;
	const char **sources; /* owned; sha256 of what is still to be compiled */
	size_t source_count;
	char *path; /* owned; below <cache>/opening */
	int fd; /* owned; its lock says that we are alive */
	int *locks; /* owned */
	size_t lock_count;
};

static void
opening_clear(struct opening *opening)
{
	if (opening->path)
		(void)pkg_tree_remove(opening->path, NULL);
	pkg_close(&opening->fd);
	for (size_t i = 0; i < opening->lock_count; i++)
		pkg_close(&opening->locks[i]);
	free(opening->locks);
	free(opening->wheels);
	free(opening->sources);
	free(opening->path);
}

/* --- what is missing --- */

static bool
is_missing(const struct opening *opening, const char *sha256)
{
	const struct pkg_home *home = opening->lang->home;

	return !lang_python_store_has(home, sha256) ||
		!lang_python_store_has_bytecode(home, opening->env->facts, sha256);
}

static bool
seen_before(const struct lang_dist *const *dists, size_t n, const char *sha256)
{
	for (size_t i = 0; i < n; i++) {
		const char *other = lang_python_store_sha256(dists[i]);

		if (other && strcmp(other, sha256) == 0)
			return true;
	}
	return false;
}

static void
find_missing(struct opening *opening, const struct lang_dist *const *dists, size_t count)
{
	const struct pkg_home *home = opening->lang->home;

	opening->wheel_count = 0;
	opening->source_count = 0;
	for (size_t i = 0; i < count; i++) {
		const char *sha256 = lang_python_store_sha256(dists[i]);

		if (!sha256 || seen_before(dists, i, sha256))
			continue;
		if (!lang_python_store_has(home, sha256))
			opening->wheels[opening->wheel_count++] = dists[i];
		if (!lang_python_store_has_bytecode(home, opening->env->facts, sha256))
			opening->sources[opening->source_count++] = sha256;
	}
}

/* In one order everywhere, so that no two workers wait for each other. */
static int
take_locks(struct opening *opening, const struct lang_dist *const *dists, size_t count,
	struct pkg_error *err)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *keys = pkg_argv_new();

	for (size_t i = 0; i < count; i++) {
		const char *sha256 = lang_python_store_sha256(dists[i]);

		if (sha256 && is_missing(opening, sha256))
			pkg_argv_add(keys, sha256);
	}
	pkg_argv_sort(keys);
	opening->locks = pkg_xcalloc(keys->count + 1, sizeof(*opening->locks));
	for (size_t i = 0; i < keys->count; i++) {
		int fd;

		if (i > 0 && strncmp(keys->items[i - 1], keys->items[i], 2) == 0)
			continue;
		fd = lang_python_store_lock(opening->lang, keys->items[i], err);
		if (fd < 0)
			return -1;
		opening->locks[opening->lock_count++] = fd;
	}
	return 0;
}

static void
tell(struct lang_context *lang, const char *doing, size_t count)
{
	pkg_autofree char *text =
		pkg_xasprintf("%s %zu wheel%s", doing, count, count == 1 ? "" : "s");

	if (lang->status)
		lang->status(lang->context, text);
}

/* --- unpacking --- */

/* pkg-unpack wants the wheel's file name, which a wheel built here does not have: name and version
 * are what it holds against the content. */
static char *
wheel_name(const struct lang_dist *dist)
{
	pkg_autofree char *name = NULL;

	if (!dist->is_sdist && pkg_text_has_suffix(dist->file, ".whl"))
		return pkg_xstrdup(dist->file);
	name = pkg_xstrdup(dist->key);
	for (char *at = name; *at; at++)
		if (*at == '-')
			*at = '_';
	return pkg_xasprintf("%s-%s-py3-none-any.whl", name, dist->version);
}

static int
add_wheel(struct opening *opening, const struct lang_dist *dist, struct pkg_argv *command,
	struct pkg_error *err)
{
	const char *sha256 = lang_python_store_sha256(dist);
	/* Hashes it: nothing is unpacked that is not what the plan names. */
	pkg_autofd int fd = fetch_cas_get(opening->lang->cas, sha256, NULL, err);
	pkg_autofree char *tree = pkg_path_joinf(opening->path, "wheels/%s/tree", sha256);

	if (fd < 0)
		return pkg_error_prefix(err, "open %s", dist->file);
	if (pkg_dir_make(tree, 0755, err) < 0)
		return -1;
	pkg_argv_take(command, wheel_name(dist));
	pkg_argv_take(command, fetch_cas_path(opening->lang->cas, sha256));
	pkg_argv_add(command, tree);
	return 0;
}

static int
run_unpack(struct opening *opening, const struct pkg_argv *command, struct pkg_run *run,
	struct pkg_error *err)
{
	struct lang_context *lang = opening->lang;
	lang_cleanup_mounts struct lang_mounts mounts = { 0 };
	pkg_autofree char *program = pkg_path_join(lang->home->libexec, "pkg-unpack");
	pkg_autofree char *files = pkg_path_join(lang->home->cache, "files");
	pkg_autofree char *wheels = pkg_path_join(opening->path, "wheels");
	pkg_cleanup(pkg_argv_free) struct pkg_argv *whole = pkg_argv_new();
	const struct sandbox_limits limits = { .output = REPORTS_MAX };

	if (lang_python_mounts(opening->env->facts, lang->home->user_home, &mounts, err) < 0)
		return -1;
	lang_mounts_add(&mounts, SANDBOX_MOUNT_RO, program, NULL);
	lang_mounts_add(&mounts, SANDBOX_MOUNT_RO, files, NULL);
	lang_mounts_add(&mounts, SANDBOX_MOUNT_RW, wheels, NULL);
	pkg_argv_add(whole, lang_python_executable(opening->env->facts), "-I", "-S", "-B", "-c",
		opener, program, "wheel");
	pkg_argv_add_all(whole, command);
	return lang_python_run(lang, SANDBOX_APPLY, NULL, &mounts, whole, &limits, run, err);
}

/* One line of its output; NULL with *err as the program said it. */
static struct json_object *
next_report(const char **at, const struct pkg_run *run, const char *file, struct pkg_error *err)
{
	const char *end = strchr(*at, '\n');
	struct json_object *report = NULL;
	struct json_object *failure;

	if (end) {
		report = pkg_json_parse(*at, (size_t)(end - *at), NULL);
		*at = end + 1;
	}
	failure = report ? pkg_json_get(report, "error") : NULL;
	if (report && !failure)
		return report;
	if (failure) {
		pkg_json_to_error(failure, err);
	} else {
		pkg_autofree char *how = lang_python_run_end(run);

		pkg_error_set(err, PKG_E_ARCHIVE, "%s could not be unpacked: %s", file, how);
	}
	json_object_put(report);
	return NULL;
}

static int
seal(struct opening *opening, const struct lang_dist *dist, struct json_object *report,
	struct pkg_error *err)
{
	const char *sha256 = lang_python_store_sha256(dist);
	pkg_autofree char *relative = pkg_xasprintf("wheels/%s", sha256);
	pkg_autofd int fd =
		pkg_file_open_beneath(opening->fd, relative, O_RDONLY | O_DIRECTORY, 0, err);
	const struct lang_python_wheel wheel = {
		.name = pkg_xstrdup(pkg_json_str_or(report, "name", "")),
		.version = pkg_xstrdup(pkg_json_str_or(report, "version", "")),
	};
	int rc = fd < 0 ? -1 : lang_python_store_agrees(dist, &wheel, err);

	if (rc == 0)
		rc = lang_python_store_seal(fd, sha256, report, err);
	free(wheel.name);
	free(wheel.version);
	return rc;
}

static int
unpack_some(struct opening *opening, size_t first, size_t count, struct pkg_error *err)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *command = pkg_argv_new();
	pkg_cleanup_run struct pkg_run run = PKG_RUN_INIT;
	const char *at;

	for (size_t i = first; i < first + count; i++)
		if (add_wheel(opening, opening->wheels[i], command, err) < 0)
			return -1;
	if (run_unpack(opening, command, &run, err) < 0)
		return pkg_error_prefix(err, "unpack");
	at = pkg_buf_str(&run.out);
	for (size_t i = first; i < first + count; i++) {
		const struct lang_dist *dist = opening->wheels[i];
		pkg_cleanup(pkg_json_put) struct json_object *report =
			next_report(&at, &run, dist->file, err);

		if (!report || seal(opening, dist, report, err) < 0)
			return -1;
	}
	return 0;
}

static int
unpack(struct opening *opening, struct pkg_error *err)
{
	if (opening->wheel_count == 0)
		return 0;
	tell(opening->lang, "unpacking", opening->wheel_count);
	for (size_t i = 0; i < opening->wheel_count; i += WHEELS_MAX) {
		size_t rest = opening->wheel_count - i;

		if (unpack_some(opening, i, rest < WHEELS_MAX ? rest : WHEELS_MAX, err) < 0)
			return -1;
	}
	return 0;
}

/* --- bytecode --- */

static bool
is_new(const struct opening *opening, const char *sha256)
{
	for (size_t i = 0; i < opening->wheel_count; i++)
		if (strcmp(lang_python_store_sha256(opening->wheels[i]), sha256) == 0)
			return true;
	return false;
}

/* Where the tree is now; *data is the name of its .data directory. */
static int
describe_source(const struct opening *opening, const char *sha256, char **tree, char **data,
	struct pkg_error *err)
{
	pkg_autofree char *entry = is_new(opening, sha256)
		? pkg_path_joinf(opening->path, "wheels/%s", sha256)
		: lang_python_store_path(opening->lang->home, sha256);
	pkg_autofree char *file = pkg_path_join(entry, "wheel.json");
	pkg_cleanup(pkg_json_put) struct json_object *head =
		pkg_json_read_file(file, 4 * 1024 * 1024, err);

	if (!head)
		return -1;
	*tree = pkg_path_join(entry, "tree");
	*data = pkg_xstrdup(pkg_json_str(head, "data"));
	return 0;
}

/* {"tag","wheels":[{"tree","out","data"}]}: compile.py tells the rest. Given: its path. */
static char *
write_job(const struct opening *opening, struct pkg_error *err)
{
	pkg_cleanup(pkg_json_put) struct json_object *job = json_object_new_object();
	struct json_object *rows = json_object_new_array();
	pkg_autofree char *path = pkg_path_join(opening->path, "wheels/job.json");
	pkg_autofree char *text = NULL;

	pkg_json_set_str(job, "tag", lang_python_cache_tag(opening->env->facts));
	pkg_json_set(job, "wheels", rows);
	for (size_t i = 0; i < opening->source_count; i++) {
		struct json_object *row = json_object_new_object();
		pkg_autofree char *out =
			pkg_path_joinf(opening->path, "bytecode/%s", opening->sources[i]);
		pkg_autofree char *tree = NULL;
		pkg_autofree char *data = NULL;

		json_object_array_add(rows, row);
		if (describe_source(opening, opening->sources[i], &tree, &data, err) < 0 ||
			pkg_dir_make(out, 0755, err) < 0)
			return NULL;
		pkg_json_set_str(row, "tree", tree);
		pkg_json_set_str(row, "out", out);
		pkg_json_set_str(row, "data", data);
	}
	text = pkg_json_line(job);
	if (pkg_file_write(path, text, strlen(text), 0444, false, err) < 0)
		return NULL;
	return pkg_steal_ptr(&path);
}

static int
run_compile(struct opening *opening, const char *job, struct pkg_run *run, struct pkg_error *err)
{
	struct lang_context *lang = opening->lang;
	lang_cleanup_mounts struct lang_mounts mounts = { 0 };
	pkg_cleanup(pkg_argv_free) struct pkg_argv *command = pkg_argv_new();
	pkg_autofree char *store = pkg_path_join(lang->home->cache, "wheels");
	pkg_autofree char *wheels = pkg_path_join(opening->path, "wheels");
	pkg_autofree char *out = pkg_path_join(opening->path, "bytecode");
	pkg_autofree char *script = NULL;

	if (lang_python_mounts(opening->env->facts, lang->home->user_home, &mounts, err) < 0)
		return -1;
	script = lang_python_script(lang, &mounts, "compile.py");
	lang_mounts_add(&mounts, SANDBOX_MOUNT_RO, store, NULL);
	lang_mounts_add(&mounts, SANDBOX_MOUNT_RO, wheels, NULL);
	lang_mounts_add(&mounts, SANDBOX_MOUNT_RW, out, NULL);
	pkg_argv_add(command, lang_python_executable(opening->env->facts), "-I", "-S", "-B", script,
		job);
	return lang_python_run(lang, SANDBOX_APPLY, NULL, &mounts, command, NULL, run, err);
}

/* Staging makes links to what is here: nothing but files of the names it looks for. */
static int
check_bytecode(void *context, const char *relative, const struct stat *st, struct pkg_error *err)
{
	const char *suffix = context;
	const char *base = pkg_path_base(relative);
	const char *parent = "__pycache__/";

	if (S_ISDIR(st->st_mode))
		return 0;
	if (S_ISREG(st->st_mode) && st->st_nlink == 1 && (st->st_mode & 07333) == 0 &&
		pkg_text_has_suffix(base, suffix) && base - relative >= (long)strlen(parent) &&
		strncmp(base - strlen(parent), parent, strlen(parent)) == 0)
		return 0;
	return pkg_error_set(err, PKG_E_VERIFY, "'%s' is no bytecode of ours", base);
}

/* Only what makes going on impossible or pointless fails: a package without bytecode works, and the
 * next installation tries again. */
static bool
must_stop(const struct pkg_error *err)
{
	return err->kind == PKG_E_CANCELLED || err->kind == PKG_E_SANDBOX ||
		err->kind == PKG_E_DISK_FULL;
}

static int
compile(struct opening *opening, bool *done, struct pkg_error *err)
{
	pkg_cleanup_run struct pkg_run run = PKG_RUN_INIT;
	pkg_autofree char *job = write_job(opening, err);
	pkg_autofree char *out = pkg_path_join(opening->path, "bytecode");
	pkg_autofree char *suffix =
		pkg_xasprintf(".%s.pyc", lang_python_cache_tag(opening->env->facts));
	pkg_autofree char *how = NULL;
	pkg_cleanup_error struct pkg_error why = { 0 };

	*done = false;
	if (!job)
		return -1;
	tell(opening->lang, "compiling", opening->source_count);
	if (run_compile(opening, job, &run, &why) == 0) {
		how = lang_python_run_end(&run);
		if (run.wait_status != 0)
			pkg_error_set(&why, PKG_E_VERIFY, "%s", how);
		else
			(void)pkg_tree_walk(AT_FDCWD, out, check_bytecode, suffix, &why);
	}
	if (why.kind == PKG_E_NONE) {
		*done = true;
		return 0;
	}
	if (must_stop(&why)) {
		pkg_error_move(err, &why);
		return pkg_error_prefix(err, "compile");
	}
	if (opening->lang->status) {
		pkg_autofree char *text =
			pkg_xasprintf("installing without bytecode: %s", why.message);

		opening->lang->status(opening->lang->context, text);
	}
	return 0;
}

/* --- into the store --- */

static int
publish(struct opening *opening, bool compiled, struct pkg_error *err)
{
	const struct pkg_home *home = opening->lang->home;
	int injected = PKG_FAULT("store-publish");

	if (injected != 0)
		return pkg_error_errno(err, injected, "store");
	/* Before the names, or a crash could leave an entry that only looks complete. */
	if (pkg_fs_sync(opening->path, err) < 0)
		return -1;
	for (size_t i = 0; i < opening->wheel_count; i++) {
		const char *sha256 = lang_python_store_sha256(opening->wheels[i]);
		pkg_autofree char *from = pkg_path_joinf(opening->path, "wheels/%s", sha256);
		pkg_autofree char *to = lang_python_store_path(home, sha256);

		if (lang_python_store_publish(from, to, err) < 0)
			return -1;
	}
	for (size_t i = 0; compiled && i < opening->source_count; i++) {
		const char *sha256 = opening->sources[i];
		pkg_autofree char *from = pkg_path_joinf(opening->path, "bytecode/%s", sha256);
		pkg_autofree char *to =
			lang_python_store_bytecode(home, opening->env->facts, sha256);

		if (lang_python_store_publish(from, to, err) < 0)
			return -1;
	}
	return 0;
}

/* What is left of an entry that is not complete would be in the way of the new one. */
static int
clear_places(struct opening *opening, struct pkg_error *err)
{
	for (size_t i = 0; i < opening->wheel_count; i++) {
		const char *sha256 = lang_python_store_sha256(opening->wheels[i]);
		pkg_autofree char *entry = lang_python_store_path(opening->lang->home, sha256);

		if (pkg_file_exists(entry) &&
			lang_python_store_discard(opening->lang->home, sha256, -1, err) < 0)
			return -1;
	}
	return 0;
}

static int
open_missing(struct opening *opening, struct pkg_error *err)
{
	static const char *const parts[] = { "wheels", "bytecode" };
	pkg_autofree char *store = pkg_path_join(opening->lang->home->cache, "wheels");
	bool compiled = false;

	if (clear_places(opening, err) < 0 || pkg_dir_make(store, 0755, err) < 0)
		return -1;
	opening->fd = lang_python_store_begin(opening->lang->home, &opening->path, err);
	if (opening->fd < 0)
		return -1;
	for (size_t i = 0; i < PKG_ARRAY_LEN(parts); i++)
		if (mkdirat(opening->fd, parts[i], 0755) < 0)
			return pkg_error_errno(
				err, errno, "create '%s/%s'", opening->path, parts[i]);
	if (unpack(opening, err) < 0)
		return -1;
	if (opening->source_count > 0 && compile(opening, &compiled, err) < 0)
		return -1;
	return publish(opening, compiled, err);
}

int
lang_python_store_open(struct lang_context *lang, const struct lang_env *env,
	const struct lang_dist *const *dists, size_t count, struct pkg_error *err)
{
	struct opening opening = { .lang = lang, .env = env, .fd = -1 };
	int rc = 0;

	opening.wheels = pkg_xcalloc(count + 1, sizeof(*opening.wheels));
	opening.sources = pkg_xcalloc(count + 1, sizeof(*opening.sources));
	find_missing(&opening, dists, count);
	if (opening.wheel_count + opening.source_count > 0) {
		rc = take_locks(&opening, dists, count, err);
		/* Another worker may have done it while we waited. */
		find_missing(&opening, dists, count);
		if (rc == 0 && opening.wheel_count + opening.source_count > 0)
			rc = open_missing(&opening, err);
	}
	opening_clear(&opening);
	return rc;
}

int
lang_python_prepare(struct lang_context *lang, const struct lang_env *env, struct lang_dist *dists,
	size_t count, struct pkg_error *err)
{
	pkg_autofree const struct lang_dist **list = pkg_xcalloc(count + 1, sizeof(*list));

	for (size_t i = 0; i < count; i++) {
		if (!lang_python_store_sha256(&dists[i]))
			return pkg_error_set(
				err, PKG_E_INTERNAL, "%s has no wheel to install", dists[i].file);
		list[i] = &dists[i];
	}
	return lang_python_store_open(lang, env, list, count, err);
}
