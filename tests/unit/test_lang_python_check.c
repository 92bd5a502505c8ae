#include "unit.h"

#include "core/sha256.h"
#include "core/tree.h"
#include "lang_python.h"

/* An environment on disk of a few distributions, none of which was ever run. */
struct fixture {
	char *root; /* owned */
	char *tree; /* owned */
	char *inherited; /* owned; a site directory outside */
	struct json_object *facts;
	struct lang_env env;
	struct store_package_list packages;
};

static void
add_package(struct fixture *f, const char *name, const char *version, const char *requirement)
{
	struct store_package *package = store_package_list_add(&f->packages);

	package->name = pkg_xstrdup(name);
	package->key = pkg_xstrdup(name);
	package->version = pkg_xstrdup(version);
	package->requirement = pkg_xstrdup(requirement);
	package->owned = true;
	package->location = pkg_xasprintf(SITE_311 "/%s-%s.dist-info", name, version);
}

/* RECORD lists what is written here: a module, METADATA and itself. */
static void
install(struct fixture *f, const char *name, const char *version, const char *requirement,
	const char *needs)
{
	pkg_autofree char *info = pkg_xasprintf("%s-%s.dist-info", name, version);
	pkg_autofree char *module = pkg_xasprintf(SITE_311 "/%s.py", name);
	pkg_autofree char *metadata = pkg_xasprintf(SITE_311 "/%s/METADATA", info);
	pkg_autofree char *record = pkg_xasprintf(SITE_311 "/%s/RECORD", info);
	pkg_autofree char *text = pkg_xasprintf(
		"Metadata-Version: 2.1\nName: %s\nVersion: %s\n%s\n", name, version, needs);
	pkg_autofree char *lines = NULL;
	unsigned char digest[PKG_SHA256_BYTES];
	char encoded[44];
	struct pkg_sha256 *sha = pkg_sha256_new();

	pkg_sha256_add(sha, "x = 1\n", 6);
	pkg_sha256_end(sha, digest);
	pkg_sha256_free(sha);
	pkg_sha256_base64url(digest, encoded);
	lines = pkg_xasprintf("%s.py,sha256=%s,6\n../../../bin/%s,,\n%s/METADATA,,%zu\n"
			      "__pycache__/%s.cpython-311.pyc,,\n%s/RECORD,,\n",
		name, encoded, name, info, strlen(text), name, info);
	put_file(f->tree, module, "x = 1\n");
	put_file(f->tree, metadata, text);
	put_file(f->tree, record, lines);
	{
		pkg_autofree char *script = pkg_path_join("bin", name);

		put_file(f->tree, script, "#!/bin/sh\n");
	}
	add_package(f, name, version, requirement);
}

