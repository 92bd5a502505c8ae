#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "core/buf.h"
#include "lang/pep508.h"

static struct lang_requirement
parse(const char *text)
{
	pkg_cleanup_error struct pkg_error err = { 0 };
	struct lang_requirement out;

	if (lang_requirement_parse(text, &out, &err) < 0)
		fail_msg("refused: %s", err.message);
	return out;
}

/* PEP 508's examples, `packaging`'s tests, and metadata as it is found. */
static const char *const canonical[][2] = {
	{ "A", "A" },
	{ "A.B-C_D", "A.B-C_D" },
	{ "aa", "aa" },
	{ "name", "name" },
	{ "  name\t", "name" },
	{ "name<=1", "name<=1" },
	{ "name>=3", "name>=3" },
	{ "name>=3,<2", "name<2,>=3" },
	{ "numpy>=2.1,<3", "numpy<3,>=2.1" },
	{ "name >= 2.1 , < 3", "name<3,>=2.1" },
	{ "name~=1.4.2, ===foo", "name===foo,~=1.4.2" },
	{ "name ===1.0;os_name=='a'", "name===1.0; os_name == \"a\"" },
	{ "name==1.0-1", "name==1.0.post1" },
	{ "name==1!2.*", "name==1!2.*" },
	{ "name (==1)", "name==1" },
	{ "name(==1, !=2 )", "name!=2,==1" },
	{ "name ( ===1.0 )", "name===1.0" },
	{ "name ()", "name" },
	{ "name>=1,", "name>=1" },
	{ "name (>=1,)", "name>=1" },
	{ "name[]", "name" },
	{ "name[ ]>=1", "name>=1" },
	{ "name[strange]", "name[strange]" },
	{ "name[ b ,a ]>=1", "name[a,b]>=1" },
	{ "name[Foo_Bar,foo-bar,FOO.BAR]", "name[Foo_Bar]" },
	{ "name [fred,bar]", "name[bar,fred]" },
	{ "name@http://foo.com", "name @ http://foo.com" },
	{ "name @ https://foo.com/x-1-py3-none-any.whl#sha256=ab",
		"name @ https://foo.com/x-1-py3-none-any.whl#sha256=ab" },
	{ "name [fred,bar] @ http://foo.com ; python_version=='2.7'",
		"name[bar,fred] @ http://foo.com ; python_version == \"2.7\"" },
	{ "name @ HTTPS://foo.com \t", "name @ HTTPS://foo.com" },
	{ "name; os_name=='a' or os_name=='b'", "name; os_name == \"a\" or os_name == \"b\"" },
	{ "name[quux, strange];python_version<'2.7' and platform_version=='2'",
		"name[quux,strange]; python_version < \"2.7\" and platform_version == \"2\"" },
	{ "name>=1;extra=='Test_X'", "name>=1; extra == \"test-x\"" },
	{ "argparse;python_version<\"2.7\"", "argparse; python_version < \"2.7\"" },
	{ "zope.interface (>3.5.0)", "zope.interface>3.5.0" },
	{ "importlib-metadata (<5,>=1.0) ; python_version < \"3.8\"",
		"importlib-metadata<5,>=1.0; python_version < \"3.8\"" },
	{ "2to3", "2to3" },
};

static void
accepted_requirements_have_one_canonical_text(PKG_UNUSED void **state)
{
	for (size_t i = 0; i < PKG_ARRAY_LEN(canonical); i++) {
		lang_cleanup_requirement struct lang_requirement first = parse(canonical[i][0]);
		pkg_autofree char *text = lang_requirement_text(&first);
		lang_cleanup_requirement struct lang_requirement second = parse(text);
		pkg_autofree char *again = lang_requirement_text(&second);

		assert_string_equal(text, canonical[i][1]);
		assert_string_equal(again, text);
	}
}

static void
the_parts_are_all_there(PKG_UNUSED void **state)
{
	lang_cleanup_requirement struct lang_requirement r =
		parse("Foo.Bar [b,A_x] (>=2.1,<3) ; python_version >= '3'");

	assert_int_equal(r.kind, LANG_REQUIREMENT_INDEX);
	assert_string_equal(r.name, "Foo.Bar");
	assert_string_equal(r.normalized, "foo-bar");
	assert_int_equal(r.extras->count, 2);
	assert_string_equal(r.extras->items[0], "A_x");
	assert_true(lang_requirement_has_extra(&r, "a-X"));
	assert_true(lang_requirement_has_extra(&r, "b"));
	assert_false(lang_requirement_has_extra(&r, "c"));
	assert_int_equal(r.versions.count, 2);
	assert_null(r.url);
	assert_non_null(r.marker);
}

