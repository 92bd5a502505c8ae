#include "unit.h"

#include "core/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct json_object *
parse(const char *text)
{
	return pkg_json_parse(text, strlen(text), NULL);
}

static void
valid_json_is_taken(PKG_UNUSED void **state)
{
	static const char *const rows[] = { "{}", "[]", "0", "-0", "12", "-1.5e+3", "1E5", "true",
		"false", "\"\"", " \t\r\n[1 , 2]\n\n", "{\"a\":{\"b\":[null,\"x\"]}}",
		"\"\\u00e9\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\xF0\x9F\x93\xA6\"", "\"\\\\u0000\"",
		"\"\\ud83d\\udce6\"", "9223372036854775807", "{\"a\":1,\"a\":2}", "{\"\":1}",
		"\"// no /* comment\"", "1e-400" };

	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		pkg_cleanup_error struct pkg_error err = { 0 };
		struct json_object *value = pkg_json_parse(rows[i], strlen(rows[i]), &err);

		if (!value)
			fail_msg("%s: %s", rows[i], err.message);
		json_object_put(value);
	}
}

static void
what_rfc_8259_does_not_know_is_refused(PKG_UNUSED void **state)
{
	static const char *const rows[] = { "", " ", "null", "{", "[1", "[1,]", "[,]", "[1,,2]",
		"{\"a\":1,}", "{\"a\"}", "{\"a\":}", "{a:1}", "{'a':1}", "[1 2]", "1 2", "{}{}",
		"{}x", "[] ]", "nul", "nulll", "True", "TRUE", "NaN", "-NaN", "Infinity",
		"-Infinity", "nan", "01", "-", "-01", "1.", ".5", "1e", "1e+", "0x10", "+1",
		"1e999", "-1e309", "\"", "\"a", "\"\\x\"", "\"\\u12\"", "\"\\u00g0\"", "\"a\nb\"",
		"\"a\tb\"", "\"\x01\"", "\"\\u0000\"", "{\"a\\u0000b\":1}", "// c\n1", "/* c */ 1",
		"1 // c", "\xEF\xBB\xBF{}", "\"\xFF\"", "\"\xC0\xAF\"", "\"\xED\xA0\x80\"", "\v1",
		"\"\\", "[\"a\" \"b\"]", "{\"a\":1 \"b\":2}", "}", "]", ",", ":", "1true", "[1:2]",
		"\"a\"b" };

	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		pkg_cleanup_error struct pkg_error err = { 0 };
		struct json_object *value = pkg_json_parse(rows[i], strlen(rows[i]), &err);

		if (value)
			fail_msg("taken: %s", rows[i]);
		assert_int_equal(err.kind, PKG_E_INVALID);
		assert_non_null(strstr(err.message, "line "));
	}
	assert_null(pkg_json_parse("{}\0", 3, NULL));
	assert_null(pkg_json_parse("1\0", 2, NULL));
}

static void
only_len_bytes_are_read(PKG_UNUSED void **state)
{
	struct json_object *value = pkg_json_parse("[1]garbage", 3, NULL);
	struct json_object *number = pkg_json_parse("1234", 2, NULL);

	assert_non_null(value);
	assert_int_equal(json_object_get_int(number), 12);
	json_object_put(value);
	json_object_put(number);
}

static void
errors_say_line_and_column_in_characters(PKG_UNUSED void **state)
{
	static const struct {
		const char *text;
		const char *where;
	} rows[] = {
		{ "{\n  \"a\": 1,\n  \"b\": tru\n}", "line 3, column 8" },
		{ "x", "line 1, column 1" },
		{ "[\"\xC3\xA9\xC3\xA9\", y]", "line 1, column 8" },
		{ "[1,\n2,\n01]", "line 3, column 1" },
		{ "[1,\n\xFF]", "line 2, column 1" },
		{ "{\"\xC3\xA9\": \"\xC3\xA9\xE2\x82\"}", "line 1, column 9" },
		{ "[1]\n\n[2]", "line 3, column 1" },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		pkg_cleanup_error struct pkg_error err = { 0 };

		assert_null(pkg_json_parse(rows[i].text, strlen(rows[i].text), &err));
		if (!strstr(err.message, rows[i].where))
			fail_msg("%s is not in: %s", rows[i].where, err.message);
	}
}

