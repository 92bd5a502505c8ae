#include "lang/pep440_set.h"

#include <stdlib.h>
#include <strings.h>

#include "core/argv.h"
#include "core/buf.h"
#include "core/text.h"

#define TEXT_MAX 4096

static const char *const op_texts[] = { "~=", "==", "!=", "<=", ">=", "<", ">", "===" };

const char *
lang_pep440_op_text(enum lang_pep440_op op)
{
	return op_texts[op];
}

bool
lang_pep440_op_scan(struct lang_scan *scan, enum lang_pep440_op *out)
{
	if (lang_scan_take(scan, op_texts[LANG_PEP440_ARBITRARY])) {
		*out = LANG_PEP440_ARBITRARY;
		return true;
	}
	for (size_t i = 0; i < LANG_PEP440_ARBITRARY; i++) {
		if (lang_scan_take(scan, op_texts[i])) {
			*out = (enum lang_pep440_op)i;
			return true;
		}
	}
	return false;
}

static bool
is_arbitrary_char(char c)
{
	return lang_is_graph(c) && !strchr(",;()=<>~\"'", c);
}

static bool
is_version_char(char c)
{
	return lang_is_alnum(c) || (c != '\0' && strchr(".*+!_-", c));
}

void
lang_pep440_clause_clear(struct lang_pep440_clause *clause)
{
	free(clause->arbitrary);
	memset(clause, 0, sizeof(*clause));
}

static int
parse_arbitrary(const char *text, size_t len, struct lang_pep440_clause *out, struct pkg_error *err)
{
	if (len > LANG_PEP440_MAX)
		return pkg_error_set(err, PKG_E_REQUIREMENT,
			"the text after '===' is longer than %d bytes", LANG_PEP440_MAX);
	for (size_t i = 0; i < len; i++)
		if (!is_arbitrary_char(text[i]))
			return pkg_error_set(err, PKG_E_REQUIREMENT,
				"a character that '===' cannot be followed by");
	out->arbitrary = pkg_xstrndup(text, len);
	return 0;
}

/* Which forms of a version an operator takes (PEP 440, "Version specifiers"). */
static int
check_form(const struct lang_pep440_clause *clause, struct pkg_error *err)
{
	const struct lang_pep440_version *version = &clause->version;
	bool equality = clause->op == LANG_PEP440_EQ || clause->op == LANG_PEP440_NE;
	const char *op = lang_pep440_op_text(clause->op);

	if (clause->prefix && !equality)
		return pkg_error_set(err, PKG_E_REQUIREMENT,
			"'.*' goes only with '==' and '!=', not with '%s'", op);
	if (clause->prefix &&
		(lang_pep440_is_pre(version) || version->has_post || version->local.len > 0))
		return pkg_error_set(
			err, PKG_E_REQUIREMENT, "'.*' may follow only release numbers");
	if (version->local.len > 0 && !equality)
		return pkg_error_set(err, PKG_E_REQUIREMENT,
			"a local version goes only with '==' and '!=', not with '%s'", op);
	if (clause->op == LANG_PEP440_COMPATIBLE && version->release_count < 2)
		return pkg_error_set(
			err, PKG_E_REQUIREMENT, "'~=' needs at least two release numbers");
	return 0;
}

int
lang_pep440_clause_parse(enum lang_pep440_op op, const char *text, size_t len,
	struct lang_pep440_clause *out, struct pkg_error *err)
{
	pkg_cleanup_error struct pkg_error why = { 0 };

	memset(out, 0, sizeof(*out));
	out->op = op;
	for (; len > 0 && lang_is_blank(text[0]); len--)
		text++;
	while (len > 0 && lang_is_blank(text[len - 1]))
		len--;
	if (len == 0)
		return pkg_error_set(err, PKG_E_REQUIREMENT, "expected a version after '%s'",
			lang_pep440_op_text(op));
	if (op == LANG_PEP440_ARBITRARY)
		return parse_arbitrary(text, len, out, err);
	if (len > 2 && memcmp(text + len - 2, ".*", 2) == 0) {
		out->prefix = true;
		len -= 2;
	}
	if (lang_pep440_parse_mem(text, len, &out->version, &why) < 0)
		return pkg_error_set(err, PKG_E_REQUIREMENT, "%s", why.message);
	return check_form(out, err);
}

