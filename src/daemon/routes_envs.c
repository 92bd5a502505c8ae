#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/text.h"
#include "core/time.h"
#include "daemon/daemon.h"
#include "daemon/render.h"
#include "daemon/routes.h"
#include "install/names.h"
#include "store/history.h"

#define HISTORY_MAX 1000
#define HISTORY_DEFAULT 100

static int
get_env(struct http_request *request, struct store_env *env, struct pkg_error *err)
{
	pkg_cleanup_install_key struct install_key key = { 0 };
	struct store_env_key borrowed;

	if (install_key_resolve(
		    request->params[0], request->params[1], request->params[2], &key, err) < 0)
		return -1;
	borrowed = install_key_borrow(&key);
	if (store_env_get(request->daemon->store, &borrowed, env, err) == 0)
		return 0;
	if (err != NULL && err->kind == PKG_E_NOT_FOUND) {
		pkg_error_set(err, PKG_E_NOT_FOUND,
			"there is no %s environment '%s' in project '%s'", key.language, key.name,
			key.project);
		pkg_error_cure(
			err, "pkg env list shows those that are there; an install makes one");
	}
	return -1;
}

int
route_envs(struct http_request *request, struct pkg_error *err)
{
	pkg_cleanup_store_env_list struct store_env_list list = { 0 };
	struct json_object *result, *rows;

	if (store_env_list(request->daemon->store, http_query(request, "project"),
		    http_query(request, "language"), &list, err) < 0)
		return -1;
	result = json_object_new_object();
	rows = json_object_new_array();
	for (size_t i = 0; i < list.count; i++)
		json_object_array_add(rows, render_env(request->daemon, &list.items[i]));
	pkg_json_set(result, "environments", rows);
	return http_reply_sync(request, result);
}

int
route_env(struct http_request *request, struct pkg_error *err)
{
	pkg_cleanup_store_env struct store_env env = { 0 };

	if (get_env(request, &env, err) < 0)
		return -1;
	return http_reply_sync(request, render_env(request->daemon, &env));
}

int
route_env_packages(struct http_request *request, struct pkg_error *err)
{
	pkg_cleanup_store_env struct store_env env = { 0 };
	struct json_object *result;

	if (get_env(request, &env, err) < 0)
		return -1;
	result = render_packages(request->daemon, &env, err);
	return result != NULL ? http_reply_sync(request, result) : -1;
}

static struct json_object *
parsed(const char *text)
{
	return text != NULL ? pkg_json_parse(text, strlen(text), NULL) : NULL;
}

static struct json_object *
history_row(const struct store_history *history)
{
	struct json_object *row = json_object_new_object();

	pkg_json_set_int(row, "seq", history->seq);
	pkg_json_set(row, "time", render_time(history->time_ms));
	pkg_json_set_int(row, "job", history->job);
	pkg_json_set_str(row, "action", history->action);
	pkg_json_set(row, "asked", parsed(history->asked));
	pkg_json_set_int(row, "uid", history->uid);
	pkg_json_set_str(row, "label", history->label);
	pkg_json_set_str(row, "plan_hash", history->plan_hash);
	pkg_json_set_str(row, "result", history->result);
	pkg_json_set_str(row, "kind", history->kind);
	pkg_json_set_int(row, "generation", history->generation);
	pkg_json_set_int(row, "revision", history->revision);
	pkg_json_set(row, "changes", parsed(history->changes));
	return row;
}

int
route_env_history(struct http_request *request, struct pkg_error *err)
{
	pkg_cleanup_store_env struct store_env env = { 0 };
	pkg_cleanup_store_history_list struct store_history_list list = { 0 };
	struct json_object *result, *rows;
	int64_t limit = http_query_int(request, "limit", HISTORY_DEFAULT);

	if (get_env(request, &env, err) < 0 ||
		store_history_list(request->daemon->store, env.id,
			http_query_int(request, "before", 0),
			limit < 1		      ? 1
				: limit > HISTORY_MAX ? HISTORY_MAX
						      : (int)limit,
			&list, err) < 0)
		return -1;
	result = json_object_new_object();
	rows = json_object_new_array();
	for (size_t i = 0; i < list.count; i++)
		json_object_array_add(rows, history_row(&list.items[i]));
	pkg_json_set(result, "history", rows);
	return http_reply_sync(request, result);
}

/* --- kernels --- */

