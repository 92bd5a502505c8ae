#include "core/argv.h"

#include "core/buf.h"

#include <stdlib.h>
#include <string.h>

struct pkg_argv *
pkg_argv_new(void)
{
	struct pkg_argv *argv = pkg_xcalloc(1, sizeof(*argv));

	argv->items = pkg_xcalloc(1, sizeof(*argv->items));
	return argv;
}

void
pkg_argv_free(struct pkg_argv *argv)
{
	if (!argv)
		return;
	for (size_t i = 0; i < argv->count; i++)
		free(argv->items[i]);
	free(argv->items);
	for (size_t i = 0; i < argv->fd_count; i++)
		pkg_close(&argv->fds[i]);
	free(argv->fds);
	free(argv);
}

/* Capacity is the power of two that holds count and its NULL, so it need not be stored. */
static bool
is_full(size_t used)
{
	return (used & (used - 1)) == 0;
}

void
pkg_argv_take(struct pkg_argv *argv, char *text)
{
	if (!text)
		pkg_abort("NULL in an argument vector");
	if (is_full(argv->count + 1))
		argv->items =
			pkg_xrealloc(argv->items, 2 * (argv->count + 1), sizeof(*argv->items));
	argv->items[argv->count++] = text;
	argv->items[argv->count] = NULL;
}

void
pkg_argv_add_n(struct pkg_argv *argv, size_t count, const char *const *items)
{
	for (size_t i = 0; i < count; i++)
		pkg_argv_take(argv, pkg_xstrdup(items[i]));
}

void
pkg_argv_addf(struct pkg_argv *argv, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	pkg_argv_take(argv, pkg_xvasprintf(format, args));
	va_end(args);
}

void
pkg_argv_add_all(struct pkg_argv *argv, const struct pkg_argv *other)
{
	/* Counted first: the two may be the same vector. */
	size_t count = other->count;

	for (size_t i = 0; i < count; i++)
		pkg_argv_take(argv, pkg_xstrdup(other->items[i]));
}

void
pkg_argv_take_fd(struct pkg_argv *argv, int fd)
{
	if (fd < 0)
		pkg_abort("no descriptor to hand to a child");
	argv->fds = pkg_xrealloc(argv->fds, argv->fd_count + 1, sizeof(*argv->fds));
	argv->fds[argv->fd_count++] = fd;
}

struct pkg_argv *
pkg_argv_dup(const struct pkg_argv *argv)
{
	struct pkg_argv *copy = pkg_argv_new();

	pkg_argv_add_all(copy, argv);
	return copy;
}

bool
pkg_argv_has(const struct pkg_argv *argv, const char *text)
{
	for (size_t i = 0; i < argv->count; i++) {
		if (strcmp(argv->items[i], text) == 0)
			return true;
	}
	return false;
}

static int
compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void
pkg_argv_sort(struct pkg_argv *argv)
{
	qsort(argv->items, argv->count, sizeof(*argv->items), compare);
}

char *
pkg_argv_join(const struct pkg_argv *argv, const char *separator)
{
	pkg_cleanup_buf struct pkg_buf buf = { 0 };

	for (size_t i = 0; i < argv->count; i++) {
		if (i > 0)
			pkg_buf_add(&buf, separator);
		pkg_buf_add(&buf, argv->items[i]);
	}
	return pkg_buf_steal(&buf);
}