static void
the_kind_says_where_it_comes_from(PKG_UNUSED void **state)
{
	static const struct {
		const char *text;
		enum lang_requirement_kind kind;
	} rows[] = {
		{ "a", LANG_REQUIREMENT_INDEX },
		{ "a @ http://h/a.whl", LANG_REQUIREMENT_URL },
		{ "a @ https://u:p@h:8443/a.whl?x=1#sha256=0", LANG_REQUIREMENT_URL },
		{ "a @ https://[::1]/a.whl", LANG_REQUIREMENT_URL },
		{ "a @ file:///tmp/a.whl", LANG_REQUIREMENT_FILE },
		{ "a @ FILE:a.whl", LANG_REQUIREMENT_FILE },
		{ "a @ git+https://h/r.git@v1", LANG_REQUIREMENT_VCS },
		{ "a @ Git+ssh://git@h/r.git", LANG_REQUIREMENT_VCS },
		{ "a @ git://h/r.git", LANG_REQUIREMENT_VCS },
		{ "a @ hg+http://h/r", LANG_REQUIREMENT_VCS },
		{ "a @ svn+file:///r", LANG_REQUIREMENT_VCS },
		{ "a @ bzr+lp:r", LANG_REQUIREMENT_VCS },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		lang_cleanup_requirement struct lang_requirement r = parse(rows[i].text);

		assert_int_equal(r.kind, rows[i].kind);
		assert_int_equal(r.url != NULL, rows[i].kind != LANG_REQUIREMENT_INDEX);
		assert_int_equal(r.versions.count, 0);
	}
}

static void
what_is_no_requirement_is_refused(PKG_UNUSED void **state)
{
	static const char *const rows[] = { /* O61, T50 */
		"", " ", "numpy >= ", "numpy>=", "numpy ==", "==", "==1.0", ">=1", "-rfile",
		"-r file", "[x]", "@ url", "@ https://h/x", "--index-url=x", "--", "-", "-e .",
		"numpy --pre", "numpy -rfile",
		/* names */
		".", "..", "./x", "/x", "~/x", "a/b", "name_", "name-", "-name", "_name", ".name",
		"na me", "na!me", "name\\", "$name", "name;", "name.>=1", "https://h/x.whl",
		"x.whl@", "name@", "name @ ", "c:\\x",
		/* versions */
		"name 1.0", "name=1.0", "name=>1", "name>=1 <2", "name>=1,,<2", "name,>=1",
		"name>=1.*", "name~=1", "name==1.0.x", "name>1+l", "name (>=1", "name >=1)",
		"name ((>=1))", "name (1.0)", "name (>=1) <2", "name(,)", "name>=1 foo",
		"name>=1.0and", "name===", "name == ; os_name=='a'",
		/* extras */
		"name[", "name]", "name[a", "name[a b]", "name[a,]", "name[,a]", "name[,]",
		"name[-a]", "name[a]]", "name[[a]]", "name[a][b]", "name[a;b]", "name>=1[a]",
		"name [a>=1]",
		/* URLs */
		"a @ h", "a @ ./x.whl", "a @ //h/x", "a @ ftp://h/x", "a @ javascript:alert(1)",
		"a @ data:x", "a @ ssh://h/x", "a @ gitx://h", "a @ http:", "a @ http://",
		"a @ https:///x", "a @ https://h/x;os_name=='a'", "a @ https://h/x ;",
		"a @ https://h/x os_name=='a'", "a @ https://h/x y", "a @ https://h/<x>",
		"a @ https://h/{x}", "a @ https://h/\\x", "a @ https://h:99999/x",
		"a>=1 @ https://h/x", "a @ https://h/x >=1", "a @ (https://h/x)",
		"a @ \"https://h/x\"",
		/* markers */
		"name;", "name; ", "name; foo", "name; os_name", "name; os_name=='a' and",
		"name; os_name=='a';", "name; (os_name=='a'", "name; os_name=='a')",
		"name; unknown=='a'", "name # comment", "name; os_name=='a' # comment"
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		pkg_cleanup_error struct pkg_error err = { 0 };
		struct lang_requirement out;

		if (lang_requirement_parse(rows[i], &out, &err) == 0)
			fail_msg("'%s' was accepted", rows[i]);
		assert_int_equal(err.kind, PKG_E_REQUIREMENT);
		assert_null(out.name);
		assert_null(out.extras);
		assert_int_equal(lang_requirement_parse(rows[i], &out, NULL), -1);
	}
}

