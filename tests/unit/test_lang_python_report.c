#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "lang/python_report.h"

#define SHA_A "76ccb73c06eac84d83344b7fe4435e6059347906fd3c2ced6ec2a4661a8b5f4b"
#define SHA_B "94e28c104ac75437d30e90eaa3388afa79aeb6ed11cfcc7e682a33247a49a4ea"
#define ROW(url, archive, direct, name, version, more)                                             \
	"{\"download_info\":{\"url\":\"" url "\",\"archive_info\":{" archive                       \
	"}},\"is_direct\":" direct more ",\"requested\":true,\"metadata\":{"                       \
	"\"metadata_version\":\"2.1\",\"name\":\"" name "\",\"version\":\"" version "\"}}"
#define REPORT(rows)                                                                               \
	"{\"version\":\"1\",\"pip_version\":\"25.1.1\",\"install\":[" rows "],\"environment\":{}}"
#define OLD_HASH "\"hash\":\"sha256=" SHA_A "\""
#define NEW_HASH "\"hash\":\"sha256=" SHA_B "\",\"hashes\":{\"sha256\":\"" SHA_B "\"}"

static int
parse(const char *text, struct lang_resolution *out, struct pkg_error *err)
{
	return lang_python_report_parse(text, strlen(text), out, err);
}

static void
a_report_becomes_a_sorted_resolution(PKG_UNUSED void **state)
{
	pkg_cleanup_lang_resolution struct lang_resolution out = { 0 };
	pkg_cleanup_error struct pkg_error err = { 0 };

	if (parse(REPORT(ROW("http://127.0.0.1:1/p/Syn_Sdist-1.0.tar.gz", OLD_HASH, "false",
			  "Syn.Sdist", "1.0", "") "," ROW("https://user:secret@127.0.0.1:1/p/"
							  "syn_color-1.0-py3-none-any.whl#sha256=x",
			  NEW_HASH, "false", "syn-color", "1.0",
			  ",\"is_yanked\":true") "," ROW("https://127.0.0.1/p/main.zip", "", "true",
			  "zz", "0.1", "")),
		    &out, &err) < 0)
		fail_msg("%s", err.message);
	assert_int_equal(out.count, 3);
	assert_string_equal(out.engine, "pip 25.1.1");

	assert_string_equal(out.items[0].key, "syn-color");
	assert_string_equal(
		out.items[0].url, "https://127.0.0.1:1/p/syn_color-1.0-py3-none-any.whl");
	assert_string_equal(out.items[0].sha256, SHA_B);
	assert_string_equal(out.items[0].source, "wheel");
	assert_true(out.items[0].yanked);
	assert_false(out.items[0].is_sdist);
	assert_int_equal(out.items[0].size, -1);

	assert_string_equal(out.items[1].key, "syn-sdist");
	assert_string_equal(out.items[1].name, "Syn.Sdist");
	assert_string_equal(out.items[1].file, "Syn_Sdist-1.0.tar.gz");
	assert_string_equal(out.items[1].sha256, SHA_A);
	assert_string_equal(out.items[1].source, "sdist");
	assert_true(out.items[1].is_sdist);

	assert_string_equal(out.items[2].source, "direct");
	assert_true(out.items[2].is_sdist);
	assert_null(out.items[2].sha256);
}

