#include "sandbox/seccomp.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <sched.h>
#include <seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* The whole policy: everything is allowed except what widens the boundary or feeds its usual ways
 * out. The namespaces and the missing capabilities already deny most of this; the filter takes away
 * the kernel code behind it, so that one bug there is not the end of the boundary.
 *
 * Refusals are EPERM, which programs expect of a container. clone3 takes its flags in memory, where
 * a filter cannot look, so it does not exist (ENOSYS) and C libraries fall back to clone. */
#define DENY(call, why)                                                                            \
	{                                                                                          \
		call, EPERM, SANDBOX_SECCOMP_ALWAYS, 0, 0, why                                     \
	}
#define DENY_IF(call, test, argument, value, why)                                                  \
	{                                                                                          \
		call, EPERM, SANDBOX_SECCOMP_##test, argument, value, why                          \
	}
/* s390 has clone's flags second; everywhere else they come first. */
#if defined(__s390__) || defined(__s390x__)
#define CLONE_ARGUMENT 1
#else
#define CLONE_ARGUMENT 0
#endif
#define DENY_CLONE(flag)                                                                           \
	DENY_IF("clone", BITS, CLONE_ARGUMENT, flag, "a new namespace brings new capabilities")
/* Files made inside belong to whoever runs pkgd: for anybody else on the machine, one with this bit is a way
 * to become that user. bwrap's mounts are nosuid, but the workspace is there outside as well. */
#define DENY_SETUID(call, argument)                                                                \
	DENY_IF(call, BITS, argument, S_ISUID, "a program that becomes us for whoever runs it")
#define DENY_FAMILY(number) DENY_IF("socket", EQUAL, 0, number, "protocol family not needed")

#define MOUNTS "the tree of mounts is the boundary"
#define MEMORY "another process's memory and registers"
#define KEYS "keyrings are not namespaced"
#define MODULES "code in the kernel"
#define URING "a second way to every system call, past this filter"
#define WHOLE "the whole machine's"

