#include "unit.h"
#include "core/text.h"
#include "install/card.h"
#include <string.h>

static struct json_object *
parse(const char *text)
{
	struct json_object *json = pkg_json_parse(text, strlen(text), NULL);

	assert_non_null(json);
	return json;
}

static const char plan_text[] =
	"{\"action\":\"install\",\"project\":\"default\",\"language\":\"python\",\"environment\":"
	"\"python\",\"creates\":{\"interpreter\":\"CPython 3.11.2 (/usr/bin/python3.11)\","
	"\"hermetic\":true},\"requested\":[\"flask>=2\"],\"download_bytes\":1200000,\"changes\":["
	"{\"name\":\"flask\",\"change\":\"added\",\"from\":null,\"to\":\"3.0.0\",\"file\":"
	"\"flask-3.0.0-py3-none-any.whl\",\"sha256\":"
	"\"21128f47e4e3b9d597a3e8521a329bf56909b690fcc3fa3e477725aa81367638\",\"size\":99724,"
	"\"index\":\"https://u:secret@pypi.invalid/simple/\",\"source\":\"wheel\",\"url\":null,"
	"\"requested\":true,\"yanked\":true,\"uploaded\":\"2023-09-30T14:36:10Z\"},"
	"{\"name\":\"old\",\"change\":\"removed\",\"from\":\"1.0\",\"to\":null},"
	"{\"name\":\"src\",\"change\":\"upgraded\",\"from\":\"1.0\",\"to\":\"2.0\",\"source\":"
	"\"sdist\",\"url\":\"https://u:secret@host.invalid/src-2.0.tar.gz\",\"size\":17}],"
	"\"restart\":{\"additive\":false,\"reasons\":[{\"reason\":\"added\",\"name\":\"flask\"},"
	"{\"reason\":\"removed\",\"name\":\"old\",\"detail\":\"1.0\"}]}}";

static void
a_card_tells_all_that_the_hash_covers(PKG_UNUSED void **state)
{
	static const char *const says[] = { "install flask>=2 into default/python (python)",
		"CPython 3.11.2 (/usr/bin/python3.11)", "hermetic", "flask 3.0.0",
		"pypi.invalid/simple", "flask-3.0.0-py3-none-any.whl",
		"21128f47e4e3b9d597a3e8521a329bf56909b690fcc3fa3e477725aa81367638",
		"2023-09-30T14:36:10Z", "YANKED", "asked for", "old 1.0", "src 1.0 -> 2.0",
		"SOURCE", "host.invalid/src-2.0.tar.gz", "3 changes", "1.2 MB", "not additive",
		"old removed" };
	pkg_cleanup(pkg_json_put) struct json_object *plan = parse(plan_text);
	pkg_autofree char *text = install_card_text(plan, NULL, false);

	for (size_t i = 0; i < PKG_ARRAY_LEN(says); i++)
		if (strstr(text, says[i]) == NULL)
			fail_msg("'%s' is not in:\n%s", says[i], text);
	assert_null(strstr(text, "secret"));
	assert_null(strchr(text, '\033'));
}

static void
colour_marks_only_the_signs(PKG_UNUSED void **state)
{
	pkg_cleanup(pkg_json_put) struct json_object *plan = parse(plan_text);
	pkg_autofree char *text = install_card_text(plan, NULL, true);

	assert_non_null(strstr(text, "\033[32m+\033[0m flask"));
	assert_non_null(strstr(text, "\033[31m\xe2\x88\x92\033[0m old"));
}

/* Escapes, bidirectional controls, line breaks and enormous names, in every field that others write. */
static void
hostile_texts_are_cleaned_and_capped(PKG_UNUSED void **state)
{
	static const char evil[] = "x\033[2J\033]0;t\007\xe2\x80\xae"
				   "evil\r\n+ safe 1.0  asked for\xe2\x80\x8b\xff";
	static const char *const fields[] = { "name", "change", "from", "to", "file", "sha256",
		"index", "url", "uploaded" };
	pkg_cleanup(pkg_json_put) struct json_object *plan = parse(plan_text);
	struct json_object *changes = pkg_json_array(plan, "changes");
	pkg_cleanup(pkg_json_put) struct json_object *requester = parse("{\"uid\":1,\"pid\":2}");
	pkg_autofree char *big = pkg_xmalloc(100001);
	pkg_autofree char *text = NULL;

	memset(big, 'a', 100000);
	big[100000] = '\0';
	for (size_t i = 0; i < PKG_ARRAY_LEN(fields); i++) {
		json_object_object_add(json_object_array_get_idx(changes, 0), fields[i],
			json_object_new_string(evil));
		json_object_object_add(json_object_array_get_idx(changes, 1), fields[i],
			json_object_new_string(big));
	}
	json_object_object_add(plan, "project", json_object_new_string(evil));
	json_object_object_add(plan, "environment", json_object_new_string(big));
	for (size_t i = 0; i < 3; i++) {
		static const char *const asked[] = { "program", "label", "reason" };

		json_object_object_add(
			requester, asked[i], json_object_new_string(i == 2 ? big : evil));
	}
	text = install_card_text(plan, requester, false);
	assert_true(strlen(text) < 8192);
	assert_true(pkg_text_is_utf8(text, strlen(text)));
	assert_null(strchr(text, '\033'));
	assert_null(strchr(text, '\r'));
	assert_null(strchr(text, '\007'));
	assert_null(strstr(text, "\xe2\x80\xae"));
	assert_null(strstr(text, "\xe2\x80\x8b"));
	/* No line that a package wrote itself. */
	assert_null(strstr(text, "\n+ safe"));
}

