#include "unit.h"
#include "fake_lang.h"
#include "install/plan.h"
#include <string.h>

static void
add_old(struct store_package_list *list, const char *name, const char *version, bool owned)
{
	struct store_package *package = store_package_list_add(list);

	package->name = pkg_xstrdup(name);
	package->key = pkg_xstrdup(name);
	package->version = pkg_xstrdup(version);
	package->owned = owned;
	store_package_list_sort(list);
}

static struct lang_dist *
add_new(struct lang_resolution *resolution, const char *name, const char *version)
{
	struct lang_dist *dist = lang_resolution_add(resolution);

	dist->name = pkg_xstrdup(name);
	dist->key = pkg_xstrdup(name);
	dist->version = pkg_xstrdup(version);
	dist->file = pkg_xasprintf("%s-%s.whl", name, version);
	dist->sha256 = pkg_xstrdup("aa");
	dist->index = pkg_xstrdup("https://index.invalid/simple/");
	dist->source = pkg_xstrdup("wheel");
	dist->size = 10;
	dist->inspected = true;
	return dist;
}

struct world {
	struct store_package_list before;
	struct lang_resolution after;
	struct pkg_argv *removed;
	struct pkg_argv *requested;
	struct lang_env env;
	struct install_plan_input input;
};

static int
world_made(void **state)
{
	struct world *w = pkg_xcalloc(1, sizeof(*w));

	w->removed = pkg_argv_new();
	w->requested = pkg_argv_new();
	pkg_argv_add(w->requested, "app");
	w->env = (struct lang_env){ .prefix = "/p", .tree = "/nonexistent-tree", .hermetic = true };
	w->input = (struct install_plan_input){ .action = "install",
		.project = "default",
		.language = "python",
		.environment = "python",
		.requested = w->requested,
		.set = { &w->before, &w->after, w->removed, &w->env, lang_find("python", NULL) } };
	*state = w;
	return 0;
}

static int
world_gone(void **state)
{
	struct world *w = *state;

	store_package_list_clear(&w->before);
	lang_resolution_clear(&w->after);
	pkg_argv_free(w->removed);
	pkg_argv_free(w->requested);
	free(w);
	return 0;
}

#define WITH_WORLD(test) cmocka_unit_test_setup_teardown(test, world_made, world_gone)

static void
changes_have_the_word_that_their_versions_say(void **state)
{
	static const struct {
		const char *name, *from, *to, *word;
	} rows[] = {
		{ "a", NULL, "1.0", "added" },
		{ "b", "1.0", "2.0", "upgraded" },
		{ "c", "2.0", "1.0", "downgraded" },
		{ "d", "1.0", "1.0", "reinstalled" },
		{ "e", "1.0", NULL, "removed" },
	};
	struct world *w = *state;
	pkg_cleanup_install_plan struct install_plan plan = { 0 };
	struct json_object *changes;

	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		if (rows[i].from != NULL)
			add_old(&w->before, rows[i].name, rows[i].from, true);
		if (rows[i].to != NULL)
			add_new(&w->after, rows[i].name, rows[i].to);
		else
			pkg_argv_add(w->removed, rows[i].name);
	}
	assert_int_equal(install_plan_make(&w->input, &plan, NULL), 0);
	changes = install_plan_changes(&plan);
	assert_int_equal(json_object_array_length(changes), PKG_ARRAY_LEN(rows));
	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		/* Removals come first. */
		struct json_object *change = json_object_array_get_idx(changes, (i + 1) % 5);

		assert_string_equal(pkg_json_str(change, "name"), rows[i].name);
		assert_string_equal(pkg_json_str(change, "change"), rows[i].word);
		assert_string_equal(pkg_json_str_or(change, "from", "-"),
			rows[i].from != NULL ? rows[i].from : "-");
		assert_string_equal(
			pkg_json_str_or(change, "to", "-"), rows[i].to != NULL ? rows[i].to : "-");
	}
	assert_int_equal(pkg_json_int(plan.json, "download_bytes", 0), 40);
	assert_false(install_plan_is_additive(&plan));
	assert_false(install_plan_is_empty(&plan));
}

