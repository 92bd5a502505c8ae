#include "lang/python_provider_impl.h"

#include <stdlib.h>
#include <string.h>

#include "lang/pep503.h"

#define ATTEMPTS_MAX 400 /* each learns something new: an end of all that could be learned */

static size_t
on_count(void *context, int number)
{
	return provider_base(context, number)->list.count;
}

/* --- which one first --- */

static void
note_pre(void *context, const char *text)
{
	lang_cleanup_requirement struct lang_requirement requirement = { 0 };
	pkg_autofree char *bare = NULL;
	const char *constraint = strstr(text, PROVIDER_CONSTRAINT);
	bool *found = context;

	bare = constraint ? pkg_xstrndup(text, (size_t)(constraint - text)) : pkg_xstrdup(text);
	if (lang_requirement_parse(bare, &requirement, NULL) == 0 &&
		lang_pep440_set_allows_pre(&requirement.versions))
		*found = true;
}

/* A requirement that holds now names a pre-release. */
static bool
wants_pre(const struct lang_python_provider *provider, const struct lang_pubgrub *solver, int base)
{
	const struct provider_package *package = provider_at(provider, base);
	bool found = provider->question->request->prerelease;

	if (!package->pre_open)
		return false;
	for (size_t i = 0; i < package->constraint_count; i++)
		found = found || lang_pep440_set_allows_pre(&package->constraints[i].versions);
	if (!found)
		lang_pubgrub_active(solver, base, note_pre, &found);
	return found;
}

/* Smaller is better: what is withdrawn last, pre-releases that nobody named before that. */
static int
rank_of(const struct lang_python_candidate *candidate, bool pre)
{
	if (candidate->installed || candidate->direct)
		return 0;
	return (candidate->yanked ? 2 : 0) + (candidate->pre && !pre ? 1 : 0);
}

static size_t
on_choose(void *context, const struct lang_pubgrub *solver, int number, const uint64_t *allowed)
{
	struct lang_python_provider *provider = context;
	const struct lang_request *request = provider->question->request;
	int base = provider_at(provider, number)->base;
	const struct provider_package *package = provider_at(provider, base);
	const uint64_t *state = base != number ? lang_pubgrub_state(solver, base) : NULL;
	bool upgrade = request->upgrade_all || (request->upgrade && package->named);
	bool pre = wants_pre(provider, solver, base);
	long best = -1, other = -1;

	for (size_t i = package->list.count; i-- > 0;) {
		const struct lang_python_candidate *candidate = &package->list.items[i];

		if (!lang_pubgrub_in(allowed, i))
			continue;
		other = other < 0 ? (long)i : other;
		/* An extra follows its project, where that is known better. */
		if (state && !lang_pubgrub_in(state, i))
			continue;
		if (candidate->installed && !upgrade)
			return i;
		if (best < 0 || rank_of(candidate, pre) < rank_of(&package->list.items[best], pre))
			best = (long)i;
	}
	return (size_t)(best >= 0 ? best : other);
}

static char *
on_name(void *context, int number)
{
	const struct lang_python_provider *provider = context;
	const struct provider_package *package = provider_at(provider, number);

	return package->extra ? pkg_xasprintf("%s[%s]", package->key, package->extra)
			      : pkg_xstrdup(package->key);
}

static char *
on_version(void *context, int number, size_t candidate)
{
	const struct provider_package *package = provider_base(context, number);

	return pkg_xstrdup(package->list.items[candidate].version.text);
}

/* --- solving --- */

static const struct lang_pubgrub_ops ops = {
	.count = on_count,
	.choose = on_choose,
	.needs = provider_needs,
	.name = on_name,
	.version = on_version,
};

