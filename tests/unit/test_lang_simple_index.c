#include "unit.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lang/simple_index.h"

#define URL "https://index.example/simple/six/"
#define HEX "8b3c2d1f0e9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c4d3e2f1a0b9c8d7e6f5a4b3c"
#define HTML "text/html"
#define JSON "application/vnd.pypi.simple.v1+json"

static int
parse(const char *text, const char *type, struct lang_simple_page *out)
{
	return lang_simple_parse(text, strlen(text), type, URL, out, NULL);
}

/* --- one anchor --- */

struct anchor {
	const char *what;
	const char *html;
	const char *filename; /* NULL: no file comes out */
	const char *url;
	const char *sha256;
	const char *python;
	const char *reason; /* "-": not yanked */
	int metadata; /* 0 none, 1 there, 2 with a hash */
};

static const struct anchor anchors[] = {
	{ "the simplest", "<a href=\"six-1.0.tar.gz\">x</a>", "six-1.0.tar.gz",
		URL "six-1.0.tar.gz", NULL, NULL, "-", 0 },
	{ "with everything",
		"<a href=\"https://f.example/six.whl#sha256=" HEX
		"\" data-requires-python=\"&gt;=3.7\" data-yanked=\"bad &amp; worse\" "
		"data-core-metadata=\"sha256=" HEX "\">x</a>",
		"six.whl", "https://f.example/six.whl", HEX, ">=3.7", "bad & worse", 2 },
	{ "single quotes", "<A HREF='six.whl' DATA-REQUIRES-PYTHON='>=3'>", "six.whl",
		URL "six.whl", NULL, ">=3", "-", 0 },
	{ "a bare value", "<a href=six.whl>", "six.whl", URL "six.whl", NULL, NULL, "-", 0 },
	{ "a '>' in quotes", "<a data-requires-python=\">=3.7,<4\" href=\"six.whl\">", "six.whl",
		URL "six.whl", NULL, ">=3.7,<4", "-", 0 },
	{ "blanks around '='", "<a href = \"six.whl\">", "six.whl", URL "six.whl", NULL, NULL, "-",
		0 },
	{ "lines within", "<a\n href=\"six.whl\"\n data-yanked\n>", "six.whl", URL "six.whl", NULL,
		NULL, "", 0 },
	{ "yanked without a reason", "<a data-yanked=\"\" href=\"six.whl\">", "six.whl",
		URL "six.whl", NULL, NULL, "", 0 },
	{ "the older name of metadata", "<a data-dist-info-metadata=\"true\" href=\"six.whl\">",
		"six.whl", URL "six.whl", NULL, NULL, "-", 1 },
	{ "metadata that is not there", "<a data-core-metadata=\"false\" href=\"six.whl\">",
		"six.whl", URL "six.whl", NULL, NULL, "-", 0 },
	{ "another hash", "<a href=\"six.whl#md5=00\">", "six.whl", URL "six.whl", NULL, NULL, "-",
		0 },
	{ "a hash too short", "<a href=\"six.whl#sha256=8b3c\">", "six.whl", URL "six.whl", NULL,
		NULL, "-", 0 },
	{ "upwards", "<a href=\"../../p/six.whl\">", "six.whl", "https://index.example/p/six.whl",
		NULL, NULL, "-", 0 },
	{ "an escaped name", "<a href=\"six-1.0%2Blocal.whl\">", "six-1.0+local.whl",
		URL "six-1.0%2Blocal.whl", NULL, NULL, "-", 0 },
	{ "numbers for characters", "<a href=\"s&#105;x.wh&#x6C;\">", "six.whl", URL "six.whl",
		NULL, NULL, "-", 0 },
	{ "userinfo", "<a href=\"https://u:p@f.example/six.whl\">", "six.whl",
		"https://f.example/six.whl", NULL, NULL, "-", 0 },
	{ "an escape sequence in a reason", "<a data-yanked=\"a\033[31mb\" href=\"six.whl\">",
		"six.whl", URL "six.whl", NULL, NULL, "ab", 0 },
	{ "a tag within a tag's name", "<abbr href=\"six.whl\">", NULL, NULL, NULL, NULL, "-", 0 },
	{ "a comment", "<!-- <a href=\"six.whl\"> -->", NULL, NULL, NULL, NULL, "-", 0 },
	{ "an end tag", "</a href=\"six.whl\">", NULL, NULL, NULL, NULL, "-", 0 },
	{ "no href", "<a name=\"six.whl\">", NULL, NULL, NULL, NULL, "-", 0 },
	{ "never closed", "<a href=\"six.whl\"", NULL, NULL, NULL, NULL, "-", 0 },
	{ "a quote never closed", "<a href=\"six.whl>", NULL, NULL, NULL, NULL, "-", 0 },
	{ "a file of this machine", "<a href=\"file:///etc/passwd\">", NULL, NULL, NULL, NULL, "-",
		0 },
	{ "a script", "<a href=\"javascript:x.whl\">", NULL, NULL, NULL, NULL, "-", 0 },
	{ "no name", "<a href=\"https://f.example/\">", NULL, NULL, NULL, NULL, "-", 0 },
	{ "a name that climbs", "<a href=\"https://f.example/%2e%2e\">", NULL, NULL, NULL, NULL,
		"-", 0 },
	{ "a slash hidden in a name", "<a href=\"a%2fb.whl\">", "a%2fb.whl", URL "a%2fb.whl", NULL,
		NULL, "-", 0 },
	{ "a blank in the URL", "<a href=\"six 1.whl\">", NULL, NULL, NULL, NULL, "-", 0 },
	{ "a backslash", "<a href=\"..\\six.whl\">", NULL, NULL, NULL, NULL, "-", 0 },
};

