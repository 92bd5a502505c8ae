#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/file.h"
#include "core/path.h"
#include "core/url.h"
#include "lang/metadata.h"
#include "lang/pep503.h"
#include "lang/pep508.h"
#include "lang/python.h"

#define DIRECT_URL_MAX (64 * 1024)
#define DEPTH_MAX 64
#define ROUNDS_MAX 16

/* What one installed distribution says it needs, read once and only when it is asked for. */
struct dist {
	const struct store_package *package;
	bool loaded;
	bool readable; /* all of it could be read and parsed */
	struct lang_requirement *needs; /* owned */
	size_t count;
	struct pkg_argv *extras; /* owned; normalised; "" is the distribution itself */
};

struct graph {
	const struct lang_env *env;
	const struct store_package_list *packages;
	struct dist *dists; /* owned; one for each package */
	struct lang_marker_env markers;
	int tree; /* -1: its directory is not there */
};
#define cleanup_graph __attribute__((cleanup(graph_clear)))

static void
graph_open(
	struct graph *graph, const struct lang_env *env, const struct store_package_list *packages)
{
	*graph = (struct graph){ .env = env, .packages = packages };
	graph->tree = pkg_dir_open(env->tree, NULL);
	graph->dists = pkg_xcalloc(packages->count + 1, sizeof(*graph->dists));
	lang_python_marker_env(env->facts, &graph->markers);
	for (size_t i = 0; i < packages->count; i++) {
		graph->dists[i].package = &packages->items[i];
		graph->dists[i].extras = pkg_argv_new();
	}
}

static void
graph_clear(struct graph *graph)
{
	for (size_t i = 0; graph->dists && i < graph->packages->count; i++) {
		for (size_t j = 0; j < graph->dists[i].count; j++)
			lang_requirement_clear(&graph->dists[i].needs[j]);
		free(graph->dists[i].needs);
		pkg_argv_free(graph->dists[i].extras);
	}
	free(graph->dists);
	pkg_close(&graph->tree);
}

static struct dist *
graph_find(struct graph *graph, const char *key)
{
	const struct store_package *package = store_package_find(graph->packages, key);

	return package ? &graph->dists[package - graph->packages->items] : NULL;
}

static int
read_beside(const struct graph *graph, const struct store_package *package, const char *name,
	size_t max, struct pkg_buf *out)
{
	pkg_autofree char *path = pkg_path_join(package->location, name);

	if (!package->owned)
		return pkg_file_read(path, max, out, NULL);
	return graph->tree < 0 ? -1 : pkg_file_read_beneath(graph->tree, path, max, out, NULL);
}

/* A file that could not be read leaves the distribution unreadable: then nobody knows what it needs. */
static void
load(const struct graph *graph, struct dist *dist)
{
	lang_cleanup_metadata struct lang_metadata metadata = { 0 };
	pkg_cleanup_buf struct pkg_buf text = { 0 };
	const struct pkg_argv *lines;

	if (dist->loaded)
		return;
	dist->loaded = true;
	if (!dist->package->location ||
		read_beside(graph, dist->package, "METADATA", LANG_METADATA_HEAD_MAX, &text) < 0 ||
		lang_metadata_parse(pkg_buf_str(&text), text.len, &metadata, NULL) < 0)
		return;
	lines = metadata.requires_dist;
	dist->needs = pkg_xcalloc(lines->count + 1, sizeof(*dist->needs));
	for (size_t i = 0; i < lines->count; i++) {
		if (lang_requirement_parse(lines->items[i], &dist->needs[dist->count], NULL) < 0)
			return;
		dist->count++;
	}
	dist->readable = true;
}

/* The requirement applies for the distribution asked for with that extra ("": with none). */
static bool
applies(const struct graph *graph, const struct lang_requirement *need, const char *extra)
{
	bool result = true;

	if (need->marker &&
		lang_marker_evaluate(
			need->marker, &graph->markers, *extra ? extra : NULL, &result, NULL) < 0)
		return true;
	return result;
}

