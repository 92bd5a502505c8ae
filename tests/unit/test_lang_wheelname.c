#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "lang/wheelname.h"

static void
wheel_names_come_apart(PKG_UNUSED void **state)
{
	static const struct {
		const char *file, *normalized, *version, *build, *tags;
	} rows[] = {
		{ "foo-1.0-py3-none-any.whl", "foo", "1.0", NULL, "py3-none-any" },
		{ "foo_bar-1.0-py2.py3-none-any.whl", "foo-bar", "1.0", NULL,
			"py2-none-any py3-none-any" },
		{ "Foo.Bar-1.0-PY3-None-Any.whl", "foo-bar", "1.0", NULL, "py3-none-any" },
		{ "foo-1.0-1000-py3-none-any.whl", "foo", "1.0", "1000", "py3-none-any" },
		{ "foo-1.0-1abc_d.2-py3-none-any.whl", "foo", "1.0", "1abc_d.2", "py3-none-any" },
		{ "numpy-2.1.0rc1-cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
			"numpy", "2.1.0rc1", NULL,
			"cp311-cp311-manylinux_2_17_x86_64 cp311-cp311-manylinux2014_x86_64" },
		{ "x-1.0+ubuntu_1-cp39.cp310-abi3.none-any.whl", "x", "1.0+ubuntu.1", NULL,
			"cp39-abi3-any cp39-none-any cp310-abi3-any cp310-none-any" },
		{ "x-1!2.0-py3.py3-none-any.whl", "x", "1!2.0", NULL, "py3-none-any" },
		{ "some_PACKAGE-1.0-py3-none-any.whl", "some-package", "1.0", NULL,
			"py3-none-any" },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		lang_cleanup_wheel_name struct lang_wheel_name name = { 0 };
		pkg_cleanup_error struct pkg_error err = { 0 };
		pkg_autofree char *version = NULL, *tags = NULL;

		if (lang_wheel_name_parse(rows[i].file, &name, &err) < 0)
			fail_msg("%s", err.message);
		version = lang_pep440_canonical(&name.version);
		tags = pkg_argv_join(name.tags, " ");
		assert_string_equal(name.normalized, rows[i].normalized);
		assert_string_equal(version, rows[i].version);
		assert_string_equal(tags, rows[i].tags);
		if (rows[i].build)
			assert_string_equal(name.build, rows[i].build);
		else
			assert_null(name.build);
	}
}

static void
what_is_no_wheel_name_is_refused(PKG_UNUSED void **state)
{
	static const char *const rows[] = { "", ".whl", "foo-1.0.whl", "foo-1.0.tar.gz",
		"foo-1.0-py3-none-any.wheel", "foo-1.0-py3-none-any.WHL", "foo-1.0-py3-none.whl",
		"foo-1.0-py3-none-any-.whl", "foo-1.0-1-2-py3-none-any.whl",
		"-1.0-py3-none-any.whl", "foo--py3-none-any.whl", "foo-1.0-abc-py3-none-any.whl",
		"foo-1.0--py3-none-any.whl", "foo-1.x-py3-none-any.whl",
		"foo-1.0_1-py3-none-any.whl", "foo__bar-1.0-py3-none-any.whl",
		"_foo-1.0-py3-none-any.whl", "foo_-1.0-py3-none-any.whl",
		"foo-1.0-py3.-none-any.whl", "foo-1.0-.py3-none-any.whl",
		"foo-1.0-py2..py3-none-any.whl", "foo-1.0--none-any.whl",
		"foo-1.0-py3-none-any+.whl", "../foo-1.0-py3-none-any.whl",
		"a/foo-1.0-py3-none-any.whl", "a\\foo-1.0-py3-none-any.whl",
		"foo -1.0-py3-none-any.whl", "foo-1.0-py3-none-any.whl\n",
		"f\xC3\xB6o-1.0-py3-none-any.whl", "foo-1.0-py3-none-any\x1b.whl",
		"foo-1.0-1!-py3-none-any.whl" };

	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		pkg_cleanup_error struct pkg_error err = { 0 };
		struct lang_wheel_name name;

		if (lang_wheel_name_parse(rows[i], &name, &err) == 0)
			fail_msg("'%s' was accepted", rows[i]);
		assert_int_equal(err.kind, PKG_E_INVALID);
		assert_null(name.distribution);
		assert_null(name.tags);
		assert_int_equal(lang_wheel_name_parse(rows[i], &name, NULL), -1);
	}
}

static void
tag_sets_that_explode_are_refused(PKG_UNUSED void **state)
{
	struct lang_wheel_name name;

	assert_int_equal(
		lang_wheel_name_parse("x-1-a.b.c.d.e.f.g.h.i.j.k.l-a.b.c.d.e.f.g.h.i.j.k.l-"
				      "a.b.c.d.e.f.g.h.i.j.k.l.whl",
			&name, NULL),
		-1);
}

