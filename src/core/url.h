/* core/url.h - URLs (RFC 3986), taken apart by libcurl's URL API.
 * Purpose    What a card, a log, a host rule and a sandbox need of a URL.
 * Ownership  The struct owns its strings.
 * Errors     PKG_E_INVALID for text that is no absolute http(s) URL, is longer than 8,192 bytes, or
 *            could be read in two ways (control characters, blanks, backslashes, two '@'). Messages
 *            never hold the text itself. On failure *out is left as it was.
 */
#ifndef CORE_URL_H
#define CORE_URL_H
#include "core/error.h"
#include <stdbool.h>

#define PKG_URL_MAX 8192

struct pkg_url {
	char *scheme; /* "http" or "https" */
	char *host; /* lower case, no trailing dot, IPv6 without brackets, IDNA as A-labels */
	int port; /* the scheme's default when not given */
	char *path; /* "/" at least; dots resolved; with the query */
	char *user; /* percent-decoded; NULL when there is none */
	char *password; /* the same */
	char *fragment; /* without "#"; NULL when there is none */
};

int pkg_url_parse(const char *text, struct pkg_url *out, struct pkg_error *err);
void pkg_url_clear(struct pkg_url *url);
#define pkg_cleanup_url __attribute__((cleanup(pkg_url_clear)))
/* Given: the text without userinfo (text that does not parse loses everything up to its last '@').
 */
char *pkg_url_redact(const char *text);
/* Given: "host[:port]/path" without scheme, userinfo, query, trailing slash: how a card shows an
 * index. */
char *pkg_url_short(const char *text);
/* Given: reference resolved against base (RFC 3986 section 5), NULL when impossible. */
char *pkg_url_resolve(const char *base, const char *reference);
/* Given: percent-decoded last path segment, without query and fragment; "" when there is none.
 * Escaped slashes and controls stay escaped, so it is one name (but may be ".."). */
char *pkg_url_basename(const char *text);
#endif
