#include "lang/python_explain.h"

#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "core/url.h"
#include "lang/pep440_set.h"
#include "lang/pep508.h"
#include "lang/wheelname.h"

/* "No matching distribution found" has five causes, and the text is the same for all. What the indexes
 * answered when we asked them tells which one it is:
 *
 *   refused by our own host rules       egress-denied
 *   no answer, or a wrong one           index-unreachable, tls-failed, index-authentication, index-error
 *   404 from all of them                no-such-package
 *   a page, but no version that fits    no-such-version
 *   a version that fits, but no file    requires-python, no-wheel
 */

#define VERSIONS_SHOWN 5
#define FILES_MAX 200000

/* One version of the project, as its files have it. */
struct release {
	struct lang_pep440_version version;
	bool wheel;
	bool sdist;
	bool fits_python; /* one of its files does */
	bool live; /* one of its files is not yanked */
	char *requires_python; /* owned; of a file that does not fit */
};

struct releases {
	struct release *items; /* owned */
	size_t count;
};

static void
releases_clear(struct releases *releases)
{
	for (size_t i = 0; i < releases->count; i++)
		free(releases->items[i].requires_python);
	free(releases->items);
}

struct question {
	const struct lang_python_failure *failure;
	struct lang_requirement requirement;
	char *text; /* owned; what was not found */
	char *needed_by; /* owned; NULL */
	char *where; /* owned; the indexes, for a person */
	struct releases releases;
};

/* --- what there is --- */

static bool
fits_python(const struct question *question, const char *requires_python)
{
	lang_cleanup_pep440_set struct lang_pep440_set set = { 0 };
	struct lang_pep440_version python;

	/* pip ignores what it cannot read there. */
	return !requires_python || lang_pep440_set_parse(requires_python, &set, NULL) < 0 ||
		lang_pep440_parse(question->failure->python, &python, NULL) < 0 ||
		lang_pep440_set_match(&set, &python, LANG_PEP440_PRE_ALLOW);
}

static struct release *
release_of(struct releases *releases, const struct lang_pep440_version *version)
{
	for (size_t i = releases->count; i-- > 0;)
		if (lang_pep440_compare(&releases->items[i].version, version) == 0)
			return &releases->items[i];
	releases->items =
		pkg_xrealloc(releases->items, releases->count + 1, sizeof(*releases->items));
	releases->items[releases->count] = (struct release){ .version = *version };
	return &releases->items[releases->count++];
}

static void
add_file(struct question *question, struct json_object *file)
{
	lang_cleanup_wheel_name struct lang_wheel_name wheel = { 0 };
	lang_cleanup_sdist_name struct lang_sdist_name sdist = { 0 };
	const char *name = pkg_json_str_or(file, "filename", "");
	const char *python = pkg_json_str(file, "requires_python");
	bool is_wheel = pkg_text_has_suffix(name, ".whl");
	struct release *release;

	if (is_wheel ? lang_wheel_name_parse(name, &wheel, NULL) < 0
		     : lang_sdist_name_parse(name, question->requirement.normalized, &sdist, NULL) <
				0)
		return;
	release = release_of(&question->releases, is_wheel ? &wheel.version : &sdist.version);
	release->wheel = release->wheel || is_wheel;
	release->sdist = release->sdist || !is_wheel;
	release->live = release->live || !pkg_json_bool(file, "yanked", false);
	if (fits_python(question, python))
		release->fits_python = true;
	else if (!release->requires_python)
		release->requires_python = pkg_xstrdup(python);
}

static int
compare_releases(const void *a, const void *b)
{
	return -lang_pep440_compare(
		&((const struct release *)a)->version, &((const struct release *)b)->version);
}

static void
collect(struct question *question)
{
	const struct lang_python_failure *failure = question->failure;

	for (size_t i = 0; i < failure->answer_count; i++) {
		struct json_object *files = failure->answers[i].page
			? pkg_json_array(failure->answers[i].page, "files")
			: NULL;
		size_t count = files ? json_object_array_length(files) : 0;

		for (size_t k = 0; k < count && k < FILES_MAX; k++)
			add_file(question, json_object_array_get_idx(files, k));
	}
	if (question->releases.count > 1)
		qsort(question->releases.items, question->releases.count,
			sizeof(*question->releases.items), compare_releases);
}

static bool
matches(const struct question *question, const struct release *release, bool prereleases)
{
	return lang_pep440_set_match(&question->requirement.versions, &release->version,
		prereleases ? LANG_PEP440_PRE_ALLOW : LANG_PEP440_PRE_AUTO);
}

/* --- saying it --- */

