#include "unit.h"

#include "core/file.h"
#include "core/sha256.h"
#include "core/tree.h"
#include "fetch_zip.h"
#include "lang/wheel_verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define INFO "demo_pkg-1.0.dist-info"
#define WHEEL_TEXT "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
#define METADATA_TEXT                                                                              \
	"Metadata-Version: 2.1\nName: demo-pkg\nVersion: 1.0\nRequires-Python: >=3.8\n\nText\n"
#define FILES_MAX 8

/* A wheel before it is packed: every field has a good value that a test may replace. */
struct spec {
	const char *file_name;
	const char *info; /* the directory */
	const char *wheel; /* NULL: the file is missing */
	const char *metadata;
	struct zip_file files[FILES_MAX];
	const char *record; /* NULL: a right one; "": none at all */
	const char *more_record; /* lines added */
	const char *forget; /* a file left out of RECORD */
};

static const struct spec good = {
	.file_name = "demo_pkg-1.0-py3-none-any.whl",
	.info = INFO,
	.wheel = WHEEL_TEXT,
	.metadata = METADATA_TEXT,
	.files = { { .name = "demo_pkg/__init__.py", .data = "x = 1\n" },
		{ .name = "demo_pkg/tool.sh",
			.data = "#!/bin/sh\n",
			.deflate = true,
			.mode = S_IFREG | 0755 } },
};

static int
set_up(void **state)
{
	char *path = pkg_xstrdup("/tmp/wheel-XXXXXX");

	*state = path;
	return mkdtemp(path) ? 0 : -1;
}

static int
tear_down(void **state)
{
	(void)pkg_tree_remove(*state, NULL);
	free(*state);
	return 0;
}

static void
record_line(struct pkg_buf *record, const struct zip_file *file)
{
	pkg_cleanup(pkg_sha256_free) struct pkg_sha256 *sha = pkg_sha256_new();
	size_t len = file->len ? file->len : strlen(file->data);
	unsigned char digest[PKG_SHA256_BYTES];
	char text[44];

	pkg_sha256_add(sha, file->data, len);
	pkg_sha256_end(sha, digest);
	pkg_sha256_base64url(digest, text);
	pkg_buf_addf(record, "%s,sha256=%s,%zu\n", file->name, text, len);
}

static int
pack_spec(const struct spec *spec)
{
	struct zip_file files[FILES_MAX + 3];
	pkg_cleanup_buf struct pkg_buf record = { 0 };
	pkg_autofree char *wheel_name = pkg_xasprintf("%s/WHEEL", spec->info);
	pkg_autofree char *metadata_name = pkg_xasprintf("%s/METADATA", spec->info);
	pkg_autofree char *record_name = pkg_xasprintf("%s/RECORD", spec->info);
	size_t count = 0;

	for (; count < FILES_MAX && spec->files[count].name; count++)
		files[count] = spec->files[count];
	if (spec->wheel)
		files[count++] = (struct zip_file){ .name = wheel_name, .data = spec->wheel };
	if (spec->metadata)
		files[count++] = (struct zip_file){ .name = metadata_name, .data = spec->metadata };
	for (size_t i = 0; i < count; i++) {
		if (!spec->forget || strcmp(files[i].name, spec->forget) != 0)
			record_line(&record, &files[i]);
	}
	pkg_buf_addf(&record, "%s,,\n", record_name);
	if (spec->more_record)
		pkg_buf_add(&record, spec->more_record);
	if (!spec->record || *spec->record)
		files[count++] = (struct zip_file){ .name = record_name,
			.data = spec->record ? spec->record : pkg_buf_str(&record) };
	return zip_fd(files, count, NULL);
}

/* Each one into a new directory below root. */
static struct json_object *
unpack(const char *root, const struct spec *spec, struct pkg_error *err)
{
	static int number;
	pkg_autofree char *path = pkg_xasprintf("%s/%d", root, number++);
	pkg_autofd int fd = pack_spec(spec);
	pkg_autofd int dir_fd = -1;

	assert_int_equal(mkdir(path, 0755), 0);
	dir_fd = pkg_dir_open(path, NULL);
	return lang_wheel_unpack(fd, spec->file_name, dir_fd, NULL, err);
}

