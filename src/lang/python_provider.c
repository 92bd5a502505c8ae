#include "lang/python_provider_impl.h"

#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "core/url.h"
#include "lang/pep503.h"
#include "lang/python_facts.h"

#define PACKAGES_MAX 10000
#define AHEAD_MAX 16 /* older versions whose metadata is wanted while looking for one that fits */

/* --- packages --- */

int
provider_intern(struct lang_python_provider *provider, const char *key, const char *extra)
{
	const struct lang_request *request = provider->question->request;
	struct provider_package *package;
	int base;

	for (size_t i = 1; i < provider->count; i++) {
		const struct provider_package *one = provider->packages[i];

		if (strcmp(one->key, key) == 0 && (extra == NULL) == (one->extra == NULL) &&
			(!extra || strcmp(extra, one->extra) == 0))
			return (int)i;
	}
	base = extra ? provider_intern(provider, key, NULL) : (int)provider->count;
	provider->packages =
		pkg_xrealloc(provider->packages, provider->count + 1, sizeof(*provider->packages));
	package = pkg_xcalloc(1, sizeof(*package));
	provider->packages[provider->count] = package;
	*package = (struct provider_package){
		.key = pkg_xstrdup(key), .base = base, .extra = pkg_xstrdup(extra)
	};
	if (!extra) {
		package->unlocked = pkg_argv_new();
		package->installed =
			request->installed ? store_package_find(request->installed, key) : NULL;
		package->open = !package->installed || request->upgrade_all;
		package->pre_open = request->prerelease;
	}
	return (int)provider->count++;
}

struct provider_package *
provider_base(const struct lang_python_provider *provider, int package)
{
	return provider_at(provider, provider_at(provider, package)->base);
}

static void
package_free(struct provider_package *package)
{
	free(package->key);
	free(package->extra);
	free(package->hint);
	pkg_argv_free(package->unlocked);
	for (size_t i = 0; i < package->direct_count; i++) {
		free(package->direct[i]->filename);
		free(package->direct[i]->url);
		free(package->direct[i]->sha256);
		free(package->direct[i]);
	}
	free(package->direct);
	for (size_t i = 0; i < package->constraint_count; i++)
		lang_requirement_clear(&package->constraints[i]);
	free(package->constraints);
	lang_python_candidates_clear(&package->list);
	lang_metadata_clear(&package->metadata);
	free(package);
}

struct lang_python_provider *
lang_python_provider_new(const struct lang_python_question *question)
{
	struct lang_python_provider *provider = pkg_xcalloc(1, sizeof(*provider));

	provider->question = question;
	provider->source = question->source;
	provider->kept = pkg_argv_new();
	lang_python_filter_init(
		&provider->filter, question->facts, question->tags, question->request);
	lang_python_marker_env(question->facts, &provider->markers);
	provider->packages = pkg_xcalloc(1, sizeof(*provider->packages));
	provider->packages[0] = pkg_xcalloc(1, sizeof(struct provider_package));
	provider->packages[0]->key = pkg_xstrdup("");
	provider->count = 1;
	return provider;
}

void
lang_python_provider_free(struct lang_python_provider *provider)
{
	if (!provider)
		return;
	for (size_t i = 0; i < provider->count; i++)
		package_free(provider->packages[i]);
	free(provider->packages);
	free(provider->chosen);
	pkg_argv_free(provider->kept);
	lang_pubgrub_free(provider->solver);
	free(provider);
}

/* --- candidates --- */

static int
load(struct lang_python_provider *provider, int number, struct pkg_error *err)
{
	struct provider_package *package = provider_at(provider, number);
	const struct lang_simple_page *page = NULL;

	if (package->loaded)
		return 0;
	if (package->open && package->direct_count == 0) {
		if (provider->source->page(provider->source->context, package->key, &page, err) < 0)
			return -1;
		/* Whatever arrived meanwhile may have been this page. */
		if (package->loaded)
			return 0;
	}
	package->loaded = true;
	if (page)
		lang_python_candidates_add_page(
			&package->list, package->key, page, &provider->filter);
	if (package->installed)
		lang_python_candidates_add_installed(&package->list, package->installed);
	for (size_t i = 0; i < package->direct_count; i++)
		(void)lang_python_candidates_add_direct(
			&package->list, package->key, package->direct[i], &provider->filter);
	return 0;
}

