/* One package, one version: what is there, then the repositories in order, then their archives;
 * and what to say when there is none. */
#include <stdlib.h>
#include <string.h>

#include "lang/r_facts.h"
#include "lang/r_solve.h"
#include "lang/r_version.h"

#define ARCHIVE_TRIES 5

struct choosing {
	struct lang_r_problem *problem;
	struct lang_r_node *node;
	/* What was in the way, for the error. */
	const struct lang_r_entry *seen; /* newest of the first repository that has the name */
	const struct lang_r_entry *other_r; /* would do, but not with this R */
	char *r_need; /* owned; its text */
	const struct lang_r_entry *other_os;
};

bool
lang_r_wants_met(const struct lang_r_node *node, const char *version)
{
	if (!version)
		return false;
	for (size_t i = 0; i < node->want_count; i++)
		if (!lang_r_need_met(node->wants[i].need, version))
			return false;
	return true;
}

char *
lang_r_want_text(const char *name, const struct lang_r_want *want)
{
	pkg_autofree char *text = lang_r_need_text(want->need);

	(void)name;
	return want->from ? pkg_xasprintf("%s, which %s needs", text, want->from)
			  : pkg_xasprintf("%s, which was asked for", text);
}

/* --- one entry --- */

static bool
is_for_this_r(struct choosing *choosing, const struct lang_r_entry *entry,
	const struct lang_r_needs *needs)
{
	const char *version = lang_r_version(choosing->problem->env->facts);

	for (size_t i = 0; i < needs->count; i++) {
		if (strcmp(needs->items[i].name, "R") != 0 ||
			lang_r_need_met(&needs->items[i], version))
			continue;
		if (!choosing->other_r) {
			choosing->other_r = entry;
			choosing->r_need = lang_r_need_text(&needs->items[i]);
		}
		return false;
	}
	return true;
}

static bool
will_do(struct choosing *choosing, const struct lang_r_entry *entry)
{
	lang_cleanup_r_needs struct lang_r_needs needs = { 0 };

	if (!lang_r_wants_met(choosing->node, entry->version))
		return false;
	if (entry->os_type && strcmp(entry->os_type, "unix") != 0) {
		choosing->other_os = entry;
		return false;
	}
	/* A list that cannot be read is the walk's to refuse, with its words. */
	(void)lang_r_needs_parse(entry->needs_text, &needs, NULL);
	return is_for_this_r(choosing, entry, &needs);
}

/* 1: chosen. */
static int
from_index(struct choosing *choosing, size_t repo)
{
	size_t count = 0;
	const struct lang_r_entry *entries = lang_r_packages_find(
		choosing->problem->packages, repo, choosing->node->name, &count);

	if (count > 0 && !choosing->seen)
		choosing->seen = entries;
	for (size_t i = 0; i < count; i++)
		if (will_do(choosing, &entries[i])) {
			choosing->node->taken = &entries[i];
			return 1;
		}
	return 0;
}

/* --- archives --- */

static bool
is_absent(enum pkg_error_kind kind)
{
	return kind == PKG_E_NOT_FOUND || kind == PKG_E_INDEX_STATUS;
}

/* Its index entry is not there any more: the tarball itself says for which R it is. */
static int
try_archived(struct choosing *choosing, size_t repo, const char *version, struct pkg_error *err)
{
	struct lang_r_problem *problem = choosing->problem;
	const struct lang_r_entry *entry = lang_r_packages_archive_entry(
		problem->packages, repo, choosing->node->name, version);
	pkg_cleanup_error struct pkg_error why = { 0 };
	const struct lang_r_file *file;

	if (lang_r_files_get(problem->files, &entry, 1, &why) < 0) {
		if (is_absent(why.kind))
			return 0;
		pkg_error_move(err, &why);
		return -1;
	}
	file = lang_r_files_find(problem->files, entry);
	if (!is_for_this_r(choosing, entry, &file->description.needs))
		return 0;
	choosing->node->taken = entry;
	return 1;
}

static const char *
exact_want(const struct lang_r_node *node)
{
	for (size_t i = 0; i < node->want_count; i++)
		if (lang_r_need_exact(node->wants[i].need))
			return lang_r_need_exact(node->wants[i].need);
	return NULL;
}

static bool
is_limited(const struct lang_r_node *node)
{
	for (size_t i = 0; i < node->want_count; i++)
		if (node->wants[i].need->bound_count > 0)
			return true;
	return false;
}

static int
from_archive(struct choosing *choosing, size_t repo, struct pkg_error *err)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *versions = pkg_argv_new();
	const char *exact = exact_want(choosing->node);
	int tries = 0;
	int rc = 0;

	if (exact)
		return lang_r_wants_met(choosing->node, exact)
			? try_archived(choosing, repo, exact, err)
			: 0;
	if (lang_r_packages_archived(
		    choosing->problem->packages, repo, choosing->node->name, versions, err) < 0)
		return -1;
	for (size_t i = 0; rc == 0 && i < versions->count && tries < ARCHIVE_TRIES; i++)
		if (lang_r_wants_met(choosing->node, versions->items[i])) {
			rc = try_archived(choosing, repo, versions->items[i], err);
			tries++;
		}
	return rc;
}

/* --- when there is none --- */

static void
add_wants(const struct lang_r_node *node, struct pkg_buf *out)
{
	for (size_t i = 0; i < node->want_count; i++) {
		pkg_autofree char *text = lang_r_want_text(node->name, &node->wants[i]);

		pkg_buf_addf(out, "%s%s", i ? "; " : "", text);
	}
}

