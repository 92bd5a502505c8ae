/* core/error.h - what went wrong: kind, errno, a sentence of measured facts, the cure.
 * Purpose    One value that travels from the lowest layer to the API, the CLI and the job row.
 * Ownership  The struct is the caller's storage ({ 0 } is "no error"); it owns its two strings,
 *            released by pkg_error_clear() or pkg_cleanup_error.
 * Errors     Setting an error never fails. Every `err` argument in the tree may be NULL.
 *
 * PKG_ERROR_KINDS is the one table that gives each kind its API name, HTTP status and exit status
 * (0 done, 1 failed and nothing changed, 2 usage, 3 refused, 4 not found, 5 daemon unreachable,
 * 6 sandbox unavailable, 75 pending, after sysexits' EX_TEMPFAIL).
 */
#ifndef CORE_ERROR_H
#define CORE_ERROR_H
#include "core/mem.h"

#define PKG_ERROR_KINDS(X)                                                                         \
	/* X(symbol, API name, HTTP status, exit status) */                                        \
	X(INTERNAL, "internal-error", 500, 1)                                                      \
	X(IO, "io-error", 500, 1)                                                                  \
	X(DATABASE, "database-error", 500, 1)                                                      \
	X(INVALID, "invalid-request", 400, 2)                                                      \
	X(REQUIREMENT, "invalid-requirement", 400, 2)                                              \
	X(CONFIG, "invalid-configuration", 400, 2)                                                 \
	X(UNSUPPORTED, "unsupported", 400, 1)                                                      \
	X(TOO_MANY, "too-many-requests", 429, 1)                                                   \
	X(TOO_LARGE, "too-large", 413, 1)                                                          \
	X(NOT_FOUND, "not-found", 404, 4)                                                          \
	X(EXISTS, "already-exists", 409, 1)                                                        \
	X(BUSY, "busy", 409, 1)                                                                    \
	X(ANSWERED, "already-answered", 409, 1)                                                    \
	X(FORBIDDEN, "forbidden", 403, 3)                                                          \
	X(DENIED, "denied", 403, 3)                                                                \
	X(POLICY, "policy-denied", 403, 3)                                                         \
	X(EXPIRED, "card-expired", 403, 3)                                                         \
	X(PENDING, "pending", 202, 75)                                                             \
	X(CANCELLED, "cancelled", 409, 1)                                                          \
	X(INTERRUPTED, "interrupted", 500, 1)                                                      \
	X(UNREACHABLE, "daemon-unreachable", 503, 5)                                               \
	X(SANDBOX, "sandbox-unavailable", 503, 6)                                                  \
	X(INTERPRETER, "no-interpreter", 409, 1)                                                   \
	X(ENV_BROKEN, "environment-broken", 409, 1)                                                \
	X(NO_SUCH_PACKAGE, "no-such-package", 409, 1)                                              \
	X(NO_SUCH_VERSION, "no-such-version", 409, 1)                                              \
	X(NO_WHEEL, "no-wheel", 409, 1)                                                            \
	X(CONFLICT, "conflicting-requirements", 409, 1)                                            \
	X(REQUIRES_PYTHON, "requires-python", 409, 1)                                              \
	X(RESOLUTION, "resolution-failed", 409, 1)                                                 \
	X(EGRESS_DENIED, "egress-denied", 409, 1)                                                  \
	X(INDEX_UNREACHABLE, "index-unreachable", 502, 1)                                          \
	X(INDEX_STATUS, "index-error", 502, 1)                                                     \
	X(AUTH, "index-authentication", 502, 1)                                                    \
	X(TLS, "tls-failed", 502, 1)                                                               \
	X(HASH, "hash-mismatch", 409, 1)                                                           \
	X(ARCHIVE, "corrupt-archive", 409, 1)                                                      \
	X(PATH_CLASH, "path-conflict", 409, 1)                                                     \
	X(BUILD, "build-failed", 409, 1)                                                           \
	X(BUILD_HEADER, "missing-header", 409, 1)                                                  \
	X(BUILD_COMPILER, "missing-compiler", 409, 1)                                              \
	X(VERIFY, "verify-failed", 409, 1)                                                         \
	X(DISK_FULL, "disk-full", 507, 1)                                                          \
	X(PERMISSION, "permission-denied", 500, 1)                                                 \
	X(TIMEOUT, "timed-out", 504, 1)                                                            \
	X(KILLED, "killed", 500, 1)                                                                \
	X(MEMORY, "out-of-memory", 500, 1)

enum pkg_error_kind {
	PKG_E_NONE = 0,
#define PKG_ERROR_ENUM(symbol, name, http, exit) PKG_E_##symbol,
	PKG_ERROR_KINDS(PKG_ERROR_ENUM)
#undef PKG_ERROR_ENUM
		PKG_E_COUNT
};

struct pkg_error {
	enum pkg_error_kind kind;
	int sys; /* errno, 0 if none */
	char *message; /* owned; measured facts, no trailing full stop or newline */
	char *cure; /* owned; NULL when there is none */
};

#define pkg_cleanup_error __attribute__((cleanup(pkg_error_clear)))

void pkg_error_clear(struct pkg_error *err);
/* Both replace whatever was there and return -1. */
int pkg_error_set(struct pkg_error *err, enum pkg_error_kind kind, const char *format, ...)
	PKG_PRINTF(3, 4);
/* "<format>: <strerror>". ENOSPC and EDQUOT become DISK_FULL, EACCES, EPERM and EROFS PERMISSION,
 * ENOENT stays IO, with the cure that belongs to the kind. */
int pkg_error_errno(struct pkg_error *err, int sys, const char *format, ...) PKG_PRINTF(3, 4);
/* "<format>: <message>"; returns -1. Without an error it does nothing. */
int pkg_error_prefix(struct pkg_error *err, const char *format, ...) PKG_PRINTF(2, 3);
/* Replaces the cure; returns -1. */
int pkg_error_cure(struct pkg_error *err, const char *format, ...) PKG_PRINTF(2, 3);
/* Moves *from into *to (released first); *from is left empty. */
void pkg_error_move(struct pkg_error *to, struct pkg_error *from);
void pkg_error_copy(struct pkg_error *to, const struct pkg_error *from);

/* Borrowed static strings; "internal-error" for a value outside the table. */
const char *pkg_error_kind_name(enum pkg_error_kind kind);
int pkg_error_kind_http(enum pkg_error_kind kind);
int pkg_error_kind_exit(enum pkg_error_kind kind);
/* PKG_E_INTERNAL for a name that is not in the table. */
enum pkg_error_kind pkg_error_kind_parse(const char *name);
#endif
