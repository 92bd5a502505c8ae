#include "install/hosts.h"

#include <string.h>

#include "core/file.h"
#include "core/path.h"
#include "core/url.h"
#include "egress/session.h"

#define FILES_MAX (256 * 1024)
#define RULES_NAME "the hosts of this job's indexes"
#define CURE "add the host to network.hosts in pkgd.json"

static int
add_rule(struct install_hosts *hosts, const char *text, struct pkg_error *err)
{
	if (pkg_argv_has(hosts->texts, text))
		return 0;
	if (policy_host_rules_add(&hosts->rules, text, err) < 0)
		return -1;
	pkg_argv_add(hosts->texts, text);
	return 0;
}

static int
add_host(struct install_hosts *hosts, const char *host, int port, struct pkg_error *err)
{
	bool v6 = strchr(host, ':') != NULL;
	pkg_autofree char *rule =
		v6 ? pkg_xasprintf("[%s]:%d", host, port) : pkg_xasprintf("%s:%d", host, port);

	return add_rule(hosts, rule, err);
}

/* "pypi.org" lists files that are on another host. */
static int
add_companions(struct install_hosts *hosts, struct json_object *files, const char *host,
	struct pkg_error *err)
{
	struct json_object *list = pkg_json_array(files, host);
	size_t count = list != NULL ? json_object_array_length(list) : 0;

	for (size_t i = 0; i < count; i++) {
		const char *name = json_object_get_string(json_object_array_get_idx(list, i));

		if (add_host(hosts, name, 443, err) < 0)
			return -1;
	}
	return 0;
}

static int
add_url(struct install_hosts *hosts, struct json_object *files, const char *text,
	struct pkg_error *err)
{
	pkg_cleanup_url struct pkg_url url = { 0 };

	if (pkg_url_parse(text, &url, err) < 0)
		return -1;
	if (add_host(hosts, url.host, url.port, err) < 0)
		return -1;
	return add_companions(hosts, files, url.host, err);
}

int
install_hosts_collect(const struct pkg_home *home, const struct policy_config *config,
	const struct pkg_argv *urls, struct install_hosts *out, struct pkg_error *err)
{
	pkg_autofree char *path = pkg_path_join(home->share, "share/hosts/index-files.json");
	pkg_cleanup(pkg_json_put) struct json_object *table =
		pkg_json_read_file(path, FILES_MAX, err);

	if (table == NULL)
		return -1;
	out->texts = pkg_argv_new();
	out->mode = config->network_mode;
	if (out->mode == POLICY_NETWORK_DENY)
		return 0;
	for (size_t i = 0; i < urls->count; i++)
		if (add_url(out, pkg_json_get(table, "files"), urls->items[i], err) < 0)
			return -1;
	for (size_t i = 0; i < config->network_hosts->count; i++)
		if (add_rule(out, config->network_hosts->items[i], err) < 0)
			return pkg_error_prefix(err, "network.hosts");
	return 0;
}

void
install_hosts_clear(struct install_hosts *hosts)
{
	pkg_argv_free(hosts->texts);
	policy_host_rules_clear(&hosts->rules);
	*hosts = (struct install_hosts){ 0 };
}

int
install_hosts_write(const struct install_hosts *hosts, const char *path, struct pkg_error *err)
{
	pkg_cleanup(pkg_json_put) struct json_object *rules = pkg_json_from_argv(hosts->texts);

	return egress_session_write_rules(path, RULES_NAME, rules, CURE, NULL, err);
}

int
install_hosts_allow(const struct install_hosts *hosts, const char *text, struct pkg_error *err)
{
	pkg_cleanup_url struct pkg_url url = { 0 };
	struct policy_host host;
	pkg_autofree char *shown = NULL;

	if (pkg_url_parse(text, &url, err) < 0)
		return -1;
	shown = strchr(url.host, ':') != NULL ? pkg_xasprintf("[%s]", url.host)
					      : pkg_xstrdup(url.host);
	if (hosts->mode == POLICY_NETWORK_DENY) {
		pkg_error_set(
			err, PKG_E_EGRESS_DENIED, "%s:%d: network.mode is 'deny'", shown, url.port);
		return pkg_error_cure(err, "set network.mode to \"allowlist\" in pkgd.json");
	}
	if (policy_host_parse(shown, strlen(shown), &host, err) < 0)
		return -1;
	if (policy_host_match(&hosts->rules, &host, url.port, strcmp(url.scheme, "https") == 0) !=
		NULL)
		return 0;
	pkg_error_set(
		err, PKG_E_EGRESS_DENIED, "%s:%d is not among %s", shown, url.port, RULES_NAME);
	pkg_error_cure(err, "add \"%s:%d\" to network.hosts in pkgd.json", shown, url.port);
	return -1;
}
