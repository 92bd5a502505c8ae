#include "sandbox/watch.h"

#include "core/text.h"
#include "core/time.h"
#include "core/tree.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#define WALK_EVERY_MS 10000 /* even when free space says nothing: others may be deleting */
#define WALK_AGAIN_MS 1000
#define WALK_SHARE 20 /* at most a twentieth of the time goes into walking */
#define THREADS_PER_PROCESS 16
#define OPEN_MAX_SEEN 256

struct sandbox_watch {
	struct sandbox_limits limits;
	struct pkg_argv *writable;
	int64_t *free_at_start; /* one per writable path */
	struct timespec began;
	int64_t next_walk; /* monotonic ms */
	int64_t earliest_walk;
	/* Opened once the namespace has its own: from then on no reused number can mislead. */
	int proc; /* -1 until then */
	int tmp;
	int shm;
	struct sandbox_usage usage;
};

static int64_t
free_bytes(const char *path)
{
	struct statfs st;

	return statfs(path, &st) == 0 ? (int64_t)st.f_bfree * (int64_t)st.f_bsize : 0;
}

struct sandbox_watch *
sandbox_watch_new(const struct sandbox_limits *limits, const struct pkg_argv *writable)
{
	struct sandbox_watch *watch = pkg_xcalloc(1, sizeof(*watch));
	int64_t now = pkg_time_mono_ms();

	watch->limits = *limits;
	watch->writable = pkg_argv_dup(writable);
	watch->free_at_start = pkg_xcalloc(writable->count, sizeof(int64_t));
	for (size_t i = 0; i < writable->count; i++)
		watch->free_at_start[i] = free_bytes(writable->items[i]);
	/* Coarse: the clock that file systems stamp with. */
	(void)clock_gettime(CLOCK_REALTIME_COARSE, &watch->began);
	watch->next_walk = now + WALK_EVERY_MS;
	watch->proc = watch->tmp = watch->shm = -1;
	return watch;
}

void
sandbox_watch_free(struct sandbox_watch *watch)
{
	if (!watch)
		return;
	pkg_argv_free(watch->writable);
	free(watch->free_at_start);
	pkg_close(&watch->proc);
	pkg_close(&watch->tmp);
	pkg_close(&watch->shm);
	free(watch);
}

const struct sandbox_usage *
sandbox_watch_usage(const struct sandbox_watch *watch)
{
	return &watch->usage;
}

int64_t
sandbox_watch_parse_statm(const char *text, int64_t page)
{
	long long size;
	long long resident;
	long long shared;
	int64_t bytes;

	if (sscanf(text, "%18lld %18lld %18lld", &size, &resident, &shared) != 3 || shared < 0 ||
		resident < shared || __builtin_mul_overflow(resident - shared, page, &bytes))
		return -1;
	return bytes;
}

int64_t
sandbox_watch_parse_rollup(const char *text)
{
	const char *anon = strstr(text, "\nPss_Anon:");
	const char *shmem = strstr(text, "\nPss_Shmem:");
	long long a;
	long long s;
	int64_t bytes;

	if (!anon || !shmem || sscanf(anon + 10, "%18lld kB", &a) != 1 ||
		sscanf(shmem + 11, "%18lld kB", &s) != 1 ||
		__builtin_mul_overflow(a + s, INT64_C(1024), &bytes))
		return -1;
	return bytes;
}

/* The namespace's own /proc lists its processes and no others, so looking costs what the sandbox
 * has, not what the machine has. Before the new root is in place that path is still the host's. */
static bool
open_inside(struct sandbox_watch *watch, pid_t init)
{
	pkg_autofd int proc = -1;
	struct stat inside;
	struct stat host;
	char path[64];

	if (watch->proc >= 0)
		return true;
	(void)snprintf(path, sizeof(path), "/proc/%d/root/proc", (int)init);
	proc = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (proc < 0 || fstat(proc, &inside) < 0 || stat("/proc", &host) < 0 ||
		inside.st_dev == host.st_dev || faccessat(proc, "2", F_OK, 0) < 0)
		return false;
	(void)snprintf(path, sizeof(path), "/proc/%d/root/tmp", (int)init);
	watch->tmp = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	(void)snprintf(path, sizeof(path), "/proc/%d/root/dev/shm", (int)init);
	watch->shm = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	watch->proc = pkg_steal_fd(&proc);
	return true;
}

