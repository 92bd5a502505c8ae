#include "unit.h"

#include "core/log.h"
#include "core/text.h"
#include "core/url.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void
urls_come_apart(PKG_UNUSED void **state)
{
	static const struct {
		const char *text, *scheme, *host, *path, *user, *password, *fragment;
		int port;
	} rows[] = {
		{ "https://example.org", "https", "example.org", "/", NULL, NULL, NULL, 443 },
		{ "HTTP://Example.ORG:8080/A?b=C#d", "http", "example.org", "/A?b=C", NULL, NULL,
			"d", 8080 },
		{ "https://example.org./x", "https", "example.org", "/x", NULL, NULL, NULL, 443 },
		{ "https://bob:s%40c%3Aret@h/simple/", "https", "h", "/simple/", "bob", "s@c:ret",
			NULL, 443 },
		{ "https://bob@h", "https", "h", "/", "bob", NULL, NULL, 443 },
		{ "http://[::1]:80/", "http", "::1", "/", NULL, NULL, NULL, 80 },
		{ "http://[FE80:0:0::A]/", "http", "fe80::a", "/", NULL, NULL, NULL, 80 },
		{ "http://127.0.0.1/", "http", "127.0.0.1", "/", NULL, NULL, NULL, 80 },
		{ "https://h/a/../b/./c", "https", "h", "/b/c", NULL, NULL, NULL, 443 },
		{ "https://h/../../etc", "https", "h", "/etc", NULL, NULL, NULL, 443 },
		{ "https://h?q=1", "https", "h", "/?q=1", NULL, NULL, NULL, 443 },
		{ "https://h/@scope/x@1", "https", "h", "/@scope/x@1", NULL, NULL, NULL, 443 },
		{ "https://h/#sha256=00", "https", "h", "/", NULL, NULL, "sha256=00", 443 },
		{ "https://b\xC3\xBC"
		  "cher.example/",
			"https", "xn--bcher-kva.example", "/", NULL, NULL, NULL, 443 },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		pkg_cleanup_url struct pkg_url url = { 0 };
		pkg_cleanup_error struct pkg_error err = { 0 };

		if (pkg_url_parse(rows[i].text, &url, &err) < 0)
			fail_msg("%s: %s", rows[i].text, err.message);
		assert_string_equal(url.scheme, rows[i].scheme);
		assert_string_equal(url.host, rows[i].host);
		assert_int_equal(url.port, rows[i].port);
		assert_string_equal(url.path, rows[i].path);
		assert_string_equal(url.user ? url.user : "-", rows[i].user ? rows[i].user : "-");
		assert_string_equal(url.password ? url.password : "-",
			rows[i].password ? rows[i].password : "-");
		assert_string_equal(url.fragment ? url.fragment : "-",
			rows[i].fragment ? rows[i].fragment : "-");
	}
}

static void
numeric_hosts_have_one_form(PKG_UNUSED void **state)
{
	static const char *const rows[] = { "http://127.1/", "http://2130706433/",
		"http://0x7f.0.0.1/", "http://0177.0.0.1/" };

	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		pkg_cleanup_url struct pkg_url url = { 0 };

		assert_int_equal(pkg_url_parse(rows[i], &url, NULL), 0);
		assert_string_equal(url.host, "127.0.0.1");
	}
}

static void
what_can_be_read_in_two_ways_is_refused(PKG_UNUSED void **state)
{
	static const char *const rows[] = { "", "x", "example.org/x", "//example.org/", "/x",
		"ftp://h/", "file:///etc/passwd", "git+https://h/", "javascript:alert(1)",
		"http:", "http:/", "http://", "http:///", "http:///h/", "http:/h/", "http:h",
		"http://?x", "http://#x", "http://h:0/", "http://h:65536/", "http://h:x/",
		"http://h:-1/", "http://user@", "http://@/", "http://a@b@c/", "http://good\\@evil/",
		"http://evil\\.good/", "http://h/\\x", "http://h /", " http://h/", "http://h/ ",
		"http://h/a b", "http://h/\n", "http://h\r\nX: y/", "http://h/\x7F", "http://h\t/",
		"http://a..b/", "http://.a/", "http://a../", "http://./", "http://[::1/",
		"http://::1/", "http://[fe80::1%25eth0]/", "http://[v1.x]/", "http://[127.0.0.1]/",
		"http://h%00/", "http://h%0A/", "http://a%2Fb/", "http://a%40b/", "http://a%20b/",
		"http://a,b/", "http://a*b/", "http://u%0A:p@h/", "http://\xFF\xFE/" };

	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		pkg_cleanup_url struct pkg_url url = { 0 };
		pkg_cleanup_error struct pkg_error err = { 0 };

		if (pkg_url_parse(rows[i], &url, &err) == 0)
			fail_msg("taken: %s as host %s", rows[i], url.host);
		assert_int_equal(err.kind, PKG_E_INVALID);
		assert_null(url.host);
	}
}