/* ", which 'parent' needs,": "" when it was asked for. Given. */
static char *
because(const struct question *question)
{
	return question->needed_by ? pkg_xasprintf(", which '%s' needs,", question->needed_by)
				   : pkg_xstrdup("");
}

static char *
newest(const struct question *question)
{
	const struct releases *releases = &question->releases;
	struct pkg_buf out = { 0 };

	for (size_t i = 0; i < releases->count && i < VERSIONS_SHOWN; i++)
		pkg_buf_addf(&out, "%s%s", i > 0 ? ", " : "", releases->items[i].version.text);
	if (releases->count > VERSIONS_SHOWN)
		pkg_buf_addf(&out, " and %zu older", releases->count - VERSIONS_SHOWN);
	return pkg_buf_steal(&out);
}

static int
no_such_package(const struct question *question, struct pkg_error *err)
{
	pkg_autofree char *why = because(question);

	pkg_error_set(err, PKG_E_NO_SUCH_PACKAGE, "there is no package '%s'%s on %s",
		question->requirement.name, why, question->where);
	return pkg_error_cure(
		err, "check the name, or add the index that has it with --extra-index-url");
}

static int
no_such_version(const struct question *question, struct pkg_error *err)
{
	pkg_autofree char *why = because(question);
	pkg_autofree char *have = newest(question);
	bool only_pre = false;

	for (size_t i = 0; i < question->releases.count; i++)
		only_pre = only_pre || matches(question, &question->releases.items[i], true);
	if (question->releases.count == 0)
		return pkg_error_set(err, PKG_E_NO_SUCH_VERSION,
			"'%s'%s is on %s, but without a file that could be installed",
			question->requirement.name, why, question->where);
	pkg_error_set(err, PKG_E_NO_SUCH_VERSION, "no version of '%s'%s fits '%s'; %s has %s",
		question->requirement.name, why, question->text, question->where, have);
	return only_pre ? pkg_error_cure(err, "--pre allows the pre-releases among them")
			: pkg_error_cure(err, "ask for one of these versions");
}

static int
all_yanked(const struct question *question, const struct release *best, struct pkg_error *err)
{
	pkg_autofree char *why = because(question);

	pkg_error_set(err, PKG_E_NO_SUCH_VERSION,
		"every version of '%s'%s that fits was withdrawn (yanked) by its publisher",
		question->requirement.name, why);
	return pkg_error_cure(err, "'%s==%s' installs the newest of them all the same",
		question->requirement.name, best->version.text);
}

static int
requires_python(const struct question *question, const struct release *best, struct pkg_error *err)
{
	pkg_autofree char *why = because(question);
	bool older = false;

	for (size_t i = 0; i < question->releases.count; i++)
		older = older || question->releases.items[i].fits_python;
	pkg_error_set(err, PKG_E_REQUIRES_PYTHON,
		"'%s' %s%s needs Python %s; this environment has %s", question->requirement.name,
		best->version.text, why,
		best->requires_python ? best->requires_python : "of another version",
		question->failure->python);
	if (older)
		return pkg_error_cure(err,
			"allow an older version, or create an environment with "
			"another Python (pkg env create --python)");
	return pkg_error_cure(
		err, "create an environment with another Python (pkg env create --python)");
}

static int
no_wheel(const struct question *question, const struct release *best, struct pkg_error *err)
{
	pkg_autofree char *why = because(question);

	pkg_error_set(err, PKG_E_NO_WHEEL, "'%s' %s%s has no wheel that Python %s can use here%s%s",
		question->requirement.name, best->version.text, why, question->failure->python,
		best->wheel ? " (its wheels are for other Pythons or systems)" : "",
		best->sdist ? "; there is a source distribution" : "");
	if (best->sdist && !question->failure->source)
		return pkg_error_cure(
			err, "--source allows building it here, which runs the package's own code");
	return pkg_error_cure(err, "ask for another version, or use another Python");
}

/* pip looks into a file, finds another name or version, and goes on as if it were not there. */
static int
inconsistent(const struct question *question, struct pkg_error *err)
{
	const char *log = question->failure->log;
	struct lang_python_line line;

	while (lang_python_line_next(&log, &line)) {
		pkg_autofree char *text = NULL;
		const char *found, *file;

		if (!lang_python_line_starts(&line, "Discarding "))
			continue;
		text = lang_python_line_text(&line, 4000);
		found = strstr(text, "has inconsistent ");
		if (!found)
			continue;
		text[strcspn(text, " ") + 1 + strcspn(text + strcspn(text, " ") + 1, " ")] = '\0';
		file = strrchr(text, '/');
		return pkg_error_set(err, PKG_E_ARCHIVE, "'%s' is not what its name says: %s",
			file ? file + 1 : question->text, found + strlen("has "));
	}
	return 0;
}