static void
reload(struct lang_python_provider *provider, struct provider_package *package)
{
	lang_python_candidates_clear(&package->list);
	package->loaded = false;
	provider->again = true;
}

bool
provider_open_page(struct lang_python_provider *provider, struct provider_package *package)
{
	if (package->open)
		return false;
	package->open = true;
	reload(provider, package);
	return true;
}

int
provider_add_direct(struct lang_python_provider *provider, struct provider_package *package,
	const struct lang_requirement *requirement, struct pkg_error *err)
{
	pkg_autofree char *bare = pkg_xstrndup(requirement->url, strcspn(requirement->url, "#"));
	const char *hash = strstr(requirement->url, "sha256=");
	struct lang_python_candidates probe = { 0 };
	struct lang_simple_file *file;
	bool usable;

	for (size_t i = 0; i < package->direct_count; i++)
		if (strcmp(package->direct[i]->url, bare) == 0)
			return 0;
	file = pkg_xcalloc(1, sizeof(*file));
	file->url = pkg_steal_ptr(&bare);
	file->filename = pkg_url_basename(file->url);
	file->size = -1;
	if (hash && strspn(hash + 7, "0123456789abcdef") == 64)
		file->sha256 = pkg_xstrndup(hash + 7, 64);
	package->direct = pkg_xrealloc(
		package->direct, package->direct_count + 1, sizeof(struct lang_simple_file *));
	package->direct[package->direct_count++] = file;
	usable = lang_python_candidates_add_direct(&probe, package->key, file, &provider->filter);
	lang_python_candidates_clear(&probe);
	if (!usable)
		return pkg_error_set(err, PKG_E_NO_WHEEL,
			"'%s' is not a wheel of '%s' that Python %s can use here", file->filename,
			package->key, provider->filter.python.text);
	reload(provider, package);
	return 0;
}

/* --- what a requirement lets in --- */

static bool
matches_constraints(
	const struct provider_package *package, const struct lang_python_candidate *candidate)
{
	for (size_t i = 0; i < package->constraint_count; i++)
		if (!lang_pep440_set_match(&package->constraints[i].versions, &candidate->version,
			    LANG_PEP440_PRE_ALLOW))
			return false;
	return true;
}

static bool
is_pinned(const struct lang_pep440_set *versions)
{
	for (size_t i = 0; i < versions->count; i++)
		if (versions->clauses[i].op == LANG_PEP440_ARBITRARY ||
			(versions->clauses[i].op == LANG_PEP440_EQ && !versions->clauses[i].prefix))
			return true;
	return false;
}

static bool
is_constraint_pinned(const struct provider_package *package)
{
	for (size_t i = 0; i < package->constraint_count; i++)
		if (is_pinned(&package->constraints[i].versions))
			return true;
	return false;
}

/* What a set leaves out that another requirement could let in. */
struct left_out {
	bool pre;
	struct pkg_argv *yanked; /* owned */
};

static bool
is_let_in(const struct provider_package *package, const struct lang_python_candidate *candidate,
	struct left_out *left)
{
	/* What is there is there. */
	if (candidate->installed || candidate->direct)
		return true;
	if (candidate->pre && !package->pre_open) {
		left->pre = true;
		return false;
	}
	if (candidate->yanked && !pkg_argv_has(package->unlocked, candidate->version.text)) {
		pkg_argv_add(left->yanked, candidate->version.text);
		return false;
	}
	return true;
}

/* Something more is let in from now on: then all sets have to be made anew. */
static bool
widen(struct lang_python_provider *provider, struct provider_package *package,
	const struct lang_pep440_set *versions, const struct left_out *left, size_t let_in)
{
	if (left->pre && (let_in == 0 || lang_pep440_set_allows_pre(versions))) {
		package->pre_open = true;
		provider->again = true;
	}
	if (let_in == 0 && !left->pre && left->yanked->count > 0 &&
		(is_pinned(versions) || is_constraint_pinned(package))) {
		pkg_argv_add_all(package->unlocked, left->yanked);
		provider->again = true;
	}
	return provider->again;
}

