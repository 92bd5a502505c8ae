#include "unit.h"

#include "core/buf.h"
#include "core/file.h"
#include "egress/rules.h"
#include "egress/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct fixture {
	char dir[64];
	char path[96];
};

static int
setup(void **state)
{
	struct fixture *fixture = pkg_xcalloc(1, sizeof(*fixture));

	strcpy(fixture->dir, "/tmp/egress-rules-XXXXXX");
	if (!mkdtemp(fixture->dir))
		return -1;
	snprintf(fixture->path, sizeof(fixture->path), "%s/rules.json", fixture->dir);
	*state = fixture;
	return 0;
}

static int
teardown(void **state)
{
	struct fixture *fixture = *state;

	(void)unlink(fixture->path);
	(void)rmdir(fixture->dir);
	free(fixture);
	return 0;
}

static void
put(const struct fixture *fixture, const char *text)
{
	assert_int_equal(pkg_file_write(fixture->path, text, strlen(text), 0600, false, NULL), 0);
}

static void
defaults_are_within_their_own_bounds(PKG_UNUSED void **state)
{
#define CHECK(name, value, least, most)                                                            \
	assert_true(limits.name == (value) && (least) <= (value) && (value) <= (most));
	struct egress_limits limits;

	egress_limits_default(&limits);
	EGRESS_LIMITS(CHECK)
#undef CHECK
}

static void
files_that_say_anything_unclear_are_refused(void **state)
{
	static const char *const table[] = { "", "[]", "{}", "{\"rules\": {}}",
		"{\"rules\": [\"*\"]}", "{\"rules\": [], \"rule\": []}",
		"{\"rules\": [], \"name\": 1}", "{\"rules\": [], \"limits\": []}",
		"{\"rules\": [], \"limits\": {\"head\": 1}}",
		"{\"rules\": [], \"limits\": {\"head_bytes\": \"1\"}}",
		"{\"rules\": [], \"limits\": {\"head_bytes\": 1}}",
		"{\"rules\": [], \"limits\": {\"head_bytes\": 1e9}}", "{\"rules\": []} x" };
	struct fixture *fixture = *state;

	for (size_t i = 0; i < PKG_ARRAY_LEN(table); i++) {
		pkg_cleanup_error struct pkg_error err = { 0 };
		struct egress_rules *rules;

		put(fixture, table[i]);
		rules = egress_rules_load(fixture->path, &err);
		if (rules)
			fail_msg("%s was taken", table[i]);
		assert_non_null(err.message);
	}
}

static void
an_edit_is_seen_and_a_broken_one_is_reported_once(void **state)
{
	struct fixture *fixture = *state;
	struct egress_rules_file file;
	struct egress_rules *held;

	put(fixture, "{\"rules\": [\"a\"], \"limits\": {\"head_bytes\": 1000}}");
	assert_int_equal(egress_rules_file_open(&file, fixture->path, NULL), 0);
	assert_int_equal(file.current->limits.head_bytes, 1000);
	held = egress_rules_get(file.current);
	assert_int_equal(egress_rules_file_refresh(&file, NULL), 0);
	assert_ptr_equal(file.current, held);
	put(fixture, "{\"rules\": [\"a\", \"b\"]}");
	assert_int_equal(egress_rules_file_refresh(&file, NULL), 0);
	assert_int_equal(file.current->list.count, 2);
	assert_int_equal(held->list.count, 1);
	put(fixture, "{");
	assert_int_equal(egress_rules_file_refresh(&file, NULL), -1);
	assert_int_equal(egress_rules_file_refresh(&file, NULL), 0);
	assert_int_equal(file.current->list.count, 2);
	assert_int_equal(unlink(fixture->path), 0);
	assert_int_equal(egress_rules_file_refresh(&file, NULL), -1);
	assert_int_equal(egress_rules_file_refresh(&file, NULL), 0);
	assert_int_equal(file.current->list.count, 2);
	put(fixture, "{\"rules\": []}");
	assert_int_equal(egress_rules_file_refresh(&file, NULL), 0);
	assert_int_equal(file.current->list.count, 0);
	egress_rules_put(held);
	egress_rules_file_close(&file);
}

static void
what_the_worker_writes_is_what_the_proxy_reads(void **state)
{
	struct fixture *fixture = *state;
	struct json_object *array = json_tokener_parse("[\"a.example:8080\"]");
	struct json_object *limits = json_tokener_parse("{\"dial_ms\": 500}");
	struct egress_rules *rules;

	assert_int_equal(egress_session_write_rules(
				 fixture->path, "my \"list\"", array, "Run: x", limits, NULL),
		0);
	rules = egress_rules_load(fixture->path, NULL);
	assert_non_null(rules);
	assert_string_equal(rules->name, "my \"list\"");
	assert_string_equal(rules->cure, "Run: x");
	assert_int_equal(rules->limits.dial_ms, 500);
	assert_string_equal(rules->list.items[0].text, "a.example:8080");
	egress_rules_put(rules);
	assert_int_equal(
		egress_session_write_rules(fixture->path, NULL, array, NULL, NULL, NULL), 0);
	rules = egress_rules_load(fixture->path, NULL);
	assert_string_equal(rules->name, "default");
	egress_rules_put(rules);
	json_object_put(array);
	json_object_put(limits);
}

static void
the_shipped_host_lists_hold_rules(PKG_UNUSED void **state)
{
	static const char *const names[] = { "python", "r", "science" };
	const char *root = getenv("PKGD_TEST_SRCDIR");

	if (!root)
		skip();
	for (size_t i = 0; i < PKG_ARRAY_LEN(names); i++) {
		pkg_cleanup_host_rules struct policy_host_rules rules = { 0 };
		pkg_autofree char *path = pkg_xasprintf("%s/share/hosts/%s.json", root, names[i]);
		struct json_object *list = pkg_json_read_file(path, EGRESS_RULES_BYTES, NULL);

		assert_non_null(list);
		assert_int_equal(
			policy_host_rules_add_json(&rules, pkg_json_array(list, "hosts"), NULL), 0);
		assert_true(rules.count > 0);
		json_object_put(list);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults_are_within_their_own_bounds),
		cmocka_unit_test_setup_teardown(
			files_that_say_anything_unclear_are_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(
			an_edit_is_seen_and_a_broken_one_is_reported_once, setup, teardown),
		cmocka_unit_test_setup_teardown(
			what_the_worker_writes_is_what_the_proxy_reads, setup, teardown),
		cmocka_unit_test(the_shipped_host_lists_hold_rules),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
