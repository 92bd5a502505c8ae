#include "lang/marker.h"

#include <stdlib.h>

#include "core/text.h"
#include "lang/pep440_set.h"
#include "lang/pep503.h"

enum kind { MARKER_OR, MARKER_AND, MARKER_COMPARE };
enum relation { RELATION_IN, RELATION_NOT_IN, RELATION_VERSION };

struct variable {
	const char *name; /* canonical */
	const char *legacy; /* PEP 345 and setuptools spellings, or NULL */
	size_t offset; /* in struct lang_marker_env; unused for extra */
};

#define VARIABLE(name, legacy)                                                                     \
	{                                                                                          \
#name, legacy, offsetof(struct lang_marker_env, name)                              \
	}
static const struct variable variables[] = {
	VARIABLE(python_version, NULL),
	VARIABLE(python_full_version, NULL),
	VARIABLE(os_name, "os.name"),
	VARIABLE(sys_platform, "sys.platform"),
	VARIABLE(platform_release, NULL),
	VARIABLE(platform_system, NULL),
	VARIABLE(platform_version, "platform.version"),
	VARIABLE(platform_machine, "platform.machine"),
	VARIABLE(platform_python_implementation, "platform.python_implementation"),
	VARIABLE(platform_python_implementation, "python_implementation"),
	VARIABLE(implementation_name, NULL),
	VARIABLE(implementation_version, NULL),
	{ "extra", NULL, 0 },
};

static const struct variable *const extra_variable = &variables[PKG_ARRAY_LEN(variables) - 1];

struct operand {
	const struct variable *variable; /* NULL for a literal */
	char *literal; /* owned */
};

struct lang_marker {
	enum kind kind;
	struct lang_marker *left, *right; /* owned; of AND and OR */
	struct operand lhs, rhs; /* of COMPARE */
	enum relation relation;
	enum lang_pep440_op op; /* of RELATION_VERSION */
};

void
lang_marker_free(struct lang_marker *marker)
{
	/* A chain "a and b and c" leans left: walk it, so that only parentheses recurse. */
	while (marker) {
		struct lang_marker *left = marker->left;

		lang_marker_free(marker->right);
		free(marker->lhs.literal);
		free(marker->rhs.literal);
		free(marker);
		marker = left;
	}
}

static bool
is_word_char(char c)
{
	return lang_is_alnum(c) || c == '_' || c == '.';
}

/* The run of letters at the cursor, which does not move. */
static size_t
word_len(const struct lang_scan *scan)
{
	size_t end = scan->at;

	while (end < scan->len && is_word_char(scan->text[end]))
		end++;
	return end - scan->at;
}

static bool
word_is(const struct lang_scan *scan, size_t len, const char *word)
{
	return word && strlen(word) == len && memcmp(scan->text + scan->at, word, len) == 0;
}

static bool
take_word(struct lang_scan *scan, const char *word)
{
	size_t len = word_len(scan);

	if (!word_is(scan, len, word))
		return false;
	scan->at += len;
	return true;
}

/* PEP 508 leaves the backslash out of strings, so there are no escapes to get wrong. */
static int
scan_string(struct lang_scan *scan, struct operand *out, struct pkg_error *err)
{
	char quote = scan->text[scan->at];
	size_t start = scan->at + 1, end = start;

	for (; end < scan->len && scan->text[end] != quote; end++) {
		char c = scan->text[end];

		if (c == '\\' || (!lang_is_graph(c) && !lang_is_blank(c))) {
			scan->at = end;
			return pkg_error_set(err, PKG_E_REQUIREMENT,
				"a backslash, control or non-ASCII character in a marker's string");
		}
	}
	if (end == scan->len)
		return pkg_error_set(
			err, PKG_E_REQUIREMENT, "a string without its closing %c", quote);
	out->literal = pkg_xstrndup(scan->text + start, end - start);
	scan->at = end + 1;
	return 0;
}

