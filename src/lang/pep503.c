#include "lang/pep503.h"

#include <string.h>

#include "core/buf.h"
#include "lang/scan.h"

static bool
is_separator(char c)
{
	return c == '-' || c == '_' || c == '.';
}

char *
lang_pep503_normalize_mem(const char *name, size_t len)
{
	struct pkg_buf out = { 0 };

	for (size_t i = 0; i < len; i++) {
		if (!is_separator(name[i]))
			pkg_buf_add_char(&out, lang_lower(name[i]));
		else if (i == 0 || !is_separator(name[i - 1]))
			pkg_buf_add_char(&out, '-');
	}
	return pkg_buf_steal(&out);
}

char *
lang_pep503_normalize(const char *name)
{
	return lang_pep503_normalize_mem(name, strlen(name));
}

bool
lang_pep503_is_name_mem(const char *name, size_t len)
{
	if (len == 0 || len > LANG_NAME_MAX)
		return false;
	if (!lang_is_alnum(name[0]) || !lang_is_alnum(name[len - 1]))
		return false;
	for (size_t i = 0; i < len; i++)
		if (!lang_is_alnum(name[i]) && !is_separator(name[i]))
			return false;
	return true;
}

bool
lang_pep503_is_name(const char *name)
{
	return lang_pep503_is_name_mem(name, strlen(name));
}

bool
lang_pep503_equal(const char *a, const char *b)
{
	pkg_autofree char *na = lang_pep503_normalize(a);
	pkg_autofree char *nb = lang_pep503_normalize(b);

	return strcmp(na, nb) == 0;
}
