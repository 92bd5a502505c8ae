#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/path.h"
#include "daemon/daemon.h"
#include "daemon/render.h"
#include "daemon/routes.h"
#include "daemon/stream.h"
#include "daemon/submit.h"
#include "daemon/supervise.h"
#include "install/events.h"
#include "install/names.h"

#define PAGE_MAX 200
#define PAGE_DEFAULT 50

int
route_job_submit(struct http_request *request, struct pkg_error *err)
{
	int64_t job = submit_job(request, err);

	return job < 0 ? -1 : http_reply_job(request, job);
}

/* 0 means "no limit" to the store: not for a peer to say. */
static int
page_limit(struct http_request *request)
{
	int64_t limit = http_query_int(request, "limit", PAGE_DEFAULT);

	return limit < 1 ? 1 : limit > PAGE_MAX ? PAGE_MAX : (int)limit;
}

static int64_t
param_id(struct http_request *request)
{
	char *end = NULL;
	long long id = strtoll(request->params[0], &end, 10);

	return *end == '\0' && id > 0 ? id : 0;
}

static int
get_job(struct http_request *request, struct store_job *job, struct pkg_error *err)
{
	if (store_job_get(request->daemon->store, param_id(request), job, err) < 0)
		return pkg_error_prefix(err, "job %s", request->params[0]);
	return 0;
}

int
route_jobs(struct http_request *request, struct pkg_error *err)
{
	pkg_cleanup_store_job_list struct store_job_list list = { 0 };
	struct json_object *result, *rows;

	if (store_job_list(request->daemon->store, http_query_int(request, "open", 0) != 0,
		    http_query_int(request, "before", 0), page_limit(request), &list, err) < 0)
		return -1;
	result = json_object_new_object();
	rows = json_object_new_array();
	for (size_t i = 0; i < list.count; i++)
		json_object_array_add(rows, render_job(&list.items[i]));
	pkg_json_set(result, "jobs", rows);
	return http_reply_sync(request, result);
}

int
route_job(struct http_request *request, struct pkg_error *err)
{
	pkg_cleanup_store_job struct store_job job = { 0 };

	if (get_job(request, &job, err) < 0)
		return -1;
	return http_reply_sync(request, render_job(&job));
}

/* Last-Event-ID beats ?after: it is what a reconnecting client sends by itself. */
static int64_t
resume_offset(struct http_request *request)
{
	const char *id = http_header(request, "Last-Event-ID");

	return id != NULL ? strtoll(id, NULL, 10) : http_query_int(request, "after", 0);
}

int
route_job_events(struct http_request *request, struct pkg_error *err)
{
	pkg_cleanup_store_job struct store_job job = { 0 };
	int64_t offset = resume_offset(request);

	bool ended;

	if (get_job(request, &job, err) < 0)
		return -1;
	/* A worker that still runs may be about to write the last line; one that does not has written all it ever
	 * will. */
	ended = store_job_state_ended(job.state);
	if (ended && !supervisor_watches(request->daemon, job.id))
		supervisor_tell_end(request->daemon, job.id);
	else
		ended = ended && install_events_are_finished(&request->daemon->home, job.id);
	return stream_job(request, job.id, offset > 0 ? offset : 0, ended, err);
}

int
route_job_log(struct http_request *request, struct pkg_error *err)
{
	pkg_cleanup_store_job struct store_job job = { 0 };
	pkg_autofree char *dir = NULL;
	pkg_autofree char *path = NULL;

	if (get_job(request, &job, err) < 0)
		return -1;
	dir = install_path_job(&request->daemon->home, job.id);
	path = pkg_path_join(dir, "log.txt");
	return http_reply_text(request, path);
}

int
route_job_cancel(struct http_request *request, struct pkg_error *err)
{
	pkg_cleanup_store_job struct store_job job = { 0 };
	struct supervisor_cancel cancel = { 0 };
	struct json_object *result;

	if (get_job(request, &job, err) < 0)
		return -1;
	if (!request->control && job.requester.uid != (int64_t)request->peer.uid)
		return pkg_error_set(err, PKG_E_FORBIDDEN,
			"job %" PRId64 " is not yours: uid %" PRId64 " asked for it", job.id,
			job.requester.uid);
	if (supervisor_cancel(request->daemon, job.id, &cancel, err) < 0)
		return -1;
	result = json_object_new_object();
	pkg_json_set_bool(result, "delivered", cancel.delivered);
	pkg_json_set_str(result, "reason", cancel.reason);
	return http_reply_sync(request, result);
}
