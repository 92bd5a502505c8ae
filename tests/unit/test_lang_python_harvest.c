#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "core/file.h"
#include "core/path.h"
#include "core/sha256.h"
#include "core/tree.h"
#include "lang/python_harvest.h"

/* As pip names the entry: SHA-224 of the URL. */
#define URL "http://127.0.0.1:8391/pypi/packages/six/six-1.17.0-py3-none-any.whl"
#define ENTRY "3/d/7/1/2/3d71213784bb074a2eeb769edad0a620d055e5d51ed122d79cc7a766"

static char *root;

static int
make_root(PKG_UNUSED void **state)
{
	char name[] = "/tmp/pkgd-harvest-XXXXXX";

	root = pkg_xstrdup(mkdtemp(name));
	return 0;
}

static int
drop_root(PKG_UNUSED void **state)
{
	(void)pkg_tree_remove(root, NULL);
	free(root);
	return 0;
}

static char *
put(const char *folder, const char *suffix, const void *data, size_t len)
{
	pkg_autofree char *relative = pkg_xasprintf("%s/%s%s", folder, ENTRY, suffix);
	char *path = pkg_path_join(root, relative);
	pkg_autofree char *dir = pkg_path_dir(path);

	assert_int_equal(pkg_dir_make(dir, 0755, NULL), 0);
	assert_int_equal(pkg_file_write(path, data, len, 0644, false, NULL), 0);
	return path;
}

static void
expect(const char *text)
{
	long long len = -1;
	pkg_autofd int fd = lang_python_cached_open(root, URL, &len);
	char got[256] = "";

	if (!text) {
		assert_int_equal(fd, -1);
		return;
	}
	assert_true(fd >= 0);
	assert_int_equal(len, strlen(text));
	assert_int_equal(read(fd, got, (size_t)len), len);
	assert_string_equal(got, text);
}

static void
a_body_of_its_own_is_found(PKG_UNUSED void **state)
{
	free(put("http-v2", ".body", "wheel", 5));
	expect("wheel");
}

/* {"response": {"body": bytes, ...}} with what may stand before it. */
static const struct {
	const char *head;
	size_t len;
} heads[] = {
#define HEAD(text)                                                                                 \
	{                                                                                          \
		text, sizeof(text) - 1                                                             \
	}
	HEAD("cc=4,\x82\xa8response\x87\xa4"
	     "body\xc4\x05"),
	HEAD("cc=4,\x82\xa8response\x87\xa4"
	     "body\xc5\x00\x05"),
	HEAD("cc=4,\x82\xa8response\x87\xa4"
	     "body\xc6\x00\x00\x00\x05"),
	HEAD("cc=4,"
	     "\x82\xa4vary\x81\xa1x\xc0\xa8response\x87\xa6status\xcc\xc8\xa7headers\xde\x00\x01"
	     "\xa1"
	     "a\x92\x01\xcb\x00\x00\x00\x00\x00\x00\x00\x00\xd9\x04"
	     "body\xc4\x05"),
};

static void
a_body_inside_msgpack_is_found(PKG_UNUSED void **state)
{
	for (size_t i = 0; i < PKG_ARRAY_LEN(heads); i++) {
		pkg_cleanup_buf struct pkg_buf entry = { 0 };

		pkg_buf_add_mem(&entry, heads[i].head, heads[i].len);
		pkg_buf_add(&entry, "wheel\xa7headers\x80");
		free(put("http", "", entry.data, entry.len));
		expect("wheel");
	}
}

static void
anything_cut_short_or_strange_holds_nothing(PKG_UNUSED void **state)
{
	static const char *const strange[] = {
		"", "cc=3,xx", "cc=4,", "cc=4,\xff\xff\xff\xff",
		"cc=4,\x81\xa8response\xa4"
		"body",
		"cc=4,\x81\xa8response\x81\xa4"
		"body\x81",
		"cc=4,\x81\xa8response\x81\xa4"
		"body\xc6\xff\xff\xff\xff",
		"cc=4,\xdf\xff\xff\xff\xff\xa1x\xdd\xff\xff\xff\xff",
		"cc=4,\x81\xa8response\x81\xa1x\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x01"
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(strange); i++) {
		free(put("http", "", strange[i], strlen(strange[i])));
		expect(NULL);
	}
	/* Every prefix of a good one: up to the last byte of the body. */
	for (size_t i = 0; i < PKG_ARRAY_LEN(heads); i++)
		for (size_t len = 0; len < heads[i].len + 5; len++) {
			pkg_cleanup_buf struct pkg_buf entry = { 0 };

			pkg_buf_add_mem(&entry, heads[i].head, heads[i].len);
			pkg_buf_add(&entry, "wheel");
			free(put("http", "", entry.data, len));
			expect(NULL);
		}
}

