/* fetch/zip_names.h - may these names be written below one directory?
 * Purpose    Judges all names of an archive before anything of it is written.
 * Ownership  The listing is borrowed.
 * Errors     PKG_E_ARCHIVE that names the entry and what is wrong with it.
 *
 * Refused: absolute paths, "..", ".", empty components, backslashes, drive letters, NUL and control
 * characters, names that are not UTF-8 or not marked as such, components longer than 255 bytes,
 * more than 64 of them; symlinks, devices and everything else that is not a regular file or a
 * directory; set-user-id and set-group-id; duplicate entries, entries that differ only by case, a
 * file where another entry needs a directory; characters that Unicode normalisation may change, so
 * that no two names are the same to a file system that normalises.
 */
#ifndef FETCH_ZIP_NAMES_H
#define FETCH_ZIP_NAMES_H
#include "fetch/zipdir.h"
#include <stdbool.h>

int fetch_zip_check_names(const struct fetch_zip *zip, struct pkg_error *err);
bool fetch_zip_is_directory(const struct fetch_zip_entry *entry); /* by the slash at the end */
#endif