static int64_t
tmpfs_bytes(int fd)
{
	struct statfs st;

	if (fd < 0 || fstatfs(fd, &st) < 0)
		return 0;
	return (int64_t)(st.f_blocks - st.f_bfree) * (int64_t)st.f_bsize;
}

static bool
read_small(int proc, const char *pid, const char *name, char *out, size_t size)
{
	char path[300];
	pkg_autofd int fd = -1;
	ssize_t n;

	(void)snprintf(path, sizeof(path), "%s/%s", pid, name);
	fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, out, size - 1);
	out[n < 0 ? 0 : n] = '\0';
	return n > 0;
}

/* exact: by proportional shares, so that pages shared after a fork count once; costs a walk of the
 * page tables. */
static int64_t
process_memory(int proc, const char *pid, bool exact)
{
	static long page;
	char text[4096];
	int64_t bytes = -1;

	if (page == 0)
		page = sysconf(_SC_PAGESIZE);
	if (exact && read_small(proc, pid, "smaps_rollup", text, sizeof(text)))
		bytes = sandbox_watch_parse_rollup(text);
	if (bytes < 0 && read_small(proc, pid, "statm", text, sizeof(text)))
		bytes = sandbox_watch_parse_statm(text, page);
	return bytes < 0 ? 0 : bytes;
}

