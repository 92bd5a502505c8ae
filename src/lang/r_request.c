#include "lang/r_request.h"

#include "core/buf.h"
#include "core/text.h"
#include "lang/r_version.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX 1000
#define SHOWN 120

void
lang_r_need_clear(struct lang_r_need *need)
{
	free(need->name);
	for (size_t i = 0; i < need->bound_count; i++)
		free(need->bounds[i].version);
	*need = (struct lang_r_need){ 0 };
}

void
lang_r_needs_clear(struct lang_r_needs *needs)
{
	for (size_t i = 0; i < needs->count; i++)
		lang_r_need_clear(&needs->items[i]);
	free(needs->items);
	*needs = (struct lang_r_needs){ 0 };
}

static bool
is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool
is_name(const char *name, size_t len)
{
	if (len < 2 || len > LANG_R_NAME_MAX || !is_letter(name[0]) || name[len - 1] == '.')
		return false;
	for (size_t i = 0; i < len; i++)
		if (!is_letter(name[i]) && !(name[i] >= '0' && name[i] <= '9') && name[i] != '.')
			return false;
	return true;
}

bool
lang_r_name_is(const char *name)
{
	return is_name(name, strlen(name));
}

/* --- one need --- */

struct reader {
	const char *all; /* for messages */
	const char *at;
	const char *end;
};

static void
skip_blanks(struct reader *in)
{
	while (in->at < in->end && strchr(" \t\r\n", *in->at))
		in->at++;
}

static int
refuse(const struct reader *in, const char *what, struct pkg_error *err)
{
	size_t len = (size_t)(in->end - in->all);
	pkg_autofree char *shown = pkg_text_clean(in->all, len, SHOWN, false);

	return pkg_error_set(err, PKG_E_REQUIREMENT, "'%s': %s", shown, what);
}

static size_t
span(const struct reader *in, const char *until)
{
	size_t len = 0;

	while (in->at + len < in->end && !strchr(until, in->at[len]))
		len++;
	return len;
}

static int
add_bound(struct reader *in, const char *op, size_t op_len, struct lang_r_need *out,
	struct pkg_error *err)
{
	size_t len = span(in, " \t\r\n,)");
	struct lang_r_bound *bound = &out->bounds[out->bound_count];
	pkg_autofree char *version = pkg_xstrndup(in->at, len);

	if (out->bound_count == LANG_R_BOUNDS_MAX)
		return refuse(in, "it has too many limits", err);
	if (!lang_r_version_is(version, true))
		return refuse(in, "a version is numbers with '.' or '-' between them", err);
	memcpy(bound->op, op, op_len);
	bound->op[op_len] = '\0';
	bound->version = pkg_steal_ptr(&version);
	out->bound_count++;
	in->at += len;
	return 0;
}

static int
read_limit(struct reader *in, struct lang_r_need *out, struct pkg_error *err)
{
	static const char *const ops[] = { "<=", ">=", "==", "!=", "<", ">" };

	skip_blanks(in);
	for (size_t i = 0; i < PKG_ARRAY_LEN(ops); i++) {
		size_t len = strlen(ops[i]);

		if ((size_t)(in->end - in->at) < len || strncmp(in->at, ops[i], len) != 0)
			continue;
		in->at += len;
		skip_blanks(in);
		return add_bound(in, ops[i], len, out, err);
	}
	return refuse(in, "a limit begins with one of < <= == != >= >", err);
}

static int
read_limits(struct reader *in, bool bracket, struct lang_r_need *out, struct pkg_error *err)
{
	for (;;) {
		if (read_limit(in, out, err) < 0)
			return -1;
		skip_blanks(in);
		if (in->at == in->end)
			return bracket ? refuse(in, "a ')' is missing", err) : 0;
		if (*in->at == ')' && bracket) {
			in->at++;
			return 0;
		}
		if (*in->at++ != ',')
			return refuse(in, "limits are separated by ','", err);
	}
}

