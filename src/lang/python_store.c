#include "lang/python_store.h"

#include "core/file.h"
#include "core/lock.h"
#include "core/path.h"
#include "core/sha256.h"
#include "core/text.h"
#include "core/time.h"
#include "core/tree.h"
#include "lang/pep440.h"
#include "lang/pep503.h"
#include "lang/python_facts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEAD_MAX (4 * 1024 * 1024)
#define EPOCH 315532800 /* 1980-01-01, before which zip files have no time */
#define LOCK_SLICE_MS 200

/* --- names --- */

const char *
lang_python_store_sha256(const struct lang_dist *dist)
{
	const char *sha256 = dist->wheel_sha256 ? dist->wheel_sha256
		: dist->is_sdist		? NULL
						: dist->sha256;

	return sha256 && pkg_sha256_is_hex(sha256) ? sha256 : NULL;
}

time_t
lang_python_store_time(const char *sha256)
{
	char digits[8] = "";

	/* 28 bits of seconds are eight years. */
	memcpy(digits, sha256, sizeof(digits) - 1);
	return EPOCH + strtol(digits, NULL, 16);
}

char *
lang_python_store_path(const struct pkg_home *home, const char *sha256)
{
	return pkg_path_joinf(home->cache, "wheels/%.2s/%s", sha256, sha256);
}

char *
lang_python_store_bytecode(
	const struct pkg_home *home, struct json_object *facts, const char *sha256)
{
	return pkg_path_joinf(home->cache, "bytecode/%s-%s/%.2s/%s", lang_python_cache_tag(facts),
		lang_python_magic(facts), sha256, sha256);
}

bool
lang_python_store_has(const struct pkg_home *home, const char *sha256)
{
	pkg_autofree char *path = lang_python_store_path(home, sha256);
	pkg_autofree char *head = pkg_path_join(path, "wheel.json");

	return pkg_file_exists(head);
}

bool
lang_python_store_has_bytecode(
	const struct pkg_home *home, struct json_object *facts, const char *sha256)
{
	pkg_autofree char *path = lang_python_store_bytecode(home, facts, sha256);

	return pkg_file_exists(path);
}

/* --- reading an entry --- */

static int
load_points(struct json_object *head, struct lang_entry_points *out, struct pkg_error *err)
{
	const char *text = pkg_json_str(head, "entry_points");

	return text ? lang_entry_points_parse(text, strlen(text), out, err) : 0;
}

static int
load_head(int dir_fd, struct lang_python_wheel *out, struct pkg_error *err)
{
	pkg_cleanup_buf struct pkg_buf text = { 0 };
	pkg_cleanup(pkg_json_put) struct json_object *head = NULL;

	if (pkg_file_read_beneath(dir_fd, "wheel.json", HEAD_MAX, &text, err) < 0)
		return -1;
	head = pkg_json_parse(pkg_buf_str(&text), text.len, err);
	if (!head || !pkg_json_need_str(head, "name", err) ||
		!pkg_json_need_str(head, "version", err) ||
		!pkg_json_need_str(head, "dist_info", err))
		return -1;
	out->name = pkg_xstrdup(pkg_json_str(head, "name"));
	out->version = pkg_xstrdup(pkg_json_str(head, "version"));
	out->dist_info = pkg_xstrdup(pkg_json_str(head, "dist_info"));
	out->data = pkg_xstrdup(pkg_json_str(head, "data"));
	out->requires_python = pkg_xstrdup(pkg_json_str(head, "requires_python"));
	out->root_is_purelib = pkg_json_bool(head, "root_is_purelib", true);
	return load_points(head, &out->points, err);
}

static int
load(int dir_fd, bool with_files, struct lang_python_wheel *out, struct pkg_error *err)
{
	pkg_cleanup_buf struct pkg_buf text = { 0 };

	if (load_head(dir_fd, out, err) < 0)
		return -1;
	if (!with_files)
		return 0;
	if (pkg_file_read_beneath(dir_fd, "files", LANG_RECORD_BYTES_MAX, &text, err) < 0)
		return -1;
	return lang_record_parse(pkg_buf_str(&text), text.len, &out->files, err);
}

