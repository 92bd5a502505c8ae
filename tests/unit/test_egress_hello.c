#include "unit.h"

#include "core/buf.h"
#include "egress/hello.h"

#include <stdlib.h>
#include <string.h>

/* What OpenSSL 3.0 sends for pkg.example, byte for byte. */
static const char openssl[] =
	"1603010200010001fc030378df5a0512bdca48944418d612c3c3c2360c7967a65ff03c23ad370654"
	"2f2606208f5fcfcab6d166aff65a9477843ac42cd271d5da4b1105df109bba68ecc5aed7003e1302"
	"13031301c02cc030009fcca9cca8ccaac02bc02f009ec024c028006bc023c0270067c00ac0140039"
	"c009c0130033009d009c003d003c0035002f00ff0100017500000010000e00000b706b672e657861"
	"6d706c65000b000403000102000a00160014001d0017001e00190018010001010102010301040023"
	"00000016000000170000000d002a0028040305030603080708080809080a080b0804080508060401"
	"05010601030303010302040205020602002b0009080304030303020301002d000201010033002600"
	"24001d002067be952937871a82f427ac3ac75ce040313b6bd6e5cc9649dc19936af6356135001500"
	"c4";

static void
add_number(struct pkg_buf *out, unsigned bytes, size_t value)
{
	while (bytes-- > 0)
		pkg_buf_add_char(out, (char)(value >> (8 * bytes)));
}

static void
add_vector(struct pkg_buf *out, unsigned length_bytes, const struct pkg_buf *inner)
{
	add_number(out, length_bytes, inner->len);
	if (inner->len)
		pkg_buf_add_mem(out, inner->data, inner->len);
}

/* A server_name extension; name_len bytes of name. */
static void
add_name(struct pkg_buf *extensions, const char *name, size_t name_len)
{
	add_number(extensions, 2, 0);
	add_number(extensions, 2, name_len + 5);
	add_number(extensions, 2, name_len + 3);
	add_number(extensions, 1, 0);
	add_number(extensions, 2, name_len);
	pkg_buf_add_mem(extensions, name, name_len);
}

static void
add_extension(struct pkg_buf *extensions, unsigned type, const char *data, size_t len)
{
	add_number(extensions, 2, type);
	add_number(extensions, 2, len);
	pkg_buf_add_mem(extensions, data, len);
}

/* A handshake message in one record. extensions NULL: a hello from before there were any. */
static void
build(struct pkg_buf *out, const struct pkg_buf *extensions)
{
	static const char random[32] = { 1 };
	pkg_cleanup_buf struct pkg_buf body = { 0 };

	add_number(&body, 2, 0x0303);
	pkg_buf_add_mem(&body, random, sizeof(random));
	add_number(&body, 1, 0);
	pkg_buf_add_mem(&body, "\0\2\x13\1", 4);
	pkg_buf_add_mem(&body, "\1\0", 2);
	if (extensions)
		add_vector(&body, 2, extensions);
	pkg_buf_add_mem(out, "\x16\3\1", 3);
	add_number(out, 2, body.len + 4);
	add_number(out, 1, 1);
	add_vector(out, 3, &body);
}

static void
split(const struct pkg_buf *in, size_t size, struct pkg_buf *out)
{
	for (size_t at = 5; at < in->len; at += size) {
		size_t len = in->len - at < size ? in->len - at : size;

		pkg_buf_add_mem(out, "\x16\3\3", 3);
		add_number(out, 2, len);
		pkg_buf_add_mem(out, in->data + at, len);
	}
}

static enum egress_hello_result
read_buf(const struct pkg_buf *buf, struct egress_hello *hello)
{
	/* An exact allocation, so that a sanitizer sees a read past the end. */
	pkg_autofree char *copy = pkg_xmemdup(buf->data, buf->len);

	return egress_hello_read((const unsigned char *)copy, buf->len, hello);
}

/* All of it is OK with that name; every shorter beginning wants more. */
static void
check_whole(const struct pkg_buf *buf, const char *name, bool ech)
{
	struct egress_hello hello;

	for (size_t len = 0; len < buf->len; len++) {
		pkg_autofree char *copy = pkg_xmemdup(buf->data, len ? len : 1);

		assert_int_equal(egress_hello_read((const unsigned char *)copy, len, &hello),
			EGRESS_HELLO_MORE);
	}
	assert_int_equal(read_buf(buf, &hello), EGRESS_HELLO_OK);
	assert_string_equal(hello.name, name);
	assert_int_equal(hello.ech, ech);
}

