/* sandbox/watch.h - what the kernel does not limit per process, looked at while it runs.
 * Purpose    Memory and number of processes over all of a namespace, bytes written to its writable
 * mounts. Ownership  A heap object; the paths are copied. Errors     sandbox_watch_look(): -1 with
 * PKG_E_MEMORY, PKG_E_TOO_LARGE or PKG_E_DISK_FULL and what was measured.
 */
#ifndef SANDBOX_WATCH_H
#define SANDBOX_WATCH_H
#include "core/argv.h"
#include "core/error.h"
#include "sandbox/profile.h"
#include <sys/types.h>

struct sandbox_usage {
	int64_t memory; /* private pages of all processes and the tmpfs mounts */
	int64_t processes;
	int64_t threads;
	int64_t disk; /* bytes of files new or changed since the start; -1: not measured this time
		       */
};

struct sandbox_watch;
/* writable: host paths of the writable mounts. Now is the start. */
struct sandbox_watch *sandbox_watch_new(
	const struct sandbox_limits *limits, const struct pkg_argv *writable);
void sandbox_watch_free(struct sandbox_watch *watch);
PKG_DEFINE_CLEANUP(struct sandbox_watch, sandbox_watch_free)
/* init: the namespace's first process, pinned by the caller. Called every 200 ms or so; walks
 * directories only when the file system's free space says that it could matter, and seldom. */
int sandbox_watch_look(struct sandbox_watch *watch, pid_t init, struct pkg_error *err);
const struct sandbox_usage *sandbox_watch_usage(const struct sandbox_watch *watch);
/* Pure: private bytes from the text of /proc/PID/statm; -1 when it is not one. */
int64_t sandbox_watch_parse_statm(const char *text, int64_t page);
/* Pure: Pss_Anon plus Pss_Shmem of a smaps_rollup, in bytes; -1 when they are not there. */
int64_t sandbox_watch_parse_rollup(const char *text);
#endif