static void
a_good_wheel_is_reported_in_full(void **state)
{
	pkg_cleanup_error struct pkg_error err = { 0 };
	struct json_object *report = unpack(*state, &good, &err);
	struct json_object *files;
	pkg_autofree char *line = NULL;

	if (!report)
		fail_msg("%s", err.message);
	files = pkg_json_array(report, "files");
	/* The others' hashes are those of RECORD, which were compared. */
	for (size_t i = 1; i < json_object_array_length(files); i++)
		json_object_object_del(json_object_array_get_idx(files, i), "sha256");
	line = pkg_json_canonical(report);
	assert_string_equal(line,
		"{\"bytes\":516,\"data\":null,\"dist_info\":\"" INFO "\",\"files\":["
		"{\"exec\":false,\"path\":\"" INFO "/METADATA\",\"sha256\":\""
		"fe386290e517c1f68375804cd0f4efb45f302c631c6cd643517d934f7294f73d\",\"size\":79},"
		"{\"exec\":false,\"path\":\"" INFO "/RECORD\",\"size\":346},"
		"{\"exec\":false,\"path\":\"" INFO "/WHEEL\",\"size\":75},"
		"{\"exec\":false,\"path\":\"demo_pkg/__init__.py\",\"size\":6},"
		"{\"exec\":true,\"path\":\"demo_pkg/tool.sh\",\"size\":10}],"
		"\"name\":\"demo-pkg\",\"requires_python\":\">=3.8\",\"root_is_purelib\":true,"
		"\"tags\":[\"py3-none-any\"],\"version\":\"1.0\",\"wheel_version\":\"1.0\"}");
	pkg_json_put(report);
}

struct bad_row {
	const char *says;
	enum pkg_error_kind kind;
	struct spec change; /* fields that are not NULL replace the good ones */
};

#define ROW(message, ...)                                                                          \
	{                                                                                          \
		.says = message, .kind = PKG_E_ARCHIVE, .change = { __VA_ARGS__ }                  \
	}
#define ADDED(...) .files = { [2] = { __VA_ARGS__, .data = "z" } }
#define X64 "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

static const struct bad_row bad_rows[] = {
	{ "not the name of a wheel", PKG_E_INVALID, { .file_name = "demo_pkg.whl" } },
	ROW("file name of 'other'", .file_name = "other-1.0-py3-none-any.whl"),
	ROW("the file name 1.1", .file_name = "demo_pkg-1.1-py3-none-any.whl"),
	ROW("no .dist-info", .info = "demo_pkg-1.0.info"),
	ROW("other-1.0.dist-info is of 'other'", .info = "other-1.0.dist-info"),
	ROW("has version '2.0'", .info = "demo_pkg-2.0.dist-info"),
	ROW("not named NAME-VERSION", .info = "demo.dist-info"),
	ROW("second directory of its kind", ADDED(.name = "demo_pkg-1.1.dist-info/x")),
	ROW("second directory of its kind",
		.files = { [2] = { .name = "demo_pkg-1.0.data/scripts/x", .data = "1" },
			[3] = { .name = "Demo_pkg-1.0.0.data/scripts/y", .data = "2" } }),
	ROW("of 'other'", ADDED(.name = "other-1.0.data/scripts/x")),
	ROW("in no scheme", ADDED(.name = "demo_pkg-1.0.data/etc/x")),
	ROW("in no scheme", ADDED(.name = "demo_pkg-1.0.data/scripts")),
	ROW("WHEEL' is missing", .wheel = ""),
	ROW("METADATA' is missing", .metadata = ""),
	ROW("RECORD' is missing", .record = ""),
	ROW("Wheel-Version", .wheel = "Wheel-Version: 2.0\nRoot-Is-Purelib: true\n"),
	ROW("Root-Is-Purelib", .wheel = "Wheel-Version: 1.0\n"),
	ROW("METADATA is of 'other'",
		.metadata = "Metadata-Version: 2.1\nName: other\nVersion: 1.0\n"),
	ROW("METADATA has version '1.1'",
		.metadata = "Metadata-Version: 2.1\nName: demo-pkg\nVersion: 1.1\n"),
	ROW("given twice",
		.metadata = "Metadata-Version: 2.1\nName: demo-pkg\nName: x\nVersion: 1.0\n"),
	ROW("is not in RECORD", .forget = "demo_pkg/tool.sh"),
	ROW("is not in RECORD", .forget = INFO "/WHEEL"),
	ROW("is not in RECORD", .record = INFO "/RECORD,,\n"),
	ROW("is in RECORD but not there", .more_record = "demo_pkg/gone.py,sha256=" X64 ",1\n"),
	ROW("is in RECORD but not there", .more_record = "../../bin/x,sha256=" X64 ",1\n"),
	ROW("two different rows", .more_record = "demo_pkg/__init__.py,sha256=" X64 ",6\n"),
	ROW("has no hash", .forget = "demo_pkg/tool.sh", .more_record = "demo_pkg/tool.sh,,\n"),
	ROW("hash", .forget = "demo_pkg/tool.sh",
		.more_record = "demo_pkg/tool.sh,md5=1B2M2Y8AsgTpgAmY7PhCfg,10\n"),
	{ "in RECORD it is " X64, PKG_E_HASH,
		{ .forget = "demo_pkg/tool.sh",
			.more_record = "demo_pkg/tool.sh,sha256=" X64 ",10\n" } },
	ROW("a script's name",
		.files = { [2] = { .name = INFO "/entry_points.txt",
				   .data = "[console_scripts]\n../x = a:b\n" } }),
	ROW("symbolic link", ADDED(.name = "demo_pkg/link", .mode = S_IFLNK | 0777)),
	ROW("but for case", ADDED(.name = "demo_pkg/TOOL.sh")),
};

