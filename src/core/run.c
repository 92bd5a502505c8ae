#include "core/run.h"
#include "core/time.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

enum {
	TICK_MS = 200,
	GRACE_MS = 500, /* between asking and killing */
	DRAIN_MS = 200, /* after the end, when somebody else still holds the pipes */
	GIVE_UP_MS = 10000, /* after SIGKILL; only a process stuck in the kernel takes longer */
	CHUNK = 64 * 1024,
	FOREVER = -1,
};

/* The first and the last half of a stream. */
struct capture {
	struct pkg_buf head;
	struct pkg_buf tail; /* at most twice its share, cut back now and then */
	size_t head_max;
	size_t tail_max;
	unsigned long long total;
};

enum { OUT, ERR, ENDED, CANCEL, WATCHED };

struct watch {
	struct pkg_run *run;
	struct pkg_process *process; /* borrowed */
	struct capture capture[2];
	struct pollfd fds[WATCHED];
	char *chunk;
	/* Moments on the monotonic clock, FOREVER when not set. */
	int64_t deadline;
	int64_t tick_at;
	int64_t kill_at;
	int64_t give_up_at;
	int64_t drained_at;
	bool stopping;
	bool ended;
};

static void
capture_add(struct capture *capture, const char *data, size_t len)
{
	size_t room = capture->head_max - capture->head.len;
	size_t first = len < room ? len : room;

	capture->total += len;
	pkg_buf_add_mem(&capture->head, data, first);
	data += first;
	len -= first;
	if (len > capture->tail_max) {
		data += len - capture->tail_max;
		len = capture->tail_max;
	}
	pkg_buf_add_mem(&capture->tail, data, len);
	if (capture->tail.len / 2 > capture->tail_max)
		pkg_buf_consume(&capture->tail, capture->tail.len - capture->tail_max);
}

static void
capture_end(struct capture *capture, struct pkg_buf *out)
{
	unsigned long long dropped;

	if (capture->tail.len > capture->tail_max)
		pkg_buf_consume(&capture->tail, capture->tail.len - capture->tail_max);
	dropped = capture->total - capture->head.len - capture->tail.len;
	if (dropped > 0) {
		if (capture->head.len && capture->head.data[capture->head.len - 1] != '\n')
			pkg_buf_add_char(&capture->head, '\n');
		pkg_buf_addf(&capture->head, "[... %llu bytes left out ...]\n", dropped);
	}
	pkg_buf_add_mem(&capture->head, pkg_buf_str(&capture->tail), capture->tail.len);
	pkg_buf_clear(out);
	*out = capture->head;
	capture->head = (struct pkg_buf){ 0 };
	pkg_buf_clear(&capture->tail);
}

/* 0 when there is nothing more for now. */
static int
read_stream(struct watch *watch, int which)
{
	struct pollfd *slot = &watch->fds[which];
	ssize_t n = read(slot->fd, watch->chunk, CHUNK);

	if (n < 0 && errno == EINTR)
		return 1;
	if (n < 0 && errno == EAGAIN)
		return 0;
	if (n <= 0) {
		slot->fd = -1; /* the process object closes it */
		return 0;
	}
	capture_add(&watch->capture[which], watch->chunk, (size_t)n);
	if (watch->run->on_output)
		watch->run->on_output(
			watch->run->context, which == OUT ? 1 : 2, watch->chunk, (size_t)n);
	return 1;
}

static void
stop(struct watch *watch, bool *reason, int64_t now)
{
	if (watch->stopping || watch->ended)
		return;
	*reason = true;
	watch->stopping = true;
	watch->deadline = FOREVER;
	watch->tick_at = FOREVER;
	watch->fds[CANCEL].fd = -1;
	watch->kill_at = now + GRACE_MS;
	if (watch->run->on_stop)
		watch->run->on_stop(watch->run->context, watch->process);
	else
		pkg_process_signal(watch->process, SIGTERM);
}

static bool
due(int64_t moment, int64_t now)
{
	return moment != FOREVER && now >= moment;
}

static void
handle_time(struct watch *watch, int64_t now)
{
	struct pkg_run *run = watch->run;

	if (due(watch->deadline, now))
		stop(watch, &run->timed_out, now);
	if (due(watch->tick_at, now)) {
		watch->tick_at = now + TICK_MS;
		if (run->on_tick(run->context, watch->process->pid))
			stop(watch, &run->stopped_by_tick, now);
	}
	if (due(watch->kill_at, now)) {
		watch->kill_at = FOREVER;
		watch->give_up_at = now + GIVE_UP_MS;
		pkg_process_signal(watch->process, SIGKILL);
	}
}

static void
handle_end(struct watch *watch, int64_t now)
{
	watch->ended = true;
	watch->fds[ENDED].fd = -1;
	watch->fds[CANCEL].fd = -1;
	watch->deadline = watch->tick_at = watch->kill_at = watch->give_up_at = FOREVER;
	watch->drained_at = now + DRAIN_MS;
	/* Whoever was told to stop has not, if it is still in the group. The process itself is not
	 * reaped yet, so the number is still ours. */
	if (watch->stopping)
		pkg_process_signal(watch->process, SIGKILL);
}

