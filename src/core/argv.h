/* core/argv.h - a vector of strings: command lines, environments, name lists.
 * Purpose    Arguments are counted; a NULL among them aborts, so an option can never vanish.
 * Ownership  The vector owns its strings. It also owns the descriptors that a child will inherit
 *            (pkg_argv_take_fd); they are closed with it.
 * Errors     None.
 */
#ifndef CORE_ARGV_H
#define CORE_ARGV_H
#include "core/mem.h"
#include <stdbool.h>

struct pkg_argv {
	char **items; /* owned; items[count] is NULL */
	size_t count;
	int *fds; /* owned and open, close-on-exec; a child gets each under its own number */
	size_t fd_count;
};

struct pkg_argv *pkg_argv_new(void);
void pkg_argv_free(struct pkg_argv *argv);
PKG_DEFINE_CLEANUP(struct pkg_argv, pkg_argv_free)
/* Appends copies of all the strings given. */
#define pkg_argv_add(argv, ...)                                                                    \
	pkg_argv_add_n(argv, PKG_ARRAY_LEN(((const char *[]){ __VA_ARGS__ })),                     \
		(const char *[]){ __VA_ARGS__ })
void pkg_argv_add_n(struct pkg_argv *argv, size_t count, const char *const *items);
void pkg_argv_addf(struct pkg_argv *argv, const char *format, ...) PKG_PRINTF(2, 3);
void pkg_argv_add_all(struct pkg_argv *argv, const struct pkg_argv *other);
/* Takes text. */
void pkg_argv_take(struct pkg_argv *argv, char *text);
void pkg_argv_take_fd(struct pkg_argv *argv, int fd);
struct pkg_argv *pkg_argv_dup(const struct pkg_argv *argv); /* strings only */
bool pkg_argv_has(const struct pkg_argv *argv, const char *text);
/* Byte order; used before hashing and printing. */
void pkg_argv_sort(struct pkg_argv *argv);
/* Given; items joined by separator. */
char *pkg_argv_join(const struct pkg_argv *argv, const char *separator);
#endif
