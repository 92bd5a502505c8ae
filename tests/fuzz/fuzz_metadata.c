/* METADATA and WHEEL: accepted values are single lines without control characters. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lang/metadata.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check(const char *text)
{
	for (; *text; text++)
		if (((unsigned char)*text < ' ' && *text != '\t') || *text == 0x7f)
			abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	lang_cleanup_metadata struct lang_metadata metadata = { 0 };
	lang_cleanup_wheel_info struct lang_wheel_info info = { 0 };

	if (lang_metadata_parse((const char *)data, size, &metadata, NULL) == 0) {
		check(metadata.name);
		check(metadata.version);
		for (size_t i = 0; i < metadata.requires_dist->count; i++)
			check(metadata.requires_dist->items[i]);
	}
	if (lang_wheel_info_parse((const char *)data, size, &info, NULL) == 0)
		check(info.wheel_version);
	return 0;
}
