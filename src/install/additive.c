/* Policy. "added" rows only tell what is new; every other row makes the change non-additive. Paths are looked
 * up in the tree on disk, not in RECORDs, so a file that nobody listed counts as taken too. At most
 * REASONS_PER_DIST rows of one kind are kept per distribution: the verdict needs one. */
#include "install/additive.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "core/file.h"

#define REASONS_PER_DIST 3

void
install_verdict_clear(struct install_verdict *verdict)
{
	for (size_t i = 0; i < verdict->count; i++) {
		free(verdict->reasons[i].name);
		free(verdict->reasons[i].detail);
	}
	free(verdict->reasons);
	*verdict = (struct install_verdict){ 0 };
}

static void
add_reason(struct install_verdict *out, const char *reason, const char *name, const char *detail)
{
	out->reasons = pkg_xrealloc(out->reasons, out->count + 1, sizeof(out->reasons[0]));
	out->reasons[out->count++] = (struct install_reason){
		reason,
		pkg_xstrdup(name),
		pkg_xstrdup(detail),
	};
	if (strcmp(reason, "added") != 0)
		out->additive = false;
}

static int
compare_reasons(const void *left, const void *right)
{
	const struct install_reason *a = left;
	const struct install_reason *b = right;
	int order = strcmp(a->name, b->name);

	if (order == 0)
		order = strcmp(a->reason, b->reason);
	if (order == 0 && a->detail != NULL && b->detail != NULL)
		order = strcmp(a->detail, b->detail);
	return order;
}

static void
judge_version(const struct install_change_set *set, const struct lang_dist *dist,
	struct install_verdict *out)
{
	const struct store_package *old = store_package_find(set->before, dist->key);
	pkg_autofree char *step = NULL;

	if (old == NULL) {
		add_reason(out, "added", dist->name, dist->version);
		return;
	}
	step = pkg_xasprintf("%s -> %s", old->version, dist->version);
	/* The same version from other bytes is a change as well (BEHAVIOURS D14). */
	add_reason(out, "version-changed", dist->name, step);
	if (!old->owned)
		add_reason(out, "shadows-inherited", dist->name, old->location);
}

/* A path that the distribution replaced by this change may reuse is not "overwritten". */
static bool
replaces_itself(const struct install_change_set *set, const struct lang_dist *dist)
{
	const struct store_package *old = store_package_find(set->before, dist->key);

	return old != NULL && old->owned;
}

/* Also where a file stands in the place of one of its directories, and where it cannot be told. */
static bool
is_taken(int tree, const char *path)
{
	return faccessat(tree, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT;
}

static void
judge_paths(const struct install_change_set *set, int tree, const struct lang_dist *dist,
	struct install_verdict *out)
{
	bool own = replaces_itself(set, dist);
	int taken = 0, startup = 0, shadow = 0;

	for (size_t i = 0; i < dist->file_count; i++) {
		const char *path = dist->files[i].path;
		const char *reason = set->ops->path_reason(set->env, path);
		pkg_autofree char *hidden = NULL;

		if (reason != NULL && startup++ < REASONS_PER_DIST)
			add_reason(out, reason, dist->name, path);
		if (!own && is_taken(tree, path) && taken++ < REASONS_PER_DIST)
			add_reason(out, "path-overwritten", dist->name, path);
		if (own)
			continue;
		hidden = set->ops->shadows(set->env, path);
		if (hidden != NULL && shadow++ < REASONS_PER_DIST)
			add_reason(out, "shadows-inherited", dist->name, hidden);
	}
}

static bool
is_told(const struct install_verdict *verdict, const char *name, const char *reason)
{
	size_t rows = 0;

	for (size_t i = 0; i < verdict->count; i++)
		rows += strcmp(verdict->reasons[i].reason, reason) == 0 &&
			strcmp(verdict->reasons[i].name, name) == 0;
	return rows >= REASONS_PER_DIST;
}

struct owner {
	const char *path;
	const struct lang_dist *dist;
};

static int
compare_owners(const void *left, const void *right)
{
	const struct owner *a = left;
	const struct owner *b = right;
	int order = strcmp(a->path, b->path);

	return order != 0 ? order : strcmp(a->dist->key, b->dist->key);
}

/* Two distributions of the same plan that would write one path: the second overwrites the first. */
static void
judge_shared_paths(const struct lang_resolution *after, struct install_verdict *out)
{
	pkg_autofree struct owner *owners = NULL;
	size_t count = 0;

	for (size_t i = 0; i < after->count; i++)
		count += after->items[i].file_count;
	owners = pkg_xcalloc(count + 1, sizeof(*owners));
	count = 0;
	for (size_t i = 0; i < after->count; i++)
		for (size_t j = 0; j < after->items[i].file_count; j++)
			owners[count++] =
				(struct owner){ after->items[i].files[j].path, &after->items[i] };
	qsort(owners, count, sizeof(*owners), compare_owners);
	for (size_t i = 1; i < count; i++) {
		if (strcmp(owners[i - 1].path, owners[i].path) != 0 ||
			owners[i].dist == owners[i - 1].dist ||
			is_told(out, owners[i].dist->name, "path-overwritten"))
			continue;
		add_reason(out, "path-overwritten", owners[i].dist->name, owners[i].path);
	}
}

void
install_additive(const struct install_change_set *set, struct install_verdict *out)
{
	pkg_autofd int tree = pkg_dir_open(set->env->tree, NULL);

	*out = (struct install_verdict){ .additive = true };
	for (size_t i = 0; i < set->removed->count; i++) {
		const struct store_package *old =
			store_package_find(set->before, set->removed->items[i]);

		add_reason(out, "removed", old != NULL ? old->name : set->removed->items[i],
			old != NULL ? old->version : NULL);
	}
	for (size_t i = 0; i < set->after->count; i++) {
		const struct lang_dist *dist = &set->after->items[i];

		judge_version(set, dist, out);
		/* A source distribution shows its files only once it is built, after the card; the plan is
		 * made again then, and a verdict that changed asks again. */
		if (tree < 0 || (!dist->inspected && !dist->is_sdist))
			add_reason(out, "not-inspected", dist->name, dist->file);
		else
			judge_paths(set, tree, dist, out);
	}
	judge_shared_paths(set->after, out);
	if (out->count > 0)
		qsort(out->reasons, out->count, sizeof(out->reasons[0]), compare_reasons);
}
