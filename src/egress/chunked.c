#include "egress/chunked.h"

#define SIZE_DIGITS_MAX 15 /* 2^60: no overflow anywhere */
#define EXTENSION_MAX 4096 /* nobody uses extensions; RFC 9112 asks for a bound */
#define TRAILERS_MAX 16384

enum state {
	SIZE, /* digits of a chunk's size */
	EXTENSION,
	SIZE_LF,
	DATA,
	DATA_CR,
	DATA_LF,
	TRAILER_START, /* at the start of a line after the last chunk */
	TRAILER_NAME,
	TRAILER_VALUE,
	TRAILER_LF,
	END_LF,
	END,
	BAD,
};

static int
hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

static bool
is_text(char c)
{
	return c == '\t' || ((unsigned char)c >= ' ' && c != 0x7f);
}

static enum state
after_size(struct egress_chunked *chunked, char c)
{
	int digit = hex_digit(c);

	if (digit >= 0) {
		if (++chunked->line > SIZE_DIGITS_MAX)
			return BAD;
		chunked->left = chunked->left * 16 + (uint64_t)digit;
		return SIZE;
	}
	if (chunked->line == 0)
		return BAD;
	/* No blanks around the size: some parsers skip them, some stop there. */
	if (c == ';')
		return EXTENSION;
	return c == '\r' ? SIZE_LF : BAD;
}

static enum state
after_trailer(struct egress_chunked *chunked, enum state state, char c)
{
	if (++chunked->trailers > TRAILERS_MAX)
		return BAD;
	if (c == '\r')
		return state == TRAILER_START ? END_LF : state == TRAILER_VALUE ? TRAILER_LF : BAD;
	if (state == TRAILER_VALUE)
		return is_text(c) ? TRAILER_VALUE : BAD;
	if (c == ':')
		return state == TRAILER_NAME ? TRAILER_VALUE : BAD;
	return c > ' ' && c < 0x7f ? TRAILER_NAME : BAD;
}

static enum state
step(struct egress_chunked *chunked, char c)
{
	switch ((enum state)chunked->state) {
	case SIZE:
		return after_size(chunked, c);
	case EXTENSION:
		if (c == '\r')
			return SIZE_LF;
		return is_text(c) && ++chunked->line <= EXTENSION_MAX ? EXTENSION : BAD;
	case SIZE_LF:
		chunked->line = 0;
		if (c != '\n')
			return BAD;
		return chunked->left ? DATA : TRAILER_START;
	case DATA_CR:
		return c == '\r' ? DATA_LF : BAD;
	case DATA_LF:
		return c == '\n' ? SIZE : BAD;
	case TRAILER_START:
	case TRAILER_NAME:
	case TRAILER_VALUE:
		return after_trailer(chunked, (enum state)chunked->state, c);
	case TRAILER_LF:
		return c == '\n' ? TRAILER_START : BAD;
	case END_LF:
		return c == '\n' ? END : BAD;
	case DATA:
	case END:
	case BAD:
		break;
	}
	return BAD;
}

enum egress_chunked_result
egress_chunked_feed(struct egress_chunked *chunked, const char *data, size_t len, size_t *used)
{
	size_t at = 0;

	while (at < len && chunked->state != END) {
		if (chunked->state == DATA) {
			size_t take = len - at < chunked->left ? len - at : (size_t)chunked->left;

			at += take;
			chunked->left -= take;
			if (chunked->left == 0)
				chunked->state = DATA_CR;
			continue;
		}
		chunked->state = (int)step(chunked, data[at]);
		if (chunked->state == BAD)
			break;
		at++;
	}
	*used = at;
	if (chunked->state == BAD)
		return EGRESS_CHUNKED_BAD;
	return chunked->state == END ? EGRESS_CHUNKED_DONE : EGRESS_CHUNKED_MORE;
}