static bool
match_greater(const struct lang_pep440_version *spec, const struct lang_pep440_version *version)
{
	if (lang_pep440_compare(version, spec) <= 0)
		return false;
	if (lang_pep440_compare_base(version, spec) != 0)
		return true;
	return version->local.len == 0 && (spec->has_post || !version->has_post);
}

static bool
match_less(const struct lang_pep440_version *spec, const struct lang_pep440_version *version)
{
	if (lang_pep440_compare(version, spec) >= 0)
		return false;
	return lang_pep440_is_pre(spec) || !lang_pep440_is_pre(version) ||
		lang_pep440_compare_base(version, spec) != 0;
}

static bool
match_equal(const struct lang_pep440_clause *clause, const struct lang_pep440_version *version)
{
	const struct lang_pep440_version *spec = &clause->version;

	if (clause->prefix)
		return lang_pep440_has_prefix(version, spec, spec->release_count);
	if (spec->local.len > 0)
		return lang_pep440_compare(version, spec) == 0;
	return lang_pep440_compare_public(version, spec) == 0;
}

static bool
match_arbitrary(const char *text, const struct lang_pep440_version *version)
{
	pkg_autofree char *canonical = lang_pep440_canonical(version);

	return strcasecmp(canonical, text) == 0;
}

bool
lang_pep440_clause_match(
	const struct lang_pep440_clause *clause, const struct lang_pep440_version *version)
{
	const struct lang_pep440_version *spec = &clause->version;

	switch (clause->op) {
	case LANG_PEP440_COMPATIBLE:
		return lang_pep440_compare_public(version, spec) >= 0 &&
			lang_pep440_has_prefix(version, spec, (size_t)spec->release_count - 1);
	case LANG_PEP440_EQ:
		return match_equal(clause, version);
	case LANG_PEP440_NE:
		return !match_equal(clause, version);
	case LANG_PEP440_LE:
		return lang_pep440_compare_public(version, spec) <= 0;
	case LANG_PEP440_GE:
		return lang_pep440_compare_public(version, spec) >= 0;
	case LANG_PEP440_LT:
		return match_less(spec, version);
	case LANG_PEP440_GT:
		return match_greater(spec, version);
	case LANG_PEP440_ARBITRARY:
		return match_arbitrary(clause->arbitrary, version);
	}
	return false;
}

void
lang_pep440_set_clear(struct lang_pep440_set *set)
{
	for (size_t i = 0; i < set->count; i++)
		lang_pep440_clause_clear(&set->clauses[i]);
	free(set->clauses);
	*set = (struct lang_pep440_set){ 0 };
}

/* One clause: operator, blanks, operand. On failure the cursor is where the operand should begin.
 */
static int
scan_clause(struct lang_scan *scan, struct lang_pep440_clause *out, struct pkg_error *err)
{
	enum lang_pep440_op op;
	size_t start, end;

	memset(out, 0, sizeof(*out));
	if (!lang_pep440_op_scan(scan, &op))
		return pkg_error_set(err, PKG_E_REQUIREMENT,
			"expected a version comparison such as '==' or '>='");
	lang_scan_blanks(scan);
	start = end = scan->at;
	while (end < scan->len &&
		(op == LANG_PEP440_ARBITRARY ? is_arbitrary_char(scan->text[end])
					     : is_version_char(scan->text[end])))
		end++;
	if (lang_pep440_clause_parse(op, scan->text + start, end - start, out, err) < 0)
		return -1;
	scan->at = end;
	return 0;
}

