/* doctor: each thing that an install needs, in the order in which it needs it, with what to do about it. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/term.h"
#include "core/text.h"
#include "policy/config.h"

/* Less than this and the next install may not fit. */
#define FREE_BYTES_MIN (1024LL * 1024 * 1024)

struct doctor {
	struct cli *cli;
	struct json_object *checks; /* what --json prints */
	bool ok;
};

/* why NULL: it is sound. Detail is what was found. */
static void
report(struct doctor *doctor, const char *name, const struct pkg_error *why, const char *detail)
{
	struct json_object *row = json_object_new_object();
	pkg_autofree char *text = cli_text(why != NULL ? why->message : detail);
	pkg_autofree char *cure = cli_text(why != NULL ? why->cure : NULL);

	pkg_json_set_str(row, "name", name);
	pkg_json_set_bool(row, "ok", why == NULL);
	pkg_json_set_str(row, "kind", why != NULL ? pkg_error_kind_name(why->kind) : NULL);
	pkg_json_set_str(row, "detail", why != NULL ? why->message : detail);
	pkg_json_set_str(row, "cure", why != NULL ? why->cure : NULL);
	json_object_array_add(doctor->checks, row);
	doctor->ok = doctor->ok && why == NULL;
	if (cli_json(doctor->cli) || (cli_quiet(doctor->cli) && why == NULL))
		return;
	printf("%-4s  %s: %s\n", why == NULL ? _("ok") : _("FAIL"), name, text);
	if (*cure != '\0')
		printf(_("      cure: %s\n"), cure);
	fflush(stdout);
}

/* --- without a daemon --- */

static int
check_directory(const char *path, struct pkg_error *err)
{
	struct stat st;
	struct statvfs fs;

	if (stat(path, &st) < 0 && errno == ENOENT)
		return 0; /* the first daemon makes it */
	if (stat(path, &st) < 0)
		return pkg_error_errno(err, errno, "%s", path);
	if (!S_ISDIR(st.st_mode))
		return pkg_error_set(err, PKG_E_IO, _("%s is no directory"), path);
	if (access(path, R_OK | W_OK | X_OK) < 0)
		return pkg_error_errno(err, errno, "%s", path);
	if (st.st_uid != geteuid() || (st.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
		pkg_error_set(err, PKG_E_PERMISSION, _("%s is not this user's alone"), path);
		return pkg_error_cure(
			err, "chown %d '%s' && chmod 700 '%s'", (int)geteuid(), path, path);
	}
	if (statvfs(path, &fs) == 0 &&
		(unsigned long long)fs.f_bavail * fs.f_frsize < FREE_BYTES_MIN) {
		pkg_autofree char *left = pkg_text_bytes((long long)(fs.f_bavail * fs.f_frsize));

		pkg_error_set(err, PKG_E_DISK_FULL, _("%s has %s left"), path, left);
		return pkg_error_cure(err, "%s", _("pkg cache prune, or make room there"));
	}
	return 0;
}

static void
check_home(struct doctor *doctor)
{
	const struct pkg_home *home = &doctor->cli->home;
	const char *const all[] = { home->data, home->state, home->cache, home->run };
	pkg_autofree char *detail = pkg_xasprintf("%s, %s", home->data, home->run);

	/* The system's belong to its daemon; who asks it need not be able to write there. */
	for (size_t i = 0; i < PKG_ARRAY_LEN(all) && !home->system; i++) {
		pkg_cleanup_error struct pkg_error why = { 0 };

		if (check_directory(all[i], &why) == 0)
			continue;
		report(doctor, _("directories"), &why, NULL);
		return;
	}
	report(doctor, _("directories"), NULL, detail);
}

static void
check_config(struct doctor *doctor)
{
	pkg_cleanup_policy_config struct policy_config config = { 0 };
	pkg_cleanup_error struct pkg_error why = { 0 };

	if (policy_config_load(&doctor->cli->home, &config, &why) < 0)
		report(doctor, _("configuration"), &why, NULL);
	else
		report(doctor, _("configuration"), NULL, doctor->cli->home.config);
}

/* --- the daemon and what it knows --- */

static bool
check_daemon(struct doctor *doctor)
{
	pkg_cleanup_error struct pkg_error why = { 0 };
	pkg_cleanup(pkg_json_put) struct json_object *system =
		cli_client_get(doctor->cli->client, "/v1/system", &why);
	pkg_autofree char *detail = NULL;

	if (system == NULL) {
		report(doctor, _("daemon"), &why, NULL);
		return false;
	}
	detail = pkg_xasprintf(_("pkgd %s, pid %" PRId64), pkg_json_str_or(system, "version", "?"),
		pkg_json_int(system, "pid", 0));
	report(doctor, _("daemon"), NULL, detail);
	return true;
}

static void
print_candidate(struct doctor *doctor, struct json_object *row)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *reasons = pkg_argv_new();
	pkg_autofree char *path = cli_text(pkg_json_str(row, "path"));
	pkg_autofree char *origin = cli_text(pkg_json_str(row, "origin"));
	pkg_autofree char *joined = NULL;
	pkg_autofree char *clean = NULL;

	if (cli_json(doctor->cli) || cli_quiet(doctor->cli))
		return;
	(void)pkg_json_strings(row, "reasons", reasons, NULL);
	joined = pkg_argv_join(reasons, "; ");
	clean = cli_text(joined);
	printf("      %s (%s): %s\n", path, origin,
		pkg_json_bool(row, "accepted", false) ? _("accepted") : clean);
}

