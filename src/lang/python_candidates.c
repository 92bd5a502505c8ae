#include "lang/python_candidates.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "core/time.h"
#include "lang/pep440_set.h"
#include "lang/pep503.h"
#include "lang/pep508.h"
#include "lang/scan.h"
#include "lang/wheelname.h"

/* --- what does not depend on the project --- */

int64_t
lang_python_cutoff_parse(const char *text)
{
	pkg_autofree char *midnight = NULL;

	if (strlen(text) != strlen("2026-01-31"))
		return pkg_time_parse(text);
	midnight = pkg_xasprintf("%sT00:00:00Z", text);
	return pkg_time_parse(midnight);
}

void
lang_python_filter_init(struct lang_python_filter *filter, struct json_object *facts,
	const struct lang_python_tags *tags, const struct lang_request *request)
{
	struct json_object *info = pkg_json_array(facts, "version_info");
	int numbers[3] = { 0 };
	char text[64];

	*filter = (struct lang_python_filter){
		.tags = tags,
		.source = request->source,
		.hashes = request->hashes,
		.cutoff_ms = request->exclude_newer
			? lang_python_cutoff_parse(request->exclude_newer)
			: -1,
	};
	for (size_t i = 0; info && i < 3; i++)
		numbers[i] = json_object_get_int(json_object_array_get_idx(info, i));
	/* As pip has it: a pre-release of Python counts as the release. */
	(void)snprintf(text, sizeof(text), "%d.%d.%d", numbers[0], numbers[1], numbers[2]);
	(void)lang_pep440_parse(text, &filter->python, NULL);
}

bool
lang_python_fits(const struct lang_python_filter *filter, const char *requires_python)
{
	lang_cleanup_pep440_set struct lang_pep440_set set = { 0 };

	/* pip ignores what it cannot read there. */
	return !requires_python || lang_pep440_set_parse(requires_python, &set, NULL) < 0 ||
		lang_pep440_set_match(&set, &filter->python, LANG_PEP440_PRE_ALLOW);
}

/* --- one file --- */

struct entry {
	struct lang_pep440_version version;
	const struct lang_simple_file *file;
	char *build; /* owned; NULL */
	int rank; /* of its best tag; sdists: after all wheels */
	bool allowed; /* its hash is among those given */
	size_t position; /* on the page */
};

struct reader {
	const char *key;
	const struct lang_python_filter *filter;
	struct entry *entries; /* owned */
	size_t count;
	/* Files of one version stand together, and say the same. */
	const char *python;
	bool python_fits;
	struct pkg_argv *hashes; /* owned; all that are allowed for this project */
	size_t held_back;
};

static bool
same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool
fits_python(struct reader *reader, const char *requires_python)
{
	if (!same_text(reader->python, requires_python)) {
		reader->python = requires_python;
		reader->python_fits = lang_python_fits(reader->filter, requires_python);
	}
	return reader->python_fits;
}

/* A file without a date is not old enough and not too new: whoever chooses it has to know. */
static bool
is_too_new(struct reader *reader, const struct lang_simple_file *file)
{
	int64_t when;

	if (reader->filter->cutoff_ms < 0 || !file->uploaded)
		return false;
	when = lang_python_cutoff_parse(file->uploaded);
	if (when < 0 || when <= reader->filter->cutoff_ms)
		return false;
	reader->held_back++;
	return true;
}

/* Where the nth '-' from the end is; NULL: there are not so many. */
static const char *
dash_from_end(const char *text, size_t len, int nth)
{
	while (len-- > 0)
		if (text[len] == '-' && --nth == 0)
			return text + len;
	return NULL;
}

/* Name and tags are looked at in place: a page has thousands of files, and most are not for us. */
static bool
read_wheel(struct reader *reader, const struct lang_simple_file *file, struct entry *entry)
{
	const char *name = file->filename;
	size_t len = strlen(name) - strlen(".whl");
	const char *tags = dash_from_end(name, len, 3);
	const char *dash = strchr(name, '-');
	const char *version_end;
	pkg_autofree char *project = NULL;

	if (!tags || !dash || dash >= tags)
		return false;
	entry->rank = lang_python_tags_rank_text(
		reader->filter->tags, tags + 1, len - (size_t)(tags + 1 - name));
	if (entry->rank < 0)
		return false;
	project = lang_pep503_normalize_mem(name, (size_t)(dash - name));
	version_end = memchr(dash + 1, '-', (size_t)(tags - dash));
	if (strcmp(project, reader->key) != 0 || !version_end)
		return false;
	if (version_end < tags) {
		lang_cleanup_wheel_name struct lang_wheel_name whole = { 0 };

		if (lang_wheel_name_parse(name, &whole, NULL) < 0)
			return false;
		entry->build = pkg_steal_ptr(&whole.build);
	}
	return lang_pep440_parse_mem(
		       dash + 1, (size_t)(version_end - dash - 1), &entry->version, NULL) == 0;
}

static bool
read_sdist(struct reader *reader, const struct lang_simple_file *file, struct entry *entry)
{
	lang_cleanup_sdist_name struct lang_sdist_name name = { 0 };

	if (!reader->filter->source ||
		lang_sdist_name_parse(file->filename, reader->key, &name, NULL) < 0)
		return false;
	entry->version = name.version;
	entry->rank = INT_MAX;
	return true;
}

