/* The few functions of the C library that pkg-shim and pkg-enter call, without the library.
 *
 * Every launch of a sandbox runs one of them. The start of a C library asks the processor for its features
 * (cpuid), and under a hypervisor each of those some thirty questions leaves the virtual machine: measured here
 * 0.7 ms of a launch of 4.7 ms, for a program that makes eight system calls. Where this does not link (another
 * processor, a build with sanitizers) the two programs use the library as usual. */
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

char **environ;
static int error_number;

int *
__errno_location(void)
{
	return &error_number;
}

#if defined(__x86_64__)
static long
kernel(long number, long a, long b, long c, long d, long e)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
			 : "rcx", "r11", "memory");
	return result;
}
__asm__(".text\n.globl _start\n.type _start,@function\n_start:\n"
	"	xor %ebp, %ebp\n	mov %rsp, %rdi\n	and $-16, %rsp\n	call "
	"bare_start\n	hlt\n");
#elif defined(__aarch64__)
static long
kernel(long number, long a, long b, long c, long d, long e)
{
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;

	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4)
			 : "memory");
	return x0;
}
__asm__(".text\n.globl _start\n.type _start,%function\n_start:\n"
	"	mov x29, #0\n	mov x30, #0\n	mov x0, sp\n	and sp, x0, #-16\n	bl "
	"bare_start\n");
#endif

static long
call(long number, long a, long b, long c, long d, long e)
{
	long result = kernel(number, a, b, c, d, e);

	if (result >= 0 || result < -4095)
		return result;
	error_number = (int)-result;
	return -1;
}

int main(int argc, char **argv);
void bare_start(long *stack);

void
bare_start(long *stack)
{
	int argc = (int)stack[0];
	char **argv = (char **)(stack + 1);

	environ = argv + argc + 1;
	for (;;)
		(void)kernel(SYS_exit_group, main(argc, argv), 0, 0, 0, 0);
}

/* The compiler calls these two by itself. */
void *
memset(void *to, int value, size_t len)
{
	unsigned char *bytes = to;

	while (len-- > 0)
		*bytes++ = (unsigned char)value;
	return to;
}

void *
memcpy(void *restrict to, const void *restrict from, size_t len)
{
	unsigned char *out = to;
	const unsigned char *in = from;

	while (len-- > 0)
		*out++ = *in++;
	return to;
}

size_t
strlen(const char *text)
{
	size_t len = 0;

	while (text[len])
		len++;
	return len;
}

int
strcmp(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return (unsigned char)*a - (unsigned char)*b;
}

int
socket(int domain, int type, int protocol)
{
	return (int)call(SYS_socket, domain, type, protocol, 0, 0);
}

int
setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
	return (int)call(SYS_setsockopt, fd, level, name, (long)value, (long)len);
}

int
bind(int fd, const struct sockaddr *address, socklen_t len)
{
	return (int)call(SYS_bind, fd, (long)address, (long)len, 0, 0);
}

int
listen(int fd, int backlog)
{
	return (int)call(SYS_listen, fd, backlog, 0, 0, 0);
}

ssize_t
sendmsg(int fd, const struct msghdr *message, int flags)
{
	return call(SYS_sendmsg, fd, (long)message, flags, 0, 0);
}

int
ioctl(int fd, unsigned long request, ...)
{
	__builtin_va_list args;
	long argument;

	__builtin_va_start(args, request);
	argument = __builtin_va_arg(args, long);
	__builtin_va_end(args);
	return (int)call(SYS_ioctl, fd, (long)request, argument, 0, 0);
}

int
close(int fd)
{
	return (int)call(SYS_close, fd, 0, 0, 0, 0);
}

ssize_t
write(int fd, const void *data, size_t len)
{
	return call(SYS_write, fd, (long)data, (long)len, 0, 0);
}

int
execv(const char *path, char *const argv[])
{
	return (int)call(SYS_execve, (long)path, (long)argv, (long)environ, 0, 0);
}

int
setpgid(pid_t pid, pid_t group)
{
	return (int)call(SYS_setpgid, pid, group, 0, 0, 0);
}

pid_t
getpgrp(void)
{
	return (pid_t)call(SYS_getpgid, 0, 0, 0, 0, 0);
}

int
isatty(int fd)
{
	struct {
		unsigned char bytes[64]; /* the kernel's struct termios is smaller */
	} modes;

	return ioctl(fd, TCGETS, (long)&modes) == 0;
}

int
tcsetpgrp(int fd, pid_t group)
{
	int number = group;

	return ioctl(fd, TIOCSPGRP, (long)&number);
}

/* To ignore, and what it was before: a handler of its own would need a restorer. */
__sighandler_t
signal(int number, __sighandler_t action)
{
	struct {
		__sighandler_t action;
		unsigned long flags;
		void *restorer;
		uint64_t mask;
	} now = { .action = action }, before = { 0 };

	return call(SYS_rt_sigaction, number, (long)&now, (long)&before, sizeof(now.mask), 0) < 0
		? SIG_ERR
		: before.action;
}