static int
setup(void **state)
{
	struct fixture *f = pkg_xcalloc(1, sizeof(*f));
	pkg_autofree char *value = NULL;

	f->root = test_directory();
	f->tree = pkg_path_join(f->root, "tree");
	f->inherited = pkg_path_join(f->root, "dist-packages");
	f->facts = facts_311();
	put_file(f->root, "base/bin/python3.11", "");
	put_file(f->root, "base/lib/python3.11/os.py", "");
	put_file(f->root, "dist-packages/yaml/__init__.py", "");
	put_file(f->root, "dist-packages/google/auth/__init__.py", "");
	put_file(f->root, "dist-packages/google/api.py", "");
	put_file(f->root, "dist-packages/fast.cpython-311-x86_64-linux-gnu.so", "");
	put_file(f->root, "dist-packages/six.py", "");
	put_file(f->root, "dist-packages/data/values.txt", "");
	put_file(f->tree, "bin/python", "");
	{
		pkg_autofree char *program = pkg_path_join(f->root, "base/bin/python3.11");
		pkg_autofree char *stdlib = pkg_path_join(f->root, "base/lib/python3.11");

		if (chmod(program, 0755) < 0)
			return -1;
		pkg_json_set_str(f->facts, "path", program);
		pkg_json_set_str(f->facts, "stdlib", stdlib);
	}
	value = pkg_xasprintf("[\"%s\"]", f->inherited);
	facts_set(f->facts, "inherited", value);
	f->env = (struct lang_env){
		.prefix = "/data/envs/p/python/default", .tree = f->tree, .facts = f->facts
	};
	install(f, "click", "8.1.3", NULL, "Requires-Dist: colorama; sys_platform == 'win32'\n");
	install(f, "flask", "2.2.2", "flask[async]",
		"Requires-Dist: werkzeug (>=2.2.2)\nRequires-Dist: click>=8.0\n"
		"Requires-Dist: asgiref>=3.2; extra == 'async'\n"
		"Requires-Dist: python-dotenv; extra == 'dotenv'\n"
		"Provides-Extra: async\nProvides-Extra: dotenv\n");
	install(f, "werkzeug", "2.2.2", NULL, "Requires-Dist: markupsafe>=2.1.1\n");
	install(f, "markupsafe", "2.1.2", NULL, "");
	install(f, "asgiref", "3.6.0", NULL, "");
	install(f, "pre", "2.0rc1", NULL, "Requires-Dist: pre\n");
	install(f, "lonely", "1.0", NULL, "Requires-Dist: absent>=1\n");
	install(f, "old", "1.0", NULL,
		"Requires-Dist: old[all]; extra == 'full'\n"
		"Requires-Dist: werkzeug>=3; extra == 'all'\n");
	store_package_list_sort(&f->packages);
	*state = f;
	return 0;
}

static int
teardown(void **state)
{
	struct fixture *f = *state;

	(void)pkg_tree_remove(f->root, NULL);
	store_package_list_clear(&f->packages);
	pkg_json_put(f->facts);
	free(f->inherited);
	free(f->tree);
	free(f->root);
	free(f);
	return 0;
}

static void
remove_file(struct fixture *f, const char *relative)
{
	pkg_autofree char *path = pkg_path_join(f->tree, relative);

	assert_int_equal(unlink(path), 0);
}

static void
a_tree_as_installed_passes_the_deep_check(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(lang_python_check(&f->env, &f->packages, true, NULL), 0);
}

static void
a_missing_a_longer_and_a_changed_file_are_named(void **state)
{
	struct fixture *f = *state;
	pkg_cleanup_error struct pkg_error shallow = { 0 };
	pkg_cleanup_error struct pkg_error deep = { 0 };

	remove_file(f, "bin/flask");
	put_file(f->tree, SITE_311 "/click.py", "x = 12\n");
	put_file(f->tree, SITE_311 "/werkzeug.py", "y = 1\n");
	assert_int_equal(lang_python_check(&f->env, &f->packages, false, &shallow), -1);
	assert_int_equal(shallow.kind, PKG_E_VERIFY);
	assert_non_null(strstr(shallow.message, "2 files are"));
	assert_non_null(strstr(shallow.message, "flask: 'bin/flask' is missing"));
	assert_non_null(strstr(shallow.message, "click.py' has another size"));
	assert_null(strstr(shallow.message, "werkzeug"));
	assert_non_null(shallow.cure);
	assert_int_equal(lang_python_check(&f->env, &f->packages, true, &deep), -1);
	assert_non_null(strstr(deep.message, "3 files are"));
	assert_non_null(strstr(deep.message, "werkzeug.py' has another content"));
}

static void
a_file_that_became_a_link_is_no_file(void **state)
{
	struct fixture *f = *state;
	pkg_autofree char *path = pkg_path_join(f->tree, SITE_311 "/click.py");
	pkg_cleanup_error struct pkg_error err = { 0 };

	remove_file(f, SITE_311 "/click.py");
	assert_int_equal(symlink("/etc/passwd", path), 0);
	assert_int_equal(lang_python_check(&f->env, &f->packages, true, &err), -1);
	assert_non_null(strstr(err.message, "is no file"));
}

