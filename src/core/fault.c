#include "core/fault.h"
#ifdef PKGD_FAULT_POINTS
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Passes of the one point that PKGD_FAULT names. The single piece of global state in core: a crash
 * point has to be callable from anywhere, and no release build contains it. */
static atomic_ulong passes;

static int
act(void)
{
	const char *action = getenv("PKGD_FAULT_ACTION");

	if (action && strcmp(action, "enospc") == 0)
		return ENOSPC;
	if (action && strcmp(action, "exit") == 0)
		_exit(1);
	/* SIGSTOP returns here once somebody sends SIGCONT; SIGKILL never does. */
	(void)kill(getpid(), action && strcmp(action, "stop") == 0 ? SIGSTOP : SIGKILL);
	return 0;
}

int
pkg_fault(const char *name)
{
	const char *wanted = getenv("PKGD_FAULT");
	size_t len = strlen(name);
	unsigned long nth = 1;

	if (!wanted || strncmp(wanted, name, len) != 0)
		return 0;
	if (wanted[len] == ':')
		nth = strtoul(wanted + len + 1, NULL, 10);
	else if (wanted[len] != '\0')
		return 0;
	return atomic_fetch_add(&passes, 1) + 1 == nth ? act() : 0;
}
#endif
