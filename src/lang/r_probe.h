/* lang/r_probe.h - ask one R what it is.
 * Purpose    Runs envs/r/probe.R in the probe sandbox, once per interpreter: the answer is kept in
 *            <cache>/probe/ for as long as its front-end, its base package and its configuration
 *            are the same files.
 * Ownership  Facts and reason are given.
 * Errors     -1 when nothing can be probed at all (no boundary, cancelled). An R that does not
 *            answer is not an error: it is a reason.
 */
#ifndef LANG_R_PROBE_H
#define LANG_R_PROBE_H
#include "lang/lang.h"

#define LANG_R_PROBE_MS 30000

/* path: absolute, without symlinks, an executable file. Sets *facts or, when it gave none,
 * *reason. The facts have "path" and "base" beside what it said: where its file is, as we
 * measured it. */
int lang_r_probe(struct lang_context *lang, const char *path, struct json_object **facts,
	char **reason, struct pkg_error *err);
#endif
