/* lang/python_run.h - one run of pip in a sandbox, with what the proxy and pip said of it.
 * Purpose    Composes the profile of a run that may reach the job's indexes and nothing else, runs it, and
 *            keeps the facts that explain a failure: the log, the end, the proxy's rows.
 * Ownership  struct lang_python_run is the caller's storage: set the "in" part, read the "out" part,
 *            clear it. A run's working directory is the caller's to remove.
 * Errors     As sandbox_run() and egress_session_start(). A command that ended by itself, well or
 *            not, is no error: look at status.
 */
#ifndef LANG_PYTHON_RUN_H
#define LANG_PYTHON_RUN_H
#include "egress/session.h"
#include "lang/lang.h"
#include "lang/python_mounts.h"

/* The working directory as seen inside; below it "tmp" is TMPDIR. */
#define LANG_PYTHON_WORK "/job"
#define LANG_PYTHON_LOG_MAX (1024 * 1024)

struct lang_python_run {
	/* in */
	enum sandbox_purpose purpose;
	const struct lang_env *env; /* borrowed; shown read-only at its prefix; NULL: none */
	const char *work; /* borrowed; a directory on the host, writable inside */
	struct lang_mounts *mounts; /* borrowed */
	const struct pkg_argv *command; /* borrowed; items[0] absolute, as seen inside */
	/* out */
	int status; /* 0..255, or 128+N for signal N */
	struct pkg_buf
		log; /* both streams by lines, in the order in which they came; the last of it */
	struct egress_rows rows;
};
void lang_python_run_clear(struct lang_python_run *run);
#define lang_cleanup_python_run __attribute__((cleanup(lang_python_run_clear)))

/* A new directory <scratch>/NAME-XXXX with "tmp" in it, and the certificates that this job trusts, if
 * they are not the system's. Given; for `work`. */
char *lang_python_work_make(
	const struct lang_context *lang, const char *name, struct pkg_error *err);
/* Every connection is reported to lang->connection, every line to lang->output. The way out is open
 * for PLAN and BUILD. */
int lang_python_run_work(
	struct lang_context *lang, struct lang_python_run *run, struct pkg_error *err);
#endif
