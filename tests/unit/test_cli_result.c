#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/result.h"

static struct json_object *
parse(const char *text)
{
	struct json_object *json = pkg_json_parse(text, strlen(text), NULL);

	assert_non_null(json);
	return json;
}

static void
exit_status_is_the_one_of_the_design(PKG_UNUSED void **state)
{
	static const struct {
		const char *line;
		int status;
	} cases[] = {
		{ "{\"status\":\"done\"}", 0 },
		{ "{\"status\":\"pending\",\"kind\":\"pending\"}", 75 },
		{ "{\"status\":\"failed\",\"kind\":\"no-wheel\"}", 1 },
		{ "{\"status\":\"failed\",\"kind\":\"invalid-requirement\"}", 2 },
		{ "{\"status\":\"denied\",\"kind\":\"denied\"}", 3 },
		{ "{\"status\":\"denied\",\"kind\":\"card-expired\"}", 3 },
		{ "{\"status\":\"denied\"}", 3 },
		{ "{\"status\":\"failed\",\"kind\":\"not-found\"}", 4 },
		{ "{\"status\":\"failed\",\"kind\":\"sandbox-unavailable\"}", 6 },
		{ "{\"status\":\"cancelled\",\"kind\":\"cancelled\"}", 1 },
		{ "{\"status\":\"interrupted\",\"kind\":\"interrupted\"}", 1 },
		{ "{\"status\":\"failed\",\"kind\":\"who-knows\"}", 1 },
		{ "{\"status\":\"failed\",\"kind\":\"pending\"}", 1 },
		{ "{}", 1 },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(cases); i++) {
		pkg_cleanup(pkg_json_put) struct json_object *line = parse(cases[i].line);

		assert_int_equal(cli_result_exit(line), cases[i].status);
		assert_int_equal(cli_result_error(line, NULL),
			cases[i].status == 0 || cases[i].status == 75 ? 0 : -1);
	}
}

static void
end_without_a_message_says_at_least_its_status(PKG_UNUSED void **state)
{
	pkg_cleanup(pkg_json_put) struct json_object *line = parse("{\"status\":\"interrupted\"}");
	pkg_cleanup_error struct pkg_error err = { 0 };

	assert_int_equal(cli_result_error(line, &err), -1);
	assert_non_null(strstr(err.message, "interrupted"));
}

static const char done[] =
	"{\"type\":\"result\",\"job\":1,\"status\":\"done\",\"project\":\"default\","
	"\"environment\":"
	"\"python\",\"generation\":2,\"revision\":0,\"additive\":false,\"reasons\":[{\"reason\":"
	"\"version-changed\",\"name\":\"b\"}],\"changes\":[{\"name\":\"a\",\"change\":\"added\","
	"\"from\":null,\"to\":\"1.0\"},{\"name\":\"b\\u001b[31m\",\"change\":\"upgraded\",\"from\":"
	"\"1\",\"to\":\"2\"}],\"restart_due\":[5],\"timings\":{\"planning_ms\":1500}}";

static void
end_tells_versions_and_what_must_restart_without_escapes(PKG_UNUSED void **state)
{
	pkg_cleanup(pkg_json_put) struct json_object *line = parse(done);
	pkg_autofree char *out = NULL;
	size_t len = 0;
	FILE *file = open_memstream(&out, &len);
	struct cli_result_style style = { .verbose = true };

	cli_result_print(line, &style, file);
	fclose(file);
	assert_non_null(strstr(out,
		"default/python: 1 added, 1 upgraded (generation 2, revision 0)\n  + a 1.0\n"));
	assert_non_null(strstr(out, "b 1 -> 2\n"));
	assert_non_null(strstr(out, "b version-changed"));
	assert_non_null(strstr(out, "kernel 5 is due a restart\n"));
	assert_non_null(strstr(out, "time: planning 1.50 s\n"));
	assert_null(strchr(out, '\033'));
}

/* BEHAVIOURS O88: one shape in every branch. */
static void
pending_line_has_every_key_of_an_end(PKG_UNUSED void **state)
{
	pkg_cleanup(pkg_json_put) struct json_object *end = parse(done);
	pkg_cleanup(pkg_json_put) struct json_object *job =
		parse("{\"id\":3,\"card\":4,\"environment\":\"python\",\"language\":\"python\"}");
	pkg_cleanup(pkg_json_put) struct json_object *plan = parse(
		"{\"changes\":[{\"name\":\"a\",\"change\":\"added\",\"to\":\"1\",\"size\":9}],"
		"\"restart\":{\"additive\":false,\"reasons\":[]}}");
	pkg_cleanup(pkg_json_put) struct json_object *line =
		cli_result_pending(job, NULL, plan, "waits", "answer");
	pkg_autofree char *changes = NULL;

	json_object_object_foreach(end, key, value)
	{
		(void)value;
		assert_true(json_object_object_get_ex(line, key, NULL));
	}
	changes = pkg_json_line(pkg_json_get(line, "changes"));
	assert_string_equal(
		changes, "[{\"name\":\"a\",\"change\":\"added\",\"from\":null,\"to\":\"1\"}]");
	assert_int_equal(pkg_json_int(line, "job", 0), 3);
	assert_int_equal(pkg_json_int(line, "card", 0), 4);
	assert_false(pkg_json_bool(line, "additive", true));
	assert_int_equal(cli_result_exit(line), 75);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exit_status_is_the_one_of_the_design),
		cmocka_unit_test(end_without_a_message_says_at_least_its_status),
		cmocka_unit_test(end_tells_versions_and_what_must_restart_without_escapes),
		cmocka_unit_test(pending_line_has_every_key_of_an_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
