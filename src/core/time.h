/* core/time.h - clocks.
 * Purpose    Monotonic milliseconds for deadlines, ISO 8601 UTC for people and the database.
 * Ownership  Text goes into caller's storage.
 * Errors     None; pkg_time_parse() gives -1 for text it does not understand.
 */
#ifndef CORE_TIME_H
#define CORE_TIME_H
#include <stdint.h>

#define PKG_TIME_TEXT 25 /* 2026-01-31T12:00:00.000Z and NUL */

int64_t pkg_time_mono_ms(void); /* CLOCK_MONOTONIC */
int64_t pkg_time_mono_us(void);
int64_t pkg_time_now_ms(void); /* CLOCK_REALTIME, since 1970 */
/* Years 1970 to 9999; what lies outside becomes the nearest end. */
void pkg_time_format(int64_t unix_ms, char out[PKG_TIME_TEXT]);
/* The same format, fraction of 1 to 9 digits or none; -1 otherwise. */
int64_t pkg_time_parse(const char *text);
void pkg_sleep_ms(int64_t ms);
#endif