static bool
same(const char *a, const char *b)
{
	return a == b || (a && b && strcasecmp(a, b) == 0);
}

static void
check_anchor(const struct anchor *row, const struct lang_simple_page *page)
{
	const struct lang_simple_file *file = page->files;
	const char *reason = !file ? NULL : file->yanked_reason ? file->yanked_reason : "";

	if (!row->filename) {
		if (page->count != 0)
			fail_msg("%s: '%s' came out", row->what, file->filename);
		return;
	}
	if (page->count != 1)
		fail_msg("%s: %zu files", row->what, page->count);
	if (!same(file->filename, row->filename) || !same(file->url, row->url))
		fail_msg("%s: %s at %s", row->what, file->filename, file->url);
	if (!same(file->sha256, row->sha256) || !same(file->requires_python, row->python))
		fail_msg(
			"%s: sha256 %s, python %s", row->what, file->sha256, file->requires_python);
	if (file->yanked != (strcmp(row->reason, "-") != 0) ||
		(file->yanked && strcmp(reason, row->reason) != 0))
		fail_msg("%s: yanked %d '%s'", row->what, file->yanked, reason);
	if (file->has_metadata != (row->metadata > 0) ||
		(file->metadata_sha256 != NULL) != (row->metadata == 2))
		fail_msg("%s: metadata", row->what);
}

static void
anchors_become_files_or_nothing(PKG_UNUSED void **state)
{
	for (size_t i = 0; i < PKG_ARRAY_LEN(anchors); i++) {
		lang_cleanup_simple_page struct lang_simple_page page = { 0 };
		pkg_autofree char *html = pkg_xasprintf("<html>%s", anchors[i].html);

		assert_int_equal(parse(html, HTML, &page), 0);
		check_anchor(&anchors[i], &page);
	}
}

static void
a_base_moves_what_is_relative(PKG_UNUSED void **state)
{
	lang_cleanup_simple_page struct lang_simple_page page = { 0 };

	assert_int_equal(parse("<base href=\"https://cdn.example/x/\"><a href=\"six.whl\">"
			       "<a href=\"https://o.example/b.whl\">",
				 HTML, &page),
		0);
	assert_int_equal(page.count, 2);
	assert_string_equal(page.files[0].url, "https://cdn.example/x/six.whl");
	assert_string_equal(page.files[1].url, "https://o.example/b.whl");
}

