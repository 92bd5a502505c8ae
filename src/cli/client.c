#include "cli/client.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/random.h>
#include <sys/un.h>
#include <unistd.h>

#include "cli/i18n.h"
#include "core/path.h"
#include "core/sock.h"
#include "core/text.h"
#include "core/time.h"

/* A sandbox test or a search for interpreters takes its time; anything else answers at once. */
#define REPLY_SECONDS 600L
#define CONNECT_SECONDS 10L
#define REPLY_MAX (64u * 1024 * 1024)
#define ATTEMPTS 5
#define ATTEMPT_GAP_MS 20

struct cli_client {
	const struct pkg_home *home;
	CURL *curl;
	int run_fd; /* of the run directory, for paths that do not fit into sun_path; -1: not needed */
	bool checked; /* a daemon was there */
};

struct call {
	const char *method;
	const char *path;
	const char *body; /* NULL: none */
	const char *key; /* Idempotency-Key; NULL: none */
	bool control;
	bool again; /* may be sent twice */
	FILE *copy; /* where a success goes; NULL: into reply */
	CURL *curl; /* while it runs */
	struct pkg_buf reply;
	long status;
};

struct cli_client *
cli_client_new(const struct pkg_home *home)
{
	struct cli_client *client = pkg_xcalloc(1, sizeof(*client));

	client->home = home;
	client->run_fd = -1;
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		pkg_abort("libcurl does not start");
	client->curl = curl_easy_init();
	if (client->curl == NULL)
		pkg_abort("libcurl does not start");
	return client;
}

void
cli_client_free(struct cli_client *client)
{
	if (client == NULL)
		return;
	curl_easy_cleanup(client->curl);
	pkg_close(&client->run_fd);
	free(client);
}

const struct pkg_home *
cli_client_home(const struct cli_client *client)
{
	return client->home;
}

char *
cli_client_segment(const char *text)
{
	char *escaped = curl_easy_escape(NULL, text, (int)strlen(text));
	char *out = pkg_xstrdup(escaped != NULL ? escaped : "");

	curl_free(escaped);
	return out;
}

/* --- where to --- */

/* A path that curl can hand to connect(2): a long one goes through a handle on its directory. */
static char *
socket_path(struct cli_client *client, const char *name, struct pkg_error *err)
{
	pkg_autofree char *path = pkg_path_join(client->home->run, name);
	struct sockaddr_un address;

	if (strlen(path) < sizeof(address.sun_path))
		return pkg_steal_ptr(&path);
	if (client->run_fd < 0)
		client->run_fd = open(client->home->run, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (client->run_fd < 0) {
		pkg_error_errno(err, errno, _("open '%s'"), client->home->run);
		return NULL;
	}
	return pkg_xasprintf("/proc/self/fd/%d/%s", client->run_fd, name);
}

int
cli_client_aim(struct cli_client *client, CURL *curl, bool control, const char *path,
	struct pkg_error *err)
{
	pkg_autofree char *socket =
		socket_path(client, control ? CLI_CONTROL_SOCKET : CLI_ASK_SOCKET, err);
	pkg_autofree char *url = pkg_xasprintf("http://localhost%s", path);

	if (socket == NULL)
		return -1;
	curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, socket);
	curl_easy_setopt(curl, CURLOPT_URL, url);
	curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http");
	curl_easy_setopt(curl, CURLOPT_PROXY, "");
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, CONNECT_SECONDS);
	curl_easy_setopt(curl, CURLOPT_USERAGENT, "pkg/" PACKAGE_VERSION);
	return 0;
}

int
cli_client_may_control(struct cli_client *client, struct pkg_error *err)
{
	pkg_autofree char *path = pkg_path_join(client->home->run, CLI_CONTROL_SOCKET);
	pkg_cleanup_error struct pkg_error why = { 0 };
	pkg_autofd int fd = pkg_sock_connect(path, &why);

	if (fd >= 0)
		return 0;
	pkg_error_set(err, PKG_E_FORBIDDEN,
		_("the daemon's control socket is not open to this process: %s"), why.message);
	return pkg_error_cure(
		err, "%s", _("let the user who runs pkgd answer, from a terminal of their own"));
}