static void
nesting_ends_at_64_levels(PKG_UNUSED void **state)
{
	char deep[2 * (PKG_JSON_DEPTH + 1)];
	struct json_object *value;

	memset(deep, '[', PKG_JSON_DEPTH);
	memset(deep + PKG_JSON_DEPTH, ']', PKG_JSON_DEPTH);
	value = pkg_json_parse(deep, 2 * PKG_JSON_DEPTH, NULL);
	assert_non_null(value);
	json_object_put(value);
	memset(deep, '[', PKG_JSON_DEPTH + 1);
	memset(deep + PKG_JSON_DEPTH + 1, ']', PKG_JSON_DEPTH + 1);
	assert_null(pkg_json_parse(deep, sizeof(deep), NULL));
}

static void
relaxed_json_may_have_comments_and_trailing_commas(PKG_UNUSED void **state)
{
	static const char *const rows[][2] = {
		{ "// top\n{\"a\":1, // one\n\"b\":[1,2,],/* two\n*/}", "{\"a\":1,\"b\":[1,2]}" },
		{ "{\"url\":\"http://x/*y*/\",}", "{\"url\":\"http://x/*y*/\"}" },
		{ "[\"a\\\",]\",\n/**/\n]", "[\"a\\\",]\"]" },
		{ "[[1,],{\"x\":\"y\",},]//", "[[1],{\"x\":\"y\"}]" },
		{ "[1,/*,*/]", "[1]" },
		{ "/***/[1]/**/", "[1]" },
		{ "[1]", "[1]" },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		pkg_cleanup_error struct pkg_error err = { 0 };
		pkg_cleanup(pkg_json_put) struct json_object *value =
			pkg_json_parse_relaxed(rows[i][0], strlen(rows[i][0]), &err);
		pkg_autofree char *text = NULL;

		if (!value)
			fail_msg("%s: %s", rows[i][0], err.message);
		text = pkg_json_canonical(value);
		assert_string_equal(text, rows[i][1]);
	}
}

static void
relaxed_json_is_strict_about_the_rest(PKG_UNUSED void **state)
{
	static const char *const rows[] = { "[,]", "{,}", "[1,,]", "[1,,2]", "{\"a\":,}", ",",
		"[1],", "/* no end", "[1 /* no end ]", "/", "[1/2]", "# x\n1", "{a:1}", "\"a",
		"/*/ 1" };
	static const char text[] = "{ // one\n/* two\n three */ \"a\": x }";
	pkg_cleanup_error struct pkg_error err = { 0 };

	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		if (pkg_json_parse_relaxed(rows[i], strlen(rows[i]), NULL))
			fail_msg("taken: %s", rows[i]);
	}
	assert_null(pkg_json_parse_relaxed(text, strlen(text), &err));
	assert_non_null(strstr(err.message, "line 3, column 16"));
}

static void
canonical_text_does_not_depend_on_order_or_spelling(PKG_UNUSED void **state)
{
	pkg_cleanup(pkg_json_put) struct json_object *a = parse(
		"{\"b\":[1,{\"z\":null,\"a\":\"/\"}],\"a\":1.50,\"B\":\"\\u00e9\",\"\":true}");
	pkg_cleanup(pkg_json_put) struct json_object *b =
		parse(" {\"\":true, \"B\":\"\xC3\xA9\", "
		      "\"a\":15e-1,\"b\":[1,{\"a\":\"\\/\",\"z\":null}]}");
	pkg_autofree char *one = pkg_json_canonical(a);
	pkg_autofree char *two = pkg_json_canonical(b);

	assert_string_equal(one, two);
	assert_string_equal(
		one, "{\"\":true,\"B\":\"\xC3\xA9\",\"a\":1.5,\"b\":[1,{\"a\":\"/\",\"z\":null}]}");
}

