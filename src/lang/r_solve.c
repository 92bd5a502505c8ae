#include "lang/r_solve.h"

#include <stdlib.h>
#include <string.h>

#include "core/path.h"
#include "lang/r_installed.h"
#include "lang/r_version.h"

#define ROUNDS_MAX 1000
#define NODES_MAX 20000

void
lang_r_solution_clear(struct lang_r_solution *solution)
{
	for (size_t i = 0; i < solution->count; i++) {
		struct lang_r_node *node = solution->nodes[i];

		free(node->name);
		lang_r_needs_clear(&node->needs);
		free(node->wants);
		free(node);
	}
	free(solution->nodes);
	*solution = (struct lang_r_solution){ 0 };
}

struct lang_r_node *
lang_r_solution_find(const struct lang_r_solution *solution, const char *name)
{
	for (size_t i = 0; i < solution->count; i++)
		if (strcmp(solution->nodes[i]->name, name) == 0)
			return solution->nodes[i];
	return NULL;
}

static struct lang_r_node *
node_of(struct lang_r_solution *solution, const char *name)
{
	struct lang_r_node *node = lang_r_solution_find(solution, name);

	if (node)
		return node;
	node = pkg_xcalloc(1, sizeof(*node));
	node->name = pkg_xstrdup(name);
	solution->nodes =
		pkg_xrealloc(solution->nodes, solution->count + 1, sizeof(solution->nodes[0]));
	solution->nodes[solution->count++] = node;
	return node;
}

static void
want(struct lang_r_node *node, const struct lang_r_need *need, const char *from)
{
	node->wants = pkg_xrealloc(node->wants, node->want_count + 1, sizeof(*node->wants));
	node->wants[node->want_count++] = (struct lang_r_want){ need, from };
}

/* --- needs of what was chosen --- */

static int
load_kept(struct lang_r_problem *problem, struct lang_r_node *node, struct pkg_error *err)
{
	lang_cleanup_r_description struct lang_r_description description = { 0 };

	/* What is inherited is as complete as the machine has it. */
	if (!node->kept->owned)
		return 0;
	if (lang_r_installed_read(problem->env, node->kept, &description, err) < 0) {
		pkg_error_set(err, PKG_E_ENV_BROKEN,
			"what %s needs cannot be read from its DESCRIPTION", node->name);
		return pkg_error_cure(err, "rebuild it from its history: pkg env repair -l r %s",
			pkg_path_base(problem->env->prefix));
	}
	node->needs = description.needs;
	description.needs = (struct lang_r_needs){ 0 };
	return 0;
}

static int
load_taken(struct lang_r_problem *problem, struct lang_r_node *node, struct pkg_error *err)
{
	const struct lang_r_entry *entry = node->taken;
	const struct lang_r_file *file = lang_r_files_find(problem->files, entry);

	if (entry->needs_text)
		return lang_r_needs_parse(entry->needs_text, &node->needs, err) < 0
			? pkg_error_prefix(err, "%s %s", entry->name, entry->version)
			: 0;
	/* Out of an archive: the file was read when it was chosen. */
	for (size_t i = 0; file && i < file->description.needs.count; i++) {
		pkg_autofree char *text = lang_r_need_text(&file->description.needs.items[i]);

		if (lang_r_needs_parse(text, &node->needs, err) < 0)
			return -1;
	}
	return 0;
}

static bool
is_offered(const struct lang_r_problem *problem, const char *name)
{
	size_t count = 0;

	for (size_t i = 0; i < lang_r_packages_repos(problem->packages); i++)
		if (lang_r_packages_find(problem->packages, i, name, &count))
			return true;
	return false;
}

/* A suggestion that nobody offers is no obstacle. */
static void
add_suggested(const struct lang_r_problem *problem, struct lang_r_node *node)
{
	lang_cleanup_r_description struct lang_r_description description = { 0 };

	if (node->kept)
		(void)lang_r_installed_read(problem->env, node->kept, &description, NULL);
	else
		(void)lang_r_needs_parse(node->taken->suggests_text, &description.suggests, NULL);
	for (size_t i = 0; i < description.suggests.count; i++) {
		pkg_autofree char *text = lang_r_need_text(&description.suggests.items[i]);

		if (is_offered(problem, description.suggests.items[i].name))
			(void)lang_r_needs_parse(text, &node->needs, NULL);
	}
}

