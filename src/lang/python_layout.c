#include "lang/python_layout.h"

#include "core/path.h"
#include "core/text.h"
#include "lang/python_facts.h"
#include "lang/scan.h"

#include <stdlib.h>
#include <string.h>

void
lang_python_wheel_clear(struct lang_python_wheel *wheel)
{
	free(wheel->name);
	free(wheel->version);
	free(wheel->requires_python);
	free(wheel->dist_info);
	free(wheel->data);
	lang_entry_points_clear(&wheel->points);
	lang_record_clear(&wheel->files);
	*wheel = (struct lang_python_wheel){ 0 };
}

void
lang_python_layout_init(struct lang_python_layout *layout, struct json_object *facts,
	const char *prefix, const char *name)
{
	*layout = (struct lang_python_layout){
		.site = lang_python_site(facts),
		.platlib = lang_python_platlib(facts),
		.scripts = lang_python_scripts(facts),
		.data = lang_python_data(facts),
		.cache_tag = lang_python_cache_tag(facts),
		.headers = lang_python_headers(facts, name),
		.interpreter = pkg_path_join(prefix, lang_python_interpreter(facts)),
	};
}

void
lang_python_layout_clear(struct lang_python_layout *layout)
{
	free(layout->headers);
	free(layout->interpreter);
	*layout = (struct lang_python_layout){ 0 };
}

void
lang_python_items_clear(struct lang_python_items *items)
{
	for (size_t i = 0; i < items->count; i++)
		free(items->items[i].path);
	free(items->items);
	*items = (struct lang_python_items){ 0 };
}

/* All names come from the archive. */
static int
refuse(struct pkg_error *err, const char *path, const char *why)
{
	pkg_autofree char *shown = pkg_text_clean(path, strlen(path), 200, false);

	return pkg_error_set(err, PKG_E_ARCHIVE, "'%s' %s", shown, why);
}

/* What stands behind "directory/" in path; NULL when it is not in there. */
static const char *
below(const char *path, const char *directory)
{
	size_t len = directory ? strlen(directory) : 0;

	if (len == 0 || strncmp(path, directory, len) != 0 || path[len] != '/')
		return NULL;
	return path + len + 1;
}

/* "python", "python3.11", "python3.13t", but not "python-argcomplete-check". */
static bool
is_interpreter_name(const char *name)
{
	if (strncmp(name, "python", 6) != 0)
		return false;
	name += 6;
	name += strspn(name, "0123456789.");
	return *name == '\0' || (lang_is_alnum(*name) && name[1] == '\0');
}

