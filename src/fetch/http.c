#include "fetch/http.h"

#include "core/text.h"
#include "core/time.h"
#include "core/url.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define HEAD_MAX (256 * 1024) /* bytes of one answer's headers */
#define PAGE_MAX (64 * 1024) /* bytes read of a body that nobody wants */
#define RETRY_AFTER_MAX_MS 60000

int
fetch_http_init(struct fetch_http *http, const char *url, const char *name,
	const struct fetch_http_ops *ops, void *context, struct pkg_error *err)
{
	pkg_cleanup_url struct pkg_url parts = { 0 };

	*http = (struct fetch_http){ .name = name, .ops = ops, .context = context };
	if (pkg_url_parse(url, &parts, err) < 0)
		return name ? pkg_error_prefix(err, "'%s'", name) : -1;
	http->url = pkg_url_redact(url);
	http->user = pkg_steal_ptr(&parts.user);
	http->password = pkg_steal_ptr(&parts.password);
	return 0;
}

static void
clear_response(struct fetch_http_response *response)
{
	free(response->etag);
	free(response->last_modified);
	free(response->content_type);
	free(response->location);
	free(response->cache_control);
	*response = (struct fetch_http_response){
		.length = -1, .range_from = -1, .range_to = -1, .range_total = -1
	};
}

static void
drop_credentials(struct fetch_http *http)
{
	if (http->password)
		explicit_bzero(http->password, strlen(http->password));
	free(http->user);
	free(http->password);
	http->user = NULL;
	http->password = NULL;
}

void
fetch_http_hang_up(struct fetch_http *http)
{
	if (http->easy)
		curl_easy_cleanup(http->easy);
	curl_slist_free_all(http->headers);
	http->easy = NULL;
	http->headers = NULL;
}

void
fetch_http_clear(struct fetch_http *http)
{
	fetch_http_hang_up(http);
	clear_response(&http->response);
	pkg_error_clear(&http->failure);
	drop_credentials(http);
	free(http->url);
	*http = (struct fetch_http){ 0 };
}

void
fetch_http_header(struct fetch_http *http, const char *format, ...)
{
	pkg_autofree char *line = NULL;
	struct curl_slist *grown;
	va_list args;

	va_start(args, format);
	line = pkg_xvasprintf(format, args);
	va_end(args);
	grown = curl_slist_append(http->headers, line);
	if (!grown)
		pkg_abort("out of memory");
	http->headers = grown;
}

char *
fetch_http_where(const struct fetch_http *http)
{
	pkg_cleanup_url struct pkg_url parts = { 0 };
	const char *host = "an unknown host";

	if (pkg_url_parse(http->url, &parts, NULL) == 0)
		host = parts.host;
	if (http->name)
		return pkg_xasprintf("'%s' from %s", http->name, host);
	return pkg_url_short(http->url);
}

/* Headers. */

static void
keep(char **slot, const char *value, size_t len)
{
	free(*slot);
	*slot = pkg_xstrndup(value, len);
}

static void
read_header(struct fetch_http_response *response, const char *line, size_t name_len,
	const char *value, size_t len)
{
	static const struct {
		const char *name;
		size_t offset;
	} texts[] = {
		{ "etag", offsetof(struct fetch_http_response, etag) },
		{ "last-modified", offsetof(struct fetch_http_response, last_modified) },
		{ "content-type", offsetof(struct fetch_http_response, content_type) },
		{ "location", offsetof(struct fetch_http_response, location) },
		{ "cache-control", offsetof(struct fetch_http_response, cache_control) },
	};
	char number[80];

	for (size_t i = 0; i < PKG_ARRAY_LEN(texts); i++) {
		if (strlen(texts[i].name) == name_len &&
			strncasecmp(line, texts[i].name, name_len) == 0)
			keep((char **)(void *)((char *)response + texts[i].offset), value, len);
	}
	(void)snprintf(number, sizeof(number), "%.*s", (int)(len < 79 ? len : 79), value);
	if (name_len == 14 && strncasecmp(line, "content-length", 14) == 0) {
		char *end;
		long long n = strtoll(number, &end, 10);

		response->length = end != number && n >= 0 ? n : -1;
	}
	if (name_len == 13 && strncasecmp(line, "content-range", 13) == 0) {
		if (sscanf(number, "bytes %lld-%lld/%lld", &response->range_from,
			    &response->range_to, &response->range_total) < 2)
			(void)sscanf(number, "bytes */%lld", &response->range_total);
	}
}

