#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/path.h"
#include "core/time.h"
#include "lang/pubgrub.h"
#include "resolver_case.h"

/* --- text files: one test each --- */

#define CASES_MIN 150

static const char *const files[] = { "basics", "backtracking", "impossible", "prereleases",
	"yanked", "extras", "markers", "installed", "constraints" };
static size_t cases_run;

static void
run_file(const char *name)
{
	const char *top = getenv("PKGD_TEST_SRCDIR");
	pkg_autofree char *path =
		pkg_xasprintf("%s/tests/cases/resolver/%s.txt", top ? top : ".", name);
	pkg_cleanup_error struct pkg_error err = { 0 };
	struct resolver_cases cases = { 0 };
	size_t wrong = 0;

	if (resolver_cases_read(path, &cases, &err) < 0)
		fail_msg("%s", err.message);
	for (size_t i = 0; i < cases.count; i++) {
		pkg_autofree char *what = resolver_case_run(&cases.items[i]);

		cases_run++;
		if (!what)
			continue;
		print_error("%s: %s: %s\n", name, cases.items[i].name, what);
		wrong++;
	}
	resolver_cases_clear(&cases);
	assert_int_equal(wrong, 0);
}

static void
every_case_file_holds(void **state)
{
	run_file(*state);
}

static void
there_are_enough_cases(PKG_UNUSED void **state)
{
	assert_true(cases_run >= CASES_MIN);
}

static void
a_case_that_expects_the_wrong_thing_is_noticed(PKG_UNUSED void **state)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *lines = pkg_argv_new();
	struct resolver_case one = { .lines = lines };
	pkg_autofree char *what = NULL;

	pkg_argv_add(lines, "package a 1.0", "ask a", "expect a 2.0");
	what = resolver_case_run(&one);
	assert_non_null(what);
}

/* --- against trying everything --- */

#define PACKAGES 7
#define VERSIONS 3

struct toy {
	int packages;
	size_t versions[PACKAGES];
	int needs[PACKAGES][VERSIONS];
	struct {
		int package;
		uint64_t set;
	} need[PACKAGES][VERSIONS][4];
	uint64_t dice;
};

static unsigned int
roll(struct toy *toy, unsigned int sides)
{
	toy->dice = toy->dice * 6364136223846793005u + 1442695040888963407u;
	return (unsigned int)(toy->dice >> 33) % sides;
}

static size_t
toy_count(void *context, int package)
{
	return ((struct toy *)context)->versions[package];
}

static size_t
toy_choose(PKG_UNUSED void *context, PKG_UNUSED const struct lang_pubgrub *solver,
	PKG_UNUSED int package, const uint64_t *allowed)
{
	return (size_t)(63 - __builtin_clzll(allowed[0]));
}

static int
toy_needs(void *context, int package, size_t version, struct lang_pubgrub_needs *out,
	PKG_UNUSED struct pkg_error *err)
{
	struct toy *toy = context;

	for (int i = 0; i < toy->needs[package][version]; i++) {
		int needed = toy->need[package][version][i].package;
		uint64_t *set = lang_pubgrub_set_new(toy->versions[needed]);

		set[0] = toy->need[package][version][i].set;
		lang_pubgrub_needs_add(out, needed, set, pkg_xasprintf("p%d", needed));
	}
	return 0;
}

static char *
toy_name(PKG_UNUSED void *context, int package)
{
	return pkg_xasprintf("p%d", package);
}

static char *
toy_version(PKG_UNUSED void *context, PKG_UNUSED int package, size_t version)
{
	return pkg_xasprintf("%zu", version);
}

static const struct lang_pubgrub_ops toy_ops = { toy_count, toy_choose, toy_needs, toy_name,
	toy_version };

static void
toy_make(struct toy *toy, unsigned int seed)
{
	*toy = (struct toy){ .dice = seed };
	toy->packages = 2 + (int)roll(toy, PACKAGES - 1);
	toy->versions[0] = 1;
	for (int p = 1; p < toy->packages; p++)
		toy->versions[p] = 1 + roll(toy, VERSIONS);
	for (int p = 0; p < toy->packages; p++)
		for (size_t v = 0; v < toy->versions[p]; v++) {
			int count = p == 0 ? 1 + (int)roll(toy, 3) : (int)roll(toy, 4);

			toy->needs[p][v] = count;
			for (int i = 0; i < count; i++) {
				int needed = 1 + (int)roll(toy, (unsigned int)toy->packages - 1);
				unsigned int all = 1u << toy->versions[needed];

				toy->need[p][v][i].package = needed;
				toy->need[p][v][i].set = roll(toy, all) | roll(toy, all);
			}
		}
}

static bool
toy_holds(const struct toy *toy, const long *chosen)
{
	for (int p = 0; p < toy->packages; p++)
		for (int i = 0; chosen[p] >= 0 && i < toy->needs[p][chosen[p]]; i++) {
			int needed = toy->need[p][chosen[p]][i].package;

			if (chosen[needed] < 0 ||
				!((toy->need[p][chosen[p]][i].set >> chosen[needed]) & 1))
				return false;
		}
	return true;
}

