/* egress/resolve.h - names to addresses, off the loop.
 * Purpose    getaddrinfo() blocks, so a few threads (started when first needed) ask, and the loop
 *            gets the answer with each address already classified.
 * Ownership  A lookup belongs to the resolver; its owner may only cancel it, and must when it goes
 *            away before the answer came. The answer is borrowed for the call.
 * Errors     In the answer: error is 0 or an EAI_... code. Deadlines are the owner's business.
 */
#ifndef EGRESS_RESOLVE_H
#define EGRESS_RESOLVE_H
#include "egress/loop.h"
#include "policy/address.h"

struct egress_addresses {
	int error; /* EAI_..., or 0 */
	size_t count;
	struct egress_address {
		struct policy_address address;
		enum policy_address_class class;
	} * items; /* owned; in the order that getaddrinfo() prefers (RFC 6724) */
};

struct egress_resolver;
struct egress_resolver *egress_resolver_new(struct egress_loop *loop, struct pkg_error *err);
/* Threads that are still asking end on their own. */
void egress_resolver_free(struct egress_resolver *resolver);

struct egress_lookup;
typedef void egress_resolved_fn(void *owner, const struct egress_addresses *answer);
struct egress_lookup *egress_resolve(
	struct egress_resolver *resolver, const char *name, egress_resolved_fn *fn, void *owner);
/* fn will not be called. NULL is accepted. */
void egress_lookup_cancel(struct egress_lookup *lookup);
#endif
