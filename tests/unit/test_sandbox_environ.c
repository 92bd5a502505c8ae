#include "unit.h"

#include "sandbox/environ.h"
#include "sandbox/limits.h"

#include <stdlib.h>
#include <string.h>

static char *
build(const struct sandbox_profile *profile, char *const *caller, int cpus, struct pkg_error *err)
{
	const struct sandbox_environ_facts facts = { caller, cpus };
	pkg_cleanup(pkg_argv_free) struct pkg_argv *env = NULL;

	if (sandbox_environ(profile, &facts, &env, err) < 0)
		return NULL;
	return pkg_argv_join(env, "\n");
}

static void
the_environment_is_exactly_this(void **state)
{
	static char *const caller[] = { (char *)"LANG=de_DE.UTF-8", (char *)"SECRET_TOKEN=1",
		(char *)"HTTP_PROXY=http://user:pw@corp:1", (char *)"LD_PRELOAD=/x.so",
		(char *)"PATH=/evil", (char *)"HOME=/home/u", (char *)"PYTHONPATH=/evil",
		(char *)"PIP_INDEX_URL=http://x", (char *)"TERM=xterm", (char *)"TZ=Europe/Berlin",
		(char *)"OPENAI_API_KEY=k", (char *)"SSH_AUTH_SOCK=/s", NULL };
	const struct sandbox_profile profile = {
		.purpose = SANDBOX_APPLY, .tree = "/t", .prefix = "/p", .shim_fd = -1
	};
	pkg_autofree char *text = NULL;

	(void)state;
	if (SANDBOX_SANITIZED)
		skip();
	text = build(&profile, caller, 16, NULL);
	assert_string_equal(text,
		"HOME=/tmp/home\nLANG=de_DE.UTF-8\nLOGNAME=user\nLOKY_MAX_CPU_COUNT=4\n"
		"MKL_NUM_THREADS=4\nMPLCONFIGDIR=/tmp/matplotlib\nNUMBA_NUM_THREADS=4\n"
		"NUMEXPR_NUM_THREADS=4\nOMP_NUM_THREADS=4\nOPENBLAS_NUM_THREADS=4\n"
		"PATH=/p/bin:/usr/local/bin:/usr/bin:/bin\nSHELL=/bin/sh\nTEMP=/tmp\nTMP=/tmp\n"
		"TMPDIR=/tmp\nTZ=Europe/Berlin\nUSER=user\nVECLIB_MAXIMUM_THREADS=4");
}

static void
the_proxy_is_named_in_both_cases_and_only_with_a_shim(void **state)
{
	static const char *const names[] = { "HTTP_PROXY", "http_proxy", "HTTPS_PROXY",
		"https_proxy", "PIP_PROXY" };
	struct sandbox_profile profile = { .purpose = SANDBOX_PLAN, .shim_fd = 7 };
	pkg_autofree char *with = build(&profile, NULL, 1, NULL);
	pkg_autofree char *without = NULL;

	(void)state;
	profile.shim_fd = -1;
	without = build(&profile, NULL, 1, NULL);
	for (size_t i = 0; i < PKG_ARRAY_LEN(names); i++) {
		pkg_autofree char *line = pkg_xasprintf("\n%s=http://127.0.0.1:3128", names[i]);

		assert_non_null(strstr(with, line));
	}
	assert_null(strcasestr(without, "proxy"));
	assert_null(strcasestr(with, "no_proxy"));
	assert_null(strcasestr(with, "all_proxy"));
}

static void
odd_values_of_the_caller_do_not_come_in(void **state)
{
	static const char *const values[] = { "LANG=/etc/passwd", "LANG=../../x", "LANG=a b",
		"LANG=$(x)", "LANG=", "LANG=x\ny" };
	const struct sandbox_profile profile = { .purpose = SANDBOX_PROBE, .shim_fd = -1 };

	(void)state;
	for (size_t i = 0; i < PKG_ARRAY_LEN(values); i++) {
		char *const caller[] = { (char *)values[i], NULL };
		pkg_autofree char *text = build(&profile, caller, 1, NULL);

		assert_non_null(strstr(text, "\nLANG=C.UTF-8\n"));
	}
}

