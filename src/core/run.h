/* core/run.h - run a child to its end.
 * Purpose    Drain both its streams, stop it by deadline, request or watchdog, and return when it
 *            ended.
 * Ownership  struct pkg_run is caller's storage; set the "in" part, read the "out" part, clear it.
 * Errors     -1 only when the child could not be started or watched; its own end is in wait_status.
 */
#ifndef CORE_RUN_H
#define CORE_RUN_H
#include "core/buf.h"
#include "core/process.h"
#include <stdint.h>

struct pkg_run {
	/* in */
	int timeout_ms; /* -1: none */
	size_t max_output; /* per stream kept; more is drained and dropped from the middle */
	int cancel_fd; /* borrowed; readable means stop now; -1: none */
	void (*on_output)(
		void *context, int stream, const char *data, size_t len); /* may be NULL */
	void *context;
	/* Called about every 200 ms while it runs; nonzero stops the child (watchdogs). May be
	 * NULL. */
	int (*on_tick)(void *context, pid_t pid);
	/* Replaces the TERM of a stop (kill a namespace's init first, say). May be NULL. */
	void (*on_stop)(void *context, struct pkg_process *process);
	/* out */
	struct pkg_buf out; /* stream 1 */
	struct pkg_buf err; /* stream 2 */
	int wait_status;
	bool timed_out;
	bool cancelled;
	bool stopped_by_tick;
	int64_t duration_ms;
	struct rusage usage; /* of the child and its waited-for descendants */
};
/* 1 MiB per stream, no deadline, nothing to cancel it. Zeroes would mean: no time, watch fd 0. */
#define PKG_RUN_INIT                                                                               \
	{                                                                                          \
		.timeout_ms = -1, .max_output = 1 << 20, .cancel_fd = -1                           \
	}
void pkg_run_clear(struct pkg_run *run);
#define pkg_cleanup_run __attribute__((cleanup(pkg_run_clear)))
/* Spawns with pipes for both streams (overriding the spec, but PKG_PROCESS_STDOUT merges them),
 * drains them, and returns when the process ended: open pipes held by a descendant delay it by 200
 * ms at most (BEHAVIOURS O49, A12). What is left of its process group is killed then. Stop order:
 * TERM, 500 ms, KILL, to the group. Over max_output a line "[... N bytes left out ...]" stands
 * between the two halves. 0 even when the status is not; -1 only if it could not be started or
 * watched. */
int pkg_process_run(
	const struct pkg_process_spec *spec, struct pkg_run *run, struct pkg_error *err);
#endif
