#include "sandbox/pin.h"

#include "core/json.h"
#include "core/text.h"
#include "core/time.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PROC_MAX 65536
#define STEP_MS 10
#define COMMAND_INSIDE 2 /* bwrap's init is 1 and forks once */

void
sandbox_pin_clear(struct sandbox_pin *pin)
{
	pkg_close(&pin->status_fd);
	pkg_close(&pin->sync_fd);
	pkg_close(&pin->init_fd);
	pkg_close(&pin->command_fd);
	pkg_buf_clear(&pin->text);
	pin->init = 0;
}

static int
parse_line(const char *line, size_t len, struct sandbox_status_text *out, struct pkg_error *err)
{
	pkg_cleanup(pkg_json_put) struct json_object *document = pkg_json_parse(line, len, err);
	int64_t child;
	int64_t code;

	if (!document)
		return pkg_error_prefix(err, "bwrap's status");
	if (!json_object_is_type(document, json_type_object))
		return pkg_error_set(err, PKG_E_INVALID, "bwrap's status is not an object");
	child = pkg_json_int(document, "child-pid", 0);
	code = pkg_json_int(document, "exit-code", -1);
	if (child < 0 || child > INT_MAX || code < -1 || code > 255 ||
		(child > 0 && out->child > 0 && child != out->child))
		return pkg_error_set(err, PKG_E_INVALID,
			"bwrap's status names child %lld and exit code %lld", (long long)child,
			(long long)code);
	if (child > 0)
		out->child = (pid_t)child;
	if (code >= 0)
		out->exit_code = (int)code;
	return 0;
}

int
sandbox_pin_parse(
	const char *text, size_t len, struct sandbox_status_text *out, struct pkg_error *err)
{
	struct sandbox_status_text found = { .exit_code = -1 };

	while (len > 0) {
		const char *end = memchr(text, '\n', len);
		size_t line = end ? (size_t)(end - text) : 0;

		if (!end)
			break;
		if (line > 0 && parse_line(text, line, &found, err) < 0)
			return -1;
		text += line + 1;
		len -= line + 1;
	}
	*out = found;
	return 0;
}

static int
parse_field(const char *line, const char *end, pid_t *out)
{
	const char *last = end;
	long value = 0;

	while (last > line && last[-1] >= '0' && last[-1] <= '9')
		last--;
	if (last == end || end - last > 10 || (last > line && last[-1] != ' ' && last[-1] != '\t'))
		return -1;
	for (; last < end; last++)
		value = value * 10 + (*last - '0');
	if (value > INT_MAX || *out != 0)
		return -1;
	*out = (pid_t)value;
	return 0;
}

int
sandbox_pin_parse_proc(const char *text, size_t len, pid_t *parent, pid_t *inner)
{
	const char *stop = text + len;
	pid_t ppid = 0;
	pid_t nspid = 0;

	while (text < stop) {
		const char *end = memchr(text, '\n', (size_t)(stop - text));

		if (!end)
			end = stop;
		if ((end - text > 6 && memcmp(text, "PPid:\t", 6) == 0 &&
			    parse_field(text + 6, end, &ppid) < 0) ||
			(end - text > 7 && memcmp(text, "NSpid:\t", 7) == 0 &&
				parse_field(text + 7, end, &nspid) < 0))
			return -1;
		text = end + 1;
	}
	if (ppid == 0 || nspid == 0)
		return -1;
	*parent = ppid;
	*inner = nspid;
	return 0;
}

