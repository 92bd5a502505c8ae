/* core/path.h - names of files, without touching any unless the comment says so.
 * Purpose    Join, normalise, compare by component, and decide what is too broad to expose.
 * Ownership  Results are given to the caller; arguments are borrowed.
 * Errors     As stated.
 */
#ifndef CORE_PATH_H
#define CORE_PATH_H
#include "core/error.h"
#include <stdbool.h>

/* Exactly one slash between; an absolute b does not replace a. An empty one gives the other. */
char *pkg_path_join(const char *a, const char *b);
char *pkg_path_joinf(const char *a, const char *format, ...) PKG_PRINTF(2, 3);
/* Lexical: "//" and "." dropped, ".." resolved ("/.." is "/"), no trailing slash. A relative path
 * stays relative ("." at least); ".." that would leave it, or an empty path, makes NULL. */
char *pkg_path_normalize(const char *path);
/* Both normalised first: /home/bob contains /home/bob/x and itself, never /home/bobby. */
bool pkg_path_contains(const char *parent, const char *path);
/* A relative path of plain components: no empty, ".", ".." component, no leading slash, backslash,
 * drive letter, control character or NUL (len says how long it is); at most PATH_MAX bytes. */
bool pkg_path_is_confined(const char *path, size_t len);
const char *pkg_path_base(const char *path); /* borrowed; what follows the last slash */
char *pkg_path_dir(const char *path);
/* Touches the file system: the realpath of the nearest existing ancestor with the rest appended.
 * PKG_E_INVALID for a relative path, a dangling symlink or an unreadable ancestor. */
char *pkg_path_canonical(const char *path, struct pkg_error *err);
/* BEHAVIOURS O205: "/", system roots (/etc /usr /bin /sbin /lib /lib64 /boot /root /var /opt /dev
 * /proc /sys /run /srv /mnt /media /tmp /home), home itself and every ancestor of it. Pure:
 * normalises, then compares. home may be NULL. A relative path counts as broad. */
bool pkg_path_is_broad(const char *path, const char *home);
#endif
