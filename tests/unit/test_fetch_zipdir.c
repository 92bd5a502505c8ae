#include "unit.h"

#include "fetch/zipdir.h"
#include "fetch_zip.h"

#include <archive.h>
#include <archive_entry.h>
#include <stdio.h>
#include <stdlib.h>

static const struct zip_file two[] = {
	{ .name = "a.txt", .data = "first" },
	{ .name = "b/c.txt", .data = "second, second, second", .deflate = true },
};

/* Lists and reads all members; NULL or the first error's kind. */
static int
read_all(int fd, struct pkg_error *err)
{
	pkg_cleanup(fetch_zip_free) struct fetch_zip *zip = fetch_zip_open_fd(fd, err);
	pkg_cleanup_buf struct pkg_buf out = { 0 };

	if (!zip)
		return -1;
	for (size_t i = 0; i < zip->count; i++) {
		if (fetch_zip_member_fd(fd, &zip->entries[i], 1 << 20, &out, err) < 0)
			return -1;
	}
	return 0;
}

static void
expect_member(int fd, const struct fetch_zip *zip, const char *name, const char *content)
{
	const struct fetch_zip_entry *entry = fetch_zip_find(zip, name);
	pkg_cleanup_error struct pkg_error err = { 0 };
	pkg_cleanup_buf struct pkg_buf out = { 0 };

	assert_non_null(entry);
	if (fetch_zip_member_fd(fd, entry, 1000, &out, &err) < 0)
		fail_msg("%s: %s", name, err.message);
	assert_string_equal(pkg_buf_str(&out), content);
}

static void
stored_and_deflated_members_read_back(PKG_UNUSED void **state)
{
	pkg_autofd int fd = zip_fd(two, 2, NULL);
	pkg_cleanup(fetch_zip_free) struct fetch_zip *zip = fetch_zip_open_fd(fd, NULL);

	assert_non_null(zip);
	assert_int_equal(zip->count, 2);
	assert_int_equal(zip->entries[1].method, 8);
	expect_member(fd, zip, "a.txt", "first");
	expect_member(fd, zip, "b/c.txt", "second, second, second");
	assert_null(fetch_zip_find(zip, "b"));
}

static void
every_legal_shape_reads_back(PKG_UNUSED void **state)
{
	for (int variant = 0; variant < 40; variant++) {
		static const int descriptors[] = { 0, 12, 16, 20, 24 };
		struct zip_file files[2] = { two[0], two[1] };
		struct zip_shape shape = { .zip64_end = variant / 20 };
		pkg_cleanup(fetch_zip_free) struct fetch_zip *zip = NULL;
		pkg_cleanup_error struct pkg_error err = { 0 };
		pkg_autofd int fd = -1;

		for (int i = 0; i < 2; i++) {
			files[i].descriptor = descriptors[variant % 5];
			files[i].zip64 = variant / 5 % 2;
		}
		if (variant / 10 % 2)
			shape.comment = "a comment";
		fd = zip_fd(files, 2, &shape);
		zip = fetch_zip_open_fd(fd, &err);
		if (!zip)
			fail_msg("variant %d: %s", variant, err.message);
		expect_member(fd, zip, "a.txt", "first");
		expect_member(fd, zip, "b/c.txt", "second, second, second");
	}
}

static void
an_archive_without_entries_is_fine(PKG_UNUSED void **state)
{
	pkg_autofd int fd = zip_fd(NULL, 0, NULL);
	pkg_cleanup(fetch_zip_free) struct fetch_zip *zip = fetch_zip_open_fd(fd, NULL);

	assert_non_null(zip);
	assert_int_equal(zip->count, 0);
}

