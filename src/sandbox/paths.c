#include "sandbox/paths.h"

#include "core/path.h"
#include "sandbox/scan.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void
sandbox_paths_clear(struct sandbox_paths *paths)
{
	free(paths->mounts);
	pkg_argv_free(paths->strings);
	*paths = (struct sandbox_paths){ 0 };
}

/* Kept by the struct; the pointer stays good however the vector grows. */
static const char *
keep(struct sandbox_paths *paths, char *text)
{
	pkg_argv_take(paths->strings, text);
	return text;
}

static void
add_mount(struct sandbox_paths *paths, enum sandbox_mount_kind kind, const char *source,
	const char *target)
{
	size_t count = paths->profile.mount_count;

	paths->mounts = pkg_xrealloc(paths->mounts, count + 1, sizeof(*paths->mounts));
	paths->mounts[count] =
		(struct sandbox_mount){ .kind = kind, .source = source, .target = target };
	paths->profile.mount_count = count + 1;
}

static char *
normal(const char *path, const char *what, struct pkg_error *err)
{
	char *plain;

	if (!path || path[0] != '/') {
		pkg_error_set(err, PKG_E_INVALID, "%s '%s' is not an absolute path", what,
			path ? path : "");
		return NULL;
	}
	plain = pkg_path_normalize(path);
	if (!plain)
		pkg_error_set(err, PKG_E_INVALID, "%s '%s' is not a path", what, path);
	return plain;
}

static bool
inside(const struct pkg_argv *list, const char *path)
{
	for (size_t i = 0; list && i < list->count; i++) {
		if (pkg_path_contains(list->items[i], path))
			return true;
	}
	return false;
}

static int
grant_writable(struct sandbox_paths *paths, const char *source, const char *target,
	const struct sandbox_host *host, struct pkg_error *err)
{
	static const struct sandbox_scan limits = SANDBOX_SCAN_DEFAULT;
	pkg_cleanup(pkg_argv_free) struct pkg_argv *sockets = pkg_argv_new();

	add_mount(paths, SANDBOX_MOUNT_RW, source, target);
	/* The builder refuses these with their reason; searching the store first would only take
	 * long. */
	if (inside(host->searched, source) || inside(host->frozen, source) ||
		pkg_path_is_broad(source, host->user_home))
		return 0;
	if (sandbox_paths_scan(source, &limits, sockets, err) < 0)
		return -1;
	for (size_t i = 0; i < sockets->count; i++)
		add_mount(paths, SANDBOX_MOUNT_MASK, "/dev/null",
			keep(paths, pkg_path_join(target, sockets->items[i] + strlen(source))));
	return 0;
}

static int
add_resolved(struct sandbox_paths *paths, enum sandbox_mount_kind kind, const char *source,
	const char *target, const struct sandbox_host *host, struct pkg_error *err)
{
	if (kind == SANDBOX_MOUNT_RW)
		return grant_writable(paths, source, target, host, err);
	add_mount(paths, kind, source, target);
	return 0;
}

static int
resolve_bind(struct sandbox_paths *paths, const struct sandbox_mount *mount,
	const struct sandbox_host *host, struct pkg_error *err)
{
	char *spelled = normal(mount->source, "mount", err);
	const char *source;
	struct stat st;

	if (!spelled)
		return -1;
	keep(paths, spelled);
	if (stat(spelled, &st) < 0)
		return mount->optional && (errno == ENOENT || errno == ENOTDIR)
			? 0
			: pkg_error_set(
				  err, PKG_E_INVALID, "mount '%s': %s", spelled, strerror(errno));
	source = pkg_path_canonical(spelled, err);
	if (!source)
		return pkg_error_prefix(err, "mount");
	keep(paths, (char *)source);
	if (mount->target) {
		char *target = normal(mount->target, "mount target", err);

		return target
			? add_resolved(paths, mount->kind, source, keep(paths, target), host, err)
			: -1;
	}
	if (add_resolved(paths, mount->kind, source, source, host, err) < 0)
		return -1;
	/* BEHAVIOURS O207: programs go on using the spelling they were given. */
	return strcmp(source, spelled) == 0
		? 0
		: add_resolved(paths, mount->kind, source, spelled, host, err);
}

