/* sandbox/host.h - what this machine offers a sandbox.
 * Purpose    Facts read once (where bwrap is, which links a merged /usr has, which files of /etc
 *            exist), so that the argv builder can stay pure.
 * Ownership  The struct owns its strings.
 * Errors     PKG_E_SANDBOX with this machine's remedy when bwrap is missing.
 */
#ifndef SANDBOX_HOST_H
#define SANDBOX_HOST_H
#include "core/argv.h"
#include "core/error.h"
#include "core/home.h"
#include <stdbool.h>
#include <stdint.h>

struct sandbox_host {
	char *bwrap; /* absolute */
	char *bwrap_version; /* "0.8.0" */
	bool sized_tmpfs; /* bwrap knows --size (0.7) */
	bool perms; /* bwrap knows --perms (0.5) */
	char *shim; /* pkg-shim on the host */
	char *enter; /* pkg-enter: the launcher of interactive commands */
	char *probe; /* pkg-probe: the program of the boundary test */
	char *etc; /* our private copy of the allowed part of /etc, mounted at /etc; NULL: none */
	char *ca; /* a bundle of certificates to trust instead of the system's; NULL: those */
	char *system_ca; /* the file that holds the system's, in the allowlist root; NULL: none is known */
	struct pkg_argv
		*ro_binds; /* existing absolute paths of the allowlist root, in mount order */
	struct pkg_argv *links; /* pairs: target text, absolute link path (usr/bin, /bin) */
	char *user_home; /* for the over-broad rule; may be NULL */
	struct pkg_argv *masks; /* secrets that must never be visible, existing ones only; a
				 * directory's path ends with a slash */
	struct pkg_argv
		*proc_masks; /* files of /proc that this uid could read and no one inside may */
	struct pkg_argv
		*refused; /* directories that no mount may be in: sockets, database, locks */
	struct pkg_argv
		*frozen; /* directories that no mount may be writable in: environments, store */
	struct pkg_argv *searched; /* directories not searched for hard links again: caches that
				    * only sandboxes write to, and that may be very large */
	int64_t ram; /* bytes of memory of this machine */
	int cpus;
};
/* bwrap: a program to use, or NULL for the system's. After -1 *out holds what is known all the same
 * (a command may run without a boundary where that is configured); it is cleared by the caller
 * either way. */
int sandbox_host_read(const struct pkg_home *home, const char *bwrap, struct sandbox_host *out,
	struct pkg_error *err);
void sandbox_host_clear(struct sandbox_host *host);
/* The facts about the root alone, read from beneath a directory that stands for "/" (a test's own).
 */
void sandbox_host_read_root(const char *root, struct sandbox_host *out);
/* Pure: "bubblewrap 0.8.0" to its parts; -1 for any other text. */
int sandbox_host_parse_version(const char *text, int *major, int *minor);
#endif