static void
an_archive_that_libarchive_wrote_reads_back(PKG_UNUSED void **state)
{
	static const char *const options[] = { "compression=store", "compression=deflate", "zip64",
		"compression=store,zip64" };

	for (size_t i = 0; i < PKG_ARRAY_LEN(options); i++) {
		pkg_autofd int fd = memfd_create("libarchive", MFD_CLOEXEC);
		struct archive *writer = archive_write_new();
		struct archive_entry *entry = archive_entry_new();
		pkg_cleanup(fetch_zip_free) struct fetch_zip *zip = NULL;
		pkg_cleanup_error struct pkg_error err = { 0 };

		archive_write_set_format_zip(writer);
		archive_write_set_bytes_per_block(writer, 1);
		archive_write_set_bytes_in_last_block(writer, 1);
		assert_int_equal(archive_write_set_options(writer, options[i]), ARCHIVE_OK);
		assert_int_equal(archive_write_open_fd(writer, fd), ARCHIVE_OK);
		archive_entry_set_pathname(entry, "dir/file.txt");
		archive_entry_set_mode(entry, S_IFREG | 0755);
		/* Without a size it writes a data descriptor. */
		if (i % 2 == 0)
			archive_entry_set_size(entry, 7);
		assert_int_equal(archive_write_header(writer, entry), ARCHIVE_OK);
		assert_int_equal(archive_write_data(writer, "content", 7), 7);
		archive_entry_free(entry);
		assert_int_equal(archive_write_close(writer), ARCHIVE_OK);
		archive_write_free(writer);
		zip = fetch_zip_open_fd(fd, &err);
		if (!zip)
			fail_msg("%s: %s", options[i], err.message);
		assert_int_equal(zip->entries[0].mode, S_IFREG | 0755);
		expect_member(fd, zip, "dir/file.txt", "content");
	}
}

struct bad_row {
	const char *says; /* part of the message */
	struct zip_file file; /* NULL name: the plain one */
	struct zip_shape shape;
};

#define FILE_ROW(message, ...)                                                                     \
	{                                                                                          \
		.says = message, .file = {.name = "x", .data = "some content", __VA_ARGS__ }       \
	}
#define SHAPE_ROW(message, ...)                                                                    \
	{                                                                                          \
		.says = message, .shape = { __VA_ARGS__ }                                          \
	}

static const struct bad_row bad_rows[] = {
	SHAPE_ROW("bytes before the first entry", .before = "#!/bin/sh\n"),
	SHAPE_ROW("bytes between it", .before_directory = "hidden"),
	SHAPE_ROW("directory does not reach", .after_directory = "hidden"),
	SHAPE_ROW("no end record", .after = "x"),
	SHAPE_ROW("multi-disk", .disk = 1),
	SHAPE_ROW("bytes after the directory's last entry", .count_add = -1),
	SHAPE_ROW("more entries than the directory", .count_add = 5),
	FILE_ROW("bytes between it", .junk_after = "hidden entry"),
	FILE_ROW("encrypted", .flags = 1),
	FILE_ROW("encrypted", .flags = 0x40),
	FILE_ROW("encrypted", .flags = 0x2000),
	FILE_ROW("method 12", .central_method = 12),
	FILE_ROW("another name", .local_name = "y"),
	FILE_ROW("another name", .local_name = "longer"),
	FILE_ROW("contradicts", .local_flags_xor = 0x800),
	FILE_ROW("contradicts", .local_flags_xor = 8),
	FILE_ROW("contradicts", .local_method = 8),
	FILE_ROW("contradicts", .local_crc_xor = 1),
	FILE_ROW("contradicts", .local_size_add = 1),
	FILE_ROW("contradicts", .local_size_add = 1, .zip64 = true),
	FILE_ROW("CRC is wrong", .crc_xor = 1),
	FILE_ROW("CRC is wrong", .crc_xor = 1, .deflate = true),
	FILE_ROW("more bytes than the directory says", .size_add = -1, .deflate = true),
	FILE_ROW("fewer bytes than the directory says", .size_add = 1, .deflate = true),
	FILE_ROW("end before the directory says", .junk_in = "junk", .deflate = true),
	FILE_ROW("two different sizes", .junk_in = "junk"),
	FILE_ROW("descriptor contradicts", .descriptor = 16, .descriptor_xor = 1),
	FILE_ROW("descriptor contradicts", .descriptor = 12, .descriptor_xor = 1),
	FILE_ROW("no data descriptor", .descriptor = 16, .junk_after = "hidden"),
	FILE_ROW("no data descriptor", .flags = 8),
	FILE_ROW("another name", .other_name = "../y"),
	FILE_ROW("ZIP64 extra field is missing", .zip64 = true, .no_zip64_field = true),
	FILE_ROW("cut off", .cut_extra = true),
	FILE_ROW("multi-disk", .disk = 1),
	FILE_ROW("bytes before the first", .offset_add = 1),
};

