#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "lang/python_index.h"
#include "lang/python_inputs.h"

#define PAGE_URL "https://index.example/simple/six/"
#define SHA "1de406ffb734e88874b5d203ae33475335a8f739f0a989b588015c5f9565b76d"

static struct json_object *
parse(const char *text, const char *type)
{
	return lang_python_index_parse(text, strlen(text), type, PAGE_URL, NULL);
}

static void
expect(struct json_object *file, const char *key, const char *value)
{
	const char *got;

	assert_non_null(file);
	got = pkg_json_str(file, key);
	if (value)
		assert_string_equal(got, value);
	else
		assert_null(got);
}

static void
json_and_html_have_one_form(PKG_UNUSED void **state)
{
	static const char json[] =
		" {\"meta\":{\"api-version\":\"1.1\"},\"name\":\"six\",\"files\":[{\"filename\":"
		"\"six-1.0.tar.gz\",\"url\":\"../../files/"
		"six-1.0.tar.gz\",\"hashes\":{\"sha256\":\"" SHA
		"\"},\"size\":17,\"upload-time\":\"2020-01-01T00:00:00Z\",\"requires-python\":\">="
		"3\","
		"\"yanked\":\"broken\\u202e\"},{\"filename\":\"six-2.0.tar.gz\",\"url\":"
		"\"https://files.example/six-2.0.tar.gz#x\",\"hashes\":{},\"yanked\":false},"
		"{\"filename\":\"x\",\"url\":\"file:///etc/passwd\"},7,{\"filename\":\"a/"
		"b\",\"url\":"
		"\"https://h/x\"},{\"url\":5}]}";
	static const char html[] =
		"<!DOCTYPE html><html><head><title>a</title></head><body>\n"
		"<a class=x href=\"../../files/six-1.0.tar.gz#sha256=" SHA
		"\" data-requires-python=\"&gt;=3\" "
		"data-yanked=\"broken\">six-1.0.tar.gz</a><br/>\n"
		"<A HREF='https://files.example/six-2.0.tar.gz'>six-2.0.tar.gz</A>"
		"<abbr href=\"https://h/no\">x</abbr><a>no</a><a href=\"file:///etc/passwd\">x</a>"
		"<a href=\"javascript:x\">x</a><a href=\"https://files.example/\">x</a><a href=\"";
	const struct {
		const char *text, *type;
	} rows[] = { { json, NULL }, { json, "application/vnd.pypi.simple.v1+json" },
		{ html, NULL }, { html, "text/html; charset=utf-8" } };

	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		pkg_cleanup(pkg_json_put) struct json_object *page =
			parse(rows[i].text, rows[i].type);
		struct json_object *files = pkg_json_array(page, "files");
		struct json_object *first = json_object_array_get_idx(files, 0);
		struct json_object *second = json_object_array_get_idx(files, 1);

		assert_int_equal(json_object_array_length(files), 2);
		expect(first, "filename", "six-1.0.tar.gz");
		expect(first, "url", "https://index.example/files/six-1.0.tar.gz");
		expect(first, "sha256", SHA);
		expect(first, "requires_python", ">=3");
		expect(first, "yanked_reason", "broken");
		assert_true(pkg_json_bool(first, "yanked", false));
		expect(second, "url", "https://files.example/six-2.0.tar.gz");
		expect(second, "sha256", NULL);
		assert_false(pkg_json_bool(second, "yanked", true));
		if (rows[i].text == json) {
			assert_int_equal(pkg_json_int(first, "size", -1), 17);
			expect(first, "uploaded", "2020-01-01T00:00:00Z");
		}
		assert_ptr_equal(
			lang_python_index_find(page, "https://files.example/six-2.0.tar.gz", NULL),
			second);
		assert_ptr_equal(
			lang_python_index_find(page, "https://elsewhere/", "six-1.0.tar.gz"),
			first);
		assert_null(lang_python_index_find(page, "https://elsewhere/", "six-3.tar.gz"));
	}
}

