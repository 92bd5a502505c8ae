#include "policy/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <stdlib.h>
#include <string.h>

/* First match wins, so the narrow rows stand before the wide ones that hold them. */
static const struct range {
	const char *network;
	unsigned prefix;
	enum policy_address_class class;
} ranges[] = {
	{ "169.254.169.254", 32, POLICY_ADDRESS_METADATA },
	{ "100.100.100.200", 32, POLICY_ADDRESS_METADATA }, /* the same service of another cloud */
	{ "192.0.0.192", 32, POLICY_ADDRESS_METADATA }, /* and of a third */
	{ "0.0.0.0", 8, POLICY_ADDRESS_UNSPECIFIED }, /* 0.x.y.z connects to this host on Linux */
	{ "127.0.0.0", 8, POLICY_ADDRESS_LOOPBACK },
	{ "169.254.0.0", 16, POLICY_ADDRESS_LINK_LOCAL }, { "10.0.0.0", 8, POLICY_ADDRESS_PRIVATE },
	{ "172.16.0.0", 12, POLICY_ADDRESS_PRIVATE }, { "192.168.0.0", 16, POLICY_ADDRESS_PRIVATE },
	{ "100.64.0.0", 10, POLICY_ADDRESS_CGNAT }, { "192.0.0.0", 24, POLICY_ADDRESS_RESERVED },
	{ "224.0.0.0", 4, POLICY_ADDRESS_MULTICAST },
	{ "255.255.255.255", 32, POLICY_ADDRESS_BROADCAST },
	{ "240.0.0.0", 4, POLICY_ADDRESS_RESERVED }, { "::", 128, POLICY_ADDRESS_UNSPECIFIED },
	{ "::1", 128, POLICY_ADDRESS_LOOPBACK }, { "fd00:ec2::254", 128, POLICY_ADDRESS_METADATA },
	{ "fe80::", 10, POLICY_ADDRESS_LINK_LOCAL },
	{ "fec0::", 10, POLICY_ADDRESS_PRIVATE }, /* site-local, deprecated but routed by some */
	{ "fc00::", 7, POLICY_ADDRESS_PRIVATE }, { "ff00::", 8, POLICY_ADDRESS_MULTICAST },
	{ "64:ff9b:1::", 48, POLICY_ADDRESS_PRIVATE }, /* NAT64 of the local network, RFC 8215 */
};

/* Where IPv4 addresses hide in IPv6 ones. A Teredo address holds two: its server, and the client's
 * own with every bit inverted. */
static const struct embedding {
	const char *network;
	unsigned prefix;
	unsigned offset;
	unsigned char mask;
} embeddings[] = {
	{ "::ffff:0:0", 96, 12, 0 }, /* mapped */
	{ "::ffff:0:0:0", 96, 12, 0 }, /* translated, RFC 2765 */
	{ "::", 96, 12, 0 }, /* compatible */
	{ "64:ff9b::", 96, 12, 0 }, /* NAT64, RFC 6052 */
	{ "2002::", 16, 2, 0 }, /* 6to4 */
	{ "2001::", 32, 4, 0 }, /* Teredo: server */
	{ "2001::", 32, 12, 0xff }, /* Teredo: client */
};

bool
policy_address_parse(const char *text, struct policy_address *out)
{
	static const unsigned char mapped[12] = { [10] = 0xff, [11] = 0xff };
	struct policy_address address = { 0 };

	if (inet_pton(AF_INET, text, address.bytes) == 1) {
		address.family = AF_INET;
	} else if (inet_pton(AF_INET6, text, address.bytes) == 1) {
		address.family = AF_INET6;
		if (memcmp(address.bytes, mapped, sizeof(mapped)) == 0) {
			address.family = AF_INET;
			memcpy(address.bytes, address.bytes + 12, 4);
			memset(address.bytes + 4, 0, 12);
		}
	} else {
		return false;
	}
	*out = address;
	return true;
}

void
policy_address_format(const struct policy_address *address, char out[POLICY_ADDRESS_TEXT])
{
	if (address->family == 0 ||
		!inet_ntop(address->family, address->bytes, out, POLICY_ADDRESS_TEXT))
		out[0] = '\0';
}

bool
policy_address_from_sockaddr(const struct sockaddr *sa, struct policy_address *out)
{
	char text[POLICY_ADDRESS_TEXT];
	const void *bytes;

	/* By way of text, so that a mapped address is unwrapped in one place only. */
	if (sa->sa_family == AF_INET)
		bytes = &((const struct sockaddr_in *)(const void *)sa)->sin_addr;
	else if (sa->sa_family == AF_INET6)
		bytes = &((const struct sockaddr_in6 *)(const void *)sa)->sin6_addr;
	else
		return false;
	return inet_ntop(sa->sa_family, bytes, text, sizeof(text)) &&
		policy_address_parse(text, out);
}

