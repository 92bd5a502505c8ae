#include "egress/rules.h"

#include "core/json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int
read_string(struct json_object *value, const char *key, char **out, struct pkg_error *err)
{
	if (!json_object_is_type(value, json_type_string))
		return pkg_error_set(err, PKG_E_INVALID, "'%s' is not a string", key);
	free(*out);
	*out = pkg_xstrdup(json_object_get_string(value));
	return 0;
}

static int
read_object(struct json_object *object, struct egress_rules *rules, struct pkg_error *err)
{
	bool listed = false;

	if (!json_object_is_type(object, json_type_object))
		return pkg_error_set(err, PKG_E_INVALID, "not an object");
	json_object_object_foreach(object, key, value)
	{
		int rc;

		if (strcmp(key, "rules") == 0) {
			listed = true;
			rc = policy_host_rules_add_json(&rules->list, value, err);
		} else if (strcmp(key, "name") == 0) {
			rc = read_string(value, key, &rules->name, err);
		} else if (strcmp(key, "cure") == 0) {
			rc = read_string(value, key, &rules->cure, err);
		} else if (strcmp(key, "limits") == 0) {
			rc = egress_limits_set_json(&rules->limits, value, err);
		} else {
			rc = pkg_error_set(err, PKG_E_INVALID, "unknown key '%.64s'", key);
		}
		if (rc < 0)
			return -1;
	}
	return listed ? 0 : pkg_error_set(err, PKG_E_INVALID, "'rules' is missing");
}

struct egress_rules *
egress_rules_load(const char *path, struct pkg_error *err)
{
	struct json_object *object = pkg_json_read_file(path, EGRESS_RULES_BYTES, err);
	struct egress_rules *rules;

	if (!object) {
		pkg_error_prefix(err, "host rules");
		return NULL;
	}
	rules = pkg_xcalloc(1, sizeof(*rules));
	rules->references = 1;
	rules->name = pkg_xstrdup("default");
	rules->cure = pkg_xstrdup("");
	egress_limits_default(&rules->limits);
	if (read_object(object, rules, err) < 0) {
		pkg_error_prefix(err, "host rules %s", path);
		egress_rules_put(rules);
		rules = NULL;
	}
	json_object_put(object);
	return rules;
}

struct egress_rules *
egress_rules_get(struct egress_rules *rules)
{
	rules->references++;
	return rules;
}

void
egress_rules_put(struct egress_rules *rules)
{
	if (!rules || --rules->references > 0)
		return;
	policy_host_rules_clear(&rules->list);
	free(rules->name);
	free(rules->cure);
	free(rules);
}

int
egress_rules_file_open(struct egress_rules_file *file, const char *path, struct pkg_error *err)
{
	memset(file, 0, sizeof(*file));
	file->path = pkg_xstrdup(path);
	if (egress_rules_file_refresh(file, err) < 0 || !file->current) {
		egress_rules_file_close(file);
		return -1;
	}
	return 0;
}

static bool
same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
		a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
		a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
		a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

int
egress_rules_file_refresh(struct egress_rules_file *file, struct pkg_error *err)
{
	struct stat now = { 0 };
	struct egress_rules *rules;
	int error = stat(file->path, &now) < 0 ? errno : 0;

	/* A file that is gone looks like all zeros, so its absence is reported once as well. Looked
	 * at before it is read: a change in between is then seen next time. */
	if (file->current && same(&now, &file->seen))
		return 0;
	file->seen = now;
	if (error)
		return pkg_error_errno(err, error, "host rules %s", file->path);
	rules = egress_rules_load(file->path, err);
	if (!rules)
		return -1;
	egress_rules_put(file->current);
	file->current = rules;
	return 0;
}

void
egress_rules_file_close(struct egress_rules_file *file)
{
	egress_rules_put(file->current);
	free(file->path);
	memset(file, 0, sizeof(*file));
}
