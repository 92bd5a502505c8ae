#include "unit.h"

#include "core/sha256.h"
#include "core/tree.h"
#include "fetch_zip.h"
#include "lang/python_store.h"
#include "lang/wheel_verify.h"
#include "lang_python.h"

#include <errno.h>

#define PREFIX "/data/envs/p/python/default"
#define FILES_MAX 8

/* A cache, a tree and an overlay of their own for each test. */
struct fixture {
	char *root;
	struct pkg_home home;
	struct policy_config config;
	struct lang_context lang;
	struct lang_env env;
	char *tree;
	char *overlay;
	struct pkg_buf said;
};

static void
hear(void *context, const char *text)
{
	struct fixture *fixture = context;

	pkg_buf_addf(&fixture->said, "%s\n", text);
}

static int
set_up(void **state)
{
	struct fixture *fixture = pkg_xcalloc(1, sizeof(*fixture));

	fixture->root = test_directory();
	fixture->tree = pkg_path_join(fixture->root, "tree");
	fixture->overlay = pkg_path_join(fixture->root, "overlay");
	fixture->home.cache = pkg_path_join(fixture->root, "cache");
	fixture->lang = (struct lang_context){ .home = &fixture->home,
		.config = &fixture->config,
		.cancel_fd = -1,
		.status = hear,
		.context = fixture };
	fixture->lang.cas = fetch_cas_open(fixture->home.cache, NULL);
	fixture->env =
		(struct lang_env){ .prefix = PREFIX, .tree = fixture->tree, .facts = facts_311() };
	assert_int_equal(pkg_dir_make(fixture->tree, 0755, NULL), 0);
	assert_int_equal(pkg_dir_make(fixture->overlay, 0755, NULL), 0);
	put_file(fixture->tree, "pyvenv.cfg", "home = /usr/bin\n");
	put_file(fixture->tree, "bin/activate", "#\n");
	*state = fixture;
	return 0;
}

static int
tear_down(void **state)
{
	struct fixture *fixture = *state;

	(void)pkg_tree_remove(fixture->root, NULL);
	json_object_put(fixture->env.facts);
	fetch_cas_free(fixture->lang.cas);
	pkg_buf_clear(&fixture->said);
	free(fixture->home.cache);
	free(fixture->tree);
	free(fixture->overlay);
	free(fixture->root);
	free(fixture);
	return 0;
}

/* --- wheels --- */

struct spec {
	const char *name;
	const char *version;
	struct zip_file files[FILES_MAX];
};

struct wheel {
	struct lang_dist dist;
	int fd;
};

static void
wheel_clear(struct wheel *wheel)
{
	lang_dist_clear(&wheel->dist);
	pkg_close(&wheel->fd);
}
#define cleanup_wheel __attribute__((cleanup(wheel_clear), unused))

static void
record_line(struct pkg_buf *record, const struct zip_file *file)
{
	pkg_cleanup(pkg_sha256_free) struct pkg_sha256 *sha = pkg_sha256_new();
	unsigned char digest[PKG_SHA256_BYTES];
	char text[44];

	pkg_sha256_add(sha, file->data, strlen(file->data));
	pkg_sha256_end(sha, digest);
	pkg_sha256_base64url(digest, text);
	pkg_buf_addf(record, "%s,sha256=%s,%zu\n", file->name, text, strlen(file->data));
}

static int
pack_spec(const struct spec *spec)
{
	struct zip_file files[FILES_MAX + 3];
	pkg_cleanup_buf struct pkg_buf record = { 0 };
	pkg_autofree char *info = pkg_xasprintf("%s-%s.dist-info", spec->name, spec->version);
	pkg_autofree char *metadata_name = pkg_path_join(info, "METADATA");
	pkg_autofree char *wheel_name = pkg_path_join(info, "WHEEL");
	pkg_autofree char *record_name = pkg_path_join(info, "RECORD");
	pkg_autofree char *metadata = pkg_xasprintf(
		"Metadata-Version: 2.1\nName: %s\nVersion: %s\n\n", spec->name, spec->version);
	size_t count = 0;

	for (; count < FILES_MAX && spec->files[count].name; count++)
		files[count] = spec->files[count];
	files[count++] = (struct zip_file){ .name = metadata_name, .data = metadata };
	files[count++] = (struct zip_file){ .name = wheel_name,
		.data = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: "
			"py3-none-any\n" };
	for (size_t i = 0; i < count; i++)
		record_line(&record, &files[i]);
	pkg_buf_addf(&record, "%s,,\n", record_name);
	files[count++] = (struct zip_file){ .name = record_name, .data = pkg_buf_str(&record) };
	return zip_fd(files, count, NULL);
}

static struct wheel
make_wheel(struct fixture *fixture, const struct spec *spec)
{
	struct wheel wheel = { .fd = pack_spec(spec) };
	char hex[PKG_SHA256_HEX];

	assert_int_equal(lseek(wheel.fd, 0, SEEK_SET), 0);
	assert_int_equal(fetch_cas_put_fd(fixture->lang.cas, NULL, wheel.fd, -1, hex, NULL), 0);
	wheel.dist = (struct lang_dist){ .name = pkg_xstrdup(spec->name),
		.key = pkg_xstrdup(spec->name),
		.version = pkg_xstrdup(spec->version),
		.file = pkg_xasprintf("%s-%s-py3-none-any.whl", spec->name, spec->version),
		.url = pkg_xasprintf("https://u:p@files.example/%s.whl#sha256=00", spec->name),
		.sha256 = pkg_xstrdup(hex),
		.source = pkg_xstrdup("wheel") };
	return wheel;
}

