/* core/buf.h - a growing string.
 * Purpose    Every string that is put together piece by piece.
 * Ownership  The struct is the caller's storage, { 0 } is empty; data is always NUL-terminated once
 *            something was added. pkg_buf_steal() gives the string away.
 * Errors     None: out of memory aborts. Callers bound what comes from outside.
 */
#ifndef CORE_BUF_H
#define CORE_BUF_H
#include "core/mem.h"

struct pkg_buf {
	char *data; /* owned; NULL while empty */
	size_t len;
	size_t cap;
};

#define pkg_cleanup_buf __attribute__((cleanup(pkg_buf_clear)))

void pkg_buf_clear(struct pkg_buf *buf);
void pkg_buf_reserve(struct pkg_buf *buf, size_t more);
void pkg_buf_add(struct pkg_buf *buf, const char *text);
void pkg_buf_add_mem(struct pkg_buf *buf, const void *data, size_t len);
void pkg_buf_add_char(struct pkg_buf *buf, char c);
void pkg_buf_addf(struct pkg_buf *buf, const char *format, ...) PKG_PRINTF(2, 3);
/* Shortens to len (no-op when it is shorter already). */
void pkg_buf_truncate(struct pkg_buf *buf, size_t len);
/* Drops the first n bytes. */
void pkg_buf_consume(struct pkg_buf *buf, size_t n);
/* Never NULL: "" while empty. Borrowed. */
const char *pkg_buf_str(const struct pkg_buf *buf);
/* Never NULL; the buffer is empty afterwards. */
char *pkg_buf_steal(struct pkg_buf *buf);
#endif
