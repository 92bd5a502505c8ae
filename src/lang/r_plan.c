#include <stdlib.h>
#include <string.h>

#include "core/path.h"
#include "core/url.h"
#include "lang/r.h"
#include "lang/r_build.h"
#include "lang/r_installed.h"
#include "lang/r_run.h"
#include "lang/r_solve.h"
#include "lang/r_sysreqs.h"
#include "lang/r_version.h"

#define ENGINE "pkgd"

static int
parse_all(const struct pkg_argv *texts, struct lang_r_needs *out, struct pkg_error *err)
{
	for (size_t i = 0; texts && i < texts->count; i++) {
		struct lang_r_need need;

		if (lang_r_need_parse(texts->items[i], &need, err) < 0)
			return -1;
		out->items = pkg_xrealloc(out->items, out->count + 1, sizeof(*out->items));
		out->items[out->count++] = need;
	}
	return 0;
}

/* --- the tarballs agree with what was planned --- */

static int
fetch_taken(struct lang_r_problem *problem, const struct lang_r_solution *solution,
	struct pkg_error *err)
{
	pkg_autofree const struct lang_r_entry **entries =
		pkg_xcalloc(solution->count + 1, sizeof(*entries));
	size_t count = 0;

	for (size_t i = 0; i < solution->count; i++)
		if (solution->nodes[i]->reached && solution->nodes[i]->taken)
			entries[count++] = solution->nodes[i]->taken;
	return lang_r_files_get(problem->files, entries, count, err);
}

static const struct lang_r_description *
description_of(const struct lang_r_problem *problem, const struct lang_r_node *node)
{
	return &lang_r_files_find(problem->files, node->taken)->description;
}

/* The index spoke for the file until now. */
static int
check_needs(const struct lang_r_problem *problem, const struct lang_r_solution *solution,
	const struct lang_r_node *node, struct pkg_error *err)
{
	const struct lang_r_needs *needs = &description_of(problem, node)->needs;

	for (size_t i = 0; i < needs->count; i++) {
		const struct lang_r_need *need = &needs->items[i];
		const struct lang_r_node *other = lang_r_solution_find(solution, need->name);
		const char *version = !other || !other->reached ? NULL
			: other->kept				? other->kept->version
								: other->taken->version;
		pkg_autofree char *text = NULL;

		if (strcmp(need->name, "R") == 0)
			version = lang_r_version(problem->env->facts);
		if (version && lang_r_need_met(need, version))
			continue;
		text = lang_r_need_text(need);
		return pkg_error_set(err, PKG_E_ARCHIVE,
			"%s needs %s, which its repository's index does not say", node->taken->file,
			text);
	}
	return 0;
}

/* A library built for another R would be loaded by this one. */
static int
check_built(
	const struct lang_r_problem *problem, const struct lang_r_node *node, struct pkg_error *err)
{
	const struct lang_r_description *description = description_of(problem, node);
	const char *version = lang_r_version(problem->env->facts);
	size_t len = lang_r_version_minor(version);

	if (!description->built_r)
		return 0;
	if (lang_r_version_minor(description->built_r) == len &&
		strncmp(description->built_r, version, len) == 0 &&
		(!*description->built_platform ||
			strcmp(description->built_platform, lang_r_platform(problem->env->facts)) ==
				0))
		return 0;
	return pkg_error_set(err, PKG_E_NO_SUCH_VERSION,
		"%s was built for R %s on '%s', and this is R %s on '%s'", node->taken->file,
		description->built_r, description->built_platform, version,
		lang_r_platform(problem->env->facts));
}

/* Depth first over what is to be built; a package that is met again on the way down needs
 * itself. */
static int
find_cycle(const struct lang_r_problem *problem, const struct lang_r_solution *solution,
	const struct lang_r_node *node, struct pkg_argv *path, struct pkg_argv *done,
	struct pkg_error *err)
{
	const struct lang_r_needs *needs = &description_of(problem, node)->needs;

	if (pkg_argv_has(path, node->name)) {
		pkg_autofree char *way = pkg_argv_join(path, ", ");

		return pkg_error_set(err, PKG_E_RESOLUTION,
			"%s needs itself: each of these is needed to build the one before it: %s",
			node->name, way);
	}
	if (pkg_argv_has(done, node->name))
		return 0;
	pkg_argv_add(path, node->name);
	for (size_t i = 0; i < needs->count; i++) {
		const struct lang_r_node *other =
			lang_r_solution_find(solution, needs->items[i].name);

		if (other && other->reached && other->taken &&
			find_cycle(problem, solution, other, path, done, err) < 0)
			return -1;
	}
	free(path->items[--path->count]);
	path->items[path->count] = NULL;
	pkg_argv_add(done, node->name);
	return 0;
}

/* What stays in the environment is not to be broken by what comes. */
static int
check_kept(const struct lang_r_problem *problem, const struct lang_r_solution *solution,
	struct pkg_error *err)
{
	const struct store_package_list *installed = problem->request->installed;