static void
every_second_reading_is_refused(PKG_UNUSED void **state)
{
	for (size_t i = 0; i < PKG_ARRAY_LEN(bad_rows); i++) {
		const struct bad_row *row = &bad_rows[i];
		pkg_cleanup_error struct pkg_error err = { 0 };
		pkg_autofd int fd = -1;

		fd = row->file.name ? zip_fd(&row->file, 1, &row->shape)
				    : zip_fd(two, 2, &row->shape);
		if (read_all(fd, &err) == 0)
			fail_msg("row %zu (%s) was read", i, row->says);
		if (err.kind != PKG_E_ARCHIVE || !strstr(err.message, row->says))
			fail_msg("row %zu (%s): %s", i, row->says, err.message);
	}
}

static void
a_comment_that_could_be_the_end_record_is_refused(PKG_UNUSED void **state)
{
	/* Signature, 16 bytes, and a comment length of 257 that fits. */
	char comment[4 + 16 + 2 + 257 + 1] = "PK\5\6abcdefghijklmnop\1\1";
	pkg_cleanup_error struct pkg_error err = { 0 };
	pkg_autofd int fd = -1;
	pkg_autofd int good = -1;

	memset(comment + 22, 'x', 257);
	fd = zip_fd(two, 2, &(struct zip_shape){ .comment = comment });
	assert_int_equal(read_all(fd, &err), -1);
	assert_non_null(strstr(err.message, "2 end records"));
	comment[22 + 256] = '\0';
	good = zip_fd(two, 2, &(struct zip_shape){ .comment = comment });
	assert_int_equal(read_all(good, NULL), 0);
}

static void
entries_that_share_bytes_are_refused(PKG_UNUSED void **state)
{
	/* The second one claims to begin where the first does, in it, or where no entry can be. */
	static const long long offsets[] = { -(30 + 5 + 5), -20, 30, 100000 };

	for (size_t i = 0; i < PKG_ARRAY_LEN(offsets); i++) {
		struct zip_file files[] = { two[0], two[0] };
		pkg_cleanup_error struct pkg_error err = { 0 };
		pkg_autofd int fd = -1;

		files[1].name = "b.txt";
		files[1].offset_add = offsets[i];
		fd = zip_fd(files, 2, NULL);
		assert_int_equal(read_all(fd, &err), -1);
		assert_non_null(strstr(err.message, "overlaps"));
	}
}

static void
every_cut_of_a_file_is_refused(PKG_UNUSED void **state)
{
	pkg_cleanup_buf struct pkg_buf bytes = { 0 };

	zip_build(two, 2, &(struct zip_shape){ .zip64_end = true }, &bytes);
	for (size_t len = 0; len < bytes.len; len++) {
		pkg_cleanup_error struct pkg_error err = { 0 };
		pkg_autofd int fd = bytes_fd(bytes.data, len);

		assert_int_equal(read_all(fd, &err), -1);
		assert_int_equal(err.kind, PKG_E_ARCHIVE);
	}
}

/* Whatever one flipped bit does, the content that comes out is the right one or none. */
static void
no_flipped_bit_gives_other_content(PKG_UNUSED void **state)
{
	pkg_cleanup_buf struct pkg_buf bytes = { 0 };
	unsigned accepted = 0;

	zip_build(two, 2, NULL, &bytes);
	for (size_t bit = 0; bit < 8 * bytes.len; bit++) {
		pkg_cleanup(fetch_zip_free) struct fetch_zip *zip = NULL;
		pkg_autofd int fd = -1;

		bytes.data[bit / 8] ^= (char)(1 << bit % 8);
		fd = bytes_fd(bytes.data, bytes.len);
		bytes.data[bit / 8] ^= (char)(1 << bit % 8);
		if (read_all(fd, NULL) < 0)
			continue;
		/* Times, versions and attributes are not content. */
		accepted++;
		zip = fetch_zip_open_fd(fd, NULL);
		assert_int_equal(zip->count, 2);
		expect_member(fd, zip, zip->entries[0].name, "first");
		expect_member(fd, zip, zip->entries[1].name, "second, second, second");
	}
	assert_true(accepted > 0);
}

