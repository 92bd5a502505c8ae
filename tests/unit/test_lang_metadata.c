#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "core/buf.h"
#include "lang/metadata.h"

#define HEAD "Metadata-Version: 2.1\nName: foo\nVersion: 1.0\n"

static char *
shown(const struct lang_metadata *metadata)
{
	pkg_autofree char *dists = pkg_argv_join(metadata->requires_dist, "|");
	pkg_autofree char *extras = pkg_argv_join(metadata->provides_extra, "|");

	return pkg_xasprintf("%s %s python[%s] dist[%s] extra[%s]", metadata->name,
		metadata->version, metadata->requires_python ? metadata->requires_python : "-",
		dists, extras);
}

static void
the_headers_that_matter_are_found(PKG_UNUSED void **state)
{
	static const char *const rows[][2] = {
		{ HEAD, "foo 1.0 python[-] dist[] extra[]" },
		{ "Name: foo\r\nVersion: 1.0\r\n\r\nbody", "foo 1.0 python[-] dist[] extra[]" },
		{ "Name: foo\rVersion: 1.0", "foo 1.0 python[-] dist[] extra[]" },
		{ "NAME:foo\nversion:\t 1.0 \nREQUIRES-PYTHON: >=3.8\nrequires-dist: a\n",
			"foo 1.0 python[>=3.8] dist[a] extra[]" },
		{ HEAD "Requires-Dist: a (>=1)\nRequires-Dist: b; extra == 'x'\nProvides-Extra: x\n"
		       "Provides-Extra: y\nRequires-Python: >=3.8\n",
			"foo 1.0 python[>=3.8] dist[a (>=1)|b; extra == 'x'] extra[x|y]" },
		/* folded, and folded headers of others */
		{ HEAD "Requires-Dist: a\n (>=1,\n\t<2)\nLicense: long\n  Requires-Dist: no\n",
			"foo 1.0 python[-] dist[a  (>=1, \t<2)] extra[]" },
		{ " folded: nothing\n" HEAD, "foo 1.0 python[-] dist[] extra[]" },
		/* the body, and text that is no header, end the headers */
		{ HEAD "\nRequires-Dist: no\n", "foo 1.0 python[-] dist[] extra[]" },
		{ HEAD "no header here\nRequires-Dist: no\n", "foo 1.0 python[-] dist[] extra[]" },
		{ HEAD "Requires Dist: no\nRequires-Dist: no\n",
			"foo 1.0 python[-] dist[] extra[]" },
		{ HEAD "Requires-Dist-Extra: no\nXRequires-Dist: no\n",
			"foo 1.0 python[-] dist[] extra[]" },
		/* others may be given twice, and be anything */
		{ HEAD "Classifier: \xff\x01\nClassifier: b\nRequires-Dist: a\n",
			"foo 1.0 python[-] dist[a] extra[]" },
		{ "Name: Foo_Bar\nVersion: 1.0-debian~weird\n",
			"Foo_Bar 1.0-debian~weird python[-] dist[] extra[]" },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		lang_cleanup_metadata struct lang_metadata metadata = { 0 };
		pkg_cleanup_error struct pkg_error err = { 0 };
		pkg_autofree char *text = NULL;

		if (lang_metadata_parse(rows[i][0], strlen(rows[i][0]), &metadata, &err) < 0)
			fail_msg("row %zu was refused: %s", i, err.message);
		text = shown(&metadata);
		assert_string_equal(text, rows[i][1]);
	}
}

static void
ambiguous_or_broken_metadata_is_refused(PKG_UNUSED void **state)
{
	static const char *const rows[][2] = {
		{ "", "METADATA: no Name" },
		{ "\n" HEAD, "no Name" },
		{ "Version: 1.0\n", "no Name" },
		{ "Name: foo\n", "no Version" },
		{ "Name: foo\nVersion:\n", "no Version" },
		{ "Name:\nVersion: 1\n", "not a project name" },
		{ "Name: ../x\nVersion: 1\n", "not a project name" },
		{ "Name: foo bar\nVersion: 1\n", "not a project name" },
		{ "Name: -foo\nVersion: 1\n", "not a project name" },
		{ "Name: foo\nVersion: 1 2\n", "no version has" },
		{ "Name: foo\nVersion: \xC3\xA9\n", "no version has" },
		{ HEAD "Name: bar\n", "Name: given twice" },
		{ HEAD "name: foo\n", "Name: given twice" },
		{ HEAD "Version: 2\n", "Version: given twice" },
		{ HEAD "Requires-Python: 3\nRequires-Python: 2\n", "Requires-Python: given twice" },
		{ HEAD "Requires-Dist: a\x1b[0m\n", "Requires-Dist: a control character" },
		{ HEAD "Requires-Dist: a\xff\n", "Requires-Dist: not UTF-8" },
		{ HEAD ": x\nRequires-Dist: a\n", "a malformed header" },
		{ HEAD "From x\nRequires-Dist: a\n", "a malformed header" },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		pkg_cleanup_error struct pkg_error err = { 0 };
		struct lang_metadata metadata;

		if (lang_metadata_parse(rows[i][0], strlen(rows[i][0]), &metadata, &err) == 0)
			fail_msg("'%s' was accepted", rows[i][0]);
		assert_int_equal(err.kind, PKG_E_ARCHIVE);
		if (!strstr(err.message, rows[i][1]))
			fail_msg("'%s' is not in '%s'", rows[i][1], err.message);
		assert_null(metadata.name);
		assert_null(metadata.requires_dist);
	}
}