/* --- one exchange --- */

static size_t
on_body(char *data, size_t size, size_t count, void *context)
{
	struct call *call = context;
	size_t len = size * count;
	long status = 0;

	if (call->copy != NULL &&
		curl_easy_getinfo(call->curl, CURLINFO_RESPONSE_CODE, &status) == CURLE_OK &&
		status == 200)
		return fwrite(data, 1, len, call->copy);
	if (len > REPLY_MAX - call->reply.len)
		return 0;
	pkg_buf_add_mem(&call->reply, data, len);
	return len;
}

static struct curl_slist *
headers_of(const struct call *call)
{
	struct curl_slist *headers = NULL;

	if (call->body != NULL)
		headers = curl_slist_append(headers, "Content-Type: application/json");
	/* Without it curl would wait a second for "100 Continue" before a long body. */
	headers = curl_slist_append(headers, "Expect:");
	if (call->key != NULL) {
		pkg_autofree char *line = pkg_xasprintf("Idempotency-Key: %s", call->key);

		headers = curl_slist_append(headers, line);
	}
	return headers;
}

static int
exchange(struct cli_client *client, struct call *call, struct pkg_error *err)
{
	CURL *curl = client->curl;
	struct curl_slist *headers;
	CURLcode code;

	curl_easy_reset(curl);
	if (cli_client_aim(client, curl, call->control, call->path, err) < 0)
		return -1;
	headers = headers_of(call);
	call->curl = curl;
	pkg_buf_truncate(&call->reply, 0);
	curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, call->method);
	curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(curl, CURLOPT_TIMEOUT, REPLY_SECONDS);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, call);
	if (call->body != NULL)
		curl_easy_setopt(curl, CURLOPT_POSTFIELDS, call->body);
	code = curl_easy_perform(curl);
	curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &call->status);
	curl_slist_free_all(headers);
	if (code == CURLE_OK)
		return 0;
	pkg_error_set(err, PKG_E_UNREACHABLE, _("the daemon did not answer %s %s: %s"),
		call->method, call->path, curl_easy_strerror(code));
	return pkg_error_cure(err, "%s", _("pkg doctor says whether the daemon is there"));
}

/* A daemon that listens, and a way in for us. */
static int
reach(struct cli_client *client, const struct call *call, struct pkg_error *err)
{
	if (!client->checked && cli_autostart(client->home, err) < 0)
		return -1;
	client->checked = true;
	return call->control ? cli_client_may_control(client, err) : 0;
}

static int
perform(struct cli_client *client, struct call *call, struct pkg_error *err)
{
	for (int attempt = 1;; attempt++) {
		pkg_cleanup_error struct pkg_error why = { 0 };

		if (reach(client, call, err) < 0)
			return -1;
		if (exchange(client, call, &why) == 0)
			return 0;
		client->checked = false;
		if (why.kind != PKG_E_UNREACHABLE || !call->again || attempt == ATTEMPTS) {
			pkg_error_move(err, &why);
			return -1;
		}
		pkg_sleep_ms(ATTEMPT_GAP_MS << attempt);
	}
}

int
cli_client_read_error(long status, const struct pkg_buf *body, struct pkg_error *err)
{
	pkg_cleanup(pkg_json_put) struct json_object *json =
		pkg_json_parse(pkg_buf_str(body), body->len, NULL);
	struct json_object *result = json != NULL ? pkg_json_get(json, "result") : NULL;

	if (pkg_json_str(result, "kind") == NULL)
		return pkg_error_set(
			err, PKG_E_INTERNAL, _("the daemon answered with HTTP status %ld"), status);
	pkg_json_to_error(result, err);
	return -1;
}

