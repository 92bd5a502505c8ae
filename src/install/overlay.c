/* Linking an overlay in: a directory that the tree does not have moves as one rename(2), so a package appears whole
 * and the cost does not depend on its number of files; only directories that both have are entered.
 * "*.dist-info" comes last: importlib.metadata sees a distribution when all of it is there. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/file.h"
#include "core/path.h"
#include "core/text.h"
#include "install/commit.h"

#define DEPTH_MAX 64

struct linker {
	int data_fd;
	struct json_object *now;
	struct json_object *last; /* metadata directories */
};

static int link_directory(struct linker *linker, const char *overlay, const char *tree, int depth,
	struct pkg_error *err);

static int
link_entry(
	struct linker *linker, const char *from, const char *to, int depth, struct pkg_error *err)
{
	struct stat source, target;

	if (fstatat(linker->data_fd, from, &source, AT_SYMLINK_NOFOLLOW) < 0)
		return pkg_error_errno(err, errno, "look at %s", from);
	if (fstatat(linker->data_fd, to, &target, AT_SYMLINK_NOFOLLOW) < 0) {
		if (errno != ENOENT)
			return pkg_error_errno(err, errno, "look at %s", to);
		install_journal_op_move(
			pkg_text_has_suffix(from, ".dist-info") ? linker->last : linker->now, from,
			to);
		return 0;
	}
	if (S_ISDIR(source.st_mode) && S_ISDIR(target.st_mode))
		return link_directory(linker, from, to, depth + 1, err);
	return pkg_error_set(err, PKG_E_PATH_CLASH, "%s is in the environment already", to);
}

static int
list_names(int data_fd, const char *path, struct pkg_argv *names, struct pkg_error *err)
{
	int fd = pkg_dir_open_at(data_fd, path, err);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;

	if (dir == NULL) {
		pkg_close(&fd);
		return -1;
	}
	for (struct dirent *entry; (entry = readdir(dir)) != NULL;)
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			pkg_argv_add(names, entry->d_name);
	closedir(dir);
	pkg_argv_sort(names);
	return 0;
}

static int
link_directory(struct linker *linker, const char *overlay, const char *tree, int depth,
	struct pkg_error *err)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *names = pkg_argv_new();

	if (depth > DEPTH_MAX)
		return pkg_error_set(err, PKG_E_ARCHIVE, "%s is too deep", overlay);
	if (list_names(linker->data_fd, overlay, names, err) < 0)
		return -1;
	for (size_t i = 0; i < names->count; i++) {
		pkg_autofree char *from = pkg_path_join(overlay, names->items[i]);
		pkg_autofree char *to = pkg_path_join(tree, names->items[i]);

		if (link_entry(linker, from, to, depth, err) < 0)
			return -1;
	}
	return 0;
}

int
install_overlay_steps(int data_fd, const char *overlay, const char *tree, struct json_object *ops,
	struct pkg_error *err)
{
	pkg_cleanup(pkg_json_put) struct json_object *last = json_object_new_array();
	struct linker linker = { data_fd, ops, last };

	if (link_directory(&linker, overlay, tree, 0, err) < 0)
		return -1;
	for (size_t i = 0; i < json_object_array_length(last); i++)
		json_object_array_add(ops, json_object_get(json_object_array_get_idx(last, i)));
	return 0;
}
