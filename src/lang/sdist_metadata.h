/* lang/sdist_metadata.h - what a source distribution needs, where that can be known without running it (PEP 643).
 * Purpose    PKG-INFO out of a .tar.gz or .zip, and whether what matters in it is static: the same for every wheel
 *            built from it. Nothing is unpacked.
 * Ownership  The text is appended to the caller's buffer; the descriptor is borrowed.
 * Errors     PKG_E_UNSUPPORTED: it says so only by being run (older metadata, dynamic fields, an archive of another
 *            kind or with odd entries). PKG_E_ARCHIVE: it cannot be read.
 */
#ifndef LANG_SDIST_METADATA_H
#define LANG_SDIST_METADATA_H
#include "core/buf.h"
#include "core/error.h"
#include <stdbool.h>

#define LANG_SDIST_BYTES_MAX (1LL << 30) /* unpacked; what is larger is left to whoever runs it */

int lang_sdist_metadata_read(
	int fd, const char *filename, struct pkg_buf *out, struct pkg_error *err);
/* Metadata 2.2 or newer, and neither name, version, dependencies, extras nor Requires-Python dynamic. */
bool lang_sdist_metadata_is_static(const char *text, size_t len);
#endif
