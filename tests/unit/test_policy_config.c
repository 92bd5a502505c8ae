#include "unit.h"
#include "core/file.h"
#include "core/path.h"
#include "core/tree.h"
#include "policy/config_keys.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fixture {
	struct pkg_home home;
	char *file;
	struct pkg_error err;
};

static int
home_made(void **state)
{
	struct fixture *f = pkg_xcalloc(1, sizeof(*f));
	const char *tmp = getenv("TMPDIR");

	f->home.config = pkg_xasprintf("%s/pkgd-config-XXXXXX", tmp != NULL ? tmp : "/tmp");
	f->home.share = pkg_xstrdup(getenv("PKGD_TEST_SRCDIR"));
	*state = f;
	if (mkdtemp(f->home.config) == NULL)
		return -1;
	f->file = pkg_path_join(f->home.config, "pkgd.json");
	/* Then this machine's own configuration does not count. */
	return setenv("PKGD_HOME", f->home.config, 1);
}

static int
home_gone(void **state)
{
	struct fixture *f = *state;

	(void)pkg_tree_remove(f->home.config, NULL);
	free(f->home.config);
	free(f->home.share);
	free(f->file);
	pkg_error_clear(&f->err);
	free(f);
	return 0;
}

#define WITH_HOME(test) cmocka_unit_test_setup_teardown(test, home_made, home_gone)

static int
load(struct fixture *f, const char *text, struct policy_config *config)
{
	if (text != NULL)
		assert_int_equal(pkg_file_write(f->file, text, strlen(text), 0600, false, NULL), 0);
	pkg_error_clear(&f->err);
	return policy_config_load(&f->home, config, &f->err);
}

static void
assert_refused(struct fixture *f, const char *text, const char *message, const char *cure)
{
	pkg_cleanup_policy_config struct policy_config config = { 0 };

	if (load(f, text, &config) == 0)
		fail_msg("accepted: %s", text);
	assert_string_equal(pkg_error_kind_name(f->err.kind), "invalid-configuration");
	if (strstr(f->err.message, message) == NULL)
		fail_msg("'%s' is not in: %s", message, f->err.message);
	if (cure == NULL)
		assert_null(f->err.cure);
	else
		assert_string_equal(f->err.cure, cure);
	/* The checker is the same code. */
	assert_int_equal(policy_config_check(f->file, NULL), -1);
}

/* --- values --- */

static void
without_a_file_everything_has_its_default(void **state)
{
	struct fixture *f = *state;
	pkg_cleanup_policy_config struct policy_config config = { 0 };

	assert_int_equal(load(f, NULL, &config), 0);
	assert_string_equal(config.python_minimum, "3.8");
	assert_string_equal(config.sandbox_mode, "enforce");
	assert_int_equal(config.network_mode, POLICY_NETWORK_ALLOWLIST);
	assert_int_equal(config.fetch_parallel, 8);
	assert_int_equal(config.r_repos->count, 1);
	assert_int_equal(config.network_hosts->count, 0);
	assert_null(config.network_ca_bundle);
	for (size_t i = 0; i < POLICY_PURPOSES; i++)
		assert_int_equal(config.sandbox_limits[i].memory_bytes, 0);
	for (size_t i = 0; i < policy_key_count; i++)
		assert_string_equal(pkg_json_str(config.origins, policy_keys[i].name), "default");
}

static void
a_file_with_comments_replaces_single_keys(void **state)
{
	struct fixture *f = *state;
	pkg_cleanup_policy_config struct policy_config config = { 0 };

	assert_int_equal(
		load(f,
			"// ours\n{\n \"python\": { /* old */ \"minimum\": \"3.10\",\n"
			"  \"extra_index_urls\": [\"https://a.invalid/simple/\"], },\n"
			" \"network\": {\"mode\": \"deny\"},\n"
			" \"sandbox\": {\"limits\": {\"build\": {\"memory_bytes\": 1000, "
			"\"wall_seconds\": \"unlimited\"}}},\n \"cards.expire_hours\": 2 }\n",
			&config),
		0);
	assert_string_equal(config.python_minimum, "3.10");
	assert_string_equal(config.python_extra_index_urls->items[0], "https://a.invalid/simple/");
	assert_int_equal(config.network_mode, POLICY_NETWORK_DENY);
	assert_int_equal(config.sandbox_limits[2].memory_bytes, 1000);
	assert_true(config.sandbox_limits[2].wall_seconds == INT64_MAX);
	assert_int_equal(config.sandbox_limits[1].memory_bytes, 0);
	assert_int_equal(config.cards_expire_hours, 2);
	assert_string_equal(config.python_index_url, "https://pypi.org/simple/");
	assert_string_equal(pkg_json_str(config.origins, "python.minimum"), f->file);
	assert_string_equal(pkg_json_str(config.origins, "python.index_url"), "default");
}

