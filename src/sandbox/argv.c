#include "sandbox/argv.h"

#include "core/path.h"
#include "sandbox/limits.h"
#include "sandbox/purpose.h"

#include <stdlib.h>
#include <string.h>

/* The policy, in the order in which bwrap is told:
 *
 *  1. Every namespace is new, the uid is an ordinary one, there are no capabilities, and the end of
 * the parent is the end of all.
 *  2. The root is empty but for an allowlist: /usr, the links of a merged /usr, our own /etc.
 *  3. /proc is new and read-only: without that, a daemon that runs as root would lend its uid to
 *     whoever is inside, and the files of /proc/sys belong to that uid. /dev holds six nodes and
 *     is read-only too; /dev/shm and /tmp are private and of bounded size.
 *  4. The tree at its prefix and the mounts, parents before children, so that none hides another.
 *  5. Masks, after every bind, so that none is uncovered again.
 *  6. The root, which only holds mount points, becomes read-only at the very end.
 */
struct entry {
	enum sandbox_mount_kind kind;
	const char *source;
	const char *target;
};

struct build {
	const struct sandbox_profile *profile;
	const struct sandbox_host *host;
	const struct sandbox_argv_fds *fds;
	struct entry *entries; /* owned; sorted by target */
	size_t count;
	struct pkg_argv *argv; /* owned until it is handed out */
	struct pkg_error *err; /* borrowed */
};

static bool
same(const char *a, const char *b)
{
	return strcmp(a, b) == 0;
}

static bool
is_plain(const char *path)
{
	pkg_autofree char *plain = path && path[0] == '/' ? pkg_path_normalize(path) : NULL;

	return plain && same(plain, path);
}

static int
refuse(const struct build *build, const char *what, const char *path, const char *why)
{
	return pkg_error_set(build->err, PKG_E_INVALID, "%s '%s' %s", what, path, why);
}

static bool
in_any(const struct pkg_argv *list, const char *path)
{
	for (size_t i = 0; list && i < list->count; i++) {
		if (pkg_path_contains(list->items[i], path))
			return true;
	}
	return false;
}

static bool
holds_any(const struct pkg_argv *list, const char *path)
{
	for (size_t i = 0; list && i < list->count; i++) {
		if (pkg_path_contains(path, list->items[i]))
			return true;
	}
	return false;
}

static int
check_source(const struct build *build, const struct entry *entry)
{
	const struct sandbox_host *host = build->host;
	bool writable = entry->kind == SANDBOX_MOUNT_RW;

	if (!is_plain(entry->source))
		return refuse(build, "mount", entry->source ? entry->source : "",
			"is not a resolved absolute path");
	if (pkg_path_is_broad(entry->source, host->user_home)) {
		refuse(build, "mount", entry->source, "is too broad to be shown in a sandbox");
		return pkg_error_cure(build->err, "name a directory below it");
	}
	if (in_any(host->refused, entry->source))
		return refuse(build, "mount", entry->source, "is where pkgd keeps what it guards");
	if (writable &&
		(in_any(host->frozen, entry->source) || holds_any(host->frozen, entry->source) ||
			holds_any(host->refused, entry->source))) {
		refuse(build, "writable mount", entry->source,
			"reaches pkgd's environments, store or sockets");
		return pkg_error_cure(build->err, "choose a directory that does not hold them");
	}
	return 0;
}

static int
check_target(const struct build *build, const struct entry *entry)
{
	bool device = entry->kind == SANDBOX_MOUNT_DEVICE;

	if (!is_plain(entry->target))
		return refuse(build, "mount target", entry->target ? entry->target : "",
			"is not a normal absolute path");
	if (pkg_path_is_broad(entry->target, build->host->user_home))
		return refuse(build, "mount target", entry->target, "is too broad");
	if (pkg_path_contains("/proc", entry->target) || pkg_path_contains("/sys", entry->target) ||
		pkg_path_contains("/pkgd", entry->target) ||
		pkg_path_contains(SANDBOX_HOME, entry->target))
		return refuse(build, "mount target", entry->target, "is the sandbox's own");
	if (device != pkg_path_contains("/dev", entry->target))
		return refuse(build, "mount target", entry->target,
			device ? "is a device outside /dev" : "is in /dev and no device");
	return 0;
}

/* By component, so that a parent comes right before its children: '/' sorts below everything. */
static int
compare_targets(const void *a, const void *b)
{
	const char *x = ((const struct entry *)a)->target;
	const char *y = ((const struct entry *)b)->target;

	while (*x && *x == *y) {
		x++;
		y++;
	}
	if (*x == *y)
		return 0;
	if (*x == '\0' || *y == '\0')
		return *x ? 1 : -1;
	if (*x == '/' || *y == '/')
		return *x == '/' ? -1 : 1;
	return (unsigned char)*x < (unsigned char)*y ? -1 : 1;
}

