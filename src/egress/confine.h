/* egress/confine.h - the proxy gives up what it has no use for.
 * Purpose    It reads hostile bytes from both sides, so that whoever gets control of it should have
 *            gained little: no privileges to regain, no capabilities, no program to execute, no
 *            process to touch, no file to write but the audit file that is open already, no core
 *            file, bounded memory. What it keeps is what it is for: sockets, and reading files (the
 *            name service needs many).
 * Ownership  None. Holds for the calling thread and those it creates later.
 * Errors     PKG_E_SANDBOX when a part that every supported kernel has is refused. Landlock is used
 *            where the kernel has it.
 */
#ifndef EGRESS_CONFINE_H
#define EGRESS_CONFINE_H
#include "core/error.h"

int egress_confine(struct pkg_error *err);
#endif
