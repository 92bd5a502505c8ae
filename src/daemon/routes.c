#include "daemon/routes.h"

#include <stdlib.h>
#include <string.h>

#define ASK false
#define CONTROL true

const struct route routes[] = {
	{ "GET", "/v1/system", ASK, route_system },
	{ "GET", "/v1/config", ASK, route_config },
	{ "GET", "/v1/sandbox", ASK, route_sandbox },
	{ "POST", "/v1/sandbox/test", CONTROL, route_sandbox_test },
	{ "GET", "/v1/interpreters", ASK, route_interpreters },
	{ "POST", "/v1/reconcile", CONTROL, route_reconcile },
	{ "GET", "/v1/audit", CONTROL, route_audit },
	{ "GET", "/v1/cache", ASK, route_cache },
	{ "POST", "/v1/cache/prune", CONTROL, route_cache_prune },
	{ "POST", "/v1/jobs", ASK, route_job_submit },
	{ "GET", "/v1/jobs", ASK, route_jobs },
	{ "GET", "/v1/jobs/*", ASK, route_job },
	{ "DELETE", "/v1/jobs/*", ASK, route_job_cancel },
	{ "GET", "/v1/jobs/*/events", ASK, route_job_events },
	{ "GET", "/v1/jobs/*/log", ASK, route_job_log },
	{ "GET", "/v1/cards", ASK, route_cards },
	{ "GET", "/v1/cards/*", ASK, route_card },
	{ "POST", "/v1/cards/*", CONTROL, route_card_answer },
	{ "GET", "/v1/environments", ASK, route_envs },
	{ "GET", "/v1/environments/*/*/*", ASK, route_env },
	{ "GET", "/v1/environments/*/*/*/packages", ASK, route_env_packages },
	{ "GET", "/v1/environments/*/*/*/history", ASK, route_env_history },
	{ "GET", "/v1/kernels", ASK, route_kernels },
	{ "POST", "/v1/kernels", ASK, route_kernel_add },
	{ "DELETE", "/v1/kernels/*", ASK, route_kernel_remove },
};
const size_t route_count = PKG_ARRAY_LEN(routes);

/* Fills params with what the "*" segments hold. */
static bool
path_matches(const char *pattern, const char *path, char **params)
{
	size_t count = 0;

	while (*pattern != '\0') {
		if (*pattern != '*') {
			if (*pattern++ != *path++)
				return false;
			continue;
		}
		if (*path == '\0' || *path == '/')
			return false;
		params[count++] = pkg_xstrndup(path, strcspn(path, "/"));
		path += strcspn(path, "/");
		pattern++;
	}
	return *path == '\0';
}

static void
forget_params(struct http_request *request)
{
	for (size_t i = 0; i < PKG_ARRAY_LEN(request->params); i++) {
		free(request->params[i]);
		request->params[i] = NULL;
	}
}

/* methods: of the rows that the path is in, up to the one that is found. */
static const struct route *
find_route(struct http_request *request, struct pkg_argv *methods)
{
	for (size_t i = 0; i < route_count; i++) {
		forget_params(request);
		if (!path_matches(routes[i].path, request->path, request->params))
			continue;
		pkg_argv_add(methods, routes[i].method);
		if (strcmp(routes[i].method, request->method) == 0)
			return &routes[i];
	}
	return NULL;
}

static int
call_route(struct http_request *request, struct pkg_error *err)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *methods = pkg_argv_new();
	const struct route *route = find_route(request, methods);

	if (route == NULL && methods->count > 0) {
		pkg_autofree char *allow = pkg_argv_join(methods, ", ");

		return http_reply_not_allowed(request, allow);
	}
	if (route == NULL)
		return pkg_error_set(
			err, PKG_E_NOT_FOUND, "%s %s is not there", request->method, request->path);
	if (route->control && !request->control) {
		pkg_error_set(err, PKG_E_FORBIDDEN,
			"%s %s is answered on the control socket only: who asks cannot answer",
			request->method, request->path);
		return -1;
	}
	return route->handler(request, err);
}

void
routes_dispatch(struct http_request *request)
{
	pkg_cleanup_error struct pkg_error err = { 0 };

	if (call_route(request, &err) < 0)
		http_reply_error(request, &err);
}
