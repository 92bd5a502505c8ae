#include "unit.h"

#include "core/file.h"
#include "core/path.h"
#include "core/tree.h"
#include "sandbox/cgroup.h"
#include "sandbox/limits.h"
#include "sandbox/purpose.h"
#include "sandbox/sandbox.h"
#include "sandbox/watch.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define GIB INT64_C(1073741824)

static void
a_number_of_the_profile_wins_over_the_configuration_over_the_purpose(void **state)
{
	const struct sandbox_limits configured = { .memory = 2 * GIB, .wall_ms = 5000 };
	const struct sandbox_profile profile = { .purpose = SANDBOX_BUILD,
		.limits = { .memory = 3 * GIB } };
	struct sandbox_limits out;

	(void)state;
	assert_int_equal(sandbox_limits_resolve(&profile, &configured, 0, &out, NULL), 0);
	assert_true(out.memory == 3 * GIB);
	assert_true(out.wall_ms == 5000);
	assert_true(out.cpu_s == 3600);
	assert_true(out.processes == 512);
}

static void
a_kernel_gets_three_quarters_of_the_machine_unless_told_otherwise(void **state)
{
	struct sandbox_profile profile = { .purpose = SANDBOX_KERNEL };
	struct sandbox_limits out;

	(void)state;
	assert_int_equal(sandbox_limits_resolve(&profile, NULL, 16 * GIB, &out, NULL), 0);
	assert_true(out.memory == 12 * GIB);
	assert_true(out.wall_ms == SANDBOX_UNLIMITED);
	profile.limits.memory = SANDBOX_UNLIMITED;
	assert_int_equal(sandbox_limits_resolve(&profile, NULL, 16 * GIB, &out, NULL), 0);
	assert_true(out.memory == SANDBOX_UNLIMITED);
}

static void
a_negative_limit_is_refused(void **state)
{
	const struct sandbox_profile profile = { .purpose = SANDBOX_BUILD,
		.limits = { .disk = -1 } };
	pkg_cleanup_error struct pkg_error err = { 0 };
	struct sandbox_limits out;

	(void)state;
	assert_int_equal(sandbox_limits_resolve(&profile, NULL, 0, &out, &err), -1);
	assert_int_equal(err.kind, PKG_E_INVALID);
	assert_non_null(strstr(err.message, "disk"));
}

static void
every_purpose_has_every_limit(void **state)
{
	(void)state;
	for (int i = 0; i < SANDBOX_PURPOSE_COUNT; i++) {
		const struct sandbox_purpose_row *row =
			sandbox_purpose_row((enum sandbox_purpose)i);
		const struct sandbox_limits *limits = &row->limits;

		assert_non_null(row->name);
		assert_true(row->tmp > 0 && limits->wall_ms > 0 && limits->cpu_s > 0 &&
			limits->memory > 0 && limits->processes > 0 && limits->file_size > 0 &&
			limits->open_files > 0 && limits->disk > 0 && limits->output > 0);
	}
}

static void
unlimited_makes_no_resource_limit_and_core_files_never_appear(void **state)
{
	const struct sandbox_limits limits = { .cpu_s = SANDBOX_UNLIMITED,
		.memory = SANDBOX_UNLIMITED,
		.file_size = 4096,
		.open_files = 64 };
	struct pkg_rlimit out[SANDBOX_RLIMITS];
	size_t count = sandbox_limits_rlimits(&limits, out);

	(void)state;
	assert_int_equal(count, 3);
	assert_int_equal(out[0].resource, RLIMIT_FSIZE);
	assert_int_equal(out[0].value, 4096);
	assert_int_equal(out[1].resource, RLIMIT_NOFILE);
	assert_int_equal(out[2].resource, RLIMIT_CORE);
	assert_int_equal(out[2].value, 0);
}

static void
temporary_space_is_never_more_than_half_the_memory(void **state)
{
	const struct sandbox_profile profile = { .purpose = SANDBOX_BUILD,
		.limits = { .memory = GIB } };

	(void)state;
	assert_true(sandbox_limits_tmp(&profile, 0) == GIB / 2);
	assert_true(sandbox_limits_tmp(&profile, GIB) == GIB / 4);
}

static void
statm_and_rollup_are_read_or_refused(void **state)
{
	(void)state;
	assert_true(sandbox_watch_parse_statm("100 50 20 1 0 9 0\n", 4096) == 30 * 4096);
	assert_true(sandbox_watch_parse_statm("0 0 0 0 0 0 0\n", 4096) == 0);
	assert_true(sandbox_watch_parse_statm("100 10 20 1", 4096) == -1);
	assert_true(sandbox_watch_parse_statm("x", 4096) == -1);
	assert_true(sandbox_watch_parse_statm("", 4096) == -1);
	assert_true(sandbox_watch_parse_rollup("a rollup\nRss: 9 kB\nPss_Anon:   8 kB\nPss_File: 1 "
					       "kB\nPss_Shmem: 2 kB\n") == 10240);
	assert_true(sandbox_watch_parse_rollup("Pss_Anon: 8 kB\n") == -1);
	assert_true(sandbox_watch_parse_rollup("") == -1);
}