static struct json_object *
result_of(struct call *call, struct pkg_error *err)
{
	pkg_cleanup(pkg_json_put) struct json_object *json = NULL;
	struct json_object *result;

	if (call->status < 200 || call->status > 299) {
		(void)cli_client_read_error(call->status, &call->reply, err);
		return NULL;
	}
	json = pkg_json_parse(pkg_buf_str(&call->reply), call->reply.len, err);
	if (json == NULL) {
		pkg_error_prefix(err, _("answer of the daemon"));
		return NULL;
	}
	result = pkg_json_get(json, "result");
	if (!json_object_is_type(result, json_type_object)) {
		pkg_error_set(err, PKG_E_INTERNAL, "%s", _("the daemon's answer has no result"));
		return NULL;
	}
	return json_object_get(result);
}

static struct json_object *
ask(struct cli_client *client, struct call *call, struct pkg_error *err)
{
	struct json_object *result = NULL;

	if (perform(client, call, err) == 0)
		result = result_of(call, err);
	pkg_buf_clear(&call->reply);
	return result;
}

struct json_object *
cli_client_get(struct cli_client *client, const char *path, struct pkg_error *err)
{
	struct call call = { .method = "GET", .path = path, .again = true };

	return ask(client, &call, err);
}

struct json_object *
cli_client_cancel(struct cli_client *client, const char *path, struct pkg_error *err)
{
	struct call call = { .method = "DELETE", .path = path, .again = true };
	pkg_cleanup_error struct pkg_error why = { 0 };
	struct json_object *result = ask(client, &call, &why);

	if (result == NULL && why.kind == PKG_E_FORBIDDEN &&
		cli_client_may_control(client, NULL) == 0) {
		pkg_error_clear(&why);
		call.control = true;
		result = ask(client, &call, &why);
	}
	if (result == NULL)
		pkg_error_move(err, &why);
	return result;
}

struct json_object *
cli_client_control_get(struct cli_client *client, const char *path, struct pkg_error *err)
{
	struct call call = { .method = "GET", .path = path, .control = true, .again = true };

	return ask(client, &call, err);
}

struct json_object *
cli_client_control(struct cli_client *client, const char *path, struct json_object *body,
	struct pkg_error *err)
{
	pkg_autofree char *text = body != NULL ? pkg_json_line(body) : pkg_xstrdup("{}");
	struct call call = { .method = "POST", .path = path, .body = text, .control = true };

	return ask(client, &call, err);
}

static void
random_key(char out[33])
{
	unsigned char bytes[16];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		pkg_abort("no random numbers");
	for (size_t i = 0; i < sizeof(bytes); i++)
		(void)snprintf(out + 2 * i, 3, "%02x", bytes[i]);
}

int64_t
cli_client_submit(struct cli_client *client, struct json_object *request, struct pkg_error *err)
{
	pkg_autofree char *text = pkg_json_line(request);
	pkg_cleanup(pkg_json_put) struct json_object *result = NULL;
	char key[33];
	struct call call = {
		.method = "POST", .path = "/v1/jobs", .body = text, .key = key, .again = true
	};
	int64_t job;

	random_key(key);
	result = ask(client, &call, err);
	if (result == NULL)
		return -1;
	job = pkg_json_int(result, "job", 0);
	if (job <= 0)
		return pkg_error_set(err, PKG_E_INTERNAL, "%s", _("the daemon named no job"));
	return job;
}

int
cli_client_copy(struct cli_client *client, const char *path, FILE *out, struct pkg_error *err)
{
	struct call call = { .method = "GET", .path = path, .copy = out };
	int rc = perform(client, &call, err);

	if (rc == 0 && call.status != 200)
		rc = cli_client_read_error(call.status, &call.reply, err);
	pkg_buf_clear(&call.reply);
	return rc;
}
