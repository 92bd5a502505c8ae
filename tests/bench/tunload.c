/* tunload MODE CLIENTS SECONDS PROXY TARGET BYTES [PID,...]: load for a proxy, one epoll thread.
 *
 * MODE   rps   a CONNECT tunnel for each response, opened and closed
 *        keep  CLIENTS tunnels, one response after the other on each
 *        bulk  the same, counted in bytes
 *        plain an absolute-form GET on a new connection for each response
 *        idle  opens CLIENTS tunnels and holds them
 * PROXY is 127.0.0.1:PORT, or "-": no proxy. TARGET is HOST:PORT as the proxy is told. Every response has BYTES bytes.
 * With PIDs their processor time and memory (and their children's) are measured as well. One line of JSON comes out. */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define HEAD_MAX 4096
#define READ_MAX (256 << 10)
#define PROCESSES_MAX 8192
#define IDLE_WAIT 30.0

enum mode { RPS, KEEP, BULK, PLAIN, IDLE };
enum state { CONNECTING, TUNNELLING, HEAD, BODY, HOLDING };

struct client {
	int fd;
	enum state state;
	size_t head_len, need, got;
	double began;
	char head[HEAD_MAX];
};

static enum mode mode;
static bool proxied;
static struct sockaddr_in address;
static char connect_text[1024], get_text[1024];
static char scratch[READ_MAX];
static int epoll;
static long done, errors;
static double bytes;
static float *latencies;
static size_t latency_count;
static int roots[64], root_count;
static int processes[PROCESSES_MAX], process_count;

static double
now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- what the proxy uses ---- */

static void
add_process(int pid)
{
	char path[128];
	DIR *dir;
	struct dirent *entry;

	for (int i = 0; i < process_count; i++)
		if (processes[i] == pid)
			return;
	if (process_count < PROCESSES_MAX)
		processes[process_count++] = pid;
	(void)snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		FILE *file;
		int child;

		(void)snprintf(
			path, sizeof(path), "/proc/%d/task/%.20s/children", pid, entry->d_name);
		file = entry->d_name[0] == '.' ? NULL : fopen(path, "re");
		while (file && fscanf(file, "%9d", &child) == 1)
			add_process(child);
		if (file)
			fclose(file);
	}
	if (dir)
		closedir(dir);
}

static void
find_processes(void)
{
	process_count = 0;
	for (int i = 0; i < root_count; i++)
		add_process(roots[i]);
}

/* Seconds, with those of children that were waited for. */
static double
processor_time(void)
{
	double ticks = 0;

	find_processes();
	for (int i = 0; i < process_count; i++) {
		char path[64], text[1024];
		unsigned long user, system, child_user, child_system;
		const char *rest;
		FILE *file;
		size_t n;

		(void)snprintf(path, sizeof(path), "/proc/%d/stat", processes[i]);
		file = fopen(path, "re");
		if (!file)
			continue;
		n = fread(text, 1, sizeof(text) - 1, file);
		fclose(file);
		text[n] = '\0';
		rest = strrchr(text, ')');
		if (rest &&
			sscanf(rest + 2,
				"%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %20lu %20lu %20lu "
				"%20lu",
				&user, &system, &child_user, &child_system) == 4)
			ticks += (double)(user + system + child_user + child_system);
	}
	return ticks / (double)sysconf(_SC_CLK_TCK);
}

/* KiB, shared pages in proportion. */
static double
memory(void)
{
	double sum = 0;

	find_processes();
	for (int i = 0; i < process_count; i++) {
		char path[64], line[256];
		FILE *file;
		long value;

		(void)snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", processes[i]);
		file = fopen(path, "re");
		while (file && fgets(line, sizeof(line), file))
			if (sscanf(line, "Pss: %20ld", &value) == 1)
				sum += (double)value;
		if (file)
			fclose(file);
	}
	return sum;
}

/* ---- the clients ---- */

static void
watch(struct client *client, uint32_t events, int operation)
{
	struct epoll_event event = { .events = events, .data.ptr = client };

	(void)epoll_ctl(epoll, operation, client->fd, &event);
}

