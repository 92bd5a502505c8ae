/* entry_points.txt: accepted names stay in their directory, accepted targets are identifiers. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lang/entry_points.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_identifier(const char *text)
{
	static const char allowed[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.";

	if (text[0] == '\0' || text[strspn(text, allowed)] != '\0')
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	lang_cleanup_entry_points struct lang_entry_points list = { 0 };

	if (lang_entry_points_parse((const char *)data, size, &list, NULL) < 0)
		return 0;
	for (size_t i = 0; i < list.count; i++) {
		const char *name = list.items[i].name;

		if (name[0] == '\0' || name[0] == '.' || name[0] == '-' ||
			strpbrk(name, "/\\ \n\r\t"))
			abort();
		check_identifier(list.items[i].module);
		check_identifier(list.items[i].attr);
	}
	return 0;
}
