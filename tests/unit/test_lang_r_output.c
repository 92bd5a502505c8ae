/* What R prints, made facts, inventories, and sentences. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "lang/r_explain.h"
#include "lang/r_facts.h"
#include "lang/r_inventory.h"
#include "lang/r_lock.h"

#define FACTS                                                                                      \
	"noise\nPKGD\tversion\t4.2.2\nPKGD\tplatform\tx86_64-pc-linux-gnu\nPKGD\tarch\tx86_64\n"   \
	"PKGD\tos\tunix\nPKGD\thome\t/usr/lib/R\nPKGD\tetc\t/usr/lib/R/etc\n"                      \
	"PKGD\tlibrary\t/usr/lib/R/library\nPKGD\tsite\t/usr/lib/R/site-library\n"                 \
	"PKGD\tsite\t/usr/local/lib/R/site-library\nPKGD\tloads\tyes\nPKGD\tunknown\tx\n"

static void
facts_are_read_and_judged(PKG_UNUSED void **state)
{
	pkg_cleanup(pkg_json_put) struct json_object *facts =
		lang_r_facts_parse(FACTS, strlen(FACTS), NULL);
	pkg_cleanup(pkg_argv_free) struct pkg_argv *sites = pkg_argv_new();
	pkg_cleanup(pkg_argv_free) struct pkg_argv *reasons = pkg_argv_new();
	pkg_autofree char *minor = NULL;

	assert_non_null(facts);
	minor = lang_r_minor(facts);
	assert_string_equal(minor, "4.2");
	lang_r_sites(facts, sites);
	assert_int_equal(sites->count, 2);
	pkg_json_set_str(facts, "path", "/usr/lib/R/bin/R");
	pkg_json_set_str(facts, "base", "/usr/lib/R");
	lang_r_accept(facts, "4.0", NULL, reasons);
	assert_int_equal(reasons->count, 0);
	lang_r_accept(facts, "4.3", NULL, reasons);
	assert_int_equal(reasons->count, 1);
	pkg_json_set_str(facts, "loads", "there is no package called utils");
	pkg_json_set_str(facts, "home", "/elsewhere/R");
	lang_r_accept(facts, "4.0", NULL, reasons);
	assert_int_equal(reasons->count, 3);
}

static void
facts_that_lack_or_lie_are_refused(PKG_UNUSED void **state)
{
	static const char *const bad[] = { "", "PKGD\tversion\t4.2.2\n",
		FACTS "PKGD\thome\trelative\n", FACTS "PKGD\tlibrary\t/\n",
		FACTS "PKGD\tversion\tnone\n" };

	for (size_t i = 0; i < PKG_ARRAY_LEN(bad); i++)
		assert_null(lang_r_facts_parse(bad[i], strlen(bad[i]), NULL));
}

#define OWN "PKGD\tlibrary\t/e/library\nPKGD\tlibrary\t/usr/lib/R/library\n"

static void
an_inventory_tells_owned_from_inherited(PKG_UNUSED void **state)
{
	static const char text[] =
		"PKGD\tlibrary\t/overlay/library\n" OWN
		"PKGD\tpackage\tcli\t3.6\t/e/library/cli\nPKGD\tpackage\tglue\t1.0\t/overlay/"
		"library/glue\n"
		"PKGD\tpackage\tMASS\t7.3-58\t/usr/lib/R/library/MASS\n"
		"PKGD\tpackage\tcli\t9.9\t/usr/lib/R/library/cli\n" /* the first counts */
		"PKGD\tpackage\t../x\t1.0\t/e/library/x\nPKGD\tpackage\tyy\tbad\t/e/library/yy\n"
		"PKGD\tpackage\tother\t1.0\t/e/library/name\nPKGD\tend\n"
		"PKGD\tpackage\tlate\t1.0\t/e/library/late\n";
	pkg_cleanup_store_package_list struct store_package_list list = { 0 };

	assert_int_equal(lang_r_inventory_parse(text, strlen(text), "/e", &list, NULL), 0);
	assert_int_equal(list.count, 3);
	assert_true(store_package_find(&list, "cli")->owned);
	assert_string_equal(store_package_find(&list, "cli")->version, "3.6");
	assert_string_equal(store_package_find(&list, "cli")->location, "library/cli");
	assert_string_equal(store_package_find(&list, "glue")->location, "library/glue");
	assert_false(store_package_find(&list, "MASS")->owned);
}

static void
an_inventory_of_another_library_or_without_its_end_is_refused(PKG_UNUSED void **state)
{
	static const char *const bad[] = { "", "PKGD\tend\n", OWN,
		"PKGD\tlibrary\t/usr/lib/R/library\n" OWN "PKGD\tend\n",
		"PKGD\tlibrary\t/f/library\nPKGD\tend\n" };

	for (size_t i = 0; i < PKG_ARRAY_LEN(bad); i++) {
		pkg_cleanup_store_package_list struct store_package_list list = { 0 };
		pkg_cleanup_error struct pkg_error err = { 0 };

		assert_int_equal(
			lang_r_inventory_parse(bad[i], strlen(bad[i]), "/e", &list, &err), -1);
		assert_int_equal(err.kind, PKG_E_VERIFY);
	}
}

