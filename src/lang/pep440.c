#include "lang/pep440.h"

#include <string.h>

#include "core/buf.h"
#include "core/text.h"
#include "lang/scan.h"

struct word {
	const char *text;
	enum lang_pep440_pre pre;
};

/* The longer spelling first where one begins with the other. */
static const struct word pre_words[] = {
	{ "alpha", LANG_PEP440_ALPHA },
	{ "a", LANG_PEP440_ALPHA },
	{ "beta", LANG_PEP440_BETA },
	{ "b", LANG_PEP440_BETA },
	{ "preview", LANG_PEP440_RC },
	{ "pre", LANG_PEP440_RC },
	{ "rc", LANG_PEP440_RC },
	{ "c", LANG_PEP440_RC },
	{ NULL, LANG_PEP440_FINAL },
};
static const struct word post_words[] = {
	{ "post", LANG_PEP440_FINAL },
	{ "rev", LANG_PEP440_FINAL },
	{ "r", LANG_PEP440_FINAL },
	{ NULL, LANG_PEP440_FINAL },
};
static const struct word dev_words[] = {
	{ "dev", LANG_PEP440_FINAL },
	{ NULL, LANG_PEP440_FINAL },
};

static bool
is_separator(char c)
{
	return c == '.' || c == '-' || c == '_';
}

static bool
take_number(struct lang_scan *scan, struct lang_pep440_number *out)
{
	size_t start = scan->at;

	while (lang_is_digit(lang_scan_peek(scan)))
		scan->at++;
	if (scan->at == start)
		return false;
	while (start < scan->at && scan->text[start] == '0')
		start++;
	*out = (struct lang_pep440_number){
		.at = (unsigned short)start,
		.len = (unsigned short)(scan->at - start),
	};
	return true;
}

/* [-_.]? word [-_.]? [0-9]*. The separator after the word belongs to it even when no number
 * follows, as in the PEP's own pattern. */
static const struct word *
take_suffix(struct lang_scan *scan, const struct word *words, struct lang_pep440_number *number)
{
	size_t start = scan->at;

	if (is_separator(lang_scan_peek(scan)))
		scan->at++;
	for (const struct word *word = words; word->text; word++) {
		if (!lang_scan_take(scan, word->text))
			continue;
		if (is_separator(lang_scan_peek(scan)))
			scan->at++;
		*number = (struct lang_pep440_number){ 0 };
		take_number(scan, number);
		return word;
	}
	scan->at = start;
	return NULL;
}

static bool
take_implicit_post(struct lang_scan *scan, struct lang_pep440_number *number)
{
	size_t start = scan->at;

	if (lang_scan_take(scan, "-") && take_number(scan, number))
		return true;
	scan->at = start;
	return false;
}

static int
parse_release(struct lang_scan *scan, struct lang_pep440_version *out, struct pkg_error *err)
{
	struct lang_pep440_number number;
	size_t dot;

	(void)lang_scan_take(scan, "v");
	if (!take_number(scan, &number))
		return pkg_error_set(err, PKG_E_INVALID, "expected a digit");
	if (lang_scan_take(scan, "!")) {
		out->epoch = number;
		if (!take_number(scan, &number))
			return pkg_error_set(
				err, PKG_E_INVALID, "expected a digit after the epoch");
	}
	for (;;) {
		if (out->release_count == LANG_PEP440_RELEASE_MAX)
			return pkg_error_set(err, PKG_E_INVALID, "more than %d release numbers",
				LANG_PEP440_RELEASE_MAX);
		out->release[out->release_count++] = number;
		dot = scan->at;
		if (!lang_scan_take(scan, ".") || !take_number(scan, &number)) {
			scan->at = dot;
			return 0;
		}
	}
}

static int
parse_local(struct lang_scan *scan, struct lang_pep440_version *out, struct pkg_error *err)
{
	size_t start = scan->at;

	for (;;) {
		if (!lang_is_alnum(lang_scan_peek(scan)))
			return pkg_error_set(err, PKG_E_INVALID,
				"expected a letter or digit in the local version");
		while (lang_is_alnum(lang_scan_peek(scan)))
			scan->at++;
		if (!is_separator(lang_scan_peek(scan)))
			break;
		scan->at++;
	}
	out->local = (struct lang_pep440_number){
		.at = (unsigned short)start,
		.len = (unsigned short)(scan->at - start),
	};
	return 0;
}

