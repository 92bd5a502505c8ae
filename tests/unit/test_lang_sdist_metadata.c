#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include "lang/sdist_metadata.h"

#define STATIC "Metadata-Version: 2.2\nName: foo\nVersion: 1.0\nRequires-Dist: bar\n\ntext\n"

/* --- what is static --- */

static void
metadata_is_static_when_it_says_so(PKG_UNUSED void **state)
{
	static const struct {
		const char *text;
		bool is_static;
	} rows[] = {
		{ STATIC, true },
		{ "metadata-version: 2.4\r\nName: foo\r\n\r\n", true },
		{ "Metadata-Version: 2.1\nName: foo\n\n", false },
		{ "Metadata-Version: 1.2\n", false },
		{ "Name: foo\n", false },
		{ "", false },
		{ "Metadata-Version: 2.2\nDynamic: Requires-Dist\n", false },
		{ "Metadata-Version: 2.2\nDynamic: requires-python\n", false },
		{ "Metadata-Version: 2.2\nDYNAMIC:Provides-Extra\n", false },
		{ "Dynamic: version\nMetadata-Version: 2.2\n", false },
		{ "Metadata-Version: 2.2\nDynamic: License-File\n", true },
		{ "Metadata-Version: 2.2\n\nDynamic: Requires-Dist\n", true }, /* only text */
		{ "\nMetadata-Version: 2.2\n", false },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++)
		if (lang_sdist_metadata_is_static(rows[i].text, strlen(rows[i].text)) !=
			rows[i].is_static)
			fail_msg("row %zu", i);
}

/* --- archives --- */

static void
add_entry(struct pkg_buf *tar, const char *name, char type, const char *body)
{
	char header[512] = { 0 };
	size_t len = strlen(body);
	static const char zeros[512];

	(void)snprintf(header, 100, "%s", name);
	(void)snprintf(header + 124, 12, "%011o", (unsigned int)len);
	header[156] = type;
	memcpy(header + 257, "ustar", 6);
	pkg_buf_add_mem(tar, header, sizeof(header));
	pkg_buf_add_mem(tar, body, len);
	pkg_buf_add_mem(tar, zeros, (512 - len % 512) % 512);
}