static struct spec
changed(const struct spec *change)
{
	struct spec spec = good;

#define TAKE(field)                                                                                \
	if (change->field)                                                                         \
	spec.field = *change->field || strcmp(#field, "record") == 0 ? change->field : NULL
	TAKE(file_name);
	TAKE(info);
	TAKE(wheel);
	TAKE(metadata);
	TAKE(record);
	TAKE(more_record);
	TAKE(forget);
#undef TAKE
	for (size_t i = 2; i < FILES_MAX; i++)
		spec.files[i] = change->files[i];
	return spec;
}

static void
every_wrong_wheel_is_refused(void **state)
{
	for (size_t i = 0; i < PKG_ARRAY_LEN(bad_rows); i++) {
		const struct bad_row *row = &bad_rows[i];
		struct spec spec = changed(&row->change);
		pkg_cleanup_error struct pkg_error err = { 0 };
		struct json_object *report = unpack(*state, &spec, &err);

		if (report)
			fail_msg("row %zu (%s) was accepted", i, row->says);
		if (err.kind != row->kind || !strstr(err.message, row->says) ||
			!strstr(err.message, spec.file_name))
			fail_msg("row %zu (%s): %s: %s", i, row->says,
				pkg_error_kind_name(err.kind), err.message);
	}
}

static const struct spec fine_rows[] = {
	/* Other spellings of the same name and version. */
	{ .file_name = "Demo.Pkg-1.0.0-py3-none-any.whl" },
	{ .file_name = "demo_pkg-1.0-1build-py2.py3-none-any.whl", .info = "Demo.pkg-1.dist-info" },
	{ .metadata = "Metadata-Version: 2.1\nName: Demo_Pkg\nVersion: v1.0\n" },
	{ ADDED(.name = "demo_pkg-1.0.data/scripts/x") },
	{ ADDED(.name = INFO "/RECORD.jws"), .forget = INFO "/RECORD.jws" },
	{ ADDED(.name = INFO "/licenses/LICENSE") },
	{ ADDED(.name = "with,comma and \"quotes\""), .forget = "with,comma and \"quotes\"",
		.more_record = "\"with,comma and \"\"quotes\"\"\",sha256="
			       "WU5RmuSZMSspQzt92Kl_8Gje_LqXVbbV0A6ExSTWewY,1\n" },
	/* A row without a size, and one that is there twice. */
	{ .forget = "demo_pkg/__init__.py",
		.more_record = "demo_pkg/__init__.py,"
			       "sha256=nia_NpkRxFwkPGhBR7I_yeHc_PJX0pmhxjIBam_NM_Q,\n"
			       "demo_pkg/__init__.py,"
			       "sha256=nia_NpkRxFwkPGhBR7I_yeHc_PJX0pmhxjIBam_NM_Q,\n" },
	{ .files = { [2] = { .name = INFO "/entry_points.txt",
			     .data = "[console_scripts]\nx = a:b\n" } } },
};

static void
unusual_but_right_wheels_are_accepted(void **state)
{
	for (size_t i = 0; i < PKG_ARRAY_LEN(fine_rows); i++) {
		struct spec spec = changed(&fine_rows[i]);
		pkg_cleanup_error struct pkg_error err = { 0 };
		struct json_object *report = unpack(*state, &spec, &err);

		if (!report)
			fail_msg("row %zu: %s", i, err.message);
		pkg_json_put(report);
	}
}

static void
a_wrong_size_in_record_is_a_hash_mismatch(void **state)
{
	struct spec spec = good;
	pkg_cleanup_error struct pkg_error err = { 0 };

	spec.forget = "demo_pkg/__init__.py";
	spec.more_record = "demo_pkg/__init__.py,"
			   "sha256=nia_NpkRxFwkPGhBR7I_yeHc_PJX0pmhxjIBam_NM_Q,7\n";
	assert_null(unpack(*state, &spec, &err));
	assert_int_equal(err.kind, PKG_E_HASH);
	assert_non_null(strstr(err.message, "has 6 bytes, in RECORD it is 7"));
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	static const struct CMUnitTest tests[] = {
		TEST(a_good_wheel_is_reported_in_full),
		TEST(every_wrong_wheel_is_refused),
		TEST(unusual_but_right_wheels_are_accepted),
		TEST(a_wrong_size_in_record_is_a_hash_mismatch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
