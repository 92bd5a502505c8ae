/* Taking one package out of a tree. What goes is what its RECORD lists, less what another package of
 * the tree lists too, with the bytecode that interpreters left beside the sources, and the directories
 * that are empty then. Names are removed, never contents: an inode may be the store's. The RECORD
 * may have been written by the package itself, so a path outside the tree, or one of the
 * environment's own, ends it before anything is touched. */
#include "lang/python.h"
#include "lang/python_layout.h"

#include "core/file.h"
#include "core/path.h"
#include "core/text.h"
#include "core/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SHOWN_MAX 200
#define FOREIGN_MAX 100000
#define LIST_MAX (16 * 1024 * 1024)

/* Paths relative to the tree, sorted. */
struct paths {
	char **items; /* owned */
	bool *marked; /* owned */
	size_t count;
	size_t cap;
};

struct unstage {
	const struct lang_env *env;
	const struct store_package *package;
	int root; /* owned */
	char *site; /* owned; the directory that the metadata is in */
	struct paths leaving; /* marked: stays, as another package lists it */
	struct paths directories; /* that may be empty afterwards */
};

static void
paths_clear(struct paths *paths)
{
	for (size_t i = 0; i < paths->count; i++)
		free(paths->items[i]);
	free(paths->items);
	free(paths->marked);
	*paths = (struct paths){ 0 };
}

static void
paths_take(struct paths *paths, char *path)
{
	if (paths->count == paths->cap) {
		paths->cap = paths->cap ? paths->cap * 2 : 64;
		paths->items = pkg_xrealloc(paths->items, paths->cap, sizeof(*paths->items));
	}
	paths->items[paths->count++] = path;
}

