/* egress/hello.h - which server a TLS client is about to speak to.
 * Purpose    Reads the server name out of a ClientHello (RFC 8446, RFC 6066), which may come in any
 *            number of records and pieces. Nothing is decrypted or changed.
 * Ownership  Plain record in caller's storage; touches no byte outside data.
 * Errors     None; the result says what the bytes are.
 */
#ifndef EGRESS_HELLO_H
#define EGRESS_HELLO_H
#include <stdbool.h>
#include <stddef.h>

enum egress_hello_result {
	EGRESS_HELLO_MORE, /* so far it may become a ClientHello */
	EGRESS_HELLO_OK,
	EGRESS_HELLO_NOT_TLS,
	EGRESS_HELLO_BAD, /* begins as TLS, but no server would accept it, or two would differ */
};

struct egress_hello {
	char name[256]; /* lower case; "" when there is none */
	bool ech; /* encrypted name (or a pretence of one): the visible one proves nothing */
};

/* data is everything from the start of the connection. */
enum egress_hello_result egress_hello_read(
	const unsigned char *data, size_t len, struct egress_hello *out);
#endif