/* The candidates that will do. Given; NULL: begin again. */
static uint64_t *
admit(struct lang_python_provider *provider, struct provider_package *package,
	const struct lang_requirement *requirement)
{
	uint64_t *set = lang_pubgrub_set_new(package->list.count);
	struct left_out left = { .yanked = pkg_argv_new() };
	size_t let_in = 0;

	for (size_t i = 0; i < package->list.count; i++) {
		const struct lang_python_candidate *candidate = &package->list.items[i];

		if (requirement->url &&
			(!candidate->direct ||
				strncmp(candidate->file->url, requirement->url,
					strlen(candidate->file->url)) != 0))
			continue;
		if (!lang_pep440_set_match(
			    &requirement->versions, &candidate->version, LANG_PEP440_PRE_ALLOW) ||
			!matches_constraints(package, candidate) ||
			!is_let_in(package, candidate, &left))
			continue;
		lang_pubgrub_put(set, i);
		let_in++;
	}
	if (widen(provider, package, &requirement->versions, &left, let_in) ||
		(let_in == 0 && provider_open_page(provider, package))) {
		free(set);
		set = NULL;
	}
	pkg_argv_free(left.yanked);
	return set;
}

/* "b[x]<2", with the constraints that count too. Given. */
static char *
need_text(const struct provider_package *package, const struct lang_requirement *requirement)
{
	pkg_autofree char *versions = lang_pep440_set_text(&requirement->versions);
	pkg_autofree char *extras = pkg_argv_join(requirement->extras, ",");
	pkg_autofree char *url = requirement->url ? pkg_url_redact(requirement->url) : NULL;
	struct pkg_buf out = { 0 };

	pkg_buf_add(&out, requirement->normalized);
	if (*extras)
		pkg_buf_addf(&out, "[%s]", extras);
	pkg_buf_add(&out, versions);
	if (url)
		pkg_buf_addf(&out, " @ %s", url);
	for (size_t i = 0; i < package->constraint_count; i++) {
		pkg_autofree char *limit = lang_pep440_set_text(&package->constraints[i].versions);

		pkg_buf_addf(&out, "%s%s%s", i == 0 ? PROVIDER_CONSTRAINT : ",",
			i == 0 ? package->key : "", limit);
	}
	if (package->constraint_count > 0)
		pkg_buf_add_char(&out, ')');
	return pkg_buf_steal(&out);
}

int
provider_check_kind(const struct lang_requirement *requirement, struct pkg_error *err)
{
	pkg_autofree char *file = NULL;

	if (requirement->kind == LANG_REQUIREMENT_VCS || requirement->kind == LANG_REQUIREMENT_FILE)
		return pkg_error_set(err, PKG_E_UNSUPPORTED, "'%s' comes from a %s",
			requirement->name,
			requirement->kind == LANG_REQUIREMENT_VCS ? "version control system"
								  : "file of this machine");
	if (requirement->kind != LANG_REQUIREMENT_URL)
		return 0;
	file = pkg_url_basename(requirement->url);
	if (pkg_text_has_suffix(file, ".whl"))
		return 0;
	return pkg_error_set(err, PKG_E_UNSUPPORTED,
		"'%s' is asked for as '%s', which is not a wheel", requirement->name, file);
}

/* Its marker has been decided. */
static int
add_requirement(struct lang_python_provider *provider, const struct lang_requirement *requirement,
	struct lang_pubgrub_needs *out, struct pkg_error *err)
{
	int base = provider_intern(provider, requirement->normalized, NULL);
	struct provider_package *package = provider_at(provider, base);
	uint64_t *set;

	if (provider_check_kind(requirement, err) < 0)
		return -1;
	if (provider->count > PACKAGES_MAX)
		return pkg_error_set(
			err, PKG_E_TOO_LARGE, "more than %d packages are needed", PACKAGES_MAX);
	if (requirement->url && provider_add_direct(provider, package, requirement, err) < 0)
		return -1;
	if (provider->again || load(provider, base, err) < 0)
		return -1;
	set = admit(provider, package, requirement);
	if (!set)
		return -1;
	lang_pubgrub_needs_add(out, base, set, need_text(package, requirement));
	for (size_t i = 0; i < requirement->extras->count; i++) {
		pkg_autofree char *extra = lang_pep503_normalize(requirement->extras->items[i]);
		int number = provider_intern(provider, requirement->normalized, extra);

		lang_pubgrub_needs_add(out, number,
			pkg_xmemdup(set, lang_pubgrub_words(package->list.count) * sizeof(*set)),
			need_text(package, requirement));
	}
	return 0;
}

/* --- what will be wanted soon --- */

