#include "lang/python_wheel_metadata.h"

#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "fetch/remote_zip.h"
#include "lang/metadata.h"
#include "lang/sdist_metadata.h"

/* "NAME.dist-info/METADATA" at the top: given; NULL with *err when there is none or more than one. */
static char *
find_member(const struct fetch_zip *zip, struct pkg_error *err)
{
	static const char suffix[] = ".dist-info/METADATA";
	const char *found = NULL;

	for (size_t i = 0; i < zip->count; i++) {
		const char *name = zip->entries[i].name;

		if (!pkg_text_has_suffix(name, suffix) ||
			strchr(name, '/') != name + strlen(name) - strlen("/METADATA"))
			continue;
		if (found) {
			pkg_error_set(err, PKG_E_ARCHIVE, "it has two METADATA files");
			return NULL;
		}
		found = name;
	}
	if (!found)
		pkg_error_set(err, PKG_E_ARCHIVE, "it has no METADATA");
	return pkg_xstrdup(found);
}

static int
from_fd(int fd, struct pkg_buf *out, struct pkg_error *err)
{
	pkg_cleanup(fetch_zip_free) struct fetch_zip *zip = fetch_zip_open_fd(fd, err);
	pkg_autofree char *name = zip ? find_member(zip, err) : NULL;

	if (!name)
		return -1;
	return fetch_zip_member_fd(fd, fetch_zip_find(zip, name), LANG_METADATA_HEAD_MAX, out, err);
}

static int
from_cas(struct lang_context *lang, const char *sha256, struct pkg_buf *out, struct pkg_error *err)
{
	pkg_autofd int fd = fetch_cas_get(lang->cas, sha256, NULL, err);

	return fd < 0 ? -1 : from_fd(fd, out, err);
}

static int
from_ranges(const struct fetch_options *options, const char *url, struct pkg_buf *out,
	struct pkg_error *err)
{
	pkg_cleanup(fetch_remote_zip_free) struct fetch_remote_zip *remote =
		fetch_remote_zip_open(url, options, err);
	pkg_autofree char *name = remote ? find_member(fetch_remote_zip_list(remote), err) : NULL;

	if (!name)
		return -1;
	return fetch_remote_zip_member(remote, name, LANG_METADATA_HEAD_MAX, out, err);
}

static int
from_download(struct lang_context *lang, const struct fetch_options *options,
	const struct lang_simple_file *file, struct pkg_buf *out, struct pkg_error *err)
{
	struct fetch_options own = *options;
	struct fetch_item item = {
		.url = file->url, .name = file->filename, .sha256 = file->sha256, .size = file->size
	};

	own.progress = lang->transfer;
	if (fetch_all(lang->cas, &item, 1, &own, err) < 0)
		return -1;
	return from_cas(lang, item.got_sha256, out, err);
}

static int
from_anywhere(struct lang_context *lang, const struct fetch_options *options,
	const struct lang_simple_file *file, struct pkg_buf *out, struct pkg_error *err)
{
	pkg_cleanup_error struct pkg_error why = { 0 };

	if (file->sha256 && fetch_cas_has(lang->cas, file->sha256) &&
		from_cas(lang, file->sha256, out, NULL) == 0)
		return 0;
	/* Without a hash the whole of it is needed anyway, to know which file is approved. */
	if (!file->sha256)
		return from_download(lang, options, file, out, err);
	pkg_buf_truncate(out, 0);
	if (from_ranges(options, file->url, out, &why) == 0)
		return 0;
	pkg_buf_truncate(out, 0);
	if (why.kind == PKG_E_UNSUPPORTED)
		return from_download(lang, options, file, out, err);
	if (err)
		pkg_error_move(err, &why);
	return -1;
}

/* The whole of it, since what it needs stands anywhere in it. */
static int
from_sdist(struct lang_context *lang, const struct fetch_options *options,
	const struct lang_simple_file *file, struct pkg_buf *out, struct pkg_error *err)
{
	struct fetch_options own = *options;
	struct fetch_item item = {
		.url = file->url, .name = file->filename, .sha256 = file->sha256, .size = file->size
	};
	pkg_autofd int fd = -1;

	own.progress = lang->transfer;
	if (fetch_all(lang->cas, &item, 1, &own, err) < 0)
		return -1;
	fd = fetch_cas_get(lang->cas, item.got_sha256, NULL, err);
	return fd < 0 ? -1 : lang_sdist_metadata_read(fd, file->filename, out, err);
}

int
lang_python_wheel_metadata(struct lang_context *lang, const struct fetch_options *options,
	const struct lang_simple_file *file, struct pkg_buf *out, struct pkg_error *err)
{
	if (!pkg_text_has_suffix(file->filename, ".whl"))
		return from_sdist(lang, options, file, out, err);
	if (from_anywhere(lang, options, file, out, err) < 0)
		return pkg_error_prefix(err, "'%s'", file->filename);
	return 0;
}
