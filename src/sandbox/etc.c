#include "sandbox/etc.h"

#include "core/buf.h"
#include "core/file.h"
#include "core/path.h"
#include "core/sha256.h"
#include "core/text.h"
#include "core/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define RECIPE "etc 1" /* changes when the lists below do */
#define FILE_MAX (8 * 1024 * 1024)
#define KEEP_SECONDS (30 * 24 * 3600)

/* BEHAVIOURS O202, D12. Nothing here names a user, a host or a secret. */
static const char *const copied[] = { "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives",
	"gai.conf", "host.conf", "protocols", "services", "localtime", "timezone", "mime.types",
	"ssl/openssl.cnf", "ssl/cert.pem", "fonts", "R" };

const char *const sandbox_etc_binds[] = { "ssl/certs", "pki/tls/certs", "pki/ca-trust",
	"ca-certificates/extracted" };
const size_t sandbox_etc_bind_count = PKG_ARRAY_LEN(sandbox_etc_binds);

static const struct {
	const char *name;
	const char *text;
} synthetic[] = {
	{ "passwd",
		"root:x:0:0:root:/:/usr/sbin/nologin\n"
		"user:x:1000:1000:user:/tmp/home:/bin/sh\n"
		"nobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n" },
	{ "group", "root:x:0:\nuser:x:1000:\nnogroup:x:65534:\n" },
	{ "hosts", "127.0.0.1 localhost sandbox\n::1 localhost\n" },
	{ "nsswitch.conf",
		"passwd: files\ngroup: files\nshadow: files\nhosts: files dns\n"
		"networks: files\nprotocols: files\nservices: files\n" },
};

static void
add_stat(struct pkg_sha256 *sha, const char *name, const struct stat *st)
{
	pkg_autofree char *line = pkg_xasprintf("%s %llu %o %lld %lld.%09ld\n", name,
		(unsigned long long)st->st_ino, (unsigned int)st->st_mode, (long long)st->st_size,
		(long long)st->st_mtim.tv_sec, st->st_mtim.tv_nsec);

	pkg_sha256_add(sha, line, strlen(line));
}

static int
visit(void *context, const char *relative, const struct stat *st, PKG_UNUSED struct pkg_error *err)
{
	add_stat(context, relative, st);
	return 0;
}

