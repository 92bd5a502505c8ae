#include "egress/log.h"

#include "core/buf.h"
#include "core/time.h"

#include <unistd.h>

#define LINE_MAX_BYTES 4096

void
egress_log_error(const struct pkg_error *err, const char *sentence)
{
	pkg_cleanup_buf struct pkg_buf line = { 0 };
	char when[PKG_TIME_TEXT];

	pkg_time_format(pkg_time_now_ms(), when);
	pkg_buf_addf(&line, "%s error pkg-proxy: %s: %s kind=%s", when, sentence,
		err->message ? err->message : "", pkg_error_kind_name(err->kind));
	if (err->cure)
		pkg_buf_addf(&line, " cure=%s", err->cure);
	pkg_buf_truncate(&line, LINE_MAX_BYTES);
	for (size_t i = 0; i < line.len; i++)
		if ((unsigned char)line.data[i] < 0x20 || line.data[i] == 0x7f)
			line.data[i] = ' ';
	pkg_buf_add_char(&line, '\n');
	(void)!write(STDERR_FILENO, line.data, line.len);
}
