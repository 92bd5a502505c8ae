/* ClientHellos: a verdict that is reached stays what it is whatever follows, and the name is a
 * clean one. */
#include "core/mem.h"
#include "egress/hello.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct egress_hello whole, part;
	enum egress_hello_result expected = egress_hello_read(data, size, &whole);

	if (expected == EGRESS_HELLO_OK) {
		for (const char *p = whole.name; *p; p++)
			if (*p <= ' ' || *p >= 0x7f || (*p >= 'A' && *p <= 'Z'))
				abort();
	}
	for (size_t cut = size / 8 + 1, len = 0; len < size; len += cut) {
		/* An exact allocation, so that a sanitizer sees a read past the end. */
		pkg_autofree uint8_t *copy = pkg_xmemdup(data, len ? len : 1);
		enum egress_hello_result result = egress_hello_read(copy, len, &part);

		if (result != EGRESS_HELLO_MORE && result != expected)
			abort();
		if (result == EGRESS_HELLO_OK && strcmp(part.name, whole.name) != 0)
			abort();
	}
	return 0;
}
