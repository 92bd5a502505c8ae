/* core/lock.h - flock(2) on files that are never unlinked.
 * Purpose    Liveness that the kernel keeps: a lock ends with its holder (BEHAVIOURS F46).
 * Ownership  The descriptor is given to the caller; closing it unlocks.
 * Errors     PKG_E_BUSY when another holds it and timeout_ms has passed.
 */
#ifndef CORE_LOCK_H
#define CORE_LOCK_H
#include "core/error.h"
#include <stdbool.h>

/* timeout_ms 0: try once, -1: wait for ever. Returns the descriptor or -1. */
int pkg_lock_take(const char *path, int timeout_ms, struct pkg_error *err);
bool pkg_lock_is_held(const char *path); /* by anyone; a missing file is not held */
#endif
