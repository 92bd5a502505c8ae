/* sandbox/cgroup.h - memory and processes kept by the kernel, where it lets us.
 * Purpose    A cgroup v2 of its own for each run, below one that was delegated to us (systemd's
 *            Delegate=yes, a user's session). Without one the watchdog of sandbox/watch.h does the
 * work. Ownership  struct sandbox_cgroup is a heap object; freeing it kills what is left in it and
 * removes it. Errors     NULL or -1 means "not here": never a reason to refuse a run.
 */
#ifndef SANDBOX_CGROUP_H
#define SANDBOX_CGROUP_H
#include "core/mem.h"
#include "sandbox/profile.h"

/* Given: a directory in which children with memory and pids control can be made; NULL when there is
 * none. mount is where cgroup v2 is mounted, self the text of /proc/self/cgroup. */
char *sandbox_cgroup_find(const char *mount, const char *self);
/* The same with this process's own facts. */
char *sandbox_cgroup_here(void);

struct sandbox_cgroup;
struct sandbox_cgroup *sandbox_cgroup_new(const char *parent, const struct sandbox_limits *limits);
void sandbox_cgroup_free(struct sandbox_cgroup *cgroup);
PKG_DEFINE_CLEANUP(struct sandbox_cgroup, sandbox_cgroup_free)
/* Its cgroup.procs: who writes "0" to it is in it. -1 when that cannot be. */
int sandbox_cgroup_open(const struct sandbox_cgroup *cgroup);
/* Whether the kernel killed something in it for its memory. */
bool sandbox_cgroup_oom(const struct sandbox_cgroup *cgroup);
#endif