int
lang_python_store_load(const struct pkg_home *home, const char *sha256, bool with_files,
	struct lang_python_wheel *out, struct pkg_error *err)
{
	pkg_autofree char *path = lang_python_store_path(home, sha256);
	pkg_cleanup_error struct pkg_error why = { 0 };
	pkg_autofd int fd = pkg_dir_open(path, NULL);

	if (fd >= 0 && load(fd, with_files, out, &why) == 0)
		return 0;
	lang_python_wheel_clear(out);
	return pkg_error_set(err, PKG_E_NOT_FOUND, "the opened wheel '%s' cannot be read: %s", path,
		why.message ? why.message : "there is none");
}

int
lang_python_store_agrees(
	const struct lang_dist *dist, const struct lang_python_wheel *wheel, struct pkg_error *err)
{
	struct lang_pep440_version planned, found;

	if (!lang_pep503_equal(wheel->name, dist->key))
		return pkg_error_set(err, PKG_E_ARCHIVE, "%s holds '%s' where %s was planned",
			dist->file, wheel->name, dist->name);
	if (lang_pep440_parse(wheel->version, &found, NULL) == 0 &&
				lang_pep440_parse(dist->version, &planned, NULL) == 0
			? lang_pep440_compare(&planned, &found) == 0
			: strcmp(wheel->version, dist->version) == 0)
		return 0;
	return pkg_error_set(err, PKG_E_ARCHIVE, "%s holds version %s where %s was planned",
		dist->file, wheel->version, dist->version);
}

bool
lang_python_store_intact(
	int tree_fd, const struct lang_record_entry *file, time_t mtime, struct stat *st)
{
	return fstatat(tree_fd, file->path, st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st->st_mode) &&
		st->st_size == file->size && st->st_mtime == mtime;
}

/* --- making one --- */

/* Locks are never deleted, so there are few of them and one may stand for several wheels. */
int
lang_python_store_lock(struct lang_context *lang, const char *sha256, struct pkg_error *err)
{
	pkg_autofree char *directory = pkg_path_join(lang->home->cache, "opening/locks");
	pkg_autofree char *path = pkg_path_joinf(directory, "%.2s", sha256);
	pkg_cleanup_error struct pkg_error busy = { 0 };

	if (pkg_dir_make(directory, 0700, err) < 0)
		return -1;
	for (bool told = false;; told = true) {
		struct pollfd cancel = { .fd = lang->cancel_fd, .events = POLLIN };
		int fd = pkg_lock_take(path, told ? LOCK_SLICE_MS : 0, &busy);

		if (fd >= 0)
			return fd;
		if (busy.kind != PKG_E_BUSY) {
			pkg_error_move(err, &busy);
			return -1;
		}
		if (lang->cancel_fd >= 0 && poll(&cancel, 1, 0) > 0)
			return pkg_error_set(err, PKG_E_CANCELLED, "cancelled");
		if (!told && lang->status)
			lang->status(lang->context,
				"waiting for another job that opens the same wheels");
	}
}

/* A directory whose holder is gone is not locked any more. */
static void
remove_leftovers(int opening)
{
	int copy = fcntl(opening, F_DUPFD_CLOEXEC, 3);
	DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;

	if (!dir) {
		pkg_close(&copy);
		return;
	}
	for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
		pkg_autofd int fd = -1;

		if (strncmp(entry->d_name, ".tmp-", 5) != 0)
			continue;
		fd = pkg_dir_open_at(opening, entry->d_name, NULL);
		if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
			(void)pkg_tree_remove_at(opening, entry->d_name, NULL);
	}
	closedir(dir);
}

int
lang_python_store_begin(const struct pkg_home *home, char **path, struct pkg_error *err)
{
	pkg_autofree char *parent = pkg_path_join(home->cache, "opening");
	pkg_autofd int opening = -1;

	if (pkg_dir_make(parent, 0700, err) < 0)
		return -1;
	opening = pkg_dir_open(parent, err);
	if (opening < 0)
		return -1;
	remove_leftovers(opening);
	for (;;) {
		char name[PKG_TEMP_NAME];
		pkg_autofd int fd = -1;
		struct stat mine, there;

		pkg_temp_name(name);
		if (mkdirat(opening, name, 0700) < 0)
			return pkg_error_errno(err, errno, "create '%s/%s'", parent, name);
		fd = pkg_dir_open_at(opening, name, NULL);
		/* Between the two somebody may have taken it for a leftover. */
		if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0 || fstat(fd, &mine) < 0 ||
			fstatat(opening, name, &there, AT_SYMLINK_NOFOLLOW) < 0 ||
			mine.st_ino != there.st_ino)
			continue;
		*path = pkg_path_join(parent, name);
		return pkg_steal_fd(&fd);
	}
}