static int
compare_texts(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Sorts, drops what is there twice, and clears the marks. */
static void
paths_sort(struct paths *paths)
{
	size_t kept = 0;

	if (paths->count > 0)
		qsort(paths->items, paths->count, sizeof(*paths->items), compare_texts);
	for (size_t i = 0; i < paths->count; i++) {
		if (kept > 0 && strcmp(paths->items[kept - 1], paths->items[i]) == 0)
			free(paths->items[i]);
		else
			paths->items[kept++] = paths->items[i];
	}
	paths->count = kept;
	free(paths->marked);
	paths->marked = pkg_xcalloc(kept + 1, sizeof(*paths->marked));
}

/* Position, or -1. */
static long
paths_find(const struct paths *paths, const char *path)
{
	char **found = paths->count == 0
		? NULL
		: bsearch(&path, paths->items, paths->count, sizeof(*paths->items), compare_texts);

	return found ? found - paths->items : -1;
}

/* --- what the package lists --- */

/* A path of a RECORD as one of the tree; NULL when it is not inside. Given. */
static char *
in_tree(const struct unstage *unstage, const char *listed)
{
	pkg_autofree char *joined = NULL;
	char *path;

	if (listed[0] == '/') {
		if (!pkg_path_contains(unstage->env->prefix, listed) ||
			strlen(listed) <= strlen(unstage->env->prefix) + 1)
			return NULL;
		joined = pkg_xstrdup(listed + strlen(unstage->env->prefix) + 1);
	} else {
		joined = pkg_path_join(unstage->site, listed);
	}
	path = pkg_path_normalize(joined);
	if (path && pkg_path_is_confined(path, strlen(path)))
		return path;
	free(path);
	return NULL;
}

static int
refuse(const struct unstage *unstage, const char *listed, const char *why, struct pkg_error *err)
{
	pkg_autofree char *shown = pkg_text_clean(listed, strlen(listed), SHOWN_MAX, false);

	pkg_error_set(err, PKG_E_ARCHIVE, "%s %s cannot be removed: it lists '%s', which %s",
		unstage->package->name, unstage->package->version, shown, why);
	return pkg_error_cure(err, "pkg env repair");
}

static int
add_listed(struct unstage *unstage, const char *listed, struct pkg_error *err)
{
	pkg_autofree char *path = in_tree(unstage, listed);

	if (!path)
		return refuse(unstage, listed, "is not inside the environment", err);
	if (lang_python_path_is_reserved(path, lang_python_scripts(unstage->env->facts)))
		return refuse(unstage, listed, "belongs to the environment itself", err);
	paths_take(&unstage->leaving, pkg_steal_ptr(&path));
	return 0;
}

static int
read_record(struct unstage *unstage, struct pkg_error *err)
{
	pkg_autofree char *file = pkg_path_join(unstage->package->location, "RECORD");
	pkg_cleanup_buf struct pkg_buf text = { 0 };
	lang_cleanup_record struct lang_record record = { 0 };

	if (pkg_file_read_beneath(unstage->root, file, LANG_RECORD_BYTES_MAX, &text, err) < 0 ||
		lang_record_parse(pkg_buf_str(&text), text.len, &record, err) < 0) {
		pkg_error_prefix(err, "%s %s cannot be removed", unstage->package->name,
			unstage->package->version);
		return pkg_error_cure(err, "pkg env repair");
	}
	for (size_t i = 0; i < record.count; i++)
		if (add_listed(unstage, record.entries[i].path, err) < 0)
			return -1;
	return 0;
}

struct collect {
	const char *below;
	struct paths *out;
};

static int
collect_entry(void *context, const char *relative, const struct stat *st, struct pkg_error *err)
{
	struct collect *collect = context;

	if (S_ISDIR(st->st_mode))
		return 0;
	if (collect->out->count >= FOREIGN_MAX)
		return pkg_error_set(err, PKG_E_TOO_LARGE, "more than %d files", FOREIGN_MAX);
	paths_take(collect->out, pkg_path_join(collect->below, relative));
	return 0;
}

/* All files below a directory of the tree; none when there is no such directory. */
static int
collect_below(int root, const char *directory, struct paths *out, struct pkg_error *err)
{
	pkg_autofd int fd = pkg_file_open_beneath(root, directory, O_RDONLY | O_DIRECTORY, 0, NULL);
	struct collect collect = { .below = directory, .out = out };

	return fd < 0 ? 0 : pkg_tree_walk(fd, ".", collect_entry, &collect, err);
}

/* Each line of a text file, blank ones left out; NULL: there is no such file. */
static struct pkg_argv *
read_lines(const struct unstage *unstage, const char *name)
{
	pkg_autofree char *file = pkg_path_join(unstage->package->location, name);
	pkg_cleanup_buf struct pkg_buf text = { 0 };
	struct pkg_argv *lines;
	char *rest;

	if (pkg_file_read_beneath(unstage->root, file, LIST_MAX, &text, NULL) < 0)
		return NULL;
	lines = pkg_argv_new();
	pkg_buf_add(&text, "");
	rest = text.data;
	for (char *line; (line = strsep(&rest, "\r\n")) != NULL;)
		if (*line)
			pkg_argv_add(lines, line);
	return lines;
}

/* What setup.py installed: the names of its modules and packages are all there is. */
static int
add_top_level(struct unstage *unstage, const char *name, struct pkg_error *err)
{
	pkg_autofree char *module = pkg_xasprintf("%s/%s.py", unstage->site, name);
	pkg_autofree char *directory = pkg_path_join(unstage->site, name);
	struct stat st;

	if (strchr(name, '/') || !pkg_path_is_confined(directory, strlen(directory)))
		return refuse(unstage, name, "is no name of a module", err);
	if (fstatat(unstage->root, module, &st, AT_SYMLINK_NOFOLLOW) == 0)
		paths_take(&unstage->leaving, pkg_steal_ptr(&module));
	return collect_below(unstage->root, directory, &unstage->leaving, err);
}

static int
read_egg_info(struct unstage *unstage, struct pkg_error *err)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *installed =
		read_lines(unstage, "installed-files.txt");
	pkg_cleanup(pkg_argv_free) struct pkg_argv *tops = read_lines(unstage, "top_level.txt");
	pkg_cleanup(pkg_argv_free) struct pkg_argv *shared =
		read_lines(unstage, "namespace_packages.txt");

	for (size_t i = 0; installed && i < installed->count; i++) {
		/* These are relative to the metadata directory itself. */
		pkg_autofree char *path = pkg_path_join(
			pkg_path_base(unstage->package->location), installed->items[i]);

		if (add_listed(unstage, path, err) < 0)
			return -1;
	}
	if (installed)
		return 0;
	if (tops && !(shared && shared->count > 0)) {
		for (size_t i = 0; i < tops->count; i++)
			if (add_top_level(unstage, tops->items[i], err) < 0)
				return -1;
		return 0;
	}
	pkg_error_set(err, PKG_E_UNSUPPORTED,
		"%s %s cannot be removed: it has no list of its files (%s)", unstage->package->name,
		unstage->package->version, unstage->package->location);
	return pkg_error_cure(err, "pkg env repair");
}

