/* pkg-probe ATTEMPT...
 *
 * Tries what its arguments name, one after the other, and prints what happened as one line of JSON:
 * {"pkg-probe":1,"results":[0,13,-1,...]}: 0 it worked, N it failed with errno N, -1 unknown
 * attempt. It judges nothing: whoever started it knows what should work. It runs inside the
 * boundary that it tests, with the same command line as everything else there, and outside as the
 * control. Uses the C library only. */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#define CONNECT_WAIT_MS 1000

static int
result(long rc)
{
	return rc < 0 ? errno : 0;
}

static int
try_read(const char *path)
{
	char byte;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	int rc;

	if (fd < 0)
		return errno;
	rc = result(read(fd, &byte, 1));
	/* A directory was opened: its names can be read. */
	if (rc == EISDIR)
		rc = 0;
	close(fd);
	return rc;
}

/* Makes a file there; one that exists is opened for writing and left as it is. */
static int
try_write(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	int rc;

	if (fd < 0)
		return errno;
	rc = result(write(fd, "x", 1));
	close(fd);
	return rc;
}

static int
try_open_for_writing(const char *path)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

static int
try_mkdir(const char *path)
{
	int rc = result(mkdir(path, 0700));

	if (rc == 0)
		rmdir(path);
	return rc;
}

static int
connect_to(int type, const struct sockaddr *address, socklen_t len)
{
	int fd = socket(address->sa_family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct pollfd wait = { .fd = fd, .events = POLLOUT };
	socklen_t size = sizeof(int);
	int rc;

	if (fd < 0)
		return errno;
	rc = result(connect(fd, address, len));
	if (rc == EINPROGRESS) {
		rc = ETIMEDOUT;
		if (poll(&wait, 1, CONNECT_WAIT_MS) > 0 &&
			getsockopt(fd, SOL_SOCKET, SO_ERROR, &rc, &size) < 0)
			rc = errno;
	}
	close(fd);
	return rc;
}

static int
try_inet(int type, const char *text, int port)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };

	if (inet_pton(AF_INET, text, &address.sin_addr) != 1)
		return EINVAL;
	return connect_to(type, (const struct sockaddr *)&address, sizeof(address));
}

static int
try_inet6(const char *text, int port)
{
	struct sockaddr_in6 address = { .sin6_family = AF_INET6,
		.sin6_port = htons((uint16_t)port) };

	if (inet_pton(AF_INET6, text, &address.sin6_addr) != 1)
		return EINVAL;
	return connect_to(SOCK_DGRAM, (const struct sockaddr *)&address, sizeof(address));
}

static int
try_tcp(const char *port)
{
	return try_inet(SOCK_STREAM, "127.0.0.1", atoi(port));
}

static int
try_udp(const char *host)
{
	return try_inet(SOCK_DGRAM, host, 53);
}

static int
try_udp6(const char *host)
{
	return try_inet6(host, 53);
}

static int
connect_unix(const char *name, int abstract)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t len = strlen(name);

	if (len + 1 >= sizeof(address.sun_path))
		return ENAMETOOLONG;
	memcpy(address.sun_path + abstract, name, len);
	return connect_to(SOCK_STREAM, (const struct sockaddr *)&address,
		(socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + 1));
}

static int
try_unix(const char *path)
{
	return connect_unix(path, 0);
}

static int
try_abstract(const char *name)
{
	return connect_unix(name, 1);
}

static int
try_signal(const char *pid)
{
	return result(kill(atoi(pid), 0));
}

