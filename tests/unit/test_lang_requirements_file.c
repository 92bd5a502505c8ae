#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "lang/requirements_file.h"

#define HEX_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define HEX_0 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define HEX_0_UPPER "0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef"

struct tree {
	const char *name, *text;
};

/* A directory in memory, ended by a NULL name. */
static int
read_tree(void *context, PKG_UNUSED const char *from, const char *name, struct pkg_buf *content,
	char **path, struct pkg_error *err)
{
	for (const struct tree *file = context; file->name; file++) {
		if (strcmp(file->name, name) != 0)
			continue;
		pkg_buf_add(content, file->text);
		*path = pkg_xasprintf("dir/%s", name);
		return 0;
	}
	return pkg_error_set(err, PKG_E_NOT_FOUND, "no file '%s'", name);
}

/* "origin|requirement|hashes|c" of each item, one a line. */
static char *
dump(const struct lang_requirements *list)
{
	struct pkg_buf out = { 0 };

	for (size_t i = 0; i < list->count; i++) {
		const struct lang_requirements_item *item = &list->items[i];
		pkg_autofree char *text = lang_requirement_text(&item->requirement);
		pkg_autofree char *hashes = pkg_argv_join(item->hashes, " ");

		pkg_buf_addf(&out, "%s|%s|%s%s\n", item->origin, text, hashes,
			item->constraint ? "|c" : "");
	}
	return pkg_buf_steal(&out);
}

static void
check(const char *text, const struct tree *tree, const char *expected)
{
	lang_cleanup_requirements struct lang_requirements list = { 0 };
	pkg_cleanup_error struct pkg_error err = { 0 };
	pkg_autofree char *shown = NULL;

	if (lang_requirements_parse("r.txt", text, strlen(text), false, tree ? read_tree : NULL,
		    (void *)(uintptr_t)tree, &list, &err) < 0)
		fail_msg("refused: %s", err.message);
	shown = dump(&list);
	assert_string_equal(shown, expected);
}

static void
lines_comments_and_blanks_are_told_apart(PKG_UNUSED void **state)
{
	static const char *const rows[][2] = {
		{ "", "" },
		{ "\n\n  \n\t\n", "" },
		{ "# only a comment", "" },
		{ "a", "r.txt:1|a|\n" },
		{ "a\n", "r.txt:1|a|\n" },
		{ "a\r\nb\r\n", "r.txt:1|a|\nr.txt:2|b|\n" },
		{ "\xef\xbb\xbf"
		  "a\n",
			"r.txt:1|a|\n" },
		{ "# c\n\n  a >= 1  # why \xC3\xA9\nb\t#x\n#d\nc",
			"r.txt:3|a>=1|\nr.txt:4|b|\nr.txt:6|c|\n" },
		{ "a @ https://h/a.whl#sha256=1 # c\n", "r.txt:1|a @ https://h/a.whl#sha256=1|\n" },
		{ "a; os_name == 'x' or os_name == ' -y'\n",
			"r.txt:1|a; os_name == \"x\" or os_name == \" -y\"|\n" },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++)
		check(rows[i][0], NULL, rows[i][1]);
}

static void
a_backslash_joins_lines_and_the_first_one_counts(PKG_UNUSED void **state)
{
	static const char *const rows[][2] = {
		{ "a \\\n  >=1 \\\n  ,<2\nb\n", "r.txt:1|a<2,>=1|\nr.txt:4|b|\n" },
		{ "a\\\n>=1", "r.txt:1|a>=1|\n" },
		{ "a \\", "r.txt:1|a|\n" },
		{ "a \\\n", "r.txt:1|a|\n" },
		{ "a \\\r\n>=1\r\n", "r.txt:1|a>=1|\n" },
		{ "a \\\n# comment\nb", "r.txt:1|a|\nr.txt:3|b|\n" },
		{ "a \\\n\nb", "r.txt:1|a|\nr.txt:3|b|\n" },
		{ "# comment \\\nb", "r.txt:2|b|\n" },
		{ "  # comment \\\nb", "r.txt:2|b|\n" },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++)
		check(rows[i][0], NULL, rows[i][1]);
}

static void
hashes_are_kept_in_lower_case(PKG_UNUSED void **state)
{
	check("a==1 --hash=sha256:" HEX_A "\n", NULL, "r.txt:1|a==1|" HEX_A "\n");
	check("a==1 \\\n    --hash=sha256:" HEX_0_UPPER " \\\n    --hash sha256:" HEX_A "\n"
	      "b==2 --hash=sha256:" HEX_A " --hash=sha256:" HEX_A " # twice\n",
		NULL, "r.txt:1|a==1|" HEX_0 " " HEX_A "\nr.txt:4|b==2|" HEX_A "\n");
}

