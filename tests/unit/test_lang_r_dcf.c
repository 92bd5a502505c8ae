#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "core/buf.h"
#include "lang/r_description.h"
#include "lang/r_packages.h"

struct seen {
	struct pkg_buf text;
	int records;
	int stop_after;
};

static int
note(void *context, const struct lang_r_record *record, PKG_UNUSED struct pkg_error *err)
{
	static const char *const fields[] = { "Package", "Imports", "Title" };
	struct seen *seen = context;

	for (size_t i = 0; i < PKG_ARRAY_LEN(fields); i++)
		if (lang_r_record_get(record, fields[i]))
			pkg_buf_addf(&seen->text, "%s=%s|", fields[i],
				lang_r_record_get(record, fields[i]));
	pkg_buf_add_char(&seen->text, ';');
	return ++seen->records == seen->stop_after;
}

static void
check(const char *text, const char *expected)
{
	struct seen seen = { 0 };

	assert_int_equal(lang_r_dcf_parse(text, strlen(text), note, &seen, NULL), 0);
	assert_string_equal(pkg_buf_str(&seen.text), expected);
	pkg_buf_clear(&seen.text);
}

static void
records_fields_and_continuations_are_read(PKG_UNUSED void **state)
{
	check("", "");
	check("\n\n \n", "");
	check("Package: a\n", "Package=a|;");
	check("Package: a", "Package=a|;");
	check("Package:a\r\nImports: b,\r\n   c\r\n\td\r\n\r\nPackage: e\n",
		"Package=a|Imports=b, c d|;Package=e|;");
	check("Package: a\nImports:\n  b\n", "Package=a|Imports=b|;");
	check("Package: a\nPackage: b\n", "Package=b|;");
	check("# a comment\nPackage: a\n\n\n\nPackage: b\n\n", "Package=a|;Package=b|;");
	check("Title: \xff\xfe bytes\n", "Title=\xff\xfe bytes|;");
}

static void
what_is_no_such_file_is_refused_with_its_line(PKG_UNUSED void **state)
{
	static const struct {
		const char *text, *words;
	} bad[] = { { "<html>\n", "line 1" }, { "Package: a\nno colon\n", "line 2" },
		{ " begins blank\n", "line 1" }, { "Two Words: x\n", "line 1" },
		{ ": x\n", "line 1" } };

	for (size_t i = 0; i < PKG_ARRAY_LEN(bad); i++) {
		pkg_cleanup_error struct pkg_error err = { 0 };
		struct seen seen = { 0 };

		assert_int_equal(
			lang_r_dcf_parse(bad[i].text, strlen(bad[i].text), note, &seen, &err), -1);
		assert_int_equal(err.kind, PKG_E_INVALID);
		assert_non_null(strstr(err.message, bad[i].words));
		pkg_buf_clear(&seen.text);
	}
	assert_int_equal(lang_r_dcf_parse("a: b\0c", 6, note, NULL, NULL), -1);
}

static void
too_many_fields_and_too_long_a_value_are_refused(PKG_UNUSED void **state)
{
	pkg_cleanup_buf struct pkg_buf text = { 0 };
	pkg_cleanup_error struct pkg_error err = { 0 };
	struct seen seen = { 0 };

	for (int i = 0; i <= LANG_R_DCF_FIELDS_MAX; i++)
		pkg_buf_addf(&text, "F%d: x\n", i);
	assert_int_equal(lang_r_dcf_parse(text.data, text.len, note, &seen, &err), -1);
	assert_int_equal(err.kind, PKG_E_TOO_LARGE);
	pkg_buf_truncate(&text, 0);
	pkg_buf_add(&text, "Title: x\n");
	while (text.len < 2 * LANG_R_DCF_VALUE_MAX)
		pkg_buf_add(&text, "  and so on and on and on and on\n");
	assert_int_equal(lang_r_dcf_parse(text.data, text.len, note, &seen, &err), -1);
	assert_int_equal(err.kind, PKG_E_TOO_LARGE);
}

static void
a_callback_can_end_it(PKG_UNUSED void **state)
{
	struct seen seen = { .stop_after = 1 };
	const char *text = "Package: a\n\nnot a record\n";

	assert_int_equal(lang_r_dcf_parse(text, strlen(text), note, &seen, NULL), 0);
	assert_int_equal(seen.records, 1);
	pkg_buf_clear(&seen.text);
}

