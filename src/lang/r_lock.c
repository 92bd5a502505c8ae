#include "lang/r_lock.h"

#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "core/text.h"
#include "lang/r_request.h"
#include "lang/r_version.h"

#define LINES_MAX 2000

/* --- renv.lock --- */

static int
add_locked(struct json_object *row, const char *key, struct pkg_argv *requirements,
	struct pkg_error *err)
{
	pkg_autofree char *shown = pkg_text_clean(key, strlen(key), 80, false);
	const char *name = pkg_json_str_or(row, "Package", key);
	const char *version = pkg_json_str_or(row, "Version", "");
	const char *source = pkg_json_str_or(row, "Source", "Repository");

	if (!lang_r_name_is(name) || !lang_r_version_is(version, false))
		return pkg_error_set(err, PKG_E_REQUIREMENT,
			"'%s' of the lock file has no name and version that are ones", shown);
	if (strcmp(source, "Repository") != 0 && strcmp(source, "Bioconductor") != 0)
		return pkg_error_set(err, PKG_E_UNSUPPORTED,
			"'%s' of the lock file comes from %.40s, not from a repository", shown,
			source);
	pkg_argv_addf(requirements, "%s@%s", name, version);
	return 0;
}

static void
add_repos(struct json_object *lock, struct pkg_argv *repos)
{
	struct json_object *list = pkg_json_array(pkg_json_get(lock, "R"), "Repositories");

	for (size_t i = 0; list && i < json_object_array_length(list); i++) {
		const char *url = pkg_json_str(json_object_array_get_idx(list, i), "URL");

		if (url && !pkg_argv_has(repos, url))
			pkg_argv_add(repos, url);
	}
}

static int
parse_lock(const char *text, size_t len, struct pkg_argv *requirements, struct pkg_argv *repos,
	struct pkg_error *err)
{
	pkg_cleanup(pkg_json_put) struct json_object *lock = pkg_json_parse(text, len, err);
	struct json_object *packages = lock ? pkg_json_get(lock, "Packages") : NULL;

	if (!lock)
		return -1;
	if (!json_object_is_type(packages, json_type_object))
		return pkg_error_set(
			err, PKG_E_REQUIREMENT, "it is no renv.lock: it has no Packages");
	json_object_object_foreach(packages, key, row)
	{
		if (!json_object_is_type(row, json_type_object))
			return pkg_error_set(err, PKG_E_REQUIREMENT,
				"it is no renv.lock: a package is no object");
		if (add_locked(row, key, requirements, err) < 0)
			return -1;
	}
	add_repos(lock, repos);
	return 0;
}

/* --- lines --- */

static int
add_line(const char *line, size_t len, size_t number, struct pkg_argv *requirements,
	struct pkg_error *err)
{
	const char *comment = memchr(line, '#', len);
	pkg_autofree char *text = NULL;
	struct lang_r_need need;

	len = comment ? (size_t)(comment - line) : len;
	while (len > 0 && strchr(" \t\r", line[len - 1]))
		len--;
	while (len > 0 && strchr(" \t", *line)) {
		line++;
		len--;
	}
	if (len == 0)
		return 0;
	text = pkg_xstrndup(line, len);
	if (lang_r_need_parse(text, &need, err) < 0)
		return pkg_error_prefix(err, "line %zu", number);
	pkg_argv_take(requirements, lang_r_need_text(&need));
	lang_r_need_clear(&need);
	return 0;
}

static int
parse_lines(const char *text, size_t len, struct pkg_argv *requirements, struct pkg_error *err)
{
	const char *end = text + len;

	for (size_t number = 1; text < end; number++) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		const char *stop = newline ? newline : end;

		if (number > LINES_MAX)
			return pkg_error_set(
				err, PKG_E_TOO_LARGE, "it has more than %d lines", LINES_MAX);
		if (add_line(text, (size_t)(stop - text), number, requirements, err) < 0)
			return -1;
		text = newline ? newline + 1 : end;
	}
	return 0;
}

int
lang_r_lock_parse(const char *text, size_t len, struct pkg_argv *requirements,
	struct pkg_argv *repos, struct pkg_error *err)
{
	size_t blank = 0;

	if (len > LANG_R_LOCK_MAX)
		return pkg_error_set(
			err, PKG_E_TOO_LARGE, "it is longer than %d bytes", LANG_R_LOCK_MAX);
	while (blank < len && strchr(" \t\r\n", text[blank]))
		blank++;
	return blank < len && text[blank] == '{' ? parse_lock(text, len, requirements, repos, err)
						 : parse_lines(text, len, requirements, err);
}

/* --- writing --- */

/* "CRAN" is what renv calls the first. Given. */
static char *
repo_name(const struct pkg_argv *repos, const char *url)
{
	size_t i = 0;

	while (i < repos->count && strcmp(repos->items[i], url) != 0)
		i++;
	return i == 0 ? pkg_xstrdup("CRAN") : pkg_xasprintf("REPO%zu", i + 1);
}

static struct json_object *
repositories(const struct pkg_argv *repos)
{
	struct json_object *list = json_object_new_array();

	for (size_t i = 0; i < repos->count; i++) {
		struct json_object *row = json_object_new_object();
		pkg_autofree char *name = repo_name(repos, repos->items[i]);

		pkg_json_set_str(row, "Name", name);
		pkg_json_set_str(row, "URL", repos->items[i]);
		json_object_array_add(list, row);
	}
	return list;
}

char *
lang_r_lock_write(const char *r_version, const struct lang_r_locked *packages, size_t count)
{
	pkg_cleanup(pkg_json_put) struct json_object *lock = json_object_new_object();
	pkg_cleanup(pkg_argv_free) struct pkg_argv *repos = pkg_argv_new();
	struct json_object *r = json_object_new_object();
	struct json_object *rows = json_object_new_object();

	for (size_t i = 0; i < count; i++)
		if (packages[i].repo && !pkg_argv_has(repos, packages[i].repo))
			pkg_argv_add(repos, packages[i].repo);
	pkg_json_set_str(r, "Version", r_version);
	pkg_json_set(r, "Repositories", repositories(repos));
	for (size_t i = 0; i < count; i++) {
		struct json_object *row = json_object_new_object();
		pkg_autofree char *name =
			packages[i].repo ? repo_name(repos, packages[i].repo) : NULL;

		pkg_json_set_str(row, "Package", packages[i].name);
		pkg_json_set_str(row, "Version", packages[i].version);
		pkg_json_set_str(row, "Source", "Repository");
		if (name)
			pkg_json_set_str(row, "Repository", name);
		pkg_json_set(rows, packages[i].name, row);
	}
	pkg_json_set(lock, "R", r);
	pkg_json_set(lock, "Packages", rows);
	return pkg_xasprintf("%s\n",
		json_object_to_json_string_ext(lock,
			JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE |
				JSON_C_TO_STRING_SPACED));
}
