#include "lang/requirements_file.h"

#include <stdlib.h>

#include "core/sha256.h"
#include "core/text.h"

struct parser {
	struct lang_requirements *out;
	lang_requirements_read_fn read;
	void *context;
	unsigned files;
};

struct file {
	const char *path;
	bool constraint;
	unsigned depth; /* 1: the outermost */
	size_t line; /* of the logical line's beginning, from 1 */
};

static int parse_file(struct parser *parser, const char *path, const char *text, size_t len,
	bool constraint, unsigned depth, struct pkg_error *err);

void
lang_requirements_clear(struct lang_requirements *list)
{
	for (size_t i = 0; i < list->count; i++) {
		lang_requirement_clear(&list->items[i].requirement);
		pkg_argv_free(list->items[i].hashes);
		free(list->items[i].origin);
	}
	free(list->items);
	*list = (struct lang_requirements){ 0 };
}

/* Where options begin: at a '-' after a blank, outside the strings of a marker. */
static size_t
options_at(const char *line, size_t len)
{
	char quote = '\0';

	for (size_t i = 0; i < len; i++) {
		if (quote != '\0')
			quote = line[i] == quote ? '\0' : quote;
		else if (line[i] == '"' || line[i] == '\'')
			quote = line[i];
		else if (line[i] == '-' && i > 0 && lang_is_blank(line[i - 1]))
			return i;
	}
	return len;
}

static int
add_hash(struct pkg_argv *hashes, const char *value, size_t len, struct pkg_error *err)
{
	static const char prefix[] = "sha256:";
	pkg_autofree char *hex = NULL;

	if (len < strlen(prefix) || memcmp(value, prefix, strlen(prefix)) != 0)
		return pkg_error_set(err, PKG_E_REQUIREMENT, "only sha256 hashes are accepted");
	hex = pkg_xstrndup(value + strlen(prefix), len - strlen(prefix));
	for (char *p = hex; *p; p++)
		*p = lang_lower(*p);
	if (!pkg_sha256_is_hex(hex))
		return pkg_error_set(
			err, PKG_E_REQUIREMENT, "a sha256 hash has 64 hexadecimal digits");
	if (!pkg_argv_has(hashes, hex))
		pkg_argv_take(hashes, pkg_steal_ptr(&hex));
	return 0;
}

static int
refuse_option(const char *option, size_t len, const char *why, struct pkg_error *err)
{
	pkg_autofree char *shown = pkg_text_clean(option, len, 80, false);

	return pkg_error_set(err, PKG_E_REQUIREMENT, "option '%s' is not accepted %s", shown, why);
}

/* --hash=sha256:HEX or --hash sha256:HEX, any number of them. */
static int
parse_hashes(struct lang_scan *scan, struct pkg_argv *hashes, struct pkg_error *err)
{
	while (!lang_scan_end(scan)) {
		size_t start;

		if (!lang_scan_take(scan, "--hash=") && !lang_scan_take(scan, "--hash "))
			return refuse_option(scan->text + scan->at, scan->len - scan->at,
				"with a requirement, only --hash=sha256:", err);
		lang_scan_blanks(scan);
		start = scan->at;
		while (lang_is_graph(lang_scan_peek(scan)))
			scan->at++;
		if (add_hash(hashes, scan->text + start, scan->at - start, err) < 0)
			return -1;
		lang_scan_blanks(scan);
	}
	return 0;
}

/* What pip would take here and pkgd will not, named as what it is. */
static const char *
refusal(const char *line, size_t len)
{
	static const char *const archives[] = { ".whl", ".tar.gz", ".zip", ".tar.bz2", ".tgz" };
	size_t word = 0;

	while (word < len && !lang_is_blank(line[word]))
		word++;
	for (size_t i = 0; i + 3 <= word; i++) {
		if (line[i] == '@')
			break;
		if (memcmp(line + i, "://", 3) == 0)
			return "a URL without a name: write 'name @ URL'";
	}
	if (line[0] == '.' || line[0] == '/' || line[0] == '~')
		return "paths are not accepted, only names and 'name @ URL'";
	for (size_t i = 0; i < PKG_ARRAY_LEN(archives); i++) {
		size_t n = strlen(archives[i]);

		if (word == len && len > n && memcmp(line + len - n, archives[i], n) == 0)
			return "a file is not accepted, only names and 'name @ URL'";
	}
	return NULL;
}