static bool
is_same_url(const char *a, const char *b)
{
	pkg_cleanup_url struct pkg_url ua = { 0 };
	pkg_cleanup_url struct pkg_url ub = { 0 };

	return pkg_url_parse(a, &ua, NULL) == 0 && pkg_url_parse(b, &ub, NULL) == 0 &&
		strcmp(ua.scheme, ub.scheme) == 0 && strcmp(ua.host, ub.host) == 0 &&
		ua.port == ub.port && strcmp(ua.path, ub.path) == 0;
}

/* "#sha256=..." of what is asked for, against what was installed. */
static bool
is_same_hash(const char *url, struct json_object *direct)
{
	struct json_object *archive = pkg_json_get(direct, "archive_info");
	struct json_object *hashes = archive ? pkg_json_get(archive, "hashes") : NULL;
	const char *fragment = strchr(url, '#');
	const char *wanted = fragment ? strstr(fragment, "sha256=") : NULL;
	const char *found = hashes ? pkg_json_str(hashes, "sha256") : NULL;
	const char *old = archive ? pkg_json_str(archive, "hash") : NULL;

	if (!wanted)
		return true;
	wanted += strlen("sha256=");
	if (!found && old && strncmp(old, "sha256=", 7) == 0)
		found = old + 7;
	return found && strlen(found) == strcspn(wanted, "&") &&
		strncasecmp(found, wanted, strlen(found)) == 0;
}

static bool
came_from(const struct graph *graph, const struct store_package *package, const char *url)
{
	pkg_cleanup_buf struct pkg_buf text = { 0 };
	pkg_cleanup(pkg_json_put) struct json_object *direct = NULL;

	if (!package->owned || !package->location ||
		read_beside(graph, package, "direct_url.json", DIRECT_URL_MAX, &text) < 0)
		return false;
	direct = pkg_json_parse(pkg_buf_str(&text), text.len, NULL);
	return direct && json_object_is_type(direct, json_type_object) &&
		is_same_url(pkg_json_str_or(direct, "url", ""), url) && is_same_hash(url, direct);
}

/* An installed pre-release satisfies a specifier that would not have chosen it, as pip has it. */
static bool
is_version_met(const struct lang_requirement *need, const struct store_package *package)
{
	struct lang_pep440_version version;

	if (need->versions.count == 0)
		return true;
	return lang_pep440_parse(package->version, &version, NULL) == 0 &&
		lang_pep440_set_match(&need->versions, &version, LANG_PEP440_PRE_ALLOW);
}

static bool meets(struct graph *graph, const struct lang_requirement *need, int depth);

static bool
meets_needs(struct graph *graph, struct dist *dist, const char *extra, int depth)
{
	if (pkg_argv_has(dist->extras, extra))
		return true;
	/* Before its needs are looked at: two that need each other are met together. */
	pkg_argv_add(dist->extras, extra);
	/* What is inherited belongs to the machine, and is as complete as the machine has it. */
	if (!dist->package->owned && !*extra)
		return true;
	load(graph, dist);
	if (!dist->readable)
		return false;
	for (size_t i = 0; i < dist->count; i++) {
		const struct lang_requirement *need = &dist->needs[i];

		if (!applies(graph, need, extra) || (*extra && applies(graph, need, "")))
			continue;
		if (!meets(graph, need, depth + 1))
			return false;
	}
	return true;
}

static bool
meets(struct graph *graph, const struct lang_requirement *need, int depth)
{
	struct dist *dist = graph_find(graph, need->normalized);

	if (!dist || depth > DEPTH_MAX || !is_version_met(need, dist->package))
		return false;
	if (need->kind != LANG_REQUIREMENT_INDEX && !came_from(graph, dist->package, need->url))
		return false;
	if (!meets_needs(graph, dist, "", depth))
		return false;
	for (size_t i = 0; i < need->extras->count; i++) {
		pkg_autofree char *extra = lang_pep503_normalize(need->extras->items[i]);

		if (!meets_needs(graph, dist, extra, depth))
			return false;
	}
	return true;
}

/* An inventory is a memory; the tree may have been deleted since (BEHAVIOURS D9). */
static bool
is_on_disk(const struct graph *graph, const struct store_package *package)
{
	const struct store_package_list one = { .items = (struct store_package *)package,
		.count = 1 };
	struct stat st;

	if (!package->location)
		return false;
	if (!package->owned)
		return stat(package->location, &st) == 0;
	return lang_python_check(graph->env, &one, false, NULL) == 0;
}