static void
a_record_that_points_outside_is_a_fault_and_opens_nothing(void **state)
{
	static const char *const lines[] = { "../../../../x,,\n", "/etc/passwd,,\n",
		"../../../../../etc/passwd,,\n" };
	struct fixture *f = *state;

	for (size_t i = 0; i < PKG_ARRAY_LEN(lines); i++) {
		pkg_cleanup_error struct pkg_error err = { 0 };

		put_file(f->tree, SITE_311 "/click-8.1.3.dist-info/RECORD", lines[i]);
		assert_int_equal(lang_python_check(&f->env, &f->packages, true, &err), -1);
		assert_non_null(strstr(err.message, "lies outside the environment"));
	}
}

static void
a_record_that_is_gone_or_no_list_is_a_fault(void **state)
{
	struct fixture *f = *state;
	pkg_cleanup_error struct pkg_error err = { 0 };

	remove_file(f, SITE_311 "/click-8.1.3.dist-info/RECORD");
	put_file(f->tree, SITE_311 "/flask-2.2.2.dist-info/RECORD", "\"unclosed\n");
	assert_int_equal(lang_python_check(&f->env, &f->packages, false, &err), -1);
	assert_non_null(strstr(err.message, "click: "));
	assert_non_null(strstr(err.message, "cannot be read"));
	assert_non_null(strstr(err.message, "is no list of files"));
}

static void
only_the_first_faults_are_listed_and_all_are_counted(void **state)
{
	struct fixture *f = *state;
	pkg_cleanup_error struct pkg_error err = { 0 };

	for (size_t i = 0; i < f->packages.count; i++) {
		pkg_autofree char *script = pkg_path_join("bin", f->packages.items[i].name);

		remove_file(f, script);
	}
	assert_int_equal(lang_python_check(&f->env, &f->packages, false, &err), -1);
	assert_non_null(strstr(err.message, "8 files are"));
	assert_non_null(strstr(err.message, "and more"));
	assert_null(strstr(err.message, "bin/werkzeug"));
}

static void
health_is_the_base_the_library_and_the_tree(void **state)
{
	static const char *const gone[] = { "base/bin/python3.11", "base/lib/python3.11/os.py",
		"tree/bin/python" };
	struct fixture *f = *state;

	assert_int_equal(lang_python_healthy(&f->env, NULL), 0);
	for (size_t i = 0; i < PKG_ARRAY_LEN(gone); i++) {
		pkg_cleanup_error struct pkg_error err = { 0 };
		pkg_autofree char *path = pkg_path_join(f->root, gone[i]);
		pkg_autofree char *aside = pkg_xasprintf("%s.aside", path);

		assert_int_equal(rename(path, aside), 0);
		assert_int_equal(lang_python_healthy(&f->env, &err), -1);
		assert_int_equal(err.kind, PKG_E_ENV_BROKEN);
		assert_non_null(strstr(err.message, "is gone"));
		assert_non_null(strstr(err.cure, "pkg env repair default"));
		assert_int_equal(rename(aside, path), 0);
	}
}

static void
dependents_are_direct_and_by_the_extras_in_use(void **state)
{
	static const struct {
		const char *key;
		const char *dependents;
	} cases[] = {
		{ "click", "flask" },
		{ "werkzeug", "flask" }, /* old needs it for an extra that nobody asked for */
		{ "markupsafe", "werkzeug" }, /* not flask */
		{ "asgiref", "flask" }, /* asked for as flask[async] */
		{ "python-dotenv", "" },
		{ "colorama", "" }, /* its marker is false here */
		{ "pre", "" }, /* itself does not count */
		{ "unknown", "" },
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < PKG_ARRAY_LEN(cases); i++) {
		pkg_cleanup(pkg_argv_free) struct pkg_argv *out = pkg_argv_new();
		pkg_autofree char *joined = NULL;

		assert_int_equal(
			lang_python_dependents(&f->env, &f->packages, cases[i].key, out, NULL), 0);
		joined = pkg_argv_join(out, " ");
		assert_string_equal(joined, cases[i].dependents);
	}
}

