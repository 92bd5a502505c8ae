#include "lang/lang.h"

#include <string.h>

#include "lang/python.h"
#include "lang/r.h"

const struct lang_ops *
lang_find(const char *language, struct pkg_error *err)
{
	static const struct lang_ops *const known[] = { &lang_python_ops, &lang_r_ops };

	for (size_t i = 0; i < PKG_ARRAY_LEN(known); i++)
		if (strcmp(known[i]->name, language) == 0)
			return known[i];
	pkg_error_set(err, PKG_E_INVALID, "'%s' is no language; python and r are", language);
	return NULL;
}
