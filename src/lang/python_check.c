#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/file.h"
#include "core/path.h"
#include "core/sha256.h"
#include "lang/pep440.h"
#include "lang/pep508.h"
#include "lang/python.h"
#include "lang/record.h"

#define NAMED_MAX 5

int
lang_python_requirement(const char *text, char **canonical, char **key, struct pkg_error *err)
{
	lang_cleanup_requirement struct lang_requirement requirement = { 0 };

	if (lang_requirement_parse(text, &requirement, err) < 0)
		return -1;
	if (requirement.kind == LANG_REQUIREMENT_FILE || requirement.kind == LANG_REQUIREMENT_VCS) {
		pkg_error_set(err, PKG_E_REQUIREMENT,
			"'%s' is to come from %s, which is not fetched", requirement.name,
			requirement.kind == LANG_REQUIREMENT_FILE ? "a local file"
								  : "a version control system");
		return pkg_error_cure(
			err, "name a version of an index, or the https URL of a wheel or sdist");
	}
	*canonical = lang_requirement_text(&requirement);
	*key = pkg_xstrdup(requirement.normalized);
	return 0;
}

int
lang_python_version_compare(const char *a, const char *b)
{
	struct lang_pep440_version va;
	struct lang_pep440_version vb;
	bool oka = lang_pep440_parse(a, &va, NULL) == 0;
	bool okb = lang_pep440_parse(b, &vb, NULL) == 0;

	if (oka && okb)
		return lang_pep440_compare(&va, &vb);
	return oka != okb ? (oka ? 1 : -1) : strcmp(a, b);
}

static int
broken(const struct lang_env *env, struct pkg_error *err, const char *what, const char *path)
{
	pkg_error_set(err, PKG_E_ENV_BROKEN, "the environment '%s' cannot be used: %s '%s' is gone",
		pkg_path_base(env->prefix), what, path);
	return pkg_error_cure(
		err, "rebuild it from its history: pkg env repair %s", pkg_path_base(env->prefix));
}

/* The standard library's directory has the minor version in its name, and the program usually too: an
 * upgrade of the base from 3.11 to 3.12 takes at least one of them away. */
int
lang_python_healthy(const struct lang_env *env, struct pkg_error *err)
{
	const char *executable = lang_python_executable(env->facts);
	const char *stdlib = pkg_json_str_or(env->facts, "stdlib", "/");
	pkg_autofree char *os_py = pkg_path_join(stdlib, "os.py");
	pkg_autofree char *python = NULL;
	struct stat st;

	if (stat(executable, &st) < 0 || !S_ISREG(st.st_mode) || access(executable, X_OK) < 0)
		return broken(env, err, "its base interpreter", executable);
	if (!pkg_file_exists(os_py))
		return broken(env, err, "the standard library of its base interpreter", stdlib);
	if (!env->tree)
		return 0;
	python = pkg_path_join(env->tree, lang_python_interpreter(env->facts));
	if (lstat(python, &st) < 0)
		return broken(env, err, "its own interpreter", python);
	return 0;
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

static int
file_digest(int tree, const char *path, char out[44], struct pkg_error *err)
{
	pkg_autofd int fd = pkg_file_open_beneath(tree, path, O_RDONLY, 0, err);
	char hex[PKG_SHA256_HEX];
	unsigned char digest[PKG_SHA256_BYTES];

	if (fd < 0 || pkg_sha256_fd(fd, hex, err) < 0)
		return -1;
	for (size_t i = 0; i < PKG_SHA256_BYTES; i++) {
		const char pair[] = { hex[2 * i], hex[2 * i + 1], '\0' };

		digest[i] = (unsigned char)strtoul(pair, NULL, 16);
	}
	pkg_sha256_base64url(digest, out);
	return 0;
}

static bool
is_bytecode(const char *path)
{
	size_t len = strlen(path);

	return len > 4 && strcmp(path + len - 4, ".pyc") == 0 && strstr(path, "__pycache__/");
}

static void
check_entry(struct checking *checking, const struct store_package *package, const char *site,
	const struct lang_record_entry *entry)
{
	pkg_autofree char *joined = pkg_path_join(site, entry->path);
	pkg_autofree char *path = entry->path[0] != '/' ? pkg_path_normalize(joined) : NULL;
	char digest[44];
	struct stat st;

	if (!path || !pkg_path_is_confined(path, strlen(path))) {
		report(checking, package, entry->path, "lies outside the environment");
		return;
	}
	if (fstatat(checking->tree, path, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		/* What is made again at the next import is not missed. */
		if (!is_bytecode(path))
			report(checking, package, path, "is missing");
	} else if (!S_ISREG(st.st_mode)) {
		report(checking, package, path, "is no file");
	} else if (entry->size >= 0 && st.st_size != entry->size) {
		report(checking, package, path, "has another size");
	} else if (checking->deep && entry->sha256) {
		if (file_digest(checking->tree, path, digest, NULL) < 0)
			report(checking, package, path, "cannot be read");
		else if (strcmp(digest, entry->sha256) != 0)
			report(checking, package, path, "has another content");
	}
}

static void
check_package(struct checking *checking, const struct store_package *package)
{
	lang_cleanup_record struct lang_record record = { 0 };
	pkg_cleanup_buf struct pkg_buf text = { 0 };
	const char *location = package->location ? package->location : "";
	pkg_autofree char *site = pkg_path_dir(location);
	pkg_autofree char *path = pkg_path_join(location, "RECORD");

	if (!pkg_path_is_confined(location, strlen(location)))
		report(checking, package, location, "is no place in the environment");
	else if (pkg_file_read_beneath(checking->tree, path, LANG_RECORD_BYTES_MAX, &text, NULL) <
		0)
		report(checking, package, path, "cannot be read");
	else if (lang_record_parse(pkg_buf_str(&text), text.len, &record, NULL) < 0)
		report(checking, package, path, "is no list of files");
	for (size_t i = 0; i < record.count; i++)
		check_entry(checking, package, site, &record.entries[i]);
}

int
lang_python_check(const struct lang_env *env, const struct store_package_list *packages, bool deep,
	struct pkg_error *err)
{
	pkg_autofd int tree = pkg_dir_open(env->tree, err);
	struct checking checking = { .tree = tree, .deep = deep };
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
		rc = pkg_error_cure(err, "rebuild it from its history: pkg env repair %s",
			pkg_path_base(env->prefix));
	}
	pkg_buf_clear(&checking.text);
	return rc;
}
