#include "unit.h"

#include "core/tree.h"
#include "lang/python_search.h"
#include "lang_python.h"

/* The sandbox is played here: what an interpreter "prints" is what its file holds after the first line.
 * So a test sees every command line, and no machine's own Pythons decide about it. */
static struct played {
	int runs;
	struct pkg_argv *commands; /* joined */
	const char *must_show; /* a directory that has to be mounted; NULL: not looked at */
	enum pkg_error_kind fail; /* of the sandbox; PKG_E_NONE: it works */
} played;

int
sandbox_run(PKG_UNUSED struct sandbox *sandbox, const struct sandbox_profile *profile,
	struct pkg_run *run, struct pkg_error *err)
{
	pkg_cleanup_buf struct pkg_buf text = { 0 };
	const char *body;
	bool shown = !played.must_show;

	played.runs++;
	pkg_argv_take(played.commands, pkg_argv_join(profile->command, " "));
	assert_int_equal(profile->purpose, SANDBOX_PROBE);
	assert_int_equal(profile->limits.wall_ms, 10000);
	assert_int_equal(profile->shim_fd, -1);
	assert_null(profile->tree);
	for (size_t i = 0; i < profile->mount_count; i++) {
		assert_int_equal(profile->mounts[i].kind, SANDBOX_MOUNT_RO);
		shown = shown || strcmp(profile->mounts[i].source, played.must_show) == 0;
	}
	assert_true(shown);
	if (played.fail)
		return pkg_error_set(err, played.fail, "as the test wants it");
	assert_int_equal(pkg_file_read(profile->command->items[0], 1 << 20, &text, NULL), 0);
	body = strchr(pkg_buf_str(&text), '\n') + 1;
	if (strncmp(body, "EXIT", 4) == 0) {
		run->wait_status = atoi(body + 4) << 8;
		pkg_buf_add(&run->err, strchr(body, '\n') + 1);
	} else if (strncmp(body, "OLD", 3) == 0 && strcmp(profile->command->items[1], "-I") == 0) {
		run->wait_status = 2 << 8;
		pkg_buf_add(&run->err, "Unknown option: -I\nusage: python [option] ...\n");
	} else {
		pkg_buf_add(&run->out, strncmp(body, "OLD", 3) == 0 ? body + 4 : body);
	}
	return 0;
}

struct fixture {
	char *root;
	struct pkg_home home;
	struct policy_config config;
	struct lang_context lang;
	struct lang_candidate_list list;
};

static int
setup(void **state)
{
	struct fixture *f = pkg_xcalloc(1, sizeof(*f));
	static const char *const unset[] = { "PYENV_ROOT", "PYENV_VERSION", "UV_PYTHON_INSTALL_DIR",
		"XDG_DATA_HOME", "CONDA_PREFIX", "PATH" };

	f->root = test_directory();
	f->home.user_home = pkg_path_join(f->root, "home");
	f->home.cache = pkg_path_join(f->root, "cache");
	f->home.share = pkg_path_join(f->root, "share");
	f->config.python_minimum = pkg_xstrdup("3.8");
	f->config.python_interpreters = pkg_argv_new();
	f->lang = (struct lang_context){ .home = &f->home, .config = &f->config, .cancel_fd = -1 };
	put_file(f->root, "share/envs/python/probe.py", "print()\n");
	for (size_t i = 0; i < PKG_ARRAY_LEN(unset); i++)
		unsetenv(unset[i]);
	played = (struct played){ .commands = pkg_argv_new() };
	*state = f;
	return 0;
}

static int
teardown(void **state)
{
	struct fixture *f = *state;

	(void)pkg_tree_remove(f->root, NULL);
	lang_candidate_list_clear(&f->list);
	pkg_argv_free(f->config.python_interpreters);
	free(f->config.python_minimum);
	free(f->home.user_home);
	free(f->home.cache);
	free(f->home.share);
	free(f->root);
	free(f);
	pkg_argv_free(played.commands);
	return 0;
}

