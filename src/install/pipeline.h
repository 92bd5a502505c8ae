/* install/pipeline.h - one run of one job, from its row to its end or its card.
 * Purpose    The whole pipeline of DESIGN.md section 5 as a list of phases. A run ends when the job ended, when
 *            it waits for an answer (the process goes, no lock stays), or when another job is in the way.
 * Ownership  Nothing is kept.
 * Errors     -1 only when not even the end of the job could be recorded; a failed job is 0.
 */
#ifndef INSTALL_PIPELINE_H
#define INSTALL_PIPELINE_H
#include "core/error.h"
#include "core/home.h"
#include <stdint.h>

/* cancel_fd: readable means stop (SIGTERM of the worker); -1: none. */
int install_job_run(const struct pkg_home *home, int64_t job, int cancel_fd, struct pkg_error *err);
#endif