static void
what_is_no_page_is_refused(PKG_UNUSED void **state)
{
	static const char *const rows[] = { "", "   ", "nothing", "{", "{}", "{\"files\":{}}",
		"\x1f\x8b\x08" };

	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++)
		assert_null(parse(rows[i], NULL));
	assert_null(parse("<html>", "application/json"));
}

static void
page_urls_are_of_the_normalised_name(PKG_UNUSED void **state)
{
	static const char *const rows[][3] = {
		{ "https://h/simple", "Foo.Bar", "https://h/simple/foo-bar/" },
		{ "https://u:p@h/simple//", "a__b", "https://u:p@h/simple/a-b/" },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		pkg_autofree char *url = lang_python_index_page_url(rows[i][0], rows[i][1]);

		assert_string_equal(url, rows[i][2]);
	}
}

/* --- lang/python_inputs.h --- */

static void
indexes_are_lines_that_hold_nothing_else(PKG_UNUSED void **state)
{
	static const struct {
		const char *url, *line;
	} rows[] = {
		{ "https://h/simple", "--index-url https://h/simple\n" },
		{ "https://u:p%40@h/s", "--index-url https://u:p%40@h/s\n" },
		{ "http://h/simple/", "--index-url http://h:80/simple/\n--trusted-host h:80\n" },
		{ "http://u:p@h:81/simple",
			"--index-url http://u:p@h:81/simple\n--trusted-host h:81\n" },
		{ "http://[::1]/simple",
			"--index-url http://[::1]:80/simple\n--trusted-host [::1]:80\n" },
		{ "http://[::1]:82/simple",
			"--index-url http://[::1]:82/simple\n--trusted-host [::1]:82\n" },
		{ "https://h/$%7BHOME%7D/'x'", "--index-url https://h/%24%7BHOME%7D/%27x%27\n" },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		struct lang_request request = { .index_url = rows[i].url };
		pkg_cleanup_buf struct pkg_buf out = { 0 };
		pkg_cleanup_error struct pkg_error err = { 0 };

		if (lang_python_index_lines(&request, &out, &err) < 0)
			fail_msg("%s: %s", rows[i].url, err.message);
		assert_string_equal(pkg_buf_str(&out), rows[i].line);
	}
}

static void
indexes_that_could_be_more_than_one_line_are_refused(PKG_UNUSED void **state)
{
	static const char *const rows[] = { "", "ftp://h/", "file:///x", "https://h/ --pre",
		"https://h/\n--pre", "https://h/\t#", "-r/etc/passwd" };

	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		struct lang_request request = { .index_url = rows[i] };
		pkg_cleanup_buf struct pkg_buf out = { 0 };

		if (lang_python_index_lines(&request, &out, NULL) == 0)
			fail_msg("accepted '%s' as %s", rows[i], pkg_buf_str(&out));
	}
}

static struct json_object *
facts(void)
{
	static const char text[] = "{\"markers\":{\"python_version\":\"3.11\",\"sys_platform\":"
				   "\"linux\",\"platform_version\":"
				   "\"x\"}}";

	return pkg_json_parse(text, strlen(text), NULL);
}

static void
markers_are_decided_and_never_reach_the_file(PKG_UNUSED void **state)
{
	static const char *const asked[] = { "a[y,x]>=1 ; python_version > '3'",
		"b ; sys_platform == 'win32'", "c ; sys_platform == 'linux --pre -r /etc/passwd'",
		"d ; platform_version != \"1 --index-url http://evil/ \"",
		"e @ https://h/e-1-py3-none-any.whl ; python_version > '3'" };
	pkg_cleanup(pkg_json_put) struct json_object *known = facts();
	pkg_cleanup(pkg_argv_free) struct pkg_argv *requirements = pkg_argv_new();
	pkg_cleanup(pkg_argv_free) struct pkg_argv *hashes = pkg_argv_new();
	struct lang_request request = {
		.requirements = requirements, .constraints = requirements, .hashes = hashes
	};
	pkg_cleanup_buf struct pkg_buf out = { 0 };
	pkg_cleanup_buf struct pkg_buf limits = { 0 };
	pkg_cleanup_error struct pkg_error err = { 0 };
	size_t count = 0;

	pkg_argv_add_n(requirements, PKG_ARRAY_LEN(asked), asked);
	pkg_argv_add(hashes, "D==1 sha256:" SHA " sha256:short", "z==1 sha256:" SHA);
	if (lang_python_requirement_lines(&request, known, &out, &count, &err) < 0)
		fail_msg("%s", err.message);
	assert_int_equal(count, 3);
	assert_string_equal(pkg_buf_str(&out),
		"a[x,y]>=1\nd --hash=sha256:" SHA "\ne @ https://h/e-1-py3-none-any.whl\n");
	assert_int_equal(lang_python_constraint_lines(&request, known, &limits, &err), 0);
	assert_int_equal(strncmp(pkg_buf_str(&limits), "a>=1\n", 5), 0);
}

