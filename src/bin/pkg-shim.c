/* pkg-shim [FD] [--port N] -- COMMAND [ARG...]
 *
 * Opens the sandbox's listener, hands it out over the socket FD, and becomes COMMAND (a path: nothing is
 * searched for): environment, signals, descriptors (but FD) and exit status are COMMAND's own. Without FD it
 * only becomes COMMAND. 125: the listener could not be handed out, and COMMAND was not run. 126, 127: COMMAND
 * could not be executed, was not found (as env(1) has it). 2: usage. */
#include "egress/shim.h"

#include "bin/say.h"
#include "egress/limits.h"

static int
usage(void)
{
	say("usage: pkg-shim [FD] [--port N] -- COMMAND [ARG...]\n");
	return 2;
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
		*value = i < argc ? read_number(argv[i], value == &port ? 65535 : 1 << 20) : -1;
		if (*value < (value == &port ? 1 : 0))
			return usage();
	}
	if (i + 1 >= argc)
		return usage();
	if (fd >= 0 && egress_shim_hand_out(&fd, port, &step) < 0) {
		say_error("pkg-shim", "cannot ", step, errno);
		return 125;
	}
	execv(argv[i + 1], argv + i + 1);
	say_error("pkg-shim", "cannot execute ", argv[i + 1], errno);
	return errno == ENOENT ? 127 : 126;
}
