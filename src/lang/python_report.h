/* lang/python_report.h - pip's --report as a resolution.
 * Purpose    Reads what pip says it would install ("Installation Report", version 1) and believes none of
 *            it that can be checked: names, versions and file names agree, URLs are http(s), nothing
 *            comes twice.
 * Ownership  The resolution is the caller's; on failure it is empty.
 * Errors     PKG_E_INVALID for a text that is no report; PKG_E_UNSUPPORTED for what is installed
 *            from a directory or a version control system; PKG_E_ARCHIVE when a file is not the
 *            distribution that its name says.
 */
#ifndef LANG_PYTHON_REPORT_H
#define LANG_PYTHON_REPORT_H
#include "lang/lang.h"

#define LANG_PYTHON_REPORT_MAX (256 * 1024 * 1024) /* it holds the metadata of every package */
#define LANG_PYTHON_REPORT_ITEMS_MAX 10000

/* Sets name, key, version, file, url, sha256 (NULL when pip does not know it), source, is_sdist,
 * yanked, requires_python, and the engine. Size is -1. Sorted. */
int lang_python_report_parse(
	const char *text, size_t len, struct lang_resolution *out, struct pkg_error *err);
/* The requirement that each distribution was asked for by; several of one name are joined. */
int lang_python_report_asked(struct lang_resolution *resolution,
	const struct pkg_argv *requirements, struct pkg_error *err);
/* The yanked ones, from pip's warnings: older ones say it nowhere else. */
void lang_python_report_yanked(struct lang_resolution *resolution, const char *log);
/* Every distribution for which there are hashes ("name==version sha256:...") has one of them. */
int lang_python_report_check_hashes(const struct lang_resolution *resolution,
	const struct pkg_argv *hashes, struct pkg_error *err);
#endif
