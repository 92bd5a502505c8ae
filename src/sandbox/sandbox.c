#include "sandbox/sandbox.h"

#include "core/file.h"
#include "core/path.h"
#include "sandbox/boundary.h"
#include "sandbox/cgroup.h"
#include "sandbox/launch.h"
#include "sandbox/limits.h"
#include "sandbox/paths.h"
#include "sandbox/purpose.h"
#include "sandbox/seccomp.h"
#include "sandbox/unconfined.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROOF_MAX 4096

enum proven { NOT_TRIED, PROVEN, FAILED };

struct sandbox {
	const struct pkg_home *home;
	struct sandbox_options options;
	struct sandbox_host host;
	int seccomp_fd;
	int trusted_fd; /* the filter where only programs of ours run */
	char *cgroup; /* owned; NULL: none */
	bool ready; /* host and filter are there */
	enum proven proven[SANDBOX_PURPOSE_COUNT];
	struct pkg_error why; /* the last reason there was no boundary */
};

int
sandbox_mode_parse(const char *text, enum sandbox_mode *out, struct pkg_error *err)
{
	static const char *const words[] = {
		[SANDBOX_ENFORCE] = "enforce", [SANDBOX_AUTO] = "auto", [SANDBOX_OFF] = "off"
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(words); i++) {
		if (strcmp(text, words[i]) == 0) {
			*out = (enum sandbox_mode)i;
			return 0;
		}
	}
	pkg_error_set(err, PKG_E_CONFIG, "sandbox mode '%.40s' is unknown", text);
	return pkg_error_cure(err, "use 'enforce', 'auto' or 'off'");
}

static const char *
mode_name(enum sandbox_mode mode)
{
	return mode == SANDBOX_ENFORCE ? "enforce" : mode == SANDBOX_AUTO ? "auto" : "off";
}

struct sandbox *
sandbox_open(
	const struct pkg_home *home, const struct sandbox_options *options, struct pkg_error *err)
{
	struct sandbox *sandbox;

	if (options && ((int)options->mode < SANDBOX_ENFORCE || options->mode > SANDBOX_OFF)) {
		pkg_error_set(err, PKG_E_CONFIG, "sandbox mode %d is unknown", (int)options->mode);
		return NULL;
	}
	sandbox = pkg_xcalloc(1, sizeof(*sandbox));
	sandbox->home = home;
	if (options)
		sandbox->options = *options;
	sandbox->seccomp_fd = sandbox->trusted_fd = -1;
	return sandbox;
}

void
sandbox_free(struct sandbox *sandbox)
{
	if (!sandbox)
		return;
	sandbox_host_clear(&sandbox->host);
	pkg_close(&sandbox->seccomp_fd);
	pkg_close(&sandbox->trusted_fd);
	free(sandbox->cgroup);
	pkg_error_clear(&sandbox->why);
	free(sandbox);
}

/* Tried again at every run until it succeeds: the administrator may just have installed what was
 * missing. */
static int
get_ready(struct sandbox *sandbox, struct pkg_error *err)
{
	int rc;

	if (sandbox->ready)
		return 0;
	sandbox_host_clear(&sandbox->host);
	rc = sandbox_host_read(sandbox->home, sandbox->options.bwrap, &sandbox->host, err);
	if (sandbox->options.ca_bundle)
		sandbox->host.ca = pkg_xstrdup(sandbox->options.ca_bundle);
	if (rc < 0)
		return -1;
	if (sandbox->seccomp_fd < 0)
		sandbox->seccomp_fd = sandbox_seccomp_export(err);
	if (sandbox->seccomp_fd >= 0 && sandbox->trusted_fd < 0)
		sandbox->trusted_fd = sandbox_seccomp_export_trusted(err);
	if (sandbox->trusted_fd < 0)
		return -1;
	sandbox->cgroup = sandbox_cgroup_here();
	sandbox->ready = true;
	return 0;
}

static struct sandbox_launch
launch_of(const struct sandbox *sandbox, enum sandbox_purpose purpose)
{
	/* Applying is our own helpers on staged bytes. */
	int filter = purpose == SANDBOX_APPLY ? sandbox->trusted_fd : sandbox->seccomp_fd;

	return (struct sandbox_launch){ &sandbox->host, filter, sandbox->cgroup };
}