static int
read_leaving(struct unstage *unstage, struct pkg_error *err)
{
	const char *location = unstage->package->location;
	int rc = pkg_text_has_suffix(location, ".dist-info") ? read_record(unstage, err)
							     : read_egg_info(unstage, err);

	/* The metadata directory goes as a whole: what is left of one is half a distribution. */
	if (rc == 0)
		rc = collect_below(unstage->root, location, &unstage->leaving, err);
	paths_sort(&unstage->leaving);
	return rc;
}

/* --- what others list --- */

static void
mark_record(struct unstage *unstage, int site_fd, const char *site, const char *name,
	struct paths *paths)
{
	pkg_autofree char *file = pkg_path_join(name, "RECORD");
	pkg_autofree char *mine = unstage->site;
	pkg_cleanup_buf struct pkg_buf text = { 0 };
	lang_cleanup_record struct lang_record record = { 0 };

	/* in_tree() reads relative to the other one's directory for the time being. */
	unstage->site = pkg_xstrdup(site);
	if (pkg_file_read_beneath(site_fd, file, LANG_RECORD_BYTES_MAX, &text, NULL) == 0 &&
		lang_record_parse(pkg_buf_str(&text), text.len, &record, NULL) == 0) {
		for (size_t i = 0; i < record.count; i++) {
			pkg_autofree char *path = in_tree(unstage, record.entries[i].path);
			long at = path ? paths_find(paths, path) : -1;

			if (at >= 0)
				paths->marked[at] = true;
		}
	}
	free(unstage->site);
	unstage->site = pkg_steal_ptr(&mine);
}

static void
mark_in(struct unstage *unstage, const char *site, struct paths *paths)
{
	pkg_autofd int fd =
		pkg_file_open_beneath(unstage->root, site, O_RDONLY | O_DIRECTORY, 0, NULL);
	int copy = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 3) : -1;
	DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;

	for (struct dirent *entry; dir && (entry = readdir(dir)) != NULL;) {
		pkg_autofree char *location = NULL;

		if (!pkg_text_has_suffix(entry->d_name, ".dist-info"))
			continue;
		location = pkg_path_join(site, entry->d_name);
		if (strcmp(location, unstage->package->location) != 0)
			mark_record(unstage, fd, site, entry->d_name, paths);
	}
	if (dir)
		closedir(dir);
}

/* Marks the paths that the RECORD of any other package in the tree lists. */
static void
mark_shared(struct unstage *unstage, struct paths *paths)
{
	const char *site = lang_python_site(unstage->env->facts);
	const char *platlib = lang_python_platlib(unstage->env->facts);

	mark_in(unstage, site, paths);
	if (strcmp(site, platlib) != 0)
		mark_in(unstage, platlib, paths);
}

/* --- removing --- */

static void
note_directory(struct unstage *unstage, const char *path)
{
	const char *base = pkg_path_base(path);

	if (base > path)
		paths_take(&unstage->directories, pkg_xstrndup(path, (size_t)(base - path) - 1));
}

/* The last directory stays open: paths are sorted. */
struct remover {
	int root;
	int fd;
	char *directory; /* owned; NULL: none yet */
};

static void
remover_clear(struct remover *remover)
{
	pkg_close(&remover->fd);
	free(remover->directory);
}

