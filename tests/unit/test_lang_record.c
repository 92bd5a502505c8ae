#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "core/sha256.h"
#include "lang/record.h"

#define EMPTY_SHA "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"

static char *
rewrite(const char *text)
{
	lang_cleanup_record struct lang_record record = { 0 };
	pkg_cleanup_error struct pkg_error err = { 0 };
	struct pkg_buf out = { 0 };

	if (lang_record_parse(text, strlen(text), &record, &err) < 0)
		fail_msg("'%s' was refused: %s", text, err.message);
	lang_record_write(&record, &out);
	return pkg_buf_steal(&out);
}

static void
what_is_read_is_written_canonically(PKG_UNUSED void **state)
{
	static const char *const rows[][2] = {
		{ "", "" },
		{ "\n\r\n", "" },
		{ "a.py,,", "a.py,,\n" },
		{ "a.py,sha256=" EMPTY_SHA ",0\n", "a.py,sha256=" EMPTY_SHA ",0\n" },
		{ "a.py,sha256=" EMPTY_SHA ",0\r\nb.py,,\r\n",
			"a.py,sha256=" EMPTY_SHA ",0\nb.py,,\n" },
		{ "a,,\rb,,", "a,,\nb,,\n" },
		{ "\"a,b.py\",,12", "\"a,b.py\",,12\n" },
		{ "\"a\"\"b.py\",\"\",\"7\"\n", "\"a\"\"b.py\",,7\n" },
		{ "\"plain\",,", "plain,,\n" },
		{ " a b ,,", " a b ,,\n" },
		{ "../../../bin/x,,007", "../../../bin/x,,7\n" },
		{ "\xC3\xA9.py,,", "\xC3\xA9.py,,\n" },
		{ "x,,999999999999999999", "x,,999999999999999999\n" },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		pkg_autofree char *once = rewrite(rows[i][0]);
		pkg_autofree char *twice = rewrite(once);

		assert_string_equal(once, rows[i][1]);
		assert_string_equal(twice, once);
	}
}

static void
absent_fields_are_null_and_minus_one(PKG_UNUSED void **state)
{
	static const char text[] = "p-1.dist-info/RECORD,,\nx.py,sha256=" EMPTY_SHA ",0\n";
	lang_cleanup_record struct lang_record record = { 0 };

	assert_int_equal(lang_record_parse(text, strlen(text), &record, NULL), 0);
	assert_int_equal(record.count, 2);
	assert_string_equal(record.entries[0].path, "p-1.dist-info/RECORD");
	assert_null(record.entries[0].sha256);
	assert_int_equal(record.entries[0].size, -1);
	assert_string_equal(record.entries[1].sha256, EMPTY_SHA);
	assert_int_equal(record.entries[1].size, 0);
}

static void
the_hash_is_spelt_as_core_spells_it(PKG_UNUSED void **state)
{
	pkg_cleanup(pkg_sha256_free) struct pkg_sha256 *sha = pkg_sha256_new();
	unsigned char digest[PKG_SHA256_BYTES];
	char text[44];

	pkg_sha256_end(sha, digest);
	pkg_sha256_base64url(digest, text);
	assert_string_equal(text, EMPTY_SHA);
	assert_int_equal(strlen(text), LANG_RECORD_SHA256);
}

