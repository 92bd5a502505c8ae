/* sandbox/profile.h - what one run inside the boundary may see and do.
 * Purpose    The plain record from which sandbox_argv() makes a bubblewrap command line. It knows
 *            nothing of languages: an interpreter is a read-only mount, an environment a tree at
 * its stable prefix. Ownership  Everything in a profile is borrowed for the call. Errors     None
 * here; sandbox/argv.h refuses what is not allowed.
 */
#ifndef SANDBOX_PROFILE_H
#define SANDBOX_PROFILE_H
#include "core/argv.h"
#include <stdbool.h>
#include <stdint.h>

/* DESIGN.md section 6. Each purpose is a row of defaults (limits, may it write, may it have
 * network) in sandbox/purpose.c; a profile that asks for more than its row is refused. */
enum sandbox_purpose {
	SANDBOX_PROBE, /* run a foreign interpreter once, ask facts: nothing writable but /tmp */
	SANDBOX_PLAN, /* resolver: network by the proxy, a writable cache directory */
	SANDBOX_BUILD, /* package code: its own build directory writable, network only where named
			*/
	SANDBOX_APPLY, /* our helpers and the interpreter on staged bytes: no network, no package
			  code */
	SANDBOX_VERIFY, /* the environment's interpreter on the built tree: read-only, no network */
	SANDBOX_KERNEL, /* a person's command: tree read-only, one writable workspace */
	SANDBOX_PURPOSE_COUNT
};

enum sandbox_mount_kind {
	SANDBOX_MOUNT_RO, /* source read-only at target */
	SANDBOX_MOUNT_RW,
	SANDBOX_MOUNT_TMPFS, /* empty, writable, private; source is NULL */
	SANDBOX_MOUNT_MASK, /* hides target: a directory becomes empty, a file /dev/null; source
			       NULL */
	SANDBOX_MOUNT_DEVICE /* a device node, for GPU grants of the configuration */
};

struct sandbox_mount {
	enum sandbox_mount_kind kind;
	const char *source; /* absolute */
	const char *target; /* absolute; NULL: the same as source */
	bool optional; /* a missing source is left out instead of refused */
};

/* 0 means "the purpose's default", SANDBOX_UNLIMITED means none. */
#define SANDBOX_UNLIMITED INT64_MAX
struct sandbox_limits {
	int64_t wall_ms;
	int64_t cpu_s; /* RLIMIT_CPU per process */
	int64_t memory; /* bytes, over the whole tree of processes */
	int64_t processes;
	int64_t file_size; /* bytes, RLIMIT_FSIZE */
	int64_t open_files;
	int64_t disk; /* bytes under the writable mounts, above what was there at the start */
	int64_t output; /* bytes kept of each output stream */
};

struct sandbox_profile {
	enum sandbox_purpose purpose;
	const char *tree; /* an environment's tree on the host; NULL: none */
	const char *prefix; /* the stable prefix at which it appears */
	bool tree_writable; /* APPLY only */
	const struct sandbox_mount *mounts;
	size_t mount_count;
	const struct pkg_argv *command; /* items[0] absolute, as seen inside */
	const char *cwd; /* as seen inside; NULL: /tmp */
	const struct pkg_argv *env; /* NAME=VALUE added to the built environment; may be NULL */
	int shim_fd; /* socketpair end that pkg-shim sends its listener over; -1: no way out */
	/* What the command inherits beside its standard streams, each under its own number, all above 2;
	 * borrowed, duplicated for the child. Not for an interactive command. */
	const int *inherit_fds;
	size_t inherit_count;
	struct sandbox_limits limits;
	bool interactive; /* KERNEL: keep the caller's terminal, session and signals */
};
#endif
