#include "lang/python_report.h"

#include <stdlib.h>
#include <string.h>

#include "core/sha256.h"
#include "core/text.h"
#include "core/url.h"
#include "lang/pep440.h"
#include "lang/pep503.h"
#include "lang/pep508.h"
#include "lang/wheelname.h"

#define SHOWN_MAX 300

/* --- one distribution --- */

static int
refuse(struct pkg_error *err, const char *what)
{
	return pkg_error_set(err, PKG_E_INVALID, "pip's report %s", what);
}

static int
read_metadata(struct json_object *row, struct lang_dist *dist, struct pkg_error *err)
{
	struct json_object *metadata = pkg_json_get(row, "metadata");
	const char *name = metadata ? pkg_json_str(metadata, "name") : NULL;
	const char *version = metadata ? pkg_json_str(metadata, "version") : NULL;
	const char *python = metadata ? pkg_json_str(metadata, "requires_python") : NULL;
	struct lang_pep440_version parsed;

	if (!name || !lang_pep503_is_name(name))
		return refuse(err, "has a package without a proper name");
	dist->name = pkg_xstrdup(name);
	dist->key = lang_pep503_normalize(name);
	if (!version || lang_pep440_parse(version, &parsed, NULL) < 0)
		return pkg_error_set(
			err, PKG_E_INVALID, "'%s' has no version that Python knows", name);
	dist->version = pkg_xstrdup(version);
	if (python)
		dist->requires_python = pkg_text_clean(python, strlen(python), SHOWN_MAX, false);
	return 0;
}

static int
read_url(struct json_object *info, struct lang_dist *dist, struct pkg_error *err)
{
	const char *url = pkg_json_str(info, "url");
	pkg_cleanup_url struct pkg_url parsed = { 0 };
	pkg_autofree char *bare = NULL;

	if (pkg_json_get(info, "vcs_info") || pkg_json_get(info, "dir_info")) {
		pkg_error_set(err, PKG_E_UNSUPPORTED,
			"'%s' would come from a %s, which has no hash that could be approved",
			dist->name,
			pkg_json_get(info, "vcs_info") ? "version control system" : "directory");
		return pkg_error_cure(err, "name a release file by its http(s) URL instead");
	}
	if (!url || pkg_url_parse(url, &parsed, NULL) < 0)
		return pkg_error_set(err, PKG_E_UNSUPPORTED,
			"'%s' would come from a place that is no http(s) URL", dist->name);
	bare = pkg_xstrndup(url, strcspn(url, "#"));
	dist->url = pkg_url_redact(bare);
	dist->file = pkg_url_basename(bare);
	if (!*dist->file || strcmp(dist->file, ".") == 0 || strcmp(dist->file, "..") == 0 ||
		strlen(dist->file) > LANG_FILE_NAME_MAX)
		return pkg_error_set(
			err, PKG_E_UNSUPPORTED, "the URL of '%s' names no file", dist->name);
	return 0;
}

/* "hashes" since pip 23.0, "hash" before it, both in between. */
static void
read_hash(struct json_object *info, struct lang_dist *dist)
{
	struct json_object *archive = pkg_json_get(info, "archive_info");
	struct json_object *hashes = archive ? pkg_json_get(archive, "hashes") : NULL;
	const char *hex = hashes ? pkg_json_str(hashes, "sha256") : NULL;
	const char *pair = archive ? pkg_json_str(archive, "hash") : NULL;

	if (!hex && pair && pkg_text_has_prefix(pair, "sha256="))
		hex = pair + strlen("sha256=");
	if (hex && pkg_sha256_is_hex(hex))
		dist->sha256 = pkg_xstrdup(hex);
}

/* An archive of a wheel that is another distribution than its name says would be approved as one
 * thing and be another. */
static int
check_wheel(const struct lang_dist *dist, struct pkg_error *err)
{
	lang_cleanup_wheel_name struct lang_wheel_name name = { 0 };
	struct lang_pep440_version version;

	if (lang_wheel_name_parse(dist->file, &name, err) < 0)
		return -1;
	if (lang_pep440_parse(dist->version, &version, err) < 0)
		return -1;
	if (strcmp(name.normalized, dist->key) != 0)
		return pkg_error_set(err, PKG_E_ARCHIVE, "'%s' says that it is '%s' inside",
			dist->file, dist->name);
	/* A local version label may be missing from one of them. */
	if (lang_pep440_compare_public(&name.version, &version) != 0)
		return pkg_error_set(err, PKG_E_ARCHIVE, "'%s' says that it is version '%s' inside",
			dist->file, dist->version);
	return 0;
}