static void
a_plan_without_fields_shows_question_marks(PKG_UNUSED void **state)
{
	static const char *const plans[] = {
		"{}", "{\"changes\":[{}]}", "{\"changes\":[1,null,\"x\"]}",
		"{\"changes\":{},\"requested\":3,\"restart\":7,\"creates\":4}",
		"{\"changes\":[{\"name\":5,\"to\":\"1\",\"size\":\"big\"}],\"requested\":[null,1]}"
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(plans); i++) {
		pkg_cleanup(pkg_json_put) struct json_object *plan = parse(plans[i]);
		pkg_autofree char *text = install_card_text(plan, NULL, false);

		assert_non_null(strchr(text, '?'));
	}
}

static void
titles_read_as_sentences(PKG_UNUSED void **state)
{
	static const struct {
		const char *plan;
		const char *title;
	} rows[] = {
		{ "{\"action\":\"install\",\"requested\":[\"a\",\"b\"],",
			"install a b into p/e (python)" },
		{ "{\"action\":\"remove\",\"requested\":[\"a\"],", "remove a from p/e (python)" },
		{ "{\"action\":\"rollback\",\"requested\":[],\"switch_to\":3,",
			"rollback to generation 3 in p/e (python)" },
		{ "{\"action\":\"delete\",\"requested\":[],", "delete p/e (python)" },
		{ "{\"action\":\"upgrade\",", "upgrade p/e (python)" },
		{ "{\"action\":\"install\",\"requested\":[\"1\",\"2\",\"3\",\"4\",\"5\",\"6\","
		  "\"7\","
		  "\"8\",\"9\",\"10\"],",
			"install 1 2 3 4 5 6 7 8 and 2 more into p/e (python)" },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		pkg_autofree char *whole = pkg_xasprintf(
			"%s\"project\":\"p\",\"environment\":\"e\",\"language\":\"python\"}",
			rows[i].plan);
		pkg_cleanup(pkg_json_put) struct json_object *plan = parse(whole);
		pkg_autofree char *title = install_card_title(plan);

		assert_string_equal(title, rows[i].title);
	}
}

static void
the_verdict_never_ends_in_the_air(PKG_UNUSED void **state)
{
	pkg_cleanup(pkg_json_put) struct json_object *yes = parse("{\"additive\":true}");
	pkg_cleanup(pkg_json_put) struct json_object *bare =
		parse("{\"additive\":false,\"reasons\":[{\"reason\":\"added\",\"name\":\"a\"}]}");
	pkg_cleanup(pkg_json_put) struct json_object *many = parse("{\"additive\":false}");
	struct json_object *reasons = json_object_new_array();
	pkg_autofree char *one = install_card_verdict(yes);
	pkg_autofree char *two = install_card_verdict(bare);
	pkg_autofree char *three = NULL;

	for (int i = 0; i < 20; i++)
		json_object_array_add(
			reasons, parse("{\"reason\":\"removed\",\"name\":\"n\",\"detail\":\"1\"}"));
	pkg_json_set(many, "reasons", reasons);
	three = install_card_verdict(many);
	assert_string_equal(one, "additive: running kernels keep everything they have");
	assert_string_equal(two,
		"not additive, running kernels are due a restart: another generation becomes "
		"current");
	assert_non_null(strstr(three, "; n removed (1); and 8 more"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_card_tells_all_that_the_hash_covers),
		cmocka_unit_test(colour_marks_only_the_signs),
		cmocka_unit_test(hostile_texts_are_cleaned_and_capped),
		cmocka_unit_test(a_plan_without_fields_shows_question_marks),
		cmocka_unit_test(titles_read_as_sentences),
		cmocka_unit_test(the_verdict_never_ends_in_the_air),
	};

	return cmocka_run_group_tests_name("install_card", tests, NULL, NULL);
}