static void
want(struct lang_python_provider *provider, const struct lang_requirement *requirement)
{
	struct provider_package *package;

	if (requirement->url || !provider->source->want_page)
		return;
	package = provider_at(provider, provider_intern(provider, requirement->normalized, NULL));
	if (!package->open || package->loaded || package->direct_count > 0)
		return;
	if (!package->hint)
		package->hint = lang_pep440_set_text(&requirement->versions);
	provider->source->want_page(provider->source->context, package->key);
}

bool
provider_applies(const struct lang_python_provider *provider,
	const struct lang_requirement *requirement, const char *extra)
{
	bool result = true;

	/* A marker that has no meaning is met: better one package too many than one too few. */
	return !requirement->marker ||
		lang_marker_evaluate(
			requirement->marker, &provider->markers, extra, &result, NULL) < 0 ||
		result;
}

void
lang_python_provider_saw_metadata(
	struct lang_python_provider *provider, const struct lang_metadata *metadata)
{
	for (size_t i = 0; i < metadata->requires_dist->count; i++) {
		lang_cleanup_requirement struct lang_requirement requirement = { 0 };

		if (lang_requirement_parse(metadata->requires_dist->items[i], &requirement, NULL) ==
				0 &&
			provider_applies(provider, &requirement, NULL))
			want(provider, &requirement);
	}
}

/* Asks for the metadata of the version that will most probably be tried first. */
void
lang_python_provider_saw_page(
	struct lang_python_provider *provider, const char *key, const struct lang_simple_page *page)
{
	int number = provider_intern(provider, key, NULL);
	struct provider_package *package = provider_at(provider, number);
	lang_cleanup_pep440_set struct lang_pep440_set hint = { 0 };

	if (package->loaded || !package->open || package->direct_count > 0 ||
		!provider->source->want_metadata)
		return;
	package->loaded = true;
	if (page)
		lang_python_candidates_add_page(
			&package->list, package->key, page, &provider->filter);
	if (package->installed)
		lang_python_candidates_add_installed(&package->list, package->installed);
	if (!package->hint || lang_pep440_set_parse(package->hint, &hint, NULL) < 0)
		return;
	for (size_t i = package->list.count; i-- > 0;) {
		const struct lang_python_candidate *candidate = &package->list.items[i];

		if (!lang_pep440_set_match(&hint, &candidate->version,
			    package->pre_open ? LANG_PEP440_PRE_ALLOW : LANG_PEP440_PRE_AUTO) ||
			candidate->yanked || !candidate->file ||
			!matches_constraints(package, candidate))
			continue;
		provider->source->want_metadata(
			provider->source->context, package->key, candidate->file);
		return;
	}
}

/* One after the other does not fit: several of the next ones at once, more each time. */
static void
want_older(
	struct lang_python_provider *provider, struct provider_package *package, size_t candidate)
{
	size_t ahead = ++package->tried;

	if (ahead < 2 || !provider->source->want_metadata)
		return;
	for (size_t i = candidate; i-- > 0 && ahead > 0 && candidate - i <= AHEAD_MAX; ahead--)
		if (package->list.items[i].file && !package->list.items[i].yanked &&
			package->list.items[i].pre == package->list.items[candidate].pre)
			provider->source->want_metadata(provider->source->context, package->key,
				package->list.items[i].file);
}

/* --- what a candidate needs --- */

const struct lang_metadata *
provider_installed_metadata(struct lang_python_provider *provider, struct provider_package *package)
{
	if (!package->metadata_read) {
		package->metadata_read = true;
		package->metadata_known = provider->source->installed(
			provider->source->context, package->installed, &package->metadata);
	}
	return package->metadata_known ? &package->metadata : NULL;
}

static int
check_date(const struct lang_python_provider *provider,
	const struct lang_python_candidate *candidate, struct pkg_error *err)
{
	if (provider->filter.cutoff_ms < 0 || candidate->direct || candidate->file->uploaded)
		return 0;
	pkg_error_set(err, PKG_E_UNSUPPORTED,
		"the index does not say when '%s' was uploaded, so it may be too new",
		candidate->file->filename);
	return pkg_error_cure(err, "use an index that gives upload times (PEP 700)");
}