/* What prepare() does, without a sandbox or an interpreter. */
static void
open_wheel(struct fixture *fixture, const struct wheel *wheel)
{
	pkg_autofree char *entry = lang_python_store_path(&fixture->home, wheel->dist.sha256);
	pkg_autofree char *tree = pkg_path_join(entry, "tree");
	pkg_cleanup_error struct pkg_error err = { 0 };
	pkg_cleanup(pkg_json_put) struct json_object *report = NULL;
	pkg_autofd int entry_fd = -1;
	pkg_autofd int tree_fd = -1;

	assert_int_equal(pkg_dir_make(tree, 0755, NULL), 0);
	tree_fd = pkg_dir_open(tree, NULL);
	entry_fd = pkg_dir_open(entry, NULL);
	report = lang_wheel_unpack(wheel->fd, wheel->dist.file, tree_fd, NULL, &err);
	if (!report || lang_python_store_seal(entry_fd, wheel->dist.sha256, report, &err) < 0)
		fail_msg("%s", err.message);
}

/* Stands for what a compiler would write. */
static void
put_bytecode(struct fixture *fixture, const struct wheel *wheel, const char *path, const char *text)
{
	pkg_autofree char *directory =
		lang_python_store_bytecode(&fixture->home, fixture->env.facts, wheel->dist.sha256);

	put_file(directory, path, text);
}

static void
stage(struct fixture *fixture, const struct wheel *wheel)
{
	pkg_cleanup_error struct pkg_error err = { 0 };

	if (lang_python_stage(&fixture->lang, &fixture->env, &wheel->dist, &err) < 0)
		fail_msg("%s", err.message);
}

static struct wheel
make_and_stage(struct fixture *fixture, const struct spec *spec)
{
	struct wheel wheel = make_wheel(fixture, spec);

	open_wheel(fixture, &wheel);
	stage(fixture, &wheel);
	return wheel;
}

static void
assert_text(const char *root, const char *path, const char *want)
{
	pkg_autofree char *full = pkg_path_join(root, path);
	pkg_cleanup_buf struct pkg_buf text = { 0 };
	pkg_cleanup_error struct pkg_error err = { 0 };

	if (pkg_file_read(full, 1 << 20, &text, &err) < 0)
		fail_msg("%s", err.message);
	assert_string_equal(pkg_buf_str(&text), want);
}

static bool
there(const char *root, const char *path, struct stat *st)
{
	pkg_autofree char *full = pkg_path_join(root, path);
	struct stat own;

	return lstat(full, st ? st : &own) == 0;
}

static const struct spec demo = {
	.name = "demo",
	.version = "1.0",
	.files = { { .name = "demo/__init__.py", .data = "x = 1\n" },
		{ .name = "demo/sub/m.py", .data = "y = 2\n" },
		{ .name = "demo-1.0.data/scripts/tool",
			.data = "#!python\nprint(1)\n",
			.mode = S_IFREG | 0755 },
		{ .name = "demo-1.0.data/scripts/plain.sh", .data = "#!/bin/sh\n" },
		{ .name = "demo-1.0.data/data/share/demo.txt", .data = "text\n" },
		{ .name = "demo-1.0.dist-info/entry_points.txt",
			.data = "# \xC3\xA4\n[console_scripts]\nrun = demo:main\n" } },
};

/* --- stage --- */

static void
a_wheel_is_linked_and_its_record_is_pips(void **state)
{
	struct fixture *fixture = *state;
	cleanup_wheel struct wheel wheel = make_wheel(fixture, &demo);
	struct stat st;

	open_wheel(fixture, &wheel);
	put_bytecode(fixture, &wheel, "demo/__pycache__/__init__.cpython-311.pyc", "bytes");
	stage(fixture, &wheel);
	/* Order, ends of lines and empty fields are pip's. */
	assert_text(fixture->tree, SITE_311 "/demo-1.0.dist-info/RECORD",
		"../../../bin/plain.sh,sha256=qAdtPSjSHgIBKyDq99v3VAmmJ3E0Q5Al8oLjaOMwWr8,10\r\n"
		"../../../bin/run,sha256=s7iH2q27cNIGaHk4S5GmJBrYMlBW5hm6QiOuUeMgFFI,225\r\n"
		"../../../bin/tool,sha256=R23kSbYLtwuUvJg33qDHMaMN-mHRj-mkzRws4Y_wuV8,50\r\n"
		"../../../share/demo.txt,sha256=ueaOG-o-WxnKay-YtzpUtz2q-qJQSEkC4JmC4HoS5zM,5\r\n"
		"demo-1.0.dist-info/"
		"INSTALLER,sha256=YP9m9qkrq2lYTTZCa7C9PwxWqFTe-PLKvr3HBnmGzIo,5\r\n"
		"demo-1.0.dist-info/"
		"METADATA,sha256=-_vhkFfN_X4W3gzhfbWYqEThE0CsYTHCSkVnARsqsdk,47\r\n"
		"demo-1.0.dist-info/RECORD,,\r\n"
		"demo-1.0.dist-info/WHEEL,sha256=GOJWfGKy_s7ZRMtmrMyJFvIHxzo0gLZVhGWWyTqB6uo,75\r\n"
		"demo-1.0.dist-info/"
		"entry_points.txt,sha256=dYHiqvwDSI3PBHehwiLErph-nUETmTvkFFyg-dkIQAg,39\r\n"
		"demo/__init__.py,sha256=nia_NpkRxFwkPGhBR7I_yeHc_PJX0pmhxjIBam_NM_Q,6\r\n"
		"demo/__pycache__/__init__.cpython-311.pyc,,\r\n"
		"demo/sub/m.py,sha256=9GmEJ2PbOYEHB2T5aLvHecsHefMm44a5m740MfjzDEk,6\r\n");
	assert_true(there(fixture->tree, SITE_311 "/demo/__init__.py", &st));
	assert_int_equal(st.st_nlink, 2);
	assert_int_equal(st.st_mtime, lang_python_store_time(wheel.dist.sha256));
}

