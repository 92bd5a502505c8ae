#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/path.h"
#include "core/text.h"
#include "lang/python.h"
#include "lang/python_accept.h"
#include "lang/python_probe.h"
#include "lang/python_search.h"

#define CANDIDATES_MAX 128
#define VENV_DEPTH 4
#define PATH_SHOWN 1024

struct search {
	struct lang_context *lang;
	struct lang_python_surroundings around;
	const char *version; /* wanted: "3.11"; NULL: any */
	bool all;
	bool accepted;
	struct lang_candidate_list *list;
	struct pkg_argv *seen; /* resolved paths, and spelled ones of virtual environments */
};

static struct lang_candidate *
add(struct search *search, const char *path, const char *origin)
{
	struct lang_candidate_list *list = search->list;

	list->items = pkg_xrealloc(list->items, list->count + 1, sizeof(*list->items));
	list->items[list->count] = (struct lang_candidate){
		.path = pkg_xstrdup(path),
		.origin = pkg_xstrdup(origin),
		.reasons = pkg_argv_new(),
	};
	return &list->items[list->count++];
}

static void
reject(struct search *search, const char *path, const char *origin, const char *reason)
{
	pkg_argv_add(add(search, path, origin)->reasons, reason);
}

static bool
first_time(struct search *search, const char *path)
{
	if (pkg_argv_has(search->seen, path))
		return false;
	pkg_argv_add(search->seen, path);
	return true;
}

/* Without a process: NULL when it is worth one. Given. */
static char *
plain_reason(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return pkg_xasprintf("it is not there: %s", strerror(errno));
	if (!S_ISREG(st.st_mode))
		return pkg_xstrdup("it is not a file");
	if (access(path, X_OK) < 0)
		return pkg_xstrdup("it is not executable");
	return NULL;
}

static int
probe(struct search *search, const char *path, const char *spelled, const char *origin,
	struct pkg_error *err)
{
	const struct lang_context *lang = search->lang;
	pkg_cleanup(pkg_json_put) struct json_object *facts = NULL;
	pkg_autofree char *reason = NULL;
	struct lang_candidate *candidate;

	if (lang_python_probe(search->lang, path, &facts, &reason, err) < 0)
		return -1;
	candidate = add(search, spelled, origin);
	if (!facts) {
		pkg_argv_add(candidate->reasons, reason);
		return 0;
	}
	if (search->version && !lang_python_is_version(facts, search->version))
		pkg_argv_addf(candidate->reasons, "it is Python %s, not %s",
			lang_python_version(facts), search->version);
	lang_python_accept(facts, LANG_PYTHON_POSIX, lang->config->python_minimum,
		lang->home->user_home, candidate->reasons);
	candidate->facts = pkg_steal_ptr(&facts);
	if (candidate->reasons->count == 0)
		search->accepted = true;
	return 0;
}

/* The path is nobody's shim and in no virtual environment. */
static int
consider_real(struct search *search, const char *spelled, const char *origin, struct pkg_error *err)
{
	pkg_autofree char *reason = plain_reason(spelled);
	pkg_autofree char *path = realpath(spelled, NULL);

	if (!first_time(search, path ? path : spelled))
		return 0;
	if (reason || !path) {
		reject(search, spelled, origin, reason ? reason : "its path cannot be resolved");
		return 0;
	}
	return probe(search, path, spelled, origin, err);
}

static int
consider(struct search *search, const char *spelled, const char *origin, struct pkg_error *err)
{
	bool is_shim = false;
	pkg_autofree char *behind = lang_python_unshim(&search->around, spelled, &is_shim);
	pkg_autofree char *path = pkg_xstrdup(behind ? behind : spelled);

	if (is_shim && !behind) {
		if (first_time(search, spelled))
			reject(search, spelled, origin,
				"it is a pyenv shim, and pyenv's global version has no such "
				"program");
		return 0;
	}
	/* An environment of an environment of ...: rare, but a file can say anything. */
	for (int depth = 0; depth < VENV_DEPTH; depth++) {
		pkg_autofree char *venv = NULL;
		char *base = lang_python_venv_base(path, &venv);
		pkg_autofree char *reason = NULL;

		if (!venv)
			return consider_real(search, path, origin, err);
		reason = base
			? pkg_xasprintf("it is inside the virtual environment '%s', whose "
					"base '%s' is considered instead",
				  venv, base)
			: pkg_xasprintf("it is inside the virtual environment '%s', whose base "
					"is not there",
				  venv);
		if (first_time(search, path))
			reject(search, path, origin, reason);
		free(path);
		path = base;
		if (!path)
			return 0;
	}
	return 0;
}

