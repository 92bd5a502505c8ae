#include "lang/python_run.h"

#include <stdlib.h>
#include <string.h>

#include "core/file.h"
#include "core/path.h"
#include "core/time.h"

#define LINE_MAX_KEPT (64 * 1024)
#define CA_MAX (8 * 1024 * 1024)
#define CA_NAME "ca.pem"
#define SYSTEM_CA "/etc/ssl/certs/ca-certificates.crt"

void
lang_python_run_clear(struct lang_python_run *run)
{
	pkg_buf_clear(&run->log);
	egress_rows_clear(&run->rows);
}

/* The certificates that our own fetcher trusts, in its order: what is planned with one set must be
 * fetched with the same. NULL: the system's. */
static const char *
own_certificates(const struct lang_context *lang)
{
	const char *file = lang->config->network_ca_bundle;

	if (!file)
		file = getenv("SSL_CERT_FILE");
	if (!file || !*file)
		file = getenv("CURL_CA_BUNDLE");
	return file && *file ? file : NULL;
}

/* Copied, because the file may lie in a directory that no sandbox may see. */
static int
bring_certificates(const struct lang_context *lang, const char *work, struct pkg_error *err)
{
	const char *file = own_certificates(lang);
	pkg_autofree char *copy = pkg_path_join(work, CA_NAME);
	pkg_cleanup_buf struct pkg_buf text = { 0 };

	if (!file)
		return 0;
	if (pkg_file_read(file, CA_MAX, &text, err) < 0)
		return pkg_error_prefix(err, "certificates");
	return pkg_file_write(copy, text.data, text.len, 0644, false, err);
}

char *
lang_python_work_make(const struct lang_context *lang, const char *name, struct pkg_error *err)
{
	char random[PKG_TEMP_NAME];
	pkg_autofree char *work = NULL;
	pkg_autofree char *tmp = NULL;

	pkg_temp_name(random);
	work = pkg_path_joinf(lang->scratch, "%s%s", name, random);
	tmp = pkg_path_join(work, "tmp");
	if (pkg_dir_make(tmp, 0700, err) < 0 || bring_certificates(lang, work, err) < 0)
		return NULL;
	return pkg_steal_ptr(&work);
}

/* pip takes no option or file but ours (BEHAVIOURS D5, D6). The variables for certificates win over
 * its own bundle, which would not know a private authority. */
static struct pkg_argv *
make_environment(const struct lang_python_run *run)
{
	struct pkg_argv *env = pkg_argv_new();
	pkg_autofree char *copy = pkg_path_join(run->work, CA_NAME);
	const char *ca = pkg_file_exists(copy) ? LANG_PYTHON_WORK "/" CA_NAME
		: pkg_file_exists(SYSTEM_CA)   ? SYSTEM_CA
					       : NULL;

	pkg_argv_add(env, "PIP_CONFIG_FILE=/dev/null", "TMPDIR=" LANG_PYTHON_WORK "/tmp",
		"TMP=" LANG_PYTHON_WORK "/tmp", "TEMP=" LANG_PYTHON_WORK "/tmp");
	if (ca) {
		pkg_argv_addf(env, "REQUESTS_CA_BUNDLE=%s", ca);
		pkg_argv_addf(env, "SSL_CERT_FILE=%s", ca);
	}
	return env;
}

/* --- what it prints --- */

struct listener {
	struct lang_context *lang;
	struct pkg_buf *log;
	struct pkg_buf partial[2]; /* of stream 1 and 2 */
};

/* The end of a log explains; of a very long one the beginning goes. */
static void
keep(struct pkg_buf *log, const char *line, size_t len)
{
	if (log->len + len > LANG_PYTHON_LOG_MAX) {
		size_t drop = log->len / 2;
		const char *newline = memchr(log->data + drop, '\n', log->len - drop);

		pkg_buf_consume(log, newline ? (size_t)(newline + 1 - log->data) : log->len);
	}
	pkg_buf_add_mem(log, line, len);
}