/* An interpreter of that version, as a directory of its own; given: its path. */
static char *
put_python(struct fixture *f, const char *directory, const char *name, const char *version)
{
	pkg_cleanup(pkg_json_put) struct json_object *facts = facts_311();
	pkg_autofree char *base = pkg_path_join(f->root, directory);
	pkg_autofree char *relative = pkg_path_joinf(directory, "bin/%s", name);
	pkg_autofree char *value = pkg_xasprintf("\"%s\"", base);
	pkg_autofree char *stdlib = pkg_xasprintf("\"%s/lib\"", base);
	pkg_autofree char *info = pkg_xasprintf("[%s]", version);
	pkg_autofree char *site = NULL;
	pkg_autofree char *line = NULL;
	pkg_autofree char *text = NULL;
	char *path = pkg_path_join(f->root, relative);
	int major;
	int minor;

	for (char *at = info; *at; at++)
		*at = *at == '.' ? ',' : *at;
	facts_set(facts, "version_info", info);
	lang_python_version_info(facts, &major, &minor);
	site = pkg_xasprintf("\"lib/python%d.%d/site-packages\"", major, minor);
	pkg_json_set_str(facts, "version", version);
	facts_set(facts, "layout.purelib", site);
	facts_set(facts, "layout.platlib", site);
	facts_set(facts, "markers.platform_release", "\"\"");
	facts_set(facts, "prefix", value);
	facts_set(facts, "base_prefix", value);
	facts_set(facts, "stdlib", stdlib);
	line = pkg_json_line(facts);
	text = pkg_xasprintf("#!fake\n%s\n", line);
	put_file(f->root, relative, text);
	assert_int_equal(chmod(path, 0755), 0);
	return path;
}

static char *
put_text(struct fixture *f, const char *relative, const char *body, mode_t mode)
{
	pkg_autofree char *text = pkg_xasprintf("#!fake\n%s", body);
	char *path = pkg_path_join(f->root, relative);

	put_file(f->root, relative, text);
	assert_int_equal(chmod(path, mode), 0);
	return path;
}

static void
set_path(struct fixture *f, const char *first, const char *second)
{
	pkg_autofree char *a = pkg_path_join(f->root, first);
	pkg_autofree char *b = pkg_path_join(f->root, second);
	pkg_autofree char *path = pkg_xasprintf("relative:%s:%s", a, b);

	assert_int_equal(setenv("PATH", path, 1), 0);
}

static const char *
reason(const struct fixture *f, size_t i)
{
	assert_true(i < f->list.count);
	return f->list.items[i].reasons->count ? f->list.items[i].reasons->items[0] : "";
}

static void
a_broken_first_candidate_does_not_end_the_search(void **state)
{
	struct fixture *f = *state;
	pkg_autofree char *bad = put_text(f, "a/bin/python3", "hello\n", 0755);
	pkg_autofree char *good = put_python(f, "b", "python3", "3.11.2");
	pkg_autofree char *base = pkg_path_join(f->root, "b");

	set_path(f, "a/bin", "b/bin");
	assert_int_equal(lang_python_discover(&f->lang, NULL, false, &f->list, NULL), 0);
	assert_int_equal(f->list.count, 2);
	assert_string_equal(f->list.items[0].path, bad);
	assert_string_equal(reason(f, 0), "what it printed is not JSON");
	assert_string_equal(f->list.items[1].path, good);
	assert_string_equal(f->list.items[1].origin, "PATH");
	assert_int_equal(f->list.items[1].reasons->count, 0);
	assert_string_equal(lang_python_executable(f->list.items[1].facts), good);
	assert_string_equal(lang_python_base(f->list.items[1].facts), base);
}

static void
every_run_is_isolated_and_sees_its_own_directory(void **state)
{
	struct fixture *f = *state;
	pkg_autofree char *good = put_python(f, "b", "python3", "3.11.2");
	pkg_autofree char *base = pkg_path_join(f->root, "b");

	played.must_show = base;
	assert_int_equal(lang_python_discover(&f->lang, good, false, &f->list, NULL), 0);
	assert_int_equal(played.runs, 1);
	assert_non_null(strstr(played.commands->items[0], "/b/bin/python3 -I -B "));
	assert_non_null(strstr(played.commands->items[0], "/share/envs/python/probe.py"));
}