static void
scripts_name_the_stable_prefix_and_can_be_run(void **state)
{
	struct fixture *fixture = *state;
	cleanup_wheel struct wheel wheel = make_and_stage(fixture, &demo);
	struct stat st;

	assert_text(fixture->tree, "bin/tool", "#!" PREFIX "/bin/python\nprint(1)\n");
	assert_text(fixture->tree, "bin/plain.sh", "#!/bin/sh\n");
	for (size_t i = 0; i < 3; i++) {
		static const char *const names[] = { "bin/tool", "bin/plain.sh", "bin/run" };

		assert_true(there(fixture->tree, names[i], &st));
		assert_int_equal(st.st_mode & 0777, 0755);
		assert_int_equal(st.st_nlink, 1);
	}
	assert_text(fixture->tree, "share/demo.txt", "text\n");
}

static void
requests_and_direct_urls_are_recorded(void **state)
{
	struct fixture *fixture = *state;
	cleanup_wheel struct wheel wheel = make_wheel(fixture, &demo);
	pkg_autofree char *want = pkg_xasprintf(
		"{\"archive_info\": {\"hash\": \"sha256=%s\", \"hashes\": {\"sha256\": \"%s\"}}, "
		"\"url\": \"https://files.example/demo.whl\"}",
		wheel.dist.sha256, wheel.dist.sha256);

	open_wheel(fixture, &wheel);
	free(wheel.dist.source);
	wheel.dist.source = pkg_xstrdup("direct");
	wheel.dist.requirement = pkg_xstrdup("demo @ https://files.example/demo.whl");
	stage(fixture, &wheel);
	assert_text(fixture->tree, SITE_311 "/demo-1.0.dist-info/direct_url.json", want);
	assert_text(fixture->tree, SITE_311 "/demo-1.0.dist-info/REQUESTED", "");
	assert_text(fixture->tree, SITE_311 "/demo-1.0.dist-info/INSTALLER", "pkgd\n");
}

static void
a_dependency_from_an_index_has_neither(void **state)
{
	struct fixture *fixture = *state;
	cleanup_wheel struct wheel wheel = make_and_stage(fixture, &demo);

	assert_false(there(fixture->tree, SITE_311 "/demo-1.0.dist-info/REQUESTED", NULL));
	assert_false(there(fixture->tree, SITE_311 "/demo-1.0.dist-info/direct_url.json", NULL));
}

static void
what_is_in_the_tree_is_replaced_but_never_written_to(void **state)
{
	struct fixture *fixture = *state;
	cleanup_wheel struct wheel wheel = make_wheel(fixture, &demo);
	pkg_autofree char *other = pkg_path_join(fixture->root, "other");
	static const char *const taken[] = { SITE_311 "/demo/__init__.py", "bin/run", "bin/tool",
		SITE_311 "/demo-1.0.dist-info/RECORD", SITE_311 "/demo-1.0.dist-info/INSTALLER" };

	put_file(fixture->root, "other", "of another environment\n");
	for (size_t i = 0; i < PKG_ARRAY_LEN(taken); i++) {
		pkg_autofree char *path = pkg_path_join(fixture->tree, taken[i]);

		put_file(fixture->tree, taken[i], "");
		assert_int_equal(unlink(path), 0);
		/* The first as a symlink, the others as hard links. */
		assert_int_equal(i == 0 ? symlink(other, path) : link(other, path), 0);
	}
	open_wheel(fixture, &wheel);
	stage(fixture, &wheel);
	assert_text(fixture->root, "other", "of another environment\n");
	assert_text(fixture->tree, SITE_311 "/demo/__init__.py", "x = 1\n");
	assert_text(fixture->tree, SITE_311 "/demo-1.0.dist-info/INSTALLER", "pkgd\n");
}