static void
the_best_supported_tag_gives_the_rank(PKG_UNUSED void **state)
{
	static const char *const tags[] = { "cp311-cp311-linux_x86_64", "cp311-abi3-linux_x86_64",
		"py3-none-linux_x86_64", "py3-none-any" };
	static const struct {
		const char *file;
		int rank;
	} rows[] = {
		{ "x-1-cp311-cp311-linux_x86_64.whl", 0 },
		{ "x-1-py2.py3-none-any.whl", 3 },
		{ "x-1-cp311.py3-none.abi3-linux_x86_64.any.whl", 1 },
		{ "x-1-cp310-cp310-linux_x86_64.whl", -1 },
		{ "x-1-py2-none-any.whl", -1 },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		lang_cleanup_wheel_name struct lang_wheel_name name = { 0 };

		assert_int_equal(lang_wheel_name_parse(rows[i].file, &name, NULL), 0);
		assert_int_equal(
			lang_wheel_tags_supported(tags, PKG_ARRAY_LEN(tags), &name), rows[i].rank);
		assert_int_equal(lang_wheel_tags_supported(NULL, 0, &name), -1);
	}
}

static void
build_tags_order_by_number_then_text(PKG_UNUSED void **state)
{
	static const char *const ascending[] = { NULL, "0", "1", "1a", "1b", "2", "10", "010a",
		"99999999999999999999" };

	for (size_t i = 0; i < PKG_ARRAY_LEN(ascending); i++) {
		for (size_t j = 0; j < PKG_ARRAY_LEN(ascending); j++) {
			int order = lang_wheel_build_compare(ascending[i], ascending[j]);

			assert_int_equal((order > 0) - (order < 0), (i > j) - (i < j));
		}
	}
	assert_int_equal(lang_wheel_build_compare("1", "001"), 0);
}

static void
sdist_names_come_apart(PKG_UNUSED void **state)
{
	static const struct {
		const char *file, *project, *normalized, *version;
	} rows[] = {
		{ "foo-1.0.tar.gz", NULL, "foo", "1.0" },
		{ "foo-1.0.zip", NULL, "foo", "1.0" },
		{ "foo_bar-1.0.tar.gz", NULL, "foo-bar", "1.0" },
		{ "foo-bar-1.0.tar.gz", NULL, "foo-bar", "1.0" },
		{ "foo-bar-1.0.tar.gz", "Foo.Bar", "foo-bar", "1.0" },
		{ "foo-1.0-1.tar.gz", "foo", "foo", "1.0.post1" },
		{ "foo-2-1.0.tar.gz", "foo-2", "foo-2", "1.0" },
		{ "foo-1.0.tar.zip", NULL, NULL, NULL },
		{ "foo-1.0.tar.bz2", NULL, NULL, NULL },
		{ "foo-1.0.tgz", NULL, NULL, NULL },
		{ "foo-1.0-py3-none-any.whl", NULL, NULL, NULL },
		{ "foo.tar.gz", NULL, NULL, NULL },
		{ "foo-.tar.gz", NULL, NULL, NULL },
		{ "-1.0.tar.gz", NULL, NULL, NULL },
		{ "foo-latest.tar.gz", NULL, NULL, NULL },
		{ "bar-1.0.tar.gz", "foo", NULL, NULL },
		{ "foo-bar-1.0.tar.gz", "foo", NULL, NULL },
		{ "../foo-1.0.tar.gz", NULL, NULL, NULL },
		{ "foo-1.0\x1b.tar.gz", NULL, NULL, NULL },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		lang_cleanup_sdist_name struct lang_sdist_name name = { 0 };
		int rc = lang_sdist_name_parse(rows[i].file, rows[i].project, &name, NULL);

		if (rc != (rows[i].version ? 0 : -1))
			fail_msg("'%s' gave %d", rows[i].file, rc);
		if (rc == 0) {
			pkg_autofree char *version = lang_pep440_canonical(&name.version);

			assert_string_equal(name.normalized, rows[i].normalized);
			assert_string_equal(version, rows[i].version);
		} else {
			assert_null(name.distribution);
		}
	}
}

static void
file_names_have_at_most_255_bytes(PKG_UNUSED void **state)
{
	static const char end[] = "-1-py3-none-any.whl";
	char file[LANG_FILE_NAME_MAX + 2];
	lang_cleanup_wheel_name struct lang_wheel_name name = { 0 };

	memset(file, 'a', sizeof(file));
	memcpy(file + sizeof(file) - sizeof(end), end, sizeof(end));
	assert_int_equal(lang_wheel_name_parse(file, &name, NULL), -1);
	assert_int_equal(lang_wheel_name_parse(file + 1, &name, NULL), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wheel_names_come_apart),
		cmocka_unit_test(what_is_no_wheel_name_is_refused),
		cmocka_unit_test(tag_sets_that_explode_are_refused),
		cmocka_unit_test(the_best_supported_tag_gives_the_rank),
		cmocka_unit_test(build_tags_order_by_number_then_text),
		cmocka_unit_test(sdist_names_come_apart),
		cmocka_unit_test(file_names_have_at_most_255_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
