#include "unit.h"

#include "lang/python_tags.h"
#include "lang/wheelname.h"
#include "lang_python.h"

static struct lang_python_tags *
tags_of(struct json_object *facts)
{
	struct lang_python_tags *tags = lang_python_tags_new(facts);

	json_object_put(facts);
	return tags;
}

static int
position(const struct lang_python_tags *tags, const char *tag)
{
	const struct pkg_argv *list = lang_python_tags_list(tags);

	for (size_t i = 0; i < list->count; i++)
		if (strcmp(list->items[i], tag) == 0)
			return (int)i;
	return -1;
}

/* The beginning, turning points and end of what packaging.tags gives for CPython 3.11 and glibc 2.36. */
static void
cpython_on_linux_has_the_tags_that_pip_gives_it(PKG_UNUSED void **state)
{
	static const struct {
		const char *tag;
		int at;
	} rows[] = {
		{ "cp311-cp311-manylinux_2_36_x86_64", 0 },
		{ "cp311-cp311-manylinux_2_17_x86_64", 19 },
		{ "cp311-cp311-manylinux2014_x86_64", 20 },
		{ "cp311-cp311-manylinux2010_x86_64", 26 },
		{ "cp311-cp311-manylinux_2_5_x86_64", 33 },
		{ "cp311-cp311-manylinux1_x86_64", 34 },
		{ "cp311-cp311-linux_x86_64", 35 },
		{ "cp311-abi3-manylinux_2_36_x86_64", 36 },
		{ "cp311-none-manylinux_2_36_x86_64", 72 },
		{ "cp310-abi3-manylinux_2_36_x86_64", 108 },
		{ "cp32-abi3-linux_x86_64", 431 },
		{ "py311-none-manylinux_2_36_x86_64", 432 },
		{ "py3-none-linux_x86_64", 503 },
		{ "py30-none-linux_x86_64", 899 },
		{ "cp311-none-any", 900 },
		{ "py311-none-any", 901 },
		{ "py3-none-any", 902 },
		{ "py310-none-any", 903 },
		{ "py30-none-any", 913 },
	};
	pkg_cleanup(lang_python_tags_free) struct lang_python_tags *tags = tags_of(facts_311());

	assert_int_equal(lang_python_tags_list(tags)->count, 914);
	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++)
		if (position(tags, rows[i].tag) != rows[i].at)
			fail_msg("%s is at %d", rows[i].tag, position(tags, rows[i].tag));
}

static void
others_are_not_among_them(PKG_UNUSED void **state)
{
	static const char *const rows[] = { "cp312-cp312-manylinux_2_17_x86_64",
		"cp312-abi3-manylinux_2_17_x86_64", "cp311-cp311t-manylinux_2_17_x86_64",
		"cp311-cp311-manylinux_2_37_x86_64", "cp311-cp311-manylinux_2_4_x86_64",
		"cp311-cp311-musllinux_1_1_x86_64", "cp311-cp311-manylinux_2_17_aarch64",
		"cp311-cp311-win_amd64", "cp31-abi3-linux_x86_64", "py2-none-any", "py312-none-any",
		"cp310-cp310-linux_x86_64" };
	pkg_cleanup(lang_python_tags_free) struct lang_python_tags *tags = tags_of(facts_311());

	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++)
		if (position(tags, rows[i]) >= 0)
			fail_msg("%s", rows[i]);
}

struct variant {
	const char *key[4], *value[4];
	const char *has[4], *lacks[4];
};

