#include "test_store_common.h"

static const char hash_a[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
static const char hash_b[] = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";

static struct store_env_key
key(const char *name)
{
	return (struct store_env_key){ "p", "python", name };
}

/* ---- Environments ---- */

static void
an_environment_comes_back_as_it_went_in(void **state)
{
	FIXTURE(state);
	pkg_cleanup_store_env struct store_env out = { 0 };
	struct store_env in = { .id = store_env_reserve_id(store, err),
		.project = (char *)"p",
		.language = (char *)"r",
		.name = (char *)"Data.1",
		.prefix = (char *)"/envs/p/r/Data.1",
		.facts = (char *)"{\"version\":\"4.2\"}",
		.hermetic = true,
		.generation = 3,
		.revision = 2,
		.created_ms = 11,
		.updated_ms = 12 };
	struct store_env_key in_key = { "p", "r", "Data.1" };

	assert_ok(store_env_insert(store, &in, err));
	assert_ok(store_env_get(store, &in_key, &out, err));
	assert_int_equal(out.id, in.id);
	assert_string_equal(out.project, "p");
	assert_string_equal(out.language, "r");
	assert_string_equal(out.name, "Data.1");
	assert_string_equal(out.prefix, in.prefix);
	assert_string_equal(out.facts, in.facts);
	assert_true(out.hermetic);
	assert_int_equal(out.generation, 3);
	assert_int_equal(out.revision, 2);
	assert_int_equal(out.created_ms, 11);
	assert_int_equal(out.updated_ms, 12);
	/* Into the filled record again: the first strings are released (leaks are on). */
	assert_ok(store_env_get_id(store, in.id, &out, err));
	assert_string_equal(out.name, "Data.1");
}

static void
what_is_not_there_is_not_found_and_out_is_left_alone(void **state)
{
	FIXTURE(state);
	struct store_env out = { .id = 77 };
	struct store_env_key absent = key("nope");

	assert_refused(store_env_get(store, &absent, &out, err), PKG_E_NOT_FOUND);
	assert_says("'nope'");
	assert_refused(store_env_get_id(store, 9, &out, err), PKG_E_NOT_FOUND);
	assert_refused(store_env_set_current(store, 9, 1, 0, NULL, err), PKG_E_NOT_FOUND);
	assert_refused(store_env_delete(store, 9, err), PKG_E_NOT_FOUND);
	assert_int_equal(out.id, 77);
}

static void
names_that_differ_only_by_case_are_refused(void **state)
{
	FIXTURE(state);
	struct store_env_key exact = key("Data");
	struct store_env_key twin = key("dATA");
	struct store_env_key other_language = { "p", "r", "data" };
	struct store_env_key other_project = { "q", "python", "data" };
	struct store_env out = { 0 };

	assert_ok(store_env_check_name(store, &exact, err));
	assert_true(make_env(store, "Data", err) > 0);
	assert_ok(store_env_check_name(store, &exact, err));
	assert_ok(store_env_check_name(store, &other_language, err));
	assert_ok(store_env_check_name(store, &other_project, err));
	assert_refused(store_env_check_name(store, &twin, err), PKG_E_EXISTS);
	assert_says("an environment named 'Data' exists");
	assert_refused(make_env(store, "dATA", err), PKG_E_EXISTS);
	assert_says("an environment named 'Data' exists");
	assert_refused(make_env(store, "Data", err), PKG_E_EXISTS);
	assert_says("already");
	/* Looking is exact all the same. */
	assert_refused(store_env_get(store, &twin, &out, err), PKG_E_NOT_FOUND);
}

static void
an_id_is_never_used_twice(void **state)
{
	FIXTURE(state);
	int64_t first = make_env(store, "a", err);
	int64_t second = make_env(store, "b", err);
	int64_t third;

	assert_true(first > 0 && second > first);
	assert_ok(store_env_delete(store, second, err));
	store_close(store);
	f->store = store_open(&f->home, err);
	third = store_env_reserve_id(f->store, err);
	assert_true(third > second);
	assert_true(store_env_reserve_id(f->store, err) > third);
}

static void
an_environment_without_a_reserved_id_is_refused(void **state)
{
	FIXTURE(state);
	struct store_env env = { .project = (char *)"p",
		.language = (char *)"python",
		.name = (char *)"x",
		.prefix = (char *)"/x" };

	assert_refused(store_env_insert(store, &env, err), PKG_E_INTERNAL);
}

static void
a_record_with_a_bad_or_missing_field_never_gets_in(void **state)
{
	static const struct {
		struct store_env env;
		const char *field;
	} cases[] = {
		{ { 50, (char *)"p", NULL, (char *)"x", (char *)"/x", NULL }, "language" },
		{ { 50, (char *)"p", (char *)"perl", (char *)"x", (char *)"/x", NULL },
			"env_language" },
		{ { 50, (char *)"p", (char *)"python", (char *)"", (char *)"/x", NULL },
			"env_name" },
		{ { 50, (char *)"", (char *)"python", (char *)"x", (char *)"/x", NULL },
			"env_project" },
		{ { 50, (char *)"p", (char *)"python", (char *)"x", (char *)"x", NULL },
			"env_prefix" },
		{ { 50, (char *)"p", (char *)"python", (char *)"x", (char *)"/x", (char *)"{" },
			"env_facts" },
		{ { 50, (char *)"p", (char *)"python", (char *)"x", (char *)"/x", NULL, false, -1 },
			"env_generation" },
	};
	FIXTURE(state);

	for (size_t i = 0; i < PKG_ARRAY_LEN(cases); i++) {
		assert_refused(store_env_insert(store, &cases[i].env, err), PKG_E_DATABASE);
		assert_says(cases[i].field);
	}
	assert_int_equal(number(store, "SELECT count(*) FROM env"), 0);
}

static void
lists_are_filtered_and_in_order(void **state)
{
	FIXTURE(state);
	pkg_cleanup_store_env_list struct store_env_list list = { 0 };
	struct store_env r = { .id = store_env_reserve_id(store, err),
		.project = (char *)"a",
		.language = (char *)"r",
		.name = (char *)"x",
		.prefix = (char *)"/x" };

	assert_ok(store_env_list(store, NULL, NULL, &list, err));
	assert_int_equal(list.count, 0);
	/* More than one growth of the list. */
	for (int i = 0; i < 40; i++) {
		char name[16];

		(void)snprintf(name, sizeof(name), "env%02d", 39 - i);
		assert_true(make_env(store, name, err) > 0);
	}
	assert_ok(store_env_insert(store, &r, err));
	assert_ok(store_env_list(store, NULL, NULL, &list, err));
	assert_int_equal(list.count, 41);
	assert_string_equal(list.items[0].project, "a");
	assert_string_equal(list.items[1].name, "env00");
	assert_string_equal(list.items[40].name, "env39");
	assert_ok(store_env_list(store, "p", NULL, &list, err));
	assert_int_equal(list.count, 40);
	assert_ok(store_env_list(store, NULL, "r", &list, err));
	assert_int_equal(list.count, 1);
	assert_ok(store_env_list(store, "p", "r", &list, err));
	assert_int_equal(list.count, 0);
}

/* ---- Generations ---- */

static void
moving_the_pointer_shows_in_environment_and_generations(void **state)
{
	FIXTURE(state);
	pkg_cleanup_store_env struct store_env env = { 0 };
	struct store_generation_list list = { 0 };
	int64_t id = make_env(store, "data", err);

	assert_int_equal(store_generation_next(store, id, err), 1);
	assert_ok(store_generation_insert(store, id, 1, 5, err));
	assert_ok(store_generation_insert(store, id, 2, 6, err));
	assert_refused(store_generation_insert(store, id, 2, 6, err), PKG_E_EXISTS);
	assert_refused(store_generation_insert(store, 99, 1, 6, err), PKG_E_NOT_FOUND);
	assert_int_equal(store_generation_next(store, id, err), 3);
	assert_ok(store_env_set_current(store, id, 1, 0, "{\"a\":1}", err));
	assert_ok(store_generation_set_revision(store, id, 1, 4, err));
	assert_ok(store_env_get_id(store, id, &env, err));
	assert_int_equal(env.generation, 1);
	assert_int_equal(env.revision, 4);
	assert_string_equal(env.facts, "{\"a\":1}");
	assert_ok(store_env_set_current(store, id, 2, 1, NULL, err));
	assert_ok(store_generation_set_revision(store, id, 1, 5, err));
	assert_refused(store_generation_set_revision(store, id, 9, 5, err), PKG_E_NOT_FOUND);
	assert_ok(store_env_get_id(store, id, &env, err));
	assert_int_equal(env.generation, 2);
	assert_int_equal(env.revision, 1);
	assert_string_equal(env.facts, "{\"a\":1}");
	assert_ok(store_generation_list(store, id, &list, err));
	assert_int_equal(list.count, 2);
	assert_int_equal(list.items[0].revision, 5);
	assert_int_equal(list.items[0].job, 5);
	assert_false(list.items[0].current);
	assert_int_equal(list.items[1].revision, 1);
	assert_true(list.items[1].current);
	store_generation_list_clear(&list);
}

static void
the_current_generation_cannot_be_retired(void **state)
{
	FIXTURE(state);
	struct store_generation_list list = { 0 };
	int64_t id = make_env(store, "data", err);

	assert_ok(store_generation_insert(store, id, 1, 5, err));
	assert_ok(store_generation_insert(store, id, 2, 6, err));
	assert_ok(store_env_set_current(store, id, 2, 0, NULL, err));
	assert_refused(store_generation_retire(store, id, 2, err), PKG_E_NOT_FOUND);
	assert_refused(store_generation_retire(store, id, 3, err), PKG_E_NOT_FOUND);
	assert_ok(store_generation_retire(store, id, 1, err));
	assert_ok(store_generation_list(store, id, &list, err));
	assert_true(list.items[0].retired);
	assert_false(list.items[1].retired);
	/* Its number is not given out again. */
	assert_int_equal(store_generation_next(store, id, err), 3);
	store_generation_list_clear(&list);
}

/* ---- Packages ---- */

static void
add_package(struct store_package_list *list, const char *name, const char *sha256)
{
	struct store_package *package = store_package_list_add(list);

	package->key = pkg_xstrdup(name);
	package->name = pkg_xstrdup(name);
	package->version = pkg_xstrdup("1.0");
	package->owned = sha256 != NULL;
	package->sha256 = pkg_xstrdup(sha256);
	package->source = pkg_xstrdup(sha256 ? "wheel" : NULL);
}

static void
an_inventory_comes_back_sorted_and_whole(void **state)
{
	FIXTURE(state);
	pkg_cleanup_store_package_list struct store_package_list in = { 0 };
	pkg_cleanup_store_package_list struct store_package_list out = { 0 };
	int64_t id = make_env(store, "data", err);
	struct store_package *found;

	assert_ok(store_generation_insert(store, id, 1, 5, err));
	add_package(&in, "zlib", NULL);
	add_package(&in, "flask", hash_a);
	add_package(&in, "click", hash_b);
	in.items[1].requirement = pkg_xstrdup("flask>=2");
	in.items[1].location = pkg_xstrdup("lib/flask-1.0.dist-info");
	in.items[1].file = pkg_xstrdup("flask-1.0-py3-none-any.whl");
	in.items[1].url = pkg_xstrdup("https://h/f.whl");
	in.items[1].index = pkg_xstrdup("https://h/simple");
	assert_ok(store_packages_set(store, id, 1, &in, err));
	assert_ok(store_packages_get(store, id, 1, &out, err));
	assert_int_equal(out.count, 3);
	assert_string_equal(out.items[0].key, "click");
	assert_null(out.items[0].requirement);
	assert_null(store_package_find(&out, "nothing"));
	found = store_package_find(&out, "flask");
	assert_ptr_equal(found, &out.items[1]);
	assert_string_equal(found->requirement, "flask>=2");
	assert_string_equal(found->location, "lib/flask-1.0.dist-info");
	assert_string_equal(found->file, "flask-1.0-py3-none-any.whl");
	assert_string_equal(found->url, "https://h/f.whl");
	assert_string_equal(found->index, "https://h/simple");
	assert_string_equal(found->sha256, hash_a);
	assert_string_equal(found->source, "wheel");
	assert_true(found->owned);
	found = store_package_find(&out, "zlib");
	assert_false(found->owned);
	assert_null(found->sha256);
	assert_null(found->source);
	/* What was read can be added to, and replaces what was there. */
	add_package(&out, "attrs", hash_a);
	store_package_list_sort(&out);
	assert_string_equal(out.items[0].key, "attrs");
	assert_ok(store_packages_set(store, id, 1, &out, err));
	assert_int_equal(number(store, "SELECT count(*) FROM package"), 4);
	in.items[0].version[0] = '2';
	assert_ok(store_packages_set(store, id, 1, &in, err));
	assert_int_equal(number(store, "SELECT count(*) FROM package"), 3);
}

static void
an_empty_list_finds_nothing_and_can_be_stored(void **state)
{
	FIXTURE(state);
	struct store_package_list list = { 0 };
	int64_t id = make_env(store, "data", err);

	store_package_list_sort(&list);
	assert_null(store_package_find(&list, "x"));
	assert_ok(store_generation_insert(store, id, 1, 5, err));
	assert_ok(store_packages_set(store, id, 1, &list, err));
	assert_ok(store_packages_get(store, id, 1, &list, err));
	assert_int_equal(list.count, 0);
}

static void
a_bad_package_is_named_and_the_old_inventory_stays(void **state)
{
	FIXTURE(state);
	pkg_cleanup_store_package_list struct store_package_list list = { 0 };
	int64_t id = make_env(store, "data", err);

	assert_ok(store_generation_insert(store, id, 1, 5, err));
	add_package(&list, "good", hash_a);
	assert_ok(store_packages_set(store, id, 1, &list, err));
	add_package(&list, "evil", "AAAA");
	assert_refused(store_packages_set(store, id, 1, &list, err), PKG_E_DATABASE);
	assert_says("'evil'");
	assert_says("package_sha256");
	free(list.items[1].sha256);
	list.items[1].sha256 = pkg_xstrdup(hash_b);
	free(list.items[1].source);
	list.items[1].source = pkg_xstrdup("egg");
	assert_refused(store_packages_set(store, id, 1, &list, err), PKG_E_DATABASE);
	assert_says("package_source");
	assert_refused(store_packages_set(store, id, 7, &list, err), PKG_E_NOT_FOUND);
	assert_int_equal(number(store, "SELECT count(*) FROM package"), 1);
}

static void
a_prune_keeps_the_files_of_generations_on_disk_only(void **state)
{
	FIXTURE(state);
	pkg_cleanup_store_package_list struct store_package_list one = { 0 };
	pkg_cleanup_store_package_list struct store_package_list two = { 0 };
	pkg_cleanup(pkg_argv_free) struct pkg_argv *keep = pkg_argv_new();
	pkg_cleanup(pkg_argv_free) struct pkg_argv *later = pkg_argv_new();
	int64_t id = make_env(store, "data", err);

	add_package(&one, "a", hash_a);
	add_package(&one, "inherited", NULL);
	add_package(&two, "a", hash_a);
	add_package(&two, "b", hash_b);
	assert_ok(store_generation_insert(store, id, 1, 0, err));
	assert_ok(store_generation_insert(store, id, 2, 0, err));
	assert_ok(store_env_set_current(store, id, 1, 0, NULL, err));
	assert_ok(store_packages_set(store, id, 1, &one, err));
	assert_ok(store_packages_set(store, id, 2, &two, err));
	assert_ok(store_packages_sha256(store, keep, err));
	assert_int_equal(keep->count, 2);
	assert_string_equal(keep->items[0], hash_a);
	assert_string_equal(keep->items[1], hash_b);
	assert_ok(store_generation_retire(store, id, 2, err));
	assert_ok(store_packages_sha256(store, later, err));
	assert_int_equal(later->count, 1);
	assert_string_equal(later->items[0], hash_a);
}

static void
deleting_takes_generations_and_packages_but_not_history(void **state)
{
	FIXTURE(state);
	pkg_cleanup_store_package_list struct store_package_list list = { 0 };
	pkg_cleanup_store_history_list struct store_history_list past = { 0 };
	int64_t id = make_env(store, "data", err);
	int64_t other = make_env(store, "other", err);
	struct store_history entry = { .env = id,
		.action = (char *)"create",
		.asked = (char *)"{}",
		.result = (char *)"done" };

	add_package(&list, "a", hash_a);
	assert_ok(store_generation_insert(store, id, 1, 0, err));
	assert_ok(store_packages_set(store, id, 1, &list, err));
	assert_ok(store_generation_insert(store, other, 1, 0, err));
	assert_ok(store_packages_set(store, other, 1, &list, err));
	assert_ok(store_history_add(store, &entry, err));
	assert_ok(store_env_delete(store, id, err));
	assert_int_equal(number(store, "SELECT count(*) FROM generation"), 1);
	assert_int_equal(number(store, "SELECT count(*) FROM package"), 1);
	assert_ok(store_history_list(store, id, 0, 0, &past, err));
	assert_int_equal(past.count, 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_STORE(an_environment_comes_back_as_it_went_in),
		WITH_STORE(what_is_not_there_is_not_found_and_out_is_left_alone),
		WITH_STORE(names_that_differ_only_by_case_are_refused),
		WITH_STORE(an_id_is_never_used_twice),
		WITH_STORE(an_environment_without_a_reserved_id_is_refused),
		WITH_STORE(a_record_with_a_bad_or_missing_field_never_gets_in),
		WITH_STORE(lists_are_filtered_and_in_order),
		WITH_STORE(moving_the_pointer_shows_in_environment_and_generations),
		WITH_STORE(the_current_generation_cannot_be_retired),
		WITH_STORE(an_inventory_comes_back_sorted_and_whole),
		WITH_STORE(an_empty_list_finds_nothing_and_can_be_stored),
		WITH_STORE(a_bad_package_is_named_and_the_old_inventory_stays),
		WITH_STORE(a_prune_keeps_the_files_of_generations_on_disk_only),
		WITH_STORE(deleting_takes_generations_and_packages_but_not_history),
	};

	return cmocka_run_group_tests_name("store environments", tests, NULL, NULL);
}