static void
what_cannot_be_approved_is_refused(PKG_UNUSED void **state)
{
	static const struct {
		const char *text;
		enum pkg_error_kind kind;
	} rows[] = {
		{ "", PKG_E_INVALID },
		{ "[]", PKG_E_INVALID },
		{ "{\"version\":\"2\",\"pip_version\":\"99\",\"install\":[]}", PKG_E_INVALID },
		{ "{\"version\":\"1\",\"install\":[]}", PKG_E_INVALID },
		{ "{\"version\":\"1\",\"pip_version\":\"25\"}", PKG_E_INVALID },
		{ REPORT("1"), PKG_E_INVALID },
		{ REPORT("{}"), PKG_E_INVALID },
		{ REPORT(ROW("http://h/a-1.0-py3-none-any.whl", "", "false", "-a", "1.0", "")),
			PKG_E_INVALID },
		{ REPORT(ROW("http://h/a-1.0-py3-none-any.whl", "", "false", "a", "one", "")),
			PKG_E_INVALID },
		{ REPORT(ROW("file:///tmp/a-1.0-py3-none-any.whl", "", "true", "a", "1.0", "")),
			PKG_E_UNSUPPORTED },
		{ REPORT(ROW("http://h/", "", "false", "a", "1.0", "")), PKG_E_UNSUPPORTED },
		{ REPORT(ROW("http://h/%2e%2e", "", "false", "a", "1.0", "")), PKG_E_UNSUPPORTED },
		{ REPORT("{\"download_info\":{\"url\":\"https://h/x.git\",\"vcs_info\":{\"vcs\":"
			 "\"git\"}},\"metadata\":{\"name\":\"a\",\"version\":\"1\"}}"),
			PKG_E_UNSUPPORTED },
		{ REPORT("{\"download_info\":{\"url\":\"file:///x\",\"dir_info\":{}},"
			 "\"metadata\":{\"name\":\"a\",\"version\":\"1\"}}"),
			PKG_E_UNSUPPORTED },
		{ REPORT(ROW("http://h/a-1.0-py3-none-any.whl", "", "false", "b", "1.0", "")),
			PKG_E_ARCHIVE },
		{ REPORT(ROW("http://h/a-1.0-py3-none-any.whl", "", "false", "a", "2.0", "")),
			PKG_E_ARCHIVE },
		{ REPORT(ROW("http://h/a-1.0-py3-none-any.whl", "", "false", "a", "1.0",
			  "") "," ROW("http://h/A-1.0-py3-none-any.whl", "", "false", "A", "1.0",
			  "")),
			PKG_E_INVALID },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		pkg_cleanup_lang_resolution struct lang_resolution out = { 0 };
		pkg_cleanup_error struct pkg_error err = { 0 };

		if (parse(rows[i].text, &out, &err) == 0)
			fail_msg("accepted: %s", rows[i].text);
		if (err.kind != rows[i].kind)
			fail_msg("%s: %s", rows[i].text, err.message);
		assert_int_equal(out.count, 0);
		assert_null(out.items);
	}
}

static void
a_hash_of_another_kind_counts_as_none(PKG_UNUSED void **state)
{
	pkg_cleanup_lang_resolution struct lang_resolution out = { 0 };

	assert_int_equal(parse(REPORT(ROW("http://h/a-1.0-py3-none-any.whl",
				       "\"hash\":\"md5=0123\",\"hashes\":{\"md5\":\"0123\"}",
				       "false", "a", "1.0", "")),
				 &out, NULL),
		0);
	assert_null(out.items[0].sha256);
}

static void
local_versions_may_be_missing_inside(PKG_UNUSED void **state)
{
	pkg_cleanup_lang_resolution struct lang_resolution out = { 0 };

	assert_int_equal(parse(REPORT(ROW("http://h/a-1.0%2Bcpu-py3-none-any.whl", OLD_HASH,
				       "false", "a", "1.0", "")),
				 &out, NULL),
		0);
	assert_string_equal(out.items[0].file, "a-1.0+cpu-py3-none-any.whl");
}

static void
requirements_of_one_name_are_joined_and_lose_credentials(PKG_UNUSED void **state)
{
	static const char *const asked[] = { "A-b>=1", "a_b[y]<2",
		"c @ https://u:p@h/c-1-py3-none-any.whl", "absent" };
	pkg_cleanup_lang_resolution struct lang_resolution out = { 0 };
	pkg_cleanup(pkg_argv_free) struct pkg_argv *requirements = pkg_argv_new();

	pkg_argv_add_n(requirements, PKG_ARRAY_LEN(asked), asked);
	assert_int_equal(
		parse(REPORT(ROW("http://h/a_b-1.0-py3-none-any.whl", "", "false", "a.b", "1.0",
			      "") "," ROW("http://h/c-1-py3-none-any.whl", "", "true", "c", "1",
			      "") "," ROW("http://h/d-1-py3-none-any.whl", "", "false", "d", "1",
			      "")),
			&out, NULL),
		0);
	assert_int_equal(lang_python_report_asked(&out, requirements, NULL), 0);
	assert_string_equal(out.items[0].requirement, "A-b[y]<2,>=1");
	assert_string_equal(out.items[1].requirement, "c @ https://h/c-1-py3-none-any.whl");
	assert_null(out.items[2].requirement);
}

