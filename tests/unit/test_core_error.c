#include "unit.h"

#include "core/error.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

static void
every_kind_has_a_name_of_its_own_that_parses_back(PKG_UNUSED void **state)
{
	for (int i = PKG_E_NONE + 1; i < PKG_E_COUNT; i++) {
		const char *name = pkg_error_kind_name((enum pkg_error_kind)i);

		assert_non_null(name);
		assert_int_equal(strspn(name, "abcdefghijklmnopqrstuvwxyz-"), strlen(name));
		assert_int_equal(pkg_error_kind_parse(name), i);
	}
}

static void
statuses_are_ones_that_http_and_the_manual_know(PKG_UNUSED void **state)
{
	for (int i = PKG_E_NONE + 1; i < PKG_E_COUNT; i++) {
		int http = pkg_error_kind_http((enum pkg_error_kind)i);
		int status = pkg_error_kind_exit((enum pkg_error_kind)i);

		assert_true(http == 202 || (http >= 400 && http < 600));
		assert_true((status >= 1 && status <= 6) || status == 75);
	}
	assert_int_equal(pkg_error_kind_exit(PKG_E_POLICY), 3);
	assert_int_equal(pkg_error_kind_http(PKG_E_DISK_FULL), 507);
}

static void
values_outside_the_table_are_internal_errors(PKG_UNUSED void **state)
{
	assert_string_equal(pkg_error_kind_name((enum pkg_error_kind)0), "internal-error");
	assert_string_equal(pkg_error_kind_name((enum pkg_error_kind) - 1), "internal-error");
	assert_string_equal(pkg_error_kind_name(PKG_E_COUNT), "internal-error");
	assert_int_equal(pkg_error_kind_http((enum pkg_error_kind)9999), 500);
	assert_int_equal(pkg_error_kind_parse("no-such-kind"), PKG_E_INTERNAL);
	assert_int_equal(pkg_error_kind_parse(""), PKG_E_INTERNAL);
	assert_int_equal(pkg_error_kind_parse(NULL), PKG_E_INTERNAL);
}

static void
errno_decides_the_kind_and_whether_there_is_a_cure(PKG_UNUSED void **state)
{
	static const struct {
		int sys;
		enum pkg_error_kind kind;
		bool cure;
	} rows[] = {
		{ ENOSPC, PKG_E_DISK_FULL, true },
		{ EDQUOT, PKG_E_DISK_FULL, true },
		{ EACCES, PKG_E_PERMISSION, true },
		{ EPERM, PKG_E_PERMISSION, true },
		{ EROFS, PKG_E_PERMISSION, true },
		{ ENOENT, PKG_E_IO, false },
		{ EIO, PKG_E_IO, false },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		pkg_cleanup_error struct pkg_error err = { 0 };

		assert_int_equal(pkg_error_errno(&err, rows[i].sys, "open '%s'", "x"), -1);
		assert_int_equal(err.kind, rows[i].kind);
		assert_int_equal(err.sys, rows[i].sys);
		assert_int_equal(err.cure != NULL, rows[i].cure);
		assert_memory_equal(err.message, "open 'x': ", 10);
		assert_string_equal(err.message + 10, strerror(rows[i].sys));
	}
}

static void
a_new_error_replaces_the_old_one_and_its_cure(PKG_UNUSED void **state)
{
	pkg_cleanup_error struct pkg_error err = { 0 };

	pkg_error_errno(&err, ENOSPC, "write");
	assert_string_equal(err.cure, "free some space and try again");
	assert_int_equal(pkg_error_set(&err, PKG_E_BUSY, "%d jobs", 3), -1);
	assert_int_equal(err.kind, PKG_E_BUSY);
	assert_int_equal(err.sys, 0);
	assert_string_equal(err.message, "3 jobs");
	assert_null(err.cure);
}

static void
an_error_can_be_made_of_its_own_message(PKG_UNUSED void **state)
{
	pkg_cleanup_error struct pkg_error err = { 0 };

	pkg_error_set(&err, PKG_E_IO, "inner");
	pkg_error_cure(&err, "try");
	pkg_error_cure(&err, "%s again", err.cure);
	assert_string_equal(err.cure, "try again");
	pkg_error_set(&err, PKG_E_HASH, "outer %s, %s", err.message, err.cure);
	assert_string_equal(err.message, "outer inner, try again");
	pkg_error_prefix(&err, "(%s)", err.message);
	assert_string_equal(err.message, "(outer inner, try again): outer inner, try again");
	pkg_error_errno(&err, EIO, "%s", err.message);
	assert_non_null(strstr(err.message, "outer inner, try again: "));
}

static void
a_prefix_needs_an_error(PKG_UNUSED void **state)
{
	pkg_cleanup_error struct pkg_error err = { 0 };

	assert_int_equal(pkg_error_prefix(&err, "x"), -1);
	assert_int_equal(err.kind, PKG_E_NONE);
	assert_null(err.message);
	pkg_error_set(&err, PKG_E_IO, "low");
	assert_int_equal(pkg_error_prefix(&err, "job %d", 7), -1);
	assert_string_equal(err.message, "job 7: low");
	assert_int_equal(err.kind, PKG_E_IO);
}

static void
without_a_place_for_the_error_nothing_breaks(PKG_UNUSED void **state)
{
	pkg_cleanup_error struct pkg_error err = { 0 };

	assert_int_equal(pkg_error_set(NULL, PKG_E_IO, "x"), -1);
	assert_int_equal(pkg_error_errno(NULL, EIO, "x"), -1);
	assert_int_equal(pkg_error_prefix(NULL, "x"), -1);
	assert_int_equal(pkg_error_cure(NULL, "x"), -1);
	pkg_error_clear(NULL);
	pkg_error_copy(NULL, &err);
	pkg_error_set(&err, PKG_E_IO, "lost");
	pkg_error_move(NULL, &err);
	assert_int_equal(err.kind, PKG_E_NONE);
}

static void
moving_empties_the_source_and_copying_does_not(PKG_UNUSED void **state)
{
	pkg_cleanup_error struct pkg_error from = { 0 };
	pkg_cleanup_error struct pkg_error to = { 0 };

	pkg_error_errno(&from, ENOSPC, "write");
	pkg_error_set(&to, PKG_E_BUSY, "old");
	pkg_error_copy(&to, &from);
	assert_string_equal(to.message, from.message);
	assert_ptr_not_equal(to.message, from.message);
	assert_int_equal(to.sys, ENOSPC);
	pkg_error_copy(&to, &to);
	pkg_error_move(&to, &to);
	assert_int_equal(to.kind, PKG_E_DISK_FULL);
	pkg_error_clear(&to);
	pkg_error_move(&to, &from);
	assert_int_equal(to.kind, PKG_E_DISK_FULL);
	assert_string_equal(to.cure, "free some space and try again");
	assert_int_equal(from.kind, PKG_E_NONE);
	assert_null(from.message);
	assert_null(from.cure);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_has_a_name_of_its_own_that_parses_back),
		cmocka_unit_test(statuses_are_ones_that_http_and_the_manual_know),
		cmocka_unit_test(values_outside_the_table_are_internal_errors),
		cmocka_unit_test(errno_decides_the_kind_and_whether_there_is_a_cure),
		cmocka_unit_test(a_new_error_replaces_the_old_one_and_its_cure),
		cmocka_unit_test(an_error_can_be_made_of_its_own_message),
		cmocka_unit_test(a_prefix_needs_an_error),
		cmocka_unit_test(without_a_place_for_the_error_nothing_breaks),
		cmocka_unit_test(moving_empties_the_source_and_copying_does_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