/* Descriptor of the directory of path, -1 with errno. No component of it is a link. */
static int
enter(struct remover *remover, const char *path)
{
	const char *base = pkg_path_base(path);
	size_t len = base > path ? (size_t)(base - path) - 1 : 0;

	if (remover->directory && strlen(remover->directory) == len &&
		memcmp(remover->directory, path, len) == 0) {
		errno = ENOENT; /* what an absent directory was the last time, too */
		return remover->fd;
	}
	pkg_close(&remover->fd);
	free(remover->directory);
	remover->directory = pkg_xstrndup(path, len);
	remover->fd = pkg_file_open_beneath(
		remover->root, len ? remover->directory : ".", O_RDONLY | O_DIRECTORY, 0, NULL);
	return remover->fd;
}

static int
remove_listed(struct unstage *unstage, struct pkg_error *err)
{
	struct remover remover = { .root = unstage->root, .fd = -1 };
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < unstage->leaving.count; i++) {
		const char *path = unstage->leaving.items[i];
		int fd;

		if (unstage->leaving.marked[i])
			continue;
		fd = enter(&remover, path);
		note_directory(unstage, path);
		if (fd < 0)
			continue;
		/* A directory where a file was listed is nothing of the package's. */
		if (unlinkat(fd, pkg_path_base(path), 0) < 0 && errno != ENOENT &&
			errno != EISDIR && errno != ENOTDIR)
			rc = pkg_error_errno(err, errno, "remove '%s'", path);
	}
	remover_clear(&remover);
	return rc;
}

/* "a/__pycache__/b.cpython-311.opt-1.pyc" -> "a/b.py". Given; NULL for another name. */
static char *
source_of(const char *directory, const char *name)
{
	size_t len = strlen(name);
	pkg_autofree char *stem = NULL;
	char *dot;

	if (!pkg_text_has_suffix(name, ".pyc"))
		return NULL;
	stem = pkg_xstrndup(name, len - 4);
	dot = strrchr(stem, '.');
	if (dot && strncmp(dot, ".opt-", 5) == 0) {
		*dot = '\0';
		dot = strrchr(stem, '.');
	}
	if (!dot || dot == stem)
		return NULL;
	*dot = '\0';
	return *directory ? pkg_xasprintf("%s/%s.py", directory, stem)
			  : pkg_xasprintf("%s.py", stem);
}

/* Bytecode of sources that went, whichever interpreter wrote it. */
static void
remove_bytecode(struct unstage *unstage, const char *directory)
{
	pkg_autofree char *cache = pkg_path_join(directory, "__pycache__");
	pkg_autofd int fd =
		pkg_file_open_beneath(unstage->root, cache, O_RDONLY | O_DIRECTORY, 0, NULL);
	int copy = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 3) : -1;
	DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;

	for (struct dirent *entry; dir && (entry = readdir(dir)) != NULL;) {
		pkg_autofree char *source = source_of(directory, entry->d_name);
		long at = source ? paths_find(&unstage->leaving, source) : -1;

		if (at >= 0 && !unstage->leaving.marked[at])
			(void)unlinkat(fd, entry->d_name, 0);
	}
	if (dir)
		closedir(dir);
	if (fd >= 0)
		paths_take(&unstage->directories, pkg_steal_ptr(&cache));
}

/* The environment's own directories stay, empty or not. */
static bool
is_kept(const struct unstage *unstage, const char *path)
{
	struct json_object *facts = unstage->env->facts;
	const char *const own[] = { lang_python_site(facts), lang_python_platlib(facts),
		lang_python_scripts(facts), "include", "lib" };

	for (size_t i = 0; i < PKG_ARRAY_LEN(own); i++)
		if (strcmp(path, own[i]) == 0)
			return true;
	return *path == '\0';
}

static bool
remove_directory(struct unstage *unstage, const char *path)
{
	pkg_autofree char *parent = pkg_path_dir(path);
	bool top = strchr(path, '/') == NULL;
	pkg_autofd int fd = pkg_file_open_beneath(
		unstage->root, top ? "." : parent, O_RDONLY | O_DIRECTORY, 0, NULL);

	return fd >= 0 && unlinkat(fd, pkg_path_base(path), AT_REMOVEDIR) == 0;
}