bool
lang_python_satisfied(const struct lang_env *env, const struct store_package_list *packages,
	const char *requirement)
{
	lang_cleanup_requirement struct lang_requirement need = { 0 };
	cleanup_graph struct graph graph = { .packages = packages, .tree = -1 };
	const struct dist *dist;

	if (lang_requirement_parse(requirement, &need, NULL) < 0)
		return false;
	graph_open(&graph, env, packages);
	if (!applies(&graph, &need, ""))
		return true;
	dist = graph_find(&graph, need.normalized);
	return dist && meets(&graph, &need, 0) && is_on_disk(&graph, dist->package) &&
		lang_python_healthy(env, NULL) == 0;
}

static bool
ask_extras(struct dist *dist, const struct lang_requirement *need)
{
	bool grew = false;

	for (size_t i = 0; dist && i < need->extras->count; i++) {
		pkg_autofree char *extra = lang_pep503_normalize(need->extras->items[i]);

		if (pkg_argv_has(dist->extras, extra))
			continue;
		pkg_argv_add(dist->extras, extra);
		grew = true;
	}
	return grew;
}

static bool
is_needed(const struct graph *graph, const struct dist *dist, const struct lang_requirement *need)
{
	for (size_t i = 0; i < dist->extras->count; i++)
		if (applies(graph, need, dist->extras->items[i]))
			return true;
	return false;
}

/* Which extras of each are in use: those that somebody asked for, and those that others need. */
static void
find_extras(struct graph *graph)
{
	bool grew = true;

	for (size_t i = 0; i < graph->packages->count; i++) {
		lang_cleanup_requirement struct lang_requirement asked = { 0 };
		struct dist *dist = &graph->dists[i];
		const char *text = dist->package->requirement;

		pkg_argv_add(dist->extras, "");
		if (text && lang_requirement_parse(text, &asked, NULL) == 0)
			ask_extras(dist, &asked);
	}
	for (int round = 0; grew && round < ROUNDS_MAX; round++) {
		grew = false;
		for (size_t i = 0; i < graph->packages->count; i++) {
			const struct dist *dist = &graph->dists[i];

			for (size_t j = 0; j < dist->count; j++)
				if (dist->needs[j].extras->count > 0 &&
					is_needed(graph, dist, &dist->needs[j]) &&
					ask_extras(graph_find(graph, dist->needs[j].normalized),
						&dist->needs[j]))
					grew = true;
		}
	}
}

static int
load_owned(struct graph *graph, const char *key, struct pkg_error *err)
{
	for (size_t i = 0; i < graph->packages->count; i++) {
		struct dist *dist = &graph->dists[i];

		if (!dist->package->owned)
			continue;
		load(graph, dist);
		if (dist->readable || strcmp(dist->package->key, key) == 0)
			continue;
		pkg_error_set(err, PKG_E_ENV_BROKEN,
			"what %s needs cannot be read from its METADATA", dist->package->name);
		return pkg_error_cure(err, "rebuild it from its history: pkg env repair %s",
			pkg_path_base(graph->env->prefix));
	}
	return 0;
}

int
lang_python_dependents(const struct lang_env *env, const struct store_package_list *packages,
	const char *key, struct pkg_argv *out, struct pkg_error *err)
{
	cleanup_graph struct graph graph = { .packages = packages, .tree = -1 };

	graph_open(&graph, env, packages);
	if (load_owned(&graph, key, err) < 0)
		return -1;
	find_extras(&graph);
	for (size_t i = 0; i < packages->count; i++) {
		const struct dist *dist = &graph.dists[i];
		bool needed = false;

		if (!dist->package->owned || strcmp(dist->package->key, key) == 0)
			continue;
		for (size_t j = 0; j < dist->count && !needed; j++)
			needed = strcmp(dist->needs[j].normalized, key) == 0 &&
				is_needed(&graph, dist, &dist->needs[j]);
		if (needed)
			pkg_argv_add(out, dist->package->key);
	}
	return 0;
}