static void
read_file(struct reader *reader, const struct lang_simple_file *file, size_t position)
{
	struct entry entry = { .file = file, .position = position };
	bool wheel = pkg_text_has_suffix(file->filename, ".whl");

	if (!(wheel ? read_wheel(reader, file, &entry) : read_sdist(reader, file, &entry)) ||
		!fits_python(reader, file->requires_python) || is_too_new(reader, file)) {
		free(entry.build);
		return;
	}
	entry.allowed = file->sha256 && pkg_argv_has(reader->hashes, file->sha256);
	if ((reader->count & (reader->count - 1)) == 0)
		reader->entries = pkg_xrealloc(reader->entries,
			reader->count == 0 ? 1 : reader->count * 2, sizeof(*reader->entries));
	reader->entries[reader->count++] = entry;
}

/* "six==1.16.0 sha256:AA sha256:BB": the digests, whatever the version. */
static struct pkg_argv *
hashes_of(const char *key, const struct pkg_argv *lines)
{
	struct pkg_argv *out = pkg_argv_new();

	for (size_t i = 0; lines && i < lines->count; i++) {
		lang_cleanup_requirement struct lang_requirement of = { 0 };
		const char *line = lines->items[i];
		size_t name_len = strcspn(line, " \t");
		const char *hash = line + name_len;

		if (lang_requirement_parse_mem(line, name_len, &of, NULL) < 0 ||
			strcmp(of.normalized, key) != 0)
			continue;
		while ((hash = strstr(hash, "sha256:"))) {
			hash += strlen("sha256:");
			pkg_argv_take(out, pkg_xstrndup(hash, strspn(hash, "0123456789abcdef")));
		}
	}
	return out;
}

/* By version; within one the best file last. */
static int
compare_entries(const void *a, const void *b)
{
	const struct entry *x = a;
	const struct entry *y = b;
	int order = lang_pep440_compare(&x->version, &y->version);

	if (order != 0)
		return order;
	if (x->allowed != y->allowed)
		return x->allowed ? 1 : -1;
	if (x->file->yanked != y->file->yanked)
		return x->file->yanked ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? 1 : -1;
	order = lang_wheel_build_compare(x->build, y->build);
	if (order != 0)
		return order;
	return x->position < y->position ? -1 : x->position > y->position;
}

/* --- the list --- */

void
lang_python_candidates_clear(struct lang_python_candidates *list)
{
	free(list->items);
	*list = (struct lang_python_candidates){ 0 };
}

/* That version's, added in its place if there is none. */
static struct lang_python_candidate *
candidate_of(struct lang_python_candidates *list, const struct lang_pep440_version *version)
{
	size_t at = list->count;

	while (at > 0 && lang_pep440_compare(&list->items[at - 1].version, version) > 0)
		at--;
	if (at > 0 && lang_pep440_compare(&list->items[at - 1].version, version) == 0)
		return &list->items[at - 1];
	if ((list->count & (list->count - 1)) == 0)
		list->items = pkg_xrealloc(
			list->items, list->count == 0 ? 1 : list->count * 2, sizeof(*list->items));
	memmove(&list->items[at + 1], &list->items[at], (list->count - at) * sizeof(*list->items));
	list->count++;
	list->items[at] = (struct lang_python_candidate){ .version = *version,
		.pre = lang_pep440_is_pre(version) };
	return &list->items[at];
}

void
lang_python_candidates_add_page(struct lang_python_candidates *list, const char *key,
	const struct lang_simple_page *page, const struct lang_python_filter *filter)
{
	struct reader reader = { .key = key,
		.filter = filter,
		.python_fits = true,
		.hashes = hashes_of(key, filter->hashes) };

	for (size_t i = 0; i < page->count; i++)
		read_file(&reader, &page->files[i], i);
	if (reader.count > 1)
		qsort(reader.entries, reader.count, sizeof(*reader.entries), compare_entries);
	for (size_t i = 0; i < reader.count; i++) {
		const struct entry *entry = &reader.entries[i];
		struct lang_python_candidate *candidate = candidate_of(list, &entry->version);

		candidate->file = entry->file;
		candidate->yanked = entry->file->yanked;
		candidate->is_sdist = entry->rank == INT_MAX;
		free(entry->build);
	}
	list->held_back += reader.held_back;
	free(reader.entries);
	pkg_argv_free(reader.hashes);
}

void
lang_python_candidates_add_installed(
	struct lang_python_candidates *list, const struct store_package *package)
{
	struct lang_pep440_version version;

	/* What has no version that Python knows cannot satisfy anything. */
	if (lang_pep440_parse(package->version, &version, NULL) == 0)
		candidate_of(list, &version)->installed = package;
}

bool
lang_python_candidates_add_direct(struct lang_python_candidates *list, const char *key,
	const struct lang_simple_file *file, const struct lang_python_filter *filter)
{
	lang_cleanup_wheel_name struct lang_wheel_name name = { 0 };
	struct lang_python_candidate *candidate;

	if (lang_wheel_name_parse(file->filename, &name, NULL) < 0 ||
		strcmp(name.normalized, key) != 0 ||
		lang_python_tags_rank(filter->tags, name.tags) < 0)
		return false;
	candidate = candidate_of(list, &name.version);
	*candidate = (struct lang_python_candidate){ .version = name.version,
		.file = file,
		.installed = candidate->installed,
		.pre = candidate->pre,
		.direct = true };
	return true;
}
