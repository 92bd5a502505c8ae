#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fetch/query.h"
#include "fetch_server.h"

#define PROJECTS 6

struct scene {
	struct server server;
	struct fetch_options options;
	struct fetch_queries *queries;
};

static void
scene_close(struct scene *scene)
{
	fetch_queries_free(scene->queries);
	server_stop(&scene->server);
}
#define cleanup_scene __attribute__((cleanup(scene_close)))

static int
allow(PKG_UNUSED void *context, const char *url, struct pkg_error *err)
{
	return strstr(url, "forbidden") ? pkg_error_set(err, PKG_E_EGRESS_DENIED, "not that one")
					: 0;
}

static void
scene_open(struct scene *scene, const char *option, const char *value)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *options = pkg_argv_new();

	if (option)
		pkg_argv_add(options, option, value);
	if (!server_start(&scene->server, options))
		skip();
	for (int i = 0; i < PROJECTS; i++) {
		pkg_autofree char *path =
			pkg_xasprintf("%s/out/pypi/simple/p%d", scene->server.root, i);
		pkg_autofree char *file = pkg_xasprintf("%s/index.json", path);
		pkg_autofree char *text = pkg_xasprintf("{\"n\":%d}", i);

		assert_int_equal(pkg_dir_make(path, 0755, NULL), 0);
		assert_int_equal(pkg_file_write(file, text, strlen(text), 0644, false, NULL), 0);
	}
	scene->options = (struct fetch_options){
		.retries = 1, .backoff_ms = 10, .cancel_fd = -1, .allow = allow
	};
	scene->queries = fetch_queries_new(&scene->options, NULL);
	assert_non_null(scene->queries);
}

static struct fetch_query *
ask(struct scene *scene, const char *name, const char *etag, size_t max,
	void (*done)(struct fetch_query *), void *context)
{
	pkg_autofree char *url =
		pkg_xasprintf("http://127.0.0.1:%d/pypi/simple/%s/", scene->server.port, name);

	return fetch_queries_add(scene->queries, url, "application/vnd.pypi.simple.v1+json", etag,
		max, done, context);
}

static void
each_has_its_own_end(PKG_UNUSED void **state)
{
	cleanup_scene struct scene scene = { 0 };
	struct fetch_query *good, *absent, *forbidden, *large, *broken, *last;

	scene_open(&scene, "--status", "*/simple/p3/*=418");
	good = ask(&scene, "p0", NULL, 100, NULL, NULL);
	absent = ask(&scene, "nosuch", NULL, 100, NULL, NULL);
	forbidden = ask(&scene, "forbidden", NULL, 100, NULL, NULL);
	large = ask(&scene, "p1", NULL, 3, NULL, NULL);
	broken = ask(&scene, "p3", NULL, 100, NULL, NULL);
	last = fetch_queries_add(scene.queries, "not a url", NULL, NULL, 100, NULL, NULL);
	assert_int_equal(fetch_queries_run(scene.queries, NULL, NULL), 0);
	assert_int_equal(good->error.kind, PKG_E_NONE);
	assert_string_equal(good->body.data, "{\"n\":0}");
	assert_non_null(good->new_etag);
	assert_int_equal(good->max_age, 600);
	assert_int_equal(absent->error.kind, PKG_E_NOT_FOUND);
	assert_int_equal(forbidden->error.kind, PKG_E_EGRESS_DENIED);
	assert_int_equal(large->error.kind, PKG_E_TOO_LARGE);
	assert_int_equal(broken->error.kind, PKG_E_INDEX_STATUS);
	assert_int_equal(last->error.kind, PKG_E_INVALID);
	assert_int_equal(fetch_queries_count(scene.queries), 6);
}

static void
what_is_known_is_not_sent_again(PKG_UNUSED void **state)
{
	cleanup_scene struct scene scene = { 0 };
	struct fetch_query *first, *same, *other;

	scene_open(&scene, NULL, NULL);
	first = ask(&scene, "p0", NULL, 100, NULL, NULL);
	assert_int_equal(fetch_queries_run(scene.queries, first, NULL), 0);
	same = ask(&scene, "p0", first->new_etag, 100, NULL, NULL);
	other = ask(&scene, "p1", first->new_etag, 100, NULL, NULL);
	assert_int_equal(fetch_queries_run(scene.queries, NULL, NULL), 0);
	assert_true(same->not_modified);
	assert_int_equal(same->body.len, 0);
	assert_false(other->not_modified);
	assert_string_equal(other->body.data, "{\"n\":1}");
}