static int
gzip(const struct pkg_buf *tar, int percent)
{
	int fd = memfd_create("sdist", MFD_CLOEXEC);
	gzFile file = gzdopen(dup(fd), "wb");

	assert_true(fd >= 0 && file);
	if (tar->len > 0)
		assert_true(gzwrite(file, tar->data, (unsigned int)tar->len) > 0);
	assert_int_equal(gzclose(file), Z_OK);
	assert_int_equal(ftruncate(fd, lseek(fd, 0, SEEK_END) * percent / 100), 0);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

struct entry {
	const char *name;
	char type;
	const char *body;
};

static const struct archive {
	const char *what;
	struct entry entries[4];
	enum pkg_error_kind kind; /* NONE: it is read */
} archives[] = {
	{ "one file", { { "foo-1.0/PKG-INFO", '0', STATIC } }, PKG_E_NONE },
	{ "an old type flag", { { "foo-1.0/PKG-INFO", '\0', STATIC } }, PKG_E_NONE },
	{ "behind others",
		{ { "foo-1.0/", '5', "" }, { "foo-1.0/setup.py", '0', "import os\n" },
			{ "foo-1.0/src/foo.egg-info/PKG-INFO", '0', "Metadata-Version: 2.1\n" },
			{ "foo-1.0/PKG-INFO", '0', STATIC } },
		PKG_E_NONE },
	{ "with a dot before it", { { "./foo-1.0/PKG-INFO", '0', STATIC } }, PKG_E_NONE },
	{ "named by a pax header",
		{ { "PaxHeader", 'x', "25 path=foo-1.0/PKG-INFO\n" }, { "short", '0', STATIC } },
		PKG_E_NONE },
	{ "named by a GNU header",
		{ { "././@LongLink", 'L', "foo-1.0/PKG-INFO" }, { "short", '0', STATIC } },
		PKG_E_NONE },
	{ "renamed away by a pax header",
		{ { "PaxHeader", 'x', "21 path=foo-1.0/other\n" },
			{ "foo-1.0/PKG-INFO", '0', STATIC } },
		PKG_E_UNSUPPORTED },
	{ "two of them",
		{ { "foo-1.0/PKG-INFO", '0', STATIC }, { "foo-1.0/PKG-INFO", '0', STATIC } },
		PKG_E_UNSUPPORTED },
	{ "two directories",
		{ { "foo-1.0/PKG-INFO", '0', STATIC }, { "bar-1.0/PKG-INFO", '0', STATIC } },
		PKG_E_UNSUPPORTED },
	{ "a symlink", { { "foo-1.0/PKG-INFO", '2', "" } }, PKG_E_UNSUPPORTED },
	{ "none", { { "foo-1.0/setup.py", '0', "x" } }, PKG_E_UNSUPPORTED },
	{ "at the top", { { "PKG-INFO", '0', STATIC } }, PKG_E_UNSUPPORTED },
	{ "outside", { { "../PKG-INFO", '0', STATIC } }, PKG_E_UNSUPPORTED },
	{ "one that is dynamic",
		{ { "foo-1.0/PKG-INFO", '0', "Metadata-Version: 2.2\nDynamic: requires-dist\n" } },
		PKG_E_UNSUPPORTED },
	{ "an empty archive", { { NULL, 0, NULL } }, PKG_E_UNSUPPORTED },
};

static void
check_archive(const struct archive *row)
{
	pkg_cleanup_buf struct pkg_buf tar = { 0 };
	pkg_cleanup_buf struct pkg_buf out = { 0 };
	pkg_cleanup_error struct pkg_error err = { 0 };
	pkg_autofd int fd = -1;

	for (size_t i = 0; i < 4 && row->entries[i].name; i++)
		add_entry(&tar, row->entries[i].name, row->entries[i].type, row->entries[i].body);
	pkg_buf_reserve(&tar, 1024);
	memset(tar.data + tar.len, 0, 1024);
	tar.len += 1024;
	fd = gzip(&tar, 100);
	(void)lang_sdist_metadata_read(fd, "foo-1.0.tar.gz", &out, &err);
	if (err.kind != row->kind)
		fail_msg("%s: %s", row->what, err.message ? err.message : "it is read");
	if (row->kind == PKG_E_NONE)
		assert_string_equal(pkg_buf_str(&out), STATIC);
}

static void
an_archive_is_read_or_left_to_who_runs_it(PKG_UNUSED void **state)
{
	for (size_t i = 0; i < PKG_ARRAY_LEN(archives); i++)
		check_archive(&archives[i]);
}

static void
a_damaged_archive_is_refused(PKG_UNUSED void **state)
{
	pkg_cleanup_buf struct pkg_buf tar = { 0 };
	pkg_autofree char *large = pkg_xcalloc(1, 200001);

	for (size_t i = 0; i < 200000; i++)
		large[i] = (char)('a' + (i * 2654435761u >> 7) % 26);
	add_entry(&tar, "foo-1.0/data", '0', large);
	add_entry(&tar, "foo-1.0/PKG-INFO", '0', STATIC);
	for (int percent = 1; percent < 95; percent += 3) {
		pkg_cleanup_buf struct pkg_buf out = { 0 };
		pkg_autofd int fd = gzip(&tar, percent);

		assert_int_equal(lang_sdist_metadata_read(fd, "foo-1.0.tar.gz", &out, NULL), -1);
	}
}

static void
what_is_no_gzip_file_is_refused(PKG_UNUSED void **state)
{
	pkg_cleanup_buf struct pkg_buf out = { 0 };
	pkg_cleanup_error struct pkg_error err = { 0 };
	pkg_autofd int fd = memfd_create("sdist", MFD_CLOEXEC);

	assert_int_equal(write(fd, "hello, world", 12), 12);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(lang_sdist_metadata_read(fd, "foo-1.0.tar.gz", &out, &err), -1);
	assert_int_equal(err.kind, PKG_E_ARCHIVE);
	assert_int_equal(lang_sdist_metadata_read(fd, "foo-1.0.tar.xz", &out, &err), -1);
	assert_int_equal(err.kind, PKG_E_UNSUPPORTED);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(metadata_is_static_when_it_says_so),
		cmocka_unit_test(an_archive_is_read_or_left_to_who_runs_it),
		cmocka_unit_test(a_damaged_archive_is_refused),
		cmocka_unit_test(what_is_no_gzip_file_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