static void
nested_files_are_read_through_the_callback(PKG_UNUSED void **state)
{
	static const struct tree tree[] = {
		{ "more.txt", "b\n-c limits.txt\n" },
		{ "limits.txt", "c<2\n-r deeper.txt\n" },
		{ "deeper.txt", "d==1" },
		{ NULL, NULL },
	};
	static const char all[] = "r.txt:1|a|\ndir/more.txt:1|b|\ndir/limits.txt:1|c<2||c\n"
				  "dir/deeper.txt:1|d==1||c\nr.txt:3|e|\n";

	check("a\n-r more.txt\ne\n", tree, all);
	check("a\n-rmore.txt\ne\n", tree, all);
	check("a\n--requirement more.txt # c\ne\n", tree, all);
	check("a\n--requirement=more.txt\ne\n", tree, all);
	check("-c limits.txt", tree, "dir/limits.txt:1|c<2||c\ndir/deeper.txt:1|d==1||c\n");
	check("--constraint=deeper.txt", tree, "dir/deeper.txt:1|d==1||c\n");
}

static void
everything_else_is_refused_with_its_line(PKG_UNUSED void **state)
{
	static const char *const rows[][2] = {
		{ "a\n--index-url https://h/", "r.txt:2: option '--index-url' is not accepted" },
		{ "--index-url=https://u:hunter2@h/",
			"r.txt:1: option '--index-url' is not accepted" },
		{ "-i https://h/", "option '-i'" },
		{ "--extra-index-url=https://h/", "option '--extra-index-url'" },
		{ "--trusted-host h", "option '--trusted-host'" },
		{ "--find-links .", "option '--find-links'" },
		{ "-f .", "option '-f'" },
		{ "--pre", "option '--pre'" },
		{ "--no-binary :all:", "option '--no-binary'" },
		{ "--requirements x", "option '--requirements'" },
		{ "-e .", "option '-e'" },
		{ "--editable git+https://h/x", "option '--editable'" },
		{ "./pkg", "paths are not accepted" },
		{ "/opt/x.whl", "paths are not accepted" },
		{ "../x", "paths are not accepted" },
		{ "~/x", "paths are not accepted" },
		{ "x-1-py3-none-any.whl", "a file is not accepted" },
		{ "x-1.tar.gz", "a file is not accepted" },
		{ "https://h/x.whl", "a URL without a name" },
		{ "git+https://u:p@h/x", "a URL without a name" },
		{ "a --global-option=x",
			"option '--global-option=x' is not accepted with a requirement" },
		{ "a==1 --hash=md5:0", "only sha256" },
		{ "a==1 --hash=sha512:0", "only sha256" },
		{ "a==1 --hash=sha256:xyz", "64 hexadecimal" },
		{ "a==1 --hash=sha256:" HEX_A "a", "64 hexadecimal" },
		{ "a==1 --hash=sha256:" HEX_A " -e .", "option '-e .'" },
		{ "a==1 --hash=", "only sha256" },
		{ "--hash=sha256:" HEX_A, "option '--hash'" },
		{ "ok\n\na >=", "r.txt:3: requirement 'a >=': column 5: expected a version" },
		{ "a \\\n>= \\\n", "r.txt:1: requirement" },
		{ "a ${HOME}", "r.txt:1: requirement" },
		{ "a @ https://${TOKEN}@h/x", "cannot be in a URL" },
		{ "a\rb", "control character" },
		{ "a\fb", "control character" },
		{ "a # c \\\nb", "r.txt:1: a comment that ends in '\\' would hide the next line" },
		{ "-r", "expected the name of a file" },
		{ "-r 'x.txt'", "quotes or control characters" },
		{ "-r https://h/x.txt", "never from a URL" },
		{ "a\n-r gone.txt", "r.txt:2: no file 'gone.txt'" },
		{ "-r bad.txt", "r.txt:1: dir/bad.txt:2: option '-e' is not accepted" },
		{ "-c extras.txt", "r.txt:1: dir/extras.txt:1: a constraint cannot have extras" },
		{ "-r self.txt", "more than 8 files within files" },
		{ "-r wide1.txt", "more than 64 files altogether" },
	};
	static const struct tree tree[] = {
		{ "bad.txt", "ok\n-e .\n" },
		{ "extras.txt", "a[x]<2\n" },
		{ "self.txt", "-r self.txt\n" },
		{ "wide1.txt",
			"-r wide2.txt\n-r wide2.txt\n-r wide2.txt\n-r wide2.txt\n-r wide2.txt\n" },
		{ "wide2.txt",
			"-r wide3.txt\n-r wide3.txt\n-r wide3.txt\n-r wide3.txt\n-r wide3.txt\n" },
		{ "wide3.txt", "-r leaf.txt\n-r leaf.txt\n-r leaf.txt\n-r leaf.txt\n" },
		{ "leaf.txt", "" },
		{ NULL, NULL },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		pkg_cleanup_error struct pkg_error err = { 0 };
		struct lang_requirements list;

		if (lang_requirements_parse("r.txt", rows[i][0], strlen(rows[i][0]), false,
			    read_tree, (void *)(uintptr_t)tree, &list, &err) == 0)
			fail_msg("'%s' was accepted", rows[i][0]);
		if (!strstr(err.message, rows[i][1]))
			fail_msg("'%s' is not in '%s'", rows[i][1], err.message);
		assert_null(strstr(err.message, "hunter2"));
		assert_null(list.items);
		assert_int_equal(lang_requirements_parse("r.txt", rows[i][0], strlen(rows[i][0]),
					 false, read_tree, (void *)(uintptr_t)tree, &list, NULL),
			-1);
	}
}

