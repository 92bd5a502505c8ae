#include "unit.h"

#include "core/mem.h"
#include "core/time.h"

#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <signal.h>
#include <time.h>

static void
format_and_parse_are_inverse(PKG_UNUSED void **state)
{
	static const struct {
		int64_t ms;
		const char *text;
	} rows[] = {
		{ 0, "1970-01-01T00:00:00.000Z" },
		{ 1, "1970-01-01T00:00:00.001Z" },
		{ 951782400000, "2000-02-29T00:00:00.000Z" },
		{ 1769860800000, "2026-01-31T12:00:00.000Z" },
		{ 2147483648999, "2038-01-19T03:14:08.999Z" },
		{ 253402300799999, "9999-12-31T23:59:59.999Z" },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		char text[PKG_TIME_TEXT];

		pkg_time_format(rows[i].ms, text);
		assert_string_equal(text, rows[i].text);
		assert_true(pkg_time_parse(text) == rows[i].ms);
	}
}

static void
times_that_four_digits_cannot_say_become_the_nearest(PKG_UNUSED void **state)
{
	char text[PKG_TIME_TEXT];

	pkg_time_format(INT64_MAX, text);
	assert_string_equal(text, "9999-12-31T23:59:59.999Z");
	pkg_time_format(INT64_MIN, text);
	assert_string_equal(text, "1970-01-01T00:00:00.000Z");
}

static void
the_fraction_may_be_absent_or_have_one_to_nine_digits(PKG_UNUSED void **state)
{
	assert_true(pkg_time_parse("1970-01-01T00:00:01Z") == 1000);
	assert_true(pkg_time_parse("1970-01-01T00:00:01.5Z") == 1500);
	assert_true(pkg_time_parse("1970-01-01T00:00:01.123456Z") == 1123);
	assert_true(pkg_time_parse("1970-01-01T00:00:01.999999999Z") == 1999);
	assert_true(pkg_time_parse("1970-01-01T00:00:01.9999999999Z") == -1);
	assert_true(pkg_time_parse("1970-01-01T00:00:01.Z") == -1);
}

static void
other_texts_are_no_times(PKG_UNUSED void **state)
{
	static const char *const rows[] = { "", "Z", "2026", "2026-01-31", "2026-01-31T12:00:00",
		"2026-01-31T12:00:00+00:00", "2026-01-31 12:00:00Z", "2026-01-31t12:00:00z",
		"2026-02-31T00:00:00Z", "2025-02-29T00:00:00Z", "2026-13-01T00:00:00Z",
		"2026-00-01T00:00:00Z", "2026-01-00T00:00:00Z", "2026-01-01T24:00:00Z",
		"2026-01-01T00:60:00Z", "2026-01-01T00:00:60Z", "2026-01-01T00:00:00ZZ",
		" 2026-01-01T00:00:00Z", "2026-1-01T00:00:000Z", "1969-12-31T23:59:59Z",
		"-026-01-01T00:00:00Z", "2026-01-01T00:00:00.1" };

	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		if (pkg_time_parse(rows[i]) != -1)
			fail_msg("taken: %s", rows[i]);
	}
	assert_true(pkg_time_parse(NULL) == -1);
}

static void
the_time_zone_changes_nothing(PKG_UNUSED void **state)
{
	char text[PKG_TIME_TEXT];

	setenv("TZ", "Asia/Kathmandu", 1);
	tzset();
	pkg_time_format(1769860800000, text);
	assert_string_equal(text, "2026-01-31T12:00:00.000Z");
	assert_true(pkg_time_parse(text) == 1769860800000);
	unsetenv("TZ");
	tzset();
}

static void
on_alarm(PKG_UNUSED int signal)
{
}

static void
a_sleep_lasts_as_long_as_asked_even_when_signals_come(PKG_UNUSED void **state)
{
	struct itimerval every = { { 0, 5000 }, { 0, 5000 } };
	struct itimerval never = { 0 };
	struct sigaction action = { .sa_handler = on_alarm };
	int64_t before;
	int64_t took;

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	before = pkg_time_mono_us();
	pkg_sleep_ms(40);
	took = pkg_time_mono_us() - before;
	setitimer(ITIMER_REAL, &never, NULL);
	assert_true(took >= 40000);
	assert_true(took < 5000000);
	before = pkg_time_mono_ms();
	pkg_sleep_ms(0);
	pkg_sleep_ms(-5);
	assert_true(pkg_time_mono_ms() - before < 1000);
}

static void
now_is_what_time_says(PKG_UNUSED void **state)
{
	assert_true(llabs(pkg_time_now_ms() / 1000 - (long long)time(NULL)) <= 2);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(format_and_parse_are_inverse),
		cmocka_unit_test(times_that_four_digits_cannot_say_become_the_nearest),
		cmocka_unit_test(the_fraction_may_be_absent_or_have_one_to_nine_digits),
		cmocka_unit_test(other_texts_are_no_times),
		cmocka_unit_test(the_time_zone_changes_nothing),
		cmocka_unit_test(a_sleep_lasts_as_long_as_asked_even_when_signals_come),
		cmocka_unit_test(now_is_what_time_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
