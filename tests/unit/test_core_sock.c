#include "unit.h"
#include "core/sock.h"
#include "core/file.h"
#include "core/time.h"
#include "core/tree.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[64];

static int
make_dir(PKG_UNUSED void **state)
{
	(void)snprintf(dir, sizeof(dir), "/tmp/unit-sock-XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int
remove_dir(PKG_UNUSED void **state)
{
	return pkg_tree_remove(dir, NULL);
}

/* A path of that length below dir, its directories made. Given. */
static char *
path_of_length(size_t length, size_t name_length)
{
	pkg_cleanup_buf struct pkg_buf path = { 0 };

	pkg_buf_addf(&path, "%s/", dir);
	while (path.len + name_length < length) {
		size_t left = length - name_length - path.len - 1;

		for (size_t i = 0; i < (left < 100 ? left : 100); i++)
			pkg_buf_add_char(&path, 'd');
		pkg_buf_add_char(&path, '/');
	}
	assert_int_equal(pkg_dir_make(path.data, 0700, NULL), 0);
	for (size_t i = 0; i < name_length; i++)
		pkg_buf_add_char(&path, 's');
	return pkg_buf_steal(&path);
}

static void
a_socket_works_at_a_path_of_any_length(PKG_UNUSED void **state)
{
	static const struct {
		size_t length, name;
	} cases[] = { { 50, 4 }, { 107, 4 }, { 108, 4 }, { 400, 9 }, { 3000, 9 }, { 500, 250 } };

	for (size_t i = 0; i < PKG_ARRAY_LEN(cases); i++) {
		pkg_autofree char *path = path_of_length(cases[i].length, cases[i].name);
		pkg_cleanup_error struct pkg_error err = { 0 };
		pkg_autofd int server = pkg_sock_listen(path, 0600, &err);
		pkg_autofd int client = -1;
		pkg_autofd int accepted = -1;
		struct pkg_peer peer;
		struct stat st;
		char byte;

		if (server < 0)
			fail_msg("%s", err.message);
		assert_int_equal(lstat(path, &st), 0);
		assert_true(S_ISSOCK(st.st_mode));
		client = pkg_sock_connect(path, &err);
		accepted = accept4(server, NULL, NULL, SOCK_CLOEXEC);
		assert_true(client >= 0 && accepted >= 0);
		assert_int_equal(write(client, "x", 1), 1);
		assert_int_equal(read(accepted, &byte, 1), 1);
		assert_int_equal(pkg_sock_peer(accepted, &peer, NULL), 0);
		assert_int_equal(peer.pid, getpid());
		assert_int_equal(peer.uid, getuid());
		assert_int_equal(peer.gid, getgid());
		assert_int_equal(fcntl(client, F_GETFD), FD_CLOEXEC);
		assert_int_equal(fcntl(server, F_GETFD), FD_CLOEXEC);
	}
}

static void
the_mode_is_exact_under_any_umask_and_nothing_else_is_left(PKG_UNUSED void **state)
{
	static const mode_t modes[] = { 0600, 0660, 0666, 0777 };
	static const mode_t masks[] = { 0, 022, 077, 0777 };
	pkg_autofree char *path = path_of_length(strlen(dir) + 10, 4);

	for (size_t i = 0; i < PKG_ARRAY_LEN(modes); i++) {
		mode_t old = umask(masks[i]);
		pkg_autofd int server = pkg_sock_listen(path, modes[i], NULL);
		struct stat st;

		(void)umask(old);
		assert_true(server >= 0);
		assert_int_equal(lstat(path, &st), 0);
		assert_int_equal(st.st_mode & 07777, modes[i]);
		(void)unlink(path);
		path[strrchr(path, '/') - path] = '\0';
		assert_int_equal(rmdir(path), 0); /* so no temporary name was left */
		assert_int_equal(mkdir(path, 0700), 0);
		path[strlen(path)] = '/';
	}
}

static void
a_stale_socket_is_replaced_but_no_other_file_is(PKG_UNUSED void **state)
{
	pkg_cleanup_error struct pkg_error err = { 0 };
	pkg_autofree char *path = path_of_length(200, 4);
	pkg_autofd int server = -1;
	pkg_autofd int client = -1;
	int dead = pkg_sock_listen(path, 0600, NULL);

	assert_true(dead >= 0);
	(void)close(dead);
	assert_int_equal(pkg_sock_connect(path, &err), -1);
	assert_int_equal(err.kind, PKG_E_UNREACHABLE);
	server = pkg_sock_listen(path, 0600, NULL);
	client = pkg_sock_connect(path, NULL);
	assert_true(server >= 0 && client >= 0);

	(void)unlink(path);
	assert_int_equal(pkg_file_write(path, "precious", 8, 0600, false, NULL), 0);
	assert_int_equal(pkg_sock_listen(path, 0600, &err), -1);
	assert_int_equal(err.kind, PKG_E_EXISTS);
	assert_int_equal(access(path, F_OK), 0);
}

static void
nobody_there_is_unreachable_and_not_another_error(PKG_UNUSED void **state)
{
	static const size_t lengths[] = { 60, 300 };

	for (size_t i = 0; i < PKG_ARRAY_LEN(lengths); i++) {
		pkg_autofree char *path = path_of_length(lengths[i], 4);
		pkg_cleanup_error struct pkg_error err = { 0 };

		assert_int_equal(pkg_sock_connect(path, &err), -1);
		assert_int_equal(err.kind, PKG_E_UNREACHABLE);
	}
}

static void
a_descriptor_travels_and_arrives_close_on_exec(PKG_UNUSED void **state)
{
	int pair[2], ends[2];
	pkg_autofd int got = -1;
	char byte;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(pkg_sock_send_fd(pair[0], ends[1], NULL), 0);
	(void)close(ends[1]);
	got = pkg_sock_recv_fd(pair[1], 1000, NULL);
	assert_true(got >= 0);
	assert_int_equal(fcntl(got, F_GETFD), FD_CLOEXEC);
	assert_int_equal(write(got, "x", 1), 1);
	assert_int_equal(read(ends[0], &byte, 1), 1);
	(void)close(ends[0]);
	(void)close(pair[0]);
	(void)close(pair[1]);
}

static int
count_descriptors(void)
{
	int count = 0;

	for (int fd = 0; fd < 256; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

static void
send_many(int sock, int fd, int count)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(8 * sizeof(int))];
	} control = { .space = { 0 } };
	char byte = 'x';
	struct iovec data = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr message = { .msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = CMSG_SPACE((size_t)count * sizeof(int)) };
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN((size_t)count * sizeof(int));
	for (int i = 0; i < count; i++)
		memcpy(CMSG_DATA(header) + (size_t)i * sizeof(int), &fd, sizeof(int));
	assert_int_equal(sendmsg(sock, &message, 0), 1);
}

static void
anything_but_one_descriptor_is_refused_and_leaks_none(PKG_UNUSED void **state)
{
	static const int counts[] = { 0, 2, 3, 8 };

	for (size_t i = 0; i < PKG_ARRAY_LEN(counts); i++) {
		pkg_cleanup_error struct pkg_error err = { 0 };
		int pair[2];
		int before;

		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
		before = count_descriptors();
		if (counts[i] == 0)
			assert_int_equal(write(pair[0], "x", 1), 1);
		else
			send_many(pair[0], 0, counts[i]);
		assert_int_equal(pkg_sock_recv_fd(pair[1], 1000, &err), -1);
		assert_int_equal(err.kind, PKG_E_IO);
		assert_int_equal(count_descriptors(), before);
		(void)close(pair[0]);
		(void)close(pair[1]);
	}
}

static void
a_silent_peer_times_out_and_a_closed_one_is_an_error_at_once(PKG_UNUSED void **state)
{
	pkg_cleanup_error struct pkg_error err = { 0 };
	int64_t began = pkg_time_mono_ms();
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(pkg_sock_recv_fd(pair[1], 60, &err), -1);
	assert_int_equal(err.kind, PKG_E_TIMEOUT);
	assert_in_range(pkg_time_mono_ms() - began, 55, 2000);
	(void)close(pair[0]);
	assert_int_equal(pkg_sock_recv_fd(pair[1], -1, &err), -1);
	assert_int_equal(err.kind, PKG_E_IO);
	assert_int_equal(pkg_sock_send_fd(pair[1], 0, &err), -1); /* and no SIGPIPE */
	assert_int_equal(err.sys, EPIPE);
	(void)close(pair[1]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_socket_works_at_a_path_of_any_length),
		cmocka_unit_test(the_mode_is_exact_under_any_umask_and_nothing_else_is_left),
		cmocka_unit_test(a_stale_socket_is_replaced_but_no_other_file_is),
		cmocka_unit_test(nobody_there_is_unreachable_and_not_another_error),
		cmocka_unit_test(a_descriptor_travels_and_arrives_close_on_exec),
		cmocka_unit_test(anything_but_one_descriptor_is_refused_and_leaks_none),
		cmocka_unit_test(a_silent_peer_times_out_and_a_closed_one_is_an_error_at_once),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
