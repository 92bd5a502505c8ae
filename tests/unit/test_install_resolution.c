#include "test_install_common.h"
#include "install/resolution.h"

static char **
text_at(struct lang_dist *dist, size_t i)
{
	char **const texts[] = { &dist->name, &dist->key, &dist->version, &dist->requirement,
		&dist->file, &dist->url, &dist->index, &dist->sha256, &dist->source,
		&dist->yanked_reason, &dist->uploaded, &dist->requires_python,
		&dist->wheel_sha256 };

	return i < PKG_ARRAY_LEN(texts) ? texts[i] : NULL;
}

static void
everything_comes_back_as_it_was_saved(void **state)
{
	struct fixture *f = *state;
	pkg_autofree char *path = pkg_path_join(f->root, "resolution.json");
	pkg_cleanup_lang_resolution struct lang_resolution saved = { 0 };
	pkg_cleanup_lang_resolution struct lang_resolution read = { 0 };
	pkg_cleanup(pkg_argv_free) struct pkg_argv *removed = pkg_argv_new();
	pkg_cleanup(pkg_argv_free) struct pkg_argv *gone = pkg_argv_new();
	struct lang_dist *full = lang_resolution_add(&saved);
	struct lang_dist *bare;

	for (size_t i = 0; text_at(full, i) != NULL; i++)
		*text_at(full, i) = pkg_xasprintf("text %zu \"\xc3\xa9\n", i);
	full->size = 1234567890123;
	full->is_sdist = full->yanked = full->inspected = true;
	full->file_count = 2;
	full->files = pkg_xcalloc(2, sizeof(*full->files));
	full->files[0] = (struct lang_file){ pkg_xstrdup("a/b"), 7 };
	full->files[1] = (struct lang_file){ pkg_xstrdup("c"), 0 };
	bare = lang_resolution_add(&saved);
	bare->name = pkg_xstrdup("bare");
	bare->key = pkg_xstrdup("bare");
	bare->version = pkg_xstrdup("1");
	saved.engine = pkg_xstrdup("pip 23.0.1");
	pkg_argv_add(removed, "old", "older");

	assert_ok(install_resolution_save(&saved, removed, path, &f->err));
	assert_ok(install_resolution_load(path, &read, gone, &f->err));
	assert_int_equal(read.count, 2);
	assert_string_equal(read.engine, "pip 23.0.1");
	assert_int_equal(gone->count, 2);
	full = &saved.items[0];
	for (size_t i = 0; text_at(full, i) != NULL; i++)
		assert_string_equal(*text_at(full, i), *text_at(&read.items[0], i));
	assert_true(read.items[0].size == 1234567890123);
	assert_true(read.items[0].is_sdist && read.items[0].yanked && read.items[0].inspected);
	assert_int_equal(read.items[0].file_count, 2);
	assert_string_equal(read.items[0].files[0].path, "a/b");
	assert_int_equal(read.items[0].files[0].size, 7);
	assert_null(read.items[1].requirement);
	assert_int_equal(read.items[1].size, -1);
	assert_false(read.items[1].inspected);
}

static void
a_file_that_is_not_there_or_not_ours_is_refused(void **state)
{
	static const char *const texts[] = { "", "{", "{\"dists\":[{}]}", "{\"dists\":[7]}",
		"{\"dists\":[{\"name\":\"a\",\"key\":\"a\"}]}", "{\"dists\":[],\"removed\":[1]}" };
	struct fixture *f = *state;
	pkg_autofree char *path = pkg_path_join(f->root, "resolution.json");
	pkg_cleanup(pkg_argv_free) struct pkg_argv *removed = pkg_argv_new();
	pkg_cleanup_lang_resolution struct lang_resolution none = { 0 };

	assert_int_equal(install_resolution_load(path, &none, removed, &f->err), -1);
	assert_kind(PKG_E_NOT_FOUND);
	for (size_t i = 0; i < PKG_ARRAY_LEN(texts); i++) {
		pkg_cleanup_lang_resolution struct lang_resolution read = { 0 };

		assert_ok(pkg_file_write(path, texts[i], strlen(texts[i]), 0600, false, &f->err));
		assert_int_equal(install_resolution_load(path, &read, removed, &f->err), -1);
	}
}

/* Nothing in the file is trusted: what is odd must not crash us. */
static void
odd_files_lists_are_survived(void **state)
{
	static const char *const lists[] = { "[]", "[\"a\"]", "[\"a\",1,\"b\"]", "{}", "null", "7",
		"[\"a\",\"big\"]" };
	struct fixture *f = *state;
	pkg_autofree char *path = pkg_path_join(f->root, "resolution.json");
	pkg_cleanup(pkg_argv_free) struct pkg_argv *removed = pkg_argv_new();

	for (size_t i = 0; i < PKG_ARRAY_LEN(lists); i++) {
		pkg_cleanup_lang_resolution struct lang_resolution read = { 0 };
		pkg_autofree char *text = pkg_xasprintf("{\"dists\":[{\"name\":\"a\",\"key\":\"a\","
							"\"version\":\"1\",\"files\":%s}]}",
			lists[i]);

		assert_ok(pkg_file_write(path, text, strlen(text), 0600, false, &f->err));
		assert_ok(install_resolution_load(path, &read, removed, &f->err));
		assert_int_equal(read.count, 1);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_HOME(everything_comes_back_as_it_was_saved),
		WITH_HOME(a_file_that_is_not_there_or_not_ours_is_refused),
		WITH_HOME(odd_files_lists_are_survived),
	};

	return cmocka_run_group_tests_name("install_resolution", tests, NULL, NULL);
}
