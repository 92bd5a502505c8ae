/* lang/python_native.h - pkgd's own resolver for Python: no process, nothing of a package unpacked or run.
 * Purpose    Request and environment in, resolution out, as lang_python_plan() of pip gives it.
 * Ownership  As lang/lang.h.
 * Errors     As lang/lang.h; PKG_E_UNSUPPORTED for what pip has to do, with the reason in the message.
 */
#ifndef LANG_PYTHON_NATIVE_H
#define LANG_PYTHON_NATIVE_H
#include "lang/lang.h"

int lang_python_native_plan(struct lang_context *lang, const struct lang_env *env,
	const struct lang_request *request, struct lang_resolution *out, struct pkg_error *err);
#endif
