#include "lang/python_search.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/file.h"
#include "core/path.h"
#include "core/text.h"
#include "lang/scan.h"

#define ENTRIES_MAX 4096
#define SMALL_FILE (64 * 1024)

void
lang_python_places_clear(struct lang_python_places *places)
{
	for (size_t i = 0; i < places->count; i++)
		free(places->items[i].path);
	free(places->items);
	*places = (struct lang_python_places){ 0 };
}

void
lang_python_places_add(struct lang_python_places *places, const char *path, const char *origin)
{
	places->items = pkg_xrealloc(places->items, places->count + 1, sizeof(*places->items));
	places->items[places->count++] =
		(struct lang_python_place){ .path = pkg_xstrdup(path), .origin = origin };
}

static bool
is_program(const char *path)
{
	return access(path, F_OK) == 0;
}

/* "3.13.1" before "3.9.18" before names that are no version. */
static int
newest_first(const void *a, const void *b)
{
	return strverscmp(*(char *const *)b, *(char *const *)a);
}

static struct pkg_argv *
names_in(const char *directory, bool (*wanted)(const char *name))
{
	struct pkg_argv *names = pkg_argv_new();
	DIR *dir = opendir(directory);
	const struct dirent *entry;

	while (dir && names->count < ENTRIES_MAX && (entry = readdir(dir)))
		if (entry->d_name[0] != '.' && wanted(entry->d_name))
			pkg_argv_add(names, entry->d_name);
	if (dir)
		closedir(dir);
	if (names->count > 1)
		qsort(names->items, names->count, sizeof(*names->items), newest_first);
	return names;
}

static bool
any_name(PKG_UNUSED const char *name)
{
	return true;
}

/* "python3.11", "python3.13t"; "python3-config" and "python3.11-dbg" are other programs. */
static bool
is_versioned(const char *name)
{
	if (!pkg_text_has_prefix(name, "python3."))
		return false;
	name += strlen("python3.");
	if (!lang_is_digit(*name))
		return false;
	while (lang_is_digit(*name))
		name++;
	return *name == '\0' || strcmp(name, "t") == 0;
}

static bool
is_versioned_or_plain(const char *name)
{
	return strcmp(name, "python3") == 0 || is_versioned(name);
}

static void
add_in(struct lang_python_places *out, const char *directory, const char *name, const char *origin)
{
	pkg_autofree char *path = pkg_path_join(directory, name);

	if (is_program(path))
		lang_python_places_add(out, path, origin);
}

static void
add_matching(struct lang_python_places *out, const char *directory,
	bool (*wanted)(const char *name), const char *origin)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *names = names_in(directory, wanted);

	for (size_t i = 0; i < names->count; i++)
		add_in(out, directory, names->items[i], origin);
}

/* Relative entries of PATH mean another place for each working directory. */
static struct pkg_argv *
split_path(const char *path)
{
	struct pkg_argv *out = pkg_argv_new();

	while (path && *path) {
		size_t len = strcspn(path, ":");

		if (*path == '/')
			pkg_argv_take(out, pkg_xstrndup(path, len));
		path += len + (path[len] == ':');
	}
	return out;
}

static void
search_path(const char *path, struct lang_python_places *out)
{
	static const char *const names[] = { "python3", "python" };
	pkg_cleanup(pkg_argv_free) struct pkg_argv *directories = split_path(path);

	for (size_t i = 0; i < PKG_ARRAY_LEN(names); i++)
		for (size_t j = 0; j < directories->count; j++)
			add_in(out, directories->items[j], names[i], "PATH");
	for (size_t j = 0; j < directories->count; j++)
		add_matching(out, directories->items[j], is_versioned, "PATH");
}

static void
add_below(struct lang_python_places *out, const char *directory, const char *origin)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *names = names_in(directory, any_name);

	for (size_t i = 0; i < names->count; i++) {
		pkg_autofree char *python =
			pkg_path_joinf(directory, "%s/bin/python", names->items[i]);
		pkg_autofree char *python3 = pkg_xasprintf("%s3", python);

		if (is_program(python))
			lang_python_places_add(out, python, origin);
		else if (is_program(python3))
			lang_python_places_add(out, python3, origin);
	}
}

static char *
pyenv_root(const struct lang_python_surroundings *around)
{
	if (around->pyenv_root && around->pyenv_root[0] == '/')
		return pkg_xstrdup(around->pyenv_root);
	return around->home ? pkg_path_join(around->home, ".pyenv") : NULL;
}

static void
search_pyenv(const struct lang_python_surroundings *around, struct lang_python_places *out)
{
	pkg_autofree char *root = pyenv_root(around);
	pkg_autofree char *versions = root ? pkg_path_join(root, "versions") : NULL;

	if (versions)
		add_below(out, versions, "pyenv");
}

static void
search_uv(const struct lang_python_surroundings *around, struct lang_python_places *out)
{
	pkg_autofree char *directory = NULL;

	if (around->uv_dir && around->uv_dir[0] == '/')
		directory = pkg_xstrdup(around->uv_dir);
	else if (around->data_home && around->data_home[0] == '/')
		directory = pkg_path_join(around->data_home, "uv/python");
	else if (around->home)
		directory = pkg_path_join(around->home, ".local/share/uv/python");
	if (directory)
		add_below(out, directory, "uv");
}

