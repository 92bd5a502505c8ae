/* Layers, lowest first: the table's fallbacks, the system's file, the user's file, the environment. Each later one
 * replaces single keys. Line numbers are found by looking a key's parts up in the text of its file, one after the
 * other: a key that stands twice is told by its first line. */
#include "policy/config.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/file.h"
#include "core/path.h"
#include "core/url.h"
#include "policy/config_keys.h"

#define CONFIG_MAX (1024 * 1024)
#define HOSTS_MAX (1024 * 1024)
#define SYSTEM_FILE "/etc/pkgd/pkgd.json"
#define LOCK_KEY "locked"

struct layer {
	const char *origin; /* a path, or "environment" */
	const char *text; /* of the file; NULL: the environment */
	struct policy_config *config;
	const struct pkg_argv *locked; /* keys that may not be set here; may be NULL */
};

static void *
slot_of(struct policy_config *config, const struct policy_key *key)
{
	return (char *)config + key->offset;
}

/* --- setting one value --- */

static int
check_value(const struct policy_key *key, const char *value, struct pkg_error *err)
{
	return key->check != NULL ? key->check(value, err) : 0;
}

static int
set_number(struct policy_config *config, const struct policy_key *key, int64_t value,
	struct pkg_error *err)
{
	if (value < key->min || value > key->max)
		return pkg_error_set(err, PKG_E_CONFIG, "%lld is outside %lld to %lld",
			(long long)value, (long long)key->min, (long long)key->max);
	*(int64_t *)slot_of(config, key) = value;
	return 0;
}

static int
set_network(struct policy_config *config, const struct policy_key *key, const char *text,
	struct pkg_error *err)
{
	static const char *const words[] = { "deny", "allowlist", "allow" };

	for (size_t i = 0; i < PKG_ARRAY_LEN(words); i++) {
		if (strcmp(text, words[i]) != 0)
			continue;
		*(enum policy_network *)slot_of(config, key) = (enum policy_network)i;
		return 0;
	}
	return pkg_error_set(err, PKG_E_CONFIG,
		"'%.80s' is not known: it is 'deny', 'allowlist' or 'allow'", text);
}

static int
set_text(struct policy_config *config, const struct policy_key *key, const char *text,
	struct pkg_error *err)
{
	char **slot = slot_of(config, key);

	if (check_value(key, text, err) < 0)
		return -1;
	free(*slot);
	*slot = pkg_xstrdup(text);
	return 0;
}

/* Takes list. */
static int
set_list(struct policy_config *config, const struct policy_key *key, struct pkg_argv *list,
	struct pkg_error *err)
{
	struct pkg_argv **slot = slot_of(config, key);

	for (size_t i = 0; i < list->count; i++) {
		if (check_value(key, list->items[i], err) < 0) {
			pkg_argv_free(list);
			return -1;
		}
	}
	pkg_argv_free(*slot);
	*slot = list;
	return 0;
}

static int
parse_number(const struct policy_key *key, const char *text, int64_t *out, struct pkg_error *err)
{
	char *end = NULL;

	if (key->type == POLICY_KEY_LIMIT && strcmp(text, "unlimited") == 0) {
		*out = INT64_MAX;
		return 0;
	}
	errno = 0;
	*out = strtoll(text, &end, 10);
	if (errno != 0 || end == text || *end != '\0')
		return pkg_error_set(err, PKG_E_CONFIG, "'%.80s' is not a whole number%s", text,
			key->type == POLICY_KEY_LIMIT ? " or \"unlimited\"" : "");
	return 0;
}

static struct pkg_argv *
split_blanks(const char *text)
{
	struct pkg_argv *list = pkg_argv_new();

	while (*(text += strspn(text, " \t\n")) != '\0') {
		size_t len = strcspn(text, " \t\n");

		pkg_argv_take(list, pkg_xstrndup(text, len));
		text += len;
	}
	return list;
}

static int
set_from_text(struct policy_config *config, const struct policy_key *key, const char *text,
	struct pkg_error *err)
{
	int64_t number = 0;

	switch (key->type) {
	case POLICY_KEY_TEXT:
		return set_text(config, key, text, err);
	case POLICY_KEY_LIST:
		return set_list(config, key, split_blanks(text), err);
	case POLICY_KEY_NETWORK:
		return set_network(config, key, text, err);
	case POLICY_KEY_NUMBER:
	case POLICY_KEY_LIMIT:
		if (parse_number(key, text, &number, err) < 0)
			return -1;
		return set_number(config, key, number, err);
	}
	return -1;
}

