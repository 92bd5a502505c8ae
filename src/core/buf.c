#include "core/buf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
pkg_buf_clear(struct pkg_buf *buf)
{
	free(buf->data);
	*buf = (struct pkg_buf){ 0 };
}

void
pkg_buf_reserve(struct pkg_buf *buf, size_t more)
{
	size_t need;
	size_t cap = buf->cap;

	if (__builtin_add_overflow(buf->len, more, &need) || __builtin_add_overflow(need, 1, &need))
		pkg_abort("buffer size overflows");
	if (need <= cap)
		return;
	if (cap < 64)
		cap = 64;
	while (cap < need) {
		if (__builtin_add_overflow(cap, cap / 2, &cap))
			cap = need;
	}
	buf->data = pkg_xrealloc(buf->data, cap, 1);
	buf->cap = cap;
	buf->data[buf->len] = '\0';
}

void
pkg_buf_add_mem(struct pkg_buf *buf, const void *data, size_t len)
{
	pkg_buf_reserve(buf, len);
	if (len)
		memcpy(buf->data + buf->len, data, len);
	buf->len += len;
	buf->data[buf->len] = '\0';
}

void
pkg_buf_add(struct pkg_buf *buf, const char *text)
{
	pkg_buf_add_mem(buf, text, strlen(text));
}

void
pkg_buf_add_char(struct pkg_buf *buf, char c)
{
	pkg_buf_add_mem(buf, &c, 1);
}

void
pkg_buf_addf(struct pkg_buf *buf, const char *format, ...)
{
	va_list args;
	int need;

	/* Most pieces fit what is there already; those that do not say how much they need. */
	pkg_buf_reserve(buf, 64);
	va_start(args, format);
	need = vsnprintf(buf->data + buf->len, buf->cap - buf->len, format, args);
	va_end(args);
	if (need < 0)
		pkg_abort("cannot format");
	if ((size_t)need >= buf->cap - buf->len) {
		pkg_buf_reserve(buf, (size_t)need);
		va_start(args, format);
		need = vsnprintf(buf->data + buf->len, buf->cap - buf->len, format, args);
		va_end(args);
		if (need < 0)
			pkg_abort("cannot format");
	}
	buf->len += (size_t)need;
}

void
pkg_buf_truncate(struct pkg_buf *buf, size_t len)
{
	if (len >= buf->len)
		return;
	buf->len = len;
	buf->data[len] = '\0';
}

void
pkg_buf_consume(struct pkg_buf *buf, size_t n)
{
	if (n == 0 || buf->len == 0)
		return;
	if (n > buf->len)
		n = buf->len;
	buf->len -= n;
	memmove(buf->data, buf->data + n, buf->len + 1);
}

const char *
pkg_buf_str(const struct pkg_buf *buf)
{
	return buf->data ? buf->data : "";
}

char *
pkg_buf_steal(struct pkg_buf *buf)
{
	char *text = buf->data ? buf->data : pkg_xstrdup("");

	*buf = (struct pkg_buf){ 0 };
	return text;
}
