#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/file.h"
#include "core/path.h"
#include "core/sha256.h"
#include "core/text.h"
#include "core/tree.h"
#include "core/url.h"
#include "lang/python.h"
#include "lang/python_explain.h"
#include "lang/python_index.h"
#include "lang/python_inputs.h"
#include "lang/python_pip.h"
#include "lang/python_run.h"
#include "lang/wheelname.h"

/* A source distribution becomes a wheel where its code can reach nothing but its own directory, the
 * interpreter, and the indexes, through the proxy: no environment, no cache, no other package. What comes
 * out counts only if it is exactly one wheel of the planned name and version, and is opened later as
 * distrustfully as any other.
 *
 * Results are kept by everything that they depend on: <cache>/built/<key>.json names the wheel. */

#define SDIST "sdist" /* directory of the working directory */
#define RECORD_MAX (64 * 1024)
#define CHUNK (256 * 1024)
#define RECIPE 1 /* changes when builds are made another way */

struct build {
	struct lang_context *lang;
	const struct lang_env *env;
	const struct lang_request *request;
	struct lang_dist *dist;
	struct lang_python_pip pip;
	char *label; /* owned; "NAME VERSION" */
	char *record; /* owned; path of the file in <cache>/built */
	char *work; /* owned */
};

static void
build_clear(struct build *build)
{
	if (build->work)
		(void)pkg_tree_remove(build->work, NULL);
	lang_python_pip_clear(&build->pip);
	free(build->label);
	free(build->record);
	free(build->work);
}
#define cleanup_build __attribute__((cleanup(build_clear)))

/* --- results that are kept --- */

static char *
record_path(const struct build *build)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *indexes = lang_python_indexes(build->request);
	pkg_cleanup(pkg_json_put) struct json_object *identity = json_object_new_object();
	struct json_object *urls = json_object_new_array();
	pkg_autofree char *interpreter = lang_python_key(build->env->facts);
	pkg_autofree char *text = NULL;
	char key[PKG_SHA256_HEX];

	for (size_t i = 0; i < indexes->count; i++) {
		pkg_autofree char *bare = pkg_url_redact(indexes->items[i]);

		json_object_array_add(urls, json_object_new_string(bare));
	}
	pkg_json_set_int(identity, "recipe", RECIPE);
	pkg_json_set_str(identity, "sdist", build->dist->sha256);
	pkg_json_set_str(identity, "interpreter", interpreter);
	pkg_json_set_str(identity, "pip", build->pip.version);
	pkg_json_set(identity, "indexes", urls);
	text = pkg_json_canonical(identity);
	pkg_sha256_hex(text, strlen(text), key);
	return pkg_path_joinf(build->lang->home->cache, "built/%s.json", key);
}

/* 0: the wheel is in the cache, whole. */
static int
use_record(const struct build *build)
{
	pkg_cleanup(pkg_json_put) struct json_object *record =
		pkg_json_read_file(build->record, RECORD_MAX, NULL);
	const char *sha256 = record ? pkg_json_str(record, "wheel_sha256") : NULL;
	pkg_autofd int fd = -1;

	if (!sha256 || !pkg_sha256_is_hex(sha256))
		return -1;
	fd = fetch_cas_get(build->lang->cas, sha256, NULL, NULL);
	if (fd < 0)
		return -1;
	free(build->dist->wheel_sha256);
	build->dist->wheel_sha256 = pkg_xstrdup(sha256);
	return 0;
}

static int
write_record(const struct build *build, const char *file, struct pkg_error *err)
{
	pkg_cleanup(pkg_json_put) struct json_object *record = json_object_new_object();
	pkg_autofree char *directory = pkg_path_dir(build->record);
	pkg_autofree char *text = NULL;

	pkg_json_set_str(record, "wheel_sha256", build->dist->wheel_sha256);
	pkg_json_set_str(record, "file", file);
	pkg_json_set_str(record, "sdist", build->dist->file);
	pkg_json_set_str(record, "sdist_sha256", build->dist->sha256);
	pkg_json_set_str(record, "pip", build->pip.version);
	text = pkg_json_line(record);
	if (pkg_dir_make(directory, 0700, err) < 0)
		return -1;
	return pkg_file_write(build->record, text, strlen(text), 0600, false, err);
}

/* --- running it --- */