static void
remove_empty(struct unstage *unstage)
{
	struct paths *directories = &unstage->directories;

	paths_sort(directories);
	/* Backwards: what is below a directory comes after it. */
	for (size_t i = directories->count; i-- > 0;) {
		pkg_autofree char *path = pkg_xstrdup(directories->items[i]);

		while (!is_kept(unstage, path) && remove_directory(unstage, path)) {
			char *slash = strrchr(path, '/');

			*(slash ? slash : path) = '\0';
		}
	}
}

/* --- what stays --- */

/* The outermost directory that was this package's own: the first below a directory of the
 * environment. Given; NULL: the file was in such a directory itself. */
static char *
own_top(const struct unstage *unstage, const char *directory)
{
	struct json_object *facts = unstage->env->facts;
	const char *const own[] = { lang_python_site(facts), lang_python_platlib(facts) };

	for (size_t i = 0; i < PKG_ARRAY_LEN(own); i++) {
		size_t len = strlen(own[i]);

		if (len > 0 && strncmp(directory, own[i], len) == 0 && directory[len] == '/')
			return pkg_xstrndup(directory, len + 1 + strcspn(directory + len + 1, "/"));
	}
	return NULL;
}

static void
tell_foreign(struct lang_context *lang, struct unstage *unstage, const char *top)
{
	struct paths there = { 0 };
	size_t foreign = 0;

	if (collect_below(unstage->root, top, &there, NULL) == 0) {
		paths_sort(&there);
		mark_shared(unstage, &there);
		for (size_t i = 0; i < there.count; i++)
			foreign += !there.marked[i];
	}
	if (foreign > 0 && lang->status) {
		pkg_autofree char *text =
			pkg_xasprintf("kept %zu file%s that nobody listed under %s", foreign,
				foreign == 1 ? "" : "s", top);

		lang->status(lang->context, text);
	}
	paths_clear(&there);
}

static void
tell_what_stays(struct lang_context *lang, struct unstage *unstage)
{
	pkg_autofree char *last = NULL;

	for (size_t i = 0; i < unstage->directories.count; i++) {
		pkg_autofree char *top = own_top(unstage, unstage->directories.items[i]);
		struct stat st;

		if (!top || (last && strcmp(last, top) == 0))
			continue;
		if (fstatat(unstage->root, top, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
			S_ISDIR(st.st_mode))
			tell_foreign(lang, unstage, top);
		free(last);
		last = pkg_steal_ptr(&top);
	}
}

static int
take_out(struct lang_context *lang, struct unstage *unstage, struct pkg_error *err)
{
	size_t noted;

	if (read_leaving(unstage, err) < 0)
		return -1;
	mark_shared(unstage, &unstage->leaving);
	if (remove_listed(unstage, err) < 0)
		return -1;
	paths_sort(&unstage->directories);
	noted = unstage->directories.count;
	for (size_t i = 0; i < noted; i++)
		remove_bytecode(unstage, unstage->directories.items[i]);
	remove_empty(unstage);
	tell_what_stays(lang, unstage);
	return 0;
}

int
lang_python_unstage(struct lang_context *lang, const struct lang_env *env,
	const struct store_package *package, struct pkg_error *err)
{
	struct unstage unstage = { .env = env, .package = package, .root = -1 };
	int rc;

	if (!package->location ||
		!pkg_path_is_confined(package->location, strlen(package->location)))
		return pkg_error_set(err, PKG_E_INVALID,
			"%s has no metadata directory inside the environment", package->name);
	unstage.root = pkg_dir_open(env->tree, err);
	if (unstage.root < 0)
		return -1;
	unstage.site = pkg_path_dir(package->location);
	rc = take_out(lang, &unstage, err);
	pkg_close(&unstage.root);
	free(unstage.site);
	paths_clear(&unstage.leaving);
	paths_clear(&unstage.directories);
	return rc;
}