int
lang_pep440_set_scan(struct lang_scan *scan, struct lang_pep440_set *out, struct pkg_error *err)
{
	struct lang_pep440_clause clause;

	*out = (struct lang_pep440_set){ 0 };
	for (;;) {
		if (out->count == LANG_PEP440_CLAUSES_MAX) {
			pkg_error_set(err, PKG_E_REQUIREMENT, "more than %d version comparisons",
				LANG_PEP440_CLAUSES_MAX);
			break;
		}
		if (scan_clause(scan, &clause, err) < 0) {
			lang_pep440_clause_clear(&clause);
			break;
		}
		out->clauses = pkg_xrealloc(out->clauses, out->count + 1, sizeof(*out->clauses));
		out->clauses[out->count++] = clause;
		lang_scan_blanks(scan);
		if (!lang_scan_take(scan, ","))
			return 0;
		lang_scan_blanks(scan);
		if (lang_scan_end(scan) || strchr(");", lang_scan_peek(scan)))
			return 0;
	}
	lang_pep440_set_clear(out);
	return -1;
}

static int
set_parse(struct lang_scan *scan, struct lang_pep440_set *out, struct pkg_error *err)
{
	if (scan->len > TEXT_MAX)
		return pkg_error_set(err, PKG_E_REQUIREMENT,
			"version comparisons of more than %d bytes", TEXT_MAX);
	lang_scan_blanks(scan);
	if (lang_scan_end(scan))
		return 0;
	if (lang_pep440_set_scan(scan, out, err) < 0)
		return -1;
	lang_scan_blanks(scan);
	if (!lang_scan_end(scan))
		return pkg_error_set(err, PKG_E_REQUIREMENT, "expected ',' or the end");
	return 0;
}

int
lang_pep440_set_parse(const char *text, struct lang_pep440_set *out, struct pkg_error *err)
{
	struct lang_scan scan = { .text = text, .len = strlen(text) };
	pkg_autofree char *shown = NULL;

	*out = (struct lang_pep440_set){ 0 };
	while (scan.len > 0 && lang_is_space(text[scan.len - 1]))
		scan.len--;
	if (set_parse(&scan, out, err) == 0)
		return 0;
	lang_pep440_set_clear(out);
	shown = pkg_text_clean(text, scan.len, 200, false);
	return pkg_error_prefix(err, "'%s': column %zu", shown, scan.at + 1);
}

bool
lang_pep440_set_allows_pre(const struct lang_pep440_set *set)
{
	for (size_t i = 0; i < set->count; i++) {
		const struct lang_pep440_clause *clause = &set->clauses[i];
		struct lang_pep440_version version = clause->version;

		if (clause->op == LANG_PEP440_NE)
			continue;
		if (clause->op == LANG_PEP440_ARBITRARY &&
			lang_pep440_parse(clause->arbitrary, &version, NULL) < 0)
			continue;
		if (lang_pep440_is_pre(&version))
			return true;
	}
	return false;
}

bool
lang_pep440_set_match(const struct lang_pep440_set *set, const struct lang_pep440_version *version,
	enum lang_pep440_prereleases prereleases)
{
	if (lang_pep440_is_pre(version) &&
		(prereleases == LANG_PEP440_PRE_DENY ||
			(prereleases == LANG_PEP440_PRE_AUTO && !lang_pep440_set_allows_pre(set))))
		return false;
	for (size_t i = 0; i < set->count; i++)
		if (!lang_pep440_clause_match(&set->clauses[i], version))
			return false;
	return true;
}

static char *
clause_text(const struct lang_pep440_clause *clause)
{
	pkg_autofree char *version = NULL;

	if (clause->op == LANG_PEP440_ARBITRARY)
		return pkg_xasprintf("===%s", clause->arbitrary);
	version = lang_pep440_canonical(&clause->version);
	return pkg_xasprintf(
		"%s%s%s", lang_pep440_op_text(clause->op), version, clause->prefix ? ".*" : "");
}

char *
lang_pep440_set_text(const struct lang_pep440_set *set)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *texts = pkg_argv_new();
	pkg_cleanup(pkg_argv_free) struct pkg_argv *unique = pkg_argv_new();

	for (size_t i = 0; i < set->count; i++)
		pkg_argv_take(texts, clause_text(&set->clauses[i]));
	pkg_argv_sort(texts);
	for (size_t i = 0; i < texts->count; i++)
		if (i == 0 || strcmp(texts->items[i], texts->items[i - 1]) != 0)
			pkg_argv_add(unique, texts->items[i]);
	return pkg_argv_join(unique, ",");
}
