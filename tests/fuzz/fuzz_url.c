/* URLs: what is accepted has the parts that were promised, and nothing that is shown holds a password. */
#include "core/mem.h"
#include "core/url.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_plain(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text <= ' ' || *text == 0x7f || (*text >= 'A' && *text <= 'Z'))
			abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	pkg_autofree char *text = pkg_xstrndup((const char *)data, size);
	pkg_cleanup_url struct pkg_url url = { 0 };
	pkg_autofree char *redacted = pkg_url_redact(text);
	pkg_autofree char *shown = pkg_url_short(text);
	pkg_autofree char *base = pkg_url_basename(text);
	pkg_autofree char *resolved = pkg_url_resolve("https://user:secret@host.example/a/b", text);

	if (strchr(base, '/'))
		abort();
	if (pkg_url_parse(text, &url, NULL) == 0) {
		check_plain(url.host);
		if (url.path[0] != '/' || url.port < 1 || url.port > 65535)
			abort();
		/* Where it stands once, it is the password; in a path it may stand as well. */
		const char *at = url.password && strlen(url.password) > 6
			? strstr(text, url.password)
			: NULL;

		if (at && !strstr(at + 1, url.password) &&
			(strstr(redacted, url.password) || strstr(shown, url.password)))
			abort();
	}
	return 0;
}
