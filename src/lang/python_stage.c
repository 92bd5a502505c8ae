/* Linking one opened wheel into a tree. Nothing runs in that tree meanwhile, but what is in it may have been
 * made by somebody hostile: a directory is entered only when it is seen to be one (a link that looks
 * like one is refused), and a file that is there is never opened for writing, as its inode may be
 * the store's. */
#include "lang/python.h"
#include "lang/python_scripts.h"
#include "lang/python_store.h"

#include "core/file.h"
#include "core/path.h"
#include "core/sha256.h"
#include "core/text.h"
#include "core/tree.h"
#include "core/url.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SCRIPT_MAX (64 * 1024 * 1024)
#define CHUNK 65536

struct stage {
	const struct lang_dist *dist;
	const struct lang_python_wheel *wheel;
	const struct lang_python_layout *layout;
	char *dist_info; /* owned; relative to the tree */
	char *site; /* owned; the directory that it is in, to which RECORD paths are relative */
	int root; /* owned; of the tree or overlay */
	int tree; /* owned; of the wheel in the store */
	int bytecode; /* owned; -1: there is none */
	time_t mtime;
	bool overlay;
	struct lang_record record;
	char ready[PATH_MAX]; /* the last directory that was made sure of, with those above it */
	bool damaged; /* the store's entry, not the tree */
};

static void
stage_clear(struct stage *stage)
{
	pkg_close(&stage->root);
	pkg_close(&stage->tree);
	pkg_close(&stage->bytecode);
	lang_record_clear(&stage->record);
	free(stage->dist_info);
	free(stage->site);
}

/* --- directories --- */

/* Everything up to `len` bytes of path is there. */
static bool
is_ready(const struct stage *stage, const char *path, size_t len)
{
	return strncmp(stage->ready, path, len) == 0 &&
		(stage->ready[len] == '\0' || stage->ready[len] == '/');
}