static int
take_constraints(struct lang_python_provider *provider, struct pkg_error *err)
{
	const struct pkg_argv *lines = provider->question->request->constraints;

	for (size_t i = 0; lines && i < lines->count; i++) {
		struct lang_requirement one = { 0 };
		struct provider_package *package;

		if (lang_requirement_parse(lines->items[i], &one, err) < 0)
			return -1;
		if (one.kind != LANG_REQUIREMENT_INDEX) {
			pkg_error_set(err, PKG_E_UNSUPPORTED, "a constraint names a URL");
			lang_requirement_clear(&one);
			return -1;
		}
		if (!provider_applies(provider, &one, NULL)) {
			lang_requirement_clear(&one);
			continue;
		}
		package = provider_at(provider, provider_intern(provider, one.normalized, NULL));
		if (lang_pep440_set_allows_pre(&one.versions))
			package->pre_open = true;
		package->constraints = pkg_xrealloc(package->constraints,
			package->constraint_count + 1, sizeof(*package->constraints));
		package->constraints[package->constraint_count++] = one;
	}
	return 0;
}

/* An upgrade looks at the page whatever is installed; so does a version that is not the installed one. */
static int
name_roots(struct lang_python_provider *provider, struct pkg_error *err)
{
	const struct lang_request *request = provider->question->request;

	for (size_t i = 0; i < request->requirements->count; i++) {
		lang_cleanup_requirement struct lang_requirement one = { 0 };
		struct provider_package *package;

		if (lang_requirement_parse(request->requirements->items[i], &one, err) < 0)
			return -1;
		if (!provider_applies(provider, &one, NULL))
			continue;
		package = provider_at(provider, provider_intern(provider, one.normalized, NULL));
		package->named = true;
		package->open = package->open || request->upgrade;
		if (one.url && provider_check_kind(&one, err) == 0 &&
			provider_add_direct(provider, package, &one, err) < 0)
			return -1;
	}
	provider->again = false;
	return 0;
}

/* The proof rests on an installed project whose page was not looked at. */
static bool
open_causes(struct lang_python_provider *provider)
{
	lang_cleanup_pubgrub_causes struct lang_pubgrub_causes causes = { 0 };
	bool opened = false;

	lang_pubgrub_causes(provider->solver, &causes);
	for (size_t i = 0; i < causes.count; i++) {
		int both[] = { causes.items[i].package, causes.items[i].needed };

		for (size_t k = 0; k < 2; k++)
			if (both[k] > 0 &&
				provider_open_page(provider, provider_base(provider, both[k])))
				opened = true;
	}
	return opened;
}

static const struct lang_python_candidate *
chosen_of(const struct lang_python_provider *provider, const struct provider_package *package)
{
	long at = package->extra || package->base == 0
		? -1
		: lang_pubgrub_chosen(provider->solver, package->base);

	return at >= 0 ? &package->list.items[at] : NULL;
}

/* An installed project needed the installed version of another, and cannot take the chosen one. */
static bool
is_broken(const struct lang_python_provider *provider, const struct lang_requirement *need)
{
	struct lang_pep440_version before;

	if (need->url)
		return false;
	for (size_t i = 1; i < provider->count; i++) {
		const struct provider_package *package = provider->packages[i];
		const struct lang_python_candidate *chosen = chosen_of(provider, package);

		if (!chosen || chosen->installed || !package->installed ||
			strcmp(package->key, need->normalized) != 0)
			continue;
		return lang_pep440_parse(package->installed->version, &before, NULL) == 0 &&
			lang_pep440_set_match(&need->versions, &before, LANG_PEP440_PRE_ALLOW) &&
			!lang_pep440_set_match(
				&need->versions, &chosen->version, LANG_PEP440_PRE_ALLOW);
	}
	return false;
}

static bool
breaks(struct lang_python_provider *provider, struct provider_package *package)
{
	const struct lang_metadata *metadata = provider_installed_metadata(provider, package);
	lang_cleanup_requirement struct lang_requirement asked = { 0 };
	bool broken = false;

	if (!metadata)
		return false;
	if (package->installed->requirement)
		(void)lang_requirement_parse(package->installed->requirement, &asked, NULL);
	for (size_t i = 0; i < metadata->requires_dist->count && !broken; i++) {
		lang_cleanup_requirement struct lang_requirement need = { 0 };
		bool counts;

		if (lang_requirement_parse(metadata->requires_dist->items[i], &need, NULL) < 0)
			continue;
		counts = provider_applies(provider, &need, NULL);
		for (size_t k = 0; asked.extras && k < asked.extras->count && !counts; k++)
			counts = provider_applies(provider, &need, asked.extras->items[k]);
		broken = counts && is_broken(provider, &need);
	}
	return broken;
}