static int
parse_parts(struct lang_scan *scan, struct lang_pep440_version *out, struct pkg_error *err)
{
	const struct word *word;

	if (parse_release(scan, out, err) < 0)
		return -1;
	word = take_suffix(scan, pre_words, &out->pre_number);
	out->pre = word ? word->pre : LANG_PEP440_FINAL;
	out->has_post = take_implicit_post(scan, &out->post) ||
		take_suffix(scan, post_words, &out->post) != NULL;
	out->has_dev = take_suffix(scan, dev_words, &out->dev) != NULL;
	if (lang_scan_take(scan, "+") && parse_local(scan, out, err) < 0)
		return -1;
	if (!lang_scan_end(scan)) {
		char c = lang_scan_peek(scan);

		if (lang_is_graph(c))
			return pkg_error_set(err, PKG_E_INVALID, "unexpected '%c'", c);
		return pkg_error_set(
			err, PKG_E_INVALID, "unexpected byte 0x%02x", (unsigned char)c);
	}
	return 0;
}

/* Normalising makes a version at most nine bytes longer ("1r" becomes "1.post0"). The canonical
 * form has to be a version again, so the limit holds for it too. */
static int
check_canonical_length(const struct lang_pep440_version *version, size_t len)
{
	pkg_autofree char *text = NULL;

	if (len + 16 <= LANG_PEP440_MAX)
		return 0;
	text = lang_pep440_canonical(version);
	return strlen(text) <= LANG_PEP440_MAX ? 0 : -1;
}

int
lang_pep440_parse_mem(
	const char *text, size_t len, struct lang_pep440_version *out, struct pkg_error *err)
{
	struct lang_scan scan = { .text = out->text };

	memset(out, 0, sizeof(*out));
	for (; len > 0 && lang_is_space(text[0]); len--)
		text++;
	while (len > 0 && lang_is_space(text[len - 1]))
		len--;
	if (len == 0)
		return pkg_error_set(err, PKG_E_INVALID, "a version is empty");
	if (len > LANG_PEP440_MAX)
		return pkg_error_set(err, PKG_E_INVALID,
			"a version has at most %d bytes, this one has %zu", LANG_PEP440_MAX, len);
	for (size_t i = 0; i < len; i++)
		out->text[i] = lang_lower(text[i]);
	scan.len = len;
	if (parse_parts(&scan, out, err) < 0) {
		pkg_autofree char *shown = pkg_text_clean(text, len, 80, false);

		memset(out, 0, sizeof(*out));
		return pkg_error_prefix(err, "'%s' is not a version", shown);
	}
	if (check_canonical_length(out, len) < 0) {
		memset(out, 0, sizeof(*out));
		return pkg_error_set(err, PKG_E_INVALID,
			"a version has at most %d bytes in its canonical form", LANG_PEP440_MAX);
	}
	return 0;
}

int
lang_pep440_parse(const char *text, struct lang_pep440_version *out, struct pkg_error *err)
{
	return lang_pep440_parse_mem(text, strlen(text), out, err);
}

static int
compare_digits(const char *a, size_t alen, const char *b, size_t blen)
{
	if (alen != blen)
		return alen < blen ? -1 : 1;
	return memcmp(a, b, alen);
}

static int
compare_number(const struct lang_pep440_version *a, struct lang_pep440_number na,
	const struct lang_pep440_version *b, struct lang_pep440_number nb)
{
	return compare_digits(a->text + na.at, na.len, b->text + nb.at, nb.len);
}

static struct lang_pep440_number
release_at(const struct lang_pep440_version *version, size_t i)
{
	return i < version->release_count ? version->release[i] : (struct lang_pep440_number){ 0 };
}

static int
compare_release(
	const struct lang_pep440_version *a, const struct lang_pep440_version *b, size_t count)
{
	int order = compare_number(a, a->epoch, b, b->epoch);

	for (size_t i = 0; i < count && order == 0; i++)
		order = compare_number(a, release_at(a, i), b, release_at(b, i));
	return order;
}

int
lang_pep440_compare_base(const struct lang_pep440_version *a, const struct lang_pep440_version *b)
{
	size_t count = a->release_count > b->release_count ? a->release_count : b->release_count;

	return compare_release(a, b, count);
}

bool
lang_pep440_has_prefix(const struct lang_pep440_version *version,
	const struct lang_pep440_version *prefix, size_t count)
{
	return compare_release(version, prefix, count) == 0;
}

/* "1.dev1" comes before "1a1"; "1" and "1.post1.dev1" come after "1rc1". */
static int
pre_rank(const struct lang_pep440_version *version)
{
	switch (version->pre) {
	case LANG_PEP440_ALPHA:
		return 1;
	case LANG_PEP440_BETA:
		return 2;
	case LANG_PEP440_RC:
		return 3;
	case LANG_PEP440_FINAL:
		break;
	}
	return version->has_dev && !version->has_post ? 0 : 4;
}

