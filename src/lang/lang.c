#include "lang/lang.h"

#include <stdlib.h>
#include <string.h>

void
lang_candidate_list_clear(struct lang_candidate_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		free(list->items[i].path);
		free(list->items[i].origin);
		pkg_json_put(list->items[i].facts);
		pkg_argv_free(list->items[i].reasons);
	}
	free(list->items);
	*list = (struct lang_candidate_list){ 0 };
}

void
lang_dist_clear(struct lang_dist *dist)
{
	char *const texts[] = { dist->name, dist->key, dist->version, dist->requirement, dist->file,
		dist->url, dist->index, dist->sha256, dist->source, dist->yanked_reason,
		dist->uploaded, dist->requires_python, dist->wheel_sha256,
		dist->system_note };

	for (size_t i = 0; i < PKG_ARRAY_LEN(texts); i++)
		free(texts[i]);
	for (size_t i = 0; i < dist->file_count; i++)
		free(dist->files[i].path);
	free(dist->files);
	*dist = (struct lang_dist){ 0 };
}

void
lang_resolution_clear(struct lang_resolution *resolution)
{
	for (size_t i = 0; i < resolution->count; i++)
		lang_dist_clear(&resolution->items[i]);
	free(resolution->items);
	free(resolution->engine);
	*resolution = (struct lang_resolution){ 0 };
}

struct lang_dist *
lang_resolution_add(struct lang_resolution *resolution)
{
	struct lang_dist *dist;

	resolution->items =
		pkg_xrealloc(resolution->items, resolution->count + 1, sizeof(*resolution->items));
	dist = &resolution->items[resolution->count++];
	*dist = (struct lang_dist){ .size = -1 };
	return dist;
}

static int
compare_dists(const void *a, const void *b)
{
	const struct lang_dist *x = a;
	const struct lang_dist *y = b;

	return strcmp(x->key, y->key);
}

void
lang_resolution_sort(struct lang_resolution *resolution)
{
	if (resolution->count > 1)
		qsort(resolution->items, resolution->count, sizeof(*resolution->items),
			compare_dists);
}
