/* install/tools.h - questions that need a sandbox but no job.
 * Purpose    Which interpreters there are and why others lost; what the boundary is and whether it holds.
 * Ownership  Results are given.
 * Errors     As lang/lang.h and sandbox/sandbox.h.
 */
#ifndef INSTALL_TOOLS_H
#define INSTALL_TOOLS_H
#include "core/home.h"
#include "core/json.h"

/* {"language","candidates":[{"path","origin","accepted","description","reasons":[…]}]} */
struct json_object *install_interpreters(
	const struct pkg_home *home, const char *language, const char *want, struct pkg_error *err);
struct json_object *install_sandbox_status(const struct pkg_home *home, struct pkg_error *err);
struct json_object *install_sandbox_test(const struct pkg_home *home, struct pkg_error *err);

/* The configuration's limits and mode as the sandbox takes them. */
struct policy_config;
struct policy_limits;
struct sandbox;
struct sandbox_limits;
void install_limits(const struct policy_limits *from, struct sandbox_limits *out);
struct sandbox *install_sandbox_open(
	const struct pkg_home *home, const struct policy_config *config, struct pkg_error *err);
#endif
