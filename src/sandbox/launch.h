/* sandbox/launch.h - start one sandbox and stay with it to its end.
 * Purpose    Descriptors, argv, environment and limits put together and run by core/run; the
 * processes pinned, watched, stopped, and gone when the call returns. Ownership  Everything is
 * borrowed for the call; run's "out" part is the caller's to clear. Errors     As sandbox_run(). A
 * boundary that could not be set up is PKG_E_SANDBOX with the cause's remedy, a profile that bwrap
 * cannot carry out PKG_E_INVALID.
 */
#ifndef SANDBOX_LAUNCH_H
#define SANDBOX_LAUNCH_H
#include "core/run.h"
#include "sandbox/cgroup.h"
#include "sandbox/host.h"
#include "sandbox/pin.h"
#include "sandbox/profile.h"

struct sandbox_launch {
	const struct sandbox_host *host;
	int seccomp_fd; /* borrowed; the sealed memfd */
	const char *cgroup; /* borrowed; a delegated cgroup to make children in; NULL: none */
};
/* The profile's paths and limits are resolved. */
int sandbox_launch(const struct sandbox_launch *launch, const struct sandbox_profile *profile,
	struct pkg_run *run, struct pkg_error *err);
int sandbox_launch_interactive(const struct sandbox_launch *launch,
	const struct sandbox_profile *profile, int *status, struct pkg_error *err);

/* What both kinds have in common. */
struct sandbox_start {
	struct pkg_argv *argv; /* owned; with the descriptors that bwrap inherits */
	struct pkg_argv *env; /* owned */
	size_t borrowed; /* descriptors of argv, its last ones, that are the profile's */
	struct sandbox_pin pin;
	struct sandbox_cgroup *cgroup; /* owned; NULL: none */
};
#define SANDBOX_START_INIT                                                                         \
	{                                                                                          \
		.pin = SANDBOX_PIN_INIT                                                            \
	}
void sandbox_start_clear(struct sandbox_start *start);
#define pkg_cleanup_start __attribute__((cleanup(sandbox_start_clear)))
int sandbox_start_prepare(const struct sandbox_launch *launch,
	const struct sandbox_profile *profile, struct sandbox_start *start, struct pkg_error *err);
/* After the spawn: our copies of the child's ends go, so that their closing can be seen. */
void sandbox_start_spawned(struct sandbox_start *start);
/* What bwrap left on stderr when it ended before the command was started. Always -1. */
int sandbox_launch_failed(
	const struct sandbox_launch *launch, const char *said, struct pkg_error *err);
#endif
