/* egress/chunked.h - where a chunked body ends (RFC 9112 section 7.1).
 * Purpose    Follows the framing of a body that is relayed as it is, so that not one byte after it
 *            reaches the server: that would be a second, unchecked request.
 * Ownership  Plain record, { 0 } to begin with.
 * Errors     EGRESS_CHUNKED_BAD: the bytes up to *used were fine.
 */
#ifndef EGRESS_CHUNKED_H
#define EGRESS_CHUNKED_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum egress_chunked_result { EGRESS_CHUNKED_MORE, EGRESS_CHUNKED_DONE, EGRESS_CHUNKED_BAD };

struct egress_chunked {
	int state;
	uint32_t line; /* bytes of the current size or trailer line */
	uint32_t trailers; /* bytes of all trailer lines */
	uint64_t left; /* of the current chunk */
};
/* *used: how many bytes belong to the body. */
enum egress_chunked_result egress_chunked_feed(
	struct egress_chunked *chunked, const char *data, size_t len, size_t *used);
#endif
