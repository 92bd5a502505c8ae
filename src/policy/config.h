/* policy/config.h - pkgd.json, read, checked and merged.
 * Purpose    One plain record of everything that can be configured. Order: built-in defaults, then the
 *            system's file (/etc/pkgd/pkgd.json, which can lock keys), then the user's (<config>/pkgd.json),
 *            then the environment (PKGD_SANDBOX_MODE, PKGD_PYTHON_INDEX_URL, ...: the key in upper case, dots
 *            as underscores). With PKGD_HOME only <PKGD_HOME>/config/pkgd.json and the environment count.
 *            JSON with comments; the schema is share/pkgd.schema.json and pkg.json(5) describes every key.
 * Ownership  The struct owns everything in it.
 * Errors     PKG_E_CONFIG: file, line, the key, what is wrong, the nearest known key; a locked key that a
 *            lower file sets is an error too. A missing file is not.
 */
#ifndef POLICY_CONFIG_H
#define POLICY_CONFIG_H
#include "core/argv.h"
#include "core/error.h"
#include "core/home.h"
#include "core/json.h"
#include <stdbool.h>
#include <stdint.h>

enum policy_network { POLICY_NETWORK_DENY, POLICY_NETWORK_ALLOWLIST, POLICY_NETWORK_ALLOW };

/* A limit not set is 0; "unlimited" is INT64_MAX. Order as enum sandbox_purpose: probe plan build apply verify
 * kernel. */
#define POLICY_PURPOSES 6
struct policy_limits {
	int64_t wall_seconds;
	int64_t cpu_seconds;
	int64_t memory_bytes;
	int64_t processes;
	int64_t file_bytes;
	int64_t open_files;
	int64_t disk_bytes;
	int64_t output_bytes;
};

struct policy_config {
	/* python.* */
	struct pkg_argv *python_interpreters; /* absolute paths, tried before PATH */
	char *python_minimum; /* "3.8" */
	char *python_index_url;
	struct pkg_argv *python_extra_index_urls;
	char *python_engine; /* "auto", "native", "pip" */
	/* r.* */
	struct pkg_argv *r_interpreters;
	char *r_minimum; /* "4.0" */
	struct pkg_argv *r_repos;
	/* network.* */
	enum policy_network network_mode;
	struct pkg_argv *
		network_hosts; /* rules for kernels and, when an index serves files elsewhere, installs */
	struct pkg_argv *network_include; /* names of share/hosts/NAME.json */
	char *network_ca_bundle; /* NULL: the system's */
	/* sandbox.* */
	char *sandbox_mode; /* "enforce", "auto", "off" */
	struct policy_limits sandbox_limits[POLICY_PURPOSES];
	/* fetch.* */
	int64_t fetch_parallel;
	int64_t fetch_retries;
	int64_t fetch_max_bytes;
	/* cards.* */
	int64_t cards_expire_hours;
	/* retention.* */
	int64_t retention_generations; /* old generations kept per environment */
	/* daemon.* */
	int64_t daemon_parallel_jobs;
	int64_t daemon_idle_exit_seconds; /* a user daemon without jobs, cards or listeners; 0: never */
	char *daemon_log_level;
	/* provenance: "default", a file's path, or "environment" per dotted key */
	struct json_object *origins;
};

int policy_config_load(
	const struct pkg_home *home, struct policy_config *out, struct pkg_error *err);
/* Checks one file alone; the same code as the loader. */
int policy_config_check(const char *path, struct pkg_error *err);
void policy_config_clear(struct policy_config *config);
#define pkg_cleanup_policy_config __attribute__((cleanup(policy_config_clear)))
/* What is in force, with secrets redacted, and where each value came from. Given. */
struct json_object *policy_config_show(const struct policy_config *config);
/* All host rules that share/hosts/NAME.json of network.include and network.hosts give. Appended. */
int policy_config_hosts(const struct policy_config *config, const struct pkg_home *home,
	struct pkg_argv *out, struct pkg_error *err);
#endif