/* What the directory would be made of, without reading any of it. */
static int
fingerprint(int etc_fd, char out[PKG_SHA256_HEX], struct pkg_error *err)
{
	pkg_cleanup(pkg_sha256_free) struct pkg_sha256 *sha = pkg_sha256_new();
	struct stat st;

	pkg_sha256_add(sha, RECIPE, strlen(RECIPE));
	for (size_t i = 0; i < PKG_ARRAY_LEN(copied); i++) {
		if (fstatat(etc_fd, copied[i], &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		add_stat(sha, copied[i], &st);
		/* Hundreds of links, each replaced by a rename that its directory's time shows. */
		if (strcmp(copied[i], "alternatives") == 0)
			continue;
		if (S_ISDIR(st.st_mode) && pkg_tree_walk(etc_fd, copied[i], visit, sha, err) < 0)
			return -1;
	}
	for (size_t i = 0; i < sandbox_etc_bind_count; i++) {
		if (fstatat(etc_fd, sandbox_etc_binds[i], &st, AT_SYMLINK_NOFOLLOW) == 0)
			pkg_sha256_add(sha, sandbox_etc_binds[i], S_ISDIR(st.st_mode) ? 3 : 4);
	}
	pkg_sha256_end_hex(sha, out);
	return 0;
}

static int
make_parents(int fd, const char *name, struct pkg_error *err)
{
	pkg_autofree char *dir = pkg_path_dir(name);

	return strchr(name, '/') ? pkg_dir_make_at(fd, dir, 0755, err) : 0;
}

static int
copy_link(int etc_fd, int fd, const char *name, struct pkg_error *err)
{
	char target[PATH_MAX];
	ssize_t len = readlinkat(etc_fd, name, target, sizeof(target) - 1);

	if (len < 0)
		return pkg_error_errno(err, errno, "read the link /etc/%s", name);
	target[len] = '\0';
	if (symlinkat(target, fd, name) < 0)
		return pkg_error_errno(err, errno, "link etc/%s", name);
	return 0;
}

/* A copy, never a hard link: an administrator's edit in place must not change what a running
 * sandbox was proved with. An unreadable file (mode 0600, we are not root) is left out. */
static int
copy_file(int etc_fd, int fd, const char *name, struct pkg_error *err)
{
	pkg_cleanup_buf struct pkg_buf text = { 0 };
	pkg_cleanup_error struct pkg_error why = { 0 };

	if (pkg_file_read_at(etc_fd, name, FILE_MAX, &text, &why) < 0) {
		if (why.kind == PKG_E_PERMISSION)
			return 0;
		pkg_error_move(err, &why);
		return -1;
	}
	return pkg_file_write_at(fd, name, pkg_buf_str(&text), text.len, 0644, false, err);
}

static int copy_entry(
	int etc_fd, int fd, const char *name, const struct stat *st, struct pkg_error *err);

struct copy {
	int etc_fd;
	int fd;
	const char *name;
};

static int
copy_below(void *context, const char *relative, const struct stat *st, struct pkg_error *err)
{
	const struct copy *copy = context;
	pkg_autofree char *name = pkg_path_join(copy->name, relative);

	if (S_ISDIR(st->st_mode))
		return pkg_dir_make_at(copy->fd, name, 0755, err);
	return copy_entry(copy->etc_fd, copy->fd, name, st, err);
}

static int
copy_entry(int etc_fd, int fd, const char *name, const struct stat *st, struct pkg_error *err)
{
	struct copy copy = { etc_fd, fd, name };

	if (S_ISLNK(st->st_mode))
		return copy_link(etc_fd, fd, name, err);
	if (S_ISREG(st->st_mode))
		return copy_file(etc_fd, fd, name, err);
	if (!S_ISDIR(st->st_mode))
		return 0;
	if (pkg_dir_make_at(fd, name, 0755, err) < 0)
		return -1;
	return pkg_tree_walk(etc_fd, name, copy_below, &copy, err);
}

static int
fill(int etc_fd, int fd, struct pkg_error *err)
{
	struct stat st;

	for (size_t i = 0; i < PKG_ARRAY_LEN(copied); i++) {
		if (fstatat(etc_fd, copied[i], &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (make_parents(fd, copied[i], err) < 0 ||
			copy_entry(etc_fd, fd, copied[i], &st, err) < 0)
			return -1;
	}
	/* Places for the certificates; bwrap cannot make one on a read-only mount. */
	for (size_t i = 0; i < sandbox_etc_bind_count; i++) {
		const char *name = sandbox_etc_binds[i];

		if (fstatat(etc_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (make_parents(fd, name, err) < 0)
			return -1;
		if (S_ISLNK(st.st_mode) ? copy_link(etc_fd, fd, name, err) < 0
					: pkg_dir_make_at(fd, name, 0755, err) < 0)
			return -1;
	}
	for (size_t i = 0; i < PKG_ARRAY_LEN(synthetic); i++) {
		if (pkg_file_write_at(fd, synthetic[i].name, synthetic[i].text,
			    strlen(synthetic[i].text), 0644, false, err) < 0)
			return -1;
	}
	return 0;
}

/* Earlier ones may be mounted in sandboxes that still run, so only very old ones go. */
static void
prune(const char *parent, const char *current)
{
	DIR *dir = opendir(parent);
	struct dirent *entry;
	struct stat st;

	while (dir && (entry = readdir(dir))) {
		if (!pkg_text_has_prefix(entry->d_name, "etc-") ||
			strcmp(entry->d_name, current) == 0 ||
			fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
			time(NULL) - st.st_ctim.tv_sec < KEEP_SECONDS)
			continue;
		(void)pkg_tree_remove_at(dirfd(dir), entry->d_name, NULL);
	}
	if (dir)
		(void)closedir(dir);
}

/* Complete under another name first: two programs may make it at the same time, and either's will
 * do. */
static int
build(int etc_fd, const char *parent, const char *name, struct pkg_error *err)
{
	pkg_autofree char *temporary = pkg_path_joinf(parent, ".%s-%d", name, (int)getpid());
	pkg_autofree char *path = pkg_path_join(parent, name);
	pkg_autofd int fd = -1;
	int rc = -1;

	if (pkg_tree_remove(temporary, err) < 0 || pkg_dir_make(temporary, 0755, err) < 0)
		return -1;
	fd = pkg_dir_open(temporary, err);
	if (fd >= 0 && fill(etc_fd, fd, err) == 0)
		rc = 0;
	if (rc == 0 && rename(temporary, path) < 0 && errno != ENOTEMPTY && errno != EEXIST)
		rc = pkg_error_errno(err, errno, "rename '%s'", temporary);
	(void)pkg_tree_remove(temporary, NULL);
	if (rc == 0)
		prune(parent, name);
	return rc;
}

char *
sandbox_etc_make(const char *etc, const char *parent, struct pkg_error *err)
{
	pkg_autofd int etc_fd = pkg_dir_open(etc, err);
	char hash[PKG_SHA256_HEX];
	pkg_autofree char *name = NULL;
	pkg_autofree char *path = NULL;

	if (etc_fd < 0 || fingerprint(etc_fd, hash, err) < 0) {
		pkg_error_prefix(err, "the sandbox's etc directory");
		return NULL;
	}
	name = pkg_xasprintf("etc-%.16s", hash);
	path = pkg_path_join(parent, name);
	if (access(path, F_OK) == 0)
		return pkg_steal_ptr(&path);
	if (pkg_dir_make(parent, 0700, err) < 0 || build(etc_fd, parent, name, err) < 0) {
		pkg_error_prefix(err, "the sandbox's etc directory");
		return NULL;
	}
	return pkg_steal_ptr(&path);
}