static void
only_three_words_are_modes(void **state)
{
	static const char *const bad[] = { "", "Enforce", "on", "true", "enforce ", "disabled",
		"none" };
	enum sandbox_mode mode = SANDBOX_OFF;

	(void)state;
	assert_int_equal(sandbox_mode_parse("enforce", &mode, NULL), 0);
	assert_int_equal(mode, SANDBOX_ENFORCE);
	assert_int_equal(sandbox_mode_parse("auto", &mode, NULL), 0);
	assert_int_equal(mode, SANDBOX_AUTO);
	assert_int_equal(sandbox_mode_parse("off", &mode, NULL), 0);
	assert_int_equal(mode, SANDBOX_OFF);
	for (size_t i = 0; i < PKG_ARRAY_LEN(bad); i++) {
		pkg_cleanup_error struct pkg_error err = { 0 };

		mode = SANDBOX_ENFORCE;
		assert_int_equal(sandbox_mode_parse(bad[i], &mode, &err), -1);
		assert_int_equal(err.kind, PKG_E_CONFIG);
		assert_int_equal(mode, SANDBOX_ENFORCE);
	}
}

/* A delegated hierarchy made of plain files. */
static void
make_cgroup(const char *root, const char *name, const char *control)
{
	pkg_autofree char *path = pkg_path_join(root, name);
	pkg_autofree char *subtree = pkg_path_join(path, "cgroup.subtree_control");
	pkg_autofree char *procs = pkg_path_join(path, "cgroup.procs");

	assert_int_equal(pkg_dir_make(path, 0755, NULL), 0);
	assert_int_equal(pkg_file_write(subtree, control, strlen(control), 0644, false, NULL), 0);
	assert_int_equal(pkg_file_write(procs, "", 0, 0644, false, NULL), 0);
}

static void
a_cgroup_is_used_only_where_memory_and_pids_were_delegated(void **state)
{
	static const struct {
		const char *self;
		const char *expected;
	} cases[] = {
		{ "0::/full\n", "/full" },
		{ "0::/full/leaf\n", "/full" },
		{ "0::/memory-only\n", NULL },
		{ "0::/memory-only/leaf\n", NULL },
		{ "0::/missing/x\n", NULL },
		{ "1:name=systemd:/full\n", NULL },
		{ "2:x:/a\n0::/full\n", "/full" },
		{ "0::/../full\n", NULL },
		{ "", NULL },
	};
	char root[] = "/tmp/pkgd-test-XXXXXX";

	(void)state;
	assert_non_null(mkdtemp(root));
	make_cgroup(root, "full", "cpu memory pids\n");
	make_cgroup(root, "full/leaf", "");
	make_cgroup(root, "memory-only", "memory pidsx\n");
	make_cgroup(root, "memory-only/leaf", "");
	for (size_t i = 0; i < PKG_ARRAY_LEN(cases); i++) {
		pkg_autofree char *found = sandbox_cgroup_find(root, cases[i].self);
		pkg_autofree char *wanted =
			cases[i].expected ? pkg_path_join(root, cases[i].expected) : NULL;

		if (!wanted)
			assert_null(found);
		else
			assert_string_equal(found, wanted);
	}
	assert_int_equal(pkg_tree_remove(root, NULL), 0);
}

static void
what_was_there_before_does_not_count_as_written(void **state)
{
	char root[] = "/var/tmp/pkgd-test-XXXXXX";
	pkg_cleanup(pkg_argv_free) struct pkg_argv *writable = pkg_argv_new();
	pkg_cleanup(sandbox_watch_free) struct sandbox_watch *watch = NULL;
	const struct sandbox_limits limits = { .disk = 1024 * 1024 };
	pkg_cleanup_error struct pkg_error err = { 0 };
	pkg_autofree char *old = NULL;
	pkg_autofree char *new = NULL;
	char *block = pkg_xcalloc(1, 8 * 1024 * 1024);

	(void)state;
	assert_non_null(mkdtemp(root));
	old = pkg_path_join(root, "old");
	new = pkg_path_join(root, "new");
	assert_int_equal(pkg_file_write(old, block, 8 * 1024 * 1024, 0600, true, NULL), 0);
	usleep(50000);
	pkg_argv_add(writable, root);
	watch = sandbox_watch_new(&limits, writable);
	assert_int_equal(sandbox_watch_look(watch, 0, &err), 0);
	assert_int_equal(pkg_file_write(new, block, 8 * 1024 * 1024, 0600, true, NULL), 0);
	assert_int_equal(sandbox_watch_look(watch, 0, &err), -1);
	assert_int_equal(err.kind, PKG_E_DISK_FULL);
	assert_true(sandbox_watch_usage(watch)->disk < 9 * 1024 * 1024);
	assert_int_equal(pkg_tree_remove(root, NULL), 0);
	free(block);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_number_of_the_profile_wins_over_the_configuration_over_the_purpose),
		cmocka_unit_test(a_kernel_gets_three_quarters_of_the_machine_unless_told_otherwise),
		cmocka_unit_test(a_negative_limit_is_refused),
		cmocka_unit_test(every_purpose_has_every_limit),
		cmocka_unit_test(unlimited_makes_no_resource_limit_and_core_files_never_appear),
		cmocka_unit_test(temporary_space_is_never_more_than_half_the_memory),
		cmocka_unit_test(statm_and_rollup_are_read_or_refused),
		cmocka_unit_test(only_three_words_are_modes),
		cmocka_unit_test(a_cgroup_is_used_only_where_memory_and_pids_were_delegated),
		cmocka_unit_test(what_was_there_before_does_not_count_as_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
