/* cli/client.h - the daemon, as commands speak to it.
 * Purpose    HTTP/1.1 + JSON over the two unix sockets, with libcurl. The first request starts a daemon when none
 *            listens; questions that may be asked twice are, when a daemon goes away in the middle of one.
 * Ownership  struct cli_client borrows home. Results are given; bodies are borrowed.
 * Errors     What the daemon's envelope says; PKG_E_UNREACHABLE when there is none; PKG_E_FORBIDDEN when the
 *            control socket is not ours to use.
 */
#ifndef CLI_CLIENT_H
#define CLI_CLIENT_H
#include "cli/autostart.h"
#include "core/json.h"
#include <curl/curl.h>
#include <stdio.h>

struct cli_client;
struct cli_client *cli_client_new(const struct pkg_home *home);
void cli_client_free(struct cli_client *client);
PKG_DEFINE_CLEANUP(struct cli_client, cli_client_free)
const struct pkg_home *cli_client_home(const struct cli_client *client);

/* The envelope's result. */
struct json_object *cli_client_get(
	struct cli_client *client, const char *path, struct pkg_error *err);
/* DELETE; for what is another user's the control socket is tried as well. */
struct json_object *cli_client_cancel(
	struct cli_client *client, const char *path, struct pkg_error *err);
/* Over control.sock: GET and POST (body may be NULL: {}). */
struct json_object *cli_client_control_get(
	struct cli_client *client, const char *path, struct pkg_error *err);
struct json_object *cli_client_control(struct cli_client *client, const char *path,
	struct json_object *body, struct pkg_error *err);
/* Whether control.sock lets us in; PKG_E_FORBIDDEN says why not. */
int cli_client_may_control(struct cli_client *client, struct pkg_error *err);
/* The job's id; sent with an idempotency key, so that it is one job however often the connection breaks. */
int64_t cli_client_submit(
	struct cli_client *client, struct json_object *request, struct pkg_error *err);
/* text/plain, copied as it comes. */
int cli_client_copy(struct cli_client *client, const char *path, FILE *out, struct pkg_error *err);

/* One path segment, percent-encoded. Given. */
char *cli_client_segment(const char *text);

/* For stream.c: sets where an easy handle connects to, and what every request of ours has. */
int cli_client_aim(struct cli_client *client, CURL *curl, bool control, const char *path,
	struct pkg_error *err);
/* Sets *err from the body of an answer that is no success. Returns -1. */
int cli_client_read_error(long status, const struct pkg_buf *body, struct pkg_error *err);
#endif
