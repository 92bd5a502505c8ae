#include "store/final.h"

#include <string.h>

#include "core/time.h"
#include "store/history.h"
#include "store/statements.h"

static void
read_env(struct store *store, const struct store_job *job, struct store_env *env)
{
	struct store_env_key key = { job->project, job->language, job->environment };

	/* An environment that is not there yet has generation 0. */
	(void)store_env_get(store, &key, env, NULL);
}

struct json_object *
store_final_line(struct store *store, const struct store_job *job, enum store_job_state state,
	const struct pkg_error *why)
{
	pkg_cleanup_store_env struct store_env env = { 0 };
	struct json_object *line = json_object_new_object();

	read_env(store, job, &env);
	pkg_json_set_str(line, "type", "result");
	pkg_json_set_int(line, "job", job->id);
	pkg_json_set_str(line, "status", store_job_state_name(state));
	pkg_json_set_str(line, "kind", pkg_error_kind_name(why->kind));
	pkg_json_set_str(line, "message", why->message);
	pkg_json_set_str(line, "cure", why->cure);
	pkg_json_set_str(line, "action", job->action);
	pkg_json_set_str(line, "project", job->project);
	pkg_json_set_str(line, "environment", job->environment);
	pkg_json_set_str(line, "language", job->language);
	pkg_json_set_int(line, "generation", env.generation);
	pkg_json_set_int(line, "revision", env.revision);
	/* Nothing changed, so nothing has to restart. */
	pkg_json_set_bool(line, "additive", true);
	pkg_json_set(line, "reasons", json_object_new_array());
	pkg_json_set(line, "changes", json_object_new_array());
	return line;
}

static bool
is_dry(const struct store_job *job)
{
	pkg_cleanup(pkg_json_put) struct json_object *request =
		pkg_json_parse(job->request, strlen(job->request), NULL);

	return pkg_json_bool(request, "dry_run", false);
}

static int
add_history(struct store *store, const struct store_job *job, enum store_job_state state,
	const struct pkg_error *why, struct pkg_error *err)
{
	pkg_cleanup_store_env struct store_env env = { 0 };
	struct store_history history = { 0 }; /* borrows */

	read_env(store, job, &env);
	if (env.id == 0 || is_dry(job))
		return 0;
	history.env = env.id;
	history.job = job->id;
	history.time_ms = pkg_time_now_ms();
	history.action = job->action;
	history.asked = job->request;
	history.uid = job->requester.uid;
	history.label = job->requester.label;
	history.plan_hash = job->plan_hash;
	history.result = (char *)store_job_state_name(state);
	history.kind = (char *)pkg_error_kind_name(why->kind);
	history.generation = env.generation;
	history.revision = env.revision;
	history.changes = (char *)"[]";
	return store_history_add(store, &history, err);
}

static int
write_rows(struct store *store, const struct store_job *job, enum store_job_state state,
	const struct pkg_error *why, const char *text, struct pkg_error *err)
{
	if (store_job_end(store, job->id, state, text, err) < 0 ||
		add_history(store, job, state, why, err) < 0)
		return -1;
	return store_audit_add(store, "result", text, err);
}

int
store_final_write(struct store *store, const struct store_job *job, enum store_job_state state,
	const struct pkg_error *why, struct json_object **line, struct pkg_error *err)
{
	pkg_cleanup(pkg_json_put) struct json_object *written =
		store_final_line(store, job, state, why);
	pkg_autofree char *text = pkg_json_line(written);

	if (store_scope_begin(store, err) < 0)
		return -1;
	if (store_scope_end(store, write_rows(store, job, state, why, text, err), err) < 0)
		return -1;
	if (line != NULL)
		*line = pkg_steal_ptr(&written);
	return 0;
}