static int
read_row(struct json_object *row, struct lang_dist *dist, struct pkg_error *err)
{
	struct json_object *info = pkg_json_get(row, "download_info");
	bool direct = pkg_json_bool(row, "is_direct", false);

	dist->size = -1;
	if (!info || !json_object_is_type(info, json_type_object))
		return refuse(err, "has a package without an origin");
	if (read_metadata(row, dist, err) < 0 || read_url(info, dist, err) < 0)
		return -1;
	read_hash(info, dist);
	dist->is_sdist = !pkg_text_has_suffix(dist->file, ".whl");
	dist->yanked = pkg_json_bool(row, "is_yanked", false);
	dist->source = pkg_xstrdup(direct ? "direct" : dist->is_sdist ? "sdist" : "wheel");
	return dist->is_sdist ? 0 : check_wheel(dist, err);
}

static int
read_rows(struct json_object *rows, struct lang_resolution *out, struct pkg_error *err)
{
	size_t count = json_object_array_length(rows);

	if (count > LANG_PYTHON_REPORT_ITEMS_MAX)
		return refuse(err, "has too many packages");
	for (size_t i = 0; i < count; i++) {
		struct json_object *row = json_object_array_get_idx(rows, i);

		if (!row || !json_object_is_type(row, json_type_object))
			return refuse(err, "has a package that is no object");
		if (read_row(row, lang_resolution_add(out), err) < 0)
			return -1;
	}
	lang_resolution_sort(out);
	for (size_t i = 1; i < out->count; i++)
		if (strcmp(out->items[i - 1].key, out->items[i].key) == 0)
			return pkg_error_set(err, PKG_E_INVALID, "pip's report has '%s' twice",
				out->items[i].key);
	return 0;
}

int
lang_python_report_parse(
	const char *text, size_t len, struct lang_resolution *out, struct pkg_error *err)
{
	pkg_cleanup(pkg_json_put) struct json_object *report = pkg_json_parse(text, len, err);
	struct json_object *rows;
	const char *version;
	int rc;

	if (!report)
		return pkg_error_prefix(err, "pip's report");
	if (!json_object_is_type(report, json_type_object) ||
		strcmp(pkg_json_str_or(report, "version", ""), "1") != 0)
		return refuse(err, "is of a format that is not known");
	rows = pkg_json_array(report, "install");
	version = pkg_json_str(report, "pip_version");
	if (!rows || !version)
		return refuse(err, "lacks its list of packages or pip's version");
	rc = read_rows(rows, out, err);
	if (rc == 0) {
		pkg_autofree char *clean = pkg_text_clean(version, strlen(version), 40, false);

		free(out->engine);
		out->engine = pkg_xasprintf("pip %s", clean);
	} else {
		lang_resolution_clear(out);
	}
	return rc;
}

/* --- what was asked for --- */

static struct lang_dist *
find(const struct lang_resolution *resolution, const char *key)
{
	for (size_t i = 0; i < resolution->count; i++)
		if (strcmp(resolution->items[i].key, key) == 0)
			return &resolution->items[i];
	return NULL;
}

/* "a>=1" and "a[x]<2" as "a[x]<2,>=1": what is recorded has to hold for a later upgrade. What cannot be
 * joined (a URL, a marker) stays what it was first. Given. */
static char *
join(const char *first, const char *second)
{
	lang_cleanup_requirement struct lang_requirement a = { 0 };
	lang_cleanup_requirement struct lang_requirement b = { 0 };
	lang_cleanup_requirement struct lang_requirement both = { 0 };
	pkg_autofree char *extras = NULL;
	pkg_autofree char *older = NULL;
	pkg_autofree char *newer = NULL;
	pkg_autofree char *text = NULL;

	if (lang_requirement_parse(first, &a, NULL) < 0 ||
		lang_requirement_parse(second, &b, NULL) < 0 || a.url || b.url || a.marker ||
		b.marker)
		return pkg_xstrdup(first);
	pkg_argv_add_all(a.extras, b.extras);
	extras = pkg_argv_join(a.extras, ",");
	older = lang_pep440_set_text(&a.versions);
	newer = lang_pep440_set_text(&b.versions);
	text = pkg_xasprintf("%s%s%s%s%s%s%s", a.name, *extras ? "[" : "", extras,
		*extras ? "]" : "", older, *older && *newer ? "," : "", newer);
	if (lang_requirement_parse(text, &both, NULL) < 0)
		return pkg_xstrdup(first);
	return lang_requirement_text(&both);
}

