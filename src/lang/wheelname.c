#include "lang/wheelname.h"

#include <stdlib.h>

#include "core/text.h"
#include "lang/pep503.h"
#include "lang/scan.h"

struct slice {
	const char *text;
	size_t len;
};

void
lang_wheel_name_clear(struct lang_wheel_name *name)
{
	free(name->distribution);
	free(name->normalized);
	free(name->build);
	pkg_argv_free(name->tags);
	memset(name, 0, sizeof(*name));
}

void
lang_sdist_name_clear(struct lang_sdist_name *name)
{
	free(name->distribution);
	free(name->normalized);
	memset(name, 0, sizeof(*name));
}

static int
check_file(const char *file, struct pkg_error *err)
{
	size_t len = strlen(file);

	if (len > LANG_FILE_NAME_MAX)
		return pkg_error_set(
			err, PKG_E_INVALID, "longer than %d bytes", LANG_FILE_NAME_MAX);
	for (size_t i = 0; i < len; i++)
		if (!lang_is_graph(file[i]) || file[i] == '/' || file[i] == '\\')
			return pkg_error_set(err, PKG_E_INVALID, "byte 0x%02x is not allowed",
				(unsigned char)file[i]);
	return 0;
}

/* Splits at `separator` into at most `max` slices; gives their number, or max + 1 if there are
 * more. */
static size_t
split(const char *text, size_t len, char separator, struct slice *out, size_t max)
{
	size_t count = 0, start = 0;

	for (size_t i = 0; i <= len; i++) {
		if (i < len && text[i] != separator)
			continue;
		if (count == max)
			return max + 1;
		out[count++] = (struct slice){ .text = text + start, .len = i - start };
		start = i + 1;
	}
	return count;
}

static bool
is_tag_part(const struct slice *part)
{
	for (size_t i = 0; i < part->len; i++)
		if (!lang_is_alnum(part->text[i]) && part->text[i] != '_')
			return false;
	return part->len > 0;
}

static void
add_tag(struct pkg_argv *tags, const struct slice *python, const struct slice *abi,
	const struct slice *platform)
{
	char *tag = pkg_xasprintf("%.*s-%.*s-%.*s", (int)python->len, python->text, (int)abi->len,
		abi->text, (int)platform->len, platform->text);

	for (char *p = tag; *p; p++)
		*p = lang_lower(*p);
	if (pkg_argv_has(tags, tag))
		free(tag);
	else
		pkg_argv_take(tags, tag);
}

/* PEP 425, "Compressed tag sets": every combination of the dotted parts. */
static int
expand_tags(const struct slice sets[3], struct pkg_argv *tags, struct pkg_error *err)
{
	struct slice parts[3][LANG_FILE_NAME_MAX];
	size_t counts[3];

	for (size_t i = 0; i < 3; i++) {
		counts[i] = split(sets[i].text, sets[i].len, '.', parts[i], LANG_FILE_NAME_MAX);
		for (size_t j = 0; j < counts[i]; j++)
			if (!is_tag_part(&parts[i][j]))
				return pkg_error_set(err, PKG_E_INVALID, "malformed tag '%.*s'",
					(int)sets[i].len, sets[i].text);
	}
	if (counts[0] * counts[1] * counts[2] > LANG_WHEEL_TAGS_MAX)
		return pkg_error_set(err, PKG_E_INVALID, "more than %d tags", LANG_WHEEL_TAGS_MAX);
	for (size_t i = 0; i < counts[0]; i++)
		for (size_t j = 0; j < counts[1]; j++)
			for (size_t k = 0; k < counts[2]; k++)
				add_tag(tags, &parts[0][i], &parts[1][j], &parts[2][k]);
	return 0;
}

/* PEP 427 escapes '-' as '_', so "__" cannot come from a normalised name. */
static int
set_distribution(
	const struct slice *part, char **distribution, char **normalized, struct pkg_error *err)
{
	*distribution = pkg_xstrndup(part->text, part->len);
	if (!lang_pep503_is_name(*distribution))
		return pkg_error_set(
			err, PKG_E_INVALID, "'%s' is not a project name", *distribution);
	*normalized = lang_pep503_normalize(*distribution);
	return 0;
}

static int
set_build(const struct slice *part, struct lang_wheel_name *out, struct pkg_error *err)
{
	if (part->len == 0 || !lang_is_digit(part->text[0]))
		return pkg_error_set(err, PKG_E_INVALID, "a build tag begins with a digit");
	for (size_t i = 0; i < part->len; i++)
		if (!lang_is_alnum(part->text[i]) && !strchr("._+", part->text[i]))
			return pkg_error_set(err, PKG_E_INVALID,
				"a build tag has letters, digits, '.', '_' and '+'");
	out->build = pkg_xstrndup(part->text, part->len);
	return 0;
}