/* --- what is wrong is told with its place --- */

static void
an_unknown_key_is_told_with_its_line_and_the_nearest_one(void **state)
{
	static const struct {
		const char *text, *message, *cure;
	} rows[] = {
		{ "{\n\"python\": {\n\"minimun\": \"3.9\"\n}\n}",
			"pkgd.json, line 3: python.minimun: there is no such key",
			"did you mean python.minimum?" },
		{ "{\"pyhton\": {\n\n\"minimum\": \"3.9\"}}", "line 3: pyhton.minimum",
			"did you mean python.minimum?" },
		{ "{\"python\": {\"index-url\": \"x\"}}", "line 1: python.index-url",
			"did you mean python.index_url?" },
		{ "{\"zzzzzzzzzzzz\": 1}", "zzzzzzzzzzzz: there is no such key", NULL },
		{ "{\"pyhton\": {}}", "pyhton: there is no such key", NULL },
		{ "{\"sandbox\": {\"limits\": {\"biuld\": {\n\"processes\": 3}}}}",
			"line 2: sandbox.limits.biuld.processes",
			"did you mean sandbox.limits.build.processes?" },
		{ "{\"\": 1}", "there is no such key", NULL },
		{ "{\"home\": \"/x\"}", "home: there is no such key", NULL },
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++)
		assert_refused(f, rows[i].text, rows[i].message, rows[i].cure);
}

static void
a_line_is_that_of_the_key_and_not_of_its_namesake(void **state)
{
	static const struct {
		const char *text, *message;
	} rows[] = {
		{ "{\n\"network\": {\"mode\": \"deny\"},\n\"sandbox\": {\n\"mode\": \"maybe\"}\n}",
			"line 4: sandbox.mode" },
		{ "{\n\"r\": {\"interpreters\": [\"/R\"]},\n\"python\": {\n\n\"interpreters\": "
		  "[\"python3\"]}}",
			"line 5: python.interpreters" },
		{ "{\"sandbox\": {\"limits\": {\n\"probe\": {\"wall_seconds\": 1},\n\"verify\": {\n"
		  "\"wall_seconds\": -1}}}}",
			"line 4: sandbox.limits.verify.wall_seconds" },
		/* The same word as a value is not the key. */
		{ "{\"network\": {\"include\": [\"mode\"],\n\"mode\": 7}}",
			"line 2: network.mode" },
		{ "{\n\"python.minimum\": 3}", "line 2: python.minimum" },
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++)
		assert_refused(f, rows[i].text, rows[i].message, NULL);
}

