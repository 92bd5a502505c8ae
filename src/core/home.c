#include "core/home.h"

#include "core/file.h"
#include "core/path.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* An empty variable counts as unset (XDG Base Directory Specification). */
static const char *
variable(const char *name)
{
	const char *value = getenv(name);

	return value && value[0] ? value : NULL;
}

void
pkg_home_clear(struct pkg_home *home)
{
	free(home->config);
	free(home->data);
	free(home->state);
	free(home->cache);
	free(home->run);
	free(home->libexec);
	free(home->share);
	free(home->user_home);
	pkg_argv_free(home->exported);
	*home = (struct pkg_home){ 0 };
}

/* The stable prefix of an environment is written into its files, so no symlink may be in it that
 * someone could point elsewhere later. */
static int
place(char **slot, const char *directory, const char *name, struct pkg_error *err)
{
	pkg_autofree char *path = pkg_path_join(directory, name);

	*slot = pkg_path_canonical(path, err);
	return *slot ? 0 : -1;
}

/* PKGD_HOME: everything below one directory. */
static int
find_below(const char *directory, struct pkg_home *out, struct pkg_error *err)
{
	pkg_autofree char *root = pkg_path_canonical(directory, err);

	if (!root)
		return pkg_error_prefix(err, "PKGD_HOME");
	if (pkg_path_is_broad(directory, getenv("HOME")) ||
		pkg_path_is_broad(root, out->user_home)) {
		pkg_error_set(err, PKG_E_INVALID, "PKGD_HOME '%s' is too broad", directory);
		return pkg_error_cure(err, "name a directory of its own, such as %s/pkgd",
			strcmp(root, "/") == 0 ? "/srv" : root);
	}
	pkg_argv_addf(out->exported, "PKGD_HOME=%s", root);
	if (place(&out->config, root, "config", err) < 0 ||
		place(&out->data, root, "data", err) < 0 ||
		place(&out->state, root, "state", err) < 0 ||
		place(&out->cache, root, "cache", err) < 0 ||
		place(&out->run, root, "run", err) < 0)
		return -1;
	return 0;
}

static int
find_system(struct pkg_home *out, struct pkg_error *err)
{
	pkg_argv_add(out->exported, "PKGD_SYSTEM=1");
	if (place(&out->config, "/etc", "pkgd", err) < 0 ||
		place(&out->data, "/var/lib", "pkgd", err) < 0 ||
		place(&out->state, out->data, "state", err) < 0 ||
		place(&out->cache, "/var/cache", "pkgd", err) < 0 ||
		place(&out->run, "/run", "pkgd", err) < 0)
		return -1;
	return 0;
}

/* One base directory; a relative value is ignored, as the specification says. */
static int
find_base(const char *name, const char *fallback, struct pkg_home *out, char **slot,
	struct pkg_error *err)
{
	const char *value = variable(name);
	pkg_autofree char *base = NULL;

	if (value && value[0] == '/') {
		base = pkg_path_canonical(value, err);
	} else if (!fallback) {
		return 0;
	} else if (!out->user_home) {
		pkg_error_set(err, PKG_E_INVALID, "neither PKGD_HOME nor HOME is set");
		return pkg_error_cure(err, "set PKGD_HOME to a directory of pkgd's own");
	} else {
		pkg_autofree char *path = pkg_path_join(out->user_home, fallback);

		base = pkg_path_canonical(path, err);
	}
	if (!base)
		return pkg_error_prefix(err, "%s", name);
	pkg_argv_addf(out->exported, "%s=%s", name, base);
	return place(slot, base, "pkgd", err);
}

static int
find_xdg(struct pkg_home *out, struct pkg_error *err)
{
	if (find_base("XDG_CONFIG_HOME", ".config", out, &out->config, err) < 0 ||
		find_base("XDG_DATA_HOME", ".local/share", out, &out->data, err) < 0 ||
		find_base("XDG_STATE_HOME", ".local/state", out, &out->state, err) < 0 ||
		find_base("XDG_CACHE_HOME", ".cache", out, &out->cache, err) < 0 ||
		find_base("XDG_RUNTIME_DIR", NULL, out, &out->run, err) < 0)
		return -1;
	return out->run ? 0 : place(&out->run, out->state, "run", err);
}