int
sandbox_pin_read(struct sandbox_pin *pin, struct sandbox_status_text *out, struct pkg_error *err)
{
	char chunk[1024];
	ssize_t n;

	while (pin->status_fd >= 0 && (n = read(pin->status_fd, chunk, sizeof(chunk))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			break;
		if (pin->text.len + (size_t)n > SANDBOX_STATUS_MAX)
			return pkg_error_set(err, PKG_E_TOO_LARGE,
				"bwrap's status is longer than %d bytes", SANDBOX_STATUS_MAX);
		pkg_buf_add_mem(&pin->text, chunk, (size_t)n);
	}
	return sandbox_pin_parse(pkg_buf_str(&pin->text), pin->text.len, out, err);
}

/* The init keeps its end of the pipe open for as long as it lives. */
static bool
init_lives(const struct sandbox_pin *pin)
{
	struct pollfd look = { .fd = pin->sync_fd, .events = POLLIN };

	return poll(&look, 1, 0) == 0;
}

static int
open_pidfd(pid_t pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

int
sandbox_pin_init(struct sandbox_pin *pin, int timeout_ms, struct pkg_error *err)
{
	int64_t deadline = pkg_time_mono_ms() + timeout_ms;
	struct sandbox_status_text told = { 0 };

	while (pin->init == 0) {
		struct pollfd look = { .fd = pin->status_fd, .events = POLLIN };
		pkg_autofd int fd = -1;

		if (sandbox_pin_read(pin, &told, err) < 0)
			return -1;
		if (told.child > 0) {
			fd = open_pidfd(told.child);
			/* Alive after the descriptor was opened, so it was the init that was
			 * opened. */
			if (fd < 0 || !init_lives(pin))
				return pkg_error_set(
					err, PKG_E_NOT_FOUND, "the sandbox has ended already");
			pin->init_fd = pkg_steal_fd(&fd);
			pin->init = told.child;
			return 0;
		}
		if (pkg_time_mono_ms() >= deadline)
			return pkg_error_set(err, PKG_E_NOT_FOUND,
				"bwrap did not name the sandbox's first process within %d ms",
				timeout_ms);
		(void)poll(&look, 1, STEP_MS);
	}
	return 0;
}

/* procfs: at most so much, and never through a link. */
static int
read_proc(const char *path, struct pkg_buf *out)
{
	pkg_autofd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	char chunk[4096];
	ssize_t n;

	pkg_buf_truncate(out, 0);
	if (fd < 0)
		return -1;
	while ((n = read(fd, chunk, sizeof(chunk))) > 0) {
		if (out->len + (size_t)n > PROC_MAX)
			return -1;
		pkg_buf_add_mem(out, chunk, (size_t)n);
	}
	return n < 0 ? -1 : 0;
}

static bool
is_command(pid_t pid, pid_t init, struct pkg_buf *scratch)
{
	char path[64];
	pid_t parent;
	pid_t inner;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	return read_proc(path, scratch) == 0 &&
		sandbox_pin_parse_proc(pkg_buf_str(scratch), scratch->len, &parent, &inner) == 0 &&
		parent == init && inner == COMMAND_INSIDE;
}

/* -1: not there (yet). */
static int
find_command(struct sandbox_pin *pin)
{
	pkg_cleanup_buf struct pkg_buf children = { 0 };
	pkg_cleanup_buf struct pkg_buf scratch = { 0 };
	char path[64];
	char *next;

	(void)snprintf(
		path, sizeof(path), "/proc/%d/task/%d/children", (int)pin->init, (int)pin->init);
	if (read_proc(path, &children) < 0)
		return -1;
	next = children.data;
	for (long pid; next && (pid = strtol(next, &next, 10)) > 0;) {
		pkg_autofd int fd = -1;

		if (!is_command((pid_t)pid, pin->init, &scratch))
			continue;
		fd = open_pidfd((pid_t)pid);
		/* The same answer after the descriptor was opened: it is that process's. */
		if (fd >= 0 && is_command((pid_t)pid, pin->init, &scratch) && init_lives(pin)) {
			pin->command_fd = pkg_steal_fd(&fd);
			pin->command = (pid_t)pid;
			return 0;
		}
	}
	return -1;
}

int
sandbox_pin_command(struct sandbox_pin *pin, int timeout_ms, struct pkg_error *err)
{
	int64_t deadline = pkg_time_mono_ms() + timeout_ms;

	if (sandbox_pin_init(pin, timeout_ms, err) < 0)
		return -1;
	while (pin->command_fd < 0 && find_command(pin) < 0) {
		if (!init_lives(pin))
			return pkg_error_set(err, PKG_E_NOT_FOUND, "the sandbox has ended already");
		if (pkg_time_mono_ms() >= deadline)
			return pkg_error_set(err, PKG_E_NOT_FOUND,
				"the sandbox's command was not there within %d ms", timeout_ms);
		pkg_sleep_ms(STEP_MS);
	}
	return 0;
}

int
sandbox_pin_signal(struct sandbox_pin *pin, int signal, struct pkg_error *err)
{
	if (pin->command_fd < 0)
		return pkg_error_set(err, PKG_E_NOT_FOUND, "the sandbox's command is not known");
	if (syscall(SYS_pidfd_send_signal, pin->command_fd, signal, NULL, 0) < 0)
		return errno == ESRCH
			? pkg_error_set(err, PKG_E_NOT_FOUND, "the command has ended already")
			: pkg_error_errno(err, errno, "signal the sandbox's command");
	return 0;
}

void
sandbox_pin_kill(struct sandbox_pin *pin)
{
	if (pin->init_fd >= 0)
		(void)syscall(SYS_pidfd_send_signal, pin->init_fd, SIGKILL, NULL, 0);
}

static bool
wait_readable(int fd, int64_t deadline)
{
	for (;;) {
		struct pollfd look = { .fd = fd, .events = POLLIN };
		int64_t left = deadline - pkg_time_mono_ms();
		int n = poll(&look, 1, left < 0 ? 0 : (int)left);

		if (n > 0)
			return true;
		if (n == 0 || errno != EINTR)
			return false;
	}
}

/* Its files are closed a moment before the rest of its namespace is gone, so a pipe alone is not
 * enough. Should the number pass to another process in that moment, this only waits in vain. */
static bool
wait_number(pid_t pid, int64_t deadline)
{
	pkg_autofd int fd = pid > 0 ? open_pidfd(pid) : -1;

	return fd < 0 || wait_readable(fd, deadline);
}

bool
sandbox_pin_wait_gone(struct sandbox_pin *pin, int timeout_ms)
{
	int64_t deadline = pkg_time_mono_ms() + timeout_ms;
	struct sandbox_status_text told = { 0 };

	/* Ready when the init is a zombie, which it becomes after the last of its namespace. */
	if (pin->init_fd >= 0)
		return wait_readable(pin->init_fd, deadline);
	if (!wait_readable(pin->sync_fd, deadline))
		return false;
	if (sandbox_pin_read(pin, &told, NULL) < 0)
		return true;
	return wait_number(told.child, deadline);
}