static void
a_line_has_no_newline_and_parses_back(PKG_UNUSED void **state)
{
	pkg_cleanup(pkg_json_put) struct json_object *value =
		parse("{\"a\" : \"x\\ny/\", \"b\":[ ]}");
	pkg_autofree char *line = pkg_json_line(value);

	assert_string_equal(line, "{\"a\":\"x\\ny/\",\"b\":[]}");
}

static void
getters_never_convert(PKG_UNUSED void **state)
{
	pkg_cleanup(pkg_json_put) struct json_object *o =
		parse("{\"s\":\"7\",\"n\":7,\"d\":7.5,\"t\":true,\"z\":null,\"a\":[1],"
		      "\"u\":18446744073709551615,\"big\":99999999999999999999,"
		      "\"min\":-9223372036854775808}");
	pkg_cleanup(pkg_json_put) struct json_object *array = parse("[1]");

	assert_string_equal(pkg_json_str(o, "s"), "7");
	assert_null(pkg_json_str(o, "n"));
	assert_null(pkg_json_str(o, "z"));
	assert_null(pkg_json_str(o, "absent"));
	assert_string_equal(pkg_json_str_or(o, "n", "f"), "f");
	assert_int_equal(pkg_json_int(o, "n", -1), 7);
	assert_int_equal(pkg_json_int(o, "s", -1), -1);
	assert_int_equal(pkg_json_int(o, "d", -1), -1);
	assert_int_equal(pkg_json_int(o, "t", -1), -1);
	assert_int_equal(pkg_json_int(o, "u", -1), -1);
	assert_int_equal(pkg_json_int(o, "big", -1), -1);
	assert_true(pkg_json_int(o, "min", -1) == INT64_MIN);
	assert_true(pkg_json_bool(o, "t", false));
	assert_true(pkg_json_bool(o, "n", true));
	assert_false(pkg_json_bool(o, "n", false));
	assert_non_null(pkg_json_array(o, "a"));
	assert_null(pkg_json_array(o, "s"));
	assert_null(pkg_json_get(NULL, "s"));
	assert_null(pkg_json_get(array, "s"));
	assert_null(pkg_json_str(array, "s"));
}

static void
errors_of_getters_name_the_key(PKG_UNUSED void **state)
{
	pkg_cleanup(pkg_json_put) struct json_object *o =
		parse("{\"n\":7,\"l\":[\"a\",\"b\"],\"m\":[\"a\",1],\"z\":null}");
	pkg_cleanup(pkg_argv_free) struct pkg_argv *out = pkg_argv_new();
	pkg_cleanup_error struct pkg_error err = { 0 };

	assert_null(pkg_json_need_str(o, "n", &err));
	assert_string_equal(err.message, "'n' must be a string");
	assert_null(pkg_json_need_str(o, "x", &err));
	assert_string_equal(err.message, "'x' is missing");
	assert_int_equal(pkg_json_strings(o, "n", out, &err), -1);
	assert_int_equal(pkg_json_strings(o, "m", out, &err), -1);
	assert_non_null(strstr(err.message, "'m'"));
	assert_int_equal(out->count, 0);
	assert_int_equal(pkg_json_strings(o, "absent", out, NULL), 0);
	assert_int_equal(pkg_json_strings(o, "z", out, NULL), 0);
	assert_int_equal(pkg_json_strings(o, "l", out, NULL), 0);
	assert_int_equal(out->count, 2);
}