static void
length_ends_at_8192_bytes(PKG_UNUSED void **state)
{
	char text[PKG_URL_MAX + 2];
	pkg_cleanup_url struct pkg_url url = { 0 };

	memset(text, 'a', sizeof(text));
	memcpy(text, "http://h/", 9);
	text[PKG_URL_MAX + 1] = '\0';
	assert_int_equal(pkg_url_parse(text, &url, NULL), -1);
	text[PKG_URL_MAX] = '\0';
	assert_int_equal(pkg_url_parse(text, &url, NULL), 0);
}

static void
redacting_removes_every_credential_and_nothing_else(PKG_UNUSED void **state)
{
	static const char *const rows[][2] = {
		{ "https://h/simple", "https://h/simple" },
		{ "https://bob:secret@h/simple?x#y", "https://h/simple?x#y" },
		{ "https://token@h:8443/", "https://h:8443/" },
		{ "https://h/@scope/x@1", "https://h/@scope/x@1" },
		{ "https://bob:s@cret@h/", "h/" },
		{ "https://bob:sec/ret@h/", "h/" },
		{ "bob:secret@h/simple", "h/simple" },
		{ "git+ssh://bob:secret@h/x", "h/x" },
		{ "plain", "plain" },
		{ "", "" },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		pkg_autofree char *out = pkg_url_redact(rows[i][0]);

		assert_string_equal(out, rows[i][1]);
	}
}

static void
a_short_url_says_host_and_path(PKG_UNUSED void **state)
{
	static const char *const rows[][2] = {
		{ "https://index.example/simple/", "index.example/simple" },
		{ "https://bob:pw@Index.example:443/", "index.example" },
		{ "http://h:443/x?token=1#f", "h:443/x" },
		{ "http://[::1]:8080/", "[::1]:8080" },
		{ "bob:pw@h/x", "h/x" },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		pkg_autofree char *out = pkg_url_short(rows[i][0]);

		assert_string_equal(out, rows[i][1]);
	}
}

static void
references_resolve_as_rfc_3986_section_5_4_says(PKG_UNUSED void **state)
{
	static const char *const rows[][2] = {
		{ "g", "http://a/b/c/g" },
		{ "./g", "http://a/b/c/g" },
		{ "g/", "http://a/b/c/g/" },
		{ "/g", "http://a/g" },
		{ "//g", "http://g/" },
		{ "?y", "http://a/b/c/d;p?y" },
		{ "g?y", "http://a/b/c/g?y" },
		{ "#s", "http://a/b/c/d;p?q#s" },
		{ "g#s", "http://a/b/c/g#s" },
		{ "g?y#s", "http://a/b/c/g?y#s" },
		{ ";x", "http://a/b/c/;x" },
		{ "", "http://a/b/c/d;p?q" },
		{ ".", "http://a/b/c/" },
		{ "..", "http://a/b/" },
		{ "../g", "http://a/b/g" },
		{ "../..", "http://a/" },
		{ "../../../g", "http://a/g" },
		{ "/./g", "http://a/g" },
		{ "/../g", "http://a/g" },
		{ "g.", "http://a/b/c/g." },
		{ "..g", "http://a/b/c/..g" },
		{ "./../g", "http://a/b/g" },
		{ "g/./h", "http://a/b/c/g/h" },
		{ "g/../h", "http://a/b/c/h" },
		{ "g?y/../x", "http://a/b/c/g?y/../x" },
		{ "g#s/../x", "http://a/b/c/g#s/../x" },
		{ "https://z/x", "https://z/x" },
		{ "g:h", NULL },
		{ "http:g", NULL },
		{ "file:///etc/passwd", NULL },
		{ "a b", NULL },
		{ "//u@v@w/", NULL },
		{ "///x", NULL },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		pkg_autofree char *out = pkg_url_resolve("http://a/b/c/d;p?q", rows[i][0]);

		if (!out != !rows[i][1] || (out && strcmp(out, rows[i][1]) != 0))
			fail_msg("'%s' gives %s", rows[i][0], out ? out : "NULL");
	}
}

static void
credentials_of_the_base_stay_with_its_host(PKG_UNUSED void **state)
{
	pkg_autofree char *same =
		pkg_url_resolve("https://u:p@h/simple/x/", "../../f.whl#sha256=0");
	pkg_autofree char *other = pkg_url_resolve("https://u:p@h/simple/x/", "//files/f.whl");
	pkg_autofree char *bare = pkg_url_resolve("https://h", "f.whl");

	assert_string_equal(same, "https://u:p@h/f.whl#sha256=0");
	assert_string_equal(other, "https://files/f.whl");
	assert_string_equal(bare, "https://h/f.whl");
	assert_null(pkg_url_resolve("h/simple", "f.whl"));
}