static int
scan_operand(struct lang_scan *scan, struct operand *out, struct pkg_error *err)
{
	char c = lang_scan_peek(scan);
	size_t len;

	if (c == '"' || c == '\'')
		return scan_string(scan, out, err);
	len = word_len(scan);
	for (size_t i = 0; len > 0 && i < PKG_ARRAY_LEN(variables); i++) {
		if (!word_is(scan, len, variables[i].name) &&
			!word_is(scan, len, variables[i].legacy))
			continue;
		out->variable = &variables[i];
		scan->at += len;
		return 0;
	}
	if (len > 0)
		return pkg_error_set(err, PKG_E_REQUIREMENT, "unknown marker variable '%.*s'",
			(int)(len > 60 ? 60 : len), scan->text + scan->at);
	return pkg_error_set(
		err, PKG_E_REQUIREMENT, "expected a marker variable or a quoted string");
}

static int
scan_relation(struct lang_scan *scan, struct lang_marker *marker, struct pkg_error *err)
{
	size_t start = scan->at;

	if (take_word(scan, "in")) {
		marker->relation = RELATION_IN;
		return 0;
	}
	if (take_word(scan, "not")) {
		lang_scan_blanks(scan);
		marker->relation = RELATION_NOT_IN;
		if (take_word(scan, "in"))
			return 0;
		return pkg_error_set(err, PKG_E_REQUIREMENT, "expected 'in' after 'not'");
	}
	marker->relation = RELATION_VERSION;
	if (lang_pep440_op_scan(scan, &marker->op))
		return 0;
	scan->at = start;
	return pkg_error_set(err, PKG_E_REQUIREMENT,
		"expected a comparison: <, <=, ==, !=, >=, >, ~=, ===, in or not in");
}

static struct lang_marker *
scan_comparison(struct lang_scan *scan, struct pkg_error *err)
{
	pkg_cleanup(lang_marker_free) struct lang_marker *marker = pkg_xcalloc(1, sizeof(*marker));

	marker->kind = MARKER_COMPARE;
	if (scan_operand(scan, &marker->lhs, err) < 0)
		return NULL;
	lang_scan_blanks(scan);
	if (scan_relation(scan, marker, err) < 0)
		return NULL;
	lang_scan_blanks(scan);
	if (scan_operand(scan, &marker->rhs, err) < 0)
		return NULL;
	return pkg_steal_ptr(&marker);
}

static struct lang_marker *scan_or(struct lang_scan *scan, unsigned depth, struct pkg_error *err);

static struct lang_marker *
scan_atom(struct lang_scan *scan, unsigned depth, struct pkg_error *err)
{
	pkg_cleanup(lang_marker_free) struct lang_marker *marker = NULL;

	lang_scan_blanks(scan);
	if (!lang_scan_take(scan, "(")) {
		marker = scan_comparison(scan, err);
	} else if (depth == LANG_MARKER_DEPTH_MAX) {
		pkg_error_set(err, PKG_E_REQUIREMENT, "more than %d nested parentheses",
			LANG_MARKER_DEPTH_MAX);
		return NULL;
	} else {
		marker = scan_or(scan, depth + 1, err);
		if (marker && !lang_scan_take(scan, ")")) {
			pkg_error_set(err, PKG_E_REQUIREMENT, "expected 'and', 'or' or ')'");
			return NULL;
		}
	}
	lang_scan_blanks(scan);
	return pkg_steal_ptr(&marker);
}

static struct lang_marker *
join(enum kind kind, struct lang_marker *left, struct lang_marker *right)
{
	struct lang_marker *marker = pkg_xcalloc(1, sizeof(*marker));

	marker->kind = kind;
	marker->left = left;
	marker->right = right;
	return marker;
}

