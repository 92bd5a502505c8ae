#include "resolver_case.h"

#include <stdlib.h>
#include <string.h>

#include "core/file.h"
#include "core/text.h"
#include "lang/pep503.h"
#include "lang/python_provider.h"
#include "lang/python_why.h"
#include "lang_python.h"

/* --- reading --- */

void
resolver_cases_clear(struct resolver_cases *cases)
{
	for (size_t i = 0; i < cases->count; i++) {
		free(cases->items[i].name);
		pkg_argv_free(cases->items[i].lines);
	}
	free(cases->items);
	*cases = (struct resolver_cases){ 0 };
}

int
resolver_cases_read(const char *path, struct resolver_cases *out, struct pkg_error *err)
{
	pkg_cleanup_buf struct pkg_buf text = { 0 };
	pkg_cleanup(pkg_argv_free) struct pkg_argv *shared = pkg_argv_new();
	const char *at;

	*out = (struct resolver_cases){ 0 };
	if (pkg_file_read(path, 1 << 20, &text, err) < 0)
		return -1;
	for (at = pkg_buf_str(&text); *at; at += strcspn(at, "\n") + (at[strcspn(at, "\n")] != 0)) {
		pkg_autofree char *line = NULL;
		const char *start = at + strspn(at, " \t");
		size_t len = strcspn(start, "\n");

		if (start > at + strcspn(at, "\n") || len == 0 || *start == '#')
			continue;
		line = pkg_xstrndup(start, len);
		if (pkg_text_has_prefix(line, "case ")) {
			out->items = pkg_xrealloc(out->items, out->count + 1, sizeof(*out->items));
			out->items[out->count++] =
				(struct resolver_case){ .name = pkg_xstrdup(line + 5),
					.lines = pkg_argv_dup(shared) };
		} else {
			pkg_argv_add(
				out->count > 0 ? out->items[out->count - 1].lines : shared, line);
		}
	}
	return 0;
}

/* --- the universe of one case --- */

struct dist {
	char *key;
	struct lang_metadata metadata;
	char *filename; /* NULL: installed only */
	bool readable;
};

struct universe {
	struct dist *dists;
	size_t count;
	struct {
		char *key;
		struct lang_simple_page page;
	} * pages;
	size_t page_count;
	struct store_package_list installed;
	struct pkg_argv *ask, *constraints, *hashes, *expect, *say, *hush, *unread, *read;
	struct json_object *facts;
	struct lang_request request;
	char *fail;
	bool expects;
};

static struct dist *
add_dist(struct universe *universe, const char *name, const char *version)
{
	struct dist *dist;

	universe->dists = pkg_xrealloc(universe->dists, universe->count + 1, sizeof(*dist));
	dist = &universe->dists[universe->count++];
	*dist = (struct dist){ .key = lang_pep503_normalize(name), .readable = true };
	dist->metadata.name = pkg_xstrdup(name);
	dist->metadata.version = pkg_xstrdup(version);
	dist->metadata.requires_dist = pkg_argv_new();
	dist->metadata.provides_extra = pkg_argv_new();
	return dist;
}

static struct lang_simple_page *
page_of(struct universe *universe, const char *key)
{
	for (size_t i = 0; i < universe->page_count; i++)
		if (strcmp(universe->pages[i].key, key) == 0)
			return &universe->pages[i].page;
	universe->pages =
		pkg_xrealloc(universe->pages, universe->page_count + 1, sizeof(*universe->pages));
	memset(&universe->pages[universe->page_count], 0, sizeof(*universe->pages));
	universe->pages[universe->page_count].key = pkg_xstrdup(key);
	return &universe->pages[universe->page_count++].page;
}

/* "flag=value": the value; NULL: another flag. */
static const char *
value_of(const char *word, const char *flag)
{
	size_t len = strlen(flag);

	return strncmp(word, flag, len) == 0 && word[len] == '=' ? word + len + 1 : NULL;
}

