#include "unit.h"
#include "core/identity.h"
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define TAIL " 1 7 7 0 -1 4194560 1 0 0 0 2 3 0 0 20 0 1 0 8642 9000 10 18446744073709551615"

static void
a_stat_line_gives_state_and_start_whatever_the_name_holds(PKG_UNUSED void **state)
{
	static const struct {
		const char *text;
		char state;
		uint64_t start;
	} good[] = {
		{ "7 (sh) S" TAIL, 'S', 8642 },
		{ "7 (a b) S" TAIL, 'S', 8642 },
		{ "7 () R" TAIL, 'R', 8642 },
		{ "7 (x) Z 1 2 3) S" TAIL, 'S', 8642 },
		{ "7 ((((\n) Z" TAIL, 'Z', 8642 },
		{ "7 (sh) S 1 7 7 0 -1 4194560 1 0 0 0 2 3 0 0 20 0 1 0 18446744073709551615\n",
			'S', UINT64_MAX },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(good); i++) {
		char letter = '?';
		uint64_t start = 0;

		assert_int_equal(pkg_identity_parse_stat(
					 good[i].text, strlen(good[i].text), &letter, &start),
			0);
		assert_int_equal(letter, good[i].state);
		assert_true(start == good[i].start);
	}
}

static void
a_line_that_is_no_stat_line_is_refused(PKG_UNUSED void **state)
{
	static const char *const bad[] = { "", ")", "7 (sh", "7 (sh)", "7 (sh) ", "7 (sh)S" TAIL,
		"7 (sh) S", "7 (sh) S 1 7 7", "7 (sh) SS" TAIL, "7 (sh) 1" TAIL,
		"7 (sh) S 1 7 7 0 -1 4194560 1 0 0 0 2 3 0 0 20 0 1 0 -5 1",
		"7 (sh) S 1 7 7 0 -1 4194560 1 0 0 0 2 3 0 0 20 0 1 0  5 1",
		"7 (sh) S 1 7 7 0 -1 4194560 1 0 0 0 2 3 0 0 20 0 1 0 18446744073709551616 1",
		"7 (sh) S 1 7 7 0 -1 4194560 1 0 0 0 2 3 0 0 20 0 1 0 \n" };

	for (size_t i = 0; i < PKG_ARRAY_LEN(bad); i++) {
		char letter = '?';
		uint64_t start = 0;

		assert_int_equal(
			pkg_identity_parse_stat(bad[i], strlen(bad[i]), &letter, &start), -1);
	}
}

static void
we_are_alive_and_another_start_or_boot_is_not_us(PKG_UNUSED void **state)
{
	struct pkg_identity us;
	struct pkg_identity other;

	assert_int_equal(pkg_identity_of(getpid(), &us, NULL), 0);
	assert_int_equal(us.pid, getpid());
	assert_int_equal(strlen(us.boot), PKG_BOOT_ID - 1);
	assert_true(pkg_identity_alive(&us));
	other = us;
	other.start++;
	assert_false(pkg_identity_alive(&other));
	other = us;
	other.boot[0] = other.boot[0] == 'a' ? 'b' : 'a';
	assert_false(pkg_identity_alive(&other));
}

static void
a_number_without_a_process_is_not_found(PKG_UNUSED void **state)
{
	static const pid_t numbers[] = { 0, -1, -7, 0x7fffffff };

	for (size_t i = 0; i < PKG_ARRAY_LEN(numbers); i++) {
		pkg_cleanup_error struct pkg_error err = { 0 };
		struct pkg_identity identity = { .pid = numbers[i] };

		assert_false(pkg_identity_alive(&identity));
		assert_int_equal(pkg_identity_of(numbers[i], &identity, &err), -1);
		assert_int_equal(err.kind, PKG_E_NOT_FOUND);
	}
}

static void
a_zombie_counts_as_gone_and_was_alive_before(PKG_UNUSED void **state)
{
	pkg_cleanup_error struct pkg_error err = { 0 };
	struct pkg_identity child;
	siginfo_t info;
	pid_t pid = fork();

	if (pid == 0) {
		(void)prctl(PR_SET_NAME, ") Z 1 (");
		(void)pause();
		_exit(0);
	}
	assert_int_equal(pkg_identity_of(pid, &child, NULL), 0);
	assert_true(pkg_identity_alive(&child));
	(void)kill(pid, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(kill(pid, 0), 0); /* the number still answers */
	assert_false(pkg_identity_alive(&child));
	assert_int_equal(pkg_identity_of(pid, &child, &err), -1);
	assert_int_equal(err.kind, PKG_E_NOT_FOUND);
	(void)waitpid(pid, NULL, 0);
	assert_false(pkg_identity_alive(&child));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stat_line_gives_state_and_start_whatever_the_name_holds),
		cmocka_unit_test(a_line_that_is_no_stat_line_is_refused),
		cmocka_unit_test(we_are_alive_and_another_start_or_boot_is_not_us),
		cmocka_unit_test(a_number_without_a_process_is_not_found),
		cmocka_unit_test(a_zombie_counts_as_gone_and_was_alive_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
