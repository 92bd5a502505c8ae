#include "sandbox/boundary.h"

#include "core/file.h"
#include "core/path.h"
#include "core/sha256.h"
#include "core/sock.h"
#include "core/text.h"
#include "core/tree.h"
#include "sandbox/argv.h"
#include "sandbox/limits.h"
#include "sandbox/paths.h"
#include "sandbox/purpose.h"
#include "sandbox/sandbox.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <unistd.h>

#define PROBE_WALL_MS 15000
#define NOWHERE "198.51.100.1" /* TEST-NET-2, RFC 5737 */
#define NOWHERE6 "2001:db8::1" /* RFC 3849 */

/* What is set up outside for the attempts. */
struct stage {
	char *root; /* owned; a directory of ours, removed at the end */
	char *outside; /* a directory that is not granted */
	char *canary; /* a file in it */
	char *tree;
	char *readable;
	char *writable;
	char *hidden; /* a file in readable that is masked */
	char *link; /* in readable: a symlink to the canary */
	char *socket_path;
	char *abstract;
	int tcp; /* listeners; -1: not to be had, the check is skipped */
	int unix_fd;
	int abstract_fd;
	int port;
};

enum expect { WORKS, FAILS };
enum control { NONE, READ_OUTSIDE, TCP_OUTSIDE, UNIX_OUTSIDE, ABSTRACT_OUTSIDE };

struct check {
	const char *name;
	char *attempt; /* owned */
	enum expect expect;
	enum control control;
};

struct checks {
	struct check *items; /* owned */
	size_t count;
};

void
sandbox_proof_clear(struct sandbox_proof *proof)
{
	json_object_put(proof->checks);
	free(proof->detail);
	*proof = (struct sandbox_proof){ 0 };
}

static void
stage_clear(struct stage *stage)
{
	pkg_close(&stage->tcp);
	pkg_close(&stage->unix_fd);
	pkg_close(&stage->abstract_fd);
	if (stage->root)
		(void)pkg_tree_remove(stage->root, NULL);
	free(stage->root);
	free(stage->outside);
	free(stage->canary);
	free(stage->tree);
	free(stage->readable);
	free(stage->writable);
	free(stage->hidden);
	free(stage->link);
	free(stage->socket_path);
	free(stage->abstract);
}

static int
make_file(const char *path, struct pkg_error *err)
{
	return pkg_file_write(path, "canary\n", 7, 0644, false, err);
}

static int
make_directory(const struct stage *stage, const char *name, char **out, struct pkg_error *err)
{
	*out = pkg_path_join(stage->root, name);
	return pkg_dir_make(*out, 0700, err);
}

static int
make_files(struct stage *stage, struct pkg_error *err)
{
	pkg_autofree char *in_tree = NULL;
	pkg_autofree char *in_readable = NULL;

	if (make_directory(stage, "outside", &stage->outside, err) < 0 ||
		make_directory(stage, "tree", &stage->tree, err) < 0 ||
		make_directory(stage, "readable", &stage->readable, err) < 0 ||
		make_directory(stage, "writable", &stage->writable, err) < 0)
		return -1;
	stage->canary = pkg_path_join(stage->outside, "canary");
	stage->hidden = pkg_path_join(stage->readable, "hidden");
	stage->link = pkg_path_join(stage->readable, "link");
	in_tree = pkg_path_join(stage->tree, "file");
	in_readable = pkg_path_join(stage->readable, "file");
	if (make_file(stage->canary, err) < 0 || make_file(stage->hidden, err) < 0 ||
		make_file(in_tree, err) < 0 || make_file(in_readable, err) < 0)
		return -1;
	return symlink(stage->canary, stage->link) < 0
		? pkg_error_errno(err, errno, "link '%s'", stage->link)
		: 0;
}

/* What cannot be had is skipped, and the result says so. */
static void
make_listeners(struct stage *stage)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	socklen_t size = sizeof(address);
	size_t len = strlen(stage->abstract);

	stage->tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (stage->tcp >= 0 &&
		(bind(stage->tcp, (const struct sockaddr *)&address, size) < 0 ||
			listen(stage->tcp, 8) < 0 ||
			getsockname(stage->tcp, (struct sockaddr *)&address, &size) < 0))
		pkg_close(&stage->tcp);
	stage->port = ntohs(address.sin_port);
	stage->unix_fd = pkg_sock_listen(stage->socket_path, 0600, NULL);
	stage->abstract_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (len + 1 < sizeof(name.sun_path))
		memcpy(name.sun_path + 1, stage->abstract, len);
	if (stage->abstract_fd >= 0 &&
		(bind(stage->abstract_fd, (const struct sockaddr *)&name,
			 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + 1)) < 0 ||
			listen(stage->abstract_fd, 8) < 0))
		pkg_close(&stage->abstract_fd);
}