static void
yanked_ones_are_known_from_the_warning(PKG_UNUSED void **state)
{
	static const char log[] =
		"WARNING: The candidate selected for download or install is a yanked version: "
		"'syn-yanked' candidate (version 1.1 at http://h/syn_yanked-1.1-py3-none-any.whl "
		"(from http://h/simple/syn-yanked/))\n"
		"Reason for being yanked: broken <release> & \"withdrawn\"\x1b[31m\n"
		"WARNING: The candidate selected for download or install is a yanked version: 'b' "
		"c\n"
		"Reason for being yanked: <none given>\n"
		"WARNING: is a yanked version: 'not-in-the-plan' candidate\n"
		"is a yanked version: 'unfinished";
	pkg_cleanup_lang_resolution struct lang_resolution out = { 0 };

	assert_int_equal(
		parse(REPORT(ROW("http://h/syn_yanked-1.1-py3-none-any.whl", "", "false",
			      "syn-yanked", "1.1", "") "," ROW("http://h/b-1-py3-none-any.whl", "",
			      "false", "b", "1", "") "," ROW("http://h/c-1-py3-none-any.whl", "",
			      "false", "c", "1", "")),
			&out, NULL),
		0);
	lang_python_report_yanked(&out, log);
	assert_true(out.items[0].yanked);
	assert_null(out.items[0].yanked_reason);
	assert_false(out.items[1].yanked);
	assert_true(out.items[2].yanked);
	assert_string_equal(out.items[2].yanked_reason, "broken <release> & \"withdrawn\"");
}

static void
given_hashes_bind_the_version_they_were_given_for(PKG_UNUSED void **state)
{
	static const struct {
		const char *line;
		int result;
	} rows[] = {
		{ "a==1.0 sha256:" SHA_A, 0 },
		{ "A==1.0 sha256:" SHA_B " sha256:" SHA_A, 0 },
		{ "a==1.0 sha256:" SHA_B, -1 },
		{ "a==1.0 sha256:", -1 },
		{ "a==2.0 sha256:" SHA_B, 0 },
		{ "b==1.0 sha256:" SHA_B, 0 },
	};
	pkg_cleanup_lang_resolution struct lang_resolution out = { 0 };

	assert_int_equal(parse(REPORT(ROW("http://h/a-1.0-py3-none-any.whl", OLD_HASH, "false", "a",
				       "1.0", "")),
				 &out, NULL),
		0);
	assert_int_equal(lang_python_report_check_hashes(&out, NULL, NULL), 0);
	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		pkg_cleanup(pkg_argv_free) struct pkg_argv *hashes = pkg_argv_new();
		pkg_cleanup_error struct pkg_error err = { 0 };

		pkg_argv_add(hashes, rows[i].line);
		if (lang_python_report_check_hashes(&out, hashes, &err) != rows[i].result)
			fail_msg("%s", rows[i].line);
		if (rows[i].result < 0)
			assert_int_equal(err.kind, PKG_E_HASH);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_report_becomes_a_sorted_resolution),
		cmocka_unit_test(what_cannot_be_approved_is_refused),
		cmocka_unit_test(a_hash_of_another_kind_counts_as_none),
		cmocka_unit_test(local_versions_may_be_missing_inside),
		cmocka_unit_test(requirements_of_one_name_are_joined_and_lose_credentials),
		cmocka_unit_test(yanked_ones_are_known_from_the_warning),
		cmocka_unit_test(given_hashes_bind_the_version_they_were_given_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
