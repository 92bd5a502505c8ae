/* sandbox/scan.h - what a directory hides that is about to be writable inside.
 * Purpose    Hard links make a file writable in another place, sockets lead to whoever listens.
 * Ownership  Nothing is kept.
 * Errors     PKG_E_INVALID for what cannot be granted, and for whatever keeps us from knowing.
 */
#ifndef SANDBOX_SCAN_H
#define SANDBOX_SCAN_H
#include "core/argv.h"
#include "core/error.h"

/* BEHAVIOURS F22: every regular file below path that has several names has all of them there, else
 * PKG_E_INVALID (as for more than max_entries, more than max_ms, or anything that cannot be read).
 * Sockets below it are added to sockets: a socket works across the boundary, so each is masked. */
struct sandbox_scan {
	long max_entries;
	int max_ms;
};
#define SANDBOX_SCAN_DEFAULT                                                                       \
	{                                                                                          \
		.max_entries = 100000, .max_ms = 5000                                              \
	}
int sandbox_paths_scan(const char *path, const struct sandbox_scan *scan, struct pkg_argv *sockets,
	struct pkg_error *err);
#endif