int
route_kernels(struct http_request *request, struct pkg_error *err)
{
	pkg_cleanup_store_kernel_list struct store_kernel_list list = { 0 };
	struct json_object *result, *rows;

	if (store_kernel_list(request->daemon->store, 0, &list, err) < 0)
		return -1;
	result = json_object_new_object();
	rows = json_object_new_array();
	for (size_t i = 0; i < list.count; i++) {
		pkg_cleanup_store_env struct store_env env = { 0 };
		struct json_object *row = json_object_new_object();

		(void)store_env_get_id(request->daemon->store, list.items[i].env, &env, NULL);
		pkg_json_set_int(row, "id", list.items[i].id);
		pkg_json_set_str(row, "project", env.project);
		pkg_json_set_str(row, "language", env.language);
		pkg_json_set_str(row, "environment", env.name);
		pkg_json_set_int(row, "generation", list.items[i].generation);
		pkg_json_set_bool(row, "restart_due", list.items[i].generation != env.generation);
		pkg_json_set_int(row, "pid", list.items[i].process.pid);
		pkg_json_set_str(row, "label", list.items[i].label);
		pkg_json_set(row, "started", render_time(list.items[i].started_ms));
		json_object_array_add(rows, row);
	}
	pkg_json_set(result, "kernels", rows);
	return http_reply_sync(request, result);
}

/* A peer may register itself, or a process of its own user, as a kernel of an environment. */
static int
check_kernel_process(struct http_request *request, pid_t pid, struct pkg_error *err)
{
	char path[64];
	struct stat st;

	(void)snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	if (stat(path, &st) < 0)
		return pkg_error_set(err, PKG_E_NOT_FOUND, "there is no process %d", (int)pid);
	if (!request->control && st.st_uid != request->peer.uid)
		return pkg_error_set(
			err, PKG_E_FORBIDDEN, "process %d is not your user's", (int)pid);
	return 0;
}

static int
check_generation(struct http_request *request, const struct store_env *env, int64_t number,
	struct pkg_error *err)
{
	struct store_generation_list list = { 0 };
	bool found = false;

	if (store_generation_list(request->daemon->store, env->id, &list, err) < 0)
		return -1;
	for (size_t i = 0; i < list.count; i++)
		found = found || (list.items[i].number == number && !list.items[i].retired);
	store_generation_list_clear(&list);
	return found ? 0
		     : pkg_error_set(err, PKG_E_NOT_FOUND,
			       "generation %" PRId64 " of '%s' is not on disk", number, env->name);
}

int
route_kernel_add(struct http_request *request, struct pkg_error *err)
{
	struct json_object *json = request->json;
	pid_t pid = (pid_t)pkg_json_int(json, "pid", request->peer.pid);
	const char *label = pkg_json_str_or(json, "label", "");
	pkg_autofree char *clean = pkg_text_clean(label, strlen(label), 64, false);
	pkg_cleanup_store_env struct store_env env = { 0 };
	struct store_kernel kernel = { 0 };
	struct json_object *result;

	request->params[0] = pkg_xstrdup(pkg_json_str_or(json, "project", "default"));
	request->params[1] = pkg_xstrdup(pkg_json_str_or(json, "language", "python"));
	request->params[2] = pkg_xstrdup(pkg_json_str_or(json, "environment", "default"));
	if (get_env(request, &env, err) < 0 || check_kernel_process(request, pid, err) < 0 ||
		pkg_identity_of(pid, &kernel.process, err) < 0)
		return -1;
	kernel.env = env.id;
	kernel.generation = pkg_json_int(json, "generation", env.generation);
	if (check_generation(request, &env, kernel.generation, err) < 0)
		return -1;
	kernel.label = clean;
	kernel.started_ms = pkg_time_now_ms();
	if (store_kernel_insert(request->daemon->store, &kernel, err) < 0)
		return -1;
	result = json_object_new_object();
	pkg_json_set_int(result, "id", kernel.id);
	pkg_json_set_int(result, "generation", kernel.generation);
	return http_reply_sync(request, result);
}

/* A generation goes once no kernel holds it: only who could end the process may take its row away. */
static int
check_kernel_owner(struct http_request *request, int64_t id, struct pkg_error *err)
{
	pkg_cleanup_store_kernel_list struct store_kernel_list list = { 0 };

	if (store_kernel_list(request->daemon->store, 0, &list, err) < 0)
		return -1;
	for (size_t i = 0; i < list.count; i++)
		if (list.items[i].id == id)
			return check_kernel_process(request, list.items[i].process.pid, err);
	return 0;
}

int
route_kernel_remove(struct http_request *request, struct pkg_error *err)
{
	int64_t id = strtoll(request->params[0], NULL, 10);

	if (check_kernel_owner(request, id, err) < 0 ||
		store_kernel_remove(request->daemon->store, id, err) < 0)
		return -1;
	return http_reply_sync(request, json_object_new_object());
}