/* As it was asked for, but for credentials: it is shown and recorded. Given. */
static char *
presentable(struct lang_requirement *requirement, const char *text)
{
	char *bare;

	if (!requirement->url)
		return pkg_xstrdup(text);
	bare = pkg_url_redact(requirement->url);
	free(requirement->url);
	requirement->url = bare;
	return lang_requirement_text(requirement);
}

int
lang_python_report_asked(struct lang_resolution *resolution, const struct pkg_argv *requirements,
	struct pkg_error *err)
{
	for (size_t i = 0; i < requirements->count; i++) {
		lang_cleanup_requirement struct lang_requirement requirement = { 0 };
		pkg_autofree char *text = NULL;
		struct lang_dist *dist;

		if (lang_requirement_parse(requirements->items[i], &requirement, err) < 0)
			return -1;
		dist = find(resolution, requirement.normalized);
		if (!dist)
			continue;
		text = presentable(&requirement, requirements->items[i]);
		if (dist->requirement) {
			char *joined = join(dist->requirement, text);

			free(dist->requirement);
			dist->requirement = joined;
		} else {
			dist->requirement = pkg_steal_ptr(&text);
		}
	}
	return 0;
}

/* --- yanked --- */

void
lang_python_report_yanked(struct lang_resolution *resolution, const char *log)
{
	static const char mark[] = "is a yanked version: '";
	static const char reason_mark[] = "Reason for being yanked: ";

	while ((log = strstr(log, mark))) {
		const char *name = log + strlen(mark);
		size_t len = strcspn(name, "'\n");
		pkg_autofree char *key = lang_pep503_normalize_mem(name, len);
		struct lang_dist *dist = find(resolution, key);
		const char *next = strchr(name, '\n');

		log = name;
		if (!dist)
			continue;
		dist->yanked = true;
		if (!next || strncmp(next + 1, reason_mark, strlen(reason_mark)) != 0)
			continue;
		next += 1 + strlen(reason_mark);
		len = strcspn(next, "\n");
		if (len > 0 && strncmp(next, "<none given>", len) != 0 && !dist->yanked_reason)
			dist->yanked_reason = pkg_text_clean(next, len, SHOWN_MAX, false);
	}
}

/* --- hashes that were asked for --- */

/* "six==1.16.0 sha256:..." is of that distribution and version. */
static bool
is_of(const char *line, const struct lang_dist *dist)
{
	lang_cleanup_requirement struct lang_requirement requirement = { 0 };
	size_t len = strcspn(line, " \t");
	struct lang_pep440_version version;

	return lang_requirement_parse_mem(line, len, &requirement, NULL) == 0 &&
		strcmp(requirement.normalized, dist->key) == 0 &&
		lang_pep440_parse(dist->version, &version, NULL) == 0 &&
		lang_pep440_set_match(&requirement.versions, &version, LANG_PEP440_PRE_ALLOW);
}

static int
check_dist(const struct lang_dist *dist, const struct pkg_argv *hashes, struct pkg_error *err)
{
	pkg_autofree char *wanted = pkg_xasprintf("sha256:%s", dist->sha256 ? dist->sha256 : "");
	bool asked = false;

	for (size_t i = 0; i < hashes->count; i++) {
		if (!is_of(hashes->items[i], dist))
			continue;
		asked = true;
		if (dist->sha256 && strstr(hashes->items[i], wanted))
			return 0;
	}
	if (!asked)
		return 0;
	pkg_error_set(err, PKG_E_HASH,
		"'%s' has sha256 %s, which is not among the hashes given for it", dist->file,
		dist->sha256 ? dist->sha256 : "(unknown)");
	return pkg_error_cure(
		err, "nothing was installed; compare the file with its publisher's hash");
}

int
lang_python_report_check_hashes(const struct lang_resolution *resolution,
	const struct pkg_argv *hashes, struct pkg_error *err)
{
	for (size_t i = 0; hashes && i < resolution->count; i++)
		if (check_dist(&resolution->items[i], hashes, err) < 0)
			return -1;
	return 0;
}
