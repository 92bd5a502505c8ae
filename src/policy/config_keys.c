#include "policy/config_keys.h"

#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "core/text.h"
#include "core/url.h"
#include "policy/hostrule.h"

static int
check_absolute(const char *value, struct pkg_error *err)
{
	if (value[0] == '/')
		return 0;
	return pkg_error_set(err, PKG_E_CONFIG, "'%.200s' is not an absolute path", value);
}

static int
check_index_url(const char *value, struct pkg_error *err)
{
	pkg_cleanup_url struct pkg_url url = { 0 };

	if (pkg_url_parse(value, &url, err) == 0)
		return 0;
	if (err != NULL)
		err->kind = PKG_E_CONFIG;
	return -1;
}

static int
check_host_rule(const char *value, struct pkg_error *err)
{
	struct policy_host_rule rule = { 0 };

	if (policy_host_rule_parse(value, &rule, err) == 0) {
		policy_host_rule_clear(&rule);
		return 0;
	}
	if (err != NULL)
		err->kind = PKG_E_CONFIG;
	return -1;
}

/* Names of files in share/hosts: never a path. */
static int
check_list_name(const char *value, struct pkg_error *err)
{
	if (*value != '\0' &&
		strspn(value, "abcdefghijklmnopqrstuvwxyz0123456789-") == strlen(value))
		return 0;
	return pkg_error_set(err, PKG_E_CONFIG, "'%.80s' is no name of a host list", value);
}

static int
check_minor(const char *value, struct pkg_error *err)
{
	char *end = NULL;

	if (strtol(value, &end, 10) >= 2 && *end == '.' && strtol(end + 1, &end, 10) >= 0 &&
		*end == '\0' && end[-1] != '.')
		return 0;
	return pkg_error_set(err, PKG_E_CONFIG, "'%.40s' is not a version like 3.9", value);
}

static int
check_word(const char *value, const char *const *words, size_t count, struct pkg_error *err)
{
	struct pkg_buf list = { 0 };

	for (size_t i = 0; i < count; i++) {
		if (strcmp(value, words[i]) == 0) {
			pkg_buf_clear(&list);
			return 0;
		}
		pkg_buf_addf(&list, "%s'%s'",
			i == 0			 ? ""
				: i + 1 == count ? " or "
						 : ", ",
			words[i]);
	}
	pkg_error_set(
		err, PKG_E_CONFIG, "'%.80s' is not known: it is %s", value, pkg_buf_str(&list));
	pkg_buf_clear(&list);
	return -1;
}

static int
check_mode(const char *value, struct pkg_error *err)
{
	static const char *const words[] = { "enforce", "auto", "off" };

	return check_word(value, words, PKG_ARRAY_LEN(words), err);
}

static int
check_engine(const char *value, struct pkg_error *err)
{
	static const char *const words[] = { "auto", "native", "pip" };

	return check_word(value, words, PKG_ARRAY_LEN(words), err);
}

static int
check_level(const char *value, struct pkg_error *err)
{
	static const char *const words[] = { "error", "warn", "info", "debug" };

	return check_word(value, words, PKG_ARRAY_LEN(words), err);
}

#define AT(field) offsetof(struct policy_config, field)
#define TEXT(key, field, fallback, check)                                                          \
	{                                                                                          \
		key, POLICY_KEY_TEXT, AT(field), fallback, 0, 0, check                             \
	}
#define LIST(key, field, fallback, check)                                                          \
	{                                                                                          \
		key, POLICY_KEY_LIST, AT(field), fallback, 0, 0, check                             \
	}
#define NUMBER(key, field, fallback, min, max)                                                     \
	{                                                                                          \
		key, POLICY_KEY_NUMBER, AT(field), fallback, min, max, NULL                        \
	}
/* 0 leaves a limit to the table of sandbox/purpose.c. */
#define LIMIT(purpose, index, key)                                                                 \
	{                                                                                          \
		"sandbox.limits." purpose "." #key, POLICY_KEY_LIMIT,                              \
			AT(sandbox_limits) + (index) * sizeof(struct policy_limits) +              \
			offsetof(struct policy_limits, key),                                       \
			"0", 1, INT64_MAX, NULL                                                    \
	}
#define LIMITS(purpose, index)                                                                     \
	LIMIT(purpose, index, wall_seconds), LIMIT(purpose, index, cpu_seconds),                   \
		LIMIT(purpose, index, memory_bytes), LIMIT(purpose, index, processes),             \
		LIMIT(purpose, index, file_bytes), LIMIT(purpose, index, open_files),              \
		LIMIT(purpose, index, disk_bytes), LIMIT(purpose, index, output_bytes)

#define GIB (1024LL * 1024 * 1024)

const struct policy_key policy_keys[] = {
	LIST("python.interpreters", python_interpreters, "", check_absolute),
	TEXT("python.minimum", python_minimum, "3.8", check_minor),
	TEXT("python.index_url", python_index_url, "https://pypi.org/simple/", check_index_url),
	LIST("python.extra_index_urls", python_extra_index_urls, "", check_index_url),
	TEXT("python.engine", python_engine, "auto", check_engine),
	LIST("r.interpreters", r_interpreters, "", check_absolute),
	TEXT("r.minimum", r_minimum, "4.0", check_minor),
	LIST("r.repos", r_repos, "https://cloud.r-project.org", check_index_url),
	{ "network.mode", POLICY_KEY_NETWORK, AT(network_mode), "allowlist", 0, 0, NULL },
	LIST("network.hosts", network_hosts, "", check_host_rule),
	LIST("network.include", network_include, "", check_list_name),
	TEXT("network.ca_bundle", network_ca_bundle, NULL, check_absolute),
	TEXT("sandbox.mode", sandbox_mode, "enforce", check_mode),
	LIMITS("probe", 0),
	LIMITS("plan", 1),
	LIMITS("build", 2),
	LIMITS("apply", 3),
	LIMITS("verify", 4),
	LIMITS("kernel", 5),
	NUMBER("fetch.parallel", fetch_parallel, "8", 1, 64),
	NUMBER("fetch.retries", fetch_retries, "4", 0, 20),
	NUMBER("fetch.max_bytes", fetch_max_bytes, "8589934592", 1, 1024 * GIB),
	NUMBER("cards.expire_hours", cards_expire_hours, "24", 1, 24 * 365),
	NUMBER("retention.generations", retention_generations, "3", 0, 1000),
	NUMBER("daemon.parallel_jobs", daemon_parallel_jobs, "4", 1, 64),
	NUMBER("daemon.idle_exit_seconds", daemon_idle_exit_seconds, "0", 0, 7 * 24 * 3600),
	TEXT("daemon.log_level", daemon_log_level, "info", check_level),
};
const size_t policy_key_count = PKG_ARRAY_LEN(policy_keys);

const struct policy_key *
policy_key_find(const char *name)
{
	for (size_t i = 0; i < policy_key_count; i++)
		if (strcmp(policy_keys[i].name, name) == 0)
			return &policy_keys[i];
	return NULL;
}

const char *
policy_key_nearest(const char *name)
{
	const char *nearest = NULL;
	size_t best = strlen(name) / 3 + 2;

	for (size_t i = 0; i < policy_key_count; i++) {
		size_t distance = pkg_text_distance(name, policy_keys[i].name);

		if (distance < best) {
			best = distance;
			nearest = policy_keys[i].name;
		}
	}
	return nearest;
}