static int
wheel_name_parse(const char *file, struct lang_wheel_name *out, struct pkg_error *err)
{
	struct slice parts[6];
	size_t count;

	if (check_file(file, err) < 0)
		return -1;
	if (!pkg_text_has_suffix(file, ".whl"))
		return pkg_error_set(err, PKG_E_INVALID, "does not end in .whl");
	count = split(file, strlen(file) - strlen(".whl"), '-', parts, PKG_ARRAY_LEN(parts));
	if (count != 5 && count != 6)
		return pkg_error_set(err, PKG_E_INVALID, "does not have five or six parts");
	if (memmem(parts[0].text, parts[0].len, "__", 2))
		return pkg_error_set(err, PKG_E_INVALID, "'__' in the project's name");
	if (set_distribution(&parts[0], &out->distribution, &out->normalized, err) < 0 ||
		lang_pep440_parse_mem(parts[1].text, parts[1].len, &out->version, err) < 0)
		return -1;
	if (count == 6 && set_build(&parts[2], out, err) < 0)
		return -1;
	out->tags = pkg_argv_new();
	return expand_tags(&parts[count - 3], out->tags, err);
}

int
lang_wheel_name_parse(const char *file, struct lang_wheel_name *out, struct pkg_error *err)
{
	pkg_autofree char *shown = NULL;

	memset(out, 0, sizeof(*out));
	if (wheel_name_parse(file, out, err) == 0)
		return 0;
	lang_wheel_name_clear(out);
	shown = pkg_text_clean(file, strlen(file), LANG_FILE_NAME_MAX, false);
	return pkg_error_prefix(err, "'%s' is not the name of a wheel", shown);
}

int
lang_wheel_tags_supported(
	const char *const *tags, size_t count, const struct lang_wheel_name *wheel)
{
	for (size_t i = 0; i < count; i++)
		if (pkg_argv_has(wheel->tags, tags[i]))
			return (int)i;
	return -1;
}

static struct slice
leading_digits(const char *build)
{
	struct slice digits;

	while (*build == '0')
		build++;
	digits = (struct slice){ .text = build };
	while (lang_is_digit(build[digits.len]))
		digits.len++;
	return digits;
}

int
lang_wheel_build_compare(const char *a, const char *b)
{
	struct slice da, db;
	int order;

	if (!a || !b)
		return (a != NULL) - (b != NULL);
	da = leading_digits(a);
	db = leading_digits(b);
	if (da.len != db.len)
		return da.len < db.len ? -1 : 1;
	order = memcmp(da.text, db.text, da.len);
	return order != 0 ? order : strcmp(da.text + da.len, db.text + db.len);
}

/* Where the name ends: at the '-' before the version. */
static const char *
sdist_dash(const char *file, size_t len, const char *project)
{
	if (!project)
		return memrchr(file, '-', len);
	for (const char *dash = file; (dash = memchr(dash, '-', len - (size_t)(dash - file)));
		dash++) {
		pkg_autofree char *name = pkg_xstrndup(file, (size_t)(dash - file));

		if (lang_pep503_equal(name, project))
			return dash;
	}
	return NULL;
}

static int
sdist_name_parse(
	const char *file, const char *project, struct lang_sdist_name *out, struct pkg_error *err)
{
	size_t len = strlen(file);
	struct slice name;
	const char *dash;

	if (check_file(file, err) < 0)
		return -1;
	if (pkg_text_has_suffix(file, ".tar.gz"))
		len -= strlen(".tar.gz");
	else if (pkg_text_has_suffix(file, ".zip"))
		len -= strlen(".zip");
	else
		return pkg_error_set(err, PKG_E_INVALID, "does not end in .tar.gz or .zip");
	dash = sdist_dash(file, len, project);
	if (!dash)
		return project
			? pkg_error_set(err, PKG_E_INVALID,
				  "does not begin with the project's name, '%.255s'", project)
			: pkg_error_set(err, PKG_E_INVALID, "has no '-' before a version");
	name = (struct slice){ .text = file, .len = (size_t)(dash - file) };
	if (set_distribution(&name, &out->distribution, &out->normalized, err) < 0)
		return -1;
	return lang_pep440_parse_mem(dash + 1, len - (size_t)(dash + 1 - file), &out->version, err);
}

int
lang_sdist_name_parse(
	const char *file, const char *project, struct lang_sdist_name *out, struct pkg_error *err)
{
	pkg_autofree char *shown = NULL;

	memset(out, 0, sizeof(*out));
	if (sdist_name_parse(file, project, out, err) == 0)
		return 0;
	lang_sdist_name_clear(out);
	shown = pkg_text_clean(file, strlen(file), LANG_FILE_NAME_MAX, false);
	return pkg_error_prefix(err, "'%s' is not the name of an sdist", shown);
}
