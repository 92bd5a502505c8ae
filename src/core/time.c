#include "core/time.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* 9999-12-31T23:59:59.999Z: what four digits of year can say. */
#define LAST_MS INT64_C(253402300799999)

static int64_t
clock_us(clockid_t clock)
{
	struct timespec now = { 0 };

	(void)clock_gettime(clock, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t
pkg_time_mono_ms(void)
{
	return clock_us(CLOCK_MONOTONIC) / 1000;
}

int64_t
pkg_time_mono_us(void)
{
	return clock_us(CLOCK_MONOTONIC);
}

int64_t
pkg_time_now_ms(void)
{
	return clock_us(CLOCK_REALTIME) / 1000;
}

void
pkg_time_format(int64_t unix_ms, char out[PKG_TIME_TEXT])
{
	int64_t ms = unix_ms < 0 ? 0 : unix_ms > LAST_MS ? LAST_MS : unix_ms;
	time_t seconds = (time_t)(ms / 1000);
	struct tm tm = { 0 };
	size_t len;

	(void)gmtime_r(&seconds, &tm);
	len = strftime(out, PKG_TIME_TEXT, "%Y-%m-%dT%H:%M:%S", &tm);
	(void)snprintf(out + len, PKG_TIME_TEXT - len, ".%03dZ", (int)(ms % 1000));
}

/* Reads exactly digits digits, -1 when there are fewer. */
static int
number(const char *text, int digits)
{
	int value = 0;

	for (int i = 0; i < digits; i++) {
		if (text[i] < '0' || text[i] > '9')
			return -1;
		value = value * 10 + (text[i] - '0');
	}
	return value;
}

/* Milliseconds of ".5", ".123456" (1 to 9 digits) before a final Z, or of nothing; -1 otherwise. */
static int
fraction(const char *text)
{
	int ms = 0;
	int scale = 100;
	int digits = 0;

	if (*text == '.') {
		for (text++; *text >= '0' && *text <= '9'; text++, digits++) {
			ms += (*text - '0') * scale;
			scale /= 10;
		}
		if (digits < 1 || digits > 9)
			return -1;
	}
	return strcmp(text, "Z") == 0 ? ms : -1;
}

int64_t
pkg_time_parse(const char *text)
{
	static const char shape[] = "0000-00-00T00:00:00";
	struct tm tm = { 0 };
	struct tm check;
	time_t seconds;
	int ms;

	if (!text || strnlen(text, sizeof(shape) - 1) < sizeof(shape) - 1)
		return -1;
	for (size_t i = 0; i < sizeof(shape) - 1; i++) {
		if (shape[i] == '0' ? text[i] < '0' || text[i] > '9' : text[i] != shape[i])
			return -1;
	}
	tm.tm_year = number(text, 4) - 1900;
	tm.tm_mon = number(text + 5, 2) - 1;
	tm.tm_mday = number(text + 8, 2);
	tm.tm_hour = number(text + 11, 2);
	tm.tm_min = number(text + 14, 2);
	tm.tm_sec = number(text + 17, 2);
	ms = fraction(text + sizeof(shape) - 1);
	check = tm;
	seconds = timegm(&check);
	/* timegm makes 3 March of 31 February. */
	if (ms < 0 || seconds < 0 || check.tm_mon != tm.tm_mon || check.tm_mday != tm.tm_mday ||
		check.tm_hour != tm.tm_hour || check.tm_min != tm.tm_min ||
		check.tm_sec != tm.tm_sec)
		return -1;
	return (int64_t)seconds * 1000 + ms;
}

void
pkg_sleep_ms(int64_t ms)
{
	struct timespec until;

	if (ms <= 0)
		return;
	/* Until a moment, so that signals do not make it longer or shorter. */
	(void)clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += (time_t)(ms / 1000);
	until.tv_nsec += (long)(ms % 1000) * 1000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
		continue;
}