static void
a_base_name_is_one_name(PKG_UNUSED void **state)
{
	static const char *const rows[][2] = {
		{ "https://h/a/x-1.0%2Bcpu-py3.whl?q=/y#f/z", "x-1.0+cpu-py3.whl" },
		{ "../f.whl", "f.whl" },
		{ "https://h/a/", "" },
		{ "https://h", "" },
		{ "https://u:p@h", "" },
		{ "f", "f" },
		{ "", "" },
		{ "https://h/..%2F..%2fetc%2fpasswd", "..%2F..%2fetc%2fpasswd" },
		{ "https://h/a%00b%0a", "a%00b%0a" },
		{ "https://h/%", "%" },
		{ "https://h/%4", "%4" },
		{ "https://h/%4g%41", "%4gA" },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		pkg_autofree char *out = pkg_url_basename(rows[i][0]);

		assert_string_equal(out, rows[i][1]);
	}
}

/* What pkg_log() writes for one message. Given. */
static char *
logged(enum pkg_log_level level, const char *message)
{
	char path[] = "/tmp/test_core_url.XXXXXX";
	int file = mkstemp(path);
	int saved = dup(STDERR_FILENO);
	char *text = pkg_xcalloc(1, 10000);

	unlink(path);
	dup2(file, STDERR_FILENO);
	pkg_log(level, "%s", message);
	dup2(saved, STDERR_FILENO);
	close(saved);
	assert_true(pread(file, text, 9999, 0) >= 0);
	close(file);
	return text;
}

static void
log_lines_have_no_credentials_and_no_second_line(PKG_UNUSED void **state)
{
	static const char *const rows[][2] = {
		{ "get https://bob:secret@h/x: 404", "get https://h/x: 404\n" },
		{ "index='https://bob:secret@h/' url=\"http://t@i/\"",
			"index='https://h/' url=\"http://i/\"\n" },
		{ "a\nb\033[31mc", "a bc\n" },
		{ "https://bob:sec\033[0mret@h/x", "https://h/x\n" },
		{ "https://bob:se\xE2\x80\x8B"
		  "cret\001@h/x",
			"https://h/x\n" },
		{ "mail bob@h, see https://h/@s", "mail bob@h, see https://h/@s\n" },
		{ ":// x", ":// x\n" },
	};

	pkg_log_init("unit", PKG_LOG_INFO);
	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		pkg_autofree char *line = logged(PKG_LOG_WARN, rows[i][0]);

		assert_true(strlen(line) > 36);
		assert_memory_equal(line + 24, " warn unit: ", 12);
		assert_string_equal(line + 36, rows[i][1]);
	}
}

static void
a_long_log_line_is_cut_at_4_kib_without_baring_a_password(PKG_UNUSED void **state)
{
	char message[6000];
	pkg_autofree char *line = NULL;

	memset(message, 'a', sizeof(message));
	memcpy(message + 4020, " https://bob:secret", 19);
	message[5000] = '@';
	message[sizeof(message) - 1] = '\0';
	line = logged(PKG_LOG_INFO, message);
	assert_true(strlen(line) <= 4096);
	assert_int_equal(line[strlen(line) - 1], '\n');
	assert_null(strstr(line, "secret"));
}

static void
levels_above_the_threshold_are_silent(PKG_UNUSED void **state)
{
	enum pkg_log_level level = PKG_LOG_ERROR;
	pkg_autofree char *silent = NULL;
	pkg_autofree char *heard = NULL;

	pkg_log_init("unit", PKG_LOG_INFO);
	silent = logged(PKG_LOG_DEBUG, "x");
	heard = logged(PKG_LOG_INFO, "x");
	assert_string_equal(silent, "");
	assert_string_not_equal(heard, "");
	assert_int_equal(pkg_log_level_parse("debug", &level), 0);
	assert_int_equal(level, PKG_LOG_DEBUG);
	assert_int_equal(pkg_log_level_parse("DEBUG", &level), -1);
	assert_int_equal(pkg_log_level_parse("", &level), -1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(urls_come_apart),
		cmocka_unit_test(numeric_hosts_have_one_form),
		cmocka_unit_test(what_can_be_read_in_two_ways_is_refused),
		cmocka_unit_test(length_ends_at_8192_bytes),
		cmocka_unit_test(redacting_removes_every_credential_and_nothing_else),
		cmocka_unit_test(a_short_url_says_host_and_path),
		cmocka_unit_test(references_resolve_as_rfc_3986_section_5_4_says),
		cmocka_unit_test(credentials_of_the_base_stay_with_its_host),
		cmocka_unit_test(a_base_name_is_one_name),
		cmocka_unit_test(log_lines_have_no_credentials_and_no_second_line),
		cmocka_unit_test(a_long_log_line_is_cut_at_4_kib_without_baring_a_password),
		cmocka_unit_test(levels_above_the_threshold_are_silent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