static void
add_package(struct universe *universe, struct pkg_argv *words)
{
	struct dist *dist = add_dist(universe, words->items[1], words->items[2]);
	struct lang_simple_page *page = page_of(universe, dist->key);
	struct lang_simple_file *file;
	const char *tag = "py3-none-any";
	bool sdist = false;

	page->files = pkg_xrealloc(page->files, page->count + 1, sizeof(*page->files));
	file = &page->files[page->count++];
	*file = (struct lang_simple_file){ .size = 1 };
	for (size_t i = 3; i < words->count; i++) {
		const char *word = words->items[i];

		sdist = sdist || strcmp(word, "sdist") == 0;
		file->yanked = file->yanked || strcmp(word, "yanked") == 0;
		if (value_of(word, "tag"))
			tag = value_of(word, "tag");
		if (value_of(word, "python"))
			file->requires_python = pkg_xstrdup(value_of(word, "python"));
		if (value_of(word, "requires"))
			dist->metadata.requires_python = pkg_xstrdup(value_of(word, "requires"));
		if (value_of(word, "uploaded"))
			file->uploaded = pkg_xstrdup(value_of(word, "uploaded"));
		if (value_of(word, "claims")) {
			free(dist->metadata.name);
			dist->metadata.name = pkg_xstrdup(value_of(word, "claims"));
		}
	}
	file->filename = sdist
		? pkg_xasprintf("%s-%s.tar.gz", words->items[1], words->items[2])
		: pkg_xasprintf("%s-%s-%s.whl", words->items[1], words->items[2], tag);
	for (char *c = file->filename; !sdist && c < strstr(file->filename, words->items[2]) - 1;
		c++)
		*c = *c == '-' ? '_' : *c;
	file->url = pkg_xasprintf("https://files.example/%s", file->filename);
	dist->filename = pkg_xstrdup(file->filename);
}

static void
add_installed(struct universe *universe, struct pkg_argv *words)
{
	struct dist *dist = add_dist(universe, words->items[1], words->items[2]);
	struct store_package *package = store_package_list_add(&universe->installed);

	*package = (struct store_package){ .name = pkg_xstrdup(words->items[1]),
		.key = pkg_xstrdup(dist->key),
		.version = pkg_xstrdup(words->items[2]),
		.owned = true };
	for (size_t i = 3; i < words->count; i++) {
		if (strcmp(words->items[i], "inherited") == 0)
			package->owned = false;
		if (strcmp(words->items[i], "unreadable") == 0)
			dist->readable = false;
		if (value_of(words->items[i], "asked"))
			package->requirement = pkg_xstrdup(value_of(words->items[i], "asked"));
	}
}

static struct pkg_argv *
split(const char *line)
{
	struct pkg_argv *words = pkg_argv_new();

	while (*(line += strspn(line, " \t"))) {
		pkg_argv_take(words, pkg_xstrndup(line, strcspn(line, " \t")));
		line += strcspn(line, " \t");
	}
	return words;
}

static void
set_python(struct universe *universe, const char *version)
{
	pkg_autofree char *minor = pkg_xasprintf("\"%.*s\"",
		(int)(strcspn(version, ".") + 1 + strcspn(strchr(version, '.') + 1, ".")), version);
	pkg_autofree char *full = pkg_xasprintf(
		"\"%s%s\"", version, strchr(strchr(version, '.') + 1, '.') ? "" : ".0");
	pkg_autofree char *info = pkg_xasprintf("[3,%d,%d]", atoi(strchr(version, '.') + 1),
		strchr(strchr(version, '.') + 1, '.')
			? atoi(strchr(strchr(version, '.') + 1, '.') + 1)
			: 0);

	facts_set(universe->facts, "version", full);
	facts_set(universe->facts, "version_info", info);
	facts_set(universe->facts, "markers.python_version", minor);
	facts_set(universe->facts, "markers.python_full_version", full);
}

static void
set_option(struct universe *universe, const char *name)
{
	struct lang_request *request = &universe->request;

	request->upgrade = request->upgrade || pkg_text_has_prefix(name, "upgrade");
	request->upgrade_all = request->upgrade_all || strcmp(name, "upgrade-all") == 0;
	request->prerelease = request->prerelease || strcmp(name, "pre") == 0;
	request->source = request->source || strcmp(name, "source") == 0;
}