static void
a_build_that_failed_is_explained_by_the_line_that_matters(PKG_UNUSED void **state)
{
	static const struct {
		const char *log;
		enum pkg_error_kind kind;
		const char *words;
		bool vague;
	} cases[] = {
		{ "a.c:1:10: fatal error: curl/curl.h: No such file or directory\ncompilation "
		  "terminated.\nERROR: "
		  "compilation failed for package 'curl'\n",
			PKG_E_BUILD_HEADER, "curl/curl.h", false },
		{ "a.c:1:10: fatal error: 'png.h' file not found\n", PKG_E_BUILD_HEADER, "png.h",
			false },
		{ "/bin/sh: 1: g++: not found\nERROR: compilation failed\n", PKG_E_BUILD_COMPILER,
			"g++", true },
		{ "make: gfortran: No such file or directory\n", PKG_E_BUILD_COMPILER, "gfortran",
			true },
		{ "checking\nconfigure: error: libfoo was not found\nERROR: configuration failed\n",
			PKG_E_BUILD, "libfoo was not found", false },
		{ "/usr/bin/ld: cannot find -lfoo: No such file\ncollect2: error: ld returned 1\n",
			PKG_E_BUILD, "-lfoo", false },
		{ "x.c:3:5: error: 'y' undeclared\nERROR: compilation failed\n", PKG_E_BUILD,
			"'y' undeclared", false },
		{ "cc1: error: No space left on device\n", PKG_E_DISK_FULL, "disk is full", false },
		{ "Error in library(z) : there is no package called 'z'\nERROR: lazy loading "
		  "failed\n",
			PKG_E_BUILD, "no package called 'z'", true },
		{ "curl: (6) Could not resolve host: x\nconfigure: error: download failed\n",
			PKG_E_BUILD, "network", false },
		{ "nothing that is known\n", PKG_E_BUILD, "nothing that is known", true },
		{ "", PKG_E_BUILD, "exit status 1", true },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(cases); i++) {
		struct lang_r_failure failure = { .label = "curl 1.0",
			.status = 1,
			.log = cases[i].log,
			.log_len = strlen(cases[i].log) };
		pkg_cleanup_error struct pkg_error err = { 0 };

		assert_int_equal(lang_r_explain(&failure, &err), -1);
		assert_int_equal(err.kind, cases[i].kind);
		if (!strstr(err.message, cases[i].words) || !strstr(err.message, "curl 1.0"))
			fail_msg("'%s' for %s", err.message, cases[i].log);
		assert_int_equal(lang_r_explain_is_vague(cases[i].log, strlen(cases[i].log)),
			cases[i].vague);
	}
}

static void
a_lock_file_is_read_and_written(PKG_UNUSED void **state)
{
	static const struct lang_r_locked packages[] = { { "cli", "3.6.4", "http://h/cran" },
		{ "in.house", "1.0", "http://i/r" }, { "old", "0.9", NULL } };
	pkg_cleanup(pkg_argv_free) struct pkg_argv *requirements = pkg_argv_new();
	pkg_cleanup(pkg_argv_free) struct pkg_argv *repos = pkg_argv_new();
	pkg_autofree char *text = lang_r_lock_write("4.2.2", packages, 3);
	pkg_autofree char *joined = NULL;
	pkg_autofree char *urls = NULL;

	assert_int_equal(lang_r_lock_parse(text, strlen(text), requirements, repos, NULL), 0);
	joined = pkg_argv_join(requirements, " ");
	urls = pkg_argv_join(repos, " ");
	assert_string_equal(joined, "cli@3.6.4 in.house@1.0 old@0.9");
	assert_string_equal(urls, "http://h/cran http://i/r");
}

static void
a_lock_file_that_cannot_be_had_is_refused(PKG_UNUSED void **state)
{
	static const struct {
		const char *text;
		enum pkg_error_kind kind;
	} bad[] = { { "{", PKG_E_INVALID }, { "{}", PKG_E_REQUIREMENT },
		{ "{\"Packages\":[]}", PKG_E_REQUIREMENT },
		{ "{\"Packages\":{\"a\":1}}", PKG_E_REQUIREMENT },
		{ "{\"Packages\":{\"ab\":{\"Version\":\"x\"}}}", PKG_E_REQUIREMENT },
		{ "{\"Packages\":{\"ab\":{\"Version\":\"1.0\",\"Source\":\"GitHub\"}}}",
			PKG_E_UNSUPPORTED },
		{ "cli\n-bad-\n", PKG_E_REQUIREMENT } };
	pkg_cleanup(pkg_argv_free) struct pkg_argv *lines = pkg_argv_new();

	for (size_t i = 0; i < PKG_ARRAY_LEN(bad); i++) {
		pkg_cleanup(pkg_argv_free) struct pkg_argv *out = pkg_argv_new();
		pkg_cleanup_error struct pkg_error err = { 0 };

		assert_int_equal(
			lang_r_lock_parse(bad[i].text, strlen(bad[i].text), out, out, &err), -1);
		assert_int_equal(err.kind, bad[i].kind);
	}
	assert_int_equal(lang_r_lock_parse("# c\n\n cli@3.0 # x\nR6\n", 22, lines, lines, NULL), 0);
	assert_int_equal(lines->count, 2);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(facts_are_read_and_judged),
		cmocka_unit_test(facts_that_lack_or_lie_are_refused),
		cmocka_unit_test(an_inventory_tells_owned_from_inherited),
		cmocka_unit_test(an_inventory_of_another_library_or_without_its_end_is_refused),
		cmocka_unit_test(a_build_that_failed_is_explained_by_the_line_that_matters),
		cmocka_unit_test(a_lock_file_is_read_and_written),
		cmocka_unit_test(a_lock_file_that_cannot_be_had_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
