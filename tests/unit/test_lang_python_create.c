#include "unit.h"

#include "core/tree.h"
#include "lang/python_template.h"
#include "lang_python.h"

/* `-m venv` and the new interpreter are played here, so that each can lie in its own way. */
static struct played {
	int venvs;
	int proofs;
	int exit; /* of venv */
	const char *program; /* what venv makes; NULL: nothing */
	const char *claims; /* sys.prefix that the interpreter says; NULL: the truth */
	int proof_exit;
	bool varies; /* two environments of it differ by more than prefix and name */
	bool hermetic;
} played;

static void
play_venv(const struct sandbox_profile *profile)
{
	const struct pkg_argv *command = profile->command;
	const char *prefix = command->items[command->count - 1];
	pkg_autofree char *activate = pkg_xasprintf("VIRTUAL_ENV=%s\nPS1=\"(%s) $PS1\"\n%d\n",
		prefix, pkg_path_base(prefix), played.varies ? played.venvs : 0);
	pkg_autofree char *cfg = pkg_xasprintf("home = /usr/bin\ncommand = -m venv %s\n", prefix);
	pkg_autofree char *link = pkg_path_join(profile->tree, "bin/python3");
	pkg_autofree char *lib = pkg_path_join(profile->tree, "lib64");

	played.venvs++;
	played.hermetic = !pkg_argv_has(command, "--system-site-packages");
	assert_string_equal(prefix, profile->prefix);
	assert_true(profile->tree_writable);
	assert_int_equal(profile->purpose, SANDBOX_APPLY);
	assert_true(pkg_argv_has(command, "-I"));
	assert_true(pkg_argv_has(command, "--without-pip"));
	if (!played.program)
		return;
	put_file(profile->tree, played.program, "");
	put_file(profile->tree, "pyvenv.cfg", cfg);
	put_file(profile->tree, "bin/activate", activate);
	put_file(profile->tree, SITE_311 "/.keep", "");
	assert_int_equal(symlink("python", link), 0);
	assert_int_equal(symlink("lib", lib), 0);
}

int
sandbox_run(PKG_UNUSED struct sandbox *sandbox, const struct sandbox_profile *profile,
	struct pkg_run *run, PKG_UNUSED struct pkg_error *err)
{
	if (pkg_argv_has(profile->command, "venv")) {
		play_venv(profile);
		run->wait_status = played.exit << 8;
		if (played.exit)
			pkg_buf_add(&run->err, "Error: it did not work\n");
		return 0;
	}
	played.proofs++;
	assert_int_equal(profile->purpose, SANDBOX_VERIFY);
	assert_false(profile->tree_writable);
	run->wait_status = played.proof_exit << 8;
	pkg_buf_addf(&run->out, "from a .pth\n%s", played.claims ? played.claims : profile->prefix);
	return 0;
}

struct fixture {
	char *root;
	struct pkg_home home;
	struct lang_context lang;
	struct json_object *facts;
	char *trees[4];
	char *prefixes[4];
	struct lang_env envs[4];
};

static int
setup(void **state)
{
	struct fixture *f = pkg_xcalloc(1, sizeof(*f));
	static const char *const names[] = { "default", "data", "with blank", "more" };

	f->root = test_directory();
	f->home.cache = pkg_path_join(f->root, "cache");
	f->home.share = pkg_path_join(f->root, "share");
	f->facts = facts_311();
	f->lang = (struct lang_context){ .home = &f->home, .scratch = f->root, .cancel_fd = -1 };
	for (size_t i = 0; i < PKG_ARRAY_LEN(names); i++) {
		f->trees[i] = pkg_path_joinf(f->root, "generations/%zu", i);
		f->prefixes[i] = pkg_path_join("/data/envs/p/python", names[i]);
		assert_int_equal(pkg_dir_make(f->trees[i], 0755, NULL), 0);
		f->envs[i] = (struct lang_env){
			.prefix = f->prefixes[i], .tree = f->trees[i], .facts = f->facts
		};
	}
	played = (struct played){ .program = "bin/python" };
	*state = f;
	return 0;
}

