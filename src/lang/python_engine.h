/* lang/python_engine.h - which resolver plans: our own or pip.
 * Purpose    python.engine of the configuration: "native", "pip", or "auto": native, and pip for what it
 *            cannot do, with the reason said.
 * Ownership  As lang/lang.h.
 * Errors     Those of the engine that answered.
 */
#ifndef LANG_PYTHON_ENGINE_H
#define LANG_PYTHON_ENGINE_H
#include "lang/lang.h"

int lang_python_engine_plan(struct lang_context *lang, const struct lang_env *env,
	const struct lang_request *request, struct lang_resolution *out, struct pkg_error *err);
#endif
