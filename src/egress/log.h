/* egress/log.h - what the proxy says on stderr.
 * Purpose    core/log cleans URLs, and for that needs libcurl, which would be nine tenths of an
 *            idle proxy's memory and start-up. The proxy logs a handful of sentences, none with a
 *            URL in it.
 * Ownership  None.
 * Errors     None.
 */
#ifndef EGRESS_LOG_H
#define EGRESS_LOG_H
#include "core/error.h"

/* One line: time, program, sentence, the error's message, kind and cure; controls become spaces. */
void egress_log_error(const struct pkg_error *err, const char *sentence);
#endif
