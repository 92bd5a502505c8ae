#include "lang/entry_points.h"

#include <stdlib.h>

#include "lang/scan.h"

enum section { SECTION_NONE, SECTION_OTHER, SECTION_CONSOLE, SECTION_GUI };

void
lang_entry_points_clear(struct lang_entry_points *list)
{
	for (size_t i = 0; i < list->count; i++) {
		free(list->items[i].name);
		free(list->items[i].module);
		free(list->items[i].attr);
	}
	free(list->items);
	*list = (struct lang_entry_points){ 0 };
}

/* Takes blanks off both ends of a slice. */
static void
trim(const char **text, size_t *len)
{
	for (; *len > 0 && lang_is_space((*text)[0]); (*len)--)
		(*text)++;
	while (*len > 0 && lang_is_space((*text)[*len - 1]))
		(*len)--;
}

static bool
is_script_name(const char *name, size_t len)
{
	if (len == 0 || len > LANG_ENTRY_POINT_NAME_MAX || name[0] == '-' || name[0] == '.')
		return false;
	for (size_t i = 0; i < len; i++)
		if (!lang_is_graph(name[i]) || name[i] == '/' || name[i] == '\\')
			return false;
	return true;
}

static bool
is_dotted(const char *text, size_t len)
{
	bool first = true;

	for (size_t i = 0; i < len; i++) {
		char c = text[i];

		if (c == '.' && !first)
			first = true;
		else if (lang_is_alpha(c) || c == '_' || (lang_is_digit(c) && !first))
			first = false;
		else
			return false;
	}
	return !first;
}

/* "module:attr", with the "[extra]" that old tools wrote after it left out. */
static int
parse_reference(const char *text, size_t len, struct lang_entry_point *out, struct pkg_error *err)
{
	const char *bracket = memchr(text, '[', len), *colon, *attr;
	size_t module_len, attr_len;

	if (bracket && text[len - 1] != ']')
		return pkg_error_set(err, PKG_E_ARCHIVE, "text after the extras");
	if (bracket)
		len = (size_t)(bracket - text);
	colon = memchr(text, ':', len);
	if (!colon)
		return pkg_error_set(err, PKG_E_ARCHIVE, "a script without 'module:function'");
	module_len = (size_t)(colon - text);
	attr = colon + 1;
	attr_len = len - module_len - 1;
	trim(&text, &module_len);
	trim(&attr, &attr_len);
	if (!is_dotted(text, module_len) || !is_dotted(attr, attr_len))
		return pkg_error_set(
			err, PKG_E_ARCHIVE, "a script's module or function is not an identifier");
	out->module = pkg_xstrndup(text, module_len);
	out->attr = pkg_xstrndup(attr, attr_len);
	return 0;
}

static int
check_new(const struct lang_entry_points *list, const char *name, struct pkg_error *err)
{
	if (list->count == LANG_ENTRY_POINTS_MAX)
		return pkg_error_set(
			err, PKG_E_ARCHIVE, "more than %d scripts", LANG_ENTRY_POINTS_MAX);
	for (size_t i = 0; i < list->count; i++)
		if (strcmp(list->items[i].name, name) == 0)
			return pkg_error_set(
				err, PKG_E_ARCHIVE, "script '%s' is given twice", name);
	return 0;
}

static int
parse_script(const char *line, size_t len, bool gui, struct lang_entry_points *out,
	struct pkg_error *err)
{
	const char *equals = memchr(line, '=', len), *value;
	struct lang_entry_point item = { .gui = gui };
	size_t name_len, value_len;

	if (!equals)
		return pkg_error_set(err, PKG_E_ARCHIVE, "expected 'name = module:function'");
	name_len = (size_t)(equals - line);
	value = equals + 1;
	value_len = len - name_len - 1;
	trim(&line, &name_len);
	trim(&value, &value_len);
	if (!is_script_name(line, name_len))
		return pkg_error_set(
			err, PKG_E_ARCHIVE, "a script's name cannot be that of a file in bin");
	item.name = pkg_xstrndup(line, name_len);
	if (check_new(out, item.name, err) < 0 ||
		parse_reference(value, value_len, &item, err) < 0) {
		free(item.name);
		return -1;
	}
	out->items = pkg_xrealloc(out->items, out->count + 1, sizeof(*out->items));
	out->items[out->count++] = item;
	return 0;
}

static bool
slice_is(const char *text, size_t len, const char *literal)
{
	return strlen(literal) == len && memcmp(text, literal, len) == 0;
}

/* As importlib.metadata: lines lose the blanks around them, so an indented "[section]" is a section
 * too. */
static int
parse_line(const char *line, size_t len, enum section *section, struct lang_entry_points *out,
	struct pkg_error *err)
{
	trim(&line, &len);
	if (len == 0 || line[0] == '#' || line[0] == ';')
		return 0;
	if (line[0] == '[' && line[len - 1] == ']') {
		const char *name = line + 1;
		size_t name_len = len - 2;

		trim(&name, &name_len);
		*section = slice_is(name, name_len, "console_scripts") ? SECTION_CONSOLE
			: slice_is(name, name_len, "gui_scripts")      ? SECTION_GUI
								       : SECTION_OTHER;
		return 0;
	}
	switch (*section) {
	case SECTION_CONSOLE:
	case SECTION_GUI:
		return parse_script(line, len, *section == SECTION_GUI, out, err);
	case SECTION_OTHER:
		return 0;
	case SECTION_NONE:
		break;
	}
	return pkg_error_set(err, PKG_E_ARCHIVE, "text before the first [section]");
}

static int
parse_lines(const char *text, size_t len, size_t *number, struct lang_entry_points *out,
	struct pkg_error *err)
{
	enum section section = SECTION_NONE;

	for (size_t at = 0; at < len;) {
		size_t end = at;

		while (end < len && text[end] != '\n' && text[end] != '\r')
			end++;
		++*number;
		if (parse_line(text + at, end - at, &section, out, err) < 0)
			return -1;
		at = end + 1;
		if (end + 1 < len && text[end] == '\r' && text[end + 1] == '\n')
			at++;
	}
	return 0;
}

int
lang_entry_points_parse(
	const char *text, size_t len, struct lang_entry_points *out, struct pkg_error *err)
{
	size_t number = 0;

	*out = (struct lang_entry_points){ 0 };
	if (len > LANG_ENTRY_POINTS_BYTES_MAX)
		return pkg_error_set(err, PKG_E_ARCHIVE, "entry_points.txt: more than %d bytes",
			LANG_ENTRY_POINTS_BYTES_MAX);
	if (parse_lines(text, len, &number, out, err) == 0)
		return 0;
	lang_entry_points_clear(out);
	return pkg_error_prefix(err, "entry_points.txt: line %zu", number);
}
