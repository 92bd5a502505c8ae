/* Versions and specifier sets: what parses has a canonical form that parses to the same. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lang/pep440_set.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_set(const char *text, const struct lang_pep440_version *version)
{
	lang_cleanup_pep440_set struct lang_pep440_set set = { 0 }, second = { 0 };
	pkg_autofree char *canonical = NULL;

	if (lang_pep440_set_parse(text, &set, NULL) < 0)
		return;
	canonical = lang_pep440_set_text(&set);
	/* The canonical text may outgrow the limit on texts, but not be misread. */
	if (lang_pep440_set_parse(canonical, &second, NULL) == 0 && version &&
		lang_pep440_set_match(&set, version, LANG_PEP440_PRE_AUTO) !=
			lang_pep440_set_match(&second, version, LANG_PEP440_PRE_AUTO))
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	pkg_autofree char *text = pkg_xstrndup((const char *)data, size);
	struct lang_pep440_version version, second;
	const char *comma = memchr(data, ',', size);
	size_t len = comma ? (size_t)(comma - (const char *)data) : size;
	bool valid = lang_pep440_parse_mem((const char *)data, len, &version, NULL) == 0;

	if (valid) {
		pkg_autofree char *canonical = lang_pep440_canonical(&version);
		pkg_autofree char *again = NULL;

		if (lang_pep440_parse(canonical, &second, NULL) < 0 ||
			lang_pep440_compare(&version, &second) != 0)
			abort();
		again = lang_pep440_canonical(&second);
		if (strcmp(canonical, again) != 0)
			abort();
	}
	check_set(comma && strlen(text) > len ? text + len + 1 : text, valid ? &version : NULL);
	return 0;
}