/* Results are kept under a key that a changed kernel, bwrap, user or build does not have. The directory
 * is ours alone and no sandbox can write to it. Only a success is ever relied on; a failure is kept for
 * the status, and tried again whenever the purpose is to be used. */
static char *
proof_path(struct sandbox *sandbox, enum sandbox_purpose purpose)
{
	const struct sandbox_launch launch = launch_of(sandbox, purpose);
	pkg_autofree char *key = sandbox_boundary_key(&launch, purpose);

	return pkg_path_joinf(sandbox->home->run, "boundary-%s.json", key);
}

/* why: what a kept failure says; may be NULL. */
static enum proven
kept_proof(const char *path, enum sandbox_purpose purpose, struct pkg_error *why)
{
	pkg_cleanup(pkg_json_put) struct json_object *kept = NULL;

	if (access(path, R_OK) < 0)
		return NOT_TRIED;
	kept = pkg_json_read_file(path, PROOF_MAX, NULL);
	if (!kept ||
		strcmp(pkg_json_str_or(kept, "purpose", ""), sandbox_purpose_name(purpose)) != 0)
		return NOT_TRIED;
	if (pkg_json_bool(kept, "ok", false))
		return PROVEN;
	pkg_error_set(why, PKG_E_SANDBOX, "%s", pkg_json_str_or(kept, "message", "it failed"));
	pkg_error_cure(why, "%s", pkg_json_str_or(kept, "cure", "run 'pkg sandbox test'"));
	return FAILED;
}

/* failure: NULL for a success. */
static void
keep_proof(const char *path, enum sandbox_purpose purpose, const struct pkg_error *failure)
{
	pkg_cleanup(pkg_json_put) struct json_object *proof = json_object_new_object();
	pkg_autofree char *text = NULL;

	pkg_json_set_bool(proof, "ok", failure == NULL);
	pkg_json_set_str(proof, "purpose", sandbox_purpose_name(purpose));
	if (failure) {
		pkg_json_set_str(proof, "message", failure->message);
		pkg_json_set_str(proof, "cure", failure->cure);
	}
	text = pkg_json_line(proof);
	/* Without it the next process proves again. */
	(void)pkg_file_write(path, text, strlen(text), 0600, false, NULL);
}

static int
prove(struct sandbox *sandbox, enum sandbox_purpose purpose, struct sandbox_proof *proof,
	struct pkg_error *err)
{
	const struct sandbox_launch launch = launch_of(sandbox, purpose);
	pkg_autofree char *path = proof_path(sandbox, purpose);
	pkg_cleanup_error struct pkg_error why = { 0 };
	int rc = sandbox_boundary_prove(sandbox->home, &launch, purpose, proof, &why);

	if (rc == 0 && !proof->ok) {
		rc = pkg_error_set(&why, PKG_E_SANDBOX, "the %s sandbox does not hold: %s",
			sandbox_purpose_name(purpose), proof->detail);
		pkg_error_cure(&why,
			"run 'pkg sandbox test' and see which check fails; '%s' may not be "
			"bubblewrap",
			sandbox->host.bwrap);
	}
	sandbox->proven[purpose] = rc < 0 ? FAILED : PROVEN;
	keep_proof(path, purpose, rc < 0 ? &why : NULL);
	pkg_error_move(err, &why);
	return rc;
}

static int
establish(struct sandbox *sandbox, enum sandbox_purpose purpose, struct pkg_error *err)
{
	pkg_cleanup_proof struct sandbox_proof proof = { 0 };
	pkg_autofree char *path = NULL;
	int rc = get_ready(sandbox, err);

	if (rc == 0 && sandbox->proven[purpose] != PROVEN) {
		path = proof_path(sandbox, purpose);
		if (kept_proof(path, purpose, NULL) == PROVEN)
			sandbox->proven[purpose] = PROVEN;
		else
			rc = prove(sandbox, purpose, &proof, err);
	}
	return rc;
}

