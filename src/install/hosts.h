/* install/hosts.h - which hosts one job may reach.
 * Purpose    The hosts of the indexes and URLs in use, the hosts that a known index keeps its files on
 *            (share/hosts/index-files.json), and network.hosts of the configuration: nothing else. Written as
 *            the rules file of pkg-proxy, and asked by our own fetcher for every hop.
 * Ownership  struct install_hosts is the caller's storage and owns what is in it.
 * Errors     PKG_E_INVALID for a URL that is none; PKG_E_EGRESS_DENIED names the host, the list and the cure.
 */
#ifndef INSTALL_HOSTS_H
#define INSTALL_HOSTS_H
#include "core/home.h"
#include "policy/config.h"
#include "policy/hostrule.h"

struct install_hosts {
	enum policy_network
		mode; /* network.mode: with "deny" there are no rules and no host is allowed */
	struct pkg_argv *texts; /* owned; the rules as they go into the file */
	struct policy_host_rules rules; /* the same, parsed */
};
/* urls: index URLs and direct URLs of the request. */
int install_hosts_collect(const struct pkg_home *home, const struct policy_config *config,
	const struct pkg_argv *urls, struct install_hosts *out, struct pkg_error *err);
void install_hosts_clear(struct install_hosts *hosts);
int install_hosts_write(const struct install_hosts *hosts, const char *path, struct pkg_error *err);
int install_hosts_allow(const struct install_hosts *hosts, const char *url, struct pkg_error *err);
#endif
