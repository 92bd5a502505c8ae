/* pkg-enter [--join FD] [--terminal] -- COMMAND [ARG...]
 *
 * Does what only the process itself can do before it becomes COMMAND, and nothing else: enters the
 * cgroup whose cgroup.procs is open at FD; makes a process group of its own and gives it the
 * terminal, so that the keys that stop a command reach the command and not the sandbox around it.
 * 125: that could not be done, and COMMAND was not run. 126, 127: COMMAND
 * could not be executed, was not found. 2: usage. */
#include "bin/say.h"

#include <signal.h>
#include <unistd.h>

static int
join(const char *text)
{
	int fd = read_number(text, 1 << 20);

	if (fd < 0) {
		errno = EBADF;
		return -1;
	}
	return write(fd, "0", 1) == 1 ? close(fd) : -1;
}

/* A pipe in place of a terminal is no failure: then there is nothing to take. */
static int
take_terminal(void)
{
	void (*old)(int);
	int rc;

	if (setpgid(0, 0) < 0)
		return -1;
	if (!isatty(STDIN_FILENO))
		return 0;
	/* We are in the background until it is done. */
	old = signal(SIGTTOU, SIG_IGN);
	rc = tcsetpgrp(STDIN_FILENO, getpgrp());
	(void)signal(SIGTTOU, old);
	return rc < 0 && errno != ENOTTY ? -1 : 0;
}

int
main(int argc, char **argv)
{
	int i = 1;
	int rc = 0;

	for (; rc == 0 && i < argc && strcmp(argv[i], "--") != 0; i++) {
		if (strcmp(argv[i], "--terminal") == 0) {
			rc = take_terminal();
		} else if (strcmp(argv[i], "--join") == 0 && i + 1 < argc) {
			rc = join(argv[++i]);
		} else {
			i = argc;
			break;
		}
	}
	if (rc < 0) {
		say_error("pkg-enter", "", argv[i - 1], errno);
		return 125;
	}
	if (i + 1 >= argc) {
		say("usage: pkg-enter [--join FD] [--terminal] -- COMMAND [ARG...]\n");
		return 2;
	}
	execv(argv[i + 1], argv + i + 1);
	say_error("pkg-enter", "cannot execute ", argv[i + 1], errno);
	return errno == ENOENT ? 127 : 126;
}
