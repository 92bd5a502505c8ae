#include "egress/session.h"

#include "core/file.h"
#include "core/json.h"
#include "core/path.h"
#include "core/process.h"
#include "egress/rules.h"
#include "egress/upstream.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define FINISH_MS 2000 /* it has nothing to do but write rows */

extern char **environ;

struct egress_session {
	struct pkg_process *proxy;
	char *audit_path;
	int64_t audit_start; /* bytes of the file that are of earlier sessions */
	int control; /* closing it ends the proxy */
	int shim; /* -1 once stolen */
	int shim_number;
};

int
egress_session_write_rules(const char *rules_path, const char *name, struct json_object *rules,
	const char *cure, struct json_object *limits, struct pkg_error *err)
{
	struct json_object *object = json_object_new_object();
	pkg_autofree char *text = NULL;
	int rc;

	if (name)
		pkg_json_set_str(object, "name", name);
	if (cure)
		pkg_json_set_str(object, "cure", cure);
	pkg_json_set(object, "rules", json_object_get(rules));
	if (limits)
		pkg_json_set(object, "limits", json_object_get(limits));
	text = pkg_json_line(object);
	json_object_put(object);
	rc = pkg_file_write(rules_path, text, strlen(text), 0600, false, err);
	return rc < 0 ? pkg_error_prefix(err, "write the host rules") : 0;
}

static int
check_rules(const char *path, struct pkg_error *err)
{
	struct egress_rules *rules = egress_rules_load(path, err);

	egress_rules_put(rules);
	return rules ? 0 : -1;
}

static struct pkg_process *
spawn_proxy(const char *libexec, const char *rules_path, const char *audit_path, int *control,
	int *shim, struct pkg_error *err)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *argv = pkg_argv_new();
	pkg_cleanup(pkg_argv_free) struct pkg_argv *env = pkg_argv_new();
	struct pkg_process_spec spec = {
		.argv = argv,
		.env = env,
		.stdin_fd = -1,
		.stdout_fd = -1,
		.stderr_fd = STDERR_FILENO,
	};

	pkg_argv_take(argv, pkg_path_join(libexec, "pkg-proxy"));
	pkg_argv_add(argv, "--rules", rules_path, "--audit", audit_path, "--shim-fd");
	pkg_argv_addf(argv, "%d", *shim);
	pkg_argv_add(argv, "--control-fd");
	pkg_argv_addf(argv, "%d", *control);
	pkg_argv_take_fd(argv, pkg_steal_fd(shim));
	pkg_argv_take_fd(argv, pkg_steal_fd(control));
	egress_upstream_export(environ, env);
	return pkg_process_spawn(&spec, err);
}

int
egress_session_start(const char *libexec, const char *rules_path, const char *audit_path,
	struct egress_session **out, struct pkg_error *err)
{
	pkg_cleanup(pkg_process_free) struct pkg_process *proxy = NULL;
	pkg_autofd int control_ours = -1;
	pkg_autofd int control_theirs = -1;
	pkg_autofd int shim_ours = -1;
	pkg_autofd int shim_theirs = -1;
	struct egress_session *session;
	int pair[2], ends[2];
	struct stat st;

	if (check_rules(rules_path, err) < 0)
		return -1;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return pkg_error_errno(err, errno, "create the egress proxy's pipe");
	control_theirs = ends[0];
	control_ours = ends[1];
	/* SEQPACKET: the proxy's end of file is exact, and one message is one descriptor. */
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return pkg_error_errno(err, errno, "create the egress proxy's socket pair");
	shim_theirs = pair[0];
	shim_ours = pair[1];
	proxy = spawn_proxy(libexec, rules_path, audit_path, &control_theirs, &shim_theirs, err);
	if (!proxy)
		return pkg_error_prefix(err, "start the egress proxy");
	session = pkg_xcalloc(1, sizeof(*session));
	session->proxy = pkg_steal_ptr(&proxy);
	session->audit_path = pkg_xstrdup(audit_path);
	session->audit_start = stat(audit_path, &st) == 0 ? st.st_size : 0;
	session->control = pkg_steal_fd(&control_ours);
	session->shim_number = shim_ours;
	session->shim = pkg_steal_fd(&shim_ours);
	*out = session;
	return 0;
}

int
egress_session_shim_fd(const struct egress_session *session)
{
	return session->shim_number;
}

int
egress_session_steal_shim_fd(struct egress_session *session)
{
	return pkg_steal_fd(&session->shim);
}

static int
stop(struct egress_session *session, struct pkg_error *err)
{
	pkg_autofree char *text = NULL;
	int ended;

	pkg_close(&session->shim);
	/* Before the pipe is closed: after that it ends well. */
	ended = pkg_process_wait(session->proxy, 0, err);
	pkg_close(&session->control);
	if (ended == 0) {
		ended = pkg_process_wait(session->proxy, FINISH_MS, err);
		if (ended == 0) {
			pkg_process_signal(session->proxy, SIGKILL);
			ended = pkg_process_wait(session->proxy, FINISH_MS, err);
		}
	}
	if (ended < 0)
		return -1;
	if (ended > 0 && session->proxy->wait_status == 0)
		return 0;
	text = ended > 0 ? pkg_process_describe(session->proxy->wait_status)
			 : pkg_xstrdup("it cannot be killed");
	return pkg_error_set(err, PKG_E_INTERNAL, "the egress proxy failed: %s", text);
}

static void
release(struct egress_session *session)
{
	pkg_close(&session->shim);
	pkg_close(&session->control);
	pkg_process_free(session->proxy);
	free(session->audit_path);
	free(session);
}

int
egress_session_finish(
	struct egress_session *session, struct egress_rows *rows, struct pkg_error *err)
{
	int rc;

	if (!session)
		return 0;
	rc = stop(session, err);
	if (rows &&
		egress_audit_read(
			session->audit_path, session->audit_start, rows, rc == 0 ? err : NULL) < 0)
		rc = -1;
	release(session);
	return rc;
}

void
egress_session_free(struct egress_session *session)
{
	(void)egress_session_finish(session, NULL, NULL);
}

const struct egress_row *
egress_rows_cause(const struct egress_rows *rows)
{
	const struct egress_row *found = NULL;

	for (size_t i = 0; i < rows->count; i++) {
		const struct egress_row *row = &rows->items[i];

		switch (row->verdict) {
		case EGRESS_DENIED:
		case EGRESS_ADDRESS:
		case EGRESS_TLS_MISMATCH:
		case EGRESS_NOT_TLS:
		case EGRESS_OVERSIZE:
			return row;
		case EGRESS_FAILED:
		case EGRESS_TIMEOUT:
		case EGRESS_BUSY:
		case EGRESS_MALFORMED:
			if (!found)
				found = row;
			break;
		case EGRESS_ALLOWED:
		case EGRESS_ABORTED:
		case EGRESS_SUPPRESSED:
			break;
		}
	}
	return found;
}
