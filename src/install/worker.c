#include "install/worker.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "core/file.h"
#include "core/lock.h"
#include "core/path.h"
#include "core/time.h"
#include "core/tree.h"
#include "core/url.h"
#include "install/tools.h"
#include "policy/trust.h"

#define TIMINGS_MAX 4096

/* --- what the languages call back --- */

static void
on_status(void *context, const char *text)
{
	struct install_worker *worker = context;

	install_events_status(worker->events, text);
}

static void
on_output(void *context, const char *data, size_t len)
{
	struct install_worker *worker = context;

	install_events_output(worker->events, data, len);
}

static void
on_transfer(void *context, const struct fetch_progress *progress)
{
	struct install_worker *worker = context;

	install_events_transfer(worker->events, progress);
}

static void
on_connection(void *context, struct json_object *row)
{
	struct install_worker *worker = context;
	struct json_object *event = json_object_new_object();
	pkg_autofree char *text = NULL;

	pkg_json_set_int(row, "job", worker->job.id);
	text = pkg_json_line(row);
	(void)store_audit_add(worker->store, "connection", text, NULL);
	pkg_json_set_str(event, "type", "connection");
	pkg_json_set(event, "row", json_object_get(row));
	install_events_row(worker->events, event);
}

static int
on_allow(void *context, const char *url, struct pkg_error *err)
{
	struct install_worker *worker = context;

	return install_hosts_allow(&worker->hosts, url, err);
}

static void
wire_language(struct install_worker *worker)
{
	worker->lang = (struct lang_context){
		.home = worker->home,
		.config = &worker->config,
		.sandbox = worker->sandbox,
		.cas = worker->cas,
		.scratch = worker->scratch,
		.cancel_fd = worker->cancel_fd,
		.egress_rules = worker->rules_file,
		.allow = on_allow,
		.status = on_status,
		.output = on_output,
		.transfer = on_transfer,
		.connection = on_connection,
		.context = worker,
	};
}

/* --- opening --- */

static int
open_tools(struct install_worker *worker, struct pkg_error *err)
{
	if (policy_config_load(worker->home, &worker->config, err) < 0 ||
		policy_trust_apply(&worker->config, worker->home, err) < 0)
		return -1;
	worker->sandbox = install_sandbox_open(worker->home, &worker->config, err);
	if (worker->sandbox == NULL)
		return -1;
	worker->cas = fetch_cas_open(worker->home->cache, err);
	return worker->cas != NULL ? 0 : -1;
}

static int
take_claim(struct install_worker *worker, struct pkg_error *err)
{
	const struct store_job *job = &worker->job;
	pkg_autofree char *path =
		install_path_lock(worker->home, job->project, job->language, job->environment);
	struct pkg_identity self;

	if (pkg_identity_of(getpid(), &self, err) < 0)
		return -1;
	worker->lock_fd = pkg_lock_take(path, 0, err);
	if (worker->lock_fd < 0)
		return -1;
	return store_claim_take(worker->store, job, &self, &worker->claim, err);
}

static void
note_phase(struct install_worker *worker)
{
	pkg_autofree char *key = pkg_xasprintf("%s_ms", store_job_state_name(worker->job.state));
	int64_t now = pkg_time_mono_ms();
	int64_t before = pkg_json_int(worker->timings, key, 0);

	pkg_json_set_int(worker->timings, key, before + now - worker->phase_ms);
	worker->phase_ms = now;
}

/* What the run that planned has used up: a job's time is that of all its runs. */
static void
load_timings(struct install_worker *worker)
{
	pkg_autofree char *path = pkg_path_join(worker->staging, "timings.json");
	struct json_object *earlier =
		pkg_file_exists(path) ? pkg_json_read_file(path, TIMINGS_MAX, NULL) : NULL;

	if (earlier == NULL)
		return;
	json_object_put(worker->timings);
	worker->timings = earlier;
}

void
install_worker_save_timings(struct install_worker *worker)
{
	pkg_autofree char *path = pkg_path_join(worker->staging, "timings.json");
	pkg_autofree char *text = NULL;

	note_phase(worker);
	text = pkg_json_line(worker->timings);
	(void)pkg_file_write(path, text, strlen(text), 0600, false, NULL);
}