static void
the_same_inputs_give_the_same_hash_and_text(void **state)
{
	struct world *w = *state;
	pkg_cleanup_install_plan struct install_plan one = { 0 };
	pkg_cleanup_install_plan struct install_plan two = { 0 };
	pkg_cleanup_install_plan struct install_plan read = { 0 };
	pkg_autofree char *text = NULL;
	pkg_autofree char *again = NULL;

	add_old(&w->before, "base", "1.0", false);
	add_new(&w->after, "app", "2.0");
	assert_int_equal(install_plan_make(&w->input, &one, NULL), 0);
	assert_int_equal(install_plan_make(&w->input, &two, NULL), 0);
	assert_string_equal(one.hash, two.hash);
	text = pkg_json_canonical(one.json);
	assert_int_equal(install_plan_parse(text, &read, NULL), 0);
	assert_string_equal(one.hash, read.hash);
	again = pkg_json_canonical(read.json);
	assert_string_equal(text, again);
	assert_int_equal(strlen(one.hash), 64);
}

/* Keys in byte order, at every level: what is hashed does not depend on the order of our code. */
static void
the_canonical_text_has_its_keys_in_order(void **state)
{
	static const char head[] =
		"{\"action\":\"install\",\"changes\":[{\"change\":\"added\",\"file\":";
	struct world *w = *state;
	pkg_cleanup_install_plan struct install_plan plan = { 0 };
	pkg_autofree char *text = NULL;

	add_new(&w->after, "app", "2.0");
	assert_int_equal(install_plan_make(&w->input, &plan, NULL), 0);
	text = pkg_json_canonical(plan.json);
	assert_memory_equal(text, head, sizeof(head) - 1);
	assert_null(strstr(text, ": "));
	assert_non_null(strstr(text, "https://index.invalid/simple/"));
}

/* A package that the change does not touch came or went: the plan and its approval stand. */
static void
where_the_environment_stands_is_not_part_of_the_hash(void **state)
{
	struct world *w = *state;
	pkg_cleanup_install_plan struct install_plan one = { 0 };
	pkg_cleanup_install_plan struct install_plan two = { 0 };

	add_new(&w->after, "app", "2.0");
	assert_int_equal(install_plan_make(&w->input, &one, NULL), 0);
	add_old(&w->before, "unrelated", "1.0", true);
	assert_int_equal(install_plan_make(&w->input, &two, NULL), 0);
	assert_string_equal(one.hash, two.hash);
}

static void
whatever_would_be_installed_is_part_of_the_hash(void **state)
{
	struct world *w = *state;
	struct lang_dist *dist = add_new(&w->after, "app", "2.0");
	char **const texts[] = { &dist->name, &dist->version, &dist->file, &dist->index,
		&dist->sha256, &dist->uploaded };
	bool *const flags[] = { &dist->is_sdist, &dist->yanked };
	pkg_cleanup_install_plan struct install_plan base = { 0 };

	assert_int_equal(install_plan_make(&w->input, &base, NULL), 0);
	for (size_t i = 0; i < PKG_ARRAY_LEN(texts) + PKG_ARRAY_LEN(flags); i++) {
		pkg_cleanup_install_plan struct install_plan other = { 0 };
		bool is_text = i < PKG_ARRAY_LEN(texts);
		char *kept = is_text ? *texts[i] : NULL;
		bool *flag = is_text ? NULL : flags[i - PKG_ARRAY_LEN(texts)];

		if (is_text)
			*texts[i] = (char *)"other";
		else
			*flag = !*flag;
		assert_int_equal(install_plan_make(&w->input, &other, NULL), 0);
		if (strcmp(base.hash, other.hash) == 0)
			fail_msg("field %zu is not hashed", i);
		if (is_text)
			*texts[i] = kept;
		else
			*flag = !*flag;
	}
}

