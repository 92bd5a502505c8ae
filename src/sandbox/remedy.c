#include "sandbox/remedy.h"

#include "core/buf.h"
#include "core/file.h"
#include "core/text.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define SMALL 65536

static const char *const names[] = {
	[SANDBOX_CAUSE_NONE] = "none",
	[SANDBOX_CAUSE_MISSING] = "bwrap-missing",
	[SANDBOX_CAUSE_OLD] = "bwrap-too-old",
	[SANDBOX_CAUSE_NO_NAMESPACES] = "namespaces-limited",
	[SANDBOX_CAUSE_UNPRIVILEGED] = "unprivileged-namespaces-off",
	[SANDBOX_CAUSE_APPARMOR] = "apparmor-restriction",
	[SANDBOX_CAUSE_CONTAINER] = "outer-container",
	[SANDBOX_CAUSE_PROC] = "proc-masked",
	[SANDBOX_CAUSE_WSL1] = "wsl1",
	[SANDBOX_CAUSE_KERNEL] = "kernel-without-namespaces",
	[SANDBOX_CAUSE_UNKNOWN] = "unknown",
};

const char *
sandbox_cause_name(enum sandbox_cause cause)
{
	return (size_t)cause < PKG_ARRAY_LEN(names) ? names[cause] : "unknown";
}

bool
sandbox_remedy_is_facility(const char *said)
{
	static const char *const marks[] = { "No permissions to creat",
		"Creating new namespace failed", "Failed RTM_NEWADDR", "Failed to make loopback",
		"setting up uid map", "writing to uid_map", "setting up gid map",
		"Can't mount proc", "mount proc", "Unknown option", "kernel does not allow",
		"user namespaces", "Failed to make / slave", "Failed to mount tmpfs", "prctl(" };
	/* These name a path, which may contain any of the words above. */
	static const char *const others[] = { "bwrap: Can't find source path", "bwrap: execvp",
		"bwrap: Can't chdir", "bwrap: Can't mkdir", "bwrap: Can't create",
		"bwrap: Can't bind mount", "bwrap: Can't get type of source" };

	/* Only its own lines: the rest may be the command's. */
	if (!pkg_text_has_prefix(said, "bwrap: "))
		return false;
	for (size_t i = 0; i < PKG_ARRAY_LEN(others); i++) {
		if (pkg_text_has_prefix(said, others[i]))
			return false;
	}
	for (size_t i = 0; i < PKG_ARRAY_LEN(marks); i++) {
		if (strcasestr(said, marks[i]))
			return true;
	}
	return false;
}

enum sandbox_cause
sandbox_remedy_classify(const struct sandbox_facts *facts)
{
	bool refused = facts->unshare_errno != 0;

	if (!facts->have_bwrap)
		return SANDBOX_CAUSE_MISSING;
	if (strcasestr(facts->said, "Unknown option"))
		return SANDBOX_CAUSE_OLD;
	if (facts->wsl == 1)
		return SANDBOX_CAUSE_WSL1;
	if (facts->max_user_namespaces == 0 || facts->max_net_namespaces == 0)
		return SANDBOX_CAUSE_NO_NAMESPACES;
	if (!facts->root && facts->unprivileged_userns_clone == 0)
		return SANDBOX_CAUSE_UNPRIVILEGED;
	/* Under that restriction unshare itself works; what fails is the first use of a capability
	 * in it. */
	if (!facts->root && facts->apparmor_restrict == 1 &&
		(refused || strcasestr(facts->said, "RTM_NEWADDR") ||
			strcasestr(facts->said, "uid map") ||
			strcasestr(facts->said, "Permission denied")))
		return SANDBOX_CAUSE_APPARMOR;
	if (facts->unshare_errno == EINVAL || facts->unshare_errno == ENOSYS)
		return SANDBOX_CAUSE_KERNEL;
	if (refused && (facts->container[0] || facts->unshare_errno == EPERM))
		return SANDBOX_CAUSE_CONTAINER;
	if (facts->proc_masked && strcasestr(facts->said, "proc"))
		return SANDBOX_CAUSE_PROC;
	/* The user namespace is allowed, one of the others or a mount is not. */
	if (facts->container[0] && sandbox_remedy_is_facility(facts->said))
		return SANDBOX_CAUSE_CONTAINER;
	return facts->said[0] && !sandbox_remedy_is_facility(facts->said) ? SANDBOX_CAUSE_NONE
									  : SANDBOX_CAUSE_UNKNOWN;
}

static bool
is_like(const struct sandbox_facts *facts, const char *id)
{
	const char *at = strstr(facts->os_like, id);

	return strcmp(facts->os_id, id) == 0 ||
		(at && (at == facts->os_like || at[-1] == ' ') &&
			(at[strlen(id)] == '\0' || at[strlen(id)] == ' '));
}