static void
check_interpreters(struct doctor *doctor)
{
	pkg_cleanup_error struct pkg_error why = { 0 };
	pkg_cleanup(pkg_json_put) struct json_object *result =
		cli_client_get(doctor->cli->client, "/v1/interpreters?language=python", &why);
	struct json_object *rows = pkg_json_array(result, "candidates");
	size_t count = rows != NULL ? json_object_array_length(rows) : 0;
	const char *first = NULL;

	for (size_t i = 0; i < count && first == NULL; i++) {
		struct json_object *row = json_object_array_get_idx(rows, i);

		if (pkg_json_bool(row, "accepted", false))
			first = pkg_json_str_or(
				row, "description", pkg_json_str_or(row, "path", "?"));
	}
	if (result != NULL && first == NULL) {
		pkg_error_set(&why, PKG_E_INTERPRETER,
			_("none of %zu candidates can make an environment"), count);
		pkg_error_cure(&why, "%s",
			_("install Python with its venv module, or name one in "
			  "python.interpreters"));
	}
	report(doctor, _("interpreters"), first == NULL ? &why : NULL, first);
	for (size_t i = 0; i < count; i++)
		print_candidate(doctor, json_object_array_get_idx(rows, i));
	if (result != NULL)
		json_object_object_add(json_object_array_get_idx(doctor->checks,
					       json_object_array_length(doctor->checks) - 1),
			"candidates", json_object_get(rows));
}

static void
check_sandbox(struct doctor *doctor)
{
	pkg_cleanup_error struct pkg_error why = { 0 };
	pkg_cleanup(pkg_json_put) struct json_object *status =
		cli_client_get(doctor->cli->client, "/v1/sandbox", &why);
	const char *detail = pkg_json_str_or(status, "detail", "?");

	if (status == NULL) {
		report(doctor, _("sandbox"), &why, NULL);
	} else if (strcmp(pkg_json_str_or(status, "state", ""), "enabled") == 0) {
		report(doctor, _("sandbox"), NULL, detail);
	} else {
		pkg_error_set(
			&why, PKG_E_SANDBOX, "%s", pkg_json_str_or(status, "warning", detail));
		if (pkg_json_str(status, "remedy") != NULL)
			pkg_error_cure(&why, "%s", pkg_json_str(status, "remedy"));
		report(doctor, _("sandbox"), &why, NULL);
	}
}

static struct json_object *
get(struct doctor *doctor, const char *name, const char *path)
{
	pkg_cleanup_error struct pkg_error why = { 0 };
	struct json_object *result = cli_client_get(doctor->cli->client, path, &why);

	if (result == NULL)
		report(doctor, name, &why, NULL);
	return result;
}