static void
dial(struct client *client)
{
	const int one = 1;

	client->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (client->fd < 0) {
		perror("tunload: socket");
		exit(1);
	}
	(void)setsockopt(client->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	client->began = now();
	client->state = CONNECTING;
	client->head_len = client->got = client->need = 0;
	if (connect(client->fd, (struct sockaddr *)&address, sizeof(address)) < 0 &&
		errno != EINPROGRESS) {
		perror("tunload: connect");
		exit(1);
	}
	watch(client, EPOLLOUT, EPOLL_CTL_ADD);
}

static void
again(struct client *client, bool failed)
{
	errors += failed;
	close(client->fd);
	dial(client);
}

static void
say(struct client *client, const char *text, enum state next)
{
	client->state = next;
	client->head_len = client->got = client->need = 0;
	if (send(client->fd, text, strlen(text), MSG_NOSIGNAL) != (ssize_t)strlen(text))
		errors++;
}

static void
complete(struct client *client)
{
	double t = now();

	if (latency_count % 65536 == 0)
		latencies = realloc(latencies, (latency_count + 65536) * sizeof(*latencies));
	if (!latencies)
		abort();
	latencies[latency_count++] = (float)(t - client->began);
	done++;
	if (mode == KEEP || mode == BULK) {
		client->began = t;
		say(client, get_text, HEAD);
	} else {
		again(client, false);
	}
}

static void
connected(struct client *client)
{
	socklen_t len = sizeof(int);
	int error = 0;

	(void)getsockopt(client->fd, SOL_SOCKET, SO_ERROR, &error, &len);
	if (error) {
		again(client, true);
		return;
	}
	watch(client, EPOLLIN, EPOLL_CTL_MOD);
	if (proxied && mode != PLAIN) {
		say(client, connect_text, TUNNELLING);
	} else if (mode == IDLE) {
		client->state = HOLDING;
		done++;
	} else {
		say(client, get_text, HEAD);
	}
}

static void
head_is_there(struct client *client, const char *end)
{
	static bool told;
	const char *length;

	if (strncmp(client->head + 8, " 200", 4) != 0) {
		if (!told)
			fprintf(stderr, "tunload: %.100s\n", client->head);
		told = true;
		again(client, true);
	} else if (client->state == TUNNELLING) {
		if (mode == IDLE) {
			client->state = HOLDING;
			done++;
		} else {
			say(client, get_text, HEAD);
		}
	} else if (!(length = strcasestr(client->head, "content-length:"))) {
		again(client, true);
	} else {
		client->need = strtoul(length + 15, NULL, 10);
		client->got = client->head_len - (size_t)(end + 4 - client->head);
		bytes += (double)client->got;
		client->state = BODY;
		if (client->got >= client->need)
			complete(client);
	}
}

static void
readable(struct client *client)
{
	bool body = client->state == BODY || client->state == HOLDING;
	ssize_t n = body ? recv(client->fd, scratch, READ_MAX, 0)
			 : recv(client->fd, client->head + client->head_len,
				   HEAD_MAX - 1 - client->head_len, 0);
	const char *end;

	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0) {
		again(client, true);
	} else if (client->state == BODY) {
		bytes += (double)n;
		client->got += (size_t)n;
		if (client->got >= client->need)
			complete(client);
	} else if (!body) {
		client->head_len += (size_t)n;
		client->head[client->head_len] = '\0';
		end = strstr(client->head, "\r\n\r\n");
		if (end)
			head_is_there(client, end);
	}
}

static int
compare(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;

	return (x > y) - (x < y);
}

static double
run(long clients, double seconds)
{
	struct client *all = calloc((size_t)clients, sizeof(*all));
	struct epoll_event events[256];
	double began = now();

	for (long i = 0; all && i < clients; i++)
		dial(&all[i]);
	for (;;) {
		int count = epoll_wait(epoll, events, 256, 50);
		double passed = now() - began;

		if (mode == IDLE ? done + errors >= clients || passed > IDLE_WAIT
				 : passed > seconds)
			return passed;
		for (int i = 0; i < count; i++) {
			struct client *client = events[i].data.ptr;

			if (client->state == CONNECTING)
				connected(client);
			else
				readable(client);
		}
	}
}

