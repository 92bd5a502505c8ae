#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/path.h"
#include "core/text.h"
#include "lang/r.h"
#include "lang/r_probe.h"
#include "lang/r_run.h"
#include "lang/r_version.h"

#define CANDIDATES_MAX 64
#define PATH_SHOWN 1024
#define ENTRIES_MAX 256

/* Where Rs are kept: what the configuration names, PATH, /opt/R (rig and the builds for Linux
 * distributions put one directory a version there), the active conda environment, the system's
 * own places. */
struct search {
	struct lang_context *lang;
	const char *version; /* wanted: "4.2"; NULL: any */
	bool all;
	bool accepted;
	struct lang_candidate_list *list;
	struct pkg_argv *seen;
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

static bool
is_version(const char *version, const char *wanted)
{
	size_t len = strlen(wanted);

	return strncmp(version, wanted, len) == 0 && (version[len] == '\0' || version[len] == '.');
}

static int
probe(struct search *search, const char *path, struct lang_candidate *candidate,
	struct pkg_error *err)
{
	const struct lang_context *lang = search->lang;
	pkg_cleanup(pkg_json_put) struct json_object *facts = NULL;
	pkg_autofree char *reason = NULL;

	if (lang_r_probe(search->lang, path, &facts, &reason, err) < 0)
		return -1;
	if (!facts) {
		pkg_argv_add(candidate->reasons, reason);
		return 0;
	}
	if (search->version && !is_version(lang_r_version(facts), search->version))
		pkg_argv_addf(candidate->reasons, "it is R %s, not %s", lang_r_version(facts),
			search->version);
	lang_r_accept(facts, lang->config->r_minimum, lang->home->user_home, candidate->reasons);
	candidate->facts = pkg_steal_ptr(&facts);
	search->accepted = search->accepted || candidate->reasons->count == 0;
	return 0;
}

/* Rscript was named where R stands beside it. */
static char *
front_end(const char *path)
{
	pkg_autofree char *dir = NULL;

	if (strcmp(pkg_path_base(path), "Rscript") != 0)
		return pkg_xstrdup(path);
	dir = pkg_path_dir(path);
	return pkg_path_join(dir, "R");
}

static int
consider(struct search *search, const char *spelled, const char *origin, struct pkg_error *err)
{
	pkg_autofree char *path = front_end(spelled);
	pkg_autofree char *reason = plain_reason(path);
	pkg_autofree char *real = realpath(path, NULL);

	if ((search->accepted && !search->all) || search->list->count >= CANDIDATES_MAX ||
		pkg_argv_has(search->seen, real ? real : path))
		return 0;
	pkg_argv_add(search->seen, real ? real : path);
	if (reason || !real) {
		pkg_argv_add(add(search, path, origin)->reasons,
			reason ? reason : "its path cannot be resolved");
		return 0;
	}
	return probe(search, real, add(search, path, origin), err);
}

/* Places that need not be there. */
static int
consider_if_there(
	struct search *search, const char *path, const char *origin, struct pkg_error *err)
{
	return access(path, F_OK) == 0 ? consider(search, path, origin, err) : 0;
}

static int
search_path(struct search *search, struct pkg_error *err)
{
	const char *path = getenv("PATH");

	while (path && *path) {
		size_t len = strcspn(path, ":");
		pkg_autofree char *directory = pkg_xstrndup(path, len);
		pkg_autofree char *program = pkg_path_join(directory, "R");

		/* A relative entry means another place for each working directory. */
		if (*path == '/' && consider_if_there(search, program, "PATH", err) < 0)
			return -1;
		path += len + (path[len] == ':');
	}
	return 0;
}

static int
newest_first(const void *a, const void *b)
{
	return strverscmp(*(char *const *)b, *(char *const *)a);
}

static int
search_opt(struct search *search, struct pkg_error *err)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *names = pkg_argv_new();
	DIR *dir = opendir("/opt/R");

	for (const struct dirent *entry;
		dir && names->count < ENTRIES_MAX && (entry = readdir(dir)) != NULL;)
		if (entry->d_name[0] != '.')
			pkg_argv_add(names, entry->d_name);
	if (dir)
		closedir(dir);
	if (names->count > 1)
		qsort(names->items, names->count, sizeof(*names->items), newest_first);
	for (size_t i = 0; i < names->count; i++) {
		pkg_autofree char *path = pkg_path_joinf("/opt/R", "%s/bin/R", names->items[i]);

		if (consider_if_there(search, path, "/opt/R", err) < 0)
			return -1;
	}
	return 0;
}

static int
search_everywhere(struct search *search, struct pkg_error *err)
{
	static const char *const system[] = { "/usr/local/bin/R", "/usr/bin/R" };
	const struct pkg_argv *configured = search->lang->config->r_interpreters;
	const char *conda = getenv("CONDA_PREFIX");
	pkg_autofree char *in_conda = conda ? pkg_path_join(conda, "bin/R") : NULL;

	for (size_t i = 0; configured && i < configured->count; i++)
		if (consider(search, configured->items[i], "configuration", err) < 0)
			return -1;
	if (search_path(search, err) < 0 || search_opt(search, err) < 0)
		return -1;
	if (in_conda && in_conda[0] == '/' && consider_if_there(search, in_conda, "conda", err) < 0)
		return -1;
	for (size_t i = 0; i < PKG_ARRAY_LEN(system); i++)
		if (consider_if_there(search, system[i], "system", err) < 0)
			return -1;
	return 0;
}

/* Two different things to a reader: no R, and only unusable ones. */
static int
no_interpreter(const struct search *search, struct pkg_error *err)
{
	const struct lang_candidate_list *list = search->list;
	const char *version = search->version ? search->version : "";
	pkg_cleanup_buf struct pkg_buf text = { 0 };

	for (size_t i = 0; i < list->count; i++) {
		const struct lang_candidate *candidate = &list->items[i];
		pkg_autofree char *reasons = pkg_argv_join(candidate->reasons, ", ");
		pkg_autofree char *path =
			pkg_text_clean(candidate->path, strlen(candidate->path), PATH_SHOWN, false);

		pkg_buf_addf(
			&text, "%s%s (%s): %s", i ? "; " : "", path, candidate->origin, reasons);
	}
	if (list->count == 0)
		pkg_error_set(err, PKG_E_INTERPRETER, "no R was found");
	else
		pkg_error_set(err, PKG_E_INTERPRETER, "no R can be used%s%s: %s",
			*version ? " as R " : "", version, pkg_buf_str(&text));
	return pkg_error_cure(err,
		"install R %s%s (Debian: apt install r-base-core r-base-dev; rig: rig add "
		"release), or "
		"name one with --python PATH or r.interpreters; nothing is downloaded by itself",
		*version ? version : search->lang->config->r_minimum, *version ? "" : " or newer");
}

int
lang_r_discover(struct lang_context *lang, const char *want, bool all,
	struct lang_candidate_list *list, struct pkg_error *err)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *seen = pkg_argv_new();
	struct search search = { .lang = lang, .all = all, .list = list, .seen = seen };
	int rc;

	if (want && want[0] != '/' && !lang_r_version_is(want, true))
		return pkg_error_set(err, PKG_E_INVALID,
			"'%s' is neither the absolute path of an R nor a version like 4.2", want);
	search.version = want && want[0] != '/' ? want : NULL;
	rc = want && want[0] == '/' ? consider(&search, want, "option", err)
				    : search_everywhere(&search, err);
	if (rc < 0)
		return -1;
	return search.accepted ? 0 : no_interpreter(&search, err);
}
