#include "lang/mounts.h"

#include <stdlib.h>

void
lang_mounts_clear(struct lang_mounts *mounts)
{
	free(mounts->items);
	pkg_argv_free(mounts->strings);
	*mounts = (struct lang_mounts){ 0 };
}

/* The vector of strings may move, the strings do not. */
static const char *
keep(struct lang_mounts *mounts, const char *text)
{
	if (text == NULL)
		return NULL;
	if (mounts->strings == NULL)
		mounts->strings = pkg_argv_new();
	pkg_argv_add(mounts->strings, text);
	return mounts->strings->items[mounts->strings->count - 1];
}

static struct sandbox_mount *
add(struct lang_mounts *mounts, enum sandbox_mount_kind kind, const char *source,
	const char *target)
{
	struct sandbox_mount *mount;

	mounts->items = pkg_xrealloc(mounts->items, mounts->count + 1, sizeof(*mounts->items));
	mount = &mounts->items[mounts->count++];
	*mount = (struct sandbox_mount){
		.kind = kind,
		.source = keep(mounts, source),
		.target = keep(mounts, target),
	};
	return mount;
}

void
lang_mounts_add(struct lang_mounts *mounts, enum sandbox_mount_kind kind, const char *source,
	const char *target)
{
	(void)add(mounts, kind, source, target);
}

void
lang_mounts_add_optional(struct lang_mounts *mounts, enum sandbox_mount_kind kind,
	const char *source, const char *target)
{
	add(mounts, kind, source, target)->optional = true;
}
