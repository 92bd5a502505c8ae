/* core/mem.h - allocation that cannot fail, and release by attribute.
 * Purpose    Memory, strings and descriptors that let go of themselves at the end of a scope.
 * Ownership  Every pkg_x* result is given to the caller and released with free().
 * Errors     None: out of memory aborts. Sizes from outside are bounded before they get here.
 */
#ifndef CORE_MEM_H
#define CORE_MEM_H
#include <stdarg.h>
#include <stddef.h>

#define PKG_UNUSED __attribute__((unused))
#define PKG_PRINTF(f, a) __attribute__((format(printf, f, a)))
#define PKG_MUST_CHECK __attribute__((warn_unused_result))
#define PKG_ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* Says why on stderr and aborts: out of memory, or a bug of ours that must not go on. */
__attribute__((noreturn, cold)) void pkg_abort(const char *why);

void *pkg_xmalloc(size_t size);
void *pkg_xcalloc(size_t count, size_t size);
/* Aborts when count * size does not fit. */
void *pkg_xrealloc(void *old, size_t count, size_t size);
/* NULL gives NULL. */
char *pkg_xstrdup(const char *text);
char *pkg_xstrndup(const char *text, size_t len);
void *pkg_xmemdup(const void *data, size_t len);
char *pkg_xasprintf(const char *format, ...) PKG_PRINTF(1, 2);
char *pkg_xvasprintf(const char *format, va_list args) PKG_PRINTF(1, 0);

void pkg_cleanup_free_fn(void *pointer_to_pointer);
void pkg_cleanup_fd_fn(int *fd);
/* Closes unless -1, sets -1; keeps errno; is never retried. */
void pkg_close(int *fd);

#define pkg_autofree __attribute__((cleanup(pkg_cleanup_free_fn)))
#define pkg_autofd __attribute__((cleanup(pkg_cleanup_fd_fn)))
/* pkg_cleanup(fn): calls fn##_cleanup(&variable); each type with a free function declares that
 * twin. */
#define pkg_cleanup(fn) __attribute__((cleanup(fn##_cleanup)))
#define PKG_DEFINE_CLEANUP(type, fn)                                                               \
	static inline PKG_UNUSED void fn##_cleanup(type **slot)                                    \
	{                                                                                          \
		fn(*slot);                                                                         \
		*slot = NULL;                                                                      \
	}

static inline void *
pkg_steal_ptr_fn(void *slot)
{
	void **pp = slot;
	void *taken = *pp;

	*pp = NULL;
	return taken;
}

static inline int
pkg_steal_fd(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

#define pkg_steal_ptr(slot) ((__typeof__(*(slot)))pkg_steal_ptr_fn(slot))
#endif
