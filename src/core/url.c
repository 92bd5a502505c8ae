#include "core/url.h"

#include "core/buf.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <curl/curl.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

static void
curl_url_cleanup_cleanup(CURLU **handle)
{
	curl_url_cleanup(*handle);
}

/* Bytes of the scheme of an absolute URL or reference (RFC 3986 section 3.1), 0 without one. */
static size_t
scheme_length(const char *text)
{
	size_t n = 0;

	if (!isalpha((unsigned char)text[0]))
		return 0;
	while (isalnum((unsigned char)text[n]) || (text[n] && strchr("+-.", text[n])))
		n++;
	return text[n] == ':' ? n : 0;
}

/* Start and length of "user:password@host:port"; NULL when text has no "scheme://". */
static const char *
authority(const char *text, size_t *len)
{
	size_t scheme = scheme_length(text);

	if (scheme == 0 || strncmp(text + scheme, "://", 3) != 0)
		return NULL;
	*len = strcspn(text + scheme + 3, "/?#");
	return text + scheme + 3;
}

/* What curl reads generously and another reader may read otherwise: three slashes, none at all, a
 * backslash, two '@'. Two readings of one URL are how a host rule is led astray. */
static int
check_text(const char *text, struct pkg_error *err)
{
	const char *start;
	size_t len;

	if (strnlen(text, PKG_URL_MAX + 1) > PKG_URL_MAX)
		return pkg_error_set(
			err, PKG_E_INVALID, "URL is longer than %d bytes", PKG_URL_MAX);
	for (const unsigned char *s = (const unsigned char *)text; *s; s++) {
		if (*s <= 0x20 || *s == 0x7F || *s == '\\')
			return pkg_error_set(err, PKG_E_INVALID,
				"URL has a blank, control character or backslash");
	}
	start = authority(text, &len);
	if (!start || (strncasecmp(text, "http:", 5) != 0 && strncasecmp(text, "https:", 6) != 0))
		return pkg_error_set(err, PKG_E_INVALID, "not an absolute http or https URL");
	if (len == 0)
		return pkg_error_set(err, PKG_E_INVALID, "URL has no host");
	start = memchr(start, '@', len);
	if (start && memchr(start + 1, '@', strcspn(start + 1, "/?#")))
		return pkg_error_set(
			err, PKG_E_INVALID, "URL has more than one '@' before its host");
	return 0;
}

/* Given, or NULL when the URL has no such part (*code is CURLUE_OK then) or curl refuses it. */
static char *
part(CURLU *handle, CURLUPart what, unsigned int flags, CURLUcode *code)
{
	char *text = NULL;
	char *copy;

	*code = curl_url_get(handle, what, &text, flags);
	switch ((int)*code) {
	case CURLUE_NO_USER:
	case CURLUE_NO_PASSWORD:
	case CURLUE_NO_QUERY:
	case CURLUE_NO_FRAGMENT:
		*code = CURLUE_OK;
		return NULL;
	default:
		break;
	}
	/* curl's memory is freed by curl's function. */
	copy = pkg_xstrdup(text);
	curl_free(text);
	return copy;
}

/* The host as A-labels. libidn2, below curl, reads the locale's encoding, and a daemon has none:
 * the thread gets a UTF-8 one for this call. */
static char *
get_host(CURLU *handle, CURLUcode *code)
{
#ifdef CURLU_PUNYCODE
	locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
	locale_t before = utf8 ? uselocale(utf8) : (locale_t)0;
	char *host = part(handle, CURLUPART_HOST, CURLU_PUNYCODE, code);

	if (utf8) {
		uselocale(before);
		freelocale(utf8);
	}
	return host;
#else
	/* check_host() refuses what is not ASCII. */
	return part(handle, CURLUPART_HOST, 0, code);
#endif
}

/* A DNS name or IPv4 address in lower case: letters, digits, '-', '_', no empty label. */
static bool
is_name(const char *host)
{
	size_t label = 0;

	if (strlen(host) > 253)
		return false;
	for (;; host++) {
		if (*host == '.' || *host == '\0') {
			if (label == 0 || label > 63)
				return false;
			if (*host == '\0')
				return true;
			label = 0;
		} else if (islower((unsigned char)*host) || isdigit((unsigned char)*host) ||
			*host == '-' || *host == '_') {
			label++;
		} else {
			return false;
		}
	}
}

