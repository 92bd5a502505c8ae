/* pkgd - the daemon. */
#include <getopt.h>
#include <stdio.h>

#include "core/log.h"
#include "daemon/daemon.h"

static const char usage[] = "usage: pkgd [--system] [--version]\n"
			    "Serves package requests on two unix sockets. See pkgd(8).\n";

static const struct option options[] = {
	{ "system", no_argument, NULL, 's' },
	{ "version", no_argument, NULL, 'V' },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

int
main(int argc, char **argv)
{
	struct daemon_options wanted = { 0 };
	struct daemon daemon;
	pkg_cleanup_error struct pkg_error err = { 0 };
	int rc, c;

	pkg_log_init("pkgd", PKG_LOG_INFO);
	while ((c = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (c == 's') {
			wanted.system = true;
		} else if (c == 'V' || c == 'h') {
			fputs(c == 'V' ? "pkgd " PACKAGE_VERSION "\n" : usage, stdout);
			return 0;
		} else {
			fputs(usage, stderr);
			return 2;
		}
	}
	if (optind < argc) {
		fputs(usage, stderr);
		return 2;
	}
	rc = daemon_open(&daemon, &wanted, &err);
	if (rc == 0)
		rc = daemon_run(&daemon, &err);
	if (rc < 0)
		pkg_log_error(&err, "cannot serve");
	daemon_close(&daemon);
	return rc < 0 ? pkg_error_kind_exit(err.kind) : 0;
}