static void
a_link_in_the_place_of_a_directory_is_not_followed(void **state)
{
	static const char *const places[] = { SITE_311 "/demo", "share", SITE_311 };

	for (size_t i = 0; i < PKG_ARRAY_LEN(places); i++) {
		struct fixture *fixture = *state;
		cleanup_wheel struct wheel wheel = make_wheel(fixture, &demo);
		pkg_cleanup_error struct pkg_error err = { 0 };
		pkg_autofree char *outside = pkg_path_join(fixture->root, "outside");
		pkg_autofree char *path = pkg_path_join(fixture->tree, places[i]);

		(void)pkg_tree_remove(outside, NULL);
		(void)pkg_tree_remove(path, NULL);
		assert_int_equal(pkg_dir_make(outside, 0755, NULL), 0);
		put_file(fixture->tree, SITE_311 "/keep", "");
		(void)pkg_tree_remove(path, NULL);
		assert_int_equal(symlink(outside, path), 0);
		if (!lang_python_store_has(&fixture->home, wheel.dist.sha256))
			open_wheel(fixture, &wheel);
		assert_int_equal(
			lang_python_stage(&fixture->lang, &fixture->env, &wheel.dist, &err), -1);
		assert_int_equal(err.kind, PKG_E_PATH_CLASH);
		assert_non_null(strstr(err.message, places[i]));
		assert_int_equal(rmdir(outside), 0); /* nothing in it */
		assert_int_equal(unlink(path), 0);
	}
}

static void
a_directory_in_the_place_of_a_file_is_an_error(void **state)
{
	struct fixture *fixture = *state;
	cleanup_wheel struct wheel wheel = make_wheel(fixture, &demo);
	pkg_cleanup_error struct pkg_error err = { 0 };

	put_file(fixture->tree, SITE_311 "/demo/__init__.py/x", "");
	open_wheel(fixture, &wheel);
	assert_int_equal(lang_python_stage(&fixture->lang, &fixture->env, &wheel.dist, &err), -1);
	assert_int_equal(err.kind, PKG_E_PATH_CLASH);
	assert_true(there(fixture->tree, SITE_311 "/demo/__init__.py/x", NULL));
}

static const struct spec twin = {
	.name = "twin",
	.version = "2.0",
	.files = { { .name = "demo/__init__.py", .data = "x = 1\n" },
		{ .name = "twin.py", .data = "z = 3\n" } },
};
static const struct spec rival = {
	.name = "rival",
	.version = "2.0",
	.files = { { .name = "demo/__init__.py", .data = "x = 2\n" } },
};
static const struct spec command_rival = {
	.name = "rival",
	.version = "3.0",
	.files = { { .name = "rival.py", .data = "" },
		{ .name = "rival-3.0.dist-info/entry_points.txt",
			.data = "[console_scripts]\nrun = rival:main\n" } },
};

static void
two_packages_of_an_overlay_may_share_a_file_only_when_it_is_the_same(void **state)
{
	struct fixture *fixture = *state;
	cleanup_wheel struct wheel first = { .fd = -1 };
	cleanup_wheel struct wheel second = { .fd = -1 };

	fixture->env.overlay = fixture->overlay;
	first = make_and_stage(fixture, &demo);
	second = make_and_stage(fixture, &twin);
	assert_text(fixture->overlay, SITE_311 "/twin.py", "z = 3\n");
	assert_false(there(fixture->tree, "lib", NULL));
	for (size_t i = 0; i < 2; i++) {
		cleanup_wheel struct wheel third =
			make_wheel(fixture, i == 0 ? &rival : &command_rival);
		pkg_cleanup_error struct pkg_error err = { 0 };

		open_wheel(fixture, &third);
		assert_int_equal(
			lang_python_stage(&fixture->lang, &fixture->env, &third.dist, &err), -1);
		assert_int_equal(err.kind, PKG_E_PATH_CLASH);
		/* Two have the file; whichever is found first. */
		assert_true(strstr(err.message, "demo-1.0 and rival both have") ||
			(i == 0 && strstr(err.message, "twin-2.0 and rival both have")));
	}
	assert_text(fixture->overlay, SITE_311 "/demo/__init__.py", "x = 1\n");
}

static void
in_a_tree_the_last_one_wins_as_with_pip(void **state)
{
	struct fixture *fixture = *state;
	cleanup_wheel struct wheel first = make_and_stage(fixture, &demo);
	cleanup_wheel struct wheel second = make_and_stage(fixture, &rival);

	assert_text(fixture->tree, SITE_311 "/demo/__init__.py", "x = 2\n");
	stage(fixture, &first);
	assert_text(fixture->tree, SITE_311 "/demo/__init__.py", "x = 1\n");
}

static void
a_wheel_of_another_name_or_version_is_refused(void **state)
{
	struct fixture *fixture = *state;
	cleanup_wheel struct wheel wheel = make_wheel(fixture, &demo);
	char **const fields[] = { &wheel.dist.version, &wheel.dist.key };
	static const char *const lies[] = { "1.1", "other" };

	open_wheel(fixture, &wheel);
	/* Another spelling of the same version is none. */
	free(wheel.dist.version);
	wheel.dist.version = pkg_xstrdup("1");
	stage(fixture, &wheel);
	for (size_t i = 0; i < PKG_ARRAY_LEN(fields); i++) {
		pkg_cleanup_error struct pkg_error err = { 0 };

		free(*fields[i]);
		*fields[i] = pkg_xstrdup(lies[i]);
		assert_int_equal(
			lang_python_stage(&fixture->lang, &fixture->env, &wheel.dist, &err), -1);
		assert_int_equal(err.kind, PKG_E_ARCHIVE);
		free(*fields[i]);
		*fields[i] = pkg_xstrdup(i == 0 ? "1.0" : "demo");
	}
}