static void
wrong_types_and_values_are_refused(void **state)
{
	static const struct {
		const char *text, *message;
	} rows[] = {
		{ "{\"python\": 5}", "python: an object is wanted, int is there" },
		{ "{\"sandbox\": {\"limits\": []}}", "sandbox.limits: an object is wanted" },
		{ "{\"python\": {\"minimum\": 3.9}}", "a text is wanted, double is there" },
		{ "{\"python\": {\"minimum\": null}}", "a text is wanted, null is there" },
		{ "{\"python\": {\"minimum\": \"3\"}}", "'3' is not a version" },
		{ "{\"python\": {\"minimum\": \"3.\"}}", "not a version" },
		{ "{\"python\": {\"minimum\": \"3.9.1\"}}", "not a version" },
		{ "{\"python\": {\"interpreters\": \"/usr/bin/python3\"}}",
			"a list of texts is wanted" },
		{ "{\"python\": {\"interpreters\": [1]}}",
			"a list of texts is wanted, int is there" },
		{ "{\"python\": {\"interpreters\": [\"python3\"]}}", "not an absolute path" },
		{ "{\"python\": {\"index_url\": \"file:///x\"}}", "python.index_url" },
		{ "{\"python\": {\"engine\": \"conda\"}}", "'conda' is not known" },
		{ "{\"network\": {\"mode\": \"open\"}}", "'deny', 'allowlist' or 'allow'" },
		{ "{\"network\": {\"hosts\": [\"a b\"]}}", "network.hosts" },
		{ "{\"network\": {\"include\": [\"../x\"]}}", "no name of a host list" },
		{ "{\"fetch\": {\"parallel\": \"8\"}}",
			"a whole number is wanted, string is there" },
		{ "{\"fetch\": {\"parallel\": 0}}", "0 is outside 1 to 64" },
		{ "{\"fetch\": {\"parallel\": 65}}", "65 is outside 1 to 64" },
		{ "{\"fetch\": {\"parallel\": 1.5}}", "a whole number is wanted" },
		{ "{\"fetch\": {\"parallel\": true}}", "a whole number is wanted" },
		{ "{\"sandbox\": {\"limits\": {\"plan\": {\"processes\": 0}}}}", "outside 1 to" },
		{ "{\"sandbox\": {\"limits\": {\"plan\": {\"processes\": \"many\"}}}}",
			"not a whole number or \"unlimited\"" },
		{ "{\"sandbox\": {\"mode\": \"Enforce\"}}", "'enforce', 'auto' or 'off'" },
		{ "[]", "an object is wanted" },
		{ "", "pkgd.json" },
		{ "{\"fetch\": {\"parallel\": 8}", "pkgd.json" },
		{ "{\"locked\": \"python.minimum\"}", "locked" },
		{ "{\"locked\": [\"python.minimun\"]}", "python.minimun: there is no such key" },
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		pkg_cleanup_policy_config struct policy_config config = { 0 };

		if (load(f, rows[i].text, &config) == 0)
			fail_msg("accepted: %s", rows[i].text);
		assert_string_equal(pkg_error_kind_name(f->err.kind), "invalid-configuration");
		if (strstr(f->err.message, rows[i].message) == NULL)
			fail_msg("'%s' is not in: %s", rows[i].message, f->err.message);
	}
}

/* --- the environment --- */

static void
variables_beat_the_file(void **state)
{
	struct fixture *f = *state;
	pkg_cleanup_policy_config struct policy_config config = { 0 };

	setenv("PKGD_PYTHON_INDEX_URL", "https://b.invalid/simple/", 1);
	setenv("PKGD_NETWORK_HOSTS", " a.invalid\t*.b.invalid:8443 ", 1);
	setenv("PKGD_NETWORK_MODE", "allow", 1);
	setenv("PKGD_SANDBOX_LIMITS_KERNEL_MEMORY_BYTES", "unlimited", 1);
	setenv("PKGD_FETCH_RETRIES", "0", 1);
	assert_int_equal(load(f,
				 "{\"python\":{\"index_url\":\"https://a.invalid/"
				 "\"},\"fetch\":{\"retries\":9}}",
				 &config),
		0);
	unsetenv("PKGD_PYTHON_INDEX_URL");
	unsetenv("PKGD_NETWORK_HOSTS");
	unsetenv("PKGD_NETWORK_MODE");
	unsetenv("PKGD_SANDBOX_LIMITS_KERNEL_MEMORY_BYTES");
	unsetenv("PKGD_FETCH_RETRIES");
	assert_string_equal(config.python_index_url, "https://b.invalid/simple/");
	assert_int_equal(config.network_hosts->count, 2);
	assert_string_equal(config.network_hosts->items[1], "*.b.invalid:8443");
	assert_int_equal(config.network_mode, POLICY_NETWORK_ALLOW);
	assert_true(config.sandbox_limits[5].memory_bytes == INT64_MAX);
	assert_int_equal(config.fetch_retries, 0);
	assert_string_equal(pkg_json_str(config.origins, "fetch.retries"), "environment");
}