/* Rewrites host into the one form that rules are compared with; -1 when it is no host. */
static int
normalize_host(char *host)
{
	size_t len = strlen(host);
	struct in6_addr address;

	if (len > 2 && host[0] == '[' && host[len - 1] == ']') {
		char plain[INET6_ADDRSTRLEN];

		host[len - 1] = '\0';
		if (inet_pton(AF_INET6, host + 1, &address) != 1 ||
			!inet_ntop(AF_INET6, &address, plain, sizeof(plain)) || strlen(plain) > len)
			return -1;
		strcpy(host, plain);
		return 0;
	}
	for (char *c = host; *c; c++)
		*c = (char)(*c >= 'A' && *c <= 'Z' ? *c | 0x20 : *c);
	if (len > 1 && host[len - 1] == '.')
		host[len - 1] = '\0';
	return is_name(host) ? 0 : -1;
}

static int
take_parts(CURLU *handle, struct pkg_url *out, struct pkg_error *err)
{
	pkg_autofree char *port = NULL;
	pkg_autofree char *path = NULL;
	pkg_autofree char *query = NULL;
	pkg_autofree char *zone = NULL;
	CURLUcode codes[8] = { CURLUE_OK };

	zone = part(handle, CURLUPART_ZONEID, 0, &codes[0]);
	if (zone)
		return pkg_error_set(err, PKG_E_INVALID, "URL names a network interface");
	out->scheme = part(handle, CURLUPART_SCHEME, 0, &codes[0]);
	out->host = get_host(handle, &codes[1]);
	port = part(handle, CURLUPART_PORT, CURLU_DEFAULT_PORT, &codes[2]);
	path = part(handle, CURLUPART_PATH, 0, &codes[3]);
	query = part(handle, CURLUPART_QUERY, 0, &codes[4]);
	out->user = part(handle, CURLUPART_USER, CURLU_URLDECODE, &codes[5]);
	out->password = part(handle, CURLUPART_PASSWORD, CURLU_URLDECODE, &codes[6]);
	out->fragment = part(handle, CURLUPART_FRAGMENT, 0, &codes[7]);
	for (size_t i = 0; i < PKG_ARRAY_LEN(codes); i++) {
		if (codes[i] != CURLUE_OK)
			return pkg_error_set(
				err, PKG_E_INVALID, "not a URL: %s", curl_url_strerror(codes[i]));
	}
	if (!out->scheme || !out->host || !port || !path || normalize_host(out->host) < 0)
		return pkg_error_set(err, PKG_E_INVALID, "URL has no valid host");
	out->port = atoi(port);
	if (out->port < 1 || out->port > 65535)
		return pkg_error_set(err, PKG_E_INVALID, "URL has no valid port");
	out->path = query ? pkg_xasprintf("%s?%s", path, query) : pkg_steal_ptr(&path);
	return 0;
}

int
pkg_url_parse(const char *text, struct pkg_url *out, struct pkg_error *err)
{
	__attribute__((cleanup(curl_url_cleanup_cleanup))) CURLU *handle = NULL;
	pkg_cleanup_url struct pkg_url url = { 0 };
	CURLUcode code;

	if (check_text(text, err) < 0)
		return -1;
	handle = curl_url();
	if (!handle)
		pkg_abort("out of memory");
	code = curl_url_set(handle, CURLUPART_URL, text, CURLU_URLENCODE);
	if (code != CURLUE_OK)
		return pkg_error_set(err, PKG_E_INVALID, "not a URL: %s", curl_url_strerror(code));
	if (take_parts(handle, &url, err) < 0)
		return -1;
	*out = url;
	url = (struct pkg_url){ 0 };
	return 0;
}

void
pkg_url_clear(struct pkg_url *url)
{
	free(url->scheme);
	free(url->host);
	free(url->path);
	free(url->user);
	if (url->password)
		explicit_bzero(url->password, strlen(url->password));
	free(url->password);
	free(url->fragment);
	*url = (struct pkg_url){ 0 };
}

