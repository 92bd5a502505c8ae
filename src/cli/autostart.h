/* cli/autostart.h - a daemon when none is listening.
 * Purpose    Start pkgd in a session of its own, its output in <state>/pkgd.log, and wait until its socket
 *            answers. A lock makes sure that of many commands that race only one starts one.
 * Ownership  Nothing is kept: the daemon outlives the command.
 * Errors     PKG_E_UNREACHABLE (exit 5) with what was found and the cure. The system's daemon is never started
 *            from here, nor any with PKGD_NO_START in the environment.
 */
#ifndef CLI_AUTOSTART_H
#define CLI_AUTOSTART_H
#include "core/error.h"
#include "core/home.h"

#define CLI_ASK_SOCKET "pkgd.sock"
#define CLI_CONTROL_SOCKET "control.sock"

/* 0 when somebody listens at <run>/pkgd.sock, afterwards at the latest. */
int cli_autostart(const struct pkg_home *home, struct pkg_error *err);
#endif