/* NULL, or what is wrong with the line. */
static const char *
read_line(struct universe *universe, const char *line)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *words = split(line);
	const char *verb = words->items[0];
	const char *rest = line + strlen(verb);
	struct dist *last = universe->count > 0 ? &universe->dists[universe->count - 1] : NULL;
	struct {
		const char *verb;
		struct pkg_argv *list;
	} lists[] = {
		{ "ask", universe->ask },
		{ "constraint", universe->constraints },
		{ "hash", universe->hashes },
		{ "say", universe->say },
		{ "hush", universe->hush },
		{ "unread", universe->unread },
		{ "needs", last ? last->metadata.requires_dist : NULL },
		{ "extra", last ? last->metadata.provides_extra : NULL },
	};

	rest += strspn(rest, " ");
	for (size_t i = 0; i < PKG_ARRAY_LEN(lists); i++)
		if (strcmp(verb, lists[i].verb) == 0 && lists[i].list) {
			pkg_argv_add(lists[i].list, rest);
			return NULL;
		}
	if (words->count < 2)
		return "too few words";
	if (strcmp(verb, "python") == 0) {
		set_python(universe, rest);
	} else if (strcmp(verb, "package") == 0 && words->count > 2) {
		add_package(universe, words);
	} else if (strcmp(verb, "installed") == 0 && words->count > 2) {
		add_installed(universe, words);
	} else if (strcmp(verb, "option") == 0) {
		set_option(universe, rest);
	} else if (strcmp(verb, "newer") == 0) {
		universe->request.exclude_newer = strchr(line, ' ') + 1;
	} else if (strcmp(verb, "expect") == 0) {
		universe->expects = true;
		if (words->count > 2)
			pkg_argv_addf(universe->expect, "%s %s", words->items[1], words->items[2]);
	} else if (strcmp(verb, "fail") == 0) {
		free(universe->fail);
		universe->fail = pkg_xstrdup(words->items[1]);
	} else {
		return "not understood";
	}
	return NULL;
}

static void
universe_clear(struct universe *universe)
{
	struct pkg_argv *lists[] = { universe->ask, universe->constraints, universe->hashes,
		universe->expect, universe->say, universe->hush, universe->unread, universe->read };

	for (size_t i = 0; i < universe->count; i++) {
		free(universe->dists[i].key);
		free(universe->dists[i].filename);
		lang_metadata_clear(&universe->dists[i].metadata);
	}
	free(universe->dists);
	for (size_t i = 0; i < universe->page_count; i++) {
		free(universe->pages[i].key);
		lang_simple_page_clear(&universe->pages[i].page);
	}
	free(universe->pages);
	store_package_list_clear(&universe->installed);
	for (size_t i = 0; i < PKG_ARRAY_LEN(lists); i++)
		pkg_argv_free(lists[i]);
	json_object_put(universe->facts);
	free(universe->fail);
}

/* --- as a source --- */

static int
on_page(void *context, const char *key, const struct lang_simple_page **page, struct pkg_error *err)
{
	struct universe *universe = context;

	(void)err;
	*page = NULL;
	pkg_argv_add(universe->read, key);
	for (size_t i = 0; i < universe->page_count; i++)
		if (strcmp(universe->pages[i].key, key) == 0)
			*page = &universe->pages[i].page;
	return 0;
}

static int
on_metadata(void *context, const char *key, const struct lang_simple_file *file,
	const struct lang_metadata **out, struct pkg_error *err)
{
	struct universe *universe = context;

	for (size_t i = 0; i < universe->count; i++) {
		struct dist *dist = &universe->dists[i];

		if (!dist->filename || strcmp(dist->filename, file->filename) != 0)
			continue;
		if (!lang_pep503_equal(dist->metadata.name, key))
			return pkg_error_set(
				err, PKG_E_ARCHIVE, "it says that it is '%s'", dist->metadata.name);
		if (!pkg_text_has_suffix(file->filename, ".whl"))
			return pkg_error_set(err, PKG_E_UNSUPPORTED, "'%s' would have to be run",
				file->filename);
		*out = &dist->metadata;
		return 0;
	}
	return pkg_error_set(err, PKG_E_INDEX_STATUS, "'%s' is not there", file->filename);
}

static bool
on_installed(void *context, const struct store_package *package, struct lang_metadata *out)
{
	struct universe *universe = context;

	for (size_t i = 0; i < universe->count; i++) {
		const struct dist *dist = &universe->dists[i];

		if (dist->filename || strcmp(dist->key, package->key) != 0 || !dist->readable)
			continue;
		*out = (struct lang_metadata){
			.name = pkg_xstrdup(dist->metadata.name),
			.version = pkg_xstrdup(dist->metadata.version),
			.requires_dist = pkg_argv_dup(dist->metadata.requires_dist),
			.provides_extra = pkg_argv_dup(dist->metadata.provides_extra),
		};
		return true;
	}
	return false;
}