static int
resolve_mask(struct sandbox_paths *paths, const struct sandbox_mount *mount, struct pkg_error *err)
{
	char *target = normal(mount->target ? mount->target : mount->source, "mask", err);
	pkg_autofree char *outside = NULL;
	struct stat st;

	if (!target)
		return -1;
	keep(paths, target);
	outside = sandbox_paths_outside(&paths->profile, target);
	/* bwrap cannot make a mount point on a read-only mount; what is not there need not be
	 * hidden. */
	if (lstat(outside, &st) < 0)
		return 0;
	add_mount(paths, SANDBOX_MOUNT_MASK, S_ISDIR(st.st_mode) ? NULL : "/dev/null", target);
	return 0;
}

static int
resolve_mount(struct sandbox_paths *paths, const struct sandbox_mount *mount,
	const struct sandbox_host *host, struct pkg_error *err)
{
	char *target;

	switch (mount->kind) {
	case SANDBOX_MOUNT_RO:
	case SANDBOX_MOUNT_RW:
	case SANDBOX_MOUNT_DEVICE:
		return resolve_bind(paths, mount, host, err);
	case SANDBOX_MOUNT_TMPFS:
		target = normal(mount->target, "tmpfs", err);
		if (!target)
			return -1;
		add_mount(paths, mount->kind, NULL, keep(paths, target));
		return 0;
	case SANDBOX_MOUNT_MASK:
		return 0; /* last, when it is known what they cover */
	}
	return pkg_error_set(err, PKG_E_INVALID, "a mount of no known kind");
}

static int
resolve_tree(
	struct sandbox_paths *paths, const struct sandbox_profile *profile, struct pkg_error *err)
{
	char *tree;
	char *prefix;

	if (!profile->tree)
		return 0;
	tree = pkg_path_canonical(profile->tree, err);
	if (!tree)
		return pkg_error_prefix(err, "environment tree");
	paths->profile.tree = keep(paths, tree);
	prefix = normal(profile->prefix, "stable prefix", err);
	if (!prefix)
		return -1;
	paths->profile.prefix = keep(paths, prefix);
	return 0;
}

int
sandbox_paths_resolve(const struct sandbox_profile *profile, const struct sandbox_host *host,
	struct sandbox_paths *out, struct pkg_error *err)
{
	pkg_cleanup_sandbox_paths struct sandbox_paths paths = { .profile = *profile };

	paths.strings = pkg_argv_new();
	paths.profile.mounts = NULL;
	paths.profile.mount_count = 0;
	if (resolve_tree(&paths, profile, err) < 0)
		return -1;
	for (size_t i = 0; i < profile->mount_count; i++) {
		if (resolve_mount(&paths, &profile->mounts[i], host, err) < 0)
			return -1;
	}
	paths.profile.mounts = paths.mounts;
	for (size_t i = 0; i < profile->mount_count; i++) {
		if (profile->mounts[i].kind != SANDBOX_MOUNT_MASK)
			continue;
		if (resolve_mask(&paths, &profile->mounts[i], err) < 0)
			return -1;
		paths.profile.mounts = paths.mounts;
	}
	*out = paths;
	paths = (struct sandbox_paths){ 0 };
	return 0;
}

char *
sandbox_paths_outside(const struct sandbox_profile *profile, const char *path)
{
	const char *source = NULL;
	const char *target = NULL;

	if (profile->tree && pkg_path_contains(profile->prefix, path)) {
		source = profile->tree;
		target = profile->prefix;
	}
	for (size_t i = 0; i < profile->mount_count; i++) {
		const struct sandbox_mount *mount = &profile->mounts[i];
		const char *at = mount->target ? mount->target : mount->source;

		if (mount->kind == SANDBOX_MOUNT_MASK || !mount->source ||
			!pkg_path_contains(at, path) || (target && strlen(at) < strlen(target)))
			continue;
		source = mount->source;
		target = at;
	}
	if (!target)
		return pkg_xstrdup(path);
	return strcmp(path, target) == 0 ? pkg_xstrdup(source)
					 : pkg_path_join(source, path + strlen(target));
}

void
sandbox_paths_writable(const struct sandbox_profile *profile, struct pkg_argv *out)
{
	if (profile->tree && profile->tree_writable)
		pkg_argv_add(out, profile->tree);
	for (size_t i = 0; i < profile->mount_count; i++) {
		const struct sandbox_mount *mount = &profile->mounts[i];

		if (mount->kind == SANDBOX_MOUNT_RW && !pkg_argv_has(out, mount->source))
			pkg_argv_add(out, mount->source);
	}
}
