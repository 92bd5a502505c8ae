#include "daemon/submit.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/file.h"
#include "core/path.h"
#include "core/text.h"
#include "core/time.h"
#include "core/tree.h"
#include "core/url.h"
#include "daemon/daemon.h"
#include "daemon/supervise.h"
#include "install/events.h"
#include "install/names.h"
#include "install/planner.h"
#include "lang/lang.h"

#define LABEL_MAX 64
#define REASON_MAX 500
#define ITEMS_MAX 2000
#define IDEMPOTENCY_KEY_MAX 200

static const struct field {
	const char *key;
	enum json_type type;
} fields[] = {
	{ "action", json_type_string },
	{ "project", json_type_string },
	{ "language", json_type_string },
	{ "environment", json_type_string },
	{ "requirements", json_type_array },
	{ "constraints", json_type_array },
	{ "hashes", json_type_array },
	{ "index_url", json_type_string },
	{ "extra_index_urls", json_type_array },
	{ "repos", json_type_array },
	{ "source", json_type_boolean },
	{ "upgrade", json_type_boolean },
	{ "upgrade_all", json_type_boolean },
	{ "prerelease", json_type_boolean },
	{ "suggests", json_type_boolean },
	{ "exclude_newer", json_type_string },
	{ "python", json_type_string },
	{ "hermetic", json_type_boolean },
	{ "generation", json_type_int },
	{ "label", json_type_string },
	{ "reason", json_type_string },
	{ "dry_run", json_type_boolean },
};

static const struct field *
find_field(const char *key)
{
	for (size_t i = 0; i < PKG_ARRAY_LEN(fields); i++)
		if (strcmp(fields[i].key, key) == 0)
			return &fields[i];
	return NULL;
}

static int
unknown_key(const char *key, struct pkg_error *err)
{
	const char *near = NULL;
	size_t best = strlen(key) / 3 + 2;

	for (size_t i = 0; i < PKG_ARRAY_LEN(fields); i++) {
		size_t distance = pkg_text_distance(key, fields[i].key);

		if (distance < best) {
			best = distance;
			near = fields[i].key;
		}
	}
	pkg_error_set(err, PKG_E_INVALID, "'%.80s' is no key of a job", key);
	if (near != NULL)
		pkg_error_cure(err, "did you mean '%s'?", near);
	return -1;
}

static int
check_fields(struct json_object *json, struct pkg_error *err)
{
	json_object_object_foreach(json, key, value)
	{
		const struct field *field = find_field(key);

		if (field == NULL)
			return unknown_key(key, err);
		if (value != NULL && !json_object_is_type(value, field->type))
			return pkg_error_set(err, PKG_E_INVALID, "%s: %s is wanted, %s is there",
				key, json_type_to_name(field->type),
				json_type_to_name(json_object_get_type(value)));
		if (json_object_is_type(value, json_type_array) &&
			json_object_array_length(value) > ITEMS_MAX)
			return pkg_error_set(
				err, PKG_E_TOO_LARGE, "%s has more than %d items", key, ITEMS_MAX);
	}
	return 0;
}

/* A request is stored and shown, a URL in a requirement with it. */
static int
check_no_secret(const struct pkg_argv *texts, struct pkg_error *err)
{
	for (size_t i = 0; i < texts->count; i++) {
		const char *authority = strstr(texts->items[i], "://");
		size_t len = authority != NULL ? strcspn(authority + 3, "/?# \t;") : 0;

		if (authority == NULL || memchr(authority + 3, '@', len) == NULL)
			continue;
		pkg_error_set(err, PKG_E_INVALID,
			"the URL of a requirement holds a user name or password, which would be "
			"stored");
		return pkg_error_cure(err, "put it into ~/.netrc");
	}
	return 0;
}

static int
check_requirements(struct json_object *json, const char *key, const struct lang_ops *ops,
	struct pkg_error *err)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *texts = pkg_argv_new();

	if (pkg_json_strings(json, key, texts, err) < 0 || check_no_secret(texts, err) < 0)
		return -1;
	for (size_t i = 0; i < texts->count; i++) {
		pkg_autofree char *canonical = NULL;
		pkg_autofree char *name = NULL;

		if (ops->requirement(texts->items[i], &canonical, &name, err) < 0)
			return -1;
	}
	return 0;
}

static int
check_urls(struct json_object *json, struct pkg_error *err)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *urls = pkg_argv_new();
	const char *index = pkg_json_str(json, "index_url");

	if (index != NULL)
		pkg_argv_add(urls, index);
	if (pkg_json_strings(json, "extra_index_urls", urls, err) < 0 ||
		pkg_json_strings(json, "repos", urls, err) < 0)
		return -1;
	for (size_t i = 0; i < urls->count; i++) {
		pkg_cleanup_url struct pkg_url url = { 0 };

		if (pkg_url_parse(urls->items[i], &url, err) < 0)
			return pkg_error_prefix(err, "index URL");
		/* The request is stored and shown; a secret in it would be too. */
		if (url.user != NULL || url.password != NULL) {
			pkg_error_set(err, PKG_E_INVALID,
				"the index URL holds a user name or password, which would be "
				"stored");
			return pkg_error_cure(
				err, "put it into ~/.netrc, python.index_url or r.repos");
		}
	}
	return 0;
}