static void
what_is_no_record_is_refused_with_its_line(PKG_UNUSED void **state)
{
	static const char *const rows[][2] = {
		{ "a", "line 1: fewer than three fields" },
		{ "a,", "fewer than three" },
		{ "ok,,\n\na,b\n", "line 3: fewer than three" },
		{ "a,,,", "more than three" },
		{ "a,b.py,,", "more than three" },
		{ ",,", "an empty path" },
		{ "\"\",,", "an empty path" },
		{ "\"a,,", "does not end" },
		{ "\"a\"b,,", "text after a quoted field" },
		{ "a\"b,,", "a quote inside" },
		{ "\"a\nb\",,", "a control character" },
		{ "a\x1b[0m,,", "a control character" },
		{ "a\x7f,,", "a control character" },
		{ "\xC3,,", "not UTF-8" },
		{ "a,md5=0123,", "not sha256" },
		{ "a,sha1=0123,", "not sha256" },
		{ "a,sha512=0123,", "not sha256" },
		{ "a,SHA256=" EMPTY_SHA ",", "not sha256" },
		{ "a,sha256=,", "malformed sha256" },
		{ "a,sha256=" EMPTY_SHA "=,", "malformed sha256" },
		{ "a,sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFV,", "malformed sha256" },
		{ "a,sha256=47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU,", "malformed sha256" },
		{ "a,,-1", "malformed size" },
		{ "a,,1k", "malformed size" },
		{ "a,, 1", "malformed size" },
		{ "a,,1000000000000000000", "malformed size" },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		pkg_cleanup_error struct pkg_error err = { 0 };
		struct lang_record record;

		if (lang_record_parse(rows[i][0], strlen(rows[i][0]), &record, &err) == 0)
			fail_msg("'%s' was accepted", rows[i][0]);
		assert_int_equal(err.kind, PKG_E_ARCHIVE);
		if (!strstr(err.message, rows[i][1]))
			fail_msg("'%s' is not in '%s'", rows[i][1], err.message);
		assert_null(record.entries);
	}
}

static void
a_nul_in_a_path_is_refused(PKG_UNUSED void **state)
{
	struct lang_record record;

	assert_int_equal(lang_record_parse("a\0b,,", 6, &record, NULL), -1);
	assert_int_equal(lang_record_parse("a,\0,", 4, &record, NULL), -1);
	assert_int_equal(lang_record_parse("a,,\0", 4, &record, NULL), -1);
}

static void
entries_can_be_added_and_sorted(PKG_UNUSED void **state)
{
	lang_cleanup_record struct lang_record record = { 0 };
	pkg_cleanup_buf struct pkg_buf out = { 0 };

	lang_record_sort(&record);
	lang_record_add(&record, "b", NULL, 1);
	lang_record_add(&record, "a/b", EMPTY_SHA, 0);
	lang_record_add(&record, "B", NULL, -1);
	lang_record_sort(&record);
	lang_record_write(&record, &out);
	assert_string_equal(out.data, "B,,\na/b,sha256=" EMPTY_SHA ",0\nb,,1\n");
}

static void
entries_and_paths_are_bounded(PKG_UNUSED void **state)
{
	pkg_cleanup_buf struct pkg_buf text = { 0 };
	struct lang_record record;

	for (int i = 0; i < LANG_RECORD_ENTRIES_MAX; i++)
		pkg_buf_add(&text, "a,,\n");
	assert_int_equal(lang_record_parse(text.data, text.len, &record, NULL), 0);
	assert_int_equal(record.count, LANG_RECORD_ENTRIES_MAX);
	lang_record_clear(&record);
	pkg_buf_add(&text, "a,,\n");
	assert_int_equal(lang_record_parse(text.data, text.len, &record, NULL), -1);

	for (int quoted = 0; quoted < 2; quoted++) {
		for (int more = 0; more < 2; more++) {
			pkg_buf_truncate(&text, 0);
			pkg_buf_add(&text, quoted ? "\"" : "");
			for (int i = 0; i < LANG_RECORD_PATH_MAX + more; i++)
				pkg_buf_add_char(&text, 'a');
			pkg_buf_add(&text, quoted ? "\",," : ",,");
			assert_int_equal(
				lang_record_parse(text.data, text.len, &record, NULL), -more);
			lang_record_clear(&record);
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_read_is_written_canonically),
		cmocka_unit_test(absent_fields_are_null_and_minus_one),
		cmocka_unit_test(the_hash_is_spelt_as_core_spells_it),
		cmocka_unit_test(what_is_no_record_is_refused_with_its_line),
		cmocka_unit_test(a_nul_in_a_path_is_refused),
		cmocka_unit_test(entries_can_be_added_and_sorted),
		cmocka_unit_test(entries_and_paths_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
