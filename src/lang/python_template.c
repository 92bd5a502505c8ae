#include "lang/python_template.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/file.h"
#include "core/path.h"
#include "core/sha256.h"
#include "core/text.h"
#include "core/tree.h"
#include "lang/python_facts.h"
#include "lang/python_mounts.h"
#include "lang/scan.h"

/* Where a template is made: a prefix and a name that stand nowhere else in what venv writes. */
#define PLACE_NAME "pkgd-template-name-5f1c0a93"
#define PLACE "/pkgd-template-prefix-5f1c0a93/" PLACE_NAME
#define FILE_MAX (256 * 1024)
#define TEMPLATE_MAX (4 * 1024 * 1024)
#define ENTRIES_MAX 200

struct reading {
	int root;
	struct json_object *entries;
};

bool
lang_python_template_is_plain(const char *prefix)
{
	for (const char *at = prefix; *at; at++)
		if (!lang_is_alnum(*at) && !strchr("/._-+", *at))
			return false;
	return prefix[0] == '/';
}

static int
read_entry(void *context, const char *relative, const struct stat *st, struct pkg_error *err)
{
	struct reading *reading = context;
	struct json_object *entry;
	pkg_cleanup_buf struct pkg_buf text = { 0 };
	char target[PATH_MAX];
	ssize_t len = 0;

	if (json_object_array_length(reading->entries) >= ENTRIES_MAX)
		return pkg_error_set(err, PKG_E_TOO_LARGE, "more than %d entries", ENTRIES_MAX);
	if (S_ISLNK(st->st_mode)) {
		len = readlinkat(reading->root, relative, target, sizeof(target) - 1);
		if (len < 0)
			return pkg_error_errno(err, errno, "read link '%s'", relative);
		target[len] = '\0';
	} else if (S_ISREG(st->st_mode)) {
		if (pkg_file_read_beneath(reading->root, relative, FILE_MAX, &text, err) < 0)
			return -1;
	} else if (!S_ISDIR(st->st_mode)) {
		return pkg_error_set(err, PKG_E_INVALID, "'%s' is no file", relative);
	}
	if (!pkg_text_is_utf8(pkg_buf_str(&text), text.len) ||
		strlen(pkg_buf_str(&text)) != text.len)
		return pkg_error_set(err, PKG_E_INVALID, "'%s' is no text", relative);
	entry = json_object_new_object();
	pkg_json_set_str(entry, "path", relative);
	pkg_json_set_int(entry, "mode", st->st_mode & 07777);
	if (S_ISLNK(st->st_mode))
		pkg_json_set_str(entry, "target", target);
	else if (S_ISREG(st->st_mode))
		pkg_json_set_str(entry, "text", pkg_buf_str(&text));
	json_object_array_add(reading->entries, entry);
	return 0;
}

struct json_object *
lang_python_template_read(const char *tree, struct pkg_error *err)
{
	pkg_autofd int root = pkg_dir_open(tree, err);
	struct reading reading = { .root = root };

	if (root < 0)
		return NULL;
	reading.entries = json_object_new_array();
	if (pkg_tree_walk(root, ".", read_entry, &reading, err) == 0)
		return reading.entries;
	json_object_put(reading.entries);
	return NULL;
}

static char *
replace(const char *text, const char *from, const char *to)
{
	struct pkg_buf out = { 0 };
	const char *found;

	while ((found = strstr(text, from))) {
		pkg_buf_add_mem(&out, text, (size_t)(found - text));
		pkg_buf_add(&out, to);
		text = found + strlen(from);
	}
	pkg_buf_add(&out, text);
	return pkg_buf_steal(&out);
}

static char *
rename_in(const char *text, const struct lang_python_template_names *names)
{
	pkg_autofree char *once = replace(text, names->from_prefix, names->to_prefix);

	return replace(once, names->from_name, names->to_name);
}

static int
write_entry(int root, struct json_object *entry, const struct lang_python_template_names *names,
	struct pkg_error *err)
{
	const char *path = pkg_json_str_or(entry, "path", "");
	mode_t mode = (mode_t)pkg_json_int(entry, "mode", 0) & 0777;
	const char *text = pkg_json_str(entry, "text");
	const char *target = pkg_json_str(entry, "target");
	pkg_autofree char *renamed = NULL;
	pkg_autofd int fd = -1;