static int
make_directory(struct stage *stage, const char *path, struct pkg_error *err)
{
	struct stat st;

	if (mkdirat(stage->root, path, 0755) == 0)
		return 0;
	if (errno != EEXIST)
		return pkg_error_errno(err, errno, "create directory '%s'", path);
	if (fstatat(stage->root, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return pkg_error_errno(err, errno, "look at '%s'", path);
	if (S_ISDIR(st.st_mode))
		return 0;
	return pkg_error_set(err, PKG_E_PATH_CLASH, "%s needs the directory '%s', which is a %s",
		stage->dist->name, path, S_ISLNK(st.st_mode) ? "link" : "file");
}

/* Items come in the order of their paths, so that whatever is below one directory comes in one piece and
 * looking back at the last one is enough. */
static int
ready_parent(struct stage *stage, const char *path, struct pkg_error *err)
{
	const char *base = pkg_path_base(path);
	size_t len = base > path ? (size_t)(base - path) - 1 : 0;
	char directory[PATH_MAX];

	if (len == 0 || is_ready(stage, path, len))
		return 0;
	if (len >= sizeof(directory))
		return pkg_error_set(err, PKG_E_ARCHIVE, "a path of more than %d bytes", PATH_MAX);
	memcpy(directory, path, len);
	directory[len] = '\0';
	for (size_t i = 1; i <= len; i++) {
		if (directory[i] != '/' && directory[i] != '\0')
			continue;
		directory[i] = '\0';
		if (!is_ready(stage, directory, i) && make_directory(stage, directory, err) < 0)
			return -1;
		if (i < len)
			directory[i] = '/';
	}
	memcpy(stage->ready, directory, len + 1);
	return 0;
}

/* --- what is there already --- */

static bool
same_bytes(int a, int b)
{
	char left[CHUNK], right[CHUNK];

	for (off_t at = 0;;) {
		ssize_t n = pread(a, left, sizeof(left), at);
		ssize_t m = pread(b, right, sizeof(right), at);

		/* Regular files of one size: a short read is one of both or an error. */
		if (n != m || n < 0 || memcmp(left, right, (size_t)n) != 0)
			return false;
		if (n == 0)
			return true;
		at += n;
	}
}

static bool
same_file(int dir, const char *path, int other_dir, const char *other)
{
	pkg_autofd int a = pkg_file_open_beneath(dir, path, O_RDONLY, 0, NULL);
	pkg_autofd int b = pkg_file_open_beneath(other_dir, other, O_RDONLY, 0, NULL);
	struct stat first, second;

	if (a < 0 || b < 0 || fstat(a, &first) < 0 || fstat(b, &second) < 0 ||
		!S_ISREG(first.st_mode) || !S_ISREG(second.st_mode) ||
		first.st_size != second.st_size)
		return false;
	return (first.st_ino == second.st_ino && first.st_dev == second.st_dev) || same_bytes(a, b);
}

static bool
same_text(int dir, const char *path, const struct pkg_buf *text)
{
	pkg_cleanup_buf struct pkg_buf there = { 0 };

	return pkg_file_read_beneath(dir, path, text->len, &there, NULL) == 0 &&
		there.len == text->len &&
		memcmp(pkg_buf_str(&there), pkg_buf_str(text), text->len) == 0;
}

static bool
lists_path(int site, const char *dist_info, const char *path)
{
	pkg_autofree char *name = pkg_path_join(dist_info, "RECORD");
	pkg_cleanup_buf struct pkg_buf text = { 0 };
	lang_cleanup_record struct lang_record record = { 0 };

	if (pkg_file_read_beneath(site, name, LANG_RECORD_BYTES_MAX, &text, NULL) < 0 ||
		lang_record_parse(pkg_buf_str(&text), text.len, &record, NULL) < 0)
		return false;
	for (size_t i = 0; i < record.count; i++)
		if (strcmp(record.entries[i].path, path) == 0)
			return true;
	return false;
}

/* "name-version" of whoever lists the path; for an error. Given. */
static char *
owner_of(const struct stage *stage, const char *path)
{
	pkg_autofree char *listed = lang_python_record_path(stage->site, path);
	pkg_autofd int site =
		pkg_file_open_beneath(stage->root, stage->site, O_RDONLY | O_DIRECTORY, 0, NULL);
	int copy = site >= 0 ? fcntl(site, F_DUPFD_CLOEXEC, 3) : -1;
	DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
	char *found = NULL;

	for (struct dirent *entry; dir && !found && (entry = readdir(dir)) != NULL;)
		if (pkg_text_has_suffix(entry->d_name, ".dist-info") &&
			lists_path(site, entry->d_name, listed))
			found = pkg_xstrndup(
				entry->d_name, strlen(entry->d_name) - strlen(".dist-info"));
	if (dir)
		closedir(dir);
	return found ? found : pkg_xstrdup("another package");
}

static int
clash(const struct stage *stage, const char *path, struct pkg_error *err)
{
	pkg_autofree char *owner = owner_of(stage, path);

	return pkg_error_set(err, PKG_E_PATH_CLASH, "%s and %s both have '%s', and they differ",
		owner, stage->dist->name, path);
}

static int
take_away(const struct stage *stage, const char *path, struct pkg_error *err)
{
	if (unlinkat(stage->root, path, 0) == 0)
		return 0;
	if (errno == EISDIR)
		return pkg_error_set(err, PKG_E_PATH_CLASH,
			"%s has a file '%s', which is a directory in the environment",
			stage->dist->name, path);
	return pkg_error_errno(err, errno, "replace '%s'", path);
}

/* Our own metadata may be left of an attempt that met a damaged store. */
static bool
is_own(const struct stage *stage, const char *path)
{
	size_t len = strlen(stage->dist_info);

	return strncmp(path, stage->dist_info, len) == 0 && path[len] == '/';
}

/* The path is taken. 1: leave it as it is; 0: it is free now. */
static int
make_room(
	struct stage *stage, const struct lang_python_item *item, bool same, struct pkg_error *err)
{
	if (!stage->overlay || is_own(stage, item->path))
		return take_away(stage, item->path, err);
	/* Bytecode goes with the source that was there first, and only if that was the same. */
	if (same || item->kind == LANG_PYTHON_BYTECODE)
		return 1;
	return clash(stage, item->path, err);
}

/* --- files --- */

static void
list(struct stage *stage, const struct lang_python_item *item, const char *sha256, long long size)
{
	pkg_autofree char *path = lang_python_record_path(stage->site, item->path);

	lang_record_add(&stage->record, path, sha256, size);
}

static int
link_once(struct stage *stage, int from, const char *name, const char *path, struct pkg_error *err)
{
	/* Called for every file: the plain call first, the fallbacks of core after it. */
	if (linkat(from, name, stage->root, path, 0) == 0)
		return 0;
	if (errno == EEXIST)
		return 1;
	return pkg_file_link_or_copy(from, name, stage->root, path, NULL, err);
}

static int
place_link(struct stage *stage, const struct lang_python_item *item, int from, const char *name,
	struct pkg_error *err)
{
	int taken = link_once(stage, from, name, item->path, err);
	bool same;

	if (taken <= 0)
		return taken;
	same = stage->overlay && same_file(stage->root, item->path, from, name);
	taken = make_room(stage, item, same, err);
	if (taken != 0)
		return taken < 0 ? -1 : 0;
	return link_once(stage, from, name, item->path, err);
}

static int
link_file(struct stage *stage, const struct lang_python_item *item, struct pkg_error *err)
{
	struct stat st;

	if (!lang_python_store_intact(stage->tree, item->file, stage->mtime, &st)) {
		stage->damaged = true;
		return pkg_error_set(err, PKG_E_ARCHIVE,
			"the opened wheel of %s lost or changed '%s'", stage->dist->name,
			item->file->path);
	}
	if (place_link(stage, item, stage->tree, item->file->path, err) < 0)
		return -1;
	list(stage, item, item->file->sha256, item->file->size);
	return 0;
}

/* A source that does not compile has none; without hash and size in RECORD, as pip lists it. */
static int
link_bytecode(struct stage *stage, const struct lang_python_item *item, struct pkg_error *err)
{
	pkg_autofree char *name = lang_python_pyc_path(item->file->path, stage->layout->cache_tag);
	struct stat st;

	if (stage->bytecode < 0 || !name ||
		fstatat(stage->bytecode, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		!S_ISREG(st.st_mode))
		return 0;
	if (ready_parent(stage, item->path, err) < 0 ||
		place_link(stage, item, stage->bytecode, name, err) < 0)
		return -1;
	list(stage, item, NULL, -1);
	return 0;
}

static int
write_text(struct stage *stage, const char *path, const struct pkg_buf *text, mode_t mode,
	struct pkg_error *err)
{
	pkg_autofd int fd = openat(
		stage->root, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);

	if (fd < 0 && errno == EEXIST)
		return 1;
	if (fd < 0)
		return pkg_error_errno(err, errno, "create '%s'", path);
	if (pkg_write_all(fd, pkg_buf_str(text), text->len, err) < 0)
		return pkg_error_prefix(err, "write '%s'", path);
	return 0;
}

static int
place_text(struct stage *stage, const struct lang_python_item *item, const struct pkg_buf *text,
	mode_t mode, struct pkg_error *err)
{
	int taken = write_text(stage, item->path, text, mode, err);

	if (taken > 0) {
		bool same = stage->overlay && same_text(stage->root, item->path, text);

		taken = make_room(stage, item, same, err);
		if (taken == 0)
			taken = write_text(stage, item->path, text, mode, err);
	}
	return taken < 0 ? -1 : 0;
}

static int
write_listed(struct stage *stage, const struct lang_python_item *item, const struct pkg_buf *text,
	mode_t mode, struct pkg_error *err)
{
	pkg_cleanup(pkg_sha256_free) struct pkg_sha256 *sha = NULL;
	unsigned char digest[PKG_SHA256_BYTES];
	char hash[44];

	if (place_text(stage, item, text, mode, err) < 0)
		return -1;
	sha = pkg_sha256_new();
	pkg_sha256_add(sha, pkg_buf_str(text), text->len);
	pkg_sha256_end(sha, digest);
	pkg_sha256_base64url(digest, hash);
	list(stage, item, hash, (long long)text->len);
	return 0;
}

static int
write_script(struct stage *stage, const struct lang_python_item *item, struct pkg_error *err)
{
	pkg_cleanup_buf struct pkg_buf text = { 0 };
	pkg_cleanup_buf struct pkg_buf rewritten = { 0 };
	struct stat st;
	bool ours;

	if (!lang_python_store_intact(stage->tree, item->file, stage->mtime, &st))
		return link_file(stage, item, err); /* which says so */
	if (pkg_file_read_beneath(stage->tree, item->file->path, SCRIPT_MAX, &text, err) < 0)
		return -1;
	ours = lang_python_script_is_ours(pkg_buf_str(&text), text.len);
	/* Programs and scripts of other languages are as good as their link, if they can be run. */
	if (!ours && (st.st_mode & 0100))
		return link_file(stage, item, err);
	if (ours)
		lang_python_script_rewrite(
			stage->layout->interpreter, pkg_buf_str(&text), text.len, &rewritten);
	return write_listed(stage, item, ours ? &rewritten : &text, 0755, err);
}

static int
write_launcher(struct stage *stage, const struct lang_python_item *item, struct pkg_error *err)
{
	pkg_cleanup_buf struct pkg_buf text = { 0 };

	lang_python_launcher(stage->layout->interpreter, item->point, &text);
	return write_listed(stage, item, &text, 0755, err);
}

/* PEP 610, as pip spells it. */
static void
direct_url(const struct lang_dist *dist, struct pkg_buf *out)
{
	pkg_autofree char *url = pkg_url_redact(dist->url ? dist->url : "");
	pkg_cleanup(pkg_json_put) struct json_object *text = NULL;

	url[strcspn(url, "#")] = '\0';
	text = json_object_new_string(url);
	pkg_buf_addf(out,
		"{\"archive_info\": {\"hash\": \"sha256=%s\", \"hashes\": {\"sha256\": \"%s\"}}, "
		"\"url\": %s}",
		dist->sha256, dist->sha256,
		json_object_to_json_string_ext(
			text, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));
}

static int
write_metadata(struct stage *stage, const struct lang_python_item *item, struct pkg_error *err)
{
	pkg_cleanup_buf struct pkg_buf text = { 0 };

	if (item->kind == LANG_PYTHON_INSTALLER)
		pkg_buf_add(&text, "pkgd\n");
	else if (item->kind == LANG_PYTHON_DIRECT_URL)
		direct_url(stage->dist, &text);
	return write_listed(stage, item, &text, 0644, err);
}

static int
place(struct stage *stage, const struct lang_python_item *item, struct pkg_error *err)
{
	if (item->kind == LANG_PYTHON_BYTECODE)
		return link_bytecode(stage, item, err);
	if (ready_parent(stage, item->path, err) < 0)
		return -1;
	switch (item->kind) {
	case LANG_PYTHON_LINK:
		return link_file(stage, item, err);
	case LANG_PYTHON_SCRIPT:
		return write_script(stage, item, err);
	case LANG_PYTHON_LAUNCHER:
		return write_launcher(stage, item, err);
	case LANG_PYTHON_INSTALLER:
	case LANG_PYTHON_REQUESTED:
	case LANG_PYTHON_DIRECT_URL:
		return write_metadata(stage, item, err);
	case LANG_PYTHON_RECORD:
	case LANG_PYTHON_BYTECODE:
		break;
	}
	return 0;
}

/* Last: what it lists is there. Lines end as pip's csv writer ends them. */
static int
write_record(struct stage *stage, const struct lang_python_item *item, struct pkg_error *err)
{
	pkg_cleanup_buf struct pkg_buf lines = { 0 };
	pkg_cleanup_buf struct pkg_buf text = { 0 };
	const char *at;

	list(stage, item, NULL, -1);
	lang_record_sort(&stage->record);
	lang_record_write(&stage->record, &lines);
	pkg_buf_reserve(&text, lines.len + stage->record.count + 1);
	at = pkg_buf_str(&lines);
	for (const char *end; (end = strchr(at, '\n')) != NULL; at = end + 1) {
		pkg_buf_add_mem(&text, at, (size_t)(end - at));
		pkg_buf_add_mem(&text, "\r\n", 2);
	}
	return place_text(stage, item, &text, 0644, err);
}

static int
place_all(struct stage *stage, const struct lang_python_items *items, struct pkg_error *err)
{
	const struct lang_python_item *record = NULL;

	for (size_t i = 0; i < items->count; i++) {
		if (items->items[i].kind == LANG_PYTHON_RECORD)
			record = &items->items[i];
		if (place(stage, &items->items[i], err) < 0)
			return -1;
	}
	/* The directory on the way back is not the one last made sure of. */
	return ready_parent(stage, record->path, err) < 0 ? -1 : write_record(stage, record, err);
}

static int
open_places(struct stage *stage, const struct lang_context *lang, const struct lang_env *env,
	const char *sha256, struct pkg_error *err)
{
	pkg_autofree char *entry = lang_python_store_path(lang->home, sha256);
	pkg_autofree char *tree = pkg_path_join(entry, "tree");
	pkg_autofree char *bytecode = lang_python_store_bytecode(lang->home, env->facts, sha256);

	stage->overlay = env->overlay != NULL;
	stage->root = pkg_dir_open(env->overlay ? env->overlay : env->tree, err);
	if (stage->root < 0)
		return -1;
	stage->bytecode = pkg_dir_open(bytecode, NULL);
	stage->tree = pkg_dir_open(tree, err);
	if (stage->tree < 0)
		stage->damaged = true;
	return stage->tree < 0 ? -1 : 0;
}

/* 0, -1, or 1 for a damaged entry of the store that has been put away. */
static int
stage_once(struct lang_context *lang, const struct lang_env *env, const struct lang_dist *dist,
	const char *sha256, struct pkg_error *err)
{
	lang_cleanup_python_wheel struct lang_python_wheel wheel = { 0 };
	lang_cleanup_python_layout struct lang_python_layout layout = { 0 };
	lang_cleanup_python_items struct lang_python_items items = { 0 };
	struct stage stage = { .dist = dist,
		.wheel = &wheel,
		.layout = &layout,
		.root = -1,
		.tree = -1,
		.bytecode = -1,
		.mtime = lang_python_store_time(sha256) };
	int rc;

	if (lang_python_store_load(lang->home, sha256, true, &wheel, err) < 0)
		return lang_python_store_discard(lang->home, sha256, -1, err) < 0 ? -1 : 1;
	if (lang_python_store_agrees(dist, &wheel, err) < 0)
		return -1;
	lang_python_layout_init(&layout, env->facts, env->prefix, dist->name);
	if (lang_python_items_make(&layout, &wheel, dist->requirement != NULL,
		    dist->source && strcmp(dist->source, "direct") == 0, &items, err) < 0)
		return pkg_error_prefix(err, "%s", dist->file);
	stage.dist_info = lang_python_layout_dist_info(&layout, &wheel);
	stage.site = pkg_path_dir(stage.dist_info);
	rc = open_places(&stage, lang, env, sha256, err);
	if (rc == 0)
		rc = place_all(&stage, &items, err);
	if (rc < 0 && stage.damaged)
		rc = lang_python_store_discard(lang->home, sha256, stage.tree, err) < 0 ? -1 : 1;
	stage_clear(&stage);
	return rc;
}

int
lang_python_stage(struct lang_context *lang, const struct lang_env *env,
	const struct lang_dist *dist, struct pkg_error *err)
{
	const char *sha256 = lang_python_store_sha256(dist);
	pkg_cleanup_error struct pkg_error why = { 0 };
	int rc;

	if (!sha256)
		return pkg_error_set(err, PKG_E_INTERNAL, "%s has no wheel to install", dist->file);
	rc = stage_once(lang, env, dist, sha256, &why);
	if (rc > 0) {
		pkg_autofree char *text =
			pkg_xasprintf("opening %s again: %s", dist->file, why.message);

		if (lang->status)
			lang->status(lang->context, text);
		pkg_error_clear(&why);
		rc = lang_python_store_open(lang, env, &dist, 1, &why);
		if (rc == 0)
			rc = stage_once(lang, env, dist, sha256, &why);
	}
	pkg_error_move(err, &why);
	return rc == 0 ? 0 : -1;
}