char *
pkg_url_redact(const char *text)
{
	pkg_cleanup_url struct pkg_url url = { 0 };
	const char *at = strrchr(text, '@');
	const char *start;
	size_t len;

	if (!at)
		return pkg_xstrdup(text);
	if (pkg_url_parse(text, &url, NULL) < 0)
		return pkg_xstrdup(at + 1);
	start = authority(text, &len);
	at = memrchr(start, '@', len);
	if (!at)
		return pkg_xstrdup(text);
	return pkg_xasprintf("%.*s%s", (int)(start - text), text, at + 1);
}

char *
pkg_url_short(const char *text)
{
	pkg_cleanup_url struct pkg_url url = { 0 };
	pkg_cleanup_buf struct pkg_buf out = { 0 };
	const char *brackets;

	if (pkg_url_parse(text, &url, NULL) < 0)
		return pkg_url_redact(text);
	brackets = strchr(url.host, ':');
	pkg_buf_addf(&out, brackets ? "[%s]" : "%s", url.host);
	if (url.port != (strcmp(url.scheme, "https") == 0 ? 443 : 80))
		pkg_buf_addf(&out, ":%d", url.port);
	/* Without the query: it may hold a token, and says little of which index this is. */
	pkg_buf_add_mem(&out, url.path, strcspn(url.path, "?"));
	while (out.len > 0 && out.data[out.len - 1] == '/')
		pkg_buf_truncate(&out, out.len - 1);
	return pkg_buf_steal(&out);
}

/* RFC 3986 section 5.2.2 up to the removal of dots, which curl does when it reads the result. */
static char *
transform(const char *base, const char *reference)
{
	size_t authority_len = 0;
	const char *host = authority(base, &authority_len);
	size_t root = (size_t)(host - base) + authority_len;
	size_t path_end = root + strcspn(base + root, "?#");
	size_t directory = path_end;

	if (scheme_length(reference) > 0)
		return pkg_xstrdup(reference);
	if (strncmp(reference, "//", 2) == 0)
		return pkg_xasprintf("%.*s%s", (int)(host - base - 2), base, reference);
	if (reference[0] == '/')
		return pkg_xasprintf("%.*s%s", (int)root, base, reference);
	if (reference[0] == '\0' || reference[0] == '#')
		return pkg_xasprintf("%.*s%s", (int)strcspn(base, "#"), base, reference);
	if (reference[0] == '?')
		return pkg_xasprintf("%.*s%s", (int)path_end, base, reference);
	while (directory > root && base[directory - 1] != '/')
		directory--;
	return pkg_xasprintf(
		"%.*s%s%s", (int)directory, base, directory == root ? "/" : "", reference);
}

char *
pkg_url_resolve(const char *base, const char *reference)
{
	__attribute__((cleanup(curl_url_cleanup_cleanup))) CURLU *handle = NULL;
	pkg_cleanup_url struct pkg_url url = { 0 };
	pkg_autofree char *target = NULL;
	CURLUcode code;

	if (check_text(base, NULL) < 0 || strnlen(reference, PKG_URL_MAX + 1) > PKG_URL_MAX)
		return NULL;
	target = transform(base, reference);
	if (pkg_url_parse(target, &url, NULL) < 0)
		return NULL;
	handle = curl_url();
	if (!handle)
		pkg_abort("out of memory");
	if (curl_url_set(handle, CURLUPART_URL, target, CURLU_URLENCODE) != CURLUE_OK)
		return NULL;
	return part(handle, CURLUPART_URL, 0, &code);
}

static int
hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

char *
pkg_url_basename(const char *text)
{
	pkg_cleanup_buf struct pkg_buf out = { 0 };
	size_t len;
	const char *start = authority(text, &len);
	const char *path = start ? start + len : text;
	const char *end = path + strcspn(path, "?#");
	const char *s = end;

	while (s > path && s[-1] != '/')
		s--;
	for (; s < end; s++) {
		int high = *s == '%' && end - s > 2 ? hex_value(s[1]) : -1;
		int low = high >= 0 ? hex_value(s[2]) : -1;
		int byte = high * 16 + low;

		/* An escaped slash or control stays as it is: the result is one name. */
		if (low < 0 || byte < 0x20 || byte == 0x7F || byte == '/') {
			pkg_buf_add_char(&out, *s);
			continue;
		}
		pkg_buf_add_char(&out, (char)byte);
		s += 2;
	}
	return pkg_buf_steal(&out);
}
