#include "unit.h"
#include "core/lock.h"
#include "core/time.h"
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[64];
static char path[128];

static int
make_dir(PKG_UNUSED void **state)
{
	(void)snprintf(dir, sizeof(dir), "/tmp/unit-lock-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	(void)snprintf(path, sizeof(path), "%s/lock", dir);
	return 0;
}

static int
remove_dir(PKG_UNUSED void **state)
{
	(void)unlink(path);
	return rmdir(dir);
}

/* A process that holds the lock for ms, or until it is killed. Returns once it has it. */
static pid_t
holder(int ms)
{
	int ready[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		int fd = pkg_lock_take(path, -1, NULL);

		if (fd < 0 || write(ready[1], "x", 1) != 1)
			_exit(1);
		pkg_sleep_ms(ms);
		_exit(0);
	}
	(void)close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	(void)close(ready[0]);
	return pid;
}

static void
a_lock_that_another_holds_is_busy_at_once(PKG_UNUSED void **state)
{
	pkg_cleanup_error struct pkg_error err = { 0 };
	pid_t pid = holder(60000);

	assert_int_equal(pkg_lock_take(path, 0, &err), -1);
	assert_int_equal(err.kind, PKG_E_BUSY);
	assert_true(pkg_lock_is_held(path));
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
}

static void
a_killed_holder_leaves_no_lock_and_the_file_stays(PKG_UNUSED void **state)
{
	pid_t pid = holder(60000);
	int fd;

	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	assert_false(pkg_lock_is_held(path));
	fd = pkg_lock_take(path, 0, NULL);
	assert_true(fd >= 0);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	assert_true(pkg_lock_is_held(path)); /* by ourselves counts */
	(void)close(fd);
	assert_int_equal(access(path, F_OK), 0);
	assert_false(pkg_lock_is_held(path));
}

static void
waiting_ends_when_the_holder_does_or_when_the_time_is_up(PKG_UNUSED void **state)
{
	static const struct {
		int hold, wait;
		bool got;
	} cases[] = { { 100, 5000, true }, { 100, -1, true }, { 60000, 100, false } };

	for (size_t i = 0; i < PKG_ARRAY_LEN(cases); i++) {
		pid_t pid = holder(cases[i].hold);
		int64_t began = pkg_time_mono_ms();
		int fd = pkg_lock_take(path, cases[i].wait, NULL);

		assert_int_equal(fd >= 0, cases[i].got);
		assert_in_range(pkg_time_mono_ms() - began, 50, 3000);
		if (fd >= 0)
			(void)close(fd);
		(void)kill(pid, SIGKILL);
		(void)waitpid(pid, NULL, 0);
	}
}

static void
a_missing_file_is_not_held_and_asking_does_not_make_it(PKG_UNUSED void **state)
{
	(void)unlink(path);
	assert_false(pkg_lock_is_held(path));
	assert_int_equal(access(path, F_OK), -1);
}

static void
a_symlink_in_its_place_is_not_followed(PKG_UNUSED void **state)
{
	(void)unlink(path);
	assert_int_equal(symlink("/nonexistent-target", path), 0);
	assert_int_equal(pkg_lock_take(path, 0, NULL), -1);
	assert_true(pkg_lock_is_held(path)); /* cannot tell: so yes */
}

/* Asking takes the lock in shared mode for a moment; who wants it must not be told "busy" then. */
static void
those_who_only_ask_never_make_it_busy(PKG_UNUSED void **state)
{
	pid_t askers[2];
	int busy = 0;
	int fd = pkg_lock_take(path, 0, NULL);

	(void)close(fd);
	for (int i = 0; i < 2; i++) {
		askers[i] = fork();
		if (askers[i] == 0)
			for (;;)
				(void)pkg_lock_is_held(path);
	}
	for (int i = 0; i < 3000; i++) {
		fd = pkg_lock_take(path, 0, NULL);
		if (fd < 0)
			busy++;
		else
			(void)close(fd);
	}
	for (int i = 0; i < 2; i++) {
		(void)kill(askers[i], SIGKILL);
		(void)waitpid(askers[i], NULL, 0);
	}
	assert_int_equal(busy, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_lock_that_another_holds_is_busy_at_once, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(
			a_killed_holder_leaves_no_lock_and_the_file_stays, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(
			waiting_ends_when_the_holder_does_or_when_the_time_is_up, make_dir,
			remove_dir),
		cmocka_unit_test_setup_teardown(
			a_missing_file_is_not_held_and_asking_does_not_make_it, make_dir,
			remove_dir),
		cmocka_unit_test_setup_teardown(
			a_symlink_in_its_place_is_not_followed, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(
			those_who_only_ask_never_make_it_busy, make_dir, remove_dir),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