static int
no_package(struct choosing *choosing, struct pkg_error *err)
{
	struct lang_r_packages *packages = choosing->problem->packages;
	const struct lang_r_node *node = choosing->node;
	const char *near = lang_r_packages_near(packages, node->name);
	pkg_cleanup(pkg_argv_free) struct pkg_argv *versions = pkg_argv_new();
	pkg_autofree char *who = node->want_count > 0 && node->wants[0].from
		? pkg_xasprintf(" (%s needs it)", node->wants[0].from)
		: pkg_xstrdup("");
	size_t count = lang_r_packages_repos(packages);

	for (size_t i = 0; i < count && versions->count == 0; i++)
		if (lang_r_packages_archived(packages, i, node->name, versions, err) < 0)
			return -1;
	if (versions->count > 0) {
		pkg_error_set(err, PKG_E_NO_SUCH_PACKAGE,
			"%s%s is archived: no repository offers it any more, its last version was "
			"%s",
			node->name, who, versions->items[0]);
		return pkg_error_cure(err, "ask for that version: pkg install -l r %s@%s",
			node->name, versions->items[0]);
	}
	pkg_error_set(err, PKG_E_NO_SUCH_PACKAGE, "no package '%s'%s in %s%s", node->name, who,
		count == 1 ? "" : "any of the repositories, the first being ",
		lang_r_packages_repo(packages, 0));
	if (near)
		return pkg_error_cure(err, "did you mean '%s'?", near);
	return pkg_error_cure(err,
		"a package of another repository (Bioconductor, r-universe) wants that repository "
		"in "
		"r.repos or --repo");
}

static int
no_version(struct choosing *choosing, struct pkg_error *err)
{
	const struct lang_r_node *node = choosing->node;
	pkg_cleanup_buf struct pkg_buf wants = { 0 };
	bool from_several = false;

	add_wants(node, &wants);
	for (size_t i = 1; i < node->want_count; i++)
		from_several = from_several || node->wants[i].need->bound_count > 0;
	/* Each of them could be had alone. */
	for (size_t i = 0; from_several && i < node->want_count; i++)
		from_several = !choosing->seen ||
			lang_r_need_met(node->wants[i].need, choosing->seen->version) ||
			lang_r_need_exact(node->wants[i].need);
	return pkg_error_set(err, from_several ? PKG_E_CONFLICT : PKG_E_NO_SUCH_VERSION,
		"no version of %s will do: %s; the repository offers %s", node->name,
		pkg_buf_str(&wants), choosing->seen ? choosing->seen->version : "none");
}

static int
nothing(struct choosing *choosing, struct pkg_error *err)
{
	const struct lang_r_node *node = choosing->node;

	if (choosing->other_r) {
		pkg_error_set(err, PKG_E_NO_SUCH_VERSION,
			"%s %s is for another R: it needs %s, and this is R %s", node->name,
			choosing->other_r->version, choosing->r_need,
			lang_r_version(choosing->problem->env->facts));
		return pkg_error_cure(err,
			"make an environment with that R (pkg env create -l r --python X.Y), or "
			"ask for an "
			"older version: pkg install -l r %s@VERSION",
			node->name);
	}
	if (choosing->other_os)
		return pkg_error_set(err, PKG_E_NO_SUCH_VERSION, "%s %s is for %s only", node->name,
			choosing->other_os->version, choosing->other_os->os_type);
	if (choosing->seen || is_limited(node))
		return no_version(choosing, err);
	return no_package(choosing, err);
}

/* --- the choice --- */

static bool
wants_newest(const struct lang_r_problem *problem, const struct lang_r_node *node)
{
	return problem->request->upgrade && (node->root || problem->request->upgrade_all);
}

static int
look_everywhere(struct choosing *choosing, struct pkg_error *err)
{
	size_t count = lang_r_packages_repos(choosing->problem->packages);

	for (size_t i = 0; i < count; i++) {
		int rc = from_index(choosing, i);

		if (rc == 0 && choosing->seen && is_limited(choosing->node))
			rc = from_archive(choosing, i, err);
		/* The first that has the name is the one that answers for it. */
		if (rc != 0 || choosing->seen)
			return rc;
	}
	for (size_t i = 0; i < count && is_limited(choosing->node); i++) {
		int rc = from_archive(choosing, i, err);

		if (rc != 0)
			return rc;
	}
	return 0;
}

int
lang_r_choose(struct lang_r_problem *problem, struct lang_r_node *node, struct pkg_error *err)
{
	struct choosing choosing = { .problem = problem, .node = node };
	const struct store_package *here = problem->request->installed
		? store_package_find(problem->request->installed, node->name)
		: NULL;
	bool good = here && lang_r_wants_met(node, here->version);
	int rc;

	if (good && !wants_newest(problem, node)) {
		node->kept = here;
		return 0;
	}
	rc = look_everywhere(&choosing, err);
	/* Newer than what there is to get, or nowhere to be got: it stays. */
	if (rc >= 0 && good &&
		(rc == 0 || lang_r_version_compare(node->taken->version, here->version) <= 0)) {
		node->taken = NULL;
		node->kept = here;
		rc = 1;
	}
	if (rc == 0)
		rc = nothing(&choosing, err);
	free(choosing.r_need);
	return rc < 0 ? -1 : 0;
}