static void
a_nul_cuts_no_value_short(PKG_UNUSED void **state)
{
	static const char text[] = "Name: foo\0bar\nVersion: 1.0\n";
	struct lang_metadata metadata;

	assert_int_equal(lang_metadata_parse(text, sizeof(text) - 1, &metadata, NULL), -1);
}

static void
head_values_and_lists_are_bounded(PKG_UNUSED void **state)
{
	pkg_cleanup_buf struct pkg_buf text = { 0 };
	struct lang_metadata metadata;

	/* a long body is no matter, a long head is */
	for (int body = 0; body < 2; body++) {
		pkg_buf_truncate(&text, 0);
		pkg_buf_add(&text, body ? HEAD "\n" : HEAD);
		while (text.len <= LANG_METADATA_HEAD_MAX)
			pkg_buf_add(
				&text, "X: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n");
		assert_int_equal(
			lang_metadata_parse(text.data, text.len, &metadata, NULL), body ? 0 : -1);
		lang_metadata_clear(&metadata);
	}
	for (int more = 0; more < 2; more++) {
		pkg_buf_truncate(&text, 0);
		pkg_buf_add(&text, HEAD "Requires-Dist: ");
		for (int i = 0; i < LANG_METADATA_VALUE_MAX + more; i++)
			pkg_buf_add_char(&text, 'a');
		assert_int_equal(lang_metadata_parse(text.data, text.len, &metadata, NULL), -more);
		lang_metadata_clear(&metadata);
		pkg_buf_truncate(&text, 0);
		pkg_buf_add(&text, HEAD);
		for (int i = 0; i < LANG_METADATA_LIST_MAX + more; i++)
			pkg_buf_add(&text, "Requires-Dist: a\n");
		assert_int_equal(lang_metadata_parse(text.data, text.len, &metadata, NULL), -more);
		lang_metadata_clear(&metadata);
	}
}

static void
wheel_files_say_where_the_root_goes(PKG_UNUSED void **state)
{
	static const struct {
		const char *text;
		bool ok, purelib;
		const char *tags;
	} rows[] = {
		{ "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py2-none-any\n"
		  "Tag: py3-none-any\n\n",
			true, true, "py2-none-any py3-none-any" },
		{ "wheel-version: 1.9\nROOT-IS-PURELIB: False\n", true, false, "" },
		{ "Wheel-Version: 1.0\nRoot-Is-Purelib: yes\n", false, false, NULL },
		{ "Wheel-Version: 1.0\n", false, false, NULL },
		{ "Root-Is-Purelib: true\n", false, false, NULL },
		{ "Wheel-Version: 2.0\nRoot-Is-Purelib: true\n", false, false, NULL },
		{ "Wheel-Version: 10\nRoot-Is-Purelib: true\n", false, false, NULL },
		{ "Wheel-Version: 1.\nRoot-Is-Purelib: true\n", false, false, NULL },
		{ "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nRoot-Is-Purelib: false\n", false,
			false, NULL },
		{ "", false, false, NULL },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		lang_cleanup_wheel_info struct lang_wheel_info info = { 0 };
		pkg_cleanup_error struct pkg_error err = { 0 };
		int rc = lang_wheel_info_parse(rows[i].text, strlen(rows[i].text), &info, &err);

		assert_int_equal(rc, rows[i].ok ? 0 : -1);
		if (rows[i].ok) {
			pkg_autofree char *tags = pkg_argv_join(info.tags, " ");

			assert_int_equal(info.root_is_purelib, rows[i].purelib);
			assert_string_equal(tags, rows[i].tags);
		} else {
			assert_int_equal(err.kind, PKG_E_ARCHIVE);
			assert_null(info.tags);
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_headers_that_matter_are_found),
		cmocka_unit_test(ambiguous_or_broken_metadata_is_refused),
		cmocka_unit_test(a_nul_cuts_no_value_short),
		cmocka_unit_test(head_values_and_lists_are_bounded),
		cmocka_unit_test(wheel_files_say_where_the_root_goes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
