/* lang/python_wheel_metadata.h - METADATA out of a file that has none beside it.
 * Purpose    From the wheel in the cache, else from ranges of it on its server, else from the whole wheel,
 *            which is then in the cache. Of a source distribution from its PKG-INFO, if that is static.
 * Ownership  Everything is borrowed; the text is appended to the caller's buffer.
 * Errors     As fetch/remote_zip.h and fetch/download.h; PKG_E_ARCHIVE: no wheel, or one without METADATA;
 *            PKG_E_UNSUPPORTED for a source distribution, whose metadata only running it would tell.
 */
#ifndef LANG_PYTHON_WHEEL_METADATA_H
#define LANG_PYTHON_WHEEL_METADATA_H
#include "lang/lang.h"
#include "lang/simple_index.h"

int lang_python_wheel_metadata(struct lang_context *lang, const struct fetch_options *options,
	const struct lang_simple_file *file, struct pkg_buf *out, struct pkg_error *err);
#endif
