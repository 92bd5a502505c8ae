/* Requirements: what parses has a canonical text that parses to itself, begins like a name and
 * evaluates without a crash. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lang/pep508.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check(const struct lang_requirement *requirement)
{
	static const struct lang_marker_env env = { .python_version = "3.11", .os_name = "posix" };
	pkg_autofree char *text = lang_requirement_text(requirement);
	lang_cleanup_requirement struct lang_requirement second = { 0 };
	bool result;

	if (!lang_is_alnum(text[0]))
		abort();
	if (requirement->marker)
		(void)lang_marker_evaluate(requirement->marker, &env, "x", &result, NULL);
	if (lang_requirement_parse(text, &second, NULL) == 0) {
		pkg_autofree char *again = lang_requirement_text(&second);

		if (strcmp(text, again) != 0)
			abort();
	} else if (strlen(text) <= LANG_REQUIREMENT_MAX) {
		abort();
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	lang_cleanup_requirement struct lang_requirement requirement = { 0 };
	pkg_cleanup_error struct pkg_error err = { 0 };

	if (lang_requirement_parse_mem((const char *)data, size, &requirement, &err) == 0)
		check(&requirement);
	else if (!err.message || requirement.name)
		abort();
	return 0;
}
