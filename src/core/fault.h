/* core/fault.h - places where a test makes the program die.
 * Purpose    The crash matrix: PKGD_FAULT=NAME[:N] makes the Nth pass of that point (default 1) do
 *            what PKGD_FAULT_ACTION says: kill (SIGKILL to itself, default), stop (SIGSTOP), enospc
 *            (the point returns ENOSPC), exit. Compiled in only with --enable-fault-points; else
 *            PKG_FAULT(name) is the constant 0 and the names are not in the binary.
 * Ownership  None.
 * Errors     Returns an errno to be treated as the failure of the step that follows, or 0.
 */
#ifndef CORE_FAULT_H
#define CORE_FAULT_H
#ifdef PKGD_FAULT_POINTS
int pkg_fault(const char *name);
#define PKG_FAULT(name) pkg_fault(name)
#else
#define PKG_FAULT(name) 0
#endif
#endif
