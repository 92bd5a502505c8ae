#include "sandbox/host.h"

#include "core/buf.h"
#include "core/file.h"
#include "core/path.h"
#include "core/run.h"
#include "core/text.h"
#include "sandbox/etc.h"
#include "sandbox/remedy.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define VERSION_WAIT_MS 5000
#define SYSTEM_CA "/etc/ssl/certs/ca-certificates.crt" /* what Debian's libcurl, R and git read */

void
sandbox_host_clear(struct sandbox_host *host)
{
	free(host->bwrap);
	free(host->bwrap_version);
	free(host->shim);
	free(host->enter);
	free(host->probe);
	free(host->etc);
	free(host->ca);
	free(host->system_ca);
	pkg_argv_free(host->ro_binds);
	pkg_argv_free(host->links);
	free(host->user_home);
	pkg_argv_free(host->masks);
	pkg_argv_free(host->proc_masks);
	pkg_argv_free(host->refused);
	pkg_argv_free(host->frozen);
	pkg_argv_free(host->searched);
	*host = (struct sandbox_host){ 0 };
}

/* With a merged /usr these are links, which are made again; without, they are directories to mount.
 */
void
sandbox_host_read_root(const char *root, struct sandbox_host *out)
{
	static const char *const mounted[] = { "/usr", "/nix" };
	static const char *const merged[] = { "/bin", "/sbin", "/lib", "/lib64", "/lib32",
		"/libx32" };
	struct stat st;

	out->ro_binds = pkg_argv_new();
	out->links = pkg_argv_new();
	for (size_t i = 0; i < PKG_ARRAY_LEN(mounted); i++) {
		pkg_autofree char *path = pkg_path_join(root, mounted[i]);

		if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
			pkg_argv_add(out->ro_binds, mounted[i]);
	}
	for (size_t i = 0; i < PKG_ARRAY_LEN(merged); i++) {
		pkg_autofree char *path = pkg_path_join(root, merged[i]);
		char target[PATH_MAX];
		ssize_t len;

		if (lstat(path, &st) < 0)
			continue;
		if (S_ISDIR(st.st_mode)) {
			pkg_argv_add(out->ro_binds, merged[i]);
			continue;
		}
		len = readlink(path, target, sizeof(target) - 1);
		if (len <= 0)
			continue;
		target[len] = '\0';
		pkg_argv_add(out->links, target, merged[i]);
	}
}

static void
add_etc_binds(struct sandbox_host *out)
{
	struct stat st;

	for (size_t i = 0; i < sandbox_etc_bind_count; i++) {
		pkg_autofree char *path = pkg_path_join("/etc", sandbox_etc_binds[i]);

		if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode))
			pkg_argv_add(out->ro_binds, path);
	}
}

static void
add_existing(struct pkg_argv *list, const char *directory, const char *const *names, size_t count)
{
	for (size_t i = 0; directory && i < count; i++) {
		pkg_autofree char *path = pkg_path_join(directory, names[i]);
		pkg_autofree char *real = realpath(path, NULL);
		const char *slash;
		struct stat st;

		/* Both spellings: a mask must cover what the link leads to as well. */
		if (!real || stat(path, &st) < 0)
			continue;
		slash = S_ISDIR(st.st_mode) ? "/" : "";
		pkg_argv_addf(list, "%s%s", path, slash);
		if (strcmp(real, path) != 0)
			pkg_argv_addf(list, "%s%s", real, slash);
	}
}

/* BEHAVIOURS O210 and F15. */
static void
add_secrets(const struct pkg_home *home, struct sandbox_host *out)
{
	static const char *const personal[] = { ".ssh", ".aws", ".azure", ".kaggle", ".docker",
		".gnupg", ".kube", ".netrc", ".pgpass", ".git-credentials", ".npmrc", ".pypirc",
		".Renviron", ".config/gcloud", ".config/gh", ".config/huggingface",
		".config/pip/pip.conf", ".config/rclone/rclone.conf", ".cache/huggingface/token" };
	static const char *const state[] = { "state.db", "state.db-wal", "state.db-shm",
		"state.db-journal", "jobs", "locks", "run" };
	static const char *const whole[] = { "" };

	out->masks = pkg_argv_new();
	add_existing(out->masks, home->user_home, personal, PKG_ARRAY_LEN(personal));
	add_existing(out->masks, home->state, state, PKG_ARRAY_LEN(state));
	add_existing(out->masks, home->config, whole, PKG_ARRAY_LEN(whole));
	/* Sockets, locks, tokens, and our own etc. */
	add_existing(out->masks, home->run, whole, PKG_ARRAY_LEN(whole));
}

