/* policy/address.h - what kind of network an IP address belongs to.
 * Purpose    The guard against DNS rebinding: a name that was allowed must not lead to this
 *            machine, to the network it stands in or to a cloud's metadata service. IPv4 addresses
 *            that travel inside IPv6 ones (mapped, compatible, 6to4, NAT64, Teredo, ISATAP) are
 *            unwrapped first.
 * Ownership  Plain records in caller's storage; struct policy_own_addresses owns its list.
 * Errors     None for the pure functions; pkg_error_errno() when interfaces cannot be listed.
 */
#ifndef POLICY_ADDRESS_H
#define POLICY_ADDRESS_H
#include "core/error.h"
#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>

#define POLICY_ADDRESS_TEXT 47 /* INET6_ADDRSTRLEN and NUL */

struct policy_address {
	int family; /* AF_INET, AF_INET6, or 0 for none */
	unsigned char bytes[16]; /* network order; the first four for AF_INET */
};

enum policy_address_class {
	POLICY_ADDRESS_PUBLIC, /* the only class that a name may lead to without a rule for it */
	POLICY_ADDRESS_UNSPECIFIED,
	POLICY_ADDRESS_LOOPBACK,
	POLICY_ADDRESS_LINK_LOCAL,
	POLICY_ADDRESS_METADATA,
	POLICY_ADDRESS_PRIVATE,
	POLICY_ADDRESS_CGNAT,
	POLICY_ADDRESS_MULTICAST,
	POLICY_ADDRESS_BROADCAST,
	POLICY_ADDRESS_RESERVED,
	POLICY_ADDRESS_OWN, /* never from policy_address_class() alone */
};

/* Numeric text only, no brackets, no zone; false for anything else. A mapped IPv4 address becomes
 * the IPv4 address that connect() would use. */
bool policy_address_parse(const char *text, struct policy_address *out);
void policy_address_format(const struct policy_address *address, char out[POLICY_ADDRESS_TEXT]);
bool policy_address_from_sockaddr(const struct sockaddr *sa, struct policy_address *out);
socklen_t policy_address_to_sockaddr(
	const struct policy_address *address, int port, struct sockaddr_storage *out);
bool policy_address_equal(const struct policy_address *a, const struct policy_address *b);
/* Both of one family and the first `prefix` bits the same. */
bool policy_address_within(const struct policy_address *address,
	const struct policy_address *network, unsigned prefix);
enum policy_address_class policy_address_class(const struct policy_address *address);
/* "loopback", "private network" ...: what a refusal says. Borrowed. */
const char *policy_address_class_name(enum policy_address_class class);

struct policy_own_addresses {
	struct policy_address *items; /* owned */
	size_t count;
};
int policy_own_addresses_read(struct policy_own_addresses *out, struct pkg_error *err);
void policy_own_addresses_clear(struct policy_own_addresses *own);
bool policy_own_addresses_has(
	const struct policy_own_addresses *own, const struct policy_address *address);
#endif
