#include "unit.h"

#include "core/error.h"
#include "sandbox/host.h"
#include "sandbox/remedy.h"

#include <errno.h>
#include <string.h>

#define MACHINE(users, nets, clone, restrict)                                                      \
	.have_bwrap = true, .max_user_namespaces = users, .max_net_namespaces = nets,              \
	.unprivileged_userns_clone = clone, .apparmor_restrict = restrict,                         \
	.bwrap = "/usr/bin/bwrap"
#define FINE MACHINE(1000, 1000, SANDBOX_FACT_ABSENT, SANDBOX_FACT_ABSENT)
#define NO_PERMISSION                                                                              \
	"bwrap: No permissions to creating new namespace, likely because the kernel does not "     \
	"allow non-privileged user namespaces."

static const struct {
	const char *what;
	struct sandbox_facts facts;
	enum sandbox_cause cause;
	const char *cure; /* part of it */
} cases[] = {
	{ "no bwrap on Debian", { .os_id = "debian" }, SANDBOX_CAUSE_MISSING,
		"apt-get install bubblewrap" },
	{ "no bwrap on Mint", { .os_id = "linuxmint", .os_like = "ubuntu debian" },
		SANDBOX_CAUSE_MISSING, "apt-get install bubblewrap" },
	{ "no bwrap on Rocky", { .os_id = "rocky", .os_like = "rhel centos fedora" },
		SANDBOX_CAUSE_MISSING, "dnf install bubblewrap" },
	{ "no bwrap on something else", { .os_id = "plan9" }, SANDBOX_CAUSE_MISSING,
		"install the package bubblewrap" },
	{ "user namespaces limited to none",
		{ MACHINE(0, 1000, SANDBOX_FACT_ABSENT, SANDBOX_FACT_ABSENT),
			.unshare_errno = ENOSPC, .said = NO_PERMISSION },
		SANDBOX_CAUSE_NO_NAMESPACES, "sysctl -w user.max_user_namespaces=15000" },
	{ "net namespaces limited to none",
		{ MACHINE(1000, 0, SANDBOX_FACT_ABSENT, SANDBOX_FACT_ABSENT),
			.unshare_errno = ENOSPC, .said = NO_PERMISSION },
		SANDBOX_CAUSE_NO_NAMESPACES, "sysctl -w user.max_net_namespaces=15000" },
	{ "Debian's switch off",
		{ MACHINE(1000, 1000, 0, SANDBOX_FACT_ABSENT), .unshare_errno = EPERM,
			.said = NO_PERMISSION },
		SANDBOX_CAUSE_UNPRIVILEGED, "sysctl -w kernel.unprivileged_userns_clone=1" },
	{ "Debian's switch off does not concern root",
		{ MACHINE(1000, 1000, 0, SANDBOX_FACT_ABSENT), .root = true, .unshare_errno = EPERM,
			.said = NO_PERMISSION },
		SANDBOX_CAUSE_CONTAINER, "run pkgd on the host" },
	{ "Ubuntu 24.04, loopback",
		{ MACHINE(1000, 1000, SANDBOX_FACT_ABSENT, 1),
			.said = "bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted" },
		SANDBOX_CAUSE_APPARMOR, "apparmor-profiles" },
	{ "Ubuntu 24.04, uid map",
		{ MACHINE(1000, 1000, SANDBOX_FACT_ABSENT, 1),
			.said = "bwrap: setting up uid map: Permission denied" },
		SANDBOX_CAUSE_APPARMOR, "kernel.apparmor_restrict_unprivileged_userns=0" },
	{ "docker",
		{ FINE, .root = true, .unshare_errno = EPERM, .container = "docker",
			.said = NO_PERMISSION },
		SANDBOX_CAUSE_CONTAINER, "docker run --security-opt seccomp=unconfined" },
	{ "podman", { FINE, .unshare_errno = EPERM, .container = "podman", .said = NO_PERMISSION },
		SANDBOX_CAUSE_CONTAINER, "podman run --security-opt seccomp=unconfined" },
	{ "kubernetes",
		{ FINE, .unshare_errno = EPERM, .container = "kubernetes", .said = NO_PERMISSION },
		SANDBOX_CAUSE_CONTAINER, "procMount: Unmasked" },
	{ "a filter with no name", { FINE, .unshare_errno = EPERM, .said = NO_PERMISSION },
		SANDBOX_CAUSE_CONTAINER, "let the container create user namespaces" },
	{ "masked /proc",
		{ FINE, .proc_masked = true, .container = "docker",
			.said = "bwrap: Can't mount proc on /newroot/proc: Operation not "
				"permitted" },
		SANDBOX_CAUSE_PROC, "systempaths=unconfined" },
	{ "WSL 1", { FINE, .wsl = 1, .unshare_errno = EINVAL }, SANDBOX_CAUSE_WSL1,
		"wsl --set-version" },
	{ "a kernel without user namespaces",
		{ FINE, .unshare_errno = EINVAL, .said = NO_PERMISSION }, SANDBOX_CAUSE_KERNEL,
		"CONFIG_USER_NS" },
	{ "an old bwrap", { FINE, .said = "bwrap: Unknown option --json-status-fd" },
		SANDBOX_CAUSE_OLD, "0.5 or newer" },
	{ "nothing known", { FINE }, SANDBOX_CAUSE_UNKNOWN, "pkg sandbox test" },
	{ "a bad workspace",
		{ FINE,
			.said = "bwrap: Can't find source path /home/u/gone: No such file or "
				"directory" },
		SANDBOX_CAUSE_NONE, "pkg sandbox test" },
	{ "a command that is not there",
		{ FINE, .said = "bwrap: execvp /no/such: No such file or directory" },
		SANDBOX_CAUSE_NONE, "pkg sandbox test" },
};

