#include "core/lock.h"
#include "core/time.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

enum { RETRY_MS = 10, PROBE_RETRIES = 16 };

static int
flock_retry(int fd, int operation)
{
	int result;

	do {
		result = flock(fd, operation);
	} while (result < 0 && errno == EINTR);
	return result;
}

/* One attempt. pkg_lock_is_held() in another process holds the lock in shared mode for a moment,
 * and that must not look like a holder: when a shared lock can be had, there is no holder, so ask
 * again. */
static int
try_once(int fd)
{
	for (int i = 0; i < PROBE_RETRIES; i++) {
		if (flock_retry(fd, LOCK_EX | LOCK_NB) == 0)
			return 0;
		if (errno != EWOULDBLOCK || flock_retry(fd, LOCK_SH | LOCK_NB) < 0)
			return -1;
		/* Converting a lock gives up the old one first, so two that do this cannot
		 * block each other for longer than one of these naps. */
		(void)flock_retry(fd, LOCK_UN);
		if (i > 0)
			pkg_sleep_ms(1);
	}
	errno = EWOULDBLOCK;
	return -1;
}

static int
take(int fd, int timeout_ms)
{
	int64_t end = pkg_time_mono_ms() + timeout_ms;

	if (timeout_ms < 0)
		return flock_retry(fd, LOCK_EX);
	for (;;) {
		int64_t left;

		if (try_once(fd) == 0)
			return 0;
		left = end - pkg_time_mono_ms();
		if (errno != EWOULDBLOCK || left <= 0)
			return -1;
		pkg_sleep_ms(left < RETRY_MS ? left : RETRY_MS);
	}
}

int
pkg_lock_take(const char *path, int timeout_ms, struct pkg_error *err)
{
	pkg_autofd int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return pkg_error_errno(err, errno, "open lock '%s'", path);
	if (take(fd, timeout_ms) < 0) {
		if (errno == EWOULDBLOCK)
			return pkg_error_set(
				err, PKG_E_BUSY, "'%s' is locked by another process", path);
		return pkg_error_errno(err, errno, "lock '%s'", path);
	}
	return pkg_steal_fd(&fd);
}

bool
pkg_lock_is_held(const char *path)
{
	pkg_autofd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	/* A file that cannot be looked at counts as held: nobody's work is taken away on a guess.
	 */
	if (fd < 0)
		return errno != ENOENT;
	return flock_retry(fd, LOCK_SH | LOCK_NB) < 0;
}
