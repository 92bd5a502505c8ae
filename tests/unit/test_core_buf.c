#include "unit.h"

#include "core/buf.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void
an_empty_buffer_reads_as_an_empty_string(PKG_UNUSED void **state)
{
	pkg_cleanup_buf struct pkg_buf buf = { 0 };
	pkg_autofree char *stolen = NULL;

	assert_string_equal(pkg_buf_str(&buf), "");
	pkg_buf_truncate(&buf, 0);
	pkg_buf_consume(&buf, 5);
	stolen = pkg_buf_steal(&buf);
	assert_string_equal(stolen, "");
	assert_null(buf.data);
	pkg_buf_add_mem(&buf, NULL, 0);
	assert_string_equal(pkg_buf_str(&buf), "");
}

static void
what_was_added_is_there_and_terminated_at_every_length(PKG_UNUSED void **state)
{
	pkg_cleanup_buf struct pkg_buf buf = { 0 };

	for (size_t i = 0; i < 5000; i++) {
		assert_int_equal(buf.len, i);
		pkg_buf_add_char(&buf, (char)('a' + i % 26));
		assert_int_equal(buf.data[buf.len], '\0');
	}
	for (size_t i = 0; i < 5000; i++)
		assert_int_equal(buf.data[i], 'a' + i % 26);
}

static void
formatted_text_longer_than_the_room_is_whole(PKG_UNUSED void **state)
{
	for (int n = 0; n < 300; n++) {
		pkg_cleanup_buf struct pkg_buf buf = { 0 };

		pkg_buf_add(&buf, "x");
		pkg_buf_addf(&buf, "%*d|", n, 7);
		assert_int_equal(buf.len, 2 + (n ? n : 1));
		assert_int_equal(buf.data[buf.len - 1], '|');
		assert_int_equal(buf.data[buf.len], '\0');
	}
}

static void
bytes_with_nul_keep_their_length(PKG_UNUSED void **state)
{
	pkg_cleanup_buf struct pkg_buf buf = { 0 };

	pkg_buf_add_mem(&buf, "a\0b", 3);
	pkg_buf_add(&buf, "c");
	assert_int_equal(buf.len, 4);
	assert_memory_equal(buf.data, "a\0bc", 5);
}

static void
truncate_only_shortens_and_consume_drops_the_front(PKG_UNUSED void **state)
{
	pkg_cleanup_buf struct pkg_buf buf = { 0 };

	pkg_buf_add(&buf, "0123456789");
	pkg_buf_truncate(&buf, 100);
	assert_int_equal(buf.len, 10);
	pkg_buf_truncate(&buf, 8);
	pkg_buf_consume(&buf, 0);
	assert_string_equal(buf.data, "01234567");
	pkg_buf_consume(&buf, 3);
	assert_string_equal(buf.data, "34567");
	pkg_buf_consume(&buf, 99);
	assert_string_equal(buf.data, "");
	assert_int_equal(buf.len, 0);
}

static void
stealing_leaves_a_buffer_that_can_be_filled_again(PKG_UNUSED void **state)
{
	pkg_cleanup_buf struct pkg_buf buf = { 0 };
	pkg_autofree char *first = NULL;

	pkg_buf_add(&buf, "first");
	first = pkg_buf_steal(&buf);
	pkg_buf_add(&buf, "second");
	assert_string_equal(first, "first");
	assert_string_equal(buf.data, "second");
}

static void
an_overflowing_size_aborts(PKG_UNUSED void **state)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		pkg_cleanup_buf struct pkg_buf buf = { 0 };

		signal(SIGABRT, SIG_DFL);
		(void)!freopen("/dev/null", "w", stderr);
		pkg_buf_add(&buf, "x");
		pkg_buf_reserve(&buf, SIZE_MAX - 1);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

static void
descriptors_close_once_and_errno_survives(PKG_UNUSED void **state)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int copy = fd;

	errno = ENOENT;
	pkg_close(&fd);
	assert_int_equal(fd, -1);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(fcntl(copy, F_GETFD), -1);
	pkg_close(&fd);
	assert_int_equal(fd, -1);
}

static void
stolen_values_outlive_their_scope(PKG_UNUSED void **state)
{
	char *kept = NULL;
	int fd = -1;

	{
		pkg_autofree char *text = pkg_xstrdup("kept");
		pkg_autofd int inner = open("/dev/null", O_RDONLY | O_CLOEXEC);

		kept = pkg_steal_ptr(&text);
		fd = pkg_steal_fd(&inner);
	}
	assert_string_equal(kept, "kept");
	assert_true(fcntl(fd, F_GETFD) >= 0);
	free(kept);
	close(fd);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_buffer_reads_as_an_empty_string),
		cmocka_unit_test(what_was_added_is_there_and_terminated_at_every_length),
		cmocka_unit_test(formatted_text_longer_than_the_room_is_whole),
		cmocka_unit_test(bytes_with_nul_keep_their_length),
		cmocka_unit_test(truncate_only_shortens_and_consume_drops_the_front),
		cmocka_unit_test(stealing_leaves_a_buffer_that_can_be_filled_again),
		cmocka_unit_test(an_overflowing_size_aborts),
		cmocka_unit_test(descriptors_close_once_and_errno_survives),
		cmocka_unit_test(stolen_values_outlive_their_scope),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