static const struct sandbox_seccomp_row rows[] = {
	DENY("mount", MOUNTS),
	DENY("umount", MOUNTS),
	DENY("umount2", MOUNTS),
	DENY("move_mount", MOUNTS),
	DENY("open_tree", MOUNTS),
	DENY("open_tree_attr", MOUNTS),
	DENY("fsopen", MOUNTS),
	DENY("fsconfig", MOUNTS),
	DENY("fsmount", MOUNTS),
	DENY("fspick", MOUNTS),
	DENY("mount_setattr", MOUNTS),
	DENY("pivot_root", MOUNTS),
	DENY("chroot", MOUNTS),
	DENY("open_by_handle_at", "reaches any inode of a file system by number"),
	DENY("fanotify_init", "watches file systems as a whole"),
	DENY("quotactl", WHOLE " quotas"),
	DENY("quotactl_fd", WHOLE " quotas"),
	DENY("unshare", "a new namespace brings new capabilities"),
	DENY("setns", "another namespace is outside"),
	{ "clone3", ENOSYS, SANDBOX_SECCOMP_ALWAYS, 0, 0, "its flags cannot be filtered" },
	DENY_CLONE(CLONE_NEWUSER),
	DENY_CLONE(CLONE_NEWNS),
	DENY_CLONE(CLONE_NEWPID),
	DENY_CLONE(CLONE_NEWNET),
	DENY_CLONE(CLONE_NEWIPC),
	DENY_CLONE(CLONE_NEWUTS),
	DENY_CLONE(CLONE_NEWCGROUP),
	DENY("ptrace", MEMORY),
	DENY("process_vm_readv", MEMORY),
	DENY("process_vm_writev", MEMORY),
	DENY("kcmp", "compares kernel addresses of two processes"),
	DENY("pidfd_getfd", "takes another process's descriptors"),
	DENY("keyctl", KEYS),
	DENY("add_key", KEYS),
	DENY("request_key", KEYS),
	DENY("bpf", MODULES),
	DENY("perf_event_open", "measures other processes and the kernel"),
	DENY("userfaultfd", "stops the kernel in mid-copy: makes its races winnable"),
	DENY("kexec_load", MODULES),
	DENY("kexec_file_load", MODULES),
	DENY("init_module", MODULES),
	DENY("finit_module", MODULES),
	DENY("delete_module", MODULES),
	DENY("io_uring_setup", URING),
	DENY("io_uring_enter", URING),
	DENY("io_uring_register", URING),
	DENY("swapon", WHOLE " swap"),
	DENY("swapoff", WHOLE " swap"),
	DENY("reboot", WHOLE " power"),
	DENY("acct", WHOLE " accounting"),
	DENY("settimeofday", WHOLE " clock"),
	DENY("clock_settime", WHOLE " clock"),
	DENY("syslog", WHOLE " kernel log"),
	DENY("iopl", "hardware ports"),
	DENY("ioperm", "hardware ports"),
	DENY("modify_ldt", "old segment code of the kernel"),
	DENY("vhangup", "the terminal's other users"),
	DENY("lookup_dcookie", "names files by kernel cookie"),
	DENY("move_pages", "places another process's memory"),
	DENY("migrate_pages", "places another process's memory"),
	DENY("vm86", "old processor mode"),
	DENY("vm86old", "old processor mode"),
	DENY_SETUID("chmod", 1),
	DENY_SETUID("fchmod", 1),
	DENY_SETUID("fchmodat", 2),
	DENY_SETUID("fchmodat2", 2),
	DENY_SETUID("mknod", 1),
	DENY_SETUID("mknodat", 2),
	DENY_SETUID("creat", 1),
	DENY_SETUID("open", 2),
	DENY_SETUID("openat", 3),
	/* Its mode is in memory, too; nothing but our own pkg-unpack and a few container tools use it. */
	{ "openat2", ENOSYS, SANDBOX_SECCOMP_ALWAYS, 0, 0, "its mode cannot be filtered", true },
	/* The kernel looks at the low half of the command only: so does the comparison. */
	DENY_IF("ioctl", LOW32, 1, TIOCSTI, "types into the caller's terminal"),
	DENY_IF("ioctl", LOW32, 1, TIOCLINUX, "pastes into the caller's console"),
	/* Families are an allowlist: AF_UNIX 1, AF_INET 2, AF_INET6 10, AF_NETLINK 16. The
	 * comparison is of all 64 bits, so rubbish in the upper half falls under "above". */
	DENY_IF("socket", ABOVE, 0, AF_NETLINK, "AF_PACKET, AF_VSOCK, AF_ALG and the like"),
	DENY_FAMILY(0),
	DENY_FAMILY(3),
	DENY_FAMILY(4),
	DENY_FAMILY(5),
	DENY_FAMILY(6),
	DENY_FAMILY(7),
	DENY_FAMILY(8),
	DENY_FAMILY(9),
	DENY_FAMILY(11),
	DENY_FAMILY(12),
	DENY_FAMILY(13),
	DENY_FAMILY(14),
	DENY_FAMILY(15),
	DENY_IF("socket", NETLINK, 2, NETLINK_ROUTE, "only the list of interfaces is needed"),
	DENY_IF("socketpair", NOT, 0, AF_UNIX, "no other family has a use for pairs"),
};

const struct sandbox_seccomp_row *
sandbox_seccomp_rows(size_t *count)
{
	*count = PKG_ARRAY_LEN(rows);
	return rows;
}

static size_t
comparisons(const struct sandbox_seccomp_row *row, struct scmp_arg_cmp out[2])
{
	unsigned int arg = row->argument;

	switch (row->test) {
	case SANDBOX_SECCOMP_ALWAYS:
		return 0;
	case SANDBOX_SECCOMP_BITS:
		out[0] = SCMP_CMP(arg, SCMP_CMP_MASKED_EQ, row->value, row->value);
		return 1;
	case SANDBOX_SECCOMP_LOW32:
		out[0] = SCMP_CMP(arg, SCMP_CMP_MASKED_EQ, UINT32_MAX, row->value);
		return 1;
	case SANDBOX_SECCOMP_EQUAL:
		out[0] = SCMP_CMP(arg, SCMP_CMP_EQ, row->value);
		return 1;
	case SANDBOX_SECCOMP_ABOVE:
		out[0] = SCMP_CMP(arg, SCMP_CMP_GT, row->value);
		return 1;
	case SANDBOX_SECCOMP_NOT:
		out[0] = SCMP_CMP(arg, SCMP_CMP_NE, row->value);
		return 1;
	case SANDBOX_SECCOMP_NETLINK:
		out[0] = SCMP_CMP(0, SCMP_CMP_EQ, AF_NETLINK);
		out[1] = SCMP_CMP(2, SCMP_CMP_NE, row->value);
		return 2;
	}
	pkg_abort("a seccomp row without a test");
}

