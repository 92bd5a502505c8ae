#include "unit.h"

#include <string.h>

#include "lang/python_layout.h"

#define SITE "lib/python3.11/site-packages"
#define INFO "demo-1.0.dist-info"
#define DATA "demo-1.0.data"

static const struct lang_python_layout layout = {
	.site = SITE,
	.platlib = "lib64x/python3.11/site-packages", /* to be seen apart */
	.scripts = "bin",
	.data = "",
	.cache_tag = "cpython-311",
	.headers = (char *)"include/site/python3.11/demo",
	.interpreter = (char *)"/env/bin/python",
};

struct fixture {
	struct lang_python_wheel wheel;
	struct lang_python_items items;
};

static void
fixture_clear(struct fixture *fixture)
{
	lang_python_items_clear(&fixture->items);
	lang_python_wheel_clear(&fixture->wheel);
}
#define cleanup_fixture __attribute__((cleanup(fixture_clear)))

static void
set_up(struct fixture *fixture, const char *points)
{
	struct lang_python_wheel *wheel = &fixture->wheel;

	wheel->name = pkg_xstrdup("demo");
	wheel->version = pkg_xstrdup("1.0");
	wheel->dist_info = pkg_xstrdup(INFO);
	wheel->data = pkg_xstrdup(DATA);
	wheel->root_is_purelib = true;
	assert_int_equal(lang_entry_points_parse(points, strlen(points), &wheel->points, NULL), 0);
}

static void
add(struct fixture *fixture, const char *path)
{
	lang_record_add(&fixture->wheel.files, path, NULL, 1);
}

static int
make(struct fixture *fixture, bool requested, bool direct, struct pkg_error *err)
{
	lang_record_sort(&fixture->wheel.files);
	return lang_python_items_make(
		&layout, &fixture->wheel, requested, direct, &fixture->items, err);
}

static char *
dump(const struct lang_python_items *items)
{
	static const char letters[] = "LSBPIQURx";
	struct pkg_buf out = { 0 };

	for (size_t i = 0; i < items->count; i++)
		pkg_buf_addf(&out, "%c %s\n", letters[items->items[i].kind], items->items[i].path);
	return pkg_buf_steal(&out);
}

static void
every_scheme_has_its_place(PKG_UNUSED void **state)
{
	static const char *const entries[] = { "demo/__init__.py", "demo/data.txt", "top.py",
		DATA "/purelib/pure/m.py", DATA "/platlib/plat/n.py", DATA "/scripts/tool",
		DATA "/scripts/helper.py", DATA "/headers/demo.h", DATA "/headers/sub/x.h",
		DATA "/data/share/doc/x", DATA "/data/etc/y.py", INFO "/METADATA", INFO "/RECORD",
		INFO "/INSTALLER", INFO "/REQUESTED", INFO "/direct_url.json",
		INFO "/licenses/LICENSE" };
	cleanup_fixture struct fixture fixture = { 0 };
	pkg_autofree char *text = NULL;

	set_up(&fixture, "[console_scripts]\nrun = demo:main\n");
	for (size_t i = 0; i < PKG_ARRAY_LEN(entries); i++)
		add(&fixture, entries[i]);
	assert_int_equal(make(&fixture, false, false, NULL), 0);
	text = dump(&fixture.items);
	/* helper.py is a script like any other. */
	assert_string_equal(text,
		"S bin/helper.py\nP bin/run\nS bin/tool\nL etc/y.py\n"
		"L include/site/python3.11/demo/demo.h\n"
		"L include/site/python3.11/demo/sub/x.h\n"
		"B " SITE "/__pycache__/top.cpython-311.pyc\n"
		"I " SITE "/" INFO "/INSTALLER\n"
		"L " SITE "/" INFO "/METADATA\n"
		"R " SITE "/" INFO "/RECORD\n"
		"L " SITE "/" INFO "/licenses/LICENSE\n"
		"L " SITE "/demo/__init__.py\n"
		"B " SITE "/demo/__pycache__/__init__.cpython-311.pyc\n"
		"L " SITE "/demo/data.txt\n"
		"B " SITE "/pure/__pycache__/m.cpython-311.pyc\n"
		"L " SITE "/pure/m.py\n"
		"L " SITE "/top.py\n"
		"B lib64x/python3.11/site-packages/plat/__pycache__/n.cpython-311.pyc\n"
		"L lib64x/python3.11/site-packages/plat/n.py\n"
		"L share/doc/x\n");
}

static void
a_wheel_with_binaries_goes_to_platlib(PKG_UNUSED void **state)
{
	cleanup_fixture struct fixture fixture = { 0 };
	pkg_autofree char *text = NULL;
	pkg_autofree char *info = NULL;

	set_up(&fixture, "");
	fixture.wheel.root_is_purelib = false;
	add(&fixture, "m.so");
	assert_int_equal(make(&fixture, true, true, NULL), 0);
	text = dump(&fixture.items);
	assert_string_equal(text,
		"I lib64x/python3.11/site-packages/" INFO "/INSTALLER\n"
		"R lib64x/python3.11/site-packages/" INFO "/RECORD\n"
		"Q lib64x/python3.11/site-packages/" INFO "/REQUESTED\n"
		"U lib64x/python3.11/site-packages/" INFO "/direct_url.json\n"
		"L lib64x/python3.11/site-packages/m.so\n");
	info = lang_python_layout_dist_info(&layout, &fixture.wheel);
	assert_string_equal(info, "lib64x/python3.11/site-packages/" INFO);
}