/* Beneath the state directory: private to us, on a real file system, and nothing that a profile may
 * not name. */
static int
stage_make(const struct pkg_home *home, struct stage *stage, struct pkg_error *err)
{
	if (pkg_dir_make(home->state, 0700, err) < 0)
		return -1;
	stage->root = pkg_path_join(home->state, "probe-XXXXXX");
	if (!mkdtemp(stage->root)) {
		pkg_error_errno(err, errno, "make a directory in '%s'", home->state);
		free(stage->root);
		stage->root = NULL;
		return -1;
	}
	stage->socket_path = pkg_path_join(stage->root, "socket");
	stage->abstract = pkg_xasprintf("pkgd-probe-%s", stage->root + strlen(stage->root) - 6);
	if (make_files(stage, err) < 0)
		return -1;
	make_listeners(stage);
	return 0;
}

__attribute__((format(printf, 5, 6))) static void
add(struct checks *checks, const char *name, enum expect expect, enum control control,
	const char *format, ...)
{
	va_list args;
	char *attempt;

	va_start(args, format);
	attempt = pkg_xvasprintf(format, args);
	va_end(args);
	checks->items = pkg_xrealloc(checks->items, checks->count + 1, sizeof(*checks->items));
	checks->items[checks->count++] = (struct check){ name, attempt, expect, control };
}

static void
checks_clear(struct checks *checks)
{
	for (size_t i = 0; i < checks->count; i++)
		free(checks->items[i].attempt);
	free(checks->items);
}

/* What must work, or nothing that fails means anything. */
static void
add_positive(
	struct checks *checks, const struct stage *stage, const struct sandbox_profile *profile)
{
	add(checks, "temporary-write", WORKS, NONE, "write:/tmp/probe");
	add(checks, "home-write", WORKS, NONE, "write:" SANDBOX_HOME "/probe");
	add(checks, "shared-memory-write", WORKS, NONE, "write:/dev/shm/probe");
	add(checks, "system-read", WORKS, NONE, "read:/usr/bin/env");
	add(checks, "names-read", WORKS, NONE, "read:/etc/passwd");
	add(checks, "granted-read", WORKS, NONE, "read:%s/file", stage->readable);
	add(checks, "tree-read", WORKS, NONE, "read:%s/file", profile->prefix);
	add(checks, "tree-write", profile->tree_writable ? WORKS : FAILS, NONE, "mkdir:%s/probe",
		profile->prefix);
	if (sandbox_purpose_row(profile->purpose)->max_writable > 0)
		add(checks, "workspace-write", WORKS, NONE, "write:%s/probe", stage->writable);
}

static void
add_files(struct checks *checks, const struct stage *stage)
{
	add(checks, "outside-read", FAILS, READ_OUTSIDE, "read:%s", stage->canary);
	add(checks, "outside-list", FAILS, READ_OUTSIDE, "read:%s", stage->outside);
	add(checks, "outside-symlink", FAILS, READ_OUTSIDE, "read:%s", stage->link);
	add(checks, "outside-write", FAILS, NONE, "mkdir:%s/made", stage->outside);
	add(checks, "granted-write", FAILS, NONE, "mkdir:%s/made", stage->readable);
	add(checks, "masked-read", FAILS, READ_OUTSIDE, "read:%s", stage->hidden);
	add(checks, "system-write", FAILS, NONE, "mkdir:/usr/pkgd-probe");
	add(checks, "etc-write", FAILS, NONE, "mkdir:/etc/pkgd-probe");
	add(checks, "root-write", FAILS, NONE, "mkdir:/pkgd-probe");
	/* Below /tmp what leads to a mount is in the sandbox's own, which it may write. */
	if (!pkg_path_contains("/tmp", stage->readable))
		add(checks, "scaffolding-write", FAILS, NONE, "mkdir:%s/../made", stage->readable);
	add(checks, "devices-write", FAILS, NONE, "mkdir:/dev/pkgd-probe");
	add(checks, "settings-write", FAILS, NONE, "open:/proc/sys/kernel/core_pattern");
	add(checks, "shadow-read", FAILS, NONE, "read:/etc/shadow");
	add(checks, "sys-read", FAILS, NONE, "read:/sys");
	add(checks, "var-read", FAILS, NONE, "read:/var/log");
}