static void
an_extra_of_an_extra_makes_a_dependent(void **state)
{
	struct fixture *f = *state;
	pkg_cleanup(pkg_argv_free) struct pkg_argv *out = pkg_argv_new();
	pkg_autofree char *joined = NULL;

	store_package_find(&f->packages, "old")->requirement = pkg_xstrdup("old[Full]>=1");
	assert_int_equal(lang_python_dependents(&f->env, &f->packages, "werkzeug", out, NULL), 0);
	joined = pkg_argv_join(out, " ");
	assert_string_equal(joined, "flask old");
}

static void
unreadable_metadata_makes_dependents_unknown(void **state)
{
	struct fixture *f = *state;
	pkg_cleanup(pkg_argv_free) struct pkg_argv *out = pkg_argv_new();
	pkg_cleanup_error struct pkg_error err = { 0 };

	remove_file(f, SITE_311 "/flask-2.2.2.dist-info/METADATA");
	assert_int_equal(lang_python_dependents(&f->env, &f->packages, "click", out, &err), -1);
	assert_int_equal(err.kind, PKG_E_ENV_BROKEN);
	assert_int_equal(lang_python_dependents(&f->env, &f->packages, "flask", out, NULL), 0);
}

static void
satisfied_reads_specifiers_extras_and_markers(void **state)
{
	static const struct {
		const char *requirement;
		bool satisfied;
	} cases[] = {
		{ "click", true },
		{ "Click", true },
		{ "click>=8", true },
		{ "click==8.1.3", true },
		{ "click==8.1.4", false },
		{ "click<8", false },
		{ "flask[async]>=2", true },
		{ "flask[dotenv]", false },
		{ "flask[nosuchextra]", true },
		{ "pre", true },
		{ "pre>=2.0a1", true },
		{ "absent", false },
		{ "absent; sys_platform == 'win32'", true },
		{ "absent; python_version >= '3.11'", false },
		{ "lonely", false }, /* what it needs is not there */
		{ "old", true },
		{ "old[full]", false }, /* by way of old[all] */
		{ "click @ https://files.example/click-8.1.3-py3-none-any.whl", false },
		{ "click >", false },
		{ "-r requirements.txt", false },
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < PKG_ARRAY_LEN(cases); i++)
		if (lang_python_satisfied(&f->env, &f->packages, cases[i].requirement) !=
			cases[i].satisfied)
			fail_msg("%s: expected %d", cases[i].requirement, cases[i].satisfied);
}

static void
what_the_inventory_remembers_has_to_be_on_disk(void **state)
{
	struct fixture *f = *state;
	struct store_package *package = store_package_find(&f->packages, "markupsafe");

	assert_true(lang_python_satisfied(&f->env, &f->packages, "markupsafe"));
	remove_file(f, SITE_311 "/markupsafe.py");
	assert_false(lang_python_satisfied(&f->env, &f->packages, "markupsafe"));
	put_file(f->tree, SITE_311 "/markupsafe.py", "x = 1\n");
	package->owned = false;
	free(package->location);
	package->location = pkg_path_join(f->inherited, "six.py");
	assert_true(lang_python_satisfied(&f->env, &f->packages, "markupsafe"));
	free(package->location);
	package->location = pkg_path_join(f->inherited, "gone.egg-info");
	assert_false(lang_python_satisfied(&f->env, &f->packages, "markupsafe"));
	assert_int_equal(pkg_tree_remove(f->tree, NULL), 0);
	assert_false(lang_python_satisfied(&f->env, &f->packages, "click"));
}

