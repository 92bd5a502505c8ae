/* egress/session.h - one sandbox's way out, as the worker handles it.
 * Purpose    Starts a pkg-proxy for one sandbox and reads afterwards what it saw:
 *
 *              egress_session_start(libexec, rules, audit, &session, err)
 *              ... argv: bwrap ... -- LIBEXEC/pkg-shim <egress_session_shim_fd()> -- COMMAND
 *              ... pkg_argv_take_fd(argv, egress_session_steal_shim_fd(session))
 *              ... run it, free argv
 *              egress_session_finish(session, &rows, err)
 *
 *            Nothing has to be waited for: the shim opens the listener before COMMAND begins, and
 *            connections queue there until the proxy takes them.
 * Ownership  The session owns the proxy and, until it is stolen, the shim's descriptor. Once the
 *            sandbox has started, close the stolen one here (free the argv), so that a shim that
 *            died is noticed.
 * Errors     PKG_E_INVALID for rules that cannot be used (they are read here first, so that a job
 *            fails before its sandbox starts), errno kinds for what the system refuses. A failed
 *            start leaves nothing behind and may simply be tried again.
 */
#ifndef EGRESS_SESSION_H
#define EGRESS_SESSION_H
#include "core/error.h"
#include "core/mem.h"
#include "egress/audit.h"
#include "egress/limits.h" /* EGRESS_PORT, for HTTP_PROXY=http://127.0.0.1:3128 */

struct json_object;
struct egress_session;

/* The rules file's contents: rules is an array as policy/hostrule.h has it (borrowed); name and
 * cure (either may be NULL) go into refusals; limits may be NULL. Written by rename, so it may be
 * called again to change what a running session allows. */
int egress_session_write_rules(const char *rules_path, const char *name, struct json_object *rules,
	const char *cure, struct json_object *limits, struct pkg_error *err);
/* libexec: the directory with pkg-proxy. Rows are appended to audit_path. The proxy gets
 * HTTP(S)_PROXY and NO_PROXY of our own environment and nothing else of it. Its log goes to stderr.
 * */
int egress_session_start(const char *libexec, const char *rules_path, const char *audit_path,
	struct egress_session **out, struct pkg_error *err);
/* The number that pkg-shim is told; the descriptor has the same number inside. */
int egress_session_shim_fd(const struct egress_session *session);
/* Given: for pkg_argv_take_fd(). The number stays valid for egress_session_shim_fd(). */
int egress_session_steal_shim_fd(struct egress_session *session);
/* Ends the proxy (open connections get their rows), frees the session, and appends its rows, those
 * of this session only. rows may be NULL. -1 when the proxy had died or the rows cannot be read;
 * the session is freed all the same. NULL is accepted. */
int egress_session_finish(
	struct egress_session *session, struct egress_rows *rows, struct pkg_error *err);
/* The same without a result, for cleanup. */
void egress_session_free(struct egress_session *session);
PKG_DEFINE_CLEANUP(struct egress_session, egress_session_free)

/* The first row that explains why a client failed: a refusal before anything else, then what could
 * not be reached. NULL when every connection was let through. Borrowed. */
const struct egress_row *egress_rows_cause(const struct egress_rows *rows);
#endif