static void
links_and_pipes_of_a_sandbox_are_not_followed(PKG_UNUSED void **state)
{
	pkg_autofree char *path = put("http-v2", ".body", "wheel", 5);
	pkg_autofree char *dir = pkg_path_dir(path);
	pkg_autofree char *moved = pkg_path_join(root, "elsewhere");

	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	expect(NULL);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	expect(NULL);
	/* The control: the same file through a directory that is a link, and then without. */
	assert_int_equal(unlink(path), 0);
	assert_int_equal(pkg_file_write(path, "wheel", 5, 0644, false, NULL), 0);
	expect("wheel");
	assert_int_equal(rename(dir, moved), 0);
	assert_int_equal(symlink(moved, dir), 0);
	expect(NULL);
}

static void
a_packed_page_is_unpacked_up_to_a_limit(PKG_UNUSED void **state)
{
	unsigned char packed[256];
	char page[4000];
	z_stream stream = { 0 };
	pkg_cleanup_buf struct pkg_buf out = { 0 };
	pkg_cleanup_buf struct pkg_buf small = { 0 };

	memset(page, 'x', sizeof(page));
	assert_int_equal(
		deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
	stream.next_in = (unsigned char *)page;
	stream.avail_in = sizeof(page);
	stream.next_out = packed;
	stream.avail_out = sizeof(packed);
	assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
	free(put("http-v2", ".body", packed, sizeof(packed) - stream.avail_out));
	(void)deflateEnd(&stream);
	assert_int_equal(lang_python_cached_text(root, URL, 100000, &out), 0);
	assert_int_equal(out.len, sizeof(page));
	assert_int_equal(lang_python_cached_text(root, URL, 1000, &small), -1);
}

static void
only_bytes_of_the_right_hash_are_taken_over(PKG_UNUSED void **state)
{
	pkg_cleanup(fetch_cas_free) struct fetch_cas *cas = fetch_cas_open(root, NULL);
	struct lang_context lang = { .cas = cas };
	char sha256[PKG_SHA256_HEX];
	struct lang_dist dist = { .url = (char *)URL, .sha256 = sha256 };
	struct lang_resolution resolution = { .items = &dist, .count = 1 };
	pkg_autofree char *path = put("http-v2", ".body", "other", 5);

	pkg_sha256_hex("wheel", 5, sha256);
	assert_int_equal(lang_python_harvest(&lang, root, &resolution), 0);
	assert_false(fetch_cas_has(cas, sha256));
	assert_int_equal(pkg_file_write(path, "wheel", 5, 0644, false, NULL), 0);
	assert_int_equal(lang_python_harvest(&lang, root, &resolution), 1);
	assert_true(fetch_cas_has(cas, sha256));
	/* It is there now: nothing to take over. */
	assert_int_equal(lang_python_harvest(&lang, root, &resolution), 0);
}

static void
what_was_damaged_can_be_forgotten(PKG_UNUSED void **state)
{
	static const char *const kept[] = { "http", "http-v2" };

	free(put("http", "", heads[0].head, heads[0].len));
	free(put("http-v2", "", "head", 4));
	free(put("http-v2", ".body", "wheel", 5));
	lang_python_cache_forget(root, "http://127.0.0.1:8391/another");
	expect("wheel");
	lang_python_cache_forget(root, URL);
	expect(NULL);
	for (size_t i = 0; i < PKG_ARRAY_LEN(kept); i++) {
		pkg_autofree char *relative = pkg_xasprintf("%s/%s", kept[i], ENTRY);
		pkg_autofree char *path = pkg_path_join(root, relative);

		assert_false(pkg_file_exists(path));
	}
	lang_python_cache_forget("/nonexistent", URL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_body_of_its_own_is_found, make_root, drop_root),
		cmocka_unit_test_setup_teardown(
			a_body_inside_msgpack_is_found, make_root, drop_root),
		cmocka_unit_test_setup_teardown(
			anything_cut_short_or_strange_holds_nothing, make_root, drop_root),
		cmocka_unit_test_setup_teardown(
			links_and_pipes_of_a_sandbox_are_not_followed, make_root, drop_root),
		cmocka_unit_test_setup_teardown(
			a_packed_page_is_unpacked_up_to_a_limit, make_root, drop_root),
		cmocka_unit_test_setup_teardown(
			what_was_damaged_can_be_forgotten, make_root, drop_root),
		cmocka_unit_test_setup_teardown(
			only_bytes_of_the_right_hash_are_taken_over, make_root, drop_root),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