/* --- the store --- */

static void
a_tree_that_is_not_as_reported_is_not_sealed(void **state)
{
	static const struct {
		const char *what;
		const char *path;
	} lies[] = { { "nothing", NULL }, { "extra", "tree/extra" },
		{ "link", "tree/demo/__init__.py" }, { "gone", "tree/demo/__init__.py" },
		{ "longer", "tree/demo/__init__.py" }, { "hard", "tree/demo/__init__.py" },
		{ "writable", "tree/demo/__init__.py" }, { "fifo", "tree/fifo" } };

	for (size_t i = 0; i < PKG_ARRAY_LEN(lies); i++) {
		struct fixture *fixture = *state;
		cleanup_wheel struct wheel wheel = make_wheel(fixture, &demo);
		pkg_autofree char *entry = pkg_path_join(fixture->root, lies[i].what);
		pkg_autofree char *tree = pkg_path_join(entry, "tree");
		pkg_autofree char *other = pkg_path_join(entry, "other");
		pkg_cleanup(pkg_json_put) struct json_object *report = NULL;
		pkg_autofree char *path = pkg_path_join(entry, lies[i].path ? lies[i].path : "");
		pkg_cleanup_error struct pkg_error err = { 0 };
		pkg_autofd int tree_fd = -1;
		pkg_autofd int entry_fd = -1;

		assert_int_equal(pkg_dir_make(tree, 0755, NULL), 0);
		tree_fd = pkg_dir_open(tree, NULL);
		entry_fd = pkg_dir_open(entry, NULL);
		report = lang_wheel_unpack(wheel.fd, wheel.dist.file, tree_fd, NULL, NULL);
		assert_non_null(report);
		if (strcmp(lies[i].what, "extra") == 0)
			put_file(entry, "tree/extra", "");
		else if (strcmp(lies[i].what, "hard") == 0)
			assert_int_equal(link(path, other), 0);
		else if (strcmp(lies[i].what, "writable") == 0)
			assert_int_equal(chmod(path, 0644), 0);
		else if (strcmp(lies[i].what, "fifo") == 0)
			assert_int_equal(mkfifo(path, 0444), 0);
		else if (lies[i].path)
			assert_int_equal(unlink(path), 0);
		if (strcmp(lies[i].what, "link") == 0)
			assert_int_equal(symlink("/etc/passwd", path), 0);
		if (strcmp(lies[i].what, "longer") == 0)
			put_file(entry, lies[i].path, "x = 12\n");
		assert_int_equal(lang_python_store_seal(entry_fd, wheel.dist.sha256, report, &err),
			i == 0 ? 0 : -1);
		assert_int_equal(err.kind, i == 0 ? PKG_E_NONE : PKG_E_ARCHIVE);
		assert_int_equal(there(entry, "wheel.json", NULL), i == 0);
	}
}

static void
a_damaged_entry_is_put_away_and_asked_for_again(void **state)
{
	static const char *const damages[] = { "gone", "longer", "touched", "listing" };

	for (size_t i = 0; i < PKG_ARRAY_LEN(damages); i++) {
		struct fixture *fixture = *state;
		cleanup_wheel struct wheel wheel = make_wheel(fixture, &demo);
		pkg_autofree char *entry =
			lang_python_store_path(&fixture->home, wheel.dist.sha256);
		pkg_autofree char *file = pkg_path_join(entry, "tree/demo/sub/m.py");
		pkg_autofree char *cached = fetch_cas_path(fixture->lang.cas, wheel.dist.sha256);
		pkg_cleanup_error struct pkg_error err = { 0 };
		FILE *stream;

		pkg_buf_truncate(&fixture->said, 0);
		open_wheel(fixture, &wheel);
		stage(fixture, &wheel);
		if (i == 0) {
			assert_int_equal(unlink(file), 0);
		} else if (i == 1) {
			/* Through a link in some environment, by root. */
			assert_int_equal(chmod(file, 0644), 0);
			stream = fopen(file, "a");
			assert_non_null(stream);
			(void)fputs("evil = 1\n", stream);
			(void)fclose(stream);
		} else if (i == 2) {
			assert_int_equal(utimensat(AT_FDCWD, file, NULL, 0), 0);
		} else {
			put_file(entry, "files", "\"broken");
		}
		/* The new one cannot be made here: there is no sandbox. What matters is that the
		 * old one is not used. */
		assert_int_equal(unlink(cached), 0);
		assert_int_equal(
			lang_python_stage(&fixture->lang, &fixture->env, &wheel.dist, &err), -1);
		assert_int_equal(err.kind, PKG_E_NOT_FOUND);
		assert_false(there(entry, "", NULL));
		assert_non_null(strstr(pkg_buf_str(&fixture->said), "opening demo-1.0"));
	}
}

