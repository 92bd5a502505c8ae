#include "daemon/render.h"

#include <string.h>

#include "core/time.h"
#include "install/card.h"
#include "install/names.h"
#include "lang/lang.h"
#include "store/history.h"

struct json_object *
render_time(int64_t unix_ms)
{
	char text[PKG_TIME_TEXT];

	if (unix_ms == 0)
		return NULL;
	pkg_time_format(unix_ms, text);
	return json_object_new_string(text);
}

static struct json_object *
parsed(const char *text)
{
	return text != NULL ? pkg_json_parse(text, strlen(text), NULL) : NULL;
}

struct json_object *
render_requester(const struct store_requester *requester)
{
	struct json_object *json = json_object_new_object();

	pkg_json_set_int(json, "uid", requester->uid);
	pkg_json_set_int(json, "pid", requester->pid);
	pkg_json_set_str(json, "program", requester->program);
	pkg_json_set_str(json, "label", requester->label);
	pkg_json_set_str(json, "reason", requester->reason);
	return json;
}

struct json_object *
render_job(const struct store_job *job)
{
	struct json_object *json = json_object_new_object();

	pkg_json_set_int(json, "id", job->id);
	pkg_json_set_str(json, "action", job->action);
	pkg_json_set_str(json, "project", job->project);
	pkg_json_set_str(json, "language", job->language);
	pkg_json_set_str(json, "environment", job->environment);
	pkg_json_set_str(json, "state", store_job_state_name(job->state));
	pkg_json_set_int(json, "behind", job->behind);
	pkg_json_set_int(json, "card", job->card);
	pkg_json_set(json, "requester", render_requester(&job->requester));
	pkg_json_set(json, "created", render_time(job->created_ms));
	pkg_json_set(json, "updated", render_time(job->updated_ms));
	pkg_json_set(json, "ended", render_time(job->ended_ms));
	pkg_json_set(json, "request", parsed(job->request));
	pkg_json_set_str(json, "plan_hash", job->plan_hash);
	pkg_json_set(json, "plan", parsed(job->plan));
	pkg_json_set(json, "result", parsed(job->result));
	return json;
}

static void
add_answer(struct json_object *json, const struct store_card *card)
{
	struct json_object *by = NULL;

	if (card->answered_ms != 0) {
		by = json_object_new_object();
		pkg_json_set_int(by, "uid", card->answered_uid);
		pkg_json_set_int(by, "pid", card->answered_pid);
		pkg_json_set_str(by, "via", card->answered_via);
	}
	pkg_json_set(json, "answered", render_time(card->answered_ms));
	pkg_json_set(json, "answered_by", by);
	pkg_json_set_str(json, "message", card->message);
}

struct json_object *
render_card(struct daemon *daemon, const struct store_card *card)
{
	struct json_object *json = json_object_new_object();
	struct json_object *plan = parsed(card->plan);
	struct json_object *requester = NULL;
	pkg_cleanup_store_job struct store_job job = { 0 };
	pkg_autofree char *text = NULL;

	if (store_job_get(daemon->store, card->job, &job, NULL) == 0)
		requester = render_requester(&job.requester);
	text = install_card_text(plan, requester, false);
	pkg_json_set_int(json, "id", card->id);
	pkg_json_set_str(json, "state", card->state);
	pkg_json_set_int(json, "job", card->job);
	pkg_json_set_str(json, "plan_hash", card->plan_hash);
	pkg_json_set(json, "plan", plan);
	pkg_json_set(json, "requester", requester);
	pkg_json_set(json, "created", render_time(card->created_ms));
	pkg_json_set(json, "expires", render_time(card->expires_ms));
	add_answer(json, card);
	pkg_json_set_str(json, "text", text);
	return json;
}

static struct json_object *
render_generations(struct daemon *daemon, int64_t env)
{
	struct json_object *array = json_object_new_array();
	struct store_generation_list list = { 0 };

	if (store_generation_list(daemon->store, env, &list, NULL) < 0)
		return array;
	for (size_t i = 0; i < list.count; i++) {
		struct json_object *row = json_object_new_object();

		pkg_json_set_int(row, "number", list.items[i].number);
		pkg_json_set_int(row, "revision", list.items[i].revision);
		pkg_json_set(row, "created", render_time(list.items[i].created_ms));
		pkg_json_set_int(row, "job", list.items[i].job);
		pkg_json_set_bool(row, "current", list.items[i].current);
		pkg_json_set_bool(row, "retired", list.items[i].retired);
		json_object_array_add(array, row);
	}
	store_generation_list_clear(&list);
	return array;
}