static void
an_old_python_without_isolation_says_its_version(void **state)
{
	struct fixture *f = *state;
	pkg_cleanup_error struct pkg_error err = { 0 };
	pkg_autofree char *old = put_text(f, "o/bin/python2.7",
		"OLD {\"version\":\"2.7.18\",\"version_info\":[2,7,18],\"error\":\"x\"}\n", 0755);

	assert_int_equal(lang_python_discover(&f->lang, old, false, &f->list, &err), -1);
	assert_int_equal(played.runs, 2);
	assert_string_equal(reason(f, 0), "it is Python 2.7.18, older than python.minimum (3.8)");
	assert_int_equal(err.kind, PKG_E_INTERPRETER);
	assert_non_null(strstr(err.message, "2.7.18"));
}

static void
what_does_not_run_says_its_exit_status_and_last_line(void **state)
{
	struct fixture *f = *state;
	pkg_autofree char *path = put_text(f, "x/bin/python3",
		"EXIT127\nfirst\nerror while loading shared libraries\n\n", 0755);

	assert_int_equal(lang_python_discover(&f->lang, path, false, &f->list, NULL), -1);
	assert_string_equal(reason(f, 0),
		"it does not run: exit status 127: error while loading shared libraries");
}

static void
files_that_cannot_be_one_cost_no_process(void **state)
{
	struct fixture *f = *state;
	pkg_autofree char *plain = put_text(f, "x/bin/python3", "", 0644);
	pkg_autofree char *absent = pkg_path_join(f->root, "x/bin/none");
	pkg_autofree char *directory = pkg_path_join(f->root, "x/bin");
	pkg_autofree char *home = put_text(f, "home/bin/python3", "", 0755);
	const struct {
		const char *path;
		const char *reason;
	} cases[] = {
		{ plain, "it is not executable" },
		{ absent, "it is not there: No such file or directory" },
		{ directory, "it is not a file" },
		{ home, "is too broad to be shown in a sandbox" },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(cases); i++) {
		lang_candidate_list_clear(&f->list);
		assert_int_equal(
			lang_python_discover(&f->lang, cases[i].path, false, &f->list, NULL), -1);
		assert_non_null(strstr(reason(f, 0), cases[i].reason));
	}
	assert_int_equal(played.runs, 0);
}

static void
an_answer_is_kept_until_the_file_changes(void **state)
{
	struct fixture *f = *state;
	pkg_autofree char *python = put_python(f, "b", "python3", "3.11.2");
	const struct timespec times[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };

	for (int round = 0; round < 3; round++) {
		lang_candidate_list_clear(&f->list);
		assert_int_equal(lang_python_discover(&f->lang, python, false, &f->list, NULL), 0);
		assert_string_equal(lang_python_executable(f->list.items[0].facts), python);
	}
	assert_int_equal(played.runs, 1);
	assert_int_equal(utimensat(AT_FDCWD, python, times, 0), 0);
	lang_candidate_list_clear(&f->list);
	assert_int_equal(lang_python_discover(&f->lang, python, false, &f->list, NULL), 0);
	assert_int_equal(played.runs, 2);
	/* The standard library appears: the module venv may have come with it. */
	put_file(f->root, "b/lib/os.py", "");
	lang_candidate_list_clear(&f->list);
	assert_int_equal(lang_python_discover(&f->lang, python, false, &f->list, NULL), 0);
	assert_int_equal(played.runs, 3);
}

static void
a_failure_is_never_kept(void **state)
{
	static const enum pkg_error_kind kinds[] = { PKG_E_TIMEOUT, PKG_E_MEMORY, PKG_E_TOO_LARGE };
	struct fixture *f = *state;
	pkg_autofree char *python = put_python(f, "b", "python3", "3.11.2");

	for (size_t i = 0; i < PKG_ARRAY_LEN(kinds); i++) {
		lang_candidate_list_clear(&f->list);
		played.fail = kinds[i];
		assert_int_equal(lang_python_discover(&f->lang, python, false, &f->list, NULL), -1);
		assert_int_equal(f->list.count, 1);
		if (kinds[i] == PKG_E_TIMEOUT)
			assert_string_equal(reason(f, 0), "it did not answer within 10 s");
	}
	lang_candidate_list_clear(&f->list);
	played.fail = PKG_E_NONE;
	assert_int_equal(lang_python_discover(&f->lang, python, false, &f->list, NULL), 0);
}