static void
add_network(struct checks *checks, const struct stage *stage)
{
	add(checks, "network-loopback", FAILS, TCP_OUTSIDE, "tcp:%d", stage->port);
	add(checks, "network-direct", FAILS, NONE, "udp:" NOWHERE);
	add(checks, "network-direct-6", FAILS, NONE, "udp6:" NOWHERE6);
	add(checks, "host-socket", FAILS, UNIX_OUTSIDE, "unix:%s", stage->socket_path);
	add(checks, "abstract-socket", FAILS, ABSTRACT_OUTSIDE, "abstract:%s", stage->abstract);
	add(checks, "packet-socket", FAILS, NONE, "socket:%d", AF_PACKET);
	add(checks, "vsock", FAILS, NONE, "socket:%d", AF_VSOCK);
}

static void
add_process(struct checks *checks)
{
	add(checks, "host-process", FAILS, NONE, "signal:%d", (int)getpid());
	add(checks, "own-processes", WORKS, NONE, "pid:2");
	add(checks, "user", WORKS, NONE, "status:Uid=" SANDBOX_USER_ID);
	add(checks, "no-capabilities", WORKS, NONE, "status:CapEff=0000000000000000");
	add(checks, "no-capabilities-ever", WORKS, NONE, "status:CapBnd=0000000000000000");
	add(checks, "no-new-privileges", WORKS, NONE, "status:NoNewPrivs=1");
	add(checks, "filter", WORKS, NONE, "status:Seccomp=2");
	add(checks, "descriptors", WORKS, NONE, "descriptors:2");
	add(checks, "no-core-files", WORKS, NONE, "core:");
	add(checks, "pairs", WORKS, NONE, "call:socketpair");
	add(checks, "mount", FAILS, NONE, "call:mount");
	add(checks, "new-namespace", FAILS, NONE, "call:unshare");
	add(checks, "clone3", FAILS, NONE, "call:clone3");
	add(checks, "ptrace", FAILS, NONE, "call:ptrace");
	add(checks, "keyring", FAILS, NONE, "call:keyctl");
	add(checks, "bpf", FAILS, NONE, "call:bpf");
	add(checks, "io_uring", FAILS, NONE, "call:io_uring");
	add(checks, "terminal-input", FAILS, NONE, "call:tiocsti");
}

/* Does the same thing work for us, out here, now? 1 yes, 0 no, -1 there is nothing to try. */
static int
control(const struct stage *stage, enum control kind)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
		.sin_port = htons((uint16_t)stage->port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	size_t len = strlen(stage->abstract);
	pkg_autofd int fd = -1;

	switch (kind) {
	case NONE:
		return 1;
	case READ_OUTSIDE:
		return access(stage->canary, R_OK) == 0;
	case TCP_OUTSIDE:
		fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (fd < 0 || stage->tcp < 0)
			return -1;
		return connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0;
	case UNIX_OUTSIDE:
		if (stage->unix_fd < 0)
			return -1;
		fd = pkg_sock_connect(stage->socket_path, NULL);
		return fd >= 0;
	case ABSTRACT_OUTSIDE:
		fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (fd < 0 || stage->abstract_fd < 0 || len + 1 >= sizeof(name.sun_path))
			return -1;
		memcpy(name.sun_path + 1, stage->abstract, len);
		return connect(fd, (const struct sockaddr *)&name,
			       (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + 1)) == 0;
	}
	return -1;
}

static void
report(struct sandbox_proof *proof, const struct check *check, const char *result,
	const char *detail)
{
	struct json_object *row = json_object_new_object();
	bool failed = proof->failed;

	pkg_json_set_str(row, "name", check->name);
	pkg_json_set_str(row, "result", result);
	pkg_json_set_str(row, "detail", detail);
	json_object_array_add(proof->checks, row);
	if (strcmp(result, "pass") == 0 || strcmp(result, "skipped") == 0)
		return;
	/* A failure explains the inconclusive ones, so it is what gets told. */
	if (!proof->detail || (!failed && strcmp(result, "FAIL") == 0)) {
		free(proof->detail);
		proof->detail = pkg_xasprintf("%s: %s", check->name, detail);
	}
	proof->failed = failed || strcmp(result, "FAIL") == 0;
	proof->ok = false;
}