static int
on_nothing_fits(void *context, const char *key, const char *requirement, const char *needed_by,
	struct pkg_error *err)
{
	struct universe *universe = context;
	struct lang_python_why_index index = { .url = "https://index.example/simple/" };
	struct lang_python_why why = {
		.facts = universe->facts,
		.request = &universe->request,
		.requirement = requirement,
		.needed_by = needed_by,
		.indexes = &index,
		.index_count = 1,
	};

	(void)on_page(universe, key, &index.page, NULL);
	pkg_error_set(&index.error, PKG_E_NOT_FOUND, "HTTP status 404");
	lang_python_why_nothing_fits(&why, err);
	pkg_error_clear(&index.error);
	return -1;
}

/* --- running --- */

static char *
describe(const struct lang_python_provider *provider)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *lines = pkg_argv_new();

	for (size_t i = 0; i < lang_python_provider_count(provider); i++) {
		struct lang_python_chosen chosen = lang_python_provider_get(provider, i);

		pkg_argv_addf(lines, "%s %s", chosen.key,
			chosen.metadata ? chosen.metadata->version : "?");
	}
	pkg_argv_sort(lines);
	return pkg_argv_join(lines, ", ");
}

static char *
check_failure(const struct universe *universe, const struct pkg_error *err)
{
	const char *kind = pkg_error_kind_name(err->kind);

	if (!universe->fail || strcmp(kind, universe->fail) != 0)
		return pkg_xasprintf("failed with %s: %s", kind, err->message);
	for (size_t i = 0; i < universe->say->count; i++)
		if (!strstr(err->message, universe->say->items[i]))
			return pkg_xasprintf(
				"does not say '%s': %s", universe->say->items[i], err->message);
	for (size_t i = 0; i < universe->hush->count; i++)
		if (strstr(err->message, universe->hush->items[i]))
			return pkg_xasprintf(
				"says '%s': %s", universe->hush->items[i], err->message);
	return NULL;
}

static char *
check(struct universe *universe)
{
	pkg_cleanup(lang_python_tags_free) struct lang_python_tags *tags =
		lang_python_tags_new(universe->facts);
	struct lang_python_source source = { .context = universe,
		.page = on_page,
		.metadata = on_metadata,
		.installed = on_installed,
		.nothing_fits = on_nothing_fits };
	struct lang_python_question question = { .facts = universe->facts,
		.tags = tags,
		.request = &universe->request,
		.source = &source };
	pkg_cleanup(lang_python_provider_free) struct lang_python_provider *provider =
		lang_python_provider_new(&question);
	pkg_cleanup_error struct pkg_error err = { 0 };
	pkg_autofree char *wanted = NULL;
	pkg_autofree char *got = NULL;

	pkg_argv_sort(universe->expect);
	wanted = pkg_argv_join(universe->expect, ", ");
	if (lang_python_provider_solve(provider, &err) < 0)
		return check_failure(universe, &err);
	got = describe(provider);
	if (universe->fail)
		return pkg_xasprintf("found a way: %s", got);
	if (strcmp(got, wanted) != 0)
		return pkg_xasprintf(
			"gives %s, not %s", *got ? got : "nothing", *wanted ? wanted : "nothing");
	for (size_t i = 0; i < universe->unread->count; i++)
		if (pkg_argv_has(universe->read, universe->unread->items[i]))
			return pkg_xasprintf("reads the page of %s", universe->unread->items[i]);
	return NULL;
}

char *
resolver_case_run(const struct resolver_case *one)
{
	struct universe universe = { .facts = facts_311(),
		.ask = pkg_argv_new(),
		.constraints = pkg_argv_new(),
		.hashes = pkg_argv_new(),
		.expect = pkg_argv_new(),
		.say = pkg_argv_new(),
		.hush = pkg_argv_new(),
		.unread = pkg_argv_new(),
		.read = pkg_argv_new() };
	char *wrong = NULL;

	for (size_t i = 0; i < one->lines->count && !wrong; i++) {
		const char *what = read_line(&universe, one->lines->items[i]);

		wrong = what ? pkg_xasprintf("'%s': %s", one->lines->items[i], what) : NULL;
	}
	store_package_list_sort(&universe.installed);
	universe.request.requirements = universe.ask;
	universe.request.constraints = universe.constraints;
	universe.request.hashes = universe.hashes;
	universe.request.index_url = "https://index.example/simple/";
	universe.request.installed = &universe.installed;
	if (!wrong && !universe.expects && !universe.fail)
		wrong = pkg_xstrdup("nothing is expected of it");
	if (!wrong)
		wrong = check(&universe);
	universe_clear(&universe);
	return wrong;
}
