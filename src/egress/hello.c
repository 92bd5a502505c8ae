#include "egress/hello.h"

#include "core/mem.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

#define RECORD_MAX 16384 /* RFC 8446 section 5.1 */
#define HELLO_MAX 16384 /* far above any real one; also the size of the buffer below */

/* A cursor over bytes that may not be read past their end. */
struct in {
	const unsigned char *data;
	size_t len;
};

static bool
take_number(struct in *in, unsigned bytes, size_t *out)
{
	if (in->len < bytes)
		return false;
	*out = 0;
	for (unsigned i = 0; i < bytes; i++)
		*out = *out << 8 | in->data[i];
	in->data += bytes;
	in->len -= bytes;
	return true;
}

static bool
take_bytes(struct in *in, size_t len, struct in *out)
{
	if (in->len < len)
		return false;
	*out = (struct in){ in->data, len };
	in->data += len;
	in->len -= len;
	return true;
}

/* A vector with its length in front. */
static bool
take_vector(struct in *in, unsigned length_bytes, struct in *out)
{
	size_t len;

	return take_number(in, length_bytes, &len) && take_bytes(in, len, out);
}

/* ServerNameList: exactly one name, of the only type there is. Others would be read differently by
 * different servers. */
static bool
read_server_name(struct in extension, struct egress_hello *out)
{
	struct in list, name;
	size_t type;

	if (!take_vector(&extension, 2, &list) || extension.len || !take_number(&list, 1, &type) ||
		type != 0 || !take_vector(&list, 2, &name) || list.len)
		return false;
	if (name.len == 0 || name.len >= sizeof(out->name))
		return false;
	for (size_t i = 0; i < name.len; i++) {
		if (name.data[i] <= ' ' || name.data[i] >= 0x7f)
			return false;
		out->name[i] = (char)tolower(name.data[i]);
	}
	out->name[name.len] = '\0';
	/* Not allowed by RFC 6066, but some clients send it and servers drop it, as we do for
	 * CONNECT. */
	if (name.len > 1 && out->name[name.len - 1] == '.')
		out->name[name.len - 1] = '\0';
	return true;
}

static bool
is_ech(size_t type)
{
	/* RFC 9849, its drafts, and the older encrypted SNI. */
	return type == 0xfe0d || (type >= 0xfe08 && type <= 0xfe0c) || type == 0xffce;
}

static enum egress_hello_result
read_hello(struct in body, struct egress_hello *out)
{
	struct in skipped, extensions, extension;
	size_t version, type;
	bool named = false;

	if (!take_number(&body, 2, &version) || version >> 8 != 3 ||
		!take_bytes(&body, 32, &skipped) || /* random */
		!take_vector(&body, 1, &skipped) || skipped.len > 32 || /* session id */
		!take_vector(&body, 2, &skipped) || skipped.len < 2 || /* cipher suites */
		!take_vector(&body, 1, &skipped) || skipped.len < 1) /* compression methods */
		return EGRESS_HELLO_BAD;
	if (body.len == 0)
		return EGRESS_HELLO_OK;
	if (!take_vector(&body, 2, &extensions) || body.len)
		return EGRESS_HELLO_BAD;
	while (extensions.len) {
		if (!take_number(&extensions, 2, &type) || !take_vector(&extensions, 2, &extension))
			return EGRESS_HELLO_BAD;
		if (is_ech(type))
			out->ech = true;
		if (type != 0)
			continue;
		if (named || !read_server_name(extension, out))
			return EGRESS_HELLO_BAD;
		named = true;
	}
	return EGRESS_HELLO_OK;
}

enum egress_hello_result
egress_hello_read(const unsigned char *data, size_t len, struct egress_hello *out)
{
	unsigned char message[4 + HELLO_MAX];
	size_t have = 0, need = 4;
	struct in in = { data, len };

	memset(out, 0, sizeof(*out));
	while (have < need) {
		size_t type, version, record;

		/* Judged byte by byte, so that a client that speaks first in another protocol is
		 * told at once and not after a timeout. */
		if (in.len > 0 && in.data[0] != 22)
			return have ? EGRESS_HELLO_BAD : EGRESS_HELLO_NOT_TLS;
		if (in.len > 1 && in.data[1] != 3)
			return have ? EGRESS_HELLO_BAD : EGRESS_HELLO_NOT_TLS;
		if (!take_number(&in, 1, &type) || !take_number(&in, 2, &version) ||
			!take_number(&in, 2, &record))
			return EGRESS_HELLO_MORE;
		if (record == 0 || record > RECORD_MAX)
			return EGRESS_HELLO_BAD;
		if (record > in.len)
			record = in.len;
		if (record > sizeof(message) - have)
			record = sizeof(message) - have;
		memcpy(message + have, in.data, record);
		in.data += record;
		in.len -= record;
		have += record;
		if (have > 0 && message[0] != 1)
			return EGRESS_HELLO_BAD;
		if (have >= 4)
			need = 4 +
				((size_t)message[1] << 16 | (size_t)message[2] << 8 | message[3]);
		if (need > sizeof(message))
			return EGRESS_HELLO_BAD;
		if (in.len == 0 && have < need)
			return EGRESS_HELLO_MORE;
	}
	return read_hello((struct in){ message + 4, need - 4 }, out);
}
