#include "unit.h"

#include "core/file.h"
#include "core/sha256.h"
#include "core/tree.h"
#include "fetch/cas.h"
#include "fetch_zip.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define HELLO "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
#define OTHER "486ea46224d1bb4fb680f34f7c9ad96a8f24ec88be73ea8e5a6c65260e9cb8a7"

struct place {
	char path[64];
	struct fetch_cas *cas;
};

static int
set_up(void **state)
{
	struct place *place = pkg_xcalloc(1, sizeof(*place));

	strcpy(place->path, "/tmp/cas-XXXXXX");
	*state = place;
	if (!mkdtemp(place->path))
		return -1;
	place->cas = fetch_cas_open(place->path, NULL);
	return place->cas ? 0 : -1;
}

static int
tear_down(void **state)
{
	struct place *place = *state;

	fetch_cas_free(place->cas);
	(void)pkg_tree_remove(place->path, NULL);
	free(place);
	return 0;
}

static int
put_text_in(struct place *place, const char *sha256, const char *text, long long len, char *out,
	struct pkg_error *err)
{
	pkg_autofd int fd = bytes_fd(text, strlen(text));

	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fetch_cas_put_fd(place->cas, sha256, fd, len, out, err);
}

static bool
partial_is_empty(const struct place *place)
{
	pkg_autofree char *path = pkg_xasprintf("%s/partial", place->path);

	return rmdir(path) == 0;
}

static void
what_is_put_in_comes_out(void **state)
{
	struct place *place = *state;
	pkg_autofree char *path = fetch_cas_path(place->cas, HELLO);
	char sha256[PKG_SHA256_HEX];
	char text[16] = { 0 };
	long long size = 0;
	pkg_autofd int fd = -1;
	struct stat st;

	assert_false(fetch_cas_has(place->cas, HELLO));
	assert_int_equal(put_text_in(place, NULL, "hello", -1, sha256, NULL), 0);
	assert_string_equal(sha256, HELLO);
	assert_true(fetch_cas_has(place->cas, HELLO));
	fd = fetch_cas_get(place->cas, HELLO, &size, NULL);
	assert_int_equal(size, 5);
	assert_int_equal(read(fd, text, sizeof(text)), 5);
	assert_string_equal(text, "hello");
	assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode, S_IFREG | 0444);
	/* Once more is fine. */
	assert_int_equal(put_text_in(place, HELLO, "hello", -1, NULL, NULL), 0);
	assert_true(partial_is_empty(place));
}

static void
wrong_bytes_do_not_come_in(void **state)
{
	struct place *place = *state;
	pkg_cleanup_error struct pkg_error err = { 0 };

	assert_int_equal(put_text_in(place, HELLO, "hullo", -1, NULL, &err), -1);
	assert_int_equal(err.kind, PKG_E_HASH);
	assert_int_equal(put_text_in(place, HELLO, "hello", 6, NULL, &err), -1);
	assert_int_equal(err.kind, PKG_E_HASH);
	assert_false(fetch_cas_has(place->cas, HELLO));
	assert_int_equal(put_text_in(place, HELLO, "hello world", 5, NULL, &err), 0);
	assert_true(partial_is_empty(place));
}

static void
names_that_are_no_hash_are_refused(void **state)
{
	static const char *const names[] = { "", "../../etc/passwd", "2CF24DBA",
		"2CF24DBA5FB0A30E26E83B2AC5B9E29E1B161E5C1FA7425E73043362938B9824" };
	struct place *place = *state;

	for (size_t i = 0; i < PKG_ARRAY_LEN(names); i++) {
		pkg_cleanup_error struct pkg_error err = { 0 };

		assert_int_equal(fetch_cas_get(place->cas, names[i], NULL, &err), -1);
		assert_int_equal(err.kind, PKG_E_INVALID);
		assert_false(fetch_cas_has(place->cas, names[i]));
		assert_int_equal(put_text_in(place, names[i], "x", -1, NULL, &err), -1);
		assert_int_equal(err.kind, PKG_E_INVALID);
	}
}

static void
damaged_files_are_gone_afterwards(void **state)
{
	struct place *place = *state;
	pkg_autofree char *path = fetch_cas_path(place->cas, HELLO);

	for (int i = 0; i < 4; i++) {
		pkg_cleanup_error struct pkg_error err = { 0 };
		struct stat st;

		assert_int_equal(put_text_in(place, HELLO, "hello", -1, NULL, NULL), 0);
		assert_int_equal(unlink(path), 0);
		if (i == 0)
			assert_int_equal(pkg_file_write(path, "hellO", 5, 0444, false, NULL), 0);
		else if (i == 1)
			assert_int_equal(pkg_file_write(path, "hell", 4, 0444, false, NULL), 0);
		else if (i == 2)
			assert_int_equal(symlink("/etc/passwd", path), 0);
		else
			assert_int_equal(mkfifo(path, 0600), 0);
		assert_int_equal(fetch_cas_get(place->cas, HELLO, NULL, &err), -1);
		assert_int_equal(err.kind, PKG_E_NOT_FOUND);
		assert_int_equal(lstat(path, &st), -1);
	}
	assert_int_equal(access("/etc/passwd", R_OK), 0);
}

static void
adopting_moves_the_right_file_and_removes_the_wrong_one(void **state)
{
	struct place *place = *state;
	pkg_autofree char *partial = fetch_cas_partial(place->cas, HELLO);
	pkg_cleanup_error struct pkg_error err = { 0 };

	assert_int_equal(pkg_file_write(partial, "hello", 5, 0600, false, NULL), 0);
	assert_int_equal(fetch_cas_adopt(place->cas, OTHER, partial, &err), -1);
	assert_int_equal(err.kind, PKG_E_HASH);
	assert_non_null(strstr(err.message, "expected " OTHER ", got " HELLO));
	assert_int_equal(access(partial, F_OK), -1);
	assert_int_equal(pkg_file_write(partial, "hello", 5, 0600, false, NULL), 0);
	assert_int_equal(fetch_cas_adopt(place->cas, HELLO, partial, &err), 0);
	assert_int_equal(access(partial, F_OK), -1);
	assert_true(fetch_cas_has(place->cas, HELLO));
}

static void
a_batch_is_complete_at_its_end(void **state)
{
	struct place *place = *state;

	fetch_cas_batch_begin(place->cas);
	assert_int_equal(fetch_cas_batch_end(place->cas, NULL), 0);
	fetch_cas_batch_begin(place->cas);
	fetch_cas_batch_begin(place->cas);
	assert_int_equal(put_text_in(place, HELLO, "hello", -1, NULL, NULL), 0);
	assert_int_equal(fetch_cas_batch_end(place->cas, NULL), 0);
	assert_int_equal(fetch_cas_batch_end(place->cas, NULL), 0);
	assert_true(fetch_cas_has(place->cas, HELLO));
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	static const struct CMUnitTest tests[] = {
		TEST(what_is_put_in_comes_out),
		TEST(wrong_bytes_do_not_come_in),
		TEST(names_that_are_no_hash_are_refused),
		TEST(damaged_files_are_gone_afterwards),
		TEST(adopting_moves_the_right_file_and_removes_the_wrong_one),
		TEST(a_batch_is_complete_at_its_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