/* 1 confined, 0 without a boundary because the mode allows it, -1 refused. */
static int
choose(struct sandbox *sandbox, enum sandbox_purpose purpose, struct pkg_error *err)
{
	pkg_cleanup_error struct pkg_error why = { 0 };

	sandbox_purpose_row(purpose);
	if (sandbox->options.mode == SANDBOX_OFF) {
		(void)get_ready(sandbox, NULL);
		return 0;
	}
	if (establish(sandbox, purpose, &why) == 0) {
		pkg_error_clear(&sandbox->why);
		return 1;
	}
	/* Losing the boundary is what auto accepts, not a disk that is full or a path that is
	 * wrong. */
	pkg_error_copy(&sandbox->why, &why);
	pkg_error_copy(err, &why);
	return sandbox->options.mode == SANDBOX_AUTO && why.kind == PKG_E_SANDBOX ? 0 : -1;
}

bool
sandbox_confines(struct sandbox *sandbox, enum sandbox_purpose purpose, struct pkg_error *err)
{
	return choose(sandbox, purpose, err) == 1;
}

/* What both kinds of run do first. */
static int
prepare(struct sandbox *sandbox, const struct sandbox_profile *profile, struct sandbox_paths *paths,
	struct pkg_error *err)
{
	if (sandbox_purpose_check(profile, err) < 0 ||
		sandbox_paths_resolve(profile, &sandbox->host, paths, err) < 0)
		return -1;
	return sandbox_limits_resolve(profile, &sandbox->options.limits[profile->purpose],
		sandbox->host.ram, &paths->profile.limits, err);
}

int
sandbox_run(struct sandbox *sandbox, const struct sandbox_profile *profile, struct pkg_run *run,
	struct pkg_error *err)
{
	pkg_cleanup_sandbox_paths struct sandbox_paths paths = { 0 };
	pkg_cleanup_error struct pkg_error why = { 0 };
	int confined = choose(sandbox, profile->purpose, &why);
	const struct sandbox_launch launch = launch_of(sandbox, profile->purpose);

	if (confined < 0) {
		pkg_error_move(err, &why);
		return -1;
	}
	if (prepare(sandbox, profile, &paths, err) < 0)
		return -1;
	return confined ? sandbox_launch(&launch, &paths.profile, run, err)
			: sandbox_unconfined(&sandbox->host, &paths.profile, run, err);
}

int
sandbox_run_interactive(struct sandbox *sandbox, const struct sandbox_profile *profile, int *status,
	struct pkg_error *err)
{
	pkg_cleanup_sandbox_paths struct sandbox_paths paths = { 0 };
	pkg_cleanup_error struct pkg_error why = { 0 };
	struct sandbox_profile interactive = *profile;
	int confined = choose(sandbox, profile->purpose, &why);
	const struct sandbox_launch launch = launch_of(sandbox, profile->purpose);

	interactive.interactive = true;
	if (confined < 0) {
		pkg_error_move(err, &why);
		return -1;
	}
	if (prepare(sandbox, &interactive, &paths, err) < 0)
		return -1;
	return confined
		? sandbox_launch_interactive(&launch, &paths.profile, status, err)
		: sandbox_unconfined_interactive(&sandbox->host, &paths.profile, status, err);
}

char *
sandbox_describe(const struct sandbox *sandbox, enum sandbox_purpose purpose)
{
	if (sandbox->options.mode == SANDBOX_OFF)
		return pkg_xstrdup(
			"NO SANDBOX: switched off by the configuration; network not isolated");
	if (sandbox->proven[purpose] == PROVEN)
		return pkg_xasprintf(
			"bubblewrap %s; network isolated; seccomp; %s; self-test passed",
			sandbox->host.bwrap_version, sandbox->cgroup ? "cgroup" : "watchdog");
	if (sandbox->why.kind == PKG_E_NONE)
		return pkg_xstrdup("sandbox not established yet");
	return pkg_xasprintf("%s: %s",
		sandbox->options.mode == SANDBOX_AUTO ? "NO SANDBOX, network not isolated"
						      : "no sandbox, so nothing was run",
		sandbox->why.message);
}

/* All proven: true; any failed: false; else it is not known. */
static struct json_object *
self_test(struct sandbox *sandbox)
{
	size_t proven = 0;

	for (int i = 0; i < SANDBOX_PURPOSE_COUNT; i++) {
		pkg_autofree char *path = NULL;

		if (sandbox->ready && sandbox->proven[i] == NOT_TRIED) {
			path = proof_path(sandbox, (enum sandbox_purpose)i);
			pkg_error_clear(&sandbox->why);
			sandbox->proven[i] =
				kept_proof(path, (enum sandbox_purpose)i, &sandbox->why);
		}
		if (sandbox->proven[i] == FAILED)
			return json_object_new_boolean(false);
		proven += sandbox->proven[i] == PROVEN;
	}
	return proven == SANDBOX_PURPOSE_COUNT ? json_object_new_boolean(true) : NULL;
}

