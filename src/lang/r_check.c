#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/file.h"
#include "core/path.h"
#include "core/sha256.h"
#include "lang/r.h"
#include "lang/r_description.h"
#include "lang/r_run.h"
#include "lang/r_version.h"
#include "lang/record.h"

#define NAMED_MAX 5

static int
broken(const struct lang_env *env, struct pkg_error *err, const char *what)
{
	const char *name = pkg_path_base(env->prefix);

	pkg_error_set(err, PKG_E_ENV_BROKEN, "the environment '%s' cannot be used: %s", name, what);
	return pkg_error_cure(err, "rebuild it from its history: pkg env repair -l r %s", name);
}

/* The R that runs now is told by its base package: one file, no process. Compiled packages are
 * tied to a minor version. */
int
lang_r_healthy(const struct lang_env *env, struct pkg_error *err)
{
	const char *program = lang_r_program(env->facts);
	lang_cleanup_r_description struct lang_r_description base = { 0 };
	pkg_autofree char *was = lang_r_minor(env->facts);
	pkg_autofree char *what = NULL;
	pkg_autofd int library = pkg_dir_open(lang_r_library(env->facts), NULL);

	if (access(program, X_OK) < 0)
		what = pkg_xasprintf("its R '%s' is gone", program);
	else if (library < 0 || lang_r_description_read(library, "base", &base, NULL) < 0)
		what = pkg_xasprintf(
			"the library '%s' of its R is gone", lang_r_library(env->facts));
	else if (lang_r_version_minor(base.version) != strlen(was) ||
		strncmp(base.version, was, strlen(was)) != 0)
		what = pkg_xasprintf(
			"it was made with R %s, and '%s' is R %s now", was, program, base.version);
	if (!what && env->tree) {
		pkg_autofree char *own = pkg_path_join(env->tree, LANG_R_LIBRARY);

		if (!pkg_file_exists(own))
			what = pkg_xasprintf("its library '%s' is gone", own);
	}
	return what ? broken(env, err, what) : 0;
}

struct checking {
	int tree;
	bool deep;
	size_t count; /* of what is wrong */
	struct pkg_buf text; /* the first few */
};

static void
report(struct checking *checking, const struct store_package *package, const char *path,
	const char *what)
{
	if (checking->count++ < NAMED_MAX)
		pkg_buf_addf(&checking->text, "%s%s: '%s' %s", checking->count > 1 ? "; " : "",
			package->name, path, what);
}

static bool
has_digest(int tree, const char *path, const char *wanted)
{
	pkg_autofd int fd = pkg_file_open_beneath(tree, path, O_RDONLY, 0, NULL);
	char hex[PKG_SHA256_HEX];
	unsigned char digest[PKG_SHA256_BYTES];
	char text[LANG_RECORD_SHA256 + 1];

	if (fd < 0 || pkg_sha256_fd(fd, hex, NULL) < 0)
		return false;
	for (size_t i = 0; i < PKG_SHA256_BYTES; i++) {
		const char pair[] = { hex[2 * i], hex[2 * i + 1], '\0' };

		digest[i] = (unsigned char)strtoul(pair, NULL, 16);
	}
	pkg_sha256_base64url(digest, text);
	return strcmp(text, wanted) == 0;
}

static void
check_entry(struct checking *checking, const struct store_package *package,
	const struct lang_record_entry *entry)
{
	pkg_autofree char *path =
		pkg_path_joinf(LANG_R_LIBRARY, "%s/%s", package->key, entry->path);
	struct stat st;

	if (!pkg_path_is_confined(path, strlen(path)))
		report(checking, package, entry->path, "lies outside the package");
	else if (fstatat(checking->tree, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		report(checking, package, path, "is missing");
	else if (!S_ISREG(st.st_mode))
		report(checking, package, path, "is no file");
	else if (entry->size >= 0 && st.st_size != entry->size)
		report(checking, package, path, "has another size");
	else if (checking->deep && entry->sha256 &&
		!has_digest(checking->tree, path, entry->sha256))
		report(checking, package, path, "has another content");
}

static void
check_package(struct checking *checking, const struct store_package *package)
{
	lang_cleanup_record struct lang_record record = { 0 };
	lang_cleanup_r_description struct lang_r_description description = { 0 };
	pkg_cleanup_buf struct pkg_buf text = { 0 };
	pkg_autofree char *place = pkg_path_join(LANG_R_LIBRARY, package->key);
	pkg_autofree char *list = pkg_path_join(LANG_R_RECORDS, package->key);

	if (!lang_r_name_is(package->key)) {
		report(checking, package, package->key, "is no package's name");
		return;
	}
	if (lang_r_description_read(checking->tree, place, &description, NULL) < 0)
		report(checking, package, place, "has no DESCRIPTION that can be read");
	else if (strcmp(description.version, package->version) != 0)
		report(checking, package, place, "is of another version");
	if (pkg_file_read_beneath(checking->tree, list, LANG_RECORD_BYTES_MAX, &text, NULL) < 0)
		report(checking, package, list, "cannot be read");
	else if (lang_record_parse(pkg_buf_str(&text), text.len, &record, NULL) < 0)
		report(checking, package, list, "is no list of files");
	for (size_t i = 0; i < record.count; i++)
		check_entry(checking, package, &record.entries[i]);
}

int
lang_r_check(const struct lang_env *env, const struct store_package_list *packages, bool deep,
	struct pkg_error *err)
{
	pkg_autofd int tree = pkg_dir_open(env->tree, err);
	struct checking checking = { .tree = tree, .deep = deep };
	const char *name = pkg_path_base(env->prefix);
	int rc = 0;

	if (tree < 0)
		return -1;
	for (size_t i = 0; i < packages->count; i++)
		if (packages->items[i].owned)
			check_package(&checking, &packages->items[i]);
	if (checking.count > 0) {
		pkg_error_set(err, PKG_E_VERIFY, "%zu %s of the environment not as installed: %s%s",
			checking.count, checking.count == 1 ? "file is" : "files are",
			pkg_buf_str(&checking.text),
			checking.count > NAMED_MAX ? "; and more" : "");
		rc = pkg_error_cure(
			err, "rebuild it from its history: pkg env repair -l r %s", name);
	}
	pkg_buf_clear(&checking.text);
	return rc;
}