static void
a_description_is_judged(PKG_UNUSED void **state)
{
	static const char text[] =
		"Package: a.b\nVersion: 1.2-3\nDepends: R (>= 3.5), methods\nImports: cli (>= 3)\n"
		"LinkingTo: Rcpp\nSuggests: testthat\nNeedsCompilation: yes\nStagedInstall: no\n"
		"SystemRequirements: lib\x1b[31mcurl\n"
		"Built: R 4.2.2; x86_64-pc-linux-gnu; 2024-01-01 00:00:00 UTC; unix\n";
	static const char *const bad[] = { "", "Version: 1.0\n", "Package: a b\nVersion: 1.0\n",
		"Package: ab\nVersion: x\n", "Package: ab\nVersion: 1.0\nImports: a (>> 1)\n" };
	lang_cleanup_r_description struct lang_r_description description = { 0 };

	assert_int_equal(lang_r_description_parse(text, strlen(text), &description, NULL), 0);
	assert_string_equal(description.package, "a.b");
	assert_int_equal(description.needs.count, 4);
	assert_int_equal(description.suggests.count, 1);
	assert_true(description.compiles);
	assert_false(description.staged_install);
	assert_string_equal(description.built_r, "4.2.2");
	assert_string_equal(description.built_platform, "x86_64-pc-linux-gnu");
	assert_null(strchr(description.system_requirements, '\x1b'));
	for (size_t i = 0; i < PKG_ARRAY_LEN(bad); i++) {
		pkg_cleanup_error struct pkg_error err = { 0 };
		struct lang_r_description other = { 0 };

		assert_int_equal(
			lang_r_description_parse(bad[i], strlen(bad[i]), &other, &err), -1);
		assert_int_equal(err.kind, PKG_E_ARCHIVE);
		assert_null(other.package);
	}
}

static void
an_index_leaves_out_what_makes_no_sense(PKG_UNUSED void **state)
{
	static const char text[] = "Package: good\nVersion: 1.0\nMD5sum: "
				   "0123456789ABCDEF0123456789abcdef\nImports: x.y\n\n"
				   "Package: good\nVersion: 1.10\nMD5sum: none\n\n"
				   "Package: ../evil\nVersion: 1.0\n\n"
				   "Package: other\nVersion: 1.0\nPath: ../../etc\n\n"
				   "Package: third\nVersion: 1.0\nPath: 4.2.0/Recommended\n\n"
				   "Package: fourth\nVersion: 1.0\nFile: ../x.tar.gz\n\n"
				   "Package: fifth\n";
	struct lang_r_entries entries = { 0 };

	assert_int_equal(
		lang_r_entries_parse(text, strlen(text), "http://h/cran", 0, &entries, NULL), 0);
	assert_int_equal(entries.count, 3);
	assert_string_equal(entries.items[0].version, "1.10");
	assert_null(entries.items[0].md5);
	assert_string_equal(entries.items[1].md5, "0123456789abcdef0123456789abcdef");
	assert_string_equal(entries.items[1].url, "http://h/cran/src/contrib/good_1.0.tar.gz");
	assert_string_equal(entries.items[2].url,
		"http://h/cran/src/contrib/4.2.0/Recommended/third_1.0.tar.gz");
	lang_r_entries_clear(&entries);
}

static void
an_archives_page_gives_versions_newest_first(PKG_UNUSED void **state)
{
	static const char html[] =
		"<a href=\"cli_1.9.tar.gz\">cli_1.9.tar.gz</a> <a href='cli_1.10.tar.gz'>x</a>"
		"<a href=\"clipr_9.9.tar.gz\">c</a><a href=\"mycli_5.0.tar.gz\">c</a>"
		"<a href=\"cli_2.0.zip\">c</a> cli_x.tar.gz cli_1.2-3.tar.gz";
	pkg_cleanup(pkg_argv_free) struct pkg_argv *versions = pkg_argv_new();
	pkg_autofree char *joined = NULL;

	lang_r_archive_versions(html, strlen(html), "cli", versions);
	joined = pkg_argv_join(versions, " ");
	assert_string_equal(joined, "1.10 1.9 1.2-3");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_fields_and_continuations_are_read),
		cmocka_unit_test(what_is_no_such_file_is_refused_with_its_line),
		cmocka_unit_test(too_many_fields_and_too_long_a_value_are_refused),
		cmocka_unit_test(a_callback_can_end_it),
		cmocka_unit_test(a_description_is_judged),
		cmocka_unit_test(an_index_leaves_out_what_makes_no_sense),
		cmocka_unit_test(an_archives_page_gives_versions_newest_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
