/* requirements.txt: "\0" separates the outer file from the one that every -r reads. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lang/requirements_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct rest {
	const char *text;
	size_t len;
};

static int
read_rest(void *context, const char *from, const char *name, struct pkg_buf *content, char **path,
	struct pkg_error *err)
{
	const struct rest *rest = context;

	if (strcmp(name, "none") == 0)
		return pkg_error_set(err, PKG_E_NOT_FOUND, "no file '%s' beside '%s'", name, from);
	pkg_buf_add_mem(content, rest->text, rest->len);
	*path = pkg_xstrdup(name);
	return 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	lang_cleanup_requirements struct lang_requirements list = { 0 };
	pkg_cleanup_error struct pkg_error err = { 0 };
	const char *text = (const char *)data, *nul = memchr(data, '\0', size);
	size_t len = nul ? (size_t)(nul - text) : size;
	struct rest rest = { .text = text + len, .len = size - len };

	if (nul) {
		rest.text++;
		rest.len--;
	}
	if (lang_requirements_parse("r.txt", text, len, false, read_rest, &rest, &list, &err) < 0 &&
		(!err.message || list.count > 0))
		abort();
	return 0;
}
