#include "unit.h"

#include "core/error.h"
#include "sandbox/seccomp.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* The exported program, put in force in a child of the test. */
static void
enforce(int fd)
{
	static struct sock_filter code[4096];
	ssize_t size = read(fd, code, sizeof(code));
	struct sock_fprog program = { (unsigned short)((size_t)size / sizeof(code[0])), code };

	if (size <= 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
		syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0)
		_exit(250);
}

/* errno of body in a child, with the filter or without; 0 when it worked. */
static int
in_child(bool filtered, long (*body)(const void *), const void *argument)
{
	int fd = sandbox_seccomp_export(NULL);
	int status;
	pid_t pid;

	assert_true(fd >= 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (filtered)
			enforce(fd);
		errno = 0;
		_exit(body(argument) < 0 ? errno : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	close(fd);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int
number(const char *name)
{
	int found = seccomp_syscall_resolve_name(name);

	return found == __NR_SCMP_ERROR && strcmp(name, "open_tree_attr") == 0 ? 467 : found;
}

/* Arguments that no call accepts: what is allowed still changes nothing. */
static long
call_with_nonsense(const void *argument)
{
	return syscall(*(const int *)argument, -1L, -1L, -1L, -1L, -1L, -1L);
}

static void
every_unconditional_row_refuses_with_its_errno_and_only_under_the_filter(void **state)
{
	size_t count;
	const struct sandbox_seccomp_row *rows = sandbox_seccomp_rows(&count);
	size_t tried = 0;

	(void)state;
	for (size_t i = 0; i < count; i++) {
		int call = number(rows[i].name);

		if (rows[i].test != SANDBOX_SECCOMP_ALWAYS || call < 0)
			continue;
		if (in_child(true, call_with_nonsense, &call) != rows[i].error)
			fail_msg("%s is not refused", rows[i].name);
		tried++;
		/* vhangup takes nothing that could be wrong: unfiltered it would do it. */
		if (strcmp(rows[i].name, "vhangup") != 0 && geteuid() == 0 &&
			rows[i].error == EPERM &&
			in_child(false, call_with_nonsense, &call) == EPERM)
			print_message("# %s is refused without the filter too\n", rows[i].name);
	}
	assert_true(tried > 45);
}

static void
every_row_says_why(void **state)
{
	size_t count;
	const struct sandbox_seccomp_row *rows = sandbox_seccomp_rows(&count);

	(void)state;
	for (size_t i = 0; i < count; i++) {
		assert_non_null(rows[i].reason);
		assert_true(strlen(rows[i].reason) > 8);
	}
}

static long
make_socket(const void *argument)
{
	const long *wanted = argument;

	return syscall(SYS_socket, wanted[0], wanted[1], wanted[2]);
}

static void
sockets_are_of_four_families_and_netlink_is_for_routes_only(void **state)
{
	static const struct {
		long call[3];
		bool allowed;
	} cases[] = {
		{ { AF_UNIX, SOCK_STREAM, 0 }, true },
		{ { AF_INET, SOCK_STREAM, 0 }, true },
		{ { AF_INET6, SOCK_DGRAM, 0 }, true },
		{ { AF_NETLINK, SOCK_RAW, NETLINK_ROUTE }, true },
		{ { AF_NETLINK, SOCK_RAW, NETLINK_GENERIC }, false },
		{ { AF_NETLINK, SOCK_RAW, 15 /* NETLINK_KOBJECT_UEVENT */ }, false },
		{ { AF_PACKET, SOCK_RAW, 0 }, false },
		{ { 40 /* AF_VSOCK */, SOCK_STREAM, 0 }, false },
		{ { 38 /* AF_ALG */, SOCK_SEQPACKET, 0 }, false },
		{ { 15 /* AF_KEY */, SOCK_RAW, 2 }, false },
		{ { 0, SOCK_STREAM, 0 }, false },
		{ { 3 /* AF_AX25 */, SOCK_DGRAM, 0 }, false },
		{ { 0x100000000L | AF_VSOCK, SOCK_STREAM, 0 }, false },
		{ { 0x100000000L | AF_INET, SOCK_STREAM, 0 }, false },
		{ { -1, SOCK_STREAM, 0 }, false },
	};

	(void)state;
	for (size_t i = 0; i < PKG_ARRAY_LEN(cases); i++) {
		int got = in_child(true, make_socket, cases[i].call);

		if ((got == 0) != cases[i].allowed || (!cases[i].allowed && got != EPERM))
			fail_msg("socket(%ld, %ld, %ld): %d", cases[i].call[0], cases[i].call[1],
				cases[i].call[2], got);
	}
}

static long
make_pair(const void *argument)
{
	int ends[2];

	return socketpair(*(const int *)argument, SOCK_STREAM, 0, ends);
}

static void
pairs_are_unix_only(void **state)
{
	int unix_family = AF_UNIX;
	int tipc = 30;

	(void)state;
	assert_int_equal(in_child(true, make_pair, &unix_family), 0);
	assert_int_equal(in_child(true, make_pair, &tipc), EPERM);
}

static long
do_ioctl(const void *argument)
{
	/* Of /dev/null, so that what is allowed fails with ENOTTY and types nothing. */
	int fd = open("/dev/null", O_RDWR);

	return syscall(SYS_ioctl, fd, *(const unsigned long *)argument, 0);
}

static void
terminal_injection_is_refused_whatever_the_upper_half_says(void **state)
{
	static const struct {
		unsigned long command;
		int expected;
	} cases[] = {
		{ TIOCSTI, EPERM },
		{ TIOCLINUX, EPERM },
		{ 0x100000000UL | TIOCSTI, EPERM },
		{ 0xffffffff00000000UL | TIOCLINUX, EPERM },
		{ TIOCGWINSZ, ENOTTY },
		{ TCGETS, ENOTTY },
	};

	(void)state;
	for (size_t i = 0; i < PKG_ARRAY_LEN(cases); i++)
		assert_int_equal(in_child(true, do_ioctl, &cases[i].command), cases[i].expected);
}

static long
do_clone(const void *argument)
{
	long pid = syscall(SYS_clone, *(const unsigned long *)argument | SIGCHLD, 0, 0, 0, 0);

	if (pid == 0)
		_exit(0);
	if (pid > 0)
		waitpid((pid_t)pid, NULL, 0);
	return pid;
}

static void
a_process_can_be_made_but_not_a_namespace(void **state)
{
	static const unsigned long spaces[] = { CLONE_NEWUSER, CLONE_NEWNS, CLONE_NEWPID,
		CLONE_NEWNET, CLONE_NEWIPC, CLONE_NEWUTS, CLONE_NEWCGROUP,
		CLONE_NEWUSER | CLONE_NEWNET };
	unsigned long plain = 0;

	(void)state;
	assert_int_equal(in_child(true, do_clone, &plain), 0);
	for (size_t i = 0; i < PKG_ARRAY_LEN(spaces); i++)
		assert_int_equal(in_child(true, do_clone, &spaces[i]), EPERM);
}

static long
start_program(const void *argument)
{
	int status;
	/* posix_spawn and pthreads fall back from clone3. */
	(void)argument;
	status = system("/bin/sh -c 'true | cat; exit 7'");
	errno = ECHILD;
	return WIFEXITED(status) && WEXITSTATUS(status) == 7 ? 0 : -1;
}

static void
ordinary_programs_run_under_it(void **state)
{
	(void)state;
	assert_int_equal(in_child(true, start_program, NULL), 0);
}

#ifdef __x86_64__
static long
do_x32(const void *argument)
{
	(void)argument;
	return syscall(0x40000000L | SYS_getpid);
}

static long
do_i386(const void *argument)
{
	long result = 20; /* getpid */

	(void)argument;
	__asm__ volatile("int $0x80" : "+a"(result) : : "memory");
	if (result < 0) {
		errno = (int)-result;
		return -1;
	}
	return 0;
}

static void
other_abis_have_no_calls_at_all(void **state)
{
	(void)state;
	assert_int_equal(in_child(true, do_x32, NULL), EPERM);
	/* A kernel without 32-bit support kills the control with SIGSEGV. */
	if (access("/lib/ld-linux.so.2", F_OK) == 0)
		assert_int_equal(in_child(false, do_i386, NULL), 0);
	assert_int_equal(in_child(true, do_i386, NULL), EPERM);
}
#endif

static void
the_program_is_sealed_and_each_reader_has_its_own_offset(void **state)
{
	pkg_autofd int fd = sandbox_seccomp_export(NULL);
	pkg_autofd int first = sandbox_seccomp_reopen(fd, NULL);
	pkg_autofd int second = sandbox_seccomp_reopen(fd, NULL);
	char a[64];
	char b[64];

	(void)state;
	assert_int_equal(read(first, a, sizeof(a)), sizeof(a));
	assert_int_equal(read(second, b, sizeof(b)), sizeof(b));
	assert_memory_equal(a, b, sizeof(a));
	assert_int_equal(write(fd, "x", 1), -1);
	assert_true(fcntl(first, F_GETFD) & FD_CLOEXEC);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			every_unconditional_row_refuses_with_its_errno_and_only_under_the_filter),
		cmocka_unit_test(every_row_says_why),
		cmocka_unit_test(sockets_are_of_four_families_and_netlink_is_for_routes_only),
		cmocka_unit_test(pairs_are_unix_only),
		cmocka_unit_test(terminal_injection_is_refused_whatever_the_upper_half_says),
		cmocka_unit_test(a_process_can_be_made_but_not_a_namespace),
		cmocka_unit_test(ordinary_programs_run_under_it),
#ifdef __x86_64__
		cmocka_unit_test(other_abis_have_no_calls_at_all),
#endif
		cmocka_unit_test(the_program_is_sealed_and_each_reader_has_its_own_offset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