static void
only_the_entry_that_was_seen_damaged_is_discarded(void **state)
{
	struct fixture *fixture = *state;
	cleanup_wheel struct wheel wheel = make_wheel(fixture, &demo);
	pkg_autofree char *entry = lang_python_store_path(&fixture->home, wheel.dist.sha256);
	pkg_autofree char *old = pkg_path_join(fixture->root, "old");
	pkg_autofree char *old_tree = pkg_path_join(old, "tree");
	pkg_autofd int fd = -1;

	open_wheel(fixture, &wheel);
	assert_int_equal(rename(entry, old), 0);
	fd = pkg_dir_open(old_tree, NULL);
	open_wheel(fixture, &wheel);
	assert_int_equal(lang_python_store_discard(&fixture->home, wheel.dist.sha256, fd, NULL), 0);
	assert_true(lang_python_store_has(&fixture->home, wheel.dist.sha256));
	assert_int_equal(lang_python_store_discard(&fixture->home, wheel.dist.sha256, -1, NULL), 0);
	assert_false(lang_python_store_has(&fixture->home, wheel.dist.sha256));
	assert_false(there(entry, "", NULL));
}

static void
directories_of_the_dead_are_removed_and_those_of_the_living_kept(void **state)
{
	struct fixture *fixture = *state;
	pkg_autofree char *first = NULL;
	pkg_autofree char *second = NULL;
	pkg_autofree char *third = NULL;
	int dead = lang_python_store_begin(&fixture->home, &first, NULL);
	pkg_autofd int alive = lang_python_store_begin(&fixture->home, &second, NULL);
	pkg_autofd int last = -1;

	assert_true(dead >= 0 && alive >= 0);
	put_file(first, "wheels/x", "");
	put_file(second, "wheels/x", "");
	pkg_close(&dead);
	last = lang_python_store_begin(&fixture->home, &third, NULL);
	assert_true(last >= 0);
	assert_false(there(first, "", NULL));
	assert_true(there(second, "wheels/x", NULL));
	assert_true(there(third, "", NULL));
}

static void
two_wheels_have_two_times_and_one_wheel_has_one(PKG_UNUSED void **state)
{
	assert_int_equal(lang_python_store_time("0000000"
						"f"),
		315532800);
	assert_int_equal(lang_python_store_time("0000001"
						"f"),
		315532801);
	/* Fits 32 bits of a .pyc and is no time of the future. */
	assert_true(lang_python_store_time("fffffff"
					   "f") < 600000000);
}

/* --- unstage --- */

static void
unstage(struct fixture *fixture, const char *location)
{
	struct store_package package = { .name = (char *)"demo",
		.key = (char *)"demo",
		.version = (char *)"1.0",
		.owned = true,
		.location = (char *)(uintptr_t)location };
	pkg_cleanup_error struct pkg_error err = { 0 };

	if (lang_python_unstage(&fixture->lang, &fixture->env, &package, &err) < 0)
		fail_msg("%s", err.message);
}

static enum pkg_error_kind
unstage_fails(struct fixture *fixture, const char *location)
{
	struct store_package package = { .name = (char *)"demo",
		.key = (char *)"demo",
		.version = (char *)"1.0",
		.owned = true,
		.location = (char *)(uintptr_t)location };
	pkg_cleanup_error struct pkg_error err = { 0 };

	assert_int_equal(lang_python_unstage(&fixture->lang, &fixture->env, &package, &err), -1);
	return err.kind;
}

static int
count_entry(void *context, const char *relative, PKG_UNUSED const struct stat *st,
	PKG_UNUSED struct pkg_error *err)
{
	pkg_buf_addf(context, "%s\n", relative);
	return 0;
}

static char *
list_tree(const char *tree)
{
	struct pkg_buf out = { 0 };

	assert_int_equal(pkg_tree_walk(AT_FDCWD, tree, count_entry, &out, NULL), 0);
	return pkg_buf_steal(&out);
}

static void
nothing_is_left_of_a_package_that_goes(void **state)
{
	struct fixture *fixture = *state;
	cleanup_wheel struct wheel wheel = make_wheel(fixture, &demo);
	pkg_autofree char *after = NULL;

	open_wheel(fixture, &wheel);
	put_bytecode(fixture, &wheel, "demo/__pycache__/__init__.cpython-311.pyc", "bytes");
	stage(fixture, &wheel);
	/* What other interpreters wrote beside the sources, and a file that nobody listed in the
	 * metadata directory. */
	put_file(fixture->tree, SITE_311 "/demo/__pycache__/__init__.cpython-312.opt-1.pyc", "");
	put_file(fixture->tree, SITE_311 "/demo/sub/__pycache__/m.pypy39.pyc", "");
	put_file(fixture->tree, SITE_311 "/demo-1.0.dist-info/mine", "");
	unstage(fixture, SITE_311 "/demo-1.0.dist-info");
	after = list_tree(fixture->tree);
	assert_string_equal(
		after, "bin\nbin/activate\nlib\nlib/python3.11\n" SITE_311 "\npyvenv.cfg\n");
	assert_int_equal(fixture->said.len, 0);
	/* The store has lost nothing. */
	stage(fixture, &wheel);
}