static void
say(struct listener *listener, struct pkg_buf *partial, size_t len)
{
	keep(listener->log, partial->data, len);
	if (listener->lang->output)
		listener->lang->output(listener->lang->context, partial->data, len);
	pkg_buf_consume(partial, len);
}

static void
on_output(void *context, int stream, const char *data, size_t len)
{
	struct listener *listener = context;
	struct pkg_buf *partial = &listener->partial[stream == 2];
	const char *last;

	while (len > 0) {
		size_t part = len < LINE_MAX_KEPT ? len : LINE_MAX_KEPT;

		pkg_buf_add_mem(partial, data, part);
		data += part;
		len -= part;
		last = memrchr(partial->data, '\n', partial->len);
		if (last)
			say(listener, partial, (size_t)(last + 1 - partial->data));
		else if (partial->len > LINE_MAX_KEPT)
			say(listener, partial, partial->len);
	}
}

static void
finish_output(struct listener *listener)
{
	for (size_t i = 0; i < PKG_ARRAY_LEN(listener->partial); i++) {
		struct pkg_buf *partial = &listener->partial[i];

		if (partial->len > 0) {
			pkg_buf_add_char(partial, '\n');
			say(listener, partial, partial->len);
		}
		pkg_buf_clear(partial);
	}
}

/* --- where it went --- */

static void
report_rows(struct lang_context *lang, const struct egress_rows *rows)
{
	for (size_t i = 0; lang->connection && i < rows->count; i++) {
		pkg_cleanup(pkg_json_put) struct json_object *row =
			egress_row_to_json(&rows->items[i]);

		lang->connection(lang->context, row);
	}
}

static int
start_session(struct lang_context *lang, const struct lang_python_run *run,
	struct egress_session **session, struct pkg_error *err)
{
	pkg_autofree char *audit = pkg_path_join(lang->scratch, "egress-audit.jsonl");
	bool may = run->purpose == SANDBOX_PLAN || run->purpose == SANDBOX_BUILD;

	*session = NULL;
	if (!may || !lang->egress_rules)
		return 0;
	return egress_session_start(lang->home->libexec, lang->egress_rules, audit, session, err);
}

static int
run_in(struct lang_context *lang, struct lang_python_run *run, struct pkg_run *inner,
	struct egress_session *session, struct pkg_error *err)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *env = make_environment(run);
	pkg_autofd int shim = session ? egress_session_steal_shim_fd(session) : -1;
	struct sandbox_profile profile = {
		.purpose = run->purpose,
		.command = run->command,
		.cwd = LANG_PYTHON_WORK,
		.env = env,
		.shim_fd = shim,
	};

	lang_mounts_add(run->mounts, SANDBOX_MOUNT_RW, run->work, LANG_PYTHON_WORK);
	if (run->env) {
		profile.tree = run->env->tree;
		profile.prefix = run->env->prefix;
	}
	profile.mounts = run->mounts->items;
	profile.mount_count = run->mounts->count;
	return sandbox_run(lang->sandbox, &profile, inner, err);
}

int
lang_python_run_work(struct lang_context *lang, struct lang_python_run *run, struct pkg_error *err)
{
	struct listener listener = { .lang = lang, .log = &run->log };
	pkg_cleanup_run struct pkg_run inner = PKG_RUN_INIT;
	struct egress_session *session;
	int rc;

	inner.cancel_fd = lang->cancel_fd;
	inner.on_output = on_output;
	inner.context = &listener;
	if (start_session(lang, run, &session, err) < 0)
		return -1;
	rc = run_in(lang, run, &inner, session, err);
	finish_output(&listener);
	/* The trail is part of the promise: without it the run does not count. */
	if (egress_session_finish(session, &run->rows, rc == 0 ? err : NULL) < 0)
		rc = -1;
	report_rows(lang, &run->rows);
	run->status = pkg_process_status(inner.wait_status);
	return rc;
}