static void
add_own_places(const struct pkg_home *home, struct sandbox_host *out)
{
	out->refused = pkg_argv_new();
	out->frozen = pkg_argv_new();
	pkg_argv_add(out->refused, home->run, home->config);
	pkg_argv_take(out->refused, pkg_path_join(home->state, "locks"));
	pkg_argv_take(out->frozen, pkg_path_join(home->data, "envs"));
	pkg_argv_take(out->frozen, pkg_path_join(home->data, "generations"));
	pkg_argv_take(out->frozen, pkg_path_join(home->cache, "files"));
	pkg_argv_take(out->frozen, pkg_path_join(home->cache, "wheels"));
	pkg_argv_take(out->frozen, pkg_path_join(home->cache, "bytecode"));
	/* A link across mounts cannot be made from inside, so nothing comes in there but by us. */
	out->searched = pkg_argv_new();
	pkg_argv_take(out->searched, pkg_path_join(home->cache, "pip"));
	pkg_argv_take(out->searched, pkg_path_join(home->cache, "http"));
	/* The files, not their directory: in a build tree, tests have their homes below it. */
	pkg_argv_add(out->frozen, out->shim, out->enter, out->probe, home->share);
}

/* The mapped uid is ours: when we are root, a file of /proc that only root may read can be read
 * inside. None of these is about the sandbox's own processes. */
static void
add_proc_masks(struct sandbox_host *out)
{
	static const char *const names[] = { "/proc/kcore", "/proc/keys", "/proc/latency_stats",
		"/proc/sched_debug", "/proc/slabinfo", "/proc/timer_list", "/proc/vmallocinfo" };

	out->proc_masks = pkg_argv_new();
	for (size_t i = 0; geteuid() == 0 && i < PKG_ARRAY_LEN(names); i++) {
		if (access(names[i], F_OK) == 0)
			pkg_argv_add(out->proc_masks, names[i]);
	}
}

int
sandbox_host_parse_version(const char *text, int *major, int *minor)
{
	return sscanf(text, "bubblewrap %4d.%4d", major, minor) == 2 ? 0 : -1;
}

/* Whoever can write that file could run anything as us, unconfined. */
static int
check_program(const char *path, struct pkg_error *err)
{
	struct stat st;

	if (stat(path, &st) < 0) {
		sandbox_remedy_missing(err);
		return pkg_error_prefix(err, "'%s': %s", path, strerror(errno));
	}
	if (!S_ISREG(st.st_mode) || access(path, X_OK) < 0)
		return pkg_error_set(err, PKG_E_SANDBOX, "'%s' is not a program", path);
	if ((st.st_uid != 0 && st.st_uid != geteuid()) || (st.st_mode & S_IWOTH)) {
		pkg_error_set(err, PKG_E_SANDBOX,
			"'%s' belongs to user %ld with mode %04o: others could replace it", path,
			(long)st.st_uid, (unsigned int)(st.st_mode & 07777));
		return pkg_error_cure(err, "chown root '%s' && chmod go-w '%s'", path, path);
	}
	return 0;
}

/* PATH is not asked: it may lead into an environment. */
static char *
find_bwrap(const char *given, struct pkg_error *err)
{
	static const char *const places[] = { "/usr/bin/bwrap", "/usr/local/bin/bwrap",
		"/bin/bwrap", "/run/current-system/sw/bin/bwrap" };

	if (given)
		return check_program(given, err) < 0 ? NULL : pkg_xstrdup(given);
	for (size_t i = 0; i < PKG_ARRAY_LEN(places); i++) {
		if (access(places[i], F_OK) == 0)
			return check_program(places[i], err) < 0 ? NULL : pkg_xstrdup(places[i]);
	}
	sandbox_remedy_missing(err);
	return NULL;
}

