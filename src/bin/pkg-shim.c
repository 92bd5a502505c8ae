/* pkg-shim [FD] [--port N] -- COMMAND [ARG...]
 *
 * Opens the sandbox's listener, hands it out over the socket FD, and becomes COMMAND: environment,
 * signals, descriptors (but FD) and exit status are COMMAND's own. Without FD it only becomes
 * COMMAND. 125: the listener could not be handed out, and COMMAND was not run. 126, 127: COMMAND
 * could not be executed, was not found (as env(1) has it). 2: usage. */
#include "egress/shim.h"

#include "egress/limits.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int
usage(void)
{
	dprintf(STDERR_FILENO, "usage: pkg-shim [FD] [--port N] -- COMMAND [ARG...]\n");
	return 2;
}

static int
parse_number(const char *text, int most)
{
	char *end = NULL;
	long value;

	if (text[0] < '0' || text[0] > '9')
		return -1;
	errno = 0;
	value = strtol(text, &end, 10);
	return errno || *end || value > most ? -1 : (int)value;
}

int
main(int argc, char **argv)
{
	int fd = -1, port = EGRESS_PORT, i = 1;
	const char *step = "";

	for (; i < argc && strcmp(argv[i], "--") != 0; i++) {
		int *value = &fd;

		if (strcmp(argv[i], "--port") == 0) {
			value = &port;
			i++;
		}
		*value = i < argc ? parse_number(argv[i], value == &port ? 65535 : 1 << 20) : -1;
		if (*value < (value == &port ? 1 : 0))
			return usage();
	}
	if (i + 1 >= argc)
		return usage();
	if (fd >= 0 && egress_shim_hand_out(&fd, port, &step) < 0) {
		dprintf(STDERR_FILENO, "pkg-shim: cannot %s: %s\n", step, strerror(errno));
		return 125;
	}
	execvp(argv[i + 1], argv + i + 1);
	dprintf(STDERR_FILENO, "pkg-shim: cannot execute %s: %s\n", argv[i + 1], strerror(errno));
	return errno == ENOENT ? 127 : 126;
}
