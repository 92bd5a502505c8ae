#include "unit.h"

#include "core/sha256.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define ABC "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
#define MILLION_A "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"

static void
digests_are_those_of_fips_180(PKG_UNUSED void **state)
{
	char hex[PKG_SHA256_HEX];

	pkg_sha256_hex("", 0, hex);
	assert_string_equal(hex, EMPTY);
	pkg_sha256_hex("abc", 3, hex);
	assert_string_equal(hex, ABC);
}

static void
pieces_give_the_digest_of_the_whole_and_the_object_serves_again(PKG_UNUSED void **state)
{
	pkg_cleanup(pkg_sha256_free) struct pkg_sha256 *sha = pkg_sha256_new();
	char hex[PKG_SHA256_HEX];

	pkg_sha256_end_hex(sha, hex);
	assert_string_equal(hex, EMPTY);
	for (int i = 0; i < 3; i++) {
		pkg_sha256_add(sha, "a", 1);
		pkg_sha256_add(sha, NULL, 0);
		pkg_sha256_add(sha, "bc", 2);
		pkg_sha256_end_hex(sha, hex);
		assert_string_equal(hex, ABC);
	}
}

static void
files_are_hashed_from_the_descriptors_offset(PKG_UNUSED void **state)
{
	char path[] = "/tmp/test_core_sha256.XXXXXX";
	int fd = mkstemp(path);
	char *many = pkg_xmalloc(1000000);
	char hex[PKG_SHA256_HEX];

	memset(many, 'a', 1000000);
	assert_int_equal(write(fd, many, 1000000), 1000000);
	assert_int_equal(pkg_sha256_file(path, hex, NULL), 0);
	assert_string_equal(hex, MILLION_A);
	assert_int_equal(pkg_sha256_fd(fd, hex, NULL), 0);
	assert_string_equal(hex, EMPTY);
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(pwrite(fd, "xxabc", 5, 0), 5);
	assert_int_equal(lseek(fd, 2, SEEK_SET), 2);
	assert_int_equal(pkg_sha256_fd(fd, hex, NULL), 0);
	assert_string_equal(hex, ABC);
	free(many);
	close(fd);
	unlink(path);
}

static void
unreadable_files_are_errors_that_name_them(PKG_UNUSED void **state)
{
	pkg_cleanup_error struct pkg_error err = { 0 };
	char hex[PKG_SHA256_HEX];

	assert_int_equal(pkg_sha256_file("/no/such/file", hex, &err), -1);
	assert_non_null(strstr(err.message, "/no/such/file"));
	assert_int_equal(pkg_sha256_file("/tmp", hex, &err), -1);
	assert_non_null(strstr(err.message, "'/tmp'"));
	assert_int_equal(pkg_sha256_fd(-1, hex, &err), -1);
}

static void
only_64_lower_case_digits_are_a_digest(PKG_UNUSED void **state)
{
	assert_true(pkg_sha256_is_hex(ABC));
	assert_false(pkg_sha256_is_hex(ABC "0"));
	assert_false(pkg_sha256_is_hex(&ABC[1]));
	assert_false(pkg_sha256_is_hex(""));
	assert_false(pkg_sha256_is_hex(NULL));
	assert_false(pkg_sha256_is_hex(
		"BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD"));
	assert_false(pkg_sha256_is_hex(
		"ga7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"));
}

static void
record_files_get_url_safe_base64_without_padding(PKG_UNUSED void **state)
{
	pkg_cleanup(pkg_sha256_free) struct pkg_sha256 *sha = pkg_sha256_new();
	unsigned char digest[PKG_SHA256_BYTES];
	char text[44];

	pkg_sha256_end(sha, digest);
	pkg_sha256_base64url(digest, text);
	assert_string_equal(text, "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(digests_are_those_of_fips_180),
		cmocka_unit_test(pieces_give_the_digest_of_the_whole_and_the_object_serves_again),
		cmocka_unit_test(files_are_hashed_from_the_descriptors_offset),
		cmocka_unit_test(unreadable_files_are_errors_that_name_them),
		cmocka_unit_test(only_64_lower_case_digits_are_a_digest),
		cmocka_unit_test(record_files_get_url_safe_base64_without_padding),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