static int
teardown(void **state)
{
	struct fixture *f = *state;

	(void)pkg_tree_remove(f->root, NULL);
	for (size_t i = 0; i < PKG_ARRAY_LEN(f->trees); i++) {
		free(f->trees[i]);
		free(f->prefixes[i]);
	}
	pkg_json_put(f->facts);
	free(f->home.cache);
	free(f->home.share);
	free(f->root);
	free(f);
	return 0;
}

static bool
holds(const char *tree, const char *relative, const char *text)
{
	pkg_autofree char *path = pkg_path_join(tree, relative);
	pkg_cleanup_buf struct pkg_buf found = { 0 };

	return pkg_file_read(path, 1 << 16, &found, NULL) == 0 &&
		strcmp(pkg_buf_str(&found), text) == 0;
}

static void
the_second_environment_is_a_copy_with_its_own_prefix_and_prompt(void **state)
{
	struct fixture *f = *state;
	struct stat st;
	pkg_autofree char *link = pkg_path_join(f->trees[1], "lib64");

	assert_int_equal(lang_python_create(&f->lang, &f->envs[0], NULL), 0);
	assert_int_equal(played.venvs, 2); /* itself, and the template */
	assert_int_equal(lang_python_create(&f->lang, &f->envs[1], NULL), 0);
	assert_int_equal(played.venvs, 2);
	assert_int_equal(played.proofs, 2);
	assert_true(holds(f->trees[1], "bin/activate",
		"VIRTUAL_ENV=/data/envs/p/python/data\nPS1=\"(data) $PS1\"\n0\n"));
	assert_true(holds(f->trees[1], "pyvenv.cfg",
		"home = /usr/bin\ncommand = -m venv /data/envs/p/python/data\n"));
	assert_int_equal(lstat(link, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
}

static void
a_hermetic_one_does_not_come_from_the_other_template(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(lang_python_create(&f->lang, &f->envs[0], NULL), 0);
	assert_false(played.hermetic);
	f->envs[1].hermetic = true;
	assert_int_equal(lang_python_create(&f->lang, &f->envs[1], NULL), 0);
	assert_true(played.hermetic);
	assert_int_equal(played.venvs, 4);
}

static void
what_differs_by_more_than_its_names_is_never_copied(void **state)
{
	struct fixture *f = *state;

	played.varies = true;
	assert_int_equal(lang_python_create(&f->lang, &f->envs[0], NULL), 0);
	assert_int_equal(lang_python_create(&f->lang, &f->envs[1], NULL), 0);
	/* And it is not tried again: 2 for the first, 1 for the second. */
	assert_int_equal(played.venvs, 3);
}

static void
a_prefix_that_shells_would_quote_is_made_by_venv_itself(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(lang_python_create(&f->lang, &f->envs[0], NULL), 0);
	assert_int_equal(lang_python_create(&f->lang, &f->envs[2], NULL), 0);
	assert_int_equal(played.venvs, 3);
}

static void
nothing_is_left_in_the_scratch_directory(void **state)
{
	struct fixture *f = *state;
	pkg_cleanup(pkg_json_put) struct json_object *tree = NULL;

	assert_int_equal(lang_python_create(&f->lang, &f->envs[0], NULL), 0);
	tree = lang_python_template_read(f->root, NULL);
	assert_non_null(tree);
	for (size_t i = 0; i < json_object_array_length(tree); i++)
		assert_null(
			strstr(pkg_json_str(json_object_array_get_idx(tree, i), "path"), ".tmp-"));
}

static void
success_that_made_nothing_is_measured_and_removed(void **state)
{
	static const struct {
		const char *program;
		int exit;
		const char *claims;
		int proof_exit;
		const char *said[3];
	} cases[] = {
		{ NULL, 0, NULL, 0,
			{ "has no 'bin/python'", "'/usr/bin/python3.11 -m venv' (exit status 0)",
				"it holds: nothing" } },
		{ "Scripts/python.exe", 0, NULL, 0,
			{ "has no 'bin/python', but a 'bin/python3'", "Scripts/python.exe",
				"pyvenv.cfg" } },
		{ "bin/python", 1, NULL, 0,
			{ "ended with exit status 1: Error: it did not work", "", "" } },
		{ "bin/python", 0, "/usr", 0,
			{ "says its prefix is '/usr', not '/data/envs/p/python/default'", "",
				"" } },
		{ "bin/python", 0, "", 0, { "says its prefix is ''", "", "" } },
		{ "bin/python", 0, NULL, 3, { "did not run: exit status 3", "", "" } },
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < PKG_ARRAY_LEN(cases); i++) {
		pkg_cleanup_error struct pkg_error err = { 0 };
		pkg_autofree char *cache = pkg_path_join(f->home.cache, "venv");

		assert_int_equal(pkg_tree_remove(cache, NULL), 0);
		assert_int_equal(pkg_dir_make(f->trees[0], 0755, NULL), 0);
		played = (struct played){ .program = cases[i].program,
			.exit = cases[i].exit,
			.claims = cases[i].claims,
			.proof_exit = cases[i].proof_exit };
		assert_int_equal(lang_python_create(&f->lang, &f->envs[0], &err), -1);
		assert_int_equal(err.kind, PKG_E_VERIFY);
		for (size_t j = 0; j < PKG_ARRAY_LEN(cases[i].said); j++)
			if (!strstr(err.message, cases[i].said[j]))
				fail_msg("case %zu: '%s' lacks '%s'", i, err.message,
					cases[i].said[j]);
		assert_false(pkg_file_exists(f->trees[0]));
	}
}

static void
a_directory_with_something_in_it_survives(void **state)
{
	struct fixture *f = *state;
	pkg_cleanup_error struct pkg_error err = { 0 };

	put_file(f->trees[0], SITE_311 "/precious.py", "x\n");
	assert_int_equal(lang_python_create(&f->lang, &f->envs[0], &err), -1);
	assert_int_equal(err.kind, PKG_E_EXISTS);
	assert_int_equal(played.venvs, 0);
	assert_true(holds(f->trees[0], SITE_311 "/precious.py", "x\n"));
}

static void
a_template_that_leads_outside_is_not_followed(void **state)
{
	static const char *const paths[] = { "../x", "/tmp/x", "a/../../x", "" };
	struct fixture *f = *state;
	const struct lang_python_template_names names = { "/a", "/b", "a", "b" };

	for (size_t i = 0; i < PKG_ARRAY_LEN(paths); i++) {
		pkg_cleanup(pkg_json_put) struct json_object *entries = json_object_new_array();
		struct json_object *entry = json_object_new_object();

		pkg_json_set_str(entry, "path", paths[i]);
		pkg_json_set_str(entry, "text", "x");
		pkg_json_set_int(entry, "mode", 0644);
		json_object_array_add(entries, entry);
		assert_int_equal(
			lang_python_template_write(entries, &names, f->trees[0], NULL), -1);
	}
	{
		pkg_autofree char *outside = pkg_path_join(f->root, "generations/x");

		assert_false(pkg_file_exists(outside));
	}
}

#define WITH_TREES(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_TREES(the_second_environment_is_a_copy_with_its_own_prefix_and_prompt),
		WITH_TREES(a_hermetic_one_does_not_come_from_the_other_template),
		WITH_TREES(what_differs_by_more_than_its_names_is_never_copied),
		WITH_TREES(a_prefix_that_shells_would_quote_is_made_by_venv_itself),
		WITH_TREES(nothing_is_left_in_the_scratch_directory),
		WITH_TREES(success_that_made_nothing_is_measured_and_removed),
		WITH_TREES(a_directory_with_something_in_it_survives),
		WITH_TREES(a_template_that_leads_outside_is_not_followed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