static void
claims_past_the_limits_are_too_large(PKG_UNUSED void **state)
{
	static const struct zip_shape shapes[] = {
		{ .zip64_end = true, .claim_count = 200001 },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(shapes); i++) {
		pkg_cleanup_error struct pkg_error err = { 0 };
		pkg_autofd int fd = zip_fd(two, 2, &shapes[i]);

		assert_null(fetch_zip_open_fd(fd, &err));
		assert_int_equal(err.kind, PKG_E_TOO_LARGE);
	}
}

static int
read_hole(void *context, uint64_t offset, void *data, size_t len, PKG_UNUSED struct pkg_error *err)
{
	const struct pkg_buf *tail = context;
	uint64_t start = (1ULL << 31) - tail->len;

	for (size_t i = 0; i < len; i++)
		((char *)data)[i] = offset + i < start ? 0 : tail->data[offset + i - start];
	return 0;
}

static void
a_directory_past_its_limit_is_too_large(PKG_UNUSED void **state)
{
	pkg_cleanup_error struct pkg_error err = { 0 };
	pkg_cleanup_buf struct pkg_buf tail = { 0 };

	put(&tail, 0x06054b50, 4);
	put(&tail, 0, 4);
	put(&tail, 2, 2);
	put(&tail, 2, 2);
	put(&tail, (64 << 20) + 1, 4);
	put(&tail, (1U << 31) - 22 - ((64 << 20) + 1), 4);
	put(&tail, 0, 2);
	assert_null(fetch_zip_open(read_hole, &tail, 1ULL << 31, &err));
	assert_int_equal(err.kind, PKG_E_TOO_LARGE);
}

static void
a_member_larger_than_asked_for_is_not_read(PKG_UNUSED void **state)
{
	pkg_autofd int fd = zip_fd(two, 2, NULL);
	pkg_cleanup(fetch_zip_free) struct fetch_zip *zip = fetch_zip_open_fd(fd, NULL);
	pkg_cleanup_error struct pkg_error err = { 0 };
	pkg_cleanup_buf struct pkg_buf out = { 0 };

	assert_int_equal(fetch_zip_member_fd(fd, &zip->entries[0], 4, &out, &err), -1);
	assert_int_equal(err.kind, PKG_E_TOO_LARGE);
	assert_int_equal(fetch_zip_member_fd(fd, &zip->entries[0], 5, &out, NULL), 0);
}

static void
a_directory_descriptor_is_no_archive(PKG_UNUSED void **state)
{
	pkg_autofd int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	pkg_cleanup_error struct pkg_error err = { 0 };

	assert_null(fetch_zip_open_fd(fd, &err));
	assert_int_equal(err.kind, PKG_E_ARCHIVE);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(stored_and_deflated_members_read_back),
		cmocka_unit_test(every_legal_shape_reads_back),
		cmocka_unit_test(an_archive_without_entries_is_fine),
		cmocka_unit_test(an_archive_that_libarchive_wrote_reads_back),
		cmocka_unit_test(every_second_reading_is_refused),
		cmocka_unit_test(a_comment_that_could_be_the_end_record_is_refused),
		cmocka_unit_test(entries_that_share_bytes_are_refused),
		cmocka_unit_test(every_cut_of_a_file_is_refused),
		cmocka_unit_test(no_flipped_bit_gives_other_content),
		cmocka_unit_test(claims_past_the_limits_are_too_large),
		cmocka_unit_test(a_directory_past_its_limit_is_too_large),
		cmocka_unit_test(a_member_larger_than_asked_for_is_not_read),
		cmocka_unit_test(a_directory_descriptor_is_no_archive),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
