#include "policy/trust.h"

#include <stdlib.h>
#include <string.h>

#include "core/file.h"
#include "core/path.h"
#include "core/sha256.h"

#define BUNDLE_MAX (8 * 1024 * 1024)
#define MARK "-----BEGIN CERTIFICATE-----"

extern char **environ;

/* Where distributions keep the roots; the first that is there. */
static const char *const system_bundles[] = { "/etc/ssl/certs/ca-certificates.crt",
	"/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem" };

static const char *const variables[] = { "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "PIP_CERT",
	"CURL_CA_BUNDLE" };

static const char *
lookup(char *const *environment, const char *name)
{
	size_t len = strlen(name);

	for (; environment && *environment; environment++)
		if (strncmp(*environment, name, len) == 0 && (*environment)[len] == '=')
			return *environment + len + 1;
	return NULL;
}

static const char *
system_bundle(void)
{
	for (size_t i = 0; i < PKG_ARRAY_LEN(system_bundles); i++)
		if (pkg_file_exists(system_bundles[i]))
			return system_bundles[i];
	return NULL;
}

/* Appends a file that has certificates in it; what is there already, as a whole, is not repeated. */
static int
add_file(const char *path, struct pkg_buf *out, struct pkg_error *err)
{
	pkg_cleanup_buf struct pkg_buf text = { 0 };

	if (pkg_file_read(path, BUNDLE_MAX, &text, err) < 0)
		return -1;
	if (!strstr(pkg_buf_str(&text), MARK))
		return pkg_error_set(err, PKG_E_INVALID, "'%s' holds no certificate", path);
	if (strstr(pkg_buf_str(out), pkg_buf_str(&text)))
		return 0;
	if (out->len + text.len > 2 * BUNDLE_MAX)
		return pkg_error_set(
			err, PKG_E_TOO_LARGE, "'%s' makes too many certificates", path);
	pkg_buf_add_mem(out, text.data, text.len);
	pkg_buf_add(out, "\n");
	return 0;
}

static int
add_configured(const struct policy_config *config, struct pkg_buf *out, struct pkg_error *err)
{
	if (!config->network_ca_bundle || add_file(config->network_ca_bundle, out, err) == 0)
		return 0;
	if (err)
		err->kind = PKG_E_CONFIG;
	return pkg_error_prefix(err, "network.ca_bundle");
}

static int
keep(const struct pkg_home *home, const struct pkg_buf *text, char **out, struct pkg_error *err)
{
	char hash[PKG_SHA256_HEX];
	pkg_autofree char *path = NULL;

	pkg_sha256_hex(text->data, text->len, hash);
	path = pkg_path_joinf(home->run, "ca-%.16s.pem", hash);
	/* Its name says what is in it, and nobody else writes there. */
	if (!pkg_file_exists(path) &&
		(pkg_dir_make(home->run, 0700, err) < 0 ||
			pkg_file_write(path, text->data, text->len, 0644, false, err) < 0))
		return pkg_error_prefix(err, "trusted certificates");
	*out = pkg_steal_ptr(&path);
	return 0;
}

int
policy_trust_bundle(const struct policy_config *config, const struct pkg_home *home,
	char *const *environment, char **out, struct pkg_error *err)
{
	pkg_cleanup_buf struct pkg_buf text = { 0 };
	const char *roots = system_bundle();
	size_t own;

	*out = NULL;
	if (roots && add_file(roots, &text, NULL) < 0)
		pkg_buf_truncate(&text, 0);
	own = text.len;
	if (add_configured(config, &text, err) < 0)
		return -1;
	for (size_t i = 0; i < PKG_ARRAY_LEN(variables); i++) {
		const char *path = lookup(environment, variables[i]);

		if (path && path[0] == '/')
			(void)add_file(path, &text, NULL);
	}
	return text.len == own ? 0 : keep(home, &text, out, err);
}

int
policy_trust_apply(struct policy_config *config, const struct pkg_home *home, struct pkg_error *err)
{
	char *path = NULL;

	if (policy_trust_bundle(config, home, environ, &path, err) < 0)
		return -1;
	free(config->network_ca_bundle);
	config->network_ca_bundle = path;
	return 0;
}