static void
add_entry(struct build *build, enum sandbox_mount_kind kind, const char *source, const char *target)
{
	build->entries = pkg_xrealloc(build->entries, build->count + 1, sizeof(*build->entries));
	build->entries[build->count++] = (struct entry){ kind, source, target };
}

static bool
shows_same(const struct entry *outer, const struct entry *inner)
{
	const char *rest = inner->target + strlen(outer->target);
	size_t len = strlen(outer->source);

	return strncmp(outer->source, inner->source, len) == 0 && same(inner->source + len, rest);
}

/* The innermost bind among the first n entries that holds the path. */
static const struct entry *
enclosing(const struct build *build, size_t n, const char *path)
{
	while (n-- > 0) {
		if (pkg_path_contains(build->entries[n].target, path))
			return &build->entries[n];
	}
	return NULL;
}

/* A read-only bind that adds nothing: its parent shows the same files at the same place already,
 * read-only (one more bind costs a reading of the mount table) or writable (then it would take that
 * away). */
static bool
is_redundant(const struct build *build, size_t n, const struct entry *entry)
{
	const struct entry *outer = enclosing(build, n, entry->target);

	if (entry->kind != SANDBOX_MOUNT_RO)
		return false;
	if (!outer)
		return same(entry->source, entry->target) &&
			in_any(build->host->ro_binds, entry->target);
	return (outer->kind == SANDBOX_MOUNT_RO || outer->kind == SANDBOX_MOUNT_RW) &&
		shows_same(outer, entry);
}

/* Two at one target: the same files writable wins, different files are a mistake of the caller. */
static int
merge(const struct build *build, struct entry *kept, const struct entry *entry)
{
	bool binds = kept->source && entry->source && same(kept->source, entry->source);

	if (!binds && (kept->kind != entry->kind || kept->source || entry->source))
		return refuse(build, "mount target", entry->target, "is named twice");
	if (entry->kind == SANDBOX_MOUNT_RW)
		kept->kind = SANDBOX_MOUNT_RW;
	return 0;
}

static int
collect(struct build *build)
{
	const struct sandbox_profile *profile = build->profile;
	size_t kept = 0;

	if (profile->tree)
		add_entry(build, profile->tree_writable ? SANDBOX_MOUNT_RW : SANDBOX_MOUNT_RO,
			profile->tree, profile->prefix);
	for (size_t i = 0; i < profile->mount_count; i++) {
		const struct sandbox_mount *mount = &profile->mounts[i];

		if (mount->kind != SANDBOX_MOUNT_MASK)
			add_entry(build, mount->kind, mount->source,
				mount->target ? mount->target : mount->source);
	}
	if (build->count > 0)
		qsort(build->entries, build->count, sizeof(*build->entries), compare_targets);
	for (size_t i = 0; i < build->count; i++) {
		struct entry *entry = &build->entries[i];

		if (!is_plain(entry->target))
			return check_target(build, entry);
		if (!entry->source && entry->kind != SANDBOX_MOUNT_TMPFS)
			return check_source(build, entry);
		if (kept > 0 && same(build->entries[kept - 1].target, entry->target)) {
			if (merge(build, &build->entries[kept - 1], entry) < 0)
				return -1;
			continue;
		}
		if (!is_redundant(build, kept, entry))
			build->entries[kept++] = *entry;
	}
	build->count = kept;
	return 0;
}

static int
check_entries(const struct build *build)
{
	const struct sandbox_profile *profile = build->profile;

	for (size_t i = 0; i < build->count; i++) {
		const struct entry *entry = &build->entries[i];
		/* The one writable view of a generation that there is. */
		bool tree = profile->tree && entry->source && same(entry->source, profile->tree) &&
			same(entry->target, profile->prefix) &&
			(entry->kind == SANDBOX_MOUNT_RO || profile->tree_writable);

		if (check_target(build, entry) < 0)
			return -1;
		if (entry->kind == SANDBOX_MOUNT_TMPFS)
			continue;
		if (tree ? !is_plain(entry->source) ||
					pkg_path_is_broad(entry->source, build->host->user_home) ||
					in_any(build->host->refused, entry->source)
			 : check_source(build, entry) < 0)
			return tree ? refuse(build, "tree", entry->source, "cannot be shown") : -1;
	}
	return 0;
}