static int
parse_item(struct parser *parser, const struct file *file, const char *line, size_t len,
	struct pkg_error *err)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *hashes = pkg_argv_new();
	size_t options = options_at(line, len);
	struct lang_scan scan = { .text = line, .len = len, .at = options };
	struct lang_requirements *out = parser->out;
	struct lang_requirement requirement;
	const char *reason = refusal(line, options);

	if (reason)
		return pkg_error_set(err, PKG_E_REQUIREMENT, "%s", reason);
	if (out->count == LANG_REQUIREMENTS_ITEMS_MAX)
		return pkg_error_set(err, PKG_E_REQUIREMENT, "more than %d requirements",
			LANG_REQUIREMENTS_ITEMS_MAX);
	if (parse_hashes(&scan, hashes, err) < 0 ||
		lang_requirement_parse_mem(line, options, &requirement, err) < 0)
		return -1;
	if (file->constraint && requirement.extras->count > 0) {
		lang_requirement_clear(&requirement);
		return pkg_error_set(err, PKG_E_REQUIREMENT, "a constraint cannot have extras");
	}
	out->items = pkg_xrealloc(out->items, out->count + 1, sizeof(*out->items));
	out->items[out->count++] = (struct lang_requirements_item){
		.requirement = requirement,
		.hashes = pkg_steal_ptr(&hashes),
		.origin = pkg_xasprintf("%s:%zu", file->path, file->line),
		.constraint = file->constraint,
	};
	return 0;
}

/* -r FILE, -rFILE, --requirement FILE, --requirement=FILE: the option is consumed with the blanks
 * or the '=' after it. */
static bool
take_option(struct lang_scan *scan, const char *brief, const char *full)
{
	size_t start = scan->at;

	if (lang_scan_take(scan, full)) {
		if (lang_scan_take(scan, "=") || lang_is_blank(lang_scan_peek(scan))) {
			lang_scan_blanks(scan);
			return true;
		}
		scan->at = start;
		return false;
	}
	if (!lang_scan_take(scan, brief))
		return false;
	lang_scan_blanks(scan);
	return true;
}

static bool
is_file_name(const char *name, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)name[i] < ' ' || strchr("\"'\x7f", name[i]))
			return false;
	return pkg_text_is_utf8(name, len);
}

static int
parse_include(struct parser *parser, const struct file *file, const char *name, size_t len,
	bool constraint, struct pkg_error *err)
{
	pkg_autofree char *wanted = pkg_xstrndup(name, len);
	pkg_autofree char *path = NULL;
	pkg_cleanup_buf struct pkg_buf content = { 0 };

	if (len == 0)
		return pkg_error_set(err, PKG_E_REQUIREMENT, "expected the name of a file");
	if (!is_file_name(name, len))
		return pkg_error_set(err, PKG_E_REQUIREMENT,
			"quotes or control characters in the name of a file");
	if (strstr(wanted, "://"))
		return pkg_error_set(err, PKG_E_REQUIREMENT,
			"a nested file is read from disk, never from a URL");
	if (!parser->read)
		return pkg_error_set(
			err, PKG_E_REQUIREMENT, "other files cannot be included from this text");
	if (file->depth == LANG_REQUIREMENTS_DEPTH_MAX)
		return pkg_error_set(err, PKG_E_REQUIREMENT, "more than %d files within files",
			LANG_REQUIREMENTS_DEPTH_MAX);
	if (parser->files == LANG_REQUIREMENTS_FILES_MAX)
		return pkg_error_set(err, PKG_E_REQUIREMENT, "more than %d files altogether",
			LANG_REQUIREMENTS_FILES_MAX);
	if (parser->read(parser->context, file->path, wanted, &content, &path, err) < 0)
		return -1;
	return parse_file(parser, path, pkg_buf_str(&content), content.len,
		constraint || file->constraint, file->depth + 1, err);
}

static int
parse_line(struct parser *parser, const struct file *file, const char *line, size_t len,
	struct pkg_error *err)
{
	struct lang_scan scan = { .text = line, .len = len };
	size_t end = 0;