/* inconclusive: the probe itself did not work, so that a failed attempt shows nothing. */
static void
judge_check(struct sandbox_proof *proof, const struct stage *stage, const struct check *check,
	int code, bool conclusive)
{
	pkg_autofree char *detail = NULL;
	int outside;

	if (code < 0) {
		report(proof, check, "inconclusive", "the probe could not try it");
		return;
	}
	detail = code == 0 ? pkg_xasprintf("'%s' works inside", check->attempt)
			   : pkg_xasprintf("'%s' inside: %s", check->attempt, strerror(code));
	if (check->expect == WORKS || code == 0) {
		report(proof, check, (check->expect == WORKS) == (code == 0) ? "pass" : "FAIL",
			detail);
		return;
	}
	outside = control(stage, check->control);
	if (outside < 0)
		report(proof, check, "skipped", "there is nothing outside to try it on");
	else if (outside == 0)
		report(proof, check, "inconclusive", "the same does not work outside either");
	else if (!conclusive)
		report(proof, check, "inconclusive", "what should work inside does not");
	else
		report(proof, check, "pass", detail);
}

static bool
positives_hold(const struct checks *checks, struct json_object *results)
{
	for (size_t i = 0; i < checks->count; i++) {
		if (checks->items[i].expect == WORKS &&
			json_object_get_int(json_object_array_get_idx(results, i)) != 0)
			return false;
	}
	return true;
}

/* The probe's last line; anything may stand before it. */
static struct json_object *
parse_output(const struct pkg_buf *out)
{
	const char *text = pkg_buf_str(out);
	const char *end = strrchr(text, '}');
	const char *start = end;

	while (start && start > text && start[-1] != '\n')
		start--;
	return start ? pkg_json_parse(start, (size_t)(end + 1 - start), NULL) : NULL;
}

static int
judge_run(const struct stage *stage, const struct checks *checks, const struct pkg_run *run,
	struct sandbox_proof *proof)
{
	pkg_cleanup(pkg_json_put) struct json_object *output = parse_output(&run->out);
	struct json_object *results = output && pkg_json_int(output, "pkg-probe", 0) == 1
		? pkg_json_array(output, "results")
		: NULL;
	bool usable = results && run->wait_status == 0 &&
		json_object_array_length(results) == checks->count;
	bool conclusive = usable && positives_hold(checks, results);

	proof->ok = true;
	proof->checks = json_object_new_array();
	for (size_t i = 0; i < checks->count; i++) {
		struct json_object *code = usable ? json_object_array_get_idx(results, i) : NULL;

		judge_check(proof, stage, &checks->items[i],
			json_object_is_type(code, json_type_int) ? json_object_get_int(code) : -1,
			conclusive);
	}
	return 0;
}

static int
run_probe(const struct sandbox_launch *launch, const struct stage *stage,
	enum sandbox_purpose purpose, struct sandbox_proof *proof, struct pkg_error *err)
{
	const struct sandbox_purpose_row *row = sandbox_purpose_row(purpose);
	const struct sandbox_mount mounts[] = {
		{ .kind = SANDBOX_MOUNT_RO, .source = launch->host->probe },
		{ .kind = SANDBOX_MOUNT_RO, .source = stage->readable },
		{ .kind = SANDBOX_MOUNT_MASK, .target = stage->hidden },
		{ .kind = SANDBOX_MOUNT_RW, .source = stage->writable },
	};
	pkg_cleanup(pkg_argv_free) struct pkg_argv *command = pkg_argv_new();
	pkg_cleanup_run struct pkg_run run = { .cancel_fd = -1 };
	pkg_cleanup_sandbox_paths struct sandbox_paths paths = { 0 };
	struct checks checks __attribute__((cleanup(checks_clear))) = { 0 };
	pkg_autofree char *prefix = pkg_path_join(stage->root, "prefix");
	struct sandbox_profile profile = { .purpose = purpose,
		.tree = stage->tree,
		.prefix = prefix,
		.tree_writable = row->tree_writable,
		.mounts = mounts,
		.mount_count = PKG_ARRAY_LEN(mounts) - (row->max_writable == 0),
		.command = command,
		.shim_fd = -1,
		.limits = { .wall_ms = PROBE_WALL_MS } };

	add_positive(&checks, stage, &profile);
	add_files(&checks, stage);
	add_network(&checks, stage);
	add_process(&checks);
	pkg_argv_add(command, launch->host->probe);
	for (size_t i = 0; i < checks.count; i++)
		pkg_argv_add(command, checks.items[i].attempt);
	if (sandbox_limits_resolve(&profile, NULL, launch->host->ram, &profile.limits, err) < 0 ||
		sandbox_paths_resolve(&profile, launch->host, &paths, err) < 0 ||
		sandbox_launch(launch, &paths.profile, &run, err) < 0)
		return -1;
	return judge_run(stage, &checks, &run, proof);
}