static void
another_major_version_of_the_protocol_is_refused(PKG_UNUSED void **state)
{
	static const struct {
		const char *text;
		const char *type;
		int rc;
	} rows[] = {
		{ "<meta name=\"pypi:repository-version\" content=\"1.3\"><a href=x.whl>", HTML,
			0 },
		{ "<meta name=\"pypi:repository-version\" content=\"2.0\"><a href=x.whl>", HTML,
			-1 },
		{ "<meta name=\"pypi:repository-version\" content=\"10.0\"><a href=x.whl>", HTML,
			-1 },
		{ "<meta name=\"other\" content=\"2.0\"><a href=x.whl>", HTML, 0 },
		{ "{\"meta\":{\"api-version\":\"1.9\"},\"files\":[]}", JSON, 0 },
		{ "{\"meta\":{\"api-version\":\"2.0\"},\"files\":[]}", JSON, -1 },
		{ "{\"files\":[]}", JSON, 0 },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		lang_cleanup_simple_page struct lang_simple_page page = { 0 };

		if (parse(rows[i].text, rows[i].type, &page) != rows[i].rc)
			fail_msg("%s", rows[i].text);
	}
}

static void
what_is_no_page_is_refused(PKG_UNUSED void **state)
{
	static const struct {
		const char *text;
		const char *type;
	} rows[] = {
		{ "", NULL },
		{ "   ", HTML },
		{ "not found", "text/plain" },
		{ "{", JSON },
		{ "[]", JSON },
		{ "{}", JSON },
		{ "{\"files\":{}}", JSON },
		{ "\"files\"", JSON },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		struct lang_simple_page page = { 0 };
		pkg_cleanup_error struct pkg_error err = { 0 };

		if (lang_simple_parse(rows[i].text, strlen(rows[i].text), rows[i].type, URL, &page,
			    &err) == 0)
			fail_msg("'%s' is a page", rows[i].text);
		assert_int_equal(err.kind, PKG_E_INVALID);
		assert_null(page.files);
	}
}

static const char full_json[] =
	"{\"meta\":{\"api-version\":\"1.1\"},\"name\":\"six\",\"files\":["
	"{\"filename\":\"six-1.whl\",\"url\":\"../../f/six-1.whl\",\"hashes\":{\"sha256\":\"" HEX
	"\"},\"size\":11,\"upload-time\":\"2024-01-02T03:04:05Z\",\"requires-python\":\">=3\","
	"\"yanked\":\"broken\",\"core-metadata\":{\"sha256\":\"" HEX
	"\"},\"provenance\":\"https://index.example/p/1\"},"
	"{\"filename\":\"six-2.whl\",\"url\":\"six-2.whl\",\"hashes\":{},\"yanked\":true,"
	"\"dist-info-metadata\":true,\"size\":-5},"
	"{\"filename\":\"six-3.whl\",\"url\":\"six-3.whl\",\"hashes\":[],\"yanked\":false,"
	"\"core-metadata\":false,\"requires-python\":null,\"size\":\"12\"},"
	"null,7,{\"filename\":\"six-4.whl\"},{\"url\":7},"
	"{\"filename\":\"../x.whl\",\"url\":\"x.whl\"},{\"filename\":\"\",\"url\":\"x.whl\"}]}";

static void
json_says_what_html_cannot(PKG_UNUSED void **state)
{
	lang_cleanup_simple_page struct lang_simple_page page = { 0 };

	assert_int_equal(parse(full_json, JSON, &page), 0);
	assert_int_equal(page.count, 3);
	assert_string_equal(page.files[0].url, "https://index.example/f/six-1.whl");
	assert_string_equal(page.files[0].sha256, HEX);
	assert_int_equal(page.files[0].size, 11);
	assert_string_equal(page.files[0].uploaded, "2024-01-02T03:04:05Z");
	assert_string_equal(page.files[0].requires_python, ">=3");
	assert_string_equal(page.files[0].yanked_reason, "broken");
	assert_string_equal(page.files[0].metadata_sha256, HEX);
	assert_string_equal(page.files[0].provenance, "https://index.example/p/1");
	assert_true(page.files[1].yanked && !page.files[1].yanked_reason);
	assert_true(page.files[1].has_metadata && !page.files[1].metadata_sha256);
	assert_int_equal(page.files[1].size, -1);
	assert_false(page.files[2].yanked || page.files[2].has_metadata);
	assert_int_equal(page.files[2].size, -1);
	assert_null(page.files[2].requires_python);
}