/* "Proxy-Authorization: ..." for the name and password in HTTPS_PROXY, which some sandboxes' own proxies want. */
static void
authorization(char *out, size_t size)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *proxy = getenv("HTTPS_PROXY");
	const char *start = proxy ? strstr(proxy, "://") : NULL;
	const char *end = start ? strrchr(start, '@') : NULL;
	size_t used = 0;

	out[0] = '\0';
	if (!end || (size_t)(end - start) * 2 + 64 > size)
		return;
	used = (size_t)snprintf(out, size, "Proxy-Authorization: Basic ");
	for (start += 3; start < end; start += 3) {
		long left = end - start;
		unsigned value = (unsigned)(unsigned char)start[0] << 16 |
			(left > 1 ? (unsigned)(unsigned char)start[1] << 8 : 0) |
			(left > 2 ? (unsigned char)start[2] : 0);

		out[used++] = digits[value >> 18];
		out[used++] = digits[value >> 12 & 63];
		out[used++] = left > 1 ? digits[value >> 6 & 63] : '=';
		out[used++] = left > 2 ? digits[value & 63] : '=';
	}
	(void)snprintf(out + used, size - used, "\r\n");
}

static void
prepare(char **argv)
{
	static const char *const names[] = { "rps", "keep", "bulk", "plain", "idle" };
	const char *proxy = strcmp(argv[4], "-") == 0 ? argv[5] : argv[4];
	bool kept;
	struct rlimit files;
	char credentials[512];

	proxied = proxy == argv[4];
	for (int i = 0; i < 5; i++)
		if (strcmp(argv[1], names[i]) == 0)
			mode = (enum mode)i;
	authorization(credentials, sizeof(credentials));
	kept = mode == KEEP || mode == BULK;
	address.sin_family = AF_INET;
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	address.sin_port = htons((uint16_t)atoi(strrchr(proxy, ':') + 1));
	(void)snprintf(connect_text, sizeof(connect_text),
		"CONNECT %s HTTP/1.1\r\nHost: %s\r\n%s\r\n", argv[5], argv[5], credentials);
	(void)snprintf(get_text, sizeof(get_text), "GET %s%s/%s HTTP/1.1\r\nHost: %s\r\n%s\r\n",
		proxied && mode == PLAIN ? "http://" : "", proxied && mode == PLAIN ? argv[5] : "",
		argv[6], argv[5], kept ? "" : "Connection: close\r\n");
	(void)getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &files);
	epoll = epoll_create1(EPOLL_CLOEXEC);
}

int
main(int argc, char **argv)
{
	double cpu_before, memory_before, passed, cpu;

	if (argc < 7) {
		fprintf(stderr,
			"usage: tunload MODE CLIENTS SECONDS PROXY TARGET BYTES [PID,...]\n");
		return 2;
	}
	for (char *pid = argc > 7 ? strtok(argv[7], ",") : NULL; pid; pid = strtok(NULL, ","))
		roots[root_count++] = atoi(pid);
	prepare(argv);
	memory_before = memory();
	cpu_before = processor_time();
	passed = run(atol(argv[2]), atof(argv[3]));
	cpu = processor_time() - cpu_before;
	if (mode == IDLE)
		(void)usleep(500000);
	if (latency_count)
		qsort(latencies, latency_count, sizeof(*latencies), compare);
	printf("{\"per_second\":%.1f,\"mb_per_second\":%.2f,\"errors\":%ld,\"done\":%ld,\"p50_ms\":"
	       "%.3f,\"p99_ms\":%.3f,"
	       "\"cpu_us_each\":%.2f,\"cpu_s_per_gb\":%.4f,\"memory_before_kib\":%.0f,\"memory_"
	       "kib\":%.0f,\"processes\":%d}\n",
		(double)done / passed, bytes / passed / 1e6, errors, done,
		latency_count ? (double)latencies[latency_count / 2] * 1e3 : 0,
		latency_count ? (double)latencies[latency_count * 99 / 100] * 1e3 : 0,
		done ? cpu * 1e6 / (double)done : 0, bytes > 0 ? cpu / (bytes / 1e9) : 0,
		memory_before, memory(), process_count);
	return 0;
}
