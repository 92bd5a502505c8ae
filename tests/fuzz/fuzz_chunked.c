/* Chunked bodies: cut anywhere, the same bytes belong to the body, and never more than there are.
 * */
#include "egress/chunked.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct egress_chunked whole = { 0 }, pieces = { 0 };
	const char *text = (const char *)data + (size > 0);
	size_t len = size - (size > 0), step = size > 0 ? data[0] % 16 + 1 : 1;
	enum egress_chunked_result expected, result = EGRESS_CHUNKED_MORE;
	size_t used, total = 0;

	expected = egress_chunked_feed(&whole, text, len, &used);
	if (used > len || (expected == EGRESS_CHUNKED_MORE && used != len))
		abort();
	for (size_t at = 0; at < len && result == EGRESS_CHUNKED_MORE; at += step) {
		size_t part = 0, want = len - at < step ? len - at : step;

		result = egress_chunked_feed(&pieces, text + at, want, &part);
		total += part;
	}
	if (result != expected || total != used)
		abort();
	return 0;
}