static void
add_namespaces(const struct build *build)
{
	const struct sandbox_argv_fds *fds = build->fds;
	struct pkg_argv *argv = build->argv;
	const struct {
		const char *option;
		int fd;
	} numbered[] = { { "--json-status-fd", fds->status_fd }, { "--sync-fd", fds->sync_fd },
		{ "--seccomp", fds->seccomp_fd } };

	pkg_argv_add(argv, build->host->bwrap, "--unshare-all", "--unshare-user", "--uid",
		SANDBOX_USER_ID, "--gid", SANDBOX_USER_ID, "--hostname", "sandbox", "--cap-drop",
		"ALL", "--die-with-parent");
	if (!build->profile->interactive)
		pkg_argv_add(argv, "--new-session");
	for (size_t i = 0; i < PKG_ARRAY_LEN(numbered); i++) {
		if (numbered[i].fd < 0)
			continue;
		pkg_argv_add(argv, numbered[i].option);
		pkg_argv_addf(argv, "%d", numbered[i].fd);
	}
}

static void
add_root(const struct build *build)
{
	const struct sandbox_host *host = build->host;
	struct pkg_argv *argv = build->argv;

	if (host->etc)
		pkg_argv_add(argv, "--ro-bind", host->etc, "/etc");
	for (size_t i = 0; i < host->ro_binds->count; i++)
		pkg_argv_add(argv, "--ro-bind", host->ro_binds->items[i], host->ro_binds->items[i]);
	/* At the system's place as well: R's libcurl knows no variable for it. */
	if (host->ca)
		pkg_argv_add(argv, "--ro-bind", host->ca, SANDBOX_CA);
	if (host->ca && host->system_ca)
		pkg_argv_add(argv, "--ro-bind", host->ca, host->system_ca);
	for (size_t i = 0; i + 1 < host->links->count; i += 2)
		pkg_argv_add(argv, "--symlink", host->links->items[i], host->links->items[i + 1]);
}

static void
add_tmpfs(const struct build *build, const char *mode, int64_t bytes, const char *target)
{
	struct pkg_argv *argv = build->argv;

	if (build->host->perms)
		pkg_argv_add(argv, "--perms", mode);
	if (build->host->sized_tmpfs) {
		pkg_argv_add(argv, "--size");
		pkg_argv_addf(argv, "%lld", (long long)bytes);
	}
	pkg_argv_add(argv, "--tmpfs", target);
}

static int64_t
tmp_bytes(const struct build *build)
{
	return sandbox_limits_tmp(build->profile, build->host->ram);
}

static void
add_own_mounts(const struct build *build)
{
	const struct sandbox_host *host = build->host;
	struct pkg_argv *argv = build->argv;

	pkg_argv_add(argv, "--proc", "/proc");
	for (size_t i = 0; host->proc_masks && i < host->proc_masks->count; i++)
		pkg_argv_add(argv, "--ro-bind", "/dev/null", host->proc_masks->items[i]);
	pkg_argv_add(argv, "--remount-ro", "/proc", "--dev", "/dev");
	for (size_t i = 0; i < build->count; i++) {
		const struct entry *entry = &build->entries[i];

		if (entry->kind == SANDBOX_MOUNT_DEVICE)
			pkg_argv_add(argv, "--dev-bind", entry->source, entry->target);
	}
	add_tmpfs(build, "1777", tmp_bytes(build), "/dev/shm");
	pkg_argv_add(argv, "--remount-ro", "/dev");
	add_tmpfs(build, "1777", tmp_bytes(build), "/tmp");
	if (host->perms)
		pkg_argv_add(argv, "--perms", "0700");
	pkg_argv_add(argv, "--dir", SANDBOX_HOME);
}

/* Where one of our programs is inside: in the root already, or bound at a place of its own. */
static const char *
add_program(const struct build *build, const char *program, const char *target)
{
	if (in_any(build->host->ro_binds, program))
		return program;
	pkg_argv_add(build->argv, "--ro-bind", program, target);
	return target;
}

static void
add_entries(const struct build *build)
{
	struct pkg_argv *argv = build->argv;

	for (size_t i = 0; i < build->count; i++) {
		const struct entry *entry = &build->entries[i];

		switch (entry->kind) {
		case SANDBOX_MOUNT_RO:
			pkg_argv_add(argv, "--ro-bind", entry->source, entry->target);
			break;
		case SANDBOX_MOUNT_RW:
			pkg_argv_add(argv, "--bind", entry->source, entry->target);
			break;
		case SANDBOX_MOUNT_TMPFS:
			add_tmpfs(build, "0700", tmp_bytes(build), entry->target);
			break;
		case SANDBOX_MOUNT_DEVICE:
		case SANDBOX_MOUNT_MASK:
			break;
		}
	}
}