static char *
backend_detail(const struct sandbox *sandbox)
{
	return pkg_xasprintf(
		"bubblewrap %s; every namespace, no capabilities, seccomp filter, memory and "
		"processes kept by %s",
		sandbox->host.bwrap_version,
		sandbox->cgroup ? "a cgroup" : "resource limits and a watchdog");
}

struct json_object *
sandbox_status(struct sandbox *sandbox)
{
	pkg_cleanup_error struct pkg_error err = { 0 };
	struct json_object *status = json_object_new_object();
	bool off = sandbox->options.mode == SANDBOX_OFF;
	bool ready = !off && get_ready(sandbox, &err) == 0;
	struct json_object *passed = ready ? self_test(sandbox) : NULL;
	bool failed = passed && !json_object_get_boolean(passed);
	bool enforced = ready && passed && !failed;
	pkg_autofree char *detail = ready ? backend_detail(sandbox) : NULL;
	const struct pkg_error *why = failed ? &sandbox->why : &err;

	pkg_json_set_str(status, "mode", mode_name(sandbox->options.mode));
	pkg_json_set_str(status, "state",
		off			   ? "disabled"
			: ready && !failed ? "enabled"
					   : "unavailable");
	pkg_json_set_str(status, "backend", ready ? "bubblewrap" : NULL);
	pkg_json_set_bool(status, "enforced", enforced);
	pkg_json_set(status, "self_test_passed", passed);
	pkg_json_set_str(status, "network_policy", enforced ? "blocked" : "not_enforced");
	pkg_json_set_str(status, "detail", detail ? detail : why->message);
	pkg_json_set_str(status, "warning",
		off			   ? "nothing is confined: the sandbox is switched off"
			: enforced	   ? NULL
			: ready && !failed ? "the boundary of some purposes has not been tested yet"
			: sandbox->options.mode == SANDBOX_AUTO
			? "commands run unconfined: there is no boundary on this machine"
			: "nothing can be installed: there is no boundary on this machine");
	pkg_json_set_str(status, "remedy", off || enforced ? NULL : why->cure);
	return status;
}

static struct json_object *
test_purpose(struct sandbox *sandbox, enum sandbox_purpose purpose, bool *ok)
{
	pkg_cleanup_proof struct sandbox_proof proof = { 0 };
	pkg_cleanup_error struct pkg_error err = { 0 };
	struct json_object *row = json_object_new_object();
	bool passed = prove(sandbox, purpose, &proof, &err) == 0;

	if (!passed)
		pkg_error_copy(&sandbox->why, &err);
	*ok = *ok && passed;
	pkg_json_set_str(row, "purpose", sandbox_purpose_name(purpose));
	pkg_json_set_bool(row, "ok", passed);
	pkg_json_set(row, "checks",
		proof.checks ? json_object_get(proof.checks) : json_object_new_array());
	if (!passed)
		pkg_json_set(row, "error", pkg_json_from_error(&err));
	return row;
}

struct json_object *
sandbox_test(struct sandbox *sandbox, PKG_UNUSED struct pkg_error *err)
{
	pkg_cleanup_error struct pkg_error why = { 0 };
	struct json_object *test;
	struct json_object *purposes;
	bool ok = true;

	test = json_object_new_object();
	purposes = json_object_new_array();
	if (get_ready(sandbox, &why) < 0) {
		pkg_json_set_bool(test, "ok", false);
		pkg_json_set(test, "purposes", purposes);
		pkg_json_set(test, "error", pkg_json_from_error(&why));
		return test;
	}
	for (int i = 0; i < SANDBOX_PURPOSE_COUNT; i++)
		json_object_array_add(
			purposes, test_purpose(sandbox, (enum sandbox_purpose)i, &ok));
	pkg_json_set_bool(test, "ok", ok);
	pkg_json_set(test, "purposes", purposes);
	return test;
}