static void
what_others_list_or_nobody_listed_stays(void **state)
{
	struct fixture *fixture = *state;
	cleanup_wheel struct wheel first = make_and_stage(fixture, &demo);
	cleanup_wheel struct wheel second = make_and_stage(fixture, &twin);

	put_file(fixture->tree, SITE_311 "/demo/__pycache__/__init__.cpython-311.pyc", "");
	put_file(fixture->tree, SITE_311 "/demo/__pycache__/mine.cpython-311.pyc", "");
	put_file(fixture->tree, SITE_311 "/demo/sub/settings.ini", "mine\n");
	unstage(fixture, SITE_311 "/demo-1.0.dist-info");
	assert_true(there(fixture->tree, SITE_311 "/demo/__init__.py", NULL));
	assert_true(
		there(fixture->tree, SITE_311 "/demo/__pycache__/__init__.cpython-311.pyc", NULL));
	assert_text(fixture->tree, SITE_311 "/demo/sub/settings.ini", "mine\n");
	assert_false(there(fixture->tree, SITE_311 "/demo/sub/m.py", NULL));
	assert_string_equal(pkg_buf_str(&fixture->said),
		"kept 3 files that nobody listed under " SITE_311 "/demo\n");
	/* With the last owner it goes. */
	unstage(fixture, SITE_311 "/twin-2.0.dist-info");
	assert_false(there(fixture->tree, SITE_311 "/demo/__init__.py", NULL));
	assert_true(there(fixture->tree, SITE_311 "/demo/sub/settings.ini", NULL));
}

static void
a_record_that_reaches_out_removes_nothing_at_all(void **state)
{
	static const char *const lines[] = { "../../../../victim,,", "../../../../../../../etc/x,,",
		"/etc/passwd,,", PREFIX ",,", PREFIX "2/x,,", "../../../pyvenv.cfg,,",
		"../../../bin/python,,", "../../../bin/activate,,", "../../../lib64/x,,",
		"../../../bin/../../victim,," };

	for (size_t i = 0; i < PKG_ARRAY_LEN(lines); i++) {
		struct fixture *fixture = *state;
		pkg_autofree char *record =
			pkg_xasprintf("demo.py,,\n%s\ndemo-1.0.dist-info/RECORD,,\n", lines[i]);

		put_file(fixture->root, "victim", "");
		put_file(fixture->tree, SITE_311 "/demo.py", "");
		put_file(fixture->tree, SITE_311 "/demo-1.0.dist-info/RECORD", record);
		assert_int_equal(
			unstage_fails(fixture, SITE_311 "/demo-1.0.dist-info"), PKG_E_ARCHIVE);
		assert_true(there(fixture->tree, SITE_311 "/demo.py", NULL));
		assert_true(there(fixture->root, "victim", NULL));
		assert_true(there(fixture->tree, "bin/activate", NULL));
	}
}

static void
absolute_paths_below_the_prefix_are_the_trees(void **state)
{
	struct fixture *fixture = *state;

	put_file(fixture->tree, "share/x", "");
	put_file(fixture->tree, SITE_311 "/demo-1.0.dist-info/RECORD",
		PREFIX "/share/x,,\n../../../bin/cmd,,\n");
	put_file(fixture->tree, "bin/cmd", "");
	unstage(fixture, SITE_311 "/demo-1.0.dist-info");
	assert_false(there(fixture->tree, "share", NULL));
	assert_false(there(fixture->tree, "bin/cmd", NULL));
	assert_true(there(fixture->tree, "bin", NULL));
}

static void
links_inside_the_tree_lead_nowhere(void **state)
{
	struct fixture *fixture = *state;
	pkg_autofree char *outside = pkg_path_join(fixture->root, "outside");
	pkg_autofree char *way = pkg_path_join(fixture->tree, SITE_311 "/way");
	pkg_autofree char *cache = pkg_path_join(fixture->tree, SITE_311 "/__pycache__");

	put_file(fixture->root, "outside/x.py", "");
	put_file(fixture->root, "outside/demo.cpython-311.pyc", "");
	put_file(fixture->tree, SITE_311 "/demo.py", "");
	put_file(fixture->tree, SITE_311 "/demo-1.0.dist-info/RECORD",
		"demo.py,,\nway/x.py,,\nfile,,\n");
	assert_int_equal(symlink(outside, way), 0);
	assert_int_equal(symlink(outside, cache), 0);
	unstage(fixture, SITE_311 "/demo-1.0.dist-info");
	assert_true(there(fixture->root, "outside/x.py", NULL));
	assert_true(there(fixture->root, "outside/demo.cpython-311.pyc", NULL));
	assert_false(there(fixture->tree, SITE_311 "/demo.py", NULL));
	assert_true(there(fixture->tree, SITE_311 "/way", NULL));
}

static void
old_metadata_is_used_when_it_lists_files_and_refused_when_not(void **state)
{
	struct fixture *fixture = *state;

	put_file(fixture->tree, SITE_311 "/old/m.py", "");
	put_file(fixture->tree, SITE_311 "/old-1.egg-info/PKG-INFO", "");
	assert_int_equal(unstage_fails(fixture, SITE_311 "/old-1.egg-info"), PKG_E_UNSUPPORTED);
	assert_true(there(fixture->tree, SITE_311 "/old/m.py", NULL));
	put_file(fixture->tree, SITE_311 "/old-1.egg-info/top_level.txt", "../..\n");
	assert_int_equal(unstage_fails(fixture, SITE_311 "/old-1.egg-info"), PKG_E_ARCHIVE);
	put_file(fixture->tree, SITE_311 "/old-1.egg-info/installed-files.txt",
		"../old/m.py\nPKG-INFO\n");
	unstage(fixture, SITE_311 "/old-1.egg-info");
	assert_false(there(fixture->tree, SITE_311 "/old", NULL));
	assert_false(there(fixture->tree, SITE_311 "/old-1.egg-info", NULL));

	put_file(fixture->tree, SITE_311 "/top/m.py", "");
	put_file(fixture->tree, SITE_311 "/single.py", "");
	put_file(fixture->tree, SITE_311 "/top-1.egg-info/top_level.txt", "top\nsingle\n");
	unstage(fixture, SITE_311 "/top-1.egg-info");
	assert_false(there(fixture->tree, SITE_311 "/top", NULL));
	assert_false(there(fixture->tree, SITE_311 "/single.py", NULL));
	assert_true(there(fixture->tree, SITE_311, NULL));
}

