/* core/home.h - where everything is.
 * Purpose    One function decides all directories: PKGD_HOME=DIR puts all under DIR (config, data,
 *            state, cache, run); else root's daemon started with --system uses /etc/pkgd,
 *            /var/lib/pkgd, /var/cache/pkgd, /run/pkgd; else the XDG base directories
 *            (XDG Base Directory Specification 0.8). Every path is canonical: no symlink in it.
 * Ownership  The struct owns its strings.
 * Errors     PKG_E_INVALID for a relative or over-broad PKGD_HOME, a relative PKGD_LIBEXEC or
 *            PKGD_DATADIR, or no HOME where one is needed. On failure *out is left as it was.
 */
#ifndef CORE_HOME_H
#define CORE_HOME_H
#include "core/argv.h"
#include "core/error.h"
#include <stdbool.h>

struct pkg_home {
	char *config; /* pkgd.json lives here */
	char *data; /* envs/, generations/, trash/ */
	char *state; /* state.db, jobs/, locks/ */
	char *cache; /* files/, wheels/, pip/, http/ */
	char *run; /* pkgd.sock, control.sock, daemon.lock */
	char *libexec; /* pkg-worker, pkg-proxy, pkg-shim, pkg-unpack; PKGD_LIBEXEC overrides */
	char *share; /* envs/ scripts, hosts, default policy; PKGD_DATADIR overrides */
	char *user_home; /* HOME of the user who runs us, or NULL: for the over-broad rule */
	bool system;
	struct pkg_argv *exported; /* owned; NAME=VALUE, what pkg_home_export() gives */
};

int pkg_home_find(bool system, struct pkg_home *out, struct pkg_error *err);
void pkg_home_clear(struct pkg_home *home);
#define pkg_cleanup_home __attribute__((cleanup(pkg_home_clear)))
/* Makes the directories that the daemon and worker write to, with the ones named above in them,
 * mode 0700. PKG_E_PERMISSION when one that is there belongs to another user or others may write to
 * it. */
int pkg_home_make(const struct pkg_home *home, struct pkg_error *err);
/* The environment a child needs to find the same home, appended to env: PKGD_HOME, or PKGD_SYSTEM=1
 * (which pkg_home_find() takes for system), or the XDG variables; HOME; PKGD_LIBEXEC and
 * PKGD_DATADIR. */
void pkg_home_export(const struct pkg_home *home, struct pkg_argv *env);
#endif
