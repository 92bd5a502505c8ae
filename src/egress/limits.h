/* egress/limits.h - every number of the proxy, with its reason and what happens at it.
 * Purpose    One table: name in the rules file, default, least, most. "limits" of the rules file
 *            may override any of them (tests do); a value out of range is an error, not a clamp.
 *            HTTP status codes of the proxy, all of them:
 *              400 the request breaks RFC 9112            403 no rule allows it or its address
 *              408 no complete head in time               413 the sandbox has used up its bytes
 *              431 the head is too long                   501 a transfer coding other than chunked
 *              502 resolved or dialled without success    503 too many connections at once
 *              504 resolving and dialling took too long   505 neither HTTP/1.0 nor 1.1
 *            There is no 407: the listener lives in the sandbox's own network namespace, where
 *            nobody but the sandbox can connect to it, so being able to connect is the
 *            authorisation.
 * Ownership  Plain record.
 * Errors     PKG_E_INVALID naming the limit.
 */
#ifndef EGRESS_LIMITS_H
#define EGRESS_LIMITS_H
#include "core/error.h"
#include "core/json.h"
#include <stdint.h>

#define EGRESS_LIMITS(X)                                                                           \
	/* X(name, default, least, most) */                                                        \
	/* 431. Servers stop at 8 to 16 KiB; 64 leaves room for any cookie. */                     \
	X(head_bytes, 65536, 256, 1048576)                                                         \
	/* 431. 64 KiB could hold 16,000 fields, each checked against the others. */               \
	X(head_fields, 256, 8, 4096)                                                               \
	/* 408. A head is one packet on loopback; ten seconds are for a machine in swap. */        \
	X(head_ms, 10000, 50, 600000)                                                              \
	/* Closed. The ClientHello follows the 200 at once, as the head did. */                    \
	X(hello_ms, 10000, 50, 600000)                                                             \
	/* Closed. A hello with post-quantum shares has 2 KiB; 64 bounds padding and records. */   \
	X(hello_bytes, 65536, 512, 1048576)                                                        \
	/* 504. Resolving and all attempts together; longer than three SYNs take (7 s). */         \
	X(dial_ms, 30000, 50, 600000)                                                              \
	/* RFC 8305 section 5: its recommended pause before the next address is tried too. */      \
	X(attempt_ms, 250, 10, 10000)                                                              \
	/* Closed; 504 when no response came. No byte either way; kernels hold long polls. */      \
	X(idle_ms, 600000, 50, 86400000)                                                           \
	/* Closed. A kept connection without a request; servers allow 5 to 75 s. */                \
	X(keep_ms, 60000, 50, 86400000)                                                            \
	/* Closed. A refused client gets this long to read why before it is cut off. */            \
	X(linger_ms, 2000, 10, 60000)                                                              \
	/* What is read and dropped meanwhile, so that no RST overtakes the answer. */             \
	X(linger_bytes, 1048576, 0, 1073741824)                                                    \
	/* 503. pip opens 1, npm 15, a browser 256; each costs two descriptors. */                 \
	X(connections, 1024, 1, 65536)                                                             \
	/* 413, closed. A day of a 10 Mbit/s leak; installs of whole GPU stacks need 10 GiB. */    \
	X(total_bytes, 107374182400, 1, INT64_MAX)                                                 \
	/* Below it read and write (cheap for small flows), above it splice: as measured. */       \
	X(splice_after, 262144, 0, INT64_MAX)                                                      \
	/* Pipes of 256 KiB in use at once; flows beyond that copy. 16 MiB is the kernel's */      \
	/* soft allowance of pipe memory per user, shared with all else the user runs. */          \
	X(pipes, 32, 0, 1024)                                                                      \
	/* Rows of the audit file; then one row counts the rest. 100,000 are about 30 MB. */       \
	X(audit_rows, 100000, 1, 100000000)

struct egress_limits {
#define EGRESS_LIMIT_FIELD(name, value, least, most) int64_t name;
	EGRESS_LIMITS(EGRESS_LIMIT_FIELD)
#undef EGRESS_LIMIT_FIELD
};

/* Fixed, because nothing outside has a reason to change them. */
enum {
	EGRESS_PORT = 3128, /* in the namespace; private to it, so always free */
	EGRESS_BACKLOG = 1024, /* connections wait here while the proxy is still starting */
	EGRESS_COPY_BYTES = 32768, /* read at once; also the most that is kept for a slow reader */
	EGRESS_PIPE_BYTES = 262144, /* capacity asked for; the kernel default is a quarter of it */
	EGRESS_ADDRESSES = 16, /* of one name; more are ignored after having been checked */
	EGRESS_RESOLVERS = 8, /* threads, started when needed; getaddrinfo() blocks */
	EGRESS_RULES_BYTES = 1048576, /* the rules file */
	EGRESS_RESPONSE_HEAD_BYTES = 262144, /* 502; servers send more than clients do */
};

void egress_limits_default(struct egress_limits *limits);
/* Overrides from an object; on failure *limits is as before. */
int egress_limits_set_json(
	struct egress_limits *limits, struct json_object *object, struct pkg_error *err);
#endif
