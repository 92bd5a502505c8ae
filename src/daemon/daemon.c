#include "daemon/daemon.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "core/lock.h"
#include "core/log.h"
#include "core/path.h"
#include "core/time.h"
#include "daemon/http.h"
#include "daemon/stream.h"
#include "daemon/supervise.h"

/* How often idleness is looked at, when daemon.idle_exit_seconds wants it at all. */
#define IDLE_CHECK_MS 5000

static void
on_signal(uv_signal_t *signal, int number)
{
	struct daemon *daemon = signal->data;

	pkg_log(PKG_LOG_INFO, "stopping signal=%d", number);
	daemon_notify("STOPPING=1");
	uv_stop(&daemon->loop);
}

static void
on_idle(uv_timer_t *timer)
{
	struct daemon *daemon = timer->data;
	int64_t quiet = pkg_time_mono_ms() - daemon->last_request_ms;

	if (!supervisor_is_idle(daemon) || quiet < daemon->config.daemon_idle_exit_seconds * 1000 ||
		store_card_next_expiry(daemon->store, NULL) != 0)
		return;
	pkg_log(PKG_LOG_INFO, "stopping: nothing to do");
	uv_stop(&daemon->loop);
}

/* One daemon per home; the loser of a race of first commands leaves quietly. */
static int
take_lock(struct daemon *daemon, struct pkg_error *err)
{
	pkg_autofree char *path = pkg_path_join(daemon->home.run, "daemon.lock");

	daemon->lock_fd = pkg_lock_take(path, 0, err);
	return daemon->lock_fd >= 0 ? 0 : -1;
}

static void
start_handles(struct daemon *daemon)
{
	uv_signal_init(&daemon->loop, &daemon->on_term);
	uv_signal_init(&daemon->loop, &daemon->on_int);
	uv_timer_init(&daemon->loop, &daemon->idle);
	daemon->on_term.data = daemon->on_int.data = daemon->idle.data = daemon;
	uv_signal_start(&daemon->on_term, on_signal, SIGTERM);
	uv_signal_start(&daemon->on_int, on_signal, SIGINT);
	if (daemon->config.daemon_idle_exit_seconds > 0)
		uv_timer_start(&daemon->idle, on_idle, IDLE_CHECK_MS, IDLE_CHECK_MS);
}

static int
start_serving(struct daemon *daemon, struct pkg_error *err)
{
	struct daemon_sockets sockets;

	if (daemon_sockets_open(&daemon->home, &sockets, err) < 0)
		return -1;
	daemon->http = http_server_start(daemon, &sockets, err);
	return daemon->http != NULL ? 0 : -1;
}

static int
set_log_level(const struct policy_config *config, struct pkg_error *err)
{
	enum pkg_log_level level;

	if (pkg_log_level_parse(config->daemon_log_level, &level) < 0)
		return pkg_error_set(err, PKG_E_CONFIG, "daemon.log_level '%s' is not known",
			config->daemon_log_level);
	pkg_log_init("pkgd", level);
	return 0;
}

int
daemon_open(struct daemon *daemon, const struct daemon_options *options, struct pkg_error *err)
{
	*daemon = (struct daemon){ .lock_fd = -1,
		.started_ms = pkg_time_now_ms(),
		.last_request_ms = pkg_time_mono_ms() };
	/* A peer that hangs up must not end us. */
	signal(SIGPIPE, SIG_IGN);
	uv_loop_init(&daemon->loop);
	if (pkg_home_find(options->system, &daemon->home, err) < 0 ||
		pkg_home_make(&daemon->home, err) < 0 || take_lock(daemon, err) < 0 ||
		policy_config_load(&daemon->home, &daemon->config, err) < 0 ||
		set_log_level(&daemon->config, err) < 0)
		return -1;
	daemon->store = store_open(&daemon->home, err);
	if (daemon->store == NULL)
		return -1;
	start_handles(daemon);
	daemon->streams = streams_new(daemon);
	if (supervisor_start(daemon, err) < 0)
		return -1;
	return start_serving(daemon, err);
}

int
daemon_run(struct daemon *daemon, struct pkg_error *err)
{
	(void)err;
	pkg_log(PKG_LOG_INFO, "serving run=%s pid=%d", daemon->home.run, (int)getpid());
	daemon_notify("READY=1");
	uv_run(&daemon->loop, UV_RUN_DEFAULT);
	return 0;
}

/* Handles are not closed one by one: the process ends here, and workers go on. */
void
daemon_close(struct daemon *daemon)
{
	if (daemon->streams != NULL)
		streams_close(daemon->streams);
	if (daemon->http != NULL)
		http_server_stop(daemon->http);
	if (daemon->supervisor != NULL)
		supervisor_stop(daemon);
	streams_free(daemon->streams);
	store_close(daemon->store);
	policy_config_clear(&daemon->config);
	pkg_home_clear(&daemon->home);
	pkg_close(&daemon->lock_fd);
}
