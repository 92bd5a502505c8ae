/* core/log.h - what a program says about itself.
 * Purpose    One line per event on stderr: time, level, program, sentence, key=value pairs. Layers
 *            return errors and do not log; programs log each once, where it is handled.
 * Ownership  Nothing is kept but the program's name and level (set once by main).
 * Errors     None. Lines are cleaned by core/text and cut at 4 KiB; URLs lose their userinfo.
 */
#ifndef CORE_LOG_H
#define CORE_LOG_H
#include "core/error.h"

enum pkg_log_level { PKG_LOG_ERROR, PKG_LOG_WARN, PKG_LOG_INFO, PKG_LOG_DEBUG };

void pkg_log_init(const char *program, enum pkg_log_level level);
int pkg_log_level_parse(const char *text, enum pkg_log_level *out); /* -1: not a level */
void pkg_log(enum pkg_log_level level, const char *format, ...) PKG_PRINTF(2, 3);
/* "<format>: <message>" with kind= and, when there, cure=. */
void pkg_log_error(const struct pkg_error *err, const char *format, ...) PKG_PRINTF(2, 3);
#endif
