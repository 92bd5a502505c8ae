#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/file.h"
#include "core/path.h"
#include "core/sha256.h"
#include "core/text.h"
#include "core/tree.h"
#include "lang/r_build.h"
#include "lang/record.h"

#define FILES_MAX 200000

char *
lang_r_built_path(const struct pkg_home *home, const struct lang_dist *dist)
{
	if (!dist->wheel_sha256 || !pkg_sha256_is_hex(dist->wheel_sha256) || !dist->sha256 ||
		!pkg_sha256_is_hex(dist->sha256))
		return NULL;
	return pkg_path_joinf(home->cache, "rbuilt/%.16s/%s", dist->wheel_sha256, dist->sha256);
}

bool
lang_r_built_has(const struct pkg_home *home, const struct lang_dist *dist)
{
	pkg_autofree char *path = lang_r_built_path(home, dist);
	pkg_autofree char *files = path ? pkg_path_join(path, "files") : NULL;

	return files && pkg_file_exists(files);
}

/* What a build left was written by the package. Nothing of it is trusted but that it is files. */
struct sealing {
	const struct lang_r_unit *unit;
	int root;
	struct lang_record record;
};

static int
strange(const struct sealing *sealing, const char *path, const char *what, struct pkg_error *err)
{
	pkg_autofree char *shown = pkg_text_clean(path, strlen(path), 200, false);

	return pkg_error_set(
		err, PKG_E_BUILD, "building %s left '%s', %s", sealing->unit->label, shown, what);
}

static int
seal_file(struct sealing *sealing, const char *path, const struct stat *st, struct pkg_error *err)
{
	pkg_autofd int fd =
		pkg_file_open_beneath(sealing->root, path, O_RDONLY | O_NONBLOCK, 0, err);
	char hex[PKG_SHA256_HEX], text[LANG_RECORD_SHA256 + 1];
	unsigned char digest[PKG_SHA256_BYTES];

	/* Never more than these bits, whatever the package gave itself. */
	if (fd < 0 || fchmod(fd, st->st_mode & 0100 ? 0555 : 0444) < 0 ||
		pkg_sha256_fd(fd, hex, err) < 0)
		return strange(sealing, path, "which cannot be read", err);
	for (size_t i = 0; i < PKG_SHA256_BYTES; i++) {
		const char pair[] = { hex[2 * i], hex[2 * i + 1], '\0' };

		digest[i] = (unsigned char)strtoul(pair, NULL, 16);
	}
	pkg_sha256_base64url(digest, text);
	lang_record_add(&sealing->record, path, text, st->st_size);
	return 0;
}

static int
seal_entry(void *context, const char *path, const struct stat *st, struct pkg_error *err)
{
	struct sealing *sealing = context;

	if (!pkg_text_is_utf8(path, strlen(path)) || !pkg_path_is_confined(path, strlen(path)))
		return strange(sealing, path, "a name that no file may have", err);
	if (sealing->record.count >= FILES_MAX)
		return strange(sealing, path, "one file too many", err);
	if (S_ISDIR(st->st_mode))
		return fchmodat(sealing->root, path, 0755, 0) == 0
			? 0
			: pkg_error_errno(err, errno, "set the mode of %s", path);
	if (!S_ISREG(st->st_mode))
		return strange(sealing, path, "which is neither a file nor a directory", err);
	return seal_file(sealing, path, st, err);
}

static int
check_package(const struct lang_r_unit *unit, int built, struct pkg_error *err)
{
	lang_cleanup_r_description struct lang_r_description description = { 0 };

	if (lang_r_description_read(built, ".", &description, err) < 0)
		return pkg_error_prefix(err, "building %s", unit->label);
	if (strcmp(description.package, unit->dist->name) != 0 ||
		strcmp(description.version, unit->dist->version) != 0 || !description.built_r)
		return pkg_error_set(err, PKG_E_BUILD, "building %s made %s %s%s", unit->label,
			description.package, description.version,
			description.built_r ? "" : ", which is not an installed package");
	return 0;
}

static int
seal(struct sealing *sealing, const char *built, const char *entry, struct pkg_error *err)
{
	pkg_autofree char *list = pkg_path_join(entry, "files");
	pkg_autofree char *tree = pkg_path_join(entry, "tree");
	pkg_cleanup_buf struct pkg_buf text = { 0 };
	struct pkg_tree_stats stats = { 0 };

	if (pkg_tree_walk(sealing->root, ".", seal_entry, sealing, err) < 0 ||
		pkg_tree_copy(AT_FDCWD, built, AT_FDCWD, tree, &stats, err) < 0)
		return -1;
	lang_record_sort(&sealing->record);
	lang_record_write(&sealing->record, &text);
	return pkg_file_write(list, pkg_buf_str(&text), text.len, 0444, false, err);
}

/* Another job may have made the same: either will do. */
static int
publish(const char *entry, const char *path, struct pkg_error *err)
{
	pkg_autofree char *parent = pkg_path_dir(path);

	if (pkg_dir_make(parent, 0755, err) < 0 || pkg_fs_sync(entry, err) < 0)
		return -1;
	if (rename(entry, path) == 0)
		return 0;
	if (errno != ENOTEMPTY && errno != EEXIST)
		return pkg_error_errno(err, errno, "rename '%s'", entry);
	(void)pkg_tree_remove(entry, NULL);
	return 0;
}

int
lang_r_pack(struct lang_context *lang, const struct lang_r_unit *unit, const char *built,
	struct pkg_error *err)
{
	pkg_autofd int root = pkg_dir_open(built, NULL);
	struct sealing sealing = { .unit = unit, .root = root };
	pkg_autofree char *path = lang_r_built_path(lang->home, unit->dist);
	char random[PKG_TEMP_NAME];
	pkg_autofree char *entry = NULL;
	int rc = -1;

	if (root < 0)
		return pkg_error_set(err, PKG_E_BUILD, "building %s left no package", unit->label);
	pkg_temp_name(random);
	entry = pkg_path_joinf(lang->home->cache, "rbuilt/%s", random);
	if (check_package(unit, root, err) == 0 && pkg_dir_make(entry, 0755, err) == 0 &&
		seal(&sealing, built, entry, err) == 0)
		rc = publish(entry, path, err);
	if (rc < 0)
		(void)pkg_tree_remove(entry, NULL);
	lang_record_clear(&sealing.record);
	return rc;
}