static bool
is_one_of(const char *name, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

bool
lang_python_path_is_reserved(const char *path, const char *scripts)
{
	/* The last one is a name that venv of 3.14 makes. */
	static const char *const commands[] = { "activate", "activate.bat", "activate.csh",
		"activate.fish", "activate.nu", "activate.ps1", "Activate.ps1", "activate_this.py",
		"deactivate.bat", "\xf0\x9d\x9c\x8bthon" };
	static const char *const files[] = { "pyvenv.cfg", "lib64", ".gitignore" };
	const char *name = below(path, scripts);
	size_t len = strcspn(path, "/");

	for (size_t i = 0; i < PKG_ARRAY_LEN(files); i++)
		if (strlen(files[i]) == len && memcmp(path, files[i], len) == 0)
			return true;
	if (!name)
		return strcmp(path, scripts) == 0;
	/* A directory of such a name is in the way of the interpreter just as well. */
	{
		pkg_autofree char *first = pkg_xstrndup(name, strcspn(name, "/"));

		return is_interpreter_name(first) ||
			is_one_of(first, commands, PKG_ARRAY_LEN(commands));
	}
}

char *
lang_python_pyc_path(const char *path, const char *cache_tag)
{
	const char *base = pkg_path_base(path);
	size_t len = strlen(base);

	if (len <= 3 || strcmp(base + len - 3, ".py") != 0 || !*cache_tag)
		return NULL;
	return pkg_xasprintf("%.*s__pycache__/%.*s.%s.pyc", (int)(base - path), path,
		(int)(len - 3), base, cache_tag);
}

char *
lang_python_record_path(const char *site, const char *path)
{
	const char *inside = below(path, site);
	struct pkg_buf out = { 0 };
	size_t common = 0;

	if (inside)
		return pkg_xstrdup(inside);
	/* Whole components that both have are not climbed out of. */
	for (size_t i = 0; site[i] && site[i] == path[i]; i++)
		if (site[i] == '/')
			common = i + 1;
	for (const char *at = site + common; *at;) {
		pkg_buf_add(&out, "../");
		at += strcspn(at, "/");
		at += *at == '/';
	}
	pkg_buf_add(&out, path + common);
	return pkg_buf_steal(&out);
}

static const char *
root_of(const struct lang_python_layout *layout, const struct lang_python_wheel *wheel)
{
	return wheel->root_is_purelib ? layout->site : layout->platlib;
}

char *
lang_python_layout_dist_info(
	const struct lang_python_layout *layout, const struct lang_python_wheel *wheel)
{
	return pkg_path_join(root_of(layout, wheel), wheel->dist_info);
}

/* The scheme of an entry of the .data directory, and what stands behind it. */
static const char *
split_scheme(const char *in_data, char scheme[16])
{
	size_t len = strcspn(in_data, "/");

	if (len >= 16 || in_data[len] != '/' || in_data[len + 1] == '\0')
		return NULL;
	memcpy(scheme, in_data, len);
	scheme[len] = '\0';
	return in_data + len + 1;
}

bool
lang_python_entry_compiles(const struct lang_python_wheel *wheel, const char *entry)
{
	const char *in_data = below(entry, wheel->data);
	char scheme[16];
	size_t len = strlen(entry);

	if (len <= 3 || strcmp(entry + len - 3, ".py") != 0)
		return false;
	if (!in_data)
		return true;
	return split_scheme(in_data, scheme) &&
		(strcmp(scheme, "purelib") == 0 || strcmp(scheme, "platlib") == 0);
}

static const char *
directory_of_scheme(const struct lang_python_layout *layout, const char *scheme)
{
	if (strcmp(scheme, "purelib") == 0)
		return layout->site;
	if (strcmp(scheme, "platlib") == 0)
		return layout->platlib;
	if (strcmp(scheme, "scripts") == 0)
		return layout->scripts;
	if (strcmp(scheme, "headers") == 0)
		return layout->headers;
	return strcmp(scheme, "data") == 0 ? layout->data : NULL;
}

/* Metadata of another distribution would make it seem installed, or take its files away when this
 * one is removed. */
static bool
is_foreign_metadata(const char *path, const char *site, const char *dist_info)
{
	const char *inside = below(path, site);
	pkg_autofree char *top = inside ? pkg_xstrndup(inside, strcspn(inside, "/")) : NULL;

	if (!top || strcmp(top, dist_info) == 0)
		return false;
	for (char *at = top; *at; at++)
		*at = (char)(*at >= 'A' && *at <= 'Z' ? *at + 'a' - 'A' : *at);
	return pkg_text_has_suffix(top, ".dist-info") || pkg_text_has_suffix(top, ".egg-info") ||
		pkg_text_has_suffix(top, ".egg-link");
}

static int
check_path(const struct lang_python_layout *layout, const struct lang_python_wheel *wheel,
	const char *path, struct pkg_error *err)
{
	if (!pkg_path_is_confined(path, strlen(path)))
		return refuse(err, path, "is not a path inside an environment");
	if (lang_python_path_is_reserved(path, layout->scripts))
		return refuse(err, path, "belongs to the environment itself and to no package");
	if (is_foreign_metadata(path, layout->site, wheel->dist_info) ||
		is_foreign_metadata(path, layout->platlib, wheel->dist_info))
		return refuse(err, path, "would be metadata of another package");
	return 0;
}

/* Takes path. */
static int
add_item(struct lang_python_items *out, const struct lang_python_layout *layout,
	const struct lang_python_wheel *wheel, struct lang_python_item item, struct pkg_error *err)
{
	if (check_path(layout, wheel, item.path, err) < 0) {
		free(item.path);
		return -1;
	}
	if (out->count == out->cap) {
		out->cap = out->cap ? out->cap * 2 : 64;
		out->items = pkg_xrealloc(out->items, out->cap, sizeof(*out->items));
	}
	out->items[out->count++] = item;
	return 0;
}

/* EP, EP.exe, EP-script.py and EP.pya are what setuptools makes for entry point EP: the launcher
 * takes their place. */
static bool
is_wrapper(const struct lang_python_wheel *wheel, const char *name)
{
	static const char *const suffixes[] = { "", ".exe", "-script.py", ".pya" };

	for (size_t i = 0; i < wheel->points.count; i++) {
		const char *point = wheel->points.items[i].name;
		size_t len = strlen(point);

		if (strncmp(name, point, len) == 0 &&
			is_one_of(name + len, suffixes, PKG_ARRAY_LEN(suffixes)))
			return true;
	}
	return false;
}

/* What the wheel says about its own installation is not believed but written anew. */
static bool
is_rewritten(const struct lang_python_wheel *wheel, const char *entry)
{
	static const char *const names[] = { "RECORD", "INSTALLER", "REQUESTED",
		"direct_url.json" };
	const char *name = below(entry, wheel->dist_info);

	return name && is_one_of(name, names, PKG_ARRAY_LEN(names));
}

static const struct lang_record_entry *
find_file(const struct lang_python_wheel *wheel, const char *path)
{
	size_t low = 0, high = wheel->files.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = strcmp(path, wheel->files.entries[middle].path);

		if (order == 0)
			return &wheel->files.entries[middle];
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

/* Bytecode for this very interpreter that the wheel brings along, beside its source: it could be of
 * another program than the source that people read, and ours is made from that. */
static bool
is_own_bytecode(const struct lang_python_layout *layout, const struct lang_python_wheel *wheel,
	const char *entry)
{
	pkg_autofree char *suffix = NULL;
	pkg_autofree char *source = NULL;
	const char *base = pkg_path_base(entry);
	size_t directory = (size_t)(base - entry);
	size_t stem;

	if (!pkg_text_has_suffix(base, ".pyc") || directory < strlen("__pycache__/") ||
		strncmp(base - strlen("__pycache__/"), "__pycache__/", strlen("__pycache__/")) != 0)
		return false;
	suffix = pkg_xasprintf(".%s.pyc", layout->cache_tag);
	if (!pkg_text_has_suffix(base, suffix))
		return false;
	stem = strlen(base) - strlen(suffix);
	source = pkg_xasprintf(
		"%.*s%.*s.py", (int)(directory - strlen("__pycache__/")), entry, (int)stem, base);
	return find_file(wheel, source) && lang_python_entry_compiles(wheel, source);
}

static int
add_file(struct lang_python_items *out, const struct lang_python_layout *layout,
	const struct lang_python_wheel *wheel, const struct lang_record_entry *file,
	struct pkg_error *err)
{
	const char *in_data = below(file->path, wheel->data);
	const char *directory = root_of(layout, wheel);
	const char *rest = file->path;
	char scheme[16] = "";
	struct lang_python_item item = { .kind = LANG_PYTHON_LINK, .file = file };

	if (!pkg_path_is_confined(file->path, strlen(file->path)))
		return refuse(err, file->path, "is not a path inside a wheel");
	if (is_rewritten(wheel, file->path) || is_own_bytecode(layout, wheel, file->path))
		return 0;
	if (in_data) {
		rest = split_scheme(in_data, scheme);
		directory = rest ? directory_of_scheme(layout, scheme) : NULL;
		if (!directory)
			return refuse(err, file->path, "is in no scheme that a wheel can have");
	}
	if (strcmp(scheme, "scripts") == 0) {
		if (is_wrapper(wheel, rest))
			return 0;
		item.kind = LANG_PYTHON_SCRIPT;
	}
	item.path = pkg_path_join(directory, rest);
	if (add_item(out, layout, wheel, item, err) < 0)
		return -1;
	if (!lang_python_entry_compiles(wheel, file->path))
		return 0;
	item.kind = LANG_PYTHON_BYTECODE;
	item.path = lang_python_pyc_path(out->items[out->count - 1].path, layout->cache_tag);
	return item.path ? add_item(out, layout, wheel, item, err) : 0;
}

static int
add_launchers(struct lang_python_items *out, const struct lang_python_layout *layout,
	const struct lang_python_wheel *wheel, struct pkg_error *err)
{
	for (size_t i = 0; i < wheel->points.count; i++) {
		struct lang_python_item item = {
			.kind = LANG_PYTHON_LAUNCHER,
			.path = pkg_path_join(layout->scripts, wheel->points.items[i].name),
			.point = &wheel->points.items[i],
		};

		if (add_item(out, layout, wheel, item, err) < 0)
			return -1;
	}
	return 0;
}

static int
add_written(struct lang_python_items *out, const struct lang_python_layout *layout,
	const struct lang_python_wheel *wheel, bool requested, bool direct, struct pkg_error *err)
{
	const struct {
		enum lang_python_item_kind kind;
		const char *name;
		bool wanted;
	} written[] = { { LANG_PYTHON_INSTALLER, "INSTALLER", true },
		{ LANG_PYTHON_REQUESTED, "REQUESTED", requested },
		{ LANG_PYTHON_DIRECT_URL, "direct_url.json", direct },
		{ LANG_PYTHON_RECORD, "RECORD", true } };
	pkg_autofree char *directory = lang_python_layout_dist_info(layout, wheel);

	for (size_t i = 0; i < PKG_ARRAY_LEN(written); i++) {
		struct lang_python_item item = { .kind = written[i].kind };

		if (!written[i].wanted)
			continue;
		item.path = pkg_path_join(directory, written[i].name);
		if (add_item(out, layout, wheel, item, err) < 0)
			return -1;
	}
	return 0;
}

static int
compare_items(const void *a, const void *b)
{
	return strcmp(((const struct lang_python_item *)a)->path,
		((const struct lang_python_item *)b)->path);
}

static int
check_unique(const struct lang_python_items *items, struct pkg_error *err)
{
	for (size_t i = 1; i < items->count; i++)
		if (strcmp(items->items[i - 1].path, items->items[i].path) == 0)
			return refuse(err, items->items[i].path,
				"would be the place of two files of one wheel");
	return 0;
}

int
lang_python_items_make(const struct lang_python_layout *layout,
	const struct lang_python_wheel *wheel, bool requested, bool direct,
	struct lang_python_items *out, struct pkg_error *err)
{
	struct lang_python_items made = { 0 };
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < wheel->files.count; i++)
		rc = add_file(&made, layout, wheel, &wheel->files.entries[i], err);
	if (rc == 0)
		rc = add_launchers(&made, layout, wheel, err);
	if (rc == 0)
		rc = add_written(&made, layout, wheel, requested, direct, err);
	if (rc == 0) {
		qsort(made.items, made.count, sizeof(*made.items), compare_items);
		rc = check_unique(&made, err);
	}
	if (rc < 0) {
		lang_python_items_clear(&made);
		return -1;
	}
	*out = made;
	return 0;
}
