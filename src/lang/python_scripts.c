#include "lang/python_scripts.h"

#include <string.h>

#define MARK "#!python"

void
lang_python_shebang(const char *interpreter, struct pkg_buf *out)
{
	bool blank = strchr(interpreter, ' ') != NULL;
	const char *quote = blank ? "\"" : "";

	/* distlib counts "#!" and the newline. */
	if (!blank && strlen(interpreter) + 3 <= LANG_PYTHON_SHEBANG_MAX) {
		pkg_buf_addf(out, "#!%s\n", interpreter);
		return;
	}
	pkg_buf_addf(out, "#!/bin/sh\n'''exec' %s%s%s \"$0\" \"$@\"\n' '''\n", quote, interpreter,
		quote);
}

/* "cli" of "cli.main": what has to be imported for an attribute to be reached. */
static size_t
first_name(const char *attr)
{
	return strcspn(attr, ".");
}

void
lang_python_launcher(
	const char *interpreter, const struct lang_entry_point *point, struct pkg_buf *out)
{
	lang_python_shebang(interpreter, out);
	pkg_buf_addf(out,
		"# -*- coding: utf-8 -*-\n"
		"import re\n"
		"import sys\n"
		"from %s import %.*s\n"
		"if __name__ == '__main__':\n"
		"    sys.argv[0] = re.sub(r'(-script\\.pyw|\\.exe)?$', '', sys.argv[0])\n"
		"    sys.exit(%s())\n",
		point->module, (int)first_name(point->attr), point->attr, point->attr);
}

bool
lang_python_script_is_ours(const char *text, size_t len)
{
	return len >= strlen(MARK) && memcmp(text, MARK, strlen(MARK)) == 0;
}

void
lang_python_script_rewrite(
	const char *interpreter, const char *text, size_t len, struct pkg_buf *out)
{
	const char *end = len > 0 ? memchr(text, '\n', len) : NULL;

	lang_python_shebang(interpreter, out);
	if (end)
		pkg_buf_add_mem(out, end + 1, len - (size_t)(end + 1 - text));
}
