#include "sandbox/environ.h"

#include "core/path.h"
#include "core/text.h"
#include "sandbox/argv.h"
#include "sandbox/limits.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define VALUE_MAX 128

enum when { ALWAYS, AT_TERMINAL, IN_KERNEL };

/* What may come from the caller, if its value is plain. */
static const struct {
	const char *name;
	enum when when;
} inherited[] = {
	{ "LANG", ALWAYS },
	{ "LANGUAGE", ALWAYS },
	{ "LC_ALL", ALWAYS },
	{ "LC_CTYPE", ALWAYS },
	{ "LC_COLLATE", ALWAYS },
	{ "LC_MESSAGES", ALWAYS },
	{ "LC_MONETARY", ALWAYS },
	{ "LC_NUMERIC", ALWAYS },
	{ "LC_TIME", ALWAYS },
	{ "TZ", ALWAYS },
	{ "TERM", AT_TERMINAL },
	{ "COLORTERM", AT_TERMINAL },
	{ "NO_COLOR", AT_TERMINAL },
	{ "COLUMNS", AT_TERMINAL },
	{ "LINES", AT_TERMINAL },
	{ "CUDA_VISIBLE_DEVICES", IN_KERNEL },
	{ "HIP_VISIBLE_DEVICES", IN_KERNEL },
};

/* Numeric libraries start a thread per processor each; several of them in one process are then
 * slower. */
static const char *const thread_caps[] = { "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS",
	"MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS", "NUMEXPR_NUM_THREADS", "NUMBA_NUM_THREADS",
	"LOKY_MAX_CPU_COUNT" };

static const char *const proxies[] = { "HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy",
	"FTP_PROXY", "ftp_proxy", "PIP_PROXY" };

/* Each makes a program that is started run something else first. Some act on bwrap itself, which
 * gets this environment too. */
static const char *const injecting[] = { "BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "PS4",
	"NODE_OPTIONS", "PERL5OPT", "PERL5DB", "PYTHONHOME", "PYTHONINSPECT", "PYTHONSTARTUP",
	"R_ENVIRON", "R_ENVIRON_USER", "R_PROFILE", "R_PROFILE_USER", "RUBYOPT", "GCONV_PATH",
	"LOCPATH", "NLSPATH", "GLIBC_TUNABLES", "MALLOC_TRACE", "RESOLV_HOST_CONF", "HOSTALIASES",
	"LOCALDOMAIN", "RES_OPTIONS", "TZDIR" };

/* Python's ssl and OpenSSL; requests; curl; pip; git; node, which adds them to its own. */
static const char *const trusting[] = { "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
	"PIP_CERT", "GIT_SSL_CAINFO", "NODE_EXTRA_CA_CERTS" };

static const char *const around[] = { "NO_PROXY", "no_proxy", "ALL_PROXY", "all_proxy" };

static bool
is_one_of(const char *const *list, size_t count, const char *name, size_t len)
{
	for (size_t i = 0; i < count; i++) {
		if (strlen(list[i]) == len && strncmp(list[i], name, len) == 0)
			return true;
	}
	return false;
}

/* A later value of a name replaces the earlier one. */
static void
put(struct pkg_argv *env, char *pair)
{
	size_t len = strcspn(pair, "=") + 1;

	for (size_t i = 0; i < env->count; i++) {
		if (strncmp(env->items[i], pair, len) == 0) {
			free(env->items[i]);
			env->items[i] = pair;
			return;
		}
	}
	pkg_argv_take(env, pair);
}

static void
set(struct pkg_argv *env, const char *name, const char *value)
{
	put(env, pkg_xasprintf("%s=%s", name, value));
}

static const char *
lookup(char *const *environment, const char *name)
{
	size_t len = strlen(name);

	for (; environment && *environment; environment++) {
		if (strncmp(*environment, name, len) == 0 && (*environment)[len] == '=')
			return *environment + len + 1;
	}
	return NULL;
}

/* "de_DE.UTF-8", "Europe/Berlin", "xterm-256color", "0,1": nothing that a program would open or
 * run. */
static bool
is_plain(const char *value)
{
	size_t len = strlen(value);

	if (len == 0 || len > VALUE_MAX || value[0] == '/' || strstr(value, ".."))
		return false;
	for (size_t i = 0; i < len; i++) {
		if (!isalnum((unsigned char)value[i]) && !strchr("_.@-+:,/", value[i]))
			return false;
	}
	return true;
}

