/* daemon/daemon.h - the control plane: one event loop, two sockets, the jobs.
 * Purpose    Accepts requests, stores them, starts and watches workers, streams what they write. It never
 *            touches an environment itself: killing it loses no job (DESIGN.md section 3).
 * Ownership  struct daemon is created by main and lent to every part; parts hang on it.
 * Errors     PKG_E_BUSY from daemon_open() when another daemon serves the same home.
 */
#ifndef DAEMON_DAEMON_H
#define DAEMON_DAEMON_H
#include "core/home.h"
#include "policy/config.h"
#include "store/card.h"
#include <uv.h>

struct http_server;
struct streams;
struct supervisor;

struct daemon {
	uv_loop_t loop;
	struct pkg_home home;
	struct policy_config config;
	struct store *store;
	struct http_server *http;
	struct streams *streams;
	struct supervisor *supervisor;
	size_t questions; /* asked of workers and not answered yet */
	int lock_fd; /* <run>/daemon.lock: held for life, so one daemon serves a home */
	int64_t started_ms;
	int64_t last_request_ms; /* monotonic */
	uv_signal_t on_term;
	uv_signal_t on_int;
	uv_timer_t idle; /* daemon.idle_exit_seconds */
};

struct daemon_options {
	bool system;
};
int daemon_open(struct daemon *daemon, const struct daemon_options *options, struct pkg_error *err);
/* Until a signal, or nothing was to do for long enough. */
int daemon_run(struct daemon *daemon, struct pkg_error *err);
void daemon_close(struct daemon *daemon);
#endif
