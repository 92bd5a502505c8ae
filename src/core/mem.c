#include "core/mem.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void
pkg_abort(const char *why)
{
	/* No stdio: it may allocate, and the heap may be what failed. */
	if (write(STDERR_FILENO, "fatal: ", 7) < 0 || write(STDERR_FILENO, why, strlen(why)) < 0 ||
		write(STDERR_FILENO, "\n", 1) < 0)
		abort();
	abort();
}

static void *
or_abort(void *memory)
{
	if (!memory)
		pkg_abort("out of memory");
	return memory;
}

void *
pkg_xmalloc(size_t size)
{
	return or_abort(malloc(size ? size : 1));
}

void *
pkg_xcalloc(size_t count, size_t size)
{
	if (count == 0 || size == 0)
		count = size = 1;
	return or_abort(calloc(count, size));
}

void *
pkg_xrealloc(void *old, size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes))
		pkg_abort("allocation size overflows");
	return or_abort(realloc(old, bytes ? bytes : 1));
}

char *
pkg_xstrdup(const char *text)
{
	return text ? or_abort(strdup(text)) : NULL;
}

char *
pkg_xstrndup(const char *text, size_t len)
{
	return text ? or_abort(strndup(text, len)) : NULL;
}

void *
pkg_xmemdup(const void *data, size_t len)
{
	void *copy;

	if (!data)
		return NULL;
	copy = pkg_xmalloc(len);
	if (len)
		memcpy(copy, data, len);
	return copy;
}

char *
pkg_xvasprintf(const char *format, va_list args)
{
	char *text;

	if (vasprintf(&text, format, args) < 0)
		pkg_abort("out of memory while formatting");
	return text;
}

char *
pkg_xasprintf(const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	text = pkg_xvasprintf(format, args);
	va_end(args);
	return text;
}

void
pkg_cleanup_free_fn(void *pointer_to_pointer)
{
	void **slot = pointer_to_pointer;

	free(*slot);
	*slot = NULL;
}

void
pkg_close(int *fd)
{
	int saved = errno;

	/* Linux frees the number even when close reports EINTR: a retry could close another's file.
	 */
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
	errno = saved;
}

void
pkg_cleanup_fd_fn(int *fd)
{
	pkg_close(fd);
}