int
lang_pep440_compare_public(const struct lang_pep440_version *a, const struct lang_pep440_version *b)
{
	int order = lang_pep440_compare_base(a, b);

	if (order == 0)
		order = pre_rank(a) - pre_rank(b);
	if (order == 0)
		order = compare_number(a, a->pre_number, b, b->pre_number);
	if (order == 0)
		order = (int)a->has_post - (int)b->has_post;
	if (order == 0)
		order = compare_number(a, a->post, b, b->post);
	if (order == 0)
		order = (int)b->has_dev - (int)a->has_dev;
	if (order == 0)
		order = compare_number(a, a->dev, b, b->dev);
	return order;
}

struct segment {
	const char *text; /* without leading zeros when numeric */
	size_t len;
	bool numeric;
};

static bool
next_segment(struct lang_scan *local, struct segment *out)
{
	size_t start = local->at;

	if (lang_scan_end(local))
		return false;
	out->numeric = true;
	while (!lang_scan_end(local) && !is_separator(lang_scan_peek(local))) {
		if (!lang_is_digit(lang_scan_peek(local)))
			out->numeric = false;
		local->at++;
	}
	out->text = local->text + start;
	out->len = local->at - start;
	while (out->numeric && out->len > 0 && out->text[0] == '0') {
		out->text++;
		out->len--;
	}
	if (!lang_scan_end(local))
		local->at++;
	return true;
}

static int
compare_segment(const struct segment *a, const struct segment *b)
{
	size_t shorter = a->len < b->len ? a->len : b->len;
	int order;

	if (a->numeric != b->numeric)
		return a->numeric ? 1 : -1;
	if (a->numeric)
		return compare_digits(a->text, a->len, b->text, b->len);
	order = memcmp(a->text, b->text, shorter);
	return order != 0 ? order : (a->len > b->len) - (a->len < b->len);
}

static struct lang_scan
local_scan(const struct lang_pep440_version *version)
{
	return (struct lang_scan){
		.text = version->text + version->local.at,
		.len = version->local.len,
	};
}

int
lang_pep440_compare(const struct lang_pep440_version *a, const struct lang_pep440_version *b)
{
	struct lang_scan la = local_scan(a), lb = local_scan(b);
	int order = lang_pep440_compare_public(a, b);

	while (order == 0) {
		struct segment sa, sb;
		bool has_a = next_segment(&la, &sa), has_b = next_segment(&lb, &sb);

		if (!has_a || !has_b)
			return (int)has_a - (int)has_b;
		order = compare_segment(&sa, &sb);
	}
	return order;
}

bool
lang_pep440_is_pre(const struct lang_pep440_version *version)
{
	return version->pre != LANG_PEP440_FINAL || version->has_dev;
}

static void
add_digits(struct pkg_buf *buf, const char *digits, size_t len)
{
	if (len == 0)
		pkg_buf_add_char(buf, '0');
	else
		pkg_buf_add_mem(buf, digits, len);
}

static void
add_number(struct pkg_buf *buf, const struct lang_pep440_version *version, const char *before,
	struct lang_pep440_number number)
{
	pkg_buf_add(buf, before);
	add_digits(buf, version->text + number.at, number.len);
}

char *
lang_pep440_canonical(const struct lang_pep440_version *version)
{
	static const char *const pre_names[] = { "", "a", "b", "rc" };
	struct lang_scan local = local_scan(version);
	struct pkg_buf out = { 0 };
	struct segment segment;

	if (version->epoch.len > 0) {
		add_number(&out, version, "", version->epoch);
		pkg_buf_add_char(&out, '!');
	}
	for (size_t i = 0; i < version->release_count; i++)
		add_number(&out, version, i ? "." : "", version->release[i]);
	if (version->pre != LANG_PEP440_FINAL)
		add_number(&out, version, pre_names[version->pre], version->pre_number);
	if (version->has_post)
		add_number(&out, version, ".post", version->post);
	if (version->has_dev)
		add_number(&out, version, ".dev", version->dev);
	for (char before = '+'; next_segment(&local, &segment); before = '.') {
		pkg_buf_add_char(&out, before);
		if (segment.numeric)
			add_digits(&out, segment.text, segment.len);
		else
			pkg_buf_add_mem(&out, segment.text, segment.len);
	}
	return pkg_buf_steal(&out);
}
