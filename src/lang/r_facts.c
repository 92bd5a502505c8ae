#include "lang/r_facts.h"

#include <stdlib.h>
#include <string.h>

#include "core/path.h"
#include "core/text.h"
#include "lang/r_version.h"

#define MARK "PKGD\t"
#define FIELD_MAX 4096
#define FACTS_MAX 1000

/* --- lines --- */

static int
one_line(const char *line, size_t len, lang_r_line_fn *each, void *context, struct pkg_error *err)
{
	char *owned[LANG_R_LINE_FIELDS] = { NULL };
	const char *fields[LANG_R_LINE_FIELDS];
	const char *end = line + len;
	int rc;

	for (size_t i = 0; i < LANG_R_LINE_FIELDS; i++) {
		const char *tab = line < end ? memchr(line, '\t', (size_t)(end - line)) : NULL;
		const char *stop = tab && i + 1 < LANG_R_LINE_FIELDS ? tab : end;

		owned[i] = line < end
			? pkg_text_clean(line, (size_t)(stop - line), FIELD_MAX, false)
			: pkg_xstrdup("");
		fields[i] = owned[i];
		line = stop < end ? stop + 1 : end;
	}
	rc = each(context, fields, err);
	for (size_t i = 0; i < LANG_R_LINE_FIELDS; i++)
		free(owned[i]);
	return rc;
}

int
lang_r_lines(
	const char *text, size_t len, lang_r_line_fn *each, void *context, struct pkg_error *err)
{
	const char *end = text + len;

	if (len > LANG_R_OUTPUT_MAX)
		return pkg_error_set(
			err, PKG_E_INVALID, "it printed more than %d bytes", LANG_R_OUTPUT_MAX);
	while (text < end) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		const char *stop = newline ? newline : end;
		size_t mark = strlen(MARK);

		if ((size_t)(stop - text) > mark && memcmp(text, MARK, mark) == 0 &&
			one_line(text + mark, (size_t)(stop - text) - mark, each, context, err) < 0)
			return -1;
		text = newline ? newline + 1 : end;
	}
	return 0;
}

/* --- facts --- */

struct fact {
	const char *name;
	bool list;
	bool path; /* absolute */
	bool needed;
};
static const struct fact known[] = {
	{ "version", false, false, true },
	{ "platform", false, false, true },
	{ "arch", false, false, true },
	{ "os", false, false, true },
	{ "status", false, false, false },
	{ "home", false, true, true },
	{ "etc", false, true, true },
	{ "library", false, true, true },
	{ "site", true, true, false },
	{ "CC", false, false, false },
	{ "CXX", false, false, false },
	{ "FC", false, false, false },
	{ "MAKE", false, false, false },
	{ "capability", true, false, false },
	{ "loads", false, false, true },
};

static const struct fact *
find_fact(const char *name)
{
	for (size_t i = 0; i < PKG_ARRAY_LEN(known); i++)
		if (strcmp(known[i].name, name) == 0)
			return &known[i];
	return NULL;
}

static int
add_fact(void *context, const char *const fields[LANG_R_LINE_FIELDS], struct pkg_error *err)
{
	struct json_object *facts = context;
	const struct fact *fact = find_fact(fields[0]);
	struct json_object *list;

	if (!fact)
		return 0;
	if (fact->path) {
		pkg_autofree char *normal =
			fields[1][0] == '/' ? pkg_path_normalize(fields[1]) : NULL;

		if (!normal || strcmp(normal, "/") == 0)
			return pkg_error_set(err, PKG_E_INVALID,
				"its '%s' is no absolute path: '%s'", fact->name, fields[1]);
	}
	if (!fact->list) {
		pkg_json_set_str(facts, fact->name, fields[1]);
		return 0;
	}
	list = pkg_json_array(facts, fact->name);
	if (!list) {
		list = json_object_new_array();
		pkg_json_set(facts, fact->name, list);
	}
	if (json_object_array_length(list) < FACTS_MAX)
		json_object_array_add(list, json_object_new_string(fields[1]));
	return 0;
}

struct json_object *
lang_r_facts_parse(const char *text, size_t len, struct pkg_error *err)
{
	pkg_cleanup(pkg_json_put) struct json_object *facts = json_object_new_object();

	if (lang_r_lines(text, len, add_fact, facts, err) < 0)
		return NULL;
	for (size_t i = 0; i < PKG_ARRAY_LEN(known); i++)
		if (known[i].needed && !pkg_json_str(facts, known[i].name)) {
			pkg_error_set(err, PKG_E_INVALID, "it says no '%s'", known[i].name);
			return NULL;
		}
	if (!lang_r_version_is(lang_r_version(facts), false)) {
		pkg_error_set(err, PKG_E_INVALID, "its 'version' is none");
		return NULL;
	}
	return pkg_steal_ptr(&facts);
}

const char *
lang_r_version(struct json_object *facts)
{
	return pkg_json_str_or(facts, "version", "");
}

char *
lang_r_minor(struct json_object *facts)
{
	const char *version = lang_r_version(facts);

	return pkg_xstrndup(version, lang_r_version_minor(version));
}

const char *
lang_r_platform(struct json_object *facts)
{
	return pkg_json_str_or(facts, "platform", "");
}

const char *
lang_r_program(struct json_object *facts)
{
	return pkg_json_str_or(facts, "path", "/");
}

const char *
lang_r_base(struct json_object *facts)
{
	return pkg_json_str_or(facts, "base", "/");
}

const char *
lang_r_home(struct json_object *facts)
{
	return pkg_json_str_or(facts, "home", "/");
}

const char *
lang_r_library(struct json_object *facts)
{
	return pkg_json_str_or(facts, "library", "/");
}

void
lang_r_sites(struct json_object *facts, struct pkg_argv *out)
{
	struct json_object *list = pkg_json_array(facts, "site");

	for (size_t i = 0; list && i < json_object_array_length(list); i++)
		pkg_argv_add(out, json_object_get_string(json_object_array_get_idx(list, i)));
}

char *
lang_r_describe(struct json_object *facts)
{
	return pkg_xasprintf("R %s (%s)", lang_r_version(facts), lang_r_program(facts));
}

/* --- judgement --- */

void
lang_r_accept(
	struct json_object *facts, const char *minimum, const char *home, struct pkg_argv *reasons)
{
	const char *base = lang_r_base(facts);
	const char *loads = pkg_json_str_or(facts, "loads", "");

	if (strcmp(pkg_json_str_or(facts, "os", ""), "unix") != 0)
		pkg_argv_addf(
			reasons, "it is for '%s', not for unix", pkg_json_str_or(facts, "os", ""));
	if (lang_r_version_compare(lang_r_version(facts), minimum) < 0)
		pkg_argv_addf(reasons, "it is R %s, older than %s (r.minimum)",
			lang_r_version(facts), minimum);
	if (strcmp(loads, "yes") != 0)
		pkg_argv_addf(reasons, "its own packages do not load: %s", loads);
	if (!pkg_path_contains("/usr", base) && pkg_path_is_broad(base, home))
		pkg_argv_addf(
			reasons, "its directory '%s' is too broad to be shown in a sandbox", base);
	if (!pkg_path_contains("/usr", lang_r_home(facts)) &&
		!pkg_path_contains(base, lang_r_home(facts)))
		pkg_argv_addf(reasons, "its R_HOME '%s' is not below its directory '%s'",
			lang_r_home(facts), base);
}