static void
a_url_is_met_by_the_same_url_alone(void **state)
{
	static const struct {
		const char *requirement;
		bool satisfied;
	} cases[] = {
		{ "click @ https://files.example/click.whl", true },
		{ "click @ https://me:secret@files.example/click.whl", true },
		{ "click @ https://files.example/click.whl#sha256=abcd", true },
		{ "click @ https://files.example/click.whl#sha256=abcde", false },
		{ "click @ https://files.example/other.whl", false },
		{ "click @ http://files.example/click.whl", false },
		{ "click @ https://files.example:8443/click.whl", false },
	};
	struct fixture *f = *state;

	put_file(f->tree, SITE_311 "/click-8.1.3.dist-info/direct_url.json",
		"{\"url\":\"https://files.example/click.whl\",\"archive_info\":{\"hashes\":"
		"{\"sha256\":\"abcd\"}}}");
	for (size_t i = 0; i < PKG_ARRAY_LEN(cases); i++)
		if (lang_python_satisfied(&f->env, &f->packages, cases[i].requirement) !=
			cases[i].satisfied)
			fail_msg("%s: expected %d", cases[i].requirement, cases[i].satisfied);
}

static void
requirements_get_a_canonical_text_or_a_position(PKG_UNUSED void **state)
{
	static const struct {
		const char *text;
		const char *canonical; /* NULL: refused */
		const char *key;
	} cases[] = {
		{ "Flask [async] >= 2 , <3", "Flask[async]<3,>=2", "flask" },
		{ "zope.interface", "zope.interface", "zope-interface" },
		{ "x @ https://h.example/x.whl", "x @ https://h.example/x.whl", "x" },
		{ "x @ file:///etc/passwd", NULL, NULL },
		{ "x @ git+https://h.example/x.git", NULL, NULL },
		{ "--index-url=https://evil.example", NULL, NULL },
		{ "flask >> 2", NULL, NULL },
		{ "", NULL, NULL },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(cases); i++) {
		pkg_cleanup_error struct pkg_error err = { 0 };
		pkg_autofree char *canonical = NULL;
		pkg_autofree char *key = NULL;
		int rc = lang_python_requirement(cases[i].text, &canonical, &key, &err);

		assert_int_equal(rc, cases[i].canonical ? 0 : -1);
		if (cases[i].canonical) {
			assert_string_equal(canonical, cases[i].canonical);
			assert_string_equal(key, cases[i].key);
		} else {
			assert_int_equal(err.kind, PKG_E_REQUIREMENT);
			assert_null(canonical);
		}
	}
}

static void
versions_are_ordered_and_nonsense_comes_first(PKG_UNUSED void **state)
{
	static const char *const order[] = { "nonsense", "zero", "1.0.dev1", "1.0a1", "1.0",
		"1.0+local", "1.0.post1", "1.9", "1.10", "1!0.1" };

	for (size_t i = 0; i + 1 < PKG_ARRAY_LEN(order); i++) {
		assert_true(lang_python_version_compare(order[i], order[i + 1]) < 0);
		assert_true(lang_python_version_compare(order[i + 1], order[i]) > 0);
		assert_int_equal(lang_python_version_compare(order[i], order[i]), 0);
	}
	assert_int_equal(lang_python_version_compare("1.0", "1"), 0);
}

static void
startup_files_are_those_python_runs_by_itself(void **state)
{
	static const struct {
		const char *path;
		bool startup;
	} cases[] = {
		{ SITE_311 "/distutils-precedence.pth", true },
		{ SITE_311 "/sitecustomize.py", true },
		{ SITE_311 "/sitecustomize/__init__.py", true },
		{ SITE_311 "/usercustomize.cpython-311-x86_64-linux-gnu.so", true },
		{ SITE_311 "/pkg/data.pth", false },
		{ SITE_311 "/sitecustomized.py", false },
		{ SITE_311 "/pkg/sitecustomize.py", false },
		{ "bin/x.pth", false },
		{ SITE_311 "2/x.pth", false },
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < PKG_ARRAY_LEN(cases); i++) {
		const char *reason = lang_python_path_reason(&f->env, cases[i].path);

		if (cases[i].startup)
			assert_string_equal(reason, "startup-file");
		else
			assert_null(reason);
	}
}