static int
make_places(struct install_worker *worker, struct pkg_error *err)
{
	worker->staging = install_path_staging(worker->home, worker->job.id);
	worker->scratch = pkg_path_join(worker->staging, "scratch");
	worker->rules_file = pkg_path_join(worker->scratch, "egress.json");
	if (pkg_dir_make(worker->staging, 0755, err) < 0)
		return -1;
	if (pkg_tree_remove(worker->scratch, err) < 0)
		return -1;
	load_timings(worker);
	return pkg_dir_make(worker->scratch, 0755, err);
}

/* The URL of "name @ URL", which may lack the blanks (PEP 508). Given, NULL when there is none. */
static char *
direct_url(const char *requirement)
{
	const char *at = strchr(requirement, '@');

	if (at == NULL)
		return NULL;
	at++;
	at += strspn(at, " \t");
	if (strncasecmp(at, "http://", 7) != 0 && strncasecmp(at, "https://", 8) != 0)
		return NULL;
	return pkg_xstrndup(at, strcspn(at, " \t;"));
}

/* What a request names without its secrets, as the configuration has it. */
static const char *
configured_repo(const struct install_worker *worker, const char *url)
{
	const struct pkg_argv *repos = worker->config.r_repos;

	for (size_t i = 0; i < repos->count; i++) {
		pkg_autofree char *bare = pkg_url_redact(repos->items[i]);

		if (strcmp(bare, url) == 0)
			return repos->items[i];
	}
	return url;
}

int
install_worker_repos(
	const struct install_worker *worker, struct pkg_argv *out, struct pkg_error *err)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *asked = pkg_argv_new();

	if (pkg_json_strings(worker->request, "repos", asked, err) < 0)
		return -1;
	if (asked->count == 0)
		pkg_argv_add_all(out, worker->config.r_repos);
	for (size_t i = 0; i < asked->count; i++)
		pkg_argv_add(out, configured_repo(worker, asked->items[i]));
	return 0;
}

static int
collect_indexes(const struct install_worker *worker, struct pkg_argv *urls, struct pkg_error *err)
{
	const char *index = pkg_json_str(worker->request, "index_url");

	pkg_argv_add(urls, index != NULL ? index : worker->config.python_index_url);
	if (pkg_json_get(worker->request, "extra_index_urls") != NULL)
		return pkg_json_strings(worker->request, "extra_index_urls", urls, err);
	if (index == NULL)
		pkg_argv_add_all(urls, worker->config.python_extra_index_urls);
	return 0;
}

static int
collect_direct(const struct install_worker *worker, struct pkg_argv *urls, struct pkg_error *err)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *requirements = pkg_argv_new();

	if (pkg_json_strings(worker->request, "requirements", requirements, err) < 0)
		return -1;
	for (size_t i = 0; i < requirements->count; i++) {
		pkg_autofree char *url = direct_url(requirements->items[i]);

		if (url != NULL)
			pkg_argv_add(urls, url);
	}
	return 0;
}

/* The URLs that this job may open: its indexes and the direct URLs among its requirements. */
static int
collect_hosts(struct install_worker *worker, struct pkg_error *err)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *urls = pkg_argv_new();
	int rc = strcmp(worker->job.language, "r") == 0 ? install_worker_repos(worker, urls, err)
							: collect_indexes(worker, urls, err);

	if (rc < 0 || collect_direct(worker, urls, err) < 0)
		return -1;
	if (install_hosts_collect(worker->home, &worker->config, urls, &worker->hosts, err) < 0)
		return -1;
	return install_hosts_write(&worker->hosts, worker->rules_file, err);
}