static int
write_indexes(const struct build *build, struct pkg_error *err)
{
	pkg_autofree char *path = pkg_path_join(build->work, "requirements.txt");
	pkg_cleanup_buf struct pkg_buf lines = { 0 };

	if (lang_python_index_lines(build->request, &lines, err) < 0)
		return -1;
	return pkg_file_write(path, pkg_buf_str(&lines), lines.len, 0600, false, err);
}

static int
copy_all(int from, int to, struct pkg_error *err)
{
	pkg_autofree char *chunk = pkg_xmalloc(CHUNK);
	ssize_t got;

	while ((got = read(from, chunk, CHUNK)) != 0) {
		if (got < 0 && errno != EINTR)
			return pkg_error_errno(err, errno, "read");
		if (got > 0 && pkg_write_all(to, chunk, (size_t)got, err) < 0)
			return -1;
	}
	return 0;
}

/* Under its own name, which tells pip what it is. A copy: what the build may write to is no file of the
 * cache. */
static int
bring_sdist(const struct build *build, struct pkg_error *err)
{
	const struct lang_dist *dist = build->dist;
	pkg_autofree char *directory = pkg_path_join(build->work, SDIST);
	pkg_autofree char *path = NULL;
	pkg_autofd int from = -1;
	pkg_autofd int to = -1;

	if (!dist->file || !pkg_path_is_confined(dist->file, strlen(dist->file)) ||
		strchr(dist->file, '/'))
		return pkg_error_set(
			err, PKG_E_INVALID, "%s has no file name that can be used", build->label);
	from = fetch_cas_get(build->lang->cas, dist->sha256, NULL, err);
	if (from < 0)
		return pkg_error_prefix(err, "'%s'", dist->file);
	if (pkg_dir_make(directory, 0700, err) < 0)
		return -1;
	path = pkg_path_join(directory, dist->file);
	to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (to < 0)
		return pkg_error_errno(err, errno, "make '%s'", path);
	return copy_all(from, to, err) < 0 ? pkg_error_prefix(err, "copy '%s'", dist->file) : 0;
}

/* The distribution itself is named by its path, so --only-binary is about what its build needs. */
static void
add_options(const char *sdist, struct pkg_argv *command)
{
	pkg_argv_add(command, "wheel", "--verbose", "--isolated", "--no-input",
		"--disable-pip-version-check", "--progress-bar", "off", "--no-color", "--no-deps",
		"--no-cache-dir", "--use-pep517", "--only-binary", ":all:", "--retries", "3",
		"--timeout", "30", "--wheel-dir", LANG_PYTHON_WORK "/out", "-r",
		LANG_PYTHON_WORK "/requirements.txt", sdist);
}

static int
explain(const struct build *build, const struct lang_python_run *run, struct pkg_error *err)
{
	pkg_autofree char *tool = pkg_xasprintf("pip %s", build->pip.version);
	struct lang_python_failure failure = {
		.tool = tool,
		.status = run->status,
		.log = pkg_buf_str(&run->log),
		.rows = &run->rows,
		.python = lang_python_version(build->env->facts),
		.source = true,
		.building = build->label,
	};

	return lang_python_explain(&failure, err);
}

static int
run_pip(const struct build *build, struct pkg_error *err)
{
	lang_cleanup_mounts struct lang_mounts mounts = { 0 };
	pkg_cleanup(pkg_argv_free) struct pkg_argv *command = pkg_argv_new();
	pkg_autofree char *sdist = pkg_path_join(LANG_PYTHON_WORK "/" SDIST, build->dist->file);
	lang_cleanup_python_run struct lang_python_run run = {
		.purpose = SANDBOX_BUILD,
		.work = build->work,
		.mounts = &mounts,
		.command = command,
	};

	if (lang_python_mounts(build->env->facts, build->lang->home->user_home, &mounts, err) < 0)
		return -1;
	lang_python_pip_command(&build->pip, build->env->facts, NULL, true, &mounts, command);
	add_options(sdist, command);
	if (lang_python_run_work(build->lang, &run, err) < 0)
		return pkg_error_prefix(err, "build %s", build->label);
	return run.status == 0 ? 0 : explain(build, &run, err);
}

/* --- what came out --- */