int
provider_metadata(struct lang_python_provider *provider, struct provider_package *package,
	const struct lang_python_candidate *candidate, const struct lang_metadata **out,
	char **unusable, struct pkg_error *err)
{
	pkg_cleanup_error struct pkg_error why = { 0 };
	const struct lang_python_source *source = provider->source;

	*out = NULL;
	if (candidate->installed) {
		*out = provider_installed_metadata(provider, package);
		return 0;
	}
	if (check_date(provider, candidate, err) < 0)
		return -1;
	if (source->metadata(source->context, package->key, candidate->file, out, &why) == 0) {
		if (lang_python_fits(&provider->filter, (*out)->requires_python))
			return 0;
		*unusable = pkg_xasprintf(PROVIDER_NEEDS_PYTHON "%s", (*out)->requires_python);
		return 0;
	}
	if (why.kind != PKG_E_ARCHIVE) {
		if (err)
			pkg_error_move(err, &why);
		return -1;
	}
	*unusable = pkg_xasprintf("is not what its name says: %s", why.message);
	return 0;
}

/* The lines of the metadata that count: with an extra those that it adds. False for a line that is no
 * requirement. */
static bool
parse_needs(const struct lang_python_provider *provider, const struct lang_metadata *metadata,
	const char *extra, struct lang_requirement **out, size_t *count)
{
	const struct pkg_argv *lines = metadata->requires_dist;

	*out = pkg_xcalloc(lines->count + 1, sizeof(**out));
	*count = 0;
	for (size_t i = 0; i < lines->count; i++) {
		struct lang_requirement *one = &(*out)[*count];

		if (lang_requirement_parse(lines->items[i], one, NULL) < 0)
			return false;
		if (provider_applies(provider, one, extra) &&
			!(extra && provider_applies(provider, one, NULL)))
			(*count)++;
		else
			lang_requirement_clear(one);
	}
	return true;
}

static int
add_needs(struct lang_python_provider *provider, const struct lang_metadata *metadata,
	const char *extra, struct lang_pubgrub_needs *out, struct pkg_error *err)
{
	struct lang_requirement *needs = NULL;
	size_t count = 0;
	int rc = 0;

	if (!parse_needs(provider, metadata, extra, &needs, &count))
		out->unusable = pkg_xstrdup("names a requirement that is none");
	for (size_t i = 0; i < count && !out->unusable; i++)
		want(provider, &needs[i]);
	for (size_t i = 0; i < count && rc == 0 && !out->unusable; i++)
		rc = add_requirement(provider, &needs[i], out, err);
	for (size_t i = 0; i < count; i++)
		lang_requirement_clear(&needs[i]);
	free(needs);
	return rc;
}

static int
root_needs(struct lang_python_provider *provider, struct lang_pubgrub_needs *out,
	struct pkg_error *err)
{
	const struct pkg_argv *lines = provider->question->request->requirements;

	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < lines->count; i++) {
			lang_cleanup_requirement struct lang_requirement one = { 0 };

			if (lang_requirement_parse(lines->items[i], &one, err) < 0)
				return -1;
			if (!provider_applies(provider, &one, NULL))
				continue;
			if (pass == 0)
				want(provider, &one);
			else if (add_requirement(provider, &one, out, err) < 0)
				return -1;
		}
	for (size_t i = 0; i < provider->kept->count; i++) {
		lang_cleanup_requirement struct lang_requirement one = { 0 };
		size_t before = out->count;

		if (lang_requirement_parse(provider->kept->items[i], &one, err) < 0 ||
			add_requirement(provider, &one, out, err) < 0)
			return -1;
		for (size_t k = before; k < out->count; k++) {
			free(out->items[k].text);
			out->items[k].text = pkg_xasprintf("%s, which is installed", one.name);
		}
	}
	return 0;
}

int
provider_needs(
	void *context, int number, size_t at, struct lang_pubgrub_needs *out, struct pkg_error *err)
{
	struct lang_python_provider *provider = context;
	struct provider_package *base = provider_base(provider, number);
	const struct lang_python_candidate *candidate;
	const struct lang_metadata *metadata = NULL;
	const char *extra;

	if (number == LANG_PUBGRUB_ROOT)
		return root_needs(provider, out, err);
	candidate = &base->list.items[at];
	extra = provider_at(provider, number)->extra;
	if (extra) {
		uint64_t *same = lang_pubgrub_set_new(base->list.count);

		lang_pubgrub_put(same, at);
		/* That an extra is of the same version goes without saying. */
		lang_pubgrub_needs_add(
			out, provider_at(provider, number)->base, same, pkg_xstrdup(""));
	} else {
		want_older(provider, base, at);
	}
	if (provider_metadata(provider, base, candidate, &metadata, &out->unusable, err) < 0)
		return -1;
	if (!metadata || out->unusable)
		return 0;
	return add_needs(provider, metadata, extra, out, err);
}
