#include "lang/python_probe.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include "core/file.h"
#include "core/path.h"
#include "core/sha256.h"
#include "lang/python_facts.h"
#include "lang/python_mounts.h"

#define SCRIPT "probe.py"
#define SYSTEM_WHEELS "/usr/share/python-wheels"

/* A change of any of these directories may change the answer: a package that brings the module venv,
 * a .pth that adds a path, a newer pip. Value: mtime in nanoseconds, -1 when it is not there. */
static int64_t
stamp(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return -1;
	return (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
}

static struct json_object *
stamps_of(struct json_object *facts)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *paths = pkg_argv_new();
	pkg_cleanup(pkg_argv_free) struct pkg_argv *wheels = pkg_argv_new();
	struct json_object *out = json_object_new_object();

	lang_python_inherited(facts, paths);
	lang_python_pip_wheels(facts, wheels);
	for (size_t i = 0; i < wheels->count; i++)
		pkg_argv_take(paths, pkg_path_dir(wheels->items[i]));
	pkg_argv_add(paths, pkg_json_str_or(facts, "stdlib", "/"), SYSTEM_WHEELS);
	for (size_t i = 0; i < paths->count; i++)
		pkg_json_set_int(out, paths->items[i], stamp(paths->items[i]));
	return out;
}

/* Markers can ask for the running kernel. */
static bool
is_this_kernel(struct json_object *facts)
{
	struct lang_marker_env markers;
	struct utsname name;

	lang_python_marker_env(facts, &markers);
	return !*markers.platform_release ||
		(uname(&name) == 0 && strcmp(name.release, markers.platform_release) == 0);
}