static void
what_is_set_is_always_valid_json(PKG_UNUSED void **state)
{
	pkg_cleanup(pkg_json_put) struct json_object *o = json_object_new_object();
	pkg_cleanup(pkg_argv_free) struct pkg_argv *argv = pkg_argv_new();
	pkg_autofree char *text = NULL;

	pkg_argv_add(argv, "x", "\xFFy");
	pkg_json_set_str(o, "a", "b\xC0\xAF\n");
	pkg_json_set_str(o, "n", NULL);
	pkg_json_set_int(o, "i", INT64_MIN);
	pkg_json_set_bool(o, "t", true);
	pkg_json_set(o, "v", pkg_json_from_argv(argv));
	text = pkg_json_line(o);
	assert_string_equal(text,
		"{\"a\":\"b\xEF\xBF\xBD\xEF\xBF\xBD\\n\",\"n\":null,\"i\":-9223372036854775808,"
		"\"t\":true,\"v\":[\"x\",\"\xEF\xBF\xBDy\"]}");
	assert_true(json_object_put(parse(text)));
}

static void
errors_travel_as_json(PKG_UNUSED void **state)
{
	pkg_cleanup_error struct pkg_error err = { 0 };
	pkg_cleanup_error struct pkg_error back = { 0 };
	pkg_cleanup(pkg_json_put) struct json_object *o = NULL;
	pkg_cleanup(pkg_json_put) struct json_object *odd = parse("{\"kind\":7,\"message\":null}");

	pkg_error_set(&err, PKG_E_NO_WHEEL, "no wheel for 'x' %%");
	pkg_error_cure(&err, "pass --source");
	o = pkg_json_from_error(&err);
	pkg_json_to_error(o, &back);
	assert_int_equal(back.kind, PKG_E_NO_WHEEL);
	assert_string_equal(back.message, err.message);
	assert_string_equal(back.cure, "pass --source");
	pkg_json_to_error(odd, &back);
	assert_int_equal(back.kind, PKG_E_INTERNAL);
	assert_string_equal(back.message, "");
	assert_null(back.cure);
	pkg_json_to_error(NULL, &back);
	assert_int_equal(back.kind, PKG_E_INTERNAL);
}

static void
files_are_bounded_and_named_in_errors(PKG_UNUSED void **state)
{
	char path[] = "/tmp/test_core_json.XXXXXX";
	int fd = mkstemp(path);
	pkg_cleanup_error struct pkg_error err = { 0 };
	struct json_object *value;

	assert_int_equal(write(fd, "{\"a\":1}", 7), 7);
	value = pkg_json_read_file(path, 7, &err);
	assert_int_equal(pkg_json_int(value, "a", 0), 1);
	json_object_put(value);
	assert_null(pkg_json_read_file(path, 6, &err));
	assert_int_equal(err.kind, PKG_E_TOO_LARGE);
	assert_int_equal(write(fd, "x", 1), 1);
	assert_null(pkg_json_read_file(path, 100, &err));
	assert_non_null(strstr(err.message, path));
	close(fd);
	unlink(path);
	assert_null(pkg_json_read_file(path, 100, &err));
	assert_int_equal(err.kind, PKG_E_IO);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(valid_json_is_taken),
		cmocka_unit_test(what_rfc_8259_does_not_know_is_refused),
		cmocka_unit_test(only_len_bytes_are_read),
		cmocka_unit_test(errors_say_line_and_column_in_characters),
		cmocka_unit_test(nesting_ends_at_64_levels),
		cmocka_unit_test(relaxed_json_may_have_comments_and_trailing_commas),
		cmocka_unit_test(relaxed_json_is_strict_about_the_rest),
		cmocka_unit_test(canonical_text_does_not_depend_on_order_or_spelling),
		cmocka_unit_test(a_line_has_no_newline_and_parses_back),
		cmocka_unit_test(getters_never_convert),
		cmocka_unit_test(errors_of_getters_name_the_key),
		cmocka_unit_test(what_is_set_is_always_valid_json),
		cmocka_unit_test(errors_travel_as_json),
		cmocka_unit_test(files_are_bounded_and_named_in_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