static void
shadows_are_modules_that_import_would_now_find_here(void **state)
{
	static const struct {
		const char *path;
		const char *module; /* NULL: nothing is hidden */
	} cases[] = {
		{ SITE_311 "/yaml/__init__.py", "yaml" },
		{ SITE_311 "/yaml.py", "yaml" },
		{ SITE_311 "/yaml/loader.py", NULL }, /* __init__ is what decides */
		{ SITE_311 "/six.py", "six" },
		{ SITE_311 "/six/__init__.py", "six" },
		{ SITE_311 "/fast.py", "fast" },
		{ SITE_311 "/fast.abi3.so", "fast" },
		{ SITE_311 "/google/__init__.py", "google" }, /* hides a namespace */
		{ SITE_311 "/google/auth/__init__.py", "google.auth" },
		{ SITE_311 "/google/auth/token.py", NULL }, /* a regular package there */
		{ SITE_311 "/google/api.py", "google.api" },
		{ SITE_311 "/google/cloud/__init__.py", NULL },
		{ SITE_311 "/json/__init__.py", NULL }, /* the standard one comes first */
		{ SITE_311 "/dataclasses.py", NULL },
		{ SITE_311 "/flask/__init__.py", NULL },
		{ SITE_311 "/yaml-6.0.dist-info/METADATA", NULL },
		{ SITE_311 "/__pycache__/six.cpython-311.pyc", NULL },
		{ SITE_311 "/data/values.txt", NULL },
		{ "bin/six.py", NULL },
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < PKG_ARRAY_LEN(cases); i++) {
		pkg_autofree char *module = lang_python_shadows(&f->env, cases[i].path);

		if (!module != !cases[i].module)
			fail_msg("%s: %s", cases[i].path, module ? module : "nothing");
		if (module)
			assert_string_equal(module, cases[i].module);
	}
}

static void
a_hermetic_environment_hides_nothing(void **state)
{
	struct fixture *f = *state;
	struct lang_env env = f->env;

	env.hermetic = true;
	assert_null(lang_python_shadows(&env, SITE_311 "/yaml/__init__.py"));
}

static void
what_the_environment_hid_before_is_not_hidden_anew(void **state)
{
	struct fixture *f = *state;

	put_file(f->tree, SITE_311 "/google/__init__.py", "");
	assert_null(lang_python_shadows(&f->env, SITE_311 "/google/auth/__init__.py"));
}

#define WITH_TREE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_TREE(a_tree_as_installed_passes_the_deep_check),
		WITH_TREE(a_missing_a_longer_and_a_changed_file_are_named),
		WITH_TREE(a_file_that_became_a_link_is_no_file),
		WITH_TREE(a_record_that_points_outside_is_a_fault_and_opens_nothing),
		WITH_TREE(a_record_that_is_gone_or_no_list_is_a_fault),
		WITH_TREE(only_the_first_faults_are_listed_and_all_are_counted),
		WITH_TREE(health_is_the_base_the_library_and_the_tree),
		WITH_TREE(dependents_are_direct_and_by_the_extras_in_use),
		WITH_TREE(an_extra_of_an_extra_makes_a_dependent),
		WITH_TREE(unreadable_metadata_makes_dependents_unknown),
		WITH_TREE(satisfied_reads_specifiers_extras_and_markers),
		WITH_TREE(what_the_inventory_remembers_has_to_be_on_disk),
		WITH_TREE(a_url_is_met_by_the_same_url_alone),
		cmocka_unit_test(requirements_get_a_canonical_text_or_a_position),
		cmocka_unit_test(versions_are_ordered_and_nonsense_comes_first),
		WITH_TREE(startup_files_are_those_python_runs_by_itself),
		WITH_TREE(shadows_are_modules_that_import_would_now_find_here),
		WITH_TREE(a_hermetic_environment_hides_nothing),
		WITH_TREE(what_the_environment_hid_before_is_not_hidden_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