static size_t
on_header(char *data, size_t size, size_t count, void *context)
{
	struct fetch_http *http = context;
	size_t len = size * count;
	char *colon = memchr(data, ':', len);
	char *value;

	http->last_byte_ms = pkg_time_mono_ms();
	http->head_bytes += len;
	if (http->head_bytes > HEAD_MAX)
		return 0;
	if (len >= 5 && memcmp(data, "HTTP/", 5) == 0) {
		clear_response(&http->response);
		return len;
	}
	if (!colon)
		return len;
	value = colon + 1;
	while (value < data + len && (*value == ' ' || *value == '\t'))
		value++;
	while (len > (size_t)(value - data) && strchr(" \t\r\n", data[len - 1]))
		len--;
	read_header(
		&http->response, data, (size_t)(colon - data), value, (size_t)(data + len - value));
	return size * count;
}

/* Body. */

static bool
is_redirect(long status)
{
	return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

static bool
is_transient(long status)
{
	return status == 408 || status == 429 || status == 500 || status == 502 || status == 503 ||
		status == 504;
}

static enum fetch_http_next
begin(struct fetch_http *http)
{
	http->begun = true;
	(void)curl_easy_getinfo(http->easy, CURLINFO_RESPONSE_CODE, &http->response.status);
	if (!http->ops->begin || is_redirect(http->response.status) ||
		is_transient(http->response.status))
		return FETCH_HTTP_GO;
	return http->ops->begin(http, &http->failure);
}

static size_t
on_body(char *data, size_t size, size_t count, void *context)
{
	struct fetch_http *http = context;
	size_t len = size * count;

	http->last_byte_ms = pkg_time_mono_ms();
	http->verdict = http->begun ? FETCH_HTTP_GO : begin(http);
	/* Nobody reads the page that comes with an error or a redirect. A short one is taken off
	 * the connection, which can then be used again. */
	if (http->verdict == FETCH_HTTP_GO && http->response.status >= 300) {
		http->page_bytes += len;
		return http->page_bytes > PAGE_MAX ? 0 : len;
	}
	if (http->verdict == FETCH_HTTP_GO)
		http->verdict = http->ops->body(http, data, len, &http->failure);
	return http->verdict == FETCH_HTTP_GO ? len : 0;
}

/* Dialling. */

static bool
same_origin(const struct pkg_url *a, const struct pkg_url *b)
{
	return strcmp(a->scheme, b->scheme) == 0 && strcmp(a->host, b->host) == 0 &&
		a->port == b->port;
}

/* Credentials that were configured for this scheme, host and port. */
static void
find_credentials(struct fetch_http *http, const struct pkg_argv *known)
{
	pkg_cleanup_url struct pkg_url mine = { 0 };

	if (http->user || !known || pkg_url_parse(http->url, &mine, NULL) < 0)
		return;
	for (size_t i = 0; i < known->count && !http->user; i++) {
		pkg_cleanup_url struct pkg_url other = { 0 };

		if (pkg_url_parse(known->items[i], &other, NULL) < 0 || !other.user ||
			!same_origin(&mine, &other))
			continue;
		http->user = pkg_steal_ptr(&other.user);
		http->password = pkg_steal_ptr(&other.password);
	}
}

#define SET(easy, option, value)                                                                   \
	do {                                                                                       \
		if (curl_easy_setopt(easy, option, value) != CURLE_OK)                             \
			pkg_abort("libcurl does not know " #option);                               \
	} while (0)

/* libcurl knows where the system keeps its certificates; the variables are what programs that carry
 * their own, as pip does, made common. */
static void
set_trust(CURL *easy, const struct fetch_options *options)
{
	const char *file = options->ca_bundle;
	const char *directory = getenv("SSL_CERT_DIR");

	if (!file)
		file = getenv("SSL_CERT_FILE");
	if (!file || !*file)
		file = getenv("CURL_CA_BUNDLE");
	if (file && *file)
		SET(easy, CURLOPT_CAINFO, file);
	else if (directory && *directory)
		SET(easy, CURLOPT_CAPATH, directory);
}

static void
set_limits(CURL *easy, const struct fetch_options *options)
{
#if LIBCURL_VERSION_NUM >= 0x075500
	SET(easy, CURLOPT_PROTOCOLS_STR, "http,https");
#else
	SET(easy, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
	SET(easy, CURLOPT_FOLLOWLOCATION, 0L);
	SET(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)options->connect_timeout_ms);
	/* Our own clock (http_pool.c) sees a stall; this ends a server that drips for ever. */
	SET(easy, CURLOPT_LOW_SPEED_LIMIT, 128L);
	SET(easy, CURLOPT_LOW_SPEED_TIME, (long)options->stall_timeout_ms * 3 / 1000 + 60);
}

int
fetch_http_dial(struct fetch_http *http, const struct fetch_options *options, struct pkg_error *err)
{
	CURL *easy;

	if (options->allow && options->allow(options->context, http->url, err) < 0)
		return -1;
	easy = http->easy = curl_easy_init();
	if (!easy)
		pkg_abort("out of memory");
	find_credentials(http, options->credentials);
	clear_response(&http->response);
	http->begun = false;
	http->head_bytes = 0;
	http->page_bytes = 0;
	http->verdict = FETCH_HTTP_GO;
	http->detail[0] = '\0';
	http->last_byte_ms = pkg_time_mono_ms();
	set_limits(easy, options);
	set_trust(easy, options);
	SET(easy, CURLOPT_URL, http->url);
	if (http->user)
		SET(easy, CURLOPT_USERNAME, http->user);
	if (http->user && http->password)
		SET(easy, CURLOPT_PASSWORD, http->password);
	SET(easy, CURLOPT_NETRC, (long)CURL_NETRC_OPTIONAL);
	SET(easy, CURLOPT_USERAGENT,
		options->user_agent ? options->user_agent : "pkgd/" PACKAGE_VERSION);
	SET(easy, CURLOPT_HTTPHEADER, http->headers);
	SET(easy, CURLOPT_NOBODY, http->head ? 1L : 0L);
	SET(easy, CURLOPT_NOSIGNAL, 1L);
	SET(easy, CURLOPT_BUFFERSIZE, 256L * 1024);
	/* One connection and many streams where the server speaks HTTP/2. Without TLS it does not, and
	 * libcurl would find that out by waiting for a whole answer. */
	SET(easy, CURLOPT_PIPEWAIT, strncmp(http->url, "https:", 6) == 0 ? 1L : 0L);
	if (http->decode)
		SET(easy, CURLOPT_ACCEPT_ENCODING, "");
	SET(easy, CURLOPT_ERRORBUFFER, http->detail);
	SET(easy, CURLOPT_PRIVATE, (void *)http);
	SET(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
	SET(easy, CURLOPT_HEADERFUNCTION, on_header);
	SET(easy, CURLOPT_HEADERDATA, (void *)http);
	SET(easy, CURLOPT_WRITEFUNCTION, on_body);
	SET(easy, CURLOPT_WRITEDATA, (void *)http);
	return 0;
}

/* Judging. */

int64_t
fetch_http_retry_after(const struct fetch_http *http)
{
	curl_off_t seconds = 0;

	if (!http->easy ||
		curl_easy_getinfo(http->easy, CURLINFO_RETRY_AFTER, &seconds) != CURLE_OK)
		return 0;
	if (seconds > RETRY_AFTER_MAX_MS / 1000)
		seconds = RETRY_AFTER_MAX_MS / 1000;
	return seconds > 0 ? (int64_t)seconds * 1000 : 0;
}

int
fetch_http_check_status(
	const struct fetch_http *http, enum pkg_error_kind not_found, struct pkg_error *err)
{
	long status = http->response.status;
	enum pkg_error_kind kind = PKG_E_INDEX_STATUS;
	pkg_autofree char *where = NULL;

	if (status >= 200 && status < 300)
		return 0;
	if (status == 401 || status == 403 || status == 407)
		kind = PKG_E_AUTH;
	else if (status == 404 || status == 410)
		kind = not_found;
	where = fetch_http_where(http);
	pkg_error_set(err, kind, "%s: HTTP status %ld", where, status);
	if (status == 401)
		pkg_error_cure(err, "%s",
			http->user ? "check the user name and password of this index"
				   : "put this index's user name and password into ~/.netrc");
	return -1;
}

static enum fetch_http_outcome
redirect(struct fetch_http *http, const struct fetch_options *options, struct pkg_error *err)
{
	pkg_cleanup_url struct pkg_url from = { 0 };
	pkg_cleanup_url struct pkg_url to = { 0 };
	pkg_autofree char *where = fetch_http_where(http);
	pkg_autofree char *target = NULL;

	if (++http->redirects > options->max_redirects) {
		pkg_error_set(err, PKG_E_INDEX_STATUS, "%s: more than %d redirects", where,
			options->max_redirects);
		return HTTP_FAILED;
	}
	if (http->response.location)
		target = pkg_url_resolve(http->url, http->response.location);
	if (!target || pkg_url_parse(http->url, &from, err) < 0 ||
		pkg_url_parse(target, &to, err) < 0) {
		pkg_error_set(err, PKG_E_INDEX_STATUS,
			"%s: HTTP status %ld without a usable http(s) location", where,
			http->response.status);
		return HTTP_FAILED;
	}
	if (strcmp(from.scheme, "https") == 0 && strcmp(to.scheme, "https") != 0) {
		pkg_error_set(err, PKG_E_TLS, "%s: redirected from https to plain http on %s",
			where, to.host);
		return HTTP_FAILED;
	}
	if (!same_origin(&from, &to)) {
		drop_credentials(http);
		if (!options->allow) {
			pkg_error_set(
				err, PKG_E_EGRESS_DENIED, "%s: redirected to %s", where, to.host);
			return HTTP_FAILED;
		}
	}
	free(http->url);
	http->url = pkg_url_redact(target);
	return HTTP_REDIRECTED;
}

struct code_row {
	CURLcode code;
	enum pkg_error_kind kind;
	enum fetch_http_outcome outcome;
};

static const struct code_row code_rows[] = {
	{ CURLE_COULDNT_RESOLVE_HOST, PKG_E_INDEX_UNREACHABLE, HTTP_RETRY_CONNECT },
	{ CURLE_COULDNT_RESOLVE_PROXY, PKG_E_INDEX_UNREACHABLE, HTTP_RETRY_CONNECT },
	{ CURLE_COULDNT_CONNECT, PKG_E_INDEX_UNREACHABLE, HTTP_RETRY_CONNECT },
	{ CURLE_PROXY, PKG_E_INDEX_UNREACHABLE, HTTP_RETRY_CONNECT },
	{ CURLE_SSL_CONNECT_ERROR, PKG_E_TLS, HTTP_RETRY_CONNECT },
	{ CURLE_PEER_FAILED_VERIFICATION, PKG_E_TLS, HTTP_FAILED },
	{ CURLE_SSL_CERTPROBLEM, PKG_E_TLS, HTTP_FAILED },
	{ CURLE_SSL_CIPHER, PKG_E_TLS, HTTP_FAILED },
	{ CURLE_SSL_CACERT_BADFILE, PKG_E_TLS, HTTP_FAILED },
	{ CURLE_SSL_INVALIDCERTSTATUS, PKG_E_TLS, HTTP_FAILED },
	{ CURLE_SSL_ISSUER_ERROR, PKG_E_TLS, HTTP_FAILED },
	{ CURLE_SSL_PINNEDPUBKEYNOTMATCH, PKG_E_TLS, HTTP_FAILED },
	{ CURLE_URL_MALFORMAT, PKG_E_INVALID, HTTP_FAILED },
	/* The scheme was checked before, so this is an answer that is not HTTP/1.0 or later. */
	{ CURLE_UNSUPPORTED_PROTOCOL, PKG_E_INDEX_STATUS, HTTP_FAILED },
	{ CURLE_FILESIZE_EXCEEDED, PKG_E_TOO_LARGE, HTTP_FAILED },
	{ CURLE_BAD_CONTENT_ENCODING, PKG_E_INDEX_STATUS, HTTP_FAILED },
	{ CURLE_WEIRD_SERVER_REPLY, PKG_E_INDEX_STATUS, HTTP_FAILED },
	/* The rest: resets, short bodies, broken HTTP/2 streams. */
	{ CURLE_OK, PKG_E_INDEX_UNREACHABLE, HTTP_RETRY },
};

/* What a proxy of ours (HTTPS_PROXY) answered to CONNECT is no word of the index. */
static bool
is_proxy_refusal(struct fetch_http *http, const char *where, struct pkg_error *err)
{
	long connect_status = 0;

	(void)curl_easy_getinfo(http->easy, CURLINFO_HTTP_CONNECTCODE, &connect_status);
	if (connect_status < 400 || is_transient(connect_status))
		return false;
	pkg_error_set(err, connect_status == 407 ? PKG_E_AUTH : PKG_E_EGRESS_DENIED,
		"%s: the proxy refused the connection with HTTP status %ld", where, connect_status);
	return true;
}

static enum fetch_http_outcome
timed_out(struct fetch_http *http, const char *where, bool stalled,
	const struct fetch_options *options, struct pkg_error *err)
{
	curl_off_t connected = 0;

	(void)curl_easy_getinfo(http->easy, CURLINFO_PRETRANSFER_TIME_T, &connected);
	if (!stalled && connected == 0) {
		pkg_error_set(err, PKG_E_INDEX_UNREACHABLE, "%s: no connection within %d ms", where,
			options->connect_timeout_ms);
		return HTTP_RETRY_CONNECT;
	}
	if (stalled)
		pkg_error_set(err, PKG_E_TIMEOUT, "%s: no byte for %d ms", where,
			options->stall_timeout_ms);
	else
		pkg_error_set(err, PKG_E_TIMEOUT, "%s: slower than 128 bytes a second", where);
	return HTTP_RETRY;
}

static enum fetch_http_outcome
judge_code(struct fetch_http *http, CURLcode code, const char *where, struct pkg_error *err)
{
	const struct code_row *row = code_rows;

	while (row->code != CURLE_OK && row->code != code)
		row++;
	if (is_proxy_refusal(http, where, err))
		return HTTP_FAILED;
	pkg_error_set(err, row->kind, "%s: %s", where,
		http->detail[0] ? http->detail : curl_easy_strerror(code));
	if (row->kind == PKG_E_TLS && row->outcome == HTTP_FAILED)
		pkg_error_cure(err,
			"if this index has a certificate authority of its own, name "
			"its file in SSL_CERT_FILE or as network.ca_bundle in pkgd.json");
	return row->outcome;
}

static enum fetch_http_outcome
verdict_outcome(struct fetch_http *http, struct pkg_error *err)
{
	if (http->verdict == FETCH_HTTP_GO || http->verdict == FETCH_HTTP_FINISHED)
		return HTTP_DONE;
	pkg_error_move(err, &http->failure);
	return http->verdict == FETCH_HTTP_AGAIN ? HTTP_RETRY : HTTP_FAILED;
}

enum fetch_http_outcome
fetch_http_judge(struct fetch_http *http, CURLcode code, bool stalled,
	const struct fetch_options *options, struct pkg_error *err)
{
	pkg_autofree char *where = fetch_http_where(http);

	(void)curl_easy_getinfo(http->easy, CURLINFO_RESPONSE_CODE, &http->response.status);
	/* A callback stopped it, and said why. */
	if (http->verdict != FETCH_HTTP_GO)
		return verdict_outcome(http, err);
	if (http->head_bytes > HEAD_MAX) {
		pkg_error_set(
			err, PKG_E_TOO_LARGE, "%s: more than %d bytes of headers", where, HEAD_MAX);
		return HTTP_FAILED;
	}
	if (stalled || code == CURLE_OPERATION_TIMEDOUT)
		return timed_out(http, where, stalled, options, err);
	if (code != CURLE_OK && !(code == CURLE_WRITE_ERROR && http->page_bytes > PAGE_MAX))
		return judge_code(http, code, where, err);
	if (is_redirect(http->response.status))
		return redirect(http, options, err);
	if (is_transient(http->response.status)) {
		(void)fetch_http_check_status(http, PKG_E_INDEX_STATUS, err);
		return HTTP_RETRY;
	}
	http->verdict = http->begun ? FETCH_HTTP_GO : begin(http);
	if (http->verdict == FETCH_HTTP_GO)
		http->verdict = http->ops->end(http, &http->failure);
	return verdict_outcome(http, err);
}
