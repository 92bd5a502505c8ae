/* core/identity.h - who a process is, beyond its number.
 * Purpose    pid + start time + boot id name a process for ever (BEHAVIOURS O141); a reused pid or
 *            a reboot does not match. Zombies count as gone.
 * Ownership  Plain records in caller's storage.
 * Errors     PKG_E_NOT_FOUND when there is no such process.
 */
#ifndef CORE_IDENTITY_H
#define CORE_IDENTITY_H
#include "core/error.h"
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define PKG_BOOT_ID 37

struct pkg_identity {
	pid_t pid;
	uint64_t start; /* field 22 of /proc/PID/stat, clock ticks since boot */
	char boot[PKG_BOOT_ID]; /* /proc/sys/kernel/random/boot_id */
};

int pkg_identity_of(pid_t pid, struct pkg_identity *out, struct pkg_error *err);
/* Also true when the process cannot be looked at: that is no proof of its end. */
bool pkg_identity_alive(const struct pkg_identity *identity);
/* Pure: the state letter and start time out of one /proc/PID/stat line (the name may hold
 * anything). */
int pkg_identity_parse_stat(const char *text, size_t len, char *state, uint64_t *start);
#endif