static bool
changes_installed(const struct lang_python_provider *provider)
{
	for (size_t i = 1; i < provider->count; i++) {
		const struct lang_python_candidate *chosen =
			chosen_of(provider, provider->packages[i]);

		if (chosen && !chosen->installed && provider->packages[i]->installed)
			return true;
	}
	return false;
}

/* "user[x]", with the extras that it was asked for with. Given. */
static char *
kept_text(const struct store_package *package)
{
	lang_cleanup_requirement struct lang_requirement asked = { 0 };
	pkg_autofree char *extras = NULL;

	if (!package->requirement || lang_requirement_parse(package->requirement, &asked, NULL) < 0)
		return pkg_xstrdup(package->key);
	extras = pkg_argv_join(asked.extras, ",");
	return *extras ? pkg_xasprintf("%s[%s]", package->key, extras) : pkg_xstrdup(package->key);
}

/* What the environment owns and the change would break takes part in the next attempt. */
static bool
keep_installed(struct lang_python_provider *provider)
{
	const struct store_package_list *installed = provider->question->request->installed;
	bool found = false;

	if (!installed || !changes_installed(provider))
		return false;
	for (size_t i = 0; i < installed->count; i++) {
		const struct store_package *one = &installed->items[i];
		pkg_autofree char *text = kept_text(one);
		int number;

		if (!one->owned || pkg_argv_has(provider->kept, text) ||
			!lang_pep503_is_name(one->key))
			continue;
		number = provider_intern(provider, one->key, NULL);
		if (chosen_of(provider, provider_at(provider, number)) ||
			!breaks(provider, provider_at(provider, number)))
			continue;
		pkg_argv_add(provider->kept, text);
		(void)provider_open_page(provider, provider_at(provider, number));
		found = true;
	}
	return found;
}

static int
collect(struct lang_python_provider *provider, struct pkg_error *err)
{
	provider->chosen = pkg_xcalloc(provider->count, sizeof(*provider->chosen));
	for (size_t i = 1; i < provider->count; i++) {
		struct provider_package *package = provider->packages[i];
		const struct lang_python_candidate *candidate = chosen_of(provider, package);
		struct lang_python_chosen *out = &provider->chosen[provider->chosen_count];
		char *unusable = NULL;

		if (!candidate || candidate->installed)
			continue;
		*out = (struct lang_python_chosen){ .key = package->key,
			.file = candidate->file,
			.direct = candidate->direct,
			.is_sdist = candidate->is_sdist };
		if (provider_metadata(
			    provider, package, candidate, &out->metadata, &unusable, err) < 0)
			return -1;
		provider->chosen_count++;
	}
	return 0;
}

/* 1: begin again; 0: done. */
static int
attempt(struct lang_python_provider *provider, struct pkg_error *err)
{
	lang_pubgrub_free(provider->solver);
	provider->solver = lang_pubgrub_new(&ops, provider);
	provider->again = false;
	switch (lang_pubgrub_solve(provider->solver, err)) {
	case LANG_PUBGRUB_SOLVED:
		return keep_installed(provider) ? 1 : collect(provider, err);
	case LANG_PUBGRUB_IMPOSSIBLE:
		return open_causes(provider) ? 1 : provider_explain(provider, err);
	case LANG_PUBGRUB_FAILED:
		return provider->again ? 1 : -1;
	}
	return -1;
}

int
lang_python_provider_solve(struct lang_python_provider *provider, struct pkg_error *err)
{
	if (take_constraints(provider, err) < 0 || name_roots(provider, err) < 0)
		return -1;
	for (int i = 0; i < ATTEMPTS_MAX; i++) {
		int rc = attempt(provider, err);

		if (rc <= 0)
			return rc;
	}
	return pkg_error_set(err, PKG_E_RESOLUTION, "no end after %d attempts", ATTEMPTS_MAX);
}

size_t
lang_python_provider_count(const struct lang_python_provider *provider)
{
	return provider->chosen_count;
}

struct lang_python_chosen
lang_python_provider_get(const struct lang_python_provider *provider, size_t i)
{
	return provider->chosen[i];
}