	for (size_t i = 0; installed && i < installed->count; i++) {
		const struct store_package *package = &installed->items[i];
		const struct lang_r_node *own = lang_r_solution_find(solution, package->key);
		lang_cleanup_r_description struct lang_r_description description = { 0 };

		if (!package->owned || (own && own->reached && own->taken) ||
			lang_r_installed_read(problem->env, package, &description, NULL) < 0)
			continue;
		for (size_t j = 0; j < description.needs.count; j++) {
			const struct lang_r_need *need = &description.needs.items[j];
			const struct lang_r_node *node = lang_r_solution_find(solution, need->name);
			pkg_autofree char *text = NULL;

			if (!node || !node->reached || !node->taken ||
				lang_r_need_met(need, node->taken->version))
				continue;
			text = lang_r_need_text(need);
			return pkg_error_set(err, PKG_E_CONFLICT,
				"%s %s, which is in the environment, needs %s; this would bring %s",
				package->name, package->version, text, node->taken->version);
		}
	}
	return 0;
}

static int
check(const struct lang_r_problem *problem, const struct lang_r_solution *solution,
	struct pkg_error *err)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *path = pkg_argv_new();
	pkg_cleanup(pkg_argv_free) struct pkg_argv *done = pkg_argv_new();

	for (size_t i = 0; i < solution->count; i++) {
		const struct lang_r_node *node = solution->nodes[i];

		if (!node->reached || !node->taken)
			continue;
		if (check_needs(problem, solution, node, err) < 0 ||
			check_built(problem, node, err) < 0 ||
			find_cycle(problem, solution, node, path, done, err) < 0)
			return -1;
	}
	return check_kept(problem, solution, err);
}

/* --- the resolution --- */

static char *
requirement_of(const struct lang_r_problem *problem, const char *name)
{
	for (size_t i = 0; i < problem->roots.count; i++)
		if (strcmp(problem->roots.items[i].name, name) == 0)
			return lang_r_need_text(&problem->roots.items[i]);
	return NULL;
}

static void
add_dist(const struct lang_r_problem *problem, const struct lang_r_node *node,
	const struct lang_r_sysreqs *sysreqs, struct lang_resolution *out)
{
	const struct lang_r_file *file = lang_r_files_find(problem->files, node->taken);
	const char *requirements = file->description.system_requirements;
	struct lang_dist *dist = lang_resolution_add(out);

	dist->name = pkg_xstrdup(node->name);
	dist->key = pkg_xstrdup(node->name);
	dist->version = pkg_xstrdup(node->taken->version);
	dist->requirement = requirement_of(problem, node->name);
	dist->file = pkg_xstrdup(node->taken->file);
	dist->url = pkg_url_redact(node->taken->url);
	dist->index = pkg_xstrdup(lang_r_packages_repo(problem->packages, node->taken->repo));
	dist->sha256 = pkg_xstrdup(file->sha256);
	dist->size = file->size;
	/* Of something that is built already nothing is missing, and none of its code runs to
	 * install it. */
	dist->is_sdist = !file->description.built_r;
	dist->source = pkg_xstrdup(dist->is_sdist ? "sdist" : "wheel");
	if (requirements && dist->is_sdist)
		dist->system_note = lang_r_sysreqs_missing(sysreqs, requirements);
}

static int
resolve(struct lang_r_problem *problem, struct lang_resolution *out, struct pkg_error *err)
{
	lang_cleanup_r_solution struct lang_r_solution solution = { 0 };
	pkg_cleanup(lang_r_sysreqs_free) struct lang_r_sysreqs *sysreqs =
		lang_r_sysreqs_open(problem->lang->home, err);

	if (!sysreqs || lang_r_solve(problem, &solution, err) < 0 ||
		fetch_taken(problem, &solution, err) < 0 || check(problem, &solution, err) < 0)
		return -1;
	for (size_t i = 0; i < solution.count; i++)
		if (solution.nodes[i]->reached && solution.nodes[i]->taken)
			add_dist(problem, solution.nodes[i], sysreqs, out);
	out->engine = pkg_xstrdup(ENGINE);
	lang_resolution_sort(out);
	return 0;
}

static int
refuse_unknown(const struct lang_request *request, struct pkg_error *err)
{
	if (request->exclude_newer)
		return pkg_error_set(err, PKG_E_UNSUPPORTED,
			"repositories of R packages do not say when a file was uploaded");
	return 0;
}

int
lang_r_plan(struct lang_context *lang, const struct lang_env *env,
	const struct lang_request *request, struct lang_resolution *out, struct pkg_error *err)
{
	struct lang_r_problem problem = { .lang = lang, .env = env, .request = request };
	pkg_autofree char *agent = lang_r_agent(env->facts, request->repos);
	int rc = -1;

	if (refuse_unknown(request, err) < 0)
		return -1;
	if (lang->status)
		lang->status(lang->context, "reading the repositories");
	if (parse_all(request->requirements, &problem.roots, err) == 0 &&
		parse_all(request->constraints, &problem.constraints, err) == 0)
		problem.packages = lang_r_packages_open(lang, request->repos, agent, err);
	if (problem.packages) {
		problem.files = lang_r_files_new(lang, request->repos, agent);
		rc = resolve(&problem, out, err);
	}
	lang_r_files_free(problem.files);
	lang_r_packages_free(problem.packages);
	lang_r_needs_clear(&problem.roots);
	lang_r_needs_clear(&problem.constraints);
	return rc;
}