static void
a_terminal_and_devices_are_for_those_who_have_them(void **state)
{
	static char *const caller[] = { (char *)"TERM=xterm-256color",
		(char *)"CUDA_VISIBLE_DEVICES=0,1", NULL };
	struct sandbox_profile profile = {
		.purpose = SANDBOX_KERNEL, .interactive = true, .shim_fd = -1
	};
	pkg_autofree char *kernel = build(&profile, caller, 1, NULL);
	pkg_autofree char *other = NULL;

	(void)state;
	assert_non_null(strstr(kernel, "TERM=xterm-256color"));
	assert_non_null(strstr(kernel, "CUDA_VISIBLE_DEVICES=0,1"));
	profile = (struct sandbox_profile){ .purpose = SANDBOX_BUILD, .shim_fd = -1 };
	other = build(&profile, caller, 1, NULL);
	assert_null(strstr(other, "TERM="));
	assert_null(strstr(other, "CUDA"));
}

static void
what_injects_code_or_avoids_the_proxy_is_refused(void **state)
{
	static const char *const pairs[] = { "LD_PRELOAD=/x", "LD_LIBRARY_PATH=/x",
		"LD_AUDIT=", "DYLD_INSERT_LIBRARIES=/x", "BASH_ENV=/x", "ENV=/x",
		"PYTHONSTARTUP=/x", "PYTHONHOME=/x", "R_PROFILE_USER=/x", "NODE_OPTIONS=-r x",
		"PERL5OPT=-Mx", "GCONV_PATH=/x", "GLIBC_TUNABLES=x=y", "BASH_FUNC_x%%=() { :; }",
		"NO_PROXY=*", "no_proxy=", "ALL_PROXY=x", "NOVALUE", "=x", "", "1A=x" };

	(void)state;
	for (size_t i = 0; i < PKG_ARRAY_LEN(pairs); i++) {
		pkg_cleanup(pkg_argv_free) struct pkg_argv *env = pkg_argv_new();
		pkg_cleanup_error struct pkg_error err = { 0 };
		const struct sandbox_profile profile = {
			.purpose = SANDBOX_KERNEL, .shim_fd = -1, .env = env
		};

		pkg_argv_add(env, pairs[i]);
		if (build(&profile, NULL, 1, &err))
			fail_msg("'%s' was accepted", pairs[i]);
		assert_int_equal(err.kind, PKG_E_INVALID);
	}
}

static void
the_profile_may_add_replace_and_disarm(void **state)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *env = pkg_argv_new();
	const struct sandbox_profile profile = {
		.purpose = SANDBOX_KERNEL, .shim_fd = -1, .env = env
	};
	pkg_autofree char *text = NULL;

	(void)state;
	pkg_argv_add(env, "PYTHONPATH=/a", "PATH=/b", "R_PROFILE_USER=/dev/null", "LDFLAGS=-x",
		"PYTHONSTARTUP=", "OMP_NUM_THREADS=9");
	text = build(&profile, NULL, 1, NULL);
	assert_non_null(strstr(text, "\nPYTHONPATH=/a\n"));
	assert_non_null(strstr(text, "\nPATH=/b\n"));
	assert_null(strstr(text, "/usr/local/bin"));
	assert_non_null(strstr(text, "\nR_PROFILE_USER=/dev/null\n"));
	assert_non_null(strstr(text, "\nLDFLAGS=-x\n"));
	assert_non_null(strstr(text, "\nOMP_NUM_THREADS=9\n"));
	assert_null(strstr(text, "OMP_NUM_THREADS=1"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_environment_is_exactly_this),
		cmocka_unit_test(the_proxy_is_named_in_both_cases_and_only_with_a_shim),
		cmocka_unit_test(odd_values_of_the_caller_do_not_come_in),
		cmocka_unit_test(a_terminal_and_devices_are_for_those_who_have_them),
		cmocka_unit_test(what_injects_code_or_avoids_the_proxy_is_refused),
		cmocka_unit_test(the_profile_may_add_replace_and_disarm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