struct seal {
	const struct lang_record *files; /* sorted */
	size_t seen;
	int tree;
	struct timespec times[2];
};

static int
compare_paths(const void *key, const void *entry)
{
	return strcmp(key, ((const struct lang_record_entry *)entry)->path);
}

static const struct lang_record_entry *
find_row(const struct lang_record *files, const char *path)
{
	if (files->count == 0)
		return NULL;
	return bsearch(path, files->entries, files->count, sizeof(*files->entries), compare_paths);
}

/* What a sandbox left is looked at as if an attacker had written it: no links, nothing more and
 * nothing less than what was reported. */
static int
seal_entry(void *context, const char *relative, const struct stat *st, struct pkg_error *err)
{
	struct seal *seal = context;
	const struct lang_record_entry *file;

	if (S_ISDIR(st->st_mode))
		return 0;
	file = find_row(seal->files, relative);
	if (!file || !S_ISREG(st->st_mode) || st->st_nlink != 1 || st->st_size != file->size ||
		(st->st_mode & 07222)) {
		pkg_autofree char *shown = pkg_text_clean(relative, strlen(relative), 200, false);

		return pkg_error_set(
			err, PKG_E_ARCHIVE, "'%s' was not unpacked as pkg-unpack reported", shown);
	}
	if (utimensat(seal->tree, relative, seal->times, AT_SYMLINK_NOFOLLOW) < 0)
		return pkg_error_errno(err, errno, "set the time of '%s'", relative);
	seal->seen++;
	return 0;
}

static bool
to_digest(const char *hex, unsigned char out[PKG_SHA256_BYTES])
{
	if (!hex || !pkg_sha256_is_hex(hex))
		return false;
	for (size_t i = 0; i < PKG_SHA256_BYTES; i++) {
		char pair[3] = { hex[2 * i], hex[2 * i + 1], '\0' };

		out[i] = (unsigned char)strtoul(pair, NULL, 16);
	}
	return true;
}

static int
report_files(struct json_object *report, struct lang_record *out, struct pkg_error *err)
{
	struct json_object *rows = pkg_json_array(report, "files");

	for (size_t i = 0; rows && i < json_object_array_length(rows); i++) {
		struct json_object *row = json_object_array_get_idx(rows, i);
		const char *path = pkg_json_str_or(row, "path", "");
		int64_t size = pkg_json_int(row, "size", -1);
		unsigned char digest[PKG_SHA256_BYTES];
		char text[44];

		if (!pkg_path_is_confined(path, strlen(path)) || size < 0 ||
			!to_digest(pkg_json_str(row, "sha256"), digest))
			return pkg_error_set(
				err, PKG_E_ARCHIVE, "the report of pkg-unpack is malformed");
		pkg_sha256_base64url(digest, text);
		lang_record_add(out, path, text, size);
	}
	lang_record_sort(out);
	return 0;
}

static int
write_files(int dir_fd, const struct lang_record *files, struct pkg_error *err)
{
	pkg_cleanup_buf struct pkg_buf text = { 0 };

	lang_record_write(files, &text);
	return pkg_file_write_at(dir_fd, "files", pkg_buf_str(&text), text.len, 0444, false, err);
}

/* The commands alone, in the form that their one parser reads. Given; NULL: none. */
static char *
points_text(int dir_fd, const char *dist_info, struct pkg_error *err)
{
	pkg_autofree char *path = pkg_xasprintf("tree/%s/entry_points.txt", dist_info);
	lang_cleanup_entry_points struct lang_entry_points points = { 0 };
	pkg_cleanup_buf struct pkg_buf text = { 0 };
	struct pkg_buf out = { 0 };

	if (pkg_file_read_beneath(dir_fd, path, LANG_ENTRY_POINTS_BYTES_MAX, &text, err) < 0 ||
		lang_entry_points_parse(pkg_buf_str(&text), text.len, &points, err) < 0)
		return NULL;
	for (int gui = 0; gui < 2; gui++) {
		pkg_buf_addf(&out, "[%s_scripts]\n", gui ? "gui" : "console");
		for (size_t i = 0; i < points.count; i++)
			if (points.items[i].gui == (gui == 1))
				pkg_buf_addf(&out, "%s = %s:%s\n", points.items[i].name,
					points.items[i].module, points.items[i].attr);
	}
	return pkg_buf_steal(&out);
}

