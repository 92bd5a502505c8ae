/* Heads of requests and responses: found in any two pieces alike, and what is taken apart is put
 * together again as a head that is itself taken, with the same authority. */
#include "egress/head.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_request(const char *head, size_t len)
{
	struct egress_request first = { 0 }, second = { 0 };
	pkg_cleanup_buf struct pkg_buf out = { 0 };

	if (egress_request_parse(head, len, 256, &first, NULL) < 0) {
		if (first.status < 400 || first.status > 505)
			abort();
	} else {
		/* For another proxy, as that keeps the authority in the request line. */
		egress_request_write(&first, true, NULL, &out);
		if (egress_request_parse(out.data, out.len, 300, &second, NULL) < 0 ||
			strcmp(first.host.name, second.host.name) != 0 ||
			first.port != second.port || first.body != second.body ||
			first.length != second.length)
			abort();
	}
	egress_request_clear(&first);
	egress_request_clear(&second);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct egress_scanner whole = { 0 }, pieces = { 0 };
	struct egress_response response = { 0 };
	size_t cut = size ? data[0] % size : 0;
	const char *text = (const char *)data + (size > 0);
	size_t len = size - (size > 0);
	enum egress_scan scan = egress_scan(&whole, text, len);
	enum egress_scan again = egress_scan(&pieces, text, cut < len ? cut : len);

	if (again == EGRESS_SCAN_MORE)
		again = egress_scan(&pieces, text, len);
	if (scan != again || whole.seen != pieces.seen)
		abort();
	if (scan != EGRESS_SCAN_DONE)
		return 0;
	check_request(text, whole.seen);
	(void)egress_response_parse(text, whole.seen, 256, false, &response, NULL);
	egress_response_clear(&response);
	return 0;
}
