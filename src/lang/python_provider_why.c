#include "lang/python_provider_impl.h"

#include <stdlib.h>
#include <string.h>

#include "core/text.h"

/* What an impossible question is called. A chain of needs that ends where nothing is to be had is missing
 * something; anything else is a contradiction. */

static bool
is_source(const struct lang_pubgrub_causes *causes, int package)
{
	for (size_t i = 0; i < causes->count; i++)
		if (causes->items[i].package == package)
			return true;
	return false;
}

/* Every need leads to another fact of the list. */
static bool
is_chain(const struct lang_python_provider *provider, const struct lang_pubgrub_causes *causes)
{
	for (size_t i = 0; i < causes->count; i++) {
		const struct lang_pubgrub_cause *cause = &causes->items[i];

		if (cause->needed >= 0 && !cause->nothing_fits &&
			!is_source(causes, cause->needed) &&
			!is_source(causes, provider_at(provider, cause->needed)->base))
			return false;
	}
	return true;
}

static const struct lang_pubgrub_cause *
find_end(const struct lang_pubgrub_causes *causes)
{
	const struct lang_pubgrub_cause *found = NULL;

	/* What was asked for comes last, and says most. */
	for (size_t i = 0; i < causes->count; i++)
		if (causes->items[i].nothing_fits)
			found = &causes->items[i];
	return found;
}

static const struct lang_pubgrub_cause *
find_unusable(const struct lang_pubgrub_causes *causes)
{
	for (size_t i = 0; i < causes->count; i++)
		if (causes->items[i].needed < 0)
			return &causes->items[i];
	return NULL;
}

static int
conflict(const struct lang_python_provider *provider, struct pkg_error *err)
{
	pkg_autofree char *why = lang_pubgrub_explain(provider->solver);

	pkg_error_set(err, PKG_E_CONFLICT, "the requirements contradict each other: %s", why);
	return pkg_error_cure(err, "ask for other versions of one of them");
}

static int
missing(const struct lang_python_provider *provider, const struct lang_pubgrub_cause *end,
	struct pkg_error *err)
{
	const struct provider_package *needed =
		provider_at(provider, provider_at(provider, end->needed)->base);
	const char *parent = end->package == LANG_PUBGRUB_ROOT
		? NULL
		: provider_at(provider, provider_at(provider, end->package)->base)->key;

	return provider->source->nothing_fits(
		provider->source->context, needed->key, end->text, parent, err);
}

static int
unusable(const struct lang_python_provider *provider, const struct lang_pubgrub_cause *cause,
	struct pkg_error *err)
{
	pkg_autofree char *why = lang_pubgrub_explain(provider->solver);
	const struct provider_package *package =
		provider_at(provider, provider_at(provider, cause->package)->base);

	if (!pkg_text_has_prefix(cause->text, PROVIDER_NEEDS_PYTHON))
		return pkg_error_set(
			err, PKG_E_ARCHIVE, "'%s' cannot be had: %s", package->key, why);
	pkg_error_set(err, PKG_E_REQUIRES_PYTHON, "'%s' cannot be had: %s; this environment has %s",
		package->key, why, provider->filter.python.text);
	return pkg_error_cure(
		err, "create an environment with another Python (pkg env create --python)");
}

int
provider_explain(struct lang_python_provider *provider, struct pkg_error *err)
{
	lang_cleanup_pubgrub_causes struct lang_pubgrub_causes causes = { 0 };
	const struct lang_pubgrub_cause *end, *bad;

	lang_pubgrub_causes(provider->solver, &causes);
	end = find_end(&causes);
	bad = find_unusable(&causes);
	if (!is_chain(provider, &causes) || (!end && !bad))
		return conflict(provider, err);
	if (!end)
		return unusable(provider, bad, err);
	/* Without the constraint or the URL there might be something. */
	if (strstr(end->text, PROVIDER_CONSTRAINT) ||
		provider_base(provider, end->needed)->direct_count > 0)
		return conflict(provider, err);
	return missing(provider, end, err);
}
