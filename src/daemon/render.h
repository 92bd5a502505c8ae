/* daemon/render.h - rows of the database as the API shows them.
 * Purpose    One place for the shape of a job, a card and an environment (docs/api/openapi.json).
 * Ownership  Results are given.
 * Errors     None: what cannot be read is null.
 */
#ifndef DAEMON_RENDER_H
#define DAEMON_RENDER_H
#include "core/json.h"
#include "daemon/daemon.h"

struct json_object *render_time(int64_t unix_ms); /* null for 0 */
struct json_object *render_requester(const struct store_requester *requester);
struct json_object *render_job(const struct store_job *job);
struct json_object *render_card(struct daemon *daemon, const struct store_card *card);
struct json_object *render_env(struct daemon *daemon, const struct store_env *env);
/* {"environment","language","generation","revision","packages":[…]} */
struct json_object *render_packages(
	struct daemon *daemon, const struct store_env *env, struct pkg_error *err);
#endif