static const char *
install_line(const struct sandbox_facts *facts)
{
	static const struct {
		const char *id;
		const char *line;
	} lines[] = {
		{ "debian", "apt-get install bubblewrap" },
		{ "ubuntu", "apt-get install bubblewrap" },
		{ "fedora", "dnf install bubblewrap" },
		{ "rhel", "dnf install bubblewrap" },
		{ "suse", "zypper install bubblewrap" },
		{ "opensuse", "zypper install bubblewrap" },
		{ "arch", "pacman -S bubblewrap" },
		{ "alpine", "apk add bubblewrap" },
		{ "void", "xbps-install bubblewrap" },
		{ "gentoo", "emerge sys-apps/bubblewrap" },
		{ "nixos", "add pkgs.bubblewrap to environment.systemPackages" },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(lines); i++) {
		if (is_like(facts, lines[i].id))
			return lines[i].line;
	}
	return "install the package bubblewrap";
}

static int
set_container(const struct sandbox_facts *facts, struct pkg_error *err)
{
	const char *kind = facts->container[0] ? facts->container : "the outer container";

	pkg_error_set(err, PKG_E_SANDBOX,
		"%s refuses new namespaces (unshare: %s), so bubblewrap cannot work inside it",
		kind,
		facts->unshare_errno ? strerror(facts->unshare_errno)
				     : "allowed, but not what it needs");
	if (strcmp(kind, "docker") == 0 || strcmp(kind, "podman") == 0)
		return pkg_error_cure(err,
			"start the container with '%s run --security-opt seccomp=unconfined "
			"--security-opt apparmor=unconfined --security-opt "
			"systempaths=unconfined', or "
			"run pkgd on the host",
			kind);
	if (strcmp(kind, "kubernetes") == 0)
		return pkg_error_cure(err,
			"set securityContext.seccompProfile.type: Unconfined and procMount: "
			"Unmasked for "
			"this pod (with hostUsers: false), or run pkgd on the host");
	return pkg_error_cure(
		err, "let the container create user namespaces, or run pkgd on the host");
}

static int
set_apparmor(const struct sandbox_facts *facts, struct pkg_error *err)
{
	pkg_error_set(err, PKG_E_SANDBOX,
		"AppArmor keeps '%s' from using user namespaces "
		"(kernel.apparmor_restrict_unprivileged_userns is 1)",
		facts->bwrap);
	return pkg_error_cure(err,
		"as root: apt-get install apparmor-profiles, copy "
		"/usr/share/apparmor/extra-profiles/bwrap-userns-restrict to /etc/apparmor.d/ and "
		"run "
		"'apparmor_parser -r /etc/apparmor.d/bwrap-userns-restrict'; or, for every "
		"program, "
		"'sysctl -w kernel.apparmor_restrict_unprivileged_userns=0'");
}

int
sandbox_remedy_set(
	enum sandbox_cause cause, const struct sandbox_facts *facts, struct pkg_error *err)
{
	const char *said = facts->said[0] ? facts->said : "no message";

	switch (cause) {
	case SANDBOX_CAUSE_MISSING:
		pkg_error_set(err, PKG_E_SANDBOX, "bubblewrap (bwrap) is not installed");
		return pkg_error_cure(err, "as root: %s", install_line(facts));
	case SANDBOX_CAUSE_OLD:
		pkg_error_set(err, PKG_E_SANDBOX, "'%s' is too old: %s", facts->bwrap, said);
		return pkg_error_cure(err, "install bubblewrap 0.5 or newer");
	case SANDBOX_CAUSE_NO_NAMESPACES: {
		const char *which = facts->max_user_namespaces == 0 ? "user" : "net";

		pkg_error_set(err, PKG_E_SANDBOX,
			"this machine allows no %s namespaces (user.max_%s_namespaces is 0)", which,
			which);
		return pkg_error_cure(
			err, "as root: sysctl -w user.max_%s_namespaces=15000", which);
	}
	case SANDBOX_CAUSE_UNPRIVILEGED:
		pkg_error_set(err, PKG_E_SANDBOX,
			"this machine allows user namespaces to root only "
			"(kernel.unprivileged_userns_clone is 0)");
		return pkg_error_cure(err, "as root: sysctl -w kernel.unprivileged_userns_clone=1");
	case SANDBOX_CAUSE_APPARMOR:
		return set_apparmor(facts, err);
	case SANDBOX_CAUSE_CONTAINER:
		return set_container(facts, err);
	case SANDBOX_CAUSE_PROC:
		pkg_error_set(err, PKG_E_SANDBOX,
			"parts of /proc are masked%s%s, so the kernel refuses a new /proc: %s",
			facts->container[0] ? " by " : "", facts->container, said);
		return pkg_error_cure(err,
			"start the container with '--security-opt systempaths=unconfined' (docker, "
			"podman) or 'procMount: Unmasked' (kubernetes)");
	case SANDBOX_CAUSE_WSL1:
		pkg_error_set(err, PKG_E_SANDBOX, "WSL 1 has no namespaces");
		return pkg_error_cure(err, "in Windows: wsl --set-version <distribution> 2");
	case SANDBOX_CAUSE_KERNEL:
		pkg_error_set(err, PKG_E_SANDBOX,
			"this kernel has no user namespaces (unshare: %s)",
			strerror(facts->unshare_errno));
		return pkg_error_cure(err, "boot a kernel built with CONFIG_USER_NS");
	case SANDBOX_CAUSE_NONE:
	case SANDBOX_CAUSE_UNKNOWN:
		break;
	}
	pkg_error_set(err, PKG_E_SANDBOX, "bubblewrap could not set up the sandbox: %s", said);
	return pkg_error_cure(err, "run 'pkg sandbox test' and see what fails");
}