/* --- all of it, with the real programs --- */

static char *
find_programs(void)
{
	char *here = getcwd(NULL, 0);
	pkg_autofree char *program = pkg_path_join(here, "pkg-unpack");

	if (pkg_file_exists(program) && pkg_file_exists("/usr/bin/python3.11") &&
		getenv("PKGD_TEST_SRCDIR"))
		return here;
	free(here);
	return NULL;
}

static const struct spec odd = {
	.name = "odd",
	.version = "1.0",
	.files = { { .name = "odd/__init__.py", .data = "def f():\n    return 1 / 0\n" },
		{ .name = "odd/template.py", .data = "class {{ name }}:\n" },
		{ .name = "odd/old.py", .data = "print 'two'\n" },
		{ .name = "odd-1.0.data/purelib/pure.py", .data = "a = 1\n" },
		{ .name = "odd-1.0.data/data/share/not_imported.py", .data = "a = 1\n" },
		{ .name = "odd-1.0.data/scripts/cmd.py", .data = "#!python\n" } },
};

static void
wheels_are_opened_once_and_compiled_where_they_compile(void **state)
{
	struct fixture *fixture = *state;
	cleanup_wheel struct wheel wheel = make_wheel(fixture, &odd);
	const struct sandbox_options options = { .mode = SANDBOX_OFF };
	pkg_cleanup_error struct pkg_error err = { 0 };
	pkg_autofree char *libexec = find_programs();
	pkg_cleanup(sandbox_free) struct sandbox *sandbox = NULL;
	pkg_autofree char *record = NULL;
	static const char *const compiled[] = { SITE_311
		"/odd/__pycache__/__init__.cpython-311.pyc",
		SITE_311 "/__pycache__/pure.cpython-311.pyc" };

	if (!libexec)
		skip();
	fixture->home.libexec = libexec;
	fixture->home.share = getenv("PKGD_TEST_SRCDIR");
	fixture->home.config = fixture->home.data = fixture->home.state = fixture->home.run =
		fixture->root;
	sandbox = sandbox_open(&fixture->home, &options, &err);
	if (!sandbox)
		fail_msg("%s", err.message);
	fixture->lang.sandbox = sandbox;
	for (size_t i = 0; i < 2; i++)
		if (lang_python_prepare(&fixture->lang, &fixture->env, &wheel.dist, 1, &err) < 0)
			fail_msg("%s", err.message);
	assert_string_equal(pkg_buf_str(&fixture->said), "unpacking 1 wheel\ncompiling 1 wheel\n");
	stage(fixture, &wheel);
	record = list_tree(fixture->tree);
	for (size_t i = 0; i < PKG_ARRAY_LEN(compiled); i++)
		assert_non_null(strstr(record, compiled[i]));
	assert_null(strstr(record, "old.cpython"));
	assert_null(strstr(record, "template.cpython"));
	assert_null(strstr(record, "not_imported.cpython"));
	assert_null(strstr(record, "cmd.cpython"));
	fixture->lang.sandbox = NULL;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_wheel_is_linked_and_its_record_is_pips),
		TEST(scripts_name_the_stable_prefix_and_can_be_run),
		TEST(requests_and_direct_urls_are_recorded),
		TEST(a_dependency_from_an_index_has_neither),
		TEST(what_is_in_the_tree_is_replaced_but_never_written_to),
		TEST(a_link_in_the_place_of_a_directory_is_not_followed),
		TEST(a_directory_in_the_place_of_a_file_is_an_error),
		TEST(two_packages_of_an_overlay_may_share_a_file_only_when_it_is_the_same),
		TEST(in_a_tree_the_last_one_wins_as_with_pip),
		TEST(a_wheel_of_another_name_or_version_is_refused),
		TEST(a_tree_that_is_not_as_reported_is_not_sealed),
		TEST(a_damaged_entry_is_put_away_and_asked_for_again),
		TEST(only_the_entry_that_was_seen_damaged_is_discarded),
		TEST(directories_of_the_dead_are_removed_and_those_of_the_living_kept),
		TEST(two_wheels_have_two_times_and_one_wheel_has_one),
		TEST(nothing_is_left_of_a_package_that_goes),
		TEST(what_others_list_or_nobody_listed_stays),
		TEST(a_record_that_reaches_out_removes_nothing_at_all),
		TEST(absolute_paths_below_the_prefix_are_the_trees),
		TEST(links_inside_the_tree_lead_nowhere),
		TEST(old_metadata_is_used_when_it_lists_files_and_refused_when_not),
		TEST(wheels_are_opened_once_and_compiled_where_they_compile),
	};

	(void)umask(022);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
