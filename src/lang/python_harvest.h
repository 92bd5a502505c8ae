/* lang/python_harvest.h - what pip downloaded while it planned, taken over instead of fetched again.
 * Purpose    Finds a URL's bytes in pip's HTTP cache (before 23.3 one file per URL with the body inside a
 *            msgpack map, since then the body in a file of its own), for the index pages that pip read
 *            and the wheels whose metadata it looked at.
 * Ownership  Nothing is kept.
 * Errors     A cache that cannot be read, or of a form that is not known, holds nothing: what comes out
 *            of it counts only if its hash is right (files) or is just information (pages).
 */
#ifndef LANG_PYTHON_HARVEST_H
#define LANG_PYTHON_HARVEST_H
#include "lang/lang.h"

/* Descriptor at the first byte of the body, and its length; -1: not there. cache_dir is what pip got
 * as --cache-dir, and was written to by a sandbox. */
int lang_python_cached_open(const char *cache_dir, const char *url, long long *len);
/* A document, decompressed, at most max bytes, appended. -1: not there. */
int lang_python_cached_text(
	const char *cache_dir, const char *url, size_t max, struct pkg_buf *out);
/* What pip kept of that URL was wrong, and would be for ever. */
void lang_python_cache_forget(const char *cache_dir, const char *url);
/* Puts the file of every distribution that pip has into lang->cas. How many there were. */
size_t lang_python_harvest(
	struct lang_context *lang, const char *cache_dir, const struct lang_resolution *resolution);
/* pip never deletes from its cache: beyond this many bytes or entries it is thrown away. */
#define LANG_PYTHON_CACHE_BYTES_MAX (4LL * 1024 * 1024 * 1024)
#define LANG_PYTHON_CACHE_FILES_MAX 30000
void lang_python_cache_trim(const struct pkg_home *home, const char *cache_dir);
#endif
