#include "lang/r_probe.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/file.h"
#include "core/path.h"
#include "core/sha256.h"
#include "lang/r_run.h"

#define SCRIPT "probe.R"
#define CACHED_MAX (1024 * 1024)

static void
add_stamp(struct json_object *out, const char *path)
{
	struct stat st;
	int64_t time = -1;

	if (stat(path, &st) == 0)
		time = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
	pkg_json_set_int(out, path, time);
}

/* A change of any of these may change the answer: another R, another Makeconf or Renviron, a
 * site library that appears. */
static struct json_object *
stamps_of(struct json_object *facts)
{
	static const char *const in_etc[] = { "", "Renviron", "Renviron.site", "Makeconf" };
	struct json_object *out = json_object_new_object();
	pkg_cleanup(pkg_argv_free) struct pkg_argv *sites = pkg_argv_new();
	pkg_autofree char *base = pkg_path_join(lang_r_library(facts), "base/DESCRIPTION");
	pkg_autofree char *site = pkg_path_join(lang_r_home(facts), "site-library");

	add_stamp(out, base);
	add_stamp(out, pkg_json_str_or(facts, "CC", "/"));
	/* Their own times change with every package; whether they are there is what counts. */
	lang_r_sites(facts, sites);
	pkg_argv_add(sites, site);
	for (size_t i = 0; i < sites->count; i++)
		pkg_json_set_bool(out, sites->items[i], pkg_file_exists(sites->items[i]));
	for (size_t i = 0; i < PKG_ARRAY_LEN(in_etc); i++) {
		pkg_autofree char *path =
			pkg_path_join(pkg_json_str_or(facts, "etc", "/"), in_etc[i]);

		add_stamp(out, path);
	}
	return out;
}

static int
cache_path(struct lang_context *lang, const char *path, char **out, struct pkg_error *err)
{
	pkg_autofree char *script = pkg_path_join(lang->home->share, "envs/r/" SCRIPT);
	pkg_autofree char *identity = NULL;
	char script_hex[PKG_SHA256_HEX];
	char hex[PKG_SHA256_HEX];
	struct stat st;

	if (pkg_sha256_file(script, script_hex, err) < 0)
		return -1;
	if (stat(path, &st) < 0)
		memset(&st, 0, sizeof(st));
	identity = pkg_xasprintf("R %s\n%lld %lld.%09ld %llu %llu\n%s", path, (long long)st.st_size,
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
		pkg_json_read_file(file, CACHED_MAX, NULL);
	struct json_object *facts = kept ? pkg_json_get(kept, "facts") : NULL;
	pkg_cleanup(pkg_json_put) struct json_object *now = NULL;

	if (!facts || !json_object_is_type(facts, json_type_object))
		return NULL;
	now = stamps_of(facts);
	return json_object_equal(now, pkg_json_get(kept, "stamps")) ? json_object_get(facts) : NULL;
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

/* What the sandbox stopped is a fact about the interpreter; what the sandbox could not do is
 * not. */
static bool
is_its_own_end(enum pkg_error_kind kind)
{
	return kind == PKG_E_TIMEOUT || kind == PKG_E_MEMORY || kind == PKG_E_DISK_FULL ||
		kind == PKG_E_TOO_LARGE || kind == PKG_E_INVALID || kind == PKG_E_KILLED;
}

static int
ask(struct lang_context *lang, struct json_object *place, struct json_object **facts, char **reason,
	struct pkg_error *err)
{
	pkg_cleanup_run struct pkg_run run = PKG_RUN_INIT;
	pkg_cleanup_error struct pkg_error failure = { 0 };
	struct sandbox_limits limits = { .wall_ms = LANG_R_PROBE_MS };

	if (lang_r_script(lang, SANDBOX_PROBE, NULL, place, SCRIPT, NULL, &limits, &run, &failure) <
		0) {
		if (!is_its_own_end(failure.kind)) {
			pkg_error_move(err, &failure);
			return -1;
		}
		*reason = failure.kind == PKG_E_TIMEOUT
			? pkg_xasprintf("it did not answer within %d s", LANG_R_PROBE_MS / 1000)
			: pkg_xstrdup(failure.message);
		return 0;
	}
	if (run.wait_status != 0) {
		pkg_autofree char *end = lang_r_end(&run);

		*reason = pkg_xasprintf("it does not run: %s", end);
		return 0;
	}
	*facts = lang_r_facts_parse(pkg_buf_str(&run.out), run.out.len, &failure);
	if (!*facts)
		*reason = pkg_xstrdup(failure.message);
	return 0;
}

int
lang_r_probe(struct lang_context *lang, const char *path, struct json_object **facts, char **reason,
	struct pkg_error *err)
{
	pkg_cleanup(pkg_json_put) struct json_object *place = json_object_new_object();
	pkg_autofree char *file = NULL;
	pkg_autofree char *base = lang_r_base_of(path);

	*facts = NULL;
	*reason = NULL;
	if (!base ||
		(!pkg_path_contains("/usr", base) &&
			pkg_path_is_broad(base, lang->home->user_home))) {
		*reason = pkg_xasprintf("its directory '%s' is too broad to be shown in a sandbox",
			base ? base : "/");
		return 0;
	}
	if (cache_path(lang, path, &file, err) < 0)
		return -1;
	*facts = read_cached(file);
	if (*facts)
		return 0;
	pkg_json_set_str(place, "path", path);
	pkg_json_set_str(place, "base", base);
	if (ask(lang, place, facts, reason, err) < 0)
		return -1;
	if (!*facts)
		return 0;
	pkg_json_set_str(*facts, "path", path);
	pkg_json_set_str(*facts, "base", base);
	write_cached(file, *facts);
	return 0;
}