/* Each answer asks for the next one. */
struct chain {
	struct scene *scene;
	int next;
};

static void
ask_next(struct fetch_query *query)
{
	struct chain *chain = query->context;
	char name[16];

	if (++chain->next >= PROJECTS)
		return;
	(void)snprintf(name, sizeof(name), "p%d", chain->next);
	(void)ask(chain->scene, name, NULL, 100, ask_next, chain);
}

static void
an_answer_may_ask_for_more(PKG_UNUSED void **state)
{
	cleanup_scene struct scene scene = { 0 };
	struct chain chain = { .scene = &scene };

	scene_open(&scene, NULL, NULL);
	(void)ask(&scene, "p0", NULL, 100, ask_next, &chain);
	assert_int_equal(fetch_queries_run(scene.queries, NULL, NULL), 0);
	assert_int_equal(chain.next, PROJECTS);
	assert_int_equal(fetch_queries_count(scene.queries), PROJECTS);
}

static void
waiting_for_one_does_not_wait_for_the_slow_ones(PKG_UNUSED void **state)
{
	cleanup_scene struct scene scene = { 0 };
	struct fetch_query *slow, *quick;

	scene_open(&scene, "--delay", "*/simple/p0/*=4000");
	slow = ask(&scene, "p0", NULL, 100, NULL, NULL);
	quick = ask(&scene, "p1", NULL, 100, NULL, NULL);
	assert_int_equal(fetch_queries_run(scene.queries, quick, NULL), 0);
	assert_true(quick->ended);
	assert_false(slow->ended);
	/* And whoever has what it wants may leave. */
}

static void
a_passing_fault_is_tried_again(PKG_UNUSED void **state)
{
	cleanup_scene struct scene scene = { 0 };
	struct fetch_query *query;

	scene_open(&scene, "--status", "*/simple/*=503@1");
	query = ask(&scene, "p0", NULL, 100, NULL, NULL);
	assert_int_equal(fetch_queries_run(scene.queries, NULL, NULL), 0);
	assert_int_equal(query->error.kind, PKG_E_NONE);
	assert_string_equal(query->body.data, "{\"n\":0}");
}

static void
a_cancelled_run_ends(PKG_UNUSED void **state)
{
	cleanup_scene struct scene scene = { 0 };
	pkg_cleanup_error struct pkg_error err = { 0 };
	int ends[2];

	scene_open(&scene, "--delay", "*=20000");
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], "x", 1), 1);
	fetch_queries_free(scene.queries);
	scene.options.cancel_fd = ends[0];
	scene.queries = fetch_queries_new(&scene.options, NULL);
	(void)ask(&scene, "p0", NULL, 100, NULL, NULL);
	assert_int_equal(fetch_queries_run(scene.queries, NULL, &err), -1);
	assert_int_equal(err.kind, PKG_E_CANCELLED);
	(void)close(ends[0]);
	(void)close(ends[1]);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_has_its_own_end),
		cmocka_unit_test(what_is_known_is_not_sent_again),
		cmocka_unit_test(an_answer_may_ask_for_more),
		cmocka_unit_test(waiting_for_one_does_not_wait_for_the_slow_ones),
		cmocka_unit_test(a_passing_fault_is_tried_again),
		cmocka_unit_test(a_cancelled_run_ends),
	};

	/* Neither proxies nor certificates of whoever runs the tests: the server is on loopback. */
	(void)unsetenv("SSL_CERT_FILE");
	(void)unsetenv("CURL_CA_BUNDLE");
	(void)setenv("NO_PROXY", "127.0.0.1", 1);
	(void)setenv("no_proxy", "127.0.0.1", 1);
	(void)setenv("HOME", "/nonexistent", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
