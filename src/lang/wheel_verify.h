/* lang/wheel_verify.h - unpack a wheel, believing only what it proves.
 * Purpose    Runs inside the apply sandbox (program pkg-unpack): fetch/unpack.h writes the
 *            files, and here the RECORD is complete and every hash right, and name, version,
 *            METADATA, .dist-info and file name agree.
 * Ownership  The report is given to the caller.
 * Errors     As fetch/unpack.h; PKG_E_HASH for a file that differs from its RECORD row;
 *            PKG_E_INVALID for a file name that is not of a wheel; PKG_E_ARCHIVE for everything
 *            else. The directory may hold a part then.
 *
 * Format: "Binary distribution format" and "Recording installed projects" of the PyPA
 * specifications (PEP 427, 376, 491). Refused beyond what is refused in any archive: files
 * outside RECORD (but RECORD itself and its .jws/.p7s), RECORD rows without a file, without a
 * hash or with two, more than one .dist-info or .data, a .data of another name or with a scheme
 * that does not exist, a WHEEL of a major version other than 1, entry points that are not plain
 * names.
 */
#ifndef LANG_WHEEL_VERIFY_H
#define LANG_WHEEL_VERIFY_H
#include "core/json.h"
#include "fetch/unpack.h"

/* file_name is the wheel's name ("six-1.16.0-py2.py3-none-any.whl"), which the content must agree
 * with. Report: {"name","version" (as METADATA writes them),"dist_info","data" (a directory's name
 * or null), "root_is_purelib","wheel_version","tags":[] (as WHEEL lists them),"requires_python" (or
 * null), "files":[{"path","sha256" (hex),"size","exec"}] (by path; RECORD included),"bytes"}. */
struct json_object *lang_wheel_unpack(int wheel_fd, const char *file_name, int dir_fd,
	const struct fetch_unpack_limits *limits, struct pkg_error *err);
#endif