static void
launchers_take_the_place_of_what_setuptools_made_for_them(PKG_UNUSED void **state)
{
	cleanup_fixture struct fixture fixture = { 0 };
	pkg_autofree char *text = NULL;

	set_up(&fixture, "[console_scripts]\nrun = demo:main\n[gui_scripts]\nshow = demo:gui\n");
	add(&fixture, DATA "/scripts/run");
	add(&fixture, DATA "/scripts/run-script.py");
	add(&fixture, DATA "/scripts/run.exe");
	add(&fixture, DATA "/scripts/show.pya");
	add(&fixture, DATA "/scripts/run2");
	assert_int_equal(make(&fixture, false, false, NULL), 0);
	text = dump(&fixture.items);
	text[strlen("P bin/run\nS bin/run2\nP bin/show\n")] = '\0';
	assert_string_equal(text, "P bin/run\nS bin/run2\nP bin/show\n");
}

static void
bytecode_that_a_wheel_brings_for_this_interpreter_is_not_used(PKG_UNUSED void **state)
{
	cleanup_fixture struct fixture fixture = { 0 };
	pkg_autofree char *text = NULL;

	set_up(&fixture, "");
	add(&fixture, "a/m.py");
	add(&fixture, "a/__pycache__/m.cpython-311.pyc"); /* goes */
	add(&fixture, "a/__pycache__/m.cpython-39.pyc"); /* says nothing to this one */
	add(&fixture, "a/__pycache__/n.cpython-311.pyc"); /* no source: nothing to compile */
	add(&fixture, "b.pyc");
	assert_int_equal(make(&fixture, false, false, NULL), 0);
	text = dump(&fixture.items);
	assert_non_null(strstr(text, "B " SITE "/a/__pycache__/m.cpython-311.pyc\n"));
	assert_null(strstr(text, "L " SITE "/a/__pycache__/m.cpython-311.pyc\n"));
	assert_non_null(strstr(text, "L " SITE "/a/__pycache__/m.cpython-39.pyc\n"));
	assert_non_null(strstr(text, "L " SITE "/a/__pycache__/n.cpython-311.pyc\n"));
	assert_non_null(strstr(text, "L " SITE "/b.pyc\n"));
}

static void
what_is_the_environments_own_is_refused(PKG_UNUSED void **state)
{
	static const char *const entries[] = {
		/* The way out. */
		"../x",
		"a/../../x",
		"/etc/passwd",
		DATA "/data/../../x",
		DATA "/data//x",
		DATA "/purelib/../x",
		DATA "/scripts/..",
		"a\\b",
		"c:/x",
		"a/./b",
		"a\x01",
		/* The machinery. */
		DATA "/data/pyvenv.cfg",
		DATA "/data/bin/python",
		DATA "/data/bin/python3",
		DATA "/data/bin/python3.11",
		DATA "/data/bin/python3.13t",
		DATA "/data/bin/python/x",
		DATA "/data/bin/activate",
		DATA "/data/bin/Activate.ps1",
		DATA "/data/bin/activate.csh",
		DATA "/data/lib64",
		DATA "/data/lib64/x",
		DATA "/data/lib64/python3.11/site-packages/x.py",
		DATA "/data/bin",
		DATA "/data/pyvenv.cfg/x",
		DATA "/scripts/python",
		DATA "/scripts/python3.11",
		DATA "/scripts/activate",
		/* Somebody else's metadata. */
		DATA "/purelib/other-1.dist-info/METADATA",
		"other-1.dist-info/METADATA",
		DATA "/data/" SITE "/other-1.dist-info/RECORD",
		DATA "/platlib/x.egg-info",
		DATA "/purelib/x.EGG-INFO/PKG-INFO",
		"y.egg-link",
		/* No scheme. */
		DATA "/x",
		DATA "/purelib",
		DATA "/other/x",
		DATA "/",
		/* Its own, twice. */
		DATA "/purelib/" INFO "/RECORD",
		DATA "/data/" SITE "/" INFO "/INSTALLER",
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(entries); i++) {
		cleanup_fixture struct fixture fixture = { 0 };
		pkg_cleanup_error struct pkg_error err = { 0 };

		set_up(&fixture, "");
		add(&fixture, entries[i]);
		if (make(&fixture, false, false, &err) == 0)
			fail_msg("'%s' was let in", entries[i]);
		assert_int_equal(err.kind, PKG_E_ARCHIVE);
		assert_int_equal(fixture.items.count, 0);
	}
}

