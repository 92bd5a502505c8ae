#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "core/buf.h"
#include "lang/entry_points.h"

static char *
dump(const struct lang_entry_points *list)
{
	struct pkg_buf out = { 0 };

	for (size_t i = 0; i < list->count; i++)
		pkg_buf_addf(&out, "%s=%s:%s%s\n", list->items[i].name, list->items[i].module,
			list->items[i].attr, list->items[i].gui ? " gui" : "");
	return pkg_buf_steal(&out);
}

static void
scripts_are_found_in_their_two_groups(PKG_UNUSED void **state)
{
	static const char *const rows[][2] = {
		{ "", "" },
		{ "\n# c\n; c\n", "" },
		{ "[console_scripts]\nfoo = foo.cli:main\n", "foo=foo.cli:main\n" },
		{ "[console_scripts]\r\nfoo=foo:main\r\n", "foo=foo:main\n" },
		{ "[console_scripts]\rfoo=foo:main", "foo=foo:main\n" },
		{ "[gui_scripts]\nfoo = _a.b2:Cls.run\n", "foo=_a.b2:Cls.run gui\n" },
		{ " [ console_scripts ] \n  a = m : f \n", "a=m:f\n" },
		{ "[console_scripts]\na = m:f [x,y]\nb=m:f[x]\n", "a=m:f\nb=m:f\n" },
		{ "[console_scripts]\npip3.11=m:f\n2to3=m:f\nf2py-x_y=m:f\nc++filt=m:f\n_u=m:f\n",
			"pip3.11=m:f\n2to3=m:f\nf2py-x_y=m:f\nc++filt=m:f\n_u=m:f\n" },
		{ "[other]\nanything goes\n[/x]\n= =\n[console_scripts]\na=m:f\n[other]\nb=m:f\n",
			"a=m:f\n" },
		{ "[console_scripts]\na=m:f\n[gui_scripts]\nb=m:g\n[console_scripts]\nc=m:h\n",
			"a=m:f\nb=m:g gui\nc=m:h\n" },
		{ "[Console_Scripts]\nx y z\n", "" },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		lang_cleanup_entry_points struct lang_entry_points list = { 0 };
		pkg_cleanup_error struct pkg_error err = { 0 };
		pkg_autofree char *text = NULL;

		if (lang_entry_points_parse(rows[i][0], strlen(rows[i][0]), &list, &err) < 0)
			fail_msg("'%s' was refused: %s", rows[i][0], err.message);
		text = dump(&list);
		assert_string_equal(text, rows[i][1]);
	}
}

static void
script_names_and_targets_are_checked(PKG_UNUSED void **state)
{
	static const char *const lines[] = { "a", "=m:f", "a=", "a=m", "a=m:", "a=:f", "a=m:f:g",
		"a=m:f()", "a=m:f g", "a=m.:f", "a=.m:f", "a=m..n:f", "a=1m:f", "a=m:1f", "a=m-n:f",
		"a=m:f;import os", "a=m:f\tx", "a=m\"m:f", "a=m:f]", "a=m:f[x] y", "a=m:f [x",
		"a=m\xC3\xA9:f", "../a=m:f", "a/b=m:f", "a\\b=m:f", "/a=m:f", ".=m:f", "..=m:f",
		".a=m:f", "-a=m:f", "a b=m:f", "a\x1b=m:f", "a\x7f=m:f", "\xC3\xA9=m:f", "a: m:f" };

	for (size_t i = 0; i < PKG_ARRAY_LEN(lines); i++) {
		pkg_autofree char *text =
			pkg_xasprintf("[console_scripts]\nok=m:f\n%s\n", lines[i]);
		pkg_cleanup_error struct pkg_error err = { 0 };
		struct lang_entry_points list;

		if (lang_entry_points_parse(text, strlen(text), &list, &err) == 0)
			fail_msg("'%s' was accepted", lines[i]);
		assert_int_equal(err.kind, PKG_E_ARCHIVE);
		assert_non_null(strstr(err.message, "entry_points.txt: line 3: "));
		assert_null(list.items);
	}
}

static void
text_without_a_group_and_names_given_twice_are_refused(PKG_UNUSED void **state)
{
	static const char *const rows[] = { "a=m:f\n[console_scripts]\n",
		"[console_scripts\na=m:f\n", "[console_scripts]\na=m:f\na=m:g\n",
		"[console_scripts]\na=m:f\n[gui_scripts]\na=m:g\n" };

	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		struct lang_entry_points list;

		assert_int_equal(
			lang_entry_points_parse(rows[i], strlen(rows[i]), &list, NULL), -1);
	}
}

static void
a_nul_is_no_part_of_a_name(PKG_UNUSED void **state)
{
	static const char text[] = "[console_scripts]\na\0b=m:f\n";
	static const char target[] = "[console_scripts]\na=m:f\0g\n";
	struct lang_entry_points list;

	assert_int_equal(lang_entry_points_parse(text, sizeof(text) - 1, &list, NULL), -1);
	assert_int_equal(lang_entry_points_parse(target, sizeof(target) - 1, &list, NULL), -1);
}

static void
size_count_and_names_are_bounded(PKG_UNUSED void **state)
{
	pkg_cleanup_buf struct pkg_buf text = { 0 };
	struct lang_entry_points list;

	for (int more = 0; more < 2; more++) {
		pkg_buf_truncate(&text, 0);
		pkg_buf_add(&text, "[console_scripts]\n");
		for (int i = 0; i < LANG_ENTRY_POINTS_MAX + more; i++)
			pkg_buf_addf(&text, "s%d=m:f\n", i);
		assert_int_equal(lang_entry_points_parse(text.data, text.len, &list, NULL), -more);
		lang_entry_points_clear(&list);
		pkg_buf_truncate(&text, 0);
		pkg_buf_add(&text, "[console_scripts]\n");
		for (int i = 0; i < LANG_ENTRY_POINT_NAME_MAX + more; i++)
			pkg_buf_add_char(&text, 's');
		pkg_buf_add(&text, "=m:f\n");
		assert_int_equal(lang_entry_points_parse(text.data, text.len, &list, NULL), -more);
		lang_entry_points_clear(&list);
		pkg_buf_truncate(&text, 0);
		for (int i = 0; i < LANG_ENTRY_POINTS_BYTES_MAX + more; i++)
			pkg_buf_add_char(&text, '\n');
		assert_int_equal(lang_entry_points_parse(text.data, text.len, &list, NULL), -more);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scripts_are_found_in_their_two_groups),
		cmocka_unit_test(script_names_and_targets_are_checked),
		cmocka_unit_test(text_without_a_group_and_names_given_twice_are_refused),
		cmocka_unit_test(a_nul_is_no_part_of_a_name),
		cmocka_unit_test(size_count_and_names_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
