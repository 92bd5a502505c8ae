/* fetch/remote_zip.h - the table of contents of a zip file on a server.
 * Purpose    Two or three ranged requests instead of the whole file: what a wheel would install
 *            is known before anybody said yes and before it is downloaded.
 * Ownership  The object is the caller's, and borrows the options for its life; entries are
 *            borrowed from it.
 * Errors     As fetch/download.h and fetch/zipdir.h; PKG_E_UNSUPPORTED when the server ignores
 *            ranges (the caller then downloads the file into the cache and reads it there);
 *            PKG_E_INDEX_STATUS when the file changed between two requests.
 *
 * Nothing read here is hashed. It is good for a card and a forecast; what is installed is
 * decided by the downloaded file, whose hash is checked.
 */
#ifndef FETCH_REMOTE_ZIP_H
#define FETCH_REMOTE_ZIP_H
#include "fetch/download.h"
#include "fetch/zipdir.h"

struct fetch_remote_zip;
/* The last 256 KiB are fetched first; they usually hold everything that is asked for later. */
struct fetch_remote_zip *fetch_remote_zip_open(
	const char *url, const struct fetch_options *options, struct pkg_error *err);
void fetch_remote_zip_free(struct fetch_remote_zip *remote);
PKG_DEFINE_CLEANUP(struct fetch_remote_zip, fetch_remote_zip_free)
const struct fetch_zip *fetch_remote_zip_list(const struct fetch_remote_zip *remote); /* borrowed */
int fetch_remote_zip_member(struct fetch_remote_zip *remote, const char *name, size_t max,
	struct pkg_buf *out, struct pkg_error *err);
#endif