static int
consider_all(struct search *search, const struct lang_python_places *places, struct pkg_error *err)
{
	for (size_t i = 0; i < places->count; i++) {
		if ((search->accepted && !search->all) || search->list->count >= CANDIDATES_MAX)
			return 0;
		if (consider(search, places->items[i].path, places->items[i].origin, err) < 0)
			return -1;
	}
	return 0;
}

static void
add_candidate(struct pkg_buf *text, const struct lang_candidate *candidate)
{
	pkg_autofree char *reasons = pkg_argv_join(candidate->reasons, ", ");
	pkg_autofree char *path =
		pkg_text_clean(candidate->path, strlen(candidate->path), PATH_SHOWN, false);

	pkg_buf_addf(text, "%s (%s): %s", path, candidate->origin, reasons);
}

/* Two different things to a reader: no Python, and only unusable Pythons (BEHAVIOURS O11). */
static int
no_interpreter(const struct search *search, struct pkg_error *err)
{
	const struct lang_candidate_list *list = search->list;
	const char *minimum = search->lang->config->python_minimum;
	const char *version = search->version ? search->version : "";
	pkg_cleanup_buf struct pkg_buf text = { 0 };

	for (size_t i = 0; i < list->count; i++) {
		pkg_buf_add(&text, i ? "; " : "");
		add_candidate(&text, &list->items[i]);
	}
	if (list->count == 0)
		pkg_error_set(err, PKG_E_INTERPRETER, "no Python interpreter was found");
	else if (list->count == 1)
		pkg_error_set(err, PKG_E_INTERPRETER,
			"this Python interpreter cannot be used%s%s: %s",
			*version ? " as Python " : "", version, pkg_buf_str(&text));
	else
		pkg_error_set(err, PKG_E_INTERPRETER,
			"none of %zu Python interpreters can be used%s%s: %s", list->count,
			*version ? " as Python " : "", version, pkg_buf_str(&text));
	if (*version && lang_python_version_compare(version, minimum) < 0)
		return pkg_error_cure(err, "ask for Python %s or newer (python.minimum)", minimum);
	return pkg_error_cure(err,
		"install Python %s%s with its module venv (Debian: apt install python3 "
		"python3-venv; "
		"uv: uv python install), or name one with --python PATH; nothing is downloaded by "
		"itself",
		*version ? version : minimum, *version ? "" : " or newer");
}

static int
check_want(const char *want, struct pkg_error *err)
{
	if (!want || want[0] == '/' || lang_python_is_wanted_version(want))
		return 0;
	return pkg_error_set(err, PKG_E_INVALID,
		"'%s' is neither the absolute path of a Python interpreter nor a version like 3.11",
		want);
}

static void
read_surroundings(const struct lang_context *lang, struct lang_python_surroundings *out)
{
	*out = (struct lang_python_surroundings){
		.home = lang->home->user_home,
		.path = getenv("PATH"),
		.pyenv_root = getenv("PYENV_ROOT"),
		.pyenv_version = getenv("PYENV_VERSION"),
		.uv_dir = getenv("UV_PYTHON_INSTALL_DIR"),
		.data_home = getenv("XDG_DATA_HOME"),
		.conda_prefix = getenv("CONDA_PREFIX"),
	};
}

int
lang_python_discover(struct lang_context *lang, const char *want, bool all,
	struct lang_candidate_list *list, struct pkg_error *err)
{
	lang_cleanup_python_places struct lang_python_places places = { 0 };
	pkg_cleanup(pkg_argv_free) struct pkg_argv *seen = pkg_argv_new();
	struct search search = { .lang = lang, .all = all, .list = list, .seen = seen };
	const struct pkg_argv *configured = lang->config->python_interpreters;

	if (check_want(want, err) < 0)
		return -1;
	read_surroundings(lang, &search.around);
	if (want && want[0] == '/') {
		lang_python_places_add(&places, want, "option");
	} else {
		search.version = want;
		for (size_t i = 0; configured && i < configured->count; i++)
			lang_python_places_add(&places, configured->items[i], "configuration");
		lang_python_search(&search.around, &places);
	}
	if (consider_all(&search, &places, err) < 0)
		return -1;
	return search.accepted ? 0 : no_interpreter(&search, err);
}
