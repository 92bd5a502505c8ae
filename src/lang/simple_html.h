/* lang/simple_html.h - the tags of an HTML page, and their attributes.
 * Purpose    As much of HTML as an index page has: start tags, quoted and bare attribute values, character
 *            references, comments. Tolerant as browsers are, in one pass, with no nesting to get lost in.
 * Ownership  Tags borrow the text; attribute values are given.
 * Errors     None: what is no tag is passed over.
 */
#ifndef LANG_SIMPLE_HTML_H
#define LANG_SIMPLE_HTML_H
#include "lang/scan.h"

#define LANG_HTML_TAG_MAX (64 * 1024) /* bytes of one tag; longer ones are passed over */

struct lang_html_tag {
	const char *name;
	size_t name_len;
	const char *attributes; /* after the name, without the closing '>' */
	size_t len;
};

/* The next start tag at or after the cursor, which is left behind it. False at the end. */
bool lang_html_next(struct lang_scan *scan, struct lang_html_tag *tag);
bool lang_html_is(const struct lang_html_tag *tag, const char *name);
/* Its value, character references resolved: given; "" without a value, NULL when it is not there. */
char *lang_html_attribute(const struct lang_html_tag *tag, const char *name);
#endif