int
install_worker_open(struct install_worker *worker, const struct pkg_home *home, int64_t job,
	int cancel_fd, struct pkg_error *err)
{
	*worker = (struct install_worker){
		.home = home,
		.cancel_fd = cancel_fd,
		.lock_fd = -1,
		.started_ms = pkg_time_mono_ms(),
		.phase_ms = pkg_time_mono_ms(),
		.timings = json_object_new_object(),
		.removed = pkg_argv_new(),
	};
	worker->store = store_open(home, err);
	if (worker->store == NULL || store_job_get(worker->store, job, &worker->job, err) < 0)
		return -1;
	if (worker->job.state != STORE_JOB_QUEUED)
		return pkg_error_set(err, PKG_E_INVALID, "job %" PRId64 " is %s, not queued", job,
			store_job_state_name(worker->job.state));
	worker->events = install_events_open(home, job, err);
	if (worker->events == NULL)
		return -1;
	worker->request = pkg_json_parse(worker->job.request, strlen(worker->job.request), err);
	if (worker->request == NULL)
		return pkg_error_prefix(err, "request of job %" PRId64, job);
	worker->ops = lang_find(worker->job.language, err);
	if (worker->ops == NULL || take_claim(worker, err) < 0)
		return -1;
	if (open_tools(worker, err) < 0 || make_places(worker, err) < 0 ||
		collect_hosts(worker, err) < 0)
		return -1;
	wire_language(worker);
	return install_worker_load_env(worker, err);
}

static void
forget_env(struct install_worker *worker)
{
	store_env_clear(&worker->env);
	store_package_list_clear(&worker->packages);
	store_package_list_clear(&worker->fresh);
	worker->fresh_tree = false;
	json_object_put(worker->facts);
	worker->facts = NULL;
	free(worker->prefix);
	free(worker->tree);
	worker->prefix = worker->tree = NULL;
}

void
install_worker_close(struct install_worker *worker)
{
	if (worker->claim != 0)
		(void)store_claim_end(worker->store, worker->claim, "finished", NULL);
	pkg_close(&worker->lock_fd);
	forget_env(worker);
	lang_resolution_clear(&worker->resolution);
	install_plan_clear(&worker->plan);
	install_hosts_clear(&worker->hosts);
	pkg_argv_free(worker->removed);
	free(worker->staging);
	free(worker->scratch);
	free(worker->rules_file);
	json_object_put(worker->request);
	json_object_put(worker->timings);
	store_job_clear(&worker->job);
	install_events_free(worker->events);
	sandbox_free(worker->sandbox);
	fetch_cas_free(worker->cas);
	store_close(worker->store);
	policy_config_clear(&worker->config);
	*worker = (struct install_worker){ .lock_fd = -1 };
}

/* --- as it goes --- */

int
install_worker_load_env(struct install_worker *worker, struct pkg_error *err)
{
	struct store_env_key key = { worker->job.project, worker->job.language,
		worker->job.environment };
	pkg_cleanup_error struct pkg_error why = { 0 };

	forget_env(worker);
	worker->prefix = install_path_prefix(worker->home, key.project, key.language, key.name);
	if (store_env_get(worker->store, &key, &worker->env, &why) < 0) {
		if (why.kind != PKG_E_NOT_FOUND) {
			pkg_error_move(err, &why);
			return -1;
		}
		return store_env_check_name(worker->store, &key, err);
	}
	worker->facts = pkg_json_parse(worker->env.facts, strlen(worker->env.facts), err);
	if (worker->facts == NULL)
		return pkg_error_prefix(err, "facts of the environment");
	worker->tree =
		install_path_generation(worker->home, worker->env.id, worker->env.generation);
	return store_packages_get(
		worker->store, worker->env.id, worker->env.generation, &worker->packages, err);
}

struct lang_env
install_worker_env(const struct install_worker *worker)
{
	return (struct lang_env){
		.prefix = worker->prefix,
		.tree = worker->tree,
		.facts = worker->facts,
		.hermetic = worker->env.id != 0 ? worker->env.hermetic
						: pkg_json_bool(worker->request, "hermetic", false),
	};
}

static bool
cancel_asked(const struct install_worker *worker)
{
	struct pollfd poll_fd = { .fd = worker->cancel_fd, .events = POLLIN };

	return worker->cancel_fd >= 0 && poll(&poll_fd, 1, 0) > 0;
}

