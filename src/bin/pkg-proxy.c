/* pkg-proxy (--listen-fd N | --shim-fd N) --rules FILE --audit FILE [--control-fd N] [--parent PID]
 *
 * The way out of one sandbox; see egress/proxy.h. --listen-fd: an inherited listening socket;
 * --shim-fd: a socket over which pkg-shim sends one. It ends when the control descriptor's other
 * end closes, when the parent dies, or by SIGTERM; open connections get their audit row first. */
#include "egress/log.h"
#include "egress/proxy.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

extern char **environ;

enum { OPT_LISTEN = 1, OPT_SHIM, OPT_CONTROL, OPT_PARENT, OPT_RULES, OPT_AUDIT };

static const struct option options[] = {
	{ "listen-fd", required_argument, NULL, OPT_LISTEN },
	{ "shim-fd", required_argument, NULL, OPT_SHIM },
	{ "control-fd", required_argument, NULL, OPT_CONTROL },
	{ "parent", required_argument, NULL, OPT_PARENT },
	{ "rules", required_argument, NULL, OPT_RULES },
	{ "audit", required_argument, NULL, OPT_AUDIT },
	{ 0 },
};

static int
usage(void)
{
	fputs("usage: pkg-proxy (--listen-fd N | --shim-fd N) --rules FILE --audit FILE\n"
	      "                 [--control-fd N] [--parent PID]\n",
		stderr);
	return 2;
}

static int
parse_number(const char *text)
{
	char *end = NULL;
	long value;

	errno = 0;
	value = strtol(text, &end, 10);
	return errno || end == text || *end || value < 0 || value > 1 << 30 ? -1 : (int)value;
}

static int
parse_fd(const char *text)
{
	int fd = parse_number(text);

	/* Also refuses a number that is no open descriptor. */
	return fd >= 0 && fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 ? fd : -1;
}

static void
die_with(int parent)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
	/* It may have died before that. */
	if (getppid() != parent)
		_exit(0);
}

int
main(int argc, char **argv)
{
	struct egress_proxy_options proxy = {
		.listen_fd = -1, .shim_fd = -1, .control_fd = -1, .env = environ
	};
	pkg_cleanup_error struct pkg_error err = { 0 };
	int option, parent = 0;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		int *fd = option == OPT_LISTEN ? &proxy.listen_fd
			: option == OPT_SHIM   ? &proxy.shim_fd
					       : &proxy.control_fd;

		if (option == OPT_RULES) {
			proxy.rules_path = optarg;
		} else if (option == OPT_AUDIT) {
			proxy.audit_path = optarg;
		} else if (option == OPT_PARENT) {
			parent = parse_number(optarg);
		} else if (option == '?' || (*fd = parse_fd(optarg)) < 0) {
			return usage();
		}
	}
	if (optind < argc || !proxy.rules_path || !proxy.audit_path || parent < 0 ||
		(proxy.listen_fd < 0) == (proxy.shim_fd < 0))
		return usage();
	if (parent > 0)
		die_with(parent);
	/* One arena: a second per resolver thread would be most of an idle proxy's memory. */
	(void)mallopt(M_ARENA_MAX, 1);
	if (egress_proxy_run(&proxy, &err) < 0) {
		egress_log_error(&err, "cannot serve");
		return 1;
	}
	return 0;
}