static void
what_only_looks_like_it_is_let_in(PKG_UNUSED void **state)
{
	static const char *const entries[] = { DATA "/data/bin/tool", DATA "/data/lib/x",
		DATA "/data/bin2/python", DATA "/scripts/python-argcomplete-check",
		DATA "/scripts/python3-config", DATA "/scripts/pythonista",
		DATA "/scripts/activate2", DATA "/data/etc/pyvenv.cfg", DATA "/data/lib640",
		"pyvenv.cfg", "bin/python", "lib64/x", "a/other.dist-info/x",
		DATA "/data/share/x.dist-info/y", "..a/b", "a..b", DATA "/purelib/" INFO "/extra" };

	for (size_t i = 0; i < PKG_ARRAY_LEN(entries); i++) {
		cleanup_fixture struct fixture fixture = { 0 };
		pkg_cleanup_error struct pkg_error err = { 0 };

		set_up(&fixture, "");
		add(&fixture, entries[i]);
		if (make(&fixture, false, false, &err) < 0)
			fail_msg("'%s' was refused: %s", entries[i], err.message);
	}
}

static void
commands_named_like_the_interpreter_are_refused(PKG_UNUSED void **state)
{
	static const char *const names[] = { "python", "python3", "python3.11", "pythonw",
		"activate" };

	for (size_t i = 0; i < PKG_ARRAY_LEN(names); i++) {
		cleanup_fixture struct fixture fixture = { 0 };
		pkg_cleanup_error struct pkg_error err = { 0 };
		pkg_autofree char *points =
			pkg_xasprintf("[console_scripts]\n%s = demo:main\n", names[i]);
		pkg_autofree char *path = pkg_xasprintf("'bin/%s'", names[i]);

		set_up(&fixture, points);
		assert_int_equal(make(&fixture, false, false, &err), -1);
		assert_int_equal(err.kind, PKG_E_ARCHIVE);
		assert_non_null(strstr(err.message, path));
	}
}

static void
two_files_of_one_wheel_never_share_a_path(PKG_UNUSED void **state)
{
	static const char *const pairs[][2] = {
		{ "a/m.py", DATA "/purelib/a/m.py" },
		{ "a/m.py", DATA "/data/" SITE "/a/m.py" },
		{ DATA "/scripts/x", DATA "/data/bin/x" },
		{ DATA "/headers/x.h", DATA "/data/include/site/python3.11/demo/x.h" },
		{ "a/m.py", DATA "/data/" SITE "/a/__pycache__/m.cpython-311.pyc" },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(pairs); i++) {
		cleanup_fixture struct fixture fixture = { 0 };
		pkg_cleanup_error struct pkg_error err = { 0 };

		set_up(&fixture, "");
		add(&fixture, pairs[i][0]);
		add(&fixture, pairs[i][1]);
		assert_int_equal(make(&fixture, false, false, &err), -1);
		assert_int_equal(err.kind, PKG_E_ARCHIVE);
	}
}

static void
record_paths_are_relative_to_site_packages(PKG_UNUSED void **state)
{
	static const char *const rows[][2] = {
		{ SITE "/a/b.py", "a/b.py" },
		{ "bin/x", "../../../bin/x" },
		{ "pyvenv.cfg", "../../../pyvenv.cfg" },
		{ "lib/x", "../../x" },
		{ "lib/python3.11/x/y", "../x/y" },
		{ "lib/python3.11/site-packages2/y", "../site-packages2/y" },
		{ "lib/python3.1/y", "../../python3.1/y" },
		{ "library/y", "../../../library/y" },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		pkg_autofree char *path = lang_python_record_path(SITE, rows[i][0]);

		assert_string_equal(path, rows[i][1]);
	}
}

static void
bytecode_lies_in_pycache(PKG_UNUSED void **state)
{
	static const char *const rows[][2] = {
		{ "a/b.py", "a/__pycache__/b.cpython-311.pyc" },
		{ "b.py", "__pycache__/b.cpython-311.pyc" },
		{ "a/b.c.py", "a/__pycache__/b.c.cpython-311.pyc" },
		{ "a/.py", NULL },
		{ "a/b.pyi", NULL },
		{ "a/py", NULL },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		pkg_autofree char *path = lang_python_pyc_path(rows[i][0], "cpython-311");

		if (rows[i][1])
			assert_string_equal(path, rows[i][1]);
		else
			assert_null(path);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_scheme_has_its_place),
		cmocka_unit_test(a_wheel_with_binaries_goes_to_platlib),
		cmocka_unit_test(launchers_take_the_place_of_what_setuptools_made_for_them),
		cmocka_unit_test(bytecode_that_a_wheel_brings_for_this_interpreter_is_not_used),
		cmocka_unit_test(what_is_the_environments_own_is_refused),
		cmocka_unit_test(what_only_looks_like_it_is_let_in),
		cmocka_unit_test(commands_named_like_the_interpreter_are_refused),
		cmocka_unit_test(two_files_of_one_wheel_never_share_a_path),
		cmocka_unit_test(record_paths_are_relative_to_site_packages),
		cmocka_unit_test(bytecode_lies_in_pycache),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
