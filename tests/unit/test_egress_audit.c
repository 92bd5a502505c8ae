#include "unit.h"

#include "core/time.h"
#include "egress/audit.h"
#include "egress/session.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void
rows_come_back_as_they_were_written(PKG_UNUSED void **state)
{
	char path[] = "/tmp/egress-audit-XXXXXX";
	pkg_cleanup_egress_rows struct egress_rows rows = { 0 };
	struct egress_row row = {
		.time_ms = pkg_time_parse("2026-01-31T12:00:00.123Z"),
		.method = (char[]){ "CONNECT" },
		.host = (char[]){ "a\"b\\c\x01\x7f.example" },
		.port = 443,
		.address = (char[]){ "2001:db8::1" },
		.rule = (char[]){ ".example" },
		.verdict = EGRESS_TLS_MISMATCH,
		.status = 200,
		.up = 5000000000,
		.down = 7,
		.duration_ms = 12,
	};
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	close(fd);
	unlink(path);
	assert_int_equal(egress_audit_read(path, 0, &rows, NULL), 0);
	assert_int_equal(rows.count, 0);
	fd = egress_audit_open(path, NULL);
	assert_true(fd >= 0);
	assert_int_equal(egress_audit_write(fd, &row, NULL), 0);
	row.host = row.method = row.rule = row.address = NULL;
	row.reason = (char[]){ "because" };
	row.verdict = EGRESS_DENIED;
	assert_int_equal(egress_audit_write(fd, &row, NULL), 0);
	/* A kill in the middle of a line, and a line that is none. */
	assert_true(write(fd, "{\"verdict\":\"new\"}\nnot json\n{\"time\":", 34) == 34);
	close(fd);
	assert_int_equal(egress_audit_read(path, 0, &rows, NULL), 0);
	assert_int_equal(rows.count, 2);
	assert_int_equal(rows.items[0].time_ms, row.time_ms);
	assert_string_equal(rows.items[0].host, "a\"b\\c\x01\x7f.example");
	assert_string_equal(rows.items[0].address, "2001:db8::1");
	assert_int_equal(rows.items[0].verdict, EGRESS_TLS_MISMATCH);
	assert_true(rows.items[0].up == 5000000000);
	assert_int_equal(rows.items[0].duration_ms, 12);
	assert_null(rows.items[0].reason);
	assert_null(rows.items[1].host);
	assert_string_equal(rows.items[1].reason, "because");
	egress_rows_clear(&rows);
	assert_int_equal(egress_audit_read(path, 1 << 20, &rows, NULL), 0);
	assert_int_equal(rows.count, 0);
	unlink(path);
}

static void
the_audit_file_is_private_and_no_symlink(PKG_UNUSED void **state)
{
	char dir[] = "/tmp/egress-audit-XXXXXX";
	pkg_autofree char *path = NULL;
	pkg_autofree char *link = NULL;
	struct stat st;
	int fd;

	assert_non_null(mkdtemp(dir));
	path = pkg_xasprintf("%s/audit", dir);
	link = pkg_xasprintf("%s/link", dir);
	fd = egress_audit_open(path, NULL);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	close(fd);
	assert_int_equal(symlink(path, link), 0);
	assert_int_equal(egress_audit_open(link, NULL), -1);
	unlink(link);
	unlink(path);
	rmdir(dir);
}

static void
a_refusal_explains_a_failure_before_anything_else_does(PKG_UNUSED void **state)
{
	struct egress_row items[] = {
		{ .verdict = EGRESS_ALLOWED },
		{ .verdict = EGRESS_ABORTED },
		{ .verdict = EGRESS_FAILED, .port = 1 },
		{ .verdict = EGRESS_TIMEOUT, .port = 2 },
		{ .verdict = EGRESS_DENIED, .port = 3 },
		{ .verdict = EGRESS_ADDRESS, .port = 4 },
	};
	struct egress_rows rows = { items, 6 };

	assert_int_equal(egress_rows_cause(&rows)->port, 3);
	rows.count = 4;
	assert_int_equal(egress_rows_cause(&rows)->port, 1);
	rows.count = 2;
	assert_null(egress_rows_cause(&rows));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_come_back_as_they_were_written),
		cmocka_unit_test(the_audit_file_is_private_and_no_symlink),
		cmocka_unit_test(a_refusal_explains_a_failure_before_anything_else_does),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