static void
bytes_outside_printable_ascii_are_refused_everywhere(PKG_UNUSED void **state)
{
	static const char *const around[][2] = {
		{ "", "name" },
		{ "na", "me" },
		{ "name", "" },
		{ "name[a", "]" },
		{ "name>=1", "" },
		{ "name @ https://h/", "x" },
		{ "name; os_name == '", "'" },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(around); i++) {
		for (int c = 0; c < 256; c++) {
			pkg_cleanup_buf struct pkg_buf text = { 0 };
			struct lang_requirement out;

			if (c == '\t' || (c >= ' ' && c < 0x7f))
				continue;
			pkg_buf_add(&text, around[i][0]);
			pkg_buf_add_char(&text, (char)c);
			pkg_buf_add(&text, around[i][1]);
			assert_int_equal(
				lang_requirement_parse_mem(text.data, text.len, &out, NULL), -1);
		}
	}
}

static void
the_error_shows_text_column_and_expectation(PKG_UNUSED void **state)
{
	static const char *const rows[][2] = {
		{ "numpy >= ",
			"requirement 'numpy >= ': column 10: expected a version after '>='" },
		{ "numpy>=", "requirement 'numpy>=': column 8: expected a version after '>='" },
		{ "",
			"requirement '': column 1: expected a project name (letters and digits, "
			"with '-', '_' "
			"and '.' between them)" },
		{ "-rfile",
			"requirement '-rfile': column 1: expected a project name, not an option" },
		{ "./x", "requirement './x': column 1: expected a project name, not a path" },
		{ "name[a b]",
			"requirement 'name[a b]': column 8: expected ',' or ']' after the name of "
			"an extra" },
		{ "name 1.0",
			"requirement 'name 1.0': column 6: expected a version comparison, '@', ';' "
			"or "
			"the end after the name" },
		{ "name>=1 <2",
			"requirement 'name>=1 <2': column 9: expected ',', ';' or the end" },
		{ "name==1.x",
			"requirement 'name==1.x': column 7: '1.x' is not a version: unexpected "
			"'.'" },
		{ "a; b=='c'", "requirement 'a; b=='c'': column 4: unknown marker variable 'b'" },
		{ "a\x1b[31m", "requirement 'a': column 2: a control character (0x1b)" },
		{ "a @ ftp://h/x",
			"requirement 'a @ ftp://h/x': column 5: URLs of scheme 'ftp' are not "
			"accepted" },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		pkg_cleanup_error struct pkg_error err = { 0 };
		struct lang_requirement out;

		assert_int_equal(lang_requirement_parse(rows[i][0], &out, &err), -1);
		assert_string_equal(err.message, rows[i][1]);
	}
}

static void
errors_never_show_credentials(PKG_UNUSED void **state)
{
	static const char *const rows[] = { "a @ https://user:hunter2@h/x y", "https://hunter2@h/x",
		"a @ git+https://u:hunter2@h/x;", "a @ ftp://hunter2@h/x",
		"a @ https://h/x https://u:hunter2@h/", "a @ https://u:hun@hunter2@h/ z" };

	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		pkg_cleanup_error struct pkg_error err = { 0 };
		struct lang_requirement out;

		assert_int_equal(lang_requirement_parse(rows[i], &out, &err), -1);
		assert_null(strstr(err.message, "hunter2"));
		assert_non_null(strstr(err.message, "...@h/"));
	}
}

static void
length_and_counts_are_bounded(PKG_UNUSED void **state)
{
	pkg_cleanup_buf struct pkg_buf text = { 0 };
	struct lang_requirement out;

	pkg_buf_add(&text, "a");
	while (text.len < LANG_REQUIREMENT_MAX)
		pkg_buf_add_char(&text, ' ');
	assert_int_equal(lang_requirement_parse(text.data, &out, NULL), 0);
	lang_requirement_clear(&out);
	pkg_buf_add_char(&text, ' ');
	assert_int_equal(lang_requirement_parse(text.data, &out, NULL), -1);

	for (int count = LANG_REQUIREMENT_EXTRAS_MAX; count <= LANG_REQUIREMENT_EXTRAS_MAX + 1;
		count++) {
		pkg_buf_truncate(&text, 0);
		pkg_buf_add(&text, "a[x0");
		for (int i = 1; i < count; i++)
			pkg_buf_addf(&text, ",x%d", i);
		pkg_buf_add(&text, "]");
		assert_int_equal(lang_requirement_parse(text.data, &out, NULL),
			count == LANG_REQUIREMENT_EXTRAS_MAX ? 0 : -1);
		lang_requirement_clear(&out);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(accepted_requirements_have_one_canonical_text),
		cmocka_unit_test(the_parts_are_all_there),
		cmocka_unit_test(the_kind_says_where_it_comes_from),
		cmocka_unit_test(what_is_no_requirement_is_refused),
		cmocka_unit_test(bytes_outside_printable_ascii_are_refused_everywhere),
		cmocka_unit_test(the_error_shows_text_column_and_expectation),
		cmocka_unit_test(errors_never_show_credentials),
		cmocka_unit_test(length_and_counts_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