static int
wrong_type(const char *wanted, struct json_object *value, struct pkg_error *err)
{
	return pkg_error_set(err, PKG_E_CONFIG, "%s is wanted, %s is there", wanted,
		value == NULL ? "null" : json_type_to_name(json_object_get_type(value)));
}

static int
set_json_list(struct policy_config *config, const struct policy_key *key, struct json_object *value,
	struct pkg_error *err)
{
	struct pkg_argv *list;

	if (!json_object_is_type(value, json_type_array))
		return wrong_type("a list of texts", value, err);
	list = pkg_argv_new();
	for (size_t i = 0; i < json_object_array_length(value); i++) {
		struct json_object *item = json_object_array_get_idx(value, i);

		if (!json_object_is_type(item, json_type_string)) {
			pkg_argv_free(list);
			return wrong_type("a list of texts", item, err);
		}
		pkg_argv_add(list, json_object_get_string(item));
	}
	return set_list(config, key, list, err);
}

static int
set_from_json(struct policy_config *config, const struct policy_key *key, struct json_object *value,
	struct pkg_error *err)
{
	bool is_text = json_object_is_type(value, json_type_string);

	switch (key->type) {
	case POLICY_KEY_LIST:
		return set_json_list(config, key, value, err);
	case POLICY_KEY_TEXT:
	case POLICY_KEY_NETWORK:
		if (!is_text)
			return wrong_type("a text", value, err);
		return set_from_text(config, key, json_object_get_string(value), err);
	case POLICY_KEY_NUMBER:
	case POLICY_KEY_LIMIT:
		if (json_object_is_type(value, json_type_int))
			return set_number(config, key, json_object_get_int64(value), err);
		if (is_text && key->type == POLICY_KEY_LIMIT)
			return set_from_text(config, key, json_object_get_string(value), err);
		return wrong_type("a whole number", value, err);
	}
	return -1;
}

/* --- where it stands --- */

/* "name" with a colon behind it. */
static const char *
find_member(const char *text, const char *name, size_t len)
{
	pkg_autofree char *quoted = pkg_xasprintf("\"%.*s\"", (int)len, name);

	for (const char *found = text; (found = strstr(found, quoted)) != NULL; found++) {
		const char *after = found + len + 2;

		if (after[strspn(after, " \t\r\n")] == ':')
			return found;
	}
	return NULL;
}

static const char *
find_key(const char *text, const char *dotted)
{
	const char *whole = find_member(text, dotted, strlen(dotted));

	/* Keys may be written with their dots, too. */
	if (whole != NULL)
		return whole;
	for (;;) {
		size_t len = strcspn(dotted, ".");

		text = find_member(text, dotted, len);
		if (text == NULL || dotted[len] == '\0')
			return text;
		dotted += len + 1;
	}
}

static int
line_of(const char *text, const char *dotted)
{
	const char *found = find_key(text, dotted);
	int line = 1;

	if (found == NULL)
		return 0;
	for (const char *p = text; p < found; p++)
		line += *p == '\n';
	return line;
}

static int
blame(const struct layer *layer, const char *dotted, struct pkg_error *err)
{
	int line = layer->text != NULL ? line_of(layer->text, dotted) : 0;

	if (line > 0)
		return pkg_error_prefix(err, "%s, line %d: %s", layer->origin, line, dotted);
	return pkg_error_prefix(err, "%s: %s", layer->origin, dotted);
}

static int
unknown_key(const struct layer *layer, const char *dotted, struct pkg_error *err)
{
	const char *near = policy_key_nearest(dotted);

	pkg_error_set(err, PKG_E_CONFIG, "there is no such key");
	blame(layer, dotted, err);
	if (near != NULL)
		pkg_error_cure(err, "did you mean %s?", near);
	return -1;
}

static int
take_value(const struct layer *layer, const struct policy_key *key, struct json_object *value,
	struct pkg_error *err)
{
	if (layer->locked != NULL && pkg_argv_has(layer->locked, key->name)) {
		pkg_error_set(err, PKG_E_CONFIG, "the system's configuration locks it");
		return blame(layer, key->name, err);
	}
	if (set_from_json(layer->config, key, value, err) < 0)
		return blame(layer, key->name, err);
	pkg_json_set_str(layer->config->origins, key->name, layer->origin);
	return 0;
}

/* Some key's name begins with it and a dot. */
static bool
is_group(const char *dotted)
{
	size_t len = strlen(dotted);

	for (size_t i = 0; i < policy_key_count; i++)
		if (strncmp(policy_keys[i].name, dotted, len) == 0 &&
			policy_keys[i].name[len] == '.')
			return true;
	return false;
}

