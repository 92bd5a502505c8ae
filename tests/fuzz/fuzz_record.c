/* RECORD: what parses is written in a form that parses to the same bytes. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lang/record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	lang_cleanup_record struct lang_record record = { 0 }, second = { 0 };
	pkg_cleanup_buf struct pkg_buf once = { 0 }, twice = { 0 };

	if (lang_record_parse((const char *)data, size, &record, NULL) < 0)
		return 0;
	lang_record_write(&record, &once);
	if (lang_record_parse(pkg_buf_str(&once), once.len, &second, NULL) < 0 ||
		second.count != record.count)
		abort();
	lang_record_write(&second, &twice);
	if (strcmp(pkg_buf_str(&once), pkg_buf_str(&twice)) != 0)
		abort();
	lang_record_sort(&record);
	return 0;
}
