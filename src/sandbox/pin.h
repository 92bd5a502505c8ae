/* sandbox/pin.h - hold on to exactly the processes of one sandbox.
 * Purpose    bwrap tells the number of the namespace's init; this turns it into a descriptor that
 * cannot come to mean another process, finds the command below it, and signals either (BEHAVIOURS
 * F23, F24). Ownership  The struct owns its descriptors; start it with SANDBOX_PIN_INIT. Errors
 * PKG_E_NOT_FOUND with what did not fit. Nothing is ever signalled by number.
 */
#ifndef SANDBOX_PIN_H
#define SANDBOX_PIN_H
#include "core/buf.h"
#include "core/error.h"
#include <stdbool.h>
#include <sys/types.h>

#define SANDBOX_STATUS_MAX 4096

struct sandbox_status_text {
	pid_t child; /* 0: not told yet */
	int exit_code; /* of the command; -1: none, it was not started or has not ended */
};
/* Pure: the JSON documents of --json-status-fd, one a line; an unfinished last line is not looked
 * at. */
int sandbox_pin_parse(
	const char *text, size_t len, struct sandbox_status_text *out, struct pkg_error *err);
/* Pure: the last number of the NSpid line and the PPid of a /proc/PID/status text; -1 when either
 * is missing or there twice. */
int sandbox_pin_parse_proc(const char *text, size_t len, pid_t *parent, pid_t *inner);

struct sandbox_pin {
	int status_fd; /* read end of --json-status-fd, non-blocking */
	int sync_fd; /* read end of the pipe that only the namespace's init holds */
	struct pkg_buf text;
	pid_t init; /* as the host sees it; 0: not pinned */
	int init_fd; /* pidfd */
	pid_t command; /* as the host sees it; 0: not pinned */
	int command_fd; /* pidfd */
};
#define SANDBOX_PIN_INIT                                                                           \
	{                                                                                          \
		.status_fd = -1, .sync_fd = -1, .init_fd = -1, .command_fd = -1                    \
	}
void sandbox_pin_clear(struct sandbox_pin *pin);
#define pkg_cleanup_pin __attribute__((cleanup(sandbox_pin_clear)))

/* Reads what there is; *out is what all of it says. */
int sandbox_pin_read(
	struct sandbox_pin *pin, struct sandbox_status_text *out, struct pkg_error *err);
/* Waits at most timeout_ms for bwrap to tell; 0 when the init is pinned (now or before). */
int sandbox_pin_init(struct sandbox_pin *pin, int timeout_ms, struct pkg_error *err);
/* Pins the command too: the init's child that is process 2 inside. */
int sandbox_pin_command(struct sandbox_pin *pin, int timeout_ms, struct pkg_error *err);
/* 0 delivered. */
int sandbox_pin_signal(struct sandbox_pin *pin, int signal, struct pkg_error *err);
/* SIGKILL to the init, which ends every process of its namespace. */
void sandbox_pin_kill(struct sandbox_pin *pin);
/* Whether everything is gone within timeout_ms. */
bool sandbox_pin_wait_gone(struct sandbox_pin *pin, int timeout_ms);
#endif
