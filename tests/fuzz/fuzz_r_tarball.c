/* A source tarball: read from a descriptor, whatever is in it. The input is the tar; it is
 * packed here, as no fuzzer finds its way through gzip. */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include "core/file.h"
#include "lang/r_description.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PACKED_MAX (1024 * 1024)

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	lang_cleanup_r_description struct lang_r_description description = { 0 };
	static unsigned char packed[PACKED_MAX];
	z_stream stream = { .next_in = (unsigned char *)(uintptr_t)data,
		.avail_in = (unsigned int)size };
	pkg_autofd int fd = memfd_create("tarball", MFD_CLOEXEC);

	if (size > PACKED_MAX / 2 || fd < 0 ||
		deflateInit2(&stream, 0, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		return 0;
	stream.next_out = packed;
	stream.avail_out = sizeof(packed);
	if (deflate(&stream, Z_FINISH) == Z_STREAM_END &&
		pkg_write_all(fd, packed, stream.total_out, NULL) == 0 &&
		lseek(fd, 0, SEEK_SET) == 0 &&
		lang_r_tarball_read(fd, "pk.g", &description, NULL) == 0 &&
		!lang_r_name_is(description.package))
		abort();
	(void)deflateEnd(&stream);
	return 0;
}