static void
without_a_type_it_is_what_it_looks_like(PKG_UNUSED void **state)
{
	lang_cleanup_simple_page struct lang_simple_page json = { 0 };
	lang_cleanup_simple_page struct lang_simple_page html = { 0 };

	assert_int_equal(parse(full_json, NULL, &json), 0);
	assert_int_equal(parse("\n <a href=x.whl>", NULL, &html), 0);
	assert_int_equal(json.count, 3);
	assert_int_equal(html.count, 1);
}

/* --- the form of the cache --- */

static void
what_is_kept_comes_back_as_it_was(PKG_UNUSED void **state)
{
	lang_cleanup_simple_page struct lang_simple_page page = { 0 };
	lang_cleanup_simple_page struct lang_simple_page again = { 0 };
	pkg_cleanup_buf struct pkg_buf first = { 0 };
	pkg_cleanup_buf struct pkg_buf second = { 0 };

	assert_int_equal(parse(full_json, JSON, &page), 0);
	lang_simple_page_save(&page, &first);
	assert_int_equal(lang_simple_page_load(pkg_buf_str(&first), first.len, &again, NULL), 0);
	lang_simple_page_save(&again, &second);
	assert_string_equal(pkg_buf_str(&first), pkg_buf_str(&second));
	assert_int_equal(again.count, 3);
	assert_true(again.files[1].yanked && again.files[1].has_metadata);
}

static void
a_damaged_entry_is_no_page(PKG_UNUSED void **state)
{
	static const char *const rows[] = {
		"six.whl\thttps://f.example/six.whl\t\t\t\t\t\t\t1\t", /* no end */
		"six.whl\thttps://f.example/six.whl\t\t\t\t\t\t1\t\n", /* a field too few */
		"six.whl\thttps://f.example/six.whl\t\t\t\t\t\t\t1\t\t\n", /* one too many */
		"six.whl\tfile:///etc/passwd\t\t\t\t\t\t\t1\t\n",
		"a/b.whl\thttps://f.example/six.whl\t\t\t\t\t\t\t1\t\n",
		"six.whl\thttps://f.example/six.whl\tnohash\t\t\t\t\t\t1\t\n",
		"\thttps://f.example/six.whl\t\t\t\t\t\t\t1\t\n",
		"\n",
	};
	lang_cleanup_simple_page struct lang_simple_page good = { 0 };
	static const char sound[] = "six.whl\thttps://f.example/six.whl\t\t\t\t\t\t\t1\t\n";

	assert_int_equal(lang_simple_page_load(sound, strlen(sound), &good, NULL), 0);
	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		lang_cleanup_simple_page struct lang_simple_page page = { 0 };

		if (lang_simple_page_load(rows[i], strlen(rows[i]), &page, NULL) == 0)
			fail_msg("row %zu", i);
		assert_null(page.files);
	}
}

static void
a_page_full_of_open_tags_takes_no_time(PKG_UNUSED void **state)
{
	lang_cleanup_simple_page struct lang_simple_page page = { 0 };
	pkg_cleanup_buf struct pkg_buf text = { 0 };

	for (size_t i = 0; i < 2000000; i++)
		pkg_buf_add(&text, "<a ");
	assert_int_equal(
		lang_simple_parse(pkg_buf_str(&text), text.len, HTML, URL, &page, NULL), 0);
	assert_int_equal(page.count, 0);
}

static void
a_page_url_is_normalised(PKG_UNUSED void **state)
{
	pkg_autofree char *a = lang_simple_page_url("https://i.example/simple", "Foo.Bar_baz");
	pkg_autofree char *b = lang_simple_page_url("https://i.example/simple//", "foo");

	assert_string_equal(a, "https://i.example/simple/foo-bar-baz/");
	assert_string_equal(b, "https://i.example/simple/foo/");
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(anchors_become_files_or_nothing),
		cmocka_unit_test(a_base_moves_what_is_relative),
		cmocka_unit_test(another_major_version_of_the_protocol_is_refused),
		cmocka_unit_test(what_is_no_page_is_refused),
		cmocka_unit_test(json_says_what_html_cannot),
		cmocka_unit_test(without_a_type_it_is_what_it_looks_like),
		cmocka_unit_test(what_is_kept_comes_back_as_it_was),
		cmocka_unit_test(a_damaged_entry_is_no_page),
		cmocka_unit_test(a_page_full_of_open_tags_takes_no_time),
		cmocka_unit_test(a_page_url_is_normalised),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