static int
write_head(int dir_fd, struct json_object *report, const struct lang_record *files,
	struct pkg_error *err)
{
	static const char *const keys[] = { "name", "version", "dist_info", "data",
		"root_is_purelib", "requires_python", "bytes" };
	pkg_cleanup(pkg_json_put) struct json_object *head = json_object_new_object();
	pkg_autofree char *path =
		pkg_xasprintf("%s/entry_points.txt", pkg_json_str_or(report, "dist_info", ""));
	pkg_autofree char *points = NULL;
	pkg_autofree char *text = NULL;
	char now[PKG_TIME_TEXT];

	for (size_t i = 0; i < PKG_ARRAY_LEN(keys); i++)
		pkg_json_set(head, keys[i], json_object_get(pkg_json_get(report, keys[i])));
	if (find_row(files, path)) {
		points = points_text(dir_fd, pkg_json_str(report, "dist_info"), err);
		if (!points)
			return -1;
		pkg_json_set_str(head, "entry_points", points);
	}
	pkg_time_format(pkg_time_now_ms(), now);
	pkg_json_set_str(head, "opened", now);
	text = pkg_json_line(head);
	return pkg_file_write_at(dir_fd, "wheel.json", text, strlen(text), 0444, false, err);
}

int
lang_python_store_seal(
	int dir_fd, const char *sha256, struct json_object *report, struct pkg_error *err)
{
	lang_cleanup_record struct lang_record files = { 0 };
	pkg_autofd int tree = pkg_file_open_beneath(dir_fd, "tree", O_RDONLY | O_DIRECTORY, 0, err);
	struct seal seal = { .files = &files, .tree = tree };

	if (tree < 0 || report_files(report, &files, err) < 0)
		return -1;
	seal.times[0].tv_sec = lang_python_store_time(sha256);
	seal.times[1].tv_sec = seal.times[0].tv_sec;
	if (pkg_tree_walk(tree, ".", seal_entry, &seal, err) < 0)
		return -1;
	if (seal.seen != files.count)
		return pkg_error_set(err, PKG_E_ARCHIVE, "%zu files were unpacked, %zu reported",
			seal.seen, files.count);
	if (write_files(dir_fd, &files, err) < 0)
		return -1;
	return write_head(dir_fd, report, &files, err);
}

int
lang_python_store_publish(const char *from, const char *to, struct pkg_error *err)
{
	pkg_autofree char *parent = pkg_path_dir(to);

	if (pkg_dir_make(parent, 0755, err) < 0)
		return -1;
	if (rename(from, to) < 0 && errno != EEXIST && errno != ENOTEMPTY)
		return pkg_error_errno(err, errno, "move '%s' into the store", from);
	return 0;
}

static bool
is_same_tree(const char *entry, int tree_fd)
{
	pkg_autofree char *path = pkg_path_join(entry, "tree");
	struct stat mine, there;

	return fstat(tree_fd, &mine) == 0 && lstat(path, &there) == 0 &&
		mine.st_ino == there.st_ino && mine.st_dev == there.st_dev;
}

int
lang_python_store_discard(
	const struct pkg_home *home, const char *sha256, int tree_fd, struct pkg_error *err)
{
	pkg_autofree char *entry = lang_python_store_path(home, sha256);
	pkg_autofree char *aside = NULL;
	pkg_autofree char *target = NULL;
	pkg_autofd int held = -1;

	if (tree_fd >= 0 && !is_same_tree(entry, tree_fd))
		return 0;
	held = lang_python_store_begin(home, &aside, err);
	if (held < 0)
		return -1;
	target = pkg_path_join(aside, sha256);
	if (rename(entry, target) < 0 && errno != ENOENT)
		return pkg_error_errno(err, errno, "move '%s' out of the store", entry);
	(void)pkg_tree_remove(aside, NULL);
	return 0;
}