static void
without_a_callback_nothing_is_included(PKG_UNUSED void **state)
{
	pkg_cleanup_error struct pkg_error err = { 0 };
	struct lang_requirements list;

	assert_int_equal(
		lang_requirements_parse("r.txt", "-r x", 4, false, NULL, NULL, &list, &err), -1);
	assert_string_equal(err.message, "r.txt:1: other files cannot be included from this text");
}

static void
a_nul_hides_nothing(PKG_UNUSED void **state)
{
	static const char text[] = "a\0 ; os_name == 'x'\n";
	struct lang_requirements list;

	assert_int_equal(lang_requirements_parse(
				 "r.txt", text, sizeof(text) - 1, false, NULL, NULL, &list, NULL),
		-1);
}

static void
a_whole_file_can_be_constraints(PKG_UNUSED void **state)
{
	lang_cleanup_requirements struct lang_requirements list = { 0 };

	assert_int_equal(
		lang_requirements_parse("c.txt", "a<2", 3, true, NULL, NULL, &list, NULL), 0);
	assert_true(list.items[0].constraint);
}

static void
size_and_count_are_bounded(PKG_UNUSED void **state)
{
	pkg_cleanup_buf struct pkg_buf text = { 0 };
	struct lang_requirements list;

	for (int i = 0; i < LANG_REQUIREMENTS_ITEMS_MAX; i++)
		pkg_buf_add(&text, "a\n");
	assert_int_equal(lang_requirements_parse(
				 "r.txt", text.data, text.len, false, NULL, NULL, &list, NULL),
		0);
	lang_requirements_clear(&list);
	pkg_buf_add(&text, "a\n");
	assert_int_equal(lang_requirements_parse(
				 "r.txt", text.data, text.len, false, NULL, NULL, &list, NULL),
		-1);
	pkg_buf_truncate(&text, 0);
	while (text.len < LANG_REQUIREMENTS_BYTES_MAX)
		pkg_buf_add_char(&text, '\n');
	assert_int_equal(lang_requirements_parse(
				 "r.txt", text.data, text.len, false, NULL, NULL, &list, NULL),
		0);
	pkg_buf_add_char(&text, '\n');
	assert_int_equal(lang_requirements_parse(
				 "r.txt", text.data, text.len, false, NULL, NULL, &list, NULL),
		-1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_comments_and_blanks_are_told_apart),
		cmocka_unit_test(a_backslash_joins_lines_and_the_first_one_counts),
		cmocka_unit_test(hashes_are_kept_in_lower_case),
		cmocka_unit_test(nested_files_are_read_through_the_callback),
		cmocka_unit_test(everything_else_is_refused_with_its_line),
		cmocka_unit_test(without_a_callback_nothing_is_included),
		cmocka_unit_test(a_nul_hides_nothing),
		cmocka_unit_test(a_whole_file_can_be_constraints),
		cmocka_unit_test(size_and_count_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
