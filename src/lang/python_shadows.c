#include <string.h>
#include <sys/stat.h>

#include "core/path.h"
#include "core/text.h"
#include "lang/python.h"
#include "lang/scan.h"

/* Python searches the standard library, then the environment, then what it inherits, and takes the first
 * regular package or module of a name; directories without __init__ are joined to one namespace. So what an
 * environment gains can hide an inherited module, and never a standard one. */

/* Given: relative to site-packages; NULL for a path elsewhere. */
static const char *
in_site(const struct lang_env *env, const char *path)
{
	const char *const sites[] = { lang_python_site(env->facts),
		lang_python_platlib(env->facts) };

	for (size_t i = 0; i < PKG_ARRAY_LEN(sites); i++) {
		size_t len = strlen(sites[i]);

		if (len > 0 && strncmp(path, sites[i], len) == 0 && path[len] == '/')
			return path + len + 1;
	}
	return NULL;
}

/* What runs at every start of an interpreter, so that one that runs already has not seen it. */
const char *
lang_python_path_reason(const struct lang_env *env, const char *path)
{
	static const char *const hooks[] = { "sitecustomize", "usercustomize" };
	const char *name = in_site(env, path);

	if (!name)
		return NULL;
	if (!strchr(name, '/') && pkg_text_has_suffix(name, ".pth"))
		return "startup-file";
	for (size_t i = 0; i < PKG_ARRAY_LEN(hooks); i++) {
		size_t len = strlen(hooks[i]);

		if (strncmp(name, hooks[i], len) == 0 && (name[len] == '.' || name[len] == '/'))
			return "startup-file";
	}
	return NULL;
}

/* The name that a file gives to import: "x" of x.py, x.pyc, x.so, x.cpython-311-x86_64-linux-gnu.so.
 * Given; NULL for a file that import does not look at. */
static char *
stem_of(const char *file)
{
	static const char *const suffixes[] = { ".py", ".pyc", ".so", ".pyd" };
	size_t len = strcspn(file, ".");
	bool known = false;

	for (size_t i = 0; i < PKG_ARRAY_LEN(suffixes); i++)
		known = known || pkg_text_has_suffix(file, suffixes[i]);
	if (!known || len == 0 || lang_is_digit(file[0]))
		return NULL;
	for (size_t i = 0; i < len; i++)
		if (!lang_is_alnum(file[i]) && file[i] != '_' && (unsigned char)file[i] < 0x80)
			return NULL;
	return pkg_xstrndup(file, len);
}

/* "a/b" for what defines the module a.b; NULL otherwise. Given. */
static char *
module_of(const char *path)
{
	const char *file = pkg_path_base(path);
	pkg_autofree char *stem = stem_of(file);
	pkg_autofree char *directory = strchr(path, '/') ? pkg_path_dir(path) : pkg_xstrdup("");

	if (!stem || strstr(path, "__pycache__/") || strchr(directory, '.') ||
		strchr(directory, '-'))
		return NULL;
	if (strcmp(stem, "__init__") == 0)
		return *directory ? pkg_steal_ptr(&directory) : NULL;
	return pkg_path_join(directory, stem);
}

static bool
exists(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0;
}

static bool
is_regular_package(const char *directory)
{
	pkg_autofree char *source = pkg_path_join(directory, "__init__.py");
	pkg_autofree char *bytecode = pkg_path_join(directory, "__init__.pyc");

	return exists(source) || exists(bytecode);
}

/* A parent that is a regular package anywhere ends the search for its children there. */
static bool
has_regular_parent(const char *root, const char *module)
{
	for (const char *slash = strchr(module, '/'); slash; slash = strchr(slash + 1, '/')) {
		pkg_autofree char *parent = pkg_xstrndup(module, (size_t)(slash - module));
		pkg_autofree char *directory = pkg_path_join(root, parent);

		if (is_regular_package(directory))
			return true;
		if (!exists(directory))
			return false;
	}
	return false;
}

static bool
offers(const char *root, const char *module, const char *ext_suffix)
{
	const char *const endings[] = { "", ".py", ".so", ".abi3.so", ext_suffix, ".pyc" };

	for (size_t i = 0; i < PKG_ARRAY_LEN(endings); i++) {
		pkg_autofree char *path = pkg_path_joinf(root, "%s%s", module, endings[i]);
		struct stat st;

		if (stat(path, &st) == 0 && S_ISDIR(st.st_mode) == (endings[i][0] == '\0'))
			return true;
	}
	return false;
}

char *
lang_python_shadows(const struct lang_env *env, const char *path)
{
	const char *relative = in_site(env, path);
	const char *ext_suffix = pkg_json_str_or(env->facts, "ext_suffix", ".so");
	pkg_autofree char *module = relative && !env->hermetic ? module_of(relative) : NULL;
	pkg_cleanup(pkg_argv_free) struct pkg_argv *inherited = NULL;
	pkg_autofree char *own = NULL;

	if (!module)
		return NULL;
	/* Inside a package that the environment has already: hidden since that was installed. */
	own = env->tree ? pkg_path_join(env->tree, lang_python_site(env->facts)) : NULL;
	if (own && has_regular_parent(own, module))
		return NULL;
	inherited = pkg_argv_new();
	lang_python_inherited(env->facts, inherited);
	for (size_t i = 0; i < inherited->count; i++) {
		/* Found first in an earlier directory, as that package and nothing else. */
		if (has_regular_parent(inherited->items[i], module))
			return NULL;
		if (!offers(inherited->items[i], module, ext_suffix))
			continue;
		for (char *at = module; *at; at++)
			*at = *at == '/' ? '.' : *at;
		return pkg_steal_ptr(&module);
	}
	return NULL;
}