static char *
ask_version(const char *bwrap, struct pkg_error *err)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *argv = pkg_argv_new();
	pkg_cleanup_run struct pkg_run run = {
		.timeout_ms = VERSION_WAIT_MS, .max_output = 4096, .cancel_fd = -1
	};
	struct pkg_process_spec spec = { .argv = argv, .stdin_fd = -1, .die_with_parent = true };

	pkg_argv_add(argv, bwrap, "--version");
	if (pkg_process_run(&spec, &run, err) < 0) {
		if (err)
			err->kind = PKG_E_SANDBOX;
		return NULL;
	}
	if (run.wait_status != 0 || !pkg_text_has_prefix(pkg_buf_str(&run.out), "bubblewrap ")) {
		pkg_autofree char *said =
			pkg_text_clean(pkg_buf_str(&run.out), run.out.len, 80, false);

		pkg_error_set(err, PKG_E_SANDBOX, "'%s --version' says '%s'", bwrap, said);
		return NULL;
	}
	return pkg_text_clean(
		pkg_buf_str(&run.out), strcspn(pkg_buf_str(&run.out), "\n"), 40, false);
}

/* Asking costs a process, so the answer is kept beside the file's identity. */
static int
read_version(const struct pkg_home *home, struct sandbox_host *out, struct pkg_error *err)
{
	pkg_autofree char *path = pkg_path_join(home->run, "bwrap-version");
	pkg_cleanup_buf struct pkg_buf kept = { 0 };
	pkg_autofree char *head = NULL;
	pkg_autofree char *line = NULL;
	struct stat st;
	int major = 0;
	int minor = 0;

	if (stat(out->bwrap, &st) < 0)
		return pkg_error_errno(err, errno, "'%s'", out->bwrap);
	head = pkg_xasprintf("%s %llu %llu %lld.%09ld ", out->bwrap, (unsigned long long)st.st_dev,
		(unsigned long long)st.st_ino, (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
	if (pkg_file_read(path, 4096, &kept, NULL) == 0 &&
		pkg_text_has_prefix(pkg_buf_str(&kept), head)) {
		line = pkg_xstrdup(pkg_buf_str(&kept) + strlen(head));
	} else {
		line = ask_version(out->bwrap, err);
		if (!line)
			return -1;
		pkg_buf_clear(&kept);
		pkg_buf_addf(&kept, "%s%s", head, line);
		/* Not keeping it only costs time. */
		if (pkg_dir_make(home->run, 0700, NULL) == 0)
			(void)pkg_file_write(path, kept.data, kept.len, 0600, false, NULL);
	}
	if (sandbox_host_parse_version(line, &major, &minor) < 0)
		return pkg_error_set(err, PKG_E_SANDBOX, "bwrap has no version: '%s'", line);
	out->bwrap_version = pkg_xstrdup(line + strlen("bubblewrap "));
	out->perms = major > 0 || minor >= 5;
	out->sized_tmpfs = major > 0 || minor >= 7;
	return 0;
}

static void
read_machine(struct sandbox_host *out)
{
	long pages = sysconf(_SC_PHYS_PAGES);
	long size = sysconf(_SC_PAGESIZE);
	cpu_set_t set;

	out->ram = pages > 0 && size > 0 ? (int64_t)pages * size : 0;
	out->cpus = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
}

int
sandbox_host_read(const struct pkg_home *home, const char *bwrap, struct sandbox_host *out,
	struct pkg_error *err)
{
	struct sandbox_host host = { 0 };
	int rc = -1;

	host.shim = pkg_path_join(home->libexec, "pkg-shim");
	host.enter = pkg_path_join(home->libexec, "pkg-enter");
	host.probe = pkg_path_join(home->libexec, "pkg-probe");
	sandbox_host_read_root("/", &host);
	add_etc_binds(&host);
	if (access(SYSTEM_CA, R_OK) == 0)
		host.system_ca = pkg_xstrdup(SYSTEM_CA);
	host.user_home = pkg_xstrdup(home->user_home);
	add_secrets(home, &host);
	add_own_places(home, &host);
	add_proc_masks(&host);
	read_machine(&host);
	host.bwrap = find_bwrap(bwrap, err);
	if (host.bwrap && read_version(home, &host, err) == 0) {
		host.etc = sandbox_etc_make("/etc", home->run, err);
		rc = host.etc ? 0 : -1;
	}
	*out = host;
	return rc;
}
