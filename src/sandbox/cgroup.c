#include "sandbox/cgroup.h"

#include "core/buf.h"
#include "core/file.h"
#include "core/path.h"
#include "core/text.h"
#include "core/time.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SMALL 65536
#define REMOVE_TRIES 50

struct sandbox_cgroup {
	char *path; /* owned */
};

static bool
has_word(const char *text, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = strstr(text, word); at; at = strstr(at + 1, word)) {
		if ((at == text || at[-1] == ' ') &&
			(at[len] == '\0' || at[len] == ' ' || at[len] == '\n'))
			return true;
	}
	return false;
}

static bool
offers(const char *directory)
{
	pkg_autofree char *path = pkg_path_join(directory, "cgroup.subtree_control");
	pkg_autofree char *procs = pkg_path_join(directory, "cgroup.procs");
	pkg_cleanup_buf struct pkg_buf text = { 0 };

	/* To move a process, its old and new cgroup's common ancestor must be ours as well. */
	return access(directory, W_OK) == 0 && access(procs, W_OK) == 0 &&
		pkg_file_read(path, SMALL, &text, NULL) == 0 &&
		has_word(pkg_buf_str(&text), "memory") && has_word(pkg_buf_str(&text), "pids");
}

char *
sandbox_cgroup_find(const char *mount, const char *self)
{
	const char *line = strstr(self, "0::/");
	pkg_autofree char *own = NULL;
	pkg_autofree char *beside = NULL;

	if (!line || (line > self && line[-1] != '\n'))
		return NULL;
	line += strlen("0::");
	own = pkg_xasprintf("%s%.*s", mount, (int)strcspn(line, "\n"), line);
	if (strstr(own, "/.."))
		return NULL;
	if (offers(own))
		return pkg_steal_ptr(&own);
	/* No process may live where children are controlled, so a service sits in a leaf: beside
	 * it, then. */
	beside = pkg_path_dir(own);
	return beside && pkg_path_contains(mount, beside) && offers(beside) ? pkg_steal_ptr(&beside)
									    : NULL;
}

char *
sandbox_cgroup_here(void)
{
	pkg_cleanup_buf struct pkg_buf self = { 0 };

	/* Only where v2 is alone: beside v1 it has no controllers. */
	if (access("/sys/fs/cgroup/cgroup.controllers", R_OK) < 0 ||
		pkg_file_read("/proc/self/cgroup", SMALL, &self, NULL) < 0)
		return NULL;
	return sandbox_cgroup_find("/sys/fs/cgroup", pkg_buf_str(&self));
}

/* Not pkg_file_write(): these are the kernel's files, written in place. */
static int
put(const char *directory, const char *name, const char *value)
{
	pkg_autofree char *path = pkg_path_join(directory, name);
	pkg_autofd int fd = open(path, O_WRONLY | O_CLOEXEC);

	return fd < 0 || write(fd, value, strlen(value)) < 0 ? -1 : 0;
}

static int
put_limit(const char *directory, const char *name, int64_t value)
{
	char text[32];

	if (value <= 0 || value == SANDBOX_UNLIMITED)
		return 0;
	(void)snprintf(text, sizeof(text), "%lld", (long long)value);
	return put(directory, name, text);
}

struct sandbox_cgroup *
sandbox_cgroup_new(const char *parent, const struct sandbox_limits *limits)
{
	static atomic_uint serial; /* builds run in threads */
	struct sandbox_cgroup *cgroup = pkg_xcalloc(1, sizeof(*cgroup));

	cgroup->path =
		pkg_path_joinf(parent, "pkgd-%d-%u", (int)getpid(), atomic_fetch_add(&serial, 1));
	if (mkdir(cgroup->path, 0755) < 0) {
		free(cgroup->path);
		free(cgroup);
		return NULL;
	}
	/* Two more than asked for: bwrap's own two processes are in it. */
	if (put_limit(cgroup->path, "memory.max", limits->memory) < 0 ||
		put_limit(cgroup->path, "pids.max",
			limits->processes > 0 && limits->processes < SANDBOX_UNLIMITED / 32
				? limits->processes * 16 + 2
				: 0) < 0) {
		sandbox_cgroup_free(cgroup);
		return NULL;
	}
	/* Swap would let it go on slowly; there may be no swap to limit. */
	(void)put(cgroup->path, "memory.swap.max", "0");
	return cgroup;
}

int
sandbox_cgroup_open(const struct sandbox_cgroup *cgroup)
{
	pkg_autofree char *path = pkg_path_join(cgroup->path, "cgroup.procs");

	return open(path, O_WRONLY | O_CLOEXEC);
}

bool
sandbox_cgroup_oom(const struct sandbox_cgroup *cgroup)
{
	pkg_autofree char *path = pkg_path_join(cgroup->path, "memory.events");
	pkg_cleanup_buf struct pkg_buf text = { 0 };
	const char *at;

	if (pkg_file_read(path, SMALL, &text, NULL) < 0)
		return false;
	at = strstr(pkg_buf_str(&text), "oom_kill ");
	return at && strtol(at + strlen("oom_kill "), NULL, 10) > 0;
}

void
sandbox_cgroup_free(struct sandbox_cgroup *cgroup)
{
	if (!cgroup)
		return;
	(void)put(cgroup->path, "cgroup.kill", "1");
	for (int i = 0; i < REMOVE_TRIES && rmdir(cgroup->path) < 0 && errno == EBUSY; i++)
		pkg_sleep_ms(10);
	free(cgroup->path);
	free(cgroup);
}