/* Objects nest as the dots of the names do. */
static int
take_object(const struct layer *layer, const char *prefix, struct json_object *object,
	struct pkg_error *err)
{
	json_object_object_foreach(object, name, value)
	{
		pkg_autofree char *dotted =
			*prefix != '\0' ? pkg_xasprintf("%s.%s", prefix, name) : pkg_xstrdup(name);
		const struct policy_key *key = policy_key_find(dotted);

		if (strcmp(dotted, LOCK_KEY) == 0)
			continue;
		if (key != NULL) {
			if (take_value(layer, key, value, err) < 0)
				return -1;
		} else if (is_group(dotted) && !json_object_is_type(value, json_type_object)) {
			(void)wrong_type("an object", value, err);
			return blame(layer, dotted, err);
		} else if (json_object_is_type(value, json_type_object) && strlen(dotted) < 64 &&
			(is_group(dotted) || json_object_object_length(value) > 0)) {
			/* Also into a group that is none: its first key tells what was meant. */
			if (take_object(layer, dotted, value, err) < 0)
				return -1;
		} else {
			return unknown_key(layer, dotted, err);
		}
	}
	return 0;
}

/* --- files --- */

static int
take_locks(const struct layer *layer, struct json_object *object, struct pkg_argv *locks,
	struct pkg_error *err)
{
	size_t before = locks->count;

	if (pkg_json_strings(object, LOCK_KEY, locks, err) < 0) {
		if (err != NULL)
			err->kind = PKG_E_CONFIG;
		return blame(layer, LOCK_KEY, err);
	}
	for (size_t i = before; i < locks->count; i++)
		if (policy_key_find(locks->items[i]) == NULL)
			return unknown_key(layer, locks->items[i], err);
	return 0;
}

/* locks NULL: this file may not lock anything. */
static int
take_file(const char *path, struct policy_config *config, const struct pkg_argv *locked,
	struct pkg_argv *locks, struct pkg_error *err)
{
	pkg_cleanup_buf struct pkg_buf text = { 0 };
	pkg_cleanup(pkg_json_put) struct json_object *object = NULL;
	struct layer layer = { path, NULL, config, locks != NULL ? NULL : locked };

	if (pkg_file_read(path, CONFIG_MAX, &text, err) < 0)
		return -1;
	object = pkg_json_parse_relaxed(pkg_buf_str(&text), text.len, err);
	layer.text = pkg_buf_str(&text);
	if (object == NULL || !json_object_is_type(object, json_type_object)) {
		if (object != NULL)
			pkg_error_set(err, PKG_E_CONFIG, "an object is wanted");
		else if (err != NULL)
			err->kind = PKG_E_CONFIG;
		return pkg_error_prefix(err, "%s", path);
	}
	if (locks != NULL && take_locks(&layer, object, locks, err) < 0)
		return -1;
	if (locks == NULL && pkg_json_get(object, LOCK_KEY) != NULL) {
		pkg_error_set(err, PKG_E_CONFIG, "only the system's configuration can lock keys");
		return blame(&layer, LOCK_KEY, err);
	}
	return take_object(&layer, "", object, err);
}

static int
take_file_if_there(const char *path, struct policy_config *config, const struct pkg_argv *locked,
	struct pkg_argv *locks, struct pkg_error *err)
{
	return pkg_file_exists(path) ? take_file(path, config, locked, locks, err) : 0;
}

/* --- the environment --- */

static char *
variable_name(const struct policy_key *key)
{
	char *name = pkg_xasprintf("PKGD_%s", key->name);

	for (char *p = name; *p != '\0'; p++)
		*p = *p == '.' ? '_' : (char)toupper((unsigned char)*p);
	return name;
}

static int
take_environment(struct policy_config *config, const struct pkg_argv *locked, struct pkg_error *err)
{
	struct layer layer = { "environment", NULL, config, locked };

	for (size_t i = 0; i < policy_key_count; i++) {
		const struct policy_key *key = &policy_keys[i];
		pkg_autofree char *name = variable_name(key);
		const char *value = getenv(name);

		if (value == NULL)
			continue;
		if (pkg_argv_has(locked, key->name)) {
			pkg_error_set(err, PKG_E_CONFIG, "the system's configuration locks it");
			return blame(&layer, name, err);
		}
		if (set_from_text(config, key, value, err) < 0)
			return blame(&layer, name, err);
		pkg_json_set_str(config->origins, key->name, layer.origin);
	}
	return 0;
}

/* --- the whole --- */

static int
take_fallbacks(struct policy_config *config, struct pkg_error *err)
{
	for (size_t i = 0; i < policy_key_count; i++) {
		const struct policy_key *key = &policy_keys[i];

		pkg_json_set_str(config->origins, key->name, "default");
		if (key->type == POLICY_KEY_LIMIT || key->fallback == NULL)
			continue;
		if (set_from_text(config, key, key->fallback, err) < 0)
			return pkg_error_prefix(err, "built-in default of %s", key->name);
	}
	return 0;
}