static void
a_bad_variable_is_told_by_its_name(void **state)
{
	static const struct {
		const char *name, *value;
	} rows[] = {
		{ "PKGD_FETCH_PARALLEL", "many" },
		{ "PKGD_FETCH_PARALLEL", "" },
		{ "PKGD_FETCH_PARALLEL", "8x" },
		{ "PKGD_FETCH_PARALLEL", "99999999999999999999" },
		{ "PKGD_SANDBOX_MODE", "no" },
		{ "PKGD_PYTHON_INTERPRETERS", "/a python3" },
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		pkg_cleanup_policy_config struct policy_config config = { 0 };
		int loaded;

		setenv(rows[i].name, rows[i].value, 1);
		loaded = load(f, "{}", &config);
		unsetenv(rows[i].name);
		assert_int_equal(loaded, -1);
		assert_non_null(strstr(f->err.message, rows[i].name));
	}
}

static void
variables_that_say_where_things_are_are_no_keys(void **state)
{
	static const char *const names[] = { "PKGD_LIBEXEC", "PKGD_DATADIR", "PKGD_SYSTEM",
		"PKGD_FAULT", "PKGD_TEST_SRCDIR" };
	struct fixture *f = *state;

	for (size_t i = 0; i < policy_key_count; i++) {
		pkg_autofree char *name = pkg_xasprintf("PKGD_%s", policy_keys[i].name);

		for (char *p = name; *p != '\0'; p++)
			*p = *p == '.' ? '_' : (char)toupper((unsigned char)*p);
		assert_string_not_equal(name, "PKGD_HOME");
		for (size_t k = 0; k < PKG_ARRAY_LEN(names); k++)
			assert_string_not_equal(name, names[k]);
	}
	for (size_t i = 0; i < PKG_ARRAY_LEN(names); i++) {
		pkg_cleanup_policy_config struct policy_config config = { 0 };
		const char *before = getenv(names[i]);
		pkg_autofree char *kept = pkg_xstrdup(before);

		setenv(names[i], "/nonexistent", 1);
		assert_int_equal(load(f, "{}", &config), 0);
		if (kept != NULL)
			setenv(names[i], kept, 1);
		else
			unsetenv(names[i]);
	}
}

static void
a_locked_key_is_not_the_environments_to_set(void **state)
{
	struct fixture *f = *state;
	pkg_cleanup_policy_config struct policy_config config = { 0 };
	pkg_cleanup_policy_config struct policy_config free_config = { 0 };
	static const char text[] =
		"{\"locked\": [\"sandbox.mode\"], \"sandbox\": {\"mode\": \"enforce\"}}";

	setenv("PKGD_FETCH_RETRIES", "1", 1);
	assert_int_equal(load(f, text, &free_config), 0);
	unsetenv("PKGD_FETCH_RETRIES");
	setenv("PKGD_SANDBOX_MODE", "off", 1);
	assert_int_equal(load(f, text, &config), -1);
	unsetenv("PKGD_SANDBOX_MODE");
	assert_non_null(strstr(f->err.message, "PKGD_SANDBOX_MODE"));
	assert_non_null(strstr(f->err.message, "locks it"));
	assert_string_equal(config.sandbox_mode, "enforce");
}

/* --- showing --- */

static void
what_is_shown_has_no_secret_and_says_where_it_came_from(void **state)
{
	struct fixture *f = *state;
	pkg_cleanup_policy_config struct policy_config config = { 0 };
	pkg_cleanup(pkg_json_put) struct json_object *shown = NULL;
	pkg_autofree char *text = NULL;
	struct json_object *row;

	assert_int_equal(
		load(f,
			"{\"python\": {\"index_url\": \"https://me:secret@a.invalid/simple/\","
			"\"extra_index_urls\": [\"https://me:secret@b.invalid/\"]}}",
			&config),
		0);
	shown = policy_config_show(&config);
	text = pkg_json_line(shown);
	assert_null(strstr(text, "secret"));
	row = pkg_json_get(shown, "python.index_url");
	assert_string_equal(pkg_json_str(row, "value"), "https://a.invalid/simple/");
	assert_string_equal(pkg_json_str(row, "origin"), f->file);
	assert_int_equal(json_object_object_length(shown), policy_key_count);
	assert_null(pkg_json_get(pkg_json_get(shown, "sandbox.limits.plan.processes"), "value"));
}

