#include "lang/python_engine.h"

#include <string.h>

#include "lang/python.h"
#include "lang/python_native.h"

static void
say(const struct lang_context *lang, const char *text)
{
	if (lang->status)
		lang->status(lang->context, text);
}

int
lang_python_engine_plan(struct lang_context *lang, const struct lang_env *env,
	const struct lang_request *request, struct lang_resolution *out, struct pkg_error *err)
{
	const char *engine = lang->config->python_engine;
	pkg_cleanup_error struct pkg_error why = { 0 };
	pkg_autofree char *text = NULL;

	if (strcmp(engine, "pip") == 0)
		return lang_python_plan(lang, env, request, out, err);
	say(lang, "resolving");
	if (lang_python_native_plan(lang, env, request, out, &why) == 0)
		return 0;
	if (why.kind != PKG_E_UNSUPPORTED || strcmp(engine, "auto") != 0) {
		if (why.kind == PKG_E_UNSUPPORTED && !why.cure)
			(void)pkg_error_cure(&why, "with python.engine \"auto\" pip does it");
		if (err)
			pkg_error_move(err, &why);
		return -1;
	}
	text = pkg_xasprintf("pip resolves instead: %s", why.message);
	say(lang, text);
	return lang_python_plan(lang, env, request, out, err);
}