static int
choose(struct lang_r_problem *problem, struct lang_r_node *node, struct pkg_error *err)
{
	int rc;

	lang_r_needs_clear(&node->needs);
	node->kept = NULL;
	node->taken = NULL;
	if (lang_r_choose(problem, node, err) < 0)
		return -1;
	rc = node->kept ? load_kept(problem, node, err) : load_taken(problem, node, err);
	if (rc == 0 && node->root && problem->request->suggests)
		add_suggested(problem, node);
	return rc;
}

static const char *
version_of(const struct lang_r_node *node)
{
	return node->kept ? node->kept->version : node->taken ? node->taken->version : NULL;
}

/* --- rounds --- */

static void
constrain(const struct lang_r_problem *problem, struct lang_r_node *node)
{
	for (size_t i = 0; i < problem->constraints.count; i++)
		if (strcmp(problem->constraints.items[i].name, node->name) == 0)
			want(node, &problem->constraints.items[i], NULL);
}

static void
reach(const struct lang_r_problem *problem, struct lang_r_solution *out, struct lang_r_node **queue,
	size_t *queued, const struct lang_r_need *need, const char *from)
{
	struct lang_r_node *node;

	if (strcmp(need->name, "R") == 0)
		return;
	node = node_of(out, need->name);
	if (!node->reached) {
		node->reached = true;
		node->want_count = 0;
		constrain(problem, node);
		if (*queued < NODES_MAX)
			queue[(*queued)++] = node;
	}
	want(node, need, from);
}

/* One walk from what is asked for. Wants are collected anew each time, so that none of a version
 * that was given up lingers. */
static int
walk(struct lang_r_problem *problem, struct lang_r_solution *out, struct lang_r_node **queue,
	struct pkg_error *err)
{
	size_t queued = 0;

	for (size_t i = 0; i < out->count; i++)
		out->nodes[i]->reached = false;
	for (size_t i = 0; i < problem->roots.count; i++) {
		node_of(out, problem->roots.items[i].name)->root = true;
		reach(problem, out, queue, &queued, &problem->roots.items[i], NULL);
	}
	for (size_t i = 0; i < queued; i++) {
		struct lang_r_node *node = queue[i];

		if (!version_of(node) && choose(problem, node, err) < 0)
			return -1;
		for (size_t j = 0; j < node->needs.count; j++)
			reach(problem, out, queue, &queued, &node->needs.items[j], node->name);
	}
	if (queued >= NODES_MAX)
		return pkg_error_set(
			err, PKG_E_TOO_LARGE, "more than %d packages are needed", NODES_MAX);
	return 0;
}

/* Now that all who want a package have spoken. 1: one was chosen again; the wants that came from
 * its former version are gone then, so nothing else is looked at before the next walk. */
static int
settle(struct lang_r_problem *problem, struct lang_r_solution *out, struct pkg_error *err)
{
	for (size_t i = 0; i < out->count; i++) {
		struct lang_r_node *node = out->nodes[i];

		if (node->reached && !lang_r_wants_met(node, version_of(node)))
			return choose(problem, node, err) < 0 ? -1 : 1;
	}
	return 0;
}

int
lang_r_solve(struct lang_r_problem *problem, struct lang_r_solution *out, struct pkg_error *err)
{
	pkg_autofree struct lang_r_node **queue = pkg_xcalloc(NODES_MAX, sizeof(*queue));

	for (int round = 0; round < ROUNDS_MAX; round++) {
		int again;

		if (walk(problem, out, queue, err) < 0)
			return -1;
		again = settle(problem, out, err);
		if (again <= 0)
			return again;
	}
	return pkg_error_set(err, PKG_E_RESOLUTION,
		"no set of versions was found in %d rounds: each choice asks for another",
		ROUNDS_MAX);
}