static void
host_lists_are_added_by_name(void **state)
{
	struct fixture *f = *state;
	pkg_cleanup_policy_config struct policy_config config = { 0 };
	pkg_cleanup_policy_config struct policy_config bad = { 0 };
	pkg_cleanup(pkg_argv_free) struct pkg_argv *hosts = pkg_argv_new();

	assert_int_equal(
		load(f, "{\"network\": {\"include\": [\"python\"], \"hosts\": [\"a.invalid\"]}}",
			&config),
		0);
	assert_int_equal(policy_config_hosts(&config, &f->home, hosts, &f->err), 0);
	assert_true(pkg_argv_has(hosts, ".pypi.org"));
	assert_true(pkg_argv_has(hosts, "a.invalid"));
	assert_int_equal(load(f, "{\"network\": {\"include\": [\"nowhere\"]}}", &bad), 0);
	assert_int_equal(policy_config_hosts(&bad, &f->home, hosts, &f->err), -1);
	assert_int_equal(f->err.kind, PKG_E_CONFIG);
	assert_non_null(strstr(f->err.message, "nowhere"));
}

/* --- the table against the schema --- */

static struct json_object *
schema_node(struct json_object *schema, const char *dotted)
{
	while (schema != NULL && *dotted != '\0') {
		pkg_autofree char *part = pkg_xstrndup(dotted, strcspn(dotted, "."));

		schema = pkg_json_get(pkg_json_get(schema, "properties"), part);
		dotted += strlen(part);
		dotted += *dotted == '.';
	}
	return schema;
}

static void
check_enum(const struct policy_key *key, struct json_object *words)
{
	for (size_t i = 0;
		words != NULL && key->check != NULL && i < json_object_array_length(words); i++)
		assert_int_equal(
			key->check(
				json_object_get_string(json_object_array_get_idx(words, i)), NULL),
			0);
}

static void
check_number(const struct policy_key *key, struct json_object *node)
{
	assert_string_equal(pkg_json_str_or(node, "type", ""), "integer");
	assert_true(pkg_json_int(node, "minimum", -1) == key->min);
	assert_true(pkg_json_int(node, "maximum", -1) == key->max);
	assert_true(pkg_json_int(node, "default", -1) == strtoll(key->fallback, NULL, 10));
}

static void
check_list(const struct policy_key *key, struct json_object *node)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *fallback = pkg_argv_new();
	pkg_autofree char *text = NULL;

	assert_string_equal(pkg_json_str_or(node, "type", ""), "array");
	assert_string_equal(pkg_json_str_or(pkg_json_get(node, "items"), "type", ""), "string");
	assert_int_equal(pkg_json_strings(node, "default", fallback, NULL), 0);
	text = pkg_argv_join(fallback, " ");
	assert_string_equal(text, key->fallback);
}

static void
check_text(const struct policy_key *key, struct json_object *node)
{
	const char *fallback = pkg_json_str(node, "default");

	assert_string_equal(pkg_json_str_or(node, "type", ""), "string");
	assert_string_equal(
		fallback != NULL ? fallback : "-", key->fallback != NULL ? key->fallback : "-");
	check_enum(key, pkg_json_array(node, "enum"));
}

static void
check_limit(const struct policy_key *key, struct json_object *node)
{
	struct json_object *either = pkg_json_array(node, "anyOf");

	assert_non_null(either);
	assert_true(pkg_json_int(json_object_array_get_idx(either, 0), "minimum", -1) == key->min);
	assert_string_equal(
		pkg_json_str_or(json_object_array_get_idx(either, 1), "const", ""), "unlimited");
}

static struct json_object *
read_schema(void)
{
	pkg_autofree char *path =
		pkg_path_join(getenv("PKGD_TEST_SRCDIR"), "share/pkgd.schema.json");
	struct json_object *schema = pkg_json_read_file(path, 1 << 20, NULL);

	assert_non_null(schema);
	return schema;
}