static int
cache_path(struct lang_context *lang, const char *path, char **out, struct pkg_error *err)
{
	pkg_autofree char *script = pkg_path_joinf(lang->home->share, "envs/python/%s", SCRIPT);
	pkg_autofree char *identity = NULL;
	char script_hex[PKG_SHA256_HEX];
	char hex[PKG_SHA256_HEX];
	struct stat st;

	if (pkg_sha256_file(script, script_hex, err) < 0)
		return -1;
	if (stat(path, &st) < 0)
		memset(&st, 0, sizeof(st));
	identity = pkg_xasprintf("%s\n%lld %lld.%09ld %llu %llu\n%s", path, (long long)st.st_size,
		(long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec, (unsigned long long)st.st_dev,
		(unsigned long long)st.st_ino, script_hex);
	pkg_sha256_hex(identity, strlen(identity), hex);
	*out = pkg_path_joinf(lang->home->cache, "probe/%s.json", hex);
	return 0;
}

static struct json_object *
read_cached(const char *file)
{
	pkg_cleanup(pkg_json_put) struct json_object *kept =
		pkg_json_read_file(file, 2 * LANG_PYTHON_FACTS_MAX, NULL);
	pkg_cleanup(pkg_json_put) struct json_object *facts = NULL;
	pkg_cleanup(pkg_json_put) struct json_object *now = NULL;
	pkg_autofree char *text = NULL;

	if (!kept || !pkg_json_get(kept, "facts"))
		return NULL;
	text = pkg_json_line(pkg_json_get(kept, "facts"));
	facts = lang_python_facts_parse(text, strlen(text), NULL);
	if (!facts || !is_this_kernel(facts))
		return NULL;
	now = stamps_of(facts);
	return json_object_equal(now, pkg_json_get(kept, "stamps")) ? pkg_steal_ptr(&facts) : NULL;
}

/* A cache that cannot be written costs a process next time, no more. */
static void
write_cached(const char *file, struct json_object *facts)
{
	pkg_cleanup(pkg_json_put) struct json_object *kept = json_object_new_object();
	pkg_autofree char *directory = pkg_path_dir(file);
	pkg_autofree char *text = NULL;

	pkg_json_set(kept, "facts", json_object_get(facts));
	pkg_json_set(kept, "stamps", stamps_of(facts));
	text = pkg_json_line(kept);
	if (pkg_dir_make(directory, 0700, NULL) == 0)
		(void)pkg_file_write(file, text, strlen(text), 0600, false, NULL);
}

/* What the sandbox stopped is a fact about the interpreter; what the sandbox could not do is not. */
static bool
is_its_own_end(enum pkg_error_kind kind)
{
	return kind == PKG_E_TIMEOUT || kind == PKG_E_MEMORY || kind == PKG_E_DISK_FULL ||
		kind == PKG_E_TOO_LARGE || kind == PKG_E_INVALID || kind == PKG_E_KILLED;
}

static int
run_probe(struct lang_context *lang, const char *path, bool isolated, struct pkg_run *run,
	char **reason, struct pkg_error *err)
{
	lang_cleanup_mounts struct lang_mounts mounts = { 0 };
	pkg_cleanup(pkg_argv_free) struct pkg_argv *command = pkg_argv_new();
	pkg_autofree char *script = NULL;
	pkg_autofree char *base = lang_python_base_of(path);
	pkg_cleanup_error struct pkg_error failure = { 0 };
	struct sandbox_limits limits = { .wall_ms = LANG_PYTHON_PROBE_MS };

	if (!base ||
		(strcmp(base, "/usr") != 0 && pkg_path_is_broad(base, lang->home->user_home))) {
		*reason = pkg_xasprintf("its directory '%s' is too broad to be shown in a sandbox",
			base ? base : "/");
		return 0;
	}
	if (!pkg_path_contains("/usr", base))
		lang_mounts_add(&mounts, SANDBOX_MOUNT_RO, base, NULL);
	script = lang_python_script(lang, &mounts, SCRIPT);
	pkg_argv_add(command, path);
	if (isolated)
		pkg_argv_add(command, "-I");
	else
		pkg_argv_add(command, "-E", "-s");
	pkg_argv_add(command, "-B", script);
	if (lang_python_run(lang, SANDBOX_PROBE, NULL, &mounts, command, &limits, run, &failure) ==
		0)
		return 0;
	if (!is_its_own_end(failure.kind)) {
		if (err)
			pkg_error_move(err, &failure);
		return -1;
	}
	if (failure.kind == PKG_E_TIMEOUT)
		*reason =
			pkg_xasprintf("it did not answer within %d s", LANG_PYTHON_PROBE_MS / 1000);
	else
		*reason = pkg_xstrdup(failure.message);
	return 0;
}

static bool
knows_no_isolation(const struct pkg_run *run)
{
	return pkg_process_status(run->wait_status) == 2 &&
		strstr(pkg_buf_str(&run->err), "Unknown option: -I");
}

/* Python before 3.4 has no -I; it gets to say its version all the same. */
static int
ask(struct lang_context *lang, const char *path, struct json_object **facts, char **reason,
	struct pkg_error *err)
{
	pkg_cleanup_error struct pkg_error failure = { 0 };

	for (int isolated = 1; isolated >= 0; isolated--) {
		pkg_cleanup_run struct pkg_run run = PKG_RUN_INIT;

		if (run_probe(lang, path, isolated, &run, reason, err) < 0)
			return -1;
		if (*reason)
			return 0;
		if (isolated && knows_no_isolation(&run))
			continue;
		if (run.wait_status != 0) {
			pkg_autofree char *end = lang_python_run_end(&run);

			*reason = pkg_xasprintf("it does not run: %s", end);
			return 0;
		}
		*facts = lang_python_facts_parse(pkg_buf_str(&run.out), run.out.len, &failure);
		if (!*facts)
			*reason = pkg_xstrdup(failure.message);
		return 0;
	}
	*reason = pkg_xstrdup("it does not run: it knows neither -I nor -E");
	return 0;
}

int
lang_python_probe(struct lang_context *lang, const char *path, struct json_object **facts,
	char **reason, struct pkg_error *err)
{
	pkg_autofree char *file = NULL;
	pkg_autofree char *base = NULL;

	*facts = NULL;
	*reason = NULL;
	if (cache_path(lang, path, &file, err) < 0)
		return -1;
	*facts = read_cached(file);
	if (*facts)
		return 0;
	if (ask(lang, path, facts, reason, err) < 0)
		return -1;
	if (!*facts)
		return 0;
	base = lang_python_base_of(path);
	pkg_json_set_str(*facts, "path", path);
	pkg_json_set_str(*facts, "base", base);
	write_cached(file, *facts);
	return 0;
}
