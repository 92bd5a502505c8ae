#include "egress/upstream.h"

#include "core/buf.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define VALUE_MAX 8192
#define DEFAULT_PORT 1080 /* curl's, for a proxy without a port */

/* curl does not read HTTP_PROXY in capitals, because a CGI server sets it from a request's "Proxy:"
 * field; pkgd is no CGI program, and the variable is widely set. */
static const char *const http_names[] = { "http_proxy", "HTTP_PROXY" };
static const char *const https_names[] = { "https_proxy", "HTTPS_PROXY" };
static const char *const direct_names[] = { "no_proxy", "NO_PROXY" };

static const char *
get(char *const *env, const char *const names[2])
{
	for (size_t n = 0; n < 2; n++) {
		size_t len = strlen(names[n]);

		for (char *const *i = env; *i; i++)
			if (strncmp(*i, names[n], len) == 0 && (*i)[len] == '=')
				return (*i)[len + 1] ? *i + len + 1 : NULL;
	}
	return NULL;
}

static int
hex(char c)
{
	return c >= '0' && c <= '9'    ? c - '0'
		: c >= 'a' && c <= 'f' ? c - 'a' + 10
		: c >= 'A' && c <= 'F' ? c - 'A' + 10
				       : -1;
}

/* %XX of a URL's userinfo. A control character would end the header line it goes into. */
static int
decode(const char *text, size_t len, struct pkg_buf *out)
{
	for (size_t i = 0; i < len; i++) {
		char c = text[i];

		if (c == '%') {
			if (i + 2 >= len || hex(text[i + 1]) < 0 || hex(text[i + 2]) < 0)
				return -1;
			c = (char)(hex(text[i + 1]) * 16 + hex(text[i + 2]));
			i += 2;
		}
		if ((unsigned char)c < 0x20 || c == 0x7f)
			return -1;
		pkg_buf_add_char(out, c);
	}
	return 0;
}

static char *
basic(const struct pkg_buf *userinfo)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	pkg_cleanup_buf struct pkg_buf out = { 0 };
	const unsigned char *data = (const unsigned char *)pkg_buf_str(userinfo);

	pkg_buf_add(&out, "Basic ");
	for (size_t i = 0; i < userinfo->len; i += 3) {
		size_t left = userinfo->len - i;
		unsigned value = (unsigned)data[i] << 16 |
			(left > 1 ? (unsigned)data[i + 1] << 8 : 0) | (left > 2 ? data[i + 2] : 0);

		pkg_buf_add_char(&out, digits[value >> 18]);
		pkg_buf_add_char(&out, digits[value >> 12 & 63]);
		pkg_buf_add_char(&out, left > 1 ? digits[value >> 6 & 63] : '=');
		pkg_buf_add_char(&out, left > 2 ? digits[value & 63] : '=');
	}
	return pkg_buf_steal(&out);
}

static int
refuse(struct pkg_error *err, const char *name, const char *why)
{
	/* Never the value: it may hold a password. */
	return pkg_error_set(err, PKG_E_INVALID, "environment variable %s: %s", name, why);
}

static int
read_credentials(const char *text, size_t len, struct egress_upstream_proxy *out)
{
	pkg_cleanup_buf struct pkg_buf userinfo = { 0 };
	const char *colon = memchr(text, ':', len);
	size_t user = colon ? (size_t)(colon - text) : len;

	/* RFC 7617: a user name with a colon cannot be told from its password. */
	if (decode(text, user, &userinfo) < 0 ||
		(userinfo.len && memchr(userinfo.data, ':', userinfo.len)))
		return -1;
	pkg_buf_add_char(&userinfo, ':');
	if (colon && decode(colon + 1, len - user - 1, &userinfo) < 0)
		return -1;
	out->authorization = basic(&userinfo);
	return 0;
}

static int
read_proxy(const char *name, const char *value, struct egress_upstream_proxy *out,
	struct pkg_error *err)
{
	const char *scheme = strstr(value, "://"), *at;
	size_t len;