static struct lang_marker *
scan_and(struct lang_scan *scan, unsigned depth, struct pkg_error *err)
{
	pkg_cleanup(lang_marker_free) struct lang_marker *left = scan_atom(scan, depth, err);

	while (left && take_word(scan, "and")) {
		struct lang_marker *right = scan_atom(scan, depth, err);

		if (!right)
			return NULL;
		left = join(MARKER_AND, left, right);
	}
	return pkg_steal_ptr(&left);
}

static struct lang_marker *
scan_or(struct lang_scan *scan, unsigned depth, struct pkg_error *err)
{
	pkg_cleanup(lang_marker_free) struct lang_marker *left = scan_and(scan, depth, err);

	while (left && take_word(scan, "or")) {
		struct lang_marker *right = scan_and(scan, depth, err);

		if (!right)
			return NULL;
		left = join(MARKER_OR, left, right);
	}
	return pkg_steal_ptr(&left);
}

struct lang_marker *
lang_marker_scan(struct lang_scan *scan, struct pkg_error *err)
{
	return scan_or(scan, 0, err);
}

struct lang_marker *
lang_marker_parse(const char *text, struct pkg_error *err)
{
	pkg_cleanup(lang_marker_free) struct lang_marker *marker = NULL;
	struct lang_scan scan = { .text = text, .len = strlen(text) };
	pkg_autofree char *shown = NULL;

	if (scan.len > LANG_MARKER_TEXT_MAX) {
		pkg_error_set(err, PKG_E_REQUIREMENT, "a marker of more than %d bytes",
			LANG_MARKER_TEXT_MAX);
		return NULL;
	}
	marker = lang_marker_scan(&scan, err);
	if (marker && lang_scan_end(&scan))
		return pkg_steal_ptr(&marker);
	if (marker)
		pkg_error_set(err, PKG_E_REQUIREMENT, "expected 'and', 'or' or the end");
	shown = pkg_text_clean(text, scan.len, 200, false);
	pkg_error_prefix(err, "marker '%s': column %zu", shown, scan.at + 1);
	return NULL;
}

static const char *
operand_value(const struct operand *operand, const struct lang_marker_env *env, const char *extra)
{
	const char *value;

	if (!operand->variable)
		return operand->literal;
	if (operand->variable == extra_variable)
		return extra ? extra : "";
	memcpy(&value, (const char *)env + operand->variable->offset, sizeof(const char *));
	return value ? value : "";
}

/* platform.python_version() of an untagged build ends in '+', which no version may: `packaging`
 * reads it as a local version, and so do we. */
static bool
parse_operand_version(
	const struct operand *operand, const char *value, struct lang_pep440_version *out)
{
	pkg_autofree char *repaired = NULL;

	if (operand->variable && pkg_text_has_suffix(value, "+"))
		repaired = pkg_xasprintf("%slocal", value);
	return lang_pep440_parse(repaired ? repaired : value, out, NULL) == 0;
}

static int
compare_strings(enum lang_pep440_op op, const char *lhs, const char *rhs, bool *result,
	struct pkg_error *err)
{
	int order = strcmp(lhs, rhs);

	switch (op) {
	case LANG_PEP440_EQ:
	case LANG_PEP440_ARBITRARY:
		*result = order == 0;
		return 0;
	case LANG_PEP440_NE:
		*result = order != 0;
		return 0;
	case LANG_PEP440_LE:
		*result = order <= 0;
		return 0;
	case LANG_PEP440_GE:
		*result = order >= 0;
		return 0;
	case LANG_PEP440_LT:
		*result = order < 0;
		return 0;
	case LANG_PEP440_GT:
		*result = order > 0;
		return 0;
	case LANG_PEP440_COMPATIBLE:
		break;
	}
	return pkg_error_set(err, PKG_E_REQUIREMENT,
		"a marker compares '%.80s' and '%.80s' with '~=', which only versions can be", lhs,
		rhs);
}

