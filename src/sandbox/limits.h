/* sandbox/limits.h - how much one run may use.
 * Purpose    Puts a profile's, the configuration's and the purpose's numbers together, and makes
 * resource limits of those that the kernel keeps per process. The rest is watched
 * (sandbox/watch.h). Ownership  Caller's storage. Errors     PKG_E_INVALID for a negative number.
 */
#ifndef SANDBOX_LIMITS_H
#define SANDBOX_LIMITS_H
#include "core/error.h"
#include "core/process.h"
#include "sandbox/profile.h"

#define SANDBOX_RLIMITS 5

/* Our own programs run inside too. A sanitizer's runtime reserves more writable memory than any
 * limit, and looks for leaks with ptrace: a build with one does without that limit and that look.
 */
#if defined(__SANITIZE_ADDRESS__)
#define SANDBOX_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANDBOX_SANITIZED 1
#endif
#endif
#ifndef SANDBOX_SANITIZED
#define SANDBOX_SANITIZED 0
#endif

/* The profile's own number, else the configuration's, else the purpose's. A kernel's default memory
 * is three quarters of the machine's (ram bytes, 0: not known). */
int sandbox_limits_resolve(const struct sandbox_profile *profile,
	const struct sandbox_limits *configured, int64_t ram, struct sandbox_limits *out,
	struct pkg_error *err);
/* Bytes of /tmp and of /dev/shm for a profile whose limits are resolved. */
int64_t sandbox_limits_tmp(const struct sandbox_profile *profile, int64_t ram);
size_t sandbox_limits_rlimits(
	const struct sandbox_limits *limits, struct pkg_rlimit out[SANDBOX_RLIMITS]);
#endif