static void
a_sandbox_that_fails_is_not_the_interpreters_fault(void **state)
{
	static const enum pkg_error_kind kinds[] = { PKG_E_SANDBOX, PKG_E_CANCELLED };
	struct fixture *f = *state;
	pkg_autofree char *python = put_python(f, "b", "python3", "3.11.2");

	for (size_t i = 0; i < PKG_ARRAY_LEN(kinds); i++) {
		pkg_cleanup_error struct pkg_error err = { 0 };

		played.fail = kinds[i];
		assert_int_equal(lang_python_discover(&f->lang, python, false, &f->list, &err), -1);
		assert_int_equal(err.kind, kinds[i]);
		assert_int_equal(f->list.count, 0);
	}
}

static void
a_wanted_version_is_looked_for_among_all(void **state)
{
	struct fixture *f = *state;
	pkg_autofree char *first = put_python(f, "a", "python3", "3.11.2");
	pkg_autofree char *second = put_python(f, "b", "python3", "3.9.18");

	set_path(f, "a/bin", "b/bin");
	assert_int_equal(lang_python_discover(&f->lang, "3.9", false, &f->list, NULL), 0);
	assert_string_equal(reason(f, 0), "it is Python 3.11.2, not 3.9");
	assert_string_equal(f->list.items[1].path, second);
	assert_int_equal(f->list.items[1].reasons->count, 0);
}

static void
what_was_configured_comes_before_path(void **state)
{
	struct fixture *f = *state;
	pkg_autofree char *first = put_python(f, "a", "python3", "3.11.2");
	pkg_autofree char *second = put_python(f, "b", "python3.12", "3.12.1");

	set_path(f, "a/bin", "b/bin");
	pkg_argv_add(f->config.python_interpreters, second);
	assert_int_equal(lang_python_discover(&f->lang, NULL, false, &f->list, NULL), 0);
	assert_int_equal(f->list.count, 1);
	assert_string_equal(f->list.items[0].path, second);
	assert_string_equal(f->list.items[0].origin, "configuration");
}

static void
one_interpreter_by_two_names_is_asked_once(void **state)
{
	struct fixture *f = *state;
	pkg_autofree char *python = put_python(f, "a", "python3.11", "3.11.2");
	pkg_autofree char *link = pkg_path_join(f->root, "a/bin/python3");
	size_t here = 0;

	assert_int_equal(symlink("python3.11", link), 0);
	set_path(f, "a/bin", "a/bin");
	/* The machine's own are found as well, and say nothing that could be used. */
	(void)lang_python_discover(&f->lang, "3.11", false, &f->list, NULL);
	for (size_t i = 0; i < f->list.count; i++)
		here += pkg_path_contains(f->root, f->list.items[i].path);
	assert_int_equal(here, 1);
	assert_int_equal(played.runs, 1);
}

static void
neither_a_path_nor_a_version_is_refused(void **state)
{
	static const char *const wants[] = { "python3", "./python", "", "3.x", "-I" };
	struct fixture *f = *state;

	for (size_t i = 0; i < PKG_ARRAY_LEN(wants); i++) {
		pkg_cleanup_error struct pkg_error err = { 0 };

		assert_int_equal(
			lang_python_discover(&f->lang, wants[i], false, &f->list, &err), -1);
		assert_int_equal(err.kind, PKG_E_INVALID);
	}
	assert_int_equal(played.runs, 0);
}

static void
a_virtual_environment_gives_way_to_its_base(void **state)
{
	struct fixture *f = *state;
	pkg_autofree char *base = put_python(f, "b", "python3", "3.11.2");
	pkg_autofree char *linked = pkg_path_join(f->root, "v/bin/python3");
	pkg_autofree char *copied = put_python(f, "c", "python3", "3.11.2");
	pkg_autofree char *cfg = pkg_xasprintf("x = 1\nhome = %s/b/bin\n", f->root);

	put_file(f->root, "v/pyvenv.cfg", "home = /nowhere\n");
	put_file(f->root, "v/bin/x", "");
	put_file(f->root, "c/pyvenv.cfg", cfg);
	assert_int_equal(symlink(base, linked), 0);
	for (int copy = 0; copy < 2; copy++) {
		lang_candidate_list_clear(&f->list);
		assert_int_equal(lang_python_discover(
					 &f->lang, copy ? copied : linked, false, &f->list, NULL),
			0);
		assert_int_equal(f->list.count, 2);
		assert_non_null(strstr(reason(f, 0), "is inside the virtual environment"));
		assert_string_equal(f->list.items[1].path, base);
	}
	assert_int_equal(played.runs, 1);
}

