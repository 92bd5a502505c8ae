#include "test_install_common.h"
#include "install/commit.h"

static void
make_files(struct fixture *f, const char *root, const char *const *files)
{
	for (; *files != NULL; files++) {
		pkg_autofree char *path = pkg_path_joinf(f->home.data, "%s/%s", root, *files);
		pkg_autofree char *dir = pkg_path_dir(path);

		assert_ok(pkg_dir_make(dir, 0755, &f->err));
		assert_ok(pkg_file_write(path, "x", 1, 0644, false, &f->err));
	}
}

/* "FROM > TO" lines. */
static char *
steps(struct fixture *f)
{
	pkg_autofd int data = pkg_dir_open(f->home.data, &f->err);
	pkg_cleanup(pkg_json_put) struct json_object *ops = json_object_new_array();
	struct pkg_buf out = { 0 };

	pkg_error_clear(&f->err);
	if (install_overlay_steps(data, "over", "tree", ops, &f->err) < 0)
		return NULL;
	for (size_t i = 0; i < json_object_array_length(ops); i++) {
		struct json_object *op = json_object_array_get_idx(ops, i);

		assert_string_equal(
			json_object_get_string(json_object_array_get_idx(op, 0)), "move");
		pkg_buf_addf(&out, "%s > %s\n",
			json_object_get_string(json_object_array_get_idx(op, 1)),
			json_object_get_string(json_object_array_get_idx(op, 2)));
	}
	return pkg_buf_steal(&out);
}

static void
new_directories_move_whole_and_metadata_last(void **state)
{
	static const char *const tree[] = { "bin/python", "lib/site/old/__init__.py", NULL };
	static const char *const overlay[] = { "bin/tool", "lib/site/a-1.dist-info/RECORD",
		"lib/site/a/deep/er/x.py", "lib/site/b-1.dist-info/RECORD", "lib/site/b.py",
		"share/man/man1/a.1", NULL };
	struct fixture *f = *state;
	pkg_autofree char *text = NULL;

	make_files(f, "tree", tree);
	make_files(f, "over", overlay);
	text = steps(f);
	assert_string_equal(text,
		"over/bin/tool > tree/bin/tool\n"
		"over/lib/site/a > tree/lib/site/a\n"
		"over/lib/site/b.py > tree/lib/site/b.py\n"
		"over/share > tree/share\n"
		"over/lib/site/a-1.dist-info > tree/lib/site/a-1.dist-info\n"
		"over/lib/site/b-1.dist-info > tree/lib/site/b-1.dist-info\n");
}

static void
a_namespace_that_both_have_is_entered(void **state)
{
	static const char *const tree[] = { "site/ns/one/x.py", NULL };
	static const char *const overlay[] = { "site/ns/two/x.py", NULL };
	struct fixture *f = *state;
	pkg_autofree char *text = NULL;

	make_files(f, "tree", tree);
	make_files(f, "over", overlay);
	text = steps(f);
	assert_string_equal(text, "over/site/ns/two > tree/site/ns/two\n");
}

static void
whatever_stands_in_the_way_is_a_clash(void **state)
{
	static const struct {
		const char *tree, *overlay;
	} rows[] = {
		{ "site/x.py", "site/x.py" },
		{ "site/x", "site/x/y.py" }, /* a file where a directory shall be */
		{ "site/x/y.py", "site/x" }, /* and the other way round */
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		const char *const tree[] = { rows[i].tree, NULL };
		const char *const overlay[] = { rows[i].overlay, NULL };
		pkg_autofree char *wipe =
			pkg_xasprintf("rm -rf '%s/tree' '%s/over'", f->home.data, f->home.data);

		assert_int_equal(system(wipe), 0);
		make_files(f, "tree", tree);
		make_files(f, "over", overlay);
		assert_null(steps(f));
		assert_kind(PKG_E_PATH_CLASH);
	}
}

/* An absolute link into somebody's files must not be written through. */
static void
a_symlink_in_the_tree_is_not_entered(void **state)
{
	static const char *const overlay[] = { "site/x.py", NULL };
	static const char *const other[] = { "old.py", NULL };
	struct fixture *f = *state;
	pkg_autofree char *target = pkg_path_join(f->home.data, "other");
	pkg_autofree char *tree = pkg_path_join(f->home.data, "tree");
	pkg_autofree char *link = pkg_path_join(tree, "site");

	make_files(f, "other", other);
	make_files(f, "over", overlay);
	assert_ok(pkg_dir_make(tree, 0755, &f->err));
	assert_int_equal(symlink(target, link), 0);
	assert_null(steps(f));
	assert_kind(PKG_E_PATH_CLASH);
}

static void
a_bottomless_overlay_is_refused(void **state)
{
	struct fixture *f = *state;
	pkg_cleanup_buf struct pkg_buf path = { 0 };

	for (int i = 0; i < 70; i++)
		pkg_buf_add(&path, "d/");
	pkg_buf_add(&path, "x");
	{
		const char *const both[] = { pkg_buf_str(&path), NULL };

		make_files(f, "tree", both);
		make_files(f, "over", both);
	}
	assert_null(steps(f));
	assert_kind(PKG_E_ARCHIVE);
}

static void
an_empty_overlay_has_no_steps(void **state)
{
	static const char *const tree[] = { "x", NULL };
	struct fixture *f = *state;
	pkg_autofree char *over = pkg_path_join(f->home.data, "over");
	pkg_autofree char *text = NULL;

	make_files(f, "tree", tree);
	assert_ok(pkg_dir_make(over, 0755, &f->err));
	text = steps(f);
	assert_string_equal(text, "");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_HOME(new_directories_move_whole_and_metadata_last),
		WITH_HOME(a_namespace_that_both_have_is_entered),
		WITH_HOME(whatever_stands_in_the_way_is_a_clash),
		WITH_HOME(a_symlink_in_the_tree_is_not_entered),
		WITH_HOME(a_bottomless_overlay_is_refused),
		WITH_HOME(an_empty_overlay_has_no_steps),
	};

	return cmocka_run_group_tests_name("install_overlay", tests, NULL, NULL);
}