static int
try_socket(const char *family)
{
	int fd = socket(atoi(family), SOCK_RAW | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

/* "status:CapEff=0000000000000000": 0 when /proc/self/status says so. */
static int
try_status(const char *what)
{
	char line[512];
	size_t len = strcspn(what, "=");
	int rc = ENOENT;
	FILE *file = fopen("/proc/self/status", "re");

	if (!file)
		return errno;
	while (what[len] && fgets(line, sizeof(line), file)) {
		char *value = line + len + 1;

		if (strncmp(line, what, len) != 0 || line[len] != ':')
			continue;
		value += strspn(value, " \t");
		value[strcspn(value, "\t\n")] = '\0';
		rc = strcmp(value, what + len + 1) == 0 ? 0 : EINVAL;
	}
	fclose(file);
	return rc;
}

static int
try_pid(const char *most)
{
	return getpid() <= atoi(most) ? 0 : ERANGE;
}

/* Nothing is open but the standard streams. */
static int
try_descriptors(const char *most)
{
	int limit = atoi(most);
	struct dirent *entry;
	DIR *dir = opendir("/proc/self/fd");
	int rc = 0;

	if (!dir)
		return errno;
	while ((entry = readdir(dir))) {
		int fd = atoi(entry->d_name);

		if (entry->d_name[0] != '.' && fd > limit && fd != dirfd(dir))
			rc = EEXIST;
	}
	closedir(dir);
	return rc;
}

static int
try_core(const char *unused)
{
	char path[] = "/proc/self/limits";
	char line[256];
	FILE *file = fopen(path, "re");
	int rc = ENOENT;

	(void)unused;
	if (!file)
		return errno;
	while (fgets(line, sizeof(line), file)) {
		if (strncmp(line, "Max core file size", 18) == 0)
			rc = strstr(line, " 0 ") ? 0 : EINVAL;
	}
	fclose(file);
	return rc;
}

static int
try_call(const char *name)
{
	static const char what[] = "user";
	int pair[2];

	if (strcmp(name, "mount") == 0)
		/* No such file system: harmless where it is allowed. */
		return result(mount("none", "/", "pkg-probe", 0, NULL));
	if (strcmp(name, "unshare") == 0)
		return result(unshare(CLONE_NEWUSER));
	if (strcmp(name, "ptrace") == 0)
		return result(ptrace(PTRACE_TRACEME, 0, NULL, NULL));
	if (strcmp(name, "keyctl") == 0)
		return result(
			syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 0));
	if (strcmp(name, "add_key") == 0)
		return result(syscall(SYS_add_key, what, what, what, 4, KEY_SPEC_PROCESS_KEYRING));
	if (strcmp(name, "bpf") == 0)
		return result(syscall(SYS_bpf, 0, NULL, 0));
	if (strcmp(name, "io_uring") == 0)
		return result(syscall(SYS_io_uring_setup, 1, NULL));
	if (strcmp(name, "tiocsti") == 0)
		return result(ioctl(STDIN_FILENO, TIOCSTI, "x"));
	if (strcmp(name, "clone3") == 0)
		return result(syscall(SYS_clone3, NULL, 0));
	if (strcmp(name, "socketpair") == 0)
		return result(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
	return -1;
}

static const struct {
	const char *name;
	int (*attempt)(const char *argument);
} attempts[] = {
	{ "read", try_read },
	{ "write", try_write },
	{ "open", try_open_for_writing },
	{ "mkdir", try_mkdir },
	{ "tcp", try_tcp },
	{ "udp", try_udp },
	{ "udp6", try_udp6 },
	{ "unix", try_unix },
	{ "abstract", try_abstract },
	{ "signal", try_signal },
	{ "socket", try_socket },
	{ "status", try_status },
	{ "pid", try_pid },
	{ "descriptors", try_descriptors },
	{ "core", try_core },
	{ "call", try_call },
};

static int
attempt(const char *text)
{
	size_t len = strcspn(text, ":");

	for (size_t i = 0; text[len] && i < sizeof(attempts) / sizeof(attempts[0]); i++) {
		if (strlen(attempts[i].name) == len && strncmp(attempts[i].name, text, len) == 0)
			return attempts[i].attempt(text + len + 1);
	}
	return -1;
}

int
main(int argc, char **argv)
{
	printf("{\"pkg-probe\":1,\"results\":[");
	for (int i = 1; i < argc; i++)
		printf("%s%d", i > 1 ? "," : "", attempt(argv[i]));
	printf("]}\n");
	return fflush(stdout) == 0 ? 0 : 1;
}
