/* core/process.h - the one place that forks.
 * Purpose    Start a child with exactly the descriptors, environment and limits named, wait for it,
 *            signal it, and put its end into words once.
 * Ownership  The spec is borrowed; struct pkg_process is a heap object that owns the pidfd and pipe
 *            ends. Dropping a live one kills its process group.
 * Errors     pkg_error_errno() of the exec (or of the step before it) when the program cannot be
 *            started, so a missing program is an error here, not an exit status 127. The caller is
 *            suspended until the exec and the child shares its memory until then, which is how it
 *            is known, and why starting a child costs a big process no more than a small one.
 */
#ifndef CORE_PROCESS_H
#define CORE_PROCESS_H
#include "core/argv.h"
#include "core/error.h"
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

struct pkg_rlimit {
	int resource; /* RLIMIT_... */
	rlim_t value; /* soft and hard; a lower hard limit that we may not raise stays */
};

struct pkg_process_spec {
	/* items[0] is an absolute path; the fds (all above 2) are inherited under their own
	 * numbers, and nothing else but the three standard streams is. */
	const struct pkg_argv *argv;
	const struct pkg_argv *env; /* NAME=VALUE; NULL: empty environment */
	const char *cwd; /* NULL: / */
	int stdin_fd; /* borrowed; -1: /dev/null */
	int stdout_fd; /* borrowed; -1: /dev/null; PKG_PROCESS_PIPE: a pipe for the parent */
	int stderr_fd; /* the same; PKG_PROCESS_STDOUT: wherever stdout goes */
	const struct pkg_rlimit *limits;
	size_t limit_count; /* RLIMIT_CORE is 0 in any case */
	bool new_session; /* setsid() instead of a process group of its own */
	bool foreground; /* stay in the caller's process group (a command at a terminal) */
	/* PR_SET_PDEATHSIG SIGKILL; the "parent" is the thread that spawned, so not from one that
	 * ends before the child should. */
	bool die_with_parent;
};
#define PKG_PROCESS_PIPE (-2)
#define PKG_PROCESS_STDOUT (-3)

struct pkg_process {
	pid_t pid;
	int pidfd;
	int stdout_fd; /* read end when PKG_PROCESS_PIPE, else -1 */
	int stderr_fd;
	bool group; /* it leads a process group of its own */
	bool reaped;
	int wait_status; /* once reaped */
	struct rusage usage; /* the same; with the descendants it waited for */
};

struct pkg_process *pkg_process_spawn(const struct pkg_process_spec *spec, struct pkg_error *err);
void pkg_process_free(struct pkg_process *process);
PKG_DEFINE_CLEANUP(struct pkg_process, pkg_process_free)
/* Waits at most timeout_ms (-1: for ever, 0: look). 1 ended, 0 still running, -1 error. */
int pkg_process_wait(struct pkg_process *process, int timeout_ms, struct pkg_error *err);
/* To the process group (foreground: to the process); one that is gone is not an error. Nothing is
 * sent once it is reaped: the number may be another's by then. */
void pkg_process_signal(struct pkg_process *process, int signal);
/* 0..255, or 128+N for signal N. */
int pkg_process_status(int wait_status);
/* "exit status 3", "killed by SIGKILL". Given. */
char *pkg_process_describe(int wait_status);
#endif