int
install_worker_enter(
	struct install_worker *worker, enum store_job_state state, struct pkg_error *err)
{
	if (cancel_asked(worker))
		return pkg_error_set(err, PKG_E_CANCELLED, "cancelled while %s",
			store_job_state_name(worker->job.state));
	note_phase(worker);
	if (store_job_set_state(worker->store, worker->job.id, state, err) < 0)
		return -1;
	if (worker->claim != 0 &&
		store_claim_phase(worker->store, worker->claim, store_job_state_name(state), err) <
			0)
		return -1;
	worker->job.state = state;
	install_events_state(worker->events, store_job_state_name(state), 0);
	return 0;
}

/* --- ends --- */

/* "changes" and "reasons" as DESIGN.md section 9 has them: fewer fields than the plan's rows. */
static struct json_object *
pick_fields(struct json_object *array, const char *const *keys, size_t key_count)
{
	struct json_object *out = json_object_new_array();
	size_t count = array != NULL ? json_object_array_length(array) : 0;

	for (size_t i = 0; i < count; i++) {
		struct json_object *from = json_object_array_get_idx(array, i);
		struct json_object *row = json_object_new_object();

		for (size_t k = 0; k < key_count; k++)
			pkg_json_set(row, keys[k], json_object_get(pkg_json_get(from, keys[k])));
		json_object_array_add(out, row);
	}
	return out;
}

static void
add_plan_fields(struct install_worker *worker, struct json_object *result, bool done)
{
	static const char *const change_keys[] = { "name", "change", "from", "to" };
	static const char *const reason_keys[] = { "reason", "name" };
	struct json_object *plan = worker->plan.json;
	struct json_object *restart = plan != NULL ? pkg_json_get(plan, "restart") : NULL;
	bool told = plan != NULL && (done || worker->job.state == STORE_JOB_PENDING);

	pkg_json_set_bool(result, "additive", pkg_json_bool(restart, "additive", true));
	pkg_json_set(result, "reasons",
		pick_fields(told ? pkg_json_array(restart, "reasons") : NULL, reason_keys,
			PKG_ARRAY_LEN(reason_keys)));
	pkg_json_set(result, "changes",
		pick_fields(told ? pkg_json_array(plan, "changes") : NULL, change_keys,
			PKG_ARRAY_LEN(change_keys)));
	if (plan != NULL)
		pkg_json_set_str(result, "plan_hash", worker->plan.hash);
}

/* Kernels that hold another generation than the one that is current after this job. */
static struct json_object *
restart_due(struct install_worker *worker, int64_t generation)
{
	struct json_object *out = json_object_new_array();
	pkg_cleanup_store_kernel_list struct store_kernel_list kernels = { 0 };

	if (worker->env.id == 0 ||
		store_kernel_list(worker->store, worker->env.id, &kernels, NULL) < 0)
		return out;
	for (size_t i = 0; i < kernels.count; i++)
		if (kernels.items[i].generation != generation)
			json_object_array_add(out, json_object_new_int64(kernels.items[i].id));
	return out;
}

/* The cure of a kind, where the place that failed knew none of its own. */
static const char *
usual_cure(enum pkg_error_kind kind)
{
	static const struct {
		enum pkg_error_kind kind;
		const char *cure;
	} cures[] = {
		{ PKG_E_INDEX_UNREACHABLE,
			"check the network and the index's address, or name another with "
			"--index-url" },
		{ PKG_E_INDEX_STATUS, "try again later, or name another index with --index-url" },
		{ PKG_E_HASH,
			"the bytes are not those that were announced: do not install them; tell "
			"the index's owner, or plan again if the file was replaced" },
		{ PKG_E_TIMEOUT, "try again, or raise the limit in pkgd.json" },
		{ PKG_E_NO_SUCH_PACKAGE, "check the spelling" },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(cures); i++)
		if (cures[i].kind == kind)
			return cures[i].cure;
	return NULL;
}

static const char *
cure_of(const struct pkg_error *failure)
{
	return failure->cure != NULL ? failure->cure : usual_cure(failure->kind);
}

