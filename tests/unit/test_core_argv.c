#include "unit.h"

#include "core/argv.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static void
the_vector_is_null_terminated_at_every_length(PKG_UNUSED void **state)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *argv = pkg_argv_new();

	for (size_t i = 0; i < 300; i++) {
		assert_int_equal(argv->count, i);
		assert_null(argv->items[i]);
		pkg_argv_addf(argv, "%zu", i);
	}
	assert_string_equal(argv->items[0], "0");
	assert_string_equal(argv->items[255], "255");
	assert_string_equal(argv->items[299], "299");
}

static void
added_strings_are_copies(PKG_UNUSED void **state)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *argv = pkg_argv_new();
	char text[] = "--bind";

	pkg_argv_add(argv, text, "", "x y");
	text[0] = '?';
	assert_int_equal(argv->count, 3);
	assert_string_equal(argv->items[0], "--bind");
	assert_string_equal(argv->items[1], "");
	assert_string_equal(argv->items[2], "x y");
}

static int
status_of(void (*act)(struct pkg_argv *))
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		signal(SIGABRT, SIG_DFL);
		(void)!freopen("/dev/null", "w", stderr);
		act(pkg_argv_new());
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void
add_null(struct pkg_argv *argv)
{
	const char *missing = NULL;

	pkg_argv_add(argv, "--ro-bind", missing, "/");
}

static void
take_null(struct pkg_argv *argv)
{
	pkg_argv_take(argv, NULL);
}

static void
take_no_fd(struct pkg_argv *argv)
{
	pkg_argv_take_fd(argv, -1);
}

static void
add_text(struct pkg_argv *argv)
{
	pkg_argv_add(argv, "--ro-bind", "/usr", "/");
}

static void
a_null_among_the_arguments_aborts(PKG_UNUSED void **state)
{
	assert_int_equal(WTERMSIG(status_of(add_null)), SIGABRT);
	assert_int_equal(WTERMSIG(status_of(take_null)), SIGABRT);
	assert_int_equal(WTERMSIG(status_of(take_no_fd)), SIGABRT);
	assert_int_equal(status_of(add_text), 0);
}

static void
a_vector_can_be_added_to_itself(PKG_UNUSED void **state)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *argv = pkg_argv_new();
	pkg_autofree char *joined = NULL;

	pkg_argv_add(argv, "a", "b", "c");
	pkg_argv_add_all(argv, argv);
	joined = pkg_argv_join(argv, ", ");
	assert_string_equal(joined, "a, b, c, a, b, c");
}

static void
sorting_is_by_unsigned_bytes(PKG_UNUSED void **state)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *argv = pkg_argv_new();
	pkg_autofree char *joined = NULL;

	pkg_argv_add(argv, "b", "\xC3\xA9", "a-b", "a", "B", "", "a.b", "ab");
	pkg_argv_sort(argv);
	joined = pkg_argv_join(argv, "|");
	assert_string_equal(joined, "|B|a|a-b|a.b|ab|b|\xC3\xA9");
	assert_null(argv->items[argv->count]);
}

static void
membership_means_the_whole_string(PKG_UNUSED void **state)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *argv = pkg_argv_new();

	assert_false(pkg_argv_has(argv, ""));
	pkg_argv_add(argv, "numpy", "pandas");
	assert_true(pkg_argv_has(argv, "pandas"));
	assert_false(pkg_argv_has(argv, "panda"));
	assert_false(pkg_argv_has(argv, "pandas2"));
	assert_false(pkg_argv_has(argv, "NumPy"));
}

static void
an_empty_vector_joins_to_an_empty_string(PKG_UNUSED void **state)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *argv = pkg_argv_new();
	pkg_autofree char *joined = pkg_argv_join(argv, ",");

	assert_string_equal(joined, "");
	pkg_argv_sort(argv);
	pkg_argv_free(NULL);
}

static void
descriptors_close_with_their_vector_but_not_with_its_copy(PKG_UNUSED void **state)
{
	struct pkg_argv *argv = pkg_argv_new();
	struct pkg_argv *copy = NULL;
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	pkg_argv_add(argv, "x");
	pkg_argv_take_fd(argv, fd);
	copy = pkg_argv_dup(argv);
	assert_int_equal(copy->fd_count, 0);
	assert_string_equal(copy->items[0], "x");
	pkg_argv_free(copy);
	assert_true(fcntl(fd, F_GETFD) >= 0);
	pkg_argv_free(argv);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_vector_is_null_terminated_at_every_length),
		cmocka_unit_test(added_strings_are_copies),
		cmocka_unit_test(a_null_among_the_arguments_aborts),
		cmocka_unit_test(a_vector_can_be_added_to_itself),
		cmocka_unit_test(sorting_is_by_unsigned_bytes),
		cmocka_unit_test(membership_means_the_whole_string),
		cmocka_unit_test(an_empty_vector_joins_to_an_empty_string),
		cmocka_unit_test(descriptors_close_with_their_vector_but_not_with_its_copy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