static void
count(struct sandbox_watch *watch, bool exact)
{
	int again = openat(watch->proc, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = again < 0 ? NULL : fdopendir(again);
	struct dirent *entry;
	struct stat st;

	watch->usage = (struct sandbox_usage){ .disk = watch->usage.disk };
	watch->usage.memory = tmpfs_bytes(watch->tmp) + tmpfs_bytes(watch->shm);
	if (!dir) {
		pkg_close(&again);
		return;
	}
	while ((entry = readdir(dir))) {
		char path[300];

		/* The first is bwrap's own. */
		if (!isdigit((unsigned char)entry->d_name[0]) || strcmp(entry->d_name, "1") == 0)
			continue;
		(void)snprintf(path, sizeof(path), "%s/task", entry->d_name);
		watch->usage.processes++;
		if (fstatat(dirfd(dir), path, &st, 0) == 0 && st.st_nlink > 2)
			watch->usage.threads += (int64_t)st.st_nlink - 2;
		watch->usage.memory += process_memory(dirfd(dir), entry->d_name, exact);
	}
	(void)closedir(dir);
}

static bool
is_limit(int64_t limit)
{
	return limit > 0 && limit != SANDBOX_UNLIMITED;
}

static int
look_at_processes(struct sandbox_watch *watch, struct pkg_error *err)
{
	const struct sandbox_limits *limits = &watch->limits;
	const struct sandbox_usage *usage = &watch->usage;
	pkg_autofree char *used = NULL;
	pkg_autofree char *limit = NULL;

	count(watch, false);
	if (is_limit(limits->processes) && usage->processes > limits->processes)
		return pkg_error_set(err, PKG_E_TOO_LARGE,
			"%lld processes at once, over the limit of %lld",
			(long long)usage->processes, (long long)limits->processes);
	if (is_limit(limits->processes) && usage->threads / THREADS_PER_PROCESS > limits->processes)
		return pkg_error_set(err, PKG_E_TOO_LARGE,
			"%lld threads at once, over the limit of %lld", (long long)usage->threads,
			(long long)limits->processes * THREADS_PER_PROCESS);
	if (!is_limit(limits->memory) || usage->memory <= limits->memory)
		return 0;
	count(watch, true);
	if (usage->memory <= limits->memory)
		return 0;
	used = pkg_text_bytes(usage->memory);
	limit = pkg_text_bytes(limits->memory);
	pkg_error_set(err, PKG_E_MEMORY, "%s of memory in use, over the limit of %s", used, limit);
	return pkg_error_cure(err, "raise the limit 'memory' of this purpose in the configuration");
}

struct walk {
	const struct sandbox_watch *watch;
	int64_t bytes;
	bool incomplete;
};

/* What was there before counts only once it is changed. */
static int
add_file(void *context, PKG_UNUSED const char *relative, const struct stat *st,
	PKG_UNUSED struct pkg_error *err)
{
	struct walk *walk = context;
	const struct timespec *began = &walk->watch->began;

	if (st->st_ctim.tv_sec > began->tv_sec ||
		(st->st_ctim.tv_sec == began->tv_sec && st->st_ctim.tv_nsec >= began->tv_nsec))
		walk->bytes += (int64_t)st->st_blocks * 512;
	return 0;
}

struct seen {
	dev_t device;
	ino_t inode;
};

static void
add_open(const struct sandbox_watch *watch, int fd_dir, const char *name, struct seen *seen,
	size_t *seen_count, struct walk *walk)
{
	struct stat st;
	struct stat mount;
	size_t i = 0;

	if (fstatat(fd_dir, name, &st, 0) < 0 || !S_ISREG(st.st_mode) || st.st_nlink > 0)
		return;
	while (i < watch->writable->count &&
		(stat(watch->writable->items[i], &mount) < 0 || mount.st_dev != st.st_dev))
		i++;
	if (i == watch->writable->count)
		return;
	for (i = 0; i < *seen_count; i++) {
		if (seen[i].device == st.st_dev && seen[i].inode == st.st_ino)
			return;
	}
	if (*seen_count == OPEN_MAX_SEEN)
		return;
	seen[(*seen_count)++] = (struct seen){ st.st_dev, st.st_ino };
	(void)add_file(walk, name, &st, NULL);
}

/* Files that were deleted while open take space and have no name to be found by. */
static void
add_deleted(const struct sandbox_watch *watch, struct walk *walk)
{
	int again = openat(watch->proc, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = again < 0 ? NULL : fdopendir(again);
	struct seen seen[OPEN_MAX_SEEN];
	size_t seen_count = 0;
	struct dirent *process;

	while (dir && (process = readdir(dir))) {
		char path[300];
		struct dirent *entry;
		DIR *fds;
		int fd;

		if (!isdigit((unsigned char)process->d_name[0]))
			continue;
		(void)snprintf(path, sizeof(path), "%s/fd", process->d_name);
		fd = openat(dirfd(dir), path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		fds = fd < 0 ? NULL : fdopendir(fd);
		while (fds && (entry = readdir(fds)))
			add_open(watch, dirfd(fds), entry->d_name, seen, &seen_count, walk);
		if (fds)
			(void)closedir(fds);
	}
	if (dir)
		(void)closedir(dir);
}

/* The most that any file system with a writable mount has lost since the start, to whomever. */
static int64_t
space_lost(const struct sandbox_watch *watch)
{
	int64_t most = 0;

	for (size_t i = 0; i < watch->writable->count; i++) {
		int64_t lost = watch->free_at_start[i] - free_bytes(watch->writable->items[i]);

		if (lost > most)
			most = lost;
	}
	return most;
}

static int64_t
walk_all(const struct sandbox_watch *watch)
{
	struct walk walk = { watch, 0, false };

	for (size_t i = 0; i < watch->writable->count; i++) {
		if (pkg_tree_walk(AT_FDCWD, watch->writable->items[i], add_file, &walk, NULL) < 0)
			walk.incomplete = true;
	}
	if (watch->proc >= 0)
		add_deleted(watch, &walk);
	/* Who makes a directory unreadable, or renames as fast as we read, gains nothing by it. */
	if (walk.incomplete && space_lost(watch) > walk.bytes)
		return space_lost(watch);
	return walk.bytes;
}

static int
look_at_disk(struct sandbox_watch *watch, struct pkg_error *err)
{
	int64_t now = pkg_time_mono_ms();
	pkg_autofree char *used = NULL;
	pkg_autofree char *limit = NULL;
	int64_t took;

	watch->usage.disk = -1;
	if (!is_limit(watch->limits.disk) || watch->writable->count == 0 ||
		now < watch->earliest_walk ||
		(now < watch->next_walk && space_lost(watch) <= watch->limits.disk))
		return 0;
	watch->usage.disk = walk_all(watch);
	took = pkg_time_mono_ms() - now;
	watch->earliest_walk = now + took * WALK_SHARE;
	if (watch->earliest_walk < now + WALK_AGAIN_MS)
		watch->earliest_walk = now + WALK_AGAIN_MS;
	watch->next_walk = now + WALK_EVERY_MS;
	if (watch->usage.disk <= watch->limits.disk)
		return 0;
	used = pkg_text_bytes(watch->usage.disk);
	limit = pkg_text_bytes(watch->limits.disk);
	pkg_error_set(err, PKG_E_DISK_FULL, "%s written to its directories, over the limit of %s",
		used, limit);
	return pkg_error_cure(err, "raise the limit 'disk' of this purpose in the configuration");
}

int
sandbox_watch_look(struct sandbox_watch *watch, pid_t init, struct pkg_error *err)
{
	if (init > 0 && open_inside(watch, init) && look_at_processes(watch, err) < 0)
		return -1;
	return look_at_disk(watch, err);
}
