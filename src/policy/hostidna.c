#include "policy/hostrule.h"

#include "core/url.h"

#include <string.h>

/* The name is cut out of the rule, converted by libcurl's URL parser (which applies IDNA), and put
 * back between what stood before and after it. */
char *
policy_host_rule_ascii(const char *text, struct pkg_error *err)
{
	size_t lead = strncmp(text, "*.", 2) == 0 ? 2 : text[0] == '.' ? 1 : 0;
	const char *name = text + lead;
	const char *colon = strchr(name, ':');
	pkg_cleanup_url struct pkg_url url = { 0 };
	pkg_autofree char *address = NULL;
	bool ascii = true;

	for (const char *p = text; *p; p++)
		ascii = ascii && !(*p & 0x80);
	if (ascii)
		return pkg_xstrdup(text);
	if (strpbrk(name, "/@?#[]%\\"))
		return pkg_error_set(
			       err, PKG_E_INVALID, "host rule: a character that no host name has"),
		       NULL;
	address = pkg_xasprintf(
		"http://%.*s/", (int)(colon ? (size_t)(colon - name) : strlen(name)), name);
	if (pkg_url_parse(address, &url, err) < 0) {
		pkg_error_prefix(err, "host rule");
		return NULL;
	}
	for (const char *p = url.host; *p; p++)
		if (*p & 0x80) {
			pkg_error_set(err, PKG_E_INVALID,
				"host rule: the name cannot be converted to A-labels here");
			pkg_error_cure(err, "write the name with A-labels (xn--...)");
			return NULL;
		}
	return pkg_xasprintf("%.*s%s%s", (int)lead, text, url.host, colon ? colon : "");
}