static void
every_key_is_in_the_schema_as_it_is_in_the_table(PKG_UNUSED void **state)
{
	pkg_cleanup(pkg_json_put) struct json_object *schema = read_schema();

	for (size_t i = 0; i < policy_key_count; i++) {
		const struct policy_key *key = &policy_keys[i];
		struct json_object *node = schema_node(schema, key->name);

		if (node == NULL || strlen(pkg_json_str_or(node, "description", "")) < 8)
			fail_msg("%s is not in the schema, or not described", key->name);
		switch (key->type) {
		case POLICY_KEY_NUMBER:
			check_number(key, node);
			break;
		case POLICY_KEY_LIST:
			check_list(key, node);
			break;
		case POLICY_KEY_LIMIT:
			check_limit(key, node);
			break;
		case POLICY_KEY_TEXT:
		case POLICY_KEY_NETWORK:
			check_text(key, node);
			break;
		}
	}
}

/* The other way round: groups are closed, and no leaf is one that the table does not have. */
static void
check_group(struct json_object *node, const char *prefix, size_t *leaves)
{
	struct json_object *properties = pkg_json_get(node, "properties");

	if (pkg_json_bool(node, "additionalProperties", true))
		fail_msg("'%s' lets unknown keys in", prefix);
	json_object_object_foreach(properties, name, value)
	{
		pkg_autofree char *dotted =
			*prefix != '\0' ? pkg_xasprintf("%s.%s", prefix, name) : pkg_xstrdup(name);

		if (strcmp(dotted, "locked") == 0)
			continue;
		if (pkg_json_get(value, "properties") != NULL) {
			check_group(value, dotted, leaves);
			continue;
		}
		if (policy_key_find(dotted) == NULL)
			fail_msg("the schema has %s, the table does not", dotted);
		(*leaves)++;
	}
}

static void
every_key_of_the_schema_is_in_the_table(PKG_UNUSED void **state)
{
	pkg_cleanup(pkg_json_put) struct json_object *schema = read_schema();
	size_t leaves = 0;

	check_group(schema, "", &leaves);
	assert_int_equal(leaves, policy_key_count);
}

/* Words that the schema lists are all that the loader takes. */
static void
an_enum_of_the_schema_is_the_loaders(void **state)
{
	static const char *const keys[] = { "network.mode", "sandbox.mode", "python.engine",
		"daemon.log_level" };
	static const char *const words[] = { "deny", "allowlist", "allow", "enforce", "auto", "off",
		"pip", "native", "uv", "error", "warn", "warning", "info", "debug", "trace" };
	struct fixture *f = *state;
	pkg_cleanup(pkg_json_put) struct json_object *schema = read_schema();

	for (size_t i = 0; i < PKG_ARRAY_LEN(keys); i++) {
		pkg_cleanup(pkg_argv_free) struct pkg_argv *listed = pkg_argv_new();

		assert_int_equal(
			pkg_json_strings(schema_node(schema, keys[i]), "enum", listed, NULL), 0);
		assert_true(listed->count > 0);
		for (size_t k = 0; k < PKG_ARRAY_LEN(words); k++) {
			pkg_cleanup_policy_config struct policy_config config = { 0 };
			pkg_autofree char *text =
				pkg_xasprintf("{\"%s\":\"%s\"}", keys[i], words[k]);

			if ((load(f, text, &config) == 0) != pkg_argv_has(listed, words[k]))
				fail_msg("%s: '%s'", keys[i], words[k]);
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_HOME(without_a_file_everything_has_its_default),
		WITH_HOME(a_file_with_comments_replaces_single_keys),
		WITH_HOME(an_unknown_key_is_told_with_its_line_and_the_nearest_one),
		WITH_HOME(a_line_is_that_of_the_key_and_not_of_its_namesake),
		WITH_HOME(wrong_types_and_values_are_refused),
		WITH_HOME(variables_beat_the_file),
		WITH_HOME(a_bad_variable_is_told_by_its_name),
		WITH_HOME(variables_that_say_where_things_are_are_no_keys),
		WITH_HOME(a_locked_key_is_not_the_environments_to_set),
		WITH_HOME(what_is_shown_has_no_secret_and_says_where_it_came_from),
		WITH_HOME(host_lists_are_added_by_name),
		cmocka_unit_test(every_key_is_in_the_schema_as_it_is_in_the_table),
		cmocka_unit_test(every_key_of_the_schema_is_in_the_table),
		WITH_HOME(an_enum_of_the_schema_is_the_loaders),
	};

	return cmocka_run_group_tests_name("policy_config", tests, NULL, NULL);
}