static struct json_object *
render_kernels(struct daemon *daemon, const struct store_env *env)
{
	struct json_object *array = json_object_new_array();
	pkg_cleanup_store_kernel_list struct store_kernel_list list = { 0 };

	if (store_kernel_list(daemon->store, env->id, &list, NULL) < 0)
		return array;
	for (size_t i = 0; i < list.count; i++) {
		struct json_object *row = json_object_new_object();

		pkg_json_set_int(row, "id", list.items[i].id);
		pkg_json_set_int(row, "pid", list.items[i].process.pid);
		pkg_json_set_str(row, "label", list.items[i].label);
		pkg_json_set_int(row, "generation", list.items[i].generation);
		pkg_json_set_bool(row, "restart_due", list.items[i].generation != env->generation);
		pkg_json_set(row, "started", render_time(list.items[i].started_ms));
		json_object_array_add(array, row);
	}
	return array;
}

static struct json_object *
render_health(const struct lang_ops *ops, const struct lang_env *env)
{
	pkg_cleanup_error struct pkg_error why = { 0 };

	if (ops == NULL || env->facts == NULL || ops->healthy(env, &why) == 0)
		return json_object_new_string("ok");
	return pkg_json_from_error(&why);
}

static int64_t
busy_job(struct daemon *daemon, const struct store_env *env)
{
	pkg_cleanup_store_claim_list struct store_claim_list claims = { 0 };

	if (store_claim_unfinished(daemon->store, &claims, NULL) < 0)
		return 0;
	for (size_t i = 0; i < claims.count; i++)
		if (strcmp(claims.items[i].environment, env->name) == 0 &&
			strcmp(claims.items[i].language, env->language) == 0 &&
			strcmp(claims.items[i].project, env->project) == 0 &&
			pkg_identity_alive(&claims.items[i].holder))
			return claims.items[i].job;
	return 0;
}

static void
add_contents(struct daemon *daemon, const struct store_env *env, struct json_object *json)
{
	pkg_cleanup_store_package_list struct store_package_list packages = { 0 };
	struct json_object *requested = json_object_new_array();
	int64_t owned = 0;

	(void)store_packages_get(daemon->store, env->id, env->generation, &packages, NULL);
	for (size_t i = 0; i < packages.count; i++) {
		owned += packages.items[i].owned;
		if (packages.items[i].owned && packages.items[i].requirement != NULL)
			json_object_array_add(
				requested, json_object_new_string(packages.items[i].requirement));
	}
	pkg_json_set_int(json, "packages", owned);
	pkg_json_set(json, "requested", requested);
}

struct json_object *
render_env(struct daemon *daemon, const struct store_env *env)
{
	struct json_object *json = json_object_new_object();
	pkg_cleanup(pkg_json_put) struct json_object *facts = parsed(env->facts);
	const struct lang_ops *ops = lang_find(env->language, NULL);
	pkg_autofree char *tree = install_path_generation(&daemon->home, env->id, env->generation);
	struct lang_env seen = { .prefix = env->prefix, .tree = tree, .facts = facts };
	pkg_autofree char *interpreter = ops != NULL && facts != NULL ? ops->describe(facts) : NULL;

	pkg_json_set_str(json, "project", env->project);
	pkg_json_set_str(json, "language", env->language);
	pkg_json_set_str(json, "name", env->name);
	pkg_json_set_str(json, "prefix", env->prefix);
	pkg_json_set_int(json, "generation", env->generation);
	pkg_json_set_int(json, "revision", env->revision);
	pkg_json_set_bool(json, "hermetic", env->hermetic);
	pkg_json_set_str(json, "interpreter", interpreter);
	pkg_json_set(json, "health", render_health(ops, &seen));
	add_contents(daemon, env, json);
	pkg_json_set(json, "created", render_time(env->created_ms));
	pkg_json_set(json, "updated", render_time(env->updated_ms));
	pkg_json_set_int(json, "busy", busy_job(daemon, env));
	pkg_json_set(json, "generations", render_generations(daemon, env->id));
	pkg_json_set(json, "kernels", render_kernels(daemon, env));
	return json;
}

struct json_object *
render_packages(struct daemon *daemon, const struct store_env *env, struct pkg_error *err)
{
	struct json_object *json, *rows;
	pkg_cleanup_store_package_list struct store_package_list list = { 0 };

	if (store_packages_get(daemon->store, env->id, env->generation, &list, err) < 0)
		return NULL;
	json = json_object_new_object();
	rows = json_object_new_array();
	for (size_t i = 0; i < list.count; i++) {
		struct json_object *row = json_object_new_object();

		pkg_json_set_str(row, "name", list.items[i].name);
		pkg_json_set_str(row, "version", list.items[i].version);
		pkg_json_set_bool(
			row, "requested", list.items[i].owned && list.items[i].requirement != NULL);
		pkg_json_set_bool(row, "owned", list.items[i].owned);
		json_object_array_add(rows, row);
	}
	pkg_json_set_str(json, "environment", env->name);
	pkg_json_set_str(json, "language", env->language);
	pkg_json_set_str(json, "project", env->project);
	pkg_json_set_int(json, "generation", env->generation);
	pkg_json_set_int(json, "revision", env->revision);
	pkg_json_set(json, "packages", rows);
	return json;
}