static void
an_environment_without_a_base_is_said_to_be_one(void **state)
{
	struct fixture *f = *state;
	pkg_autofree char *python = put_python(f, "c", "python3", "3.11.2");

	put_file(f->root, "c/pyvenv.cfg", "home = /nowhere/bin\n");
	assert_int_equal(lang_python_discover(&f->lang, python, false, &f->list, NULL), -1);
	assert_int_equal(f->list.count, 1);
	assert_non_null(strstr(reason(f, 0), "whose base is not there"));
	assert_int_equal(played.runs, 0);
}

static void
a_pyenv_shim_is_traced_to_the_global_version(void **state)
{
	struct fixture *f = *state;
	pkg_autofree char *real = put_python(f, "home/.pyenv/versions/3.11.7", "python3", "3.11.7");
	pkg_autofree char *shim = put_text(f, "home/.pyenv/shims/python3", "EXIT1\nno\n", 0755);
	pkg_autofree char *lost = put_text(f, "home/.pyenv/shims/python3.6", "EXIT1\nno\n", 0755);

	put_file(f->root, "home/.pyenv/version", "system\n3.11.7\n");
	assert_int_equal(lang_python_discover(&f->lang, shim, false, &f->list, NULL), 0);
	assert_string_equal(f->list.items[0].path, real);
	lang_candidate_list_clear(&f->list);
	assert_int_equal(lang_python_discover(&f->lang, lost, false, &f->list, NULL), -1);
	assert_non_null(strstr(reason(f, 0), "pyenv shim"));
	assert_int_equal(played.runs, 1);
}

static void
version_managers_are_searched_newest_first(void **state)
{
	struct fixture *f = *state;
	lang_cleanup_python_places struct lang_python_places places = { 0 };
	const struct lang_python_surroundings around = { .home = f->home.user_home };
	static const char *const files[] = { "home/.pyenv/versions/3.9.18/bin/python",
		"home/.pyenv/versions/3.13.0/bin/python", "home/.pyenv/versions/3.10.1/bin/python",
		"home/.local/share/uv/python/cpython-3.12.3-linux-x86_64-gnu/bin/python3",
		"home/miniforge3/bin/python", "home/miniforge3/envs/work/bin/python" };
	static const char *const expected[] = { "pyenv 3.13.0/bin/python",
		"pyenv 3.10.1/bin/python", "pyenv 3.9.18/bin/python", "uv /bin/python3",
		"conda miniforge3/bin/python", "conda work/bin/python" };

	for (size_t i = 0; i < PKG_ARRAY_LEN(files); i++)
		put_file(f->root, files[i], "");
	lang_python_search(&around, &places);
	assert_true(places.count >= PKG_ARRAY_LEN(expected));
	for (size_t i = 0; i < PKG_ARRAY_LEN(expected); i++) {
		const char *end = strchr(expected[i], ' ') + 1;

		assert_memory_equal(
			places.items[i].origin, expected[i], strlen(places.items[i].origin));
		assert_non_null(strstr(places.items[i].path, end));
	}
}

#define WITH_MACHINE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_MACHINE(a_broken_first_candidate_does_not_end_the_search),
		WITH_MACHINE(every_run_is_isolated_and_sees_its_own_directory),
		WITH_MACHINE(an_old_python_without_isolation_says_its_version),
		WITH_MACHINE(what_does_not_run_says_its_exit_status_and_last_line),
		WITH_MACHINE(files_that_cannot_be_one_cost_no_process),
		WITH_MACHINE(an_answer_is_kept_until_the_file_changes),
		WITH_MACHINE(a_failure_is_never_kept),
		WITH_MACHINE(a_sandbox_that_fails_is_not_the_interpreters_fault),
		WITH_MACHINE(a_wanted_version_is_looked_for_among_all),
		WITH_MACHINE(what_was_configured_comes_before_path),
		WITH_MACHINE(one_interpreter_by_two_names_is_asked_once),
		WITH_MACHINE(neither_a_path_nor_a_version_is_refused),
		WITH_MACHINE(a_virtual_environment_gives_way_to_its_base),
		WITH_MACHINE(an_environment_without_a_base_is_said_to_be_one),
		WITH_MACHINE(a_pyenv_shim_is_traced_to_the_global_version),
		WITH_MACHINE(version_managers_are_searched_newest_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
