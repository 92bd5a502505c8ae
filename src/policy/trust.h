/* policy/trust.h - which certificate authorities are trusted.
 * Purpose    The system's roots and, beside them, every bundle that somebody named: network.ca_bundle,
 *            SSL_CERT_FILE, REQUESTS_CA_BUNDLE, PIP_CERT, CURL_CA_BUNDLE. A company's own authority is added
 *            by them, so they add and never replace. One file, so that our fetcher, pip, R, curl and git
 *            trust the same.
 * Ownership  *out is given; the file lies in home->run under a name made of its contents, and stays.
 * Errors     PKG_E_CONFIG for network.ca_bundle that is no bundle; a variable that leads to none is not
 *            ours to judge and is left out.
 */
#ifndef POLICY_TRUST_H
#define POLICY_TRUST_H
#include "core/home.h"
#include "policy/config.h"

/* environment: the caller's, NULL-terminated. *out NULL: nobody named anything, the system's own will do. */
int policy_trust_bundle(const struct policy_config *config, const struct pkg_home *home,
	char *const *environment, char **out, struct pkg_error *err);
/* The same with our own environment, put in the place of network_ca_bundle. */
int policy_trust_apply(
	struct policy_config *config, const struct pkg_home *home, struct pkg_error *err);
#endif