	if (strlen(value) > VALUE_MAX)
		return refuse(err, name, "too long");
	if (scheme && (scheme - value != 4 || strncasecmp(value, "http", 4) != 0)) {
		refuse(err, name, "only proxies with http:// are supported here");
		return pkg_error_cure(
			err, "name an http:// proxy, or start pkgd without the variable");
	}
	if (scheme)
		value = scheme + 3;
	len = strcspn(value, "/?#");
	at = memrchr(value, '@', len);
	if (at && read_credentials(value, (size_t)(at - value), out) < 0)
		return refuse(err, name, "the credentials are not valid");
	if (at)
		len -= (size_t)(at + 1 - value), value = at + 1;
	if (policy_authority_parse(value, len, &out->host, &out->port, NULL) < 0)
		return refuse(err, name, "the proxy's host is not valid");
	if (out->port == 0)
		out->port = scheme ? 80 : DEFAULT_PORT;
	return 0;
}

int
egress_upstream_read(char *const *env, struct egress_upstream *out, struct pkg_error *err)
{
	const char *http = get(env, http_names), *https = get(env, https_names);
	const char *direct = get(env, direct_names);

	memset(out, 0, sizeof(*out));
	out->direct = pkg_argv_new();
	if ((http && read_proxy("http_proxy", http, &out->http, err) < 0) ||
		(https && read_proxy("https_proxy", https, &out->https, err) < 0)) {
		egress_upstream_clear(out);
		return -1;
	}
	while (direct && *direct) {
		size_t len = strcspn(direct, ", \t");

		if (len > 0 && len <= VALUE_MAX)
			pkg_argv_take(out->direct, pkg_xstrndup(direct, len));
		direct += len + (direct[len] != '\0');
	}
	return 0;
}

void
egress_upstream_clear(struct egress_upstream *upstream)
{
	free(upstream->http.authorization);
	free(upstream->https.authorization);
	pkg_argv_free(upstream->direct);
	memset(upstream, 0, sizeof(*upstream));
}

/* NO_PROXY has no standard: "example.org" and ".example.org" both mean the domain and all below it
 * (curl), addresses and networks are taken literally (curl 7.86), a port must match when given
 * (Go). */
static bool
is_direct(const char *element, const struct policy_host *host, int port)
{
	struct policy_host_rules rules = { 0 };
	struct policy_host_rule rule;
	bool direct;

	if (strcmp(element, "*") == 0)
		return true;
	if (policy_host_rule_parse(element, &rule, NULL) < 0)
		return false;
	if (rule.kind == POLICY_RULE_HOST || rule.kind == POLICY_RULE_BELOW)
		rule.kind = POLICY_RULE_DOMAIN;
	if (rule.port == 0)
		rule.port = port;
	rules = (struct policy_host_rules){ &rule, 1 };
	direct = policy_host_match(&rules, host, port, true) != NULL;
	policy_host_rule_clear(&rule);
	return direct;
}

const struct egress_upstream_proxy *
egress_upstream_for(const struct egress_upstream *upstream, const struct policy_host *host,
	int port, bool is_connect)
{
	const struct egress_upstream_proxy *proxy = is_connect ? &upstream->https : &upstream->http;

	if (proxy->host.name[0] == '\0' || strcmp(host->name, "localhost") == 0)
		return NULL;
	if (host->address.family != 0 &&
		policy_address_class(&host->address) == POLICY_ADDRESS_LOOPBACK)
		return NULL;
	for (size_t i = 0; i < upstream->direct->count; i++)
		if (is_direct(upstream->direct->items[i], host, port))
			return NULL;
	return proxy;
}

void
egress_upstream_export(char *const *env, struct pkg_argv *out)
{
	const char *const *const all[] = { http_names, https_names, direct_names };

	for (size_t i = 0; i < PKG_ARRAY_LEN(all); i++) {
		const char *value = get(env, all[i]);

		if (value)
			pkg_argv_addf(out, "%s=%s", all[i][0], value);
	}
}