/* --- deciding --- */

static bool
was_reached(const struct question *question)
{
	const struct egress_rows *rows = question->failure->rows;

	for (size_t i = 0; rows && i < question->failure->answer_count; i++) {
		pkg_cleanup_url struct pkg_url url = { 0 };

		if (pkg_url_parse(question->failure->answers[i].index, &url, NULL) < 0)
			continue;
		for (size_t k = 0; k < rows->count; k++)
			if (rows->items[k].verdict == EGRESS_ALLOWED && rows->items[k].host &&
				strcmp(rows->items[k].host, url.host) == 0)
				return true;
	}
	return false;
}

/* An index that gave no answer, when no other had the project. */
static int
no_answer(const struct question *question, struct pkg_error *err)
{
	const struct lang_python_failure *failure = question->failure;
	const struct pkg_error *failed = NULL;

	for (size_t i = 0; i < failure->answer_count; i++) {
		const struct lang_python_answer *answer = &failure->answers[i];

		if (answer->page)
			return 0;
		if (!failed && answer->error.kind != PKG_E_NOT_FOUND)
			failed = &answer->error;
	}
	if (!failed)
		return 0;
	pkg_error_copy(err, failed);
	if (failed->kind == PKG_E_INDEX_STATUS && !failed->cure)
		pkg_error_cure(err, "try again later, or ask whoever runs the index");
	return -1;
}

static int
from_releases(const struct question *question, struct pkg_error *err)
{
	const struct release *best = NULL; /* the newest that fits */
	bool pre = question->failure->prerelease;
	bool live = false;

	for (size_t pass = 0; pass < 2 && !best; pass++)
		for (size_t i = 0; i < question->releases.count; i++) {
			const struct release *release = &question->releases.items[i];

			if (!matches(question, release, pre))
				continue;
			live = live || release->live;
			/* One that this Python could use says more than a newer one. */
			if (!best && (pass == 1 || release->fits_python))
				best = release;
		}
	if (!best)
		return no_such_version(question, err);
	if (inconsistent(question, err) < 0)
		return -1;
	if (!live)
		return all_yanked(question, best, err);
	if (!best->fits_python)
		return requires_python(question, best, err);
	return no_wheel(question, best, err);
}

static char *
join_indexes(const struct lang_python_failure *failure)
{
	struct pkg_buf out = { 0 };

	for (size_t i = 0; i < failure->answer_count; i++) {
		pkg_autofree char *name = pkg_url_short(failure->answers[i].index);

		pkg_buf_addf(&out, "%s%s", i > 0 ? ", " : "", name);
	}
	return out.len > 0 ? pkg_buf_steal(&out) : pkg_xstrdup("the index");
}

static int
decide(struct question *question, struct pkg_error *err)
{
	const struct lang_python_failure *failure = question->failure;
	const struct egress_row *cause = failure->rows ? egress_rows_cause(failure->rows) : NULL;
	bool pages = false;

	/* pip could not get to the index although we could. */
	if (cause && !was_reached(question))
		return lang_python_explain_row(cause, err);
	if (strstr(failure->log, "problem confirming the ssl certificate") ||
		strstr(failure->log, "CERTIFICATE_VERIFY_FAILED"))
		return pkg_error_set(
			err, PKG_E_TLS, "the certificate of %s was not accepted", question->where);
	if (no_answer(question, err) < 0)
		return -1;
	for (size_t i = 0; i < failure->answer_count; i++)
		pages = pages || failure->answers[i].page;
	if (failure->answer_count == 0)
		return pkg_error_set(err, PKG_E_RESOLUTION, "%s found nothing for '%s'",
			failure->tool, question->text);
	if (!pages)
		return no_such_package(question, err);
	collect(question);
	return from_releases(question, err);
}

int
lang_python_explain_not_found(const struct lang_python_failure *failure, struct pkg_error *err)
{
	struct question question = { .failure = failure };

	if (failure->missing) {
		question.text = pkg_xstrdup(failure->missing);
		question.needed_by = pkg_xstrdup(failure->needed_by);
	} else {
		question.text = lang_python_explain_missing(failure->log, &question.needed_by);
	}
	question.where = join_indexes(failure);
	if (!question.text ||
		lang_requirement_parse(question.text, &question.requirement, NULL) < 0)
		pkg_error_set(err, PKG_E_RESOLUTION, "%s found nothing for '%s'", failure->tool,
			question.text ? question.text : "a requirement");
	else
		decide(&question, err);
	releases_clear(&question.releases);
	lang_requirement_clear(&question.requirement);
	free(question.text);
	free(question.needed_by);
	free(question.where);
	return -1;
}