int
policy_config_load(const struct pkg_home *home, struct policy_config *out, struct pkg_error *err)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *locks = pkg_argv_new();
	pkg_autofree char *own = pkg_path_join(home->config, "pkgd.json");
	bool alone = getenv("PKGD_HOME") != NULL || strcmp(own, SYSTEM_FILE) == 0;

	*out = (struct policy_config){ .origins = json_object_new_object() };
	if (take_fallbacks(out, err) < 0)
		return -1;
	if (!alone && take_file_if_there(SYSTEM_FILE, out, NULL, locks, err) < 0)
		return -1;
	if (take_file_if_there(own, out, locks, alone ? locks : NULL, err) < 0)
		return -1;
	/* A file's own locks do not bind the file itself, but the environment. */
	return take_environment(out, locks, err);
}

int
policy_config_check(const char *path, struct pkg_error *err)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *locks = pkg_argv_new();
	pkg_cleanup_policy_config struct policy_config config = {
		.origins = json_object_new_object()
	};

	if (take_fallbacks(&config, err) < 0)
		return -1;
	return take_file(path, &config, NULL, locks, err);
}

void
policy_config_clear(struct policy_config *config)
{
	for (size_t i = 0; i < policy_key_count; i++) {
		void *slot = slot_of(config, &policy_keys[i]);

		if (policy_keys[i].type == POLICY_KEY_TEXT)
			free(*(char **)slot);
		else if (policy_keys[i].type == POLICY_KEY_LIST)
			pkg_argv_free(*(struct pkg_argv **)slot);
	}
	json_object_put(config->origins);
	*config = (struct policy_config){ 0 };
}

static struct json_object *
redacted(const char *text)
{
	pkg_autofree char *clean =
		strstr(text, "://") != NULL ? pkg_url_redact(text) : pkg_xstrdup(text);

	return json_object_new_string(clean);
}

static struct json_object *
value_to_json(const struct policy_config *config, const struct policy_key *key)
{
	static const char *const networks[] = { "deny", "allowlist", "allow" };
	const void *slot = (const char *)config + key->offset;
	int64_t number;

	if (key->type == POLICY_KEY_TEXT)
		return *(char *const *)slot != NULL ? redacted(*(char *const *)slot) : NULL;
	if (key->type == POLICY_KEY_NETWORK)
		return json_object_new_string(networks[*(const enum policy_network *)slot]);
	if (key->type == POLICY_KEY_LIST) {
		const struct pkg_argv *list = *(struct pkg_argv *const *)slot;
		struct json_object *array = json_object_new_array();

		for (size_t i = 0; i < list->count; i++)
			json_object_array_add(array, redacted(list->items[i]));
		return array;
	}
	number = *(const int64_t *)slot;
	if (key->type == POLICY_KEY_LIMIT && number == 0)
		return NULL;
	if (key->type == POLICY_KEY_LIMIT && number == INT64_MAX)
		return json_object_new_string("unlimited");
	return json_object_new_int64(number);
}

struct json_object *
policy_config_show(const struct policy_config *config)
{
	struct json_object *out = json_object_new_object();

	for (size_t i = 0; i < policy_key_count; i++) {
		struct json_object *row = json_object_new_object();

		pkg_json_set(row, "value", value_to_json(config, &policy_keys[i]));
		pkg_json_set_str(row, "origin", pkg_json_str(config->origins, policy_keys[i].name));
		pkg_json_set(out, policy_keys[i].name, row);
	}
	return out;
}

static int
add_host_list(
	const struct pkg_home *home, const char *name, struct pkg_argv *out, struct pkg_error *err)
{
	pkg_autofree char *path = pkg_path_joinf(home->share, "share/hosts/%s.json", name);
	pkg_cleanup(pkg_json_put) struct json_object *list = NULL;

	if (!pkg_file_exists(path))
		return pkg_error_set(
			err, PKG_E_CONFIG, "network.include: there is no host list '%s'", name);
	list = pkg_json_read_file(path, HOSTS_MAX, err);
	if (list == NULL)
		return -1;
	return pkg_json_strings(list, "hosts", out, err);
}

int
policy_config_hosts(const struct policy_config *config, const struct pkg_home *home,
	struct pkg_argv *out, struct pkg_error *err)
{
	for (size_t i = 0; i < config->network_include->count; i++)
		if (add_host_list(home, config->network_include->items[i], out, err) < 0)
			return -1;
	pkg_argv_add_all(out, config->network_hosts);
	return 0;
}
