/* daemon/submit.h - a request for a change, checked and made a job.
 * Purpose    Every key known and of its type, names valid, the requirement texts parsed before anything is stored:
 *            a request whose only outcome is an error makes no job.
 * Ownership  The job's id is returned.
 * Errors     PKG_E_INVALID naming the key and the nearest known one; PKG_E_REQUIREMENT with the position.
 */
#ifndef DAEMON_SUBMIT_H
#define DAEMON_SUBMIT_H
#include "daemon/http.h"

/* -1 on failure. An Idempotency-Key seen before gives the job that it made then. */
int64_t submit_job(struct http_request *request, struct pkg_error *err);
#endif
