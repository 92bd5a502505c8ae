#include "lang/r_sysreqs.h"

#include <dirent.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "core/file.h"
#include "core/path.h"
#include "core/text.h"

#define TABLE_MAX (1024 * 1024)
#define RELEASE_MAX (64 * 1024)
#define DIRECTORIES_MAX 64

struct lang_r_sysreqs {
	struct json_object *table; /* owned */
	struct pkg_argv *directories; /* owned; where headers are */
	bool apt;
	bool dnf;
};

/* /usr/include/x86_64-linux-gnu and its like. */
static void
add_directories(struct pkg_argv *out)
{
	DIR *dir = opendir("/usr/include");
	const struct dirent *entry;

	pkg_argv_add(out, "/usr/include", "/usr/local/include");
	while (dir && out->count < DIRECTORIES_MAX && (entry = readdir(dir)) != NULL)
		if (strstr(entry->d_name, "-linux-"))
			pkg_argv_take(out, pkg_path_join("/usr/include", entry->d_name));
	if (dir)
		closedir(dir);
}

static void
read_release(struct lang_r_sysreqs *sysreqs)
{
	pkg_cleanup_buf struct pkg_buf text = { 0 };
	const char *at;

	if (pkg_file_read("/etc/os-release", RELEASE_MAX, &text, NULL) == 0) {
		at = pkg_buf_str(&text);
		sysreqs->apt = strstr(at, "debian") || strstr(at, "ubuntu");
		sysreqs->dnf = strstr(at, "fedora") || strstr(at, "rhel");
	}
	if (!sysreqs->apt && !sysreqs->dnf)
		sysreqs->apt = sysreqs->dnf = true;
}

struct lang_r_sysreqs *
lang_r_sysreqs_open(const struct pkg_home *home, struct pkg_error *err)
{
	pkg_autofree char *path = pkg_path_join(home->share, "share/sysreqs.json");
	struct json_object *table = pkg_json_read_file(path, TABLE_MAX, err);
	struct lang_r_sysreqs *sysreqs;

	if (!table)
		return NULL;
	sysreqs = pkg_xcalloc(1, sizeof(*sysreqs));
	sysreqs->table = table;
	sysreqs->directories = pkg_argv_new();
	add_directories(sysreqs->directories);
	read_release(sysreqs);
	return sysreqs;
}

void
lang_r_sysreqs_free(struct lang_r_sysreqs *sysreqs)
{
	if (!sysreqs)
		return;
	json_object_put(sysreqs->table);
	pkg_argv_free(sysreqs->directories);
	free(sysreqs);
}

static bool
matches(const char *pattern, const char *text)
{
	regex_t regex;
	bool found;

	if (regcomp(&regex, pattern, REG_EXTENDED | REG_ICASE | REG_NOSUB) != 0)
		return false;
	found = regexec(&regex, text, 0, NULL, 0) == 0;
	regfree(&regex);
	return found;
}

/* One spelling of the header is enough. */
static bool
is_there(const struct lang_r_sysreqs *sysreqs, struct json_object *headers)
{
	for (size_t i = 0; headers && i < json_object_array_length(headers); i++)
		for (size_t j = 0; j < sysreqs->directories->count; j++) {
			pkg_autofree char *path = pkg_path_join(sysreqs->directories->items[j],
				json_object_get_string(json_object_array_get_idx(headers, i)));

			if (pkg_file_exists(path))
				return true;
		}
	return false;
}

static char *
command(const struct lang_r_sysreqs *sysreqs, struct json_object *rule)
{
	const char *apt = sysreqs->apt ? pkg_json_str(rule, "apt") : NULL;
	const char *dnf = sysreqs->dnf ? pkg_json_str(rule, "dnf") : NULL;

	return pkg_xasprintf("%s%s%s%s%s", apt ? "apt-get install " : "", apt ? apt : "",
		apt && dnf ? ", or " : "", dnf ? "dnf install " : "", dnf ? dnf : "");
}

char *
lang_r_sysreqs_missing(const struct lang_r_sysreqs *sysreqs, const char *requirements)
{
	struct json_object *rules = pkg_json_array(sysreqs->table, "rules");
	struct pkg_buf out = { 0 };

	for (size_t i = 0; rules && i < json_object_array_length(rules); i++) {
		struct json_object *rule = json_object_array_get_idx(rules, i);
		struct json_object *headers = pkg_json_array(rule, "headers");
		pkg_autofree char *cure = NULL;

		if (!matches(pkg_json_str_or(rule, "match", "^$"), requirements) ||
			is_there(sysreqs, headers))
			continue;
		cure = command(sysreqs, rule);
		pkg_buf_addf(&out, "%s%s is not there: %s", out.len > 0 ? "; " : "",
			json_object_get_string(json_object_array_get_idx(headers, 0)), cure);
	}
	return out.len > 0 ? pkg_buf_steal(&out) : NULL;
}

char *
lang_r_sysreqs_cure(const struct lang_r_sysreqs *sysreqs, const char *header)
{
	struct json_object *rules = pkg_json_array(sysreqs->table, "rules");

	for (size_t i = 0; rules && i < json_object_array_length(rules); i++) {
		struct json_object *rule = json_object_array_get_idx(rules, i);
		struct json_object *headers = pkg_json_array(rule, "headers");

		for (size_t j = 0; headers && j < json_object_array_length(headers); j++)
			if (strcmp(json_object_get_string(json_object_array_get_idx(headers, j)),
				    header) == 0)
				return command(sysreqs, rule);
	}
	return NULL;
}