static const struct variant variants[] = {
	/* free-threaded: its own ABI, none that is stable */
	{ { "free_threaded", "version_info", "version" },
		{ "true", "[3,13,0,\"final\",0]", "\"3.13.0\"" },
		{ "cp313-cp313t-linux_x86_64", "cp313-none-any", "cp313-none-linux_x86_64" },
		{ "cp313-cp313-linux_x86_64", "cp313-abi3-linux_x86_64",
			"cp312-abi3-linux_x86_64" } },
	/* musl */
	{ { "libc" }, { "{\"name\":\"musl\",\"version\":\"1.2\"}" },
		{ "cp311-cp311-musllinux_1_2_x86_64", "cp311-cp311-musllinux_1_0_x86_64" },
		{ "cp311-cp311-musllinux_1_3_x86_64", "cp311-cp311-manylinux_2_17_x86_64" } },
	/* another machine has no tags from before there were wheels for it */
	{ { "platform" }, { "\"linux-aarch64\"" },
		{ "cp311-cp311-manylinux_2_17_aarch64", "cp311-cp311-manylinux2014_aarch64" },
		{ "cp311-cp311-manylinux_2_16_aarch64", "cp311-cp311-manylinux1_aarch64" } },
	/* 32 bits on 64 */
	{ { "pointer_bits" }, { "32" },
		{ "cp311-cp311-manylinux_2_5_i686", "cp311-cp311-linux_i686" },
		{ "cp311-cp311-linux_x86_64" } },
	{ { "platform", "pointer_bits" }, { "\"linux-aarch64\"", "32" },
		{ "cp311-cp311-linux_armv8l", "cp311-cp311-linux_armv7l" },
		{ "cp311-cp311-linux_aarch64" } },
	/* a debug build also loads what others load */
	{ { "debug" }, { "true" }, { "cp311-cp311d-linux_x86_64", "cp311-cp311-linux_x86_64" },
		{ NULL } },
	/* before 3.8 the ABI had an m */
	{ { "version_info", "abiflags" }, { "[3,7,16,\"final\",0]", "\"m\"" },
		{ "cp37-cp37m-linux_x86_64", "cp37-abi3-linux_x86_64" },
		{ "cp37-cp37-linux_x86_64" } },
	/* PyPy */
	{ { "markers.implementation_name", "ext_suffix", "version_info" },
		{ "\"pypy\"", "\".pypy310-pp73-x86_64-linux-gnu.so\"", "[3,10,14,\"final\",0]" },
		{ "pp310-pypy310_pp73-manylinux_2_17_x86_64", "pp310-none-linux_x86_64",
			"pp3-none-any", "py3-none-any" },
		{ "cp310-cp310-linux_x86_64", "pp310-abi3-linux_x86_64" } },
	/* one that nobody knows can use what any Python can */
	{ { "markers.implementation_name" }, { "\"other\"" }, { "py3-none-any", "py311-none-any" },
		{ "cp311-none-any", "cp311-cp311-linux_x86_64" } },
	/* an unknown C library, an absurd one */
	{ { "libc" }, { "{\"name\":\"\",\"version\":\"\"}" }, { "cp311-cp311-linux_x86_64" },
		{ "cp311-cp311-manylinux_2_17_x86_64" } },
	{ { "libc" }, { "{\"name\":\"glibc\",\"version\":\"2.999999999\"}" },
		{ "cp311-cp311-linux_x86_64" }, { "cp311-cp311-manylinux_2_17_x86_64" } },
	{ { "platform" }, { "\"win-amd64\"" }, { "cp311-cp311-win_amd64" },
		{ "cp311-cp311-linux_x86_64" } },
};

static void
other_interpreters_have_their_own(PKG_UNUSED void **state)
{
	for (size_t i = 0; i < PKG_ARRAY_LEN(variants); i++) {
		const struct variant *row = &variants[i];
		struct json_object *facts = facts_311();
		pkg_cleanup(lang_python_tags_free) struct lang_python_tags *tags = NULL;

		for (size_t k = 0; k < 4 && row->key[k]; k++)
			facts_set(facts, row->key[k], row->value[k]);
		tags = tags_of(facts);
		for (size_t k = 0; k < 4 && row->has[k]; k++)
			if (position(tags, row->has[k]) < 0)
				fail_msg("%zu: no %s", i, row->has[k]);
		for (size_t k = 0; k < 4 && row->lacks[k]; k++)
			if (position(tags, row->lacks[k]) >= 0)
				fail_msg("%zu: %s", i, row->lacks[k]);
	}
}

/* Read in place or from the parsed name: the same. */
static void
the_best_tag_of_a_file_name_counts(PKG_UNUSED void **state)
{
	static const struct {
		const char *tags;
		const char *best; /* NULL: unusable */
	} rows[] = {
		{ "py3-none-any", "py3-none-any" },
		{ "py2.py3-none-any", "py3-none-any" },
		{ "cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64",
			"cp311-cp311-manylinux_2_17_x86_64" },
		{ "cp38.cp311-abi3-linux_x86_64", "cp311-abi3-linux_x86_64" },
		{ "CP311-CP311-Linux_x86_64", "cp311-cp311-linux_x86_64" },
		{ "cp27-cp27mu-linux_x86_64", NULL },
		{ "cp312-cp312-win_amd64", NULL },
	};
	pkg_cleanup(lang_python_tags_free) struct lang_python_tags *tags = tags_of(facts_311());

	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		pkg_autofree char *file = pkg_xasprintf("x-1-%s.whl", rows[i].tags);
		lang_cleanup_wheel_name struct lang_wheel_name name = { 0 };
		int best = rows[i].best ? position(tags, rows[i].best) : -1;

		assert_int_equal(lang_wheel_name_parse(file, &name, NULL), 0);
		assert_int_equal(lang_python_tags_rank(tags, name.tags), best);
		assert_int_equal(
			lang_python_tags_rank_text(tags, rows[i].tags, strlen(rows[i].tags)), best);
	}
	assert_int_equal(lang_python_tags_rank_text(tags, "py3-none", 8), -1);
	assert_int_equal(lang_python_tags_rank_text(tags, "", 0), -1);
	assert_int_equal(lang_python_tags_rank_text(tags, "--", 2), -1);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(cpython_on_linux_has_the_tags_that_pip_gives_it),
		cmocka_unit_test(others_are_not_among_them),
		cmocka_unit_test(other_interpreters_have_their_own),
		cmocka_unit_test(the_best_tag_of_a_file_name_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
