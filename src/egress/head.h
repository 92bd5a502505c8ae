/* egress/head.h - heads of HTTP/1 requests and responses, as strictly as RFC 9112 allows.
 * Purpose    Find the end of a head in bytes that arrive in any pieces, take a request apart
 *            (CONNECT in authority-form, everything else in absolute-form), and write the head that
 *            goes on. Whatever two parsers could read in two ways is refused: bare CR or LF, NUL,
 *            folded lines, blanks before a colon, Content-Length with Transfer-Encoding, repeated
 *            or odd lengths, and a Connection field that names one of the fields that decide the
 *            framing.
 * Ownership  The structs are caller's storage ({ 0 } first) and own their strings.
 * Errors     -1 with a message fit for the client and the HTTP status in out->status.
 */
#ifndef EGRESS_HEAD_H
#define EGRESS_HEAD_H
#include "core/buf.h"
#include "core/error.h"
#include "policy/hostrule.h"
#include <stdbool.h>
#include <stdint.h>

enum egress_scan { EGRESS_SCAN_MORE, EGRESS_SCAN_DONE, EGRESS_SCAN_BAD };

struct egress_scanner {
	size_t seen; /* bytes looked at so far; the head's length when done */
	size_t line; /* where the current line starts */
};
/* data is everything received so far; it may have moved, but not changed, since the last call. */
enum egress_scan egress_scan(struct egress_scanner *scanner, const char *data, size_t len);

enum egress_body { EGRESS_BODY_NONE, EGRESS_BODY_LENGTH, EGRESS_BODY_CHUNKED };

struct egress_request {
	int status; /* of a refusal */
	bool connect;
	int minor; /* HTTP/1.minor */
	char method[24];
	struct policy_host host;
	int port; /* 443 or 80 when none was given */
	enum egress_body body;
	int64_t length; /* of the body when EGRESS_BODY_LENGTH */
	bool persistent; /* the client would send another request on this connection */
	bool keep; /* set it before writing: the server shall keep its connection as well */
	char *target; /* origin-form; NULL for CONNECT */
	struct pkg_buf fields; /* the fields that go on, without Host and Connection */
};
/* head is complete, its empty line included (egress_scan() found it). */
int egress_request_parse(const char *head, size_t len, size_t max_fields,
	struct egress_request *out, struct pkg_error *err);
/* "host" or "host:port" when the port is not the default; IPv6 in brackets. */
void egress_request_authority(const struct egress_request *request, struct pkg_buf *out);
/* The head for the origin server, or, when absolute, for another proxy, with the value of
 * Proxy-Authorization unless NULL. */
void egress_request_write(const struct egress_request *request, bool absolute,
	const char *authorization, struct pkg_buf *out);
void egress_request_clear(struct egress_request *request);

struct egress_response {
	int status; /* as received; of a refusal: 502 */
	bool interim; /* 1xx: another head follows */
	bool persistent; /* the server keeps its connection */
	bool keep; /* set it before parsing: the client's connection is kept, if length is known */
	int64_t length; /* of the body that is to follow; -1: until the server closes, or chunked */
	struct pkg_buf
		head; /* what goes to the client: hop-by-hop fields gone, Connection: close unless
		       * keep is still set */
};
/* to_head: the request was HEAD, whose response has no body whatever it says. */
int egress_response_parse(const char *head, size_t len, size_t max_fields, bool to_head,
	struct egress_response *out, struct pkg_error *err);
void egress_response_clear(struct egress_response *response);
/* One field line (without its CRLF) of a head or a trailer. */
bool egress_field_valid(const char *line, size_t len);
#endif