int
sandbox_boundary_prove(const struct pkg_home *home, const struct sandbox_launch *launch,
	enum sandbox_purpose purpose, struct sandbox_proof *out, struct pkg_error *err)
{
	struct stage stage __attribute__((
		cleanup(stage_clear))) = { .tcp = -1, .unix_fd = -1, .abstract_fd = -1 };
	struct sandbox_proof proof = { 0 };

	if (access(launch->host->probe, X_OK) < 0) {
		pkg_error_set(err, PKG_E_SANDBOX,
			"the program that tests the sandbox is not there: '%s'",
			launch->host->probe);
		return pkg_error_cure(
			err, "install pkgd again, or set PKGD_LIBEXEC to where it is");
	}
	if (stage_make(home, &stage, err) < 0 ||
		run_probe(launch, &stage, purpose, &proof, err) < 0) {
		sandbox_proof_clear(&proof);
		return pkg_error_prefix(
			err, "test of the %s sandbox", sandbox_purpose_name(purpose));
	}
	*out = proof;
	return 0;
}

static void
add_file_identity(struct pkg_sha256 *sha, const char *path)
{
	pkg_autofree char *line = NULL;
	struct stat st = { 0 };

	(void)stat(path, &st);
	line = pkg_xasprintf("%s %llu %llu %lld.%09ld %lld\n", path, (unsigned long long)st.st_dev,
		(unsigned long long)st.st_ino, (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec,
		(long long)st.st_size);
	pkg_sha256_add(sha, line, strlen(line));
}

/* The argv of a profile with everything in it, at places that stand for any. */
static void
add_shape(struct pkg_sha256 *sha, const struct sandbox_launch *launch, enum sandbox_purpose purpose)
{
	static const struct sandbox_mount mounts[] = {
		{ .kind = SANDBOX_MOUNT_RO, .source = "/a/b", .target = "/a/b" },
		{ .kind = SANDBOX_MOUNT_MASK, .target = "/a/b/c" },
		{ .kind = SANDBOX_MOUNT_RW, .source = "/a/d", .target = "/a/d" },
	};
	static const struct sandbox_argv_fds fds = SANDBOX_ARGV_NO_FDS;
	const struct sandbox_purpose_row *row = sandbox_purpose_row(purpose);
	pkg_cleanup(pkg_argv_free) struct pkg_argv *command = pkg_argv_new();
	pkg_cleanup(pkg_argv_free) struct pkg_argv *argv = NULL;
	struct sandbox_profile profile = { .purpose = purpose,
		.tree = "/a/e",
		.prefix = "/a/f",
		.tree_writable = row->tree_writable,
		.mounts = mounts,
		.mount_count = PKG_ARRAY_LEN(mounts) - (row->max_writable == 0),
		.command = command,
		.shim_fd = row->network ? 3 : -1,
		.interactive = row->interactive };

	pkg_argv_add(command, "/a/command");
	if (sandbox_argv(&profile, launch->host, &fds, &argv, NULL) < 0)
		return;
	for (size_t i = 0; i < argv->count; i++)
		pkg_sha256_add(sha, argv->items[i], strlen(argv->items[i]) + 1);
}

char *
sandbox_boundary_key(const struct sandbox_launch *launch, enum sandbox_purpose purpose)
{
	pkg_cleanup(pkg_sha256_free) struct pkg_sha256 *sha = pkg_sha256_new();
	pkg_cleanup_buf struct pkg_buf boot = { 0 };
	pkg_autofree char *line = NULL;
	char filter[PKG_SHA256_HEX] = "";
	char hex[PKG_SHA256_HEX];
	struct utsname kernel;

	(void)uname(&kernel);
	(void)pkg_file_read("/proc/sys/kernel/random/boot_id", 64, &boot, NULL);
	if (lseek(launch->seccomp_fd, 0, SEEK_SET) == 0)
		(void)pkg_sha256_fd(launch->seccomp_fd, filter, NULL);
	line = pkg_xasprintf("%s %s %s %s %ld %s %s\n", PACKAGE_VERSION, pkg_buf_str(&boot),
		kernel.release, kernel.version, (long)geteuid(), filter,
		launch->host->bwrap_version ? launch->host->bwrap_version : "");
	pkg_sha256_add(sha, line, strlen(line));
	add_file_identity(sha, launch->host->bwrap);
	add_file_identity(sha, launch->host->probe);
	add_shape(sha, launch, purpose);
	pkg_sha256_end_hex(sha, hex);
	return pkg_xstrndup(hex, 32);
}
