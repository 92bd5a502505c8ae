#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include "core/buf.h"
#include "lang/r_description.h"

#define DESCRIPTION "Package: pk.g\nVersion: 1.0\n"

/* One tar entry. */
static void
add(struct pkg_buf *tar, const char *name, char type, const char *content)
{
	char header[512] = "";
	size_t len = strlen(content);
	unsigned int sum = 0;

	(void)snprintf(header, 100, "%s", name);
	(void)snprintf(header + 100, 8, "%07o", 0644);
	(void)snprintf(header + 124, 12, "%011o", (unsigned int)len);
	(void)snprintf(header + 136, 12, "%011o", 0);
	header[156] = type;
	memcpy(header + 257, "ustar\0", 6);
	memset(header + 148, ' ', 8);
	for (size_t i = 0; i < sizeof(header); i++)
		sum += (unsigned char)header[i];
	(void)snprintf(header + 148, 8, "%06o", sum);
	pkg_buf_add_mem(tar, header, sizeof(header));
	pkg_buf_add_mem(tar, content, len);
	while (tar->len % 512 != 0)
		pkg_buf_add_char(tar, '\0');
}

static void
finish(struct pkg_buf *tar)
{
	for (int i = 0; i < 1024; i++)
		pkg_buf_add_char(tar, '\0');
}

/* A descriptor with the gzipped tar; keep: how many bytes of it. */
static int
packed(const struct pkg_buf *tar, size_t keep)
{
	z_stream stream = { .next_in = (unsigned char *)tar->data,
		.avail_in = (unsigned int)tar->len };
	static unsigned char out[256 * 1024];
	int fd = memfd_create("tar", MFD_CLOEXEC);
	size_t len;

	assert_int_equal(
		deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
	stream.next_out = out;
	stream.avail_out = sizeof(out);
	assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
	len = stream.total_out < keep ? stream.total_out : keep;
	(void)deflateEnd(&stream);
	assert_int_equal(write(fd, out, len), (ssize_t)len);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

static int
read_tar(struct pkg_buf *tar, struct lang_r_description *out, struct pkg_error *err)
{
	int fd, rc;

	finish(tar);
	fd = packed(tar, SIZE_MAX);
	rc = lang_r_tarball_read(fd, "pk.g", out, err);
	(void)close(fd);
	pkg_buf_clear(tar);
	return rc;
}

static void
a_description_is_found_and_sources_are_noticed(PKG_UNUSED void **state)
{
	lang_cleanup_r_description struct lang_r_description description = { 0 };
	pkg_cleanup_error struct pkg_error err = { 0 };
	struct pkg_buf tar = { 0 };

	add(&tar, "pk.g/", '5', "");
	add(&tar, "pk.g/R/a.R", '0', "x <- 1\n");
	add(&tar, "./pk.g/DESCRIPTION", '0', DESCRIPTION);
	add(&tar, "pk.g/src/a.c", '0', "int x;\n");
	if (read_tar(&tar, &description, &err) < 0)
		fail_msg("%s", err.message);
	assert_string_equal(description.package, "pk.g");
	assert_true(description.compiles);
}

static void
long_names_of_both_kinds_are_read(PKG_UNUSED void **state)
{
	lang_cleanup_r_description struct lang_r_description description = { 0 };
	struct pkg_buf tar = { 0 };

	add(&tar, "././@LongLink", 'L', "pk.g/DESCRIPTION");
	add(&tar, "cut", '0', DESCRIPTION);
	add(&tar, "pax", 'x', "24 path=pk.g/src/x/y.c\n");
	add(&tar, "cut", '0', "");
	assert_int_equal(
		read_tar(&tar, &description, NULL), -1); /* the pax record's length is wrong */
	add(&tar, "././@LongLink", 'L', "pk.g/DESCRIPTION");
	add(&tar, "cut", '0', DESCRIPTION);
	add(&tar, "pax", 'x', "23 path=pk.g/src/x/y.c\n");
	add(&tar, "cut", '0', "");
	assert_int_equal(read_tar(&tar, &description, NULL), 0);
	assert_true(description.compiles);
}

static void
entries_that_could_lead_elsewhere_are_refused(PKG_UNUSED void **state)
{
	static const struct {
		const char *name;
		char type;
	} bad[] = { { "pk.g/../x", '0' }, { "/etc/x", '0' }, { "other/x", '0' }, { "pk.gx/y", '0' },
		{ "../pk.g/x", '0' }, { "pk.g/link", '2' }, { "pk.g/hard", '1' },
		{ "pk.g/fifo", '6' }, { "pk.g/dev", '3' }, { "pk.g/a\\b", '0' }, { "pk.g//x", '0' },
		{ "pk.g/\x01", '0' } };

	for (size_t i = 0; i < PKG_ARRAY_LEN(bad); i++) {
		lang_cleanup_r_description struct lang_r_description description = { 0 };
		pkg_cleanup_error struct pkg_error err = { 0 };
		struct pkg_buf tar = { 0 };

		add(&tar, "pk.g/DESCRIPTION", '0', DESCRIPTION);
		add(&tar, bad[i].name, bad[i].type, "");
		if (read_tar(&tar, &description, &err) == 0)
			fail_msg("'%s' was accepted", bad[i].name);
		assert_int_equal(err.kind, PKG_E_ARCHIVE);
	}
}

static void
damaged_archives_are_refused(PKG_UNUSED void **state)
{
	lang_cleanup_r_description struct lang_r_description description = { 0 };
	pkg_cleanup_buf struct pkg_buf tar = { 0 };

	add(&tar, "pk.g/DESCRIPTION", '0', DESCRIPTION);
	add(&tar, "pk.g/DESCRIPTION", '0', DESCRIPTION);
	assert_int_equal(read_tar(&tar, &description, NULL), -1); /* twice */
	add(&tar, "pk.g/x", '0', "");
	assert_int_equal(read_tar(&tar, &description, NULL), -1); /* none */
	add(&tar, "pk.g/DESCRIPTION", '0', DESCRIPTION);
	finish(&tar);
	for (size_t keep = 0; keep < 60; keep += 7) {
		int fd = packed(&tar, keep);

		assert_int_equal(lang_r_tarball_read(fd, "pk.g", &description, NULL), -1);
		(void)close(fd);
	}
	tar.data[10] ^= 1; /* the header's sum */
	{
		int fd = packed(&tar, SIZE_MAX);

		assert_int_equal(lang_r_tarball_read(fd, "pk.g", &description, NULL), -1);
		(void)close(fd);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_description_is_found_and_sources_are_noticed),
		cmocka_unit_test(long_names_of_both_kinds_are_read),
		cmocka_unit_test(entries_that_could_lead_elsewhere_are_refused),
		cmocka_unit_test(damaged_archives_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
