#include "core/path.h"

#include "core/argv.h"
#include "core/buf.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

char *
pkg_path_join(const char *a, const char *b)
{
	size_t len = strlen(a);

	if (len == 0)
		return pkg_xstrdup(b);
	while (len > 0 && a[len - 1] == '/')
		len--;
	while (*b == '/')
		b++;
	if (*b == '\0')
		return len == 0 ? pkg_xstrdup("/") : pkg_xstrndup(a, len);
	return pkg_xasprintf("%.*s/%s", (int)len, a, b);
}

char *
pkg_path_joinf(const char *a, const char *format, ...)
{
	pkg_autofree char *b = NULL;
	va_list args;

	va_start(args, format);
	b = pkg_xvasprintf(format, args);
	va_end(args);
	return pkg_path_join(a, b);
}

/* Drops the last component of an absolute or relative path under construction; -1 at its start. */
static int
go_up(struct pkg_buf *out, size_t root)
{
	size_t len = out->len;

	if (len == root)
		return root ? 0 : -1;
	while (len > root && out->data[len - 1] != '/')
		len--;
	if (len > root)
		len--;
	pkg_buf_truncate(out, len);
	return 0;
}

char *
pkg_path_normalize(const char *path)
{
	pkg_cleanup_buf struct pkg_buf out = { 0 };
	size_t root = path[0] == '/' ? 1 : 0;

	if (path[0] == '\0')
		return NULL;
	if (root)
		pkg_buf_add_char(&out, '/');
	while (*path) {
		size_t len = strcspn(path, "/");

		if (len == 2 && memcmp(path, "..", 2) == 0) {
			if (go_up(&out, root) < 0)
				return NULL;
		} else if (len > 0 && !(len == 1 && path[0] == '.')) {
			if (out.len > root)
				pkg_buf_add_char(&out, '/');
			pkg_buf_add_mem(&out, path, len);
		}
		path += len;
		while (*path == '/')
			path++;
	}
	if (out.len == 0)
		pkg_buf_add_char(&out, '.');
	return pkg_buf_steal(&out);
}

bool
pkg_path_contains(const char *parent, const char *path)
{
	pkg_autofree char *outer = pkg_path_normalize(parent);
	pkg_autofree char *inner = pkg_path_normalize(path);
	size_t len;

	if (!outer || !inner || (outer[0] == '/') != (inner[0] == '/'))
		return false;
	if (strcmp(outer, "/") == 0 || strcmp(outer, ".") == 0)
		return true;
	len = strlen(outer);
	return strncmp(outer, inner, len) == 0 && (inner[len] == '\0' || inner[len] == '/');
}

bool
pkg_path_is_confined(const char *path, size_t len)
{
	size_t start = 0;

	if (len == 0 || len > PATH_MAX)
		return false;
	/* "C:x" names another place on systems that archives were made for. */
	if (len >= 2 && path[1] == ':' && (path[0] | 0x20) >= 'a' && (path[0] | 0x20) <= 'z')
		return false;
	for (size_t i = 0; i <= len; i++) {
		size_t size = i - start;

		if (i < len && path[i] != '/') {
			unsigned char c = (unsigned char)path[i];

			if (c < 0x20 || c == 0x7F || c == '\\')
				return false;
			continue;
		}
		if (size == 0 || (size == 1 && path[start] == '.') ||
			(size == 2 && path[start] == '.' && path[start + 1] == '.'))
			return false;
		start = i + 1;
	}
	return true;
}

const char *
pkg_path_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

char *
pkg_path_dir(const char *path)
{
	size_t len = strlen(path);

	while (len > 1 && path[len - 1] == '/')
		len--;
	while (len > 0 && path[len - 1] != '/')
		len--;
	if (len == 0)
		return pkg_xstrdup(".");
	while (len > 1 && path[len - 1] == '/')
		len--;
	return pkg_xstrndup(path, len);
}

/* Moves the last component of head in front of rest. ".." behind something missing has no meaning.
 */
static int
split_last(char *head, char **rest, struct pkg_error *err)
{
	size_t len = strlen(head);
	const char *base;
	char *longer;

	while (len > 1 && head[len - 1] == '/')
		head[--len] = '\0';
	base = pkg_path_base(head);
	if (strcmp(base, "..") == 0)
		return pkg_error_set(
			err, PKG_E_INVALID, "'..' follows a directory that is not there");
	if (strcmp(base, ".") != 0) {
		longer = *rest ? pkg_path_join(base, *rest) : pkg_xstrdup(base);
		free(*rest);
		*rest = longer;
	}
	/* head stays absolute: its first slash is never cut off. */
	head[base - head > 1 ? base - head - 1 : 1] = '\0';
	return 0;
}

char *
pkg_path_canonical(const char *path, struct pkg_error *err)
{
	pkg_autofree char *head = pkg_xstrdup(path);
	pkg_autofree char *rest = NULL;
	pkg_autofree char *real = NULL;
	struct stat st;

	if (path[0] != '/') {
		pkg_error_set(err, PKG_E_INVALID, "path '%s' is not absolute", path);
		return NULL;
	}
	while (!(real = realpath(head, NULL))) {
		int saved = errno;

		if (saved != ENOENT || strcmp(head, "/") == 0) {
			pkg_error_set(err, PKG_E_INVALID, "path '%s': %s", path, strerror(saved));
			return NULL;
		}
		if (lstat(head, &st) == 0) {
			pkg_error_set(err, PKG_E_INVALID,
				"path '%s': the symlink '%s' leads nowhere", path, head);
			return NULL;
		}
		if (split_last(head, &rest, err) < 0) {
			pkg_error_prefix(err, "path '%s'", path);
			return NULL;
		}
	}
	return rest ? pkg_path_join(real, rest) : pkg_steal_ptr(&real);
}

bool
pkg_path_is_broad(const char *path, const char *home)
{
	static const char *const roots[] = { "/", "/etc", "/usr", "/bin", "/sbin", "/lib", "/lib64",
		"/boot", "/root", "/var", "/opt", "/dev", "/proc", "/sys", "/run", "/srv", "/mnt",
		"/media", "/tmp", "/home" };
	pkg_autofree char *plain = pkg_path_normalize(path);

	/* What cannot be compared is refused. */
	if (!plain || plain[0] != '/')
		return true;
	for (size_t i = 0; i < PKG_ARRAY_LEN(roots); i++) {
		if (strcmp(plain, roots[i]) == 0)
			return true;
	}
	return home && pkg_path_contains(plain, home);
}
