#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/request.h"
#include "core/file.h"
#include "core/tree.h"

#define HASH_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define HASH_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

static char root[] = "/tmp/pkg-request-XXXXXX";

static void
put(const char *name, const char *text)
{
	assert_int_equal(pkg_file_write(name, text, strlen(text), 0600, false, NULL), 0);
}

static int
set_up(PKG_UNUSED void **state)
{
	assert_non_null(mkdtemp(root));
	assert_int_equal(chdir(root), 0);
	assert_int_equal(pkg_dir_make("sub", 0700, NULL), 0);
	put("all.txt", "# what we use\nsix\n-r sub/more.txt\n-c limits.txt\n");
	put("sub/more.txt", "Flask[async] >= 2 ; python_version > '3'\n-r deep.txt\n");
	put("sub/deep.txt", "click\n");
	put("limits.txt", "numpy<2\n");
	put("hashed.txt", "Six==1.16.0 --hash=sha256:" HASH_A " \\\n  --hash=sha256:" HASH_B "\n");
	put("loose.txt", "\nsix>=1 --hash=sha256:" HASH_A "\n");
	put("star.txt", "six==1.* --hash=sha256:" HASH_A "\n");
	put("option.txt", "six\n--index-url http://x/\n");
	return 0;
}

static int
tear_down(PKG_UNUSED void **state)
{
	return pkg_tree_remove(root, NULL);
}

/* text: what stands after "pkg install". The request as a line, or NULL and *err. */
static char *
request_of(const char *text, struct pkg_error *err)
{
	pkg_autofree char *copy = pkg_xasprintf("pkg %s", text);
	struct cli cli = { .words = pkg_argv_new() };
	pkg_cleanup(pkg_json_put) struct json_object *request = NULL;
	char *args[16] = { 0 };
	char *save = NULL;
	char *out = NULL;
	int count = 0;

	for (char *one = strtok_r(copy, " ", &save); one != NULL && count < 15;
		one = strtok_r(NULL, " ", &save))
		args[count++] = one;
	assert_int_equal(
		cli_options_parse(~UINT64_C(0), false, count, args, &cli.options, cli.words, NULL),
		0);
	request = cli_request_new(&cli, "install", NULL);
	cli_request_add_sources(&cli, request);
	cli_request_add_creation(&cli, request);
	if (cli_request_add_requirements(&cli, request, err) == 0)
		out = pkg_json_line(request);
	cli_options_clear(&cli.options);
	pkg_argv_free(cli.words);
	return out;
}

static void
every_option_becomes_the_key_of_the_api(PKG_UNUSED void **state)
{
	static const struct {
		const char *text;
		const char *request;
	} cases[] = {
		{ "six", "{\"action\":\"install\",\"requirements\":[\"six\"]}" },
		{ "six -e ml -l python -p lab --label me --reason why",
			"{\"action\":\"install\",\"environment\":\"ml\",\"language\":\"python\","
			"\"project\":\"lab\",\"label\":\"me\",\"reason\":\"why\","
			"\"requirements\":[\"six\"]}" },
		{ "six --index-url U --extra-index-url V --extra-index-url W --source --pre",
			"{\"action\":\"install\",\"index_url\":\"U\",\"extra_index_urls\":[\"V\","
			"\"W\"],\"source\":true,\"prerelease\":true,\"requirements\":[\"six\"]}" },
		{ "six --upgrade --dependencies --exclude-newer 2024-01-01 --python 3.11 "
		  "--hermetic",
			"{\"action\":\"install\",\"upgrade\":true,\"upgrade_all\":true,"
			"\"exclude_newer\":\"2024-01-01\",\"python\":\"3.11\",\"hermetic\":true,"
			"\"requirements\":[\"six\"]}" },
		{ "a -r all.txt",
			"{\"action\":\"install\",\"requirements\":[\"a\",\"six\","
			"\"Flask[async]>=2; python_version > \\\"3\\\"\",\"click\"],"
			"\"constraints\":[\"numpy<2\"]}" },
		{ "-c limits.txt a",
			"{\"action\":\"install\",\"requirements\":[\"a\"],\"constraints\":["
			"\"numpy<2\"]}" },
		{ "-r hashed.txt",
			"{\"action\":\"install\",\"requirements\":[\"Six==1.16.0\"],\"hashes\":["
			"\"six==1.16.0 sha256:" HASH_A " sha256:" HASH_B "\"]}" },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(cases); i++) {
		pkg_cleanup_error struct pkg_error err = { 0 };
		pkg_autofree char *request = request_of(cases[i].text, &err);

		assert_non_null(request);
		assert_string_equal(request, cases[i].request);
	}
}

static void
relative_interpreter_is_one_as_seen_from_here(PKG_UNUSED void **state)
{
	pkg_autofree char *request = request_of("six --python ./x/../bin/python3", NULL);
	pkg_autofree char *want = pkg_xasprintf("\"python\":\"%s/bin/python3\"", root);

	assert_non_null(strstr(request, want));
}

static void
fault_of_a_file_is_told_with_its_place(PKG_UNUSED void **state)
{
	static const struct {
		const char *text;
		enum pkg_error_kind kind;
		const char *message;
	} cases[] = {
		{ "-r option.txt", PKG_E_REQUIREMENT, "option.txt:2" },
		{ "-r loose.txt", PKG_E_REQUIREMENT, "loose.txt:2: a hash" },
		{ "-r star.txt", PKG_E_REQUIREMENT, "star.txt:1: a hash" },
		{ "-r none.txt", PKG_E_IO, "none.txt" },
		{ "-r sub", PKG_E_INVALID, "sub" },
		{ "-l r -r all.txt", PKG_E_REQUIREMENT, "all.txt" },
		{ "-- -r", PKG_E_REQUIREMENT, "'-r'" },
		{ "six -- --config-settings=x", PKG_E_REQUIREMENT, "begins with '-'" },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(cases); i++) {
		pkg_cleanup_error struct pkg_error err = { 0 };

		assert_null(request_of(cases[i].text, &err));
		assert_int_equal(err.kind, cases[i].kind);
		assert_non_null(strstr(err.message, cases[i].message));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_option_becomes_the_key_of_the_api),
		cmocka_unit_test(relative_interpreter_is_one_as_seen_from_here),
		cmocka_unit_test(fault_of_a_file_is_told_with_its_place),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