static int
evaluate_comparison(const struct lang_marker *marker, const struct lang_marker_env *env,
	const char *extra, bool *result, struct pkg_error *err)
{
	const char *lhs = operand_value(&marker->lhs, env, extra);
	const char *rhs = operand_value(&marker->rhs, env, extra);
	struct lang_pep440_clause clause = { 0 };
	struct lang_pep440_version version;

	if (marker->lhs.variable == extra_variable || marker->rhs.variable == extra_variable) {
		pkg_autofree char *left = lang_pep503_normalize(lhs);
		pkg_autofree char *right = lang_pep503_normalize(rhs);

		if (marker->relation == RELATION_VERSION)
			return compare_strings(marker->op, left, right, result, err);
		*result = (strstr(right, left) != NULL) == (marker->relation == RELATION_IN);
		return 0;
	}
	if (marker->relation != RELATION_VERSION) {
		*result = (strstr(rhs, lhs) != NULL) == (marker->relation == RELATION_IN);
		return 0;
	}
	if (parse_operand_version(&marker->lhs, lhs, &version) &&
		lang_pep440_clause_parse(marker->op, rhs, strlen(rhs), &clause, NULL) == 0) {
		*result = lang_pep440_clause_match(&clause, &version);
		lang_pep440_clause_clear(&clause);
		return 0;
	}
	lang_pep440_clause_clear(&clause);
	return compare_strings(marker->op, lhs, rhs, result, err);
}

int
lang_marker_evaluate(const struct lang_marker *marker, const struct lang_marker_env *env,
	const char *extra, bool *result, struct pkg_error *err)
{
	bool left = false, right = false;

	if (marker->kind == MARKER_COMPARE)
		return evaluate_comparison(marker, env, extra, result, err);
	if (lang_marker_evaluate(marker->left, env, extra, &left, err) < 0 ||
		lang_marker_evaluate(marker->right, env, extra, &right, err) < 0)
		return -1;
	*result = marker->kind == MARKER_AND ? left && right : left || right;
	return 0;
}

bool
lang_marker_has_extra(const struct lang_marker *marker)
{
	if (marker->kind == MARKER_COMPARE)
		return marker->lhs.variable == extra_variable ||
			marker->rhs.variable == extra_variable;
	return lang_marker_has_extra(marker->left) || lang_marker_has_extra(marker->right);
}

/* `other` is the variable on the other side: what is compared with extra is a name. */
static void
add_operand(struct pkg_buf *out, const struct operand *operand, const struct operand *other)
{
	pkg_autofree char *text = NULL;
	char quote;

	if (operand->variable) {
		pkg_buf_add(out, operand->variable->name);
		return;
	}
	text = other->variable == extra_variable ? lang_pep503_normalize(operand->literal)
						 : pkg_xstrdup(operand->literal);
	quote = strchr(text, '"') ? '\'' : '"';
	pkg_buf_add_char(out, quote);
	pkg_buf_add(out, text);
	pkg_buf_add_char(out, quote);
}

static void
add_marker(struct pkg_buf *out, const struct lang_marker *marker, enum kind within)
{
	if (marker->kind == MARKER_COMPARE) {
		add_operand(out, &marker->lhs, &marker->rhs);
		if (marker->relation == RELATION_VERSION)
			pkg_buf_addf(out, " %s ", lang_pep440_op_text(marker->op));
		else
			pkg_buf_add(out, marker->relation == RELATION_IN ? " in " : " not in ");
		add_operand(out, &marker->rhs, &marker->lhs);
		return;
	}
	if (marker->kind < within)
		pkg_buf_add_char(out, '(');
	add_marker(out, marker->left, marker->kind);
	pkg_buf_add(out, marker->kind == MARKER_AND ? " and " : " or ");
	add_marker(out, marker->right, marker->kind);
	if (marker->kind < within)
		pkg_buf_add_char(out, ')');
}

char *
lang_marker_text(const struct lang_marker *marker)
{
	struct pkg_buf out = { 0 };

	add_marker(&out, marker, MARKER_OR);
	return pkg_buf_steal(&out);
}