socklen_t
policy_address_to_sockaddr(
	const struct policy_address *address, int port, struct sockaddr_storage *out)
{
	memset(out, 0, sizeof(*out));
	if (address->family == AF_INET) {
		struct sockaddr_in *in = (struct sockaddr_in *)(void *)out;

		in->sin_family = AF_INET;
		in->sin_port = htons((uint16_t)port);
		memcpy(&in->sin_addr, address->bytes, 4);
		return sizeof(*in);
	}
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)(void *)out;

	in6->sin6_family = AF_INET6;
	in6->sin6_port = htons((uint16_t)port);
	memcpy(&in6->sin6_addr, address->bytes, 16);
	return sizeof(*in6);
}

bool
policy_address_equal(const struct policy_address *a, const struct policy_address *b)
{
	return a->family == b->family &&
		memcmp(a->bytes, b->bytes, a->family == AF_INET ? 4 : 16) == 0;
}

bool
policy_address_within(
	const struct policy_address *address, const struct policy_address *network, unsigned prefix)
{
	unsigned whole = prefix / 8, rest = prefix % 8;

	if (address->family != network->family)
		return false;
	if (memcmp(address->bytes, network->bytes, whole) != 0)
		return false;
	return rest == 0 || ((address->bytes[whole] ^ network->bytes[whole]) >> (8 - rest)) == 0;
}

/* Literal tables instead of policy_address_parse(): that one turns ::ffff:0:0 into an IPv4 address.
 * */
static bool
in_text_range(const struct policy_address *address, const char *network, unsigned prefix)
{
	struct policy_address base = { .family = address->family };

	return inet_pton(address->family, network, base.bytes) == 1 &&
		policy_address_within(address, &base, prefix);
}

static enum policy_address_class
class_of_plain(const struct policy_address *address)
{
	for (size_t i = 0; i < PKG_ARRAY_LEN(ranges); i++)
		if (in_text_range(address, ranges[i].network, ranges[i].prefix))
			return ranges[i].class;
	return POLICY_ADDRESS_PUBLIC;
}

static enum policy_address_class
class_of_embedded(const struct policy_address *address, unsigned offset, unsigned char mask)
{
	struct policy_address inner = { .family = AF_INET };

	for (unsigned i = 0; i < 4; i++)
		inner.bytes[i] = address->bytes[offset + i] ^ mask;
	return class_of_plain(&inner);
}

enum policy_address_class
policy_address_class(const struct policy_address *address)
{
	static const unsigned char isatap[3] = { 0x00, 0x5e, 0xfe };
	enum policy_address_class class = class_of_plain(address);

	if (address->family != AF_INET6)
		return class;
	for (size_t i = 0; i < PKG_ARRAY_LEN(embeddings) && class == POLICY_ADDRESS_PUBLIC; i++)
		if (in_text_range(address, embeddings[i].network, embeddings[i].prefix))
			class = class_of_embedded(
				address, embeddings[i].offset, embeddings[i].mask);
	/* ISATAP (RFC 5214) is an interface identifier, so any prefix may carry it. */
	if (class == POLICY_ADDRESS_PUBLIC && (address->bytes[8] & 0xfd) == 0 &&
		memcmp(address->bytes + 9, isatap, sizeof(isatap)) == 0)
		class = class_of_embedded(address, 12, 0);
	return class;
}

const char *policy_address_class_name(enum policy_address_class class)
{
	switch (class) {
	case POLICY_ADDRESS_PUBLIC:
		return "public";
	case POLICY_ADDRESS_UNSPECIFIED:
		return "unspecified";
	case POLICY_ADDRESS_LOOPBACK:
		return "loopback";
	case POLICY_ADDRESS_LINK_LOCAL:
		return "link-local";
	case POLICY_ADDRESS_METADATA:
		return "cloud metadata service";
	case POLICY_ADDRESS_PRIVATE:
		return "private network";
	case POLICY_ADDRESS_CGNAT:
		return "carrier-grade NAT";
	case POLICY_ADDRESS_MULTICAST:
		return "multicast";
	case POLICY_ADDRESS_BROADCAST:
		return "broadcast";
	case POLICY_ADDRESS_RESERVED:
		return "reserved";
	case POLICY_ADDRESS_OWN:
		return "this machine's own";
	}
	return "unknown";
}

int
policy_own_addresses_read(struct policy_own_addresses *out, struct pkg_error *err)
{
	struct ifaddrs *list = NULL;
	size_t count = 0;

	if (getifaddrs(&list) < 0)
		return pkg_error_errno(err, errno, "list the addresses of this machine");
	for (struct ifaddrs *i = list; i; i = i->ifa_next)
		count++;
	out->items = pkg_xcalloc(count ? count : 1, sizeof(*out->items));
	out->count = 0;
	for (struct ifaddrs *i = list; i; i = i->ifa_next)
		if (i->ifa_addr &&
			policy_address_from_sockaddr(i->ifa_addr, &out->items[out->count]))
			out->count++;
	freeifaddrs(list);
	return 0;
}

void
policy_own_addresses_clear(struct policy_own_addresses *own)
{
	free(own->items);
	own->items = NULL;
	own->count = 0;
}

bool
policy_own_addresses_has(
	const struct policy_own_addresses *own, const struct policy_address *address)
{
	for (size_t i = 0; i < own->count; i++)
		if (policy_address_equal(&own->items[i], address))
			return true;
	return false;
}
