/* sandbox/etc.h - the /etc that is seen inside.
 * Purpose    One private directory with copies of the few files of /etc that programs need and
 *            synthetic ones for what would tell who and where we are (users, hosts, name service).
 * One bind in place of thirty: bwrap reads the mount table again for each. Ownership  The path is
 * given to the caller. The directory stays: it is named by what went into it. Errors
 * pkg_error_errno() of the call that failed.
 */
#ifndef SANDBOX_ETC_H
#define SANDBOX_ETC_H
#include "core/argv.h"
#include "core/error.h"

/* etc: the directory to copy from ("/etc"); parent: where ours is made (a directory of our own). */
char *sandbox_etc_make(const char *etc, const char *parent, struct pkg_error *err);
/* The directories of certificates that are mounted over it, as names below /etc. They change in
 * place and are read as they are. */
extern const char *const sandbox_etc_binds[];
extern const size_t sandbox_etc_bind_count;
#endif