static void
what_has_to_be_built_needs_leave_and_no_secrets(PKG_UNUSED void **state)
{
	static const struct {
		const char *requirement, *index;
		bool source;
		enum pkg_error_kind lines, credentials;
	} rows[] = {
		{ "a @ https://h/a-1-py3-none-any.whl", "https://h/", false, PKG_E_NONE,
			PKG_E_NONE },
		{ "a @ https://h/a-1.tar.gz", "https://h/", false, PKG_E_NO_WHEEL, PKG_E_NONE },
		{ "a @ https://h/a.whl?x=y.tar.gz", "https://h/", false, PKG_E_NONE, PKG_E_NONE },
		{ "a @ https://h/a-1.tar.gz#egg=a.whl", "https://h/", false, PKG_E_NO_WHEEL,
			PKG_E_NONE },
		{ "a @ https://h/a-1.tar.gz", "https://h/", true, PKG_E_NONE, PKG_E_NONE },
		{ "a", "https://u:p@h/", true, PKG_E_NONE, PKG_E_UNSUPPORTED },
		{ "a", "https://token@h/", true, PKG_E_NONE, PKG_E_UNSUPPORTED },
		{ "a @ https://u:p@h/a-1.tar.gz", "https://h/", true, PKG_E_NONE,
			PKG_E_UNSUPPORTED },
		{ "a @ git+https://h/x", "https://h/", true, PKG_E_UNSUPPORTED, PKG_E_NONE },
		{ "a @ file:///x/a-1-py3-none-any.whl", "https://h/", true, PKG_E_UNSUPPORTED,
			PKG_E_NONE },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		pkg_cleanup(pkg_json_put) struct json_object *known = facts();
		pkg_cleanup(pkg_argv_free) struct pkg_argv *requirements = pkg_argv_new();
		struct lang_request request = { .requirements = requirements,
			.index_url = rows[i].index,
			.source = rows[i].source };
		pkg_cleanup_buf struct pkg_buf out = { 0 };
		pkg_cleanup_error struct pkg_error lines = { 0 };
		pkg_cleanup_error struct pkg_error credentials = { 0 };
		size_t count;

		pkg_argv_add(requirements, rows[i].requirement);
		(void)lang_python_requirement_lines(&request, known, &out, &count, &lines);
		(void)lang_python_refuse_credentials(&request, &credentials);
		if (lines.kind != rows[i].lines || credentials.kind != rows[i].credentials)
			fail_msg("%s: %s, %s", rows[i].requirement, pkg_error_kind_name(lines.kind),
				pkg_error_kind_name(credentials.kind));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(json_and_html_have_one_form),
		cmocka_unit_test(what_is_no_page_is_refused),
		cmocka_unit_test(page_urls_are_of_the_normalised_name),
		cmocka_unit_test(indexes_are_lines_that_hold_nothing_else),
		cmocka_unit_test(indexes_that_could_be_more_than_one_line_are_refused),
		cmocka_unit_test(markers_are_decided_and_never_reach_the_file),
		cmocka_unit_test(what_has_to_be_built_needs_leave_and_no_secrets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