static void
copy_text(char *out, size_t size, const char *text)
{
	(void)snprintf(out, size, "%s", text);
}

void
sandbox_remedy_os_value(const char *text, const char *key, char *out, size_t size)
{
	size_t len = strlen(key);

	out[0] = '\0';
	while (text && *text) {
		size_t line = strcspn(text, "\n");

		if (line > len && strncmp(text, key, len) == 0 && text[len] == '=') {
			const char *value = text + len + 1;
			size_t n = line - len - 1;

			if (n >= 2 && (value[0] == '"' || value[0] == '\'')) {
				value++;
				n -= 2;
			}
			(void)snprintf(out, size, "%.*s", (int)n, value);
			return;
		}
		text += line + (text[line] == '\n');
	}
}

static long
read_setting(const char *path)
{
	pkg_cleanup_buf struct pkg_buf text = { 0 };

	if (pkg_file_read(path, 64, &text, NULL) < 0 || text.len == 0)
		return SANDBOX_FACT_ABSENT;
	return strtol(text.data, NULL, 10);
}

/* Asked of the kernel itself, in a child that does nothing else. */
static int
try_unshare(void)
{
	int status = 0;
	pid_t pid = fork();

	if (pid < 0)
		return errno;
	if (pid == 0)
		_exit(unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET) == 0 ? 0 : errno);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : ECANCELED;
}

static void
read_container(struct sandbox_facts *out)
{
	const char *kind = getenv("container");

	if (getenv("KUBERNETES_SERVICE_HOST"))
		copy_text(out->container, sizeof(out->container), "kubernetes");
	else if (pkg_file_exists("/run/.containerenv"))
		copy_text(out->container, sizeof(out->container), "podman");
	else if (pkg_file_exists("/.dockerenv"))
		copy_text(out->container, sizeof(out->container), "docker");
	else if (kind && kind[0])
		copy_text(out->container, sizeof(out->container),
			strncmp(kind, "lxc", 3) == 0 ? "lxc" : "container");
}

static void
read_mounts(struct sandbox_facts *out)
{
	pkg_cleanup_buf struct pkg_buf text = { 0 };
	const char *at;

	if (pkg_file_read("/proc/self/mountinfo", 4 * 1024 * 1024, &text, NULL) < 0)
		return;
	/* A mount over a part of /proc; binfmt_misc is one everywhere. */
	for (at = strstr(pkg_buf_str(&text), " /proc/"); at; at = strstr(at + 1, " /proc/")) {
		if (!pkg_text_has_prefix(at, " /proc/sys/fs/binfmt_misc"))
			out->proc_masked = true;
	}
}

static void
read_os(struct sandbox_facts *out)
{
	pkg_cleanup_buf struct pkg_buf text = { 0 };
	pkg_cleanup_buf struct pkg_buf version = { 0 };

	if (pkg_file_read("/etc/os-release", SMALL, &text, NULL) < 0)
		(void)pkg_file_read("/usr/lib/os-release", SMALL, &text, NULL);
	sandbox_remedy_os_value(pkg_buf_str(&text), "ID", out->os_id, sizeof(out->os_id));
	sandbox_remedy_os_value(pkg_buf_str(&text), "ID_LIKE", out->os_like, sizeof(out->os_like));
	if (pkg_file_read("/proc/version", SMALL, &version, NULL) == 0 &&
		strcasestr(pkg_buf_str(&version), "microsoft"))
		out->wsl = strstr(pkg_buf_str(&version), "-Microsoft") ? 1 : 2;
}

void
sandbox_facts_read(const char *bwrap, const char *said, struct sandbox_facts *out)
{
	*out = (struct sandbox_facts){ .have_bwrap = bwrap != NULL,
		.max_user_namespaces = read_setting("/proc/sys/user/max_user_namespaces"),
		.max_net_namespaces = read_setting("/proc/sys/user/max_net_namespaces"),
		.unprivileged_userns_clone =
			read_setting("/proc/sys/kernel/unprivileged_userns_clone"),
		.apparmor_restrict =
			read_setting("/proc/sys/kernel/apparmor_restrict_unprivileged_userns"),
		.root = geteuid() == 0,
		.unshare_errno = try_unshare() };
	if (bwrap)
		copy_text(out->bwrap, sizeof(out->bwrap), bwrap);
	if (said) {
		pkg_autofree char *clean =
			pkg_text_clean(said, strlen(said), sizeof(out->said) - 1, false);

		copy_text(out->said, sizeof(out->said), clean);
	}
	read_container(out);
	read_mounts(out);
	read_os(out);
}

int
sandbox_remedy_missing(struct pkg_error *err)
{
	struct sandbox_facts facts = { 0 };

	read_os(&facts);
	return sandbox_remedy_set(SANDBOX_CAUSE_MISSING, &facts, err);
}
