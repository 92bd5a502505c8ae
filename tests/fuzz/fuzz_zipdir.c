/* Any bytes as a zip file: its directory, and what its members hold. */
#include "fetch/zipdir.h"

#include <string.h>

struct bytes {
	const uint8_t *data;
	size_t size;
};

static int
read_at(void *context, uint64_t offset, void *data, size_t len, struct pkg_error *err)
{
	const struct bytes *bytes = context;

	if (offset > bytes->size || len > bytes->size - offset)
		return pkg_error_set(err, PKG_E_ARCHIVE, "ends early");
	if (len > 0)
		memcpy(data, bytes->data + offset, len);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes bytes = { data, size };
	pkg_cleanup(fetch_zip_free) struct fetch_zip *zip =
		fetch_zip_open(read_at, &bytes, size, NULL);
	pkg_cleanup_buf struct pkg_buf out = { 0 };

	for (size_t i = 0; zip && i < zip->count && i < 16; i++) {
		if (fetch_zip_member(read_at, &bytes, &zip->entries[i], 1 << 16, &out, NULL) == 0 &&
			out.len != zip->entries[i].size)
			__builtin_trap();
	}
	return 0;
}