	if (!pkg_path_is_confined(path, strlen(path)))
		return pkg_error_set(err, PKG_E_INVALID, "the template's '%s' is no path", path);
	renamed = rename_in(text ? text : target ? target : "", names);
	if (target) {
		if (symlinkat(renamed, root, path) < 0)
			return pkg_error_errno(err, errno, "make link '%s'", path);
		return 0;
	}
	if (!text) {
		if (mkdirat(root, path, 0700) < 0 || fchmodat(root, path, mode | 0700, 0) < 0)
			return pkg_error_errno(err, errno, "make directory '%s'", path);
		return 0;
	}
	fd = openat(root, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return pkg_error_errno(err, errno, "make '%s'", path);
	if (pkg_write_all(fd, renamed, strlen(renamed), err) < 0)
		return pkg_error_prefix(err, "write '%s'", path);
	if (fchmod(fd, mode) < 0)
		return pkg_error_errno(err, errno, "change the mode of '%s'", path);
	return 0;
}

int
lang_python_template_write(struct json_object *entries,
	const struct lang_python_template_names *names, const char *tree, struct pkg_error *err)
{
	pkg_autofd int root = pkg_dir_open(tree, err);

	if (root < 0)
		return -1;
	for (size_t i = 0; i < json_object_array_length(entries); i++)
		if (write_entry(root, json_object_array_get_idx(entries, i), names, err) < 0)
			return pkg_error_prefix(err, "make an environment from its template");
	return 0;
}

static void
names_for(const struct lang_env *env, struct lang_python_template_names *out)
{
	*out = (struct lang_python_template_names){
		.from_prefix = PLACE,
		.to_prefix = env->prefix,
		.from_name = PLACE_NAME,
		.to_name = pkg_path_base(env->prefix),
	};
}

/* A distribution may mend its venv without a new version. */
static char *
file_of(struct lang_context *lang, const struct lang_env *env)
{
	static const char *const parts[] = { "venv/__init__.py", "venv/scripts/common/activate",
		"venv/scripts/posix/activate.csh", "venv/scripts/common/Activate.ps1" };
	pkg_autofree char *key = lang_python_key(env->facts);
	pkg_cleanup_buf struct pkg_buf identity = { 0 };
	char hex[PKG_SHA256_HEX];

	pkg_buf_addf(&identity, "1 %s %d\n", key, env->hermetic);
	for (size_t i = 0; i < PKG_ARRAY_LEN(parts); i++) {
		pkg_autofree char *path =
			pkg_path_join(pkg_json_str_or(env->facts, "stdlib", "/"), parts[i]);
		struct stat st = { 0 };

		if (stat(path, &st) == 0)
			pkg_buf_addf(&identity, "%s %lld %lld.%09ld\n", path, (long long)st.st_size,
				(long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
	}
	pkg_sha256_hex(pkg_buf_str(&identity), identity.len, hex);
	return pkg_path_joinf(lang->home->cache, "venv/%s.json", hex);
}

static int
run_venv(struct lang_context *lang, const struct lang_env *env, char **made_by,
	struct pkg_error *err)
{
	lang_cleanup_mounts struct lang_mounts mounts = { 0 };
	pkg_cleanup(pkg_argv_free) struct pkg_argv *command = pkg_argv_new();
	pkg_cleanup_run struct pkg_run run = PKG_RUN_INIT;
	pkg_autofree char *end = NULL;
	struct lang_env bare = *env;

	bare.overlay = NULL;
	if (lang_python_mounts(env->facts, lang->home->user_home, &mounts, err) < 0)
		return -1;
	pkg_argv_add(command, lang_python_executable(env->facts), "-I", "-B", "-m", "venv",
		"--without-pip");
	if (!env->hermetic)
		pkg_argv_add(command, "--system-site-packages");
	pkg_argv_add(command, env->prefix);
	if (lang_python_run(lang, SANDBOX_APPLY, &bare, &mounts, command, NULL, &run, err) < 0)
		return pkg_error_prefix(err, "make an environment with '%s -m venv'",
			lang_python_executable(env->facts));
	if (lang->output) {
		lang->output(lang->context, pkg_buf_str(&run.out), run.out.len);
		lang->output(lang->context, pkg_buf_str(&run.err), run.err.len);
	}
	end = lang_python_run_end(&run);
	*made_by = pkg_xasprintf("'%s -m venv' (%s)", lang_python_executable(env->facts), end);
	if (run.wait_status != 0)
		return pkg_error_set(err, PKG_E_VERIFY, "'%s -m venv' ended with %s",
			lang_python_executable(env->facts), end);
	return 0;
}

/* Two trees of which the second is what -m venv made at the environment's own prefix. */
static bool
gives_the_same(const struct lang_env *env, struct json_object *entries, const char *scratch)
{
	pkg_autofree char *copy = pkg_path_join(scratch, "copy");
	pkg_cleanup(pkg_json_put) struct json_object *ours = NULL;
	pkg_cleanup(pkg_json_put) struct json_object *theirs = NULL;
	struct lang_python_template_names names;

	names_for(env, &names);
	if (pkg_dir_make(copy, 0700, NULL) < 0 ||
		lang_python_template_write(entries, &names, copy, NULL) < 0)
		return false;
	ours = lang_python_template_read(copy, NULL);
	theirs = lang_python_template_read(env->tree, NULL);
	return ours && theirs && json_object_equal(ours, theirs);
}

static struct json_object *
make_entries(struct lang_context *lang, const struct lang_env *env, const char *scratch)
{
	pkg_autofree char *tree = pkg_path_join(scratch, "tree");
	pkg_autofree char *made_by = NULL;
	struct lang_env elsewhere = *env;

	elsewhere.tree = tree;
	elsewhere.prefix = PLACE;
	if (pkg_dir_make(tree, 0700, NULL) < 0 || run_venv(lang, &elsewhere, &made_by, NULL) < 0)
		return NULL;
	return lang_python_template_read(tree, NULL);
}

/* Whatever goes wrong here leaves no template and nothing else. An interpreter whose environments
 * cannot be copied is written down as such, with no entries, so that it is not tried every time. */
static void
keep_template(struct lang_context *lang, const struct lang_env *env, const char *file)
{
	char name[PKG_TEMP_NAME];
	pkg_autofree char *directory = pkg_path_dir(file);
	pkg_autofree char *scratch = NULL;
	pkg_autofree char *text = NULL;
	pkg_cleanup(pkg_json_put) struct json_object *entries = NULL;
	pkg_cleanup(pkg_json_put) struct json_object *out = json_object_new_object();

	pkg_temp_name(name);
	scratch = pkg_path_join(lang->scratch, name);
	if (pkg_dir_make(scratch, 0700, NULL) == 0)
		entries = make_entries(lang, env, scratch);
	if (entries && gives_the_same(env, entries, scratch))
		pkg_json_set(out, "entries", json_object_get(entries));
	(void)pkg_tree_remove(scratch, NULL);
	if (!entries)
		return;
	text = pkg_json_line(out);
	if (pkg_dir_make(directory, 0700, NULL) == 0)
		(void)pkg_file_write(file, text, strlen(text), 0600, false, NULL);
}

int
lang_python_template_make(struct lang_context *lang, const struct lang_env *env, char **made_by,
	struct pkg_error *err)
{
	pkg_autofree char *file = file_of(lang, env);
	pkg_cleanup(pkg_json_put) struct json_object *kept =
		pkg_json_read_file(file, TEMPLATE_MAX, NULL);
	struct json_object *entries = kept ? pkg_json_array(kept, "entries") : NULL;
	struct lang_python_template_names names;

	*made_by = NULL;
	if (entries && lang_python_template_is_plain(env->prefix)) {
		names_for(env, &names);
		*made_by = pkg_xasprintf(
			"a copy of what '%s -m venv' makes", lang_python_executable(env->facts));
		return lang_python_template_write(entries, &names, env->tree, err);
	}
	if (run_venv(lang, env, made_by, err) < 0)
		return -1;
	if (!kept && lang_python_template_is_plain(env->prefix))
		keep_template(lang, env, file);
	return 0;
}
