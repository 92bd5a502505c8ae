#include "core/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct kind {
	const char *name;
	int http;
	int exit;
};

static const struct kind kinds[PKG_E_COUNT] = {
#define PKG_ERROR_ROW(symbol, name, http, exit) [PKG_E_##symbol] = { name, http, exit },
	PKG_ERROR_KINDS(PKG_ERROR_ROW)
#undef PKG_ERROR_ROW
};

static const struct kind *
kind_of(enum pkg_error_kind kind)
{
	if ((int)kind <= PKG_E_NONE || (int)kind >= PKG_E_COUNT)
		kind = PKG_E_INTERNAL;
	return &kinds[kind];
}

void
pkg_error_clear(struct pkg_error *err)
{
	if (!err)
		return;
	free(err->message);
	free(err->cure);
	*err = (struct pkg_error){ 0 };
}

/* Takes message, which may have been made from the strings that go away here. */
static void
replace(struct pkg_error *err, enum pkg_error_kind kind, int sys, char *message)
{
	pkg_error_clear(err);
	err->kind = kind;
	err->sys = sys;
	err->message = message;
}

int
pkg_error_set(struct pkg_error *err, enum pkg_error_kind kind, const char *format, ...)
{
	va_list args;

	if (!err)
		return -1;
	va_start(args, format);
	replace(err, kind, 0, pkg_xvasprintf(format, args));
	va_end(args);
	return -1;
}

int
pkg_error_errno(struct pkg_error *err, int sys, const char *format, ...)
{
	enum pkg_error_kind kind = PKG_E_IO;
	const char *cure = NULL;
	pkg_autofree char *what = NULL;
	va_list args;

	if (!err)
		return -1;
	switch (sys) {
	case ENOSPC:
	case EDQUOT:
		kind = PKG_E_DISK_FULL;
		cure = "free some space and try again";
		break;
	case EACCES:
	case EPERM:
		kind = PKG_E_PERMISSION;
		cure = "check the owner and mode of what is named here";
		break;
	case EROFS:
		kind = PKG_E_PERMISSION;
		cure = "use a place that is not mounted read-only";
		break;
	default:
		break;
	}
	va_start(args, format);
	what = pkg_xvasprintf(format, args);
	va_end(args);
	replace(err, kind, sys, pkg_xasprintf("%s: %s", what, strerror(sys)));
	err->cure = pkg_xstrdup(cure);
	return -1;
}

int
pkg_error_prefix(struct pkg_error *err, const char *format, ...)
{
	pkg_autofree char *prefix = NULL;
	char *message;
	va_list args;

	if (!err || err->kind == PKG_E_NONE)
		return -1;
	va_start(args, format);
	prefix = pkg_xvasprintf(format, args);
	va_end(args);
	message = pkg_xasprintf("%s: %s", prefix, err->message ? err->message : "");
	free(err->message);
	err->message = message;
	return -1;
}

int
pkg_error_cure(struct pkg_error *err, const char *format, ...)
{
	va_list args;
	char *cure;

	if (!err)
		return -1;
	va_start(args, format);
	cure = pkg_xvasprintf(format, args);
	va_end(args);
	free(err->cure);
	err->cure = cure;
	return -1;
}

void
pkg_error_move(struct pkg_error *to, struct pkg_error *from)
{
	if (to == from || !from)
		return;
	pkg_error_clear(to);
	if (!to) {
		pkg_error_clear(from);
		return;
	}
	*to = *from;
	*from = (struct pkg_error){ 0 };
}

void
pkg_error_copy(struct pkg_error *to, const struct pkg_error *from)
{
	if (!to || to == from)
		return;
	pkg_error_clear(to);
	if (!from)
		return;
	*to = *from;
	to->message = pkg_xstrdup(from->message);
	to->cure = pkg_xstrdup(from->cure);
}

const char *
pkg_error_kind_name(enum pkg_error_kind kind)
{
	return kind_of(kind)->name;
}

int
pkg_error_kind_http(enum pkg_error_kind kind)
{
	return kind_of(kind)->http;
}

int
pkg_error_kind_exit(enum pkg_error_kind kind)
{
	return kind_of(kind)->exit;
}

enum pkg_error_kind
pkg_error_kind_parse(const char *name)
{
	for (int i = PKG_E_NONE + 1; name && i < PKG_E_COUNT; i++) {
		if (strcmp(kinds[i].name, name) == 0)
			return (enum pkg_error_kind)i;
	}
	return PKG_E_INTERNAL;
}
