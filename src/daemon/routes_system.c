#include <string.h>
#include <unistd.h>

#include "daemon/daemon.h"
#include "daemon/render.h"
#include "daemon/routes.h"
#include "daemon/worker.h"
#include "store/history.h"

#define AUDIT_PAGE 1000

int
route_system(struct http_request *request, struct pkg_error *err)
{
	struct daemon *daemon = request->daemon;
	pkg_cleanup_store_job_list struct store_job_list jobs = { 0 };
	pkg_cleanup_store_card_list struct store_card_list cards = { 0 };
	struct json_object *result;

	if (store_job_list(daemon->store, true, 0, INT32_MAX, &jobs, err) < 0 ||
		store_card_list(daemon->store, "pending", INT32_MAX, &cards, err) < 0)
		return -1;
	result = json_object_new_object();
	pkg_json_set_str(result, "version", PACKAGE_VERSION);
	pkg_json_set_str(result, "api", "v1");
	pkg_json_set_int(result, "pid", getpid());
	pkg_json_set(result, "started", render_time(daemon->started_ms));
	pkg_json_set_bool(result, "system", daemon->home.system);
	pkg_json_set_int(result, "open_jobs", (int64_t)jobs.count);
	pkg_json_set_int(result, "pending_cards", (int64_t)cards.count);
	return http_reply_sync(request, result);
}

/* Read anew: what is in force for the next job, not what was when the daemon started. */
int
route_config(struct http_request *request, struct pkg_error *err)
{
	pkg_cleanup_policy_config struct policy_config config = { 0 };

	if (policy_config_load(&request->daemon->home, &config, err) < 0)
		return -1;
	return http_reply_sync(request, policy_config_show(&config));
}

/* --- questions that a worker answers --- */

static void
on_answer(void *context, struct json_object *json, const struct pkg_error *err)
{
	struct http_request *request = context;

	if (json != NULL)
		http_reply_sync(request, json_object_get(json));
	else
		http_reply_error(request, err);
}

static int
ask(struct http_request *request, const struct pkg_argv *arguments, struct pkg_error *err)
{
	if (worker_ask(request->daemon, arguments, on_answer, request, err) < 0)
		return -1;
	http_suspend(request);
	return 0;
}

static int
ask_word(struct http_request *request, const char *word, struct pkg_error *err)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *arguments = pkg_argv_new();

	pkg_argv_add(arguments, word);
	return ask(request, arguments, err);
}

int
route_sandbox(struct http_request *request, struct pkg_error *err)
{
	return ask_word(request, "--sandbox-status", err);
}

int
route_sandbox_test(struct http_request *request, struct pkg_error *err)
{
	return ask_word(request, "--sandbox-test", err);
}

int
route_reconcile(struct http_request *request, struct pkg_error *err)
{
	return ask_word(request, "--reconcile", err);
}

int
route_interpreters(struct http_request *request, struct pkg_error *err)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *arguments = pkg_argv_new();
	const char *language = http_query(request, "language");
	const char *want = http_query(request, "want");

	pkg_argv_add(arguments, "--interpreters", language != NULL ? language : "python");
	if (want != NULL)
		pkg_argv_add(arguments, "--", want);
	return ask(request, arguments, err);
}

/* --- audit --- */

struct audit_page {
	struct json_object *rows;
	size_t count;
};

static int
add_audit_row(void *context, const struct store_audit *audit)
{
	struct audit_page *page = context;
	struct json_object *row = json_object_new_object();

	pkg_json_set_int(row, "seq", audit->seq);
	pkg_json_set(row, "time", render_time(audit->time_ms));
	pkg_json_set_str(row, "type", audit->type);
	pkg_json_set(row, "data", pkg_json_parse(audit->data, strlen(audit->data), NULL));
	pkg_json_set_str(row, "hash", audit->hash);
	json_object_array_add(page->rows, row);
	return ++page->count >= AUDIT_PAGE;
}

int
route_audit(struct http_request *request, struct pkg_error *err)
{
	struct audit_page page = { json_object_new_array(), 0 };
	struct json_object *result;

	if (store_audit_each(request->daemon->store, http_query_int(request, "after", 0),
		    add_audit_row, &page, err) < 0) {
		json_object_put(page.rows);
		return -1;
	}
	result = json_object_new_object();
	pkg_json_set(result, "rows", page.rows);
	return http_reply_sync(request, result);
}

/* --- cache --- */

int
route_cache(struct http_request *request, struct pkg_error *err)
{
	return ask_word(request, "--cache-info", err);
}

int
route_cache_prune(struct http_request *request, struct pkg_error *err)
{
	return ask_word(request, "--cache-prune", err);
}
