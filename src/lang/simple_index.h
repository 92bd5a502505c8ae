/* lang/simple_index.h - a project's page of the simple repository API, HTML (PEP 503) or JSON (PEP 691, 700).
 * Purpose    One list of files, whatever the server speaks, with what is said of each: hash,
 *            Requires-Python, yanked (PEP 592), size and date (PEP 700), a metadata file beside it (PEP 658,
 *            714), provenance (PEP 740).
 * Ownership  The page owns everything in it.
 * Errors     PKG_E_INVALID: neither JSON nor HTML, no list of files, or an API of another major version
 *            (PEP 629). A single file that makes no sense is left out.
 *
 * What comes out is clean: URLs are absolute http(s) without userinfo and fragment, names are one path
 * component, hashes are lower-case SHA-256, texts are bounded and printable.
 */
#ifndef LANG_SIMPLE_INDEX_H
#define LANG_SIMPLE_INDEX_H
#include "core/buf.h"
#include "core/error.h"
#include <stdbool.h>

#define LANG_SIMPLE_BYTES_MAX (64 * 1024 * 1024)
#define LANG_SIMPLE_FILES_MAX 200000
#define LANG_SIMPLE_TEXT_MAX 300

/* Asks for JSON, takes HTML. */
#define LANG_SIMPLE_ACCEPT                                                                         \
	"application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, "         \
	"text/html;q=0.1"

struct lang_simple_file {
	char *filename;
	char *url;
	char *sha256; /* NULL: not said */
	char *requires_python; /* NULL */
	char *uploaded; /* ISO 8601; NULL */
	char *yanked_reason; /* NULL */
	char *metadata_sha256; /* of URL.metadata; NULL: not said */
	char *provenance; /* URL of its attestations; NULL */
	long long size; /* -1 */
	bool yanked;
	bool has_metadata; /* URL.metadata is there */
};

struct lang_simple_page {
	struct lang_simple_file *files; /* owned; in the order of the page */
	size_t count;
};

/* page_url: where it came from in the end. content_type NULL: whatever it looks like. */
int lang_simple_parse(const char *text, size_t len, const char *content_type, const char *page_url,
	struct lang_simple_page *out, struct pkg_error *err);
void lang_simple_page_clear(struct lang_simple_page *page);
#define lang_cleanup_simple_page __attribute__((cleanup(lang_simple_page_clear)))

/* The same as lines of text, for a cache: a tenth of the page, and read in a tenth of the time. */
void lang_simple_page_save(const struct lang_simple_page *page, struct pkg_buf *out);
int lang_simple_page_load(
	const char *text, size_t len, struct lang_simple_page *out, struct pkg_error *err);
/* Given: "INDEX/NAME/", the page's address. */
char *lang_simple_page_url(const char *index, const char *name);
#endif