static void
add_mask(struct pkg_argv *argv, bool directory, const char *target)
{
	/* Read-only as well, or it would be a hidden place to write to. */
	if (directory)
		pkg_argv_add(argv, "--tmpfs", target, "--remount-ro", target);
	else
		pkg_argv_add(argv, "--ro-bind", "/dev/null", target);
}

/* A secret of the host as one of the binds shows it. */
static int
mask_secret(const struct build *build, const char *secret, struct pkg_argv *done)
{
	size_t len = strlen(secret);
	bool directory = len > 1 && secret[len - 1] == '/';
	pkg_autofree char *path = pkg_xstrndup(secret, directory ? len - 1 : len);

	for (size_t i = 0; i < build->count; i++) {
		const struct entry *entry = &build->entries[i];
		pkg_autofree char *target = NULL;

		if (entry->kind != SANDBOX_MOUNT_RO && entry->kind != SANDBOX_MOUNT_RW)
			continue;
		if (!pkg_path_contains(entry->source, path))
			continue;
		target = pkg_path_join(entry->target, path + strlen(entry->source));
		if (same(target, entry->target))
			return refuse(build, "mount", path, "is a secret");
		/* Another bind is mounted over that place: it does not show this file. */
		if (enclosing(build, build->count, target) != entry || pkg_argv_has(done, target))
			continue;
		for (size_t j = i + 1; j < build->count; j++) {
			if (pkg_path_contains(target, build->entries[j].target))
				return refuse(build, "mount", build->entries[j].target,
					"is inside a directory that is kept hidden");
		}
		pkg_argv_add(done, target);
		add_mask(build->argv, directory, target);
	}
	return 0;
}

static int
add_masks(const struct build *build)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *done = pkg_argv_new();
	const struct sandbox_profile *profile = build->profile;

	for (size_t i = 0; build->host->masks && i < build->host->masks->count; i++) {
		if (mask_secret(build, build->host->masks->items[i], done) < 0)
			return -1;
	}
	for (size_t i = 0; i < profile->mount_count; i++) {
		const struct sandbox_mount *mount = &profile->mounts[i];

		if (mount->kind != SANDBOX_MOUNT_MASK)
			continue;
		if (!is_plain(mount->target) ||
			pkg_path_is_broad(mount->target, build->host->user_home))
			return refuse(build, "mask", mount->target ? mount->target : "",
				"is too broad or not a normal absolute path");
		if (pkg_argv_has(done, mount->target))
			continue;
		pkg_argv_add(done, mount->target);
		add_mask(build->argv, !mount->source, mount->target);
	}
	return 0;
}

static int
add_all(struct build *build)
{
	const struct sandbox_profile *profile = build->profile;
	const char *shim = NULL;
	const char *enter = NULL;

	add_namespaces(build);
	add_root(build);
	add_own_mounts(build);
	if (profile->shim_fd >= 0)
		shim = add_program(build, build->host->shim, SANDBOX_SHIM);
	if (profile->interactive)
		enter = add_program(build, build->host->enter, SANDBOX_ENTER);
	add_entries(build);
	if (add_masks(build) < 0)
		return -1;
	pkg_argv_add(build->argv, "--remount-ro", "/", "--chdir",
		profile->cwd ? profile->cwd : "/tmp", "--");
	if (enter)
		pkg_argv_add(build->argv, enter, "--terminal", "--");
	if (shim) {
		pkg_argv_add(build->argv, shim);
		pkg_argv_addf(build->argv, "%d", profile->shim_fd);
		pkg_argv_add(build->argv, "--port");
		pkg_argv_addf(build->argv, "%d", SANDBOX_PROXY_PORT);
		pkg_argv_add(build->argv, "--");
	}
	pkg_argv_add_all(build->argv, profile->command);
	return 0;
}

int
sandbox_argv(const struct sandbox_profile *profile, const struct sandbox_host *host,
	const struct sandbox_argv_fds *fds, struct pkg_argv **out, struct pkg_error *err)
{
	struct build build = { .profile = profile, .host = host, .fds = fds, .err = err };
	int rc;

	if (sandbox_purpose_check(profile, err) < 0)
		return -1;
	if (profile->cwd && !is_plain(profile->cwd))
		return refuse(&build, "directory", profile->cwd, "is not a normal absolute path");
	build.argv = pkg_argv_new();
	rc = collect(&build);
	if (rc == 0)
		rc = check_entries(&build);
	if (rc == 0)
		rc = add_all(&build);
	free(build.entries);
	if (rc < 0) {
		pkg_argv_free(build.argv);
		return -1;
	}
	*out = build.argv;
	return 0;
}
