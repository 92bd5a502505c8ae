/* bin/say.h - the one line that pkg-shim or pkg-enter says before it gives up.
 * Purpose    Printed with write(2) alone, because these programs may be linked without a C library (bare.c).
 * Ownership  Borrows its arguments.
 * Errors     None: there is nowhere to tell them.
 */
#ifndef BIN_SAY_H
#define BIN_SAY_H
#include <errno.h>
#include <string.h>
#include <unistd.h>

static inline void
say(const char *text)
{
	(void)!write(STDERR_FILENO, text, strlen(text));
}

/* "PROGRAM: WHAT: WHY\n" for an errno; the usual ones in words. */
static inline void
say_error(const char *program, const char *what, const char *object, int error)
{
	static const struct {
		int error;
		const char *text;
	} words[] = { { ENOENT, "No such file or directory" }, { EACCES, "Permission denied" },
		{ EPERM, "Operation not permitted" }, { ENOEXEC, "Exec format error" },
		{ ENOTDIR, "Not a directory" }, { E2BIG, "Argument list too long" },
		{ EBADF, "Bad file descriptor" }, { EADDRINUSE, "Address already in use" },
		{ ENOMEM, "Cannot allocate memory" },
		{ ENOTSOCK, "Socket operation on non-socket" }, { EPIPE, "Broken pipe" },
		{ ENOTCONN, "Transport endpoint is not connected" } };
	char number[] = "error    0";
	const char *why = number;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (words[i].error == error)
			why = words[i].text;
	for (size_t at = sizeof(number) - 2; error > 0 && at > 5; at--, error /= 10)
		number[at] = (char)('0' + error % 10);
	say(program);
	say(": ");
	say(what);
	say(object);
	say(": ");
	say(why);
	say("\n");
}

/* A number without sign, at most most; -1 for anything else. */
static inline int
read_number(const char *text, int most)
{
	int value = 0;

	if (!*text)
		return -1;
	for (; *text; text++) {
		if (*text < '0' || *text > '9' || value > most / 10)
			return -1;
		value = value * 10 + (*text - '0');
	}
	return value > most ? -1 : value;
}
#endif