static int
read_name(struct reader *in, struct lang_r_need *out, struct pkg_error *err)
{
	size_t len = span(in, " \t\r\n(@<>=!,");
	bool language = len == 1 && *in->at == 'R';

	if (!language && !is_name(in->at, len))
		return refuse(in,
			"the name of an R package is a letter, then letters, digits and '.', two "
			"characters at least, the last no '.'",
			err);
	out->name = pkg_xstrndup(in->at, len);
	in->at += len;
	skip_blanks(in);
	return 0;
}

static int
read_need(struct reader *in, struct lang_r_need *out, struct pkg_error *err)
{
	skip_blanks(in);
	if (read_name(in, out, err) < 0)
		return -1;
	if (in->at == in->end)
		return 0;
	if (*in->at == '@') {
		in->at++;
		if (add_bound(in, "==", 2, out, err) < 0)
			return -1;
	} else if (*in->at == '(') {
		in->at++;
		if (read_limits(in, true, out, err) < 0)
			return -1;
	} else if (read_limits(in, false, out, err) < 0) {
		return -1;
	}
	skip_blanks(in);
	return in->at == in->end ? 0
				 : refuse(in, "something follows that does not belong here", err);
}

static int
parse_slice(const char *text, size_t len, struct lang_r_need *out, struct pkg_error *err)
{
	struct reader in = { text, text, text + len };
	struct lang_r_need need = { 0 };

	if (len > TEXT_MAX)
		return pkg_error_set(
			err, PKG_E_REQUIREMENT, "a requirement is longer than %d bytes", TEXT_MAX);
	if (read_need(&in, &need, err) < 0) {
		lang_r_need_clear(&need);
		return -1;
	}
	*out = need;
	return 0;
}

int
lang_r_need_parse(const char *text, struct lang_r_need *out, struct pkg_error *err)
{
	if (parse_slice(text, strlen(text), out, err) < 0)
		return -1;
	if (strcmp(out->name, "R") != 0)
		return 0;
	lang_r_need_clear(out);
	pkg_error_set(err, PKG_E_REQUIREMENT, "'R' is the language itself, not a package");
	return pkg_error_cure(err, "choose another R for a new environment with --python PATH|X.Y");
}

char *
lang_r_need_text(const struct lang_r_need *need)
{
	struct pkg_buf out = { 0 };

	pkg_buf_add(&out, need->name);
	if (lang_r_need_exact(need)) {
		pkg_buf_addf(&out, "@%s", need->bounds[0].version);
		return pkg_buf_steal(&out);
	}
	for (size_t i = 0; i < need->bound_count; i++)
		pkg_buf_addf(&out, "%s%s %s", i ? ", " : " (", need->bounds[i].op,
			need->bounds[i].version);
	if (need->bound_count > 0)
		pkg_buf_add(&out, ")");
	return pkg_buf_steal(&out);
}

bool
lang_r_need_met(const struct lang_r_need *need, const char *version)
{
	for (size_t i = 0; i < need->bound_count; i++)
		if (!lang_r_version_holds(version, need->bounds[i].op, need->bounds[i].version))
			return false;
	return true;
}

const char *
lang_r_need_exact(const struct lang_r_need *need)
{
	return need->bound_count == 1 && strcmp(need->bounds[0].op, "==") == 0
		? need->bounds[0].version
		: NULL;
}

/* --- lists --- */

/* To the ',' that separates two needs; those inside brackets separate limits. */
static size_t
item_length(const char *text)
{
	size_t len = 0;

	for (bool inside = false; text[len] != '\0' && (inside || text[len] != ','); len++)
		inside = text[len] == '(' || (inside && text[len] != ')');
	return len;
}

int
lang_r_needs_parse(const char *text, struct lang_r_needs *out, struct pkg_error *err)
{
	while (text && *text != '\0') {
		size_t len = item_length(text);
		struct lang_r_need need;

		if (strspn(text, " \t\r\n") < len) {
			if (out->count == LANG_R_NEEDS_MAX)
				return pkg_error_set(err, PKG_E_REQUIREMENT,
					"a list names more than %d packages", LANG_R_NEEDS_MAX);
			if (parse_slice(text, len, &need, err) < 0)
				return -1;
			out->items = pkg_xrealloc(out->items, out->count + 1, sizeof(*out->items));
			out->items[out->count++] = need;
		}
		text += len;
		text += *text == ',';
	}
	return 0;
}
