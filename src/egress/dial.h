/* egress/dial.h - one connection out of several addresses (RFC 8305, "Happy Eyeballs").
 * Purpose    Addresses of the two families in turn, the next one when the last failed or after a
 *            short pause; the first to connect wins and the others are closed. Connects to the
 *            addresses given and to no others: names are not looked up again after they were
 *            checked.
 * Ownership  *slot holds the dial while it lasts and is NULL before fn runs, which may be before
 *            egress_dial_start() returns. The result's watch is borrowed for the call, and its
 *            descriptor is closed after it unless egress_watch_take() took it (non-blocking,
 *            TCP_NODELAY).
 * Errors     The result's error: the errno of the last attempt, watch is NULL then. Deadlines are
 *            the owner's business.
 */
#ifndef EGRESS_DIAL_H
#define EGRESS_DIAL_H
#include "egress/loop.h"
#include "policy/address.h"

struct egress_dial;
struct egress_dial_result {
	struct egress_watch *watch; /* borrowed; NULL when every address failed */
	int error;
	struct policy_address address; /* connected to, or tried last */
};
typedef void egress_dialled_fn(void *owner, const struct egress_dial_result *result);

void egress_dial_start(struct egress_loop *loop, const struct policy_address *addresses,
	size_t count, int port, int64_t attempt_ms, egress_dialled_fn *fn, void *owner,
	struct egress_dial **slot);
void egress_dial_cancel(struct egress_dial **slot);
#endif