static void
a_hello_of_openssl_is_read_in_any_pieces_and_records(PKG_UNUSED void **state)
{
	pkg_cleanup_buf struct pkg_buf hello = { 0 };

	for (size_t i = 0; i < sizeof(openssl) - 1; i += 2) {
		char digits[3] = { openssl[i], openssl[i + 1], '\0' };

		pkg_buf_add_char(&hello, (char)strtoul(digits, NULL, 16));
	}
	while (hello.len < 517)
		pkg_buf_add_char(&hello, '\0'); /* the padding extension */
	check_whole(&hello, "pkg.example", false);
	for (size_t size = 1; size < 40; size += 6) {
		pkg_cleanup_buf struct pkg_buf pieces = { 0 };

		split(&hello, size, &pieces);
		check_whole(&pieces, "pkg.example", false);
	}
}

static void
names_are_folded_and_their_trailing_dot_is_dropped(PKG_UNUSED void **state)
{
	pkg_cleanup_buf struct pkg_buf extensions = { 0 };
	pkg_cleanup_buf struct pkg_buf hello = { 0 };

	add_extension(&extensions, 10, "xx", 2);
	add_name(&extensions, "Pkg.EXAMPLE.", 12);
	build(&hello, &extensions);
	check_whole(&hello, "pkg.example", false);
}

static void
a_hello_without_a_name_has_none(PKG_UNUSED void **state)
{
	pkg_cleanup_buf struct pkg_buf extensions = { 0 };
	pkg_cleanup_buf struct pkg_buf hello = { 0 };

	build(&hello, NULL);
	check_whole(&hello, "", false);
	pkg_buf_clear(&hello);
	build(&hello, &extensions);
	check_whole(&hello, "", false);
}

static void
an_encrypted_name_is_noticed_beside_a_visible_one(PKG_UNUSED void **state)
{
	static const unsigned types[] = { 0xfe0d, 0xfe0a, 0xffce };

	for (size_t i = 0; i < PKG_ARRAY_LEN(types); i++) {
		pkg_cleanup_buf struct pkg_buf extensions = { 0 };
		pkg_cleanup_buf struct pkg_buf hello = { 0 };

		add_name(&extensions, "front.example", 13);
		add_extension(&extensions, types[i], "secret", 6);
		build(&hello, &extensions);
		check_whole(&hello, "front.example", true);
	}
}

static void
check_extensions(const struct pkg_buf *extensions, enum egress_hello_result expected)
{
	pkg_cleanup_buf struct pkg_buf hello = { 0 };
	struct egress_hello out;

	build(&hello, extensions);
	assert_int_equal(read_buf(&hello, &out), expected);
}

static void
ambiguous_names_are_bad(PKG_UNUSED void **state)
{
	static const struct {
		const char *data; /* of the extension */
		size_t len;
	} table[] = {
		{ "", 0 }, /* no list */
		{ "\0\0", 2 }, /* empty list */
		{ "\0\3\0\0\0", 5 }, /* empty name */
		{ "\0\4\1\0\1a", 6 }, /* another name type */
		{ "\0\4\0\0\1a\0", 7 }, /* bytes after the list */
		{ "\0\5\0\0\1a\0", 7 }, /* bytes in the list after the name */
		{ "\0\10\0\0\1a\0\0\1b", 10 }, /* two names */
		{ "\0\4\0\0\2a", 6 }, /* longer than there is */
		{ "\0\6\0\0\3a\0b", 8 }, /* NUL inside */
		{ "\0\6\0\0\3a b", 8 }, /* blank */
		{ "\0\5\0\0\2\xc3\xbc", 7 }, /* not ASCII */
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(table); i++) {
		pkg_cleanup_buf struct pkg_buf extensions = { 0 };

		add_extension(&extensions, 0, table[i].data, table[i].len);
		check_extensions(&extensions, EGRESS_HELLO_BAD);
	}
	pkg_cleanup_buf struct pkg_buf twice = { 0 };

	add_name(&twice, "a.example", 9);
	check_extensions(&twice, EGRESS_HELLO_OK);
	add_name(&twice, "b.example", 9);
	check_extensions(&twice, EGRESS_HELLO_BAD);
}