static void
add_inherited(struct pkg_argv *env, const struct sandbox_profile *profile, char *const *caller)
{
	set(env, "LANG", "C.UTF-8");
	for (size_t i = 0; i < PKG_ARRAY_LEN(inherited); i++) {
		const char *value = lookup(caller, inherited[i].name);
		bool wanted = inherited[i].when == ALWAYS ||
			(inherited[i].when == AT_TERMINAL ? profile->interactive
							  : profile->purpose == SANDBOX_KERNEL);

		if (wanted && value && is_plain(value))
			set(env, inherited[i].name, value);
	}
}

static void
add_own(struct pkg_argv *env, const struct sandbox_profile *profile,
	const struct sandbox_environ_facts *facts)
{
	pkg_autofree char *bin = profile->tree && profile->prefix
		? pkg_xasprintf("%s/bin:", profile->prefix)
		: pkg_xstrdup("");
	int threads = facts->cpus < 1 ? 1 : facts->cpus > 4 ? 4 : facts->cpus;

	put(env, pkg_xasprintf("PATH=%s/usr/local/bin:/usr/bin:/bin", bin));
	set(env, "HOME", SANDBOX_HOME);
	set(env, "USER", "user");
	set(env, "LOGNAME", "user");
	set(env, "SHELL", "/bin/sh");
	set(env, "TMPDIR", "/tmp");
	set(env, "TMP", "/tmp");
	set(env, "TEMP", "/tmp");
	set(env, "MPLCONFIGDIR", "/tmp/matplotlib");
	if (SANDBOX_SANITIZED)
		set(env, "ASAN_OPTIONS", "detect_leaks=0");
	for (size_t i = 0; i < PKG_ARRAY_LEN(thread_caps); i++)
		put(env, pkg_xasprintf("%s=%d", thread_caps[i], threads));
	for (size_t i = 0; facts->ca && i < PKG_ARRAY_LEN(trusting); i++)
		set(env, trusting[i], facts->ca);
	for (size_t i = 0; profile->shim_fd >= 0 && i < PKG_ARRAY_LEN(proxies); i++)
		put(env, pkg_xasprintf("%s=http://127.0.0.1:%d", proxies[i], SANDBOX_PROXY_PORT));
}

static int
check_pair(const char *pair, struct pkg_error *err)
{
	size_t len = strcspn(pair, "=");
	const char *value = pair[len] ? pair + len + 1 : NULL;

	if (len == 0 || !value || isdigit((unsigned char)pair[0]))
		return pkg_error_set(
			err, PKG_E_INVALID, "'%s' is not a variable with a value", pair);
	if (pkg_text_has_prefix(pair, "LD_") || pkg_text_has_prefix(pair, "DYLD_") ||
		pkg_text_has_prefix(pair, "BASH_FUNC_"))
		return pkg_error_set(err, PKG_E_INVALID,
			"variable '%.*s' changes how programs are loaded", (int)len, pair);
	/* Empty or /dev/null is how a program is told not to look for that file. */
	if (is_one_of(injecting, PKG_ARRAY_LEN(injecting), pair, len) && value[0] &&
		strcmp(value, "/dev/null") != 0)
		return pkg_error_set(err, PKG_E_INVALID,
			"variable '%.*s' makes programs run other code", (int)len, pair);
	if (is_one_of(around, PKG_ARRAY_LEN(around), pair, len))
		return pkg_error_set(err, PKG_E_INVALID, "variable '%.*s' leads around the proxy",
			(int)len, pair);
	return 0;
}

int
sandbox_environ(const struct sandbox_profile *profile, const struct sandbox_environ_facts *facts,
	struct pkg_argv **out, struct pkg_error *err)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *env = pkg_argv_new();

	add_own(env, profile, facts);
	add_inherited(env, profile, facts->caller);
	for (size_t i = 0; profile->env && i < profile->env->count; i++) {
		if (check_pair(profile->env->items[i], err) < 0)
			return -1;
		put(env, pkg_xstrdup(profile->env->items[i]));
	}
	pkg_argv_sort(env);
	*out = pkg_steal_ptr(&env);
	return 0;
}
