#include "unit.h"

#include "fetch/remote_zip.h"
#include "fetch_server.h"
#include "fetch_zip.h"

#include <sys/stat.h>
#include <time.h>

/* A wheel of some 2 MB whose interesting parts are at its end, and one file at its beginning. */
static void
write_archive(const struct server *server, const char *first)
{
	static char noise[1 << 20];
	const struct zip_file files[] = {
		{ .name = "first.txt", .data = first },
		{ .name = "noise", .data = noise, .len = sizeof(noise) },
		{ .name = "more", .data = noise, .len = sizeof(noise) },
		{ .name = "x-1.0.dist-info/METADATA", .data = "Name: x\n", .deflate = true },
		{ .name = "x-1.0.dist-info/RECORD", .data = "first.txt,,\n" },
	};
	pkg_cleanup_buf struct pkg_buf bytes = { 0 };
	char path[128];

	memset(noise, 'n', sizeof(noise));
	zip_build(files, PKG_ARRAY_LEN(files), NULL, &bytes);
	server_path(server, "out/pypi/packages/six/six.whl", path, sizeof(path));
	assert_int_equal(pkg_file_write(path, bytes.data, bytes.len, 0644, false, NULL), 0);
}

static const struct fetch_options options = {
	.connect_timeout_ms = 2000, .stall_timeout_ms = 2000, .backoff_ms = 10, .cancel_fd = -1
};

static bool
start(struct server *server, const char *option, const char *value)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *argv = pkg_argv_new();

	if (option)
		pkg_argv_add(argv, option);
	if (value)
		pkg_argv_add(argv, value);
	if (!server_start(server, argv)) {
		server_stop(server);
		return false;
	}
	write_archive(server, "first");
	return true;
}
#define cleanup_server __attribute__((cleanup(server_stop)))

static void
directory_and_metadata_cost_one_request(PKG_UNUSED void **state)
{
	cleanup_server struct server server = { 0 };
	pkg_cleanup(fetch_remote_zip_free) struct fetch_remote_zip *remote = NULL;
	pkg_cleanup_error struct pkg_error err = { 0 };
	pkg_cleanup_buf struct pkg_buf out = { 0 };
	pkg_autofree char *log = NULL;

	if (!start(&server, NULL, NULL))
		skip();
	remote = fetch_remote_zip_open(server.url, &options, &err);
	if (!remote)
		fail_msg("%s", err.message);
	assert_int_equal(fetch_remote_zip_list(remote)->count, 5);
	assert_int_equal(
		fetch_remote_zip_member(remote, "x-1.0.dist-info/METADATA", 100, &out, &err), 0);
	assert_string_equal(out.data, "Name: x\n");
	assert_int_equal(
		fetch_remote_zip_member(remote, "x-1.0.dist-info/RECORD", 100, &out, &err), 0);
	assert_string_equal(out.data, "first.txt,,\n");
	pkg_sleep_ms(100);
	log = server_log(&server);
	assert_int_equal(count_of(log, "\"GET\""), 1);
	/* What is elsewhere costs one more, and not the whole file. */
	assert_int_equal(fetch_remote_zip_member(remote, "first.txt", 100, &out, &err), 0);
	assert_string_equal(out.data, "first");
	pkg_sleep_ms(100);
	free(log);
	log = server_log(&server);
	assert_int_equal(count_of(log, "\"GET\""), 2);
	assert_int_equal(count_of(log, "\"bytes\": 65536"), 1);
	assert_int_equal(fetch_remote_zip_member(remote, "nothing", 100, &out, &err), -1);
	assert_int_equal(err.kind, PKG_E_NOT_FOUND);
}

static void
a_file_of_two_pieces_is_read_whole(PKG_UNUSED void **state)
{
	cleanup_server struct server server = { 0 };
	pkg_cleanup(fetch_remote_zip_free) struct fetch_remote_zip *remote = NULL;
	pkg_cleanup_error struct pkg_error err = { 0 };
	pkg_cleanup_buf struct pkg_buf out = { 0 };

	if (!start(&server, NULL, NULL))
		skip();
	remote = fetch_remote_zip_open(server.url, &options, &err);
	assert_non_null(remote);
	/* Most of it is before the tail, some in it; its CRC is checked. */
	assert_int_equal(fetch_remote_zip_member(remote, "more", 1 << 20, &out, &err), 0);
	assert_int_equal(out.len, 1 << 20);
}

static void
servers_that_do_not_do_ranges_are_unsupported(PKG_UNUSED void **state)
{
	cleanup_server struct server server = { 0 };
	pkg_cleanup_error struct pkg_error err = { 0 };

	if (!start(&server, "--no-ranges", NULL))
		skip();
	assert_null(fetch_remote_zip_open(server.url, &options, &err));
	assert_int_equal(err.kind, PKG_E_UNSUPPORTED);
}

static void
a_file_that_changes_between_requests_is_noticed(PKG_UNUSED void **state)
{
	cleanup_server struct server server = { 0 };
	pkg_cleanup(fetch_remote_zip_free) struct fetch_remote_zip *remote = NULL;
	pkg_cleanup_error struct pkg_error err = { 0 };
	pkg_cleanup_buf struct pkg_buf out = { 0 };

	if (!start(&server, NULL, NULL))
		skip();
	remote = fetch_remote_zip_open(server.url, &options, &err);
	assert_non_null(remote);
	write_archive(&server, "fjrst");
	assert_int_equal(fetch_remote_zip_member(remote, "first.txt", 100, &out, &err), -1);
	assert_int_equal(err.kind, PKG_E_INDEX_STATUS);
	assert_non_null(strstr(err.message, "changed"));
}

static void
faults_end_as_errors_or_are_overcome(PKG_UNUSED void **state)
{
	static const struct {
		const char *option;
		const char *value;
		enum pkg_error_kind kind;
	} rows[] = {
		{ "--status", "*=404", PKG_E_NOT_FOUND },
		{ "--status", "*=403", PKG_E_AUTH },
		{ "--status", "*=500@1", PKG_E_NONE },
		{ "--truncate", "*@1", PKG_E_NONE },
		{ "--nolength", "*", PKG_E_NONE },
		{ "--grow", "*=5", PKG_E_INDEX_STATUS },
		{ "--status", "*=416", PKG_E_INDEX_STATUS },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		cleanup_server struct server server = { 0 };
		pkg_cleanup(fetch_remote_zip_free) struct fetch_remote_zip *remote = NULL;
		pkg_cleanup_error struct pkg_error err = { 0 };

		if (!start(&server, rows[i].option, rows[i].value))
			skip();
		remote = fetch_remote_zip_open(server.url, &options, &err);
		if ((remote != NULL) != (rows[i].kind == PKG_E_NONE) ||
			(!remote && err.kind != rows[i].kind))
			fail_msg("row %zu: %s: %s", i, pkg_error_kind_name(err.kind), err.message);
	}
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(directory_and_metadata_cost_one_request),
		cmocka_unit_test(a_file_of_two_pieces_is_read_whole),
		cmocka_unit_test(servers_that_do_not_do_ranges_are_unsupported),
		cmocka_unit_test(a_file_that_changes_between_requests_is_noticed),
		cmocka_unit_test(faults_end_as_errors_or_are_overcome),
	};

	(void)setenv("NO_PROXY", "127.0.0.1", 1);
	(void)setenv("no_proxy", "127.0.0.1", 1);
	(void)setenv("HOME", "/nonexistent", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