struct json_object *
install_worker_result(struct install_worker *worker, enum store_job_state state,
	const struct pkg_error *failure, int64_t generation, int64_t revision)
{
	struct json_object *result = json_object_new_object();
	const struct store_job *job = &worker->job;
	pkg_autofree char *boundary = NULL;

	note_phase(worker);
	pkg_json_set_str(result, "type", "result");
	pkg_json_set_int(result, "job", job->id);
	pkg_json_set_str(result, "status", store_job_state_name(state));
	pkg_json_set_str(
		result, "kind", failure != NULL ? pkg_error_kind_name(failure->kind) : NULL);
	pkg_json_set_str(result, "message", failure != NULL ? failure->message : worker->note);
	pkg_json_set_str(result, "cure", failure != NULL ? cure_of(failure) : NULL);
	pkg_json_set_str(result, "action", job->action);
	pkg_json_set_str(result, "project", job->project);
	pkg_json_set_str(result, "environment", job->environment);
	pkg_json_set_str(result, "language", job->language);
	pkg_json_set_int(result, "generation", generation);
	pkg_json_set_int(result, "revision", revision);
	add_plan_fields(worker, result, state == STORE_JOB_DONE);
	pkg_json_set(result, "restart_due", restart_due(worker, generation));
	if (worker->sandbox != NULL)
		boundary = sandbox_describe(worker->sandbox, SANDBOX_VERIFY);
	pkg_json_set_str(result, "boundary", boundary);
	pkg_json_set(result, "timings", json_object_get(worker->timings));
	return result;
}

struct json_object *
install_worker_history(const struct install_worker *worker)
{
	struct json_object *row = json_object_new_object();
	struct json_object *changes = NULL;

	if (worker->plan.json != NULL)
		changes = json_object_get(install_plan_changes(&worker->plan));
	pkg_json_set_str(row, "action", worker->job.action);
	pkg_json_set(row, "asked", json_object_get(worker->request));
	pkg_json_set_int(row, "uid", worker->job.requester.uid);
	pkg_json_set_str(row, "label", worker->job.requester.label);
	pkg_json_set_str(row, "plan_hash", worker->plan.json != NULL ? worker->plan.hash : NULL);
	pkg_json_set(row, "changes", changes != NULL ? changes : json_object_new_array());
	return row;
}

static int
write_failure_history(struct install_worker *worker, enum store_job_state state,
	const struct pkg_error *failure, struct pkg_error *err)
{
	struct store_history history = { 0 }; /* borrows */

	if (worker->env.id == 0 || pkg_json_bool(worker->request, "dry_run", false))
		return 0;
	history.env = worker->env.id;
	history.job = worker->job.id;
	history.time_ms = pkg_time_now_ms();
	history.action = worker->job.action;
	history.asked = worker->job.request;
	history.uid = worker->job.requester.uid;
	history.label = worker->job.requester.label;
	history.plan_hash = worker->plan.json != NULL ? worker->plan.hash : NULL;
	history.result = (char *)store_job_state_name(state);
	history.kind = failure != NULL ? (char *)pkg_error_kind_name(failure->kind) : NULL;
	history.generation = worker->env.generation;
	history.revision = worker->env.revision;
	history.changes = (char *)"[]";
	return store_history_add(worker->store, &history, err);
}

int
install_worker_end(struct install_worker *worker, enum store_job_state state,
	const struct pkg_error *failure, struct pkg_error *err)
{
	pkg_cleanup(pkg_json_put) struct json_object *result = install_worker_result(
		worker, state, failure, worker->env.generation, worker->env.revision);
	pkg_autofree char *text = pkg_json_line(result);

	if (store_begin(worker->store, err) < 0)
		return -1;
	/* With the claim: one that outlived its job would keep the environment from everybody. */
	if (store_job_end(worker->store, worker->job.id, state, text, err) < 0 ||
		write_failure_history(worker, state, failure, err) < 0 ||
		store_audit_add(worker->store, "result", text, err) < 0 ||
		(worker->claim != 0 &&
			store_claim_end(worker->store, worker->claim, "finished", err) < 0) ||
		store_commit(worker->store, err) < 0) {
		store_rollback(worker->store);
		return -1;
	}
	worker->claim = 0;
	worker->job.state = state;
	if (worker->events != NULL)
		install_events_row(worker->events, json_object_get(result));
	return 0;
}