static void
names_longer_than_any_host_are_bad(PKG_UNUSED void **state)
{
	pkg_cleanup_buf struct pkg_buf longest = { 0 };
	pkg_cleanup_buf struct pkg_buf longer = { 0 };
	char name[256];

	memset(name, 'a', sizeof(name));
	add_name(&longest, name, 255);
	check_extensions(&longest, EGRESS_HELLO_OK);
	add_name(&longer, name, 256);
	check_extensions(&longer, EGRESS_HELLO_BAD);
}

static void
other_protocols_are_told_at_their_first_bytes(PKG_UNUSED void **state)
{
	static const struct {
		const char *data;
		size_t len;
		enum egress_hello_result result;
	} table[] = {
		{ "", 0, EGRESS_HELLO_MORE }, { "G", 1, EGRESS_HELLO_NOT_TLS },
		{ "\x80\x2e\1\3\1", 5, EGRESS_HELLO_NOT_TLS }, /* SSL 2 */
		{ "\x16", 1, EGRESS_HELLO_MORE }, { "\x16\2", 2, EGRESS_HELLO_NOT_TLS },
		{ "\x15\3\1\0\2\2\50", 7, EGRESS_HELLO_NOT_TLS }, /* an alert */
		{ "\x16\3\1\0\0", 5, EGRESS_HELLO_BAD }, /* an empty record */
		{ "\x16\3\1\x40\1", 5, EGRESS_HELLO_BAD }, /* a record of 16,385 bytes */
		{ "\x16\3\1\0\4\2\0\0\0", 9, EGRESS_HELLO_BAD }, /* a ServerHello */
		{ "\x16\3\1\0\4\1\1\0\0", 9, EGRESS_HELLO_BAD }, /* a hello of 65,536 bytes */
		{ "\x16\3\1\0\4\1\0\0\0", 9, EGRESS_HELLO_BAD }, /* a hello of none */
		{ "\x16\3\1\0\1\1\x17\3\1", 9, EGRESS_HELLO_BAD }, /* something in between */
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(table); i++) {
		struct egress_hello hello;

		if (egress_hello_read((const unsigned char *)table[i].data, table[i].len, &hello) !=
			table[i].result)
			fail_msg("row %zu", i);
	}
}

static void
a_hello_cut_short_inside_is_bad(PKG_UNUSED void **state)
{
	pkg_cleanup_buf struct pkg_buf extensions = { 0 };
	pkg_cleanup_buf struct pkg_buf whole = { 0 };
	struct egress_hello hello;

	add_name(&extensions, "pkg.example", 11);
	build(&whole, &extensions);
	/* The lengths of record and message are right, what is inside them ends too early. Just
	 * after the compression methods it is a whole hello without extensions. */
	for (size_t len = 9; len < whole.len; len++) {
		pkg_cleanup_buf struct pkg_buf cut = { 0 };

		pkg_buf_add_mem(&cut, whole.data, len);
		cut.data[3] = (char)((len - 5) >> 8);
		cut.data[4] = (char)(len - 5);
		cut.data[7] = (char)((len - 9) >> 8);
		cut.data[8] = (char)(len - 9);
		assert_int_equal(read_buf(&cut, &hello),
			len == 9 + 2 + 32 + 1 + 4 + 2 ? EGRESS_HELLO_OK : EGRESS_HELLO_BAD);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_hello_of_openssl_is_read_in_any_pieces_and_records),
		cmocka_unit_test(names_are_folded_and_their_trailing_dot_is_dropped),
		cmocka_unit_test(a_hello_without_a_name_has_none),
		cmocka_unit_test(an_encrypted_name_is_noticed_beside_a_visible_one),
		cmocka_unit_test(ambiguous_names_are_bad),
		cmocka_unit_test(names_longer_than_any_host_are_bad),
		cmocka_unit_test(other_protocols_are_told_at_their_first_bytes),
		cmocka_unit_test(a_hello_cut_short_inside_is_bad),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
