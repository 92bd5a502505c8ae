#include "core/identity.h"
#include "core/file.h"
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	STAT_MAX = 4096,
	FIELD_STATE = 3, /* as proc(5) counts them */
	FIELD_START = 22,
};

static int
parse_u64(const char *text, size_t len, uint64_t *out)
{
	uint64_t value = 0;

	if (len == 0)
		return -1;
	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return -1;
		if (__builtin_mul_overflow(value, 10, &value) ||
			__builtin_add_overflow(value, (uint64_t)(text[i] - '0'), &value))
			return -1;
	}
	*out = value;
	return 0;
}

int
pkg_identity_parse_stat(const char *text, size_t len, char *state, uint64_t *start)
{
	/* The process chose field 2 and may have put blanks and parentheses into it: only what
	 * follows the last ')' can be trusted to be the kernel's. */
	const char *at = memrchr(text, ')', len);
	const char *end = text + len;
	char found = '\0';

	if (!at || at + 2 >= end || at[1] != ' ')
		return -1;
	at += 2;
	for (int field = FIELD_STATE;; field++) {
		const char *blank = memchr(at, ' ', (size_t)(end - at));
		const char *stop = blank ? blank : end;
		size_t width = (size_t)(stop - at);

		if (field == FIELD_STATE) {
			if (width != 1 || !isalpha((unsigned char)*at))
				return -1;
			found = *at;
		} else if (field == FIELD_START) {
			while (width > 0 && at[width - 1] == '\n')
				width--;
			if (parse_u64(at, width, start) < 0)
				return -1;
			*state = found;
			return 0;
		}
		if (!blank)
			return -1;
		at = blank + 1;
	}
}

static int
read_boot_id(char out[PKG_BOOT_ID], struct pkg_error *err)
{
	static const char path[] = "/proc/sys/kernel/random/boot_id";
	pkg_cleanup_buf struct pkg_buf text = { 0 };

	if (pkg_file_read(path, 256, &text, err) < 0)
		return -1;
	if (text.len < PKG_BOOT_ID - 1 || text.data[PKG_BOOT_ID - 1] != '\n')
		return pkg_error_set(err, PKG_E_IO, "'%s' holds no boot id", path);
	memcpy(out, text.data, PKG_BOOT_ID - 1);
	out[PKG_BOOT_ID - 1] = '\0';
	return 0;
}

int
pkg_identity_of(pid_t pid, struct pkg_identity *out, struct pkg_error *err)
{
	pkg_cleanup_error struct pkg_error cause = { 0 };
	pkg_cleanup_buf struct pkg_buf text = { 0 };
	struct pkg_identity found = { .pid = pid };
	char path[64];
	char state;

	if (pid <= 0)
		return pkg_error_set(
			err, PKG_E_NOT_FOUND, "no process has the number %d", (int)pid);
	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (pkg_file_read(path, STAT_MAX, &text, &cause) < 0) {
		/* ESRCH: it went between open and read. */
		if (cause.sys == ENOENT || cause.sys == ESRCH)
			return pkg_error_set(
				err, PKG_E_NOT_FOUND, "no process has the number %d", (int)pid);
		pkg_error_move(err, &cause);
		return -1;
	}
	if (pkg_identity_parse_stat(pkg_buf_str(&text), text.len, &state, &found.start) < 0)
		return pkg_error_set(err, PKG_E_IO, "'%s' has an unknown form", path);
	if (state == 'Z' || state == 'X' || state == 'x')
		return pkg_error_set(err, PKG_E_NOT_FOUND, "process %d has ended", (int)pid);
	if (read_boot_id(found.boot, err) < 0)
		return -1;
	*out = found;
	return 0;
}

bool
pkg_identity_alive(const struct pkg_identity *identity)
{
	pkg_cleanup_error struct pkg_error cause = { 0 };
	struct pkg_identity now = { 0 };

	/* Not being able to look (no descriptors left, say) is not proof of death. */
	if (pkg_identity_of(identity->pid, &now, &cause) < 0)
		return cause.kind != PKG_E_NOT_FOUND;
	return now.start == identity->start && strcmp(now.boot, identity->boot) == 0;
}