	if (len == 0)
		return 0;
	if (line[0] != '-')
		return parse_item(parser, file, line, len, err);
	if (take_option(&scan, "-r", "--requirement"))
		return parse_include(parser, file, line + scan.at, len - scan.at, false, err);
	if (take_option(&scan, "-c", "--constraint"))
		return parse_include(parser, file, line + scan.at, len - scan.at, true, err);
	while (end < len && !lang_is_blank(line[end]) && line[end] != '=')
		end++;
	return refuse_option(line, end, "in a requirements file", err);
}

/* The length of a physical line without its comment, which begins at a '#' that is first or follows
 * a blank, and without blanks at its end. */
static size_t
without_comment(const char *line, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (line[i] == '#' && (i == 0 || lang_is_blank(line[i - 1]))) {
			len = i;
			break;
		}
	}
	while (len > 0 && lang_is_blank(line[len - 1]))
		len--;
	return len;
}

/* Adds a physical line to the logical one. 1: the next line continues it. pip would join a
 * comment that ends in '\' with the next line and lose that line as comment: here it is refused. */
static int
add_physical(struct pkg_buf *logical, const char *line, size_t len, struct pkg_error *err)
{
	bool continued = len > 0 && line[len - 1] == '\\';
	size_t code = without_comment(line, len);

	if (continued && code < len - 1 && memchr(line + code, '#', len - code)) {
		if (code > 0)
			return pkg_error_set(err, PKG_E_REQUIREMENT,
				"a comment that ends in '\\' would hide the next line");
		continued = false;
	}
	if (continued)
		code = len - 1;
	pkg_buf_add_mem(logical, line, code);
	return continued;
}

static int
parse_logical(struct parser *parser, const struct file *file, const struct pkg_buf *logical,
	struct pkg_error *err)
{
	const char *line = pkg_buf_str(logical);
	size_t len = logical->len;

	for (; len > 0 && lang_is_blank(line[0]); len--)
		line++;
	len = without_comment(line, len);
	return parse_line(parser, file, line, len, err);
}

static int
parse_lines(struct parser *parser, struct file *file, const char *text, size_t len,
	struct pkg_error *err)
{
	pkg_cleanup_buf struct pkg_buf logical = { 0 };
	size_t number = 0;
	int continued = 0;

	for (size_t at = 0; at < len;) {
		const char *line = text + at, *newline = memchr(line, '\n', len - at);
		size_t size = newline ? (size_t)(newline - line) : len - at;

		at += size + 1;
		number++;
		if (size > 0 && line[size - 1] == '\r')
			size--;
		if (!continued)
			file->line = number;
		continued = add_physical(&logical, line, size, err);
		if (continued < 0)
			return -1;
		if (continued && at < len)
			continue;
		if (parse_logical(parser, file, &logical, err) < 0)
			return -1;
		pkg_buf_truncate(&logical, 0);
	}
	return 0;
}

static int
parse_file(struct parser *parser, const char *path, const char *text, size_t len, bool constraint,
	unsigned depth, struct pkg_error *err)
{
	static const char bom[] = "\xef\xbb\xbf";
	struct file file = { .path = path, .constraint = constraint, .depth = depth };
	pkg_cleanup_error struct pkg_error why = { 0 };

	parser->files++;
	if (len > LANG_REQUIREMENTS_BYTES_MAX)
		return pkg_error_set(err, PKG_E_REQUIREMENT, "%s: more than %d bytes", path,
			LANG_REQUIREMENTS_BYTES_MAX);
	if (len >= strlen(bom) && memcmp(text, bom, strlen(bom)) == 0) {
		text += strlen(bom);
		len -= strlen(bom);
	}
	if (parse_lines(parser, &file, text, len, &why) == 0)
		return 0;
	pkg_error_prefix(&why, "%s:%zu", path, file.line);
	pkg_error_move(err, &why);
	return -1;
}

int
lang_requirements_parse(const char *path, const char *text, size_t len, bool constraint,
	lang_requirements_read_fn read, void *context, struct lang_requirements *out,
	struct pkg_error *err)
{
	struct parser parser = { .out = out, .read = read, .context = context };

	*out = (struct lang_requirements){ 0 };
	if (parse_file(&parser, path, text, len, constraint, 1, err) == 0)
		return 0;
	lang_requirements_clear(out);
	return -1;
}