static void
add_conda(struct lang_python_places *out, const char *root)
{
	pkg_autofree char *envs = pkg_path_join(root, "envs");
	pkg_autofree char *python = pkg_path_join(root, "bin/python");

	if (is_program(python))
		lang_python_places_add(out, python, "conda");
	add_below(out, envs, "conda");
}

static void
search_conda(const struct lang_python_surroundings *around, struct lang_python_places *out)
{
	static const char *const homes[] = { "miniforge3", "mambaforge", "miniconda3",
		"anaconda3" };

	if (around->conda_prefix && around->conda_prefix[0] == '/')
		add_conda(out, around->conda_prefix);
	for (size_t i = 0; around->home && i < PKG_ARRAY_LEN(homes); i++) {
		pkg_autofree char *root = pkg_path_join(around->home, homes[i]);

		add_conda(out, root);
	}
	add_conda(out, "/opt/conda");
}

void
lang_python_search(const struct lang_python_surroundings *around, struct lang_python_places *out)
{
	search_path(around->path, out);
	search_pyenv(around, out);
	search_uv(around, out);
	search_conda(around, out);
	add_matching(out, "/usr/local/bin", is_versioned_or_plain, "system");
	add_matching(out, "/usr/bin", is_versioned_or_plain, "system");
}

/* The versions that pyenv would try, in its order: its variable, else its file. */
static struct pkg_argv *
pyenv_versions(const struct lang_python_surroundings *around, const char *root)
{
	struct pkg_argv *out = pkg_argv_new();
	pkg_cleanup_buf struct pkg_buf text = { 0 };
	pkg_autofree char *file = pkg_path_join(root, "version");
	const char *at;

	if (around->pyenv_version && *around->pyenv_version)
		pkg_buf_add(&text, around->pyenv_version);
	else
		(void)pkg_file_read(file, SMALL_FILE, &text, NULL);
	at = pkg_buf_str(&text);
	while (*at) {
		size_t len = strcspn(at, ": \t\r\n");

		if (len > 0 && pkg_path_is_confined(at, len))
			pkg_argv_take(out, pkg_xstrndup(at, len));
		at += len + (at[len] != '\0');
	}
	return out;
}

char *
lang_python_unshim(const struct lang_python_surroundings *around, const char *path, bool *is_shim)
{
	pkg_autofree char *root = pyenv_root(around);
	pkg_autofree char *shims = root ? pkg_path_join(root, "shims") : NULL;
	pkg_autofree char *directory = pkg_path_dir(path);
	pkg_autofree char *normal = pkg_path_normalize(directory);
	pkg_cleanup(pkg_argv_free) struct pkg_argv *versions = NULL;

	*is_shim = shims && normal && strcmp(normal, shims) == 0;
	if (!*is_shim)
		return NULL;
	versions = pyenv_versions(around, root);
	for (size_t i = 0; i < versions->count; i++) {
		char *found = pkg_path_joinf(
			root, "versions/%s/bin/%s", versions->items[i], pkg_path_base(path));

		if (is_program(found))
			return found;
		free(found);
	}
	return NULL;
}

/* "home = /usr/bin" of a pyvenv.cfg. */
static char *
home_of(const char *text)
{
	while (*text) {
		size_t len = strcspn(text, "\n");
		pkg_autofree char *line = pkg_xstrndup(text, len);
		char *value = strchr(line, '=');
		char *end;

		text += len + (text[len] == '\n');
		if (!value || strncmp(line, "home", 4) != 0 ||
			strspn(line + 4, " \t") + 4 != (size_t)(value - line))
			continue;
		value += 1 + strspn(value + 1, " \t");
		for (end = value + strlen(value); end > value && lang_is_space(end[-1]); end--)
			end[-1] = '\0';
		return value[0] == '/' ? pkg_xstrdup(value) : NULL;
	}
	return NULL;
}

char *
lang_python_venv_base(const char *path, char **venv)
{
	pkg_autofree char *directory = pkg_path_dir(path);
	pkg_autofree char *root = pkg_path_dir(directory);
	pkg_autofree char *file = pkg_path_join(root, "pyvenv.cfg");
	pkg_cleanup_buf struct pkg_buf text = { 0 };
	pkg_autofree char *home = NULL;
	pkg_autofree char *real = NULL;
	const char *const names[] = { pkg_path_base(path), "python3", "python" };

	*venv = NULL;
	if (pkg_file_read(file, SMALL_FILE, &text, NULL) < 0)
		return NULL;
	*venv = pkg_xstrdup(root);
	/* Made of symlinks the answer is what they lead to, made of copies its file says it. */
	real = realpath(path, NULL);
	if (real && !pkg_path_contains(root, real))
		return pkg_xstrdup(real);
	home = home_of(pkg_buf_str(&text));
	for (size_t i = 0; home && i < PKG_ARRAY_LEN(names); i++) {
		char *found = pkg_path_join(home, names[i]);

		if (is_program(found))
			return found;
		free(found);
	}
	return NULL;
}
