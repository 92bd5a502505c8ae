/* sandbox/unconfined.h - run without a boundary, where the configuration says so.
 * Purpose    Modes "off" and, when there is no boundary, "auto" (BEHAVIOURS F1): the same
 * environment, limits and deadline, the host's files and network. Nothing inside the argv builder
 * knows of it. Ownership  Everything is borrowed for the call. Errors     As pkg_process_run(), and
 * the limits that ended it.
 */
#ifndef SANDBOX_UNCONFINED_H
#define SANDBOX_UNCONFINED_H
#include "core/run.h"
#include "sandbox/host.h"
#include "sandbox/profile.h"

/* The profile's paths and limits are resolved. What it names as seen inside (command, directory,
 * environment) is put as it is on the host: a staged tree is not at its prefix out here. */
int sandbox_unconfined(const struct sandbox_host *host, const struct sandbox_profile *profile,
	struct pkg_run *run, struct pkg_error *err);
int sandbox_unconfined_interactive(const struct sandbox_host *host,
	const struct sandbox_profile *profile, int *status, struct pkg_error *err);
#endif
