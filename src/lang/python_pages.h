/* lang/python_pages.h - project pages kept between plans: <cache>/index/<2 hex>/<hash of the URL>.
 * Purpose    A page that is still fresh (Cache-Control) is not asked for again; one that is not is asked for
 *            with its ETag, and mostly not sent. What is kept is the parsed form (lang/simple_index.h).
 * Ownership  The entry is the caller's.
 * Errors     None: a cache that cannot be read or written is one without the page. Absence of a project is
 *            never kept.
 *
 * The file's name is the hash of the URL with its userinfo, so what one set of credentials was shown is not
 * shown to another; the userinfo itself is written nowhere.
 */
#ifndef LANG_PYTHON_PAGES_H
#define LANG_PYTHON_PAGES_H
#include "lang/lang.h"
#include "lang/simple_index.h"

struct lang_python_page_entry {
	struct lang_simple_page page;
	char *etag; /* NULL: it cannot be revalidated */
	int64_t fresh_until_ms;
	int64_t stored_ms;
};
void lang_python_page_entry_clear(struct lang_python_page_entry *entry);

/* False: there is none. */
bool lang_python_pages_get(
	const struct pkg_home *home, const char *url, struct lang_python_page_entry *out);
/* max_age: seconds. */
void lang_python_pages_put(const struct pkg_home *home, const char *url, const char *etag,
	long long max_age, const struct lang_simple_page *page);
/* Metadata of a wheel: <cache>/metadata/<2 hex>/<hash>. By the wheel's hash and where it was read: an index
 * cannot say what another one's file needs. False: there is none. */
bool lang_python_metadata_get(
	const struct pkg_home *home, const struct lang_simple_file *file, struct pkg_buf *out);
void lang_python_metadata_put(const struct pkg_home *home, const struct lang_simple_file *file,
	const char *text, size_t len);
#endif