static bool
toy_try(const struct toy *toy, int package, long *chosen)
{
	if (package == toy->packages)
		return toy_holds(toy, chosen);
	for (long v = -1; v < (long)toy->versions[package]; v++) {
		chosen[package] = v;
		if (toy_try(toy, package + 1, chosen))
			return true;
	}
	return false;
}

static void
it_agrees_with_trying_everything(PKG_UNUSED void **state)
{
	size_t solved = 0, impossible = 0;

	for (unsigned int seed = 1; seed <= 3000; seed++) {
		struct toy toy;
		long tried[PACKAGES] = { 0 };
		long chosen[PACKAGES];
		struct lang_pubgrub *solver;
		enum lang_pubgrub_end end;
		bool possible;

		toy_make(&toy, seed);
		possible = toy_try(&toy, 1, tried);
		solver = lang_pubgrub_new(&toy_ops, &toy);
		end = lang_pubgrub_solve(solver, NULL);
		if ((end == LANG_PUBGRUB_SOLVED) != possible)
			fail_msg(
				"seed %u: %s", seed, possible ? "there is a way" : "there is none");
		for (int p = 0; p < toy.packages; p++)
			chosen[p] = lang_pubgrub_chosen(solver, p);
		if (possible && (chosen[0] != 0 || !toy_holds(&toy, chosen)))
			fail_msg("seed %u: what it chose does not hold", seed);
		if (!possible) {
			pkg_autofree char *why = lang_pubgrub_explain(solver);

			assert_true(strlen(why) > 0);
		}
		solved += possible;
		impossible += !possible;
		lang_pubgrub_free(solver);
	}
	assert_true(solved > 500 && impossible > 500);
}

/* --- large --- */

#define MANY 500
#define EACH 100

/* Each needs the next ten; the newest version of every seventh needs a version that the others exclude. */
static size_t
big_count(PKG_UNUSED void *context, PKG_UNUSED int package)
{
	return EACH;
}

static size_t
big_choose(PKG_UNUSED void *context, PKG_UNUSED const struct lang_pubgrub *solver,
	PKG_UNUSED int package, const uint64_t *allowed)
{
	for (size_t i = EACH; i-- > 0;)
		if (lang_pubgrub_in(allowed, i))
			return i;
	return 0;
}

static int
big_needs(PKG_UNUSED void *context, int package, size_t version, struct lang_pubgrub_needs *out,
	PKG_UNUSED struct pkg_error *err)
{
	for (int i = 1; i <= 10 && package + i <= MANY; i++) {
		uint64_t *set = lang_pubgrub_set_new(EACH);
		bool trap = package % 7 == 0 && package > 0 && version > EACH - 20 && i == 1;

		for (size_t v = 0; v < EACH; v++)
			if (trap ? v == EACH - 1 : v < EACH - 1)
				lang_pubgrub_put(set, v);
		lang_pubgrub_needs_add(out, package + i, set, pkg_xstrdup("x"));
	}
	return 0;
}

static const struct lang_pubgrub_ops big_ops = { big_count, big_choose, big_needs, toy_name,
	toy_version };

static void
five_hundred_packages_of_fifty_thousand_versions_take_well_under_a_second(PKG_UNUSED void **state)
{
	pkg_cleanup(lang_pubgrub_free) struct lang_pubgrub *solver =
		lang_pubgrub_new(&big_ops, NULL);
	int64_t start = pkg_time_mono_ms();
	int64_t took;

	assert_int_equal(lang_pubgrub_solve(solver, NULL), LANG_PUBGRUB_SOLVED);
	took = pkg_time_mono_ms() - start;
	print_message("# %lld ms, %zu decisions\n", (long long)took, lang_pubgrub_steps(solver));
	for (int p = 1; p <= MANY; p++)
		assert_true(lang_pubgrub_chosen(solver, p) >= 0);
	/* Far more than it takes, so that a busy machine and a sanitizer do not matter. */
	assert_true(took < 5000);
}

int
main(void)
{
	struct CMUnitTest tests[PKG_ARRAY_LEN(files) + 4] = { 0 };
	size_t count = 0;

	for (size_t i = 0; i < PKG_ARRAY_LEN(files); i++)
		tests[count++] = (struct CMUnitTest){ .name = files[i],
			.test_func = every_case_file_holds,
			.initial_state = (void *)(uintptr_t)files[i] };
	tests[count++] = (struct CMUnitTest)cmocka_unit_test(there_are_enough_cases);
	tests[count++] =
		(struct CMUnitTest)cmocka_unit_test(a_case_that_expects_the_wrong_thing_is_noticed);
	tests[count++] = (struct CMUnitTest)cmocka_unit_test(it_agrees_with_trying_everything);
	tests[count++] = (struct CMUnitTest)cmocka_unit_test(
		five_hundred_packages_of_fifty_thousand_versions_take_well_under_a_second);
	return _cmocka_run_group_tests("pubgrub", tests, count, NULL, NULL);
}