static void
a_plan_that_removes_what_is_not_there_is_our_bug(void **state)
{
	struct world *w = *state;
	struct install_plan plan = { 0 };
	pkg_cleanup_error struct pkg_error err = { 0 };

	pkg_argv_add(w->removed, "ghost");
	assert_int_equal(install_plan_make(&w->input, &plan, &err), -1);
	assert_int_equal(err.kind, PKG_E_INTERNAL);
	assert_null(plan.json);
}

static void
an_empty_plan_is_empty_unless_it_switches(void **state)
{
	struct world *w = *state;
	pkg_cleanup_install_plan struct install_plan plan = { 0 };
	pkg_cleanup_install_plan struct install_plan back = { 0 };

	assert_int_equal(install_plan_make(&w->input, &plan, NULL), 0);
	assert_true(install_plan_is_empty(&plan));
	assert_true(install_plan_is_additive(&plan));
	w->input.switch_to = 3;
	assert_int_equal(install_plan_diff(&w->input, &w->before, &back, NULL), 0);
	assert_false(install_plan_is_empty(&back));
	/* The same packages, another tree: kernels of the old one are due a restart. */
	assert_false(install_plan_is_additive(&back));
}

static void
two_inventories_are_compared_by_version_bytes_and_place(void **state)
{
	struct world *w = *state;
	pkg_cleanup_store_package_list struct store_package_list after = { 0 };
	pkg_cleanup_install_plan struct install_plan plan = { 0 };
	pkg_autofree char *text = NULL;

	add_old(&w->before, "bytes", "1.0", true);
	add_old(&w->before, "down", "2.0", true);
	add_old(&w->before, "gone", "1.0", true);
	add_old(&w->before, "place", "1.0", true);
	add_old(&w->before, "same", "1.0", true);
	add_old(&after, "bytes", "1.0", true);
	add_old(&after, "down", "1.0", true);
	add_old(&after, "new", "1.0", true);
	add_old(&after, "place", "1.0", false);
	add_old(&after, "same", "1.0", true);
	w->before.items[0].sha256 = pkg_xstrdup("aa");
	after.items[0].sha256 = pkg_xstrdup("bb");
	w->input.switch_to = 1;
	assert_int_equal(install_plan_diff(&w->input, &after, &plan, NULL), 0);
	for (size_t i = 0; i < json_object_array_length(install_plan_changes(&plan)); i++) {
		struct json_object *change =
			json_object_array_get_idx(install_plan_changes(&plan), i);
		char *line = pkg_xasprintf("%s%s %s\n", text != NULL ? text : "",
			pkg_json_str(change, "name"), pkg_json_str(change, "change"));

		free(text);
		text = line;
	}
	assert_string_equal(text,
		"bytes reinstalled\ndown downgraded\ngone removed\nnew added\nplace reinstalled\n");
}

static void
text_that_is_no_plan_is_refused(PKG_UNUSED void **state)
{
	static const char *const texts[] = { "", "[]", "{}", "{\"changes\":[]}", "{\"changes\":{}}",
		"{\"changes\":[],\"restart\":null}", "null" };

	for (size_t i = 0; i < PKG_ARRAY_LEN(texts); i++) {
		struct install_plan plan = { 0 };

		assert_int_equal(install_plan_parse(texts[i], &plan, NULL), -1);
		assert_null(plan.json);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_WORLD(changes_have_the_word_that_their_versions_say),
		WITH_WORLD(the_same_inputs_give_the_same_hash_and_text),
		WITH_WORLD(the_canonical_text_has_its_keys_in_order),
		WITH_WORLD(where_the_environment_stands_is_not_part_of_the_hash),
		WITH_WORLD(whatever_would_be_installed_is_part_of_the_hash),
		WITH_WORLD(a_plan_that_removes_what_is_not_there_is_our_bug),
		WITH_WORLD(an_empty_plan_is_empty_unless_it_switches),
		WITH_WORLD(two_inventories_are_compared_by_version_bytes_and_place),
		cmocka_unit_test(text_that_is_no_plan_is_refused),
	};

	return cmocka_run_group_tests_name("install_plan", tests, NULL, NULL);
}