static void
each_cause_is_told_by_its_facts_and_has_its_cure(void **state)
{
	(void)state;
	for (size_t i = 0; i < PKG_ARRAY_LEN(cases); i++) {
		pkg_cleanup_error struct pkg_error err = { 0 };
		enum sandbox_cause cause = sandbox_remedy_classify(&cases[i].facts);

		if (cause != cases[i].cause)
			fail_msg("%s: %s", cases[i].what, sandbox_cause_name(cause));
		assert_int_equal(sandbox_remedy_set(cause, &cases[i].facts, &err), -1);
		assert_int_equal(err.kind, PKG_E_SANDBOX);
		assert_non_null(err.message);
		assert_non_null(err.cure);
		if (!strstr(err.cure, cases[i].cure))
			fail_msg("%s: cure '%s'", cases[i].what, err.cure);
	}
}

static void
only_words_of_bwrap_about_the_machine_count_as_a_facility_failure(void **state)
{
	static const struct {
		const char *said;
		bool facility;
	} texts[] = {
		{ NO_PERMISSION, true },
		{ "bwrap: Creating new namespace failed: Operation not permitted", true },
		{ "bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted", true },
		{ "bwrap: Can't mount proc on /newroot/proc: Operation not permitted", true },
		{ "bwrap: Can't find source path /a/user namespaces: No such file", false },
		{ "bwrap: execvp /mount proc: No such file or directory", false },
		{ "bwrap: Can't chdir to /x: No such file or directory", false },
		{ "Creating new namespace failed", false },
		{ "Traceback: No permissions to create", false },
		{ "", false },
	};

	(void)state;
	for (size_t i = 0; i < PKG_ARRAY_LEN(texts); i++)
		assert_int_equal(sandbox_remedy_is_facility(texts[i].said), texts[i].facility);
}

static void
os_release_values_are_read_with_and_without_quotes(void **state)
{
	static const char text[] =
		"NAME=\"Debian GNU/Linux\"\nVERSION_ID=12\nID=debian\nID_LIKE='a b'\n"
		"EMPTY=\n";
	char out[8];

	(void)state;
	sandbox_remedy_os_value(text, "ID", out, sizeof(out));
	assert_string_equal(out, "debian");
	sandbox_remedy_os_value(text, "ID_LIKE", out, sizeof(out));
	assert_string_equal(out, "a b");
	sandbox_remedy_os_value(text, "NAME", out, sizeof(out));
	assert_string_equal(out, "Debian ");
	sandbox_remedy_os_value(text, "EMPTY", out, sizeof(out));
	assert_string_equal(out, "");
	sandbox_remedy_os_value(text, "NONE", out, sizeof(out));
	assert_string_equal(out, "");
}

static void
this_machine_has_facts(void **state)
{
	struct sandbox_facts facts;

	(void)state;
	sandbox_facts_read("/usr/bin/bwrap", "bwrap: said\x1b[31m", &facts);
	assert_true(facts.have_bwrap);
	assert_true(facts.os_id[0] != '\0');
	assert_null(strchr(facts.said, '\x1b'));
	assert_int_equal(facts.wsl, 0);
}

static void
versions_are_two_numbers_after_the_name(void **state)
{
	int major = 0;
	int minor = 0;

	(void)state;
	assert_int_equal(sandbox_host_parse_version("bubblewrap 0.8.0", &major, &minor), 0);
	assert_int_equal(major, 0);
	assert_int_equal(minor, 8);
	assert_int_equal(sandbox_host_parse_version("bubblewrap 1.11", &major, &minor), 0);
	assert_int_equal(minor, 11);
	assert_int_equal(sandbox_host_parse_version("firejail 0.9", &major, &minor), -1);
	assert_int_equal(sandbox_host_parse_version("bubblewrap", &major, &minor), -1);
	assert_int_equal(sandbox_host_parse_version("", &major, &minor), -1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_cause_is_told_by_its_facts_and_has_its_cure),
		cmocka_unit_test(only_words_of_bwrap_about_the_machine_count_as_a_facility_failure),
		cmocka_unit_test(os_release_values_are_read_with_and_without_quotes),
		cmocka_unit_test(this_machine_has_facts),
		cmocka_unit_test(versions_are_two_numbers_after_the_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