/* Given: the name of the one file there. */
static char *
only_file(const struct build *build, struct pkg_error *err)
{
	pkg_autofree char *path = pkg_path_join(build->work, "out");
	pkg_autofree char *found = NULL;
	int fd = pkg_dir_open(path, NULL);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *entry;
	size_t count = 0;

	if (!dir && fd >= 0)
		pkg_close(&fd);
	while (dir && (entry = readdir(dir))) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (count++ == 0)
			found = pkg_xstrdup(entry->d_name);
	}
	if (dir)
		closedir(dir);
	if (count == 1)
		return pkg_steal_ptr(&found);
	pkg_error_set(err, PKG_E_BUILD, "building %s left %zu files where one wheel belongs",
		build->label, count);
	return NULL;
}

static int
check_name(const struct build *build, const char *file, struct pkg_error *err)
{
	lang_cleanup_wheel_name struct lang_wheel_name name = { 0 };
	pkg_autofree char *shown = pkg_text_clean(file, strlen(file), LANG_FILE_NAME_MAX, false);
	struct lang_pep440_version planned;

	if (lang_wheel_name_parse(file, &name, NULL) < 0)
		return pkg_error_set(err, PKG_E_BUILD, "building %s made '%s', which is no wheel",
			build->label, shown);
	if (lang_pep440_parse(build->dist->version, &planned, err) < 0)
		return -1;
	if (strcmp(name.normalized, build->dist->key) == 0 &&
		lang_pep440_compare(&name.version, &planned) == 0)
		return 0;
	return pkg_error_set(err, PKG_E_BUILD,
		"building %s made '%s', which is another distribution", build->label, shown);
}

static int
take_wheel(const struct build *build, struct pkg_error *err)
{
	pkg_autofree char *file = only_file(build, err);
	pkg_autofree char *relative = NULL;
	char sha256[PKG_SHA256_HEX];
	pkg_autofd int dir = -1;
	pkg_autofd int fd = -1;
	struct stat st;

	if (!file || check_name(build, file, err) < 0)
		return -1;
	relative = pkg_path_join("out", file);
	dir = pkg_dir_open(build->work, err);
	if (dir < 0)
		return -1;
	fd = pkg_file_open_beneath(dir, relative, O_RDONLY | O_NONBLOCK, 0, err);
	if (fd < 0)
		return -1;
	if (fstat(fd, &st) < 0)
		return pkg_error_errno(err, errno, "look at '%s'", file);
	if (!S_ISREG(st.st_mode))
		return pkg_error_set(
			err, PKG_E_BUILD, "building %s made no regular file", build->label);
	if (fetch_cas_put_fd(build->lang->cas, NULL, fd, -1, sha256, err) < 0)
		return -1;
	free(build->dist->wheel_sha256);
	build->dist->wheel_sha256 = pkg_xstrdup(sha256);
	return write_record(build, file, err);
}

/* --- the whole --- */

static void
say(const struct build *build, const char *what)
{
	pkg_autofree char *text = pkg_xasprintf("%s %s", what, build->label);

	if (build->lang->status)
		build->lang->status(build->lang->context, text);
}

static int
make(struct build *build, struct pkg_error *err)
{
	if (lang_python_refuse_credentials(build->request, err) < 0)
		return -1;
	build->work = lang_python_work_make(build->lang, "build", err);
	if (!build->work || write_indexes(build, err) < 0 || bring_sdist(build, err) < 0)
		return -1;
	say(build, "building");
	return run_pip(build, err) < 0 ? -1 : take_wheel(build, err);
}

int
lang_python_build(struct lang_context *lang, const struct lang_env *env,
	const struct lang_request *request, struct lang_dist *dist, struct pkg_error *err)
{
	cleanup_build struct build build = {
		.lang = lang, .env = env, .request = request, .dist = dist
	};

	if (!dist->is_sdist) {
		free(dist->wheel_sha256);
		dist->wheel_sha256 = pkg_xstrdup(dist->sha256);
		return 0;
	}
	build.label = pkg_xasprintf("%s %s", dist->name, dist->version);
	if (lang_python_pip_get(lang, env->facts, &build.pip, err) < 0)
		return -1;
	build.record = record_path(&build);
	if (use_record(&build) == 0)
		say(&build, "taking the wheel built earlier for");
	else if (make(&build, err) < 0)
		return -1;
	return lang_python_inspect(lang, env, dist, err);
}