static int
poll_timeout(const struct watch *watch, int64_t now)
{
	const int64_t moments[] = { watch->deadline, watch->tick_at, watch->kill_at,
		watch->give_up_at, watch->drained_at };
	int64_t first = FOREVER;

	for (size_t i = 0; i < PKG_ARRAY_LEN(moments); i++)
		if (moments[i] != FOREVER && (first == FOREVER || moments[i] < first))
			first = moments[i];
	if (first == FOREVER)
		return -1;
	if (first <= now)
		return 0;
	return first - now > INT_MAX ? INT_MAX : (int)(first - now);
}

/* 1: over, 0: go on, -1: error. */
static int
turn(struct watch *watch, struct pkg_error *err)
{
	int64_t now = pkg_time_mono_ms();

	if (watch->ended && watch->fds[OUT].fd < 0 && watch->fds[ERR].fd < 0)
		return 1;
	if (due(watch->drained_at, now))
		return 1;
	if (due(watch->give_up_at, now))
		return pkg_error_set(err, PKG_E_KILLED, "process %d did not end when it was killed",
			(int)watch->process->pid);
	for (int i = 0; i < WATCHED; i++)
		watch->fds[i].revents = 0;
	if (poll(watch->fds, WATCHED, poll_timeout(watch, now)) < 0 && errno != EINTR)
		return pkg_error_errno(err, errno, "watch process %d", (int)watch->process->pid);
	now = pkg_time_mono_ms();
	if (watch->fds[OUT].revents)
		(void)read_stream(watch, OUT);
	if (watch->fds[ERR].revents)
		(void)read_stream(watch, ERR);
	if (watch->fds[ENDED].revents)
		handle_end(watch, now);
	/* Anything but silence on that descriptor, its own end included. */
	if (watch->fds[CANCEL].fd >= 0 && watch->fds[CANCEL].revents)
		stop(watch, &watch->run->cancelled, now);
	handle_time(watch, now);
	return 0;
}

static void
set_nonblocking(int fd)
{
	if (fd >= 0)
		(void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

static int
watch_to_end(struct watch *watch, struct pkg_error *err)
{
	struct pkg_process *process = watch->process;
	int over;

	set_nonblocking(process->stdout_fd);
	set_nonblocking(process->stderr_fd);
	do {
		over = turn(watch, err);
	} while (over == 0);
	if (over < 0)
		return -1;
	/* What it left behind in its group goes with it. */
	pkg_process_signal(process, SIGKILL);
	if (pkg_process_wait(process, -1, err) < 0)
		return -1;
	watch->run->wait_status = process->wait_status;
	watch->run->usage = process->usage;
	return 0;
}

static void
prepare(struct watch *watch, struct pkg_run *run, struct pkg_process *process, int64_t began)
{
	struct capture half = { .head_max = run->max_output / 2,
		.tail_max = run->max_output - run->max_output / 2 };

	*watch = (struct watch){
		.run = run,
		.process = process,
		.capture = { half, half },
		.fds = { [OUT] = { .fd = process->stdout_fd, .events = POLLIN },
			[ERR] = { .fd = process->stderr_fd, .events = POLLIN },
			[ENDED] = { .fd = process->pidfd, .events = POLLIN },
			[CANCEL] = { .fd = run->cancel_fd, .events = POLLIN } },
		.chunk = pkg_xmalloc(CHUNK),
		.deadline = run->timeout_ms < 0 ? FOREVER : began + run->timeout_ms,
		.tick_at = run->on_tick ? began + TICK_MS : FOREVER,
		.kill_at = FOREVER,
		.give_up_at = FOREVER,
		.drained_at = FOREVER,
	};
	run->timed_out = run->cancelled = run->stopped_by_tick = false;
}

int
pkg_process_run(const struct pkg_process_spec *spec, struct pkg_run *run, struct pkg_error *err)
{
	pkg_cleanup(pkg_process_free) struct pkg_process *process = NULL;
	struct pkg_process_spec piped = *spec;
	int64_t began = pkg_time_mono_ms();
	struct watch watch;
	int result;

	piped.stdout_fd = PKG_PROCESS_PIPE;
	if (piped.stderr_fd != PKG_PROCESS_STDOUT)
		piped.stderr_fd = PKG_PROCESS_PIPE;
	process = pkg_process_spawn(&piped, err);
	if (!process)
		return -1;
	prepare(&watch, run, process, began);
	result = watch_to_end(&watch, err);
	run->duration_ms = pkg_time_mono_ms() - began;
	capture_end(&watch.capture[0], &run->out);
	capture_end(&watch.capture[1], &run->err);
	free(watch.chunk);
	return result;
}

void
pkg_run_clear(struct pkg_run *run)
{
	pkg_buf_clear(&run->out);
	pkg_buf_clear(&run->err);
}