static int
check_request(struct http_request *request, const struct install_key *key, struct pkg_error *err)
{
	struct json_object *json = request->json;
	const struct lang_ops *ops = lang_find(key->language, err);
	const char *action = pkg_json_str(json, "action");

	if (ops == NULL)
		return -1;
	if (action == NULL || install_action_find(action) == NULL)
		return pkg_error_set(err, PKG_E_INVALID, "action '%.40s' is not known",
			action != NULL ? action : "");
	if (strcmp(action, "install") == 0 || strcmp(action, "remove") == 0) {
		struct json_object *list = pkg_json_array(json, "requirements");

		if (list == NULL || json_object_array_length(list) == 0)
			return pkg_error_set(err, PKG_E_INVALID, "no package was named");
	}
	if (check_requirements(json, "requirements", ops, err) < 0 ||
		check_requirements(json, "constraints", ops, err) < 0)
		return -1;
	return check_urls(json, err);
}

/* Base name of the peer's executable: what a card calls "program". */
static char *
peer_program(pid_t pid)
{
	char link[64], target[PATH_MAX];
	ssize_t len;

	(void)snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
	len = readlink(link, target, sizeof(target) - 1);
	if (len <= 0)
		return pkg_xstrdup("");
	target[len] = '\0';
	return pkg_text_clean(pkg_path_base(target), strlen(pkg_path_base(target)), 64, false);
}

static char *
clean_or_empty(const char *text, size_t max)
{
	return text != NULL ? pkg_text_clean(text, strlen(text), max, false) : pkg_xstrdup("");
}

static void
fill_job(struct http_request *request, const struct install_key *key, struct store_job *job)
{
	struct json_object *json = request->json;

	job->action = pkg_xstrdup(pkg_json_str(json, "action"));
	job->project = pkg_xstrdup(key->project);
	job->language = pkg_xstrdup(key->language);
	job->environment = pkg_xstrdup(key->name);
	job->request = pkg_json_line(json);
	job->state = STORE_JOB_QUEUED;
	job->requester.uid = request->peer.uid;
	job->requester.pid = request->peer.pid;
	job->requester.program = peer_program(request->peer.pid);
	job->requester.label = clean_or_empty(pkg_json_str(json, "label"), LABEL_MAX);
	job->requester.reason = clean_or_empty(pkg_json_str(json, "reason"), REASON_MAX);
	job->created_ms = job->updated_ms = pkg_time_now_ms();
	job->idempotency_key = pkg_xstrdup(http_header(request, "Idempotency-Key"));
}

static void
tell_queued(struct daemon *daemon, int64_t id)
{
	struct json_object *row = json_object_new_object();

	pkg_json_set_str(row, "type", "state");
	pkg_json_set_str(row, "state", "queued");
	supervisor_event(daemon, id, row);
}

static void
audit_request(struct daemon *daemon, const struct store_job *job)
{
	pkg_cleanup(pkg_json_put) struct json_object *row = json_object_new_object();
	pkg_autofree char *text = NULL;

	pkg_json_set_int(row, "job", job->id);
	pkg_json_set_int(row, "uid", job->requester.uid);
	pkg_json_set_int(row, "pid", job->requester.pid);
	pkg_json_set_str(row, "program", job->requester.program);
	pkg_json_set_str(row, "label", job->requester.label);
	pkg_json_set(row, "request", pkg_json_parse(job->request, strlen(job->request), NULL));
	text = pkg_json_line(row);
	(void)store_audit_add(daemon->store, "request", text, NULL);
}

static int
check_idempotency_key(const char *key, struct pkg_error *err)
{
	size_t len = key != NULL ? strlen(key) : 0;

	if (key == NULL)
		return 0;
	for (size_t i = 0; i < len; i++)
		if (key[i] <= ' ' || key[i] > '~')
			len = 0;
	if (len > 0 && len <= IDEMPOTENCY_KEY_MAX)
		return 0;
	return pkg_error_set(err, PKG_E_INVALID,
		"Idempotency-Key: 1 to %d printable characters are wanted", IDEMPOTENCY_KEY_MAX);
}

/* Numbers begin again when the database was moved away: what a job of before left in the log would end the stream of
 * this one. */
static void
forget_log_of_before(struct daemon *daemon, int64_t id)
{
	pkg_autofree char *dir = install_path_job(&daemon->home, id);

	if (pkg_file_exists(dir))
		(void)pkg_tree_remove(dir, NULL);
}

static int64_t
insert_job(struct http_request *request, const struct install_key *key, struct pkg_error *err)
{
	struct daemon *daemon = request->daemon;
	pkg_cleanup_store_job struct store_job job = { 0 };
	pkg_cleanup_error struct pkg_error why = { 0 };

	fill_job(request, key, &job);
	if (store_job_insert(daemon->store, &job, &why) < 0) {
		if (why.kind == PKG_E_EXISTS && job.id > 0)
			return job.id;
		pkg_error_move(err, &why);
		return -1;
	}
	forget_log_of_before(daemon, job.id);
	audit_request(daemon, &job);
	tell_queued(daemon, job.id);
	supervisor_kick(daemon);
	return job.id;
}

int64_t
submit_job(struct http_request *request, struct pkg_error *err)
{
	pkg_cleanup_install_key struct install_key key = { 0 };
	struct json_object *json = request->json;

	if (json == NULL)
		return pkg_error_set(err, PKG_E_INVALID, "a JSON object is wanted as the body");
	if (check_fields(json, err) < 0 ||
		install_key_resolve(pkg_json_str(json, "project"), pkg_json_str(json, "language"),
			pkg_json_str(json, "environment"), &key, err) < 0 ||
		check_request(request, &key, err) < 0 ||
		check_idempotency_key(http_header(request, "Idempotency-Key"), err) < 0)
		return -1;
	return insert_job(request, &key, err);
}