/* What was installed, unless the variable names another place (a build tree, tests). */
static int
find_installed(const char *name, const char *compiled, struct pkg_argv *exported, char **slot,
	struct pkg_error *err)
{
	const char *value = variable(name);

	*slot = pkg_path_canonical(value ? value : compiled, err);
	if (!*slot)
		return pkg_error_prefix(err, "%s", name);
	pkg_argv_addf(exported, "%s=%s", name, *slot);
	return 0;
}

int
pkg_home_find(bool system, struct pkg_home *out, struct pkg_error *err)
{
	pkg_cleanup_home struct pkg_home home = { 0 };
	const char *root = variable("PKGD_HOME");
	const char *marked = variable("PKGD_SYSTEM");
	const char *user = variable("HOME");
	int found;

	home.exported = pkg_argv_new();
	if (user && user[0] == '/') {
		home.user_home = pkg_path_canonical(user, NULL);
		if (!home.user_home)
			home.user_home = pkg_xstrdup(user);
		pkg_argv_addf(home.exported, "HOME=%s", home.user_home);
	}
	home.system = !root && (system || (marked && strcmp(marked, "1") == 0));
	if (root)
		found = find_below(root, &home, err);
	else if (home.system)
		found = find_system(&home, err);
	else
		found = find_xdg(&home, err);
	if (found < 0 ||
		find_installed("PKGD_LIBEXEC", PKGD_LIBEXECDIR, home.exported, &home.libexec, err) <
			0 ||
		find_installed("PKGD_DATADIR", PKGD_DATADIR, home.exported, &home.share, err) < 0)
		return -1;
	*out = home;
	home = (struct pkg_home){ 0 };
	return 0;
}

static int
make(const char *path, struct pkg_error *err)
{
	struct stat st;

	if (pkg_dir_make(path, 0700, err) < 0)
		return -1;
	if (lstat(path, &st) < 0)
		return pkg_error_errno(err, errno, "look at '%s'", path);
	/* Whoever may write here could put a socket, a job or an environment of their own in place.
	 */
	if (st.st_uid != geteuid() || (st.st_mode & (S_IWGRP | S_IWOTH))) {
		pkg_error_set(err, PKG_E_PERMISSION,
			"directory '%s' is not this user's alone (owner %ld, mode %04o)", path,
			(long)st.st_uid, (unsigned int)(st.st_mode & 07777));
		return pkg_error_cure(
			err, "give it to the user who runs pkgd and set its mode to 0700");
	}
	return 0;
}

int
pkg_home_make(const struct pkg_home *home, struct pkg_error *err)
{
	const struct {
		const char *directory;
		const char *name;
	} all[] = {
		{ home->data, "envs" },
		{ home->data, "generations" },
		{ home->data, "trash" },
		{ home->state, "jobs" },
		{ home->state, "locks" },
		{ home->cache, "files" },
		{ home->cache, "wheels" },
		{ home->cache, "pip" },
		{ home->cache, "http" },
	};

	/* /etc/pkgd belongs to the administrator. */
	if (!home->system && make(home->config, err) < 0)
		return -1;
	if (make(home->data, err) < 0 || make(home->state, err) < 0 || make(home->cache, err) < 0 ||
		make(home->run, err) < 0)
		return -1;
	for (size_t i = 0; i < PKG_ARRAY_LEN(all); i++) {
		pkg_autofree char *path = pkg_path_join(all[i].directory, all[i].name);

		if (make(path, err) < 0)
			return -1;
	}
	return 0;
}

void
pkg_home_export(const struct pkg_home *home, struct pkg_argv *env)
{
	pkg_argv_add_all(env, home->exported);
}