/* Calls that are newer than some libseccomp; they have one number everywhere. */
static const struct {
	const char *name;
	int number;
} newer[] = { { "clone3", 435 }, { "pidfd_getfd", 438 }, { "mount_setattr", 442 },
	{ "openat2", 437 }, { "quotactl_fd", 443 }, { "fchmodat2", 452 },
	{ "open_tree_attr", 467 } };

static int
resolve(const char *name)
{
	int number = seccomp_syscall_resolve_name(name);

	for (size_t i = 0; number == __NR_SCMP_ERROR && i < PKG_ARRAY_LEN(newer); i++) {
		if (strcmp(newer[i].name, name) == 0)
			return newer[i].number;
	}
	return number;
}

static int
add_row(scmp_filter_ctx filter, const struct sandbox_seccomp_row *row, struct pkg_error *err)
{
	int number = resolve(row->name);
	struct scmp_arg_cmp compare[2];
	size_t count = comparisons(row, compare);
	int rc;

	/* A call that this processor never had: its numbers are negative. */
	if (number < 0)
		return 0;
	rc = seccomp_rule_add_array(
		filter, SCMP_ACT_ERRNO((uint32_t)row->error), number, (unsigned int)count, compare);
	if (rc < 0)
		return pkg_error_set(
			err, PKG_E_SANDBOX, "seccomp rule for %s: %s", row->name, strerror(-rc));
	return 0;
}

static int
build(scmp_filter_ctx filter, int fd, bool trusted, struct pkg_error *err)
{
	int rc;

	/* 32-bit and x32 calls have other numbers, which the rows do not cover: none of them. */
	rc = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(EPERM));
	if (rc < 0)
		return pkg_error_set(
			err, PKG_E_SANDBOX, "seccomp foreign ABI rule: %s", strerror(-rc));
	/* A binary tree: the kernel runs the program once for every call there is when it takes it
	 * in. An older library does not know this and makes a list. */
	(void)seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		if (!(trusted && rows[i].foreign_only) && add_row(filter, &rows[i], err) < 0)
			return -1;
	}
	rc = seccomp_export_bpf(filter, fd);
	if (rc < 0)
		return pkg_error_set(
			err, PKG_E_SANDBOX, "seccomp filter export: %s", strerror(-rc));
	return 0;
}

static int export(bool trusted, struct pkg_error *err)
{
	pkg_autofd int fd = memfd_create("seccomp", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	scmp_filter_ctx filter;
	int rc;

	if (fd < 0)
		return pkg_error_errno(err, errno, "memfd for the seccomp filter");
	filter = seccomp_init(SCMP_ACT_ALLOW);
	if (!filter)
		return pkg_error_set(
			err, PKG_E_SANDBOX, "libseccomp has no filter for this processor");
	rc = build(filter, fd, trusted, err);
	seccomp_release(filter);
	if (rc < 0)
		return -1;
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) < 0 ||
		lseek(fd, 0, SEEK_SET) < 0)
		return pkg_error_errno(err, errno, "seal the seccomp filter");
	return pkg_steal_fd(&fd);
}

int
sandbox_seccomp_export(struct pkg_error *err)
{
	return export(false, err);
}

int
sandbox_seccomp_export_trusted(struct pkg_error *err)
{
	return export(true, err);
}

int
sandbox_seccomp_reopen(int memfd, struct pkg_error *err)
{
	char path[64];
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", memfd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return pkg_error_errno(err, errno, "open the seccomp filter again");
	return fd;
}