static void
check_environments(struct doctor *doctor)
{
	pkg_cleanup(pkg_json_put) struct json_object *result =
		get(doctor, _("environments"), "/v1/environments");
	struct json_object *rows = pkg_json_array(result, "environments");
	size_t count = rows != NULL ? json_object_array_length(rows) : 0;
	size_t broken = 0;

	for (size_t i = 0; i < count; i++) {
		struct json_object *env = json_object_array_get_idx(rows, i);
		struct json_object *health = pkg_json_get(env, "health");
		pkg_cleanup_error struct pkg_error why = { 0 };

		if (!json_object_is_type(health, json_type_object))
			continue;
		pkg_json_to_error(health, &why);
		pkg_error_prefix(&why, "%s/%s", pkg_json_str_or(env, "project", "?"),
			pkg_json_str_or(env, "name", "?"));
		report(doctor, _("environments"), &why, NULL);
		broken++;
	}
	if (result != NULL && broken == 0) {
		pkg_autofree char *detail = pkg_xasprintf(_("%zu, all sound"), count);

		report(doctor, _("environments"), NULL, detail);
	}
}

/* --- jobs --- */

static bool
is_working(const char *state)
{
	static const char *const states[] = { "planning", "fetching", "building", "applying",
		"verifying" };

	for (size_t i = 0; i < PKG_ARRAY_LEN(states); i++)
		if (strcmp(states[i], state) == 0)
			return true;
	return false;
}

/* What the daemon says about who works on the job's environment; -1: there is no such environment yet. */
static int64_t
worked_on_by(struct doctor *doctor, struct json_object *job)
{
	pkg_autofree char *path = pkg_xasprintf("/v1/environments/%s/%s/%s",
		pkg_json_str_or(job, "project", ""), pkg_json_str_or(job, "language", ""),
		pkg_json_str_or(job, "environment", ""));
	pkg_cleanup(pkg_json_put) struct json_object *env =
		cli_client_get(doctor->cli->client, path, NULL);

	return env != NULL ? pkg_json_int(env, "busy", 0) : -1;
}

/* A job in the middle of its work that no living process works on. It is asked about twice: it may have moved on
 * between two questions. */
static bool
is_stale(struct doctor *doctor, struct json_object *job)
{
	pkg_autofree char *path = pkg_xasprintf("/v1/jobs/%" PRId64, pkg_json_int(job, "id", 0));
	pkg_cleanup(pkg_json_put) struct json_object *again = NULL;

	if (!is_working(pkg_json_str_or(job, "state", "")) || worked_on_by(doctor, job) != 0)
		return false;
	again = cli_client_get(doctor->cli->client, path, NULL);
	return again != NULL && is_working(pkg_json_str_or(again, "state", "")) &&
		worked_on_by(doctor, job) == 0;
}

static void
check_jobs(struct doctor *doctor)
{
	pkg_cleanup(pkg_json_put) struct json_object *result =
		get(doctor, _("jobs"), "/v1/jobs?open=1&limit=200");
	struct json_object *rows = pkg_json_array(result, "jobs");
	size_t count = rows != NULL ? json_object_array_length(rows) : 0;
	size_t waiting = 0, stale = 0;

	for (size_t i = 0; i < count; i++) {
		struct json_object *job = json_object_array_get_idx(rows, i);
		pkg_cleanup_error struct pkg_error why = { 0 };

		waiting += strcmp(pkg_json_str_or(job, "state", ""), "pending") == 0;
		if (!is_stale(doctor, job))
			continue;
		stale++;
		pkg_error_set(&why, PKG_E_INTERRUPTED,
			_("job %" PRId64 " is %s, and no process works on it"),
			pkg_json_int(job, "id", 0), pkg_json_str_or(job, "state", "?"));
		pkg_error_cure(&why, "pkg reconcile");
		report(doctor, _("jobs"), &why, NULL);
	}
	if (result != NULL && stale == 0) {
		pkg_autofree char *detail =
			pkg_xasprintf(_("%zu open, %zu of them wait for an answer%s"), count,
				waiting, waiting > 0 ? _(" (pkg cards)") : "");

		report(doctor, _("jobs"), NULL, detail);
	}
}

int
cli_cmd_doctor(struct cli *cli, struct pkg_error *err)
{
	struct doctor doctor = { cli, json_object_new_array(), true };
	pkg_cleanup(pkg_json_put) struct json_object *out = json_object_new_object();

	(void)err;
	pkg_json_set(out, "checks", doctor.checks);
	check_home(&doctor);
	check_config(&doctor);
	if (check_daemon(&doctor)) {
		check_interpreters(&doctor);
		check_sandbox(&doctor);
		check_environments(&doctor);
		check_jobs(&doctor);
	}
	pkg_json_set_bool(out, "ok", doctor.ok);
	if (cli_json(cli))
		cli_print_object(out);
	return doctor.ok ? 0 : 1;
}
