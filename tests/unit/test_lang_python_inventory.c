#include "unit.h"

#include "lang/python_inventory.h"
#include "lang_python.h"

#define PREFIX "/data/envs/p/python/default"

static int
parse(const char *distributions, struct store_package_list *out, struct pkg_error *err)
{
	pkg_autofree char *text = pkg_xasprintf(
		"noise\n{\"prefix\":\"" PREFIX "\",\"distributions\":%s}\n", distributions);

	return lang_python_inventory_parse(text, strlen(text), PREFIX, out, err);
}

static void
owned_and_inherited_are_told_apart_by_place(PKG_UNUSED void **state)
{
	static const struct {
		const char *location;
		bool owned;
		const char *stored; /* NULL: left out */
	} cases[] = {
		{ PREFIX "/" SITE_311 "/six-1.16.0.dist-info", true,
			SITE_311 "/six-1.16.0.dist-info" },
		{ LANG_PYTHON_OVERLAY "/" SITE_311 "/six-1.16.0.dist-info", true,
			SITE_311 "/six-1.16.0.dist-info" },
		{ "/usr/lib/python3/dist-packages/six-1.16.0.egg-info", false,
			"/usr/lib/python3/dist-packages/six-1.16.0.egg-info" },
		{ PREFIX "2/" SITE_311 "/six-1.16.0.dist-info", false,
			PREFIX "2/" SITE_311 "/six-1.16.0.dist-info" },
		{ PREFIX "/../other/six.dist-info", false,
			"/data/envs/p/python/other/six.dist-info" },
		{ PREFIX "/a/../../../../../../etc/x", false, "/etc/x" },
		{ "six.dist-info", false, NULL },
		{ "", false, NULL },
		{ "/usr/a\\u0001b", false, NULL },
		{ PREFIX, false, PREFIX },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(cases); i++) {
		pkg_cleanup_store_package_list struct store_package_list list = { 0 };
		pkg_autofree char *items = pkg_xasprintf(
			"[{\"name\":\"six\",\"version\":\"1.16.0\",\"location\":\"%s\"}]",
			cases[i].location);

		assert_int_equal(parse(items, &list, NULL), 0);
		assert_int_equal(list.count, cases[i].stored ? 1 : 0);
		if (!cases[i].stored)
			continue;
		assert_string_equal(list.items[0].location, cases[i].stored);
		assert_int_equal(list.items[0].owned, cases[i].owned);
		assert_null(list.items[0].requirement);
		assert_null(list.items[0].sha256);
	}
}

static void
names_become_sorted_keys_and_each_key_once(PKG_UNUSED void **state)
{
	pkg_cleanup_store_package_list struct store_package_list list = { 0 };

	assert_int_equal(
		parse("[{\"name\":\"zope.interface\",\"version\":\"6\",\"location\":\"/"
		      "s/z\"},"
		      "{\"name\":\"Typing_Extensions\",\"version\":\"4.9.0\",\"location\":"
		      "\"/s/t\"},"
		      "{\"name\":\"typing-extensions\",\"version\":\"4.0\",\"location\":\"/"
		      "s/u\"}]",
			&list, NULL),
		0);
	assert_int_equal(list.count, 2);
	assert_string_equal(list.items[0].key, "typing-extensions");
	assert_string_equal(list.items[1].key, "zope-interface");
	assert_string_equal(list.items[1].name, "zope.interface");
	assert_non_null(store_package_find(&list, "zope-interface"));
}

static void
names_that_are_none_are_left_out_and_versions_are_cleaned(PKG_UNUSED void **state)
{
	pkg_cleanup_store_package_list struct store_package_list list = { 0 };

	assert_int_equal(
		parse("[{\"name\":\"--index-url\",\"version\":\"1\",\"location\":\"/s/a\"},"
		      "{\"name\":\"\",\"version\":\"1\",\"location\":\"/s/b\"},"
		      "{\"name\":\"a b\",\"version\":\"1\",\"location\":\"/s/c\"},"
		      "{\"version\":\"1\",\"location\":\"/s/d\"},7,null,"
		      "{\"name\":\"ok\",\"version\":\"1.0\\u001b[31m\\n2\",\"location\":\"/s/"
		      "e\"}]",
			&list, NULL),
		0);
	assert_int_equal(list.count, 1);
	assert_string_equal(list.items[0].name, "ok");
	assert_null(strchr(list.items[0].version, '\033'));
	assert_null(strchr(list.items[0].version, '\n'));
}

static void
another_environments_answer_is_refused_and_the_list_untouched(PKG_UNUSED void **state)
{
	static const char *const texts[] = {
		"{\"prefix\":\"/usr\",\"distributions\":[]}",
		"{\"distributions\":[]}",
		"{\"prefix\":7,\"distributions\":[]}",
		"{\"prefix\":\"" PREFIX "/\",\"distributions\":[]}",
		"{\"prefix\":\"" PREFIX "\",\"distributions\":{}}",
		"{\"prefix\":\"" PREFIX "\"}",
		"Traceback (most recent call last):\n",
		"",
	};
	pkg_cleanup_store_package_list struct store_package_list list = { 0 };

	assert_int_equal(
		parse("[{\"name\":\"six\",\"version\":\"1\",\"location\":\"/s/a\"}]", &list, NULL),
		0);
	for (size_t i = 0; i < PKG_ARRAY_LEN(texts); i++) {
		pkg_cleanup_error struct pkg_error err = { 0 };

		assert_int_equal(lang_python_inventory_parse(
					 texts[i], strlen(texts[i]), PREFIX, &list, &err),
			-1);
		assert_int_equal(err.kind, PKG_E_VERIFY);
		assert_int_equal(list.count, 1);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(owned_and_inherited_are_told_apart_by_place),
		cmocka_unit_test(names_become_sorted_keys_and_each_key_once),
		cmocka_unit_test(names_that_are_none_are_left_out_and_versions_are_cleaned),
		cmocka_unit_test(another_environments_answer_is_refused_and_the_list_untouched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
